"""Converts the clauses of a SELECT to equivalent steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import duckdb

from lamella.core.errors import LamellaError
from lamella.core.jobs import Job
from lamella.core.libraries import exp, sqlglot
from lamella.core.query import engine
from lamella.core.query.builder import Query
from lamella.core.query.compile import compile_pipeline
from lamella.core.query.fields import Fields
from lamella.core.query.source import Source, whole_snapshot
from lamella.core.query.sql_expressions import (
    AggregateCalls,
    ComputedValues,
    Conditions,
    OtherSql,
    Scope,
    bare,
    canonical,
    extras,
    only,
)
from lamella.core.query.sql_tidying import identifier, sql_fields
from lamella.core.query.steps import (
    Aggregate,
    Compute,
    Group,
    How,
    Join,
    Limit,
    Pipeline,
    Select,
    Sort,
    Step,
    Where,
)
from lamella.core.scan.snapshot import SortKey

Find = Callable[[str], Source]


def steps_of(text: str, find: Find) -> Query | None:
    """The query that a statement expresses, as steps; None if steps cannot express it. DuckDB does not check
    the statement, so it may be one that fails there."""
    try:
        return _from_tree(text, find)
    except (OtherSql, LamellaError, sqlglot.errors.SqlglotError, RecursionError):
        return None


def _from_tree(text: str, find: Find) -> Query:
    tree = sqlglot.parse_one(text, dialect="duckdb")
    with engine.cursor(of="a statement") as connection:
        reader = _Reader(find, connection)
        pipeline = reader.pipeline(tree, {})
    return Query(reader.sources, pipeline)


@dataclass
class _Rows:
    """The rows of a SELECT as read so far. `column_names` maps the table and name used in the statement to
    column names."""

    pipeline: Pipeline
    column_names: dict[tuple[str, str], str] = field(default_factory=dict)
    tables: list[str] = field(default_factory=list)

    def then(self, step: Step) -> None:
        self.pipeline = Pipeline(self.pipeline.source, (*self.pipeline.steps, step))


class _Reader:
    def __init__(self, find: Find, connection: duckdb.DuckDBPyConnection) -> None:
        self.sources: dict[str, Source] = {}
        self._find, self._connection = find, connection

    def pipeline(self, tree: exp.Expr, ctes: Mapping[str, Pipeline]) -> Pipeline:
        if isinstance(tree, exp.Subquery) and not extras(tree, {"this", "alias"}):
            return self.pipeline(tree.this, ctes)
        if not isinstance(tree, exp.Select):
            raise OtherSql
        only(tree, _CLAUSES)
        inner = dict(ctes)
        for cte in _cte_list(tree.args.get("with_"), ctes):
            inner[cte.alias.casefold()] = self.pipeline(cte.this, inner)
        return self._select(tree, inner)

    def fields(self, pipeline: Pipeline) -> Fields:
        node = compile_pipeline(pipeline, lambda name: whole_snapshot(self.sources[name], Job()))
        return sql_fields(node.fields)

    def _select(self, tree: exp.Select, ctes: Mapping[str, Pipeline]) -> Pipeline:
        rows = self._from(tree, ctes)
        if tree.args.get("where"):
            rows.then(Where(Conditions(self._scope(rows)).when_true(tree.args["where"].this)))
        if tree.args.get("group") or tree.args.get("distinct") or _aggregates(tree):
            self._aggregation(tree, rows)
        else:
            self._projection(tree, rows)
        limit, offset = (_whole(tree.args.get(name)) for name in ("limit", "offset"))
        if limit is not None or offset is not None:
            rows.then(Limit(limit, offset or 0))
        return rows.pipeline

    def _scope(self, rows: _Rows) -> Scope:
        return Scope(self.fields(rows.pipeline), rows.column_names, rows.tables, self._connection)

    # FROM -------------------------------------------------------------------------------------

    def _from(self, tree: exp.Select, ctes: Mapping[str, Pipeline]) -> _Rows:
        clause = tree.args.get("from_")
        if clause is None:
            raise OtherSql
        alias, pipeline = self._table(clause.this, ctes)
        rows = _Rows(pipeline, tables=[alias])
        for name in self.fields(pipeline).names:
            rows.column_names[alias, name.casefold()] = name
        for join in tree.args.get("joins") or ():
            self._join(join, rows, ctes)
        return rows

    def _table(self, tree: exp.Expr, ctes: Mapping[str, Pipeline]) -> tuple[str, Pipeline]:
        """The name of a table in the statement, and its rows."""
        if isinstance(tree, exp.Subquery):
            return tree.alias.casefold(), self.pipeline(tree.this, ctes)
        if not isinstance(tree, exp.Table) or not isinstance(tree.this, exp.Identifier):
            raise OtherSql
        if extras(tree, {"this", "alias"}) or (tree.args.get("alias") and tree.args["alias"].columns):
            raise OtherSql
        alias = (tree.alias or tree.name).casefold()
        if tree.name.casefold() in ctes:
            return alias, ctes[tree.name.casefold()]
        source = self._find(tree.name)
        if self.sources.setdefault(source.name, source) is not source:
            raise OtherSql
        return alias, Pipeline(source.name)

    def _join(self, tree: exp.Join, rows: _Rows, ctes: Mapping[str, Pipeline]) -> None:
        """Read a join. Columns with the same name on both sides are distinguished only by their tables."""
        only(tree, {"this", "side", "kind", "on", "using"})
        how = _HOWS.get((tree.side.upper(), tree.kind.upper()))
        if how is None or bool(tree.args.get("on")) == bool(tree.args.get("using")):
            raise OtherSql
        alias, right = self._table(tree.this, ctes)
        if alias in rows.tables or not alias:
            raise OtherSql
        theirs = self.fields(right).names
        pairs = list(self._pairs(tree, rows, alias, theirs))
        left_on, right_on = zip(*pairs, strict=True)
        before = self.fields(rows.pipeline).names
        rows.then(Join(right, left_on, right_on, how, f"_{alias}"))
        if how in ("semi", "anti"):
            return
        shared = {left_name for left_name, two in pairs if left_name == two}
        joined = iter(self.fields(rows.pipeline).names[len(before) :])
        rows.tables.append(alias)
        for name in theirs:
            if name not in shared:
                rows.column_names[alias, name.casefold()] = next(joined)
            elif how == "inner":
                rows.column_names[alias, name.casefold()] = name
        if tree.args.get("using"):
            return
        rows.column_names["*", ""] = ""  # "*" would have the keys of both sides

    def _pairs(
        self, tree: exp.Join, rows: _Rows, alias: str, theirs: Sequence[str]
    ) -> Iterator[tuple[str, str]]:
        connection = {name.casefold(): name for name in theirs}
        if tree.args.get("using"):
            for column in tree.args["using"]:
                names = [
                    name for (_t, key), name in rows.column_names.items() if key == column.name.casefold()
                ]
                if len(set(names)) != 1 or column.name.casefold() not in connection:
                    raise OtherSql
                yield names[0], connection[column.name.casefold()]
            return
        for column in (
            tree.args["on"].flatten() if isinstance(tree.args["on"], exp.And) else [tree.args["on"]]
        ):
            sides = [bare(column.this), bare(column.expression)] if isinstance(column, exp.EQ) else []
            columns = [side for side in sides if isinstance(side, exp.Column) and side.table]
            if len(columns) != 2:
                raise OtherSql
            if columns[0].table.casefold() == alias:
                columns.reverse()
            left = rows.column_names.get((columns[0].table.casefold(), columns[0].name.casefold()))
            right = connection.get(columns[1].name.casefold())
            if left is None or right is None or columns[1].table.casefold() != alias:
                raise OtherSql
            yield left, right

    # SELECT ... -------------------------------------------------------------------------------

    def _projection(self, tree: exp.Select, rows: _Rows) -> None:
        scope = self._scope(rows)
        names, items = _select_list(tree, scope)
        self._compute(items, scope, rows)
        after = self._scope(rows)
        keys = _sort_keys(tree, after, names)
        keeps_keys = all(key.column in after.fields for key in keys)
        if keys and keeps_keys:
            rows.then(Sort(keys))
        if list(names) != after.fields.names:
            rows.then(Select(tuple(names)))

    def _compute(self, computed: Mapping[str, exp.Expr], scope: Scope, rows: _Rows) -> None:
        if not computed:
            return
        for name in computed:
            expressions = (expression for key, expression in computed.items() if key != name)
            names = (
                scope.name(column) for expression in expressions for column in expression.find_all(exp.Column)
            )
            if name in scope.fields and name in names:
                raise OtherSql
        values = ComputedValues(scope)
        rows.then(Compute(tuple((name, values.value(tree)) for name, tree in computed.items())))
        for name in computed:
            rows.column_names["", name.casefold()] = name

    # ... GROUP BY -----------------------------------------------------------------------------

    def _aggregation(self, tree: exp.Select, rows: _Rows) -> None:
        scope = self._scope(rows)
        keys, items = self._keys(tree, scope), _items(tree)
        computed: dict[str, exp.Expr] = {}
        aggregates: dict[str, Aggregate] = {}
        names: list[str] = []
        for name, value in items:
            if value.find(exp.AggFunc):
                aggregates[name] = AggregateCalls(scope).read(value)
            elif not any(_are_same(value, key) for key in keys):
                raise OtherSql
            elif not (isinstance(value, exp.Column) and scope.name(value) == name):
                computed[name] = value
            names.append(name)
        if len(set(names)) != len(names):
            raise OtherSql
        grouped = tuple(self._key_name(key, items, scope) for key in keys)
        self._compute(computed, scope, rows)
        having = tree.args.get("having")
        rows.then(Group(grouped, tuple(aggregates.items())))
        rows.column_names, rows.tables = {("", name.casefold()): name for name in (*grouped, *aggregates)}, []
        if having is not None:
            condition = Conditions(self._scope(rows)).when_true(_by_names(having.this, items))
            rows.pipeline = replace(
                rows.pipeline,
                steps=(*rows.pipeline.steps[:-1], Group(grouped, tuple(aggregates.items()), condition)),
            )
        keys_of_sort = _sort_keys(tree, self._scope(rows), names, items)
        remaining = _without_own_order(keys_of_sort, grouped)
        if remaining:
            rows.then(Sort(remaining))
        if names != [*grouped, *aggregates]:
            rows.then(Select(tuple(names)))

    def _keys(self, tree: exp.Select, scope: Scope) -> list[exp.Expr]:
        """The expressions to group by, as written in the list of columns."""
        group, items = tree.args.get("group"), _items(tree)
        plain = [value for _name, value in items if not value.find(exp.AggFunc)]
        if tree.args.get("distinct"):
            if group is not None or len(plain) != len(items) or tree.args["distinct"].args.get("on"):
                raise OtherSql
            return plain
        if group is None:
            return []
        if extras(group, {"expressions", "all"}):
            raise OtherSql
        if group.args.get("all"):
            return plain
        return [_item_of(expression, items, scope) for expression in group.expressions]

    def _key_name(self, key: exp.Expr, items: Sequence[tuple[str, exp.Expr]], scope: Scope) -> str:
        for name, value in items:
            if _are_same(value, key):
                return name
        if isinstance(key, exp.Column):
            return scope.name(key)
        raise OtherSql


_CLAUSES = {
    "with_", "expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset",
    "distinct",
}  # fmt: skip
_HOWS: dict[tuple[str, str], How] = {
    ("", ""): "inner",
    ("", "INNER"): "inner",
    ("LEFT", ""): "left",
    ("LEFT", "OUTER"): "left",
    ("", "SEMI"): "semi",
    ("", "ANTI"): "anti",
}


def _cte_list(clause: exp.Expr | None, _ctes: object) -> list[exp.Expr]:
    if clause is None:
        return []
    if clause.args.get("recursive") or any(cte.args["alias"].columns for cte in clause.expressions):
        raise OtherSql
    return list(clause.expressions)


def _are_same(left: exp.Expr, right: exp.Expr) -> bool:
    return canonical(left) == canonical(right)


def _whole(clause: exp.Expr | None) -> int | None:
    if clause is None:
        return None
    if not isinstance(clause, exp.Limit | exp.Offset) or extras(clause, {"expression"}):
        raise OtherSql
    value = clause.expression
    if not isinstance(value, exp.Literal) or not value.is_int:
        raise OtherSql
    return int(value.this)


def _aggregates(tree: exp.Select) -> bool:
    return any(expression.find(exp.AggFunc) for expression in tree.expressions)


def _items(tree: exp.Select) -> list[tuple[str, exp.Expr]]:
    return [
        (_item_name(expression), expression.this if isinstance(expression, exp.Alias) else expression)
        for expression in tree.expressions
    ]


def _item_name(item: exp.Expr) -> str:
    """The name that DuckDB gives the column."""
    if isinstance(item, exp.Alias | exp.Column) and item.alias_or_name:
        return str(item.alias_or_name)
    if isinstance(item, exp.Count) and isinstance(item.this, exp.Star):
        return "count_star()"
    if isinstance(item, exp.Sum | exp.Avg | exp.Min | exp.Max | exp.Count) and isinstance(
        item.this, exp.Column
    ):
        return f"{item.key}({identifier(item.this.name)})"
    raise OtherSql


def _item_of(tree: exp.Expr, items: Sequence[tuple[str, exp.Expr]], scope: Scope) -> exp.Expr:
    """The column that a number, or the alias of a computed column, refers to."""
    if isinstance(tree, exp.Literal) and tree.is_int and 1 <= int(tree.this) <= len(items):
        return items[int(tree.this) - 1][1]
    if isinstance(tree, exp.Column) and not tree.table and not scope.knows(tree):
        for name, value in items:
            if name.casefold() == tree.name.casefold():
                return value
    return tree


def _by_names(tree: exp.Expr, items: Sequence[tuple[str, exp.Expr]]) -> exp.Expr:
    """Replace aggregates in a condition on groups by their names."""

    def by_name(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.AggFunc | exp.Filter):
            for name, value in items:
                if _are_same(value, node):
                    return exp.column(exp.to_identifier(name, quoted=True))
            raise OtherSql
        return node

    return tree.copy().transform(by_name)


def _select_list(tree: exp.Select, scope: Scope) -> tuple[list[str], dict[str, exp.Expr]]:
    """The names of the answer's columns, and the expressions of computed ones."""
    names: list[str] = []
    items: dict[str, exp.Expr] = {}
    for item in tree.expressions:
        if isinstance(item, exp.Star):
            names += _star_columns(item, scope, items)
            continue
        value = item.this if isinstance(item, exp.Alias) else item
        name = _item_name(item)
        if isinstance(value, exp.Column) and not isinstance(item, exp.Alias):
            name = scope.name(value)
        elif not (isinstance(value, exp.Column) and scope.name(value) == name):
            items[name] = value
        names.append(name)
    if len({name.casefold() for name in names}) != len(names):
        raise OtherSql
    return names, items


