"""Rows given whole for whole segments, in `_id` order: encoded while the next ones are converted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.arrays import to_numpy
from lamella.core.block import Block
from lamella.core.jobs import Job
from lamella.core.scan.pieces import schema_of
from lamella.core.scan.rows import read_rows
from lamella.core.scan.snapshot import Column
from lamella.core.schema import ID
from lamella.core.store.evolution import narrowed
from lamella.core.store.ids import ID_COLUMN
from lamella.core.store.layout import Staging
from lamella.core.store.placement import LARGE_SHARE, SMALL_ROWS
from lamella.core.store.rewrite import Rewrite, contained, segments_of
from lamella.core.store.row_ids import ids_given
from lamella.core.store.state import State
from lamella.core.store.writer import Encoder, FileSeries

Columns = tuple[Column, ...]


@dataclass(frozen=True, eq=False)
class Replaced:
    """The files of `rewrite` hold the rows of `ids` as they were given, and nothing else."""

    ids: np.ndarray
    rewrite: Rewrite


def few(blocks: Iterator[Block]) -> bool:
    """Whether they hold no more rows than the catalog takes; takes no more blocks than it has to."""
    rows = 0
    while rows <= SMALL_ROWS and (block := next(blocks, None)) is not None:
        rows += block.num_rows
    return rows <= SMALL_ROWS


def replaced(
    state: State, blocks: Iterator[Block], on: str, by_key: bool, staging: Staging, job: Job
) -> Replaced | None:
    """Stage the rows in place of the segments that hold them; None at the first block that leaves out half of
    the columns or a row between, holds a null, or has values that its column does not take as they are.

    `on` is the column that rows are found by: `_id`, or one that is given the values it has in the table, all
    of them in that order. `by_key`: structs came as dicts, so that a null or a missing field in one may have
    been left out.
    """
    cover = _cover(state, on)
    if cover is None:
        return None
    with Encoder(FileSeries(staging)) as encoder:
        for block in blocks:
            rows = _given(block, cover.columns, by_key)
            known = None if rows is None else cover.with_ids(rows)
            if known is None:
                return None
            whole = _whole(state, known, _first(cover, known))
            job.report(cover.num_rows, text=f"{cover.num_rows:,} rows written")
            encoder.add((ID_COLUMN, *state.columns), whole.num_rows, partial(_as_given, whole))
        if not cover.is_whole:
            return None
        files = tuple(encoder.finish())
    ids = cover.ids
    held = tuple(state.held[i] for i in segments_of(state, ids))
    return Replaced(ids, Rewrite(held, files, contained(state, held)))


def _first(cover: _ById | _ByKey, rows: pa.Table) -> int:
    """The number of the first of the rows that were taken last."""
    taken: int = rows.num_rows
    return (cover.next_row or 0) - taken


def _cover(state: State, on: str) -> _ById | _ByKey | None:
    """Floats are no keys here: equal ones may differ, and keys stay as they are."""
    if on == ID:
        return _ById(state)
    key = next((column for column in state.columns if column.name == on), None)
    return None if key is None or pa.types.is_floating(key.type) else _ByKey(state, key)


def _as_given(rows: pa.Table) -> pa.Table:
    return rows


def _given(block: Block, columns: Columns, by_key: bool) -> pa.Table | None:
    """What the block gives of the columns, in their types; the first of them has to be there."""
    names = set(block.schema.names)
    given = tuple(column for column in columns if column.name in names)
    most = len(given) > LARGE_SHARE * len(columns) and columns[0] in given
    if not most or len(given) != len(block.schema.names):
        return None
    rows = block.table().select([c.name for c in given])
    if by_key and not all(_is_whole(rows.column(c.name), c.type) for c in given):
        return None
    if any(f.type != c.type for f, c in zip(rows.schema, given, strict=True)):
        rows = narrowed(rows, given)
    alike = all(f.type == c.type for f, c in zip(rows.schema, given, strict=True))
    return rows if alike and not any(values.null_count for values in rows.columns) else None


def _is_whole(values: pa.ChunkedArray, kind: pa.DataType) -> bool:
    """Whether structs surely have all their fields."""
    if not pa.types.is_struct(kind):
        return True
    if not pa.types.is_struct(values.type) or values.null_count or set(values.type.names) != set(kind.names):
        return False
    inside = ((pc.struct_field(values, [i]), kind.field(f.name).type) for i, f in enumerate(values.type))
    return all(not field.null_count and _is_whole(field, inner) for field, inner in inside)


def _whole(state: State, rows: pa.Table, first: int) -> pa.Table:
    """With the columns that are left out as they are held, of the live rows from number `first` on."""
    columns = (ID_COLUMN, *state.columns)
    given = dict(zip(rows.column_names, rows.columns, strict=True))
    left_out = [column for column in columns if column.name not in given]
    if left_out:
        held = read_rows(state.snapshot, first, rows.num_rows, left_out)
        given |= dict(zip(held.column_names, held.columns, strict=True))
    return pa.Table.from_arrays([given[c.name] for c in columns], schema=schema_of(columns))


class _ById:
    """Rows with their `_id`s: live ones one after the other, from the first of a segment to the last of
    one."""

    def __init__(self, state: State) -> None:
        self.columns: Columns = (ID_COLUMN, *state.columns)
        self.num_rows = 0
        self._state, self._ids = state, [np.empty(0, np.int64)]
        starts = state.snapshot.segment_starts
        self._starts = starts - np.searchsorted(state.snapshot.deleted, starts)
        self.next_row: int | None = None

    def with_ids(self, rows: pa.Table) -> pa.Table | None:
        """The rows, if they are the next ones."""
        ids = ids_given(self._state, rows.column(0))
        return rows if self._goes_on(ids) else None

    def _goes_on(self, ids: np.ndarray) -> bool:
        if not len(ids):
            return True
        positions = self._state.locate(ids)
        ranks = positions - np.searchsorted(self._state.snapshot.deleted, positions)
        first = int(ranks[0])
        begins = first in self._starts if self.next_row is None else first == self.next_row
        if not begins or positions.min() < 0 or not np.array_equal(ranks, np.arange(first, first + len(ids))):
            return False
        self._ids.append(ids)
        self.next_row, self.num_rows = first + len(ids), self.num_rows + len(ids)
        return True

    @property
    def is_whole(self) -> bool:
        return self.next_row is not None and self.next_row in self._starts

    @property
    def ids(self) -> np.ndarray:
        return np.concatenate(self._ids)


class _ByKey:
    """Rows with a key: all of the table, with the values that the key column has there."""

    def __init__(self, state: State, key: Column) -> None:
        self.columns: Columns = (key, *(column for column in state.columns if column != key))
        self.num_rows = 0
        self._state, self._key = state, key
        self._ids, self._keys = [np.empty(0, np.int64)], [pa.chunked_array([], self._key.type)]

    def with_ids(self, rows: pa.Table) -> pa.Table | None:
        """The rows with the `_id`s that they have, if they are the next ones."""
        held = read_rows(self._state.snapshot, self.num_rows, rows.num_rows, [ID_COLUMN, self._key])
        given = rows.column(self._key.name)
        if held.num_rows < rows.num_rows or not held.column(1).equals(given):
            return None
        self.num_rows += rows.num_rows
        self._ids.append(to_numpy(held.column(0)))
        self._keys.append(given)
        return rows.add_column(0, pa.field(ID, pa.int64()), held.column(0))

    @property
    def next_row(self) -> int:
        return self.num_rows

    @property
    def is_whole(self) -> bool:
        """A key that stands twice is for others to refuse, or to find all rows of."""
        keys = pa.chunked_array([chunk for keys in self._keys for chunk in keys.chunks], self._key.type)
        return self.num_rows == self._state.snapshot.num_rows == int(pc.count_distinct(keys).as_py())

    @property
    def ids(self) -> np.ndarray:
        return np.concatenate(self._ids)
