"""Writes a filter tree as text that parses as the same tree."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from lamella.core.errors import BadFilter
from lamella.core.filters.binding import check_count, known_operator
from lamella.core.filters.expr import And, Branch, Filter, Not, Predicate, Reference, Struct
from lamella.core.filters.temporal import moment_text, span_ns, span_text
from lamella.core.filters.text.lexer import (
    CONSTANTS,
    FILTER,
    IN_ANY_CASE,
    KEYWORDS,
    LIST,
    is_place,
    parts_of,
    quote_text,
    read_pattern,
)
from lamella.core.filters.values import MOST_DIGITS, natural

_BARE = re.compile(r"[^\W\d]\w*(?:\.\w+)*")
_BARE_MOMENT = re.compile(r"[\d: .-]+(?:[+-]\d{2}:\d{2})?")
_RESERVED_WORDS = KEYWORDS | CONSTANTS.keys() | {"when"}
"""`when` is reserved because conditions may be part of expressions."""


@dataclass(frozen=True)
class _Inside:
    """A filter that is in parentheses already, so that a group needs none of its own."""

    filter: Filter


def to_text(filter: Filter) -> str:
    """Write the filter. Raises `BadFilter` for a value or operator that the language cannot express."""
    pieces: list[str] = []
    waiting: list[Filter | _Inside | str] = [_Inside(filter)]
    while waiting:
        piece = waiting.pop()
        if isinstance(piece, str):
            pieces.append(piece)
        else:
            waiting.extend(reversed(_spread(piece)))
    return "".join(pieces)


def _spread(piece: Filter | _Inside) -> list[Filter | _Inside | str]:
    """A node as words and smaller nodes, in order."""
    node = piece.filter if isinstance(piece, _Inside) else piece
    if isinstance(node, Predicate):
        return _condition(node)
    if not isinstance(node, Branch):
        raise TypeError(f"{node!r} is not a filter; build one with col()")
    if isinstance(node, Not):
        return ["not ", node.child]
    if len(node.children) < 2:
        return ["all(" if isinstance(node, And) else "any(", *map(_Inside, node.children), ")"]
    parts = _parts(node)
    return parts if isinstance(piece, _Inside) else ["(", *parts, ")"]


def _parts(node: Branch) -> list[Filter | _Inside | str]:
    word = " and " if isinstance(node, And) else " or "
    parts: list[Filter | _Inside | str] = [node.children[0]]
    for child in node.children[1:]:
        parts += [word, child]
    return parts


def _condition(predicate: Predicate) -> list[Filter | _Inside | str]:
    operator = known_operator(predicate)
    values = list(check_count(predicate, operator))
    parts: list[Filter | _Inside | str] = [name(predicate.column)]
    for part in parts_of(operator.spelling):
        parts.append(" ")
        if part == LIST:
            parts.append(f"({', '.join(map(_value, values))})")
        elif part == FILTER:
            parts += ["(", _Inside(values[0]), ")"]
        elif is_place(part):
            parts.append(_pattern_or_value(operator.id, values[int(part[1:-1])]))
        else:
            parts.append(part)
    return [*parts, " ".join(["", *IN_ANY_CASE])] if predicate.ignore_case else parts


def name(column: str) -> str:
    """A column's name, in double quotes if it needs them."""
    if _BARE.fullmatch(column) and column.casefold() not in _RESERVED_WORDS:
        return column
    return '"' + column.replace('"', '""') + '"'


def _pattern_or_value(operator: str, value: Any) -> str:
    return pattern_text(value) if operator == "regex" and isinstance(value, str) else _value(value)


def _value(value: Any) -> str:
    if isinstance(value, Struct):
        return "{" + ", ".join(f"{field(key)}: {_value(inner)}" for key, inner in value) + "}"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_value, value))}]"
    return name(value.name) if isinstance(value, Reference) else literal(value)


def field(key: str) -> str:
    """A field's name, in double quotes if it needs them."""
    return key if _BARE.fullmatch(key) else '"' + key.replace('"', '""') + '"'


def literal(value: Any) -> str:
    """Raises `BadFilter` for a value that the language cannot express."""
    value = natural(value)
    for kind, write in _WRITERS:
        if isinstance(value, kind):
            return write(value)
    raise BadFilter(f"{value!r} cannot be written in a condition as text")


def pattern_text(regex: str) -> str:
    """A pattern as `/…/` if that reads back as the same pattern, otherwise as quoted text."""
    raw = "/" + regex.replace("/", "\\/") + "/"
    whole = re.fullmatch(r"/(?:[^/\\\n]|\\[^\n])+/", raw)
    return raw if whole and read_pattern(raw)[0] == regex else quote_text(regex)


def _whole(value: int) -> str:
    if abs(value) >= 10**MOST_DIGITS:
        raise BadFilter(f"A number of more than {MOST_DIGITS} digits cannot be compared")
    return str(value)


def _float(value: float) -> str:
    short = repr(value)
    return f"{int(value)}.0" if value.is_integer() and Decimal(short) != int(value) else short


def _timestamp(value: dt.datetime) -> str:
    if getattr(value, "nanosecond", 0):
        return quote_text(value.isoformat(sep=" "))
    plain = moment_text(value).replace("T", " ")
    return plain if _BARE_MOMENT.fullmatch(plain) and len(plain) <= 32 else f"timestamp '{plain}'"


_WRITERS: tuple[tuple[type | tuple[type, ...], Callable[[Any], str]], ...] = (
    (type(None), lambda value: "null"),
    (bool, lambda value: "true" if value else "false"),
    (int, _whole),
    (float, _float),
    (str, quote_text),
    (Decimal, lambda value: f"decimal '{value}'"),
    ((bytes, bytearray, memoryview), lambda value: f"x'{bytes(value).hex()}'"),
    (dt.datetime, _timestamp),
    (dt.date, dt.date.isoformat),
    (dt.timedelta, lambda value: f"duration '{span_text(span_ns(value))}'"),
    (dt.time, lambda value: f"time '{value.isoformat()}'" if value.tzinfo else value.isoformat()),
)
