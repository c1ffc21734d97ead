"""An exception in an overridden method of Qt is raised where Python called Qt; the program does not crash."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import FunctionType

import pytest
from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QStringListModel
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QListView, QWidget
from pytestqt.qtbot import QtBot
from shiboken6 import Shiboken

import lamella.ui.theme  # completes the exceptions of classes that follow
from lamella.ui.override_errors import OVERRIDES

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


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="PySide keeps the data in the class itself there")
def test_a_class_of_qt_is_refused_on_another_thread():
    with ThreadPoolExecutor(1, "reader") as threads:
        creation = threads.submit(type, "Late", (QWidget,), {})
    with pytest.raises(RuntimeError, match="Late is derived from a class of Qt"):
        creation.result()


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="exceptions are always complete there")
def test_all_classes_of_the_window_are_covered():
    """This holds even if another module than the window's is imported first."""
    for module in pkgutil.walk_packages(lamella.ui.__path__, "lamella.ui."):
        importlib.import_module(module.name)
    classes = set(derived_from(Shiboken.Object))
    overrides = [
        (cls.__qualname__, name, method)
        for cls in classes
        if cls.__module__.startswith("lamella.ui")
        for name, method in vars(cls).items()
        if isinstance(method, FunctionType) and (name in OVERRIDES or name.endswith("Event"))
    ]
    assert len(overrides) > 200
    assert [(cls, name) for cls, name, method in overrides if not hasattr(method, "__wrapped__")] == []


def derived_from(cls: type) -> Iterator[type]:
    for derived in cls.__subclasses__():
        yield derived
        yield from derived_from(derived)
