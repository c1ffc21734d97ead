"""The rows that match a search text, in plain Python: no index, no ranking."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from lamella.core.index.fulltext.snippets import within_edits

STEMS = {
    "run": "run", "runs": "run", "running": "run", "apple": "apple", "apples": "apple", "café": "cafe",
    "cafés": "cafe", "cafe": "cafe", "fox": "fox", "foxes": "fox", "and": "and", "zebra": "zebra",
}  # fmt: skip
"""Every word that texts of the test may contain, and its English stem."""
PLAIN = str.maketrans("é", "e")
SEPARATORS = [" ", ", ", " - ", "\n", "  "]

Cells = Mapping[str, Any]
Holds = Callable[[Cells], bool]

cell = st.none() | st.lists(st.sampled_from(sorted(STEMS)), max_size=5).flatmap(
    lambda words: st.sampled_from(SEPARATORS).map(lambda between: between.join(words).capitalize())
)
cells = st.none() | st.lists(cell, max_size=3)


@dataclass(frozen=True)
class Asked:
    """A search text, and the rows that match it. One that only `negates` is not optional beside others."""

    text: str
    holds: Holds
    negates: bool = False


def texts(row: Cells, column: str | None) -> list[list[str]]:
    """The words of each text of the column, or of any column."""
    word_lists: list[list[str]] = []
    for name, value in row.items():
        if column in (None, name):
            values = value if isinstance(value, list) else [value]
            word_lists += [_words(text) for text in values if text is not None]
    return word_lists


def _words(text: str) -> list[str]:
    for separator in SEPARATORS:
        text = text.replace(separator, " ")
    return text.lower().split()


def _named(column: str | None, text: str) -> str:
    return text if column is None else f"{column}:{text}"


@st.composite
def leaf(draw: st.DrawFn, columns: list[str]) -> Asked:
    column = draw(st.none() | st.sampled_from(columns))
    word = draw(st.sampled_from(sorted(STEMS)))
    kind = draw(st.sampled_from(["word", "phrase", "beginning", "near"]))
    if kind == "word":
        text = draw(st.sampled_from([f'"{word}"', f'"{word.upper()}"']))
        return Asked(_named(column, text), _any_word(column, lambda w: STEMS[w] == STEMS[word]))
    if kind == "phrase":
        words = [word, *draw(st.lists(st.sampled_from(sorted(STEMS)), min_size=1, max_size=2))]
        meant = [STEMS[w] for w in words]
        return Asked(_named(column, f'"{" ".join(words)}"'), lambda row: _in_a_row(row, column, meant))
    if kind == "beginning":
        begin = word[: draw(st.integers(1, len(word)))]
        plain = begin.translate(PLAIN)
        return Asked(
            _named(column, f"{begin}*"), _any_word(column, lambda w: w.translate(PLAIN).startswith(plain))
        )
    edits = draw(st.integers(1, 2))
    mistyped = draw(st.sampled_from([word, word[:-1] or "x", word[::-1], f"{word}x", word[1:] + word[0]]))
    return Asked(
        _named(column, f"{mistyped}~{edits}"), _any_word(column, lambda w: within_edits(w, mistyped, edits))
    )


def _any_word(column: str | None, meant: Callable[[str], bool]) -> Holds:
    return lambda row: any(meant(word) for text in texts(row, column) for word in text)


def _in_a_row(row: Cells, column: str | None, meant: list[str]) -> bool:
    stem_lists = [[STEMS[word] for word in text] for text in texts(row, column)]
    return any(
        stems[at : at + len(meant)] == meant
        for stems in stem_lists
        for at in range(len(stems) - len(meant) + 1)
    )


def _combined(inner: st.SearchStrategy[Asked]) -> st.SearchStrategy[Asked]:
    ways = st.sampled_from([_both, _either, _required, _excluded])
    return st.tuples(ways, inner, inner).map(lambda drawn: drawn[0](*drawn[1:])) | inner.map(_not)


def _both(a: Asked, b: Asked) -> Asked:
    return Asked(f"({a.text} and {b.text})", lambda row: a.holds(row) and b.holds(row))


def _either(a: Asked, b: Asked) -> Asked:
    return Asked(f"({a.text} or {b.text})", lambda row: a.holds(row) or b.holds(row))


def _required(a: Asked, b: Asked) -> Asked:
    return Asked(f"(+{a.text} {b.text})", lambda row: a.holds(row) and (b.holds(row) or not b.negates))


def _excluded(a: Asked, b: Asked) -> Asked:
    return Asked(f"({a.text} -{b.text})", lambda row: a.holds(row) and not b.holds(row))


def _not(query: Asked) -> Asked:
    return Asked(f"(not {query.text})", lambda row: not query.holds(row), negates=True)


def asked(columns: list[str]) -> st.SearchStrategy[Asked]:
    """Search texts of every kind, nested."""
    return st.recursive(leaf(columns), _combined, max_leaves=4)
