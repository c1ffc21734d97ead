"""Full text over 100,000 documents of 40 words: tantivy, SQLite's FTS5 and a table's index, turn by turn.

    python tests/bench/fulltext_bench.py [documents] [rounds]

Prints medians: building the index, the best 20 for a search, and the same with the rows of the table. FTS5
answers with numbers of rows alone: "positions" is what compares with it.
"""

from __future__ import annotations

import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import tantivy

from core import Store
from core.index.fulltext.analysis import FROM_TEXT, analyzer
from core.index.fulltext.reading import read
from core.index.fulltext.searching import search
from core.jobs import Job
from core.store import Table

WORDS, VOCABULARY, BEST = 40, 30_000, 20
SEARCHES = {
    "one word": "w300",
    "rare word": "w29000",
    "common word": "w3",
    "two words": "w300 w40",
    "and": "w300 and w40",
    "phrase": '"w20 w21"',
    "prefix": "w299*",
    "near": "w2999~1",
}
FTS5 = {"one word": "w300", "rare word": "w29000", "common word": "w3", "two words": "w300 OR w40",
        "and": "w300 AND w40", "phrase": '"w20 w21"', "prefix": "w299*"}  # fmt: skip


def documents(count: int) -> list[str]:
    """Words by Zipf's law, with endings that stemming takes off."""
    generator = np.random.default_rng(7)
    weights = 1 / np.arange(1, VOCABULARY + 1)
    numbers = generator.choice(VOCABULARY, size=(count, WORDS), p=weights / weights.sum())
    return [" ".join(f"w{number}" for number in row) for row in numbers.tolist()]


def milliseconds(work: Callable[[], object], times: int = 1) -> float:
    started = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - started) * 1e3 / times


def build_tantivy(texts: list[str], folder: str) -> None:
    schema = tantivy.SchemaBuilder().add_text_field("t", tokenizer_name=FROM_TEXT).build()
    index = tantivy.Index(schema, path=folder)
    index.register_tokenizer(FROM_TEXT, analyzer())
    writer = index.writer(256_000_000, 1)
    for text in texts:
        document = tantivy.Document()
        document.add_text("t", text)
        writer.add_document(document)
    writer.commit()
    writer.wait_merging_threads()


def build_fts5(texts: list[str], folder: str) -> sqlite3.Connection:
    connection = sqlite3.connect(Path(folder, "fts.sqlite"))
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("CREATE VIRTUAL TABLE t USING fts5(text)")
    connection.executemany("INSERT INTO t (text) VALUES (?)", ((text,) for text in texts))
    connection.commit()
    return connection


def positions(table: Table, text: str) -> object:
    """The best rows of a table, without their columns."""
    snapshot, opened = table.snapshot(), table._reader.indexes
    node = read(text, table.name, ["text"])
    return search(snapshot, opened.listed[0], opened.fulltext, node, BEST, None, Job())


def ask_fts5(connection: sqlite3.Connection, text: str) -> object:
    statement = "SELECT rowid FROM t WHERE t MATCH ? ORDER BY rank LIMIT ?"
    return connection.execute(statement, (text, BEST)).fetchall()


def compare_builds(table: Table, texts: list[str], rounds: int) -> None:
    built: dict[str, list[float]] = {"tantivy": [], "FTS5": [], "index, no stems": [], "index": []}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as own:
            built["tantivy"].append(milliseconds(partial(build_tantivy, texts, own)))
            built["FTS5"].append(milliseconds(lambda folder=own: build_fts5(texts, folder).close()))
        for name, language in (("index, no stems", None), ("index", "english")):
            for index in table.indexes:
                table.drop_index(index.columns, kind="fulltext")
            make = partial(table.create_index, "text", kind="fulltext", language=language)
            built[name].append(milliseconds(make))
    print("\n".join(f"build, {name:<20}{statistics.median(times):9.0f}" for name, times in built.items()))


def compare_searches(table: Table, connection: sqlite3.Connection, rounds: int) -> None:
    print(f"\n{'':14}{'positions':>12}{'FTS5':>12}{'with rows':>12}")
    for name, text in SEARCHES.items():
        works = {"positions": partial(positions, table, text)}
        if name in FTS5:
            works["FTS5"] = partial(ask_fts5, connection, FTS5[name])
        works["with rows"] = partial(table.search, text, limit=BEST)
        taken: dict[str, list[float]] = {work: [] for work in works}
        for _ in range(rounds * 5):
            for work, do in works.items():
                taken[work].append(milliseconds(do))
        columns = ("positions", "FTS5", "with rows")
        shown = [f"{statistics.median(taken[c]):12.3f}" if c in taken else f"{'':12}" for c in columns]
        print(f"{name:<14}{''.join(shown)}")


def main(count: int = 100_000, rounds: int = 5) -> None:
    texts = documents(count)
    print(f"{count:,} documents of {WORDS} words, medians of {rounds} or more, milliseconds\n")
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder, "s")) as store:
        table = store.create_table("t", {"text": texts, "n": list(range(count))})
        table.flush()
        compare_builds(table, texts, rounds)
        print(f"first search{milliseconds(partial(positions, table, 'w300')):24.2f}")
        connection = build_fts5(texts, folder)
        compare_searches(table, connection, rounds)
        connection.close()
        changed = []
        for row in range(rounds * 3):
            table.update([{"_id": row, "text": "w300 changed"}])
            changed.append(milliseconds(partial(table.search, "w300", limit=BEST)))
        print(f"\nafter a small commit, with rows{statistics.median(changed):10.2f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
