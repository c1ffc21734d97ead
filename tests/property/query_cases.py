"""Random queries of random rows, as compatible steps."""

from __future__ import annotations

import datetime as dt
import math
import re
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st
from pyarrow import types as is_

from lamella import agg, col
from lamella.core.filters import Filter
from lamella.core.query.builder import Query
from lamella.core.query.expressions import Expression, coalesce, when
from lamella.core.query.steps import Aggregate, Facets

ZONE = "Europe/Berlin"
SCHEMA = pa.schema(
    [
        ("k", pa.string()),
        ("n", pa.int64()),
        ("N", pa.int32()),
        ("big", pa.int64()),
        ("f", pa.float64()),
        ("g", pa.float32()),
        ("d", pa.decimal128(10, 2)),
        ("day", pa.date32()),
        ("z", pa.timestamp("us", ZONE)),
        ("fine", pa.timestamp("ns")),
        ("b", pa.bool_()),
        ("tags", pa.list_(pa.int64())),
    ]
)
OTHER = pa.schema([("k", pa.string()), ("n", pa.int64()), ("w", pa.float64()), ("e", pa.decimal128(20, 3))])

TEXTS = ["a", "B", "ä", "", "日本", "a b"]
WHOLE = [-7, -1, 0, 1, 2, 3, 1_000_000]
FLOATS = [0.0, -0.0, 1.5, -2.25, 8.0, math.nan, math.inf]
DECIMALS = [Decimal("1.25"), Decimal("-3.10"), Decimal("0.00"), Decimal("99.99")]
DAYS = [dt.date(1969, 12, 31), dt.date(2024, 2, 29), dt.date(2024, 7, 1)]
MOMENTS = [
    dt.datetime(2024, 3, 31, 0, 30, tzinfo=dt.UTC),
    dt.datetime(2024, 3, 31, 1, 30, 0, 250, tzinfo=dt.UTC),
    dt.datetime(1950, 1, 1, tzinfo=dt.UTC),
]
FINE = [1_704_067_199_999_999_999, 1_704_067_200_000_000_000, 0, -1]
"""The last nanosecond of a year, and the first one of the next."""
AGGREGATED = re.compile(r"(.*£)?x\d+\.\d+")
LISTS = [[], [1], [2, None], [3, 3, 1]]
POOLS: dict[str, list[Any]] = {
    "k": TEXTS,
    "n": WHOLE,
    "N": WHOLE,
    "big": [2**53 + 1, 0, 1],
    "f": FLOATS,
    "g": [*FLOATS, 0.1],
    "d": DECIMALS,
    "day": DAYS,
    "z": MOMENTS,
    "fine": FINE,
    "b": [True, False],
    "tags": LISTS,
    "w": [*FLOATS, 2.0**53, -3.1, 1.25, 1.0],
    "e": [*DECIMALS, Decimal(2**53 + 1), Decimal("1.5"), Decimal(1)],
}


def rows(schema: pa.Schema, size: int, choose: Any) -> pa.Table:
    """A table whose cells are chosen from the pools, one in six of them null."""
    cells = {
        name: [None if choose.random() < 1 / 6 else choose.choice(POOLS[name]) for _ in range(size)]
        for name in schema.names
    }
    return pa.table({name: pa.array(values, schema.field(name).type) for name, values in cells.items()})


@st.composite
def questions(draw: st.DrawFn, table: Query, second: Query) -> list[Query]:
    """A query grown step by step: each item has one step more than the one before it."""
    grown = [table]
    for _ in range(draw(st.integers(1, 4))):
        make = draw(st.sampled_from(STEPS))
        longer = make(draw, grown[-1], second)
        if longer is not None:
            grown.append(longer)
        if any(isinstance(step, Facets) for step in grown[-1].pipeline.steps):
            break
    return grown


def where(draw: st.DrawFn, rows: Query, _second: Query) -> Query | None:
    name = one_of(draw, rows, comparable)
    return None if name is None else rows.where(condition(draw, rows, name))


def compute(draw: st.DrawFn, rows: Query, _second: Query) -> Query | None:
    expression = computed(draw, rows)
    name = draw(st.sampled_from(["made", "n", "made too"]))
    return None if expression is None else rows.compute(**{name: expression})


def select(draw: st.DrawFn, rows: Query, _second: Query) -> Query:
    names = rows.schema.names
    return rows.select(*draw(st.lists(st.sampled_from(names), min_size=1, max_size=4, unique=True)))


