"""A line or two of small print; an empty one takes no room."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget

from ui import theme


class Caption(QLabel):
    """Wraps where the panel is narrow, so that nothing of it is ever cut."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        theme.variant(self, "caption")
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(True)

    def tell(self, text: str) -> None:
        self.setText(text)
        self.setVisible(bool(text))
