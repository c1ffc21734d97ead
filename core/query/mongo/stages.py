"""THE table of MongoDB's stages that queries support; each becomes one or more steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeVar, cast

from pyarrow import types as is_

from lamella.core.arrow.nested_values import names_within, place_of
from lamella.core.arrow.types import ID
from lamella.core.errors import BadQuery, UnknownColumn, short_text
from lamella.core.filters.expr import Predicate, columns_read
from lamella.core.query.expressions import Call, ColumnReference, Condition, Constant, Expression, call
from lamella.core.query.mongo.expressions import (
    ExpressionReader,
    Rows,
    arguments,
    read_accumulator,
    single,
    unknown,
    whole,
)
from lamella.core.query.steps import (
    Aggregate,
    Compute,
    Group,
    Limit,
    Select,
    Sort,
    Step,
    Unwind,
    Where,
)
from lamella.core.scan.snapshot import SortKey

R = TypeVar("R", bound=Rows)
Values = Sequence[tuple[str, Expression]]


def add_columns(rows: Rows, values: Values, reading: ExpressionReader) -> Rows:
    """Add these columns, and the hidden ones they are computed from, which the caller removes."""
    if not _uses_replaced(values):
        return _then_compute(rows, (*reading.hidden_columns, *values))
    apart = [(reading.fresh(name), value) for name, value in values]
    columns = [(name, ColumnReference(inner)) for (name, _), (inner, _) in zip(values, apart, strict=True)]
    reading.hidden_columns.extend(apart)
    return _then_compute(rows, (*reading.hidden_columns, *columns))


def select_columns(rows: Rows, names: Iterable[str]) -> Rows:
    """Keep only these columns; unchanged if they are all there are."""
    columns = tuple(names)
    if not columns:
        raise BadQuery(f"{rows.name}: no column would be left", fix="Leave at least one")
    return rows if list(columns) == rows.schema.names else rows.then(Select(columns))


def columns_under(name: str, columns: Iterable[str]) -> list[str]:
    """The column with this name, or those with paths below it: `_id.carrier` for `_id`."""
    listed = list(columns)
    return [name] if name in listed else [column for column in listed if column.startswith(f"{name}.")]


def flat(spec: Mapping[str, Any], place: str, above: str = "") -> Iterator[tuple[str, Any]]:
    """Flatten a stage's document: names in nested documents become paths."""
    for name, value in spec.items():
        if not isinstance(name, str) or name.startswith("$") or not name:
            raise BadQuery(
                f"{place}: {name!r} is not a column name", fix="Names do not begin with a dollar sign"
            )
        if isinstance(value, Mapping) and value and not any(str(key).startswith("$") for key in value):
            yield from flat(value, place, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def refuse_inside(name: str, rows: Rows) -> None:
    """Refuse to add or remove a field inside a column."""
    columns = rows.schema.names
    parts = name.split(".")
    outer = next((c for c in (".".join(parts[:n]) for n in range(1, len(parts))) if c in columns), None)
    if outer is not None and name not in columns:
        raise BadQuery(
            f"{rows.name}: '{name}' is inside the column '{outer}', which can only be changed as a whole",
            fix=f"List the fields of '{outer}' that you want, or compute a column with another name",
        )


def _then_compute(rows: Rows, values: Values) -> Rows:
    return rows.then(Compute(tuple(values))) if values else rows


def _uses_replaced(values: Values) -> bool:
    """Whether a value uses a column that an earlier one replaces."""
    replaced: set[str] = set()
    for name, value in values:
        if any(used in replaced or used.partition(".")[0] in replaced for used in _names_in(value)):
            return True
        replaced.add(name)
    return False


def _names_in(value: Expression) -> Iterator[str]:
    if isinstance(value, ColumnReference):
        yield value.name
    if isinstance(value, Condition):
        yield from columns_read(value.filter)
    if isinstance(value, Call):
        for argument in value.arguments:
            yield from _names_in(argument)


COUNT = "count"
NOTHING = Call("cast", (Constant(None), Constant("int64")))
"""The key of a single group of all rows, `_id: None`, as null with a type."""


def group_stage(rows: Rows, spec: Any) -> Rows:
    """$group: one row for each value of `_id`, or of its parts, which become `_id.part`."""
    if not isinstance(spec, Mapping) or ID not in spec:
        raise BadQuery(
            f"{rows.name}: $group lacks '{ID}'",
            "It gives the grouping key",
            f'Write {{"{ID}": "$carrier", …}}, or {{"{ID}": None, …}} for one group of all rows',
        )
    reading = ExpressionReader(rows, spec)
    return _by(rows, _keys(spec[ID], reading), spec, reading)


def bucket_stage(rows: Rows, spec: Any) -> Rows:
    """$bucket: groups by ranges. `_id` is the start of a range; each ends before the next one starts."""
    parts = arguments(rows.name, "$bucket", spec, ("groupBy", "boundaries"), ("default", "output"))
    output = parts.get("output", {COUNT: {"$sum": 1}})
    if not isinstance(output, Mapping) or ID in output:
        raise BadQuery(
            f"{rows.name}: the output of $bucket is {short_text(output)}", fix='Write {"n": {"$sum": 1}}'
        )
    reading = ExpressionReader(rows, output)
    edges = _edges(parts["boundaries"], rows.name)
    outside = Constant(parts.get("default"))
    _refuse_unlike(outside.value, edges[0], rows.name)
    column = reading.column(parts["groupBy"])
    below = Predicate(column, "is_null") | Predicate(column, "lt", (edges[0],))
    met = Condition(below | Predicate(column, "gte", (edges[-1],)))
    return _by(rows, [(ID, call("when", met, outside, _range(column, edges[:-1])))], output, reading)


def count_stage(rows: Rows, name: Any) -> Rows:
    """$count: the number of rows; for no rows the answer is empty, as in MongoDB."""
    if not isinstance(name, str) or not name or name.startswith("$") or "." in name:
        raise BadQuery(
            f"{rows.name}: $count takes a name, not {short_text(name)}", fix='Write {"$count": "n"}'
        )
    return rows.then(Group((), ((name, Aggregate("count")),), Predicate(name, "gt", (0,))))


def sort_by_count_stage(rows: Rows, key: Any) -> Rows:
    """$sortByCount: the values of an expression with their counts, most frequent first."""
    if not (isinstance(key, str) and key.startswith("$")) and not isinstance(key, Mapping):
        raise BadQuery(
            f"{rows.name}: $sortByCount takes a field, not {short_text(key)}", fix='Write "$carrier"'
        )
    return group_stage(rows, {ID: key, COUNT: {"$sum": 1}}).then(Sort((SortKey(COUNT, True),)))


def _by(
    rows: Rows, keys: Sequence[tuple[str, Expression]], spec: Mapping[str, Any], reading: ExpressionReader
) -> Rows:
    """Group the rows by keys with these names; aggregates see the rows as they were."""
    accumulators = {name: accumulator for name, accumulator in spec.items() if name != ID}
    aggregates = [
        result
        for name, accumulator in accumulators.items()
        for result in read_accumulator(name, accumulator, reading)
    ]
    before = [(reading.fresh("key"), value) for _name, value in keys]
    groups = add_columns(rows, before, reading).then(
        Group(tuple(name for name, _ in before), tuple(aggregates))
    )
    after = [(name, ColumnReference(key)) for (name, _), (key, _) in zip(keys, before, strict=True)]
    totals = [(name, call("coalesce", ColumnReference(name), 0)) for name in _sums(groups, dict(aggregates))]
    return select_columns(
        groups.then(Compute((*after, *totals))), [*(n for n, _ in keys), *(n for n, _ in aggregates)]
    )


def _keys(spec: Any, reading: ExpressionReader) -> list[tuple[str, Expression]]:
    if spec is None or spec == {}:
        return [(ID, NOTHING)]
    if isinstance(spec, Mapping) and not any(str(key).startswith("$") for key in spec):
        return [(f"{ID}.{name}", reading.value(value)) for name, value in flat(spec, reading.place)]
    return [(ID, reading.value(spec))]


def _sums(rows: Rows, aggregates: Mapping[str, Aggregate]) -> list[str]:
    """The sums of numbers, which MongoDB returns as 0 if there are none."""
    schema = rows.schema
    return [
        name
        for name, aggregate in aggregates.items()
        if aggregate.function == "sum" and not is_.is_duration(schema.field(name).type)
    ]


def _edges(value: Any, place: str) -> list[Any]:
    edges = list(value) if isinstance(value, list | tuple) else []
    try:
        ascending = all(low < high for low, high in pairwise(edges))
    except TypeError:
        ascending = False
    if len(edges) < 2 or not ascending:
        raise BadQuery(
            f"{place}: $bucket has no ranges between {value!r}",
            fix="Give boundaries of one type as a list, the least first: [0, 100, 500]",
        )
    return edges


def _refuse_unlike(default: Any, edge: Any, place: str) -> None:
    """Refuse a default of another type than the ranges: they share a column."""
    numbers = isinstance(default, int | float) and isinstance(edge, int | float)
    if default is not None and not numbers and type(default) is not type(edge):
        raise BadQuery(
            f"{place}: the default of $bucket, {default!r}, would be in one column with {edge!r}",
            "Their types differ",
            "Leave it out: rows outside the ranges get null",
        )


def _range(column: str, begins: Sequence[Any]) -> Expression:
    """The start of the range that a value lies in, by binary search."""
    if len(begins) == 1:
        return Constant(begins[0])
    middle = len(begins) // 2
    below = Condition(Predicate(column, "lt", (begins[middle],)))
    return call("when", below, _range(column, begins[:middle]), _range(column, begins[middle:]))


def project_stage(rows: Rows, spec: Any) -> Rows:
    """$project: lists either the columns to keep or those to remove; `_id` is kept unless removed
    explicitly."""
    fields = dict(flat(_document("$project", spec, rows), rows.name))
    included = {name: value for name, value in fields.items() if not _is_flag(value) or value}
    out = [name for name in fields if name not in included]
    if not included or (out and list(included) == [ID] and _is_flag(included[ID])):
        return without(rows, out)
    if [name for name in out if name != ID]:
        raise BadQuery(
            f"{rows.name}: $project both keeps '{next(iter(included))}' and removes '{out[0]}'",
            fix=f"List only the columns to keep; only '{ID}' may be removed as well",
        )
    if ID not in fields and columns_under(ID, rows.schema.names):
        included = {ID: True, **included}
    return _select_values(rows, included)


def add_fields_stage(rows: Rows, spec: Any) -> Rows:
    """$addFields, also $set: each field replaces the column of its name, or is appended."""
    fields = list(flat(_document("$addFields", spec, rows), rows.name))
    for name, _ in fields:
        refuse_inside(name, rows)
    reading = ExpressionReader(rows, [name for name, _ in fields])
    values = [(name, reading.value(value)) for name, value in fields]
    names = list(dict.fromkeys([*rows.schema.names, *(name for name, _ in values)]))
    return select_columns(add_columns(rows, values, reading), names)


def without(rows: Rows, names: list[str]) -> Rows:
    """$unset: remove columns. Raises `UnknownColumn`."""
    gone: set[str] = set()
    for name in names:
        refuse_inside(name, rows)
        gone.update(_there(name, rows))
    return select_columns(rows, [name for name in rows.schema.names if name not in gone])


def _select_values(rows: Rows, fields: Mapping[str, Any]) -> Rows:
    reading = ExpressionReader(rows, fields)
    names: list[str] = []
    values = []
    for name, value in fields.items():
        if _is_flag(value):
            names += _there(name, rows)
            continue
        refuse_inside(name, rows)
        names.append(name)
        values.append((name, reading.value(value)))
    return select_columns(add_columns(rows, values, reading), names)


def _there(name: str, rows: Rows) -> list[str]:
    types = {field.name: field.type for field in rows.schema}
    names = columns_under(name, types) or ([name] if place_of(name, types) is not None else [])
    if not names:
        raise UnknownColumn(name, rows.name, names_within(types))
    return names


def _is_flag(value: Any) -> bool:
    """Whether a value means to keep or remove a column: a boolean or a number."""
    return isinstance(value, bool | int | float)


def _document(stage: str, spec: Any, rows: Rows) -> Mapping[str, Any]:
    if not isinstance(spec, Mapping) or not spec:
        raise BadQuery(
            f"{rows.name}: {stage} takes a dict, not {spec!r}", fix=f'Write {{"{stage}": {{"name": 1}}}}'
        )
    return spec


def lookup_stage(rows: Rows, spec: Any, then: tuple[str, Any] | None) -> Rows:
    """$lookup: join with another table, whose columns are named by paths below `as`: `airline.name`.

    Rows without a partner are dropped unless $unwind keeps them; null is not a partner of null.
    """
    needed = ("from", "localField", "foreignField", "as")
    parts = arguments(rows.name, "$lookup", spec, needed, ("pipeline",))
    for key in needed:
        if not isinstance(parts[key], str):
            raise BadQuery(f"{rows.name}: $lookup: '{key}' is a name, not {parts[key]!r}")
    name, key = parts["as"], parts["foreignField"]
    keep = _kept_without_partner(rows.name, name, then)
    rows_there = _match_rows(_sibling_rows(rows, parts["from"]), parts.get("pipeline", []))
    columns = rows_there.schema.names
    renamed = tuple(
        (f"{name}.{column}", ColumnReference(column)) for column in dict.fromkeys([*columns, key])
    )
    right = rows_there.then(Compute(renamed)).then(Select(tuple(column for column, _ in renamed)))
    names = set(columns_under(name, rows.schema.names))
    ours, theirs = (parts["localField"],), (f"{name}.{key}",)
    joined = rows.join(right, left_on=ours, right_on=theirs, how="left" if keep else "inner", suffix="")
    renamed_columns = [f"{name}.{column}" for column in columns]
    return select_columns(
        joined, [*(column for column in rows.schema.names if column not in names), *renamed_columns]
    )


def unwind_path(place: str, operand: Any) -> tuple[str, bool]:
    """The list that $unwind names, and whether rows without items stay."""
    spec = operand if isinstance(operand, Mapping) else {"path": operand}
    parts = arguments(place, "$unwind", spec, ("path",), ("preserveNullAndEmptyArrays",))
    path, keep = parts["path"], parts.get("preserveNullAndEmptyArrays", False)
    if not isinstance(path, str) or not path.startswith("$") or path.startswith("$$") or path == "$":
        raise BadQuery(f"{place}: $unwind takes a field, not {path!r}", fix='Write "$tags"')
    if not isinstance(keep, bool):
        raise BadQuery(f"{place}: preserveNullAndEmptyArrays is true or false, not {keep!r}")
    return path[1:], keep


def _kept_without_partner(place: str, name: str, then: tuple[str, Any] | None) -> bool:
    if then is not None and then[0] == "$unwind":
        path, keep = unwind_path(place, then[1])
        if path == name:
            return keep
    raise BadQuery(
        f"{place}: $lookup cannot collect rows in a list here",
        fix=f'Follow it with {{"$unwind": "${name}"}}, which returns one row for each of them',
    )


def _sibling_rows(rows: Rows, name: str) -> Rows:
    """A table of the same store. Raises `UnknownTable`."""
    sibling = rows.sibling(name)
    if sibling is None:
        raise BadQuery(
            f"{rows.name}: $lookup cannot find '{name}'",
            "Only tables of the same store can be looked up by name",
            "Join the other dataset: .join(other, left_on=…, right_on=…)",
        )
    return sibling


def _match_rows(foreign: Rows, pipeline: Any) -> Rows:
    if not isinstance(pipeline, list | tuple):
        raise BadQuery(f"{foreign.name}: the pipeline of $lookup is a list of stages, not {pipeline!r}")
    for stage in pipeline:
        if not isinstance(stage, Mapping) or set(stage) != {"$match"}:
            raise BadQuery(
                f"{foreign.name}: the pipeline of $lookup can only match rows, and cannot do {stage!r}",
                fix="Put other stages after the $unwind",
            )
        foreign = foreign.where(stage["$match"])
    return foreign


Stage = Callable[[Rows, Any], Rows]
_EXAMPLE = '{"$match": {"carrier": "UA"}}'
_WAYS_OUT = {
    "$bucketAuto": "Use ranges of equal width: .buckets('distance', 10)",
    "$out": "Read the answer and store it: store.create_table('name', rows.read())",
    "$merge": "Read the answer and write it: table.upsert(rows.read(), key='code')",
    "$unionWith": "Read both answers and concatenate them",
    "$graphLookup": "Follow the edges that relations form: store.edges('knows')",
    "$search": "Search the table first: table.search('words', where=…)",
    "$replaceRoot": "Name its fields: {'$project': {'city': '$address.city'}}",
    "$replaceWith": "Name its fields: {'$project': {'city': '$address.city'}}",
    "$setWindowFields": "Use SQL: store.sql('select …, rank() over (…) from …')",
    "$fill": "Fill one by one: {'$addFields': {'n': {'$ifNull': ['$n', 0]}}}",
}


def apply_stages(rows: R, stages: Any) -> R:
    """Apply all stages to the rows.

    Raises `BadQuery`, `BadFilter`, `UnknownColumn` or `UnknownTable` for a stage that is unknown, malformed,
    or refers to something that does not exist.
    """
    if not isinstance(stages, list | tuple):
        raise BadQuery(
            f"{rows.name}: aggregate takes a list of stages, not {short_text(stages)}",
            fix=f"Write [{_EXAMPLE}]",
        )
    waiting = [single(rows.name, "stage", stage, _EXAMPLE) for stage in reversed(stages)]
    answer: Rows = rows
    while waiting:
        name, spec = waiting.pop()
        if name == LOOKUP:
            answer = lookup_stage(answer, spec, waiting.pop() if waiting else None)
        elif name in STAGES:
            answer = STAGES[name](answer, spec)
        else:
            raise unknown(rows.name, "stage", name, [*STAGES, LOOKUP], _WAYS_OUT)
    return cast(R, _merge_limits(rows, answer))


def _match_stage(rows: Rows, spec: Any) -> Rows:
    """$match. Operands of `$expr` may be computed; it may stand next to other conditions."""
    if not isinstance(spec, Mapping):
        raise BadQuery(f"{rows.name}: $match takes a dict, not {spec!r}", fix=f"Write {_EXAMPLE}")
    plain = {name: value for name, value in spec.items() if name != "$expr"}
    met = rows.where(plain) if plain or not spec else rows
    if "$expr" not in spec:
        return met
    reading = ExpressionReader(met)
    condition = reading.condition(spec["$expr"])
    if not reading.hidden_columns:
        return met.then(Where(condition))
    return select_columns(
        met.then(Compute(tuple(reading.hidden_columns))).then(Where(condition)), met.schema.names
    )


def _sort_stage(rows: Rows, spec: Any) -> Rows:
    if not isinstance(spec, Mapping) or not spec:
        raise BadQuery(f"{rows.name}: $sort takes a dict, not {spec!r}", fix='Write {"$sort": {"n": -1}}')
    for name, direction in spec.items():
        if isinstance(direction, bool) or direction not in (1, -1) or not isinstance(name, str):
            raise BadQuery(
                f"{rows.name}: $sort has an invalid direction for {name!r}: {direction!r}",
                fix="Write 1 for ascending, -1 for descending",
            )
    return rows.then(Sort(tuple(SortKey(name, direction == -1) for name, direction in spec.items())))


def _limit_stage(rows: Rows, spec: Any) -> Rows:
    return rows.limit(whole(rows.name, "$limit", spec, 1))


def _skip_stage(rows: Rows, spec: Any) -> Rows:
    return rows.limit(None, whole(rows.name, "$skip", spec, 0))


def _sample_stage(rows: Rows, spec: Any) -> Rows:
    """$sample. `seed` is an addition: the same rows and seed give the same sample."""
    parts = arguments(rows.name, "$sample", spec, ("size",), ("seed",))
    return rows.sample(whole(rows.name, "$sample", parts["size"], 1), parts.get("seed", 0))


def _unset(rows: Rows, spec: Any) -> Rows:
    names = [spec] if isinstance(spec, str) else spec
    if not isinstance(names, list | tuple) or not names or not all(isinstance(n, str) for n in names):
        raise BadQuery(f"{rows.name}: $unset takes names, not {spec!r}", fix='Write {"$unset": ["a", "b"]}')
    return without(rows, list(names))


def _unwind_stage(rows: Rows, spec: Any) -> Rows:
    return rows.then(Unwind(*unwind_path(rows.name, spec)))


def _facet_stage(rows: Rows, spec: Any) -> Rows:
    if not isinstance(spec, Mapping) or not spec:
        raise BadQuery(
            f"{rows.name}: $facet takes a dict, not {spec!r}", fix='Write {"late": [{"$match": …}]}'
        )
    return rows.facets(**{str(name): _behind(stages) for name, stages in spec.items()})


def _behind(stages: Any) -> Callable[[Rows], Rows]:
    return lambda rows: apply_stages(rows, stages)


def _merge_limits(before: Rows, after: Rows) -> Rows:
    """Merge $skip and a following $limit into one step, so that rows are found by position."""
    count = len(before.pipeline.steps)
    steps: list[Step] = []
    for step in after.pipeline.steps[count:]:
        last = steps[-1] if steps else None
        if isinstance(step, Limit) and isinstance(last, Limit) and last.count is None and not step.offset:
            steps[-1] = Limit(step.count, last.offset)
        else:
            steps.append(step)
    return after.with_steps((*after.pipeline.steps[:count], *steps))


LOOKUP = "$lookup"
STAGES: dict[str, Stage] = {
    "$match": _match_stage,
    "$group": group_stage,
    "$sort": _sort_stage,
    "$limit": _limit_stage,
    "$skip": _skip_stage,
    "$project": project_stage,
    "$addFields": add_fields_stage,
    "$set": add_fields_stage,
    "$unset": _unset,
    "$unwind": _unwind_stage,
    "$count": count_stage,
    "$facet": _facet_stage,
    "$bucket": bucket_stage,
    "$sortByCount": sort_by_count_stage,
    "$sample": _sample_stage,
}
