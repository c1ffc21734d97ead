"""Keys and mouse in the grid: moving to other cells, selecting ranges, starting edits, and dragging the
selection out."""

from __future__ import annotations

from typing import Protocol

from PySide6.QtCore import QObject, QPoint, Qt, QTimer, SignalInstance
from PySide6.QtGui import QCursor, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QApplication, QHeaderView, QWidget

from lamella.ui.grid.model import GridModel
from lamella.ui.grid.selection import Selection
from lamella.ui.widgets.hosts import widget_of

SCROLL_EVERY_MS = 40
EDGE = 3
"""Pixels on either side of the selection's border by which it can be dragged."""


class Grid(Protocol):
    """The grid as keys and mouse see it. It is a widget, too."""

    grid_model: GridModel
    selection: Selection
    drag_requested: SignalInstance
    open_requested: SignalInstance
    edit_requested: SignalInstance
    has_groups: bool

    @property
    def row_height(self) -> int: ...

    @property
    def room_at_bottom(self) -> int: ...

    @property
    def rows_height(self) -> int: ...

    def setFocus(self, reason: Qt.FocusReason) -> None: ...

    def viewport(self) -> QWidget: ...

    def horizontalHeader(self) -> QHeaderView: ...

    def cursor(self) -> QCursor: ...

    def row_top(self, row: int) -> int: ...

    def top_row(self) -> int: ...

    def first_place(self) -> int: ...

    def place(self, column: int) -> int: ...

    def cell_at(self, point: QPoint) -> tuple[int, int] | None: ...

    def is_arrow(self, point: QPoint) -> bool: ...

    def go_to(self, row: int, place: int | None = None, extend: bool = False) -> None: ...


class Mouse(QObject):
    """A press starts a range wherever it is, except on the selection's border, or inside it with Alt: there
    it starts a drag, or is a click if the mouse does not move."""

    def __init__(self, grid: Grid) -> None:
        super().__init__(widget_of(grid))
        self._grid = grid
        self._grab_place: QPoint | None = None
        self._chooses = False  # from a press that began a range until the button is released
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
            self._grab_place = point
            return
        self._chooses = True
        self._choose(event, cell)

    def _grabs(self, event: QMouseEvent) -> bool:
        grid, point, keys = self._grid, event.position().toPoint(), event.modifiers()
        if grid.selection.num_cells < 2:
            return False
        if keys == Qt.KeyboardModifier.AltModifier:
            return self._is_in_selection(point)
        return keys == Qt.KeyboardModifier.NoModifier and self._is_on_border(point)

    def _is_on_border(self, point: QPoint) -> bool:
        """Whether a point of the viewport is on the border of the selection."""
        around = (QPoint(EDGE, 0), QPoint(-EDGE, 0), QPoint(0, EDGE), QPoint(0, -EDGE))
        selected = [self._is_selected(point + step) for step in around]
        return any(selected) and not all(selected)

    def _is_selected(self, point: QPoint) -> bool:
        """Whether a point is in a selected cell; a point outside the viewport counts as its nearest edge."""
        grid, header = self._grid, self._grid.horizontalHeader()
        below = grid.row_top(grid.grid_model.num_rows)
        beyond = point.x() >= header.length() - header.offset() or point.y() >= below
        return not beyond and self._is_in_selection(point)

    def _is_in_selection(self, point: QPoint) -> bool:
        cell = self._grid.cell_at(point)
        return cell is not None and cell in self._grid.selection

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
        if self._grab_place is not None:
            if (point - self._grab_place).manhattanLength() >= QApplication.startDragDistance():
                self._grab_place = None
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
        if self._grab_place is not None:
            self._grab_place = None
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


Key = Qt.Key
STEPS: dict[int, tuple[int, int]] = {
    Key.Key_Up: (-1, 0),
    Key.Key_Down: (1, 0),
    Key.Key_Left: (0, -1),
    Key.Key_Right: (0, 1),
}


