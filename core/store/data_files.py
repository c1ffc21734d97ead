"""Data files: their encodings and statistics, and writing them on a thread of their own."""

from __future__ import annotations

import json
import logging
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import types as is_

from lamella.core.arrow.arrays import to_numpy
from lamella.core.arrow.types import ID
from lamella.core.errors import BadData, StoreProblem
from lamella.core.scan.checksums import RunningChecksum
from lamella.core.scan.parquet_file import BODY
from lamella.core.scan.snapshot import Column
from lamella.core.store.evolution import to_columns
from lamella.core.store.folder import Staging, disk_problems, sync

SAMPLE_ROWS = 20_000
REPEATING_TEXTS = 0.2
REPEATING_FLOATS = 0.5
ZSTD = "zstd"
ZSTD_LEVEL = 3
"""As fast as the lowest level on this data, and a twelfth smaller for text; the next levels take three times
as long."""


@dataclass(frozen=True)
class Encoding:
    """How a leaf is stored. `name` is Parquet's encoding, None for a dictionary."""

    name: str | None
    codec: str


DICTIONARY = Encoding(None, ZSTD)
NUMBERS = Encoding(None, "lz4")
DELTA = Encoding("DELTA_BINARY_PACKED", "none")
SPLIT = Encoding("BYTE_STREAM_SPLIT", "lz4")
LENGTHS = Encoding("DELTA_LENGTH_BYTE_ARRAY", ZSTD)
PLAIN = Encoding("PLAIN", ZSTD)
BITS = Encoding("RLE", "none")


def leaves_of(rows: pa.Table) -> dict[str, list[pa.ChunkedArray]]:
    """A sample of the values of each leaf, by its path in the file. A column "a.b" and a field b in a struct
    "a" share a path."""
    head = rows.slice(0, SAMPLE_ROWS)
    leaves: dict[str, list[pa.ChunkedArray]] = {}
    for field, column in zip(head.schema, head.columns, strict=True):
        paths = _leaf_paths(field) if _has_leaves(field.type) else [field.name]
        for path, values in zip(paths, _leaves(column), strict=True):
            leaves.setdefault(path, []).append(values)
    return leaves


def choose_common(samples: Sequence[pa.ChunkedArray]) -> Encoding:
    """The encoding for all leaves of one path, since writers are configured by path: if they differ, a
    dictionary, which takes any values."""
    choices = {choose(sample) for sample in samples}
    return choices.pop() if len(choices) == 1 else DICTIONARY


def choose(sample: pa.ChunkedArray) -> Encoding:
    """The encoding for a leaf of which `sample` is typical."""
    kind = sample.type
    if is_.is_boolean(kind):
        return BITS
    if is_.is_integer(kind) or (is_.is_temporal(kind) and kind.byte_width in (4, 8)):
        return DELTA
    if is_.is_float32(kind) or is_.is_float64(kind):
        return NUMBERS if _repeats(sample, REPEATING_FLOATS) else SPLIT
    if is_.is_string(kind) or is_.is_large_string(kind) or is_.is_binary(kind) or is_.is_large_binary(kind):
        return DICTIONARY if _repeats(sample, REPEATING_TEXTS) else LENGTHS
    return DICTIONARY


def _leaves(values: pa.ChunkedArray) -> Iterator[pa.ChunkedArray]:
    """Yield the values of each leaf, in Parquet's order."""
    kind = values.type
    if isinstance(kind, pa.BaseExtensionType):
        yield from _leaves(pa.chunked_array([chunk.storage for chunk in values.chunks], kind.storage_type))
    elif is_.is_struct(kind):
        for place in range(kind.num_fields):
            yield from _leaves(pc.struct_field(values, [place]))
    elif is_.is_map(kind):
        for part, of in ((0, kind.key_type), (1, kind.item_type)):
            parts = [chunk.keys if part == 0 else chunk.items for chunk in values.chunks]
            yield from _leaves(pa.chunked_array(parts, of))
    elif is_.is_nested(kind):
        yield from _leaves(pc.list_flatten(values))
    else:
        yield values


def _has_leaves(kind: pa.DataType) -> bool:
    storage = kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind
    return bool(is_.is_nested(storage))


def _leaf_paths(field: pa.Field) -> list[str]:
    """The paths that Parquet gives the leaves of a nested column, read from an empty file."""
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, pa.schema([field])):
        pass
    schema = pq.ParquetFile(pa.BufferReader(sink.getvalue())).schema
    return [schema.column(i).path for i in range(len(schema))]


def _repeats(sample: pa.ChunkedArray, share: float) -> bool:
    return len(sample) > 0 and pc.count_distinct(sample).as_py() <= share * len(sample)


SYNC_BYTES = 8 << 20
MOST_CHUNKS = 16

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class WrittenFile:
    """A staged data file. Its `_id`s are ascending."""

    path: Path
    rows: int
    first_id: int
    last_id: int
    size: int
    names: str
    checksum: str


