"""Scripts: texts of several statements, with their positions and parameters."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

Kind = Literal["word", "name", "text", "number", "comment", "sign"]

_LEXEMES = re.compile(
    r"""
    (?P<space>\s+)
  | (?P<line>--[^\n]*)
  | (?P<block>/\*)
  | (?P<escaped>[eE]'(?:[^'\\]|\\.|'')*(?:'|\Z))
  | (?P<text>[xX]?'(?:[^']|'')*(?:'|\Z))
  | (?P<name>"(?:[^"]|"")*(?:"|\Z))
  | (?P<dollars>\$(?P<tag>(?:[^\W\d]\w*)?)\$)
  | (?P<word>[^\W\d][\w$]*)
  | (?P<number>\d[\d_]*(?:\.[\d_]*)?(?:[eE][+-]?\d+)?)
  | (?P<sign>::|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_PLAIN = re.compile(
    r"(?:[^\W\deExX][\w$]*|[eExX](?!')[\w$]*|[\d\s,.()=<>*+|%:?\[\]{}!@^&~#\\]+|-(?!-)|/(?!\*))+"
)
"""Text that neither ends a statement nor can hide an end: most of a script."""
_MARKS = re.compile(r"/\*|\*/")
_COMPARES = frozenset({"between", "and", "like", "ilike", "not", "in", *"=<>!($:+-*/"})
_BEFORE_COLON = frozenset("=<>(,+-*/|%")


@dataclass(frozen=True, slots=True)
class Lexeme:
    """A token of SQL between `start` and `stop`, in characters. A `name` is in double quotes, a `text` in
    single quotes or between dollars; `is_closed` is whether its end was found."""

    kind: Kind
    start: int
    stop: int
    text: str
    is_closed: bool = True

    @property
    def identifier(self) -> str:
        """A word or name without quotes."""
        if self.kind != "name":
            return self.text
        return self.text[1 : -1 if self.is_closed and len(self.text) > 1 else None].replace('""', '"')


def lexemes(text: str) -> Iterator[Lexeme]:
    """Split any text into tokens, without white space; an unclosed token extends to the end."""
    place = 0
    while place < len(text):
        lexeme, place = _lexeme(text, place)
        if lexeme is not None:
            yield lexeme


def _lexeme(text: str, place: int) -> tuple[Lexeme | None, int]:
    """The next token (None for white space), and its end."""
    match = _LEXEMES.match(text, place)
    assert match is not None  # a sign is any character
    kind, stop, closed = match.lastgroup, match.end(), True
    if kind == "space":
        return None, stop
    lexeme_kind: Kind
    if kind in ("tag", "dollars"):
        end = text.find(match["dollars"], stop)
        closed = end >= 0
        stop = end + len(match["dollars"]) if closed else len(text)
        lexeme_kind = "text"
    elif kind == "block":
        stop, closed = _end_of_block(text, stop)
        lexeme_kind = "comment"
    elif kind == "line":
        lexeme_kind = "comment"
    elif kind in ("text", "escaped"):
        lexeme_kind, closed = "text", _is_closed(match[0], "'")
    elif kind == "name":
        lexeme_kind, closed = "name", _is_closed(match[0], '"')
    else:
        lexeme_kind = kind  # type: ignore[assignment]
    return Lexeme(lexeme_kind, place, stop, text[place:stop], closed), stop


def _is_closed(text: str, quote: str) -> bool:
    """Whether a text ends with a closing quote: two quotes in a row are a character of the text."""
    inner = text[text.index(quote) + 1 :]
    before = inner.rstrip(quote)
    escapes = text[0] in "eE" and (len(before) - len(before.rstrip("\\"))) % 2
    return (len(inner) - len(before) - escapes) % 2 == 1


def _end_of_block(text: str, place: int) -> tuple[int, bool]:
    """The end of a block comment, which may contain others, and whether it is closed."""
    depth = 1
    while depth:
        mark = _MARKS.search(text, place)
        if mark is None:
            return len(text), False
        depth += 1 if mark[0] == "/*" else -1
        place = mark.end()
    return place, True


_GO = re.compile(r"^[ \t]*(?P<go>go)[ \t\r]*(?:--.*)?$", re.IGNORECASE | re.MULTILINE)
_BEFORE_NAME = frozenset(
    [
        "all", "and", "as", "between", "by", "call", "case", "delete", "describe", "distinct", "drop", "else",
        "except", "exec", "execute", "exists", "from", "having", "in", "insert", "intersect", "into", "is",
        "join", "like", "limit", "not", "offset", "on", "or", "over", "qualify", "recursive", "select", "set",
        "show", "summarize", "table", "then", "truncate", "union", "update", "use", "using", "view", "when",
        "where", "with",
    ]
)  # fmt: skip
_FIRST_WORDS = frozenset(
    [
        "alter", "analyze", "attach", "begin", "call", "checkpoint", "commit", "copy", "create", "declare",
        "delete", "describe", "detach", "drop", "exec", "execute", "explain", "export", "grant", "if",
        "import", "insert", "install", "load", "merge", "pragma", "print", "revoke", "rollback", "select",
        "set", "show", "summarize", "truncate", "update", "use", "with",
    ]
)  # fmt: skip
"""The first words of statements that cannot follow the name or alias of a table or column; SET can, in an
UPDATE."""


def with_semicolons(text: str) -> str:
    """The script with a semicolon for each `GO` that ends a batch, as in SQL Server's tools: it is alone on
    its line, behind a whole statement, and at the end or before another. Its length stays the same."""
    lines = {match.start("go") for match in _GO.finditer(text)}
    if not lines:
        return text
    signs = list(text)
    words = [lexeme for lexeme in lexemes(text) if lexeme.kind != "comment"]
    statement: list[str] = []
    for word, after in zip_longest(words, words[1:]):
        is_last = after is None or after.start in lines or after.text == ";"
        if word.start in lines and _is_whole(statement) and (is_last or _begins(after.text, statement)):
            signs[word.start : word.stop] = "; "
            statement = []
        elif word.text == ";":
            statement = []
        else:
            statement.append(word.identifier.casefold())
    return "".join(signs)


def _is_whole(statement: Sequence[str]) -> bool:
    """Whether these words can be a statement, so that GO behind them is no name of theirs."""
    if not statement:
        return True
    opened = sum(statement.count(sign) for sign in "([{") - sum(statement.count(sign) for sign in ")]}")
    last = statement[-1]
    ends = last not in _BEFORE_NAME and (len(last) > 1 or last.isalnum() or last in ")]}*")
    return ends and not opened and "go" not in statement


def _begins(word: str, statement: Sequence[str]) -> bool:
    word = word.casefold()
    is_set = word == "set" and statement[:1] == ["update"] and "set" not in statement
    return word in _FIRST_WORDS and not is_set


@dataclass(frozen=True)
class Part:
    """One statement of a script, in characters: from its first word to its last, without surrounding
    comments. `line` is the line it starts in, from 1; `end` is where the next may start."""

    start: int
    stop: int
    end: int
    line: int


def statements_of(text: str) -> list[Part]:
    """The statements of a text, in order; comments alone are not a statement."""
    text = with_semicolons(text)
    parts: list[Part] = []
    start = stop = -1
    line, counted = 1, 0

    def add(end: int) -> None:
        nonlocal line, counted
        if start >= 0:
            line += text.count("\n", counted, start)
            counted = start
            parts.append(Part(start, stop, end, line))

    place = 0
    while place < len(text):
        plain = _PLAIN.match(text, place)
        if plain is not None:
            words, place = plain[0].strip(), plain.end()
            if words:
                first = text.index(words[0], plain.start())
                start, stop = (first if start < 0 else start), first + len(words)
            continue
        lexeme, place = _lexeme(text, place)
        if lexeme is None or lexeme.kind == "comment":
            continue
        if lexeme.text == ";":
            add(lexeme.stop)
            start = -1
            continue
        start, stop = (lexeme.start if start < 0 else start), lexeme.stop
    add(len(text))
    return parts


def statement_at(text: str, parts: Sequence[Part], place: int) -> Part | None:
    """The statement that contains a position or ends there; between two, the next one, unless the previous
    one ends in the same line."""
    if not parts:
        return None
    number = bisect_right([part.start for part in parts], place) - 1
    if number < 0:
        return parts[0]
    part = parts[number]
    is_last = number + 1 == len(parts)
    if place <= part.end or is_last or "\n" not in text[part.end : place]:
        return part
    return parts[number + 1]


@dataclass(frozen=True)
class Placeholder:
    """A named parameter in a statement, `$name` or `:name`; `start` is the position of its sign. `beside` is
    the name it is compared with, if one precedes it."""

    name: str
    start: int
    stop: int
    sign: str
    beside: str = ""


def placeholders(text: str) -> list[Placeholder]:
    """All named parameters in the order of the text, including repetitions. Colons of casts, slices, structs
    and labels are not parameters."""
    result: list[Placeholder] = []
    open_brackets: list[str] = []
    before: Lexeme | None = None
    name = ""
    all_of_it = [lexeme for lexeme in lexemes(text) if lexeme.kind != "comment"]
    for lexeme, after in zip_longest(all_of_it, all_of_it[1:]):
        if lexeme.kind == "sign":
            if lexeme.text in "([{":
                open_brackets.append(lexeme.text)
            elif lexeme.text in ")]}" and open_brackets:
                open_brackets.pop()
            attached = after is not None and after.start == lexeme.stop and after.kind == "word"
            if attached and (
                lexeme.text == "$" or (lexeme.text == ":" and _may_name(text, lexeme, before, open_brackets))
            ):
                assert after is not None
                result.append(Placeholder(after.text, lexeme.start, after.stop, lexeme.text, name))
        is_parameter = bool(result) and result[-1].stop == lexeme.stop
        if is_parameter:
            pass
        elif lexeme.kind in ("word", "name") and lexeme.text.casefold() not in _COMPARES:
            name = lexeme.identifier
        elif lexeme.kind != "sign" or lexeme.text not in _COMPARES:
            name = name if lexeme.kind == "word" else ""
        before = lexeme
    return result


def names_of_parameters(text: str) -> list[str]:
    """Each name of a parameter once, in the order of the text."""
    return list(dict.fromkeys(placeholder.name for placeholder in placeholders(text)))


def _may_name(text: str, colon: Lexeme, before: Lexeme | None, open_brackets: list[str]) -> bool:
    if before is None or (open_brackets and open_brackets[-1] in "[{"):
        return False
    return before.stop < colon.start or text[colon.start - 1] in _BEFORE_COLON


def with_dollars(text: str) -> str:
    """The statement with `$name` for each `:name`, which DuckDB does not support; its length stays the
    same."""
    signs = list(text)
    for placeholder in placeholders(text):
        signs[placeholder.start] = "$"
    return "".join(signs)
