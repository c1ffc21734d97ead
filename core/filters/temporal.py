"""Converts dates, times and durations, as Python values or text, to whole numbers of nanoseconds."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from lamella.core.arrow.arrays import from_values

UNIT_NS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
DAY_NS = 86_400 * 10**9

_TIME = r"(\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?"
_ISO = re.compile(
    rf"(\d{{4}})-(\d{{1,2}})-(\d{{1,2}})(?:[T ]\s*{_TIME})?\s*(Z|[+-]\d{{2}}:?\d{{2}}(?::?\d{{2}})?)?",
    re.IGNORECASE,
)
_CLOCK = re.compile(_TIME)
_OFFSET = re.compile(r"([+-])(\d{2}):?(\d{2})(?::?(\d{2}))?")
_SECOND_TIME = " fold=1"
_NANOSECONDS = re.compile(r"\.\d{6}\d*[1-9]")
_EPOCH = dt.datetime(1970, 1, 1)
_WHOLE_MINUTES_FROM = 2 * 365 * DAY_NS
"""1972: since then no zone's offset has seconds."""
_FAR_NS = 30_000 * 365 * DAY_NS
"""Times further away than this are formatted here: Arrow's calendar ends with the year 32767."""


def unit_ns(type_: pa.DataType) -> int:
    """The number of nanoseconds in one unit of the type."""
    if types.is_date(type_):
        return DAY_NS if types.is_date32(type_) else 10**6
    return UNIT_NS[type_.unit]


def range_of(type_: pa.DataType) -> tuple[int, int]:
    """The least and the greatest count that the type can represent, in its own unit."""
    if types.is_time(type_):
        return 0, DAY_NS // unit_ns(type_) - 1
    half = 2 ** (type_.bit_width - 1)
    return -half, half - 1


