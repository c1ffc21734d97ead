"""Answers of statements as Arrow tables, in the types that their columns had."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyarrow import types as is_

from lamella.core.query.duckdb_types import holds
from lamella.core.query.returned import returned


def in_types(answer: pa.Table, kinds: Sequence[pa.DataType | None]) -> pa.Table:
    """Columns in the types given, where one is given."""
    columns = [_in_type(column, kind) for column, kind in zip(answer.columns, kinds, strict=True)]
    fields = [field.with_type(c.type) for field, c in zip(answer.schema, columns, strict=True)]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def _in_type(column: pa.ChunkedArray, kind: pa.DataType | None) -> pa.ChunkedArray:
    if kind is None or kind == column.type or not _is_alike(column.type, kind):
        return column
    if holds(kind, pa.types.is_decimal256):  # text here, where the rows of other queries are bytes
        return column.cast(kind)
    held = pa.Table.from_arrays([column], names=["x"])
    return returned(held, pa.schema([pa.field("x", kind)])).column(0)


def _is_alike(answer: pa.DataType, kind: pa.DataType) -> bool:
    """Whether one is of the other's fields, which a variant is not: DuckDB puts it together from them."""
    if is_.is_struct(kind):
        same = is_.is_struct(answer) and [f.name for f in answer] == [f.name for f in kind]
        return same and all(_is_alike(a.type, b.type) for a, b in zip(answer, kind, strict=True))
    if is_.is_map(kind):
        return _is_alike(answer.key_type, kind.key_type) and _is_alike(answer.item_type, kind.item_type)
    if is_.is_nested(kind):
        return is_.is_nested(answer) and _is_alike(answer.value_type, kind.value_type)
    return True
