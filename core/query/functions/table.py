"""THE table of functions, and the typing of expressions by it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from lamella.core.errors import BadQuery, instead_of
from lamella.core.filters.binding import bind
from lamella.core.filters.expr import columns_read
from lamella.core.filters.kinds import value_type
from lamella.core.filters.to_sql import to_sql
from lamella.core.libraries import exp
from lamella.core.query.expressions import DEEPEST, Call, ColumnReference, Condition, Constant, Expression
from lamella.core.query.fields import Fields, Value, case, common_subexpressions, constant, leaf
from lamella.core.query.functions import numbers, texts, times
from lamella.core.query.functions import numbers as arithmetic
from lamella.core.query.functions import types as choosing

TypedSql = tuple[exp.Expr, pa.DataType] | None


@dataclass(frozen=True)
class Function:
    """A function. `make` returns the SQL and the type for values, or None if they do not fit; `takes`
    describes what fits.

    It is called with `least` to `most` values. A function that `chooses` may leave values uncomputed.
    """

    id: str
    takes: str
    least: int
    most: int
    make: Callable[[Sequence[Value]], TypedSql]
    chooses: bool = False

    def apply(self, values: Sequence[Value], place: str) -> Value:
        """Apply the function. Raises `BadQuery`, which names what does not fit."""
        if not self.least <= len(values) <= self.most:
            raise BadQuery(f"{place}: '{self.id}' was given {len(values)} values", f"It takes {self.takes}")
        result = self.make(values) if self.chooses else common_subexpressions(values, self.make)
        if result is None:
            types = " and ".join(f"{value.phrase} ({value.type})" for value in values)
            raise BadQuery(f"{place}: '{self.id}' does not fit {types}", f"It takes {self.takes}")
        sql, kind = result
        return Value(sql, kind, f"the result of '{self.id}'")


_TWO_NUMBERS = "two numbers"
_NUMBER = "a number"
_NUMBER_OR_SPAN = "a number or a span of time"
_TEXT = "text"
_DAY = "a date or a timestamp"
_CLOCK = "a timestamp or a time of day"
_ALIKE = "values of one type"
_UNIT = f"a date or a timestamp, and one of {', '.join(times.UNITS)}; days have no hours"
_ANY_NUMBER = 1000

_TABLE = (
    Function("add", "two numbers, two texts, or a time and a span of time", 2, 2, arithmetic.add),
    Function("subtract", "two numbers, two times, or a time and a span of time", 2, 2, arithmetic.subtract),
    Function("multiply", "two numbers, or a span of time and a whole number", 2, 2, arithmetic.multiply),
    Function("divide", "two numbers, or two spans of time", 2, 2, arithmetic.divide),
    Function("floor_divide", _TWO_NUMBERS, 2, 2, arithmetic.floor_divide),
    Function("modulo", _TWO_NUMBERS, 2, 2, arithmetic.modulo),
    Function("power", _TWO_NUMBERS, 2, 2, arithmetic.power),
    Function("negate", _NUMBER_OR_SPAN, 1, 1, arithmetic.negate),
    Function("abs", _NUMBER_OR_SPAN, 1, 1, arithmetic.absolute),
    Function("round", "a number and a number of digits", 2, 2, numbers.round_value),
    Function("floor", _NUMBER, 1, 1, numbers.floor),
    Function("ceil", _NUMBER, 1, 1, numbers.ceil),
    Function("sign", _NUMBER, 1, 1, numbers.sign),
    Function("sqrt", _NUMBER, 1, 1, numbers.sqrt),
    Function("ln", _NUMBER, 1, 1, numbers.ln),
    Function("log10", _NUMBER, 1, 1, numbers.log10),
    Function("exp", _NUMBER, 1, 1, numbers.power_of_e),
    Function("upper", _TEXT, 1, 1, texts.simple("upper")),
    Function("lower", _TEXT, 1, 1, texts.simple("lower")),
    Function("trim", _TEXT, 1, 1, texts.trim),
    Function("length", "text, binary data or a list", 1, 1, texts.length),
    Function("substring", "text, a start and a number of characters", 3, 3, texts.substring),
    Function("replace", "three texts", 3, 3, texts.replace),
    Function("year", _DAY, 1, 1, times.part("year")),
    Function("quarter", _DAY, 1, 1, times.part("quarter")),
    Function("month", _DAY, 1, 1, times.part("month")),
    Function("week", _DAY, 1, 1, times.part("week")),
    Function("day", _DAY, 1, 1, times.part("day")),
    Function("day_of_year", _DAY, 1, 1, times.part("doy")),
    Function("weekday", _DAY, 1, 1, times.part("isodow")),
    Function("hour", _CLOCK, 1, 1, times.part("hour")),
    Function("minute", _CLOCK, 1, 1, times.part("minute")),
    Function("second", _CLOCK, 1, 1, times.part("second")),
    Function("date", _DAY, 1, 1, times.day),
    Function("truncate", _UNIT, 2, 2, times.truncate),
    Function("coalesce", _ALIKE, 1, _ANY_NUMBER, choosing.coalesce, chooses=True),
    Function("least", _ALIKE, 1, _ANY_NUMBER, choosing.extreme("least")),
    Function("greatest", _ALIKE, 1, _ANY_NUMBER, choosing.extreme("greatest")),
    Function("when", "a condition and two values of one type", 3, 3, choosing.when, chooses=True),
    Function("cast", "a value and a type that it can be read as", 2, 2, choosing.as_type),
)

FUNCTIONS: dict[str, Function] = {function.id: function for function in _TABLE}


@dataclass(frozen=True)
class TypedExpression:
    """`used_names` are the identifiers of the columns that the value is computed from."""

    value: Value
    used_names: frozenset[str]


def type_expression(expression: Expression, fields: Fields, depth: int = 0) -> TypedExpression:
    """Compile an expression. Raises `UnknownColumn`, `BadQuery` for a function that does not fit, `BadFilter`
    for a condition."""
    if depth > DEEPEST:
        raise BadQuery(
            f"{fields.place}: a computed value nests calls more than {DEEPEST} deep",
            fix="Compute parts of it as columns first",
        )
    if isinstance(expression, ColumnReference):
        field, kind, value = fields.at_path(expression.name)
        return TypedExpression(Value(value, value_type(kind), expression.name), frozenset([field.identifier]))
    if isinstance(expression, Constant):
        return TypedExpression(constant(expression.value, fields.place), frozenset())
    if isinstance(expression, Condition):
        return _condition(expression, fields)
    if isinstance(expression, Call):
        return _call(expression, fields, depth)
    raise BadQuery(f"{fields.place}: {expression!r} is not a value to compute", fix="Build one with col()")


def condition(filter: Any, fields: Fields) -> tuple[exp.Expr, frozenset[str]]:
    """Compile a filter to SQL, which may be null; return it with the identifiers that it uses."""
    bound = bind(filter, fields.schema, fields.place)
    used = {fields.at_path(name)[0].identifier for name in columns_of(bound)}
    return to_sql(bound, fields.identifiers, fields.is_trusted), frozenset(used)


def _condition(expression: Condition, fields: Fields) -> TypedExpression:
    met, used = condition(expression.filter, fields)
    return TypedExpression(Value(case(met, exp.true(), exp.false()), pa.bool_(), "the condition"), used)


def _call(expression: Call, fields: Fields, depth: int) -> TypedExpression:
    function = FUNCTIONS.get(expression.function)
    if function is None:
        raise BadQuery(
            f"{fields.place}: there is no function '{expression.function}'",
            fix=instead_of(expression.function, list(FUNCTIONS)),
        )
    parts = []
    for argument in expression.arguments:
        parts.append(type_expression(argument, fields, depth + 1))
    value = function.apply([part.value for part in parts], fields.place)
    return TypedExpression(
        replace(value, sql=leaf(value.sql)), frozenset[str]().union(*(part.used_names for part in parts))
    )


def columns_of(bound: Any) -> Iterator[str]:
    """The columns and paths that a bound filter reads."""
    yield from columns_read(bound)
