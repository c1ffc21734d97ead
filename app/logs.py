"""The program's log: one rotating file in the user's log folder; Qt's own messages go there too."""

from __future__ import annotations

import logging
import logging.handlers
import sys
from collections import deque
from pathlib import Path

from PySide6.QtCore import QMessageLogContext, QtMsgType, qInstallMessageHandler

from lamella.app import paths

BYTES_PER_FILE = 1_000_000
FILES_KEPT = 3
LINE = "%(asctime)s %(levelname)s %(threadName)s %(name)s: %(message)s"


def log_path() -> Path:
    return paths.log_folder() / "lamella.log"


class LogFile(logging.handlers.RotatingFileHandler):
    """What cannot be written, on a full or read-only disk, goes to standard error."""

    is_complete = True

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        self.is_complete = False
        if sys.stderr is not None:  # pythonw has none
            print(self.format(record), file=sys.stderr)


def start() -> LogFile:
    """Write the log from here on; `stop` with what this returns."""
    handler = LogFile(
        log_path(),
        maxBytes=BYTES_PER_FILE,
        backupCount=FILES_KEPT,
        encoding="utf8",
        delay=True,
        errors="backslashreplace",
    )
    handler.setFormatter(logging.Formatter(LINE))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    logging.captureWarnings(True)
    logging.getLogger("sqlglot").setLevel(logging.ERROR)  # its warnings quote statements, with what is secret
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
"""What Qt says of every window that it shows without a screen."""
log = logging.getLogger("qt")


def install(*, echoes: bool = False) -> None:
    """Qt's messages go to the log from here on, and to standard error too where that `echoes` them."""
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
