"""Which columns of an answer are columns of a table, handed through: they keep the type they have there."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import pyarrow as pa
import sqlglot
from pyarrow import types as is_
from sqlglot import exp
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, build_scope

from lamella.core.query.sql.statement import Statement
from lamella.core.scan.snapshot import Snapshot

_HANDED_ON = (exp.Min, exp.Max, exp.First, exp.Last, exp.AnyValue, exp.IgnoreNulls, exp.Paren, exp.Coalesce)
"""What gives back one of the values that it is given."""
_COUNTED_ROWS = re.compile(r"\bcount\s*\(\s*\*\s*\)")
_SELECT = re.compile(r"\bselect\b")
_UNNAMED = re.compile(
    r"[*#]|\b(?:columns|pivot|pivot_wider|unpivot|table|describe|summarize|show)\b|^(?!\s*[(]*\s*(?:select|with)\b)"
)
Types = Mapping[str, Mapping[str, pa.DataType]]


def comes_back_otherwise(kind: pa.DataType) -> bool:
    """Whether the engine hands values of this type back as ones of another."""
    if is_.is_timestamp(kind):
        return kind.tz not in (None, "UTC") or kind.unit not in ("us", "ns")
    return not (
        (is_.is_integer(kind) and not is_.is_temporal(kind))
        or is_.is_float32(kind)
        or is_.is_float64(kind)
        or is_.is_decimal128(kind)
        or kind in (pa.bool_(), pa.string(), pa.binary(), pa.date32())
    )


def kept_types(
    statement: Statement, tables: Mapping[str, Snapshot], columns: Sequence[str]
) -> list[pa.DataType | None]:
    """For each column of the answer the type of the table's column whose values it holds, None for what is
    computed, and for what cannot be told."""
    nothing: list[pa.DataType | None] = [None] * len(columns)
    named = [c for told in tables.values() for c in told.columns if _is_named(c.name, statement)]
    otherwise = [c.name.lower() for c in named if comes_back_otherwise(c.type)]
    if not _may_hand_on(statement.text, otherwise):
        return nothing
    types = {name.casefold(): {c.name.lower(): c.type for c in told.columns} for name, told in tables.items()}
    root = _scope(statement.text, types)
    if root is None:
        return nothing
    found = _outputs(root, types)
    return found if len(found) == len(columns) else nothing


def _is_named(column: str, statement: Statement) -> bool:
    return statement.columns is None or column.casefold() in statement.columns


def _may_hand_on(text: str, columns: Sequence[str]) -> bool:
    """Whether one of these columns can be in the answer: named in the statement, or taken along unnamed. A
    glance, since following a statement takes longer than many take to run."""
    said = _COUNTED_ROWS.sub("", text.lower())
    if not columns:
        return False
    unnamed = _UNNAMED.search(said) is not None or said.count("from") > len(_SELECT.findall(said))
    return unnamed or any(name in said for name in columns)


def _scope(text: str, types: Types) -> Scope | None:
    """None for statements that sqlglot does not follow: the types of their answers are the engine's."""
    schema: dict[str, object] = {table: dict.fromkeys(held, "text") for table, held in types.items()}
    try:
        tree = sqlglot.parse_one(text, dialect="duckdb")
        qualified = qualify(tree, schema=schema, dialect="duckdb", validate_qualify_columns=False)
        return build_scope(qualified)
    except sqlglot.errors.SqlglotError:
        return None


def _outputs(scope: Scope, types: Types) -> list[pa.DataType | None]:
    tree = scope.expression
    if isinstance(tree, exp.SetOperation):
        if tree.args.get("by_name") or len(scope.set_operation_scopes) != 2:
            return []
        sides = [_outputs(side, types) for side in scope.set_operation_scopes]
        return [a if a == b else None for a, b in zip(*sides, strict=False)]
    if not isinstance(tree, exp.Select) or tree.args.get("pivots"):
        return []
    return [_origin(value, scope, types) for value in tree.selects]


def _origin(value: exp.Expr, scope: Scope, types: Types) -> pa.DataType | None:
    if isinstance(value, exp.Alias):
        return _origin(value.this, scope, types)
    if isinstance(value, _HANDED_ON):
        found = [_origin(part, scope, types) for part in (value.this, *value.expressions)]
        return found[0] if all(kind == found[0] for kind in found) else None
    if not isinstance(value, exp.Column):
        return None
    named, source = scope.selected_sources.get(value.table, (None, None))
    if isinstance(source, Scope):
        names, kinds = getattr(source.expression, "named_selects", []), _outputs(source, types)
    elif isinstance(source, exp.Table) and not source.args.get("pivots"):
        own = types.get(source.name.casefold(), {})
        names, kinds = list(own), list(own.values())
    else:
        return None
    called = _renamed(named, names)
    place = called.index(value.name.lower()) if value.name.lower() in called else len(kinds)
    return kinds[place] if place < len(kinds) else None


def _renamed(named: exp.Expr | None, names: Sequence[str]) -> list[str]:
    """By the alias of a table, which may name the first few columns anew: `t AS x(a, b)`."""
    anew = named.alias_column_names if isinstance(named, exp.Table) else []
    return [name.lower() for name in (*anew, *names[len(anew) :])]
