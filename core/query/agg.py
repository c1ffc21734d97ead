"""Aggregate functions: `table.group_by("carrier").agg(n=agg.count(), late=agg.mean("dep_delay"))`.

Each takes a column's name, or an expression such as `col("arr_delay") - col("dep_delay")`, and optionally a
condition `where` that selects the rows to aggregate. `core.query.functions.aggregates` defines what they
compute.
"""

from __future__ import annotations

from typing import Any

from lamella.core.errors import BadQuery, short_text
from lamella.core.filters.condition import condition_of
from lamella.core.query.expressions import ColumnReference, expression_of
from lamella.core.query.steps import Aggregate


def count(value: Any = None, where: Any = None) -> Aggregate:
    """The number of rows; given a value, the number of rows in which it is not null."""
    return (
        _aggregate("count", value, where)
        if value is not None
        else Aggregate("count", None, _condition(where))
    )


def count_distinct(value: Any, where: Any = None) -> Aggregate:
    return _aggregate("count_distinct", value, where)


def sum(value: Any, where: Any = None) -> Aggregate:
    """The sum of integers is a 64-bit integer, and the query fails if it does not fit."""
    return _aggregate("sum", value, where)


def avg(value: Any, where: Any = None) -> Aggregate:
    return _aggregate("avg", value, where)


mean = avg


def min(value: Any, where: Any = None) -> Aggregate:
    return _aggregate("min", value, where)


def max(value: Any, where: Any = None) -> Aggregate:
    return _aggregate("max", value, where)


def first(value: Any, where: Any = None) -> Aggregate:
    """The value in the first row, in the order of the rows; may be null."""
    return _aggregate("first", value, where)


def last(value: Any, where: Any = None) -> Aggregate:
    """The value in the last row, in the order of the rows; may be null."""
    return _aggregate("last", value, where)


def median(value: Any, where: Any = None) -> Aggregate:
    """Numbers are interpolated; for other types it is the lower of the two middle values."""
    return _aggregate("median", value, where)


def quantile(value: Any, part: float, where: Any = None) -> Aggregate:
    """The value below which a `part` (from 0 to 1) of the values lies; interpolated like the median."""
    if isinstance(part, bool) or not isinstance(part, int | float) or not 0 <= part <= 1:
        raise BadQuery(
            f"quantile takes a part of the values, not {short_text(part)}", fix="Give a number from 0 to 1"
        )
    return _aggregate("quantile", value, where, float(part))


def stddev(value: Any, where: Any = None) -> Aggregate:
    """The standard deviation of a sample: null for fewer than two values."""
    return _aggregate("stddev", value, where)


def stddev_pop(value: Any, where: Any = None) -> Aggregate:
    """The standard deviation of a population: 0 for a single value."""
    return _aggregate("stddev_pop", value, where)


def variance(value: Any, where: Any = None) -> Aggregate:
    """The variance of a sample: null for fewer than two values."""
    return _aggregate("variance", value, where)


def mode(value: Any, where: Any = None) -> Aggregate:
    """The most frequent value; if several are, the least of them."""
    return _aggregate("mode", value, where)


def list(value: Any, where: Any = None) -> Aggregate:
    """All values in the order of the rows, including nulls."""
    return _aggregate("list", value, where)


def distinct_list(value: Any, where: Any = None) -> Aggregate:
    """Each value once, in ascending order, without null."""
    return _aggregate("distinct_list", value, where)


def _aggregate(function: str, value: Any, where: Any, parameter: float | None = None) -> Aggregate:
    expression = ColumnReference(value) if isinstance(value, str) else expression_of(value)
    return Aggregate(function, expression, _condition(where), parameter)


def _condition(where: Any) -> Any:
    return condition_of(where, "the condition of an aggregate")
