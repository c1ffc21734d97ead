"""Where the chips are: as tall as their lines, and from the fourth line on it scrolls."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtWidgets import QFrame, QScrollArea, QSizePolicy, QWidget

from lamella.ui.widgets.flow_layout import FlowLayout

MOST_LINES = 3


class ChipArea(QScrollArea):
    """Add the chips to `flow`."""

    def __init__(self, gap: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._gap = gap
        inside = QWidget()
        self.flow = FlowLayout(gap, inside)
        self.setWidget(inside)
        inside.setAutoFillBackground(False)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.widget() and event.type() is QEvent.Type.LayoutRequest:
            self.updateGeometry()
        return super().eventFilter(watched, event)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        tallest = MOST_LINES * self.flow.minimumSize().height() + (MOST_LINES - 1) * self._gap
        return min(self.flow.heightForWidth(width), tallest)

    def sizeHint(self) -> QSize:
        return self.flow.minimumSize()

    def minimumSizeHint(self) -> QSize:
        return self.flow.minimumSize()
