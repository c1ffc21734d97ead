"""$group and what is a short way to write one: $bucket, $count, $sortByCount."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pyarrow import types as is_

from lamella.core.errors import BadQuery
from lamella.core.filters.expr import Predicate
from lamella.core.query.aggregate import Aggregate
from lamella.core.query.expressions import Call, Condition, Constant, Expression, Named, call
from lamella.core.query.mongo.accumulators import accumulated
from lamella.core.query.mongo.computing import computed, flat, selected
from lamella.core.query.mongo.reading import Reading
from lamella.core.query.mongo.refusals import arguments
from lamella.core.query.query import SortKey
from lamella.core.query.steps import Compute, Group, Sort
from lamella.core.schema import ID

if TYPE_CHECKING:
    from lamella.core.query.asking import Asking

COUNT = "count"
NOTHING = Call("cast", (Constant(None), Constant("int64")))
"""The key of all rows where the stage says None, as a value that has a type."""


def grouped(rows: Asking, spec: Any) -> Asking:
    """$group: a row for each value of `_id`, or of each of its parts, which become `_id.part`."""
    if not isinstance(spec, Mapping) or ID not in spec:
        raise BadQuery(
            f"{rows.name}: $group lacks '{ID}'",
            "It says what the rows are grouped by",
            f'Write {{"{ID}": "$carrier", …}}, or {{"{ID}": None, …}} for one group of all rows',
        )
    reading = Reading(rows, spec)
    return _by(rows, _keys(spec[ID], reading), spec, reading)


def bucketed(rows: Asking, spec: Any) -> Asking:
    """$bucket: `_id` is where a range begins; each ends before the next one begins."""
    told = arguments(rows.name, "$bucket", spec, ("groupBy", "boundaries"), ("default", "output"))
    output = told.get("output", {COUNT: {"$sum": 1}})
    if not isinstance(output, Mapping) or ID in output:
        raise BadQuery(f"{rows.name}: the output of $bucket is {output!r}", fix='Write {"n": {"$sum": 1}}')
    reading = Reading(rows, output)
    edges = _edges(told["boundaries"], rows.name)
    outside = Constant(told.get("default"))
    _refuse_unlike(outside.value, edges[0], rows.name)
    column = reading.column(told["groupBy"])
    below = Predicate(column, "is_null") | Predicate(column, "lt", (edges[0],))
    met = Condition(below | Predicate(column, "gte", (edges[-1],)))
    return _by(rows, [(ID, call("when", met, outside, _range(column, edges[:-1])))], output, reading)


def counted(rows: Asking, name: Any) -> Asking:
    """$count: how many rows there are; of none there is no answer, as MongoDB has it."""
    if not isinstance(name, str) or not name or name.startswith("$") or "." in name:
        raise BadQuery(f"{rows.name}: $count takes a name, not {name!r}", fix='Write {"$count": "n"}')
    return rows.then(Group((), ((name, Aggregate("count")),), Predicate(name, "gt", (0,))))


def sorted_by_count(rows: Asking, key: Any) -> Asking:
    """$sortByCount: the values of an expression, the most frequent first."""
    if not (isinstance(key, str) and key.startswith("$")) and not isinstance(key, Mapping):
        raise BadQuery(f"{rows.name}: $sortByCount takes a field, not {key!r}", fix='Write "$carrier"')
    return grouped(rows, {ID: key, COUNT: {"$sum": 1}}).then(Sort((SortKey(COUNT, True),)))


def _by(
    rows: Asking, keys: Sequence[tuple[str, Expression]], spec: Mapping[str, Any], reading: Reading
) -> Asking:
    """The keys are called so in the end; aggregates are of the rows as they were."""
    named = {name: asked for name, asked in spec.items() if name != ID}
    aggregates = [one for name, asked in named.items() for one in accumulated(name, asked, reading)]
    before = [(reading.fresh("key"), value) for _name, value in keys]
    found = computed(rows, before, reading).then(Group(tuple(name for name, _ in before), tuple(aggregates)))
    after = [(name, Named(key)) for (name, _), (key, _) in zip(keys, before, strict=True)]
    totals = [(name, call("coalesce", Named(name), 0)) for name in _sums(found, dict(aggregates))]
    return selected(
        found.then(Compute((*after, *totals))), [*(n for n, _ in keys), *(n for n, _ in aggregates)]
    )


def _keys(given: Any, reading: Reading) -> list[tuple[str, Expression]]:
    if given is None or given == {}:
        return [(ID, NOTHING)]
    if isinstance(given, Mapping) and not any(str(key).startswith("$") for key in given):
        return [(f"{ID}.{name}", reading.value(value)) for name, value in flat(given, reading.place)]
    return [(ID, reading.value(given))]


def _sums(rows: Asking, aggregates: Mapping[str, Aggregate]) -> list[str]:
    """Sums of numbers, which MongoDB has as 0 where there are none."""
    schema = rows.schema
    return [
        name
        for name, aggregate in aggregates.items()
        if aggregate.function == "sum" and not is_.is_duration(schema.field(name).type)
    ]


def _edges(given: Any, place: str) -> list[Any]:
    edges = list(given) if isinstance(given, list | tuple) else []
    try:
        ascending = all(one < other for one, other in pairwise(edges))
    except TypeError:
        ascending = False
    if len(edges) < 2 or not ascending:
        raise BadQuery(
            f"{place}: $bucket has no ranges between {given!r}",
            fix="Give boundaries of one type as a list, the least first: [0, 100, 500]",
        )
    return edges


def _refuse_unlike(default: Any, edge: Any, place: str) -> None:
    """One column holds values of one type."""
    numbers = isinstance(default, int | float) and isinstance(edge, int | float)
    if default is not None and not numbers and type(default) is not type(edge):
        raise BadQuery(
            f"{place}: the default of $bucket, {default!r}, stands in one column with {edge!r}",
            "They are of different types",
            "Leave it out: rows outside come under null",
        )


def _range(column: str, begins: Sequence[Any]) -> Expression:
    """Where the range begins that a value lies in, found by halves."""
    if len(begins) == 1:
        return Constant(begins[0])
    middle = len(begins) // 2
    below = Condition(Predicate(column, "lt", (begins[middle],)))
    return call("when", below, _range(column, begins[:middle]), _range(column, begins[middle:]))
