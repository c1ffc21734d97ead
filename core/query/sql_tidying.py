"""Simplifies SQL that was generated for an engine: fewer casts, parentheses and quotes, as people write
it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import duckdb
import pyarrow as pa
import sqlglot
from sqlglot import exp

from lamella.core.errors import BadQuery
from lamella.core.query import engine
from lamella.core.query.duckdb_types import sql_type
from lamella.core.query.fields import Fields

_PARTS = {
    "year": exp.Year,
    "quarter": exp.Quarter,
    "month": exp.Month,
    "day": exp.Day,
}


def identifier(name: str) -> str:
    """Quote a name if SQL needs quotes."""
    plain = name.isascii() and name.isidentifier() and name.casefold() not in _keywords()
    return name if plain else '"' + name.replace('"', '""') + '"'


@lru_cache(1)
def _keywords() -> frozenset[str]:
    with engine.cursor(of="keywords") as connection:
        rows = connection.execute(
            "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category <> 'unreserved'"
        ).fetchall()
    return frozenset(word for (word,) in rows)


def tidy(
    expression: exp.Expr,
    fields: Fields,
    connection: duckdb.DuckDBPyConnection,
    kind: pa.DataType | None = None,
) -> str:
    """Simplify SQL, removing casts and parentheses; DuckDB provides the types. If `kind` is given, the type
    of the result does not change."""
    plain = expression.sql("duckdb")
    try:
        tree = sqlglot.parse_one(plain, dialect="duckdb")
    except sqlglot.errors.SqlglotError:
        return plain
    oracle = _Oracle(connection, fields)
    whole = oracle.type_of(tree)
    simple = _Tidying(oracle).simplify(tree.copy())
    if isinstance(simple, exp.Paren):
        simple = simple.this
    if kind is not None and oracle.type_of(simple) != whole:
        return plain
    return _lower(_without_quotes(simple))


class _Oracle:
    """Returns the type that DuckDB gives SQL over these columns; None if it cannot."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, fields: Fields) -> None:
        self._connection, self._fields = connection, fields
        self._types: dict[str, str | None] = {}

    def type_of(self, expression: exp.Expr) -> str | None:
        plain = expression.sql("duckdb")
        if plain not in self._types:
            self._types[plain] = self._duckdb_type(plain, {c.name for c in expression.find_all(exp.Column)})
        return self._types[plain]

    def _duckdb_type(self, plain: str, names: set[str]) -> str | None:
        columns = []
        for field in self._fields.columns:
            if field.name in names:
                name = sql_type(field.type)
                if name is None:
                    return None
                columns.append(f"CAST(NULL AS {name}) AS {_quote(field.name)}")
        rows = f"(SELECT {', '.join(columns) or '1'})"
        try:
            return str(self._connection.sql(f"SELECT {plain} AS x FROM {rows}").types[0])
        except duckdb.Error:
            return None


