"""SQL, or JSON, that somebody pastes, as a query again. It is parsed, and nothing of it runs."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import duckdb
import pyarrow as pa

from lamella.core.errors import BadQuery, BadSql, LamellaError
from lamella.core.filters.binding import bind
from lamella.core.filters.expr import And, Filter, Not, Or, Predicate, Reference, all_of, any_of
from lamella.core.filters.text.lexer import number
from lamella.core.jobs import Job
from lamella.core.libraries import exp, sqlglot
from lamella.core.query import engine
from lamella.core.query.builder import Query
from lamella.core.query.compile import compile_pipeline
from lamella.core.query.expressions import Call, Condition, Constant, Expression, Named
from lamella.core.query.fields import Fields
from lamella.core.query.functions.table import type_expression
from lamella.core.query.pipeline_sql import STEPS_NOTE, identifier, named_fields, tidied, written
from lamella.core.query.source import Source, whole_snapshot
from lamella.core.query.sql.step import sql_step, tables_named
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
LONGEST_NOTE = 1_000_000
"""Characters of steps below a statement."""
_NOTE = re.compile(rf"\n{re.escape(STEPS_NOTE)}(\{{[^\n]*\}})\s*$")
E = TypeVar("E", bound=exp.Expr)


class _OtherSql(Exception):
    """SQL that steps do not say; whoever meets it keeps the statement as it is."""


def from_text(text: str, find: Find) -> Query:
    """The query that was copied as JSON or as SQL, or a SELECT of one's own. `find` gives the dataset of a
    name. Raises `BadQuery` or `BadSql` for anything else; nothing of it runs."""
    if isinstance(text, str) and text.lstrip().startswith("{"):
        try:
            saved = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise BadQuery("the text is no query", f"It begins as JSON does: {error}") from error
        return Query.of(saved, find)
    return from_sql(text, find)


def from_sql(text: str, find: Find) -> Query:
    """What `core.query.pipeline_sql` writes becomes its steps again, and so do simple SELECTs that people
    write; any other SELECT is one step of SQL on the first dataset that it names.

    Raises `BadSql` for anything but one SELECT, and for one that does not fit the datasets; `UnknownTable`
    and what else `find` raises.
    """
    if not isinstance(text, str):
        raise BadSql("a statement is text")
    noted = _from_note(text, find)
    if noted is not None:
        return noted
    text = _NOTE.sub("", text).strip().rstrip(";").rstrip()
    whole = _as_step(text, find)
    names, found = whole.schema.names, steps_of(text, find)
    try:
        return found if found is not None and found.schema.names == names else whole
    except LamellaError:
        return whole


def steps_of(text: str, find: Find) -> Query | None:
    """The query that a statement is in steps, None where they do not say it. What it asks for is not looked
    up in DuckDB, so it may be a statement that fails there."""
    try:
        return _from_tree(text, find)
    except (_OtherSql, LamellaError, sqlglot.errors.SqlglotError, RecursionError):
        return None


def _from_note(text: str, find: Find) -> Query | None:
    """The steps below a statement, if they are what it says."""
    note = _NOTE.search(text)
    if note is None or len(note[1]) > LONGEST_NOTE:
        return None
    try:
        found = Query.of(json.loads(note[1]), find)
        if written(found.pipeline, found.sources, Job()).split() == text[: note.start()].split():
            return found
    except (LamellaError, ValueError, RecursionError):
        return None
    return None


def _as_step(text: str, find: Find) -> Query:
    named = tables_named(text)
    if not named:
        raise BadSql("the statement names no dataset", fix="Write SELECT … FROM and the name of one")
    first = find(named[0])
    step, others = sql_step(text, named[0], find)
    return Query({first.name: first, **others}, Pipeline(first.name, (step,)))


def _from_tree(text: str, find: Find) -> Query:
    tree = sqlglot.parse_one(text, dialect="duckdb")
    with engine.cursor(of="a statement") as own:
        reader = _Reader(find, own)
        pipeline = reader.pipeline(tree, {})
    return Query(reader.sources, pipeline)


# ------------------------------------------------------------------------------------- statements


@dataclass
class _Rows:
    """The rows of a SELECT as far as it was read. `called` are the columns by the table and the name that the
    statement has for them."""

    pipeline: Pipeline
    called: dict[tuple[str, str], str] = field(default_factory=dict)
    tables: list[str] = field(default_factory=list)

    def then(self, step: Step) -> None:
        self.pipeline = Pipeline(self.pipeline.source, (*self.pipeline.steps, step))


class _Reader:
    def __init__(self, find: Find, own: duckdb.DuckDBPyConnection) -> None:
        self.sources: dict[str, Source] = {}
        self._find, self._own = find, own

    def pipeline(self, tree: exp.Expr, ctes: Mapping[str, Pipeline]) -> Pipeline:
        if isinstance(tree, exp.Subquery) and not _extras(tree, {"this", "alias"}):
            return self.pipeline(tree.this, ctes)
        if not isinstance(tree, exp.Select):
            raise _OtherSql
        _only(tree, _CLAUSES)
        inner = dict(ctes)
        for cte in _listed(tree.args.get("with_"), ctes):
            inner[cte.alias.casefold()] = self.pipeline(cte.this, inner)
        return self._select(tree, inner)

    def fields(self, pipeline: Pipeline) -> Fields:
        node = compile_pipeline(pipeline, lambda name: whole_snapshot(self.sources[name], Job()))
        return named_fields(node.fields)

    def _select(self, tree: exp.Select, ctes: Mapping[str, Pipeline]) -> Pipeline:
        rows = self._from(tree, ctes)
        if tree.args.get("where"):
            rows.then(Where(_Conditions(self._scope(rows)).met(tree.args["where"].this)))
        if tree.args.get("group") or tree.args.get("distinct") or _aggregates(tree):
            self._grouped(tree, rows)
        else:
            self._listed(tree, rows)
        limit, offset = (_whole(tree.args.get(name)) for name in ("limit", "offset"))
        if limit is not None or offset is not None:
            rows.then(Limit(limit, offset or 0))
        return rows.pipeline

    def _scope(self, rows: _Rows) -> _Scope:
        return _Scope(self.fields(rows.pipeline), rows.called, rows.tables, self._own)

    # FROM -------------------------------------------------------------------------------------

    def _from(self, tree: exp.Select, ctes: Mapping[str, Pipeline]) -> _Rows:
        clause = tree.args.get("from_")
        if clause is None:
            raise _OtherSql
        alias, pipeline = self._table(clause.this, ctes)
        rows = _Rows(pipeline, tables=[alias])
        for name in self.fields(pipeline).names:
            rows.called[alias, name.casefold()] = name
        for join in tree.args.get("joins") or ():
            self._join(join, rows, ctes)
        return rows

    def _table(self, tree: exp.Expr, ctes: Mapping[str, Pipeline]) -> tuple[str, Pipeline]:
        """What the statement calls it, and its rows."""
        if isinstance(tree, exp.Subquery):
            return tree.alias.casefold(), self.pipeline(tree.this, ctes)
        if not isinstance(tree, exp.Table) or not isinstance(tree.this, exp.Identifier):
            raise _OtherSql
        if _extras(tree, {"this", "alias"}) or (tree.args.get("alias") and tree.args["alias"].columns):
            raise _OtherSql
        alias = (tree.alias or tree.name).casefold()
        if tree.name.casefold() in ctes:
            return alias, ctes[tree.name.casefold()]
        source = self._find(tree.name)
        if self.sources.setdefault(source.name, source) is not source:
            raise _OtherSql
        return alias, Pipeline(source.name)

    def _join(self, tree: exp.Join, rows: _Rows, ctes: Mapping[str, Pipeline]) -> None:
        """Where both sides have columns of one name, these are told apart by their tables alone."""
        _only(tree, {"this", "side", "kind", "on", "using"})
        how = _HOWS.get((tree.side.upper(), tree.kind.upper()))
        if how is None or bool(tree.args.get("on")) == bool(tree.args.get("using")):
            raise _OtherSql
        alias, other = self._table(tree.this, ctes)
        if alias in rows.tables or not alias:
            raise _OtherSql
        theirs = self.fields(other).names
        pairs = list(self._pairs(tree, rows, alias, theirs))
        left_on, right_on = zip(*pairs, strict=True)
        before = self.fields(rows.pipeline).names
        rows.then(Join(other, left_on, right_on, how, f"_{alias}"))
        if how in ("semi", "anti"):
            return
        shared = {one for one, two in pairs if one == two}
        joined = iter(self.fields(rows.pipeline).names[len(before) :])
        rows.tables.append(alias)
        for name in theirs:
            if name not in shared:
                rows.called[alias, name.casefold()] = next(joined)
            elif how == "inner":
                rows.called[alias, name.casefold()] = name
        if tree.args.get("using"):
            return
        rows.called["*", ""] = ""  # all columns of both sides would have the keys twice

    def _pairs(
        self, tree: exp.Join, rows: _Rows, alias: str, theirs: Sequence[str]
    ) -> Iterator[tuple[str, str]]:
        own = {name.casefold(): name for name in theirs}
        if tree.args.get("using"):
            for one in tree.args["using"]:
                found = [name for (_t, key), name in rows.called.items() if key == one.name.casefold()]
                if len(set(found)) != 1 or one.name.casefold() not in own:
                    raise _OtherSql
                yield found[0], own[one.name.casefold()]
            return
        for one in tree.args["on"].flatten() if isinstance(tree.args["on"], exp.And) else [tree.args["on"]]:
            sides = [_bare(one.this), _bare(one.expression)] if isinstance(one, exp.EQ) else []
            columns = [side for side in sides if isinstance(side, exp.Column) and side.table]
            if len(columns) != 2:
                raise _OtherSql
            if columns[0].table.casefold() == alias:
                columns.reverse()
            left = rows.called.get((columns[0].table.casefold(), columns[0].name.casefold()))
            right = own.get(columns[1].name.casefold())
            if left is None or right is None or columns[1].table.casefold() != alias:
                raise _OtherSql
            yield left, right

    # SELECT ... -------------------------------------------------------------------------------

    def _listed(self, tree: exp.Select, rows: _Rows) -> None:
        scope = self._scope(rows)
        names, made = _columns_listed(tree, scope)
        self._compute(made, scope, rows)
        after = self._scope(rows)
        keys = _sort_keys(tree, after, names)
        kept = all(key.column in after.fields for key in keys)
        if keys and kept:
            rows.then(Sort(keys))
        if list(names) != after.fields.names:
            rows.then(Select(tuple(names)))

    def _compute(self, made: Mapping[str, exp.Expr], scope: _Scope, rows: _Rows) -> None:
        if not made:
            return
        for name in made:
            others = (other for called, other in made.items() if called != name)
            named = (scope.name(one) for other in others for one in other.find_all(exp.Column))
            if name in scope.fields and name in named:
                raise _OtherSql
        values = _Values(scope)
        rows.then(Compute(tuple((name, values.checked(tree)) for name, tree in made.items())))
        for name in made:
            rows.called["", name.casefold()] = name

    # ... GROUP BY -----------------------------------------------------------------------------

    def _grouped(self, tree: exp.Select, rows: _Rows) -> None:
        scope = self._scope(rows)
        keys, items = self._keys(tree, scope), _items(tree)
        computed: dict[str, exp.Expr] = {}
        aggregates: dict[str, Aggregate] = {}
        names: list[str] = []
        for name, value in items:
            if value.find(exp.AggFunc):
                aggregates[name] = _Aggregates(scope).read(value)
            elif not any(_same(value, key) for key in keys):
                raise _OtherSql
            elif not (isinstance(value, exp.Column) and scope.name(value) == name):
                computed[name] = value
            names.append(name)
        if len(set(names)) != len(names):
            raise _OtherSql
        grouped = tuple(self._key_name(key, items, scope) for key in keys)
        self._compute(computed, scope, rows)
        having = tree.args.get("having")
        rows.then(Group(grouped, tuple(aggregates.items())))
        rows.called, rows.tables = {("", name.casefold()): name for name in (*grouped, *aggregates)}, []
        if having is not None:
            asked = _Conditions(self._scope(rows)).met(_by_names(having.this, items))
            rows.pipeline = replace(
                rows.pipeline,
                steps=(*rows.pipeline.steps[:-1], Group(grouped, tuple(aggregates.items()), asked)),
            )
        keys_of_sort = _sort_keys(tree, self._scope(rows), names, items)
        kept = _without_own_order(keys_of_sort, grouped)
        if kept:
            rows.then(Sort(kept))
        if names != [*grouped, *aggregates]:
            rows.then(Select(tuple(names)))

    def _keys(self, tree: exp.Select, scope: _Scope) -> list[exp.Expr]:
        """What is grouped by, as it stands in the list of columns."""
        group, items = tree.args.get("group"), _items(tree)
        plain = [value for _name, value in items if not value.find(exp.AggFunc)]
        if tree.args.get("distinct"):
            if group is not None or len(plain) != len(items) or tree.args["distinct"].args.get("on"):
                raise _OtherSql
            return plain
        if group is None:
            return []
        if _extras(group, {"expressions", "all"}):
            raise _OtherSql
        if group.args.get("all"):
            return plain
        return [_item_meant(one, items, scope) for one in group.expressions]

    def _key_name(self, key: exp.Expr, items: Sequence[tuple[str, exp.Expr]], scope: _Scope) -> str:
        for name, value in items:
            if _same(value, key):
                return name
        if isinstance(key, exp.Column):
            return scope.name(key)
        raise _OtherSql


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


def _listed(clause: exp.Expr | None, _ctes: object) -> list[exp.Expr]:
    if clause is None:
        return []
    if clause.args.get("recursive") or any(cte.args["alias"].columns for cte in clause.expressions):
        raise _OtherSql
    return list(clause.expressions)


def _extras(tree: exp.Expr, known: set[str]) -> list[str]:
    return [name for name, value in tree.args.items() if value and name not in known]


def _only(tree: exp.Expr, known: set[str]) -> None:
    if _extras(tree, known):
        raise _OtherSql


def _bare(tree: exp.Expr) -> exp.Expr:
    while isinstance(tree, exp.Paren):
        tree = tree.this
    return tree


def _same(one: exp.Expr, other: exp.Expr) -> bool:
    return _canonical(one) == _canonical(other)


def _canonical(tree: exp.Expr) -> str:
    """The same text for what differs in parentheses, quotes and the case of names alone."""

    def plain(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Paren):
            return _bare(node)
        if isinstance(node, exp.Column):
            return exp.column(exp.to_identifier(node.name.casefold(), quoted=True))
        return node

    return str(tree.copy().transform(plain).sql("duckdb", normalize_functions="lower"))


def _whole(clause: exp.Expr | None) -> int | None:
    if clause is None:
        return None
    if not isinstance(clause, exp.Limit | exp.Offset) or _extras(clause, {"expression"}):
        raise _OtherSql
    value = clause.expression
    if not isinstance(value, exp.Literal) or not value.is_int:
        raise _OtherSql
    return int(value.this)


def _aggregates(tree: exp.Select) -> bool:
    return any(one.find(exp.AggFunc) for one in tree.expressions)


def _items(tree: exp.Select) -> list[tuple[str, exp.Expr]]:
    return [(_item_name(one), one.this if isinstance(one, exp.Alias) else one) for one in tree.expressions]


def _item_name(item: exp.Expr) -> str:
    """What DuckDB calls it."""
    if isinstance(item, exp.Alias | exp.Column) and item.alias_or_name:
        return str(item.alias_or_name)
    if isinstance(item, exp.Count) and isinstance(item.this, exp.Star):
        return "count_star()"
    if isinstance(item, exp.Sum | exp.Avg | exp.Min | exp.Max | exp.Count) and isinstance(
        item.this, exp.Column
    ):
        return f"{item.key}({identifier(item.this.name)})"
    raise _OtherSql


def _item_meant(tree: exp.Expr, items: Sequence[tuple[str, exp.Expr]], scope: _Scope) -> exp.Expr:
    """The column that a number, or the alias of a computed one, means."""
    if isinstance(tree, exp.Literal) and tree.is_int and 1 <= int(tree.this) <= len(items):
        return items[int(tree.this) - 1][1]
    if isinstance(tree, exp.Column) and not tree.table and not scope.knows(tree):
        for name, value in items:
            if name.casefold() == tree.name.casefold():
                return value
    return tree


def _by_names(tree: exp.Expr, items: Sequence[tuple[str, exp.Expr]]) -> exp.Expr:
    """A condition on groups with the names of aggregates in place of these."""

    def named(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.AggFunc | exp.Filter):
            for name, value in items:
                if _same(value, node):
                    return exp.column(exp.to_identifier(name, quoted=True))
            raise _OtherSql
        return node

    return tree.copy().transform(named)


def _columns_listed(tree: exp.Select, scope: _Scope) -> tuple[list[str], dict[str, exp.Expr]]:
    """The names of the answer, and what is computed for some of them."""
    names: list[str] = []
    made: dict[str, exp.Expr] = {}
    for item in tree.expressions:
        if isinstance(item, exp.Star):
            names += _starred(item, scope, made)
            continue
        value = item.this if isinstance(item, exp.Alias) else item
        name = _item_name(item)
        if isinstance(value, exp.Column) and not isinstance(item, exp.Alias):
            name = scope.name(value)
        elif not (isinstance(value, exp.Column) and scope.name(value) == name):
            made[name] = value
        names.append(name)
    if len({name.casefold() for name in names}) != len(names):
        raise _OtherSql
    return names, made


def _starred(star: exp.Star, scope: _Scope, made: dict[str, exp.Expr]) -> list[str]:
    _only(star, {"except_", "replace"})
    if ("*", "") in scope.called:
        raise _OtherSql
    left_out = {scope.name(_column_of(one)) for one in star.args.get("except_") or ()}
    for one in star.args.get("replace") or ():
        made[scope.name(exp.column(one.alias))] = one.this
    return [name for name in scope.fields.names if name not in left_out]


def _column_of(tree: exp.Expr) -> exp.Column:
    return tree if isinstance(tree, exp.Column) else exp.column(tree.name)


def _sort_keys(
    tree: exp.Select,
    scope: _Scope,
    names: Sequence[str],
    items: Sequence[tuple[str, exp.Expr]] = (),
) -> tuple[SortKey, ...]:
    order = tree.args.get("order")
    if order is None:
        return ()
    keys = []
    for one in order.expressions:
        if not isinstance(one, exp.Ordered) or one.args.get("nulls_first") or one.args.get("with_fill"):
            raise _OtherSql
        value = _bare(one.this)
        if isinstance(value, exp.Literal) and value.is_int and 1 <= int(value.this) <= len(names):
            found = names[int(value.this) - 1]
        else:
            found = scope.name(_by_names(value, items) if items else value)
        keys.append(SortKey(found, bool(one.args.get("desc"))))
    return tuple(keys)


def _without_own_order(keys: tuple[SortKey, ...], grouped: Sequence[str]) -> tuple[SortKey, ...]:
    """Groups come in the order of their keys: what asks for that alone goes."""
    for kept in range(len(keys) + 1):
        named = {key.column for key in keys[:kept]}
        own = tuple(SortKey(name) for name in grouped if name not in named)
        if keys[kept:] and keys[kept:] == own[: len(keys) - kept]:
            return keys[:kept]
    return keys


# ------------------------------------------------------------------------------------- expressions


@dataclass(frozen=True)
class _Scope:
    """The columns that can be named."""

    fields: Fields
    called: Mapping[tuple[str, str], str]
    tables: Sequence[str]
    own: duckdb.DuckDBPyConnection

    def knows(self, column: exp.Column) -> bool:
        try:
            self.name(column)
        except _OtherSql:
            return False
        return True

    def name(self, column: exp.Expr) -> str:
        if not isinstance(column, exp.Column) or _extras(column, {"this", "table"}):
            raise _OtherSql
        key = column.name.casefold()
        if column.table:
            found = {self.called.get((column.table.casefold(), key))}
        else:
            found = self._meant.get(key, set())
        only = next(iter(found)) if len(found) == 1 else None
        if only is None or only not in self._names:
            raise _OtherSql
        return only

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(self.fields.names)

    @cached_property
    def _meant(self) -> dict[str, set[str | None]]:
        """What a name without a table may mean."""
        found: dict[str, set[str | None]] = {}
        for (_table, key), name in self.called.items():
            found.setdefault(key, set()).add(name)
        return found


def _literal(tree: exp.Expr) -> Any:
    """The value that is written out. Raises `_OtherSql` for anything else."""
    tree = _bare(tree)
    if isinstance(tree, exp.Neg) and isinstance(tree.this, exp.Literal) and not tree.this.is_string:
        return -number(tree.this.this)
    if isinstance(tree, exp.Literal):
        return tree.this if tree.is_string else number(tree.this)
    if isinstance(tree, exp.Boolean):
        return tree.this
    if isinstance(tree, exp.Cast) and isinstance(tree.this, exp.Literal) and tree.this.is_string:
        read = _TYPED.get(tree.to.sql("duckdb"))
        if read is not None:
            try:
                return read(tree.this.this)
            except ValueError as error:
                raise _OtherSql from error
    raise _OtherSql


def _zoned(text: str) -> dt.datetime:
    moment = dt.datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("it has no zone")
    return moment


def _local(text: str) -> dt.datetime:
    moment = dt.datetime.fromisoformat(text)
    if moment.tzinfo is not None:
        raise ValueError("it has a zone")
    return moment


_TYPED: dict[str, Callable[[str], Any]] = {
    "DATE": dt.date.fromisoformat,
    "TIMESTAMP": _local,
    "TIMESTAMPTZ": _zoned,
    "DOUBLE": float,
}
_COMPARED: dict[type[exp.Expr], tuple[str, str]] = {
    exp.EQ: ("eq", "ne"),
    exp.NEQ: ("ne", "eq"),
    exp.LT: ("lt", "gte"),
    exp.LTE: ("lte", "gt"),
    exp.GT: ("gt", "lte"),
    exp.GTE: ("gte", "lt"),
}
"""The operator, and the one that is met where SQL says false."""
_MIRRORED = {"lt": "gt", "gt": "lt", "lte": "gte", "gte": "lte"}
_ARGUMENTS: dict[type[exp.Expr], set[str]] = {
    exp.Column: {"this", "table"},
    exp.In: {"this", "expressions"},
    exp.Between: {"this", "low", "high"},
    exp.Like: {"this", "expression", "negate"},
    exp.ILike: {"this", "expression", "negate"},
}
"""What of SQL's conditions is looked at: with anything else they mean something else."""
_INCLUDE_NULL = frozenset({"ne", "nin", "not_contains", "not_between"})
_OPPOSITE = {"in": "nin", "contains": "not_contains", "between": "not_between", "eq": "ne"}
_FUNCTIONS: dict[type[exp.Expr], str] = {
    exp.Contains: "contains",
    exp.StartsWith: "starts_with",
    exp.EndsWith: "ends_with",
    exp.RegexpLike: "regex",
}


