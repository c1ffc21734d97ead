"""The cells that match, as a bit set of rows for each column: finds the next hit, its number, and the
total."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence

import numpy as np

BITS = 8
BLOCK = 1 << 13
"""The number of bytes whose bits are counted together: 65,536 rows."""
OVERVIEW = 2_048
"""The number of sections of the rows for which it is known whether they have any hit."""
Cell = tuple[int, str]
"""Row and column."""


class RowBits:
    """A set of row numbers below `num_rows`. One thread adds; others may read at the same time."""

    def __init__(self, num_rows: int) -> None:
        self._bits = np.zeros(-(-num_rows // BITS), np.uint8)
        self.count = 0
        self._count_cache: tuple[int, np.ndarray] | None = None

    def __contains__(self, row: int) -> bool:
        return bool(self._bits[row // BITS] >> (row % BITS) & 1)

    def add(self, rows: np.ndarray) -> None:
        """Add rows, each given once."""
        new = rows[(self._bits[rows // BITS] >> (rows % BITS).astype(np.uint8) & 1) == 0]
        np.bitwise_or.at(self._bits, new // BITS, (1 << (new % BITS)).astype(np.uint8))
        self.count += len(new)

    def discard(self, row: int) -> None:
        if row in self:
            self._bits[row // BITS] &= ~np.uint8(1 << row % BITS)
            self.count -= 1
            self._count_cache = None

    def rank(self, row: int) -> int:
        """The number of rows in the set below `row`."""
        byte, bit = divmod(row, BITS)
        block = byte // BLOCK
        before = int(self._sums[block])
        before += int(np.bitwise_count(self._bits[block * BLOCK : byte]).sum())
        return before + int(np.bitwise_count(self._bits[byte : byte + 1] & np.uint8((1 << bit) - 1)).sum())

    def next(self, row: int) -> int | None:
        """The least row in the set that is not below `row`."""
        byte, bit = divmod(max(row, 0), BITS)
        if byte >= len(self._bits):
            return None
        bits = int(self._bits[byte]) >> bit << bit
        if bits:
            return byte * BITS + (bits & -bits).bit_length() - 1
        place = _first(self._bits, byte + 1)
        if place is None:
            return None
        value = int(self._bits[place])
        return place * BITS + (value & -value).bit_length() - 1

    def previous(self, row: int) -> int | None:
        """The greatest row in the set below `row`."""
        byte, bit = divmod(min(row, len(self._bits) * BITS), BITS)
        if byte < len(self._bits):
            bits = int(self._bits[byte]) & ((1 << bit) - 1)
            if bits:
                return byte * BITS + bits.bit_length() - 1
        place = _last(self._bits, byte)
        return None if place is None else place * BITS + int(self._bits[place]).bit_length() - 1

    def between(self, first: int, stop: int) -> np.ndarray:
        """The rows in the set from `first` up to, but not including, `stop`, ascending."""
        low = first // BITS
        bits = np.unpackbits(self._bits[low : -(-stop // BITS)], bitorder="little")
        rows = np.flatnonzero(bits) + low * BITS
        return rows[(rows >= first) & (rows < stop)]

    @property
    def rows(self) -> np.ndarray:
        return self.between(0, len(self._bits) * BITS)

    @property
    def _sums(self) -> np.ndarray:
        """The number of rows before each block; recomputed when rows are added."""
        cache = self._count_cache
        if cache is None or cache[0] != self.count:
            starts = np.arange(0, max(1, len(self._bits)), BLOCK)
            counts = np.bitwise_count(self._bits)
            sums = np.add.reduceat(counts, starts, dtype=np.int64) if len(counts) else np.zeros(1, np.int64)
            cache = self._count_cache = self.count, np.concatenate([[0], np.cumsum(sums)])
        return cache[1]


def _first(bits: np.ndarray, start: int) -> int | None:
    """The index of the first non-zero byte from `start` on."""
    size = BLOCK
    while start < len(bits):
        some = np.flatnonzero(bits[start : start + size])
        if len(some):
            return start + int(some[0])
        start, size = start + size, 2 * size
    return None


def _last(bits: np.ndarray, stop: int) -> int | None:
    size = BLOCK
    while stop > 0:
        first = max(0, stop - size)
        some = np.flatnonzero(bits[first:stop])
        if len(some):
            return first + int(some[-1])
        stop, size = first, 2 * size
    return None


class Hits:
    """The matching cells of some rows. Workers add hits while others read. Hits are ordered by row, and
    within a row by the `columns` that the reader passes."""

    def __init__(self, num_rows: int) -> None:
        self.num_rows = num_rows
        self.complete = False
        self.sure_rows = 0
        """The number of rows from the start of the search on that have been searched, so that no earlier hit
        is missing."""
        self.overview = np.zeros(OVERVIEW, np.bool_)
        self._columns: dict[str, RowBits] = {}
        self._lock = threading.Lock()

    @property
    def count(self) -> int:
        return sum(bits.count for bits in list(self._columns.values()))

    @property
    def columns(self) -> list[str]:
        """The columns with hits."""
        return [name for name, bits in list(self._columns.items()) if bits.count]

    def add(self, column: str, rows: np.ndarray) -> None:
        """Add rows of a column that match, each given once. Any thread."""
        if not len(rows):
            return
        with self._lock:
            bits = self._columns.get(column)
            if bits is None:
                bits = self._columns[column] = RowBits(self.num_rows)
            bits.add(rows.astype(np.int64, copy=False))
            self.overview[rows * OVERVIEW // self.num_rows] = True

    def put(self, cell: Cell, matches: bool) -> None:
        """Record whether a cell matches with its current value."""
        row, column = cell
        if matches:
            self.add(column, np.array([row], np.int64))
        elif column in self._columns:
            with self._lock:
                self._columns[column].discard(row)

    def __contains__(self, cell: Cell) -> bool:
        bits = self._columns.get(cell[1])
        return bits is not None and 0 <= cell[0] < self.num_rows and cell[0] in bits

    def in_rows(self, first: int, stop: int, columns: Iterable[str]) -> set[Cell]:
        """The hits in these rows and columns."""
        bits = self._columns
        return {
            (row, name)
            for name in columns
            if name in bits
            for row in bits[name].between(first, min(stop, self.num_rows)).tolist()
        }

    def rows_of(self, column: str) -> np.ndarray:
        bits = self._columns.get(column)
        return np.empty(0, np.int64) if bits is None else bits.rows

    def place(self, cell: Cell, columns: Sequence[str]) -> int | None:
        """The number of a cell among all hits, counted from 0; None if it does not match."""
        if cell not in self:
            return None
        row, name = cell
        before = sum(bits.rank(row) for bits in list(self._columns.values()))
        return before + sum((row, column) in self for column in columns[: columns.index(name)])

    def after(self, cell: tuple[int, int], columns: Sequence[str]) -> tuple[Cell, bool] | None:
        """The next hit after a cell, which is given by its row and column index, and whether the search
        wrapped around to the first row; None if there are no hits."""
        hit = self._from(cell[0], cell[1] + 1, columns)
        if hit is not None:
            return hit, False
        hit = self._from(0, 0, columns)
        return None if hit is None else (hit, True)

    def before(self, cell: tuple[int, int], columns: Sequence[str]) -> tuple[Cell, bool] | None:
        """The hit before a cell; like `after`, in the other direction."""
        hit = self._up_to(cell[0], cell[1], columns)
        if hit is not None:
            return hit, False
        hit = self._up_to(self.num_rows, 0, columns)
        return None if hit is None else (hit, True)

    def _from(self, row: int, place: int, columns: Sequence[str]) -> Cell | None:
        searched_columns = self._searched_columns(columns)
        places = [at for at, name in searched_columns if at >= place and (row, name) in self]
        if places:
            return row, columns[min(places)]
        rows = [
            (row_after, at)
            for at, name in searched_columns
            if (row_after := self._columns[name].next(row + 1)) is not None
        ]
        return (min(rows)[0], columns[min(rows)[1]]) if rows else None

    def _up_to(self, row: int, place: int, columns: Sequence[str]) -> Cell | None:
        searched_columns = self._searched_columns(columns)
        places = [at for at, name in searched_columns if at < place and (row, name) in self]
        if places:
            return row, columns[max(places)]
        rows = [
            (row_before, at)
            for at, name in searched_columns
            if (row_before := self._columns[name].previous(row)) is not None
        ]
        return (max(rows)[0], columns[max(rows)[1]]) if rows else None

    def _searched_columns(self, columns: Sequence[str]) -> list[tuple[int, str]]:
        return [(at, name) for at, name in enumerate(columns) if name in self._columns]
