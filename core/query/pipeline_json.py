"""Queries, with the datasets that they name, as JSON and back."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lamella.core.errors import BadFilter, BadQuery, short_text
from lamella.core.filters import expr_json
from lamella.core.filters.expr import Filter
from lamella.core.query.expressions import DEEPEST, Call, ColumnReference, Condition, Constant, Expression
from lamella.core.query.source import PinnedSource, Source, VersionedSource
from lamella.core.query.steps import (
    Aggregate,
    Aggregates,
    Buckets,
    Compute,
    Facets,
    Group,
    Join,
    Limit,
    Pipeline,
    Pivot,
    Sample,
    Select,
    Sort,
    Sql,
    Step,
    Unpivot,
    Unwind,
    Where,
)
from lamella.core.scan.snapshot import SortKey
from lamella.core.validation import MOST_ROWS

_MALFORMED_ERRORS = (
    KeyError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError, BadFilter,
)  # fmt: skip
_MICROSECOND = dt.timedelta(microseconds=1)
Json = dict[str, Any]


def to_json(pipeline: Pipeline) -> Json:
    """Return the pipeline as JSON-compatible data."""
    return {"source": pipeline.source, "steps": [step_to_json(step) for step in pipeline.steps]}


def from_json(obj: Any) -> Pipeline:
    """Raises `BadQuery` if `obj` is not what `to_json` returns."""
    try:
        return _pipeline(obj)
    except _MALFORMED_ERRORS as error:
        raise BadQuery("the saved query cannot be read", f"{type(error).__name__}: {error}") from error


def _pipeline(obj: Json) -> Pipeline:
    if not isinstance(obj, Mapping):
        raise TypeError(f"it is {short_text(obj)}, not an object")
    return Pipeline(_text(obj["source"]), tuple(_step(step) for step in obj["steps"]))


@dataclass(frozen=True)
class _Form:
    """How one kind of step is written and read. `write` returns a JSON object."""

    kind: type[Any]
    write: Callable[[Any], Json]
    read: Callable[[Json], Step]


def step_to_json(step: Step) -> Json:
    """A single step, keyed by the name of its kind."""
    name = kind_name(type(step))
    return {name: _FORMS[name].write(step)}


def step_from_json(obj: Any) -> Step:
    """Raises `BadQuery` if `obj` is not what `step_to_json` returns."""
    try:
        return _step(obj)
    except _MALFORMED_ERRORS as error:
        raise BadQuery("the saved step cannot be read", f"{type(error).__name__}: {error}") from error


def kind_name(kind: type[Step]) -> str:
    """The name of a kind of step in JSON."""
    return next(name for name, form in _FORMS.items() if issubclass(kind, form.kind))


def kind_named(name: Any) -> type[Step]:
    """The kind of step with this name. Raises `BadQuery` if there is none."""
    if not isinstance(name, str) or name not in _FORMS:
        raise BadQuery(f"there is no kind of step {short_text(name)}", fix=f"There are: {', '.join(_FORMS)}")
    return _FORMS[name].kind


def _step(obj: Json) -> Step:
    ((name, body),) = obj.items()
    if name not in _FORMS:
        raise BadQuery(f"the saved query has a step '{name}'", fix=f"There are: {', '.join(_FORMS)}")
    return _FORMS[name].read(body)


def _expression_json(expression: Expression) -> Json:
    if isinstance(expression, ColumnReference):
        return {"column": expression.name}
    if isinstance(expression, Condition):
        return {"condition": expr_json.to_json(expression.filter)}
    if isinstance(expression, Call):
        return {"call": expression.function, "arguments": [_expression_json(a) for a in expression.arguments]}
    if isinstance(expression, Constant):
        return {"value": _value_json(expression.value)}
    raise BadQuery(f"{expression!r} cannot be saved as part of a query")


def _expression(obj: Json, depth: int = 0) -> Expression:
    if depth > DEEPEST:
        raise ValueError(f"a computed value nests calls more than {DEEPEST} deep")
    if "column" in obj:
        return ColumnReference(_text(obj["column"]))
    if "condition" in obj:
        return Condition(expr_json.from_json(obj["condition"]))
    if "call" in obj:
        return Call(_text(obj["call"]), tuple(_expression(a, depth + 1) for a in obj["arguments"]))
    return Constant(_value(obj["value"]))


def _value_json(value: Any) -> Any:
    return (
        {"span_us": value // _MICROSECOND} if isinstance(value, dt.timedelta) else expr_json.value_json(value)
    )


def _value(obj: Any) -> Any:
    if isinstance(obj, dict) and "span_us" in obj:
        return obj["span_us"] * _MICROSECOND
    if isinstance(obj, list):
        raise TypeError(f"{obj!r} is not a single value")
    return _text(obj) if isinstance(obj, str) else expr_json.value_from_json(obj)


def _aggregates_json(aggregates: Aggregates) -> list[Json]:
    return [{"name": name, **_aggregate_json(aggregate)} for name, aggregate in aggregates]


def _aggregate_json(aggregate: Aggregate) -> Json:
    obj: Json = {"aggregate": aggregate.function}
    if aggregate.value is not None:
        obj["of"] = _expression_json(aggregate.value)
    if aggregate.where is not None:
        obj["where"] = expr_json.to_json(aggregate.where)
    return obj if aggregate.parameter is None else {**obj, "parameter": aggregate.parameter}


def _aggregates(obj: list[Json]) -> Aggregates:
    return tuple((_text(item["name"]), _aggregate(item)) for item in obj)


def _aggregate(obj: Json) -> Aggregate:
    value = _expression(obj["of"]) if "of" in obj else None
    function = _text(obj["aggregate"])
    return Aggregate(function, value, _filter(obj.get("where")), _part(function, obj.get("parameter")))


def _part(function: str, obj: Any) -> float | None:
    """The parameter of `agg.quantile`."""
    if obj is None:
        return None
    if function != "quantile":
        raise ValueError(f"'{function}' takes no parameter")
    if isinstance(obj, bool) or not isinstance(obj, int | float) or not 0 <= obj <= 1:
        raise ValueError(f"{obj!r} is not a number from 0 to 1")
    return float(obj)


def _filter(obj: Any) -> Filter | None:
    return None if obj is None else expr_json.from_json(obj)


def _filter_json(filter: Filter | None) -> Any:
    return None if filter is None else expr_json.to_json(filter)


def _group_json(step: Group) -> Json:
    obj: Json = {"keys": list(step.keys), "aggregates": _aggregates_json(step.aggregates)}
    if step.having is not None:
        obj["having"] = _filter_json(step.having)
    return obj | {name: True for name in ("totals", "subtotals") if getattr(step, name)}


def _group(obj: Json) -> Group:
    switches = (bool(obj.get(name, False)) for name in ("totals", "subtotals"))
    return Group(_texts(obj["keys"]), _aggregates(obj["aggregates"]), _filter(obj.get("having")), *switches)


def _values_json(values: Iterable[Any] | int | None) -> Any:
    return values if values is None or isinstance(values, int) else [_value_json(value) for value in values]


def _values(obj: Any) -> tuple[Any, ...]:
    return tuple(_value(value) for value in obj)


def _facets_json(step: Facets) -> Json:
    return {
        "queries": [{"name": name, "steps": [step_to_json(s) for s in steps]} for name, steps in step.queries]
    }


def _facets(obj: Json) -> Facets:
    return Facets(tuple((_text(q["name"]), tuple(_step(s) for s in q["steps"])) for q in obj["queries"]))


def _join_json(step: Join) -> Json:
    return {
        "other": to_json(step.other), "left_on": list(step.left_on), "right_on": list(step.right_on),
        "how": step.how, "suffix": step.suffix,
    }  # fmt: skip


def _join(obj: Json) -> Join:
    return Join(
        _pipeline(obj["other"]),
        _texts(obj["left_on"]),
        _texts(obj["right_on"]),
        obj["how"],
        _text(obj["suffix"]),
    )


def _sql(obj: Json) -> Sql:
    pairs = tuple((_text(item["name"]), _text(item["source"])) for item in obj["tables"])
    return Sql(_text(obj["text"]), _text(obj["rows"]), pairs)


def _text(obj: Any) -> str:
    if not isinstance(obj, str):
        raise TypeError(f"{obj!r} is not text")
    obj.encode()  # fails for half a surrogate pair, which cannot be saved
    return obj


def _texts(obj: Any) -> tuple[str, ...]:
    if not isinstance(obj, list | tuple):
        raise TypeError(f"{obj!r} is not a list of texts")
    return tuple(_text(item) for item in obj)


def _whole(obj: Any) -> int:
    if isinstance(obj, bool) or not isinstance(obj, int):
        raise TypeError(f"{obj!r} is not a whole number")
    return obj


def _count(obj: Any) -> int:
    if not 0 <= _whole(obj) <= MOST_ROWS:
        raise ValueError(f"{obj!r} is not a number of rows")
    return int(obj)


_FORMS: dict[str, _Form] = {
    "where": _Form(
        Where,
        lambda step: expr_json.to_json(step.condition),
        lambda obj: Where(expr_json.from_json(obj)),
    ),
    "compute": _Form(
        Compute,
        lambda step: {"values": [{"name": n, **_expression_json(v)} for n, v in step.values]},
        lambda obj: Compute(tuple((_text(v["name"]), _expression(v)) for v in obj["values"])),
    ),
    "select": _Form(
        Select, lambda step: {"columns": list(step.columns)}, lambda obj: Select(_texts(obj["columns"]))
    ),
    "group": _Form(
        Group,
        _group_json,
        _group,
    ),
    "sort": _Form(
        Sort,
        lambda step: {"keys": [{"column": k.column, "descending": k.descending} for k in step.keys]},
        lambda obj: Sort(tuple(SortKey(_text(k["column"]), bool(k["descending"])) for k in obj["keys"])),
    ),
    "limit": _Form(
        Limit,
        lambda step: {"count": step.count, "offset": step.offset},
        lambda obj: Limit(None if obj["count"] is None else _count(obj["count"]), _count(obj["offset"])),
    ),
    "sample": _Form(
        Sample,
        lambda step: {"count": step.count, "seed": step.seed},
        lambda obj: Sample(_count(obj["count"]), _whole(obj["seed"])),
    ),
    "pivot": _Form(
        Pivot,
        lambda step: {
            "keys": list(step.keys), "column": step.column,
            "aggregates": _aggregates_json(step.aggregates), "values": _values_json(step.values),
        },
        lambda obj: Pivot(
            _texts(obj["keys"]), _text(obj["column"]), _aggregates(obj["aggregates"]),
            None if obj["values"] is None else _values(obj["values"]),
        ),
    ),
    "unpivot": _Form(
        Unpivot,
        lambda step: {"columns": list(step.columns), "name": step.name, "value": step.value},
        lambda obj: Unpivot(_texts(obj["columns"]), _text(obj["name"]), _text(obj["value"])),
    ),
    "unwind": _Form(
        Unwind,
        lambda step: {"column": step.column, "keep_empty": step.keep_empty},
        lambda obj: Unwind(_text(obj["column"]), bool(obj["keep_empty"])),
    ),
    "buckets": _Form(
        Buckets,
        lambda step: {
            "column": step.column, "edges": _values_json(step.edges),
            "aggregates": _aggregates_json(step.aggregates),
        },
        lambda obj: Buckets(
            _text(obj["column"]),
            _whole(obj["edges"]) if isinstance(obj["edges"], int) else _values(obj["edges"]),
            _aggregates(obj["aggregates"]),
        ),
    ),
    "facets": _Form(Facets, _facets_json, _facets),
    "join": _Form(Join, _join_json, _join),
    "sql": _Form(
        Sql,
        lambda step: {
            "text": step.text, "rows": step.rows,
            "tables": [{"name": name, "source": source} for name, source in step.tables],
        },
        _sql,
    ),
}  # fmt: skip


DATASETS, NAME, AS_OF = "datasets", "name", "as_of"


def query_to_json(sources: Mapping[str, Source], pipeline: Pipeline) -> Json:
    """The pipeline as JSON, with the names of datasets that it renames, and with pinned versions."""
    datasets = {called: _source_json(called, dataset) for called, dataset in sources.items()}
    obj, nested = to_json(pipeline), {called: dataset for called, dataset in datasets.items() if dataset}
    return {**obj, DATASETS: nested} if nested else obj


def query_from_json(obj: Any, find: Callable[[str], Source]) -> tuple[dict[str, Source], Pipeline]:
    """Raises `BadQuery` if `obj` is not what `query_to_json` returns, and like `as_of` for a version that is
    gone."""
    pipeline = from_json(obj)
    datasets = obj.get(DATASETS, {})
    if not isinstance(datasets, Mapping) or not all(
        isinstance(dataset, Mapping) for dataset in datasets.values()
    ):
        raise BadQuery("the saved query cannot be read", f"its {DATASETS} are {datasets!r}")
    return {name: _source_named(name, datasets.get(name, {}), find) for name in pipeline.sources()}, pipeline


def _source_json(called: str, dataset: Source) -> Json:
    item: Json = {} if dataset.name == called else {NAME: dataset.name}
    return {**item, AS_OF: dataset.pinned_version} if isinstance(dataset, PinnedSource) else item


def _source_named(called: str, item: Mapping[str, Any], find: Callable[[str], Source]) -> Source:
    name, version = item.get(NAME, called), item.get(AS_OF)
    if not isinstance(name, str) or not isinstance(version, int | None) or isinstance(version, bool):
        raise BadQuery("the saved query cannot be read", f"it names {name!r} as of {version!r}")
    dataset = find(name)
    if version is None:
        return dataset
    if not isinstance(dataset, VersionedSource):
        raise BadQuery(
            f"the saved query needs version {version} of '{name}'",
            "The dataset with that name has no versions",
            "Open it with the store that has the table",
        )
    return dataset.as_of(version)
