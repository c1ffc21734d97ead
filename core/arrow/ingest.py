"""Rows on their way in, a batch at a time: integers packed as they come, and text that must be UTF-8."""

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
    """Some rows whose columns and types are known. `table` does what is left of converting them, in the
    thread that asks for it. `checked`: its names are distinct, and its layouts can be kept. `integers`: the
    row, where it is a single one of nothing else. `left_out` tells for some columns which rows lack them."""

    schema: pa.Schema
    num_rows: int
    table: Callable[[], pa.Table]
    checked: bool = False
    integers: IntegerRow | None = None
    left_out: Mapping[str, np.ndarray] | None = None


class RepeatableBlocks(Iterator[RowBatch]):
    """Blocks as they come, and all of them again."""

    def __init__(self, blocks: Iterator[RowBatch]) -> None:
        self._coming = blocks
        self._batches: list[RowBatch] = []

    def __next__(self) -> RowBatch:
        self._batches.append(next(self._coming))
        return self._batches[-1]

    def again(self) -> Iterator[RowBatch]:
        """From the first one on."""
        yield from tuple(self._batches)
        yield from self

    def all(self) -> list[RowBatch]:
        self._batches.extend(self._coming)
        return self._batches


def as_block(table: pa.Table) -> RowBatch:
    return RowBatch(table.schema, table.num_rows, lambda: table)


def without_columns(rows: int) -> pa.Table:
    """So many rows of nothing: Arrow counts them, but most of what it makes tables from does not."""
    return pa.Table.from_arrays([pa.nulls(rows)], names=[""]).select([])


def in_blocks(table: pa.Table) -> Iterator[RowBatch]:
    """A table in parts that are no larger than a row group; an empty one is one part. Arrow gives as many
    rows of nothing as it is asked for."""
    for start in range(0, max(1, table.num_rows), ROWS_A_BLOCK):
        yield as_block(table.slice(start, min(ROWS_A_BLOCK, table.num_rows - start)))


CELLS_A_BLOCK = 500_000
FEW_ROWS = 16


_INT64 = pa.int64()


@dataclass(frozen=True, eq=False)
class _Shape:
    """What rows of the same keys have in common."""

    pack: Callable[..., bytes]
    values: Callable[[Mapping[str, Any]], tuple[Any, ...]]
    schema: pa.Schema


@dataclass(frozen=True, eq=False)
class IntegerRow:
    """One row; `packed` are its values in the order of the keys, eight bytes each."""

    keys: tuple[str, ...]
    packed: bytes

    @property
    def schema(self) -> pa.Schema:
        return _shape(self.keys).schema

    @property
    def message(self) -> bytes:
        """As an Arrow IPC record batch message without its schema, of as many arrays as there are keys."""
        return _head(len(self.keys), 1) + self.packed

    def without(self, key: str) -> tuple[int, IntegerRow]:
        """The key's value, and the row of the others."""
        place, others = _apart(self.keys, key)
        start, stop = 8 * place, 8 * (place + 1)
        value = int.from_bytes(self.packed[start:stop], "little", signed=True)
        return value, IntegerRow(others, self.packed[:start] + self.packed[stop:])


class IntegerRows:
    """Rows with the keys of the first one, each value an int64, until they are a block's worth."""

    def __init__(self, sample: Mapping[str, Any]) -> None:
        self._keys = tuple(sample)
        self._shape = _shape(self._keys)
        self._most = max(1_000, min(ROWS_A_BLOCK, CELLS_A_BLOCK // len(self._keys)))
        self._columns = np.empty((len(self._keys), 0), np.int64)
        self.rows = 0

    def add(self, rows: Sequence[Mapping[str, Any]]) -> bool:
        """Take the rows; False, and nothing taken, where one has other keys or a value is no int64.

        Kinds of dict that make up what they lack would answer for keys they do not have.
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
        # A thousand rows turn into columns while they are in the cache: six times faster than all at once
        self._columns[:, self.rows : self.rows + len(rows)] = by_row.T
        self.rows += len(rows)
        return True

    @property
    def is_full(self) -> bool:
        return self.rows >= self._most

    def row_batch(self) -> RowBatch:
        """The rows taken so far, which are given away with it."""
        schema = self._shape.schema
        columns, self._columns = self._columns, np.empty((len(self._keys), 0), np.int64)
        rows, self.rows = self.rows, 0
        one = IntegerRow(self._keys, columns.tobytes()) if rows == columns.shape[1] == 1 else None
        return RowBatch(schema, rows, lambda: _table(columns, rows, schema), checked=True, integers=one)

    def _make_room(self, count: int) -> None:
        """As large as the first rows need, then at once as large as it gets: few rows touch little memory."""
        room = self._columns.shape[1]
        if self.rows + count > room:
            size = max(self._most, self.rows + count) if room else count
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
    """The rows of messages that are what `IntegerRow.message` gives; None where one is not."""
    if not all(kind == _INT64 for kind in schema.types):
        return None
    head, values = _head(len(schema), 1), 8 * len(schema)
    if not all(len(one) == len(head) + values and one.startswith(head) for one in packed):
        return None
    by_row = np.frombuffer(b"".join(one[len(head) :] for one in packed), "<i8")
    columns = np.ascontiguousarray(by_row.reshape(len(packed), len(schema)).T)
    return _table(columns, len(packed), schema)


def _table(columns: np.ndarray, rows: int, schema: pa.Schema) -> pa.Table:
    """Few rows are read as a message of Arrow's, all columns at once: each array made costs more."""
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
    """What comes before the values in a message of so many columns of integers: they follow each other."""
    column = from_numpy(np.zeros(rows, np.int64))
    batch = pa.RecordBatch.from_arrays([column] * count, names=[str(place) for place in range(count)])
    message: bytes = batch.serialize().to_pybytes()
    return message[: len(message) - count * column.nbytes]


def fits(sample: Mapping[str, Any]) -> bool:
    """Whether packing is worth trying: two integers at least, and nothing else, under names that are text."""
    return len(sample) > 1 and set(map(type, sample.values())) == {int} and set(map(type, sample)) == {str}


def of_valid_text(block: RowBatch) -> RowBatch:
    """The block; raises `BadData` for a column with text that is no UTF-8, or damaged otherwise."""
    for field, values in zip(block.schema, block.table().columns, strict=True):
        if _holds_text(field.type):
            try:
                values.validate(full=True)
            except pa.ArrowInvalid as error:
                raise BadData(
                    f"column '{field.name}' holds text that is not UTF-8, or is damaged",
                    str(error),
                    "Give it as binary, or decode it with the encoding it is in",
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
