"""SQLite's FTS5 over a table of its own: an index with external content, as its documentation calls it."""

from __future__ import annotations

from functools import partial
from typing import Any

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
from lamella.core.bench.questions.backend import Question, Questions
from lamella.core.bench.questions.sqlite import SQLiteQuestions
from lamella.core.bench.workloads.entity_text import AFTER_COMMIT, BEST, COMMON, FILTERED, ROWS, STEMS, WORDS

TOKENIZERS = {STEMS: "porter unicode61", WORDS: "unicode61"}
IDS = "SELECT rowid, rank FROM docs_words WHERE docs_words MATCH ?"
ALL = "SELECT docs.*, rank FROM docs_words JOIN docs ON _id = docs_words.rowid WHERE docs_words MATCH ?"
WITHIN = f"{ALL} AND year BETWEEN {FROM} AND {TO}"
CHANGING = ALL.replace("docs", "changing")
KEEP_UP = """
CREATE TRIGGER changed AFTER UPDATE ON changing BEGIN
  INSERT INTO changing_words (changing_words, rowid, text) VALUES ('delete', old._id, old.text);
  INSERT INTO changing_words (rowid, text) VALUES (new._id, new.text);
END
"""


class FTS5Text(SQLiteQuestions):
    id = "sqlite-fts5"

    @property
    def columns(self) -> int:
        return 2

    def fill(self, rows: int) -> None:
        """`changing` is what small commits go to."""
        self.open(writing=True)
        made = documents(rows)
        for name in ("docs", "changing"):
            self.add_table(name, {"text": "TEXT", "year": "INTEGER"}, made)
        self._index("changing", TOKENIZERS[WORDS])
        self.ask(KEEP_UP)
        self.close()

    def questions(self) -> Questions:
        common = SEARCHES[COMMON]
        return {
            **{name: self._search(IDS, words) for name, words in SEARCHES.items()},
            **{name: self._build(tokenizer) for name, tokenizer in TOKENIZERS.items()},
            ROWS: self._search(ALL, common),
            FILTERED: self._search(WITHIN, common),
            AFTER_COMMIT: self._after_commit(common),
        }

    def _search(self, select: str, words: Words) -> Question:
        return Question(
            partial(self._best, select, words), words.turns(), told=partial(self._told, select, words)
        )

    def _after_commit(self, words: Words) -> Question:
        ((rows,),) = self.ask("SELECT max(_id) + 1 FROM changing")
        waiting = iter(commits(rows))
        return Question(
            lambda _: self._best(CHANGING, words, words.first),
            commits(rows),
            before=lambda: self._change(next(waiting)),
            told=lambda answer, _: self._told(CHANGING, words, answer, words.first),
        )

    def _build(self, tokenizer: str) -> Question:
        words = SEARCHES[COMMON]
        return Question(
            partial(self._index, "docs", tokenizer),
            before=partial(self.ask, "DROP TABLE IF EXISTS docs_words"),
            told=lambda _: self._told(IDS, words, self._best(IDS, words, words.first), words.first),
        )

    def _index(self, name: str, tokenizer: str) -> None:
        self.ask(
            f"CREATE VIRTUAL TABLE {name}_words"
            f" USING fts5(text, content='{name}', content_rowid='_id', tokenize='{tokenizer}')"
        )
        self.ask(f"INSERT INTO {name}_words ({name}_words) VALUES ('rebuild')")
        self._connection.commit()

    def _change(self, number: int) -> None:
        self.ask("UPDATE changing SET text = ? WHERE _id = ?", CHANGED.format(number), number)
        self._connection.commit()

    def _best(self, select: str, words: Words, number: int) -> list[Any]:
        return self.ask(f"{select} ORDER BY rank LIMIT {BEST}", words.fts5.format(number, number + 1))

    def _told(self, select: str, words: Words, answer: list[Any], number: int) -> list[tuple[int, ...]]:
        matching = self.ask(select, words.fts5.format(number, number + 1))
        return compared([row[0] for row in answer], [row[0] for row in matching])