class _Conditions:
    """SQL's conditions are true, false or null, filters met or not: `met` gives what is met where it is true,
    `failed` what is met where it is false."""

    def __init__(self, scope: _Scope) -> None:
        self._scope = scope

    def met(self, tree: exp.Expr) -> Filter:
        tree = _bare(tree)
        if isinstance(tree, exp.And):
            return _joined(And, [self.met(one) for one in _flat(tree, exp.And)])
        if isinstance(tree, exp.Or):
            return _joined(Or, [self.met(one) for one in _flat(tree, exp.Or)])
        if isinstance(tree, exp.Not):
            return self.failed(tree.this)
        if isinstance(tree, exp.Coalesce):
            return self.met(_coalesced(tree))
        return self._asked(tree, True)

    def failed(self, tree: exp.Expr) -> Filter:
        tree = _bare(tree)
        if isinstance(tree, exp.And):
            return any_of(self.failed(one) for one in _flat(tree, exp.And))
        if isinstance(tree, exp.Or):
            return all_of(self.failed(one) for one in _flat(tree, exp.Or))
        if isinstance(tree, exp.Not):
            return self.met(tree.this)
        if isinstance(tree, exp.Coalesce):
            return _opposite(self.met(_coalesced(tree)))
        return self._asked(tree, False)

    def _asked(self, tree: exp.Expr, positive: bool) -> Filter:
        _only(tree, _ARGUMENTS.get(type(tree), {"this", "expression"}))
        if isinstance(tree, exp.Boolean):
            return And(()) if tree.this is positive else Or(())
        if isinstance(tree, exp.Column):
            return self._fitting(Predicate(self._scope.name(tree), "is_true" if positive else "is_false"))
        if isinstance(tree, exp.Is):
            return self._is(tree, positive)
        if isinstance(tree, exp.NullSafeEQ | exp.NullSafeNEQ):
            equal = isinstance(tree, exp.NullSafeEQ) == positive
            name, value = self._scope.name(_bare(tree.this)), _bare(tree.expression)
            if isinstance(value, exp.Null):
                return Predicate(name, "is_null" if equal else "not_null")
            return self._fitting(Predicate(name, "eq" if equal else "ne", (_literal(value),)))
        if type(tree) in _COMPARED:
            return self._compared(tree, positive)
        like = tree.this if isinstance(tree, exp.Escape) else tree
        return self._negatable(self._single(tree), positive is not bool(like.args.get("negate")))

    def _is(self, tree: exp.Is, positive: bool) -> Filter:
        value, asked = _bare(tree.expression), _bare(tree.this)
        if isinstance(value, exp.Null) and isinstance(asked, exp.Column):
            return Predicate(self._scope.name(asked), "is_null" if positive else "not_null")
        if not isinstance(value, exp.Boolean):
            raise _OtherSql
        found = self.met(asked) if value.this else self.failed(asked)
        return found if positive else _opposite(found)

    def _compared(self, tree: exp.Expr, positive: bool) -> Filter:
        left, right = _bare(tree.this), _bare(tree.expression)
        operator = _COMPARED[type(tree)][0 if positive else 1]
        if isinstance(left, exp.Mod) and operator in ("eq", "ne"):
            values = (_literal(left.expression), _literal(right))
            asked = Predicate(self._scope.name(_bare(left.this)), "mod", values)
            return self._negatable(asked, operator == "eq")
        if not isinstance(_folded(left)[0], exp.Column):
            left, right, operator = right, left, _MIRRORED.get(operator, operator)
        column, folds = _folded(left)
        name = self._scope.name(column)
        if isinstance(right, exp.Column):
            return self._columns(name, operator, self._scope.name(right))
        value, also = _folded(right)
        if folds and not also and value.sql() != value.sql().lower():
            raise _OtherSql
        found = self._fitting(Predicate(name, operator, (_literal(value),), folds))
        return _without_null(found, name) if operator in _INCLUDE_NULL else found

    def _columns(self, name: str, operator: str, other: str) -> Filter:
        one, two = self._scope.fields[name].type, self._scope.fields[other].type
        if not one.equals(two):
            raise _OtherSql
        found = self._fitting(Predicate(name, operator, (Reference(other),)))
        if operator not in _INCLUDE_NULL:
            return found
        return all_of([found, Predicate(name, "not_null"), Predicate(other, "not_null")])

    def _single(self, tree: exp.Expr) -> Predicate:
        """Conditions that are null where the column is."""
        if isinstance(tree, exp.In):
            values = tuple(_literal(one) for one in tree.expressions)
            return self._fitting(Predicate(self._scope.name(_bare(tree.this)), "in", values))
        if isinstance(tree, exp.Between):
            values = (_literal(tree.args["low"]), _literal(tree.args["high"]))
            return self._fitting(Predicate(self._scope.name(_bare(tree.this)), "between", values))
        if isinstance(tree, exp.Like | exp.ILike | exp.Escape):
            return self._fitting(self._like(tree))
        operator = _FUNCTIONS.get(type(tree))
        if operator is None:
            raise _OtherSql
        column, folds = _folded(_bare(tree.this))
        value, also = _folded(_bare(tree.expression))
        if folds != also:
            raise _OtherSql
        found = Predicate(self._scope.name(column), operator, (_text(value),), folds)
        return self._fitting(found)

    def _like(self, tree: exp.Expr) -> Predicate:
        escaped = isinstance(tree, exp.Escape)
        like = tree.this if escaped else tree
        _only(like, _ARGUMENTS[exp.Like])
        if escaped and _text(tree.expression) != "\\":
            raise _OtherSql
        column, folds = _folded(_bare(like.this))
        value, also = _folded(_bare(like.expression))
        if folds != also:
            raise _OtherSql
        pattern = _text(value) if escaped else _text(value).replace("\\", "\\\\")
        return Predicate(self._scope.name(column), "like", (pattern,), folds or isinstance(like, exp.ILike))

    def _negatable(self, asked: Predicate, positive: bool) -> Filter:
        return asked if positive else _without_null(_opposite(asked), asked.column)

    def _fitting(self, asked: Predicate) -> Predicate:
        """What SQL compares in another way than a filter, such as numbers of four bytes, or does not."""
        kind = self._scope.fields[asked.column].type
        if pa.types.is_float32(kind) or pa.types.is_float16(kind) or pa.types.is_duration(kind):
            raise _OtherSql
        bind(asked, self._scope.fields.schema, self._scope.fields.place)
        return asked


