"""Parses text into a filter tree. Open groups are kept in a list, so depth and length are not limited."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any, TypeVar

import pyarrow as pa

from lamella.core.errors import BadFilter, LamellaError, UnknownColumn, nearest
from lamella.core.filters.binding import bind
from lamella.core.filters.expr import DEEPEST, And, Filter, Not, Or, Predicate, Reference
from lamella.core.filters.operators import OPERATORS, Takes
from lamella.core.filters.predicate_values import BadValue
from lamella.core.filters.text.lexer import (
    CONSTANTS,
    FILTER,
    IN_ANY_CASE,
    KEYWORDS,
    LIST,
    PHRASES,
    Part,
    Spelling,
    Token,
    TokenCursor,
    is_place,
    pointing,
    quote_text,
    spelling_at,
    tokens,
    unreadable,
)


@dataclass
class Group:
    """An open group. `opener` is None for the whole text. `make` makes a filter of the parts between commas,
    of which there is only one unless `commas` are allowed; without `make` the group is a plain parenthesis.
    `start` is the first token of the condition on items that the group belongs to, if any."""

    opener: Token | None = None
    make: Callable[[tuple[Filter, ...]], Filter] | None = None
    commas: bool = False
    start: int | None = None
    nots: int = 0
    conditions: list[Filter] = field(default_factory=list)
    alternatives: list[list[Filter]] = field(default_factory=lambda: [[]])

    def add(self, condition: Filter) -> None:
        """Add an operand, negated once for each `not` before it."""
        for _ in range(self.nots):
            condition = Not(condition)
        self.nots = 0
        self.alternatives[-1].append(condition)

    def either(self) -> None:
        self.alternatives.append([])

    def comma(self) -> None:
        self.conditions.append(self._current())
        self.alternatives = [[]]

    def value(self) -> Filter:
        if self.make is None:
            return self._current()
        last = [self._current()] if self.alternatives[0] else []
        return self.make((*self.conditions, *last))

    def _current(self) -> Filter:
        conjunctions = [
            alternative[0] if len(alternative) == 1 else And(tuple(alternative))
            for alternative in self.alternatives
        ]
        return conjunctions[0] if len(conjunctions) == 1 else Or(tuple(conjunctions))


E = TypeVar("E", bound=LamellaError)
_COMPARISONS = frozenset({"=", "==", "!=", "<>", "<", "<=", ">", ">="})


def no_column(text: str, token: Token) -> BadFilter:
    """The error for a `token` where a condition should begin."""
    if token.part is Part.END:
        why = "A condition is missing here" if text.strip() else "It is empty"
        return unreadable(text, token.start, token.stop, why, "Write one, such as delay > 60")
    if token.part is Part.VALUE:
        fix = "The column comes first; put a column name like that in double quotes"
        return unreadable(text, token.start, token.stop, f"{token.text} is a value, not a column", fix)
    if token.word in KEYWORDS:
        fix = f'Put a column of this name in double quotes: "{token.text}"'
        return unreadable(text, token.start, token.stop, f"A condition is missing before '{token.text}'", fix)
    fix = "Every comparison begins with its column: delay > 60 and delay < 90"
    why = f"A column is expected here, not '{token.text}'"
    return unreadable(text, token.start, token.stop, why, fix if token.word in _COMPARISONS else "")


def no_operator(text: str, subject: Token, token: Token) -> BadFilter:
    """The error for a `token` after the column `subject` that begins no operator."""
    if token.part is Part.END or token.word in KEYWORDS or token.word in (")", ","):
        why = f"There is no condition on column '{subject.value}'"
        fix = f"Compare it, or ask: {subject.text} is true, {subject.text} is null"
        return unreadable(text, subject.start, subject.stop, why, fix)
    begun = [phrase for phrase in PHRASES if phrase.split()[0] == token.word]
    if begun:
        why = f"'{token.text}' alone is not an operator"
        equal = f". Ask for a value by {subject.text} = …" if token.word == "is" else ""
        return unreadable(text, token.start, token.stop, why, _operators(begun) + equal)
    fix = _did_you_mean(nearest(token.word, PHRASES)) or _operators(PHRASES)
    return unreadable(text, token.start, token.stop, f"'{token.text}' is not an operator", fix)


def no_connective(text: str, token: Token) -> BadFilter:
    """The error for a `token` after a complete condition."""
    if token.word == ")":
        return unreadable(text, token.start, token.stop, "This closing parenthesis has no opening one")
    if token.word in _COMPARISONS:
        fix = "Join two comparisons: delay > 60 and delay < 90; or write: delay between 60 and 90"
        return unreadable(text, token.start, token.stop, "A condition can compare only once", fix)
    fix = _did_you_mean(nearest(token.word, ["and", "or"])) if token.part is Part.WORD else ""
    why = f"'and' or 'or' is expected here, not {_token_text(token)}"
    return unreadable(text, token.start, token.stop, why, fix)


def no_value(text: str, token: Token) -> BadFilter:
    fix = "Put text in single quotes, and a column name that is a keyword in double quotes"
    return unreadable(
        text, token.start, token.stop, f"A value is expected here, not {_token_text(token)}", fix
    )


def unexpected_token_error(text: str, token: Token, part: str) -> BadFilter:
    return unreadable(text, token.start, token.stop, f"'{part}' is expected here, not {_token_text(token)}")


def no_parenthesis(text: str, token: Token) -> BadFilter:
    fix = f"Write ({token.text})" if token.part is Part.VALUE else ""
    return unreadable(
        text, token.start, token.stop, f"A parenthesis is expected here, not {_token_text(token)}", fix
    )


def unfinished_list(text: str, opener: Token, token: Token) -> BadFilter:
    if token.part is Part.END:
        return unclosed_error(text, opener)
    why = f"A comma or ) is expected here, not {_token_text(token)}"
    return unreadable(text, token.start, token.stop, why)


def unfinished_value(text: str, opener: Token, token: Token, close: str) -> BadFilter:
    if token.part is Part.END:
        why = f"The '{opener.text}' that opens here is never closed"
        return unreadable(text, opener.start, opener.stop, why)
    why = f"A comma or {close} is expected here, not {_token_text(token)}"
    return unreadable(text, token.start, token.stop, why)


def no_field(text: str, token: Token) -> BadFilter:
    fix = "Write a struct as {name: value}; put a name with other characters in double quotes"
    why = f"The name of a field is expected here, not {_token_text(token)}"
    return unreadable(text, token.start, token.stop, why, fix)


def too_deep(text: str, token: Token) -> BadFilter:
    return unreadable(text, token.start, token.stop, "Values are nested too deep here")


def unclosed_error(text: str, opener: Token) -> BadFilter:
    return unreadable(text, opener.start, opener.stop, "The parenthesis that opens here is never closed")


def meant_as_text(error: E, name: str, text: str, token: Token) -> E:
    """Explain that `token`, where a value is expected, was taken for the column `name`."""
    error.args = (f"{error} If it is text, write it in single quotes: {quote_text(name)}.",)
    return pointing(error, text, token.start, token.stop)


def _token_text(token: Token) -> str:
    if token.part is Part.END:
        return "the end"
    return token.text if token.part is Part.VALUE else f"'{token.text}'"


def _did_you_mean(guesses: list[str]) -> str:
    return "Did you mean " + " or ".join(f"'{guess}'" for guess in guesses) + "?" if guesses else ""


def _operators(phrases: list[str]) -> str:
    return "There are: " + ", ".join(phrases)


_BRACKETS = {"[": "]", "{": "}"}
_GROUPS: dict[str, type[And] | type[Or]] = {"all": And, "any": Or}


class Reader(TokenCursor):
    """Parses one text. `conditions` are the conditions on rows, from left to right, each with its tokens."""

    def __init__(self, text: str, text_tokens: list[Token] | None = None) -> None:
        """`text_tokens` are the tokens of the text, if known."""
        super().__init__(tokens(text) if text_tokens is None else text_tokens)
        self.text = text
        self.conditions: list[tuple[Predicate, list[Token]]] = []
        self._groups = [Group()]

    def read(self) -> Filter:
        """Parse the text. Raises `BadFilter`, which shows the position."""
        while True:
            self._operand()
            while self._word() == ")" and len(self._groups) > 1:
                self._close()
            if self._next.part is Part.END:
                return self._whole()
            self._connective()

    def read_condition(self, at: int) -> tuple[Filter, int]:
        """Parse the single condition or group that begins at a token; return it, and the index of the next
        token."""
        self._at, self._groups = at, [Group()]
        while True:
            self._operand()
            while self._word() == ")" and len(self._groups) > 1:
                self._close()
            if len(self._groups) == 1:
                return self._whole(), self._at
            if self._next.part is Part.END:
                self._whole()
            self._connective()

    # Groups ---------------------------------------------------------------------------------

    def _operand(self) -> None:
        """Read the openings of groups, up to the end of a condition or of an empty group."""
        complete = False
        while not complete:
            if self._word() == "not":
                self._take()
                self._groups[-1].nots += 1
            elif self._word() == "(":
                self._groups.append(Group(self._take()))
            elif self._word() in _GROUPS and self._word(1) == "(":
                kind = _GROUPS[self._take().word]
                self._groups.append(Group(self._take(), kind, commas=True))
                complete = self._word() == ")"
            else:
                complete = self._condition()

    def _close(self) -> None:
        self._take()
        group = self._groups.pop()
        value = group.value()
        if group.start is None:
            self._groups[-1].add(value)
        elif isinstance(value, Predicate):
            self._add(replace(value, ignore_case=self._in_any_case()), group.start)

    def _connective(self) -> None:
        token, group = self._take(), self._groups[-1]
        if token.word == "or":
            group.either()
        elif token.word == "," and group.commas:
            group.comma()
        elif token.word != "and":
            raise no_connective(self.text, token)

    def _whole(self) -> Filter:
        group = self._groups[-1]
        if group.opener:
            raise unclosed_error(self.text, group.opener)
        return group.value()

    # Conditions -----------------------------------------------------------------------------

    def _condition(self) -> bool:
        """Read a condition; return whether it is complete, since a condition on items continues in a
        group."""
        first = self._at
        column = self._column()
        spelling, negated = self._spelling(first)
        self._groups[-1].nots += negated
        if spelling.parts[-1] == FILTER:
            self._at += len(spelling.lead)
            make = partial(Predicate, column, spelling.operator)
            self._groups.append(Group(self._opening(), make, start=first))
            return False
        self._add(self._predicate(column, spelling), first)
        return True

    def _add(self, predicate: Predicate, first: int) -> None:
        if all(group.start is None for group in self._groups):
            self.conditions.append((predicate, self._tokens[first : self._at]))
        self._groups[-1].add(predicate)

    def _column(self) -> str:
        token = self._take()
        if token.part not in (Part.WORD, Part.NAME) or token.word in KEYWORDS:
            raise no_column(self.text, token)
        return str(token.value)

    def _spelling(self, subject: int) -> tuple[Spelling, bool]:
        """The operator that follows, and whether a separate `not` negates it."""
        spelling = spelling_at(self._word)
        if spelling is not None:
            return spelling, False
        if self._word() == "not":
            self._take()
            spelling = spelling_at(self._word)
        if spelling is None:
            raise no_operator(self.text, self._tokens[subject], self._next)
        return spelling, True

    def _predicate(self, column: str, spelling: Spelling) -> Predicate:
        values: list[Any] = []
        folds = False
        for part in spelling.parts:
            if part == LIST:
                values += self._list()
            elif is_place(part):
                folds |= self._next.folds
                values.append(self._value())
            elif self._word() == part:
                self._take()
            else:
                raise unexpected_token_error(self.text, self._next, part)
        return Predicate(column, spelling.operator, tuple(values), folds or self._in_any_case())

    def _in_any_case(self) -> bool:
        matches = all(self._word(i) == word for i, word in enumerate(IN_ANY_CASE))
        self._at += len(IN_ANY_CASE) if matches else 0
        return matches

    def _opening(self) -> Token:
        if self._word() != "(":
            raise no_parenthesis(self.text, self._next)
        return self._take()

    def _list(self) -> list[Any]:
        opener = self._opening()
        items: list[Any] = []
        while self._word() != ")":
            items.append(self._value())
            if self._word() == ",":
                self._take()
            elif self._word() != ")":
                raise unfinished_list(self.text, opener, self._next)
        self._take()
        return items

    def _read_nested(self, opener: Token, depth: int = 0) -> Any:
        """Read `[1, 2]` or `{h: 80, w: null}`, whose values may be nested again."""
        if depth > DEEPEST:
            raise too_deep(self.text, opener)
        values: list[Any] = []
        fields: dict[str, Any] = {}
        close = _BRACKETS[opener.word]
        while self._word() != close:
            if opener.word == "{":
                name = self._take()
                if name.part not in (Part.WORD, Part.NAME):
                    raise no_field(self.text, name)
                if self._word() != ":":
                    raise unexpected_token_error(self.text, self._next, ":")
                self._take()
                fields[str(name.value)] = self._inside(depth)
            else:
                values.append(self._inside(depth))
            if self._word() == ",":
                self._take()
            elif self._word() != close:
                raise unfinished_value(self.text, opener, self._next, close)
        self._take()
        return fields if opener.word == "{" else values

    def _inside(self, depth: int) -> Any:
        if self._word() in _BRACKETS:
            return self._read_nested(self._take(), depth + 1)
        token = self._next
        value = self._value()
        if isinstance(value, Reference):
            raise no_value(self.text, token)
        return value

    def _value(self) -> Any:
        token = self._take()
        if token.part is Part.VALUE:
            return token.value
        if token.word in _BRACKETS:
            return self._read_nested(token)
        if token.word in CONSTANTS:
            return CONSTANTS[token.word]
        if token.part is Part.NAME or (token.part is Part.WORD and token.word not in KEYWORDS):
            return Reference(str(token.value))
        raise no_value(self.text, token)


CACHE_SIZE = 256
LONGEST_KEPT = 1_000
"""The maximum length in characters of a text whose parse is cached."""


def parse(text: str, schema: pa.Schema | None = None, name: str = "the data") -> Filter:
    """Parse `text` as a filter. Raises `BadFilter`, which shows the position.

    If the `schema` of the dataset `name` is given, the filter is also checked like in `core.filters.bind`;
    its errors, including `UnknownColumn`, show the position too.
    """
    tree, reader = _cached_read(text) if len(text) <= LONGEST_KEPT else _read(text)
    if schema is not None:
        refuse_unfit(tree, reader, schema, name)
    return tree


def _read(text: str) -> tuple[Filter, Reader]:
    reader = Reader(text)
    return reader.read(), reader


_cached_read = lru_cache(CACHE_SIZE)(_read)


def refuse_unfit(tree: Filter, reader: Reader, schema: pa.Schema, name: str) -> None:
    """Raise the error of `bind`, with the position of the first condition that does not fit the schema."""
    try:
        bind(tree, schema, name)
    except LamellaError:
        for predicate, spelled in reader.conditions:
            _refuse_condition(predicate, spelled, reader.text, schema, name)
        raise


def _refuse_condition(
    predicate: Predicate, spelled: list[Token], text: str, schema: pa.Schema, name: str
) -> None:
    try:
        bind(predicate, schema, name)
    except UnknownColumn as error:
        token = _naming(error.name, spelled)
        if token is not spelled[0]:
            raise meant_as_text(error, error.name, text, token) from None
        raise pointing(error, text, token.start, token.stop) from None
    except BadFilter as error:
        reference = next((value.name for value in predicate.values if isinstance(value, Reference)), None)
        if reference is not None and OPERATORS[predicate.operator].takes is not Takes.COLUMNS:
            raise meant_as_text(error, reference, text, _naming(reference, spelled)) from None
        first, last = _refused_tokens(error, spelled)
        raise pointing(error, text, first.start, last.stop) from None


def _refused_tokens(error: BadFilter, spelled: list[Token]) -> tuple[Token, Token]:
    """The tokens of the value that does not fit, or of the whole condition."""
    for token in spelled:
        if isinstance(error, BadValue) and token.part is Part.VALUE and token.value is error.value:
            return token, token
    return spelled[0], spelled[-1]


def _naming(name: str, spelled: list[Token]) -> Token:
    """The last token with this name, since a value follows its column."""
    tokens = (t for t in reversed(spelled) if t.part in (Part.WORD, Part.NAME) and t.value == name)
    return next(tokens, spelled[0])
