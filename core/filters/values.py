"""Converts values from users and programs to what a column's type compares with."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, cast
from uuid import UUID

import numpy as np
import pyarrow as pa
from pyarrow import types

from lamella.core.errors import BadData, short_text
from lamella.core.filters.expr import thaw
from lamella.core.filters.kinds import Kind, kind_of, value_type
from lamella.core.filters.temporal import (
    DAY_NS,
    moment_from_text,
    moment_ns,
    range_of,
    span_from_text,
    span_ns,
    span_text,
    time_from_text,
    time_ns,
    unit_ns,
)

MOST_DIGITS = 2000
LONGEST_TEXT = 80


@dataclass(frozen=True)
class Value:
    """A value. `shown_value` is for people and JSON. `exact` is for comparing: text, bytes, bool, or an exact
    number in the column's own unit; NaN is a float."""

    shown_value: Any
    exact: Any


def convert(value: Any, type_: pa.DataType) -> Value:
    """Convert a value for a column. Raises ValueError with the reason, as the end of a sentence: "'x' is not
    a number"."""
    try:
        plain = natural(value)
    except BadData as error:
        raise ValueError(error.why) from error
    if plain is None:
        raise ValueError("null can be compared only with 'is null' and 'is not null'")
    return _CONVERTERS[kind_of(type_)](plain, value_type(type_))


def are_exact(values: Sequence[Any], type_: pa.DataType) -> bool:
    """Whether `convert` returns each value unchanged, both shown and exact. Checking all at once is many
    times faster than converting thousands one by one. May be False even if they are."""
    kinds, kind = set(map(type, values)), kind_of(type_)
    if kinds == {int}:
        return kind in (Kind.INTEGER, Kind.FLOAT)
    return kinds == {str} and kind is Kind.TEXT and _has_whole_characters("".join(values))


def natural(value: Any) -> Any:
    """The Python value of a NumPy or Arrow scalar; for a UUID its bytes, as columns store it. Raises
    `BadData` for a time, duration or text of Arrow that Python cannot represent."""
    if isinstance(value, pa.Scalar):
        try:
            value = value.as_py()
        except (OverflowError, UnicodeDecodeError) as error:
            what = f"{short_text(value)} of type {value.type} cannot be used as a value"
            fix = "Give a time between the years 1 and 9999, a span of fewer days, or text in UTF-8"
            raise BadData(what, f"Python cannot represent it: {error}", fix) from error
    if isinstance(value, UUID):
        return value.bytes
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else _moment_of_numpy(value)
    if isinstance(value, np.timedelta64):
        return None if np.isnat(value) else _span_of_numpy(value)
    if isinstance(value, dt.date) and value != value:  # NaT of pandas
        return None
    return value.item() if isinstance(value, np.generic) else value


def exact_number_text(value: Any) -> str | None:
    """The shortest text of a number, which equals it: "42" for 42 and 42.0. None if it is not a number."""
    number = natural(value)
    if isinstance(number, bool) or not isinstance(number, int | float | Decimal):
        return None
    exact = Decimal(repr(number)) if isinstance(number, float) else Decimal(number)
    if not exact.is_finite() or abs(exact.adjusted()) > MOST_DIGITS:
        return None
    whole, point, decimals = f"{exact:f}".partition(".")
    decimals = decimals.rstrip("0")
    return f"{whole}.{decimals}" if point and decimals else (whole if exact else "0")


def value_range(type_: pa.DataType) -> tuple[int, int]:
    """The least and the greatest count of a type of integers, decimals, dates or times."""
    plain = value_type(type_)
    if types.is_decimal(plain):
        return 1 - 10**plain.precision, 10**plain.precision - 1
    if types.is_integer(plain):
        signed = types.is_signed_integer(plain)
        width = plain.bit_width - signed
        return (-(2**width) if signed else 0), 2**width - 1
    return range_of(plain)


def value_text(value: Any) -> str:
    """A value for a message: constants are spelled as in conditions, and long values are cut."""
    if value is None:
        return "null"
    value = thaw(value)
    whole = str(value).lower() if isinstance(value, bool) else short_text(value)
    return whole if len(whole) <= LONGEST_TEXT else whole[:LONGEST_TEXT] + "…"


def _number(value: Any, type_: pa.DataType) -> Value:
    if isinstance(value, str):
        value = _number_from_text(value)
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | Fraction):
        raise ValueError(f"{value_text(value)} is not a number")
    if isinstance(value, Decimal) and not value.is_finite():
        value = float(value)
    if types.is_integer(type_) and isinstance(value, float) and value.is_integer():
        return Value(value, int(value))
    scale = type_.scale if types.is_decimal(type_) else 0
    return Value(value, _scale(value, scale, types.is_floating(type_)))