def _folded(tree: exp.Expr) -> tuple[exp.Expr, bool]:
    return (_bare(tree.this), True) if isinstance(tree, exp.Lower) else (tree, False)


def _text(tree: exp.Expr) -> str:
    value = _literal(tree)
    if not isinstance(value, str):
        raise _OtherSql
    return value


def _flat(tree: exp.Expr, kind: type[exp.Connector]) -> list[exp.Expr]:
    """What one connector joins, unless parentheses keep it together."""
    found: list[exp.Expr] = []
    waiting = [tree]
    while waiting:
        one = waiting.pop()
        if isinstance(one, kind):
            waiting += [one.expression, one.this]
        else:
            found.append(one)
    return found


def _joined(kind: type[And] | type[Or], parts: list[Filter]) -> Filter:
    """With what stands between two ends as one condition."""
    parts = [one for part in parts for one in (part.children if isinstance(part, kind) else (part,))]
    if kind is And:
        parts = _ranges(parts)
    return parts[0] if len(parts) == 1 else kind(tuple(parts))


def _ranges(parts: list[Filter]) -> list[Filter]:
    found: list[Filter] = []
    for one in parts:
        last = found[-1] if found else None
        if (
            isinstance(last, Predicate)
            and isinstance(one, Predicate)
            and (last.operator, one.operator) == ("gte", "lte")
            and last.column == one.column
        ):
            found[-1] = Predicate(one.column, "between", (*last.values, *one.values))
        else:
            found.append(one)
    return found


