"""Texts of values: one line each for the screen, cut and rounded where long, or whole to be copied."""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from collections.abc import Callable
from enum import Enum
from typing import Any

import pyarrow as pa
from pyarrow import types

from lamella.core.arrow.nested import python_value, python_values
from lamella.core.errors import BadData, visible
from lamella.core.filters.kinds import Kind, kind_of, value_type
from lamella.core.filters.temporal import UNIT_NS, iso_texts, span_ns, span_text

LONGEST = 200  # characters of one cell on screen; copying takes the whole text
LONGEST_BYTES = 48
FRACTION = re.compile(r"\.(\d*?)0+(?=$|[+\-Z])")
ZONE = re.compile(r"(:\d\d(?:\.\d+)?[+-]\d\d)(\d\d)$")
FRACTION_DIGITS = re.compile(r"\.(\d+)")
TIME_FRACTION = re.compile(r"(.*\d\d:\d\d:\d\d)(?:\.(\d+))?(.*)$")
CUT, BREAK, TAB = "…", "↵", "⇥"  # what stands on screen for what was left out
ROUNDED = "≈"
EXACT_DIGITS = 15  # of a decimal number that a float always keeps; more are mostly binary rounding
SURELY_EXACT_DIGITS = 13
ROUNDED_DIGITS = 10
DECIMALS = 2  # at least, of a rounded number that has no exponent
LARGEST_PLAIN = 1e15
LENGTH = "·"  # between the length of binary values and what they begin with
CONTROLS = {code: f"\\x{code:02x}" for code in (*range(0x20), 0x7F)}  # few fonts have their signs, ␀ and ␛
STANDS_FOR = frozenset((CUT, BREAK, TAB, ROUNDED, LENGTH, "\\"))
UNREADABLE = "(text that is not UTF-8)"
Texts = list[str | None]


def screen_texts(values: pa.ChunkedArray | pa.Array) -> Texts:
    """One line for each value, long ones cut; None stands for null."""
    texts = whole_texts(values, LONGEST_BYTES)
    if kind_of(values.type) is Kind.FLOAT:
        return _short_floats(texts)
    return [_one_line(text) if text else text for text in texts]


def is_whole(text: str) -> bool:
    """Whether a text of the screen is surely the value in full."""
    return not STANDS_FOR.intersection(text)


class Fraction(Enum):
    """How the digits behind the point of a column's texts stand in line."""

    NONE = "none"
    AT_POINT = "at the point"  # floats: those with fewer digits end further left
    FILLED = "filled"  # times: zeros up to the most digits there are


def fraction_of(type_: pa.DataType) -> Fraction:
    kind = kind_of(type_)
    if kind is Kind.FLOAT:
        return Fraction.AT_POINT
    return Fraction.FILLED if kind in (Kind.TIMESTAMP, Kind.TIME) else Fraction.NONE


def fraction_digits(text: str) -> int:
    """How many digits stand behind the point; none for a number with an exponent."""
    found = FRACTION_DIGITS.search(text)
    return len(found[1]) if found and "e" not in text else 0


def most_fraction_digits(texts: Texts) -> int:
    return max((fraction_digits(text) for text in texts if text and "." in text), default=0)


def filled(text: str, digits: int) -> str:
    """A time with this many digits behind its seconds."""
    found = TIME_FRACTION.match(text)
    if not digits or found is None:
        return text
    return f"{found[1]}.{found[2] or '':0<{digits}}{found[3]}"


def whole_texts(values: pa.ChunkedArray | pa.Array, longest_bytes: int | None = None) -> Texts:
    """Each value in full; None stands for null."""
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
        return iso_texts(values).to_pylist()
    if types.is_decimal(type_):
        return values.cast(pa.string()).to_pylist()
    if types.is_float32(type_) or types.is_float16(type_):
        return [
            None if text is None else _float(float(text)) for text in values.cast(pa.string()).to_pylist()
        ]
    write = _writer(type_, longest_bytes)
    return [None if value is None else write(value) for value in _values(values)]


def _values(values: pa.ChunkedArray | pa.Array) -> list[Any]:
    """Far times as `python_value` has them, and text that is not UTF-8 with its bytes as escapes."""
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
    if kind is Kind.BINARY:
        return lambda value: _hex(value, longest_bytes)
    if types.is_nested(type_):
        return lambda value: json.dumps(value, ensure_ascii=False, default=_json)
    return str


def _one_line(text: str | None) -> str | None:
    if text is None:
        return None
    cut = text if len(text) <= LONGEST else text[: LONGEST - 1] + CUT
    if cut.isprintable():
        return cut
    line = cut.replace("\r\n", BREAK).replace("\n", BREAK).replace("\r", BREAK).replace("\t", TAB)
    return visible(line.translate(CONTROLS))


def _float(value: float) -> str:
    """The shortest text that reads back as the same number, without a trailing `.0`."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("∞" if value > 0 else "-∞")
    text = repr(value)
    return text[:-2] if text.endswith(".0") else text


def _short_floats(texts: Texts) -> Texts:
    """Whole up to 15 digits, otherwise rounded to ten, with a mark. Beside one that is rounded, those of 14
    and 15 digits are rounded as well: most of them are binary fractions that end early by chance."""
    short = _rounded_beyond(texts, EXACT_DIGITS)
    is_rounded = any(text and text.startswith(ROUNDED) for text in short)
    return _rounded_beyond(short, SURELY_EXACT_DIGITS) if is_rounded else short


def _rounded_beyond(texts: Texts, digits: int) -> Texts:
    return [_short_float(text, digits) if text and len(text) > digits else text for text in texts]


def _short_float(text: str, most_digits: int) -> str:
    if text.startswith(ROUNDED):
        return text
    value, digits = float(text), text.partition("e")[0].strip("-").replace(".", "").lstrip("0")
    if len(digits) <= most_digits:
        return text
    whole = len(str(int(abs(value)))) if abs(value) < LARGEST_PLAIN else 0
    rounded = f"{value:.{max(ROUNDED_DIGITS, whole + DECIMALS)}g}"
    return text if float(rounded) == value else f"{ROUNDED}{rounded}"


def _without_zeros(text: str | None) -> str | None:
    """A time without the zeros at the end of its fraction, its zone as `+01:00`."""
    if text is None:
        return None
    short = FRACTION.sub(lambda found: "." + found[1] if found[1] else "", text, count=1)
    return ZONE.sub(r"\1:\2", short)


def _hex(value: bytes, longest: int | None) -> str:
    """On screen, where there is a longest, with the length before it."""
    if longest is None:
        return "0x" + value.hex()
    cut = CUT if len(value) > longest else ""
    return f"{len(value):,} B" + (f" {LENGTH} 0x{value[:longest].hex()}{cut}" if value else "")


def _json(value: Any) -> str:
    if isinstance(value, dt.timedelta):
        return span_text(span_ns(value))
    return "0x" + value.hex() if isinstance(value, bytes) else str(value)