def press(grid: Grid, event: QKeyEvent) -> bool:
    """Handle a key; True if it has a meaning in the grid."""
    if grid.selection.current is None:
        if not grid.grid_model.has_cells:
            return False
        grid.selection.select(grid.top_row(), grid.first_place())
    shift = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
    control = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
    key = event.key()
    if key in STEPS and event.modifiers() & Qt.KeyboardModifier.AltModifier:
        return False  # Alt+Left is the action Back, also while there is nothing to go back to
    if not shift and not control and (_open_or_close(grid, key) or _show_rows_of_group(grid, key)):
        return True
    target = _target(grid, key, shift, control)
    if target is not None:
        extend = shift and key not in (Key.Key_Tab, Key.Key_Backtab, Key.Key_Return, Key.Key_Enter)
        grid.go_to(*target, extend=extend)
        return True
    return _edit(grid, event, control)


def opens_value(event: QKeyEvent) -> bool:
    """Enter or Alt+Down."""
    if event.key() in (Key.Key_Return, Key.Key_Enter):
        return not event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
    return event.key() == Key.Key_Down and event.modifiers() == Qt.KeyboardModifier.AltModifier


def _target(grid: Grid, key: int, shift: bool, control: bool) -> tuple[int, int] | None:
    assert grid.selection.current is not None
    row, place = grid.selection.current
    last_row, page = grid.grid_model.num_rows - 1, max(1, grid.rows_height // grid.row_height - 1)
    if key in STEPS:
        down, right = STEPS[key]
        return _edge(grid, down, right) if control else step(grid, row, place, down, right)
    if key in (Key.Key_Tab, Key.Key_Backtab):
        return step(grid, row, place, 0, -1 if key == Key.Key_Backtab or shift else 1)
    if key in (Key.Key_Return, Key.Key_Enter):
        return step(grid, row, place, -1 if shift else 1, 0)
    if key in (Key.Key_PageDown, Key.Key_PageUp):
        return row + (page if key == Key.Key_PageDown else -page), place
    if key == Key.Key_Home:
        return (0 if control else row), grid.first_place()
    if key == Key.Key_End:
        return (last_row if control else row), last_place(grid)
    return None


def _open_or_close(grid: Grid, key: int) -> bool:
    """Expand and collapse groups of a tree. In the key column of a group and those left of it, Right expands
    and Left collapses, or moves from inside a group to its row. Elsewhere both move the cursor as usual."""
    tree = grid.grid_model.tree
    if tree is None or grid.selection.current is None:
        return False
    row, place = grid.selection.current
    is_open = tree.is_open(row)
    at_key = is_open is not None and place <= grid.place(tree.key_columns[tree.level(row)])
    opens, closes = key in (Key.Key_Right, Key.Key_Plus), key in (Key.Key_Left, Key.Key_Minus)
    if at_key and ((opens and is_open is False) or (closes and is_open)):
        grid.open_requested.emit(row, opens)
        return True
    if key == Key.Key_Left and place == grid.first_place() and tree.level(row):
        grid.go_to(tree.parent(row))
        return True
    return key in (Key.Key_Plus, Key.Key_Minus)


def _show_rows_of_group(grid: Grid, key: int) -> bool:
    """Show the rows of a group on Enter, as a double click does."""
    if not grid.has_groups or key not in (Key.Key_Return, Key.Key_Enter):
        return False
    grid.edit_requested.emit(None)
    return True


def step(grid: Grid, row: int, place: int, down: int, right: int) -> tuple[int, int]:
    """The neighbouring cell, skipping hidden columns; at the edge, the cell itself."""
    header, target = grid.horizontalHeader(), place + right
    while right and 0 <= target < header.count() and header.isSectionHidden(header.logicalIndex(target)):
        target += right
    return row + down, target if 0 <= target < header.count() else place


def last_place(grid: Grid) -> int:
    header = grid.horizontalHeader()
    places = range(header.count() - 1, -1, -1)
    return next((p for p in places if not header.isSectionHidden(header.logicalIndex(p))), 0)


def _edge(grid: Grid, down: int, right: int) -> tuple[int, int]:
    assert grid.selection.current is not None
    row, place = grid.selection.current
    if down:
        return (grid.grid_model.num_rows - 1 if down > 0 else 0), place
    return row, last_place(grid) if right > 0 else grid.first_place()


def _edit(grid: Grid, event: QKeyEvent, control: bool) -> bool:
    """Start an edit on F2 or typing."""
    if event.key() == Key.Key_F2:
        grid.edit_requested.emit(None)
        return True
    text = event.text()
    if (
        text
        and text.isprintable()
        and not control
        and not event.modifiers() & Qt.KeyboardModifier.AltModifier
    ):
        grid.edit_requested.emit(text)
        return True
    return False
