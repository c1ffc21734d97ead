"""Asks for names: of something new in a popover, of what has a name already in a dialog."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QInputDialog, QLabel, QLineEdit, QPushButton, QVBoxLayout, QWidget

from lamella.ui import theme

NAME_WIDTH = 360
"""The width of the dialog in pixels at the default text size: window managers cut titles that are wider."""


class NameForm(QWidget):
    """Asks for the name of a `thing`; `about` says what is saved under it. `named` has a name that is not
    empty."""

    named = Signal(str)

    def __init__(self, thing: str, about: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        title = f"Name of the {thing}"
        self.name = QLineEdit(placeholderText=title, accessibleName=title)
        self.save = QPushButton(f"Save {thing}")
        theme.variant(self.save, "primary")
        caption = QLabel(about)
        theme.variant(caption, "caption")
        line = QHBoxLayout()
        line.addStretch(1)
        line.addWidget(self.save)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.S)
        layout.addWidget(self.name)
        layout.addWidget(caption)
        layout.addLayout(line)
        self.save.clicked.connect(self._take)
        self.name.returnPressed.connect(self._take)
        self.name.textChanged.connect(lambda text: self.save.setEnabled(bool(text.strip())))
        self.save.setEnabled(False)

    def begin(self) -> None:
        """Empty the form, and move the focus into it."""
        self.name.clear()
        self.name.setFocus(Qt.FocusReason.PopupFocusReason)

    def _take(self) -> None:
        if self.name.text().strip():
            self.named.emit(self.name.text().strip())


def ask_name(
    parent: QWidget, title: str, label: str, name: str, on_name: Callable[[str], object]
) -> QInputDialog:
    """Open a dialog that asks for another `name`, which `on_name` gets. It deletes itself when it is
    closed."""
    dialog = QInputDialog(parent)
    dialog.setWindowTitle(title)
    dialog.setLabelText(label)
    dialog.setTextValue(name)
    dialog.textValueSelected.connect(on_name)
    dialog.finished.connect(dialog.deleteLater)
    dialog.open()
    dialog.resize(max(dialog.width(), theme.current().px(NAME_WIDTH)), dialog.height())
    return dialog
