"""What differs between two versions of a table: rows added and removed, cells changed, columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from lamella.core.arrays import from_numpy, take, to_numpy
from lamella.core.errors import UnknownColumn
from lamella.core.jobs import Job
from lamella.core.scan.pieces import schema_of
from lamella.core.scan.rows import take_rows
from lamella.core.scan.snapshot import Column, Snapshot
from lamella.core.schema import ID
from lamella.core.store.diff_rows import Block, blocks, column_pairs
from lamella.core.store.differing import differs
from lamella.core.store.state import State


@dataclass(frozen=True)
class ColumnChanges:
    """By name. Columns are known by their permanent ids, so one that was renamed is not one dropped and one
    added. `retyped` gives (name now, type before, type now)."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    retyped: tuple[tuple[str, pa.DataType, pa.DataType], ...] = ()
    reordered: bool = False

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.renamed or self.retyped or self.reordered)


@dataclass(frozen=True)
class DiffSummary:
    """Counts of rows, and of changed cells by column."""

    added: int
    removed: int
    changed: int
    cells: dict[str, int]
    columns: ColumnChanges

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed or self.columns)


@dataclass(frozen=True, eq=False)
class ChangedCells:
    """Cells of one column that differ: a table of `_id`, `before` and `after`, each of its version's type."""

    column: str
    cells: pa.Table


class Diff:
    """From one version of a table to another. Nothing is read before it is asked for, and then only rows that
    the versions do not share. Any thread.

    A column that only the later version has was null before; what was in one that is dropped is not listed.
    """

    def __init__(self, before: State, after: State) -> None:
        self._before, self._after = before, after

    @property
    def versions(self) -> tuple[int, int]:
        return self._before.version, self._after.version

    @property
    def columns(self) -> ColumnChanges:
        return _column_changes(self._before.columns, self._pairs)

    @cached_property
    def _pairs(self) -> list[tuple[Column | None, Column]]:
        return column_pairs(self._before, self._after)

    def summary(self, job: Job | None = None) -> DiffSummary:
        """The counts alone, in bounded memory."""
        added = removed = changed = 0
        cells: dict[str, int] = {}
        for block in self._blocks(job):
            added, removed = added + len(block.added), removed + len(block.removed)
            rows = np.zeros(len(block.ids), bool)
            for column, differing, _, _ in self._differing(block):
                cells[column.name] = cells.get(column.name, 0) + int(differing.sum())
                rows |= differing
            changed += int(rows.sum())
        return DiffSummary(added, removed, changed, cells, self.columns)

    def added(self, limit: int | None = None, job: Job | None = None) -> pa.Table:
        """Rows that only the later version has, with its columns, in `_id` order."""
        return _first(limit, self.added_batches(job), schema_of(self._after.snapshot.columns))

    def removed(self, limit: int | None = None, job: Job | None = None) -> pa.Table:
        """Rows that only the earlier version has, with its columns, in `_id` order."""
        return _first(limit, self.removed_batches(job), schema_of(self._before.snapshot.columns))

    def changed(self, column: str, limit: int | None = None, job: Job | None = None) -> pa.Table:
        """The cells of one column, by its name now, that differ: `_id`, `before` and `after`."""
        pair = next((p for p in self._pairs if p[1].name == column), None)
        if pair is None:
            raise UnknownColumn(column, self._after.snapshot.name, [c.name for c in self._after.columns])
        found = (c.cells for c in self.changed_cells(job, frozenset([pair[1].key])))
        return _first(limit, found, _cells_schema(*pair))

    def added_batches(self, job: Job | None = None) -> Iterator[pa.Table]:
        return self._rows(self._after.snapshot, (b.added for b in self._blocks(job)))

    def removed_batches(self, job: Job | None = None) -> Iterator[pa.Table]:
        return self._rows(self._before.snapshot, (b.removed for b in self._blocks(job)))

    def changed_cells(
        self, job: Job | None = None, columns: frozenset[int] | None = None
    ) -> Iterator[ChangedCells]:
        """All of them, a column of some rows at a time; of these columns alone, by id, if given."""
        for block in self._blocks(job):
            for column, differing, before, after in self._differing(block, columns):
                where = np.flatnonzero(differing)
                if len(where):
                    arrays = [from_numpy(block.ids[where]), take(before, where), take(after, where)]
                    yield ChangedCells(column.name, pa.Table.from_arrays(arrays, [ID, "before", "after"]))

    def _blocks(self, job: Job | None) -> Iterator[Block]:
        if self._before.snapshot.token == self._after.snapshot.token:
            return
        for block in blocks(self._before, self._after):
            if job is not None:
                job.check()
            yield block

    def _rows(self, snapshot: Snapshot, chosen: Iterator[np.ndarray]) -> Iterator[pa.Table]:
        return (take_rows(snapshot, positions, snapshot.columns) for positions in chosen if len(positions))

    def _differing(
        self, block: Block, columns: frozenset[int] | None = None
    ) -> Iterator[tuple[Column, np.ndarray, pa.Array, pa.Array]]:
        """Each column that may differ: in which of the block's rows it does, and both versions' values."""
        chosen = [c for c in (block.columns, columns) if c is not None]
        for was, column in self._pairs:
            if len(block.ids) and all(column.key in c for c in chosen):
                after = _values(self._after.snapshot, block.after, column)
                before = (
                    pa.nulls(len(after), column.type)
                    if was is None
                    else _values(self._before.snapshot, block.before, was)
                )
                yield column, _differ(before, after), before, after


def _column_changes(before: Sequence[Column], pairs: Sequence[tuple[Column | None, Column]]) -> ColumnChanges:
    both = [(was, column) for was, column in pairs if was is not None]
    kept = [was.key for was, _ in both]
    return ColumnChanges(
        added=tuple(column.name for was, column in pairs if was is None),
        removed=tuple(c.name for c in before if c.key not in kept),
        renamed=tuple((was.name, column.name) for was, column in both if was.name != column.name),
        retyped=tuple((c.name, was.type, c.type) for was, c in both if not was.type.equals(c.type)),
        reordered=[c.key for c in before if c.key in kept] != kept,
    )


def _values(snapshot: Snapshot, positions: np.ndarray, column: Column) -> pa.Array:
    return take_rows(snapshot, positions, [column]).column(0).combine_chunks()


def _differ(before: pa.Array, after: pa.Array) -> np.ndarray:
    """Values of a column whose type changed are compared as one of the two types."""
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
    found, rows = [pa.Table.from_batches([], schema)], 0
    for table in tables:
        found.append(table if limit is None else table.slice(0, limit - rows))
        rows += found[-1].num_rows
        if limit is not None and rows >= limit:
            break
    return pa.concat_tables(found)
