"""The grid with its scroll bar, and what lies over it: a word while it works, or why there are no rows."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QProgressBar, QVBoxLayout, QWidget

from lamella.ui import theme
from lamella.ui.grid.scroll_bar import RowScrollBar
from lamella.ui.grid.view import GridView
from lamella.ui.tasks import Tasks

WAIT_MS = 500  # quick work should not flash a word


class GridPane(QWidget):
    def __init__(self, tasks: Tasks, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.grid = GridView(tasks, self)
        self.scroll_bar = RowScrollBar(self.grid, self)
        self.busy = _Busy(self)
        self.nothing = QLabel(self)
        self.nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        theme.variant(self.nothing, "muted")
        self.nothing.hide()
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.grid)
        layout.addWidget(self.scroll_bar)
        self._late = QTimer(self, singleShot=True, interval=WAIT_MS)
        self._late.timeout.connect(self.busy.show)
        self.grid.installEventFilter(self)

    def set_busy(self, text: str) -> None:
        """Say what is going on, once it has lasted half a second; nothing for an empty text."""
        if text:
            self.busy.label.setText(text)
            self._late.start()
        else:
            self._late.stop()
            self.busy.hide()
        self._place()

    def set_nothing(self, text: str) -> None:
        """Why there are no rows; empty when there are."""
        self.nothing.setText(text)
        self.nothing.setVisible(bool(text))
        self._place()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.Resize:
            self._place()
        return False

    def _place(self) -> None:
        for over in (self.busy, self.nothing):
            over.adjustSize()
            over.move((self.width() - over.width()) // 2, (self.height() - over.height()) // 2)
            over.raise_()


class _Busy(QFrame):
    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        theme.variant(self, "overlay")
        self.label = QLabel(self)
        bar = QProgressBar(self)
        bar.setRange(0, 0)
        bar.setTextVisible(False)
        bar.setFixedWidth(160)
        bar.setAccessibleName("Working")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.XL, theme.L, theme.XL, theme.L)
        layout.setSpacing(theme.S)
        layout.addWidget(self.label, alignment=Qt.AlignmentFlag.AlignCenter)
        layout.addWidget(bar)
        self.hide()
