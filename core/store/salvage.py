"""Finds the rows of a damaged table that can still be read: those of its undamaged files, and those of
undamaged row groups of damaged files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import take, to_numpy
from lamella.core.arrow.sorted_ids import among, union
from lamella.core.arrow.types import ID
from lamella.core.errors import LamellaError, UnknownTable
from lamella.core.jobs import Job
from lamella.core.phrases import quantity
from lamella.core.scan.checksums import checksum_of, has_page_checksums
from lamella.core.scan.chunks import decode, leaf_of, to_column_type
from lamella.core.scan.file_checks import FileRecord, identity_of
from lamella.core.scan.open_file import OpenFile
from lamella.core.scan.overlay import patch_chunk
from lamella.core.scan.parquet_file import REFUSALS, Footer, is_footer_of
from lamella.core.scan.parquet_source import open_parquet
from lamella.core.scan.read import in_memory
from lamella.core.scan.row_ids import ID_COLUMN
from lamella.core.scan.snapshot import Column, FileSegment, MemorySegment
from lamella.core.store.catalog.queries import Catalog
from lamella.core.store.cells import CellChanges, as_type
from lamella.core.store.columns import with_metadata
from lamella.core.store.folder import Readers
from lamella.core.store.table_version import UNREADABLE, Reader, SegmentEntry

MEMORY = -1
"""The row group of rows that are in no file."""


@dataclass(frozen=True)
class Salvage:
    """The rows of a table's newest version, as far as they can be read; `parts` has the segments that can,
    each with its row groups. `lost` counts the others: at most so many if not `is_exact`, because it is not
    known which of them were deleted before. `refusal` says why nothing of the table can be taken."""

    table: str
    readable: int = 0
    lost: int = 0
    is_exact: bool = True
    refusal: str = ""
    parts: tuple[tuple[SegmentEntry, tuple[int, ...]], ...] = ()
    reader: SalvageReader | None = field(default=None, repr=False)

    def __str__(self) -> str:
        if self.refusal:
            return f"{self.table}: the rows cannot be copied. {self.refusal}"
        if not self.lost:
            return f"{self.table}: all {quantity(self.readable, 'row')} can be read; the damage is elsewhere"
        lost = f"{self.lost:,} cannot" if self.is_exact else f"up to {self.lost:,} cannot"
        return f"{self.table}: {quantity(self.readable, 'row')} can be read, {lost}"

    @property
    def is_partial(self) -> bool:
        """Whether some rows were lost, and others can be copied."""
        return bool(self.lost and self.readable)

    def rows(self, job: Job) -> pa.RecordBatchReader:
        """Read the rows again, with the metadata of the table."""
        assert self.reader is not None, "nothing of the table can be read"
        schema = with_metadata(self.reader.current())
        return pa.RecordBatchReader.from_batches(schema, self._batches(self.reader, schema, job))

    def _batches(self, reader: SalvageReader, schema: pa.Schema, job: Job) -> Iterator[pa.RecordBatch]:
        passed = 0
        for entry, groups in self.parts:
            for group in groups:
                text = f"{self.table}: {passed:,} of {self.readable:,} rows copied"
                job.report(passed, self.readable, text)
                rows = reader.live_rows(entry, _stored_rows(entry, group, reader.columns))
                passed += rows.num_rows
                yield from rows.cast(schema).to_batches()


class SalvageReader(Reader):
    """Reads a table without looking for the positions of its changes and deletions, which would need the
    `_id`s of damaged files: they are applied to the rows that can be read."""

    def __init__(self, catalog: Catalog, table_id: int, readers: Readers) -> None:
        super().__init__(catalog, table_id, readers)
        self._changes: list[CellChanges] = []
        self._deletions: dict[int, np.ndarray] = {}

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.current().snapshot.columns

    def salvage(self, job: Job) -> Salvage:
        """Read everything, and count what can be read."""
        state = self.current()
        name, entries = state.row.name, state.segment_entries
        parts, readable, lost, is_exact = [], 0, 0, True
        for number, entry in enumerate(entries):
            groups = []
            for group, rows in _blocks(entry, self.columns):
                job.report(
                    number, len(entries), f"{name}: {number:,} of {quantity(len(entries), 'part')} read"
                )
                if isinstance(rows, pa.Table):
                    readable += self.live_rows(entry, rows).num_rows
                    groups.append(group)
                else:
                    lost += rows.count - int(among(rows.ids, self._deleted_ids).sum())
                    is_exact &= rows.is_exact or not self._has_deletions(entry)
            parts.append((entry, tuple(groups)))
        return Salvage(name, readable, lost, is_exact, parts=tuple(parts), reader=self)

    def live_rows(self, entry: SegmentEntry, rows: pa.Table) -> pa.Table:
        """Apply changes and deletions to rows of a segment."""
        ids = to_numpy(rows.column(ID))
        changes = [cells for cells in self._changes if cells.version > entry.version]
        for cells in changes:
            hits = np.flatnonzero(among(cells.ids, ids))
            for place, column in enumerate(self.columns):
                if len(hits) and column.key in cells.values:
                    values = take(as_type(cells.values[column.key], column.type), hits)
                    chunk = patch_chunk(rows.column(place), np.searchsorted(ids, cells.ids[hits]), values)
                    rows = rows.set_column(place, rows.schema.field(place), chunk)
        deleted = among(ids, self._deleted_ids)
        return rows.filter(pa.array(~deleted)) if deleted.any() else rows

    @property
    def _deleted_ids(self) -> np.ndarray:
        return union(*self._deletions.values())

    def _has_deletions(self, entry: SegmentEntry) -> bool:
        first, stop = np.searchsorted(self._deleted_ids, (entry.first_id, entry.last_id + 1)).tolist()
        return bool(first < stop)

    def _all_cells(self, version: int) -> dict[tuple[str, int], CellChanges]:
        self._changes = list(super()._all_cells(version).values())
        return {}

    def _read_deletions(self, entry: int) -> np.ndarray:
        self._deletions[entry] = super()._read_deletions(entry)
        return np.empty(0, np.int64)

    def _rows(self, entry: int, first: int, rows: int) -> MemorySegment:
        try:
            return super()._rows(entry, first, rows)
        except (LamellaError, *UNREADABLE) as error:
            return _unreadable_rows(rows, error)


def _unreadable_rows(rows: int, error: Exception) -> MemorySegment:
    def refuse() -> pa.Table:
        raise error

    return MemorySegment(rows, refuse)


@dataclass(frozen=True)
class LostRows:
    """Rows that cannot be read; `ids` are theirs if they are known, and else empty."""

    count: int
    ids: np.ndarray
    is_exact: bool


def find_salvage(catalog: Catalog, readers: Readers, tables: Sequence[str], job: Job) -> list[Salvage]:
    """Read these tables, and return which of their rows can be read. Changes nothing."""
    ids = {row.name: row.table_id for row in catalog.tables()}
    salvages = []
    for name in tables:
        if name not in ids:
            raise UnknownTable(name, f"store {catalog.path.parent.name}", list(ids))
        try:
            salvages.append(SalvageReader(catalog, ids[name], readers).salvage(job))
        except (LamellaError, *UNREADABLE) as error:
            why = "What was changed or deleted in them cannot be read: restore a backup"
            salvages.append(Salvage(name, refusal=f"{why}. {error}"))
    return salvages


def _blocks(entry: SegmentEntry, columns: Sequence[Column]) -> Iterator[tuple[int, pa.Table | LostRows]]:
    """Yield the row groups of a segment, or what is known of the rows of those that cannot be read."""
    segment = entry.segment
    is_dense = segment.num_rows == entry.last_id - entry.first_id + 1
    every_id = np.arange(entry.first_id, entry.last_id + 1) if is_dense else np.empty(0, np.int64)
    if not isinstance(segment, FileSegment):
        try:
            yield MEMORY, in_memory(segment, columns)
        except (LamellaError, *UNREADABLE):
            yield MEMORY, LostRows(segment.num_rows, every_id, is_dense)
        return
    footer = _sound_footer(segment)
    if footer is None:
        yield 0, LostRows(segment.num_rows, every_id, is_dense)
        return
    starts = footer.row_group_starts.tolist()
    for group, rows in enumerate(footer.row_group_sizes):
        try:
            yield group, _group(entry, footer, group, columns)
        except (LamellaError, *REFUSALS):
            try:
                ids = to_numpy(_group(entry, footer, group, [ID_COLUMN]).column(ID))
                yield group, LostRows(rows, ids, is_exact=True)
            except (LamellaError, *REFUSALS):
                yield group, LostRows(rows, every_id[starts[group] : starts[group + 1]], is_dense)


def _stored_rows(entry: SegmentEntry, group: int, columns: Sequence[Column]) -> pa.Table:
    """Read a row group again that could be read before."""
    if isinstance(entry.segment, MemorySegment):
        return in_memory(entry.segment, columns)
    return _group(entry, _footer(entry.segment), group, columns)


def _footer(segment: FileSegment) -> Footer:
    """The footer apart from what this process knows about the file, so that each row group is verified for
    itself, and the file is not refused as a whole."""
    status = segment.path.stat()
    identity = identity_of(status)
    with open_parquet(segment.path) as file:
        return Footer(segment.path, identity[2:], file.metadata, FileRecord(identity))


def _sound_footer(segment: FileSegment) -> Footer | None:
    """The footer, unless it is damaged, or nothing tells which pages are."""
    try:
        footer = _footer(segment)
        if footer.metadata.num_rows != segment.num_rows or not is_footer_of(segment, footer):
            return None
        with segment.path.open("rb") as file:
            tells = has_page_checksums(file, footer.metadata)
        is_whole = not segment.checksum or checksum_of(segment.path) == segment.checksum
        return footer if tells or is_whole else None
    except (LamellaError, *REFUSALS):
        return None


def _group(entry: SegmentEntry, footer: Footer, group: int, columns: Sequence[Column]) -> pa.Table:
    """Read a row group; raise one of `REFUSALS` or `LamellaError` for rows that are not as written."""
    segment = entry.segment
    assert isinstance(segment, FileSegment)
    leaves = [leaf_of(segment, footer, column) for column in columns]
    stored = list(dict.fromkeys(leaf for leaf in leaves if leaf is not None))
    with OpenFile() as file:
        decoded = dict(zip(stored, decode(footer, [group], stored, file), strict=True))
    rows, chunks = footer.row_group_sizes[group], []
    for leaf, column in zip(leaves, columns, strict=True):
        chunk = to_column_type(None if leaf is None else decoded[leaf], column, rows, segment)
        chunk.validate(full=True)
        chunks.append(chunk)
    table = pa.Table.from_arrays(chunks, schema=pa.schema([pa.field(c.name, c.type) for c in columns]))
    ids = to_numpy(table.column(ID))
    ascend = not bool(np.any(ids[1:] <= ids[:-1]))
    if not ascend or (len(ids) and (ids[0] < entry.first_id or ids[-1] > entry.last_id)):
        raise pa.ArrowInvalid(f"the {ID}s are not those of the file")
    return table