def _coalesced(tree: exp.Coalesce) -> exp.Expr:
    """A condition that is false where it would be null."""
    others = tree.expressions
    if len(others) != 1 or not isinstance(others[0], exp.Boolean) or others[0].this is not False:
        raise _OtherSql
    return _bare(tree.this)


def _opposite(found: Filter) -> Filter:
    if isinstance(found, Predicate) and found.operator in _OPPOSITE:
        return replace(found, operator=_OPPOSITE[found.operator])
    if isinstance(found, Predicate) and found.operator in ("is_null", "not_null"):
        return replace(found, operator="not_null" if found.operator == "is_null" else "is_null")
    return Not(found)


def _without_null(found: Filter, name: str) -> Filter:
    return all_of([found, Predicate(name, "not_null")])


_PLAIN: dict[type[exp.Expr], str] = {
    exp.Upper: "upper",
    exp.Lower: "lower",
    exp.Length: "length",
    exp.Abs: "abs",
    exp.Floor: "floor",
    exp.Ceil: "ceil",
    exp.Year: "year",
    exp.Quarter: "quarter",
    exp.Month: "month",
    exp.Day: "day",
}
_TWO: dict[type[exp.Expr], str] = {
    exp.Add: "add",
    exp.Sub: "subtract",
    exp.Mul: "multiply",
    exp.Div: "divide",
    exp.DPipe: "add",
}


