"""Columns that Arrow reads as bytes or numbers although the file says more: UUIDs, and calendar intervals and
pandas' periods, which are shown as text."""

from __future__ import annotations

import datetime as dt
import json
import string
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import types as is_

from lamella.core.arrow.types import holds

Rendering = Callable[[pa.Array], pa.Array]
"""Makes texts of the values that Arrow reads."""
_UUID_BYTES, _INTERVAL_BYTES = 16, 12
_PERIOD = "pandas.period"
_NAME, _ABOUT = b"ARROW:extension:name", b"ARROW:extension:metadata"
_EPOCH = dt.date(1970, 1, 1)
_DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_SUNDAY = dt.date(1970, 1, 4)
"""The end of week 1 of weeks that end on Sundays; others end later."""
_SECONDS = {"h": 3600, "H": 3600, "min": 60, "T": 60, "s": 1, "S": 1}
_DIGITS = {"ms": 3, "L": 3, "us": 6, "U": 6, "ns": 9, "N": 9}
"""The digits of units that are parts of a second, also by their names before pandas 2.2."""
_MONDAY = dt.date(1969, 12, 29)
_CLOCKS = {3600: "%H:%M", 60: "%H:%M", 1: "%H:%M:%S"}


def with_uuids(metadata: pq.FileMetaData, schema: pa.Schema) -> pa.Schema:
    """The schema with UUIDs where the file declares them; pyarrow gives their type only to an open file."""
    if not any(holds(field.type, _has_bytes_of_uuids) for field in schema):
        return schema
    extended = pq.ParquetFile(pa.BufferReader(b""), metadata=metadata).schema_arrow
    fields = [
        field.with_type(_with_uuids(field.type, other.type))
        for field, other in zip(schema, extended, strict=True)
    ]
    return pa.schema(fields, schema.metadata)


def _has_bytes_of_uuids(kind: pa.DataType) -> bool:
    return bool(is_.is_fixed_size_binary(kind) and kind.byte_width == _UUID_BYTES)


def _with_uuids(kind: pa.DataType, extended: pa.DataType) -> pa.DataType:
    if isinstance(extended, pa.UuidType):
        return extended
    if is_.is_struct(kind):
        pairs = zip(kind, extended, strict=True)
        return pa.struct([field.with_type(_with_uuids(field.type, other.type)) for field, other in pairs])
    if is_.is_map(kind):
        item = kind.item_field.with_type(_with_uuids(kind.item_type, extended.item_type))
        return pa.map_(kind.key_field.with_type(_with_uuids(kind.key_type, extended.key_type)), item)
    if is_.is_list(kind) or is_.is_large_list(kind):
        item = kind.value_field.with_type(_with_uuids(kind.value_type, extended.value_type))
        return pa.list_(item) if is_.is_list(kind) else pa.large_list(item)
    return kind


def renderings(metadata: pq.FileMetaData, schema: pa.Schema) -> dict[str, Rendering]:
    """How to make texts of the columns that are shown as text, by name."""
    renderings_of_columns: dict[str, Rendering] = {}
    intervals = _intervals(metadata) if any(map(_has_bytes_of_intervals, schema.types)) else set()
    for field in schema:
        if field.name in intervals and _has_bytes_of_intervals(field.type):
            renderings_of_columns[field.name] = _by_value(_intervals_to_texts)
        elif (spell := _spelling(_frequency(field))) is not None:
            renderings_of_columns[field.name] = _by_value(partial(_periods_to_texts, spell=spell))
    return renderings_of_columns


def with_texts(schema: pa.Schema, names: Mapping[str, Rendering]) -> pa.Schema:
    """The schema with text for these columns."""
    fields = [pa.field(f.name, pa.string(), f.nullable) if f.name in names else f for f in schema]
    return pa.schema(fields, schema.metadata)


def render(rows: pa.Table, names: Mapping[str, Rendering]) -> pa.Table:
    """The rows with the texts of these columns, if they have them."""
    for place, name in enumerate(rows.column_names):
        if name in names:
            chunks = [names[name](chunk) for chunk in rows.column(place).chunks]
            rows = rows.set_column(place, name, pa.chunked_array(chunks, pa.string()))
    return rows


def _has_bytes_of_intervals(kind: pa.DataType) -> bool:
    return bool(is_.is_fixed_size_binary(kind) and kind.byte_width == _INTERVAL_BYTES)


