"""Where in a text the words of a search are, and the piece of it that shows most of them."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from core.index.fulltext.analysis import Token, folded, meanings, tokens
from core.index.fulltext.part import texts_of
from core.index.fulltext.tree import Beginning, Leaf, Near, Words

CUT = "…"


@dataclass(frozen=True)
class Highlight:
    """How snippets look: at most about `length` characters, words found between `before` and `after`.

    `columns`: of these alone. `escape` writes the text as HTML.
    """

    columns: tuple[str, ...] | None = None
    before: str = "**"
    after: str = "**"
    length: int = 160
    escape: bool = False


@dataclass(frozen=True)
class _Found:
    """Words first … stop-1 of a text are what the `leaf` with this number is about."""

    leaf: int
    first: int
    stop: int


def snippet(cell: object, sought: Sequence[Leaf], language: str | None, how: Highlight) -> str | None:
    """Of a cell of text, or of texts; None where nothing sought is in it."""
    pieces = [_piece(text, sought, language, how) for text in texts_of(cell)]
    shown = [piece for piece in pieces if piece is not None]
    return max(shown, key=lambda piece: piece[0])[1] if shown else None


def _piece(
    text: str, sought: Sequence[Leaf], language: str | None, how: Highlight
) -> tuple[tuple[int, int], str] | None:
    """How much of what is sought it shows, and the piece."""
    there = tokens(text)
    found = sorted(_found(there, sought, language), key=lambda one: one.first)
    if not found:
        return None
    windows = [[f for f in found[i:] if _fits(there, found[i], f, how.length)] for i in range(len(found))]
    shown = max(windows, key=_worth)
    first, stop = _widened(there, shown[0].first, max(f.stop for f in shown), how.length)
    marked = {place for f in shown for place in range(f.first, f.stop)}
    return _worth(shown), _written(text, there, range(first, stop), marked, how)


def _found(there: Sequence[Token], sought: Sequence[Leaf], language: str | None) -> Iterator[_Found]:
    words = [token.word for token in there]
    meant = meanings(words, language) if words else []
    for number, leaf in enumerate(sought):
        if isinstance(leaf, Words):
            phrase = meanings(leaf.words, language)
            size = len(phrase)
            places = [i for i in range(len(meant) - size + 1) if meant[i : i + size] == phrase]
            yield from (_Found(number, place, place + size) for place in places)
        else:
            yield from (_Found(number, i, i + 1) for i, word in enumerate(words) if _alike(word, leaf))


def _alike(word: str, leaf: Beginning | Near) -> bool:
    if isinstance(leaf, Near):
        return within_edits(word, leaf.word, leaf.edits)
    return folded([word])[0].startswith(folded([leaf.word])[0])


def within_edits(a: str, b: str, most: int) -> bool:
    """Whether so many letters added, left out, changed, or swapped with the next make one of the other."""
    if abs(len(a) - len(b)) > most:
        return False
    before, above = list[int](), list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        row = [i]
        for j, other in enumerate(b, 1):
            cost = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == b[j - 2] and a[i - 2] == other:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before, above = above, row
    return above[-1] <= most


def _fits(there: Sequence[Token], first: _Found, last: _Found, length: int) -> bool:
    return there[last.stop - 1].stop - there[first.first].start <= length or last is first


def _worth(shown: Iterable[_Found]) -> tuple[int, int]:
    leaves = [found.leaf for found in shown]
    return len(set(leaves)), len(leaves)


def _widened(there: Sequence[Token], first: int, stop: int, length: int) -> tuple[int, int]:
    """More words on both sides, as long as there is room."""

    def room(low: int, high: int) -> bool:
        return there[high - 1].stop - there[low].start <= length

    grown = True
    while grown:
        grown = False
        if first > 0 and room(first - 1, stop):
            first, grown = first - 1, True
        if stop < len(there) and room(first, stop + 1):
            stop, grown = stop + 1, True
    return first, stop


def _written(text: str, there: Sequence[Token], shown: range, marked: set[int], how: Highlight) -> str:
    """What is before the first word and behind the last belongs to the text's ends."""
    begin = 0 if shown.start == 0 else there[shown.start].start
    end = len(text) if shown.stop == len(there) else there[shown.stop - 1].stop
    parts, at = [CUT if begin else ""], begin
    for place in sorted(marked):
        token = there[place]
        parts += [_escaped(text[at : token.start], how), how.before]
        parts += [_escaped(text[token.start : token.stop], how), how.after]
        at = token.stop
    return "".join([*parts, _escaped(text[at:end], how), CUT if end < len(text) else ""])


def _escaped(text: str, how: Highlight) -> str:
    return html.escape(text) if how.escape else text
