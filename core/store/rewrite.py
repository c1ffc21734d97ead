"""Rewrites data files: decides which changes justify a rewrite, and writes rows that are supplied whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from functools import partial
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.arrow.arrays import to_numpy
from lamella.core.arrow.ingest import RowBatch
from lamella.core.arrow.sorted_ids import union
from lamella.core.arrow.types import ID
from lamella.core.jobs import Job
from lamella.core.phrases import quantity
from lamella.core.scan.read import read_rows, schema_of, tables_between
from lamella.core.scan.row_ids import ID_COLUMN, distinct, lie_between
from lamella.core.scan.snapshot import Column, Snapshot
from lamella.core.store.catalog.queries import IdsUnderWay
from lamella.core.store.cells import NO_IDS, CellChanges, write_cells
from lamella.core.store.commit import (
    Change,
    Entries,
    Rewrite,
    StagedFiles,
)
from lamella.core.store.data_files import Encoder, FileSeries, FileShape, WrittenFile, write_files
from lamella.core.store.evolution import narrow_rows
from lamella.core.store.folder import Staging
from lamella.core.store.row_lookup import row_ids_of
from lamella.core.store.table_version import SegmentEntry, TableVersion, overlaid


@dataclass(frozen=True, eq=False)
class RewriteChanges:
    """What a rewrite applies in addition to pending changes; `columns` begin with `_id`."""

    columns: tuple[Column, ...]
    cells: CellChanges | None = None
    deleted_ids: np.ndarray = field(default_factory=lambda: NO_IDS)


def rewrite(
    state: TableVersion,
    segments: np.ndarray,
    change: RewriteChanges,
    staging: Staging,
    job: Job,
    shape: FileShape | None = None,
    under_way: IdsUnderWay = (),
) -> Rewrite:
    """Stage the given segments (ascending numbers) with pending and new changes applied.

    No file spans the ids `under_way`, which belong to rows that others are still staging.
    """
    after, columns = _after(state, change), change.columns
    files: list[WrittenFile] = []
    for first, last in _runs(state, segments, under_way):
        files += write_files(_live_tables(after, columns, first, last, job), columns, staging, shape=shape)
    replaced = tuple(state.segment_entries[i] for i in segments)
    return Rewrite(replaced, tuple(files), contained_entries(state, replaced))


def _live_tables(
    after: Snapshot, columns: tuple[Column, ...], first: int, last: int, job: Job
) -> Iterator[pa.Table]:
    """Read the rows of these segments, skipping segments whose rows are all deleted."""
    for start, stop in pairwise(after.segment_starts[first : last + 2].tolist()):
        low, high = np.searchsorted(after.deleted_positions, [start, stop])
        if high - low < stop - start:
            yield from tables_between(after, columns, start, stop, job)


def segments_of(state: TableVersion, ids: np.ndarray) -> np.ndarray:
    """The numbers of the segments that contain these ids."""
    positions = state.ranges.locate(state.snapshot, ids)
    starts = state.snapshot.segment_starts
    return distinct(np.searchsorted(starts, positions[positions >= 0], side="right") - 1)


def segments_with_pending(state: TableVersion) -> np.ndarray:
    """The numbers of segments whose rows have pending changes, and of segments of pending rows."""
    touched = [c.ids[state.lie_over(c)] for c in state.cells.values()] + list(state.deletions.values())
    changed = segments_of(state, union(*touched))
    loose = [i for i, entry in enumerate(state.segment_entries) if entry.kind == "pending_rows"]
    return union(changed, np.array(loose, np.int64))


def _after(state: TableVersion, change: RewriteChanges) -> Snapshot:
    gone = union(state.snapshot.deleted_positions, state.ranges.locate(state.snapshot, change.deleted_ids))
    cells = [] if change.cells is None else [change.cells]
    changes = [(piece, state.ranges.locate(state.snapshot, piece.ids)) for piece in cells]
    overlay = overlaid(state.snapshot.overlay, change.columns, changes)
    return replace(state.snapshot, columns=change.columns, deleted_positions=gone, overlay=overlay)


def _runs(state: TableVersion, numbers: np.ndarray, under_way: IdsUnderWay) -> list[tuple[int, int]]:
    """Runs of neighbouring segments that may share a file, as (first, last)."""
    runs: list[tuple[int, int]] = []
    for number in numbers.tolist():
        before = runs[-1] if runs else None
        if before and before[1] + 1 == number and not apart(state, number, under_way):
            runs[-1] = (before[0], number)
        else:
            runs.append((number, number))
    return runs


def apart(state: TableVersion, number: int, under_way: IdsUnderWay) -> bool:
    """Whether rows may still be added between a segment and the one before it."""
    return lie_between(
        under_way, state.segment_entries[number - 1].last_id, state.segment_entries[number].first_id
    )


def contained_entries(state: TableVersion, replaced: tuple[SegmentEntry, ...]) -> Entries:
    """The pending entries that concern only rows of the replaced segments. Others stay in the catalog; the
    newer files ignore them."""
    ids = {key: cells.ids[state.lie_over(cells)] for key, cells in state.cells.items()}
    for entry, deleted in state.deletions.items():
        ids["deletions", entry] = deleted[state.ranges.locate(state.snapshot, deleted) >= 0]
    return tuple(key for key, reached in ids.items() if _inside(reached, replaced))


def _inside(ids: np.ndarray, replaced: tuple[SegmentEntry, ...]) -> bool:
    reached = np.zeros(len(ids), bool)
    for entry in replaced:
        reached |= (ids >= entry.first_id) & (ids <= entry.last_id)
    return bool(reached.all())


SMALL_ROWS = 10_000
SMALL_CELLS = 200_000
LARGE_SHARE = 0.5
MOST_CHANGED_ROWS = 4_000_000
MOST_CHANGED_CELLS = 32_000_000


class Storage(Enum):
    CATALOG = auto()
    CHANGE_FILES = auto()
    DATA_FILES = auto()


def storage_of(state: TableVersion, change: Change) -> Storage:
    """Decide where changed cells and deletions are stored. New rows are stored by their number,
    independently."""
    cells = 0 if change.cells is None else change.num_updated * len(change.cells.values)
    few = change.num_updated <= SMALL_ROWS and cells <= SMALL_CELLS
    if few and len(change.deleted_ids) <= SMALL_ROWS:
        return Storage.CATALOG
    rows = _rows_of(state, segments_of(state, change.touched_ids))
    if len(change.deleted_ids) > LARGE_SHARE * rows or cells > LARGE_SHARE * rows * (1 + len(change.columns)):
        return Storage.DATA_FILES
    if few:
        return Storage.CATALOG
    return Storage.CHANGE_FILES if _may_lie_over(state, change.num_updated, cells) else Storage.DATA_FILES


def stage(
    state: TableVersion, change: Change, where: Storage, staging: Staging, job: Job, under_way: IdsUnderWay
) -> StagedFiles:
    if where is Storage.CHANGE_FILES and change.cells is not None:
        columns = {c.key: c for c in change.columns}
        return StagedFiles(change.files, change_files=write_cells(change.cells, columns, staging))
    if where is Storage.DATA_FILES:
        segments = segments_of(state, change.touched_ids)
        applied = RewriteChanges((ID_COLUMN, *change.columns), change.cells, change.deleted_ids)
        rewritten = rewrite(state, segments, applied, staging, job, under_way=under_way)
        return StagedFiles(change.files, rewritten=rewritten)
    return StagedFiles(change.files)


def _rows_of(state: TableVersion, segments: np.ndarray) -> int:
    return sum(state.segment_entries[i].segment.num_rows for i in segments)


def _may_lie_over(state: TableVersion, rows: int, cells: int) -> bool:
    """Whether more change files may be added: they are kept in memory while a table is read, so their size is
    limited."""
    changes = [c for (kind, _), c in state.cells.items() if kind == "change_files"]
    all_rows = rows + sum(len(c.ids) for c in changes)
    all_cells = cells + sum(len(c.ids) * len(c.values) for c in changes)
    return all_rows <= MOST_CHANGED_ROWS and all_cells <= MOST_CHANGED_CELLS


@dataclass(frozen=True, eq=False)
class Replacement:
    """Files that contain exactly the rows of `ids` as they were given."""

    ids: np.ndarray
    rewrite: Rewrite


def fits_in_catalog(blocks: Iterator[RowBatch]) -> bool:
    """Whether the blocks have few enough rows for the catalog; reads no more blocks than needed."""
    rows = 0
    while rows <= SMALL_ROWS and (block := next(blocks, None)) is not None:
        rows += block.num_rows
    return rows <= SMALL_ROWS


def stage_replacement(
    state: TableVersion, blocks: Iterator[RowBatch], on: str, by_key: bool, staging: Staging, job: Job
) -> Replacement | None:
    """Stage rows in place of the segments that contain them. Returns None at the first block that leaves out
    half of the columns or a row in between, contains a null, or has values that do not fit their column as
    they are.

    `on` is the column by which rows are found: `_id`, or one whose given values are those in the table, all
    of them, in order. `by_key`: structs came as dicts, so a null or missing field may mean "left out".
    """
    cover = _cover(state, on)
    if cover is None:
        return None
    with Encoder(FileSeries(staging)) as encoder:
        for block in blocks:
            rows = _batch_table(block, cover.columns, by_key)
            cover_with_ids = None if rows is None else cover.with_ids(rows)
            if cover_with_ids is None:
                return None
            whole = _whole(state, cover_with_ids, _first(cover, cover_with_ids))
            job.report(cover.num_rows, text=f"{quantity(cover.num_rows, 'row')} written")
            encoder.add((ID_COLUMN, *state.columns), whole.num_rows, partial(_identity, whole))
        if not cover.is_whole:
            return None
        files = tuple(encoder.finish())
    ids = cover.ids
    entries = tuple(state.segment_entries[i] for i in segments_of(state, ids))
    return Replacement(ids, Rewrite(entries, files, contained_entries(state, entries)))


def _first(cover: _ById | _ByKey, rows: pa.Table) -> int:
    """The number of the first row of the last block."""
    count: int = rows.num_rows
    return (cover.next_row or 0) - count


def _cover(state: TableVersion, on: str) -> _ById | _ByKey | None:
    """Return how the rows are matched; None for an unknown column, or one of floats: equal floats may differ
    in their bits, and keys must stay as they are."""
    if on == ID:
        return _ById(state)
    key = next((column for column in state.columns if column.name == on), None)
    return None if key is None or pa.types.is_floating(key.type) else _ByKey(state, key)


def _identity(rows: pa.Table) -> pa.Table:
    return rows


def _batch_table(block: RowBatch, columns: tuple[Column, ...], by_key: bool) -> pa.Table | None:
    """The block's columns in the table's types; None unless it has the first column and most others."""
    names = set(block.schema.names)
    present = tuple(column for column in columns if column.name in names)
    most = len(present) > LARGE_SHARE * len(columns) and columns[0] in present
    if not most or len(present) != len(block.schema.names):
        return None
    rows = block.table().select([c.name for c in present])
    if by_key and not all(_is_whole(rows.column(c.name), c.type) for c in present):
        return None
    if any(f.type != c.type for f, c in zip(rows.schema, present, strict=True)):
        rows = narrow_rows(rows, present)
    alike = all(f.type == c.type for f, c in zip(rows.schema, present, strict=True))
    return rows if alike and not any(values.null_count for values in rows.columns) else None


def _is_whole(values: pa.ChunkedArray, kind: pa.DataType) -> bool:
    """Whether all structs certainly have all their fields."""
    if not pa.types.is_struct(kind):
        return True
    if not pa.types.is_struct(values.type) or values.null_count or set(values.type.names) != set(kind.names):
        return False
    inside = ((pc.struct_field(values, [i]), kind.field(f.name).type) for i, f in enumerate(values.type))
    return all(not field.null_count and _is_whole(field, inner) for field, inner in inside)


def _whole(state: TableVersion, rows: pa.Table, first: int) -> pa.Table:
    """Complete the rows with stored values of columns that are left out, from the live row number `first`
    on."""
    columns = (ID_COLUMN, *state.columns)
    by_name = dict(zip(rows.column_names, rows.columns, strict=True))
    left_out = [column for column in columns if column.name not in by_name]
    if left_out:
        old = read_rows(state.snapshot, first, rows.num_rows, left_out)
        by_name |= dict(zip(old.column_names, old.columns, strict=True))
    return pa.Table.from_arrays([by_name[c.name] for c in columns], schema=schema_of(columns))


class _ById:
    """Matches rows by `_id`: they must be consecutive live rows that cover whole segments."""

    def __init__(self, state: TableVersion) -> None:
        self.columns: tuple[Column, ...] = (ID_COLUMN, *state.columns)
        self.num_rows = 0
        self._state, self._ids = state, [np.empty(0, np.int64)]
        starts = state.snapshot.segment_starts
        self._starts = starts - np.searchsorted(state.snapshot.deleted_positions, starts)
        self.next_row: int | None = None

    def with_ids(self, rows: pa.Table) -> pa.Table | None:
        """Return the rows if they are the next ones, else None."""
        ids = row_ids_of(self._state, rows.column(0))
        return rows if self._goes_on(ids) else None

    def _goes_on(self, ids: np.ndarray) -> bool:
        if not len(ids):
            return True
        positions = self._state.locate(ids)
        ranks = positions - np.searchsorted(self._state.snapshot.deleted_positions, positions)
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
    """Matches rows by a key: they must be all rows of the table, with the key's stored values in order."""

    def __init__(self, state: TableVersion, key: Column) -> None:
        self.columns: tuple[Column, ...] = (key, *(column for column in state.columns if column != key))
        self.num_rows = 0
        self._state, self._key = state, key
        self._ids, self._keys = [np.empty(0, np.int64)], [pa.chunked_array([], self._key.type)]

    def with_ids(self, rows: pa.Table) -> pa.Table | None:
        """Return the rows with their `_id`s if they are the next ones, else None."""
        old = read_rows(self._state.snapshot, self.num_rows, rows.num_rows, [ID_COLUMN, self._key])
        keys = rows.column(self._key.name)
        if old.num_rows < rows.num_rows or not old.column(1).equals(keys):
            return None
        self.num_rows += rows.num_rows
        self._ids.append(to_numpy(old.column(0)))
        self._keys.append(keys)
        return rows.add_column(0, pa.field(ID, pa.int64()), old.column(0))

    @property
    def next_row(self) -> int:
        return self.num_rows

    @property
    def is_whole(self) -> bool:
        """Whether all rows were given, with unique keys; duplicate keys are handled elsewhere."""
        keys = pa.chunked_array([chunk for keys in self._keys for chunk in keys.chunks], self._key.type)
        return self.num_rows == self._state.snapshot.num_rows == int(pc.count_distinct(keys).as_py())

    @property
    def ids(self) -> np.ndarray:
        return np.concatenate(self._ids)
