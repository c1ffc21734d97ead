"""Rows of plain Python values and back: numbers, texts, bytes, decimals, lists and dicts as they are; dates
and times as counts in their column's unit, which lose nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyarrow import types as is_

from lamella.core.bench.mine.copied import Copied

Row = tuple[Any, ...]


def rows_of(copied: Copied, rows: int) -> Iterator[Row]:
    """Streamed."""
    for batch in copied.batches(rows):
        yield from zip(*map(_plain, batch.columns), strict=True)


def table_of(rows: Iterable[Sequence[Any]], schema: pa.Schema) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [_arrow(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def _plain(array: pa.Array) -> list[Any]:
    if is_.is_temporal(array.type):
        array = array.cast(_count_type(array.type))
    values: list[Any] = array.to_pylist()
    return values


def _arrow(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    if is_.is_temporal(kind):
        return pa.array(values, _count_type(kind)).cast(kind)
    if is_.is_boolean(kind):
        return pa.array([None if value is None else bool(value) for value in values], kind)
    return pa.array(values, kind)


def _count_type(kind: pa.DataType) -> pa.DataType:
    return pa.int32() if kind.bit_width == 32 else pa.int64()
