"""Writes a query as SQL in DuckDB's dialect, as readable as possible without changing its answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import duckdb
import pyarrow as pa

from lamella.core.errors import BadQuery
from lamella.core.filters.expr import Filter, Predicate, all_of
from lamella.core.jobs import Job
from lamella.core.libraries import exp, sqlglot
from lamella.core.query import engine
from lamella.core.query.buckets import HIGH, LOW, bucket_edges, end_of_range, place_of_value
from lamella.core.query.compile import ROW_COUNT, Compiler, column_values, given_names, value_names
from lamella.core.query.duckdb_types import sql_type
from lamella.core.query.expressions import Call, ColumnReference, Expression
from lamella.core.query.fields import Field, Fields, Value, case, func, number, text
from lamella.core.query.functions.aggregates import AGGREGATES, aggregate_sql
from lamella.core.query.functions.table import condition, type_expression
from lamella.core.query.functions.types import in_common
from lamella.core.query.plan import Identifiers, Node, QueryContext, Rank
from lamella.core.query.source import PinnedSource, Source, whole_snapshot
from lamella.core.query.sql_clauses import steps_of
from lamella.core.query.sql_tidying import identifier, refuse_alike, sql_fields, tidy
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

STEPS_NOTE = "-- lamella: "
"""Begins a line below the statement that has the steps as JSON, for statements that do not express their
steps by themselves. A reader writes the statement again from these steps, and compares."""


def to_sql(pipeline: Pipeline, sources: Mapping[str, Source], job: Job | None = None) -> str:
    """Write the query as one SELECT over the datasets by their names, for `Store.sql` and `lamella query`.
    `sources` are the datasets that the pipeline names.

    The columns of a pivot and the bounds of buckets are read from the data unless the step gives them. Rows
    with equal sort keys may come in another order. Raises `BadQuery` for what SQL cannot express (a sample,
    or the first value of unsorted rows), and like `Query.read` for steps that do not fit.
    """
    from lamella.core.query.pipeline_json import query_to_json

    statement = bare_statement(pipeline, sources, job or Job())
    saved = json.dumps(query_to_json(sources, pipeline), ensure_ascii=False)
    again = steps_of(statement, {source.name: source for source in sources.values()}.__getitem__)
    if again is not None and json.dumps(again.to_json(), ensure_ascii=False) == saved:
        return statement
    return f"{statement}\n{STEPS_NOTE}{saved}"


def bare_statement(pipeline: Pipeline, sources: Mapping[str, Source], job: Job) -> str:
    """The statement without the steps below it."""
    with engine.cursor(job, pipeline.source) as connection, engine.not_too_deep(pipeline.source):
        return _Writer(sources, connection, job).statement(pipeline)


@dataclass(frozen=True)
class _Key:
    """A sort key: a column of the answer or of the rows below it."""

    name: str
    descending: bool = False

    @property
    def sql(self) -> str:
        return identifier(self.name) + (" DESC" if self.descending else "")


@dataclass(frozen=True)
class _Select:
    """A SELECT under construction. `before` are the columns that it selects from. `items` are its output
    columns: names with their SQL, or None for an unchanged column; without items, it selects all. Nothing can
    be added once it is `is_closed`."""

    table: str
    before: Fields
    fields: Fields
    where: tuple[str, ...] = ()
    items: tuple[tuple[str, str | None], ...] | None = None
    group: tuple[str, ...] | None = None
    having: str = ""
    order: tuple[_Key, ...] = ()
    limit: int | None = None
    offset: int = 0
    is_closed: bool = False

    @property
    def is_plain(self) -> bool:
        return self.items is None and not self.is_limited and not self.is_closed

    @property
    def is_limited(self) -> bool:
        return self.limit is not None or self.offset > 0

    def text(self, in_order: bool = True) -> str:
        lines = [f"SELECT {self._items}", f"FROM {self.table}"]
        if self.where:
            lines.append("WHERE " + "\n  AND ".join(self._conditions))
        if self.group:
            lines.append(f"GROUP BY {', '.join(self.group)}")
        if self.having:
            lines.append(f"HAVING {self.having}")
        if self.order and (in_order or self.is_limited):
            lines.append(f"ORDER BY {', '.join(key.sql for key in self.order)}")
        if self.limit is not None:
            lines.append(f"LIMIT {self.limit}")
        if self.offset:
            lines.append(f"OFFSET {self.offset}")
        return "\n".join(lines)

    @property
    def _conditions(self) -> Iterator[str]:
        for clause in self.where:
            is_or = isinstance(sqlglot.parse_one(clause, dialect="duckdb"), exp.Or)
            yield f"({clause})" if is_or and len(self.where) > 1 else clause

    @property
    def _items(self) -> str:
        if self.items is None:
            return "*"
        names = self.before.names
        if not names or [name for name, _sql in self.items[: len(names)]] != names:
            return ", ".join(self._item(*item) for item in self.items)
        replaced = [self._item(*item) for item in self.items[: len(names)] if item[1] is not None]
        star = f"* REPLACE ({', '.join(replaced)})" if replaced else "*"
        return ", ".join([star, *(self._item(*item) for item in self.items[len(names) :])])

    @staticmethod
    def _item(name: str, sql: str | None) -> str:
        if sql is None:
            return identifier(name)
        return sql if sql in _both_sides(name) else f"{sql} AS {identifier(name)}"


def _both_sides(name: str) -> tuple[str, str]:
    return f"l.{identifier(name)}", f"r.{identifier(name)}"


class _Rows(Node):
    """The rows that aggregates are computed from, with the columns' own names."""

    def __init__(self, fields: Fields, order: Iterable[_Key]) -> None:
        self.fields = fields
        self.order = tuple(Rank(key.name, key.descending) for key in order)

    def query(self, identifiers: Identifiers, context: QueryContext) -> exp.Select:
        raise NotImplementedError


