"""Made documents, and the words that they are searched for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

LENGTH, VOCABULARY = 40, 30_000
YEARS, FROM, TO = 40, 2000, 2003
TURNS, COMMITS = 10, 9

CHANGED = "w300 in commit {0}"
"""What a small commit makes of a document."""


@dataclass(frozen=True)
class Words:
    """What is typed into Lamella, into FTS5 and into tantivy, about words from the `first` commonest on."""

    first: int
    lamella: str
    fts5: str
    tantivy: str

    def turns(self) -> list[int]:
        return list(range(self.first, self.first + TURNS))


SEARCHES = {
    "single_term": Words(300, "w{0}", "w{0}", "w{0}"),
    "common_term": Words(2, "w{0}", "w{0}", "w{0}"),
    "rare_term": Words(29_000, "w{0}", "w{0}", "w{0}"),
    "either_term": Words(300, "w{0} w40", "w{0} OR w40", "w{0} OR w40"),
    "two_terms": Words(300, "w{0} and w40", "w{0} AND w40", "w{0} AND w40"),
    "phrase": Words(20, '"w{0} w{1}"', '"w{0} w{1}"', '"w{0} w{1}"'),
    "common_phrase": Words(2, '"w{0} w{1}"', '"w{0} w{1}"', '"w{0} w{1}"'),
    "prefix": Words(290, "w{0}*", "w{0}*", "w{0}.*"),
}
"""By operation."""


def documents(rows: int) -> dict[str, list[str] | list[int]]:
    random = np.random.default_rng(7)
    weights = 1 / np.arange(1, VOCABULARY + 1)
    drawn = random.choice(VOCABULARY, size=(rows, LENGTH), p=weights / weights.sum())
    return {
        "text": [" ".join(f"w{number}" for number in document) for document in drawn.tolist()],
        "year": [1985 + number % YEARS for number in range(rows)],
    }


def commits(rows: int) -> list[int]:
    """Documents that are changed one after the other, a commit each."""
    return [number % rows for number in range(COMMITS)]


def compared(best: Sequence[int], matching: Sequence[int]) -> list[tuple[int, ...]]:
    """How many match, a sum of their ids, and how many of the best are among them."""
    return [(len(matching), sum(matching), len(set(best).intersection(matching)))]
