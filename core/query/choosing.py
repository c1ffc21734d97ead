"""Functions that choose one of their values, and casts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce

import pyarrow as pa
from pyarrow import types as is_
from sqlglot import exp

from lamella.core.filters.kinds import NUMBERS, ORDERED, Kind, kind_of
from lamella.core.query.common_type import changed, common_type, in_common, or_error, per_second
from lamella.core.query.duckdb_types import sql_type
from lamella.core.query.operand import Value
from lamella.core.query.read_text import left_out
from lamella.core.query.sql_parts import case, cast_to, func, number, try_cast

Made = tuple[exp.Expr, pa.DataType] | None
_CASTABLE = NUMBERS | {Kind.TEXT, Kind.BOOLEAN, Kind.DATE, Kind.TIMESTAMP, Kind.TIME}


def coalesce(values: Sequence[Value]) -> Made:
    found = in_common(values)
    return found and (func("coalesce", *found[0]), found[1])


def extreme(name: str) -> Callable[[Sequence[Value]], Made]:
    def made(values: Sequence[Value]) -> Made:
        found = in_common(values)
        if found is None or kind_of(found[1]) not in ORDERED:
            return None
        return func(name, *found[0]), found[1]

    return made


def when(values: Sequence[Value]) -> Made:
    condition, *chosen = values
    found = in_common(chosen) if is_.is_boolean(condition.type) else None
    return found and (case(condition.sql, *found[0]), found[1])


def as_type(values: Sequence[Value]) -> Made:
    """A value that the other type cannot hold exactly ends the query."""
    from lamella.core.store.column_types import type_named

    value, kind = values[0], type_named(values[1].given)
    if is_.is_null(value.type):
        return cast_to(exp.Null(), kind), kind
    if kind_of(value.type) not in _CASTABLE or kind_of(kind) not in _CASTABLE or sql_type(kind) is None:
        return None
    if is_.is_decimal256(value.type) or is_.is_decimal256(kind):
        return None
    if not _related(value.type, kind):
        return None
    made = try_cast(value.sql, sql_type(kind) or "")
    lost = [exp.Is(this=made, expression=exp.Null()), *_losses(value, kind, made)]
    return or_error(value, kind, reduce(lambda a, b: exp.Or(this=a, expression=b), lost), made), kind


def _losses(value: Value, kind: pa.DataType, made: exp.Expr) -> Iterator[exp.Expr]:
    """Where DuckDB's cast may have rounded or left something out: whether it did."""
    if kind_of(kind) is Kind.TEXT:
        return
    if (is_.is_timestamp(kind) or is_.is_time(kind)) and kind.unit in ("s", "ms"):
        rest = exp.Mod(this=func("epoch_us", made), expression=number(10**6 // per_second(kind.unit)))
        yield exp.NEQ(this=rest, expression=number(0))
    if kind_of(value.type) is Kind.TEXT:
        yield from left_out(value.sql, kind, made)
    elif _may_round(value.type, kind):
        yield changed(value, made)


def _related(old: pa.DataType, new: pa.DataType) -> bool:
    """Whether values of the one can be read as the other at all."""
    families = {kind_of(old), kind_of(new)}
    plain = NUMBERS | {Kind.BOOLEAN}
    moments = {Kind.DATE, Kind.TIMESTAMP}
    zones = {kind.tz is None for kind in (old, new) if is_.is_timestamp(kind)}
    if families <= moments:
        return len(zones) <= 1 and (True not in map(_zoned, (old, new)) or families == {Kind.TIMESTAMP})
    return len(families) == 1 or Kind.TEXT in families or families <= plain


def _zoned(kind: pa.DataType) -> bool:
    return bool(is_.is_timestamp(kind) and kind.tz is not None)


def _may_round(old: pa.DataType, new: pa.DataType) -> bool:
    joined = common_type([old, new])
    return joined is None or not joined.equals(new) or is_.is_floating(new) != is_.is_floating(old)