def group(draw: st.DrawFn, rows: Query, _second: Query) -> Query | None:
    keys = some_of(draw, rows, comparable, 0, 2)
    groups = rows.group_by(*keys).agg(**aggregates(draw, rows))
    if draw(st.booleans()):
        name = one_of(draw, groups, comparable)
        groups = groups if name is None else groups.having(condition(draw, groups, name))
    beside = draw(
        st.sampled_from([(False, False), (False, False), (True, False), (False, True), (True, True)])
    )
    return groups.with_totals(*beside) if any(beside) else groups


def sort(draw: st.DrawFn, rows: Query, _second: Query) -> Query | None:
    names = some_of(draw, rows, comparable, 1, 3)
    return rows.sort(*(draw(st.sampled_from(["", "-"])) + name for name in names)) if names else None


def limit(draw: st.DrawFn, rows: Query, _second: Query) -> Query:
    return rows.limit(draw(st.none() | st.integers(0, 9)), draw(st.integers(0, 3)))


def pivot(draw: st.DrawFn, rows: Query, _second: Query) -> Query | None:
    across = one_of(draw, rows, lambda kind: is_text(kind) or is_.is_integer(kind))
    if across is None:
        return None
    keys = [name for name in some_of(draw, rows, comparable, 0, 1) if name != across]
    values = draw(st.none() | st.just([None]))
    return rows.query().pivot(keys, across, values=values, **aggregates(draw, rows, prefix="£"))


def unpivot(draw: st.DrawFn, rows: Query, _second: Query) -> Query | None:
    whole = [field.name for field in rows.schema if is_.is_integer(field.type)]
    if not whole or {"name", "value"} & set(rows.schema.names):
        return None
    return rows.query().unpivot(draw(st.lists(st.sampled_from(whole), min_size=1, unique=True)))


def unwind(draw: st.DrawFn, rows: Query, _second: Query) -> Query | None:
    name = one_of(draw, rows, is_list)
    return None if name is None else rows.query().unwind(name, keep_empty=draw(st.booleans()))


def buckets(draw: st.DrawFn, rows: Query, _second: Query) -> Query | None:
    name = one_of(draw, rows, lambda kind: kind in EDGES)
    if name is None:
        return None
    return rows.query().buckets(
        name, EDGES[rows.schema.field(name).type], **aggregates(draw, rows, prefix="£")
    )


def buckets_by_number(draw: st.DrawFn, rows: Query, _second: Query) -> Query | None:
    name = one_of(draw, rows, is_.is_integer)
    if name is None:
        return None
    return rows.query().buckets(name, draw(st.integers(1, 7)), **aggregates(draw, rows, prefix="£"))


def sample(draw: st.DrawFn, rows: Query, _second: Query) -> Query:
    return rows.query().sample(draw(st.integers(0, 20)), draw(st.integers(-3, 3)))


def facets(draw: st.DrawFn, rows: Query, _second: Query) -> Query | None:
    """The last step, since its result is one row of lists."""
    keys = [name for name in some_of(draw, rows, comparable, 1, 3) if name != "n"]
    return rows.query().facets(**{f"facet {name}": name for name in keys}) if keys else None


def join(draw: st.DrawFn, rows: Query, second: Query) -> Query | None:
    how = draw(st.sampled_from(["inner", "left", "right", "full", "semi", "anti"]))
    suffix = f" {len(rows.pipeline.steps)}"
    texts = one_of(draw, rows, is_text)
    number = one_of(draw, rows, is_number)
    if texts is None or (number is not None and draw(st.booleans())):
        right = draw(st.sampled_from(["n", "w", "e"]))
        return number and rows.join(second, left_on=number, right_on=right, how=how, suffix=suffix)
    return rows.join(second, left_on=texts, right_on="k", how=how, suffix=suffix)


STEPS = [where, compute, compute, select, group, group, sort, limit, pivot, unpivot, unwind, buckets, join]
STEPS += [buckets_by_number, sample, facets]
EDGES: dict[pa.DataType, list[Any]] = {
    pa.int64(): [-1, 1, 3],
    pa.float64(): [-2.25, 0.5, 8.0],
    pa.decimal128(10, 2): [Decimal("-3.10"), Decimal("1.25")],
    pa.date32(): [dt.date(2024, 1, 1), dt.date(2024, 2, 29)],
}


def condition(draw: st.DrawFn, rows: Query, name: str) -> Filter:
    kind, column = rows.schema.field(name).type, col(name)
    if draw(st.integers(0, 4)) == 0:
        return draw(st.sampled_from([column.is_null(), column.not_null()]))
    if is_.is_boolean(kind):
        return draw(st.sampled_from([column.is_true(), ~column.is_true()]))
    value = draw(st.sampled_from(values_for(kind)))
    tests = [column == value, column != value, column > value, column <= value]
    return draw(st.sampled_from([*tests, column.is_in([value])]))


