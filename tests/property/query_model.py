"""The meaning of queries, in plain Python over lists of dicts: slow, but obviously correct."""

from __future__ import annotations

import datetime as dt
import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cmp_to_key
from typing import Any

import pyarrow as pa

from lamella.core.query.expressions import Call, ColumnReference, Condition, Constant, Expression
from lamella.core.query.steps import (
    Aggregate,
    Buckets,
    Compute,
    Facets,
    Group,
    Join,
    Limit,
    Pivot,
    Select,
    Sort,
    Step,
    Unpivot,
    Unwind,
    Where,
)
from tests.property.filter_model import expected

Row = dict[str, Any]
Types = Mapping[str, pa.DataType]


Side = tuple[list[str], list[Row]]
"""The columns and rows of the other side of a join."""


def answered(
    step: Step, rows: list[Row], types: Types, after: Types, second: Side | None = None
) -> list[Row]:
    """`types` are the types of the rows' columns, `after` those of the result's."""
    if isinstance(step, Where):
        return [row for row in rows if expected(step.condition, row, types)]
    if isinstance(step, Compute):
        return [computed(step, row, types) for row in rows]
    if isinstance(step, Select):
        return [{name: row[name] for name in step.columns} for row in rows]
    if isinstance(step, Sort):
        return ordered(rows, [(key.column, key.descending) for key in step.keys])
    if isinstance(step, Limit):
        return rows[step.offset :][: step.count]
    if isinstance(step, Join):
        assert second is not None
        return joined(step, rows, second, types)
    if isinstance(step, Group):
        return grouped(step, rows, types, after)
    return RESHAPED[type(step)](step, rows, types)


def grouped(step: Group, rows: list[Row], types: Types, after: Types) -> list[Row]:
    groups = by_keys(rows, step.keys, lambda group: aggregates(step.aggregates, group, types))
    if step.having is None:
        return groups
    return [row for row in groups if expected(step.having, row, after)]


def pivoted(step: Pivot, rows: list[Row], types: Types) -> list[Row]:
    found_rows = ordered(
        [{"v": value} for value in distinct(row[step.column] for row in rows)], [("v", False)]
    )
    values = step.values if step.values is not None else [row["v"] for row in found_rows]

    def cells(group: list[Row]) -> Row:
        made: Row = {}
        for value in values:
            of = [row for row in group if same(row[step.column], value)]
            for name, cell in aggregates(step.aggregates, of, types).items():
                called = "null" if value is None else str(value)
                made[called if len(step.aggregates) == 1 else f"{called}_{name}"] = cell
        return made

    return by_keys(rows, step.keys, cells)


def unpivoted(step: Unpivot, rows: list[Row], _types: Types) -> list[Row]:
    return [
        {name: cell for name, cell in row.items() if name not in step.columns}
        | {step.name: column, step.value: row[column]}
        for row in rows
        for column in step.columns
    ]


def unwound(step: Unwind, rows: list[Row], _types: Types) -> list[Row]:
    return [
        row | {step.column: item}
        for row in rows
        for item in row[step.column] or ([None] if step.keep_empty else [])
    ]


def bucketed(step: Buckets, rows: list[Row], types: Types) -> list[Row]:
    ends = (
        of_one_width([row[step.column] for row in rows], step.edges)
        if isinstance(step.edges, int)
        else list(step.edges)
    )

    def place(row: Row) -> int | None:
        value = row[step.column]
        if value is None:
            return None
        inside = [n for n, low in enumerate(ends) if compared(value, low) >= 0]
        last = compared(value, ends[-1]) == 0
        return (inside[-1] if inside else -1) - last

    placed = [row | {"bucket": place(row)} for row in rows]
    buckets = by_keys(placed, ["bucket"], lambda group: aggregates(step.aggregates, group, types))
    return [
        {
            "low": None if row["bucket"] in (None, -1) else ends[row["bucket"]],
            "high": None if row["bucket"] in (None, len(ends) - 1) else ends[row["bucket"] + 1],
            **{name: cell for name, cell in row.items() if name != "bucket"},
        }
        for row in buckets
    ]


def of_one_width(values: list[int | None], parts: int) -> list[int]:
    """The bounds of at most this many ranges of whole numbers."""
    known = [value for value in values if value is not None]
    if not known:
        return []
    first, last = min(known), max(known)
    width = max(1, math.ceil(Fraction(last - first, parts)))
    return [*range(first, last, width), last] if first < last else [first, last]


def faceted(step: Facets, rows: list[Row], types: Types) -> list[Row]:
    """The results of the facets, which only group and sort."""
    facets: Row = {}
    for name, inside in step.queries:
        facets[name] = rows
        for step_inside in inside:
            facets[name] = answered(step_inside, facets[name], types, types)
    return [facets]


