"""Values and conditions computed from the columns of a row: `col("price") * 2 > col("fee")`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyarrow import types as is_

from lamella.core.errors import BadFilter, BadQuery, NoTruthValue, short_text
from lamella.core.filters.expr import Filter, Predicate, Reference, apply_flags, columns_read

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from lamella.core.filters.expr import Filter


LONGEST_READ = 500
"""The maximum number of characters in a text that is checked for being a computation."""
_COMPUTING = re.compile(r"^[^'\"\\]*[-+*/%<>=(][^'\"\\]*$")
DEEPEST = 200
"""The maximum depth of nested calls: far beyond what people write, and what every engine can still
process."""


class Computable:
    """Base of what can be computed with: `+`, `-`, `*`, `/`, `//`, `%` and `**`, and the methods below.

    A null operand gives null, and so does a division by zero. `//` and `%` round down, as in Python.
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
        """Round to `digits` digits after the decimal point; halves are rounded away from zero."""
        return call("round", self, digits)

    def floor(self) -> Expression:
        return call("floor", self)

    def ceil(self) -> Expression:
        return call("ceil", self)

    def sqrt(self) -> Expression:
        """Null for values below zero."""
        return call("sqrt", self)

    def ln(self) -> Expression:
        """The natural logarithm; null for values not greater than zero."""
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
        """Remove white space at both ends."""
        return call("trim", self)

    def length(self) -> Expression:
        """The number of characters of a text, bytes of a binary value, or items of a list."""
        return call("length", self)

    def substring(self, start: int, count: int) -> Expression:
        """`count` characters from index `start`; the first index is 0."""
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
        """The ISO 8601 week number."""
        return call("week", self)

    def day(self) -> Expression:
        """The day of the month."""
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
        """The start of the year, quarter, month, week, day, hour, minute or second that the value lies in."""
        return call("truncate", self, unit)

    def fill_null(self, value: Any) -> Expression:
        """The value, or `value` where it is null."""
        return call("coalesce", self, value)

    def cast(self, kind: Any) -> Expression:
        """Convert to another type, such as `"float64"`. The query fails at a value that does not fit
        exactly."""
        from lamella.core.arrow.types import type_named

        target_type = type_named(kind)
        return call("cast", self, "float32" if is_.is_float32(target_type) else str(target_type))


class Expression(Computable):
    """A tree of names, constants and calls."""

    __slots__ = ()

    def __bool__(self) -> bool:
        raise NoTruthValue(
            "A computed value has no truth value", fix="Give it a name with compute() and filter by that"
        )

    def __lt__(self, other: Any) -> Any:
        raise BadQuery(
            "computed values cannot be compared directly",
            fix="Give the value a name first: .compute(total=…).where(col('total') > 5)",
        )

    __le__ = __gt__ = __ge__ = __lt__


@dataclass(frozen=True)
class ColumnReference(Expression):
    """The column with this name, or the field at this path inside a struct."""

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
    """True in rows that meet the filter, false in all others, never null."""

    filter: Filter


@dataclass(frozen=True)
class Call(Expression):
    """`function` is an id of the function table."""

    function: str
    arguments: tuple[Expression, ...]


def columns_in(value: Expression) -> Iterator[str]:
    """The columns that an expression reads; for a field's path, also the column that may contain it."""
    if isinstance(value, ColumnReference):
        yield from (value.name, value.name.partition(".")[0])
    elif isinstance(value, Condition):
        for name in columns_read(value.filter):
            yield from (name, name.partition(".")[0])
    elif isinstance(value, Call):
        for argument in value.arguments:
            yield from columns_in(argument)


def call(function: str, *arguments: Any) -> Expression:
    return Call(function, tuple(expression_of(argument) for argument in arguments))


def expression_of(value: Any) -> Expression:
    """What `value` means where a value is computed: a column, a condition, or itself as a constant."""
    from lamella.core.filters.expr import Filter

    if isinstance(value, Expression):
        return value
    if isinstance(value, Column):
        return ColumnReference(value.name)
    return Condition(value) if isinstance(value, Filter) else Constant(value)


def computes_from(text: str, columns: Callable[[], Collection[str]]) -> bool:
    """Whether a text looks like a computation on these columns: `price * 2`, `abs(price)`.

    Text with quotes never does. This finds code written as text by mistake."""
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
    column_names = columns()
    heads = {*column_names, *(name.partition(".")[0] for name in column_names)}
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
    """`value` in rows that meet the condition, `otherwise` in the others. For more cases, nest `when` in
    `otherwise`."""
    from lamella.core.filters.condition import condition_of

    return call("when", condition_of(condition, "when"), value, otherwise)


