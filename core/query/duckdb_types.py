"""What DuckDB makes of Arrow's types, in Parquet files and from memory: the one place that knows where it
would harm a value."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from pyarrow import types as is_

from core.filters.ordered_decimals import ordered

Test = Callable[[pa.DataType], bool]
Made = Callable[[pa.Array], pa.Array]

_HANDED: tuple[tuple[Test, Made], ...] = (
    (is_.is_float16, lambda values: values.cast(pa.float32())),
    (is_.is_duration, lambda values: values.cast(pa.int64())),
    (is_.is_decimal256, ordered),
)
"""What it does not take from Arrow as it reads it from Parquet, or not at all, and what it is handed."""

_NAMES: tuple[tuple[Test, str], ...] = (
    (is_.is_boolean, "BOOLEAN"),
    (is_.is_int8, "TINYINT"),
    (is_.is_int16, "SMALLINT"),
    (is_.is_int32, "INTEGER"),
    (is_.is_int64, "BIGINT"),
    (is_.is_uint8, "UTINYINT"),
    (is_.is_uint16, "USMALLINT"),
    (is_.is_uint32, "UINTEGER"),
    (is_.is_uint64, "UBIGINT"),
    (is_.is_float16, "FLOAT"),
    (is_.is_float32, "FLOAT"),
    (is_.is_float64, "DOUBLE"),
    (is_.is_string, "VARCHAR"),
    (is_.is_large_string, "VARCHAR"),
    (is_.is_string_view, "VARCHAR"),
    (is_.is_binary, "BLOB"),
    (is_.is_large_binary, "BLOB"),
    (is_.is_binary_view, "BLOB"),
    (is_.is_fixed_size_binary, "BLOB"),
    (is_.is_date, "DATE"),
    (is_.is_duration, "BIGINT"),
)


def holds(kind: pa.DataType, test: Test) -> bool:
    """Whether the type, or one inside it at any depth, is such a one."""
    return test(kind) or any(holds(part, test) for part in _parts(kind))


def handed(column: pa.ChunkedArray, huge_as_text: bool = False) -> pa.ChunkedArray:
    """The values as DuckDB can take them without harm: durations as counts of their unit, decimals of more
    than 38 digits as bytes that order as they do, or as text."""
    made = dict(_HANDED)
    if huge_as_text:
        made[is_.is_decimal256] = lambda values: values.cast(pa.string())
    if not any(holds(column.type, test) for test in made):
        return column
    chunks = column.chunks or [pa.nulls(0, column.type)]
    return pa.chunked_array([_handed(chunk, made) for chunk in chunks])


def made_otherwise(kind: pa.DataType) -> bool:
    """Whether a Parquet file may call values of this type an interval or a variant."""
    if is_.is_struct(kind):
        return [field.name for field in kind][:2] == ["metadata", "value"]
    return bool(is_.is_fixed_size_binary(kind) and kind.byte_width == 12)


def comes_back(kind: pa.DataType) -> bool:
    """Whether values come back from DuckDB unharmed, after a cast at the most."""
    return bool(
        is_.is_integer(kind)
        or is_.is_floating(kind)
        or is_.is_boolean(kind)
        or is_.is_string(kind)
        or is_.is_large_string(kind)
        or is_.is_date32(kind)
        or (is_.is_timestamp(kind) and kind.tz is None)
    )


def same_in_memory(kind: pa.DataType) -> bool:
    """Whether DuckDB makes the same of values in memory as of those in Parquet: of times in seconds and
    milliseconds it makes another type, and what it does not take is handed to it otherwise."""
    return bool(
        is_.is_integer(kind)
        or is_.is_float32(kind)
        or is_.is_float64(kind)
        or is_.is_boolean(kind)
        or is_.is_string(kind)
        or is_.is_large_string(kind)
        or is_.is_date32(kind)
        or is_.is_decimal128(kind)
        or (is_.is_timestamp(kind) and kind.tz is None and kind.unit in ("us", "ns"))
    )


def sql_type(kind: pa.DataType) -> str | None:
    """What DuckDB reads a column of this type as from Parquet, None for what only it could tell."""
    if is_.is_dictionary(kind):
        return sql_type(kind.value_type)
    if is_.is_decimal128(kind):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    if is_.is_timestamp(kind):
        return ("TIMESTAMP" if kind.tz is None else "TIMESTAMPTZ") + ("_NS" if kind.unit == "ns" else "")
    if is_.is_time(kind):
        return "TIME_NS" if kind.unit == "ns" else "TIME"
    if is_.is_nested(kind):
        return _nested_sql_type(kind)
    return next((name for test, name in _NAMES if test(kind)), None)


def _nested_sql_type(kind: pa.DataType) -> str | None:
    parts = [sql_type(part) for part in _parts(kind)]
    if not parts or None in parts:
        return None
    if is_.is_struct(kind):
        names = ('"' + field.name.replace('"', '""') + '"' for field in kind)
        return "STRUCT(" + ", ".join(f"{name} {part}" for name, part in zip(names, parts, strict=True)) + ")"
    return f"MAP({parts[0]}, {parts[1]})" if is_.is_map(kind) else f"{parts[0]}[]"


def _parts(kind: pa.DataType) -> list[pa.DataType]:
    if is_.is_map(kind):
        return [kind.key_type, kind.item_type]
    if is_.is_struct(kind):
        return [field.type for field in kind]
    return [kind.value_type] if is_.is_nested(kind) or is_.is_dictionary(kind) else []


def _handed(values: pa.Array, made: dict[Test, Made]) -> pa.Array:
    kind = values.type
    if not any(holds(kind, test) for test in made):
        return values
    if is_.is_dictionary(kind):
        return _handed(values.cast(kind.value_type), made)
    if not is_.is_nested(kind):
        return next(make for test, make in made.items() if test(kind))(values)
    if is_.is_struct(kind):
        parts = [_handed(values.field(i), made) for i in range(kind.num_fields)]
        names = [field.name for field in kind]
        return pa.StructArray.from_arrays(parts, names, mask=values.is_null())
    if is_.is_map(kind):
        keys, items = _handed(values.keys, made), _handed(values.items, made)
        return _around(values, pa.map_(keys.type, items.type), _pairs(keys, items))
    held = _handed(values.values, made)
    return _around(values, _list_of(kind, held.type), held)


def _around(values: pa.Array, kind: pa.DataType, held: pa.Array) -> pa.Array:
    """Lists with the same rows as `values`, of other things."""
    buffers = values.buffers()[: values.type.num_buffers]
    return pa.Array.from_buffers(kind, len(values), buffers, offset=values.offset, children=[held])


def _pairs(keys: pa.Array, items: pa.Array) -> pa.Array:
    fields = [pa.field("key", keys.type, nullable=False), pa.field("value", items.type)]
    return pa.StructArray.from_arrays([keys, items], fields=fields)


def _list_of(kind: pa.DataType, held: pa.DataType) -> pa.DataType:
    if is_.is_fixed_size_list(kind):
        return pa.list_(held, kind.list_size)
    variants: tuple[tuple[Test, Callable[[pa.DataType], pa.DataType]], ...] = (
        (is_.is_large_list, pa.large_list),
        (is_.is_list_view, pa.list_view),
        (is_.is_large_list_view, pa.large_list_view),
    )
    return next((make(held) for test, make in variants if test(kind)), pa.list_(held))