RESHAPED: dict[type, Callable[[Any, list[Row], Types], list[Row]]] = {
    Pivot: pivoted,
    Unpivot: unpivoted,
    Unwind: unwound,
    Buckets: bucketed,
    Facets: faceted,
}


def joined(step: Join, rows: list[Row], side: Side, types: Types) -> list[Row]:
    right_all, right_rows = side

    def partners(row: Row) -> list[int]:
        return [
            n
            for n, right_row in enumerate(right_rows)
            if all(
                row[a] is not None and right_row[b] is not None and meet(row[a], right_row[b])
                for a, b in zip(step.left_on, step.right_on, strict=True)
            )
        ]

    partner_places = [partners(row) for row in rows]
    if step.how in ("semi", "anti"):
        return [
            row
            for row, places in zip(rows, partner_places, strict=True)
            if bool(places) == (step.how == "semi")
        ]
    shared = [a for a, b in zip(step.left_on, step.right_on, strict=True) if a == b]
    left_names, right_names = list(types), [n for n in right_all if n not in shared]
    called = {name: f"{name}{step.suffix}" if name in left_names else name for name in right_names}

    def together(row: Row | None, right_row: Row | None) -> Row:
        cells = {name: None if row is None else row[name] for name in left_names}
        cells |= {called[name]: None if right_row is None else right_row[name] for name in right_names}
        return cells | {name: (row if row is not None else right_row or {})[name] for name in shared}

    pairs_together = [
        together(row, right_rows[n]) for row, places in zip(rows, partner_places, strict=True) for n in places
    ]
    if step.how in ("left", "full"):
        pairs = zip(rows, partner_places, strict=True)
        pairs_together = [
            together(row, None if n is None else right_rows[n])
            for row, places in pairs
            for n in places or [None]
        ]
    if step.how in ("right", "full"):
        right_places = {n for places in partner_places for n in places}
        pairs_together += [
            together(None, right_row) for n, right_row in enumerate(right_rows) if n not in right_places
        ]
    return pairs_together


def by_keys(rows: list[Row], keys: Sequence[str], make: Callable[[list[Row]], Row]) -> list[Row]:
    groups: dict[Any, list[Row]] = {} if keys else {(): []}
    for row in rows:
        groups.setdefault(tuple(told(row[key]) for key in keys), []).append(row)
    answer = [{key: group[0][key] for key in keys} | make(group) for group in groups.values()]
    return ordered(answer, [(key, False) for key in keys])


def aggregates(named_aggregates: Iterable[tuple[str, Aggregate]], rows: list[Row], types: Types) -> Row:
    return {name: aggregate(aggregated, rows, types) for name, aggregated in named_aggregates}


def aggregate(figure: Aggregate, rows: list[Row], types: Types) -> Any:
    if figure.where is not None:
        rows = [row for row in rows if expected(figure.where, row, types)]
    if figure.value is None:
        return len(rows)
    all_values = [value_of(figure.value, row, types) for row in rows]
    values = [value for value in all_values if value is not None]
    if figure.function in ("first", "last"):
        return all_values[0 if figure.function == "first" else -1] if all_values else None
    if figure.function == "list":
        return all_values
    return OF_VALUES[figure.function](values, figure.parameter)


def total(values: list[Any]) -> Any:
    if any(isinstance(value, float) for value in values):
        return sum(values, 0.0)
    return sum(values)


def mean(values: list[Any], _part: Any) -> Any:
    return float(total(values)) / len(values) if values else None


def spread(values: list[Any], power: float) -> Any:
    if len(values) < 2:
        return None
    if any(isinstance(value, float) and not math.isfinite(value) for value in values):
        return math.nan
    return float(statistics.variance([Fraction(value) for value in values])) ** power


def spread_of_all(values: list[Any]) -> Any:
    sample = spread(values, 1)
    if sample is None:
        return 0.0 if values else None
    return (sample * (len(values) - 1) / len(values)) ** 0.5


def quantile(values: list[Any], part: float | None) -> Any:
    if not values:
        return None
    places = [row["v"] for row in ordered([{"v": value} for value in values], [("v", False)])]
    part = 0.5 if part is None else part
    if not isinstance(values[0], int | float | Decimal):
        return places[max(0, math.ceil(Fraction(part) * len(places)) - 1)]
    numbers = [float(value) for value in places]
    exact = (len(numbers) - 1) * part
    low, high = numbers[math.floor(exact)], numbers[math.ceil(exact)]
    return low if same(low, high) else low + (high - low) * (exact - math.floor(exact))


