"""Finds the words of a search in a text, and the excerpt that shows most of them."""

from __future__ import annotations

import html
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lamella.core.index.fulltext.part import WordToken, meanings, texts_of, tokens, without_accents
from lamella.core.index.fulltext.query import Beginning, Leaf, Words
from lamella.core.jobs import Job

CUT = "…"
PLACES_A_CHECK = 1_000


@dataclass(frozen=True)
class Highlight:
    """The format of snippets: at most about `length` characters, with found words between `before` and
    `after`.

    `columns` restricts snippets to these columns. `escape` writes the text as HTML.
    """

    columns: tuple[str, ...] | None = None
    before: str = "**"
    after: str = "**"
    length: int = 160
    escape: bool = False


@dataclass(frozen=True)
class _Match:
    """The words from `first` up to, but not including, `stop` of a text match the leaf with this number."""

    leaf: int
    first: int
    stop: int


def snippet(
    cell: object, sought: Sequence[Leaf], language: str | None, how: Highlight, job: Job
) -> str | None:
    """The snippet of a cell of one or more texts; None if nothing matches."""
    pieces = [_piece(text, sought, language, how, job) for text in texts_of(cell)]
    present = [piece for piece in pieces if piece is not None]
    return max(present, key=lambda piece: piece[0])[1] if present else None


def _piece(
    text: str, sought: Sequence[Leaf], language: str | None, how: Highlight, job: Job
) -> tuple[tuple[int, int], str] | None:
    """The value of a text's best excerpt, and the excerpt."""
    job.check()
    word_tokens = tokens(text)
    matches = sorted(_matches(word_tokens, sought, language, job), key=lambda match: match.first)
    if not matches:
        return None
    worth, begin = _best(word_tokens, matches, how.length, job)
    at = matches[begin]
    selection = [at, *(f for f in matches[begin + 1 :] if _fits(word_tokens, at, f, how.length))]
    first, stop = _widen(word_tokens, at.first, max(f.stop for f in selection), how.length)
    marked = {place for f in selection for place in range(f.first, f.stop)}
    return worth, _mark_words(text, word_tokens, range(first, stop), marked, how)


def _best(
    word_tokens: Sequence[WordToken], matches: Sequence[_Match], length: int, job: Job
) -> tuple[tuple[int, int], int]:
    """The excerpt that shows most: its value (leaves, then words for them), and the index of its first match.

    Matches enter the sliding window by where they end, and leave it by where they start.
    """
    by_stop = deque(sorted(range(len(matches)), key=lambda i: matches[i].stop))
    within, leaves = set[int](), Counter[int]()
    best, at = (0, 0), 0
    for begin, first in enumerate(matches):
        if begin % PLACES_A_CHECK == 0:
            job.check()
        while by_stop and _fits(word_tokens, first, matches[by_stop[0]], length):
            coming = by_stop.popleft()
            if coming >= begin:
                within.add(coming)
                leaves[matches[coming].leaf] += 1
        alone = begin not in within
        worth = len(leaves) + (first.leaf not in leaves), len(within) + alone
        if worth > best:
            best, at = worth, begin
        if not alone:
            within.remove(begin)
            leaves[first.leaf] -= 1
            if not leaves[first.leaf]:
                del leaves[first.leaf]
    return best, at


def _matches(
    word_tokens: Sequence[WordToken], sought: Sequence[Leaf], language: str | None, job: Job
) -> Iterator[_Match]:
    words = [token.word for token in word_tokens]
    meant = meanings(words, language) if words else []
    plain = without_accents(words) if any(isinstance(leaf, Beginning) for leaf in sought) else []
    for number, leaf in enumerate(sought):
        job.check()
        size = 1
        if isinstance(leaf, Words):
            phrase = meanings(leaf.words, language)
            size = len(phrase)
            places = (i for i in range(len(meant) - size + 1) if meant[i : i + size] == phrase)
        elif isinstance(leaf, Beginning):
            beginning = without_accents([leaf.word])[0]
            places = (i for i, word in enumerate(plain) if word.startswith(beginning))
        else:
            near = {word for word in set(words) if within_edits(word, leaf.word, leaf.edits)}
            places = (i for i, word in enumerate(words) if word in near)
        yield from (_Match(number, place, place + size) for place in places)


def within_edits(a: str, b: str, most: int) -> bool:
    """Whether at most `most` edits (letters added, removed, changed, or swapped) turn one word into the
    other."""
    if abs(len(a) - len(b)) > most:
        return False
    before, above = list[int](), list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        row = [i]
        for j, letter_b in enumerate(b, 1):
            cost = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (letter != letter_b))
            if i > 1 and j > 1 and letter == b[j - 2] and a[i - 2] == letter_b:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before, above = above, row
    return above[-1] <= most


def _fits(word_tokens: Sequence[WordToken], first: _Match, last: _Match, length: int) -> bool:
    return word_tokens[last.stop - 1].stop - word_tokens[first.first].start <= length


def _widen(word_tokens: Sequence[WordToken], first: int, stop: int, length: int) -> tuple[int, int]:
    """Extend the excerpt by words on both sides, as long as there is room."""

    def room(low: int, high: int) -> bool:
        return word_tokens[high - 1].stop - word_tokens[low].start <= length

    grown = True
    while grown:
        grown = False
        if first > 0 and room(first - 1, stop):
            first, grown = first - 1, True
        if stop < len(word_tokens) and room(first, stop + 1):
            stop, grown = stop + 1, True
    return first, stop


def _mark_words(
    text: str, word_tokens: Sequence[WordToken], span: range, marked: set[int], how: Highlight
) -> str:
    """Mark the words. The text before the first and after the last word belongs to the excerpt at the
    ends."""
    begin = 0 if span.start == 0 else word_tokens[span.start].start
    end = len(text) if span.stop == len(word_tokens) else word_tokens[span.stop - 1].stop
    parts, at = [CUT if begin else ""], begin
    for place in sorted(marked):
        token = word_tokens[place]
        parts += [_escape(text[at : token.start], how), how.before]
        parts += [_escape(text[token.start : token.stop], how), how.after]
        at = token.stop
    return "".join([*parts, _escape(text[at:end], how), CUT if end < len(text) else ""])


def _escape(text: str, how: Highlight) -> str:
    return html.escape(text) if how.escape else text
