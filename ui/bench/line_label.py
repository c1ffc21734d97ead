"""A caption that keeps to one line: what does not fit is cut with … and stands in the tool tip."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from ui import theme


class LineLabel(QLabel):
    """`whole` is the text however much of it is visible; screen readers get all of it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        self.whole = ""
        super().__init__(parent)
        theme.variant(self, "caption")
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def set_whole(self, text: str) -> None:
        """An empty text takes no room."""
        self.whole = text
        self.setToolTip(text)
        self.setAccessibleName(text)
        self.setVisible(bool(text))
        self._cut()

    def minimumSizeHint(self) -> QSize:
        return QSize(0, self.fontMetrics().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._cut()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._cut()

    def _cut(self) -> None:
        self.setText(self.fontMetrics().elidedText(self.whole, Qt.TextElideMode.ElideRight, self.width()))