class _Tidying:
    def __init__(self, oracle: _Oracle) -> None:
        self._oracle = oracle

    def simplify(self, tree: exp.Expr) -> exp.Expr:
        if isinstance(tree, exp.Lambda):
            return tree
        for name, value in list(tree.args.items()):
            if isinstance(value, exp.Expr):
                tree.set(name, self.simplify(value))
            elif isinstance(value, list):
                parts = [self.simplify(item) if isinstance(item, exp.Expr) else item for item in value]
                tree.set(name, parts)
        rule = next((rule for kind, rule in _RULES if isinstance(tree, kind)), None)
        return tree if rule is None else rule(self, tree)

    def cast(self, tree: exp.Expr) -> exp.Expr:
        """Remove a cast that does not change the type."""
        inner, kind = tree.this, self._oracle.type_of(tree)
        return inner if kind is not None and self._oracle.type_of(inner) == kind else tree

    def arithmetic(self, tree: exp.Expr) -> exp.Expr:
        """Remove a cast of a whole number that takes the same type from the other operand anyway."""
        kind = self._oracle.type_of(tree)
        for side in ("this", "expression"):
            bare = _bare_number(tree.args[side])
            if bare is None or kind is None:
                continue
            tried = tree.copy()
            tried.set(side, bare)
            if self._oracle.type_of(tried) == kind:
                tree = tried
        return tree

    def nullif(self, tree: exp.Expr) -> exp.Expr:
        bare = _bare_number(tree.this)
        return tree.this if bare is not None and bare.sql() not in ("0", "-0") else tree

    def case(self, tree: exp.Expr) -> exp.Expr:
        """Simplify a case: conditions need no coalesce, and a case of true and false becomes one."""
        for branch in tree.args["ifs"]:
            if isinstance(branch.this, exp.Coalesce) and _is(branch.this.expressions, False):
                branch.set("this", branch.this.this)
        first = tree.args["ifs"][0]
        is_condition = len(tree.args["ifs"]) == 1 and _is([first.args["true"]], True)
        if is_condition and _is([tree.args.get("default")], False):
            return exp.Coalesce(this=first.this, expressions=[exp.false()])
        return tree

    def paren(self, tree: exp.Expr) -> exp.Expr:
        alone = (exp.Column, exp.Literal, exp.Func, exp.Paren, exp.Boolean)
        binds = (exp.Connector, exp.Case)
        return tree.this if isinstance(tree.this, alone) and not isinstance(tree.this, binds) else tree

    def count(self, tree: exp.Expr) -> exp.Expr:
        return exp.Count(this=exp.Star()) if tree.this == exp.Literal.number(1) else tree

    def coalesce(self, tree: exp.Expr) -> exp.Expr:
        """Remove a coalesce around what is never null."""
        inner = tree.this
        is_never_null = isinstance(inner, exp.Is) or (
            isinstance(inner, exp.Not) and isinstance(inner.this, exp.Is)
        )
        is_never_null = is_never_null or (isinstance(inner, exp.Coalesce) and _is(inner.expressions, False))
        return inner if is_never_null and _is(tree.expressions, False) else tree

    def part(self, tree: exp.Expr) -> exp.Expr:
        if tree.name.casefold() != "date_part" or len(tree.expressions) != 2:
            return tree
        kind = _PARTS.get(tree.expressions[0].name)
        return tree if kind is None else kind(this=tree.expressions[1])


_RULES: tuple[tuple[Any, Callable[[_Tidying, exp.Expr], exp.Expr]], ...] = (
    (exp.Cast, _Tidying.cast),
    (exp.Nullif, _Tidying.nullif),
    (exp.Case, _Tidying.case),
    (exp.Paren, _Tidying.paren),
    (exp.Count, _Tidying.count),
    ((exp.Add, exp.Sub, exp.Mul, exp.Div), _Tidying.arithmetic),
    (exp.Coalesce, _Tidying.coalesce),
    (exp.Anonymous, _Tidying.part),
)


def _bare_number(tree: exp.Expr) -> exp.Expr | None:
    while isinstance(tree, exp.Cast):
        tree = tree.this
    number = tree.this if isinstance(tree, exp.Neg) else tree
    return tree if isinstance(number, exp.Literal) and number.is_int else None


def _is(parts: Sequence[exp.Expr | None], value: bool) -> bool:
    return len(parts) == 1 and isinstance(parts[0], exp.Boolean) and parts[0].this is value


def _without_quotes(tree: exp.Expr) -> exp.Expr:
    for name in tree.find_all(exp.Identifier):
        if identifier(name.this) == name.this:
            name.set("quoted", False)
    return tree


def _lower(tree: exp.Expr) -> str:
    return str(tree.sql("duckdb", normalize_functions="lower"))


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def sql_fields(fields: Fields) -> Fields:
    """The columns, identified by their own names. Raises `BadQuery` for names that SQL cannot have."""
    names = fields.names
    refuse_alike(names, f"{fields.place}: two columns")
    if any(not name or "\0" in name for name in names):
        raise BadQuery(
            f"{fields.place}: SQL has no name for a column", "The name is empty", "Rename the column"
        )
    return Fields(
        fields.place,
        tuple(replace(field, identifier=field.name) for field in fields.columns),
        is_trusted=True,
    )


def refuse_alike(names: Sequence[str], what: str) -> None:
    first: dict[str, str] = {}
    for name in names:
        if name.casefold() in first:
            raise BadQuery(
                f"{what} are called '{first[name.casefold()]}' and '{name}'",
                "SQL does not distinguish upper and lower case in names",
                "Rename one of them",
            )
        first[name.casefold()] = name
