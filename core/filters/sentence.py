"""Describes a filter in words: `dep_delay is more than 60 and carrier is AA or UA`."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from typing import Any

from lamella.core.filters.binding import BoundPredicate
from lamella.core.filters.expr import And, Branch, Filter, Not, Predicate, Reference, Struct, fold
from lamella.core.filters.kinds import Kind, kind_of
from lamella.core.filters.operators import OPERATORS, Arity
from lamella.core.filters.temporal import span_ns, span_text

MOST_VALUES = 20
_BARE_WORD = re.compile(r"[^\W\d][\w./:-]*")
_RESERVED_WORDS = {"and", "or", "not", "null", "true", "false", "is", "nan", "inf", "infinity"}
_MIDNIGHT = dt.time()

Phrase = tuple[str, type[Branch] | None]
"""Words, and the group they come from, which determines whether they need parentheses."""


def sentence(filter: Filter) -> str:
    """Describe the filter; empty if it has no conditions and every row meets it."""
    words, _group = fold(filter, lambda predicate: (condition(predicate), None), _branch)
    return words


def condition(predicate: Predicate) -> str:
    """Describe one condition, with wording for the column's type if it is known."""
    operator = OPERATORS[predicate.operator]
    values = [_value(value) for value in predicate.values[: MOST_VALUES + 1]]
    more = len(predicate.values) - MOST_VALUES
    words = operator.sentence.format(
        *values if operator.arity is not Arity.MANY else (),
        wording=operator.wording(_kind(predicate)),
        all=word_list(values, more) if values else "one of no values",
        each=word_list(values, more, "and") if values else "all of no values",
    )
    return f"{_name(predicate.column)} {words}" + (" in any case" if predicate.ignore_case else "")


def word_list(words: Sequence[str], more: int = 0, last: str = "or") -> str:
    """Join words: `AA, DL or UA`. If `more` is above 1, that many values are left out."""
    if more > 1:
        return ", ".join(words[:MOST_VALUES]) + f" {last} {more:,} more"
    return ", ".join(words[:-1]) + f" {last} {words[-1]}" if len(words) > 1 else words[0]


def _branch(node: Branch, parts: list[Phrase]) -> Phrase:
    if isinstance(node, Not):
        return f"not ({parts[0][0]})", None
    kind = And if isinstance(node, And) else type(node)
    if not parts:
        return ("anything" if kind is And else "nothing"), None
    if len(parts) == 1:
        return parts[0]
    word = " and " if kind is And else " or "
    return word.join(f"({words})" if group not in (None, kind) else words for words, group in parts), kind


def _kind(predicate: Predicate) -> Kind | None:
    if isinstance(predicate, BoundPredicate):
        return kind_of(predicate.type)
    if predicate.values and isinstance(predicate.values[0], str):
        return Kind.TEXT
    return Kind.DATE if predicate.values and isinstance(predicate.values[0], dt.date | dt.time) else None


def _name(column: str) -> str:
    return column if _BARE_WORD.fullmatch(column) and column.lower() not in _RESERVED_WORDS else f"'{column}'"


def _nested_text(value: tuple[Any, ...]) -> str:
    if isinstance(value, Struct):
        return "{" + ", ".join(f"{_name(name)}: {_value(inner)}" for name, inner in value) + "}"
    return "[" + ", ".join(map(_value, value)) + "]"


def _value(value: Any) -> str:
    if isinstance(value, Filter):
        return sentence(value)
    if isinstance(value, Reference):
        return _name(value.name)
    if isinstance(value, tuple):
        return _nested_text(value)
    if isinstance(value, str):
        return value if _BARE_WORD.fullmatch(value) and value.lower() not in _RESERVED_WORDS else f"'{value}'"
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    return _scalar(value)


def _scalar(value: Any) -> str:
    if isinstance(value, dt.datetime):
        return str(value.date()) if value.timetz() == _MIDNIGHT else value.isoformat(sep=" ")
    if isinstance(value, dt.timedelta):
        return span_text(span_ns(value))
    return "0x" + value.hex() if isinstance(value, bytes) else str(value)
