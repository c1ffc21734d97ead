"""Text to a filter tree. Groups wait on a list of their own, so depth and length are no limit."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from lamella.core.filters.expr import DEEPEST, And, Filter, Or, Predicate, Reference
from lamella.core.filters.text import strays
from lamella.core.filters.text.groups import Group
from lamella.core.filters.text.lexer import Part, Token, tokens
from lamella.core.filters.text.literals import CONSTANTS
from lamella.core.filters.text.spellings import (
    FILTER,
    IN_ANY_CASE,
    KEYWORDS,
    LIST,
    Spelling,
    is_place,
    spelling_at,
)

_NESTED = {"[": "]", "{": "}"}
_GROUPS: dict[str, type[And] | type[Or]] = {"all": And, "any": Or}


class Reader:
    """Reads one text. `conditions` are those on rows, from left to right, with the words of each."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.conditions: list[tuple[Predicate, list[Token]]] = []
        self._tokens = tokens(text)
        self._at = 0
        self._groups = [Group()]

    def read(self) -> Filter:
        """Raises `BadFilter` that shows the place."""
        while True:
            self._operand()
            while self._word() == ")" and len(self._groups) > 1:
                self._close()
            if self._next.part is Part.END:
                return self._whole()
            self._connective()

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

    # Groups ---------------------------------------------------------------------------------

    def _operand(self) -> None:
        """Through the openings of groups to the end of a condition, or of an empty group."""
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
        closed = group.value()
        if group.start is None:
            self._groups[-1].add(closed)
        elif isinstance(closed, Predicate):
            self._add(replace(closed, ignore_case=self._in_any_case()), group.start)

    def _connective(self) -> None:
        token, group = self._take(), self._groups[-1]
        if token.word == "or":
            group.either()
        elif token.word == "," and group.commas:
            group.comma()
        elif token.word != "and":
            raise strays.connective(self.text, token)

    def _whole(self) -> Filter:
        group = self._groups[-1]
        if group.opener:
            raise strays.never_closed(self.text, group.opener)
        return group.value()

    # Conditions -----------------------------------------------------------------------------

    def _condition(self) -> bool:
        """Whether it is complete: a condition on items goes on in a group."""
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
            raise strays.column(self.text, token)
        return str(token.value)

    def _spelling(self, subject: int) -> tuple[Spelling, bool]:
        """The operator that follows, and whether it is negated by a `not` that is no part of it."""
        found = spelling_at(self._word)
        if found is not None:
            return found, False
        if self._word() == "not":
            self._take()
            found = spelling_at(self._word)
        if found is None:
            raise strays.operator(self.text, self._tokens[subject], self._next)
        return found, True

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
                raise strays.expected(self.text, self._next, part)
        return Predicate(column, spelling.operator, tuple(values), folds or self._in_any_case())

    def _in_any_case(self) -> bool:
        found = all(self._word(i) == word for i, word in enumerate(IN_ANY_CASE))
        self._at += len(IN_ANY_CASE) if found else 0
        return found

    def _opening(self) -> Token:
        if self._word() != "(":
            raise strays.no_parenthesis(self.text, self._next)
        return self._take()

    def _list(self) -> list[Any]:
        opener = self._opening()
        found: list[Any] = []
        while self._word() != ")":
            found.append(self._value())
            if self._word() == ",":
                self._take()
            elif self._word() != ")":
                raise strays.unfinished_list(self.text, opener, self._next)
        self._take()
        return found

    def _nested(self, opener: Token, depth: int = 0) -> Any:
        """`[1, 2]` or `{h: 80, w: null}`, whose values may be nested again."""
        if depth > DEEPEST:
            raise strays.too_deep(self.text, opener)
        listed: list[Any] = []
        fields: dict[str, Any] = {}
        close = _NESTED[opener.word]
        while self._word() != close:
            if opener.word == "{":
                name = self._take()
                if name.part not in (Part.WORD, Part.NAME):
                    raise strays.field(self.text, name)
                if self._word() != ":":
                    raise strays.expected(self.text, self._next, ":")
                self._take()
                fields[str(name.value)] = self._inside(depth)
            else:
                listed.append(self._inside(depth))
            if self._word() == ",":
                self._take()
            elif self._word() != close:
                raise strays.unfinished_value(self.text, opener, self._next, close)
        self._take()
        return fields if opener.word == "{" else listed

    def _inside(self, depth: int) -> Any:
        if self._word() in _NESTED:
            return self._nested(self._take(), depth + 1)
        token = self._next
        value = self._value()
        if isinstance(value, Reference):
            raise strays.value(self.text, token)
        return value

    def _value(self) -> Any:
        token = self._take()
        if token.part is Part.VALUE:
            return token.value
        if token.word in _NESTED:
            return self._nested(token)
        if token.word in CONSTANTS:
            return CONSTANTS[token.word]
        if token.part is Part.NAME or (token.part is Part.WORD and token.word not in KEYWORDS):
            return Reference(str(token.value))
        raise strays.value(self.text, token)
