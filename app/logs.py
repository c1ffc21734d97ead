"""The program's log: a rotating file in the user's log folder, which includes Qt's messages."""

from __future__ import annotations

import logging
import logging.handlers
import sys
from collections import deque
from pathlib import Path

from PySide6.QtCore import QMessageLogContext, QtMsgType, qInstallMessageHandler

from lamella.app import paths

BYTES_PER_FILE = 1_000_000
MOST_FILES = 3
LINE = "%(asctime)s %(levelname)s %(threadName)s %(name)s: %(message)s"


def log_path() -> Path:
    return paths.log_folder() / "lamella.log"


class LogFile(logging.handlers.RotatingFileHandler):
    """A log file. Records that cannot be written, on a full or read-only disk, go to standard error."""

    is_complete = True

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        self.is_complete = False
        if sys.stderr is not None:  # pythonw has none
            print(self.format(record), file=sys.stderr)


def start() -> LogFile:
    """Start logging to the file. Pass the returned handler to `stop`."""
    handler = LogFile(
        log_path(),
        maxBytes=BYTES_PER_FILE,
        backupCount=MOST_FILES,
        encoding="utf8",
        delay=True,
        errors="backslashreplace",
    )
    handler.setFormatter(logging.Formatter(LINE))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    logging.captureWarnings(True)
    logging.getLogger("sqlglot").setLevel(
        logging.ERROR
    )  # its warnings quote statements, which may contain secrets
    return handler


def stop(handler: logging.Handler) -> None:
    logging.captureWarnings(False)
    logging.getLogger("sqlglot").setLevel(logging.NOTSET)
    logging.getLogger().removeHandler(handler)
    handler.close()


def last_lines(count: int = 40) -> str:
    try:
        with log_path().open(encoding="utf8", errors="replace") as lines:
            return "".join(deque(lines, count))
    except OSError as error:
        return f"There is no log: {error}"


LEVELS = {
    QtMsgType.QtDebugMsg: logging.DEBUG,
    QtMsgType.QtInfoMsg: logging.INFO,
    QtMsgType.QtWarningMsg: logging.WARNING,
    QtMsgType.QtCriticalMsg: logging.ERROR,
    QtMsgType.QtFatalMsg: logging.CRITICAL,
}
NO_SIZE_HINTS = "This plugin does not support propagateSizeHints()"
"""Qt's message about every window that it shows offscreen."""
log = logging.getLogger("qt")


def install(*, echoes: bool = False) -> None:
    """Send Qt's messages to the log and, with `echoes`, to standard error as well."""
    qInstallMessageHandler(_echo if echoes else _write)


def uninstall() -> None:
    qInstallMessageHandler(None)


def _write(kind: QtMsgType, context: QMessageLogContext, message: str) -> None:
    if message != NO_SIZE_HINTS:
        log.log(LEVELS[kind], "%s%s", f"{context.category}: " if context.category else "", message)


def _echo(kind: QtMsgType, context: QMessageLogContext, message: str) -> None:
    _write(kind, context, message)
    if message != NO_SIZE_HINTS:
        print(message, file=sys.stderr)