def frequent(values: list[Any], _part: Any) -> Any:
    counts: dict[Any, int] = {}
    for value in values:
        counts[told(value)] = counts.get(told(value), 0) + 1
    most = [value for value in distinct(values) if counts[told(value)] == max(counts.values())]
    return ordered([{"v": value} for value in most], [("v", False)])[0]["v"] if most else None


def extreme(last: bool) -> Callable[[list[Any], Any], Any]:
    def found(values: list[Any], _part: Any) -> Any:
        order = ordered([{"v": value} for value in values], [("v", False)])
        return order[-1 if last else 0]["v"] if order else None

    return found


OF_VALUES: dict[str, Callable[[list[Any], Any], Any]] = {
    "count": lambda values, _: len(values),
    "count_distinct": lambda values, _: len(distinct(values)),
    "sum": lambda values, _: total(values) if values else None,
    "avg": mean,
    "min": extreme(False),
    "max": extreme(True),
    "median": quantile,
    "quantile": quantile,
    "stddev": lambda values, _: spread(values, 0.5),
    "stddev_pop": lambda values, _: spread_of_all(values),
    "variance": lambda values, _: spread(values, 1),
    "mode": frequent,
    "distinct_list": lambda values, _: [
        row["v"] for row in ordered([{"v": value} for value in distinct(values)], [("v", False)])
    ],
}


def computed(step: Compute, row: Row, types: Types) -> Row:
    for name, expression in step.values:
        row = row | {name: value_of(expression, row, types)}
    return row


def value_of(expression: Expression, row: Row, types: Types) -> Any:
    if isinstance(expression, ColumnReference):
        return row[expression.name]
    if isinstance(expression, Constant):
        return expression.value
    if isinstance(expression, Condition):
        return expected(expression.filter, row, types)
    assert isinstance(expression, Call)
    values = [value_of(argument, row, types) for argument in expression.arguments]
    if expression.function == "coalesce":
        return next((value for value in values if value is not None), None)
    if expression.function == "when":
        return values[1] if values[0] else values[2]
    return None if None in values else FUNCTIONS[expression.function](*values)


def divided(a: Any, b: Any) -> Any:
    if b == 0:
        return None
    return float(a) / float(b)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + (dt.timedelta(b) if isinstance(a, dt.date) and isinstance(b, int) else b),
    "subtract": lambda a, b: (a - b).days if type(a) is dt.date and type(b) is dt.date else a - b,
    "multiply": lambda a, b: a * b,
    "divide": divided,
    "floor_divide": lambda a, b: None if b == 0 else a // b,
    "modulo": lambda a, b: None if b == 0 else a % b,
    "negate": lambda a: -a,
    "abs": abs,
    "upper": str.upper,
    "length": len,
    "substring": lambda text, start, count: text[start : start + count],
    "year": lambda day: day.year,
    "month": lambda day: day.month,
    "weekday": lambda day: day.isoweekday(),
    "hour": lambda moment: moment.hour,
    "date": lambda moment: moment.date(),
    "truncate": lambda moment, _: dt.datetime(moment.year, moment.month, moment.day, tzinfo=moment.tzinfo),
}


def ordered(rows: list[Row], keys: Sequence[tuple[str, bool]]) -> list[Row]:
    def compare(left: Row, right: Row) -> int:
        for name, descending in keys:
            a, b = left[name], right[name]
            if a is None or b is None:
                if (a is None) != (b is None):
                    return 1 if a is None else -1
            elif compared(a, b):
                return -compared(a, b) if descending else compared(a, b)
        return 0

    return sorted(rows, key=cmp_to_key(compare))


def compared(a: Any, b: Any) -> int:
    """NaN is equal to itself and greater than every number."""
    if same(a, b):
        return 0
    if is_nan(a) or is_nan(b):
        return 1 if is_nan(a) else -1
    return -1 if a < b else 1


def same(a: Any, b: Any) -> bool:
    return (a is None and b is None) or a == b or (is_nan(a) and is_nan(b))


def meet(a: Any, b: Any) -> bool:
    """Whether two join keys match: a decimal matches the nearest float, if that determines its digits."""
    for exact, approximate in ((a, b), (b, a)):
        if isinstance(exact, Decimal) and isinstance(approximate, float):
            near = float(exact)
            return approximate == near and (abs(near) < 10**15 or Decimal(near) == exact)
    return same(a, b)


def is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def told(value: Any) -> Any:
    """A key that is equal for equal values, including NaN, and different for 1 and True."""
    return ("nan",) if is_nan(value) else (isinstance(value, bool), value)


def distinct(values: Iterable[Any]) -> list[Any]:
    return list({told(value): value for value in reversed(list(values))}.values())[::-1]
