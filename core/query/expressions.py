"""Values computed from the columns of a row, as immutable plain data: `col("price") * 2 + col("fee")`.

An expression is only built here. What a function means, which types it takes and how it is compiled is in
`core.query.functions`; whether an expression fits a schema is decided by `core.query.typed.typed`.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyarrow import types as is_

from lamella.core.errors import BadQuery, NoTruthValue

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from lamella.core.filters.expr import Filter

LONGEST_READ = 500
"""Characters of a text that is looked at for what it computes."""
_COMPUTING = re.compile(r"^[^'\"\\]*[-+*/%<>=(][^'\"\\]*$")
DEEPEST = 200
"""Calls within calls: far beyond what people write, and what every engine can still take."""


class Computable:
    """What can be computed with: `+`, `-`, `*`, `/`, `//`, `%` and `**`, and the functions below.

    Anything that meets null is null, and so is a division by zero. `//` and `%` round down, as in Python.
    """

    __slots__ = ()

    def __add__(self, other: Any) -> Expression:
        return call("add", self, other)

    def __radd__(self, other: Any) -> Expression:
        return call("add", other, self)

    def __sub__(self, other: Any) -> Expression:
        return call("subtract", self, other)

    def __rsub__(self, other: Any) -> Expression:
        return call("subtract", other, self)

    def __mul__(self, other: Any) -> Expression:
        return call("multiply", self, other)

    def __rmul__(self, other: Any) -> Expression:
        return call("multiply", other, self)

    def __truediv__(self, other: Any) -> Expression:
        return call("divide", self, other)

    def __rtruediv__(self, other: Any) -> Expression:
        return call("divide", other, self)

    def __floordiv__(self, other: Any) -> Expression:
        return call("floor_divide", self, other)

    def __rfloordiv__(self, other: Any) -> Expression:
        return call("floor_divide", other, self)

    def __mod__(self, other: Any) -> Expression:
        return call("modulo", self, other)

    def __rmod__(self, other: Any) -> Expression:
        return call("modulo", other, self)

    def __pow__(self, other: Any) -> Expression:
        return call("power", self, other)

    def __rpow__(self, other: Any) -> Expression:
        return call("power", other, self)

    def __neg__(self) -> Expression:
        return call("negate", self)

    def __abs__(self) -> Expression:
        return call("abs", self)

    def round(self, digits: int = 0) -> Expression:
        """To so many digits behind the point; halves go away from zero."""
        return call("round", self, digits)

    def floor(self) -> Expression:
        return call("floor", self)

    def ceil(self) -> Expression:
        return call("ceil", self)

    def sqrt(self) -> Expression:
        """Null for what is less than zero."""
        return call("sqrt", self)

    def ln(self) -> Expression:
        """The natural logarithm; null for what is not greater than zero."""
        return call("ln", self)

    def log10(self) -> Expression:
        return call("log10", self)

    def exp(self) -> Expression:
        return call("exp", self)

    def sign(self) -> Expression:
        return call("sign", self)

    def upper(self) -> Expression:
        return call("upper", self)

    def lower(self) -> Expression:
        return call("lower", self)

    def trim(self) -> Expression:
        """Without the white space at both ends."""
        return call("trim", self)

    def length(self) -> Expression:
        """How many characters a text has, bytes a binary value, items a list."""
        return call("length", self)

    def substring(self, start: int, count: int) -> Expression:
        """`count` characters from place `start`, the first one being 0."""
        return call("substring", self, start, count)

    def replace(self, old: str, new: str) -> Expression:
        return call("replace", self, old, new)

    def year(self) -> Expression:
        return call("year", self)

    def quarter(self) -> Expression:
        return call("quarter", self)

    def month(self) -> Expression:
        return call("month", self)

    def week(self) -> Expression:
        """The number of the week in its year by ISO 8601."""
        return call("week", self)

    def day(self) -> Expression:
        """Of the month."""
        return call("day", self)

    def day_of_year(self) -> Expression:
        return call("day_of_year", self)

    def weekday(self) -> Expression:
        """1 for Monday to 7 for Sunday."""
        return call("weekday", self)

    def hour(self) -> Expression:
        return call("hour", self)

    def minute(self) -> Expression:
        return call("minute", self)

    def second(self) -> Expression:
        return call("second", self)

    def date(self) -> Expression:
        """The day of a timestamp, in the column's own time zone."""
        return call("date", self)

    def truncate(self, unit: str) -> Expression:
        """Where the year, quarter, month, week, day, hour, minute or second begins that it lies in."""
        return call("truncate", self, unit)

    def fill_null(self, value: Any) -> Expression:
        """The value, or `value` where it is null."""
        return call("coalesce", self, value)

    def cast(self, kind: Any) -> Expression:
        """As another type, `"float64"` say; a query fails at a value that does not fit it exactly."""
        from lamella.core.store.column_types import type_named

        named = type_named(kind)
        return call("cast", self, "float32" if is_.is_float32(named) else str(named))


