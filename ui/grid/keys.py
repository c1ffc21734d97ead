"""What the keys do in the grid, as in a spreadsheet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent

if TYPE_CHECKING:
    from lamella.ui.grid.view import GridView

Key = Qt.Key
STEPS = {Key.Key_Up: (-1, 0), Key.Key_Down: (1, 0), Key.Key_Left: (0, -1), Key.Key_Right: (0, 1)}


def press(grid: GridView, event: QKeyEvent) -> bool:
    """True when the key meant something here."""
    if grid.selection.current is None:
        if not grid.grid_model.num_rows:
            return False
        grid.selection.select(grid.top_row(), grid.first_place())
    shift = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
    control = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
    key = Key(event.key())
    target = _target(grid, key, shift, control)
    if target is not None:
        extend = shift and key not in (Key.Key_Tab, Key.Key_Backtab, Key.Key_Return, Key.Key_Enter)
        grid.go_to(*target, extend=extend)
        return True
    return _edit(grid, event, control)


def _target(grid: GridView, key: Qt.Key, shift: bool, control: bool) -> tuple[int, int] | None:
    assert grid.selection.current is not None
    row, place = grid.selection.current
    last_row, page = grid.grid_model.num_rows - 1, max(1, grid.viewport().height() // grid.row_height - 1)
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


def step(grid: GridView, row: int, place: int, down: int, right: int) -> tuple[int, int]:
    """The neighbour, over hidden columns; the cell itself at the edge."""
    header, target = grid.horizontalHeader(), place + right
    while 0 <= target < header.count() and header.isSectionHidden(header.logicalIndex(target)):
        target += right
    return row + down, target if 0 <= target < header.count() else place


def last_place(grid: GridView) -> int:
    header = grid.horizontalHeader()
    places = range(header.count() - 1, -1, -1)
    return next((p for p in places if not header.isSectionHidden(header.logicalIndex(p))), 0)


def _edge(grid: GridView, down: int, right: int) -> tuple[int, int]:
    assert grid.selection.current is not None
    row, place = grid.selection.current
    if down:
        return (grid.grid_model.num_rows - 1 if down > 0 else 0), place
    return row, last_place(grid) if right > 0 else grid.first_place()


def _edit(grid: GridView, event: QKeyEvent, control: bool) -> bool:
    """F2 and typing begin an edit."""
    if event.key() == Key.Key_F2:
        grid.edit_asked.emit(None)
        return True
    text = event.text()
    if (
        text
        and text.isprintable()
        and not control
        and not event.modifiers() & Qt.KeyboardModifier.AltModifier
    ):
        grid.edit_asked.emit(text)
        return True
    return False
