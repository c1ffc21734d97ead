"""Queries as the Python code that builds them, and as command lines."""

from __future__ import annotations

import datetime as dt
import json
import keyword
import math
import shlex
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any

from lamella.core.errors import BadFilter, BadQuery, LamellaError
from lamella.core.filters import expr_json
from lamella.core.filters.expr import Filter, all_of
from lamella.core.filters.text import parse, to_text
from lamella.core.filters.values import natural
from lamella.core.query.expressions import (
    Call,
    ColumnReference,
    Condition,
    Constant,
    Expression,
    computes_from,
)
from lamella.core.query.functions.table import FUNCTIONS
from lamella.core.query.pipeline_json import query_to_json, to_json
from lamella.core.query.source import PinnedSource, Source
from lamella.core.query.steps import (
    Aggregate,
    Aggregates,
    Buckets,
    Compute,
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

Open = Callable[[str], str]
"""Returns the Python code that opens the dataset with a given name."""


def to_python(
    pipeline: Pipeline, sources: Mapping[str, Source] | None = None, opener: Open | None = None
) -> str:
    """Write the query as a Python expression, preceded by the imports that it needs. `opener` returns the
    code that opens a dataset; by default it is `store["flights"]`.

        from lamella import agg

        store["flights"].where("dep_delay > 60").group_by("carrier").agg(n=agg.count())
    """
    writer = _Writer(sources or {}, opener or (lambda name: f"store[{_quote(name)}]"))
    code = writer.query(pipeline)
    lines = [f"from {module} import {name}" for module, name in sorted(writer.imports)]
    return "\n".join([*lines, "", code] if lines else [code])


class _Writer:
    def __init__(self, sources: Mapping[str, Source], opener: Open) -> None:
        self.imports: set[tuple[str, str]] = set()
        self._sources, self._opener = sources, opener
        self._source = ""

    def query(self, pipeline: Pipeline) -> str:
        outer, self._source = self._source, pipeline.source
        try:
            return self._query(pipeline)
        finally:
            self._source = outer

    def _query(self, pipeline: Pipeline) -> str:
        code = self._dataset(pipeline.source)
        calls: list[str] = []
        for step in pipeline.steps:
            if not calls and not isinstance(step, _BEGIN):
                calls.append(".query()")
            calls += self._step(step)
        if not calls:
            return f"{code}.query()"
        if len(code) + sum(map(len, calls)) <= _WIDTH and len(calls) <= _CALLS:
            return code + "".join(calls)
        return "(\n" + "".join(f"    {line}\n" for line in [code, *calls]) + ")"

    def _dataset(self, source: str) -> str:
        dataset = self._sources.get(source)
        if dataset is None:
            return self._opener(source)
        code = self._opener(dataset.name)
        return f"{code}.as_of({dataset.pinned_version})" if isinstance(dataset, PinnedSource) else code

    def _step(self, step: Step) -> list[str]:
        write = _STEPS.get(type(step))
        if write is None:
            raise BadQuery(
                f"{type(step).__name__.lower()} cannot be written as Python", fix="Copy it as JSON"
            )
        return write(self, step)

    # Steps --------------------------------------------------------------------------------

    def _where(self, step: Where) -> list[str]:
        return [f".where({self._condition(step.condition)})"]

    def _compute(self, step: Compute) -> list[str]:
        calls: list[dict[str, str]] = [{}]
        for name, value in step.values:
            if name in calls[-1]:
                calls.append({})
            calls[-1][name] = self._value(value)
        return [f".compute({_keywords(call)})" for call in calls]

    def _select(self, step: Select) -> list[str]:
        return [f".select({_names(step.columns)})"]

    def _group(self, step: Group) -> list[str]:
        calls = [f".group_by({_names(step.keys)})"] if step.keys else []
        calls.append(f".agg({self._aggregates(step.aggregates)})")
        if step.having is not None:
            calls.append(f".having({self._condition(step.having)})")
        if step.totals or step.subtotals:
            flags = {"totals": step.totals, "subtotals": step.subtotals}
            options = [f"{name}={value}" for name, value in flags.items() if value is not (name == "totals")]
            calls.append(f".with_totals({', '.join(options)})")
        return calls

    def _sort(self, step: Sort) -> list[str]:
        if any(key.column.startswith("-") for key in step.keys) or not step.keys:
            self._needs("lamella.core.query.steps", "Sort")
            self._needs("lamella.core.scan.snapshot", "SortKey")
            return [f".query().then(Sort({self._sort_keys(step.keys)}))"]
        return [f".sort({_names(('-' if key.descending else '') + key.column for key in step.keys)})"]

    @staticmethod
    def _sort_keys(keys: Iterable[SortKey]) -> str:
        return f"({''.join(f'SortKey({key.column!r}, {key.descending}), ' for key in keys)})"

    def _limit(self, step: Limit) -> list[str]:
        return [f".limit({step.count}{f', offset={step.offset}' if step.offset else ''})"]

    def _sample(self, step: Sample) -> list[str]:
        return [f".sample({step.count}, seed={step.seed})"]

    def _pivot(self, step: Pivot) -> list[str]:
        keys = f"[{_names(step.keys)}]"
        if any(name == "values" for name, _function in step.aggregates):
            raise BadQuery("a pivot with an aggregate called 'values' cannot be written as Python")
        across = None if step.values is None else ", ".join(map(self._plain, step.values))
        values = "" if across is None else f", values=[{across}]"
        code = self._aggregates(step.aggregates)
        return [f".pivot({keys}, {_quote(step.column)}{values}{', ' if code else ''}{code})"]

    def _unpivot(self, step: Unpivot) -> list[str]:
        return [f".unpivot([{_names(step.columns)}], name={_quote(step.name)}, value={_quote(step.value)})"]

    def _unwind(self, step: Unwind) -> list[str]:
        return [f".unwind({_quote(step.column)}{', keep_empty=True' if step.keep_empty else ''})"]

    def _buckets(self, step: Buckets) -> list[str]:
        if isinstance(step.edges, int):
            edges = str(step.edges)
        else:
            edges = f"[{', '.join(map(self._plain, step.edges))}]"
        code = self._aggregates(step.aggregates)
        if not code:
            self._needs("lamella.core.query.steps", "Buckets")
            parts = edges if isinstance(step.edges, int) else f"tuple({edges})"
            return [f".then(Buckets({_quote(step.column)}, {parts}, ()))"]
        return [f".buckets({_quote(step.column)}, {edges}, {code})"]

    def _join(self, step: Join) -> list[str]:
        right = self.query(step.other) if step.other.steps else self._dataset(step.other.source)
        if step.left_on == step.right_on:
            keys = f"on=[{_names(step.left_on)}]"
        else:
            keys = f"left_on=[{_names(step.left_on)}], right_on=[{_names(step.right_on)}]"
        return [f".join({right}, {keys}, how={_quote(step.how)}, suffix={_quote(step.suffix)})"]

    def _sql(self, step: Sql) -> list[str]:
        if step.rows == self._source and all(name == source for name, source in step.tables):
            return [f".sql({_quote(step.text)})"]
        self._needs("lamella.core.query.steps", "Sql")
        return [f".then({step!r})"]

    # Values -------------------------------------------------------------------------------

    def _needs(self, module: str, name: str) -> None:
        self.imports.add((module, name))

    def _condition(self, filter: Filter) -> str:
        """Write a filter as text if the text parses as the same filter, otherwise as JSON."""
        try:
            text = to_text(filter)
            if parse(text) == filter:
                return repr(text) if '"' in text else _quote(text)
        except BadFilter:
            pass
        self._needs("lamella.core.filters.expr_json", "from_json")
        return f"from_json({expr_json.to_json(filter)!r})"

    def _aggregates(self, aggregates: Aggregates) -> str:
        return _keywords({name: self._aggregate(aggregate) for name, aggregate in aggregates})

    def _aggregate(self, aggregate: Aggregate) -> str:
        self._needs("lamella", "agg")
        parts = []
        if aggregate.value is not None:
            value = aggregate.value
            parts.append(
                _quote(value.name) if isinstance(value, ColumnReference) else self._value(value, text=False)
            )
        if aggregate.parameter is not None:
            parts.append(repr(aggregate.parameter))
        if aggregate.where is not None:
            parts.append(f"where={self._condition(aggregate.where)}")
        return f"agg.{aggregate.function}({', '.join(parts)})"

    def _value(self, expression: Expression, text: bool = True) -> str:
        """Write an argument of `compute`. `text` is whether text means a constant there."""
        if isinstance(expression, Constant):
            value = expression.value
            reads = isinstance(value, str) and computes_from(value, _AnyName)
            return self._constant(value) if reads or not text else self._plain(value)
        return self._expression_text(expression)

    def _expression_text(self, expression: Expression) -> str:
        if isinstance(expression, ColumnReference):
            self._needs("lamella", "col")
            return f"col({_quote(expression.name)})"
        if isinstance(expression, Constant):
            return self._constant(expression.value)
        if isinstance(expression, Condition):
            self._needs("lamella.core.query.expressions", "Condition")
            return f"Condition({self._filter(expression.filter)})"
        if isinstance(expression, Call):
            return self._call(expression)
        raise BadQuery(f"{expression!r} cannot be written as Python")

    def _filter(self, filter: Filter) -> str:
        written = self._condition(filter)
        if written.startswith("from_json("):
            return written
        self._needs("lamella.core.filters", "parse")
        return f"parse({written})"

    def _call(self, call: Call) -> str:
        sign = _SIGNS.get(call.function)
        if sign is not None and len(call.arguments) == 2 and not isinstance(call.arguments[0], Constant):
            return f"({self._operand(call.arguments[0])} {sign} {self._operand(call.arguments[1])})"
        if call.function == "negate" and len(call.arguments) == 1:
            return f"(-{self._expression_text(call.arguments[0])})"
        first = call.arguments[0] if call.arguments else None
        if call.function in _METHODS and first is not None and not isinstance(first, Constant):
            arguments = ", ".join(map(self._operand, call.arguments[1:]))
            return f"{self._expression_text(first)}.{call.function}({arguments})"
        if call.function == "when" and len(call.arguments) == 3 and isinstance(first, Condition):
            self._needs("lamella.core.query.expressions", "when")
            results = ", ".join(map(self._operand, call.arguments[1:]))
            return f"when({self._condition(first.filter)}, {results})"
        if call.function in _VARIADIC_FUNCTIONS:
            self._needs("lamella.core.query.expressions", call.function)
            return f"{call.function}({', '.join(map(self._operand, call.arguments))})"
        self._needs("lamella.core.query.expressions", "call")
        parts = ", ".join([_quote(call.function), *map(self._operand, call.arguments)])
        return f"call({parts})"

    def _operand(self, expression: Expression) -> str:
        return (
            self._plain(expression.value)
            if isinstance(expression, Constant)
            else self._expression_text(expression)
        )

    def _constant(self, value: Any) -> str:
        self._needs("lamella.core.query.expressions", "Constant")
        return f"Constant({self._plain(value)})"

    def _plain(self, scalar: Any) -> str:
        value = natural(scalar)
        if isinstance(value, float) and not math.isfinite(value):
            return f'float("{value}")'
        if isinstance(value, str):
            return _quote(value)
        if value is None or isinstance(value, bool | int | float | bytes):
            return repr(value)
        if isinstance(value, Decimal):
            self._needs("decimal", "Decimal")
            return repr(value)
        if isinstance(value, dt.date | dt.time | dt.timedelta):
            return self._moment(value)
        raise BadQuery(f"{value!r} cannot be written as Python", fix="Copy it as JSON")

    def _moment(self, value: dt.date | dt.time | dt.timedelta) -> str:
        zone = getattr(value, "tzinfo", None)
        if zone is not None and zone is not dt.UTC:
            if not isinstance(value, dt.datetime):
                raise BadQuery(f"{value!r} cannot be written as Python", fix="Copy it as JSON")
            self._needs("datetime", "datetime")
            return f"datetime.fromisoformat({value.isoformat()!r})"
        written = repr(value).removeprefix("datetime.").replace("datetime.timezone.utc", "UTC")
        self._needs("datetime", type(value).__name__)
        if zone is not None:
            self._needs("datetime", "UTC")
        return written


class _AnyName(set[str]):
    """A set of column names that contains every name."""

    def __iter__(self) -> Any:
        return iter(())

    def issuperset(self, _items: object) -> bool:
        return True


_WIDTH = 100
_CALLS = 5
_BEGIN = (Where, Compute, Select, Group, Sort, Limit, Join)
"""The steps that tables and open files have as methods; other steps need `.query()` first."""
_SIGNS = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "floor_divide": "//",
    "modulo": "%",
    "power": "**",
}
_METHODS = frozenset(FUNCTIONS) - {*_SIGNS, "negate", "abs", "coalesce", "least", "greatest", "when", "cast"}
"""Functions that are methods of a value."""
_VARIADIC_FUNCTIONS = frozenset({"coalesce", "least", "greatest"})


