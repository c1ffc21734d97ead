"""Conversion of Arrow's types to DuckDB's and back; the one module that knows which types DuckDB changes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import types as is_

from lamella.core.arrow.types import Test, holds, parts_of
from lamella.core.errors import LamellaError
from lamella.core.filters.to_arrow import decimals, sort_keys
from lamella.core.libraries import exp
from lamella.core.query import engine
from lamella.core.remote.duckdb_files import duckdb_name
from lamella.core.scan.parquet_file import Footer

Conversion = Callable[[pa.Array], pa.Array]

_INPUT_CONVERSIONS: tuple[tuple[Test, Conversion], ...] = (
    (is_.is_float16, lambda values: values.cast(pa.float32())),
    (is_.is_duration, lambda values: values.cast(pa.int64())),
    (is_.is_decimal256, sort_keys),
)
"""Types that DuckDB does not take from Arrow, or takes in another form than from Parquet, and their
replacements."""

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


def to_duckdb(column: pa.ChunkedArray, huge_as_text: bool = False) -> pa.ChunkedArray:
    """Convert values to a form that DuckDB does not change: durations become counts of their unit; decimals
    of more than 38 digits become bytes with the same order, or text."""
    handed = dict(_INPUT_CONVERSIONS)
    if huge_as_text:
        handed[is_.is_decimal256] = lambda values: values.cast(pa.string())
    if any(holds(column.type, test) for test in handed):
        chunks = column.chunks or [pa.nulls(0, column.type)]
        column = pa.chunked_array([_convert_input(chunk, handed) for chunk in chunks])
    if not holds(column.type, _is_struct_of_structs):
        return column
    return pa.chunked_array([_without_offsets(chunk) for chunk in column.chunks], column.type)


def _without_offsets(values: pa.Array) -> pa.Array:
    """The values, copied if they are a part of longer ones: DuckDB 2.0 refuses parts of structs that contain
    structs."""
    return pa.concat_arrays([values]) if _has_offset(values) else values


def _has_offset(values: pa.Array) -> bool:
    if values.offset:
        return True
    if is_.is_struct(values.type):
        return any(_has_offset(values.field(place)) for place in range(values.type.num_fields))
    if is_.is_map(values.type):
        return _has_offset(values.keys) or _has_offset(values.items)
    return is_.is_nested(values.type) and not is_.is_union(values.type) and _has_offset(values.values)


def _is_struct_of_structs(kind: pa.DataType) -> bool:
    return is_.is_struct(kind) and any(is_.is_struct(field.type) for field in kind)


def may_be_misread(kind: pa.DataType) -> bool:
    """Whether `misreads` must be checked for columns of this type."""
    return holds(kind, _is_misread_somewhere)


@lru_cache(4096)
def misreads(footer: Footer, name: str) -> bool:
    """Whether DuckDB 2.0 reads values from the column that differ from Arrow's, or fails. It truncates
    nanoseconds in INT96 and in times adjusted to UTC, reads unusual INT96 times as other times, and does not
    support BYTE_STREAM_SPLIT for fixed-length bytes."""
    int96 = footer.int96 if name in footer.int96_columns else None
    if int96 is not None and (not int96.whole or (not int96.by_spark and _makes_other_times(footer, name))):
        return True
    return any(_is_misread(footer, place) for place in footer.leaves_within(name))


def _makes_other_times(footer: Footer, name: str) -> bool:
    """Whether DuckDB reads some time of an INT96 column differently from Arrow.

    Only DuckDB treats the nanoseconds of a day as signed, and Arrow reads day 0 of the calendar, in 4714 BC,
    as 1970. The time that Arrow returns does not show how it was stored, so both read the column once.
    """
    place, width = footer.stored_names.index(name), len(footer.stored_names)
    names = ", ".join(f"f{number}" for number in range(width))
    files = exp.array(exp.Literal.string(duckdb_name(footer.path))).sql("duckdb")
    query = (
        f"SELECT 1 FROM read_parquet({files}, hive_partitioning = false) AS f({names})"
        f" POSITIONAL JOIN arrow AS a(value) WHERE f.f{place} IS DISTINCT FROM a.value LIMIT 1"
    )
    try:
        with footer.open() as file, engine.cursor(of=str(footer.path)) as own:
            batches = (batch.select([name]) for batch in file.iter_batches(columns=[name]))
            schema = pa.schema([footer.schema.field(name)])
            own.register("arrow", pa.RecordBatchReader.from_batches(schema, batches))
            return bool(own.execute(query).fetchall())
    except LamellaError:
        return True  # one of the two cannot read it, or DuckDB not as Arrow's type: use Arrow's values


def is_adjusted_time(footer: Footer, name: str) -> bool:
    """Whether the column or something inside it is a time of day adjusted to UTC, which DuckDB reads as a
    time with an offset."""
    leaves = (footer.metadata.schema.column(place) for place in footer.leaves_within(name))
    return any(_adjusted_unit(leaf) is not None for leaf in leaves)


def is_interval_or_variant(kind: pa.DataType) -> bool:
    """Whether a Parquet file may declare values of this type as an interval or a variant."""
    if is_.is_struct(kind):
        return [field.name for field in kind][:2] in (["metadata", "value"], ["metadata", "typed_value"])
    return bool(is_.is_fixed_size_binary(kind) and kind.byte_width == 12)


def survives_duckdb(kind: pa.DataType) -> bool:
    """Whether values come back from DuckDB unchanged, apart from a cast."""
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
    """Whether DuckDB treats values in memory like those in Parquet. Times in seconds and milliseconds become
    another type, and types that DuckDB does not take are replaced."""
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
    """The type as which DuckDB reads a column of this type from Parquet; None if only DuckDB knows it."""
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


def _is_misread_somewhere(kind: pa.DataType) -> bool:
    if is_.is_timestamp(kind):
        return kind.tz is None and kind.unit in ("us", "ns")
    return bool(
        is_.is_fixed_size_binary(kind)
        or is_.is_decimal(kind)
        or is_.is_float16(kind)
        or kind.equals(pa.time64("ns"))
        or isinstance(kind, pa.UuidType)
    )


def _is_misread(footer: Footer, place: int) -> bool:
    leaf = footer.metadata.schema.column(place)
    if leaf.physical_type == "FIXED_LEN_BYTE_ARRAY":
        groups = map(footer.metadata.row_group, range(footer.metadata.num_row_groups))
        return any("BYTE_STREAM_SPLIT" in group.column(place).encodings for group in groups)
    return _adjusted_unit(leaf) == "nanoseconds"


def _adjusted_unit(leaf: pq.ColumnSchema) -> str | None:
    """The unit of a time of day adjusted to UTC; None for other columns."""
    if leaf.logical_type.type != "TIME":
        return None
    annotation = json.loads(leaf.logical_type.to_json())
    return str(annotation["timeUnit"]) if annotation["isAdjustedToUTC"] else None


def _nested_sql_type(kind: pa.DataType) -> str | None:
    parts = [sql_type(part) for part in parts_of(kind)]
    if not parts or None in parts:
        return None
    if is_.is_struct(kind):
        names = ('"' + field.name.replace('"', '""') + '"' for field in kind)
        return "STRUCT(" + ", ".join(f"{name} {part}" for name, part in zip(names, parts, strict=True)) + ")"
    return f"MAP({parts[0]}, {parts[1]})" if is_.is_map(kind) else f"{parts[0]}[]"


def _convert_input(values: pa.Array, conversions: dict[Test, Conversion]) -> pa.Array:
    kind = values.type
    if not any(holds(kind, test) for test in conversions):
        return values
    if is_.is_dictionary(kind):
        return _convert_input(values.cast(kind.value_type), conversions)
    if not is_.is_nested(kind):
        return next(make for test, make in conversions.items() if test(kind))(values)
    if is_.is_struct(kind):
        parts = [_convert_input(values.field(i), conversions) for i in range(kind.num_fields)]
        names = [field.name for field in kind]
        return pa.StructArray.from_arrays(parts, names, mask=values.is_null())
    if is_.is_map(kind):
        keys, items = _convert_input(values.keys, conversions), _convert_input(values.items, conversions)
        return _around(values, pa.map_(keys.type, items.type), _pairs(keys, items))
    inner = _convert_input(values.values, conversions)
    return _around(values, _list_of(kind, inner.type), inner)


def _around(values: pa.Array, kind: pa.DataType, storage: pa.Array) -> pa.Array:
    """Lists with the same offsets and nulls as `values`, but other items."""
    buffers = values.buffers()[: values.type.num_buffers]
    return pa.Array.from_buffers(kind, len(values), buffers, offset=values.offset, children=[storage])


def _pairs(keys: pa.Array, items: pa.Array) -> pa.Array:
    fields = [pa.field("key", keys.type, nullable=False), pa.field("value", items.type)]
    return pa.StructArray.from_arrays([keys, items], fields=fields)


def _list_of(kind: pa.DataType, inner: pa.DataType) -> pa.DataType:
    if is_.is_fixed_size_list(kind):
        return pa.list_(inner, kind.list_size)
    variants: tuple[tuple[Test, Callable[[pa.DataType], pa.DataType]], ...] = (
        (is_.is_large_list, pa.large_list),
        (is_.is_list_view, pa.list_view),
        (is_.is_large_list_view, pa.large_list_view),
    )
    return next((make(inner) for test, make in variants if test(kind)), pa.list_(inner))


def from_duckdb(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The columns in order, with the names and types of `schema`; if it has no columns, only the number of
    rows is kept."""
    if not schema.names:
        return table.select([])
    columns = [
        pa.chunked_array([_restore_type(chunk, kind) for chunk in column.chunks], kind)
        for column, kind in zip(table.columns, schema.types, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _restore_type(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if values.type.equals(kind):
        return values
    if is_.is_dictionary(kind):
        return _restore_type(values, kind.value_type).dictionary_encode().cast(kind)
    if is_.is_decimal256(kind):
        return decimals(values.cast(pa.binary()), kind)
    if isinstance(kind, pa.UuidType):
        return kind.wrap_array(_uuids(values))
    if is_.is_fixed_size_binary(kind):
        return _restore_bytes(values, kind)
    if isinstance(kind, pa.BaseExtensionType):
        return kind.wrap_array(_restore_type(values, kind.storage_type))
    if is_.is_nested(kind):
        return _restore_nested(values, kind)
    return values.cast(kind)


def _restore_nested(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if is_.is_struct(kind):
        parts = [_restore_type(values.field(i), part.type) for i, part in enumerate(kind)]
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=values.is_null())
    if is_.is_map(kind):
        keys, items = _restore_type(values.keys, kind.key_type), _restore_type(values.items, kind.item_type)
        entry = pa.StructArray.from_arrays([keys, items], fields=[kind.key_field, kind.item_field])
        return _restored_around(values, kind, entry)
    if is_.is_fixed_size_list(kind):
        return _restored_around(
            values, pa.list_(kind.value_field), _restore_type(values.values, kind.value_type)
        ).cast(kind)
    inner = _restore_type(values.values, kind.value_type)
    if is_.is_list(kind):
        return _restored_around(values, kind, inner)
    return _restored_around(values, pa.list_(kind.value_field), inner).cast(kind)


def _restored_around(values: pa.Array, kind: pa.DataType, storage: pa.Array) -> pa.Array:
    buffers = values.buffers()[:2]
    return pa.Array.from_buffers(kind, len(values), buffers, offset=values.offset, children=[storage])


def _restore_bytes(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if is_.is_interval(values.type):
        return _interval_bytes(values)
    return _uuids(values) if kind == pa.binary(16) and is_.is_string(values.type) else values.cast(kind)


def _interval_bytes(values: pa.Array) -> pa.Array:
    """Calendar intervals as files store them: months, days and milliseconds."""
    import numpy as np

    parts = np.dtype([("months", "<i4"), ("days", "<i4"), ("nanoseconds", "<i8")])
    given = np.frombuffer(values.buffers()[1], parts)[values.offset : values.offset + len(values)]
    milliseconds = given["nanoseconds"] // 1_000_000
    stored = np.stack([given["months"], given["days"], milliseconds], axis=1).astype("<u4")
    valid = values.is_valid().to_numpy(zero_copy_only=False)
    bits = pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(pa.binary(12), len(values), [bits, pa.py_buffer(stored.tobytes())])


def _uuids(values: pa.Array) -> pa.Array:
    """UUIDs from the text that DuckDB returns; it also returns bytes that a file declares as UUIDs this
    way."""
    import numpy as np

    texts = ["0" * 32 if text is None else text.replace("-", "") for text in values.to_pylist()]
    valid = values.is_valid().to_numpy(zero_copy_only=False)
    bits = pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(
        pa.binary(16), len(values), [bits, pa.py_buffer(bytes.fromhex("".join(texts)))]
    )


def aliases_of(names: Sequence[str]) -> list[str]:
    """The names inside a statement of a file's columns: the stored ones, by which users read them in a plan,
    unless SQL would mix them up with each other or with the columns that DuckDB adds."""
    times, own = Counter(map(str.casefold, names)), "__lamella_"
    added = ("", "file_row_number", "file_index", "filename")

    def is_plain(name: str) -> bool:
        key = name.casefold()
        return times[key] == 1 and key not in added and not key.startswith(own) and name.isprintable()

    return [name if is_plain(name) else f"{own}{place}" for place, name in enumerate(names)]
