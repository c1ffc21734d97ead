"""Batches of incoming rows: integers are packed as they arrive, and text is checked to be UTF-8."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import from_numpy
from lamella.core.errors import BadData
from lamella.core.validation import text_of

ROWS_A_BLOCK = 100_000


@dataclass(frozen=True, eq=False)
class RowBatch:
    """Some rows whose columns and types are known. `table` finishes their conversion, in the calling thread.
    `checked`: the names are distinct, and the layouts can be stored. `integers`: the row, if it is a single
    one of integers only. `missing_marks` marks, for some columns, the rows that lack them."""

    schema: pa.Schema
    num_rows: int
    table: Callable[[], pa.Table]
    checked: bool = False
    integers: IntegerRow | None = None
    missing_marks: Mapping[str, np.ndarray] | None = None


class RepeatableBlocks(Iterator[RowBatch]):
    """An iterator of blocks that can start over."""

    def __init__(self, blocks: Iterator[RowBatch]) -> None:
        self._coming = blocks
        self._batches: list[RowBatch] = []

    def __next__(self) -> RowBatch:
        self._batches.append(next(self._coming))
        return self._batches[-1]

    def again(self) -> Iterator[RowBatch]:
        """Iterate from the first block on."""
        yield from tuple(self._batches)
        yield from self

    def all(self) -> list[RowBatch]:
        self._batches.extend(self._coming)
        return self._batches


def as_block(table: pa.Table) -> RowBatch:
    return RowBatch(table.schema, table.num_rows, lambda: table)


def without_columns(rows: int) -> pa.Table:
    """A table of rows without columns, which Arrow counts in this form, but not in most others."""
    return pa.Table.from_arrays([pa.nulls(rows)], names=[""]).select([])


def in_blocks(table: pa.Table) -> Iterator[RowBatch]:
    """Split a table into parts no larger than a row group; an empty table is one part. The limit is explicit
    because slices of rows without columns may be longer than the table."""
    for start in range(0, max(1, table.num_rows), ROWS_A_BLOCK):
        yield as_block(table.slice(start, min(ROWS_A_BLOCK, table.num_rows - start)))


CELLS_A_BLOCK = 500_000
FEW_ROWS = 16


_INT64 = pa.int64()


@dataclass(frozen=True, eq=False)
class _Shape:
    """What rows with the same keys share."""

    pack: Callable[..., bytes]
    values: Callable[[Mapping[str, Any]], tuple[Any, ...]]
    schema: pa.Schema


@dataclass(frozen=True, eq=False)
class IntegerRow:
    """One row of integers; `value_bytes` has its values in the order of the keys, eight bytes each."""

    keys: tuple[str, ...]
    value_bytes: bytes

    @property
    def schema(self) -> pa.Schema:
        return _shape(self.keys).schema

    @property
    def message(self) -> bytes:
        """The row as an Arrow IPC record batch message without its schema, with one array per key."""
        return _head(len(self.keys), 1) + self.value_bytes

    def without(self, key: str) -> tuple[int, IntegerRow]:
        """Split into the value of a key, and the row of the other keys."""
        place, remaining_keys = _apart(self.keys, key)
        start, stop = 8 * place, 8 * (place + 1)
        value = int.from_bytes(self.value_bytes[start:stop], "little", signed=True)
        return value, IntegerRow(remaining_keys, self.value_bytes[:start] + self.value_bytes[stop:])


class IntegerRows:
    """Collects rows with the keys of the first one, all values int64, up to the size of a block."""

    def __init__(self, sample: Mapping[str, Any]) -> None:
        self._keys = tuple(sample)
        self._shape = _shape(self._keys)
        self._batch_rows = max(1_000, min(ROWS_A_BLOCK, CELLS_A_BLOCK // len(self._keys)))
        self._columns = np.empty((len(self._keys), 0), np.int64)
        self.rows = 0

    def add(self, rows: Sequence[Mapping[str, Any]]) -> bool:
        """Add the rows; return False, and add nothing, if one has other keys or a value is not an int64.

        Subclasses of dict are refused, because some invent values for keys that they lack.
        """
        if set(map(type, rows)) != {dict} or set(map(len, rows)) != {len(self._keys)}:
            return False
        pack, values = self._shape.pack, self._shape.values
        try:
            packed = b"".join([pack(*values(row)) for row in rows])
        except (KeyError, struct.error):
            return False
        self._make_room(len(rows))
        by_row = np.frombuffer(packed, "<i8").reshape(len(rows), len(self._keys))
        # Transposing a thousand rows while they are in the cache is six times faster than all at once
        self._columns[:, self.rows : self.rows + len(rows)] = by_row.T
        self.rows += len(rows)
        return True

    @property
    def is_full(self) -> bool:
        return self.rows >= self._batch_rows

    def row_batch(self) -> RowBatch:
        """Return the rows collected so far, and start over."""
        schema = self._shape.schema
        columns, self._columns = self._columns, np.empty((len(self._keys), 0), np.int64)
        rows, self.rows = self.rows, 0
        integer_row = IntegerRow(self._keys, columns.tobytes()) if rows == columns.shape[1] == 1 else None
        return RowBatch(
            schema, rows, lambda: _table(columns, rows, schema), checked=True, integers=integer_row
        )

    def _make_room(self, count: int) -> None:
        """Allocate what the first rows need, then at once the full size, so that few rows use little
        memory."""
        room = self._columns.shape[1]
        if self.rows + count > room:
            size = max(self._batch_rows, self.rows + count) if room else count
            larger = np.empty((len(self._keys), size), np.int64)
            larger[:, : self.rows] = self._columns[:, : self.rows]
            self._columns = larger


@lru_cache(maxsize=64)
def _apart(keys: tuple[str, ...], key: str) -> tuple[int, tuple[str, ...]]:
    place = keys.index(key)
    return place, keys[:place] + keys[place + 1 :]


@lru_cache(maxsize=64)
def _shape(keys: tuple[str, ...]) -> _Shape:
    for key in keys:
        text_of(key, "the column name")
    schema = pa.schema([(key, pa.int64()) for key in keys])
    return _Shape(struct.Struct(f"<{len(keys)}q").pack, itemgetter(*keys), schema)


def integers_end_to_end(packed: Sequence[bytes], schema: pa.Schema) -> pa.Table | None:
    """Concatenate rows from messages made by `IntegerRow.message`; None if one is something else."""
    if not all(kind == _INT64 for kind in schema.types):
        return None
    head, values = _head(len(schema), 1), 8 * len(schema)
    if not all(
        len(packed_row) == len(head) + values and packed_row.startswith(head) for packed_row in packed
    ):
        return None
    by_row = np.frombuffer(b"".join(packed_row[len(head) :] for packed_row in packed), "<i8")
    columns = np.ascontiguousarray(by_row.reshape(len(packed), len(schema)).T)
    return _table(columns, len(packed), schema)


def _table(columns: np.ndarray, rows: int, schema: pa.Schema) -> pa.Table:
    """Make a table; a few rows are read from an Arrow message, all columns at once, because each array costs
    more."""
    count, room = columns.shape
    if rows == room <= FEW_ROWS:
        message = pa.py_buffer(_head(count, rows) + columns.tobytes())
        batch = pa.ipc.read_record_batch(message, schema)
    else:
        values = from_numpy(columns.reshape(-1))
        arrays = [values.slice(i * room, rows) for i in range(count)]
        batch = pa.RecordBatch.from_arrays(arrays, schema=schema)
    return pa.Table.from_batches([batch])


@lru_cache(maxsize=64)
def _head(count: int, rows: int) -> bytes:
    """The bytes before the values in a message of `count` integer columns, whose values follow each other."""
    column = from_numpy(np.zeros(rows, np.int64))
    batch = pa.RecordBatch.from_arrays([column] * count, names=[str(place) for place in range(count)])
    message: bytes = batch.serialize().to_pybytes()
    return message[: len(message) - count * column.nbytes]


def fits(sample: Mapping[str, Any]) -> bool:
    """Whether packing is worth trying: at least two values, all integers, with text as keys."""
    return len(sample) > 1 and set(map(type, sample.values())) == {int} and set(map(type, sample)) == {str}


def of_valid_text(block: RowBatch) -> RowBatch:
    """Check a block; raise `BadData` for a column with text that is not UTF-8, or damaged otherwise."""
    for field, values in zip(block.schema, block.table().columns, strict=True):
        if _holds_text(field.type):
            try:
                values.validate(full=True)
            except pa.ArrowInvalid as error:
                raise BadData(
                    f"column '{field.name}' holds text that is not UTF-8, or is damaged",
                    str(error),
                    "Give it as binary, or decode it with its actual encoding",
                ) from error
    return block


@lru_cache(4096)
def _holds_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _holds_text(kind.value_type)
    inside = (kind.field(place).type for place in range(kind.num_fields))
    return _is_text(kind) or any(map(_holds_text, inside))


def _is_text(kind: pa.DataType) -> bool:
    return kind in (pa.string(), pa.large_string(), pa.string_view())
