"""Finds the position of an error in a statement, and a suggestion, from DuckDB's message."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from itertools import pairwise

from lamella.core.errors import CARET, BadSql, LamellaError, Place, UnknownName
from lamella.core.filters.predicate_values import regex_problem
from lamella.core.libraries import duckdb
from lamella.core.phrases import sentence_case
from lamella.core.query.sql.information_schema import listing_query
from lamella.core.query.sql.script import Lexeme, lexemes, statements_of, with_dollars

_EXCERPT = re.compile(r"\n+LINE (\d+): (.*)\n( *)(\^+)", re.DOTALL)
_KIND = re.compile(r"^[A-Z][A-Za-z]*(?: [A-Za-z]+){0,3} Error: ")
_COLUMN = re.compile(r'Referenced column "(.+?)" not found in FROM clause!?')
_OF_TABLE = re.compile(r'"([^"]+?)" does not have a column named "(.+?)"')
_NO_TABLE = re.compile(r'Referenced table "(.+?)" not found!?')
_MISSING = re.compile(r"(.+?) with name (\S+) does not exist!?")
_CANDIDATES = re.compile(r"\n*Candidate (?:bindings|tables|functions)?:? *(.*)", re.DOTALL)
_SUGGESTION = re.compile(r'\n*Did you mean "(.+?)"(?: or "(.+?)")?\??')
_NO_VALUE = re.compile(r"Values were not provided for the following parameters?: \d")
_NEAR = re.compile(r'syntax error at or near "(.*)"', re.DOTALL)
_NAMES = re.compile(r'"((?:[^"]|"")+)"')
_LEADING_NAME = re.compile(r"\S+: ")
_MOST_CANDIDATES = 3
_LEAST_ALIKE = 0.5
"""How alike a column and a misspelling of it are: the engine names the nearest however far it is."""
_TABLE, _CONDITION = "The name of a table", "A condition"
_EXPECTATIONS = {
    **dict.fromkeys(["where", "having", "qualify", "on", "and", "or", "not", "when"], _CONDITION),
    **dict.fromkeys(["from", "join", "into", "update"], _TABLE),
    **dict.fromkeys(["select", "by", "distinct", "set"], "A column"),
    ",": "A column or value",
    **dict.fromkeys(["limit", "offset"], "A number"),
    **dict.fromkeys(["=", "<", ">", "<=", ">=", "<>", "!=", "like", "ilike", "between"], "A value"),
    **dict.fromkeys(["then", "else"], "A value"),
}  # fmt: skip
"""What must follow a word or sign."""
_CLAUSES = frozenset(
    [
        "where", "having", "qualify", "limit", "offset", "union", "intersect", "except", "on", "join", "from",
        "and", "or", "then", ")", ";",
    ]
)  # fmt: skip
"""Words and signs that follow nothing in `_EXPECTATIONS`, and that are no columns."""
_MISSPELT = (
    "from", "where", "group", "order", "having", "limit", "offset", "qualify", "join", "inner", "left",
    "right", "full", "cross", "using", "union", "window",
)  # fmt: skip
_LEAST_LETTERS, _LEAST_MISSPELT = 4, 0.75
_BEFORE_BY = frozenset({"group", "order", "partition"})
_AROUND = 50
"""The maximum number of characters of a line that are shown on either side of an error."""
_ASIDE = 40
"""The maximum distance in characters between where the message points and the name."""

Span = tuple[int, int]


def place_of(message: str, text: str, lines_before: int = 0) -> Span | None:
    """The characters of `text` that the message points at; None if it points at none. The text given to the
    engine may have other names and additional lines before it, and the message shows a part of a long
    line."""
    excerpt = _EXCERPT.search(message)
    if excerpt is None:
        return _span_of_name(message, text)
    number, line, indent, carets = int(excerpt[1]), excerpt[2], len(excerpt[3]), len(excerpt[4])
    column = indent - len(f"LINE {number}: ")
    cut = line.startswith("...")
    pieces = line.removeprefix("...").removesuffix("...") if cut or line.endswith("...") else line
    column -= 3 if cut else 0
    line_start = _start_of_line(text, number - lines_before)
    place = text.find(pieces, line_start) if line_start >= 0 else -1
    if place < 0:
        place = text.find(pieces)
    if place < 0 or column < 0:
        return _span_of_name(message, text)
    start = place + column
    stop = min(len(text), start + max(1, carets))
    match = _NAMES.search(message.partition("\n")[0])
    if match is not None and match[1].casefold() not in text[start:stop].casefold():
        near = text.find(match[1], max(place, start - _ASIDE), start + _ASIDE)  # wide letters count as two
        start, stop = (near, near + len(match[1])) if near >= 0 else (start, stop)
    return (start, stop) if start <= len(text) else None


@dataclass(frozen=True)
class SyntaxProblem:
    """Where a text cannot be parsed, and why."""

    span: Span
    text: str


def syntax_problem(text: str) -> SyntaxProblem | None:
    """The problem of the first statement that cannot be parsed. A statement that ends too early is
    unfinished, which is not a problem yet. Blocks for some milliseconds; nothing runs."""
    for part in statements_of(text):
        own = with_dollars(text[part.start : part.stop])
        if listing_query(own) is not None:
            continue
        try:
            duckdb.extract_statements(own)
        except duckdb.Error as error:
            if is_unfinished(own, error):
                return None
            start, stop = place_of(str(error), own) or (0, len(own.split(maxsplit=1)[0]))
            words, _fix = in_words(BadSql("the statement cannot be read", str(error)))
            return SyntaxProblem((part.start + start, part.start + stop), words)
    return None


def is_unfinished(text: str, error: Exception) -> bool:
    """Whether a statement with this syntax error lacks only its end: DuckDB 2.0 points at the last word,
    which it also does if that word is wrong."""
    words = _words(text)
    place = place_of(str(error), text)
    if not words or place is None or place[1] < words[-1].stop:
        return False
    try:
        duckdb.extract_statements(f"{text}\nx")
    except duckdb.Error as longer:
        further = place_of(str(longer), f"{text}\nx")
        return further is not None and further[0] > len(text)
    return True


def missing_part(text: str, error: Exception) -> str:
    """A sentence about what is missing where a statement cannot be read; empty if that is not known."""
    words, place = _words(text), place_of(str(error), text)
    if place is None or not words:
        return ""
    if is_unfinished(text, error):
        last = words[-1].text
        expected = _EXPECTATIONS.get(last.casefold())
        opened = sum(word.text == "(" for word in words) - sum(word.text == ")" for word in words)
        if expected is None and opened > 0:
            return f"{'A bracket is' if opened == 1 else f'{opened} brackets are'} not closed"
        if expected is None and len(words) > 1 and words[-2].text.casefold() == "join":
            expected = "ON or USING"
        return f"{expected} is missing after it" if expected else "The statement ends too early"
    if _ends_at_apostrophe(words):
        return "Write '' for a ' inside a text: 'it''s'"
    number = next((n for n, word in enumerate(words) if word.start <= place[0] < word.stop), 0)
    here, after = words[number].text.casefold(), words[number + 1 : number + 2]
    ends = here in _CLAUSES or (here in _BEFORE_BY and any(word.text.casefold() == "by" for word in after))
    before = words[number - 1].text if number else ""
    expected = _EXPECTATIONS.get(before.casefold())
    if ends and expected:
        return f"{expected} is missing after '{before}'"
    if expected == _TABLE and _is_reserved(here):
        return f'{here.upper()} is a keyword of SQL: write "{here}" to refer to a table of that name'
    return _misspelt_keyword(words[:number]) or _misspelt_keyword(words[: number + 1])


def _ends_at_apostrophe(words: list[Lexeme]) -> bool:
    """Whether a text is not closed, or goes on right behind its end, as 'it's' does."""
    unclosed = any(word.kind == "text" and not word.is_closed for word in words)
    return unclosed or any(
        word.kind == "text" and after.kind == "word" and word.stop == after.start
        for word, after in pairwise(words)
    )


