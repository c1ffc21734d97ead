"""Splits the text of a filter into words, names, values and signs with their positions, and defines how
operators are spelled."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import Enum
from typing import Any, TypeVar

from lamella.core.errors import BadFilter, LamellaError
from lamella.core.filters.expr import apply_flags
from lamella.core.filters.operators import OPERATORS
from lamella.core.filters.temporal import (
    moment_from_text,
    saved_moment,
    saved_span,
    saved_time,
    time_from_text,
)
from lamella.core.filters.values import MOST_DIGITS

E = TypeVar("E", bound=LamellaError)

WIDEST = 72
BEFORE = 30
"""The number of characters of a long line shown before the position."""


def pointing(error: E, text: str, start: int, stop: int) -> E:
    """Add the line with the position to the error's message, underlined with carets."""
    error.span = (start, stop)
    error.args = (f"{error}\n{mark_position(text, start, stop)}",)
    return error


def unreadable(text: str, start: int, stop: int, why: str, fix: str = "") -> BadFilter:
    what = f"The condition cannot be read at character {start + 1}"
    return pointing(BadFilter(what, why, fix), text, start, stop)


def mark_position(text: str, start: int, stop: int) -> str:
    """The line and its carets, indented; a long line is cut to the surroundings of the position."""
    begin = text.rfind("\n", 0, start) + 1
    end = text.find("\n", start)
    line, at = text[begin : len(text) if end < 0 else end], start - begin
    cut = max(0, at - BEFORE) if len(line) > WIDEST else 0
    excerpt = ("…" if cut else "") + line[cut : cut + WIDEST] + ("…" if len(line) > cut + WIDEST else "")
    at += bool(cut) - cut
    carets = "^" * max(1, min(stop - start, len(excerpt) - at))
    return f"  {excerpt.replace(chr(9), ' ')}\n  {' ' * at}{carets}"


CONSTANTS: dict[str, Any] = {
    "true": True,
    "false": False,
    "null": None,
    "nan": math.nan,
    "inf": math.inf,
    "infinity": math.inf,
}
"""Words that are values."""


def unquote(raw: str) -> str:
    return raw[1:-1].replace("''", "'")


def quote_text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def read_pattern(raw: str) -> tuple[str, str]:
    r"""Split `/\d\/\d/i` into the pattern and its flags."""
    body, _slash, flags = raw[1:].rpartition("/")
    return re.sub(r"\\(.)", lambda m: "/" if m[1] == "/" else m[0], body), flags.casefold()


def number(raw: str) -> int | float | Decimal:
    """Parse a number: a float if it represents the written number (integers exactly, fractions by their
    shortest form), otherwise a decimal."""
    if len(raw) > MOST_DIGITS:
        raise ValueError(f"a number of more than {MOST_DIGITS} digits cannot be compared")
    if raw.lstrip("+-").replace("_", "").isdigit():
        return int(raw)
    exact = Decimal(raw)
    if exact and abs(exact.adjusted()) > MOST_DIGITS:
        raise ValueError(f"a number of more than {MOST_DIGITS} digits cannot be compared")
    near = float(exact)
    if not math.isfinite(near):
        return exact
    return near if (int(near) if near.is_integer() else Decimal(repr(near))) == exact else exact


def moment(raw: str) -> dt.date | str:
    """Parse a date or timestamp; returns text if it is finer than Python's values."""
    when, nanoseconds = moment_from_text(" ".join(raw.split()))
    if nanoseconds:
        return raw
    return when if ":" in raw else when.date()


def clock(raw: str) -> dt.time | str:
    when, nanoseconds = time_from_text(raw)
    return raw if nanoseconds % 1000 else when


def parse_typed_literal(raw: str) -> Any:
    """Parse a typed literal, such as `decimal '1.10'` or `x'00ff'`."""
    kind, quote, text = raw.partition("'")
    return _TYPED_LITERALS[kind.strip().casefold()](unquote(quote + text))


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text.strip())
    except InvalidOperation:
        raise ValueError("it is not a number") from None


_TYPED_LITERALS: dict[str, Callable[[str], Any]] = {
    "decimal": _decimal,
    "date": dt.date.fromisoformat,
    "timestamp": saved_moment,
    "time": saved_time,
    "duration": saved_span,
    "x": bytes.fromhex,
}


class Part(Enum):
    """The kind of a token. WORD is a bare name or keyword, NAME a name that is at least partly quoted."""

    WORD = "word"
    NAME = "name"
    VALUE = "value"
    SIGN = "sign"
    END = "end"


@dataclass(frozen=True, slots=True)
class Token:
    """A token. `value` is the value of a VALUE, or the name that a WORD or NAME spells; `folds` is True for a
    pattern with the flag to ignore case."""

    part: Part
    text: str
    start: int
    value: Any = None
    folds: bool = False

    @property
    def stop(self) -> int:
        return self.start + len(self.text)

    @property
    def word(self) -> str:
        """The keyword or sign in lower case; empty for values and quoted names."""
        return self.text.casefold() if self.part in (Part.WORD, Part.SIGN) else ""


