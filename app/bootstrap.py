"""Starts the window and stays until it is closed."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from pathlib import Path

from lamella.app import crash, logs
from lamella.app import logs as qt_log
from lamella.app.crash import CrashReporter
from lamella.app.program import Program, application
from lamella.core.errors import LamellaError
from lamella.ui.dialogs.error_dialog import ErrorDialog


def run(files: Sequence[Path], with_sample: bool) -> int:
    """The exit code of the event loop. Raises LamellaError, once it was shown, when the window cannot be."""
    qt = application()
    handler = logs.start()
    qt_log.install()
    on_interrupt = signal.signal(signal.SIGINT, signal.SIG_DFL)  # Qt's loop would not let Python handle it
    try:
        program = Program()
        reporter = CrashReporter(program.window)
        uninstall = crash.install(reporter.tell)
        program.window.show()
        program.open(files, with_sample)
        try:
            return qt.exec()
        finally:
            uninstall()
    except LamellaError as problem:
        ErrorDialog(problem).exec()
        raise
    finally:
        signal.signal(signal.SIGINT, on_interrupt)
        qt_log.uninstall()
        logs.stop(handler)
