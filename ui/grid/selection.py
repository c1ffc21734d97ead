"""The selection: blocks of rows × columns of any size.

Rows are numbered in the whole view; columns are positions from left to right as shown.
"""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal


@dataclass(frozen=True)
class CellRange:
    """A block of cells; all four edges are included."""

    top: int
    left: int
    bottom: int
    right: int

    @staticmethod
    def between(a: tuple[int, int], b: tuple[int, int]) -> CellRange:
        (r1, c1), (r2, c2) = a, b
        return CellRange(min(r1, r2), min(c1, c2), max(r1, r2), max(c1, c2))

    def __contains__(self, cell: tuple[int, int]) -> bool:
        return self.top <= cell[0] <= self.bottom and self.left <= cell[1] <= self.right

    @property
    def num_rows(self) -> int:
        return self.bottom - self.top + 1

    @property
    def num_cells(self) -> int:
        return self.num_rows * (self.right - self.left + 1)


class Selection(QObject):
    """A current cell, an anchor, and blocks; the last block follows the current cell."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.blocks: list[CellRange] = []
        self.current: tuple[int, int] | None = None
        self._anchor: tuple[int, int] | None = None

    def __contains__(self, cell: tuple[int, int]) -> bool:
        return any(cell in block for block in self.blocks)

    @property
    def num_cells(self) -> int:
        """The cells of all blocks; a cell in two blocks counts twice."""
        return sum(block.num_cells for block in self.blocks)

    def clear(self) -> None:
        self.blocks, self.current, self._anchor = [], None, None
        self.changed.emit()

    def select(self, row: int, column: int) -> None:
        self._set(CellRange(row, column, row, column), (row, column), (row, column))

    def add(self, row: int, column: int) -> None:
        """Start another block here and keep the selection."""
        block = CellRange(row, column, row, column)
        self._set(block, (row, column), (row, column), [b for b in self.blocks if b != block])

    def extend(self, row: int, column: int) -> None:
        """Extend the last block from the anchor to here."""
        anchor = self._anchor or (row, column)
        self._set(CellRange.between(anchor, (row, column)), (row, column), anchor, self.blocks[:-1])

    def select_block(self, block: CellRange, current: tuple[int, int] | None = None) -> None:
        self._set(block, current or (block.top, block.left), (block.top, block.left))

    def clamp(self, num_rows: int, num_columns: int) -> None:
        """Clip the selection to a view that has become smaller."""
        if num_rows == 0 or num_columns == 0:
            if self.current is not None:
                self.clear()
            return
        low, right = num_rows - 1, num_columns - 1
        inside = [b for b in self.blocks if b.top <= low and b.left <= right]
        blocks = [CellRange(b.top, b.left, min(b.bottom, low), min(b.right, right)) for b in inside]
        current = self.current and (min(self.current[0], low), min(self.current[1], right))
        if (blocks, current) != (self.blocks, self.current):
            self.blocks, self.current, self._anchor = blocks, current, current
            self.changed.emit()

    def _set(
        self,
        block: CellRange,
        current: tuple[int, int],
        anchor: tuple[int, int],
        earlier: list[CellRange] | None = None,
    ) -> None:
        self.blocks = [*(earlier or []), block]
        self.current, self._anchor = current, anchor
        self.changed.emit()