def _star_columns(star: exp.Star, scope: Scope, items: dict[str, exp.Expr]) -> list[str]:
    only(star, {"except_", "replace"})
    if ("*", "") in scope.column_names:
        raise OtherSql
    left_out = {scope.name(_column_of(column)) for column in star.args.get("except_") or ()}
    for replacement in star.args.get("replace") or ():
        items[scope.name(exp.column(replacement.alias))] = replacement.this
    return [name for name in scope.fields.names if name not in left_out]


def _column_of(tree: exp.Expr) -> exp.Column:
    return tree if isinstance(tree, exp.Column) else exp.column(tree.name)


def _sort_keys(
    tree: exp.Select,
    scope: Scope,
    names: Sequence[str],
    items: Sequence[tuple[str, exp.Expr]] = (),
) -> tuple[SortKey, ...]:
    order = tree.args.get("order")
    if order is None:
        return ()
    keys = []
    for expression in order.expressions:
        if (
            not isinstance(expression, exp.Ordered)
            or expression.args.get("nulls_first")
            or expression.args.get("with_fill")
        ):
            raise OtherSql
        value = bare(expression.this)
        if isinstance(value, exp.Literal) and value.is_int and 1 <= int(value.this) <= len(names):
            name = names[int(value.this) - 1]
        else:
            name = scope.name(_by_names(value, items) if items else value)
        keys.append(SortKey(name, bool(expression.args.get("desc"))))
    return tuple(keys)


def _without_own_order(keys: tuple[SortKey, ...], grouped: Sequence[str]) -> tuple[SortKey, ...]:
    """Remove trailing sort keys that match the order in which groups come anyway, that of their keys."""
    for count in range(len(keys) + 1):
        sorted_by = {key.column for key in keys[:count]}
        implied = tuple(SortKey(name) for name in grouped if name not in sorted_by)
        if keys[count:] and keys[count:] == implied[: len(keys) - count]:
            return keys[:count]
    return keys
