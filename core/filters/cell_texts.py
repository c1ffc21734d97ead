"""The texts of values as cells show them, for single values and whole columns."""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from lamella.core.arrow.arrays import combine_chunks, from_numpy, from_values, put, to_numpy
from lamella.core.arrow.nested_values import python_value, python_values
from lamella.core.errors import BadData
from lamella.core.filters.kinds import Kind, kind_of, value_type
from lamella.core.filters.temporal import UNIT_NS, iso_texts, span_ns, span_text

FRACTION = re.compile(r"\.(\d*?)0+(?=$|[+\-Z])")
ZONE = re.compile(r"(:\d\d(?:\.\d+)?[+-]\d\d)(\d\d)$")
CUT = "…"
LENGTH = "·"
"""Separates the length of a binary value from its first bytes."""
UNREADABLE = "(text that is not UTF-8)"
Texts = list[str | None]
PLAIN_PLACES = 6
"""Up to this many decimal places Arrow writes all decimals without an exponent."""
PLAIN_FLOATS = (1e-4, 1e10)
"""The range of sizes in which Arrow and Python write a float the same way."""


def whole_texts(values: pa.ChunkedArray | pa.Array, longest_bytes: int | None = None) -> Texts:
    """The full text of each value; None for null."""
    type_ = value_type(values.type)
    if types.is_dictionary(values.type):
        values = values.cast(type_)
    if types.is_timestamp(type_):
        return [_without_zeros(text) for text in iso_texts(values).to_pylist()]
    if types.is_time(type_):
        return [_without_zeros(text) for text in values.cast(pa.string()).to_pylist()]
    if types.is_duration(type_):
        ns = UNIT_NS[type_.unit]
        counts = values.cast(pa.int64()).to_pylist()
        return [None if count is None else span_text(count * ns) for count in counts]
    if types.is_date(type_):
        days: Texts = iso_texts(values).to_pylist()
        return days
    if types.is_decimal(type_):
        decimals: Texts = decimal_texts(values).to_pylist()
        return decimals
    if types.is_float32(type_) or types.is_float16(type_):
        return [
            None if text is None else _float(float(text)) for text in values.cast(pa.string()).to_pylist()
        ]
    write = _writer(type_, longest_bytes)
    return [None if value is None else write(value) for value in _values(values)]


def _values(values: pa.ChunkedArray | pa.Array) -> list[Any]:
    """The values, with distant times as `python_value` returns them, and invalid UTF-8 as text with escaped
    bytes."""
    try:
        return python_values(values)
    except BadData:
        return [_readable(value) for value in values]


def _readable(value: pa.Scalar) -> Any:
    try:
        return python_value(value)
    except BadData:
        if types.is_nested(value.type):
            return UNREADABLE
        return value.as_buffer().to_pybytes().decode(errors="backslashreplace")


def _writer(type_: pa.DataType, longest_bytes: int | None) -> Callable[[Any], str]:
    kind = kind_of(type_)
    if kind is Kind.FLOAT:
        return _float
    if kind is Kind.BOOLEAN:
        return lambda value: "true" if value else "false"
    if kind is Kind.BINARY or types.is_fixed_size_binary(type_):  # intervals are of another kind
        return lambda value: _hex(value, longest_bytes)
    if types.is_nested(type_):
        return lambda value: json.dumps(value, ensure_ascii=False, default=_json)
    return str


def _float(value: float) -> str:
    """The shortest text that reads back as the same number, without a trailing `.0`."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("∞" if value > 0 else "-∞")
    text = repr(value)
    return text[:-2] if text.endswith(".0") else text


def _without_zeros(text: str | None) -> str | None:
    """A time without trailing zeros in its fraction, and its zone as `+01:00`."""
    if text is None:
        return None
    short = FRACTION.sub(lambda match: "." + match[1] if match[1] else "", text, count=1)
    return ZONE.sub(r"\1:\2", short)


def _hex(value: bytes, longest: int | None) -> str:
    """Bytes in hexadecimal; if cut to `longest` for the screen, preceded by the length."""
    if longest is None:
        return "0x" + value.hex()
    cut = CUT if len(value) > longest else ""
    return f"{len(value):,} B" + (f" {LENGTH} 0x{value[:longest].hex()}{cut}" if value else "")


def _json(value: Any) -> str:
    if isinstance(value, dt.timedelta):
        return span_text(span_ns(value))
    return "0x" + value.hex() if isinstance(value, bytes) else str(value)


def text_array(values: pa.Array) -> pa.Array:
    """The texts of `whole_texts` as an array, computed by Arrow's kernels if it has any."""
    plain = value_type(values.type)
    if types.is_dictionary(values.type):
        values = values.cast(plain)
    kind = kind_of(plain)
    try:
        if kind is Kind.TEXT:
            return _valid_texts(values)
        if kind is Kind.DECIMAL:
            return decimal_texts(values)
        if kind in (Kind.INTEGER, Kind.BOOLEAN):
            return values.cast(pa.string())
        if kind is Kind.FLOAT:
            return _float_texts(values)
        if kind is Kind.DATE:
            return iso_texts(values)
        if kind in (Kind.TIMESTAMP, Kind.TIME):
            return _clock_texts(values, kind is Kind.TIMESTAMP)
    except pa.ArrowInvalid:  # text that is not UTF-8, or times outside Arrow's calendar
        pass
    return from_values(whole_texts(values), pa.large_string())


def decimal_texts(values: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Every digit of decimals. Arrow writes those near zero with an exponent, and zero itself if it has more
    than six decimal places: 0E-8."""
    texts = values.cast(pa.string())
    if 0 <= values.type.scale <= PLAIN_PLACES:
        return texts
    return from_values([text and f"{Decimal(text):f}" for text in texts.to_pylist()], pa.string())


def _valid_texts(values: pa.Array) -> pa.Array:
    values.validate(full=True)
    return values.cast(pa.large_string()) if types.is_string_view(values.type) else values


def _float_texts(values: pa.Array) -> pa.Array:
    texts = values.cast(pa.string())
    numbers = np.abs(to_numpy(values.cast(pa.float64())))
    least, most = PLAIN_FLOATS
    with np.errstate(invalid="ignore"):
        alike = (numbers == 0) | ((numbers >= least) & (numbers < most))
    odd = np.flatnonzero(~alike & to_numpy(values.is_valid()))
    if not len(odd):
        return texts
    odd_texts = from_values(whole_texts(values.take(from_numpy(odd))), pa.string())
    return combine_chunks(put(pa.chunked_array([texts]), odd, odd_texts))


def _clock_texts(values: pa.Array, is_moment: bool) -> pa.Array:
    """Times without trailing zeros in fractions, and with a colon in the zone."""
    kind = values.type
    texts = iso_texts(values) if is_moment else values.cast(pa.string())
    if kind.unit != "s":
        texts = pc.replace_substring_regex(texts, r"(\.\d*?)0+($|[+\-Z])", r"\1\2", max_replacements=1)
        texts = pc.replace_substring_regex(texts, r"\.($|[+\-Z])", r"\1", max_replacements=1)
    if is_moment and kind.tz is not None:
        texts = pc.replace_substring_regex(texts, r"(:\d\d(?:\.\d+)?[+-]\d\d)(\d\d)$", r"\1:\2")
    return texts
