"""Which data files are rewritten so that a table is a few plain files again, a step at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lamella.core.arguments import count_of
from lamella.core.errors import BadData
from lamella.core.scan.footers import unchanged
from lamella.core.scan.snapshot import FileSegment, Segment
from lamella.core.store.catalog import IdsUnderWay
from lamella.core.store.ids import ID_COLUMN
from lamella.core.store.rewrite import apart, segments_with_pending
from lamella.core.store.state import Held, State
from lamella.core.store.writer import ROWS_A_FILE, FileShape, rows_a_group


@dataclass(frozen=True)
class Compaction:
    """What a compaction found and left."""

    table: str
    files_before: int
    files_after: int
    bytes_before: int
    bytes_after: int
    rewritten: int

    def __str__(self) -> str:
        if not self.rewritten:
            return f"{self.table}: in good order already, {_files(self.files_after)}"
        return (
            f"{self.table}: {_files(self.files_before)} ({self.bytes_before:,} bytes) became"
            f" {_files(self.files_after)} ({self.bytes_after:,} bytes)"
        )


def shape_of(state: State, group: int | None, file: int | None) -> FileShape:
    """The sizes asked for, or those that files are written with anyway."""
    name = state.row.name
    usual = rows_a_group(len(state.columns) + 1)
    group = usual if group is None else count_of(group, f"{name}: rows_a_group", least=1)
    file = max(ROWS_A_FILE, group) if file is None else count_of(file, f"{name}: rows_a_file", least=1)
    if not 0 < group <= file:
        raise BadData(
            f"{state.row.name}: row groups of {group:,} rows cannot make files of {file:,}",
            fix="Give at least one row a group, and no fewer rows a file than a group",
        )
    return FileShape(group, file)


class Compactor:
    """Says what is to be done next. Rows from the id `before` on came after it began, and are left alone."""

    def __init__(self, shape: FileShape, before: int) -> None:
        self.shape, self._before = shape, before
        self._in_order: set[int] = set()

    def next_step(self, state: State, under_way: IdsUnderWay) -> np.ndarray | None:
        """Numbers of neighbouring segments to be written as one file, or of one to be written anew; None when
        all is in order. Between segments of one file no ids are `under_way`."""
        pending = set(segments_with_pending(state).tolist())
        for pack in _packs(state, self.shape.rows_a_file, self._before, under_way):
            if len(pack) > 1 or self._needs(state, state.held[pack[0]], pack[0] in pending):
                return np.array(pack, np.int64)
        return None

    def made(self, entries: Sequence[int]) -> None:
        """These data files were just made, so they are in order."""
        self._in_order.update(entries)

    def _needs(self, state: State, held: Held, pending: bool) -> bool:
        """Whether a segment is not what a compaction would leave of it."""
        segment = held.segment
        if not isinstance(segment, FileSegment):
            return True
        if held.entry in self._in_order:
            return False
        if pending or not _well_cut(segment, self.shape) or not _as_the_table(state, segment):
            return True
        self._in_order.add(held.entry)
        return False


def nullable_after(state: State, segments: np.ndarray) -> frozenset[int]:
    """Keys of the columns that may hold a null in what is left of these segments."""
    read = segments[_live_rows(state)[segments] > 0]
    nullable = {c.key for c in state.columns if _may_gain_null(state, read, c.key)}
    for held in (state.held[number] for number in read):
        nullable.update(_with_nulls(held.segment, {c.key for c in state.columns} - nullable))
    return frozenset(nullable)


def _packs(state: State, most: int, before: int, under_way: IdsUnderWay) -> Iterator[list[int]]:
    """Neighbours that fit into one file together, as many as do."""
    live = _live_rows(state)
    pack: list[int] = []
    rows = 0
    for number, held in enumerate(state.held):
        if held.first_id >= before:
            break
        if pack and (rows + live[number] > most or apart(state, number, under_way)):
            yield pack
            pack, rows = [], 0
        pack.append(number)
        rows += int(live[number])
    if pack:
        yield pack


def _live_rows(state: State) -> np.ndarray:
    starts = state.snapshot.segment_starts
    live: np.ndarray = np.diff(starts) - np.diff(np.searchsorted(state.snapshot.deleted, starts))
    return live


def _well_cut(segment: FileSegment, shape: FileShape) -> bool:
    rows = np.diff(unchanged(segment).row_group_starts)
    fewest = -(-segment.num_rows // shape.rows_a_group)
    return bool(
        segment.num_rows <= shape.rows_a_file and len(rows) <= fewest and rows.max() <= shape.rows_a_group
    )


def _as_the_table(state: State, segment: FileSegment) -> bool:
    """Whether any Parquet reader finds the columns as the table has them, in its order."""
    schema = unchanged(segment).schema
    stored = dict(zip(schema.names, schema.types, strict=True))
    wanted = [(c.key, c.name, _kept(c.type)) for c in (ID_COLUMN, *state.columns)]
    return wanted == [(key, name, stored.get(name)) for key, name in segment.names.items()]


@lru_cache(1024)
def _kept(kind: pa.DataType) -> pa.DataType:
    """The type that Parquet gives back for a column of this one."""
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, pa.schema([pa.field("x", kind)])):
        pass
    return pq.ParquetFile(pa.BufferReader(sink.getvalue())).schema_arrow.field(0).type


def _may_gain_null(state: State, segments: np.ndarray, key: int) -> bool:
    """Whether a pending cell of the column is null."""
    changed = None if state.snapshot.overlay is None else state.snapshot.overlay.changed(key)
    if changed is None or not changed[1].null_count:
        return False
    starts = state.snapshot.segment_starts
    spans = np.searchsorted(changed[0], [starts[segments], starts[segments + 1]]).T
    return any(changed[1].slice(low, high - low).null_count for low, high in spans.tolist())


def _with_nulls(segment: Segment, keys: Collection[int]) -> Iterator[int]:
    """Those of the columns that may be null in the segment as it was written."""
    if isinstance(segment, FileSegment):
        nullable = {field.name: field.nullable for field in unchanged(segment).schema}
        yield from (key for key in keys if key not in segment.names or nullable[segment.names[key]])
    else:
        known = dict(zip(segment.rows.column_names, segment.rows.columns, strict=True))
        yield from (key for key in keys if str(key) not in known or known[str(key)].null_count)


def _files(count: int) -> str:
    return f"{count:,} file{'' if count == 1 else 's'}"
