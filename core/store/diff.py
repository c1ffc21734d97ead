"""Compares two versions of a table: rows, cells and columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import from_numpy, take, to_numpy
from lamella.core.arrow.equality import differs
from lamella.core.arrow.sorted_ids import distinct
from lamella.core.arrow.types import ID
from lamella.core.errors import UnknownColumn
from lamella.core.jobs import Job
from lamella.core.scan.read import pieces, schema_of, take_rows
from lamella.core.scan.row_ids import ids_between
from lamella.core.scan.snapshot import Column, FileSegment, Snapshot
from lamella.core.store.cells import NO_IDS, CellChanges
from lamella.core.store.column_changes import ids_before_casts
from lamella.core.store.table_version import SegmentEntry, TableVersion

ROWS_A_BLOCK = 100_000
CELLS_AT_ONCE = 400_000
"""Few rows of many columns are read this many cells at a time: to read each column by itself opens files as
often."""


@dataclass(frozen=True, eq=False)
class DiffBlock:
    """The positions of rows that only one of the versions has, and of rows that both have, in the order of
    their `ids`. In the latter only `columns`, by id, may differ; None means all."""

    removed_positions: np.ndarray
    added_positions: np.ndarray
    ids: np.ndarray
    before: np.ndarray
    after: np.ndarray
    columns: frozenset[int] | None


@dataclass(frozen=True, eq=False)
class _Rows:
    """Live rows: ascending ids, and their positions."""

    ids: np.ndarray
    positions: np.ndarray

    def until(self, last: int) -> tuple[_Rows, _Rows]:
        """Split into the rows up to this id, and the others."""
        at = int(np.searchsorted(self.ids, last, side="right"))
        return _Rows(self.ids[:at], self.positions[:at]), _Rows(self.ids[at:], self.positions[at:])


_NO_ROWS = _Rows(NO_IDS, NO_IDS)


def blocks(before: TableVersion, after: TableVersion) -> Iterator[DiffBlock]:
    """Yield blocks in `_id` order, of about 100,000 rows at most."""
    ranges = _ranges(before, after)
    touched, columns = _touched_rows(before, after)
    position = 0
    for first, last in ranges:
        start, stop = (int(np.searchsorted(touched, i)) for i in (first, last + 1))
        yield from _of_ids(before, after, touched[position:start], columns)
        yield from _of_range(before, after, first, last)
        position = stop
    yield from _of_ids(before, after, touched[position:], columns)


def _ranges(before: TableVersion, after: TableVersion) -> list[tuple[int, int]]:
    """The ids of segments that only one of the versions has, as disjoint ranges (first, last)."""
    shared = {_identity(h) for h in before.segment_entries} & {_identity(h) for h in after.segment_entries}
    own = sorted(
        (h.first_id, h.last_id)
        for h in (*before.segment_entries, *after.segment_entries)
        if _identity(h) not in shared
    )
    merged: list[tuple[int, int]] = []
    for first, last in own:
        if merged and first <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return merged


def _identity(entry: SegmentEntry) -> object:
    """What identifies a segment in both versions. An undo makes new entries, but no new files. Rows in the
    catalog are few, so they are simply compared."""
    return entry.segment.path if isinstance(entry.segment, FileSegment) else (entry.kind, entry.entry)


def _touched_rows(before: TableVersion, after: TableVersion) -> tuple[np.ndarray, frozenset[int]]:
    """The ids of rows that a pending entry of only one version concerns, and the columns that these entries
    change."""
    cells = [*_only(before.cells, after.cells), *_only(after.cells, before.cells)]
    deleted = np.setxor1d(distinct(_deleted_ids(before)), distinct(_deleted_ids(after)), assume_unique=True)
    ids = [deleted, *(c.ids for c in cells)]
    return distinct(np.concatenate(ids)), frozenset(key for c in cells for key in c.values)


def _deleted_ids(state: TableVersion) -> np.ndarray:
    return np.concatenate([NO_IDS, *state.deletions.values()])


def _only(
    mine: Mapping[tuple[str, int], CellChanges], theirs: Mapping[tuple[str, int], CellChanges]
) -> list[CellChanges]:
    by_version: dict[int, list[CellChanges]] = {}
    for cells in theirs.values():
        by_version.setdefault(cells.version, []).append(cells)
    return [
        cells
        for key, cells in mine.items()
        if key not in theirs
        and not any(_have_same_cells(cells, candidate) for candidate in by_version.get(cells.version, ()))
    ]


def _have_same_cells(a: CellChanges, b: CellChanges) -> bool:
    """Whether two entries have the same cells: the value of a cell at the version that `made` it is
    unique."""
    return set(a.values) == set(b.values) and np.array_equal(a.ids, b.ids)


def _of_ids(
    before: TableVersion, after: TableVersion, ids: np.ndarray, columns: frozenset[int]
) -> Iterator[DiffBlock]:
    for at in range(0, len(ids), ROWS_A_BLOCK):
        some = ids[at : at + ROWS_A_BLOCK]
        yield _block(_living(before, some), _living(after, some), columns)


def _living(state: TableVersion, ids: np.ndarray) -> _Rows:
    positions = state.locate(ids)
    return _Rows(ids[positions >= 0], positions[positions >= 0])


def _of_range(before: TableVersion, after: TableVersion, first: int, last: int) -> Iterator[DiffBlock]:
    rows, later_rows = _walk(before, first, last), _walk(after, first, last)
    mine, theirs = next(rows, None), next(later_rows, None)
    while mine is not None or theirs is not None:
        cut = min(int(r.ids[-1]) for r in (mine, theirs) if r is not None)
        rows_before, mine = (_NO_ROWS, None) if mine is None else mine.until(cut)
        rows_after, theirs = (_NO_ROWS, None) if theirs is None else theirs.until(cut)
        yield _block(rows_before, rows_after, None)
        mine = mine if mine is not None and len(mine.ids) else next(rows, None)
        theirs = theirs if theirs is not None and len(theirs.ids) else next(later_rows, None)


def _walk(state: TableVersion, first: int, last: int) -> Iterator[_Rows]:
    """Yield the live rows of the segments in a range of ids, one row group at a time."""
    inside = [i for i, h in enumerate(state.segment_entries) if first <= h.first_id and h.last_id <= last]
    if not inside:
        return
    starts = state.snapshot.segment_starts
    for piece in pieces(state.snapshot, int(starts[inside[0]]), int(starts[inside[-1] + 1])):
        live = _live(state.snapshot, piece.first, piece.stop)
        if len(live):
            yield _Rows(ids_between(state.snapshot, piece.first, piece.stop)[live - piece.first], live)


def _live(snapshot: Snapshot, first: int, stop: int) -> np.ndarray:
    low, high = np.searchsorted(snapshot.deleted_positions, [first, stop])
    return np.delete(np.arange(first, stop), snapshot.deleted_positions[low:high] - first)


def _block(before: _Rows, after: _Rows, columns: frozenset[int] | None) -> DiffBlock:
    ids, mine, theirs = np.intersect1d(before.ids, after.ids, assume_unique=True, return_indices=True)
    removed, added = np.delete(before.positions, mine), np.delete(after.positions, theirs)
    return DiffBlock(removed, added, ids, before.positions[mine], after.positions[theirs], columns)


def column_pairs(before: TableVersion, after: TableVersion) -> list[tuple[Column | None, Column]]:
    """The columns of the later version, each with its earlier column: the one with the same id, or the one
    that a cast made it from. Without metadata about casts, a column of the same name and another type is
    matched."""
    now = {c.key for c in after.columns}
    gone = {c.key: c for c in before.columns if c.key not in now}
    undone = {key: c for c in gone.values() for key in ids_before_casts(before.metadata, c.key)}
    was = {c.key: c for c in before.columns}
    for column in after.columns:
        origins = (gone.get(key) for key in ids_before_casts(after.metadata, column.key))
        origin = next(filter(None, origins), None) or undone.get(column.key)
        if origin is not None:
            was.setdefault(column.key, origin)
    met = {origin.key for key, origin in was.items() if key in now}
    new_columns = {c.name: c for c in gone.values() if c.key not in met}
    for column in after.columns:
        alike = new_columns.get(column.name)
        if alike is not None and not alike.type.equals(column.type):
            was.setdefault(column.key, alike)
    return [(was.get(column.key), column) for column in after.columns]


@dataclass(frozen=True)
class ColumnChanges:
    """The changed columns, by name. They are matched by their permanent ids, so a renamed column is not a
    dropped and an added one. `retyped` has (name now, type before, type now)."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    retyped: tuple[tuple[str, pa.DataType, pa.DataType], ...] = ()
    reordered: bool = False

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.renamed or self.retyped or self.reordered)