class Expression(Computable):
    """A tree of names, constants and calls."""

    __slots__ = ()

    def __bool__(self) -> bool:
        raise NoTruthValue(
            "A computed value has no truth value", fix="Give it a name with compute() and filter by that"
        )

    def __lt__(self, other: Any) -> Any:
        raise BadQuery(
            "computed values cannot be compared in place",
            fix="Name it first: .compute(total=…).where(col('total') > 5)",
        )

    __le__ = __gt__ = __ge__ = __lt__


@dataclass(frozen=True)
class Named(Expression):
    """The column of this name, or the field inside a struct at this path."""

    name: str


@dataclass(frozen=True)
class Constant(Expression):
    """The same value in every row: text, a number, a boolean, a date, a time, a decimal, bytes or None."""

    value: Any

    def __eq__(self, other: object) -> bool:
        """1, 1.0 and True are different constants."""
        same = isinstance(other, Constant) and type(self.value) is type(other.value)
        return same and repr(self.value) == repr(other.value)  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((type(self.value), repr(self.value)))


@dataclass(frozen=True)
class Condition(Expression):
    """True where a row meets the filter and false where not, never null."""

    filter: Filter


@dataclass(frozen=True)
class Call(Expression):
    """`function` is an id of the function table."""

    function: str
    arguments: tuple[Expression, ...]


def call(function: str, *arguments: Any) -> Expression:
    return Call(function, tuple(expression_of(argument) for argument in arguments))


def expression_of(given: Any) -> Expression:
    """What `given` means where a value is computed: a column, a condition, or itself as a constant."""
    from lamella.core.filters.column import Column
    from lamella.core.filters.expr import Filter

    if isinstance(given, Expression):
        return given
    if isinstance(given, Column):
        return Named(given.name)
    return Condition(given) if isinstance(given, Filter) else Constant(given)


def computes_from(text: str, columns: Callable[[], Collection[str]]) -> bool:
    """Whether a text reads as something that is computed from these columns: `price * 2`, `abs(price)`.

    Text in quotes is none: what is looked for is code that was written as text by mistake."""
    if len(text) > LONGEST_READ or not _COMPUTING.search(text):
        return False
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    called = {node.func for node in ast.walk(tree) if isinstance(node, ast.Call)}
    names = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and node not in called]
    if not names or not isinstance(tree, ast.BinOp | ast.UnaryOp | ast.Compare | ast.Call):
        return False
    known = columns()
    heads = {*known, *(name.partition(".")[0] for name in known)}
    return heads.issuperset(names)


def coalesce(*values: Any) -> Expression:
    """The first of the values that is not null."""
    return call("coalesce", *values)


def least(*values: Any) -> Expression:
    """The least of the values that are not null."""
    return call("least", *values)


def greatest(*values: Any) -> Expression:
    """The greatest of the values that are not null."""
    return call("greatest", *values)


def when(condition: Filter | str | Mapping[str, Any], value: Any, otherwise: Any = None) -> Expression:
    """`value` in rows that meet the condition, `otherwise` in the others; more cases nest in `otherwise`."""
    from lamella.core.arguments import condition_of

    return call("when", condition_of(condition, "when"), value, otherwise)