class DataFile:
    """A data file being written, row group by row group. The `required_columns` must not contain nulls.

    `sample` is the beginning of the first row group. Raises `StoreProblem` when the disk is full, or the
    rows cannot be stored as Parquet.
    """

    def __init__(
        self, path: Path, columns: Sequence[Column], required: Collection[Column], sample: pa.Table
    ) -> None:
        self.columns, self.required_columns = tuple(columns), frozenset(required)
        self.rows, self.last_id = 0, -1
        self._path, self._first_id, self._synced_bytes = path, id_at(sample, 0), 0
        self._schema = _stored_schema(self.columns, self.required_columns)
        with _problems(path):
            self._writer = pq.ParquetWriter(path, self._schema, **_options(sample))
            self._checksum = RunningChecksum(path)

    def takes(self, group: pa.Table) -> bool:
        """Whether the group has no nulls in required columns."""
        return not any(
            may_hold_null(group.column(i)) for i, c in enumerate(self.columns) if c in self.required_columns
        )

    def add(self, group: pa.Table) -> None:
        """Write the rows as one row group; sync now and then, so that little is left to sync in the end."""
        whole = group if group.column(0).num_chunks <= MOST_CHUNKS else group.combine_chunks()
        with _problems(self._path):
            self._writer.write_table(whole.cast(self._schema), row_group_size=group.num_rows)
            size = self._checksum.extend()
            if size - self._synced_bytes >= SYNC_BYTES:
                sync(self._path)
                self._synced_bytes = size
        self.rows += group.num_rows
        self.last_id = id_at(group, group.num_rows - 1)

    def close(self) -> WrittenFile:
        with _problems(self._path), closing(self._checksum):
            self._writer.add_key_value_metadata({BODY: self._checksum.extend_to_text()})
            self._writer.close()
            size = self._checksum.extend()
        names = json.dumps({c.key: c.name for c in self.columns})
        checksum = self._checksum.text
        return WrittenFile(self._path, self.rows, self._first_id, self.last_id, size, names, checksum)

    def abandon(self) -> None:
        """Close a file that will not be used."""
        self._checksum.close()
        try:
            self._writer.close()
        except OSError as error:
            log.debug("%s: left unfinished: %s", self._path, error)


