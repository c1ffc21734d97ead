"""Python rows to Arrow, a thousand at a time; rows of integers are gathered in blocks.

A bool among integers is kept as 0 or 1, as SQLite does. Nothing is converted unchecked: a value that
does not fit its column's type is refused with the row and the column named.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from core.arrays import from_numpy, plain
from core.errors import BadData
from core.integer_rows import IntegerBlock, fits
from core.schema import common_type

ROWS_A_CHUNK = 1000
Row = Mapping[str, Any]
_PLAIN = {
    int: pa.int64(),
    float: pa.float64(),
    bool: pa.bool_(),
    str: pa.string(),
    dt.date: pa.date32(),
    dt.datetime: pa.timestamp("us"),
}


def tables(data: Any) -> Iterator[pa.Table]:
    """`data` as Arrow tables in order: rows, a dict of columns, a DataFrame, or anything of Arrow.

    The caller's data is never modified. Raises `BadData` for what is none of these.
    """
    if isinstance(data, pa.Table):
        yield data
    elif isinstance(data, pa.RecordBatch):
        yield pa.Table.from_batches([data])
    elif isinstance(data, Mapping):
        yield from_columns(data)
    elif hasattr(data, "__arrow_c_stream__"):
        yield from _stream(pa.RecordBatchReader.from_stream(data))
    elif isinstance(data, Iterable) and not isinstance(data, (str, bytes)):
        yield from _row_tables(data)
    else:
        raise BadData(
            f"a {type(data).__name__} cannot become rows",
            fix="Give a list of dicts, a dict of columns, a DataFrame or an Arrow table",
        )


def from_columns(columns: Mapping[str, Sequence[Any]]) -> pa.Table:
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"'{name}' has {n}" for name, n in lengths.items())
        raise BadData("the columns differ in length", told, "Give every column one value for each row")
    arrays = {str(name): _array(str(name), values, 0) for name, values in columns.items()}
    return pa.Table.from_arrays(list(arrays.values()), names=list(arrays))


def _stream(reader: pa.RecordBatchReader) -> Iterator[pa.Table]:
    empty = True
    for batch in reader:
        empty = False
        yield pa.Table.from_batches([batch])
    if empty:
        yield pa.Table.from_batches([], reader.schema)


def _row_tables(rows: Iterable[Row]) -> Iterator[pa.Table]:
    source, done = iter(rows), 0
    block: IntegerBlock | None = None
    while chunk := list(itertools.islice(source, ROWS_A_CHUNK)):
        _refuse_other_than_rows(chunk, done)
        if block is None or not block.add(chunk):
            if block is not None:
                yield block.table()
            block = IntegerBlock(chunk[0]) if fits(chunk[0]) else None
            if block is None or not block.add(chunk):
                block = None
                yield _chunk_table(chunk, done)
        done += len(chunk)
    if block is not None:
        yield block.table()


def _refuse_other_than_rows(chunk: list[Any], first: int) -> None:
    if not all(isinstance(row, (dict, Mapping)) for row in chunk):
        number, row = next((i, row) for i, row in enumerate(chunk) if not isinstance(row, Mapping))
        raise BadData(f"row {first + number} is a {type(row).__name__}", fix="Each row has to be a dict")


def _chunk_table(rows: list[Row], first: int) -> pa.Table:
    names = list(dict.fromkeys(itertools.chain.from_iterable(rows)))
    arrays = [_array(name, [row.get(name) for row in rows], first) for name in names]
    return pa.Table.from_arrays(arrays, names=names)


def _array(name: str, values: Sequence[Any], first: int) -> pa.Array:
    if isinstance(values, np.ndarray) and values.dtype in (np.int64, np.float64, np.int32, np.bool_):
        return from_numpy(values.copy())
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    try:
        return pa.array(values) if isinstance(values, np.ndarray) else _typed(_even(list(values)))
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError) as error:
        raise BadData(
            f"column '{name}' holds values that have no type in common (rows {first} on)",
            str(error),
            "Give one type, or text for all",
        ) from error


def _typed(values: list[Any]) -> pa.Array:
    """Values of one plain type the short way; `pa.array` looks at the others."""
    kinds = {type(v) for v in values if v is not None}
    kind = _PLAIN.get(next(iter(kinds))) if len(kinds) == 1 else None
    short = None if kind is None else plain(values, kind)
    return pa.array(values) if short is None else short


def _even(values: list[Any]) -> list[Any]:
    """Bools among ints as ints; ints among floats as floats where that is exact."""
    kinds = {type(v) for v in values if v is not None}
    if kinds == {bool, int}:
        return [None if v is None else int(v) for v in values]
    if kinds == {int, float} and all(v is None or float(v) == v for v in values):
        return [None if v is None else float(v) for v in values]
    return values


def aligned(data: Any) -> tuple[pa.Schema, Iterator[pa.Table]]:
    """`data` as tables of one schema: columns in order of first appearance, of the narrowest common type.

    Arrow readers are streamed; Python rows are gathered first, since the last may widen a column.
    """
    if isinstance(data, pa.RecordBatchReader):
        return data.schema, (pa.Table.from_batches([batch], data.schema) for batch in data)
    found = list(tables(data))
    schema = unified(table.schema for table in found)
    return schema, (fitted(table, schema) for table in found)


def unified(schemas: Iterable[pa.Schema]) -> pa.Schema:
    types: dict[str, pa.DataType] = {}
    for field in itertools.chain.from_iterable(schemas):
        have = types.get(field.name, pa.null())
        wider = common_type(have, field.type) or _number(have, field.type)
        if wider is None:
            raise BadData(
                f"column '{field.name}' is {have} in some rows and {field.type} in others",
                fix="Give one type, or cast the column first",
            )
        types[field.name] = wider
    return pa.schema(list(types.items()))


def fitted(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """`table` with the columns of `schema`, in its order and types; null where it lacks one.

    Raises `BadData` where a value would not survive.
    """
    if table.schema.equals(schema):
        return table
    columns = [_fitted_column(table, field) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def _fitted_column(table: pa.Table, field: pa.Field) -> pa.ChunkedArray:
    if field.name not in table.column_names:
        return pa.chunked_array([pa.nulls(table.num_rows, field.type)])
    column = table.column(field.name)
    try:
        return column if column.type.equals(field.type) else column.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise BadData(
            f"column '{field.name}' holds {column.type} values that do not fit {field.type}",
            str(error),
            "Cast the column, or give values that fit",
        ) from error


def _number(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """Integers met floats: double, if the cast then finds every value exact."""
    numeric = all(pa.types.is_integer(t) or pa.types.is_floating(t) for t in (a, b))
    return pa.float64() if numeric else None
