"""Python rows to Arrow, a thousand at a time; rows of integers are gathered in blocks.

Keys that only some rows have become columns that are null in the others; a row without any is a row too.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from lamella.core.arguments import text_of
from lamella.core.block import Block, as_block, in_blocks, without_columns
from lamella.core.casts import exact_cast, inexact
from lamella.core.documents import columns_of_alike, folded
from lamella.core.errors import BadData
from lamella.core.integer_rows import IntegerRows, fits
from lamella.core.layouts import in_plain_layout, plain_layout
from lamella.core.pandas_index import without_unnamed_index
from lamella.core.valid_text import of_valid_text
from lamella.core.value_rows import array_of
from lamella.core.widening import wider_type

ROWS_A_CHUNK = 1000
Row = Mapping[str, Any]


def blocks(data: Any) -> Iterator[Block]:
    """`data` in blocks, in order: rows, a dict of columns, a DataFrame, or anything of Arrow.

    The caller's data is never modified. Raises `BadData` for what is none of these.
    """
    for block in _blocks(data):
        yield block if block.checked else _checked(without_unnamed_index(block))


def _checked(block: Block) -> Block:
    _refuse_duplicates(block.schema)
    return _laid_out(block)


def _laid_out(block: Block) -> Block:
    """In layouts that can be kept; dictionaries may hold a null, which Parquet does not take."""
    if all(map(_is_kept_as_it_is, block.schema.types)):
        return block
    table = block.table()
    columns = [_in_plain_layout(*each) for each in zip(table.column_names, table.columns, strict=True)]
    fields = [field.with_type(values.type) for field, values in zip(table.schema, columns, strict=True)]
    return as_block(pa.Table.from_arrays(columns, schema=pa.schema(fields, table.schema.metadata)))


@lru_cache(4096)
def _is_kept_as_it_is(kind: pa.DataType) -> bool:
    return bool(kind == plain_layout(kind) and not pa.types.is_dictionary(kind))


def _in_plain_layout(name: str, values: pa.ChunkedArray) -> pa.ChunkedArray:
    try:
        return in_plain_layout(values)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise BadData(
            f"column '{name}' is {values.type}, which cannot be kept as {plain_layout(values.type)}",
            str(error),
            "Cast it first: text holds anything",
        ) from error


def aligned(data: Any) -> pa.Table:
    """All of `data` as one table: columns in order of first appearance, of the narrowest common type."""
    return together(list(blocks(data)))


def together(found: Sequence[Block]) -> pa.Table:
    if len(found) == 1:
        return found[0].table()
    schema = unified(block.schema for block in found)
    if not schema.names:
        return without_columns(sum(block.num_rows for block in found))
    tables = [fitted(block.table(), schema) for block in found if block.num_rows]
    return pa.concat_tables(tables) if tables else pa.Table.from_batches([], schema)


def _blocks(data: Any) -> Iterator[Block]:
    if isinstance(data, pa.Table):
        yield from map(of_valid_text, in_blocks(data))
    elif isinstance(data, pa.RecordBatch):
        yield from map(of_valid_text, in_blocks(pa.Table.from_batches([data])))
    elif isinstance(data, Mapping):
        yield from in_blocks(from_columns(data))
    elif isinstance(data, pa.RecordBatchReader):
        yield from _stream(data)
    elif hasattr(data, "__arrow_c_stream__"):
        yield from _stream(_reader(data))
    elif isinstance(data, Iterable) and not isinstance(data, (str, bytes)):
        yield from _row_blocks(data)
    else:
        raise BadData(
            f"{_a(data)} cannot become rows",
            fix="Give a list of dicts, a dict of columns, a DataFrame or an Arrow table",
        )


def from_columns(columns: Mapping[str, Sequence[Any]]) -> pa.Table:
    for name, values in columns.items():
        _refuse_other_than_columns(text_of(str(name), "the column name"), values)
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"'{name}' has {n}" for name, n in lengths.items())
        raise BadData("the columns differ in length", told, "Give every column one value for each row")
    arrays = [array_of(str(name), values, 0) for name, values in columns.items()]
    return pa.Table.from_arrays(arrays, names=[str(name) for name in columns])


def _refuse_other_than_columns(name: str, values: Any) -> None:
    if isinstance(values, (str, bytes, Mapping)) or not hasattr(values, "__len__"):
        raise BadData(
            f"column '{name}' is {values!r}, not a list of values",
            "A dict of columns has a list for each of them",
            f"For one row give a list of one dict: [{{'{name}': …}}]",
        )
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise BadData(
            f"column '{name}' is an array of {values.ndim} dimensions",
            "A column has one value for each row",
            "Give each of its columns a name, or lists for rows",
        )


def _a(value: Any) -> str:
    """What it is, with its article."""
    kind = type(value).__name__
    return f"{'an' if kind[0] in 'aeiouAEIO' else 'a'} {kind}"


def _reader(data: Any) -> pa.RecordBatchReader:
    try:
        return pa.RecordBatchReader.from_stream(data)
    except (ValueError, TypeError, pa.ArrowException) as error:
        raise BadData(
            f"{_a(data)} cannot become rows",
            str(error),
            "Give columns that each have a name of their own and values of one type",
        ) from error


def _stream(reader: pa.RecordBatchReader) -> Iterator[Block]:
    yield as_block(pa.Table.from_batches([], reader.schema))
    for batch in reader:
        yield from map(of_valid_text, in_blocks(pa.Table.from_batches([batch])))


def _row_blocks(rows: Iterable[Row]) -> Iterator[Block]:
    source, done = iter(rows), 0
    integers: IntegerRows | None = None
    while chunk := list(itertools.islice(source, ROWS_A_CHUNK)):
        _refuse_other_than_rows(chunk, done)
        if integers is None or not integers.add(chunk):
            if integers is not None and integers.rows:
                yield integers.block()
            integers = IntegerRows(chunk[0]) if fits(chunk[0]) else None
            if integers is None or not integers.add(chunk):
                integers = None
                yield as_block(_chunk_table(chunk, done))
        if integers is not None and integers.is_full:
            yield integers.block()
        done += len(chunk)
    if integers is not None and integers.rows:
        yield integers.block()


def _refuse_other_than_rows(chunk: list[Any], first: int) -> None:
    if set(map(type, chunk)) != {dict} and not all(isinstance(row, Mapping) for row in chunk):
        number, row = next((i, row) for i, row in enumerate(chunk) if not isinstance(row, Mapping))
        raise BadData(f"row {first + number} is {_a(row)}", fix="Each row has to be a dict")


def _chunk_table(rows: list[Row], first: int) -> pa.Table:
    columns = columns_of_alike(rows) or _columns(rows)
    if not columns:
        return without_columns(len(rows))
    for name in columns:
        text_of(str(name), "the column name")
    arrays = [array_of(name, values, first) for name, values in columns.items()]
    return pa.Table.from_arrays(arrays, names=[str(name) for name in columns])


def _columns(rows: list[Row]) -> dict[str, Sequence[Any]]:
    names = dict.fromkeys(itertools.chain.from_iterable(rows))
    return {name: [row.get(name) for row in rows] for name in names}


def _refuse_duplicates(schema: pa.Schema) -> None:
    names = schema.names
    if len(set(names)) < len(names):
        name, times = Counter(names).most_common(1)[0]
        raise BadData(
            f"there are {times} columns named '{name}'",
            "A column is found by its name",
            "Give each a name of its own",
        )


def unified(schemas: Iterable[pa.Schema]) -> pa.Schema:
    types: dict[str, pa.DataType] = {}
    for field in itertools.chain.from_iterable(schemas):
        have = types.get(field.name, pa.null())
        wider = wider_type(have, field.type)
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
    column = folded(table.column(field.name), field.type)
    fit = exact_cast(column, field.type)
    if fit is None:
        raise inexact(field.name, column.type, field.type)
    return fit
