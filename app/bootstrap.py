"""Start the program: show the window until it is closed, or hand the files to a window already open."""

from __future__ import annotations

import atexit
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QApplication

from lamella.app import __version__, launch, logs, paths
from lamella.app.garbage import GarbageCollector
from lamella.app.launch import FileOpenEvents, LaunchServer
from lamella.core.errors import LamellaError
from lamella.core.remote.paths import path_or_address
from lamella.ui.feature_search import skip_feature_search

if TYPE_CHECKING:
    from lamella.ui.bench.window_driver import LamellaWindow
    from lamella.ui.main_window import MainWindow


def application() -> QApplication:
    """The one QApplication, created if there is none yet."""
    skip_feature_search()
    qt_application = QApplication.instance() or QApplication(["lamella"])
    assert isinstance(qt_application, QApplication)
    qt_application.setApplicationName("lamella")
    qt_application.setApplicationDisplayName(paths.NAME)
    qt_application.setApplicationVersion(__version__)
    qt_application.setDesktopFileName("lamella")
    return qt_application


def run(
    names: Sequence[Path | str],
    with_sample: bool = False,
    new_window: bool = False,
    setting_texts: Sequence[str] = (),
) -> int:
    """Run the event loop and return its exit code, or end the process where reads never answer. Raises
    LamellaError, after showing it, if the window cannot be shown."""
    files = [path_or_address(each) for each in names]
    qt = application()
    collector, server = GarbageCollector(), LaunchServer()
    handler = logs.start()
    logs.install()
    on_interrupt = signal.signal(signal.SIGINT, signal.SIG_DFL)  # Qt's loop would not let Python handle it
    try:
        if with_sample or new_window or setting_texts:
            launch.listen_if_first(server)
        elif launch.hand_over(files, server):
            return 0
        code = _show(qt, collector, server, files, with_sample, setting_texts)
    finally:
        collector.stop()
        server.close()
        signal.signal(signal.SIGINT, on_interrupt)
        logs.uninstall()
        logs.stop(handler)
    from lamella.ui.tasks import has_unanswered_reads  # not needed by a launch that hands its files over

    if has_unanswered_reads():  # Python waits for their threads, and a disk that is gone may never answer
        atexit._run_exitfuncs()
        os._exit(code)
    return code


def _show(
    qt: QApplication,
    collector: GarbageCollector,
    server: LaunchServer,
    files: Sequence[Path],
    with_sample: bool,
    setting_texts: Sequence[str],
) -> int:
    # Not needed by a launch that hands its files over.
    from lamella.app import crash
    from lamella.app.program import Program
    from lamella.ui.dialogs.error_dialog import ErrorDialog

    collector.skip_existing()
    try:
        macos_files = FileOpenEvents(qt) if sys.platform == "darwin" else None  # it filters every Qt event
        program = Program(restores=True, setting_texts=setting_texts)
        program.restore(opens_current=not files and not with_sample)
    except LamellaError as problem:
        ErrorDialog(problem).exec()
        raise
    uninstall = crash.install(crash.CrashReporter().tell)
    stop_stacks = crash.record_stacks()
    try:
        program.window.show()
        program.open(files, with_sample)
        server.serve(program.open_from_launch)
        if macos_files is not None:
            macos_files.serve(program.open_from_launch)
        return qt.exec()
    finally:
        stop_stacks()
        uninstall()


def window_system() -> type[LamellaWindow]:
    """The window as the benchmark measures it."""
    from lamella.app.program import Program
    from lamella.ui.bench.window_driver import LamellaWindow

    class ProgramWindow(LamellaWindow):
        def start(self) -> MainWindow:
            application()
            return Program().window

    return ProgramWindow
