"""Where the MongoDB server of a benchmark is."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QWidget

from lamella.ui import theme

INDENT = theme.XL


class ServerField(QWidget):
    """`changed` follows another address, once it is typed."""

    changed = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.uri = QLineEdit(accessibleName="Address of the MongoDB server")
        self._before = ""
        label = QLabel("at")
        theme.variant(label, "caption")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(INDENT, 0, 0, 0)
        layout.setSpacing(theme.S)
        layout.addWidget(label)
        layout.addWidget(self.uri, 1)
        self.uri.setToolTip("mongodb://user:password@host:port; a benchmark makes databases of its own there")
        self.uri.editingFinished.connect(self._take)

    def show_uri(self, uri: str) -> None:
        self._before = uri
        self.uri.setText(uri)
        self.uri.setCursorPosition(0)

    def _take(self) -> None:
        typed = self.uri.text().strip()
        if typed != self._before:
            self._before = typed
            self.changed.emit(typed)