@contextmanager
def _problems(path: Path) -> Iterator[None]:
    """Turn errors into `StoreProblem`s, telling those of the disk from those of Parquet."""
    with disk_problems(path.parent):
        try:
            yield
        except (OSError, pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
            if getattr(error, "errno", None) is not None:
                raise
            raise StoreProblem(
                f"{path}: rows could not be written as Parquet", str(error),
                "Nothing changed; cast the column, or leave those rows out",
            ) from error  # fmt: skip


def id_at(table: pa.Table, row: int) -> int:
    return int(to_numpy(table.column(ID).slice(row, 1))[0])


def may_hold_null(values: pa.ChunkedArray) -> bool:
    """Whether the values may contain nulls; some types can have nulls that their own count misses."""
    hidden = pa.types.is_dictionary(values.type) or pa.types.is_run_end_encoded(values.type)
    return bool(hidden or values.null_count > 0)


def _stored_schema(columns: Sequence[Column], required: Collection[Column]) -> pa.Schema:
    """The schema of a file, with permanent column ids as Parquet field ids. Required columns are read a fifth
    faster."""
    return pa.schema(
        [
            pa.field(c.name, c.type, nullable=c not in required, metadata={"PARQUET:field_id": str(c.key)})
            for c in columns
        ]
    )


def _options(sample: pa.Table) -> dict[str, object]:
    leaves = leaves_of(sample)
    encodings = {path: choose_common(samples) for path, samples in leaves.items()}
    return {
        "write_page_checksum": True,
        "use_dictionary": [leaf for leaf, e in encodings.items() if e.name is None],
        "column_encoding": {leaf: e.name for leaf, e in encodings.items() if e.name is not None},
        "compression": {leaf: e.codec for leaf, e in encodings.items()},
        "compression_level": {leaf: ZSTD_LEVEL for leaf, e in encodings.items() if e.codec == ZSTD},
        # Parquet's statistics ignore NaN, so readers that prune by them lose rows: floats get none.
        "write_statistics": [
            leaf
            for leaf, samples in leaves.items()
            if not any(pa.types.is_floating(values.type) for values in samples)
        ],
    }


ROWS_A_GROUP = 100_000
CELLS_A_GROUP = 2_000_000
ROWS_A_FILE = 1_000_000
CELLS_AHEAD = 4_000_000
TRIES_WITHOUT_NULLS = 3

Columns = tuple[Column, ...]


@dataclass(frozen=True)
class FileShape:
    """The sizes of row groups and files. Columns whose keys are in `nullable` are written as nullable from
    the start; others may turn out to be."""

    rows_a_group: int
    rows_a_file: int
    nullable: frozenset[int] = frozenset()


def write_files(
    tables: Iterable[pa.Table],
    columns: Sequence[Column],
    staging: Staging,
    end_at_gaps: bool = False,
    suffix: str = ".parquet",
    shape: FileShape | None = None,
) -> list[WrittenFile]:
    """Write rows in `_id` order as data files; `columns` names the tables' columns and gives their ids.

    `end_at_gaps`: begin a new file at a gap in the ids, where others may have been given the ids in between.
    Raises `StoreProblem` when the disk is full; nothing is published then.
    """
    with Encoder(FileSeries(staging, end_at_gaps, suffix, shape)) as encoder:
        for table in tables:
            encoder.add(tuple(columns), table.num_rows, partial(_identity, table))
        return encoder.finish()


def _identity(table: pa.Table) -> pa.Table:
    return table


def rows_a_group(columns: int) -> int:
    """The number of rows in a row group, fewer for wide rows: a row group is decoded as a whole even for one
    row, and held in memory."""
    return max(1_000, min(ROWS_A_GROUP, CELLS_A_GROUP // max(1, columns)))


class Encoder:
    """Passes rows to a thread that encodes them. Use it as a context manager; call `finish` once all are
    added."""

    def __init__(self, files: FileSeries) -> None:
        self._files = files
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="encode")
        self._running: deque[tuple[Future[None], int]] = deque()

    def __enter__(self) -> Encoder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.shutdown(wait=True, cancel_futures=True)
        self._files.abandon()

    def add(self, columns: Columns, rows: int, make: Callable[[], pa.Table]) -> None:
        """Encode the rows that `make` returns, whose columns match `columns`; the thread calls it.

        Waits while too many rows are queued. Raises errors of rows that were added before.
        """
        while sum(cells for _, cells in self._running) > CELLS_AHEAD:
            self._running.popleft()[0].result()
        self._running.append((self._thread.submit(self._take, columns, make), rows * len(columns)))

    def finish(self) -> list[WrittenFile]:
        while self._running:
            self._running.popleft()[0].result()
        return self._files.finish()

    def _take(self, columns: Columns, make: Callable[[], pa.Table]) -> None:
        self._files.add(columns, make())


class FileSeries:
    """Writes one data file after another. A file ends when it is full, at a gap between ids, where columns
    change, and at the first null of a column that had none."""

    def __init__(
        self,
        staging: Staging,
        end_at_gaps: bool = False,
        suffix: str = ".parquet",
        shape: FileShape | None = None,
    ) -> None:
        self._staging, self._end_at_gaps, self._suffix = staging, end_at_gaps, suffix
        self._shape = shape
        self._buffer: list[pa.Table] = []
        self._columns: Columns = ()
        self._file: DataFile | None = None
        self._written_files: list[WrittenFile] = []
        self._surprises = 0

    def add(self, columns: Columns, rows: pa.Table) -> None:
        if not rows.num_rows:
            return
        if columns != self._columns:
            self._change_columns(columns)
        if self._buffer and not self._follows(rows, self._buffer[-1]):
            self._write_buffer()
        self._buffer.append(rows)
        size = self._shape.rows_a_group if self._shape else rows_a_group(len(columns))
        while sum(map(len, self._buffer)) >= size:
            whole = pa.concat_tables(self._buffer)
            self._write(whole.slice(0, size))
            self._buffer = [remainder] if len(remainder := whole.slice(size)) else []

    def finish(self) -> list[WrittenFile]:
        """Finish the last file; return all files."""
        self._write_buffer()
        self._end_file()
        return self._written_files

    def abandon(self) -> None:
        if self._file is not None:
            self._file.abandon()

    def _change_columns(self, columns: Columns) -> None:
        """Change the columns. Buffered rows are converted to them where possible, so that rare columns do not
        cause many files."""
        try:
            self._buffer = [to_columns(rows, columns) for rows in self._buffer]
        except BadData:
            self._write_buffer()
        self._columns = columns

    def _write_buffer(self) -> None:
        if self._buffer:
            whole, self._buffer = pa.concat_tables(self._buffer), []
            self._write(whole)

    def _write(self, group: pa.Table) -> None:
        if self._file is not None and not self._goes_on(self._file, group):
            self._end_file()
        if self._file is None:
            path = self._staging.new_file(self._suffix)
            self._file = DataFile(path, self._columns, self._without_nulls(group), group)
        self._file.add(group)

    def _goes_on(self, file: DataFile, group: pa.Table) -> bool:
        most = self._shape.rows_a_file if self._shape else ROWS_A_FILE
        if file.columns != self._columns or file.rows + group.num_rows > most:
            return False
        if self._end_at_gaps and id_at(group, 0) != file.last_id + 1:
            return False
        surprised = not file.takes(group)
        self._surprises += surprised
        return not surprised

    def _without_nulls(self, group: pa.Table) -> list[Column]:
        """The columns to write as required; none any more once nulls have turned up late too often."""
        nullable = self._shape.nullable if self._shape else frozenset()
        if self._surprises >= TRIES_WITHOUT_NULLS:
            nullable = frozenset(c.key for c in self._columns if c.name != ID)
        columns = zip(self._columns, group.columns, strict=True)
        return [c for c, values in columns if c.key not in nullable and not may_hold_null(values)]

    def _end_file(self) -> None:
        if self._file is not None:
            file, self._file = self._file, None
            self._written_files.append(file.close())

    def _follows(self, rows: pa.Table, before: pa.Table) -> bool:
        return not self._end_at_gaps or id_at(rows, 0) == id_at(before, before.num_rows - 1) + 1
