"""Search texts: words, "phrases", word*, word~1, title:word, and, or, not, + and -, parentheses.

search  := clause …                      side by side: + has to be there, - must not, of the rest one
clause  := "+" factor | either
either  := both ("or" both) …
both    := factor ("and" factor) …
factor  := ("not" | "-") factor | [column ":"] (word | word"*" | word"~"[1|2] | phrase | "(" search ")")
column  := name | '"' name with anything in it, quotes twice '"'
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass

from lamella.core.errors import BadSearch, UnknownColumn
from lamella.core.filters.text.places import pointing
from lamella.core.index.fulltext.analysis import words
from lamella.core.index.fulltext.tree import Beginning, Clauses, Near, Node, Words

DEEPEST = 50
MOST_EDITS = 2
MOST_LETTERS = 200

_TOKEN = re.compile(
    r"""(?P<space>\s+) | (?P<open>\() | (?P<close>\)) | (?P<sign>(?<![^\s(])[+-])
    | (?P<column>[^\s()":+*~-][^\s()":*~]*|(?<![^\s(:+-])"(?:[^"]|"")+"):(?=[^\s)])
    | "(?P<phrase>[^"]*)" | (?P<quote>") | (?P<word>[^\s()"]+)""",
    re.VERBOSE,
)
_SUFFIX = re.compile(r"(?P<star>\*)$|~(?P<edits>\d*)$")
_OPERATORS = {"and", "or", "not"}


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    start: int
    stop: int


def read(text: str, name: str, columns: Collection[str]) -> Node:
    """What the text asks for; `columns` are those that may be named, of what is called `name`.

    Raises `BadSearch` and `UnknownColumn` with the place.
    """
    reader = _Reader(text, name, columns)
    node = reader.search()
    if reader.kind == "close":
        raise reader.error("')' closes nothing", "Leave it out, or open a parenthesis before")
    if node == Clauses():
        raise BadSearch("A search text needs a word", fix="Give one, with at least a letter or a digit")
    return node


class _Reader:
    def __init__(self, text: str, name: str, columns: Collection[str]) -> None:
        self._text, self._name, self._columns = text, name, columns
        self._tokens = [
            _Token(_kind(match), match.group(), *match.span())
            for match in _TOKEN.finditer(text)
            if match.lastgroup != "space"
        ]
        self._tokens.append(_Token("end", "", len(text), len(text)))
        self._at = self._depth = 0

    @property
    def kind(self) -> str:
        return self._tokens[self._at].kind

    def error(self, why: str, fix: str, at: _Token | None = None) -> BadSearch:
        token = at or self._tokens[self._at]
        what = f"The search text cannot be read at character {token.start + 1}"
        return pointing(BadSearch(what, why, fix), self._text, token.start, max(token.stop, token.start + 1))

    def search(self, column: str | None = None) -> Node:
        required, wanted, excluded = list[Node](), list[Node](), list[Node]()
        while self.kind not in ("close", "end"):
            if self.kind == "sign" and self._tokens[self._at].text == "+":
                required += self._factor(column)
                continue
            for node in self._either(column):
                negated = _negated(node)
                (wanted if negated is None else excluded).append(node if negated is None else negated)
        if len(wanted) == 1 and not required and not excluded:
            return wanted[0]
        return Clauses(tuple(required), tuple(wanted), tuple(excluded))

    def _either(self, column: str | None) -> list[Node]:
        """None or one, like all that follow: punctuation alone asks for nothing."""
        found = self._joined("or", self._both, column)
        return found if len(found) < 2 else [Clauses(wanted=tuple(found))]

    def _both(self, column: str | None) -> list[Node]:
        found = self._joined("and", self._factor, column)
        if len(found) < 2:
            return found
        negated = [_negated(node) for node in found]
        required = (node for node, other in zip(found, negated, strict=True) if other is None)
        return [Clauses(required=tuple(required), excluded=tuple(n for n in negated if n is not None))]

    def _joined(
        self, operator: str, part: Callable[[str | None], list[Node]], column: str | None
    ) -> list[Node]:
        found = part(column)
        while self.kind == operator:
            self._at += 1
            found += part(column)
        return found

    def _factor(self, column: str | None) -> list[Node]:
        negations = 0
        while self.kind in ("not", "sign"):
            token = self._tokens[self._at]
            negations += token.text != "+"
            self._at += 1
            self._refuse_far(token)
            self._refuse_second(token)
        found = self._operand(column)
        if negations % 2 == 0:
            return found
        return [Clauses(excluded=(node,)) for node in found]

    def _refuse_far(self, sign: _Token) -> None:
        if sign.kind == "sign" and self._tokens[self._at].start != sign.stop:
            raise self.error(
                f"'{sign.text}' stands apart from what it is for",
                f'Write it right before the word, or in quotes to leave it without meaning: "{sign.text}"',
                sign,
            )

    def _refuse_second(self, before: _Token) -> None:
        """A sign right behind a sign, or behind a column, would be part of the word."""
        token = self._tokens[self._at]
        if (
            token.kind == "word"
            and token.start == before.stop
            and token.text[0] in "+-"
            and before.kind != "not"
        ):
            said = f"'{token.text[0]}' stands behind '{before.text}'"
            fix = f"Write one sign, before all else: {token.text[0]}{_shown(before)}{token.text[1:]}"
            raise self.error(said, fix, token)

    def _operand(self, column: str | None) -> list[Node]:
        token = self._tokens[self._at]
        if token.kind in ("and", "or", "not", "close", "end"):
            raise self._missing(token)
        self._at += 1
        if token.kind == "column":
            self._refuse_second(token)
            return self._operand(self._known(token))
        if token.kind == "open":
            return self._group(token, column)
        if token.kind == "phrase":
            return _leaf(token.text, column)
        if token.kind == "quote":
            raise self.error("The quotation mark is not closed", 'Add another: "…"', token)
        return self._word(token, column)

    def _missing(self, token: _Token) -> BadSearch:
        if token.kind in _OPERATORS:
            said = f"'{token.text}' stands where a word should"
            return self.error(said, f'To find the word itself, put it in quotes: "{token.text}"')
        before = self._tokens[self._at - 1] if self._at else token
        if before.kind in _OPERATORS:
            said = f"'{before.text}' needs something behind it"
            return self.error(said, f'To find the word itself, put it in quotes: "{before.text}"', before)
        return self.error("Something is missing here", "Add a word")

    def _known(self, token: _Token) -> str:
        name = token.text[:-1]
        if name.startswith('"'):
            name = name[1:-1].replace('""', '"')
        if name not in self._columns:
            unknown = UnknownColumn(name, self._name, self._columns)
            typed = self._text[token.start :].split(None, 1)[0].rstrip('()"').replace('"', "")
            unknown.args = (f'{unknown} To find what has a colon in it, put it in quotes: "{typed}".',)
            raise pointing(unknown, self._text, token.start, token.stop)
        return name

    def _group(self, opened: _Token, column: str | None) -> list[Node]:
        self._depth += 1
        if self._depth > DEEPEST:
            raise self.error(f"More than {DEEPEST} parentheses are open", "Say it with fewer", opened)
        node = self.search(column)
        if self.kind != "close":
            raise self.error("The parenthesis is not closed", "Add ')'", opened)
        self._at += 1
        self._depth -= 1
        return [] if node == Clauses() else [node]

    def _word(self, token: _Token, column: str | None) -> list[Node]:
        suffix = _SUFFIX.search(token.text)
        stem = token.text[: suffix.start()] if suffix else token.text
        if "*" in stem:
            raise self.error("'*' stands at the end of a word alone", "Write the beginning: wor*", token)
        if suffix is None:
            return _leaf(stem, column)
        found = words(stem)
        if len(found) != 1:
            said = f"'{suffix.group()}' is for one word, and '{stem}' is {len(found) or 'none'}"
            raise self.error(said, "Write it behind the end of a word", token)
        if len(found[0]) > MOST_LETTERS:
            said = f"'{suffix.group()}' is for words of at most {MOST_LETTERS} letters"
            raise self.error(said, "Write fewer, or leave it out", token)
        if suffix["star"]:
            return [Beginning(found[0], column)]
        edits = int(suffix["edits"] or 1)
        if not 1 <= edits <= MOST_EDITS:
            raise self.error(f"A word may differ by 1 or {MOST_EDITS} letters, not by {edits}", "", token)
        return [Near(found[0], edits, column)]


def _kind(match: re.Match[str]) -> str:
    word = match.group().lower()
    return word if word in _OPERATORS else str(match.lastgroup)


def _leaf(text: str, column: str | None) -> list[Node]:
    found = words(text)
    return [Words(tuple(found), column)] if found else []


def _shown(before: _Token) -> str:
    return before.text if before.kind == "column" else ""


def _negated(node: Node) -> Node | None:
    """What a node excludes, where that is all it says."""
    alone = isinstance(node, Clauses) and not node.required and not node.wanted
    return node.excluded[0] if alone and len(node.excluded) == 1 else None  # type: ignore[union-attr]
