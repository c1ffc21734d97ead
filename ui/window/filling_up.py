"""A file that is not opened as it is: the question whether to open it in another way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import QMessageBox, QWidget

from lamella.core.errors import LamellaError
from lamella.ui.window.failures import LOOK_ANYWAY, PAD
from lamella.ui.window.library import Key, Library


def ask_fill_up(error: LamellaError, key: Key, library: Library, window: QWidget) -> None:
    """Say why the file was not opened; it is opened at once when its short rows may be filled up."""
    _ask(error, PAD, lambda: library.open_filled_up(Path(key[0])), window)


def ask_look_anyway(error: LamellaError, key: Key, library: Library, window: QWidget) -> None:
    """The same where its checksums differ: what it shows then may be wrong, so that is not the default."""
    box = _ask(error, LOOK_ANYWAY, lambda: library.open_unverified(Path(key[0])), window)
    box.setDefaultButton(QMessageBox.StandardButton.Cancel)


def _ask(error: LamellaError, label: str, then: Callable[[], object], window: QWidget) -> QMessageBox:
    box = QMessageBox(QMessageBox.Icon.Warning, "Lamella", error.what, parent=window)
    box.setInformativeText(f"{error.why}. {error.fix}.")
    otherwise = box.addButton(label, QMessageBox.ButtonRole.AcceptRole)
    box.addButton(QMessageBox.StandardButton.Cancel)
    box.setDefaultButton(otherwise)
    box.finished.connect(lambda _: box.clickedButton() is otherwise and then())
    box.finished.connect(box.deleteLater)
    box.open()
    return box
