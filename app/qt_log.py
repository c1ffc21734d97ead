"""Qt's own messages go to the log."""

from __future__ import annotations

import logging

from PySide6.QtCore import QMessageLogContext, QtMsgType, qInstallMessageHandler

LEVELS = {
    QtMsgType.QtDebugMsg: logging.DEBUG,
    QtMsgType.QtInfoMsg: logging.INFO,
    QtMsgType.QtWarningMsg: logging.WARNING,
    QtMsgType.QtCriticalMsg: logging.ERROR,
    QtMsgType.QtFatalMsg: logging.CRITICAL,
}
log = logging.getLogger("qt")


def install() -> None:
    qInstallMessageHandler(_write)


def uninstall() -> None:
    qInstallMessageHandler(None)


def _write(kind: QtMsgType, context: QMessageLogContext, message: str) -> None:
    log.log(LEVELS[kind], "%s%s", f"{context.category}: " if context.category else "", message)