def _quote(text: str) -> str:
    """Quote text for Python, in double quotes if it needs no escapes."""
    return f'"{text}"' if text.isprintable() and '"' not in text and "\\" not in text else repr(text)


def _names(names: Iterable[str]) -> str:
    return ", ".join(map(_quote, names))


def _keywords(texts: Mapping[str, str]) -> str:
    plain = {
        name: text for name, text in texts.items() if name.isidentifier() and not keyword.iskeyword(name)
    }
    odd = {name: value for name, value in texts.items() if name not in plain}
    parts = [f"{name}={value}" for name, value in plain.items()]
    if odd and list(texts) != [*plain, *odd]:
        parts, odd = [], dict(texts)
    if odd:
        parts.append("**{" + ", ".join(f"{_quote(name)}: {value}" for name, value in odd.items()) + "}")
    return ", ".join(parts)


_STEPS: dict[type, Callable[[_Writer, Any], list[str]]] = {
    Where: _Writer._where,
    Compute: _Writer._compute,
    Select: _Writer._select,
    Group: _Writer._group,
    Sort: _Writer._sort,
    Limit: _Writer._limit,
    Sample: _Writer._sample,
    Pivot: _Writer._pivot,
    Unpivot: _Writer._unpivot,
    Unwind: _Writer._unwind,
    Buckets: _Writer._buckets,
    Join: _Writer._join,
    Sql: _Writer._sql,
}