class _Values:
    """SQL's expressions as ours, where ours are written as the same SQL."""

    def __init__(self, scope: _Scope) -> None:
        self._scope = scope

    def checked(self, tree: exp.Expr) -> Expression:
        found = self._read(tree)
        typed = type_expression(found, self._scope.fields).value
        again = tidied(typed.sql, self._scope.fields, self._scope.own, typed.type)
        if _canonical(sqlglot.parse_one(again, dialect="duckdb")) != self._named(tree):
            raise _OtherSql
        return found

    def _named(self, tree: exp.Expr) -> str:
        def named(node: exp.Expr) -> exp.Expr:
            return exp.column(self._scope.name(node)) if isinstance(node, exp.Column) else node

        return _canonical(tree.copy().transform(named))

    def _read(self, tree: exp.Expr) -> Expression:
        tree = _bare(tree)
        if isinstance(tree, exp.Column):
            return Named(self._scope.name(tree))
        for kind, name in _PLAIN.items():
            if isinstance(tree, kind):
                return Call(name, (self._read(tree.this),))
        if type(tree) in _TWO:
            return self._binary(tree)
        if isinstance(tree, exp.Neg) and not isinstance(tree.this, exp.Literal):
            return Call("negate", (self._read(tree.this),))
        if isinstance(tree, exp.Round):
            digits = tree.args.get("decimals")
            return Call("round", (self._read(tree.this), Constant(0 if digits is None else _literal(digits))))
        return self._chosen(tree)

    def _chosen(self, tree: exp.Expr) -> Expression:
        if isinstance(tree, exp.Case) and not tree.this:
            return self._case(tree)
        if isinstance(tree, exp.Substring) and tree.args.get("length"):
            start = Constant(_literal(tree.args["start"]) - 1)
            return Call("substring", (self._read(tree.this), start, Constant(_literal(tree.args["length"]))))
        if isinstance(tree, exp.Coalesce) and isinstance(tree.expressions[-1], exp.Boolean):
            return Condition(_Conditions(self._scope).met(_coalesced(tree)))
        if isinstance(tree, exp.Coalesce):
            return Call("coalesce", tuple(map(self._read, (tree.this, *tree.expressions))))
        if isinstance(tree, exp.Cast) and isinstance(tree.this, exp.Literal | exp.Neg):
            return Constant(_literal(tree if tree.this.is_string else tree.this))
        return Constant(_literal(tree))

    def _binary(self, tree: exp.Expr) -> Expression:
        left, right = tree.this, _bare(tree.expression)
        if isinstance(tree, exp.Div) and isinstance(right, exp.Nullif):
            right = right.this
        return Call(_TWO[type(tree)], (self._read(left), self._read(right)))

    def _case(self, tree: exp.Case) -> Expression:
        default = tree.args.get("default")
        found = Constant(None) if default is None else self._read(default)
        for one in reversed(tree.args["ifs"]):
            met = Condition(_Conditions(self._scope).met(one.this))
            found = Call("when", (met, self._read(one.args["true"]), found))
        return found


