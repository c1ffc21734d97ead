"""The storage of a snapshot's rows: files, row groups and columns as footers describe them, and which row
groups a filter skips."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lamella.core.errors import LamellaError
from lamella.core.filters.binding import bind
from lamella.core.filters.cell_texts import whole_texts
from lamella.core.filters.expr import Filter, columns_read
from lamella.core.filters.kinds import value_type
from lamella.core.jobs import Job
from lamella.core.query.engine import cursor
from lamella.core.query.pruning import may_meet
from lamella.core.remote.duckdb_files import duckdb_name
from lamella.core.scan.parquet_file import BODY, Footer, statistics_of, unchanged_footer, writer_of
from lamella.core.scan.read import pieces
from lamella.core.scan.snapshot import Column, FileSegment, Snapshot

MOST_CHUNKS = 200_000
"""The maximum number of column chunks that are examined, starting with the first files."""
_LEVELS = frozenset({"RLE", "BIT_PACKED"})
"""Encodings that every column with nulls uses besides its own."""
UNKNOWN_CODEC = "unknown"
LONGEST = 60
"""The maximum length of an extreme's text."""


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
    is None if some chunk does not state its count. Statistics of a nested column's leaves say neither."""

    name: str
    type: pa.DataType
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

    def add(
        self,
        chunk: pq.ColumnChunkMetaData,
        leaf: pq.ColumnSchema,
        file_type: pa.DataType,
        has_codec: bool,
    ) -> None:
        """Add a chunk of a file where the column has the type `file_type`. `has_codec` is False if its codec
        must not be asked for."""
        self.chunks += 1
        self.bytes += chunk.total_compressed_size
        self.raw_bytes += chunk.total_uncompressed_size
        own = [encoding for encoding in chunk.encodings if encoding not in _LEVELS]
        self.encodings["dictionary" if chunk.has_dictionary_page else (own or ["RLE"])[0].lower()] += 1
        self.codecs[chunk.compression.lower() if has_codec else UNKNOWN_CODEC] += 1
        if pa.types.is_nested(self.type):
            self.nulls, self.has_extremes = None, False
            return
        statistics = statistics_of(chunk, leaf)
        nulls = statistics.null_count if statistics is not None and statistics.has_null_count else None
        self.nulls = None if self.nulls is None or nulls is None else self.nulls + nulls
        if nulls == chunk.num_values:
            return
        extremes = _extremes(statistics, file_type, self.type)
        if extremes is None:
            self.has_extremes = False
            return
        self.low = extremes[0] if self.low is None else min(self.low, extremes[0])
        self.high = extremes[1] if self.high is None else max(self.high, extremes[1])

    @property
    def extent(self) -> str:
        """The extremes as text, "" if they are not known."""
        return " to ".join(self.bounds)

    @property
    def bounds(self) -> list[str]:
        """The texts of the lowest and the highest value; empty if they are not known."""
        is_known = self.chunks and self.has_extremes and self.low is not None
        return _bounds(self.low, self.high, self.type) if is_known else []


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
    num_deleted: int
    files: tuple[StoredFile, ...]
    groups: tuple[StoredGroup, ...]
    columns: tuple[StoredColumn, ...]
    metadata: Mapping[str, str]
    is_partial: bool = False

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)

    @property
    def num_skipped(self) -> int:
        """The number of row groups that the filter skips."""
        return sum(not group.is_read for group in self.groups)


