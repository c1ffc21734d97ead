"""A line or two of small print; an empty one takes no room."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from lamella.ui import theme


class Caption(QLabel):
    """Wraps where the panel is narrow, so that nothing of it is cut. Where the panel is low as well it can be
    kept to one line, and its tooltip has the rest."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._told, self._short = "", False
        theme.variant(self, "caption")
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(True)

    @property
    def full_text(self) -> str:
        """All of it, also where it is cut."""
        return self._told

    def tell(self, text: str) -> None:
        self._told = text
        self._show()
        self.setVisible(bool(text))

    def set_short(self, short: bool) -> None:
        if short == self._short:
            return
        self._short = short
        self.setWordWrap(not short)
        across = QSizePolicy.Policy.Ignored if short else QSizePolicy.Policy.Preferred
        self.setSizePolicy(across, QSizePolicy.Policy.Preferred)
        self._show()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._short:
            self._show()

    def _show(self) -> None:
        shown = self._told
        if self._short:
            shown = self.fontMetrics().elidedText(
                shown, Qt.TextElideMode.ElideRight, self.contentsRect().width()
            )
        self.setText(shown)
        self.setToolTip(self._told if shown != self._told else "")
