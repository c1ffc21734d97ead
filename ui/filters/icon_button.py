"""A flat button with an icon of the theme."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QToolButton, QWidget

from lamella.ui import theme

ICON_SIDE = 16


class IconButton(QToolButton):
    """`says` is its tooltip and accessible name."""

    def __init__(self, icon: str, says: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._icon_name = icon
        self.setIconSize(QSize(ICON_SIDE, ICON_SIDE))
        self.say(says)
        self._draw()
        theme.current().changed.connect(self._draw)

    def say(self, says: str) -> None:
        self.setToolTip(says)
        self.setAccessibleName(says)

    def _draw(self) -> None:
        self.setIcon(theme.current().icon(self._icon_name))
