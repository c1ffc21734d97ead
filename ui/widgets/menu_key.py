"""Shift+F10, which opens a menu as the menu key does. Qt knows it on Windows only."""

from __future__ import annotations

import sys

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QContextMenuEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QApplication, QWidget


def add_menu_key(window: QWidget) -> None:
    """Let Shift+F10 open the menu of what has the keyboard in a window."""
    if sys.platform.startswith("linux"):
        shortcut = QShortcut(QKeySequence("Shift+F10"), window)
        shortcut.activated.connect(_open_menu)


def _open_menu() -> None:
    focus = QApplication.focusWidget()
    if focus is not None:
        point, reason = focus.rect().center(), QContextMenuEvent.Reason.Keyboard
        QCoreApplication.sendEvent(focus, QContextMenuEvent(reason, point, focus.mapToGlobal(point)))