def _scale(value: int | float | Decimal | Fraction, scale: int, floating: bool) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return math.inf if math.isnan(value) and not floating else value
    if isinstance(value, int) and scale >= 0:
        return value * 10**scale
    if isinstance(value, float) and not floating:
        value = Decimal(repr(value))
    exact = Fraction(value) * Fraction(10) ** scale
    return int(exact) if exact.denominator == 1 else exact


_INFINITE = {"∞": "inf", "+∞": "inf", "-∞": "-inf"}


def _number_from_text(text: str) -> int | float | Decimal:
    try:
        value = Decimal(_INFINITE.get(text.strip(), text.strip()))
    except InvalidOperation:
        raise ValueError(f"{value_text(text)} is not a number") from None
    if not value.is_finite():
        return float(value)
    if value and (abs(value.adjusted()) > MOST_DIGITS or len(text) > MOST_DIGITS):
        raise ValueError(f"a number of more than {MOST_DIGITS} digits cannot be compared")
    return int(value) if value == value.to_integral_value() else value


def _float(value: Any, type_: pa.DataType) -> Value:
    number = _number(value, type_)
    if isinstance(number.shown_value, Decimal) and math.isfinite(float(number.shown_value)):
        return _number(float(number.shown_value), type_)
    return number


def _integer(value: Any, type_: pa.DataType) -> Value:
    number = _number(value, type_)
    if isinstance(number.shown_value, float) and math.isnan(number.shown_value):
        numbers = "decimal" if types.is_decimal(type_) else "whole"
        raise ValueError(f"a column of {numbers} numbers cannot hold NaN")
    return number


def _text(value: Any, _type: pa.DataType) -> Value:
    if not isinstance(value, str):
        raise ValueError(f"{value_text(value)} is not text; write it in quotes")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"the text holds half a character at position {error.start}") from None
    return Value(value, value)