def _is_reserved(word: str) -> bool:
    try:
        duckdb.extract_statements(f"SELECT * FROM {word}")
    except duckdb.Error:
        return word.isidentifier()
    return False


def _misspelt_keyword(words: list[Lexeme]) -> str:
    """A question about the last word if it is nearly a keyword: the engine takes it for an alias, and fails
    at the word after it."""
    last = words[-1].text if words and words[-1].kind == "word" else ""
    is_name = len(words) > 1 and words[-2].text.casefold() in _EXPECTATIONS
    if is_name or len(last) < _LEAST_LETTERS or last.casefold() in _MISSPELT:
        return ""
    guesses = difflib.get_close_matches(last.casefold(), _MISSPELT, n=1, cutoff=_LEAST_MISSPELT)
    return f"Is '{last}' a misspelling of {guesses[0].upper()}?" if guesses else ""


def _words(text: str) -> list[Lexeme]:
    return [lexeme for lexeme in lexemes(text) if lexeme.kind != "comment"]


def _start_of_line(text: str, number: int) -> int:
    place = 0
    for _ in range(number - 1):
        place = text.find("\n", place) + 1
        if place == 0:
            return -1
    return place


def _span_of_name(message: str, text: str) -> Span | None:
    """The position of the first name in the message that occurs in the text."""
    places = (place_of_name(name, text) for name in _NAMES.findall(message.partition("\n")[0]))
    return next((place for place in places if place is not None), None)


