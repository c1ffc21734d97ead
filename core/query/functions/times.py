"""Functions of dates, timestamps and times of day. Values with a time zone are taken in that zone."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from typing import TypeAlias

import pyarrow as pa
from pyarrow import types as is_

from lamella.core.filters.temporal import zone_named
from lamella.core.libraries import exp
from lamella.core.query.fields import Value, case, cast, cast_to, func, number, paren, text

TypedSql: TypeAlias = "tuple[exp.Expr, pa.DataType] | None"
UNITS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second")
_OF_CLOCKS = frozenset({"hour", "minute", "second"})


def part(name: str) -> Callable[[Sequence[Value]], TypedSql]:
    """A part of a date or time, by DuckDB's name for it, as a whole number."""

    def compile_call(values: Sequence[Value]) -> TypedSql:
        kind = values[0].type
        fits = is_.is_timestamp(kind) or (is_.is_time(kind) if name in _OF_CLOCKS else is_.is_date(kind))
        return (func("date_part", text(name), _local(values[0])), pa.int64()) if fits else None

    return compile_call


def day(values: Sequence[Value]) -> TypedSql:
    return (cast(_local(values[0]), "DATE"), pa.date32()) if _is_moment(values[0]) else None


def truncate(values: Sequence[Value]) -> TypedSql:
    """Truncate a date or timestamp. Dates stay dates; timestamps keep their unit and zone."""
    value, unit = values[0], values[1].literal
    if not _is_moment(value) or unit not in UNITS:
        return None
    if is_.is_date(value.type):
        return (
            (cast(func("date_trunc", text(unit), value.sql), "DATE"), pa.date32())
            if UNITS.index(unit) <= UNITS.index("day")
            else None
        )
    begun = func("date_trunc", text(unit), _local(value))
    if value.type.tz is None or _ahead(value.type.tz) is not None:
        return cast_to(_back(begun, value.type.tz), value.type), value.type
    instant = _begin_of_clock(value, begun) if unit in _OF_CLOCKS else _begin_of_day(begun, value.type.tz)
    return cast_to(instant, value.type), value.type


def microseconds(value: exp.Expr, kind: pa.DataType) -> exp.Expr:
    """Microseconds since 1970-01-01 UTC, or since midnight. DuckDB's own cast rounds nanoseconds up, even
    into the next year."""
    if not is_fine(kind):
        return func("epoch_us", value)
    count, whole = func("epoch_ns", value), number(1000)
    below = exp.LT(this=paren(exp.Mod(this=count, expression=whole)), expression=number(0))
    cut = exp.IntDiv(this=count, expression=whole)
    return paren(exp.Sub(this=cut, expression=case(below, number(1), number(0))))


def is_fine(kind: pa.DataType) -> bool:
    """Whether values are in nanoseconds."""
    return bool((is_.is_timestamp(kind) or is_.is_time(kind)) and kind.unit == "ns")


def _is_moment(value: Value) -> bool:
    return bool(is_.is_timestamp(value.type) or is_.is_date(value.type))


def _local(value: Value) -> exp.Expr:
    """The local time. DuckDB knows zones by name, but not by offset from UTC."""
    kind = value.type
    if not is_.is_timestamp(kind):
        return value.sql
    if kind.tz is None:
        return func("make_timestamp", microseconds(value.sql, kind)) if is_fine(kind) else value.sql
    return _at_zone(_instant(value), kind.tz)


def _instant(value: Value) -> exp.Expr:
    if not is_fine(value.type):
        return cast(value.sql, "TIMESTAMPTZ")
    return func("timezone", text("UTC"), func("make_timestamp", microseconds(value.sql, value.type)))


def _at_zone(instant: exp.Expr, zone: str) -> exp.Expr:
    ahead = _ahead(zone)
    if ahead is None:
        return func("timezone", text(zone), instant)
    return paren(exp.Add(this=func("timezone", text("UTC"), instant), expression=_seconds(ahead)))


def _back(local: exp.Expr, zone: str | None) -> exp.Expr:
    """The instant with this local time; the later one if there are two."""
    if zone is None:
        return local
    ahead = _ahead(zone)
    if ahead is None:
        return func("timezone", text(zone), cast(local, "TIMESTAMP"))
    plain = exp.Sub(this=cast(local, "TIMESTAMP"), expression=_seconds(ahead))
    return func("timezone", text("UTC"), paren(plain))


def _begin_of_clock(value: Value, begun: exp.Expr) -> exp.Expr:
    """Subtract the time passed since the start of the unit, which tells apart an hour that occurs twice; not
    if clocks were changed in between."""
    passed = paren(exp.Sub(this=_local(value), expression=begun))
    before = paren(exp.Sub(this=_instant(value), expression=passed))
    return _prefer_instant(before, begun, value.type.tz)


def _begin_of_day(begun: exp.Expr, zone: str) -> exp.Expr:
    """The start of a day. If midnight occurs twice, the first one, using the offset of the day before."""
    day_before = paren(exp.Sub(this=_back(begun, zone), expression=func("to_hours", number(24))))
    ahead = paren(
        exp.Sub(this=_at_zone(day_before, zone), expression=func("timezone", text("UTC"), day_before))
    )
    first = func("timezone", text("UTC"), paren(exp.Sub(this=cast(begun, "TIMESTAMP"), expression=ahead)))
    return _prefer_instant(first, begun, zone)


def _prefer_instant(instant: exp.Expr, local: exp.Expr, zone: str) -> exp.Expr:
    """The instant if it has this local time, otherwise the instant found from the local time."""
    return case(exp.EQ(this=_at_zone(instant, zone), expression=local), instant, _back(local, zone))


def _seconds(count: int) -> exp.Expr:
    return func("to_seconds", number(count))


def _ahead(zone: str) -> int | None:
    """Seconds ahead of UTC, for a zone that is an offset; None for a place."""
    zone_info = zone_named(zone)
    if isinstance(zone_info, dt.timezone):
        return round(zone_info.utcoffset(None).total_seconds())
    return None