def time_from_text(text: str) -> tuple[dt.time, int]:
    """Parse a time of day; return it, and its nanoseconds since midnight."""
    match = _CLOCK.fullmatch(text)
    if not match:
        raise ValueError("write a time as hours:minutes:seconds, such as 17:30 or 17:30:05.25")
    hour, minute, second, fraction = match.groups()
    ns = _fraction_ns(fraction)
    clock = dt.time(int(hour), int(minute), int(second or 0), ns // 1000)
    return clock, time_ns(clock) + ns % 1000


def time_ns(clock: dt.time) -> int:
    seconds = clock.hour * 3600 + clock.minute * 60 + clock.second
    return seconds * 10**9 + clock.microsecond * 1000


def moment_from_text(text: str) -> tuple[dt.datetime, int]:
    """Parse a timestamp; return it, and its nanoseconds past the last microsecond. A date alone means
    midnight."""
    match = _ISO.fullmatch(text)
    if not match:
        raise ValueError("write a date as year-month-day, such as 2013-01-31 or 2013-01-31 17:30:05")
    year, month, day, hour, minute, second, fraction, offset = match.groups()
    ns = _fraction_ns(fraction)
    parts = [int(part or 0) for part in (year, month, day, hour, minute, second)]
    return dt.datetime(*parts, ns // 1000, tzinfo=_offset(offset)), ns % 1000  # type: ignore[misc,arg-type]


def moment_text(moment: dt.datetime) -> str:
    """The timestamp in ISO format, plus a mark that ISO lacks: the second occurrence of a repeated local
    time."""
    return moment.isoformat() + (_SECOND_TIME if moment.fold and moment.tzinfo is None else "")


def iso_texts(values: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Format dates and timestamps with Arrow, except where it is wrong: for distant ones, and for local times
    before 1972, whose offsets it truncates to minutes. These get seconds, `+00:53:28`; without them they
    would read back as other times."""
    texts, odd = values.cast(pa.string()), _with_seconds(values) | far_texts(values)
    if not odd:
        return texts
    return from_values([odd.get(place, text) for place, text in enumerate(texts.to_pylist())], pa.string())


def far_texts(values: pa.Array | pa.ChunkedArray) -> dict[int, str]:
    """Texts of dates and timestamps more than 30,000 years away, by index, in UTC if they have a zone. Arrow
    writes wrong ones, or fails."""
    type_, counts = values.type, _counts(values)
    step, ends = unit_ns(type_), pc.min_max(counts).as_py()
    if ends["min"] is None or max(abs(ends["min"]), abs(ends["max"])) * step <= _FAR_NS:
        return {}
    far = [(p, n) for p, n in enumerate(counts.to_pylist()) if n is not None and abs(n) * step > _FAR_NS]
    if types.is_date(type_):
        return {place: str(np.datetime64(n * step // DAY_NS, "D")) for place, n in far}
    zone = "Z" if type_.tz else ""
    return {place: str(np.datetime64(n, type_.unit)).replace("T", " ") + zone for place, n in far}


def _with_seconds(values: pa.Array | pa.ChunkedArray) -> dict[int, str]:
    """Texts of local times whose offset has seconds, by index."""
    if types.is_date(values.type) or values.type.tz is None:
        return {}
    counts, step = _counts(values), unit_ns(values.type)
    least = pc.min(counts).as_py()
    if least is None or least * step >= _WHOLE_MINUTES_FROM:
        return {}
    shifts = pc.subtract(pc.local_timestamp(values).cast(pa.int64()), counts).to_pylist()
    seconds = [0 if n is None else abs(n * step) // 10**9 % 60 for n in shifts]
    rows = enumerate(zip(values.cast(pa.string()).to_pylist(), seconds, strict=True))
    return {place: f"{text[:-2]}:{text[-2:]}:{n:02}" for place, (text, n) in rows if n}


def _counts(values: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    return values.cast(pa.int32() if types.is_date32(values.type) else pa.int64())


def saved_moment(text: str) -> dt.datetime | str:
    """Parse the output of `moment_text`, or any ISO timestamp; returns text if it is finer than Python's
    values.

    Raises ValueError.
    """
    again = text.endswith(_SECOND_TIME)
    moment = dt.datetime.fromisoformat(text.removesuffix(_SECOND_TIME))
    if _NANOSECONDS.search(text):
        moment_from_text(text)
        return text
    return moment.replace(fold=1) if again else moment


def saved_time(text: str) -> dt.time | str:
    """The same for a time of day."""
    clock = dt.time.fromisoformat(text)
    if _NANOSECONDS.search(text):
        time_from_text(text)
        return text
    return clock


def moment_ns(moment: dt.date, zone: str | None) -> int:
    """Nanoseconds since 1970-01-01: UTC if the column has a `zone`, in which values without a zone are
    taken."""
    if not isinstance(moment, dt.datetime):
        moment = dt.datetime(moment.year, moment.month, moment.day)
    if zone is None and moment.tzinfo is not None:
        raise ValueError("the column has no time zone, so leave the zone of the value out")
    if zone is not None and moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone_named(zone))
    if moment.tzinfo is not None:
        shift = moment.utcoffset() or dt.timedelta()
        since = moment.replace(tzinfo=None) - _EPOCH - shift
    else:
        since = moment - _EPOCH
    return (since.days * 86_400 + since.seconds) * 10**9 + since.microseconds * 1000


def zone_named(name: str) -> dt.tzinfo:
    if match := _OFFSET.fullmatch(name):
        return _offset(match.group()) or dt.UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(f"its time zone '{name}' is unknown on this machine") from error


def _fraction_ns(digits: str | None) -> int:
    return int((digits or "0").ljust(9, "0"))


def _offset(text: str | None) -> dt.tzinfo | None:
    if text is None:
        return None
    match = _OFFSET.fullmatch(text)
    if not match:
        return dt.UTC
    sign, hours, minutes, seconds = match.groups()
    shift = dt.timedelta(hours=int(hours), minutes=int(minutes), seconds=int(seconds or 0))
    return dt.timezone(-shift if sign == "-" else shift)


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
_DURATION_CLOCK = r"(?P<hours>\d+):(?P<minutes>[0-5]?\d)(?::(?P<seconds>[0-5]?\d(?:\.\d{1,9})?))?"
_PART = r"\d+(?:\.\d+)?\s*[a-zµ]+"
_SPAN = re.compile(rf"(?P<sign>[+-])?\s*(?P<parts>(?:{_PART}[\s,]*)*)(?:{_DURATION_CLOCK})?", re.IGNORECASE)
_DAYS_BELOW_ZERO = re.compile(r"-(\d+) days?(?:, | \+)(\d+:\d\d:\d\d(?:\.\d{1,9})?)")
"""Negative durations as Python and pandas write them: `-1 day, 23:00:00` is minus one hour."""
_ONE_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([a-zµ]+)", re.IGNORECASE)


def span_from_text(text: str) -> int:
    """Parse a duration, in nanoseconds. Raises ValueError for invalid text, or if it is finer than a
    nanosecond."""
    match = _SPAN.fullmatch(text.strip())
    if days := _DAYS_BELOW_ZERO.fullmatch(text.strip()):
        return span_from_text(days[2]) - int(days[1]) * _UNITS_NS["d"]
    if not match or not (match["parts"] or match["hours"]):
        raise ValueError("write a span of time as 1:30:00 or with units, such as 90 s or 2 d 3 h")
    whole = sum((_part(count, unit) for count, unit in _ONE_PART.findall(match["parts"])), Decimal(0))
    if match["hours"]:
        seconds = int(match["hours"]) * 3600 + int(match["minutes"]) * 60 + Decimal(match["seconds"] or 0)
        whole += seconds * 10**9
    if whole % 1:
        raise ValueError("a span of time cannot be finer than nanoseconds")
    return -int(whole) if match["sign"] == "-" else int(whole)


def span_text(ns: int) -> str:
    """Format a duration so that `span_from_text` reads it back: `-1 d 2:03:04.5`."""
    days, remainder = divmod(abs(ns), _UNITS_NS["d"])
    seconds, fraction = divmod(remainder, 10**9)
    clock = f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    fine = f".{fraction:09d}".rstrip("0") if fraction else ""
    return ("-" if ns < 0 else "") + (f"{days} d " if days else "") + clock + fine


def span_ns(span: dt.timedelta) -> int:
    """A duration in nanoseconds, including those of pandas' Timedelta."""
    whole = (span.days * 86_400 + span.seconds) * 10**9 + span.microseconds * 1000
    return whole + int(getattr(span, "nanoseconds", 0))


def saved_span(text: str) -> dt.timedelta | str:
    """Parse the output of `span_text`; returns text if it is finer or longer than Python's values. Raises
    ValueError."""
    ns = span_from_text(text)
    if ns % 1000:
        return text
    try:
        return dt.timedelta(microseconds=ns // 1000)
    except OverflowError:
        return text


def _part(count: str, unit: str) -> Decimal:
    name = unit.casefold()
    part = _NAMES.get(name) or _NAMES.get(name.removesuffix("s"))
    if part is None:
        raise ValueError(f"'{unit}' is not a unit of time; there are {', '.join(_UNITS_NS)}")
    return Decimal(count) * _UNITS_NS[part]