def _intervals(metadata: pq.FileMetaData) -> set[str]:
    leaves = map(metadata.schema.column, range(metadata.num_columns))
    return {leaf.path for leaf in leaves if leaf.converted_type == "INTERVAL"}


def _by_value(spell: Callable[[pa.Array], list[str]]) -> Rendering:
    """Each distinct value is spelled once."""

    def render(values: pa.Array) -> pa.Array:
        stored = values.storage if isinstance(values, pa.ExtensionArray) else values
        coded = stored.dictionary_encode()
        return pa.array(spell(coded.dictionary), pa.string()).take(coded.indices)

    return render


def _intervals_to_texts(values: pa.Array) -> list[str]:
    numbers = np.frombuffer(b"".join(values.to_pylist()), "<u4").reshape(-1, 3)
    return [interval_text(*row) for row in numbers.tolist()]


def interval_text(months: int, days: int, milliseconds: int) -> str:
    """The interval as SQL writes it, such as `1 year 2 months 3 days 04:05:06.5`."""
    years, months = divmod(months, 12)
    counts = ((years, "year"), (months, "month"), (days, "day"))
    parts = [f"{count} {unit}{'s' if count > 1 else ''}" for count, unit in counts if count]
    if milliseconds or not parts:
        seconds, rest = divmod(milliseconds, 1000)
        minutes, seconds = divmod(seconds, 60)
        clock = f"{minutes // 60:02}:{minutes % 60:02}:{seconds:02}"
        parts.append(clock + f".{rest:03}".rstrip("0").rstrip("."))
    return " ".join(parts)


def _frequency(field: pa.Field) -> str:
    """The frequency of a column of pandas' periods; empty for other columns. Its type depends on whether
    pandas has been imported."""
    if isinstance(field.type, pa.BaseExtensionType):
        return str(field.type.freq) if field.type.extension_name == _PERIOD else ""
    about = field.metadata or {}
    if about.get(_NAME) != _PERIOD.encode() or not is_.is_int64(field.type):
        return ""
    try:
        return str(json.loads(about.get(_ABOUT, b""))["freq"])
    except (ValueError, LookupError, TypeError):
        return ""


def _periods_to_texts(values: pa.Array, spell: Callable[[int], str]) -> list[str]:
    return [_spell(spell, ordinal) for ordinal in values.to_pylist()]


def _spell(spell: Callable[[int], str], ordinal: int) -> str:
    try:
        return spell(ordinal)
    except OverflowError:  # beyond the years that Python's dates reach
        return str(ordinal)


def _spelling(frequency: str) -> Callable[[int], str] | None:
    """How periods are written; None for frequencies that are not known. Those of several units, such as `2M`,
    are counted and written in units."""
    unit, _, anchor = frequency.lstrip(string.digits).partition("-")
    if unit in _SECONDS:
        return partial(_moment, seconds=_SECONDS[unit])
    if unit in _DIGITS:
        return partial(_fraction, digits=_DIGITS[unit])
    if unit == "W" and anchor in _DAYS:
        return partial(_week, last=_DAYS.index(anchor))
    by_unit = {"M": _month, "Q": _quarter, "Y": _year, "A": _year, "D": _day, "B": _business_day}
    return by_unit.get(unit)


def _month(ordinal: int) -> str:
    return f"{1970 + ordinal // 12:04}-{ordinal % 12 + 1:02}"


def _quarter(ordinal: int) -> str:
    return f"{1970 + ordinal // 4:04}Q{ordinal % 4 + 1}"


def _year(ordinal: int) -> str:
    return f"{1970 + ordinal:04}"


def _day(ordinal: int) -> str:
    return str(_EPOCH + dt.timedelta(ordinal))


def _business_day(ordinal: int) -> str:
    """Weekends have no number."""
    weeks, days = divmod(ordinal + (_EPOCH - _MONDAY).days, 5)
    return str(_MONDAY + dt.timedelta(7 * weeks + days))


def _week(ordinal: int, last: int) -> str:
    end = _SUNDAY + dt.timedelta(7 * (ordinal - 1) + last)
    return f"{end - dt.timedelta(6)}/{end}"


def _moment(ordinal: int, seconds: int) -> str:
    moment = dt.datetime(1970, 1, 1) + dt.timedelta(seconds=ordinal * seconds)
    return f"{moment.date()} {moment.strftime(_CLOCKS[seconds])}"


def _fraction(ordinal: int, digits: int) -> str:
    seconds, fraction = divmod(ordinal, 10**digits)
    return f"{_moment(seconds, 1)}.{fraction:0{digits}}"
