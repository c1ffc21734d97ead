"""The rows of a comparison, by the page: those of the later side, with the removed ones in between."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import combine_chunks, from_values, take
from lamella.core.errors import UnknownColumn
from lamella.core.filters.kinds import NUMBERS, TEMPORAL, Kind, kind_of
from lamella.core.jobs import Job
from lamella.core.query.comparison.cells import differing
from lamella.core.query.comparison.columns import ColumnPair
from lamella.core.query.comparison.comparison import Comparison, rows_of
from lamella.core.scan.snapshot import Column, noted_field

NO_ROW = -1


class RowChange(IntEnum):
    """What happened to a row."""

    SAME = 0
    ADDED = 1
    REMOVED = 2
    CHANGED = 3

    @property
    def word(self) -> str:
        return self.name.lower()


DIFFERENT = (RowChange.ADDED, RowChange.REMOVED, RowChange.CHANGED)


@dataclass(frozen=True, eq=False)
class CellsBefore:
    """The cells of one column of a page that differ: their rows, counted from the page's first, and their
    previous values."""

    places: np.ndarray
    values: pa.Array


class ComparedRows:
    """Random access to the rows of a comparison, like a view. `page` may be called from any thread.

    By default it has all rows. `kinds` restricts them to rows that differ in these ways, and `column` to rows
    in which this column differs; finding the latter may take a moment.
    """

    def __init__(
        self,
        comparison: Comparison,
        kinds: Collection[RowChange] | None = None,
        column: str | None = None,
        job: Job | None = None,
    ) -> None:
        self.comparison = comparison
        self._pairs = [pair for pair in comparison.pairs if pair.after is not None]
        self._by_name = {pair.name: pair for pair in self._pairs}
        self._chosen_rows: np.ndarray | None = None
        if kinds is not None or column is not None:
            self._chosen_rows = self._rows_of_kinds(DIFFERENT if kinds is None else kinds, column, job)

    @property
    def num_rows(self) -> int:
        return self._total_rows if self._chosen_rows is None else len(self._chosen_rows)

    @property
    def total_rows(self) -> int:
        """The number of all rows, including equal ones."""
        return self._total_rows

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of the later side. If the types differ, the type can show both."""
        notes = [pair.after.note if pair.after is not None else "" for pair in self._pairs]
        return pa.schema(
            [noted_field(p.name, shown_type(p), note) for p, note in zip(self._pairs, notes, strict=True)]
        )

    def page(self, offset: int, count: int, columns: list[str] | None = None) -> pa.Table:
        """Read `count` rows from row `offset` on, fewer at the end; removed rows have their previous
        values."""
        names = list(self.schema.names) if columns is None else columns
        pairs = [self._pair(name) for name in names]
        _, later, earlier = self._rows(offset, count)
        in_both = later >= 0
        ours = _values(self.comparison, pairs, later[in_both], later_side=True)
        gone = _values(self.comparison, pairs, earlier[~in_both], later_side=False)
        order = np.empty(len(later), np.int64)
        order[in_both], order[~in_both] = (
            np.arange(in_both.sum()),
            in_both.sum() + np.arange((~in_both).sum()),
        )
        arrays = [take(pa.chunked_array([a, b], type=a.type), order) for a, b in zip(ours, gone, strict=True)]
        return pa.Table.from_arrays(arrays, schema=pa.schema([self.schema.field(name) for name in names]))

    def kinds(self, offset: int, count: int) -> np.ndarray:
        """What happened to each of these rows, as a `RowChange`."""
        return self._rows(offset, count)[0]

    def cells_before(self, offset: int, count: int, columns: Sequence[str]) -> Mapping[str, CellsBefore]:
        """The cells that differ in the changed rows among these, with their previous values."""
        kinds, later, earlier = self._rows(offset, count)
        places = np.flatnonzero(kinds == RowChange.CHANGED)
        pairs = [pair for pair in map(self._pair, columns) if pair.is_common]
        if not len(places) or not pairs:
            return {}
        comparison = self.comparison
        before = rows_of(comparison.before, earlier[places], [_there(p.before) for p in pairs])
        after = rows_of(comparison.after, later[places], [_there(p.after) for p in pairs])
        cells = {}
        for pair, a, b in zip(pairs, before.columns, after.columns, strict=True):
            different = np.flatnonzero(differing(a, b, comparison.rule))
            if len(different):
                values = to_display_type(take(combine_chunks(a), different), shown_type(pair))
                cells[pair.name] = CellsBefore(places[different], values)
        return cells

    @cached_property
    def differences(self) -> np.ndarray:
        """The rows that differ, ascending."""
        if self._chosen_rows is not None:
            return np.arange(len(self._chosen_rows), dtype=np.int64)
        return self._differences[0]

    def difference_at(self, row: int) -> int:
        """The number of rows that differ up to and including this one; 0 before the first."""
        return int(np.searchsorted(self.differences, row, side="right"))

    def next_difference(self, row: int) -> int | None:
        """The first row after this one that differs; None after the last."""
        place = int(np.searchsorted(self.differences, row, side="right"))
        return int(self.differences[place]) if place < len(self.differences) else None

    def previous_difference(self, row: int) -> int | None:
        place = int(np.searchsorted(self.differences, row)) - 1
        return int(self.differences[place]) if place >= 0 else None

    # ------------------------------------------------------------------- numbers of rows

    @cached_property
    def _total_rows(self) -> int:
        return self.comparison.after.num_rows + len(self.comparison.removed)

    @cached_property
    def _removed_indexes(self) -> np.ndarray:
        """The indexes of the removed rows among all rows, ascending."""
        places = self.comparison.removed_places
        numbers: np.ndarray = places + np.arange(len(places))
        return numbers

    def _indexes_of_later(self, later: np.ndarray) -> np.ndarray:
        """The indexes of rows of the later side among all rows."""
        numbers: np.ndarray = later + np.searchsorted(self.comparison.removed_places, later, side="right")
        return numbers

    @cached_property
    def _differences(self) -> tuple[np.ndarray, np.ndarray]:
        """The indexes among all rows of those that differ, ascending, and how they differ."""
        comparison = self.comparison
        parts = {
            RowChange.ADDED: self._indexes_of_later(comparison.added),
            RowChange.REMOVED: self._removed_indexes,
            RowChange.CHANGED: self._indexes_of_later(comparison.changed),
        }
        rows = np.concatenate([*parts.values(), np.empty(0, np.int64)])
        kinds = np.repeat(np.array(list(parts), np.int8), [len(each) for each in parts.values()])
        order = np.argsort(rows, kind="stable")
        return rows[order].astype(np.int64), kinds[order]

    def _rows_of_kinds(self, kinds: Collection[RowChange], column: str | None, job: Job | None) -> np.ndarray:
        rows, what = self._differences
        is_of_kinds = np.isin(what, [int(kind) for kind in kinds])
        if column is not None:
            self._pair(column)
            changed = self._indexes_of_later(self.comparison.rows_changed_in(column, job))
            is_of_kinds &= np.isin(rows, changed)
        return rows[is_of_kinds]

    def _rows(self, offset: int, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return what happened to these rows; their numbers on the later side, `NO_ROW` for removed ones; and
        their numbers on the earlier side, `NO_ROW` if nothing of it is shown."""
        stop = max(offset, min(offset + count, self.num_rows))
        rows = np.arange(offset, stop, dtype=np.int64)
        if self._chosen_rows is not None:
            rows = self._chosen_rows[offset:stop]
        comparison = self.comparison
        before = np.searchsorted(self._removed_indexes, rows)
        is_removed = np.zeros(len(rows), bool)
        inside = before < len(self._removed_indexes)
        is_removed[inside] = self._removed_indexes[before[inside]] == rows[inside]
        kinds = np.full(len(rows), int(RowChange.SAME), np.int8)
        later, earlier = rows - before, np.full(len(rows), NO_ROW, np.int64)
        kinds[is_removed], later[is_removed] = RowChange.REMOVED, NO_ROW
        earlier[is_removed] = comparison.removed[before[is_removed]]
        places = np.flatnonzero(~is_removed)
        kinds[places[_among(later[places], comparison.added)[0]]] = RowChange.ADDED
        changed, where = _among(later[places], comparison.changed)
        kinds[places[changed]] = RowChange.CHANGED
        earlier[places[changed]] = comparison.changed_before[where[changed]]
        return kinds, later, earlier

    def _pair(self, name: str) -> ColumnPair:
        pair = self._by_name.get(name)
        if pair is None:
            raise UnknownColumn(name, self.comparison.after.name, list(self._by_name))
        return pair


def _among(values: np.ndarray, candidates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which values are in an ascending array, and where."""
    if not len(candidates):
        return np.zeros(len(values), bool), np.zeros(len(values), np.int64)
    where = np.minimum(np.searchsorted(candidates, values), len(candidates) - 1)
    return candidates[where] == values, where


def _there(column: Column | None) -> Column:
    assert column is not None, "both sides have it"
    return column


def _values(
    comparison: Comparison, pairs: Sequence[ColumnPair], rows: np.ndarray, later_side: bool
) -> list[pa.Array]:
    """Columns of rows of one side as they are shown; null if the side lacks the column."""
    side = comparison.after if later_side else comparison.before
    own = [pair.after if later_side else pair.before for pair in pairs]
    table = rows_of(side, rows, [column for column in own if column is not None])
    columns = iter(table.columns)
    return [
        pa.nulls(len(rows), shown_type(pair))
        if column is None
        else to_display_type(combine_chunks(next(columns)), shown_type(pair))
        for pair, column in zip(pairs, own, strict=True)
    ]


def shown_type(pair: ColumnPair) -> pa.DataType:
    """A type that can represent the values of both sides."""
    if pair.before is None or pair.after is None or pair.before.type.equals(pair.after.type):
        return pair.type
    kinds = {kind_of(pair.before.type), kind_of(pair.after.type)}
    if kinds == {Kind.INTEGER}:
        return pa.decimal128(20, 0) if pa.uint64() in (pair.before.type, pair.after.type) else pa.int64()
    if kinds <= NUMBERS and Kind.DECIMAL not in kinds:
        return pa.float64()
    if kinds == {Kind.TEXT} or kinds <= TEMPORAL - {Kind.TIME}:
        return pair.after.type
    return pa.string()


def to_display_type(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if values.type.equals(kind):
        return values
    try:
        return values.cast(kind, safe=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return from_values([str(value.as_py()) if value.is_valid else None for value in values], pa.string())
