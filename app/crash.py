"""What happens when something breaks that should not: it is logged, and told with details to copy."""

from __future__ import annotations

import logging
import platform
import sys
import threading
import traceback
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from types import TracebackType

from lamella.app import __version__, logs
from lamella.core.errors import LamellaError

LIBRARIES = ("PySide6_Essentials", "pyqtgraph", "pyarrow", "duckdb", "sqlglot", "numpy", "pandas")
log = logging.getLogger(__name__)


def log_and_tell(error: BaseException) -> None:
    """For the command line: the log gets everything, the terminal one line and where the rest is."""
    handler = logs.start()
    log.critical("Unexpected error", exc_info=error)
    logs.stop(handler)
    print(f"lamella: unexpected error: {type(error).__name__}: {error}", file=sys.stderr)
    print(f"lamella: this is a bug; the details are in {logs.log_path()}", file=sys.stderr)


def report_text(error: BaseException) -> str:
    """Everything that somebody who looks into it will ask for."""
    trace = "".join(traceback.format_exception(error))
    return f"{trace}\n{_versions()}\n\nLast lines of the log:\n{logs.last_lines()}"


def install(tell: Callable[[BaseException], None]) -> Callable[[], None]:
    """Log every exception that nobody caught, on any thread, and hand it to `tell` there.

    Returns what puts the former hooks back.
    """
    before = sys.excepthook, threading.excepthook, sys.unraisablehook

    def caught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            before[0](kind, error, trace)
            return
        log.critical("Unexpected error", exc_info=(kind, error, trace))
        before[0](kind, error, trace)
        tell(error)

    def caught_on_thread(event: threading.ExceptHookArgs) -> None:
        if event.exc_value is not None:
            caught(event.exc_type, event.exc_value, event.exc_traceback)

    def caught_in_destructor(event: sys.UnraisableHookArgs) -> None:
        log.error("Ignored in %r", event.object, exc_info=event.exc_value)
        before[2](event)

    def uninstall() -> None:
        sys.excepthook, threading.excepthook, sys.unraisablehook = before

    sys.excepthook, threading.excepthook = caught, caught_on_thread
    sys.unraisablehook = caught_in_destructor
    return uninstall


def summary(error: BaseException) -> str:
    if isinstance(error, LamellaError):
        return str(error)
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _versions() -> str:
    lines = [f"Lamella {__version__}", f"Python {platform.python_version()}", platform.platform()]
    for name in LIBRARIES:
        try:
            lines.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            lines.append(f"{name}: version unknown")
    return "\n".join(lines)
