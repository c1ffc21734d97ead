"""Related rows among 100,000 titles, 50,000 people and 200,000 entries of their cast, beside SQLite.

Each question is for another row each time. A person has some 20 entries, an entry one title and one person.
SQLite has indexes on the columns that are looked in; Lamella has sorted indexes on the same, or none. *All
people*, *check* and *suggest* go over whole tables.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from core import Store, col
from core.store import Table
from tests.bench.asking.model import LAMELLA, Goal, Question, Questions, Suite

FEW, ASKED, PAGE = 20, 30, 10
INDEXED = (("cast", "title"), ("cast", "person"), ("titles", "code"))
ENTRY = ["_id", "title", "person", "billing", "role"]
SQL_TYPES = {int: "INTEGER", float: "REAL", str: "TEXT"}
"""Without them SQLite uses no index where it compares with an integer key."""
TITLE = ["_id", "code", "name", "year", "rating"]
PERSON = ["_id", "name", "born"]


def make(folder: Path, rows: int) -> None:
    data = _data(rows)
    for place in ("store", "plain"):
        with Store.open(folder / place) as store:
            for name, columns in data.items():
                store.create_table(name, columns)
            store.relate("cast.title", "titles.code")
            store.relate("cast.person", "people._id")
            for name, column in INDEXED if place == "store" else ():
                store[name].create_index(column)
    connection = sqlite3.connect(folder / "films.sqlite")
    for name, columns in data.items():
        declared = ", ".join(f"{column} {SQL_TYPES[type(values[0])]}" for column, values in columns.items())
        connection.execute(f'CREATE TABLE "{name}" (_id INTEGER PRIMARY KEY, {declared})')
        marks = ", ".join("?" * (1 + len(columns)))
        values = ((number, *row) for number, row in enumerate(zip(*columns.values(), strict=True)))
        connection.executemany(f'INSERT INTO "{name}" VALUES ({marks})', values)
    for name, column in INDEXED:
        connection.execute(f'CREATE INDEX {name}_{column} ON "{name}" ({column})')
    connection.commit()
    connection.close()


def _data(titles: int) -> dict[str, dict[str, list[Any]]]:
    """The first fifth of the cast is of the busy people, so that each has some 20 entries."""
    random = np.random.default_rng(1)
    people, cast, busy = titles // 2, titles * 2, _busy(titles)
    codes = [f"tt{number:07d}" for number in random.permutation(titles).tolist()]
    person = random.integers(0, people, cast)
    person[: cast // 5] = random.integers(0, busy, cast // 5)
    return {
        "titles": {
            "code": codes,
            "name": [f"Title number {number}" for number in range(titles)],
            "year": random.integers(1920, 2026, titles).tolist(),
            "rating": (random.random(titles) * 10).tolist(),
        },
        "people": {
            "name": [f"Person number {number}" for number in range(people)],
            "born": random.integers(1900, 2010, people).tolist(),
        },
        "cast": {
            "title": [codes[number] for number in random.integers(0, titles, cast).tolist()],
            "person": person.tolist(),
            "billing": random.integers(1, 30, cast).tolist(),
            "role": [f"Role {number % 977}" for number in range(cast)],
        },
    }


def _busy(titles: int) -> int:
    return titles // 50


def _some(most: int) -> list[int]:
    drawn: list[int] = np.random.default_rng(2).integers(0, most, ASKED).tolist()
    return drawn


# ------------------------------------------------------------------- Lamella


def lamella(folder: Path) -> Questions:
    return _lamella(Store.open(folder / "store", read_only=True))


def plain(folder: Path) -> Questions:
    return _lamella(Store.open(folder / "plain", read_only=True))


def _lamella(store: Store) -> Questions:
    titles, people, cast = store["titles"], store["people"], store["cast"]
    of_people, of_cast = _some(_busy(titles.num_rows)), _some(cast.num_rows)
    few = col("billing") < 9
    entries = partial(people.related, to="cast", columns=ENTRY)
    return {
        "a person's entries, 20 rows": Question(partial(entries, limit=FEW), of_people),
        "a person's entries, sorted": Question(partial(entries, sort=["billing"], limit=FEW), of_people),
        "a person's entries, filtered": Question(partial(entries, where=few), of_people),
        "a person's entries, first page": Question(partial(_page, people), of_people),
        "a person's entries, next page": Question(_next_page(people, of_people), of_people),
        "a title's entries": Question(
            lambda number: titles.related(number, "cast", ENTRY), _some(titles.num_rows)
        ),
        "an entry's title": Question(lambda number: cast.related(number, "titles", TITLE), of_cast),
        "an entry's person": Question(lambda number: cast.related(number, "people", PERSON), of_cast),
        "counts of 20 people": Question(
            lambda number: people.related_counts(range(number, number + FEW), "cast"), of_people
        ),
        "counts of all people": lambda: people.related_counts(range(people.num_rows), "cast"),
        "check both relations": Question(
            store.check_relations,
            told=lambda checks: [(each.relation.name, each.dangling) for each in checks],
        ),
        "suggest relations": Question(
            store.suggest_relations, told=lambda found: [(each.ends,) for each in found]
        ),
    }


def _page(people: Table, number: int, after: str | None = None) -> Any:
    return people.related_page(number, "cast", PAGE, after, ENTRY).rows


def _next_page(people: Table, numbers: list[int]) -> Callable[[int], Any]:
    """Where the first page ended is found out before the clock runs."""
    ends = {number: people.related_page(number, "cast", PAGE, columns=["_id"]).next for number in numbers}
    return lambda number: _page(people, number, ends[number])


# -------------------------------------------------------------------- SQLite


def sqlite(folder: Path) -> Questions:
    connection = sqlite3.connect(folder / "films.sqlite")

    def ask(sql: str) -> Callable[..., list[Any]]:
        return lambda *number: connection.execute(sql, number).fetchall()

    def count(name: str) -> int:
        return int(ask(f'SELECT count(*) FROM "{name}"')()[0][0])

    of_people, of_cast = _some(_busy(count("titles"))), _some(count("cast"))
    entries = 'SELECT * FROM "cast" WHERE person = ?'
    page = f"ORDER BY _id LIMIT {PAGE}"
    ends = {number: ask(f"{entries} {page}")(number)[-1][0] for number in of_people}
    behind = ask(f"{entries} AND _id > ? {page}")
    entry = 'SELECT {} FROM "cast" WHERE _id = ?'
    counts = 'SELECT _id, (SELECT count(*) FROM "cast" WHERE person = people._id) FROM people'
    return {
        "a person's entries, 20 rows": Question(ask(f"{entries} LIMIT {FEW}"), of_people),
        "a person's entries, sorted": Question(
            ask(f"{entries} ORDER BY billing, _id LIMIT {FEW}"), of_people
        ),
        "a person's entries, filtered": Question(ask(f"{entries} AND billing < 9"), of_people),
        "a person's entries, first page": Question(ask(f"{entries} {page}"), of_people),
        "a person's entries, next page": Question(lambda number: behind(number, ends[number]), of_people),
        "a title's entries": Question(
            ask('SELECT * FROM "cast" WHERE title = (SELECT code FROM titles WHERE _id = ?)'),
            _some(count("titles")),
        ),
        "an entry's title": Question(
            ask(f"SELECT * FROM titles WHERE code = ({entry.format('title')})"), of_cast
        ),
        "an entry's person": Question(
            ask(f"SELECT * FROM people WHERE _id = ({entry.format('person')})"), of_cast
        ),
        "counts of 20 people": Question(
            lambda number: ask(f"{counts} WHERE _id BETWEEN ? AND ?")(number, number + FEW - 1), of_people
        ),
        "counts of all people": ask(counts),
        "check both relations": lambda: [
            (f"cast_{column}", ask(_dangling(column, of, key))()[0][0])
            for column, of, key in (("title", "titles", "code"), ("person", "people", "_id"))
        ],
    }


def _dangling(column: str, of: str, key: str) -> str:
    there = f'SELECT 1 FROM {of} WHERE {of}.{key} = "cast".{column}'
    return f'SELECT count(*) FROM "cast" WHERE {column} IS NOT NULL AND NOT EXISTS ({there})'


FOLLOWED = ("20 rows", "sorted", "filtered", "first page", "next page")
GOALS = {
    **{f"a person's entries, {how}": Goal(2) for how in FOLLOWED},
    **dict.fromkeys(("a title's entries", "an entry's title", "an entry's person"), Goal(2)),
}
SYSTEMS = {LAMELLA: lamella, "Lamella, no index": plain, "SQLite, indexes": sqlite}
RELATIONS = Suite("relations", __doc__ or "", 100_000, make, SYSTEMS, GOALS)
