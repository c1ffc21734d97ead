"""The sorted index of a column: distinct values in ascending order, and the rows of each."""

from __future__ import annotations

import json
import uuid
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from lamella.core.arrow.arrays import combine_chunks, from_numpy, to_numpy
from lamella.core.arrow.sorted_ids import comparable, stable_order
from lamella.core.arrow.types import type_to_bytes
from lamella.core.errors import BadData, FileProblem
from lamella.core.filters.kinds import COMPARABLE, COUNTED_KINDS, Kind, kind_of, value_type
from lamella.core.filters.to_arrow import sort_keys
from lamella.core.index.definition import DRAFT, Index, IndexFolder, Options, counted_rows
from lamella.core.jobs import Job
from lamella.core.scan.chunks import run_chunks
from lamella.core.scan.parquet_file import unchanged_footer
from lamella.core.scan.snapshot import Column, FileSegment, Snapshot

SHORT_DIGITS = 18
_COUNTS = {1: np.uint8, 4: np.int32, 8: np.int64}


def can_be_ordered(kind: pa.DataType) -> bool:
    return kind_of(kind) in COMPARABLE


def is_bytes(kind: pa.DataType) -> bool:
    """Whether values of this type are sorted as bytes."""
    plain = value_type(kind)
    return kind_of(plain) in (Kind.TEXT, Kind.BINARY, Kind.UUID) or is_long_decimal(plain)


def is_long_decimal(kind: pa.DataType) -> bool:
    return bool(types.is_decimal(kind) and kind.precision > SHORT_DIGITS)


def as_bytes(values: pa.Array) -> pa.Array:
    """A column for which `is_bytes` is true, as large binary."""
    plain = _storage(values)
    if types.is_decimal(plain.type):
        plain = sort_keys(plain.cast(pa.decimal256(plain.type.precision, plain.type.scale)))
    if kind_of(plain.type) is Kind.TEXT:
        plain = plain.cast(pa.large_string())
    return plain.cast(pa.large_binary())


def as_numbers(values: pa.Array) -> np.ndarray:
    """Any other sortable column as numbers; undefined for nulls."""
    plain = _storage(values)
    kind = kind_of(plain.type)
    if kind is Kind.FLOAT:
        wide = plain.cast(pa.float32()) if types.is_float16(plain.type) else plain
        with np.errstate(invalid="ignore"):  # a NaN that signals
            numbers: np.ndarray = to_numpy(wide) + wide.type.to_pandas_dtype()(0)  # -0.0 becomes 0.0
        return numbers
    if kind is Kind.BOOLEAN:
        return to_numpy(plain).astype(np.uint8)
    if kind is Kind.DECIMAL:
        wide = plain.cast(pa.decimal128(plain.type.precision, plain.type.scale))
        halves = np.frombuffer(wide.buffers()[1], np.int64, 2 * (wide.offset + len(wide)))
        return halves[2 * wide.offset :: 2]
    if kind in COUNTED_KINDS:
        return to_numpy(plain.view(pa.int32() if plain.type.bit_width == 32 else pa.int64()))
    return to_numpy(plain)


def ranks(values: pa.Array, descending: bool = False) -> np.ndarray:
    """A number for each value that sorts like the values, or in reverse if `descending`; nulls come last."""
    if len(values) == 0:
        return np.empty(0, np.int64)
    if is_bytes(values.type):
        ranks = ranked_bytes(as_bytes(values))[0]
    else:
        numbers = as_numbers(values)
        ranks = np.unique(numbers, return_inverse=True)[1].astype(np.int64)
    ranks = -ranks if descending else ranks
    if values.null_count:
        ranks[to_numpy(values.is_null())] = len(values)
    return ranks


def ranked_bytes(values: pa.Array) -> tuple[np.ndarray, pa.Array]:
    """The rank of each value among the distinct ones, and these in ascending order; undefined for nulls."""
    encoded = values.dictionary_encode()
    order = to_numpy(pc.array_sort_indices(encoded.dictionary)).astype(np.int64)
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    codes = to_numpy(encoded.indices).astype(np.int64)
    if values.null_count:
        codes[to_numpy(values.is_null())] = 0
    distinct = encoded.dictionary.take(from_numpy(order))
    return (places[codes] if len(order) else np.zeros(len(values), np.int64)), distinct


def differ(ordered: np.ndarray) -> np.ndarray:
    """Whether each value differs from the previous one; NaN equals NaN."""
    changes: np.ndarray = ordered[1:] != ordered[:-1]
    if ordered.dtype.kind == "f":
        changes &= ~(np.isnan(ordered[1:]) & np.isnan(ordered[:-1]))
    return changes


def _storage(values: pa.Array) -> pa.Array:
    if kind_of(values.type) is Kind.UUID:
        return values.storage
    return values.cast(values.type.value_type) if types.is_dictionary(values.type) else values


