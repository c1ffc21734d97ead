"""Words in documents: the tables about full text on ParqueDB's page."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from lamella.core.bench.systems.base import Question, Questions, QuestionSystem
from lamella.core.bench.workloads.model import Check, Operation, Workload

BEST = 20

SEARCH_TITLES: Mapping[str, tuple[str, str]] = {
    "single_term": ("Single term", "searches {rows} for a word that 1 in 100 contains"),
    "common_term": ("Common term", "searches {rows} for a word that most contain"),
    "rare_term": ("Rare term", "searches {rows} for a rare word"),
    "either_term": ("One of two terms", "searches {rows} for one of two words"),
    "two_terms": ("Two terms", "searches {rows} for two words"),
    "phrase": ("Phrase", "searches {rows} for a phrase"),
    "common_phrase": ("Phrase of common terms", "searches {rows} for a phrase of the commonest words"),
    "prefix": ("Prefix", "searches {rows} for the beginning of words"),
}
"""Titles and sentences."""

COMMON = "single_term"
"""The search of the questions about rows."""

ROWS, FILTERED, AFTER_COMMIT = "single_term_rows", "filtered_rows", "after_commit_rows"
STEMS, WORDS = "build_stems", "build_words"
_IDS = f"Other words each time; the ids and scores of the {BEST} best."
_ROWS = f"All columns of the {BEST} best."
_BUILD_TEXT = (
    "Create an index of stored documents; dropping it first is not timed. Lamella and SQLite do not wait "
)
_BUILD_TEXT += "for the disk: Lamella rebuilds an index that a crash damaged. "

_OPERATIONS = (
    Operation(
        STEMS,
        "Build, English stems",
        "indexes the stems in {rows}",
        _BUILD_TEXT + "Words by stems.",
        resizes=True,
    ),
    Operation(WORDS, "Build", "indexes the words in {rows}", _BUILD_TEXT + "Words as written.", resizes=True),
    *(Operation(name, title, sentence, _IDS) for name, (title, sentence) in SEARCH_TITLES.items()),
    Operation(
        ROWS, "Single term, rows", "finds the rows of a word among {rows}", f"Other words each time. {_ROWS}"
    ),
    Operation(
        FILTERED,
        "Single term and filter, rows",
        "finds the rows of a word and some years among {rows}",
        f"Only documents of four out of forty years. Other words each time. {_ROWS}",
    ),
    Operation(
        AFTER_COMMIT,
        "Single term after a small commit, rows",
        "finds the rows of a word among {rows} after a small commit",
        f"A document was changed just before, untimed. {_ROWS}",
    ),
)

ENTITY_TEXT = Workload(
    id="entity-text",
    title="Full text",
    about="Documents of 40 words, drawn by Zipf's law from 30,000. All systems rank by BM25, but estimate "
    "the rarity of a word differently. So the check compares which documents match, and that the best are "
    "among them.",
    steps=("fill", *(operation.id for operation in _OPERATIONS)),
    operations=_OPERATIONS,
    default_rows=(10_000, 50_000, 100_000),
    default_repeats=5,
    family="entity-text",
    check=Check.AGREED,
    small_rows=(2_000,),
    published_rows=(10_000, 50_000, 100_000),
)

LENGTH, VOCABULARY = 40, 30_000
YEARS, FROM, TO = 40, 2000, 2003
TURNS, COMMITS = 10, 9

CHANGED_TEXT = "w300 in commit {0}"
"""The text that a small commit writes to a document."""


@dataclass(frozen=True)
class Words:
    """A search as it is typed in Lamella, FTS5 and tantivy, for words from the `first` commonest on."""

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
"""Searches by operation."""


def documents(rows: int) -> dict[str, list[str] | list[int]]:
    random = np.random.default_rng(7)
    weights = 1 / np.arange(1, VOCABULARY + 1)
    words = random.choice(VOCABULARY, size=(rows, LENGTH), p=weights / weights.sum())
    return {
        "text": [" ".join(f"w{number}" for number in document) for document in words.tolist()],
        "year": [1985 + number % YEARS for number in range(rows)],
    }


def changed_documents(rows: int) -> list[int]:
    """Return the documents that are changed one after another, in a commit each."""
    return [number % rows for number in range(COMMITS)]


def compare_ids(best: Sequence[int], matching: Sequence[int]) -> list[tuple[int, ...]]:
    """Return how many match, the sum of their ids, and how many of the best are among them."""
    return [(len(matching), sum(matching), len(set(best).intersection(matching)))]


class TextSystem(QuestionSystem):
    """A system with full-text search. `asks` is the operation: ROWS and AFTER_COMMIT return whole rows,
    FILTERED those of some years, and all others ids and scores.

    `syntax` is the field of `Words` with the system's own form; `tokenizers` are by the operation that builds
    the index.
    """

    columns = 2
    syntax: ClassVar[str]
    tokenizers: ClassVar[Mapping[str, Any]]

    @abstractmethod
    def best(self, asks: str, text: str) -> Any:
        """Return the `BEST` best documents."""

    @abstractmethod
    def matching(self, asks: str, text: str) -> Sequence[int]:
        """Return the ids of all documents that match."""

    @abstractmethod
    def ids(self, answer: Any) -> Sequence[int]:
        """Return the ids in an answer of `best`."""

    @abstractmethod
    def build(self, tokenizer: Any) -> None: ...

    @abstractmethod
    def drop(self) -> None:
        """Drop an index; not timed."""

    def change(self, number: int) -> None:
        """Change a document's text to `CHANGED_TEXT`, in one commit."""
        raise NotImplementedError

    def changing(self) -> int:
        """Return the number of documents that small commits can change."""
        raise NotImplementedError

    def questions(self) -> Questions:
        common = SEARCHES[COMMON]
        by_name = {
            **{name: self._search(name, words) for name, words in SEARCHES.items()},
            **{name: self._build(tokenizer) for name, tokenizer in self.tokenizers.items()},
            ROWS: self._search(ROWS, common),
            FILTERED: self._search(FILTERED, common),
        }
        if AFTER_COMMIT not in self.cannot:
            by_name[AFTER_COMMIT] = self._after_commit(common)
        return by_name

    def _search(self, asks: str, words: Words) -> Question:
        return Question(
            partial(self._best, asks, words),
            words.turns(),
            comparable=partial(self._compare_ids, asks, words),
        )

    def _after_commit(self, words: Words) -> Question:
        numbers = changed_documents(self.changing())
        waiting = iter(numbers)
        return Question(
            lambda _: self._best(AFTER_COMMIT, words, words.first),
            numbers,
            before=lambda: self.change(next(waiting)),
            comparable=lambda answer, _: self._compare_ids(AFTER_COMMIT, words, answer, words.first),
        )

    def _build(self, tokenizer: Any) -> Question:
        words = SEARCHES[COMMON]

        def comparable(_: Any) -> Any:
            return self._compare_ids(COMMON, words, self._best(COMMON, words, words.first), words.first)

        return Question(partial(self.build, tokenizer), before=self.drop, comparable=comparable)

    def _best(self, asks: str, words: Words, number: int) -> Any:
        return self.best(asks, self._text(words, number))

    def _compare_ids(self, asks: str, words: Words, answer: Any, number: int) -> list[tuple[int, ...]]:
        return compare_ids(self.ids(answer), self.matching(asks, self._text(words, number)))

    def _text(self, words: Words, number: int) -> str:
        text: str = getattr(words, self.syntax)
        return text.format(number, number + 1)
