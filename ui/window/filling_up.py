"""A file with rows that are too short: the question whether to fill them up."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QMessageBox, QWidget

from core.errors import LamellaError
from ui.window.failures import PAD
from ui.window.library import Key, Library


def ask_fill_up(error: LamellaError, key: Key, library: Library, window: QWidget) -> None:
    """Say why the file was not opened; it is opened at once when its short rows may be filled up."""
    box = QMessageBox(QMessageBox.Icon.Warning, "Lamella", error.what, parent=window)
    box.setInformativeText(f"{error.why}. {error.fix}.")
    fill_up = box.addButton(PAD, QMessageBox.ButtonRole.AcceptRole)
    box.addButton(QMessageBox.StandardButton.Cancel)
    box.setDefaultButton(fill_up)
    box.finished.connect(lambda _: box.clickedButton() is fill_up and library.open_filled_up(Path(key[0])))
    box.finished.connect(box.deleteLater)
    box.open()