def values_for(kind: pa.DataType) -> list[Any]:
    if is_text(kind):
        return TEXTS
    if is_.is_floating(kind):
        return FLOATS
    if is_.is_decimal(kind):
        return DECIMALS
    if is_.is_date(kind):
        return DAYS
    if is_.is_timestamp(kind):
        return MOMENTS if kind.tz else [moment.replace(tzinfo=None) for moment in MOMENTS]
    return WHOLE


def computed(draw: st.DrawFn, rows: Query) -> Expression | None:
    number = one_of(draw, rows, lambda kind: is_number(kind) and not is_.is_decimal(kind))
    text = one_of(draw, rows, is_text)
    day = one_of(draw, rows, is_.is_date)
    moment = one_of(draw, rows, is_.is_timestamp)
    expressions: list[Any] = []
    if number is not None:
        column, operand = col(number), draw(st.sampled_from([2, -3, 0, 0.5, col(number)]))
        expressions += [
            column + operand,
            column - operand,
            column * 2,
            column / operand,
            -column,
            abs(column),
        ]
        expressions += [coalesce(column, 0), when(column > 0, column, -1), when(column.is_null(), 1, 0)]
        if is_.is_integer(rows.schema.field(number).type):
            expressions += [column // 2, column % 3, column // -2, column % -3, column % 0]
    if text is not None:
        column = col(text)
        expressions += [column + "!", column.length(), column.substring(0, 1), column.fill_null("–")]
        expressions.append(when(column == "a", "yes", column))
    if day is not None:
        expressions += [
            col(day).year(),
            col(day).month(),
            col(day).weekday(),
            col(day) + 1,
            col(day) - col(day),
        ]
    if moment is not None:
        expressions += [
            col(moment).hour(),
            col(moment).year(),
            col(moment).date(),
            col(moment).truncate("day"),
        ]
    return draw(st.sampled_from(expressions)) if expressions else None


def aggregates(draw: st.DrawFn, rows: Query, prefix: str = "") -> dict[str, Aggregate]:
    computed_columns = {}
    for number in range(draw(st.integers(1, 3))):
        computed_columns[f"{prefix}x{len(rows.pipeline.steps)}.{number}"] = draw(
            st.sampled_from(possible(draw, rows))
        )
    return computed_columns


def possible(draw: st.DrawFn, rows: Query) -> list[Aggregate]:
    name = one_of(draw, rows, comparable)
    filter_ = None if name is None or draw(st.booleans()) else condition(draw, rows, name)
    candidates = [agg.count(where=filter_)]
    number = one_of(draw, rows, is_number)
    if number is not None:
        of_numbers = (agg.sum, agg.mean, agg.stddev, agg.stddev_pop, agg.variance)
        candidates += [make(number, where=filter_) for make in of_numbers]
    if name is not None:
        ordered = (agg.count, agg.count_distinct, agg.min, agg.max, agg.first, agg.last, agg.median, agg.mode)
        candidates += [make(name, where=filter_) for make in (*ordered, agg.list, agg.distinct_list)]
        candidates.append(agg.quantile(name, 0.3, where=filter_))
    return candidates


def is_text(kind: pa.DataType) -> bool:
    return bool(is_.is_string(kind) or is_.is_large_string(kind))


def is_list(kind: pa.DataType) -> bool:
    return bool(is_.is_list(kind) or is_.is_large_list(kind))


def comparable(kind: pa.DataType) -> bool:
    return not is_.is_nested(kind)


def is_number(kind: pa.DataType) -> bool:
    return bool(is_.is_integer(kind) or is_.is_floating(kind) or is_.is_decimal(kind))


def is_exact(field: pa.Field) -> bool:
    """Whether the last digits are defined: those of a mean are not, so it is neither a key nor compared."""
    return not (is_.is_floating(field.type) and AGGREGATED.match(field.name))


def one_of(draw: st.DrawFn, rows: Query, fits: Any) -> str | None:
    names = [field.name for field in rows.schema if fits(field.type) and is_exact(field)]
    return draw(st.sampled_from(names)) if names else None


def some_of(draw: st.DrawFn, rows: Query, fits: Any, least: int, most: int) -> list[str]:
    names = [field.name for field in rows.schema if fits(field.type) and is_exact(field)]
    return draw(st.lists(st.sampled_from(names), min_size=least, max_size=most, unique=True)) if names else []