def place_of_name(name: str, text: str) -> Span | None:
    """The position of a name in the text, which may have spaces around its dots, or quotes around its
    parts."""
    if not name:
        return None
    parts = r'"?\s*\.\s*"?'.join(re.escape(part) for part in name.split("."))
    match = re.search(rf'(?<!\w)"?{parts}"?(?!\w)', text, re.IGNORECASE)
    return match.span() if match is not None else None


def place_of_problem(error: LamellaError, text: str) -> Span | None:
    """The characters of the statement that an error is about; None if that is not known."""
    return error.span or (place_of_name(error.name, text) if isinstance(error, UnknownName) else None)


def excerpt(text: str, span: Span) -> str:
    """The line of the statement in which a part begins, with carets below that part."""
    first = text.rfind("\n", 0, span[0]) + 1
    number, line = text.count("\n", 0, first) + 1, text[first:].partition("\n")[0]
    start, stop = span[0] - first, min(span[1] - first, len(line))
    left = max(0, start - _AROUND)
    before, after = "…" if left else "", "…" if len(line) > stop + _AROUND else ""
    head = f"LINE {number}: {before}"
    carets = CARET * max(1, stop - start)
    indent = " " * (len(head) + start - left)
    return f"{head}{line[left : stop + _AROUND]}{after}\n{indent}{carets}"


def in_words(error: LamellaError, place: Place = "window") -> tuple[str, str]:
    """Describe the error in one sentence, and give a suggestion or fix, which may be empty, in the words of
    the place where it is read."""
    if not (_KIND.match(error.why) or _EXCERPT.search(error.why)):
        parts = filter(None, (_capitalize(error.what), _capitalize(error.why)))
        return ". ".join(parts), error.fix_in(place)
    message = _KIND.sub("", _EXCERPT.sub("", error.why)).strip()
    column, missing, near = _COLUMN.match(message), _MISSING.match(message), _NEAR.match(message)
    of_table, table = _OF_TABLE.search(message), _NO_TABLE.match(message)
    meant = _suggestion(message, column[1] if column else of_table[2] if of_table else "")
    if column is not None:
        return f"There is no column '{column[1]}' here", meant
    if of_table is not None:
        return f"'{of_table[1]}' has no column '{of_table[2]}'", meant
    if table is not None:
        return f"No table is called '{table[1]}' here", meant
    if missing is not None:
        kind = missing[1].lower()
        called = f"{missing[2]}()" if "function" in kind else f"'{missing[2]}'"
        return f"There is no {'function' if 'function' in kind else kind} {called}", meant
    if _NO_VALUE.match(message):
        return "A parameter without a name has no value", "Write $name instead of ?: each name gets a field"
    if near is not None:
        return f"The statement cannot be read at '{near[1]}'", error.fix_in(place)
    reason = message.partition("\n")[0].rstrip(".!:")
    own = regex_problem(reason)
    return _capitalize(
        reason if own == reason else f"A regular expression cannot be read: {own}"
    ), meant or error.fix_in(place)


def _capitalize(sentence: str) -> str:
    """The sentence with a capital, unless a table's name begins it, as in `notes: column 'price' is …`."""
    return sentence if _LEADING_NAME.match(sentence) else sentence_case(sentence)


def _suggestion(message: str, column: str) -> str:
    meant, candidates = _SUGGESTION.search(message), _CANDIDATES.search(message)
    names = [name for name in (meant.groups() if meant else ()) if name]
    if not names and candidates is not None and "functions" not in candidates[0]:
        names = _NAMES.findall(candidates[1])[:_MOST_CANDIDATES]
    if column:
        names = [name for name in names if _are_alike(name.rpartition(".")[2], column)]
    return "Did you mean " + " or ".join(f"'{name}'" for name in names) + "?" if names else ""


def _are_alike(name: str, other: str) -> bool:
    return difflib.SequenceMatcher(None, name.casefold(), other.casefold()).ratio() >= _LEAST_ALIKE
