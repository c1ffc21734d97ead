"""Converts conditions, values and aggregates of parsed SQL to filters, expressions and aggregates."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import duckdb
import pyarrow as pa
import sqlglot
from sqlglot import exp

from lamella.core.filters.binding import bind
from lamella.core.filters.expr import And, Filter, Not, Or, Predicate, Reference, all_of, any_of
from lamella.core.filters.text.lexer import number
from lamella.core.query.expressions import Call, ColumnReference, Condition, Constant, Expression
from lamella.core.query.fields import Fields
from lamella.core.query.functions.table import type_expression
from lamella.core.query.sql_tidying import tidy
from lamella.core.query.steps import Aggregate


class OtherSql(Exception):
    """SQL that steps cannot express; callers then keep the statement as it is."""


def extras(tree: exp.Expr, names: set[str]) -> list[str]:
    return [name for name, value in tree.args.items() if value and name not in names]


def only(tree: exp.Expr, names: set[str]) -> None:
    if extras(tree, names):
        raise OtherSql


def bare(tree: exp.Expr) -> exp.Expr:
    while isinstance(tree, exp.Paren):
        tree = tree.this
    return tree


def canonical(tree: exp.Expr) -> str:
    """Text that is equal for expressions that differ only in parentheses, quotes and the case of names."""

    def plain(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Paren):
            return bare(node)
        if isinstance(node, exp.Column):
            return exp.column(exp.to_identifier(node.name.casefold(), quoted=True))
        return node

    return str(tree.copy().transform(plain).sql("duckdb", normalize_functions="lower"))


@dataclass(frozen=True)
class Scope:
    """The columns that a statement can refer to."""

    fields: Fields
    column_names: Mapping[tuple[str, str], str]
    tables: Sequence[str]
    connection: duckdb.DuckDBPyConnection

    def knows(self, column: exp.Column) -> bool:
        try:
            self.name(column)
        except OtherSql:
            return False
        return True

    def name(self, column: exp.Expr) -> str:
        if not isinstance(column, exp.Column) or extras(column, {"this", "table"}):
            raise OtherSql
        key = column.name.casefold()
        if column.table:
            result = {self.column_names.get((column.table.casefold(), key))}
        else:
            result = self._columns_by_name.get(key, set())
        only = next(iter(result)) if len(result) == 1 else None
        if only is None or only not in self._names:
            raise OtherSql
        return only

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(self.fields.names)

    @cached_property
    def _columns_by_name(self) -> dict[str, set[str | None]]:
        """The columns that a name without a table may refer to."""
        result: dict[str, set[str | None]] = {}
        for (_table, key), name in self.column_names.items():
            result.setdefault(key, set()).add(name)
        return result


def literal_of(tree: exp.Expr) -> Any:
    """The value of a literal. Raises `OtherSql` for anything else."""
    tree = bare(tree)
    if isinstance(tree, exp.Neg) and isinstance(tree.this, exp.Literal) and not tree.this.is_string:
        return -number(tree.this.this)
    if isinstance(tree, exp.Literal):
        return tree.this if tree.is_string else number(tree.this)
    if isinstance(tree, exp.Boolean):
        return tree.this
    if isinstance(tree, exp.Cast) and isinstance(tree.this, exp.Literal) and tree.this.is_string:
        read_literal = _LITERAL_READERS.get(tree.to.sql("duckdb"))
        if read_literal is not None:
            try:
                return read_literal(tree.this.this)
            except ValueError as error:
                raise OtherSql from error
    raise OtherSql


def _read_zoned_time(text: str) -> dt.datetime:
    moment = dt.datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("it has no zone")
    return moment


def _local(text: str) -> dt.datetime:
    moment = dt.datetime.fromisoformat(text)
    if moment.tzinfo is not None:
        raise ValueError("it has a zone")
    return moment


_LITERAL_READERS: dict[str, Callable[[str], Any]] = {
    "DATE": dt.date.fromisoformat,
    "TIMESTAMP": _local,
    "TIMESTAMPTZ": _read_zoned_time,
    "DOUBLE": float,
}
_COMPARISONS: dict[type[exp.Expr], tuple[str, str]] = {
    exp.EQ: ("eq", "ne"),
    exp.NEQ: ("ne", "eq"),
    exp.LT: ("lt", "gte"),
    exp.LTE: ("lte", "gt"),
    exp.GT: ("gt", "lte"),
    exp.GTE: ("gte", "lt"),
}
"""The operator, and the operator that is true where the comparison is false in SQL."""
_MIRRORED_OPERATORS = {"lt": "gt", "gt": "lt", "lte": "gte", "gte": "lte"}
_ARGUMENTS: dict[type[exp.Expr], set[str]] = {
    exp.Column: {"this", "table"},
    exp.In: {"this", "expressions"},
    exp.Between: {"this", "low", "high"},
    exp.Like: {"this", "expression", "negate"},
    exp.ILike: {"this", "expression", "negate"},
}
"""The arguments of SQL's conditions that are understood; others would change the meaning."""
_INCLUDE_NULL = frozenset({"ne", "nin", "not_contains", "not_between"})
_OPPOSITE = {"in": "nin", "contains": "not_contains", "between": "not_between", "eq": "ne"}
_FUNCTIONS: dict[type[exp.Expr], str] = {
    exp.Contains: "contains",
    exp.StartsWith: "starts_with",
    exp.EndsWith: "ends_with",
    exp.RegexpLike: "regex",
}