Span = tuple[int, int]
"""A range of value numbers, from a first one up to, but not including, a stop."""

Value = int | float | bytes
Values: TypeAlias = np.ndarray | pa.Array
"""Distinct values: ascending numbers, or large binary in any order."""

MUCH_FEWER = 32
"""One value is searched for by bisection only among this many times as many; among fewer, all are
compared."""


@dataclass(frozen=True, eq=False)
class SortedIndex:
    """A sorted index. `values` are distinct and ascending: numbers with NaN last, or large binary; null is
    not among them.

    `rows` are row numbers of the file (uint32): those of the first value, ascending, then those of the next,
    and finally those of null. The rows of value number i begin at `starts[i]`, those of null at
    `starts[len(values)]`.
    """

    values: pa.Array
    starts: np.ndarray
    rows: np.ndarray

    @classmethod
    def of(cls, values: pa.Array) -> SortedIndex:
        """Build the index of a column's values, in the order of rows."""
        nulls = np.flatnonzero(to_numpy(values.is_null())) if values.null_count else np.empty(0, np.int64)
        present = np.flatnonzero(to_numpy(values.is_valid())) if values.null_count else None
        if is_bytes(values.type):
            numbers, distinct = ranked_bytes(as_bytes(values))
        else:
            numbers, distinct = as_numbers(values), None
        numbers = numbers if present is None else numbers[present]
        order = stable_order(comparable(numbers))
        ordered = numbers[order]
        firsts = np.flatnonzero(np.append(True, differ(ordered))) if len(ordered) else np.empty(0, np.int64)
        rows = order if present is None else present[order]
        return cls(
            from_numpy(ordered[firsts], pa.from_numpy_dtype(ordered.dtype)) if distinct is None else distinct,
            np.append(firsts, [len(ordered), len(values)]).astype(np.int32),
            np.concatenate([rows.astype(np.uint32), nulls.astype(np.uint32)]),
        )

    @classmethod
    def of_nulls(cls, rows: int, kind: pa.DataType) -> SortedIndex:
        """The index of a column with only nulls."""
        return cls(
            pa.nulls(0, pa.large_binary() if is_bytes(kind) else pa.int64()),
            np.array([0, rows], np.int32),
            np.arange(rows, dtype=np.uint32),
        )

    @property
    def num_values(self) -> int:
        return len(self.values)

    def first_not_below(self, value: Value) -> int:
        """The number of the first value that is not less than `value`."""
        if isinstance(value, bytes):
            return bisect_left(self._bytes, value)
        return self._place(value, "left")

    def first_above(self, value: Value) -> int:
        if isinstance(value, bytes):
            return bisect_right(self._bytes, value)
        return self._place(value, "right")

    def is_at(self, number: int, value: Value) -> bool:
        """Whether `value` has this number. NaN equals NaN."""
        if number == self.num_values:
            return False
        if isinstance(value, bytes):
            return self._bytes[number] == value
        stored_number, own = self._numbers[number], self._numbers.dtype.type(value)
        return bool(stored_number == own or (stored_number != stored_number and own != own))

    def numbers_of(self, values: Values) -> np.ndarray:
        """The numbers of those values that exist, ascending."""
        if not self.num_values or not len(values):
            return np.empty(0, np.int64)
        if isinstance(values, np.ndarray):
            own = values.astype(self._numbers.dtype)
            places = np.minimum(np.searchsorted(self._numbers, own), self.num_values - 1)
            stored_numbers = self._numbers[places]
            numbers: np.ndarray = places[
                (stored_numbers == own) | ((stored_numbers != stored_numbers) & (own != own))
            ]
            return numbers
        if len(values) * MUCH_FEWER > self.num_values:
            return np.flatnonzero(to_numpy(pc.is_in(self.values, value_set=values)))
        places = self._places(values)
        equal = to_numpy(pc.equal(self.values.take(from_numpy(places)), values))
        return np.sort(places[equal])

    def count(self, spans: Sequence[Span]) -> int:
        """The number of rows with the values of these spans; null has the number after the last value."""
        if len(spans) == 1:
            ((first, stop),) = spans
            return int(self.starts[stop]) - int(self.starts[first])
        firsts, stops = self._bounds(spans)
        return int((stops - firsts).sum())

    def having(self, spans: Sequence[Span]) -> np.ndarray:
        """The rows with the values of these spans; ascending for a single value."""
        if len(spans) == 1:
            ((first, stop),) = spans
            return np.asarray(self.rows[self.starts[first] : self.starts[stop]])
        firsts, stops = self._bounds(spans)
        counts = stops - firsts
        before = np.cumsum(counts) - counts
        places = np.repeat(firsts - before, counts) + np.arange(int(counts.sum()))
        return np.asarray(self.rows[places])

    def _bounds(self, spans: Sequence[Span]) -> tuple[np.ndarray, np.ndarray]:
        numbers = np.array(spans, np.int64).reshape(-1, 2)
        return self.starts[numbers[:, 0]].astype(np.int64), self.starts[numbers[:, 1]].astype(np.int64)

    def _places(self, values: pa.Array) -> np.ndarray:
        """For each value, the number of the first one that is not less, or of the last: a bisection of all at
        once."""
        low, high = np.zeros(len(values), np.int64), np.full(len(values), self.num_values - 1)
        for _ in range(self.num_values.bit_length()):
            middle = (low + high) >> 1
            less = to_numpy(pc.less(self.values.take(from_numpy(middle)), values)) & (low < high)
            low, high = np.where(less, middle + 1, low), np.where(less, high, middle)
        return low

    def _place(self, value: float, side: Literal["left", "right"]) -> int:
        """Bisect. The value is converted first, since another type would convert the whole index."""
        if self.num_values == 0:
            return 0
        return int(self._numbers.searchsorted(self._numbers.dtype.type(value), side))

    @cached_property
    def _numbers(self) -> np.ndarray:
        return to_numpy(self.values)

    @cached_property
    def _bytes(self) -> _Bytes:
        return _Bytes(self.values)


