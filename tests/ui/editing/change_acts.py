"""What tests of the Change dialog do in it, and read from it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit
from pytestqt.qtbot import QtBot

from lamella.core.store.commit import Commit
from lamella.ui.editing.change_dialog import ChangeDialog


def settled(qtbot: QtBot, dialog: ChangeDialog) -> ChangeDialog:
    qtbot.waitUntil(lambda: dialog.is_settled and "Counting" not in dialog.news.text(), timeout=10_000)
    return dialog


def said(dialog: ChangeDialog) -> str:
    """All that is written in it."""
    return " ".join(
        label.text().replace("\u200b", "") for label in dialog.findChildren(QLabel) if label.isVisible()
    )


def field(dialog: ChangeDialog, name: str) -> QLineEdit:
    QApplication.processEvents()  # a field that is new is shown with the next layout
    fields = [f for f in dialog.findChildren(QLineEdit) if f.accessibleName() == name and f.isVisible()]
    return fields[-1]


def cells(dialog: ChangeDialog) -> list[list[str]]:
    table = dialog.preview
    return [
        [table.item(row, place).text() for place in range(table.columnCount())]
        for row in range(table.rowCount())
    ]


def headers(dialog: ChangeDialog) -> list[str]:
    table = dialog.preview
    return [table.horizontalHeaderItem(place).text() for place in range(table.columnCount())]


def press(qtbot: QtBot, dialog: ChangeDialog) -> Commit:
    """The primary button, once it can be."""
    qtbot.waitUntil(dialog.apply.isEnabled, timeout=10_000)
    with qtbot.waitSignal(dialog.committed) as caught:
        qtbot.mouseClick(dialog.apply, Qt.MouseButton.LeftButton)
    assert not dialog.isVisible()
    return caught.args[0]
