"""The grid with its scroll bar, and the texts over it: that it is busy, or why there are no rows."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, QTimer
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QProgressBar, QScrollBar, QVBoxLayout, QWidget

from lamella.ui import theme
from lamella.ui.grid.view import GridView
from lamella.ui.tasks import Tasks

MOST_STEPS = 2**31 - 1  # a scroll bar counts in an int


class RowScrollBar(QScrollBar):
    """Counts rows, or several rows at a time if there are more than 2³¹. Hidden while Qt's own bar is
    used."""

    def __init__(self, grid: GridView, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Vertical, parent)
        self._grid = grid
        self._rows_per_step = 1
        self._following = False
        self.setAccessibleName("All rows")
        self.valueChanged.connect(self._follow_value)
        grid.scrolled.connect(self.follow)
        self.follow()

    def follow(self) -> None:
        """Show the grid's position."""
        model, rows = self._grid.grid_model, len(self._grid.visible_rows())
        windowed = model.is_windowed
        self.setVisible(windowed)
        policy = Qt.ScrollBarPolicy.ScrollBarAlwaysOff if windowed else Qt.ScrollBarPolicy.ScrollBarAsNeeded
        if self._grid.verticalScrollBarPolicy() is not policy:
            self._grid.setVerticalScrollBarPolicy(policy)
        last = max(0, model.num_rows - max(1, rows - 1))
        self._rows_per_step = last // MOST_STEPS + 1
        self._following = True
        self.setRange(0, last // self._rows_per_step)
        self.setPageStep(max(1, rows - 1))
        self.setValue(self._grid.top_row() // self._rows_per_step)
        self._following = False

    def _follow_value(self, value: int) -> None:
        if not self._following:
            self._grid.scroll_to_row(value * self._rows_per_step)


WAIT_MS = 500  # fast work should not flash a text


class GridPane(QWidget):
    def __init__(self, tasks: Tasks, parent: QWidget | None = None, grid: GridView | None = None) -> None:
        super().__init__(parent)
        self.grid = grid or GridView(tasks, self)
        self.grid.setParent(self)
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
        self._late.timeout.connect(self._show_busy)
        self.grid.viewport().installEventFilter(self)

    def set_busy(self, text: str) -> None:
        """Say what is going on, once it has lasted half a second; an empty text hides it."""
        if text:
            self.busy.label.setText(text)
            self._late.start()
        else:
            self._late.stop()
            self.busy.hide()
        self._place()

    def _show_busy(self) -> None:
        self.busy.show()
        self._place()

    def set_nothing(self, text: str) -> None:
        """Say why there are no rows; empty if there are some."""
        self.nothing.setText(text)
        self.nothing.setVisible(bool(text))
        self._place()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.Resize:
            self._place()
        return False

    def _place(self) -> None:
        for over in (self.busy, self.nothing):
            if over.isHidden():
                continue
            over.adjustSize()
            cells = self.grid.viewport().rect()
            cells.moveTo(self.grid.viewport().mapTo(self, QPoint()))
            left, top = cells.center().x() - over.width() // 2, cells.center().y() - over.height() // 2
            over.move(max(0, left), max(cells.top(), top))
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
