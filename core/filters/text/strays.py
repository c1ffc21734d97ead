"""What stands where something else should: the errors of the text language, each with the way out."""

from __future__ import annotations

from typing import TypeVar

from lamella.core.errors import BadFilter, LamellaError, nearest
from lamella.core.filters.text.lexer import Part, Token
from lamella.core.filters.text.literals import quoted
from lamella.core.filters.text.places import pointing, unreadable
from lamella.core.filters.text.spellings import KEYWORDS, PHRASES

E = TypeVar("E", bound=LamellaError)
_COMPARISONS = frozenset({"=", "==", "!=", "<>", "<", "<=", ">", ">="})


def column(text: str, token: Token) -> BadFilter:
    """`token` stands where a condition should begin."""
    if token.part is Part.END:
        why = "A condition is missing here" if text.strip() else "It is empty"
        return unreadable(text, token.start, token.stop, why, "Write one, such as delay > 60")
    if token.part is Part.VALUE:
        fix = "The column comes first; one with a name like that stands in double quotes"
        return unreadable(text, token.start, token.stop, f"{token.text} is a value, not a column", fix)
    if token.word in KEYWORDS:
        fix = f'A column of this name stands in double quotes: "{token.text}"'
        return unreadable(text, token.start, token.stop, f"A condition is missing before '{token.text}'", fix)
    fix = "Every comparison begins with its column: delay > 60 and delay < 90"
    why = f"A column is expected here, not '{token.text}'"
    return unreadable(text, token.start, token.stop, why, fix if token.word in _COMPARISONS else "")


def operator(text: str, subject: Token, token: Token) -> BadFilter:
    """`token` stands behind the column `subject`, and begins no operator."""
    if token.part is Part.END or token.word in KEYWORDS or token.word in (")", ","):
        why = f"Nothing is said about column '{subject.value}'"
        fix = f"Compare it, or ask: {subject.text} is true, {subject.text} is null"
        return unreadable(text, subject.start, subject.stop, why, fix)
    begun = [phrase for phrase in PHRASES if phrase.split()[0] == token.word]
    if begun:
        why = f"'{token.text}' alone is no operator"
        equal = f". Ask for a value by {subject.text} = …" if token.word == "is" else ""
        return unreadable(text, token.start, token.stop, why, _operators(begun) + equal)
    fix = _meant(nearest(token.word, PHRASES)) or _operators(PHRASES)
    return unreadable(text, token.start, token.stop, f"'{token.text}' is no operator", fix)


def connective(text: str, token: Token) -> BadFilter:
    """`token` stands behind a whole condition."""
    if token.word == ")":
        return unreadable(text, token.start, token.stop, "No parenthesis is open that this one could close")
    if token.word in _COMPARISONS:
        fix = "Join two comparisons: delay > 60 and delay < 90; or write: delay between 60 and 90"
        return unreadable(text, token.start, token.stop, "A condition compares once", fix)
    fix = _meant(nearest(token.word, ["and", "or"])) if token.part is Part.WORD else ""
    why = f"'and' or 'or' is expected here, not {_said(token)}"
    return unreadable(text, token.start, token.stop, why, fix)


def value(text: str, token: Token) -> BadFilter:
    fix = "Text stands in single quotes, a column's name in double quotes where it is a keyword"
    return unreadable(text, token.start, token.stop, f"A value is expected here, not {_said(token)}", fix)


def expected(text: str, token: Token, part: str) -> BadFilter:
    return unreadable(text, token.start, token.stop, f"'{part}' is expected here, not {_said(token)}")


def no_parenthesis(text: str, token: Token) -> BadFilter:
    fix = f"Write ({token.text})" if token.part is Part.VALUE else ""
    return unreadable(
        text, token.start, token.stop, f"A parenthesis is expected here, not {_said(token)}", fix
    )


def unfinished_list(text: str, opener: Token, token: Token) -> BadFilter:
    if token.part is Part.END:
        return never_closed(text, opener)
    why = f"A comma or ) is expected here, not {_said(token)}"
    return unreadable(text, token.start, token.stop, why)


def unfinished_value(text: str, opener: Token, token: Token, close: str) -> BadFilter:
    if token.part is Part.END:
        why = f"The '{opener.text}' that opens here is never closed"
        return unreadable(text, opener.start, opener.stop, why)
    why = f"A comma or {close} is expected here, not {_said(token)}"
    return unreadable(text, token.start, token.stop, why)


def field(text: str, token: Token) -> BadFilter:
    fix = "A struct is written as {name: value}, a name with other signs in double quotes"
    why = f"The name of a field is expected here, not {_said(token)}"
    return unreadable(text, token.start, token.stop, why, fix)


def too_deep(text: str, token: Token) -> BadFilter:
    return unreadable(text, token.start, token.stop, "Values are nested too deep here")


def never_closed(text: str, opener: Token) -> BadFilter:
    return unreadable(text, opener.start, opener.stop, "The parenthesis that opens here is never closed")


def meant_as_text(error: E, name: str, text: str, token: Token) -> E:
    """`token` stands where a value does, so its `name` was taken for a column to compare with."""
    error.args = (f"{error} If it is text, write it in single quotes: {quoted(name)}.",)
    return pointing(error, text, token.start, token.stop)


def _said(token: Token) -> str:
    if token.part is Part.END:
        return "the end"
    return token.text if token.part is Part.VALUE else f"'{token.text}'"


def _meant(guesses: list[str]) -> str:
    return "Did you mean " + " or ".join(f"'{guess}'" for guess in guesses) + "?" if guesses else ""


def _operators(phrases: list[str]) -> str:
    return "There are: " + ", ".join(phrases)