class _Bytes(Sequence[bytes]):
    """The values of a large binary array as Python bytes, without creating a scalar for each access."""

    def __init__(self, values: pa.Array) -> None:
        _, offsets, data = values.buffers()
        self._offsets = memoryview(offsets or b"").cast("B").cast("q")[values.offset :]
        self._data = memoryview(data or b"").cast("B")
        self._count = len(values)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: int) -> bytes:  # type: ignore[override]
        return bytes(self._data[self._offsets[number] : self._offsets[number + 1]])


FORMAT = 2
KEY = b"lamella.sorted"


def sorted_path(place: IndexFolder, segment: FileSegment, column: Column) -> Path:
    """The path of an index file. A widened column has a separate file for each type."""
    kind = zlib.crc32(type_to_bytes(column.type))
    return place.folder / f"{segment.path.stem}.sorted-{column.key}-{kind:08x}"


def build_sorted(segment: FileSegment, column: Column, job: Job) -> SortedIndex:
    """Build the index from the data file, without caching anything."""
    job.check()
    groups = range(unchanged_footer(segment).metadata.num_row_groups)
    return SortedIndex.of(combine_chunks(run_chunks(segment, groups, [column], None)[0][0]))


def write_file(path: Path, index: SortedIndex, segment: FileSegment, column: Column) -> None:
    """Write the file atomically. It is not synced: after a crash it may be damaged, and is then rebuilt."""
    draft = path.with_name(f"{path.name}.{uuid.uuid4().hex}{DRAFT}")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        batch = _batch(index, _description(index, segment, column))
        with pa.OSFile(str(draft), "wb") as file, pa.ipc.new_file(file, batch.schema) as writer:
            writer.write_batch(batch)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def read_file(path: Path, segment: FileSegment, column: Column, quick: bool = False) -> SortedIndex:
    """Read an index file. Raises `FileProblem` if it is damaged or belongs to something else; `quick` skips
    the checksum."""
    if path.is_symlink():
        raise FileProblem(path, "cannot be read as an index", "It is a symbolic link")
    try:
        with pa.memory_map(str(path)) as file, pa.ipc.open_file(file) as reader:
            metadata = json.loads((reader.schema.metadata or {}).get(KEY, b"{}"))
            index = _index(reader.get_batch(0))
        expected = _description(index, segment, column, metadata.get("checksum") if quick else None)
    except (OSError, pa.ArrowException, ValueError, LookupError, TypeError, AttributeError) as error:
        raise FileProblem(path, "cannot be read as an index", str(error)) from error
    if metadata != expected:
        raise FileProblem(path, "is not the index that was written: its checksum or its origin differs")
    return index


def _description(
    index: SortedIndex, segment: FileSegment, column: Column, checksum: str | None = None
) -> dict[str, object]:
    """The description stored in an index file."""
    return {
        "format": FORMAT,
        "file": segment.path.name,
        "rows": segment.num_rows,
        "column": column.key,
        "type": type_to_bytes(column.type).hex(),
        "checksum": checksum or _checksum(index),
    }


def _checksum(index: SortedIndex) -> str:
    _, *buffers = index.values.buffers()
    end = 8 * (index.num_values + 1) if len(buffers) > 1 else index.num_values * index.values.type.byte_width
    parts: list[object] = [memoryview(buffers[0] or b"")[:end]]
    if len(buffers) > 1 and index.num_values:
        last = int(np.frombuffer(buffers[0], np.int64, count=index.num_values + 1)[-1])
        parts.append(memoryview(buffers[1] or b"")[:last])
    checksum = 0
    for part in (*parts, index.starts, index.rows):
        checksum = zlib.crc32(part, checksum)  # type: ignore[arg-type]
    return f"crc32:{checksum:08x}"


