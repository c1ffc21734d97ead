"""Spans of time as whole nanoseconds, from Python values and from text: `1 day 2:30:00`, `90 s`."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal

_UNITS_NS = {
    "w": 604_800 * 10**9,
    "d": 86_400 * 10**9,
    "h": 3_600 * 10**9,
    "min": 60 * 10**9,
    "s": 10**9,
    "ms": 10**6,
    "us": 10**3,
    "ns": 1,
}
_NAMES = {
    **{unit: unit for unit in _UNITS_NS},
    "week": "w",
    "day": "d",
    "hour": "h",
    "m": "min",
    "minute": "min",
    "sec": "s",
    "second": "s",
    "millisecond": "ms",
    "µs": "us",
    "microsecond": "us",
    "nanosecond": "ns",
}
_CLOCK = r"(?P<hours>\d+):(?P<minutes>[0-5]?\d)(?::(?P<seconds>[0-5]?\d(?:\.\d{1,9})?))?"
_PART = r"\d+(?:\.\d+)?\s*[a-zµ]+"
_SPAN = re.compile(rf"(?P<sign>[+-])?\s*(?P<parts>(?:{_PART}[\s,]*)*)(?:{_CLOCK})?", re.IGNORECASE)
_ONE_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([a-zµ]+)", re.IGNORECASE)


def span_from_text(text: str) -> int:
    """Raises ValueError for what is no span, or is finer than a nanosecond."""
    match = _SPAN.fullmatch(text.strip())
    if not match or not (match["parts"] or match["hours"]):
        raise ValueError("write a span of time as 1:30:00 or with units, such as 90 s or 2 d 3 h")
    whole = sum((_part(count, unit) for count, unit in _ONE_PART.findall(match["parts"])), Decimal(0))
    if match["hours"]:
        seconds = int(match["hours"]) * 3600 + int(match["minutes"]) * 60 + Decimal(match["seconds"] or 0)
        whole += seconds * 10**9
    if whole % 1:
        raise ValueError("a span of time is told in nanoseconds at the finest")
    return -int(whole) if match["sign"] == "-" else int(whole)


def span_text(ns: int) -> str:
    """Read back by `span_from_text` as the same span: `-1 d 2:03:04.5`."""
    days, rest = divmod(abs(ns), _UNITS_NS["d"])
    seconds, fraction = divmod(rest, 10**9)
    clock = f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    fine = f".{fraction:09d}".rstrip("0") if fraction else ""
    return ("-" if ns < 0 else "") + (f"{days} d " if days else "") + clock + fine


def span_ns(span: dt.timedelta) -> int:
    """Of pandas' Timedelta with its nanoseconds."""
    whole = (span.days * 86_400 + span.seconds) * 10**9 + span.microseconds * 1000
    return whole + int(getattr(span, "nanoseconds", 0))


def saved_span(text: str) -> dt.timedelta | str:
    """From `span_text`; as text where it is finer or longer than Python's values are. Raises ValueError."""
    ns = span_from_text(text)
    if ns % 1000:
        return text
    try:
        return dt.timedelta(microseconds=ns // 1000)
    except OverflowError:
        return text


def _part(count: str, unit: str) -> Decimal:
    name = unit.casefold()
    known = _NAMES.get(name) or _NAMES.get(name.removesuffix("s"))
    if known is None:
        raise ValueError(f"'{unit}' is no unit of time; there are {', '.join(_UNITS_NS)}")
    return Decimal(count) * _UNITS_NS[known]
