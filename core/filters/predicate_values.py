"""Reads the values of a predicate as its operator requires."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.arrow.arrays import from_values
from lamella.core.arrow.nested_values import Place, names_within, place_of
from lamella.core.errors import BadFilter, UnknownColumn, short_text
from lamella.core.filters.expr import Filter, Predicate, Reference, item_types
from lamella.core.filters.kinds import NESTED_KINDS, Kind, kind_of, refusal, type_test
from lamella.core.filters.operators import EQUALITIES, OPERATORS, Takes
from lamella.core.filters.values import Value, are_exact, convert, exact_number_text, value_text

ESCAPE = "\\"


def as_regex(pattern: str) -> str:
    """A regular expression for a LIKE pattern on the whole text; raises ValueError if it ends with an
    escape."""
    parts, place = [], 0
    while place < len(pattern):
        char = pattern[place]
        if char == ESCAPE:
            place += 1
            if place == len(pattern):
                raise ValueError("the pattern ends with a backslash that escapes nothing")
            parts.append(literal(pattern[place]))
        else:
            parts.append({"%": ".*", "_": "."}.get(char) or literal(char))
        place += 1
    return r"(?s)\A" + "".join(parts) + r"\z"


def literal(text: str) -> str:
    """The regular expression that matches exactly this text."""
    return re.escape(text).replace("\0", r"\x00")


Types = Mapping[str, pa.DataType]
Bind = Callable[[Filter, Types, str], Filter]


class BadValue(BadFilter):
    """A value of a predicate that does not fit its column."""

    def __init__(self, value: Any, what: str, why: str = "", fix: str = "") -> None:
        super().__init__(what, why, fix)
        self.value = value


@dataclass(frozen=True)
class BoundReference:
    """Another column of the row, or a field inside one."""

    place: Place


@dataclass(frozen=True)
class TypedPredicate:
    """A predicate on a column of type `type`, among the columns `types` of the dataset `name`. `bind` binds
    conditions on items."""

    predicate: Predicate
    type: pa.DataType
    types: Types
    name: str
    bind: Bind

    def read(self, values: Sequence[Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Read the values: return them as shown, and as compared (see `Value`). Raises `BadFilter`, and
        `UnknownColumn` for a column to compare with."""
        takes = OPERATORS[self.predicate.operator].takes
        if takes in _OF_THE_COLUMN and are_exact(values, self.type):
            raw_values = tuple(values)
            return raw_values, raw_values
        parsed = _READERS[takes](self, values)
        return tuple(value.shown_value for value in parsed), tuple(value.exact for value in parsed)

    def refusal(self, value: Any, why: str) -> BadFilter:
        what = f"Column '{self.predicate.column}' ({self.type}) cannot be compared with {value_text(value)}"
        return BadValue(value, what, why)


def place_in(types: Types, column: str, name: str) -> Place:
    """The place of a column, or of a field inside one, in the dataset `name`; raises `UnknownColumn`."""
    if not isinstance(column, str):
        raise BadFilter(f"{column!r} is not a name of a column", fix="Give it as text")
    place = place_of(column, types, items=True)
    if place is None:
        _refuse_inside_items(types, column)
        raise UnknownColumn(column, name, names_within(types))
    return place


def _refuse_inside_items(types: Types, column: str) -> None:
    head, _, tail = column.partition(".")
    kind = types.get(head)
    if (
        kind is not None
        and tail
        and not tail[0].isdigit()
        and kind_of(kind) is Kind.LIST
        and pa.types.is_struct(kind.value_type)
    ):
        raise BadFilter(
            f"'{column}' is not a column: '{head}' is a list of items with fields",
            fix=f"Ask whether there is such an item: {head} has item where ({tail} > 4); or of one of them, "
            f"numbered from 0: {head}.0.{tail}",
        )


def _values(typed: TypedPredicate, values: Sequence[Any]) -> list[Value]:
    return [_value(typed, value, typed.type) for value in values]


