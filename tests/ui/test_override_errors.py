"""An exception in an overridden method of Qt is raised where Python called Qt; the program does not crash."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QStringListModel
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QListView, QWidget
from pytestqt.qtbot import QtBot

import lamella.ui  # noqa: F401 -- completes the exceptions of classes that follow

Index = QModelIndex | QPersistentModelIndex
NOTHING = list[int]()


def test_an_error_in_painting_is_raised(qtbot: QtBot):
    class Painted(QWidget):
        def paintEvent(self, event: QPaintEvent) -> None:
            NOTHING[1]

    widget = Painted()
    qtbot.addWidget(widget)
    with pytest.raises(IndexError, match="list index out of range"):
        widget.grab()


def test_an_error_in_a_model_is_raised(qtbot: QtBot):
    class Rows(QStringListModel):
        def data(self, index: Index, role: int = 0) -> object:
            return NOTHING[index.row()]

    view = QListView()
    view.setModel(Rows(["text"], view))
    qtbot.addWidget(view)
    with pytest.raises(IndexError, match="list index out of range"):
        view.grab()
