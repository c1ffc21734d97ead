"""THE table of MongoDB's stages that queries have, each made one or more steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from lamella.core.errors import BadQuery
from lamella.core.query.mongo.computing import selected
from lamella.core.query.mongo.grouping import bucketed, counted, grouped, sorted_by_count
from lamella.core.query.mongo.lookup import looked_up, unwound_path
from lamella.core.query.mongo.reading import Reading
from lamella.core.query.mongo.refusals import arguments, single, unknown, whole
from lamella.core.query.mongo.shaping import projected, with_fields, without
from lamella.core.query.pipeline import Pipeline
from lamella.core.query.query import SortKey
from lamella.core.query.steps import Compute, Limit, Sort, Step, Unwind, Where

if TYPE_CHECKING:
    from lamella.core.query.asking import Asking

Stage = Callable[["Asking", Any], "Asking"]
_EXAMPLE = '{"$match": {"carrier": "UA"}}'
_WAYS_OUT = {
    "$bucketAuto": "Ask for ranges of one width: .buckets('distance', 10)",
    "$out": "Read the answer and keep it: store.create_table('name', rows.read())",
    "$merge": "Read the answer and write it: table.upsert(rows.read(), key='code')",
    "$unionWith": "Read both answers and put them together",
    "$graphLookup": "Follow the edges that relations are: store.edges('knows')",
    "$search": "Search the table first: table.search('words', where=…)",
    "$replaceRoot": "Name its fields: {'$project': {'city': '$address.city'}}",
    "$replaceWith": "Name its fields: {'$project': {'city': '$address.city'}}",
    "$setWindowFields": "Ask in SQL: store.sql('select …, rank() over (…) from …')",
    "$fill": "Fill one by one: {'$addFields': {'n': {'$ifNull': ['$n', 0]}}}",
}


def aggregated(rows: Asking, stages: Any) -> Asking:
    """The rows after all stages.

    Raises `BadQuery`, `BadFilter`, `UnknownColumn` or `UnknownTable` for a stage that is not known, is not
    written as it has to be, or names what is not there.
    """
    if not isinstance(stages, list | tuple):
        raise BadQuery(
            f"{rows.name}: aggregate takes a list of stages, not {stages!r}", fix=f"Write [{_EXAMPLE}]"
        )
    waiting = [single(rows.name, "stage", stage, _EXAMPLE) for stage in reversed(stages)]
    found = rows
    while waiting:
        name, asked = waiting.pop()
        if name == LOOKUP:
            found = looked_up(found, asked, waiting.pop() if waiting else None)
        elif name in STAGES:
            found = STAGES[name](found, asked)
        else:
            raise unknown(rows.name, "stage", name, [*STAGES, LOOKUP], _WAYS_OUT)
    return _limits_in_one(rows, found)


def _matched(rows: Asking, asked: Any) -> Asking:
    """What `$expr` compares may be computed, where it stands beside the conditions."""
    if not isinstance(asked, Mapping):
        raise BadQuery(f"{rows.name}: $match takes a dict, not {asked!r}", fix=f"Write {_EXAMPLE}")
    plain = {name: value for name, value in asked.items() if name != "$expr"}
    met = rows.where(plain) if plain or not asked else rows
    if "$expr" not in asked:
        return met
    reading = Reading(met)
    condition = reading.condition(asked["$expr"])
    if not reading.hidden:
        return met.then(Where(condition))
    return selected(met.then(Compute(tuple(reading.hidden))).then(Where(condition)), met.schema.names)


def _sorted(rows: Asking, asked: Any) -> Asking:
    if not isinstance(asked, Mapping) or not asked:
        raise BadQuery(f"{rows.name}: $sort takes a dict, not {asked!r}", fix='Write {"$sort": {"n": -1}}')
    for name, direction in asked.items():
        if isinstance(direction, bool) or direction not in (1, -1) or not isinstance(name, str):
            raise BadQuery(
                f"{rows.name}: $sort goes by {name!r} neither up nor down: {direction!r}",
                fix="Write 1 for ascending, -1 for descending",
            )
    return rows.then(Sort(tuple(SortKey(name, direction == -1) for name, direction in asked.items())))


def _limited(rows: Asking, asked: Any) -> Asking:
    return rows.limit(whole(rows.name, "$limit", asked, 1))


def _skipped(rows: Asking, asked: Any) -> Asking:
    return rows.limit(None, whole(rows.name, "$skip", asked, 0))


def _sampled(rows: Asking, asked: Any) -> Asking:
    """`seed` is ours: the same rows and seed give the same sample."""
    told = arguments(rows.name, "$sample", asked, ("size",), ("seed",))
    return rows.sample(whole(rows.name, "$sample", told["size"], 1), told.get("seed", 0))


def _unset(rows: Asking, asked: Any) -> Asking:
    names = [asked] if isinstance(asked, str) else asked
    if not isinstance(names, list | tuple) or not names or not all(isinstance(n, str) for n in names):
        raise BadQuery(f"{rows.name}: $unset takes names, not {asked!r}", fix='Write {"$unset": ["a", "b"]}')
    return without(rows, list(names))


def _unwound(rows: Asking, asked: Any) -> Asking:
    return rows.then(Unwind(*unwound_path(rows.name, asked)))


def _faceted(rows: Asking, asked: Any) -> Asking:
    if not isinstance(asked, Mapping) or not asked:
        raise BadQuery(
            f"{rows.name}: $facet takes a dict, not {asked!r}", fix='Write {"late": [{"$match": …}]}'
        )
    return rows.facets(**{str(name): _behind(stages) for name, stages in asked.items()})


def _behind(stages: Any) -> Callable[[Asking], Asking]:
    return lambda rows: aggregated(rows, stages)


def _limits_in_one(before: Asking, after: Asking) -> Asking:
    """$skip and the $limit that follows as one step: then rows are found by their position."""
    count = len(before.pipeline.steps)
    steps: list[Step] = []
    for step in after.pipeline.steps[count:]:
        last = steps[-1] if steps else None
        if isinstance(step, Limit) and isinstance(last, Limit) and last.count is None and not step.offset:
            steps[-1] = Limit(step.count, last.offset)
        else:
            steps.append(step)
    from lamella.core.query.asking import Asking

    return Asking(after.sources, Pipeline(after.pipeline.source, (*after.pipeline.steps[:count], *steps)))


LOOKUP = "$lookup"
STAGES: dict[str, Stage] = {
    "$match": _matched,
    "$group": grouped,
    "$sort": _sorted,
    "$limit": _limited,
    "$skip": _skipped,
    "$project": projected,
    "$addFields": with_fields,
    "$set": with_fields,
    "$unset": _unset,
    "$unwind": _unwound,
    "$count": counted,
    "$facet": _faceted,
    "$bucket": bucketed,
    "$sortByCount": sorted_by_count,
    "$sample": _sampled,
}
