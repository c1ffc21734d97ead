"""The columns of a step's result, and computed values: their names, types and SQL."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import Any, TypeAlias

import pyarrow as pa

from lamella.core.arrow.nested_values import Place, names_within, place_of
from lamella.core.errors import BadQuery, UnknownColumn, short_text
from lamella.core.filters.to_sql import field_in, in_sql_units, literal
from lamella.core.filters.values import convert, natural
from lamella.core.libraries import exp
from lamella.core.query.duckdb_types import sql_type
from lamella.core.scan.snapshot import noted_field


@dataclass(frozen=True)
class Value:
    """A computed value. `sql` has the form that `core.query.duckdb_types` gives the type, `phrase` is its
    name in messages, and `literal` is the value of a constant."""

    sql: exp.Expr
    type: pa.DataType
    phrase: str
    literal: Any = None
    constant: bool = False


def column(identifier: str, table: str | None = None) -> exp.Column:
    return exp.column(quote_identifier(identifier), table=quote_identifier(table) if table else None)


def quote_identifier(identifier: str) -> exp.Identifier:
    return exp.to_identifier(identifier, quoted=True)


def alias(value: exp.Expr, identifier: str) -> exp.Expr:
    return exp.alias_(value, identifier, quoted=True)


def func(name: str, *arguments: exp.Expr) -> exp.Expr:
    """A function of DuckDB by its own name, which sqlglot does not translate."""
    return exp.Anonymous(this=name, expressions=list(arguments))


def number(value: int) -> exp.Expr:
    literal = exp.Literal.number(abs(value))
    return exp.Neg(this=literal) if value < 0 else literal


def text(value: str) -> exp.Expr:
    return exp.Literal.string(value)


def cast(value: exp.Expr, name: str) -> exp.Expr:
    """Cast to a DuckDB type by its own name."""
    return exp.Cast(this=value, to=exp.DataType(this=exp.DataType.Type.USERDEFINED, kind=name))


def cast_to(value: exp.Expr, kind: pa.DataType) -> exp.Expr:
    """Cast to the type as which DuckDB reads a column of this type; unchanged if only DuckDB knows it."""
    name = sql_type(kind)
    return value if name is None else cast(value, name)


def leaf(expression: exp.Expr) -> exp.Expr:
    """The same expression as finished SQL text, so that building on it does not deepen the tree."""
    return exp.Var(this=expression.sql("duckdb"))


def try_cast(value: exp.Expr, name: str) -> exp.Expr:
    """Cast to a DuckDB type by its own name; null if the value does not fit."""
    return exp.TryCast(this=value, to=exp.DataType(this=exp.DataType.Type.USERDEFINED, kind=name))


def paren(value: exp.Expr) -> exp.Expr:
    return exp.Paren(this=value)


def case(condition: exp.Expr, value: exp.Expr, otherwise: exp.Expr | None = None) -> exp.Expr:
    return exp.Case(ifs=[exp.If(this=condition, true=value)], default=otherwise)


def conjunction(conditions: Iterable[exp.Expr]) -> exp.Expr:
    return reduce(lambda a, b: exp.And(this=a, expression=b), map(paren, conditions))


@dataclass(frozen=True)
class Field:
    """A column. `identifier` is unique in the whole query and never shown; `note` is that of the dataset's
    column."""

    name: str
    type: pa.DataType
    identifier: str
    note: str = ""


@dataclass(frozen=True)
class Fields:
    """The columns in order. `place` names their dataset in messages. `is_trusted` means that comparisons
    need no guard against float statistics that leave out NaN."""

    place: str
    columns: tuple[Field, ...]
    is_trusted: bool = False

    @property
    def names(self) -> list[str]:
        return [field.name for field in self.columns]

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([pa.field(field.name, field.type) for field in self.columns])

    @property
    def schema_with_notes(self) -> pa.Schema:
        return pa.schema([noted_field(field.name, field.type, field.note) for field in self.columns])

    @property
    def identifiers(self) -> dict[str, str]:
        """The identifiers by column name."""
        return {field.name: field.identifier for field in self.columns}

    def __contains__(self, name: str) -> bool:
        return any(field.name == name for field in self.columns)

    def __getitem__(self, name: str) -> Field:
        """Raises `UnknownColumn`."""
        for field in self.columns:
            if field.name == name:
                return field
        raise UnknownColumn(name, self.place, self.names)

    def with_field(self, field: Field) -> Fields:
        """Replace the column of the same name, or append the column."""
        if field.name not in self:
            return Fields(self.place, (*self.columns, field), self.is_trusted)
        fields = tuple(field if old.name == field.name else old for old in self.columns)
        return Fields(self.place, fields, self.is_trusted)

    def at_path(self, name: str) -> tuple[Field, pa.DataType, exp.Expr]:
        """The column with this name, or the field at this path inside one: column, type and value."""
        types = {field.name: field.type for field in self.columns}
        place = place_of(name, types)
        if place is None:
            raise UnknownColumn(name, self.place, names_within(types))
        field = self[place.column]
        _refuse_lookalikes(place, self.place)
        value = field_in(column(field.identifier), field.type, place.path)
        return field, place.type, value


def _refuse_lookalikes(place: Place, of: str) -> None:
    """Refuse fields that differ only in case: DuckDB 2.0 treats them as one."""
    kind = place.whole
    for name in place.path:
        alike = [field.name for field in kind if field.name.casefold() == name.casefold()]
        if len(alike) > 1:
            names = " and ".join(f"'{alike_name}'" for alike_name in alike)
            raise BadQuery(
                f"{of}: '{place.name}' cannot be used in a computation",
                f"The fields {names} differ only in case, and the query engine cannot tell them apart",
                "Rename one of them, or read the whole column",
            )
        kind = kind.field(name).type


def refuse_twice(names: Iterable[str], place: str) -> None:
    names_before: set[str] = set()
    for name in names:
        if name in names_before:
            raise BadQuery(f"{place}: two columns would be called '{name}'", fix="Use each name once")
        names_before.add(name)


LONG = 200
"""The length in characters from which SQL is not repeated. DuckDB computes a shorter repetition only once,
and faster."""
_NAME = "operand"

TypedSql: TypeAlias = "tuple[exp.Expr, pa.DataType] | None"


def common_subexpressions(values: Sequence[Value], make: Callable[[Sequence[Value]], TypedSql]) -> TypedSql:
    """Apply `make` to the values so that long ones are computed once, even those that `make` does not
    need."""
    long = [place for place, value in enumerate(values) if _is_long(value.sql)]
    if not long:
        return make(values)
    names = {place: _name(place, len(long)) for place in long}
    result = make([replace(v, sql=exp.Var(this=names[n])) if n in names else v for n, v in enumerate(values)])
    if result is None:
        return None
    written = result[0].sql("duckdb")
    if all(written.count(name) <= 1 for name in names.values()):
        return make(values)
    structs = exp.Array(expressions=[_struct([values[place].sql for place in long], list(names.values()))])
    results = func("list_transform", structs, exp.Var(this=f"lambda {_NAME}: {written}"))
    return func("list_extract", results, number(1)), result[1]


def _is_long(sql: exp.Expr) -> bool:
    """Whether a value is long. Computed values are finished SQL text (`leaf`); names and constants are
    short."""
    return isinstance(sql, exp.Var) and len(sql.this) > LONG


def _name(place: int, count: int) -> str:
    return _NAME if count == 1 else f"{_NAME}.v{place}"


def _struct(operands: list[exp.Expr], names: list[str]) -> exp.Expr:
    if len(operands) == 1:
        return operands[0]
    fields = [name.partition(".")[2] for name in names]
    return func("struct_pack", *(_field(*pair) for pair in zip(fields, operands, strict=True)))


def _field(name: str, value: exp.Expr) -> exp.Expr:
    return exp.Var(this=f"{name} := {value.sql('duckdb')}")


def constant(value: Any, place: str) -> Value:
    """Raises `BadQuery` for a value that no column can hold."""
    plain = natural(value)
    if plain is None:
        return Value(exp.Null(), pa.null(), "null", None, True)
    kind = _constant_type(plain)
    if kind is None:
        raise BadQuery(
            f"{place}: {short_text(value)} cannot be used in a computation",
            fix="Give text, a number, true or false, a date or a time",
        )
    try:
        return Value(literal_of_type(plain, kind), kind, repr(value), plain, True)
    except ValueError as error:
        raise BadQuery(f"{place}: {value!a} cannot be used in a computation", str(error)) from error


def literal_of_type(plain: Any, kind: pa.DataType) -> exp.Expr:
    """A Python value as a literal of the type. Raises `ValueError` if it does not fit."""
    if pa.types.is_duration(kind):
        unit = {"s": 10**6, "ms": 10**3, "us": 1}.get(kind.unit, 1)
        ticks = plain // dt.timedelta(microseconds=1)
        return cast(number(ticks * 1000 if kind.unit == "ns" else ticks // unit), "BIGINT")
    if pa.types.is_floating(kind):
        return literal(float(convert(plain, kind).shown_value), kind)
    exact = in_sql_units(convert(plain, kind).exact, kind)
    if isinstance(exact, Fraction):
        if exact.denominator != 1:
            raise ValueError(f"{plain!r} is not a value of {kind}")
        exact = int(exact)
    value_literal = literal(exact, kind)
    return cast(value_literal, "BIGINT") if pa.types.is_integer(kind) else value_literal


def _constant_type(plain: Any) -> pa.DataType | None:
    if isinstance(plain, int) and not isinstance(plain, bool) and not -(2**63) <= plain < 2**63:
        return pa.decimal128(38, 0) if abs(plain) < 10**38 else None
    if isinstance(plain, Decimal):
        return _decimal_type(plain)
    if isinstance(plain, dt.datetime):
        return pa.timestamp("us", None if plain.tzinfo is None else "UTC")
    kinds = {
        bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string(), bytes: pa.binary(),
        dt.date: pa.date32(), dt.time: pa.time64("us"), dt.timedelta: pa.duration("us"),
    }  # fmt: skip
    return kinds.get(type(plain))


def _decimal_type(value: Decimal) -> pa.DataType | None:
    if not value.is_finite():
        return None
    _sign, digits, exponent = value.as_tuple()
    scale = max(0, -int(exponent))
    precision = max(len(digits) + max(0, int(exponent)), scale, 1)
    return pa.decimal128(precision, scale) if precision <= 38 else None