class _Writer:
    """Writes one statement: the steps that need a SELECT of their own become named subqueries (WITH) before
    it."""

    def __init__(
        self, sources: Mapping[str, Source], connection: duckdb.DuckDBPyConnection, job: Job
    ) -> None:
        self._sources, self._job, self._connection = sources, job, connection
        self._compiler = Compiler(lambda name: whole_snapshot(sources[name], job), job, by_id=False)
        self._steps: list[tuple[str, str]] = []
        self._used_names = {source.name.casefold() for source in sources.values()}
        refuse_alike([source.name for source in sources.values()], "two datasets")

    def statement(self, pipeline: Pipeline) -> str:
        rows = self._rows(pipeline)
        statement = rows.text()
        if not self._steps:
            return statement
        if len(self._steps) == 1 and rows == _Select(self._steps[0][0], rows.fields, rows.fields):
            return self._steps[0][1]
        queries = [f"{name} AS (\n{_indent(body)}\n)" for name, body in self._steps]
        return f"WITH {', '.join(queries)}\n{statement}"

    def _rows(self, pipeline: Pipeline) -> _Select:
        node = self._compiler.rows(Pipeline(pipeline.source))
        fields = sql_fields(node.fields)
        select = _Select(self._table(pipeline.source), fields, fields)
        for step in pipeline.steps:
            select = self._after(step, select, node)
            node = self._compiler.after(step, node)
            select = replace(select, fields=sql_fields(node.fields))
        return select

    def _table(self, source: str) -> str:
        dataset = self._sources[source]
        version = f" AT (VERSION => {dataset.pinned_version})" if isinstance(dataset, PinnedSource) else ""
        return identifier(dataset.name) + version

    def _after(self, step: Step, rows: _Select, node: Node) -> _Select:
        write = _STEPS.get(type(step))
        if write is None:
            raise BadQuery(
                f"{node.fields.place}: {type(step).__name__.lower()} cannot be written as SQL",
                _NOT_SQL.get(type(step), ""),
                "Copy it as Python or JSON",
            )
        return write(self, step, rows, node)

    # Steps of SQL -------------------------------------------------------------------------

    def _nest(self, rows: _Select, in_order: bool = False) -> _Select:
        """Start a new SELECT from the rows so far, under a new name. The sort order moves to the new SELECT,
        unless its columns are gone, or the rows must be sorted before (`in_order`)."""
        if rows == _Select(rows.table, rows.fields, rows.fields):
            return rows
        has_keys = all(key.name in rows.fields for key in rows.order) and not in_order
        name = self._step_name()
        self._steps.append((name, rows.text(in_order=not has_keys)))
        return _Select(name, rows.fields, rows.fields, order=rows.order if has_keys else ())

    def _step_name(self) -> str:
        number = len(self._steps) + 1
        while f"step_{number}" in self._used_names:
            number += 1
        self._used_names.add(f"step_{number}")
        return f"step_{number}"

    def _where(self, step: Where, rows: _Select, _node: Node) -> _Select:
        rows = rows if rows.is_plain else self._nest(rows)
        match = self._condition(step.condition, rows.before)
        return replace(rows, where=(*rows.where, match))

    def _compute(self, step: Compute, rows: _Select, _node: Node) -> _Select:
        computed: dict[str, str] = {}
        for name, value in step.values:
            ordered = any(key.name == name for key in rows.order)
            if (
                not rows.is_plain
                or ordered
                or not computed.keys().isdisjoint(_names_in(value))
                or name in computed
            ):
                if computed:
                    rows = _with_computed_items(rows, computed)
                rows, computed = self._nest(rows, in_order=ordered), {}
            expression = type_expression(value, rows.before)
            computed[name] = self._tidy(expression.value.sql, rows.before, expression.value.type)
            rows = replace(rows, fields=rows.fields.with_field(Field(name, expression.value.type, name)))
        return _with_computed_items(rows, computed)

    def _select(self, step: Select, rows: _Select, _node: Node) -> _Select:
        items = dict(rows.items) if rows.items is not None else dict.fromkeys(rows.before.names)
        inside = [name for name in step.columns if name not in rows.fields]
        ordering = {key.name for key in rows.order if items.get(key.name) is not None}
        if rows.is_closed or not ordering <= set(step.columns) or (inside and rows.items is not None):
            rows = self._nest(rows, in_order=not ordering <= set(step.columns))
            items = dict.fromkeys(rows.before.names)
        paths = {name: self._path(name, rows.before) for name in inside}
        return replace(rows, items=tuple((name, paths.get(name, items.get(name))) for name in step.columns))

    def _path(self, name: str, fields: Fields) -> str:
        expression = type_expression(ColumnReference(name), fields)
        return self._tidy(expression.value.sql, fields, expression.value.type)

    def _sort(self, step: Sort, rows: _Select, _node: Node) -> _Select:
        rows = self._with_paths([key.column for key in step.keys], rows)
        computed = {name for name, sql in rows.items or () if sql is not None and name in rows.before}
        if rows.is_limited or rows.is_closed or not computed.isdisjoint(key.column for key in step.keys):
            rows = self._nest(rows)
        keys = [_Key(key.column, key.descending) for key in step.keys]
        names = {key.name for key in keys}
        before = (key for key in rows.order if key.name not in names)
        return replace(rows, order=(*dict.fromkeys(keys), *before))

    def _with_paths(self, names: Iterable[str], rows: _Select) -> _Select:
        odd = [name for name in names if name not in rows.fields]
        if odd:
            raise BadQuery(
                f"{rows.fields.place}: '{odd[0]}' is a field inside a column, which SQL cannot use here",
                fix=f"Compute it as a column first: compute(x=col({odd[0]!r}))",
            )
        return rows

    def _limit(self, step: Limit, rows: _Select, _node: Node) -> _Select:
        rows = self._nest(rows) if rows.is_limited or rows.is_closed else rows
        return replace(rows, limit=step.count, offset=step.offset)

    def _group(self, step: Group, rows: _Select, _node: Node) -> _Select:
        rows = self._with_paths(step.keys, rows)
        rows = rows if rows.is_plain else self._nest(rows)
        return self._group_by(rows, step.keys, step.aggregates, step.having)

    def _group_by(
        self, rows: _Select, keys: Sequence[str], aggregates: Aggregates, having: Filter | None = None
    ) -> _Select:
        aggregated = [(name, *self._aggregate(aggregate, rows)) for name, aggregate in aggregates]
        fields = Fields(
            rows.fields.place,
            (
                *(rows.before[key] for key in keys),
                *(Field(name, kind, name) for name, _sql, kind in aggregated),
            ),
            is_trusted=True,
        )
        items = (*((key, None) for key in keys), *((name, sql) for name, sql, _kind in aggregated))
        key_names = tuple(map(identifier, keys))
        grouped = replace(
            rows, fields=fields, items=items, group=key_names, order=tuple(map(_Key, keys)), is_closed=False
        )
        if having is None:
            return grouped
        if all(name not in rows.before for name, _sql, _kind in aggregated):
            return replace(grouped, having=self._condition(having, fields))
        nested = self._nest(grouped)
        return replace(nested, where=(self._condition(having, nested.before),))

    def _aggregate(self, aggregate: Aggregate, rows: _Select) -> tuple[str, pa.DataType]:
        function = AGGREGATES.get(aggregate.function)
        if function is not None and function.is_ordered and not rows.order:
            raise BadQuery(
                f"{rows.fields.place}: '{function.id}' of rows that are not sorted cannot be written as SQL",
                "Tables have no order in SQL",
                "Sort the rows first, or copy it as Python or JSON",
            )
        kind, sql, _used = aggregate_sql(aggregate, _Rows(rows.before, rows.order))
        return self._tidy(sql, rows.before, kind), kind

    def _pivot(self, step: Pivot, rows: _Select, node: Node) -> _Select:
        rows = self._with_paths([*step.keys, step.column], rows)
        rows = rows if rows.is_plain else self._nest(rows)
        source_rows, (*_keys, across) = self._compiler.reachable((*step.keys, step.column), node)
        if step.values is None:
            across_values = column_values(self._compiler, source_rows, across)
            names, values = value_names(across_values), [value.as_py() for value in across_values]
        else:
            names, values = given_names(step.values), list(step.values)
        aggregates = step.aggregates or ROW_COUNT
        cells = [
            (called if len(aggregates) == 1 else f"{called}_{name}", _only(aggregate, step.column, value))
            for called, value in zip(names, values, strict=True)
            for name, aggregate in aggregates
        ]
        return self._group_by(rows, step.keys, tuple(cells))

    def _unpivot(self, step: Unpivot, rows: _Select, _node: Node) -> _Select:
        rows = self._nest(self._with_paths(step.columns, rows), in_order=True)
        values = [Value(_column(name), rows.before[name].type, name) for name in step.columns]
        common = in_common(values)
        if common is None:
            raise BadQuery(f"{rows.fields.place}: the columns to unpivot have no type in common")
        names = func("unnest", exp.Array(expressions=[text(name) for name in step.columns]))
        cells = func("unnest", exp.Array(expressions=common[0]))
        own = tuple((name, None) for name in rows.before.names if name not in step.columns)
        unpivoted = (
            (step.name, self._tidy(names, rows.before)),
            (step.value, self._tidy(cells, rows.before)),
        )
        return replace(rows, items=(*own, *unpivoted), is_closed=True)

    def _unwind(self, step: Unwind, rows: _Select, _node: Node) -> _Select:
        rows = self._nest(self._with_paths([step.column], rows), in_order=True)
        lists = _column(step.column)
        if step.keep_empty:
            filled = exp.GT(this=func("len", lists), expression=number(0))
            lists = case(filled, lists, exp.Array(expressions=[exp.Null()]))
        item = self._tidy(func("unnest", lists), rows.before)
        items = tuple((name, item if name == step.column else None) for name in rows.before.names)
        return replace(rows, items=items, is_closed=True)

    def _buckets(self, step: Buckets, rows: _Select, node: Node) -> _Select:
        rows = self._with_paths([step.column], rows)
        rows = self._nest(rows) if not rows.is_plain else rows
        ends = bucket_edges(self._compiler, step, node)[2]
        place = "bucket"
        while place in rows.fields or place in dict(step.aggregates):
            place += "_"
        numbered, _used = place_of_value(rows.before[step.column], ends, rows.before)
        numbers = self._tidy(numbered, rows.before)
        fields = rows.before.with_field(Field(place, pa.int64(), place))
        rows = self._nest(replace(_with_computed_items(rows, {place: numbers}), fields=fields))
        rows = self._nest(self._group_by(rows, [place], step.aggregates))
        ranges = [(name, self._tidy(end_of_range(ends, place, name), rows.before)) for name in (LOW, HIGH)]
        items = (*ranges, *((name, None) for name, _ in step.aggregates))
        return replace(rows, items=items, order=(_Key(place),))

    def _join(self, step: Join, rows: _Select, node: Node) -> _Select:
        left = self._nest(self._with_paths(step.left_on, rows))
        right = self._nest(self._rows(step.other))
        self._with_paths(step.right_on, right)
        pairs = list(zip(step.left_on, step.right_on, strict=True))
        for left_key, right_key in pairs:
            _refuse_types(left.before[left_key], right.before[right_key])
        on = " AND ".join(
            f"l.{identifier(left_key)} = r.{identifier(right_key)}" for left_key, right_key in pairs
        )
        table = f"{left.table} AS l\n{step.how.upper()} JOIN {right.table} AS r ON {on}"
        if step.how in ("semi", "anti"):
            items = None
        else:
            join_names = self._compiler.after(step, node).fields.names[len(left.before.names) :]
            items = tuple(_join_items(step, left, right, join_names))
        before = left.before if items is None else Fields(left.before.place, ())
        return replace(left, table=table, before=before, items=items, is_closed=True)

    def _sql(self, step: Sql, rows: _Select, node: Node) -> _Select:
        query = "\n".join(step.text.strip().rstrip(";").splitlines())
        body = query
        renamed = [(name, self._table(source)) for name, source in step.tables]
        renamed = [(name, table) for name, table in renamed if identifier(name) != table]
        rows = self._nest(rows, in_order=True)
        if identifier(step.rows) != rows.table:
            renamed.append((step.rows, rows.table))
        if renamed:
            names = ", ".join(f"{identifier(name)} AS (SELECT * FROM {table})" for name, table in renamed)
            body = f"WITH {names}\nSELECT * FROM (\n{_indent(query)}\n)"
        name = self._step_name()
        self._steps.append((name, body))
        fields = sql_fields(self._compiler.after(step, node).fields)
        return _Select(name, fields, fields)

    # Expressions --------------------------------------------------------------------------

    def _condition(self, filter: Filter, fields: Fields) -> str:
        return self._tidy(condition(filter, fields)[0], fields)

    def _tidy(self, expression: exp.Expr, fields: Fields, kind: pa.DataType | None = None) -> str:
        return tidy(expression, fields, self._connection, kind)