_AGGREGATES: dict[type[exp.Expr], str] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
    exp.Median: "median",
    exp.StddevSamp: "stddev",
    exp.Stddev: "stddev",
    exp.StddevPop: "stddev_pop",
    exp.Variance: "variance",
}


class _Aggregates:
    def __init__(self, scope: _Scope) -> None:
        self._scope = scope

    def read(self, tree: exp.Expr) -> Aggregate:
        """A sum may be cast to the type that it has here."""
        tree = _bare(tree)
        if isinstance(tree, exp.Cast) and isinstance(_bare(tree.this), exp.Sum | exp.Filter):
            found = self.read(tree.this)
            if found.function != "sum" or tree.to.sql("duckdb") != "BIGINT":
                raise _OtherSql
            return found
        if isinstance(tree, exp.Filter):
            where = _Conditions(self._scope).met(tree.expression.this)
            return replace(self.read(tree.this), where=where)
        function = _AGGREGATES.get(type(tree))
        if function is None or _extras(tree, {"this", "big_int"}):
            raise _OtherSql
        return self._of(function, _bare(tree.this))

    def _of(self, function: str, value: exp.Expr) -> Aggregate:
        if function == "count" and isinstance(value, exp.Star):
            return Aggregate("count")
        if function == "count" and isinstance(value, exp.Distinct) and len(value.expressions) == 1:
            function, value = "count_distinct", _bare(value.expressions[0])
        if function in ("stddev", "stddev_pop", "variance") and isinstance(value, exp.Cast):
            value = _bare(value.this)
        if isinstance(value, exp.Column):
            return Aggregate(function, Named(self._scope.name(value)))
        return Aggregate(function, _Values(self._scope).checked(value))