def _has_whole_characters(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _binary(value: Any, type_: pa.DataType) -> Value:
    if isinstance(value, str):
        value = _bytes_from_text(value, type_)
    if not isinstance(value, bytes | bytearray | memoryview):
        raise ValueError(f"{value_text(value)} is not binary data")
    return Value(bytes(value), bytes(value))


def _bytes_from_text(text: str, type_: pa.DataType) -> bytes:
    """Parse hexadecimal digits; for columns of sixteen bytes, also a UUID with dashes."""
    if types.is_fixed_size_binary(type_) and type_.byte_width == 16 and _UUID.fullmatch(text.strip()):
        return UUID(text.strip()).bytes
    try:
        return bytes.fromhex(text.removeprefix("0x"))
    except ValueError:
        raise ValueError("write bytes as hexadecimal digits, such as 00ff") from None


def _uuid(value: Any, _type: pa.DataType) -> Value:
    octets = _binary(value, pa.binary(16))
    if len(octets.exact) != 16:
        raise ValueError("a UUID has 32 hexadecimal digits, such as 6ba7b810-9dad-11d1-80b4-00c04fd430c8")
    return octets


def _boolean(value: Any, _type: pa.DataType) -> Value:
    if isinstance(value, str):
        word = value.strip().casefold()
        if word not in _WORDS:
            raise ValueError(f"{value_text(value)} is neither true nor false")
        value = _WORDS[word]
    if not isinstance(value, bool):
        raise ValueError(f"{value_text(value)} is neither true nor false")
    return Value(value, value)


_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_WORDS = {"true": True, "t": True, "yes": True, "y": True, "1": True}
_WORDS |= {"false": False, "f": False, "no": False, "n": False, "0": False}


def _moment(value: Any, type_: pa.DataType) -> Value:
    zone = type_.tz if types.is_timestamp(type_) else None
    display, extra_ns = value, getattr(value, "nanosecond", 0)
    if isinstance(value, str):
        moment, extra_ns = moment_from_text(value.strip())
        display = value.strip() if extra_ns else moment
    elif isinstance(value, dt.date):
        moment = value  # type: ignore[assignment]
        display = value.isoformat(sep=" ") if extra_ns and isinstance(value, dt.datetime) else value
    else:
        raise ValueError(f"{value_text(value)} is not a date")
    return Value(display, _count(moment_ns(moment, zone) + extra_ns, type_))


def _date(value: Any, type_: pa.DataType) -> Value:
    moment = _moment(value, type_)
    display = moment.shown_value
    if isinstance(display, dt.datetime) and moment.exact * unit_ns(type_) % DAY_NS == 0:
        display = display.date()
    return Value(display, moment.exact)


def _clock(value: Any, type_: pa.DataType) -> Value:
    if isinstance(value, str):
        clock, ns = time_from_text(value.strip())
        return Value(value.strip() if ns % 1000 else clock, _count(ns, type_))
    if not isinstance(value, dt.time) or value.tzinfo is not None:
        raise ValueError(f"{value_text(value)} is not a time of day without a zone")
    return Value(value, _count(time_ns(value), type_))


def _span(value: Any, type_: pa.DataType) -> Value:
    if isinstance(value, str):
        return Value(value.strip(), _count(span_from_text(value), type_))
    if not isinstance(value, dt.timedelta):
        raise ValueError(f"{value_text(value)} is not a span of time")
    ns = span_ns(value)
    return Value(span_text(ns) if ns % 1000 else value, _count(ns, type_))


def _moment_of_numpy(value: np.datetime64) -> str:
    """A timestamp as text: years, months and weeks become their first day, hours their first minute."""
    unit = np.datetime_data(value.dtype)[0]
    coarse = {"Y": "D", "M": "D", "W": "D", "h": "m"}.get(unit)
    return str(value if coarse is None else value.astype(f"datetime64[{coarse}]"))


def _span_of_numpy(value: np.timedelta64) -> dt.timedelta | str | np.timedelta64:
    """A duration, as text if it is finer than Python's; years and months have no fixed length."""
    if np.datetime_data(value.dtype)[0] in ("Y", "M", "generic"):
        return value
    ns = int(value.astype("timedelta64[ns]").astype(np.int64))
    return span_text(ns) if ns % 1000 else dt.timedelta(microseconds=ns // 1000)


def _count(ns: int, type_: pa.DataType) -> int | Fraction:
    exact = Fraction(ns, unit_ns(type_))
    return int(exact) if exact.denominator == 1 else exact


def _incomparable(_value: Any, _type: pa.DataType) -> Value:
    raise ValueError("such values cannot be compared")


_CONVERTERS: dict[Kind, Callable[[Any, pa.DataType], Value]] = {
    Kind.INTEGER: _integer,
    Kind.FLOAT: _float,
    Kind.DECIMAL: _integer,
    Kind.TEXT: _text,
    Kind.DATE: _date,
    Kind.TIMESTAMP: _moment,
    Kind.TIME: _clock,
    Kind.DURATION: _span,
    Kind.BOOLEAN: _boolean,
    Kind.BINARY: _binary,
    Kind.UUID: _uuid,
    Kind.LIST: _incomparable,
    Kind.OTHER: _incomparable,
}


Exact = int | Fraction | float
"""An exact number; a float only if it is infinite."""

NarrowedTest = tuple[str, int] | bool
"""A comparison, or its answer for all values that are not null."""


def narrow(how: str, value: Exact, low: int, high: int) -> NarrowedTest:
    """Reduce a comparison to a column's range. `how` is eq, lt, lte, gt or gte; the column has integers from
    `low` to `high`."""
    if isinstance(value, float):
        value = high + 1 if value > 0 else low - 1
    if how == "eq":
        return ("eq", int(value)) if value == int(value) and low <= value <= high else False
    bound = math.floor(value) if how in ("gt", "lte") else math.ceil(value)
    first = low + 1 if how in ("lt", "gte") else low
    above = how in ("gt", "gte")
    if bound < first:
        return above
    if bound > high - (how in ("gt", "lte")):
        return not above
    return how, bound


def narrow_values(values: Sequence[Exact], low: int, high: int) -> Sequence[int]:
    """The values that a column of integers from `low` to `high` can hold."""
    if set(map(type, values)) == {int} and low <= min(values) and max(values) <= high:
        return cast(Sequence[int], values)
    narrowed = (narrow("eq", value, low, high) for value in values)
    return [pair[1] for pair in narrowed if not isinstance(pair, bool)]


def narrow_division(divisor: int, remainder: int, low: int, high: int) -> list[int] | None:
    """The only values that leave `remainder`, if the column cannot hold a multiple of `divisor` above 0; None
    if it can."""
    if abs(remainder) >= divisor:
        return []
    if divisor <= high:
        return None
    multiples = [-divisor] if remainder == 0 and low <= -divisor else []
    return [*multiples, remainder] if low <= remainder <= high else multiples


def narrow_float(how: str, value: Exact, width: type[np.floating[Any]]) -> tuple[str, float] | bool:
    """The same for floats; `width` is the column's own, such as `numpy.float32`.

    A number with a fraction means the nearest one that the column can hold, as it is shown; an integer that
    it cannot hold, or a number beyond its range, is compared exactly.
    """
    near = nearest_float(value, width)
    unending = isinstance(value, float) and not math.isfinite(value)
    if near == value or unending or (value % 1 and math.isfinite(near)):
        return how, near
    if how == "eq":
        return False
    below = near if near < value else float(np.nextafter(width(near), width(-np.inf)))
    return ("gt" if how in ("gt", "gte") else "lte"), below


def nearest_float(value: Exact, width: type[np.floating[Any]]) -> float:
    try:
        near = float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    with np.errstate(over="ignore"):
        return float(width(near))


def float_width(type_: pa.DataType) -> type[np.floating[Any]]:
    return _WIDTHS[type_.bit_width]


_WIDTHS: dict[int, type[np.floating[Any]]] = {16: np.float16, 32: np.float32, 64: np.float64}