# ------------------------------------------------------------------------------------- command line


def to_command(pipeline: Pipeline, place: str, sources: Mapping[str, Source], table: bool = True) -> str:
    """Write the query as `lamella query` with options, or with the steps as JSON if no options express them.
    `place` is the path of the store or file; `table` is whether it is a store, whose table must be named."""
    words = ["lamella", "query", place]
    dataset = sources[pipeline.source]
    options = None if len(sources) > 1 else _options(pipeline.steps)
    if options is None:
        return shlex.join(
            [*words, "--steps", json.dumps(query_to_json(sources, pipeline), ensure_ascii=False)]
        )
    if not table and not options:
        return shlex.join([*words, "--steps", json.dumps(to_json(pipeline), ensure_ascii=False)])
    if table:
        words += ["--table", dataset.name]
    if isinstance(dataset, PinnedSource):
        words += ["--as-of", str(dataset.pinned_version)]
    return shlex.join([*words, *options])


def _options(steps: Iterable[Step]) -> list[str] | None:
    """The options in the order in which the command applies them; None if the steps have no such options."""
    remaining = list(steps)
    try:
        options = _condition_option(remaining)
        for kind, write in ((Group, _group_options), (Sort, _sort_option), (Limit, _limit_options)):
            if remaining and isinstance(remaining[0], kind):
                options += write(remaining.pop(0))
        if remaining and isinstance(remaining[0], Select):
            options += ["--columns", _comma_list(remaining[0].columns)]
            remaining.pop(0)
    except _NoOption:
        return None
    return None if remaining else options