def _value(typed: TypedPredicate, value: Any, type_: pa.DataType) -> Value:
    if isinstance(value, Reference | Filter):
        raise _misplacement_error(typed, value)
    if kind_of(type_) is Kind.TEXT and typed.predicate.operator in EQUALITIES:
        text = exact_number_text(value)
        if text is not None:
            return Value(value, text)
    try:
        return convert(value, type_)
    except (ValueError, OverflowError) as error:
        raise typed.refusal(value, str(error)) from error


def _misplacement_error(typed: TypedPredicate, value: Reference | Filter) -> BadFilter:
    operator = OPERATORS[typed.predicate.operator]
    what = f"column '{value.name}'" if isinstance(value, Reference) else "a condition"
    names = ", ".join(candidate.id for candidate in OPERATORS.values() if candidate.takes is Takes.COLUMNS)
    return BadFilter(
        f"'{operator.id}' on column '{typed.predicate.column}' cannot be given {what}",
        f"It takes {operator.takes.value}",
        f"Columns are taken by: {names}" if isinstance(value, Reference) else "Give a value",
    )


def _values_or_columns(typed: TypedPredicate, values: Sequence[Any]) -> list[Value]:
    return [
        _reference(typed, value) if isinstance(value, Reference) else _value(typed, value, typed.type)
        for value in values
    ]


def _reference(typed: TypedPredicate, reference: Reference) -> Value:
    target = place_in(typed.types, reference.name, typed.name)
    why = refusal(typed.type, target.type)
    if why is not None:
        raise BadFilter(
            f"Column '{typed.predicate.column}' ({typed.type}) cannot be compared with column "
            f"'{reference.name}' ({target.type})",
            why,
            "Cast one of them to the other's type",
        )
    return Value(reference, BoundReference(target))


def _pattern(typed: TypedPredicate, values: Sequence[Any]) -> list[Value]:
    parsed = _values(typed, values)
    check_pattern(typed.predicate)
    return parsed


def _words(typed: TypedPredicate, values: Sequence[Any]) -> list[Value]:
    parsed = _values(typed, values)
    if not any(character.isalnum() for character in str(parsed[0].exact)):
        raise typed.refusal(values[0], "it contains no word")
    return parsed


def check_pattern(predicate: Predicate) -> None:
    """Raises `BadFilter`, with the position, if the pattern of a `like` or `regex` is invalid."""
    pattern = predicate.values[0]
    try:
        regex = as_regex(pattern) if predicate.operator == "like" else pattern
        pc.match_substring_regex(from_values([""], pa.string()), regex)
    except ValueError as error:
        raise BadValue(
            pattern,
            f"Column '{predicate.column}': the pattern '{pattern}' cannot be read",
            regex_problem(str(error), pattern),
            "Put a backslash before a special character to match it literally",
        ) from error


def regex_problem(message: str, pattern: str = "") -> str:
    """What is wrong with a regular expression, in words instead of RE2's; with the position if it is known in
    the pattern."""
    reason = message.removeprefix("Invalid regular expression: ")
    kind, _, part = reason.partition(": ")
    words = _REGEX_PROBLEMS.get(kind.casefold())
    return (reason if words is None else words.format(part)) + _at(pattern, kind, part)


_REGEX_PROBLEMS = {
    "missing )": "unclosed bracket (",
    "unexpected )": "unmatched bracket )",
    "missing ]": "unclosed bracket [",
    "no argument for repetition operator": "{} has nothing before it to repeat",
    "bad repetition operator": "{} repeats a repetition",
    "invalid repetition size": "{} is not a valid repetition count, which is at most 1,000",
    "trailing \\": "it ends with a backslash, which needs a character after it",
    "invalid escape sequence": "{} has no meaning",
    "invalid character class range": "{} is not a valid range or class of characters",
    "invalid perl operator": "groups that begin with {} are not supported",
    "invalid named capture group": "the name of the group {} is not valid",
}
"""RE2's messages in words that need no knowledge of its parser."""
_OF_BRACKETS = ("missing )", "unexpected )", "missing ]")


