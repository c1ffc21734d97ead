"""Words in documents: the full-text tables of ParqueDB's page."""

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
    "single_term": ("Single term", "searches {rows} for a word that 1 in 100 has"),
    "common_term": ("Common term", "searches {rows} for a word that most have"),
    "rare_term": ("Rare term", "searches {rows} for a rare word"),
    "either_term": ("One of two terms", "searches {rows} for one of two words"),
    "two_terms": ("Two terms", "searches {rows} for two words"),
    "phrase": ("Phrase", "searches {rows} for a phrase"),
    "common_phrase": ("Phrase of common terms", "searches {rows} for a phrase of the commonest words"),
    "prefix": ("Prefix", "searches {rows} for how words begin"),
}
"""Titles and sentences."""

COMMON = "single_term"
"""What the questions about rows search for."""

ROWS, FILTERED, AFTER_COMMIT = "single_term_rows", "filtered_rows", "after_commit_rows"
STEMS, WORDS = "build_stems", "build_words"
_IDS = f"Other words each time; the ids and scores of the {BEST} best."
_ROWS = f"All columns of the {BEST} best."
_BUILT = "Make an index that was dropped before, untimed, of documents that are stored already. Lamella and "
_BUILT += "SQLite wait for no disk: Lamella makes anew what a crash damaged. "

_OPERATIONS = (
    Operation(
        STEMS, "Build, English stems", "indexes the stems in {rows}", _BUILT + "Words by stems.", resizes=True
    ),
    Operation(WORDS, "Build", "indexes the words in {rows}", _BUILT + "Words as written.", resizes=True),
    *(Operation(name, title, sentence, _IDS) for name, (title, sentence) in SEARCH_TITLES.items()),
    Operation(
        ROWS, "Single term, rows", "finds the rows of a word among {rows}", f"Other words each time. {_ROWS}"
    ),
    Operation(
        FILTERED,
        "Single term and filter, rows",
        "finds the rows of a word and some years among {rows}",
        f"The documents of four of forty years alone. Other words each time. {_ROWS}",
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
    about="Documents of 40 words, drawn by Zipf's law from 30,000. All systems rank by BM25, with different "
    "ideas of how rare a word is: compared is which documents match at all, and that the best are of them.",
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


def changed_documents(rows: int) -> list[int]:
    """Documents that are changed one after the other, a commit each."""
    return [number % rows for number in range(COMMITS)]


def compare_ids(best: Sequence[int], matching: Sequence[int]) -> list[tuple[int, ...]]:
    """How many match, a sum of their ids, and how many of the best are among them."""
    return [(len(matching), sum(matching), len(set(best).intersection(matching)))]


class TextSystem(QuestionSystem):
    """`asks` is the operation that searches: ROWS and AFTER_COMMIT want whole rows, FILTERED those of some
    years, all others ids and scores.

    `typed` is the field of Words in the system's own form; `tokenizers` are by the operation that builds.
    """

    columns = 2
    typed: ClassVar[str]
    tokenizers: ClassVar[Mapping[str, Any]]

    @abstractmethod
    def best(self, asks: str, text: str) -> Any:
        """As many of the best as BEST says."""

    @abstractmethod
    def matching(self, asks: str, text: str) -> Sequence[int]:
        """The ids of all that match."""

    @abstractmethod
    def ids(self, answer: Any) -> Sequence[int]:
        """Of what `best` gave."""

    @abstractmethod
    def build(self, tokenizer: Any) -> None: ...

    @abstractmethod
    def drop(self) -> None:
        """An index that was built; not timed."""

    def change(self, number: int) -> None:
        """Make CHANGED of one document, in one commit."""
        raise NotImplementedError

    def changing(self) -> int:
        """How many documents there are that small commits go to."""
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
            partial(self._best, asks, words), words.turns(), comparable=partial(self._compared, asks, words)
        )

    def _after_commit(self, words: Words) -> Question:
        numbers = changed_documents(self.changing())
        waiting = iter(numbers)
        return Question(
            lambda _: self._best(AFTER_COMMIT, words, words.first),
            numbers,
            before=lambda: self.change(next(waiting)),
            comparable=lambda answer, _: self._compared(AFTER_COMMIT, words, answer, words.first),
        )

    def _build(self, tokenizer: Any) -> Question:
        words = SEARCHES[COMMON]

        def comparable(_: Any) -> Any:
            return self._compared(COMMON, words, self._best(COMMON, words, words.first), words.first)

        return Question(partial(self.build, tokenizer), before=self.drop, comparable=comparable)

    def _best(self, asks: str, words: Words, number: int) -> Any:
        return self.best(asks, self._text(words, number))

    def _compared(self, asks: str, words: Words, answer: Any, number: int) -> list[tuple[int, ...]]:
        return compare_ids(self.ids(answer), self.matching(asks, self._text(words, number)))

    def _text(self, words: Words, number: int) -> str:
        text: str = getattr(words, self.typed)
        return text.format(number, number + 1)
