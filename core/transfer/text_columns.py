"""Converts columns to text and JSON with Arrow's kernels, and value by value where these do not suffice."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as is_

from lamella.core.arrow.arrays import from_values
from lamella.core.arrow.documents import whole
from lamella.core.arrow.nested_values import no_text, python_values
from lamella.core.errors import BadData, TypeConflict, visible
from lamella.core.filters.cell_texts import decimal_texts
from lamella.core.filters.temporal import far_texts, iso_texts
from lamella.core.transfer.writer import kind_of

DATE_FORMATS = {
    "iso": "%Y-%m-%d",
    "dd.mm.yyyy": "%d.%m.%Y",
    "dd/mm/yyyy": "%d/%m/%Y",
    "mm/dd/yyyy": "%m/%d/%Y",
    "yyyymmdd": "%Y%m%d",
}
NOT_FINITE = frozenset(("nan", "inf", "-inf"))
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_ESCAPED_CHARACTERS = '["\\\\\x00-\x1f]'
"""Characters that JSON escapes."""


@dataclass(frozen=True)
class TextStyle:
    """How values are written as text; the default is what JSON and ISO 8601 agree on."""

    decimal_sign: str = "."
    dates: str = "iso"


PLAIN = TextStyle()


@lru_cache(1024)
def scalar_text(text: str) -> pa.Scalar:
    """A text scalar, made without `pa.scalar`, which imports pandas."""
    return from_values([text], pa.string())[0]


def join_texts(*parts: pa.Array | str, between: str = "") -> pa.Array:
    """Concatenate the texts of each row; null if one of them is."""
    columns = (scalar_text(part) if isinstance(part, str) else part for part in parts)
    return pc.binary_join_element_wise(*columns, scalar_text(between))


def without_nulls(texts: pa.Array, stand_in: str) -> pa.Array:
    return pc.fill_null(texts, scalar_text(stand_in)) if texts.null_count else texts


def holds(texts: pa.Array, sign: str) -> bool:
    """Whether any of the texts contains the character. May also find it in bytes behind nulls, so True is not
    certain."""
    ends, data = texts.buffers()[1:]
    if not len(texts) or data is None:
        return False
    first, last = np.frombuffer(ends, np.int32)[[texts.offset, texts.offset + len(texts)]]
    return sign.encode() in data.slice(first, last - first).to_pybytes()


def fill_false(mask: pa.Array) -> pa.Array:
    """The mask with false in place of null."""
    return pc.fill_null(mask, from_values([False], pa.bool_())[0]) if mask.null_count else mask


def texts_of(values: pa.Array, style: TextStyle = PLAIN) -> pa.Array:
    """Text for each value, null for null.

    Floats have a point or an exponent, times are in ISO form with a space, durations are hours, minutes and
    seconds, bytes are hexadecimal digits, nested values JSON. Raises `BadData` for text that is not UTF-8,
    and `TypeConflict` for values that have no text form.
    """
    kind = kind_of(values.type)
    if kind not in _MAKERS:
        raise TypeConflict(
            f"values of type {values.type} cannot be written as text",
            fix="Leave the column out, cast it, or export to Parquet",
        )
    if isinstance(values.type, pa.UuidType):
        return _uuid_texts(values.storage)
    if isinstance(values, pa.ExtensionArray):
        return texts_of(values.storage, style)
    if is_.is_run_end_encoded(values.type):
        return texts_of(pc.run_end_decode(values), style)
    texts = _MAKERS[kind](values, style)
    return texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts


def _uuid_texts(values: pa.Array) -> pa.Array:
    return from_values(
        [None if value is None else str(UUID(bytes=value)) for value in values.to_pylist()], pa.string()
    )


@contextmanager
def naming_column(name: str) -> Iterator[None]:
    """Add the column's name to errors about values."""
    try:
        yield
    except BadData as problem:
        what = problem.what[0].lower() + problem.what[1:]
        raise type(problem)(f"column '{visible(name)}': {what}", problem.why, problem.fix) from problem


def json_of(values: pa.Array) -> pa.Array:
    """Convert each value to JSON, `null` for null: numbers and booleans as such; decimals, and everything
    else that JSON lacks, as text."""
    kind = kind_of(values.type)
    if isinstance(values.type, pa.UuidType):
        return without_nulls(_quote(_uuid_texts(values.storage)), "null")
    if isinstance(values, pa.ExtensionArray):
        return json_of(values.storage)
    if kind in ("list", "struct", "map"):
        return from_values([_nested_text(value) for value in python_values(values)], pa.string())
    texts = texts_of(values)
    if kind == "float":
        special = pc.is_in(texts, from_values(sorted(NOT_FINITE), pa.string()))
        if pc.any(special).as_py():
            texts = pc.if_else(special, join_texts('"', texts, '"'), texts)
    elif kind == "category" or kind not in ("boolean", "integer", "int64", "uint64", "null"):
        plain = values.type.value_type if is_.is_dictionary(values.type) else values.type
        if kind_of(plain) not in ("boolean", "integer", "int64", "uint64", "float"):
            texts = _quote(texts)
    return without_nulls(texts, "null")


def floats_of(values: pa.Array) -> pa.Array:
    """Convert to floats; decimals to the nearest ones, where Arrow's own cast is off by one in the last place
    (26.0)."""
    return (
        values.cast(pa.string()).cast(pa.float64())
        if is_.is_decimal(values.type)
        else values.cast(pa.float64())
    )


def json_text(value: Any) -> str:
    """Convert one value to JSON; times, bytes and numbers that JSON lacks as in `texts_of`."""
    return json.dumps(_jsonable(value), ensure_ascii=False)


