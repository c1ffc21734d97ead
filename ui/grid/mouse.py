"""What the mouse does in the grid: select, extend, add, and scroll on while it is held outside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtGui import QMouseEvent

if TYPE_CHECKING:
    from lamella.ui.grid.view import GridView

SCROLL_EVERY_MS = 40


class Mouse(QObject):
    def __init__(self, grid: GridView) -> None:
        super().__init__(grid)
        self._grid = grid
        self._held = QTimer(self, interval=SCROLL_EVERY_MS)
        self._held.timeout.connect(self._scroll_on)

    def press(self, event: QMouseEvent) -> None:
        grid = self._grid
        cell = grid.cell_at(event.position().toPoint())
        grid.setFocus(Qt.FocusReason.MouseFocusReason)
        if cell is None or (event.button() is Qt.MouseButton.RightButton and cell in grid.selection):
            return
        if event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            grid.selection.extend(*cell)
        elif event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            grid.selection.add(*cell)
        else:
            grid.selection.select(*cell)

    def move(self, event: QMouseEvent) -> None:
        grid = self._grid
        if not event.buttons() & Qt.MouseButton.LeftButton or grid.selection.current is None:
            return
        point = event.position().toPoint()
        cell = grid.cell_at(point)
        if cell is not None and cell != grid.selection.current:
            grid.selection.extend(*cell)
        self._held.stop() if grid.viewport().rect().contains(point) else self._held.start()

    def release(self) -> None:
        self._held.stop()

    def _scroll_on(self) -> None:
        grid = self._grid
        point = grid.viewport().mapFromGlobal(grid.cursor().pos())
        down = (point.y() > grid.viewport().height()) - (point.y() < 0)
        right = (point.x() > grid.viewport().width()) - (point.x() < 0)
        if grid.selection.current is not None:
            row, place = grid.selection.current
            place = min(max(place + right, 0), grid.grid_model.columnCount() - 1)
            grid.go_to(row + down, place, extend=True)
