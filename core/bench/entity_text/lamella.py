"""Full-text indexes of Lamella's."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import pyarrow as pa

from lamella.core.bench.backends.lamella import LamellaStore
from lamella.core.bench.entity_text.data import (
    CHANGED,
    FROM,
    SEARCHES,
    TO,
    Words,
    commits,
    compared,
    documents,
)
from lamella.core.bench.questions.backend import Question, QuestionBackend, Questions
from lamella.core.bench.workloads.entity_text import AFTER_COMMIT, BEST, COMMON, FILTERED, ROWS, STEMS, WORDS
from lamella.core.filters import col
from lamella.core.filters.expr import Filter
from lamella.core.store import Table

LANGUAGES: Mapping[str, str | None] = {STEMS: "english", WORDS: None}


class LamellaText(LamellaStore, QuestionBackend):
    @property
    def columns(self) -> int:
        return 2

    def fill(self, rows: int) -> None:
        """`changing` is what small commits go to."""
        self.open(writing=True)
        made = documents(rows)
        for name in ("docs", "changing"):
            self._store.create_table(name, made)
        self._store["changing"].create_index("text", kind="fulltext", language=None)
        self.close()

    def questions(self) -> Questions:
        table = self._store["docs"]
        common, within = SEARCHES[COMMON], col("year").between(FROM, TO)
        return {
            **{name: _search(table, words, []) for name, words in SEARCHES.items()},
            **{name: _build(table, language) for name, language in LANGUAGES.items()},
            ROWS: _search(table, common, None),
            FILTERED: _search(table, common, None, within),
            AFTER_COMMIT: _after_commit(self._store["changing"], common),
        }


def _search(table: Table, words: Words, columns: list[str] | None, where: Filter | None = None) -> Question:
    return Question(
        partial(_best, table, words, columns, where), words.turns(), told=partial(_told, table, words, where)
    )


def _after_commit(table: Table, words: Words) -> Question:
    waiting = iter(commits(table.num_rows))
    return Question(
        lambda _: _best(table, words, None, None, words.first),
        commits(table.num_rows),
        before=lambda: _change(table, next(waiting)),
        told=lambda answer, _: _told(table, words, None, answer, words.first),
    )


def _build(table: Table, language: str | None) -> Question:
    words = SEARCHES[COMMON]
    return Question(
        partial(table.create_index, "text", kind="fulltext", language=language),
        before=partial(_drop, table),
        told=lambda _: _told(table, words, None, _best(table, words, [], None, words.first), words.first),
    )


def _drop(table: Table) -> None:
    if table.indexes:
        table.drop_index("text", kind="fulltext")


def _best(
    table: Table, words: Words, columns: list[str] | None, where: Filter | None, number: int
) -> pa.Table:
    return table.search(words.lamella.format(number, number + 1), columns, where, BEST)


def _told(
    table: Table, words: Words, where: Filter | None, answer: pa.Table, number: int
) -> list[tuple[Any, ...]]:
    matching = table.search(words.lamella.format(number, number + 1), [], where, limit=None)
    return compared(answer["_id"].to_pylist(), matching["_id"].to_pylist())


def _change(table: Table, number: int) -> None:
    table.update([{"_id": number, "text": CHANGED.format(number)}])