def _nested_text(value: Any) -> str:
    return "null" if value is None else json_text(whole(value))


def _jsonable(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _jsonable(inner) for key, inner in value.items()}
    if isinstance(value, pa.MonthDayNano):
        return interval_text(value)
    if isinstance(value, list | tuple):
        return [_jsonable(inner) for inner in value]
    if isinstance(value, float):
        text = repr(value)
        return text if text in NOT_FINITE else value
    return value if value is None or isinstance(value, bool | int | str) else _scalar_text(value)


def _scalar_text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dt.datetime):
        return value.isoformat(" ")
    if isinstance(value, dt.timedelta):
        return clock_text(value // dt.timedelta(microseconds=1), 10**6)
    return str(value)


def interval_text(value: pa.MonthDayNano) -> str:
    """An interval in ISO form: P3M, P1DT2.5S."""
    seconds = Decimal(value.nanoseconds).scaleb(-9).normalize()
    parts = [f"{value.months}M" if value.months else "", f"{value.days}D" if value.days else ""]
    time = f"T{seconds:f}S" if seconds or not any(parts) else ""
    return f"P{''.join(parts)}{time}"


def clock_text(count: int, per_second: int) -> str:
    """A duration as hours, minutes and seconds: 26:03:04.5, -0:00:01."""
    seconds, remainder = divmod(abs(count), per_second)
    fraction = f".{remainder:0{len(str(per_second)) - 1}d}".rstrip("0") if remainder else ""
    sign = "-" if count < 0 else ""
    return f"{sign}{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}{fraction}"


def _quote(texts: pa.Array) -> pa.Array:
    needs = pc.match_substring_regex(texts, _ESCAPED_CHARACTERS)
    if pc.any(needs).as_py():
        escaped = [json.dumps(text, ensure_ascii=False)[1:-1] for text in texts.filter(needs).to_pylist()]
        texts = pc.replace_with_mask(texts, fill_false(needs), from_values(escaped, pa.string()))
    return join_texts('"', texts, '"')


def _texts(values: pa.Array, style: TextStyle) -> pa.Array:
    try:
        values.validate(full=True)
    except pa.ArrowInvalid:
        try:
            values.to_pylist()
        except UnicodeDecodeError as error:
            raise no_text("A text", error) from error
        raise
    return values if is_.is_string(values.type) else values.cast(pa.string())


def _cast(values: pa.Array, style: TextStyle) -> pa.Array:
    return values.cast(pa.string())


def _floats(values: pa.Array, style: TextStyle) -> pa.Array:
    """Floats as text. Whole numbers get a point, so that they are read as floats again."""
    texts = values.cast(pa.string())
    numbers = values.cast(pa.float32()) if is_.is_float16(values.type) else values
    is_whole = fill_false(pc.equal(pc.trunc(numbers), numbers))
    if is_whole.true_count:
        few = texts.filter(is_whole)
        has_exponent = pc.match_substring_regex(few, "[a-z]")  # or is infinite
        longer = pc.if_else(has_exponent, few, join_texts(few, ".0"))
        texts = pc.replace_with_mask(texts, is_whole, longer)
    return _with_sign(texts, style)


def _with_sign(texts: pa.Array, style: TextStyle) -> pa.Array:
    return texts if style.decimal_sign == "." else pc.replace_substring(texts, ".", style.decimal_sign)


def _decimals(values: pa.Array, style: TextStyle) -> pa.Array:
    return _with_sign(decimal_texts(values), style)


def _dates(values: pa.Array, style: TextStyle) -> pa.Array:
    return _in_style(values, style, "")


def _timestamps(values: pa.Array, style: TextStyle) -> pa.Array:
    return _in_style(values, style, " %H:%M:%S%z" if values.type.tz else " %H:%M:%S")


def _in_style(values: pa.Array, style: TextStyle, clock: str) -> pa.Array:
    """Dates and times in the requested style; those too far away in ISO form."""
    if style.dates == "iso":
        return iso_texts(values)
    texts, far = pc.strftime(values, format=DATE_FORMATS[style.dates] + clock), far_texts(values)
    if not far:
        return texts
    pairs = enumerate(texts.to_pylist())
    return from_values([far.get(place, text) for place, text in pairs], pa.string())


def _durations(values: pa.Array, style: TextStyle) -> pa.Array:
    per_second = PER_SECOND[values.type.unit]
    counts = values.cast(pa.int64()).to_pylist()
    return from_values([None if n is None else clock_text(n, per_second) for n in counts], pa.string())


def _categories(values: pa.Array, style: TextStyle) -> pa.Array:
    return pc.take(texts_of(values.dictionary, style), values.indices)


def _for_each_value(write: Callable[[Any], str]) -> Callable[[pa.Array, TextStyle], pa.Array]:
    def make(values: pa.Array, style: TextStyle) -> pa.Array:
        items = python_values(values)
        return from_values([None if item is None else write(item) for item in items], pa.string())

    return make


_nested_texts = _for_each_value(_nested_text)
_MAKERS: dict[str, Callable[[pa.Array, TextStyle], pa.Array]] = {
    "null": _cast,
    "boolean": _cast,
    "integer": _cast,
    "int64": _cast,
    "uint64": _cast,
    "float": _floats,
    "decimal": _decimals,
    "text": _texts,
    "category": _categories,
    "binary": _for_each_value(lambda value: str(value.hex())),
    "date": _dates,
    "time": _cast,
    "timestamp": _timestamps,
    "zoned": _timestamps,
    "duration": _durations,
    "interval": _for_each_value(interval_text),
    "list": _nested_texts,
    "struct": _nested_texts,
    "map": _nested_texts,
}