class TokenCursor:
    """A position among the tokens of a text, the last of which is END."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _word(self, ahead: int = 0) -> str:
        at = self._at + ahead
        return self._tokens[at].word if at < len(self._tokens) else ""

    def _take(self) -> Token:
        token = self._next
        self._at += token.part is not Part.END
        return token


_TEXT = r"'(?:[^']|'')*'"
_QUOTED_NAME = r'"(?:[^"]|"")*"'
_TIME = r"\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?"
_DAY = r"\d{4}-\d{1,2}-\d{1,2}"
_REGEX = r"|(?P<regex>/(?:[^/\\\n]|\\[^\n])*/[a-z]*)"
_SIGNS = r"<=|>=|<>|!=|==|[=<>~%(),:\[\]{}]"


def _compile(regex: str, plus_or_minus: str, signs: str) -> re.Pattern[str]:
    return re.compile(
        rf"""(?P<space>\s+)
    |(?P<typed>(?:decimal|date|timestamp|time|duration|x)\s*{_TEXT})
    |(?P<text>{_TEXT})
    |(?P<moment>{_DAY}(?:(?:T|[ ]+){_TIME}(?:[ ]?(?:Z\b|[+-]\d{{2}}:?\d{{2}}))?)?)
    |(?P<clock>{_TIME})
    |(?P<number>{plus_or_minus}(?:\d+(?:_\d+)*(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?)
    |(?P<endless>[+-]inf(?:inity)?\b)
    {regex}
    |(?P<name>(?:[^\W\d]\w*|{_QUOTED_NAME})(?:\.(?:\w+|{_QUOTED_NAME}))*)
    |(?P<sign>{signs})""",
        re.VERBOSE | re.IGNORECASE,
    )


_TOKENS = _compile(_REGEX, "[+-]?", _SIGNS)
_ARITHMETIC = rf"//|\*\*|\|\||[-+*/^]|{_SIGNS}"
_IN_EXPRESSIONS = _compile("", rf"(?:[+-](?!{_DAY}))?", _ARITHMETIC)
_PATTERNS = _compile(_REGEX, "[+-]?", _ARITHMETIC)
_BEFORE_PATTERNS = frozenset({"~", "matches"})
_NAME_PART = re.compile(rf"{_QUOTED_NAME}|[^.\"]+")
_DIGITS = frozenset({"moment", "clock", "number"})
_READERS: dict[str, Callable[[str], Any]] = {
    "typed": parse_typed_literal,
    "text": unquote,
    "moment": moment,
    "clock": clock,
    "number": number,
    "endless": float,
}
_UNCLOSED_MESSAGES = {
    "'": ("The text that begins here has no end", "Close it with a single quote; one inside it is doubled"),
    '"': ("The name that begins here has no end", "Close it with a double quote; one inside it is doubled"),
    "/": ("The pattern that begins here has no end", "Close it with a slash; one inside it is written \\/"),
}
_OTHER_SIGNS = {"&": "and", "|": "or", "!": "not", "∧": "and", "∨": "or", "≠": "!=", "≤": "<=", "≥": ">="}


def tokens(text: str) -> list[Token]:
    """Split a text into tokens, with an END. Raises `BadFilter`, with the position, for invalid
    characters."""
    sequence: list[Token] = []
    at = 0
    while at < len(text):
        match = _TOKENS.match(text, at)
        if match is None:
            raise _stray(text, at)
        if match.lastgroup != "space":
            sequence.append(_token(text, match, "_.:-"))
        at = match.end()
    return [*sequence, Token(Part.END, "", len(text.rstrip()))]


def expression_tokens(text: str) -> list[Token]:
    """The same, including the signs of arithmetic; a slash begins a pattern only after `~` and `matches`. A
    sign directly before a number belongs to it, even after a value."""
    sequence: list[Token] = []
    at = 0
    while at < len(text):
        is_pattern = bool(sequence) and sequence[-1].word in _BEFORE_PATTERNS
        match = (_PATTERNS if is_pattern else _IN_EXPRESSIONS).match(text, at)
        if match is None:
            raise _stray(text, at)
        if match.lastgroup != "space":
            sequence.append(_token(text, match, "_"))
        at = match.end()
    return [*sequence, Token(Part.END, "", len(text.rstrip()))]


def _token(text: str, match: re.Match[str], continuing: str) -> Token:
    """Make a token. Letters or `continuing` signs directly after a number make it invalid."""
    group, raw, start = match.lastgroup or "", match.group(), match.start()
    if group == "sign":
        return Token(Part.SIGN, raw, start)
    if group == "name":
        return Token(Part.NAME if '"' in raw else Part.WORD, raw, start, _unquote_name(raw))
    if group in _DIGITS:
        _refuse_letters(text, match, continuing)
    if group == "regex":
        return _pattern(text, match)
    try:
        return Token(Part.VALUE, raw, start, _READERS[group](raw))
    except ValueError as error:
        raise unreadable(text, start, match.end(), f"{_short(raw)}: {error}") from error


def _pattern(text: str, match: re.Match[str]) -> Token:
    try:
        pattern, folds = apply_flags(*read_pattern(match.group()))
    except BadFilter as error:
        raise pointing(error, text, *match.span()) from None
    return Token(Part.VALUE, match.group(), match.start(), pattern, folds)


def _unquote_name(raw: str) -> str:
    parts = _NAME_PART.findall(raw) if '"' in raw else [raw]
    return ".".join(p[1:-1].replace('""', '"') if p.startswith('"') else p for p in parts)


def _refuse_letters(text: str, match: re.Match[str], continuing: str) -> None:
    end = match.end()
    while end < len(text) and (text[end].isalnum() or text[end] in continuing):
        end += 1
    if end > match.end():
        raw = text[match.start() : end]
        why = f"{_short(raw)} is neither a number nor a date"
        fix = f"Write text in single quotes, '{raw}', and the name of a column in double quotes, \"{raw}\""
        raise unreadable(text, match.start(), end, why, fix)


def _stray(text: str, at: int) -> Exception:
    sign = text[at]
    if sign in _UNCLOSED_MESSAGES:
        why, fix = _UNCLOSED_MESSAGES[sign]
        return unreadable(text, at, at + 1, why, fix)
    meant = _OTHER_SIGNS.get(sign)
    fix = (
        f"Write '{meant}'"
        if meant
        else "Put names with characters other than letters, digits and _ in double quotes"
    )
    return unreadable(text, at, at + 1, f"{sign!r} has no meaning here", fix)


def _short(raw: str) -> str:
    return raw if len(raw) <= 40 else raw[:39] + "…"


ALSO = (
    ("eq", "== {0}"),
    ("ne", "<> {0}"),
    ("starts_with", "starts_with {0}"),
    ("ends_with", "ends_with {0}"),
    ("not_contains", "does not contain {0}"),
    ("regex", "matches {0}"),
    ("mod", "% {0} = {1}"),
    ("is_empty", "is empty"),
    ("not_empty", "is not empty"),
)
"""Further spellings that are read but never written."""

IN_ANY_CASE = ("in", "any", "case")
KEYWORDS = frozenset({"and", "or", "not", "all", "any"})
LIST = "{all}"
FILTER = "({0})"
"""The placeholder of a condition on items, which is in parentheses."""

_PART = re.compile(r"\(\{0\}\)|\{\w+\}|\w+|[^\w\s{}]+")


@dataclass(frozen=True)
class Spelling:
    """A spelling of an operator. `parts` are keywords and signs, and placeholders in braces: `{0}`, `{1}`,
    `{all}`, `({0})`."""

    operator: str
    parts: tuple[str, ...]

    @property
    def lead(self) -> tuple[str, ...]:
        """The parts before the first value, by which the spelling is recognised."""
        first = next((i for i, part in enumerate(self.parts) if is_place(part)), len(self.parts))
        return self.parts[:first]


def parts_of(spelling: str) -> tuple[str, ...]:
    return tuple(_PART.findall(spelling))


def is_place(part: str) -> bool:
    return "{" in part


def _all_spellings() -> list[Spelling]:
    """All spellings, the longest lead first, so that `is not null` comes before `is`."""
    spellings = [(operator.id, operator.spelling) for operator in OPERATORS.values()]
    all_spellings = [Spelling(id_, parts_of(spelling)) for id_, spelling in (*spellings, *ALSO)]
    return sorted(all_spellings, key=lambda spelling: -len(spelling.lead))


def _by_first(spellings: list[Spelling]) -> dict[str, list[Spelling]]:
    by_first: dict[str, list[Spelling]] = {}
    for spelling in spellings:
        by_first.setdefault(spelling.lead[0], []).append(spelling)
    return by_first


SPELLINGS: Mapping[str, list[Spelling]] = _by_first(_all_spellings())
"""Spellings by their first word or sign."""

PHRASES = list(dict.fromkeys(" ".join(parts_of(o.spelling.partition("{")[0])) for o in OPERATORS.values()))
"""The first words of operators, in the order of their table."""


def spelling_at(word: Callable[[int], str]) -> Spelling | None:
    """The longest spelling whose lead matches `word(0)`, `word(1)`, …"""
    for spelling in SPELLINGS.get(word(0), ()):
        if all(word(i) == part for i, part in enumerate(spelling.lead)):
            return spelling
    return None
