"""The form that asks for a name, in a popover: of a saved view, of a snippet."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QPushButton, QVBoxLayout, QWidget

from lamella.ui import theme


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