def _column(name: str) -> exp.Expr:
    return exp.column(exp.to_identifier(name, quoted=True))


def _with_computed_items(rows: _Select, computed: Mapping[str, str]) -> _Select:
    items = dict.fromkeys(rows.before.names) | dict(computed)
    return replace(rows, items=tuple(items.items()))


def _names_in(value: Expression) -> set[str]:
    """The columns that an expression, or a condition in it, may read."""
    from lamella.core.filters.expr import columns_read
    from lamella.core.query.expressions import Condition

    names: set[str] = set()
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, ColumnReference):
            names.update((part.name, part.name.partition(".")[0]))
        elif isinstance(part, Condition):
            for name in columns_read(part.filter):
                names.update((name, name.partition(".")[0]))
        elif isinstance(part, Call):
            waiting.extend(part.arguments)
    return names


def _only(aggregate: Aggregate, column: str, value: Any) -> Aggregate:
    """Restrict an aggregate to the rows with this value."""
    bucket: Filter = Predicate(column, "is_null") if value is None else Predicate(column, "eq", (value,))
    return replace(aggregate, where=bucket if aggregate.where is None else all_of((bucket, aggregate.where)))


def _join_items(
    step: Join, left: _Select, right: _Select, join_names: Sequence[str]
) -> Iterator[tuple[str, str]]:
    shared = {
        left_key
        for left_key, right_key in zip(step.left_on, step.right_on, strict=True)
        if left_key == right_key
    }
    both = step.how in ("right", "full")
    for name in left.before.names:
        own_side, other_side = _both_sides(name)
        yield name, f"coalesce({own_side}, {other_side})" if both and name in shared else own_side
    names = [name for name in right.before.names if name not in shared]
    for called, name in zip(join_names, names, strict=True):
        yield called, f"r.{identifier(name)}"


def _refuse_types(left: Field, right: Field) -> None:
    is_whole = pa.types.is_integer(left.type) and pa.types.is_integer(right.type)
    if not (is_whole or sql_type(left.type) == sql_type(right.type)):
        raise BadQuery(
            f"'{left.name}' ({left.type}) joined with '{right.name}' ({right.type}) cannot be written as SQL",
            "SQL compares them differently",
            "Cast one of them to the other's type first with compute()",
        )


def _indent(body: str) -> str:
    return "\n".join(f"  {line}" for line in body.splitlines())


_NOT_SQL: dict[type, str] = {
    Sample: "SQL has no random sample that stays the same",
    Facets: "Its answer is several tables",
}
_STEPS: dict[type, Callable[[_Writer, Any, _Select, Node], _Select]] = {
    Where: _Writer._where,
    Compute: _Writer._compute,
    Select: _Writer._select,
    Sort: _Writer._sort,
    Limit: _Writer._limit,
    Group: _Writer._group,
    Pivot: _Writer._pivot,
    Unpivot: _Writer._unpivot,
    Unwind: _Writer._unwind,
    Buckets: _Writer._buckets,
    Join: _Writer._join,
    Sql: _Writer._sql,
}