def read_storage(snapshot: Snapshot, where: Filter | None, job: Job) -> Storage:
    """Read the storage from the footers. Blocks. Raises `FileProblem` for a file that changed."""
    segments = snapshot.files
    in_files = sum(segment.num_rows for segment in segments)
    columns = {c.key: StoredColumn(c.name, c.type, note=c.note) for c in snapshot.columns}
    chunks, is_partial = 0, False
    files = []
    for segment in segments:
        job.check()
        footer = unchanged_footer(segment)
        files.append(_file(segment, footer))
        chunks += footer.metadata.num_columns * footer.metadata.num_row_groups
        is_partial = is_partial or chunks > MOST_CHUNKS
        if not is_partial:
            _add_chunks(segment, footer, columns, job)
    metadata = _metadata(unchanged_footer(segments[0])) if segments else {}
    return Storage(
        snapshot.num_rows, snapshot.num_positions - in_files, len(snapshot.deleted_positions), tuple(files),
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
        footer = unchanged_footer(piece.segment)
        for number in piece.row_groups:
            group = footer.metadata.row_group(number)
            extents = tuple(_extents(group, piece.segment, columns))
            is_read = needed is None or needed(piece)
            yield StoredGroup(
                piece.segment.path.name, number, group.num_rows, group.total_byte_size, is_read, extents
            )


def _file(segment: FileSegment, footer: Footer) -> StoredFile:
    metadata = footer.metadata
    return StoredFile(
        segment.path, segment.num_rows, footer.fingerprint[0], metadata.num_row_groups, writer_of(metadata)
    )


def _add_chunks(segment: FileSegment, footer: Footer, columns: Mapping[int, StoredColumn], job: Job) -> None:
    """Add up column chunks; the leaves of a nested column count towards it."""
    keys = {name: key for key, name in segment.names.items() if key in columns}
    metadata = footer.metadata
    places = [_top(metadata.schema.column(place).path, keys) for place in range(metadata.num_columns)]
    types = {key: footer.stored_schema.field(name).type for name, key in keys.items()}
    has_codecs = bool(segment.checksum) or _has_valid_codecs(segment.path, job)
    for number in range(metadata.num_row_groups):
        job.check()
        group = metadata.row_group(number)
        for place, key in enumerate(places):
            if key is not None:
                columns[key].add(group.column(place), metadata.schema.column(place), types[key], has_codecs)


def _has_valid_codecs(path: Path, job: Job) -> bool:
    """Whether DuckDB reads the footer, and so knows all of its codecs. Asking pyarrow 26 for one that it does
    not know ends the process. The files of a store, which have checksums, need not be asked: thousands take
    seconds."""
    try:
        with cursor(job, str(path)) as connection:
            connection.execute("SELECT 1 FROM parquet_file_metadata($1)", [duckdb_name(path)]).fetchall()
    except LamellaError:
        return False
    return True


def _top(path: str, keys: Mapping[str, int]) -> int | None:
    """The column that a leaf belongs to; names may contain dots."""
    if path in keys:
        return keys[path]
    name = max((name for name in keys if path.startswith(f"{name}.")), key=len, default=None)
    return None if name is None else keys[name]


def _extents(group: pq.RowGroupMetaData, segment: FileSegment, columns: Sequence[Column]) -> Iterator[str]:
    footer = unchanged_footer(segment)
    schema = footer.schema
    for column in columns:
        name = segment.names.get(column.key)
        places = range(0 if name in footer.renderings else group.num_columns)
        place = next((i for i in places if group.column(i).path_in_schema == name), None)
        extremes = None
        if place is not None:
            statistics = statistics_of(group.column(place), footer.metadata.schema.column(place))
            extremes = _extremes(statistics, schema.field(name).type, column.type)
        extent = "extent unknown" if extremes is None else " to ".join(_bounds(*extremes, column.type))
        yield f"{column.name}: {extent}"


def _extremes(
    statistics: pq.Statistics | None, file_type: pa.DataType, type_: pa.DataType
) -> tuple[Any, Any] | None:
    """The extremes as values of `type_`; None if they are not known."""
    if statistics is None or not statistics.has_min_max:
        return None
    try:
        low, high = statistics.min, statistics.max
    except (ValueError, OverflowError):  # damaged, or beyond the years of Python
        return None
    is_raw = pa.types.is_duration(type_) or pa.types.is_float16(type_)  # plain counts and bytes in Parquet
    if file_type == type_ and not is_raw:
        return low, high
    if file_type != type_ and pa.types.is_duration(file_type):
        return None  # a count of another unit
    try:
        return tuple(pa.scalar(value, value_type(type_)).as_py() for value in (low, high))
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None


def _bounds(low: Any, high: Any, type_: pa.DataType) -> list[str]:
    texts = (" ".join(str(text).split()) for text in whole_texts(pa.array([low, high], value_type(type_))))
    return [text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…" for text in texts]


def _metadata(footer: Footer) -> dict[str, str]:
    """The file's metadata, without Arrow's schema, which says no more than the columns, and without what
    Lamella writes for itself."""
    noted = footer.metadata.metadata or {}
    return {
        key.decode(errors="replace"): value.decode(errors="replace")
        for key, value in noted.items()
        if key not in (b"ARROW:schema", BODY)
    }