class Conditions:
    """Converts conditions to filters. SQL's conditions are true, false or null; filters are met or not.
    `when_true` returns the filter for the rows where a condition is true, `when_false` for those where it is
    false."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def when_true(self, tree: exp.Expr) -> Filter:
        tree = bare(tree)
        if isinstance(tree, exp.And):
            return _connective(And, [self.when_true(operand) for operand in _flat(tree, exp.And)])
        if isinstance(tree, exp.Or):
            return _connective(Or, [self.when_true(operand) for operand in _flat(tree, exp.Or)])
        if isinstance(tree, exp.Not):
            return self.when_false(tree.this)
        if isinstance(tree, exp.Coalesce):
            return self.when_true(_coalesce_operand(tree))
        return self._test(tree, True)

    def when_false(self, tree: exp.Expr) -> Filter:
        tree = bare(tree)
        if isinstance(tree, exp.And):
            return any_of(self.when_false(operand) for operand in _flat(tree, exp.And))
        if isinstance(tree, exp.Or):
            return all_of(self.when_false(operand) for operand in _flat(tree, exp.Or))
        if isinstance(tree, exp.Not):
            return self.when_true(tree.this)
        if isinstance(tree, exp.Coalesce):
            return _opposite(self.when_true(_coalesce_operand(tree)))
        return self._test(tree, False)

    def _test(self, tree: exp.Expr, positive: bool) -> Filter:
        only(tree, _ARGUMENTS.get(type(tree), {"this", "expression"}))
        if isinstance(tree, exp.Boolean):
            return And(()) if tree.this is positive else Or(())
        if isinstance(tree, exp.Column):
            return self._check_predicate(
                Predicate(self._scope.name(tree), "is_true" if positive else "is_false")
            )
        if isinstance(tree, exp.Is):
            return self._is(tree, positive)
        if isinstance(tree, exp.NullSafeEQ | exp.NullSafeNEQ):
            equal = isinstance(tree, exp.NullSafeEQ) == positive
            name, value = self._scope.name(bare(tree.this)), bare(tree.expression)
            if isinstance(value, exp.Null):
                return Predicate(name, "is_null" if equal else "not_null")
            return self._check_predicate(Predicate(name, "eq" if equal else "ne", (literal_of(value),)))
        if type(tree) in _COMPARISONS:
            return self._comparison(tree, positive)
        like = tree.this if isinstance(tree, exp.Escape) else tree
        return self._either_way(self._single(tree), positive is not bool(like.args.get("negate")))

    def _is(self, tree: exp.Is, positive: bool) -> Filter:
        value, test = bare(tree.expression), bare(tree.this)
        if isinstance(value, exp.Null) and isinstance(test, exp.Column):
            return Predicate(self._scope.name(test), "is_null" if positive else "not_null")
        if not isinstance(value, exp.Boolean):
            raise OtherSql
        result = self.when_true(test) if value.this else self.when_false(test)
        return result if positive else _opposite(result)

    def _comparison(self, tree: exp.Expr, positive: bool) -> Filter:
        left, right = bare(tree.this), bare(tree.expression)
        operator = _COMPARISONS[type(tree)][0 if positive else 1]
        if isinstance(left, exp.Mod) and operator in ("eq", "ne"):
            values = (literal_of(left.expression), literal_of(right))
            test = Predicate(self._scope.name(bare(left.this)), "mod", values)
            return self._either_way(test, operator == "eq")
        if not isinstance(_fold(left)[0], exp.Column):
            left, right, operator = right, left, _MIRRORED_OPERATORS.get(operator, operator)
        column, folds = _fold(left)
        name = self._scope.name(column)
        if isinstance(right, exp.Column):
            return self._columns(name, operator, self._scope.name(right))
        value, also = _fold(right)
        if folds and not also and value.sql() != value.sql().lower():
            raise OtherSql
        result = self._check_predicate(Predicate(name, operator, (literal_of(value),), folds))
        return _without_null(result, name) if operator in _INCLUDE_NULL else result

    def _columns(self, name: str, operator: str, target: str) -> Filter:
        own, two = self._scope.fields[name].type, self._scope.fields[target].type
        if not own.equals(two):
            raise OtherSql
        result = self._check_predicate(Predicate(name, operator, (Reference(target),)))
        if operator not in _INCLUDE_NULL:
            return result
        return all_of([result, Predicate(name, "not_null"), Predicate(target, "not_null")])

    def _single(self, tree: exp.Expr) -> Predicate:
        """Read a condition that is null where its column is null."""
        if isinstance(tree, exp.In):
            values = tuple(literal_of(expression) for expression in tree.expressions)
            return self._check_predicate(Predicate(self._scope.name(bare(tree.this)), "in", values))
        if isinstance(tree, exp.Between):
            values = (literal_of(tree.args["low"]), literal_of(tree.args["high"]))
            return self._check_predicate(Predicate(self._scope.name(bare(tree.this)), "between", values))
        if isinstance(tree, exp.Like | exp.ILike | exp.Escape):
            return self._check_predicate(self._like(tree))
        operator = _FUNCTIONS.get(type(tree))
        if operator is None:
            raise OtherSql
        column, folds = _fold(bare(tree.this))
        value, also = _fold(bare(tree.expression))
        if folds != also:
            raise OtherSql
        result = Predicate(self._scope.name(column), operator, (_text(value),), folds)
        return self._check_predicate(result)

    def _like(self, tree: exp.Expr) -> Predicate:
        escaped = isinstance(tree, exp.Escape)
        like = tree.this if escaped else tree
        only(like, _ARGUMENTS[exp.Like])
        if escaped and _text(tree.expression) != "\\":
            raise OtherSql
        column, folds = _fold(bare(like.this))
        value, also = _fold(bare(like.expression))
        if folds != also:
            raise OtherSql
        pattern = _text(value) if escaped else _text(value).replace("\\", "\\\\")
        return Predicate(self._scope.name(column), "like", (pattern,), folds or isinstance(like, exp.ILike))

    def _either_way(self, test: Predicate, positive: bool) -> Filter:
        return test if positive else _without_null(_opposite(test), test.column)

    def _check_predicate(self, test: Predicate) -> Predicate:
        """Check a predicate. Raises `OtherSql` for types that SQL compares differently from filters, such as
        32-bit floats."""
        kind = self._scope.fields[test.column].type
        if pa.types.is_float32(kind) or pa.types.is_float16(kind) or pa.types.is_duration(kind):
            raise OtherSql
        bind(test, self._scope.fields.schema, self._scope.fields.place)
        return test


def _fold(tree: exp.Expr) -> tuple[exp.Expr, bool]:
    return (bare(tree.this), True) if isinstance(tree, exp.Lower) else (tree, False)


def _text(tree: exp.Expr) -> str:
    value = literal_of(tree)
    if not isinstance(value, str):
        raise OtherSql
    return value


def _flat(tree: exp.Expr, kind: type[exp.Connector]) -> list[exp.Expr]:
    """The operands of nested connectors of one kind, unless parentheses separate them."""
    result: list[exp.Expr] = []
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, kind):
            waiting += [node.expression, node.this]
        else:
            result.append(node)
    return result


def _connective(kind: type[And] | type[Or], parts: list[Filter]) -> Filter:
    """Join conditions; a lower and an upper bound of one column become a single condition."""
    parts = [child for part in parts for child in (part.children if isinstance(part, kind) else (part,))]
    if kind is And:
        parts = _ranges(parts)
    return parts[0] if len(parts) == 1 else kind(tuple(parts))


def _ranges(parts: list[Filter]) -> list[Filter]:
    result: list[Filter] = []
    for part in parts:
        last = result[-1] if result else None
        if (
            isinstance(last, Predicate)
            and isinstance(part, Predicate)
            and (last.operator, part.operator) == ("gte", "lte")
            and last.column == part.column
        ):
            result[-1] = Predicate(part.column, "between", (*last.values, *part.values))
        else:
            result.append(part)
    return result


def _coalesce_operand(tree: exp.Coalesce) -> exp.Expr:
    """The condition in `coalesce(condition, false)`."""
    arguments = tree.expressions
    if len(arguments) != 1 or not isinstance(arguments[0], exp.Boolean) or arguments[0].this is not False:
        raise OtherSql
    return bare(tree.this)


def _opposite(result: Filter) -> Filter:
    if isinstance(result, Predicate) and result.operator in _OPPOSITE:
        return replace(result, operator=_OPPOSITE[result.operator])
    if isinstance(result, Predicate) and result.operator in ("is_null", "not_null"):
        return replace(result, operator="not_null" if result.operator == "is_null" else "is_null")
    return Not(result)


def _without_null(result: Filter, name: str) -> Filter:
    return all_of([result, Predicate(name, "not_null")])


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


class ComputedValues:
    """Converts SQL's expressions to our own, if ours are written as the same SQL."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def value(self, tree: exp.Expr) -> Expression:
        result = self._read(tree)
        typed = type_expression(result, self._scope.fields).value
        again = tidy(typed.sql, self._scope.fields, self._scope.connection, typed.type)
        if canonical(sqlglot.parse_one(again, dialect="duckdb")) != self._canonical_names(tree):
            raise OtherSql
        return result

    def _canonical_names(self, tree: exp.Expr) -> str:
        def to_scope_name(node: exp.Expr) -> exp.Expr:
            return exp.column(self._scope.name(node)) if isinstance(node, exp.Column) else node

        return canonical(tree.copy().transform(to_scope_name))

    def _read(self, tree: exp.Expr) -> Expression:
        tree = bare(tree)
        if isinstance(tree, exp.Column):
            return ColumnReference(self._scope.name(tree))
        for kind, name in _PLAIN.items():
            if isinstance(tree, kind):
                return Call(name, (self._read(tree.this),))
        if type(tree) in _TWO:
            return self._binary(tree)
        if isinstance(tree, exp.Neg) and not isinstance(tree.this, exp.Literal):
            return Call("negate", (self._read(tree.this),))
        if isinstance(tree, exp.Round):
            digits = tree.args.get("decimals")
            return Call(
                "round", (self._read(tree.this), Constant(0 if digits is None else literal_of(digits)))
            )
        return self._case_when(tree)

    def _case_when(self, tree: exp.Expr) -> Expression:
        if isinstance(tree, exp.Case) and not tree.this:
            return self._case(tree)
        if isinstance(tree, exp.Substring) and tree.args.get("length"):
            start = Constant(literal_of(tree.args["start"]) - 1)
            return Call(
                "substring", (self._read(tree.this), start, Constant(literal_of(tree.args["length"])))
            )
        if isinstance(tree, exp.Coalesce) and isinstance(tree.expressions[-1], exp.Boolean):
            return Condition(Conditions(self._scope).when_true(_coalesce_operand(tree)))
        if isinstance(tree, exp.Coalesce):
            return Call("coalesce", tuple(map(self._read, (tree.this, *tree.expressions))))
        if isinstance(tree, exp.Cast) and isinstance(tree.this, exp.Literal | exp.Neg):
            return Constant(literal_of(tree if tree.this.is_string else tree.this))
        return Constant(literal_of(tree))

    def _binary(self, tree: exp.Expr) -> Expression:
        left, right = tree.this, bare(tree.expression)
        if isinstance(tree, exp.Div) and isinstance(right, exp.Nullif):
            right = right.this
        return Call(_TWO[type(tree)], (self._read(left), self._read(right)))

    def _case(self, tree: exp.Case) -> Expression:
        default = tree.args.get("default")
        result = Constant(None) if default is None else self._read(default)
        for branch in reversed(tree.args["ifs"]):
            when_true = Condition(Conditions(self._scope).when_true(branch.this))
            result = Call("when", (when_true, self._read(branch.args["true"]), result))
        return result


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


