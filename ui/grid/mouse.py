"""The mouse over the grid: ranges of cells, and the drag of what is selected."""

from __future__ import annotations

from typing import Protocol

from PySide6.QtCore import QObject, QPoint, Qt, QTimer, SignalInstance
from PySide6.QtGui import QCursor, QMouseEvent
from PySide6.QtWidgets import QApplication, QHeaderView, QWidget

from lamella.ui.grid.model import GridModel
from lamella.ui.grid.selection import Selection

SCROLL_EVERY_MS = 40
EDGE = 3
"""Pixels on either side of the border of what is selected, by which it is dragged."""


class PointedGrid(Protocol):
    """What the mouse knows of a grid, which is a widget, too."""

    grid_model: GridModel
    selection: Selection
    drag_requested: SignalInstance
    open_requested: SignalInstance

    @property
    def room_at_bottom(self) -> int: ...

    @property
    def rows_height(self) -> int: ...

    def setFocus(self, reason: Qt.FocusReason) -> None: ...

    def viewport(self) -> QWidget: ...

    def horizontalHeader(self) -> QHeaderView: ...

    def cursor(self) -> QCursor: ...

    def row_top(self, row: int) -> int: ...

    def cell_at(self, point: QPoint) -> tuple[int, int] | None: ...

    def is_arrow(self, point: QPoint) -> bool: ...

    def go_to(self, row: int, place: int | None = None, extend: bool = False) -> None: ...


class Mouse(QObject):
    """A press begins a range, wherever it is; on the border of what is selected, or with Alt inside of it, a
    drag begins instead, and the press is a click where the mouse does not move."""

    def __init__(self, grid: PointedGrid) -> None:
        super().__init__(grid)
        self._grid = grid
        self._grabbed: QPoint | None = None
        self._chooses = False  # since a press that began a range, until the mouse lets go
        self._scroll_timer = QTimer(self, interval=SCROLL_EVERY_MS)
        self._scroll_timer.timeout.connect(self._scroll_on)

    def press(self, event: QMouseEvent) -> None:
        grid = self._grid
        cell = grid.cell_at(event.position().toPoint())
        grid.setFocus(Qt.FocusReason.MouseFocusReason)
        if cell is None or (event.button() is Qt.MouseButton.RightButton and cell in grid.selection):
            return
        is_plain = event.modifiers() == Qt.KeyboardModifier.NoModifier
        is_left, point = event.button() is Qt.MouseButton.LeftButton, event.position().toPoint()
        if is_left and is_plain and grid.is_arrow(point):
            assert grid.grid_model.tree is not None
            grid.selection.select(*cell)
            grid.open_requested.emit(cell[0], not grid.grid_model.tree.is_open(cell[0]))
            return
        if is_left and self._grabs(event):
            self._grabbed = point
            return
        self._chooses = True
        self._choose(event, cell)

    def _grabs(self, event: QMouseEvent) -> bool:
        grid, point, keys = self._grid, event.position().toPoint(), event.modifiers()
        if grid.selection.num_cells < 2:
            return False
        if keys == Qt.KeyboardModifier.AltModifier:
            return grid.cell_at(point) in grid.selection
        return keys == Qt.KeyboardModifier.NoModifier and self._is_on_border(point)

    def _is_on_border(self, point: QPoint) -> bool:
        """Whether a point of the viewport is on the border of what is selected."""
        around = (QPoint(EDGE, 0), QPoint(-EDGE, 0), QPoint(0, EDGE), QPoint(0, -EDGE))
        selected = [self._is_selected(point + step) for step in around]
        return any(selected) and not all(selected)

    def _is_selected(self, point: QPoint) -> bool:
        """Outside of the viewport as at its edge, so that a range ends where its border is seen."""
        grid, header = self._grid, self._grid.horizontalHeader()
        below = grid.row_top(grid.grid_model.num_rows)
        beyond = point.x() >= header.length() - header.offset() or point.y() >= below
        return not beyond and grid.cell_at(point) in grid.selection

    def _choose(self, event: QMouseEvent, cell: tuple[int, int]) -> None:
        grid = self._grid
        if event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            grid.selection.extend(*cell)
        elif event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            grid.selection.add(*cell)
        else:
            grid.selection.select(*cell)

    def move(self, event: QMouseEvent) -> None:
        grid, point = self._grid, event.position().toPoint()
        if not event.buttons() & Qt.MouseButton.LeftButton or grid.selection.current is None:
            self._show_grip(event)
            return
        if self._grabbed is not None:
            if (point - self._grabbed).manhattanLength() >= QApplication.startDragDistance():
                self._grabbed = None
                grid.drag_requested.emit()
            return
        if not self._chooses:
            return
        cell = grid.cell_at(point)
        if cell is not None and cell != grid.selection.current:
            grid.selection.extend(*cell)
        inside = grid.viewport().rect().adjusted(0, 0, 0, -grid.room_at_bottom).contains(point)
        self._scroll_timer.stop() if inside else self._scroll_timer.start()

    def release(self, event: QMouseEvent) -> None:
        self._scroll_timer.stop()
        self._chooses = False
        if self._grabbed is not None:
            self._grabbed = None
            cell = self._grid.cell_at(event.position().toPoint())
            if cell is not None:
                self._choose(event, cell)

    def _show_grip(self, event: QMouseEvent) -> None:
        grid = self._grid
        if self._grabs(event):
            grid.viewport().setCursor(Qt.CursorShape.OpenHandCursor)
        else:
            grid.viewport().unsetCursor()

    def _scroll_on(self) -> None:
        grid = self._grid
        point = grid.viewport().mapFromGlobal(grid.cursor().pos())
        down = (point.y() > grid.rows_height) - (point.y() < 0)
        right = (point.x() > grid.viewport().width()) - (point.x() < 0)
        if grid.selection.current is not None:
            row, place = grid.selection.current
            place = min(max(place + right, 0), grid.grid_model.columnCount() - 1)
            grid.go_to(row + down, place, extend=True)
