"""THE table of MongoDB's accumulators that queries have, as aggregates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from lamella.core.errors import BadQuery
from lamella.core.query.aggregate import Aggregate
from lamella.core.query.mongo.reading import Reading
from lamella.core.query.mongo.refusals import arguments, single, unknown

Named = tuple[str, Aggregate]
METHODS = ("approximate", "continuous")
"""MongoDB's names of ways to find percentiles; here they are exact, between two values."""

_SIMPLE = {
    "$avg": "avg",
    "$min": "min",
    "$max": "max",
    "$first": "first",
    "$last": "last",
    "$push": "list",
    "$addToSet": "distinct_list",
    "$stdDevSamp": "stddev",
    "$stdDevPop": "stddev_pop",
}
_WAYS_OUT = {
    "$firstN": "Take $push, and the first items of the list",
    "$lastN": "Take $push, and the last items of the list",
    "$top": "Put $sort before, and take $first",
    "$bottom": "Put $sort before, and take $last",
    "$mergeObjects": "Take the fields one by one",
    "$accumulator": "Compute with what the aggregates of the query give",
}


def accumulated(name: str, asked: Any, reading: Reading) -> Iterator[Named]:
    """The columns that one entry of $group becomes: several percentiles are a column each."""
    if name.startswith("$") or "." in name:
        raise BadQuery(f"{reading.place}: $group cannot call a column {name!r}", fix="Leave the sign out")
    key, given = single(reading.place, "accumulator", asked, '{"$sum": "$delay"}')
    if key == "$percentile":
        yield from _percentiles(name, given, reading)
    elif key in _OTHERS:
        yield name, _OTHERS[key](given, reading)
    elif key in _SIMPLE:
        yield name, Aggregate(_SIMPLE[key], reading.value(given))
    else:
        known = [*_OTHERS, *_SIMPLE, "$percentile"]
        raise unknown(reading.place, "accumulator", key, known, _WAYS_OUT)


def _sum(given: Any, reading: Reading) -> Aggregate:
    if given == 1 and type(given) is int:
        return Aggregate("count")
    return Aggregate("sum", reading.value(given))


def _count(given: Any, reading: Reading) -> Aggregate:
    if given != {}:
        raise BadQuery(f"{reading.place}: $count takes nothing, not {given!r}", fix='Write {"$count": {}}')
    return Aggregate("count")


def _median(given: Any, reading: Reading) -> Aggregate:
    told = arguments(reading.place, "$median", given, ("input",), ("method",))
    _refuse_method(told, reading)
    return Aggregate("median", reading.value(told["input"]))


def _percentiles(name: str, given: Any, reading: Reading) -> Iterator[Named]:
    told = arguments(reading.place, "$percentile", given, ("input", "p"), ("method",))
    _refuse_method(told, reading)
    parts = told["p"]
    fits = isinstance(parts, list | tuple) and all(
        isinstance(p, int | float) and not isinstance(p, bool) and 0 <= p <= 1 for p in parts
    )
    if not fits or not parts:
        raise BadQuery(
            f"{reading.place}: $percentile takes parts of the values as p, not {parts!r}",
            fix='Give a list of numbers from 0 to 1: "p": [0.5, 0.9]',
        )
    value = reading.value(told["input"])
    for place, part in enumerate(parts):
        called = name if len(parts) == 1 else f"{name}.{place}"
        yield called, Aggregate("quantile", value, None, float(part))


def _refuse_method(told: dict[str, Any], reading: Reading) -> None:
    method = told.get("method", METHODS[0])
    if method not in METHODS:
        raise unknown(reading.place, "method of percentiles", method, METHODS, {})


_OTHERS: dict[str, Callable[[Any, Reading], Aggregate]] = {
    "$sum": _sum,
    "$count": _count,
    "$median": _median,
}
ACCUMULATORS = (*_OTHERS, *_SIMPLE, "$percentile")
