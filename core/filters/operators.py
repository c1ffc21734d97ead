"""THE table of operators: everything about an operator is defined here.

`core.filters.binding` uses it for the types that an operator fits, the compilers for its test, the sentence
and the filter builder for its wording. To add an operator, add a line (and, if its test needs a new
operation, a method of `core.filters.operators.Operand`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import reduce
from typing import Any, Generic, TypeVar

import pyarrow as pa

from lamella.core.errors import BadSearch
from lamella.core.filters.kinds import ALL_KINDS, COMPARABLE, ORDERED_KINDS, TEMPORAL, Kind, kind_of

R = TypeVar("R")


class Operand(ABC, Generic[R]):
    """One column in one compiler; `R` is the compiler's type of conditions.

    Every condition may be "no" or "unknown" where the column is null; only `opposite` and `is_null` may make
    it "yes".
    """

    @abstractmethod
    def compare(self, how: str, value: Any) -> R:
        """`how` is eq, lt, lte, gt or gte. Values are `exact` values of `core.filters.values`, or the operand
        of another column."""

    @abstractmethod
    def one_of(self, values: Sequence[Any]) -> R: ...

    @abstractmethod
    def contains(self, text: str) -> R: ...

    @abstractmethod
    def starts_with(self, text: str) -> R: ...

    @abstractmethod
    def ends_with(self, text: str) -> R: ...

    @abstractmethod
    def like(self, pattern: str) -> R: ...

    @abstractmethod
    def regex(self, pattern: str) -> R: ...

    def has_words(self, words: str) -> R:
        """Always raises: a value alone cannot tell; only a full-text index can, for the rows of its table."""
        raise BadSearch(
            f"Only a full-text index can find the words '{words}'",
            "It covers the rows of a table as stored, and cannot be used in SQL",
            "Put the condition before steps that produce other rows, or use 'contains'",
        )

    @abstractmethod
    def leaves(self, divisor: int, remainder: int) -> R:
        """Whether dividing by `divisor` (above 0) leaves `remainder`, which has the sign of the number."""

    @abstractmethod
    def any_item(self, test: Callable[[Any], R]) -> R:
        """Whether the list has an item that meets `test`, which receives an operand for the items. Conditions
        on the fields of items are such tests too."""

    @abstractmethod
    def has_size(self, size: int) -> R: ...

    @abstractmethod
    def always(self, answer: bool) -> R:
        """The answer for every row that is not null."""

    @abstractmethod
    def is_null(self) -> R: ...

    @abstractmethod
    def opposite(self, condition: R) -> R:
        """The complement: met by exactly the rows that do not meet `condition`."""

    @abstractmethod
    def both(self, left: R, right: R) -> R: ...

    @abstractmethod
    def either(self, left: R, right: R) -> R: ...


class NullOperand(Operand[bool]):
    """A null column: it has no type, so any value fits, and every operator gives what it gives for null
    elsewhere."""

    def compare(self, how: str, value: Any) -> bool:
        return False

    def one_of(self, values: Sequence[Any]) -> bool:
        return False

    def contains(self, text: str) -> bool:
        return False

    def starts_with(self, text: str) -> bool:
        return False

    def ends_with(self, text: str) -> bool:
        return False

    def like(self, pattern: str) -> bool:
        return False

    def regex(self, pattern: str) -> bool:
        return False

    def has_words(self, words: str) -> bool:
        return False

    def leaves(self, divisor: int, remainder: int) -> bool:
        return False

    def any_item(self, test: Callable[[Any], bool]) -> bool:
        return False

    def has_size(self, size: int) -> bool:
        return False

    def always(self, answer: bool) -> bool:
        return False

    def is_null(self) -> bool:
        return True

    def opposite(self, condition: bool) -> bool:
        return not condition

    def both(self, left: bool, right: bool) -> bool:
        return left and right

    def either(self, left: bool, right: bool) -> bool:
        return left or right


Test = Callable[[Operand[Any], Sequence[Any]], Any]


class Arity(Enum):
    """The number of values that an operator takes."""

    NONE = 0
    ONE = 1
    TWO = 2
    MANY = -1


class Takes(Enum):
    """The kind of values that an operator takes."""

    VALUES = "values of the column's own type"
    COLUMNS = "values of the column's own type, or other columns"
    PATTERN = "a pattern"
    WORDS = "words, as `Table.search` reads them"
    ITEMS = "values of the type of the list's items"
    COUNT = "a whole number from 0 on"
    DIVISION = "a divisor and a remainder"
    TYPES = "names of types"
    FILTER = "a condition on the items"


@dataclass(frozen=True)
class Operator:
    """An operator. `test` defines its meaning; `wordings` are labels for kinds of columns that need their
    own.

    `sentence` is a template for the wording and the values: `{0}`, `{1}`, or `{all}` for a list. `spelling`
    is the template for the text that follows the column in the text language (`core.filters.text`).
    """

    id: str
    label: str
    kinds: frozenset[Kind]
    arity: Arity
    test: Test
    spelling: str
    sentence: str = "{wording} {0}"
    wordings: dict[Kind, str] = field(default_factory=dict, hash=False)
    takes: Takes = Takes.VALUES

    def fits(self, type_: pa.DataType) -> bool:
        return kind_of(type_) in self.kinds

    def value_type(self, type_: pa.DataType) -> pa.DataType:
        """The type of its values for a column of this type."""
        if self.takes is Takes.ITEMS:
            return type_.value_type
        return pa.int64() if self.takes in (Takes.COUNT, Takes.DIVISION) else type_

    def wording(self, kind: Kind | None) -> str:
        return self.wordings.get(kind, self.label) if kind else self.label


def fitting(type_: pa.DataType) -> list[Operator]:
    """The operators that fit a column of this type, in the order in which they are offered."""
    return [operator for operator in OPERATORS.values() if operator.fits(type_)]


def offered_operators(type_: pa.DataType) -> list[Operator]:
    """The operators among them that a form offers for any table: their values can be typed one by one, the
    answer is not the same for a whole column, no index is needed, and booleans need no list of values."""
    odd, comparable = (Takes.FILTER, Takes.TYPES, Takes.WORDS), kind_of(type_) is not Kind.BOOLEAN
    return [
        operator
        for operator in fitting(type_)
        if operator.takes not in odd
        and operator.id not in PRESENCE
        and (comparable or operator.arity is not Arity.MANY)
    ]


def fits(operator_id: str, type_: pa.DataType) -> bool:
    """Whether an operator fits a column of this type."""
    return OPERATORS[operator_id].fits(type_)


def _wordings(temporal: str, text: str) -> dict[Kind, str]:
    return dict.fromkeys(TEMPORAL, temporal) | {Kind.TEXT: text}


def _between(x: Operand[Any], values: Sequence[Any]) -> Any:
    return x.both(x.compare("gte", values[0]), x.compare("lte", values[1]))


def _has_all(x: Operand[Any], values: Sequence[Any]) -> Any:
    return reduce(x.both, (_has(x, value) for value in values), x.always(True))


def _has(x: Operand[Any], value: Any) -> Any:
    return x.any_item(lambda item: item.compare("eq", value))


def _has_type(x: Operand[Any], values: Sequence[Any]) -> Any:
    """Whether the column's type is among the types. Each value is whether a type matches the column, and
    whether it matches null."""
    hit = x.always(any(equal for equal, _null in values))
    return x.either(hit, x.is_null()) if any(null for _own, null in values) else hit


def _with_one_value(
    id_: str, label: str, kinds: frozenset[Kind], test: Test, spelling: str, **more: Any
) -> Operator:
    return Operator(id_, label, kinds, Arity.ONE, test, spelling, **more)


def _without_values(id_: str, label: str, kinds: frozenset[Kind], test: Test) -> Operator:
    """An operator without values, spelled like its label: `is null`."""
    return Operator(id_, label, kinds, Arity.NONE, test, spelling=label, sentence="{wording}")


_TEXT = frozenset({Kind.TEXT})
_LIST = frozenset({Kind.LIST})
_BOOLEAN = frozenset({Kind.BOOLEAN})

_TABLE = (
    _with_one_value("eq", "is", COMPARABLE, lambda x, v: x.compare("eq", v[0]), "= {0}", takes=Takes.COLUMNS),
    _with_one_value(
        "ne",
        "is not",
        COMPARABLE,
        lambda x, v: x.opposite(x.compare("eq", v[0])),
        "!= {0}",
        takes=Takes.COLUMNS,
    ),
    _with_one_value(
        "gt",
        "is more than",
        ORDERED_KINDS,
        lambda x, v: x.compare("gt", v[0]),
        "> {0}",
        takes=Takes.COLUMNS,
        wordings=_wordings("is after", "comes after"),
    ),
    _with_one_value(
        "gte",
        "is at least",
        ORDERED_KINDS,
        lambda x, v: x.compare("gte", v[0]),
        ">= {0}",
        takes=Takes.COLUMNS,
        wordings=_wordings("is at or after", "is or comes after"),
    ),
    _with_one_value(
        "lt",
        "is less than",
        ORDERED_KINDS,
        lambda x, v: x.compare("lt", v[0]),
        "< {0}",
        takes=Takes.COLUMNS,
        wordings=_wordings("is before", "comes before"),
    ),
    _with_one_value(
        "lte",
        "is at most",
        ORDERED_KINDS,
        lambda x, v: x.compare("lte", v[0]),
        "<= {0}",
        takes=Takes.COLUMNS,
        wordings=_wordings("is at or before", "is or comes before"),
    ),
    Operator(
        "between",
        "is between",
        ORDERED_KINDS,
        Arity.TWO,
        _between,
        "between {0} and {1}",
        "{wording} {0} and {1}",
        takes=Takes.COLUMNS,
    ),
    Operator(
        "not_between",
        "is not between",
        ORDERED_KINDS,
        Arity.TWO,
        lambda x, v: x.opposite(_between(x, v)),
        "not between {0} and {1}",
        "{wording} {0} and {1}",
        takes=Takes.COLUMNS,
    ),
    Operator("in", "is one of", COMPARABLE, Arity.MANY, lambda x, v: x.one_of(v), "in {all}", "is {all}"),
    Operator(
        "nin",
        "is none of",
        COMPARABLE,
        Arity.MANY,
        lambda x, v: x.opposite(x.one_of(v)),
        "not in {all}",
        "is not {all}",
    ),
    _with_one_value("contains", "contains", _TEXT, lambda x, v: x.contains(v[0]), "contains {0}"),
    _with_one_value(
        "not_contains",
        "does not contain",
        _TEXT,
        lambda x, v: x.opposite(x.contains(v[0])),
        "not contains {0}",
    ),
    _with_one_value("starts_with", "starts with", _TEXT, lambda x, v: x.starts_with(v[0]), "starts with {0}"),
    _with_one_value("ends_with", "ends with", _TEXT, lambda x, v: x.ends_with(v[0]), "ends with {0}"),
    _with_one_value("like", "is like", _TEXT, lambda x, v: x.like(v[0]), "like {0}", takes=Takes.PATTERN),
    _with_one_value("regex", "matches", _TEXT, lambda x, v: x.regex(v[0]), "~ {0}", takes=Takes.PATTERN),
    _with_one_value(
        "words", "has the words", _TEXT, lambda x, v: x.has_words(v[0]), "has words {0}", takes=Takes.WORDS
    ),
    Operator(
        "mod",
        "divided by",
        frozenset({Kind.INTEGER, Kind.FLOAT}),
        Arity.TWO,
        lambda x, v: x.leaves(*v),
        "mod {0} = {1}",
        "{wording} {0} leaves {1}",
        takes=Takes.DIVISION,
    ),
    _with_one_value(
        "has",
        "has the item",
        _LIST,
        lambda x, v: _has(x, v[0]),
        "has {0}",
        takes=Takes.ITEMS,
    ),
    Operator(
        "has_any",
        "has any of",
        _LIST,
        Arity.MANY,
        lambda x, v: x.any_item(lambda item: item.one_of(v)),
        "has any of {all}",
        "has {all}",
        takes=Takes.ITEMS,
    ),
    Operator(
        "has_all",
        "has all of",
        _LIST,
        Arity.MANY,
        _has_all,
        "has all of {all}",
        "has {each}",
        takes=Takes.ITEMS,
    ),
    _with_one_value(
        "size", "has the size", _LIST, lambda x, v: x.has_size(v[0]), "has size {0}", takes=Takes.COUNT
    ),
    _with_one_value(
        "elem_match",
        "has an item where",
        _LIST,
        lambda x, v: x.any_item(v[0]),
        "has item where ({0})",
        sentence="{wording} ({0})",
        takes=Takes.FILTER,
    ),
    _without_values("is_true", "is true", _BOOLEAN, lambda x, v: x.compare("eq", True)),
    _without_values("is_false", "is false", _BOOLEAN, lambda x, v: x.compare("eq", False)),
    _without_values("is_empty", "is empty text", _TEXT, lambda x, v: x.compare("eq", "")),
    _without_values(
        "not_empty",
        "has text",
        _TEXT,
        lambda x, v: x.both(x.opposite(x.compare("eq", "")), x.opposite(x.is_null())),
    ),
    _without_values("is_null", "is null", ALL_KINDS, lambda x, v: x.is_null()),
    _without_values("not_null", "is not null", ALL_KINDS, lambda x, v: x.opposite(x.is_null())),
    Operator(
        "type",
        "is of the type",
        ALL_KINDS,
        Arity.MANY,
        _has_type,
        "has type {all}",
        "{wording} {all}",
        takes=Takes.TYPES,
    ),
    _without_values("exists", "exists", ALL_KINDS, lambda x, v: x.opposite(x.is_null())),
    _without_values("missing", "is missing", ALL_KINDS, lambda x, v: x.is_null()),
)

OPERATORS: dict[str, Operator] = {operator.id: operator for operator in _TABLE}
PATTERNS = frozenset(operator.id for operator in _TABLE if operator.takes is Takes.PATTERN)
"""Operators whose value is a pattern rather than a text to search for."""
PRESENCE = frozenset({"exists", "missing"})
"""Operators that are synonyms for whether a value is null."""
WORDS = "words"
EQUALITIES = frozenset({"eq", "ne", "in", "nin", "has", "has_any", "has_all"})
"""Operators that test values for equality. The first four also apply to whole lists and structs."""
WHOLE = frozenset({"eq", "ne", "in", "nin"})