def _batch(index: SortedIndex, metadata: dict[str, object]) -> pa.RecordBatch:
    kind = index.values.type
    values = pa.concat_arrays([index.values, pa.nulls(1, kind)])
    rows = pa.ListArray.from_arrays(from_numpy(index.starts), from_numpy(index.rows, pa.uint32()))
    fields = [pa.field("value", kind), pa.field("rows", rows.type, nullable=False)]
    return pa.RecordBatch.from_arrays(
        [values, rows], schema=pa.schema(fields, {KEY: json.dumps(metadata).encode()})
    )


def _index(batch: pa.RecordBatch) -> SortedIndex:
    values, rows = batch.columns
    starts = np.frombuffer(rows.buffers()[1], np.int32, count=len(rows) + 1)
    count = len(values) - 1
    plain = pa.Array.from_buffers(values.type, count, [None, *values.buffers()[1:]])
    return SortedIndex(plain, starts, to_numpy(rows.values))


class SortedKind:
    """The kind of sorted indexes: one file for each data file that has the column."""

    def check_options(self, table: str, columns: Sequence[Column], options: Options) -> Options:
        if len(columns) != 1:
            raise BadData(
                f"{table}: a sorted index covers one column, not {len(columns)}",
                fix="Create one for each: a query can use several",
            )
        if options:
            raise BadData(
                f"{table}: a sorted index takes no option '{next(iter(options))}'", fix="Leave it out"
            )
        if not can_be_ordered(columns[0].type):
            raise BadData(
                f"{table}: column '{columns[0].name}' cannot have a sorted index",
                f"it is {columns[0].type}, and conditions do not compare such values",
                "Index a column of numbers, text, bytes, dates, times or true and false",
            )
        return {}

    def make(self, place: IndexFolder, index: Index, snapshot: Snapshot, job: Job) -> None:
        counted = counted_rows(snapshot, job)
        counted.reach(0)
        for segment, column in _files(index, snapshot):
            path = sorted_path(place, segment, column)
            if not path.exists():
                write_file(path, build_sorted(segment, column, job), segment, column)
            counted.advance(segment.num_rows)
        counted.reach(counted.total)

    def path(self, place: IndexFolder, index: Index, segment: FileSegment, snapshot: Snapshot) -> Path | None:
        columns = (column for file, column in _files(index, snapshot) if file is segment)
        column = next(columns, None)
        return None if column is None else sorted_path(place, segment, column)

    def drop(self, place: IndexFolder, index: Index) -> None:
        for path in place.folder.glob(f"*.{index.stem}-*"):
            if index.owns(path.name):
                path.unlink(missing_ok=True)

    def problems(self, place: IndexFolder, index: Index, snapshot: Snapshot, quick: bool) -> Iterator[str]:
        for segment, column in _files(index, snapshot):
            path = sorted_path(place, segment, column)
            try:
                if path.exists():
                    read_file(path, segment, column, quick)
            except FileProblem as problem:
                yield f"index file {problem} It is rebuilt when it is next used."

    def needs(self, index: Index, name: str, data_files: Collection[str]) -> bool:
        stem, _, tail = name.partition(".")
        return index.owns(name) and "." not in tail and f"{stem}.parquet" in data_files


def _files(index: Index, snapshot: Snapshot) -> Iterator[tuple[FileSegment, Column]]:
    """The data files that have the column; none if the snapshot lacks the column."""
    for column in (c for c in snapshot.columns if c.key == index.keys[0] and not c.path):
        for segment in snapshot.segments:
            if isinstance(segment, FileSegment) and column.key in segment.names:
                yield segment, column


FEWEST = 2_000


class SortedChanges:
    """Indexes of pending cells, one per column. They are built when the same cells are requested a second
    time, since the next change to the column replaces them. Any thread; concurrent results are equal."""

    def __init__(self) -> None:
        self._last_values: dict[int, pa.Array] = {}
        self._made_indexes: dict[int, tuple[pa.Array, SortedIndex]] = {}

    def of(self, column: Column, values: pa.Array) -> SortedIndex | None:
        """The index of pending cells; None if checking each of them is cheaper."""
        values_made, sorted_values = self._made_indexes.get(column.key, (None, None))
        if values_made is values or len(values) < FEWEST:
            return sorted_values if values_made is values else None
        if self._last_values.get(column.key) is not values:
            self._last_values[column.key] = values
            return None
        sorted_values = SortedIndex.of(values)
        self._made_indexes[column.key] = (values, sorted_values)
        return sorted_values

    def let_go(self) -> None:
        self._last_values.clear()
        self._made_indexes.clear()
