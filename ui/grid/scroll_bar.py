"""The scroll bar over all rows, for views larger than what Qt can scroll by itself."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QScrollBar, QWidget

from lamella.ui.grid.view import GridView

MOST = 2**31 - 1  # a scroll bar counts in an int


class RowScrollBar(QScrollBar):
    """Counts in rows, or in several rows at once above 2³¹ of them. Hidden while Qt's own bar does."""

    def __init__(self, grid: GridView, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Vertical, parent)
        self._grid = grid
        self._rows_per_step = 1
        self._following = False
        self.setAccessibleName("All rows")
        self.valueChanged.connect(self._moved)
        grid.scrolled.connect(self.follow)
        self.follow()

    def follow(self) -> None:
        """Show where the grid is."""
        model, rows = self._grid.grid_model, len(self._grid.visible_rows())
        windowed = model.is_windowed
        self.setVisible(windowed)
        policy = Qt.ScrollBarPolicy.ScrollBarAlwaysOff if windowed else Qt.ScrollBarPolicy.ScrollBarAsNeeded
        if self._grid.verticalScrollBarPolicy() is not policy:
            self._grid.setVerticalScrollBarPolicy(policy)
        last = max(0, model.num_rows - max(1, rows - 1))
        self._rows_per_step = last // MOST + 1
        self._following = True
        self.setRange(0, last // self._rows_per_step)
        self.setPageStep(max(1, rows - 1))
        self.setValue(self._grid.top_row() // self._rows_per_step)
        self._following = False

    def _moved(self, value: int) -> None:
        if not self._following:
            self._grid.scroll_to_row(value * self._rows_per_step)