@dataclass(frozen=True)
class DiffSummary:
    """The counts of rows, and of changed cells by column."""

    added: int
    removed: int
    changed: int
    cells: dict[str, int]
    columns: ColumnChanges

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed or self.columns)


@dataclass(frozen=True, eq=False)
class ChangedCells:
    """The cells of one column that differ: a table of `_id`, `before` and `after`, each with its version's
    type."""

    column: str
    cells: pa.Table


class Diff:
    """The differences from one version of a table to another, read on demand, and only in rows that the
    versions do not share. Any thread may use it.

    Values of a column that only the later version has count as null before; the values of a dropped column
    are not listed.
    """

    def __init__(self, before: TableVersion, after: TableVersion) -> None:
        self._before, self._after = before, after

    @property
    def versions(self) -> tuple[int, int]:
        return self._before.version, self._after.version

    @property
    def columns(self) -> ColumnChanges:
        return _column_changes(self._before.columns, self.pairs)

    @cached_property
    def pairs(self) -> list[tuple[Column | None, Column]]:
        """The columns of the later version, each with its earlier column."""
        return column_pairs(self._before, self._after)

    def summary(self, job: Job | None = None) -> DiffSummary:
        """Count the differences, in bounded memory."""
        added = removed = changed = 0
        cells: dict[str, int] = {}
        for block in self.row_blocks(job):
            added, removed = added + len(block.added_positions), removed + len(block.removed_positions)
            rows = np.zeros(len(block.ids), bool)
            for column, differing, _, _ in self.differing_cells(block):
                cells[column.name] = cells.get(column.name, 0) + int(differing.sum())
                rows |= differing
            changed += int(rows.sum())
        return DiffSummary(added, removed, changed, cells, self.columns)

    def added(self, limit: int | None = None, job: Job | None = None) -> pa.Table:
        """The rows that only the later version has, with its columns, in `_id` order."""
        return _first(limit, self.added_batches(job), schema_of(self._after.snapshot.columns))

    def removed(self, limit: int | None = None, job: Job | None = None) -> pa.Table:
        """The rows that only the earlier version has, with its columns, in `_id` order."""
        return _first(limit, self.removed_batches(job), schema_of(self._before.snapshot.columns))

    def changed(self, column: str, limit: int | None = None, job: Job | None = None) -> pa.Table:
        """The cells of one column, by its current name, that differ: `_id`, `before` and `after`."""
        pair = next((p for p in self.pairs if p[1].name == column), None)
        if pair is None:
            raise UnknownColumn(column, self._after.snapshot.name, [c.name for c in self._after.columns])
        batches = (c.cells for c in self.changed_cells(job, frozenset([pair[1].key])))
        return _first(limit, batches, _cells_schema(*pair))

    def added_batches(self, job: Job | None = None) -> Iterator[pa.Table]:
        return self._rows(self._after.snapshot, (b.added_positions for b in self.row_blocks(job)))

    def removed_batches(self, job: Job | None = None) -> Iterator[pa.Table]:
        return self._rows(self._before.snapshot, (b.removed_positions for b in self.row_blocks(job)))

    def changed_cells(
        self, job: Job | None = None, columns: frozenset[int] | None = None
    ) -> Iterator[ChangedCells]:
        """Yield all changed cells, one column of a block of rows at a time; only of `columns`, by id, if
        given."""
        for block in self.row_blocks(job):
            for column, differing, before, after in self.differing_cells(block, columns):
                where = np.flatnonzero(differing)
                if len(where):
                    arrays = [from_numpy(block.ids[where]), take(before, where), take(after, where)]
                    yield ChangedCells(column.name, pa.Table.from_arrays(arrays, [ID, "before", "after"]))

    def row_blocks(self, job: Job | None) -> Iterator[DiffBlock]:
        """Yield blocks of rows that the versions do not share, in `_id` order."""
        if self._before.snapshot.token == self._after.snapshot.token:
            return
        for block in blocks(self._before, self._after):
            if job is not None:
                job.check()
            yield block

    def _rows(self, snapshot: Snapshot, ids: Iterator[np.ndarray]) -> Iterator[pa.Table]:
        return (take_rows(snapshot, positions, snapshot.columns) for positions in ids if len(positions))

    def differing_cells(
        self, block: DiffBlock, columns: frozenset[int] | None = None
    ) -> Iterator[tuple[Column, np.ndarray, pa.Array, pa.Array]]:
        """For each column that may differ, yield which of the block's rows differ, and both versions'
        values."""
        selections = [c for c in (block.columns, columns) if c is not None]
        pairs = [pair for pair in self.pairs if all(pair[1].key in keys for keys in selections)]
        if not len(block.ids):
            return
        count = max(1, CELLS_AT_ONCE // len(block.ids))
        for first in range(0, len(pairs), count):
            group = pairs[first : first + count]
            later = _values(self._after.snapshot, block.after, [column for _, column in group])
            earlier = _values(
                self._before.snapshot, block.before, [was for was, _ in group if was is not None]
            )
            for was, column in group:
                after = next(later)
                before = pa.nulls(len(after), column.type) if was is None else next(earlier)
                yield column, _differ(before, after), before, after


def _column_changes(before: Sequence[Column], pairs: Sequence[tuple[Column | None, Column]]) -> ColumnChanges:
    both = [(was, column) for was, column in pairs if was is not None]
    common = [was.key for was, _ in both]
    return ColumnChanges(
        added=tuple(column.name for was, column in pairs if was is None),
        removed=tuple(c.name for c in before if c.key not in common),
        renamed=tuple((was.name, column.name) for was, column in both if was.name != column.name),
        retyped=tuple((c.name, was.type, c.type) for was, c in both if not was.type.equals(c.type)),
        reordered=[c.key for c in before if c.key in common] != common,
    )


def _values(snapshot: Snapshot, positions: np.ndarray, columns: Sequence[Column]) -> Iterator[pa.Array]:
    """The values of each column at these positions."""
    rows = take_rows(snapshot, positions, columns)
    return (column.combine_chunks() for column in rows.itercolumns())


def _differ(before: pa.Array, after: pa.Array) -> np.ndarray:
    """Which values differ; if the column's type changed, they are compared in one of the two types."""
    for a, b, kind in ((before, after, after.type), (after, before, before.type)):
        if a.type.equals(b.type):
            return differs(before, after)
        try:
            return differs(a.cast(kind), b)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            continue
    valid: np.ndarray = to_numpy(before.is_valid()) | to_numpy(after.is_valid())
    return valid


def _cells_schema(was: Column | None, column: Column) -> pa.Schema:
    before = column.type if was is None else was.type
    return pa.schema([(ID, pa.int64()), ("before", before), ("after", column.type)])


def _first(limit: int | None, tables: Iterator[pa.Table], schema: pa.Schema) -> pa.Table:
    batches, rows = [pa.Table.from_batches([], schema)], 0
    for table in tables:
        batches.append(table if limit is None else table.slice(0, limit - rows))
        rows += batches[-1].num_rows
        if limit is not None and rows >= limit:
            break
    return pa.concat_tables(batches)