class Column(Computable):
    """A column, by name. Comparing it with a value or another column makes a condition; the column alone is
    not a filter. A field inside a column is named by its path: `col("address.city")`.

    `==` and `!=` build conditions too, so a column cannot be a dict key, and `in` does not find it in a list.
    """

    __slots__ = ("name",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise BadFilter(f"{name!r} is not a name of a column", fix='Give it as text: col("name")')
        self.name = name

    def __repr__(self) -> str:
        return f"col({self.name!r})"

    def __bool__(self) -> bool:
        raise TypeError(f"{self!r} alone has no truth value; write {self!r}.is_true() or compare it")

    def __eq__(self, value: Any) -> Filter:  # type: ignore[override]
        return self.is_null() if value is None else self._predicate("eq", value)

    def __ne__(self, value: Any) -> Filter:  # type: ignore[override]
        return self.not_null() if value is None else self._predicate("ne", value)

    def __gt__(self, value: Any) -> Filter:
        return self._predicate("gt", value)

    def __ge__(self, value: Any) -> Filter:
        return self._predicate("gte", value)

    def __lt__(self, value: Any) -> Filter:
        return self._predicate("lt", value)

    def __le__(self, value: Any) -> Filter:
        return self._predicate("lte", value)

    def between(self, low: Any, high: Any) -> Filter:
        """Both bounds are included."""
        return self._predicate("between", low, high)

    def not_between(self, low: Any, high: Any) -> Filter:
        return self._predicate("not_between", low, high)

    def is_in(self, values: Iterable[Any], ignore_case: bool = False) -> Filter:
        return self._predicate("in", *self._value_list(values), ignore_case=ignore_case)

    def not_in(self, values: Iterable[Any], ignore_case: bool = False) -> Filter:
        return self._predicate("nin", *self._value_list(values), ignore_case=ignore_case)

    def equals(self, value: Any, ignore_case: bool = False) -> Filter:
        return self._predicate("eq", value, ignore_case=ignore_case)

    def contains(self, text: str, ignore_case: bool = False) -> Filter:
        return self._predicate("contains", text, ignore_case=ignore_case)

    def not_contains(self, text: str, ignore_case: bool = False) -> Filter:
        return self._predicate("not_contains", text, ignore_case=ignore_case)

    def starts_with(self, text: str, ignore_case: bool = False) -> Filter:
        return self._predicate("starts_with", text, ignore_case=ignore_case)

    def ends_with(self, text: str, ignore_case: bool = False) -> Filter:
        return self._predicate("ends_with", text, ignore_case=ignore_case)

    def like(self, pattern: str, ignore_case: bool = False) -> Filter:
        r"""SQL's LIKE on the whole text: `%` is any text, `_` one character, and `\` escapes the next
        character."""
        return self._predicate("like", pattern, ignore_case=ignore_case)

    def matches(self, pattern: str, ignore_case: bool = False, flags: str = "") -> Filter:
        """Whether the RE2 regular expression matches anywhere in the text.

        `flags`: "i" ignores case, "s" lets the dot match line ends, "m" lets ^ and $ match at each line.
        """
        pattern, folds = apply_flags(pattern, flags)
        return self._predicate("regex", pattern, ignore_case=ignore_case or folds)

    def has_words(self, words: str) -> Filter:
        """Whether the text contains the words of a search, written as for `Table.search`. This needs a
        full-text index of the column, and works only on rows of the table that has it."""
        return self._predicate("words", words)

    def mod(self, divisor: int, remainder: int) -> Filter:
        """The remainder has the sign of the dividend, as in SQL: -7 divided by 2 leaves -1."""
        return self._predicate("mod", divisor, remainder)

    def has(self, item: Any, ignore_case: bool = False) -> Filter:
        """The list contains this item."""
        return self._predicate("has", item, ignore_case=ignore_case)

    def has_any(self, items: Iterable[Any], ignore_case: bool = False) -> Filter:
        """The list contains at least one of these items."""
        return self._predicate("has_any", *self._value_list(items), ignore_case=ignore_case)

    def has_all(self, items: Iterable[Any], ignore_case: bool = False) -> Filter:
        """The list contains all of these items; if none are given, every list matches."""
        return self._predicate("has_all", *self._value_list(items), ignore_case=ignore_case)

    def has_size(self, size: int) -> Filter:
        """The list has `size` items, including nulls."""
        return self._predicate("size", size)

    def elem_match(self, where: Filter) -> Filter:
        """One item of the list meets all of `where`. `where` names fields of the items; items without fields
        are named `item`: `col("item") > 5`."""
        return self._predicate("elem_match", where)

    def has_type(self, *types: str) -> Filter:
        """The value has one of these types, such as "number" or "text"; "null" matches missing values."""
        return self._predicate("type", *types)

    def exists(self) -> Filter:
        """The value is present, that is, not null. At the top level and inside structs, null stands for a
        missing value."""
        return self._predicate("exists")

    def missing(self) -> Filter:
        return self._predicate("missing")

    def is_null(self) -> Filter:
        return self._predicate("is_null")

    def not_null(self) -> Filter:
        return self._predicate("not_null")

    def is_true(self) -> Filter:
        return self._predicate("is_true")

    def is_false(self) -> Filter:
        return self._predicate("is_false")

    def is_empty(self) -> Filter:
        return self._predicate("is_empty")

    def not_empty(self) -> Filter:
        """Neither null nor an empty text."""
        return self._predicate("not_empty")

    def _value_list(self, values: Iterable[Any]) -> list[Any]:
        if isinstance(values, Computable):
            raise BadFilter(
                f"{self!r} cannot be in {short_text(values)}",
                "This takes a list of values, and that is a column",
                f"Compare the columns: {self!r} == {short_text(values)}",
            )
        if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
            raise BadFilter(
                f"{self!r} cannot be in {short_text(values)}", fix=f"Give a list: [{short_text(values)}]"
            )
        return list(values)

    def _predicate(self, operator: str, *values: Any, ignore_case: bool = False) -> Filter:
        if any(issubclass(kind, Column) for kind in set(map(type, values))):
            values = tuple(Reference(value.name) if isinstance(value, Column) else value for value in values)
        return Predicate(self.name, operator, values, ignore_case)


def col(name: str) -> Column:
    return Column(name)