def _at(pattern: str, kind: str, part: str) -> str:
    """The position in the pattern of the part that RE2 quotes."""
    at = pattern.find(part) if part else -1
    if part == pattern and kind.casefold() in ("missing )", "unexpected )"):  # whatever the place is
        at = _open_group(pattern) if kind.casefold() == "missing )" else -1
    comma = "" if kind.casefold() in _OF_BRACKETS else ","
    return f"{comma} at character {at + 1}" if at >= 0 else ""


def _open_group(pattern: str) -> int:
    """The start of the last unclosed group; for it RE2 quotes the whole pattern."""
    bare = re.sub(
        r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", lambda match: "." * len(match[0]), pattern, flags=re.DOTALL
    )
    brackets: list[int] = []
    for at, sign in enumerate(bare):
        if sign == "(":
            brackets.append(at)
        elif sign == ")" and brackets:
            brackets.pop()
    return brackets[-1] if brackets else -1


def _items(typed: TypedPredicate, values: Sequence[Any]) -> list[Value]:
    item = typed.type.value_type
    if pa.types.is_null(item):
        return [Value(value, None) for value in values]
    if kind_of(item) in NESTED_KINDS and values:
        raise BadFilter(
            f"The items of column '{typed.predicate.column}' cannot be compared with {values[0]!r}",
            f"Their type is {item}",
            "Compare their fields or items with elem_match",
        )
    return [_value(typed, value, item) for value in values]


def _count(typed: TypedPredicate, values: Sequence[Any]) -> list[Value]:
    size = _whole_number(typed, values[0])
    if size < 0:
        raise typed.refusal(size, "No list has fewer than 0 items")
    return [Value(size, size)]


def _division(typed: TypedPredicate, values: Sequence[Any]) -> list[Value]:
    divisor, remainder = (_whole_number(typed, value) for value in values)
    if divisor == 0:
        raise BadFilter(
            f"Column '{typed.predicate.column}' cannot be divided by 0", fix="Give another divisor"
        )
    if pa.types.is_floating(typed.type) and abs(divisor) > 2**53:
        raise typed.refusal(divisor, "Floats can be divided only by whole numbers up to 2**53")
    return [Value(divisor, abs(divisor)), Value(remainder, remainder)]


def _whole_number(typed: TypedPredicate, value: Any) -> int:
    exact = _value(typed, value, pa.int64()).exact
    if not isinstance(exact, int):
        raise typed.refusal(value, f"'{typed.predicate.operator}' takes whole numbers")
    return exact


def _types(typed: TypedPredicate, values: Sequence[Any]) -> list[Value]:
    column = typed.predicate.column
    if not values:
        raise BadFilter(f"Column '{column}' is asked for no type", fix="Name one, such as 'number' or 'text'")
    try:
        tests = [
            type_test(word if isinstance(word, str) else short_text(word), typed.type) for word in values
        ]
    except ValueError as error:
        raise BadFilter(f"Column '{column}' cannot be asked for its type", str(error)) from error
    return [Value(word, answer) for word, answer in zip(values, tests, strict=True)]


def _filter(typed: TypedPredicate, values: Sequence[Any]) -> list[Value]:
    (where,) = values
    if not isinstance(where, Filter):
        raise typed.refusal(where, "'elem_match' takes a condition on the items, such as col('item') > 5")
    bound = typed.bind(where, item_types(typed.type.value_type), f"an item of '{typed.predicate.column}'")
    return [Value(where, bound)]


_OF_THE_COLUMN = (Takes.VALUES, Takes.COLUMNS)
_READERS: dict[Takes, Callable[[TypedPredicate, Sequence[Any]], list[Value]]] = {
    Takes.VALUES: _values,
    Takes.COLUMNS: _values_or_columns,
    Takes.PATTERN: _pattern,
    Takes.WORDS: _words,
    Takes.ITEMS: _items,
    Takes.COUNT: _count,
    Takes.DIVISION: _division,
    Takes.TYPES: _types,
    Takes.FILTER: _filter,
}
