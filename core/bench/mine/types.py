"""Which types of columns can be raced, in which form they are compared, and which systems have none of
them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa
from pyarrow import types as is_

LONGEST_DECIMAL = 38
MOST_SQLITE_COLUMNS = 2000


def compared_type(kind: pa.DataType) -> pa.DataType | None:
    """The plain type with the same values that every system gets; None where values cannot be compared."""
    if is_.is_dictionary(kind):
        return compared_type(kind.value_type)
    if is_.is_boolean(kind) or is_.is_integer(kind) or is_.is_date32(kind):
        return kind
    if is_.is_floating(kind):
        return pa.float32() if is_.is_float16(kind) else kind
    if is_.is_null(kind) or is_.is_string(kind) or is_.is_large_string(kind) or is_.is_string_view(kind):
        return pa.string()
    if is_.is_binary(kind) or is_.is_large_binary(kind) or is_.is_binary_view(kind):
        return pa.binary()
    if is_.is_fixed_size_binary(kind):
        return pa.binary()
    return _compared_time(kind) if is_.is_temporal(kind) else _compared_other(kind)


def _compared_time(kind: pa.DataType) -> pa.DataType | None:
    if is_.is_date64(kind):
        return pa.timestamp("ms")
    if is_.is_timestamp(kind):
        return pa.timestamp("ms", kind.tz) if kind.unit == "s" else kind
    if is_.is_time(kind):
        return kind if kind.unit == "ns" else pa.time64("us")
    return None


def _compared_other(kind: pa.DataType) -> pa.DataType | None:
    if is_.is_decimal(kind):
        fits = kind.precision <= LONGEST_DECIMAL and 0 <= kind.scale <= kind.precision
        return pa.decimal128(kind.precision, kind.scale) if fits else None
    if is_.is_list(kind) or is_.is_large_list(kind) or is_.is_fixed_size_list(kind):
        items = compared_type(kind.value_type)
        return None if items is None else pa.list_(items)
    if is_.is_struct(kind) and kind.num_fields:
        fields = [(field.name, compared_type(field.type)) for field in kind]
        return None if any(type_ is None for _, type_ in fields) else pa.struct(fields)
    return None


def cannot_hold(system: str, schema: pa.Schema, nan: Iterable[str]) -> str:
    """Why a system cannot keep these columns exactly; empty when it can. `nan` are the columns with a NaN."""
    reasons = _OF_COLUMNS.get(system)
    found = reasons(schema, set(nan)) if reasons else {}
    if found:
        told = "; ".join(f"{name}: {why}" for name, why in found.items())
        return f"It has no place for {told}"
    if system in _SQLITE and len(schema) > MOST_SQLITE_COLUMNS:
        return f"SQLite has no more than {MOST_SQLITE_COLUMNS:,} columns, and there are {len(schema):,}"
    return ""


def _not_in_sqlite(schema: pa.Schema, nan: set[str]) -> Mapping[str, str]:
    found = {}
    for field in schema:
        kind = field.type
        if is_.is_nested(kind):
            found[field.name] = f"{_word(kind)} are no type of SQLite's"
        elif is_.is_decimal(kind):
            found[field.name] = "decimal numbers would be rounded to floats"
        elif is_.is_uint64(kind):
            found[field.name] = "its whole numbers end at 63 bits"
        elif field.name in nan:
            found[field.name] = "it keeps NaN as NULL"
    return found


def _not_in_csv(schema: pa.Schema, _nan: set[str]) -> Mapping[str, str]:
    nested = {f.name: f"a field of CSV holds no {_word(f.type)}" for f in schema if is_.is_nested(f.type)}
    return nested | {f.name: "CSV has no form for bytes" for f in schema if is_.is_binary(f.type)}


def _not_in_json(schema: pa.Schema, _nan: set[str]) -> Mapping[str, str]:
    found = {}
    for field in schema:
        inner = set(leaves(field.type))
        if any(is_.is_decimal(kind) for kind in inner):
            found[field.name] = "Python's JSON has no decimal numbers"
        elif any(is_.is_binary(kind) for kind in inner):
            found[field.name] = "JSON has no form for bytes"
        elif is_.is_nested(field.type) and any(is_.is_temporal(kind) for kind in inner):
            found[field.name] = "JSON has no dates and times inside nested values"
    return found


def _not_in_pickle(schema: pa.Schema, _nan: set[str]) -> Mapping[str, str]:
    fine = [f.name for f in schema if is_.is_nested(f.type) and any(map(_is_fine, leaves(f.type)))]
    return dict.fromkeys(fine, "Python's times end at microseconds")


def leaves(kind: pa.DataType) -> list[pa.DataType]:
    """The types of single values in a nested one; of a plain one, itself."""
    if is_.is_list(kind):
        return leaves(kind.value_type)
    if is_.is_struct(kind):
        return [leaf for field in kind for leaf in leaves(field.type)]
    return [kind]


def _is_fine(kind: pa.DataType) -> bool:
    return is_.is_temporal(kind) and not is_.is_date(kind) and kind.unit == "ns"


def _word(kind: pa.DataType) -> str:
    return "lists" if is_.is_list(kind) else "nested values"


_SQLITE = ("sqlite", "sqlite-wal")
_OF_COLUMNS = {
    "sqlite": _not_in_sqlite,
    "sqlite-wal": _not_in_sqlite,
    "csv": _not_in_csv,
    "jsonl": _not_in_json,
    "pickle": _not_in_pickle,
}
