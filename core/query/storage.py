"""The storage of a snapshot's rows: files, row groups and columns as footers describe them, and which row
groups a filter skips."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from lamella.core.filters.binding import bind
from lamella.core.filters.expr import Filter, columns_read
from lamella.core.jobs import Job
from lamella.core.query.pruning import may_meet
from lamella.core.scan.parquet_file import Footer, unchanged
from lamella.core.scan.read import pieces
from lamella.core.scan.snapshot import Column, FileSegment, Snapshot

MOST_CHUNKS = 200_000
"""The maximum number of column chunks that are examined, starting with the first files."""
_LEVELS = frozenset({"RLE", "BIT_PACKED"})
"""Encodings that every column with nulls uses besides its own."""


@dataclass(frozen=True)
class StoredFile:
    path: Path
    rows: int
    bytes: int
    row_groups: int
    created_by: str


@dataclass
class StoredColumn:
    """A column's storage: its size on disk (`bytes`) and uncompressed (`raw_bytes`), in `chunks` chunks.
    `low` and `high` are the extremes by statistics, valid if all chunks have them (`has_extremes`); `nulls`
    is None if some chunk does not state its count."""

    name: str
    type: str
    bytes: int = 0
    raw_bytes: int = 0
    chunks: int = 0
    encodings: Counter[str] = field(default_factory=Counter)
    codecs: Counter[str] = field(default_factory=Counter)
    nulls: int | None = 0
    low: Any = None
    high: Any = None
    has_extremes: bool = True
    note: str = ""

    def add(self, chunk: pq.ColumnChunkMetaData) -> None:
        self.chunks += 1
        self.bytes += chunk.total_compressed_size
        self.raw_bytes += chunk.total_uncompressed_size
        own = [encoding for encoding in chunk.encodings if encoding not in _LEVELS]
        self.encodings["dictionary" if chunk.has_dictionary_page else (own or ["RLE"])[0].lower()] += 1
        self.codecs[chunk.compression.lower()] += 1
        statistics = chunk.statistics
        counted = statistics is not None and statistics.has_null_count
        self.nulls = None if self.nulls is None or not counted else self.nulls + statistics.null_count
        if statistics is not None and statistics.has_null_count and statistics.null_count == chunk.num_values:
            return
        if statistics is None or not statistics.has_min_max:
            self.has_extremes = False
            return
        self.low = statistics.min if self.low is None else min(self.low, statistics.min)
        self.high = statistics.max if self.high is None else max(self.high, statistics.max)


@dataclass(frozen=True)
class StoredGroup:
    """A row group of a file, numbered from 0. `is_read` is whether it may contain rows that meet the filter,
    and `extents` are the extents of the filter's columns."""

    file: str
    number: int
    rows: int
    bytes: int
    is_read: bool = True
    extents: tuple[str, ...] = ()


@dataclass(frozen=True)
class Storage:
    """`memory_rows` are not in a file yet; `deleted` counts rows in files that are no longer live.
    `is_partial` means that the sizes of columns cover only the first of many files."""

    rows: int
    memory_rows: int
    deleted: int
    files: tuple[StoredFile, ...]
    groups: tuple[StoredGroup, ...]
    columns: tuple[StoredColumn, ...]
    metadata: Mapping[str, str]
    is_partial: bool = False

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)

    @property
    def skipped(self) -> int:
        """The number of row groups that the filter skips."""
        return sum(not group.is_read for group in self.groups)


def read_storage(snapshot: Snapshot, where: Filter | None, job: Job) -> Storage:
    """Read the storage from the footers. Blocks. Raises `FileProblem` for a file that changed."""
    segments = snapshot.files
    in_files = sum(segment.num_rows for segment in segments)
    columns = {c.key: StoredColumn(c.name, str(c.type), note=c.note) for c in snapshot.columns}
    chunks, is_partial = 0, False
    files = []
    for segment in segments:
        job.check()
        footer = unchanged(segment)
        files.append(_file(segment, footer))
        chunks += footer.metadata.num_columns * footer.metadata.num_row_groups
        is_partial = is_partial or chunks > MOST_CHUNKS
        if not is_partial:
            _add_chunks(segment, footer, columns, job)
    metadata = _metadata(unchanged(segments[0])) if segments else {}
    return Storage(
        snapshot.num_rows, snapshot.num_positions - in_files, len(snapshot.deleted), tuple(files),
        tuple(read_groups(snapshot, where, job)), tuple(columns.values()), metadata, is_partial,
    )  # fmt: skip


def read_groups(snapshot: Snapshot, where: Filter | None, job: Job) -> Iterator[StoredGroup]:
    """The row groups in order, and whether a filter skips them."""
    bound = None if where is None else bind(where, snapshot.schema, snapshot.name)
    needed = None if bound is None else may_meet(snapshot, bound)
    names = [] if bound is None else sorted(columns_read(bound))
    columns = [snapshot.by_name[name] for name in names if name in snapshot.by_name]
    for piece in pieces(snapshot, 0, snapshot.num_positions):
        job.check()
        if not isinstance(piece.segment, FileSegment):
            continue
        footer = unchanged(piece.segment)
        for number in piece.row_groups:
            group = footer.metadata.row_group(number)
            extents = tuple(_extents(group, piece.segment, columns))
            read = needed is None or needed(piece)
            yield StoredGroup(
                piece.segment.path.name, number, group.num_rows, group.total_byte_size, read, extents
            )


def _file(segment: FileSegment, footer: Footer) -> StoredFile:
    metadata = footer.metadata
    return StoredFile(
        segment.path, segment.num_rows, footer.fingerprint[0], metadata.num_row_groups,
        metadata.created_by or "",
    )  # fmt: skip


def _add_chunks(segment: FileSegment, footer: Footer, columns: Mapping[int, StoredColumn], job: Job) -> None:
    """Add up column chunks; the leaves of a nested column count towards it."""
    keys = {name: key for key, name in segment.names.items() if key in columns}
    metadata = footer.metadata
    places = [_top(metadata.schema.column(place).path, keys) for place in range(metadata.num_columns)]
    for number in range(metadata.num_row_groups):
        job.check()
        group = metadata.row_group(number)
        for place, key in enumerate(places):
            if key is not None:
                columns[key].add(group.column(place))


def _top(path: str, keys: Mapping[str, int]) -> int | None:
    """The column that a leaf belongs to; names may contain dots."""
    if path in keys:
        return keys[path]
    name = max((name for name in keys if path.startswith(f"{name}.")), key=len, default=None)
    return None if name is None else keys[name]


def _extents(group: pq.RowGroupMetaData, segment: FileSegment, columns: Sequence[Column]) -> Iterator[str]:
    for column in columns:
        name = segment.names.get(column.key)
        place = next((i for i in range(group.num_columns) if group.column(i).path_in_schema == name), None)
        statistics = None if place is None else group.column(place).statistics
        if statistics is None or not statistics.has_min_max:
            yield f"{column.name}: extent unknown"
        else:
            yield f"{column.name}: {statistics.min} to {statistics.max}"


def _metadata(footer: Footer) -> dict[str, str]:
    """The file's metadata, without Arrow's schema, which says no more than the columns."""
    noted = footer.metadata.metadata or {}
    return {
        key.decode(errors="replace"): value.decode(errors="replace")
        for key, value in noted.items()
        if key != b"ARROW:schema"
    }
