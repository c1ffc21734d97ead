"""The text of a filter in words, names, values and signs, each with its place."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from lamella.core.errors import BadFilter
from lamella.core.filters.flags import flagged
from lamella.core.filters.text import literals
from lamella.core.filters.text.places import pointing, unreadable


class Part(Enum):
    """WORD is a bare name or a keyword, NAME one that was quoted in part at least."""

    WORD = "word"
    NAME = "name"
    VALUE = "value"
    SIGN = "sign"
    END = "end"


@dataclass(frozen=True, slots=True)
class Token:
    """`value` is what a VALUE stands for, and the name that a WORD or NAME spells; `folds` is True for a
    pattern that is flagged to ignore case."""

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
        """The keyword or sign that it may be, in lower case; empty for values and quoted names."""
        return self.text.casefold() if self.part in (Part.WORD, Part.SIGN) else ""


_TEXT = r"'(?:[^']|'')*'"
_QUOTED = r'"(?:[^"]|"")*"'
_TIME = r"\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?"
_TOKENS = re.compile(
    rf"""(?P<space>\s+)
    |(?P<typed>(?:decimal|date|timestamp|time|duration|x)\s*{_TEXT})
    |(?P<text>{_TEXT})
    |(?P<moment>\d{{4}}-\d{{1,2}}-\d{{1,2}}(?:(?:T|[ ]+){_TIME}(?:[ ]?(?:Z\b|[+-]\d{{2}}:?\d{{2}}))?)?)
    |(?P<clock>{_TIME})
    |(?P<number>[+-]?(?:\d+(?:_\d+)*(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?)
    |(?P<endless>[+-]inf(?:inity)?\b)
    |(?P<regex>/(?:[^/\\\n]|\\[^\n])*/[a-z]*)
    |(?P<name>(?:[^\W\d]\w*|{_QUOTED})(?:\.(?:\w+|{_QUOTED}))*)
    |(?P<sign><=|>=|<>|!=|==|[=<>~%(),:\[\]{{}}])""",
    re.VERBOSE | re.IGNORECASE,
)
_NAME_PART = re.compile(rf"{_QUOTED}|[^.\"]+")
_DIGITS = frozenset({"moment", "clock", "number"})
_READERS: dict[str, Callable[[str], Any]] = {
    "typed": literals.typed,
    "text": literals.unquoted,
    "moment": literals.moment,
    "clock": literals.clock,
    "number": literals.number,
    "endless": float,
}
_NEVER_CLOSED = {
    "'": ("The text that begins here has no end", "Close it with a single quote; one inside it is doubled"),
    '"': ("The name that begins here has no end", "Close it with a double quote; one inside it is doubled"),
    "/": ("The pattern that begins here has no end", "Close it with a slash; one inside it is written \\/"),
}
_OTHER_SIGNS = {"&": "and", "|": "or", "!": "not", "∧": "and", "∨": "or", "≠": "!=", "≤": "<=", "≥": ">="}


def tokens(text: str) -> list[Token]:
    """Ends with an END. Raises `BadFilter` with the place of what is no part of the language."""
    found: list[Token] = []
    at = 0
    while at < len(text):
        match = _TOKENS.match(text, at)
        if match is None:
            raise _stray(text, at)
        if match.lastgroup != "space":
            found.append(_token(text, match))
        at = match.end()
    return [*found, Token(Part.END, "", len(text.rstrip()))]


def _token(text: str, match: re.Match[str]) -> Token:
    group, raw, start = match.lastgroup or "", match.group(), match.start()
    if group == "sign":
        return Token(Part.SIGN, raw, start)
    if group == "name":
        return Token(Part.NAME if '"' in raw else Part.WORD, raw, start, _spelled(raw))
    if group in _DIGITS:
        _refuse_letters(text, match)
    if group == "regex":
        return _pattern(text, match)
    try:
        return Token(Part.VALUE, raw, start, _READERS[group](raw))
    except ValueError as error:
        raise unreadable(text, start, match.end(), f"{_short(raw)}: {error}") from error


def _pattern(text: str, match: re.Match[str]) -> Token:
    try:
        pattern, folds = flagged(*literals.pattern(match.group()))
    except BadFilter as error:
        raise pointing(error, text, *match.span()) from None
    return Token(Part.VALUE, match.group(), match.start(), pattern, folds)


def _spelled(raw: str) -> str:
    parts = _NAME_PART.findall(raw) if '"' in raw else [raw]
    return ".".join(p[1:-1].replace('""', '"') if p.startswith('"') else p for p in parts)


def _refuse_letters(text: str, match: re.Match[str]) -> None:
    end = match.end()
    while end < len(text) and (text[end].isalnum() or text[end] in "_.:-"):
        end += 1
    if end > match.end():
        raw = text[match.start() : end]
        why = f"{_short(raw)} is neither a number nor a date"
        fix = f"Write text in single quotes, '{raw}', and the name of a column in double quotes, \"{raw}\""
        raise unreadable(text, match.start(), end, why, fix)


def _stray(text: str, at: int) -> Exception:
    sign = text[at]
    if sign in _NEVER_CLOSED:
        why, fix = _NEVER_CLOSED[sign]
        return unreadable(text, at, at + 1, why, fix)
    meant = _OTHER_SIGNS.get(sign)
    fix = (
        f"Write '{meant}'"
        if meant
        else "Names with other signs than letters, digits and _ stand in double quotes"
    )
    return unreadable(text, at, at + 1, f"{sign!r} has no meaning here", fix)


def _short(raw: str) -> str:
    return raw if len(raw) <= 40 else raw[:39] + "…"
