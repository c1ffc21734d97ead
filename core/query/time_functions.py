"""Functions of dates, timestamps and times of day. Those with a time zone are seen in it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence

import pyarrow as pa
from pyarrow import types as is_
from sqlglot import exp

from core.filters.temporal import zone_named
from core.query.operand import Value
from core.query.sql_parts import cast, cast_to, func, number, text

Made = tuple[exp.Expr, pa.DataType] | None
UNITS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second")
_OF_CLOCKS = frozenset({"hour", "minute", "second"})


def part(name: str) -> Callable[[Sequence[Value]], Made]:
    """A part of a date or a time by DuckDB's name for it, as a whole number."""

    def made(values: Sequence[Value]) -> Made:
        kind = values[0].type
        known = is_.is_timestamp(kind) or (is_.is_time(kind) if name in _OF_CLOCKS else is_.is_date(kind))
        return (func("date_part", text(name), _local(values[0])), pa.int64()) if known else None

    return made


def day(values: Sequence[Value]) -> Made:
    return (cast(_local(values[0]), "DATE"), pa.date32()) if _is_moment(values[0]) else None


def truncated(values: Sequence[Value]) -> Made:
    """Days stay days, timestamps stay timestamps of their unit and zone."""
    value, unit = values[0], values[1].given
    if not _is_moment(value) or unit not in UNITS:
        return None
    if is_.is_date(value.type):
        return (
            (cast(func("date_trunc", text(unit), value.sql), "DATE"), pa.date32())
            if UNITS.index(unit) <= UNITS.index("day")
            else None
        )
    begun = func("date_trunc", text(unit), _local(value))
    return cast_to(_back(begun, value.type), value.type), value.type


def _is_moment(value: Value) -> bool:
    return bool(is_.is_timestamp(value.type) or is_.is_date(value.type))


def _local(value: Value) -> exp.Expr:
    """What clocks showed; DuckDB knows zones by name, but none by its distance from UTC."""
    if not is_.is_timestamp(value.type) or value.type.tz is None:
        return value.sql
    ahead = _ahead(value.type.tz)
    if ahead is None:
        return func("timezone", text(value.type.tz), cast(value.sql, "TIMESTAMPTZ"))
    plain = func("timezone", text("UTC"), cast(value.sql, "TIMESTAMPTZ"))
    return exp.Add(this=plain, expression=func("to_seconds", number(ahead)))


def _back(local: exp.Expr, kind: pa.DataType) -> exp.Expr:
    if kind.tz is None:
        return local
    ahead = _ahead(kind.tz)
    if ahead is None:
        return func("timezone", text(kind.tz), cast(local, "TIMESTAMP"))
    plain = exp.Sub(this=cast(local, "TIMESTAMP"), expression=func("to_seconds", number(ahead)))
    return func("timezone", text("UTC"), exp.Paren(this=plain))


def _ahead(zone: str) -> int | None:
    """Seconds ahead of UTC, for a zone that is a distance and not a place."""
    found = zone_named(zone)
    if isinstance(found, dt.timezone):
        return round(found.utcoffset(None).total_seconds())
    return None
