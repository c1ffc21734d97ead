"""The ends of ranges of a column's values: given, or of one width from its least value to its greatest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pyarrow as pa
from pyarrow import types as is_
from sqlglot import exp

from lamella.core.filters.expr import Predicate
from lamella.core.filters.kinds import COUNTED, Kind, kind_of, value_type
from lamella.core.filters.narrowing import float_width, nearest_float
from lamella.core.filters.sql_literals import in_sql_units, literal, sql_range, sql_unit_ns
from lamella.core.filters.temporal import unit_ns
from lamella.core.filters.values import convert, value_range
from lamella.core.query.fields import Field, Fields
from lamella.core.query.sql_parts import cast, cast_to, column, number
from lamella.core.query.typed import condition

Exact = Any


@dataclass(frozen=True)
class Ends:
    """`exact` are the ends without error, counted as DuckDB counts them, and `type` holds each of them.
    `asked` are those that were given, which mean what they mean in a filter."""

    type: pa.DataType
    exact: Sequence[Exact]
    asked: Sequence[Any] | None = None

    def __len__(self) -> int:
        return len(self.exact)

    def written(self, place: int) -> exp.Expr:
        return _written(self.exact[place], self.type)

    def passed(self, place: int, field: Field, fields: Fields) -> exp.Expr:
        """Whether a value lies behind an end: the last range has its `high` too."""
        last = place == len(self) - 1
        if self.asked is not None:
            asked = Predicate(field.name, "gt" if last else "gte", (self.asked[place],))
            return condition(asked, fields)[0]
        make = exp.GT if last else exp.GTE
        return make(this=column(field.identifier), expression=self.written(place))


def given(edges: Sequence[Any], kind: pa.DataType) -> Ends:
    """Raises `ValueError` for what cannot be compared with the column, or does not ascend."""
    exact = [convert(edge, kind).exact for edge in edges]
    if not all(a < b for a, b in pairwise(exact)):
        raise ValueError("the ends do not ascend; give each once, the least first")
    found = _held(exact, kind)
    return Ends(found, [_in(one, kind, found) for one in exact], edges)


def spread(low: pa.Scalar, high: pa.Scalar, parts: int) -> Ends:
    """So many ranges at most, from the least value to the greatest: what lies between are whole numbers of
    the type's steps, and the last range may be narrower."""
    kind = value_type(low.type)
    if not low.is_valid:
        return Ends(kind, [])
    if is_.is_floating(kind):
        return Ends(kind, _floats(low.as_py(), high.as_py(), parts, kind))
    first, last = _count(low, kind), _count(high, kind)
    step = max(1, unit_ns(kind) // sql_unit_ns(kind)) if kind_of(kind) in COUNTED else 1
    width = max(1, -(-(last - first) // (step * parts))) * step
    return Ends(kind, [*range(first, last, width), last] if first < last else [first, last])


def _count(value: pa.Scalar, kind: pa.DataType) -> int:
    if kind_of(kind) in COUNTED:
        return int(in_sql_units(value.value, kind))
    return int(convert(value.as_py(), kind).exact)


def _floats(low: float, high: float, parts: int, kind: pa.DataType) -> list[float]:
    width = high / parts - low / parts
    if math.isfinite(high - low):
        between = [low + width * place for place in range(1, parts)]
    else:
        between = [low * (1 - place / parts) + high * (place / parts) for place in range(1, parts)]
    kept = {nearest_float(end, float_width(kind)) for end in between}
    return [low, *sorted(end for end in kept if low < end < high), high]


def _held(exact: Sequence[Exact], kind: pa.DataType) -> pa.DataType:
    """A type that holds the ends: the column's own where it does."""
    if kind_of(kind) in (Kind.TEXT, Kind.OTHER):
        return kind
    if kind_of(kind) is Kind.FLOAT:
        return kind if all(_near(one, kind) for one in exact) else pa.float64()
    if kind_of(kind) in COUNTED:
        return _moments(exact, kind)
    wider = pa.decimal128(38, kind.scale) if is_.is_decimal(kind) else pa.int64()
    return next((type_ for type_ in (kind, wider) if _whole(exact, *value_range(type_))), pa.float64())


def _near(exact: Exact, kind: pa.DataType) -> bool:
    """Whether a float of this width is what the number means in a filter."""
    near = nearest_float(exact, float_width(kind))
    return near == exact or (isinstance(exact, Fraction) and math.isfinite(near))


def _moments(exact: Sequence[Exact], kind: pa.DataType) -> pa.DataType:
    """Coarse moments may have ends that are finer."""
    counts = [in_sql_units(one, kind) for one in exact]
    if not _whole(counts, *sql_range(kind)):
        raise ValueError(f"{kind} is too coarse for the ends, or does not reach as far")
    if is_.is_date(kind) or is_.is_duration(kind) or _whole(exact, *value_range(kind)):
        return kind
    return pa.time64("us") if is_.is_time(kind) else pa.timestamp("us", kind.tz)


def _whole(counts: Sequence[Exact], least: int, most: int) -> bool:
    return all(isinstance(one, int) and least <= one <= most for one in map(_reduced, counts))


def _reduced(count: Exact) -> Exact:
    return int(count) if isinstance(count, Fraction) and count.denominator == 1 else count


def _in(exact: Exact, kind: pa.DataType, found: pa.DataType) -> Exact:
    if is_.is_floating(found):
        scale = kind.scale if is_.is_decimal(kind) else 0
        return nearest_float(exact / Fraction(10) ** scale if scale else exact, float_width(found))
    return _reduced(in_sql_units(exact, kind)) if kind_of(kind) in COUNTED else _reduced(exact)


def _written(exact: Exact, kind: pa.DataType) -> exp.Expr:
    if is_.is_duration(kind):
        return cast(number(exact), "BIGINT")
    return cast_to(literal(exact, kind), kind)