class _NoOption(Exception):
    """Raised for a step that options cannot express."""


def _condition_option(remaining: list[Step]) -> list[str]:
    conditions: list[Filter] = []
    while remaining and isinstance(remaining[0], Where):
        step = remaining.pop(0)
        assert isinstance(step, Where)
        conditions.append(step.condition)
    return (
        ["--where", _text(conditions[0] if len(conditions) == 1 else all_of(conditions))]
        if conditions
        else []
    )


def _text(filter: Filter) -> str:
    try:
        return to_text(filter)
    except LamellaError as error:
        raise _NoOption from error


def _comma_list(names: Iterable[str]) -> str:
    parts = list(names)
    if any("," in name or name != name.strip() or not name or name.startswith("-") for name in parts):
        raise _NoOption
    return ",".join(parts)


def _group_options(step: Any) -> list[str]:
    if step.subtotals:
        raise _NoOption
    options = ["--group-by", _comma_list(step.keys)] if step.keys else []
    options += ["--totals"] if step.totals else []
    if step.aggregates:
        options += ["--agg", *(_aggregate_option(name, aggregate) for name, aggregate in step.aggregates)]
    return [*options, "--having", _text(step.having)] if step.having is not None else options


def _aggregate_option(name: str, aggregate: Aggregate) -> str:
    value = aggregate.value
    plain = value is None or isinstance(value, ColumnReference)
    if aggregate.where is not None or not plain or "=" in name or name != name.strip() or not name:
        raise _NoOption
    column = value.name if isinstance(value, ColumnReference) else ""
    if isinstance(value, ColumnReference) and not column.replace(".", "_").isidentifier():
        column = '"' + column.replace('"', '""') + '"'
    if aggregate.function == "quantile":
        column += f", {aggregate.parameter!r}"
    elif aggregate.parameter is not None:
        raise _NoOption
    return f"{name}={aggregate.function}({column})"


def _sort_option(step: Any) -> list[str]:
    _comma_list(key.column for key in step.keys)
    return [f"--sort={','.join(('-' if key.descending else '') + key.column for key in step.keys)}"]


def _limit_options(step: Any) -> list[str]:
    options = [] if step.count is None else ["--limit", str(step.count)]
    return [*options, "--offset", str(step.offset)] if step.offset else options
