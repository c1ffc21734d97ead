"""Words in 100,000 documents of 40 words, beside SQLite's FTS5 over a table of its own (external content).

Words are drawn by Zipf's law. Each question is for other words each time, and gives the 20 best: with *rows*,
all columns of them, otherwise their ids and scores. Both rank by BM25, with different ideas of how rare a
word is; what is compared is which documents match at all, and that the best are among them. *After a small
commit* changes a document, untimed, and searches then. *Build* drops the index, untimed, and makes it of the
rows, without waiting for the disk.
"""

from __future__ import annotations

import itertools
import os
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from core import Store, col
from core.store import Table
from tests.bench.asking.model import LAMELLA, Goal, Question, Questions, Suite

WORDS, VOCABULARY, BEST, TURNS = 40, 30_000, 20, 10
YEARS = 40
FROM, TO = 2000, 2003
COMMON, CHANGED = "in 1 of 100 documents", "after a small commit, rows"
IN_LAMELLA = {"stems": "english", "words as they are": None}
IN_FTS5 = {"stems": "porter unicode61", "words as they are": "unicode61"}


@dataclass(frozen=True)
class Words:
    """What is typed here and there, about words from the `first` commonest on."""

    first: int
    typed: str
    fts5: str

    def turns(self) -> list[int]:
        return list(range(self.first, self.first + TURNS))


SEARCHES = {
    f"a word {COMMON}": Words(300, "w{0}", "w{0}"),
    "a word in most documents": Words(2, "w{0}", "w{0}"),
    "a rare word": Words(29_000, "w{0}", "w{0}"),
    "one of two words": Words(300, "w{0} w40", "w{0} OR w40"),
    "two words": Words(300, "w{0} and w40", "w{0} AND w40"),
    "a phrase": Words(20, '"w{0} w{1}"', '"w{0} w{1}"'),
    "a phrase of the commonest words": Words(2, '"w{0} w{1}"', '"w{0} w{1}"'),
    "a prefix": Words(290, "w{0}*", "w{0}*"),
}


def make(folder: Path, rows: int) -> None:
    """`changing` is what small commits go to."""
    texts, years = _documents(rows), [1985 + number % YEARS for number in range(rows)]
    with Store.open(folder / "store") as store:
        for name in ("docs", "changing"):
            table = store.create_table(name, {"text": texts, "year": years})
            table.create_index("text", kind="fulltext", language=None)
    connection = sqlite3.connect(folder / "docs.sqlite")
    for name in ("docs", "changing"):
        connection.execute(f"CREATE TABLE {name} (_id INTEGER PRIMARY KEY, text TEXT, year INTEGER)")
        values = zip(range(rows), texts, years, strict=True)
        connection.executemany(f"INSERT INTO {name} VALUES (?, ?, ?)", values)
        _make_fts5(connection, name)
    connection.execute(
        "CREATE TRIGGER changed AFTER UPDATE ON changing BEGIN"
        " INSERT INTO changing_words (changing_words, rowid, text) VALUES ('delete', old._id, old.text);"
        " INSERT INTO changing_words (rowid, text) VALUES (new._id, new.text); END"
    )
    connection.commit()
    connection.close()


def _documents(rows: int) -> list[str]:
    random = np.random.default_rng(7)
    weights = 1 / np.arange(1, VOCABULARY + 1)
    drawn = random.choice(VOCABULARY, size=(rows, WORDS), p=weights / weights.sum())
    return [" ".join(f"w{number}" for number in document) for document in drawn.tolist()]


def _make_fts5(connection: sqlite3.Connection, name: str, tokenize: str = "unicode61") -> None:
    connection.execute(
        f"CREATE VIRTUAL TABLE {name}_words"
        f" USING fts5(text, content='{name}', content_rowid='_id', tokenize='{tokenize}')"
    )
    connection.execute(f"INSERT INTO {name}_words ({name}_words) VALUES ('rebuild')")
    connection.commit()


def _compared(best: Sequence[int], matching: Sequence[int]) -> list[tuple[int, ...]]:
    """How many match, a sum of their ids, and how many of the best are among them."""
    return [(len(matching), sum(matching), len(set(best).intersection(matching)))]


# ------------------------------------------------------------------- Lamella