class AggregateCalls:
    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def read(self, tree: exp.Expr) -> Aggregate:
        """Read an aggregate; a sum may be cast to the type that sums have here."""
        tree = bare(tree)
        if isinstance(tree, exp.Cast) and isinstance(bare(tree.this), exp.Sum | exp.Filter):
            result = self.read(tree.this)
            if result.function != "sum" or tree.to.sql("duckdb") != "BIGINT":
                raise OtherSql
            return result
        if isinstance(tree, exp.Filter):
            where = Conditions(self._scope).when_true(tree.expression.this)
            return replace(self.read(tree.this), where=where)
        function = _AGGREGATES.get(type(tree))
        if function is None or extras(tree, {"this", "big_int"}):
            raise OtherSql
        return self._of(function, bare(tree.this))

    def _of(self, function: str, value: exp.Expr) -> Aggregate:
        if function == "count" and isinstance(value, exp.Star):
            return Aggregate("count")
        if function == "count" and isinstance(value, exp.Distinct) and len(value.expressions) == 1:
            function, value = "count_distinct", bare(value.expressions[0])
        if function in ("stddev", "stddev_pop", "variance") and isinstance(value, exp.Cast):
            value = bare(value.this)
        if isinstance(value, exp.Column):
            return Aggregate(function, ColumnReference(self._scope.name(value)))
        return Aggregate(function, ComputedValues(self._scope).value(value))