def lamella(folder: Path) -> Questions:
    store = Store.open(folder / "store")
    table, changing = store["docs"], store["changing"]
    search, told = partial(_search, table), partial(_told, table)
    asked = {}
    for name, words in SEARCHES.items():
        asked[name] = Question(partial(search, words, []), words.turns(), told=partial(told, words, None))
    common, within = SEARCHES[f"a word {COMMON}"], col("year").between(FROM, TO)
    rows = partial(search, common, None)
    asked["rows"] = Question(rows, common.turns(), told=partial(told, common, None))
    filtered = partial(search, common, None, where=within)
    asked["with a filter, rows"] = Question(filtered, common.turns(), told=partial(told, common, within))
    asked[CHANGED] = Question(
        partial(changing.search, "w300", limit=BEST),
        before=partial(_change, changing, itertools.count()),
        told=lambda answer: _told(changing, common, None, answer, common.first),
    )
    for name, language in IN_LAMELLA.items():
        asked[f"build, {name}"] = Question(
            partial(table.create_index, "text", kind="fulltext", language=language),
            before=partial(table.drop_index, "text", kind="fulltext"),
            told=lambda _: _told(table, common, None, search(common, [], common.first), common.first),
        )
    return asked


def _search(
    table: Table, words: Words, columns: list[str] | None, number: int, where: Any = None
) -> pa.Table:
    return table.search(words.typed.format(number, number + 1), columns, where, BEST)


def _told(table: Table, words: Words, where: Any, answer: pa.Table, number: int) -> list[tuple[int, ...]]:
    matching = table.search(words.typed.format(number, number + 1), [], where, limit=None)
    return _compared(answer["_id"].to_pylist(), matching["_id"].to_pylist())


def _change(table: Table, numbers: itertools.count[int]) -> None:
    table.update([{"_id": next(numbers), "text": _changed()}])


def _changed() -> str:
    """Another one in every process."""
    return f"w300 in process {os.getpid()}"


# -------------------------------------------------------------------- SQLite


def sqlite(folder: Path) -> Questions:
    connection = sqlite3.connect(folder / "docs.sqlite")
    connection.execute("PRAGMA synchronous = OFF")
    search, told = partial(_find, connection), partial(_found, connection)
    asked = {}
    for name, words in SEARCHES.items():
        asked[name] = Question(partial(search, IDS, words), words.turns(), told=partial(told, IDS, words))
    common = SEARCHES[f"a word {COMMON}"]
    for name, select in (("rows", ROWS), ("with a filter, rows", FILTERED)):
        ask = partial(search, select, common)
        asked[name] = Question(ask, common.turns(), told=partial(told, select, common))
    after = IDS.replace("docs", "changing"), ROWS.replace("docs", "changing")
    asked[CHANGED] = Question(
        lambda: _find(connection, after[1], common, common.first),
        before=partial(_change_row, connection, itertools.count()),
        told=lambda answer: _found(connection, after[0], common, answer, common.first),
    )
    for name, tokenize in IN_FTS5.items():
        asked[f"build, {name}"] = Question(
            partial(_make_fts5, connection, "docs", tokenize),
            before=lambda: connection.execute("DROP TABLE docs_words"),
            told=lambda _: told(IDS, common, search(IDS, common, common.first), common.first),
        )
    return asked


IDS = "SELECT rowid, rank FROM docs_words WHERE docs_words MATCH ?"
ROWS = "SELECT docs.*, rank FROM docs_words JOIN docs ON _id = docs_words.rowid WHERE docs_words MATCH ?"
FILTERED = f"{ROWS} AND year BETWEEN {FROM} AND {TO}"


def _find(connection: sqlite3.Connection, select: str, words: Words, number: int) -> list[Any]:
    best = f"{select} ORDER BY rank LIMIT {BEST}"
    return connection.execute(best, (words.fts5.format(number, number + 1),)).fetchall()


def _found(
    connection: sqlite3.Connection, select: str, words: Words, answer: list[Any], number: int
) -> list[tuple[int, ...]]:
    matching = connection.execute(select, (words.fts5.format(number, number + 1),))
    return _compared([row[0] for row in answer], [row[0] for row in matching])


def _change_row(connection: sqlite3.Connection, numbers: itertools.count[int]) -> None:
    connection.execute("UPDATE changing SET text = ? WHERE _id = ?", (_changed(), next(numbers)))
    connection.commit()


GOALS = {
    **{name: Goal(0.5) for name in SEARCHES if " word " in f"{name} "},
    **{name: Goal(5) for name in SEARCHES if "phrase" in name},
    "rows": Goal(2),
    **{f"build, {name}": Goal(500) for name in IN_LAMELLA},
}
TEXT = Suite("text", __doc__ or "", 100_000, make, {LAMELLA: lamella, "SQLite FTS5": sqlite}, GOALS)
