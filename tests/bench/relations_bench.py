"""Related rows at 100,000 titles, 50,000 people and 200,000 cast entries, beside SQLite with an index:
`python -m tests.bench.relations_bench [--repeats N]`.

Each figure is the median and the 99th percentile of calls for different rows, after a few that warm up; first
calls after opening the store stand apart. About 20 rows are related where "20 rows" is said.
"""

from __future__ import annotations

import argparse
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from core import Store, col
from core.store import Table

TITLES, PEOPLE, CAST = 100_000, 50_000, 200_000
BUSY = 2_000
"""People that the first fifth of the cast is of: about 20 entries each."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--folder", type=Path, help="where the tables are made, so on which disk")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        data = _data()
        with Store.open(Path(folder) / "store") as store:
            for name, columns in data.items():
                store.create_table(name, columns)
            store.relate("cast.title", "titles.code")
            store.relate("cast.person", "people._id")
        rival = _rival(Path(folder) / "rival.sqlite", data)
        _report("first call after opening", _first_calls(Path(folder) / "store"))
        with Store.open(Path(folder) / "store") as store:
            _report("without an index", _timed(_asked(store), given.repeats))
            for column in ("title", "person"):
                store["cast"].create_index(column)
            store["titles"].create_index("code")
            _report("with sorted indexes", _timed(_asked(store), given.repeats))
            _report("SQLite, indexed", _timed(_asked_of_sqlite(rival), given.repeats))
            _report("whole tables", _timed(_of_all(store), 5))


def _data() -> dict[str, dict[str, Any]]:
    random = np.random.default_rng(1)
    codes = [f"tt{n:07d}" for n in random.permutation(TITLES)]
    person = random.integers(0, PEOPLE, CAST)
    person[: CAST // 5] = random.integers(0, BUSY, CAST // 5)
    return {
        "titles": {
            "code": codes,
            "name": [f"Title number {n}" for n in range(TITLES)],
            "year": random.integers(1920, 2026, TITLES),
            "rating": random.random(TITLES) * 10,
        },
        "people": {
            "name": [f"Person number {n}" for n in range(PEOPLE)],
            "born": random.integers(1900, 2010, PEOPLE),
        },
        "cast": {
            "title": [codes[n] for n in random.integers(0, TITLES, CAST)],
            "person": person,
            "billing": random.integers(1, 30, CAST),
            "role": [f"Role {n % 977}" for n in range(CAST)],
        },
    }


def _rival(path: Path, data: dict[str, dict[str, Any]]) -> sqlite3.Connection:
    connection = sqlite3.connect(path)
    for name, columns in data.items():
        connection.execute(f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, {', '.join(columns)})")
        values = [list(range(len(next(iter(columns.values())))))]
        values += [
            list(column) if isinstance(column, list) else column.tolist() for column in columns.values()
        ]
        marks = ", ".join("?" * len(values))
        connection.executemany(f"INSERT INTO {name} VALUES ({marks})", zip(*values, strict=True))
    for name, column in (("cast", "title"), ("cast", "person"), ("titles", "code")):
        connection.execute(f'CREATE INDEX {name}_{column} ON "{name}" ({column})')
    connection.commit()
    return connection


Call = Callable[[int], object]


def _asked(store: Store) -> dict[str, Call]:
    titles, people, cast = store["titles"], store["people"], store["cast"]
    return {
        "person → cast, 20 rows": lambda n: people.related(n % BUSY, "cast", limit=20),
        "person → cast, sorted": lambda n: people.related(n % BUSY, "cast", sort=["billing"], limit=20),
        "person → cast, filtered": lambda n: people.related(n % BUSY, "cast", where=col("billing") < 9),
        "person → cast, a page": lambda n: people.related_page(n % BUSY, "cast", 10),
        "cast → title": lambda n: cast.related(n, "titles"),
        "cast → person": lambda n: cast.related(n, "people"),
        "title → cast": lambda n: titles.related(n, "cast"),
        "counts of 20 people": lambda n: people.related_counts(range(n % BUSY, n % BUSY + 20), "cast"),
    }


def _asked_of_sqlite(rival: sqlite3.Connection) -> dict[str, Call]:
    def ask(sql: str) -> Call:
        return lambda n: rival.execute(sql, (n % BUSY,)).fetchall()

    entry = '(SELECT {} FROM "cast" WHERE id = ?)'
    return {
        "person → cast, 20 rows": ask('SELECT * FROM "cast" WHERE person = ? LIMIT 20'),
        "person → cast, sorted": ask('SELECT * FROM "cast" WHERE person = ? ORDER BY billing LIMIT 20'),
        "cast → title": ask(f"SELECT * FROM titles WHERE code = {entry.format('title')}"),
        "cast → person": ask(f"SELECT * FROM people WHERE id = {entry.format('person')}"),
        "title → cast": ask('SELECT * FROM "cast" WHERE title = (SELECT code FROM titles WHERE id = ?)'),
    }


def _of_all(store: Store) -> dict[str, Call]:
    people = store["people"]
    return {
        "counts of all people": lambda n: people.related_counts(range(PEOPLE), "cast"),
        "check both relations": lambda n: store.check_relations(),
        "suggest relations": lambda n: store.suggest_relations(),
    }


def _first_calls(path: Path) -> dict[str, list[float]]:
    with Store.open(path) as store:
        people: Table = store["people"]
        return {"person → cast, 20 rows": [_seconds(lambda n: people.related(n, "cast", limit=20), 7)]}


def _timed(calls: dict[str, Call], repeats: int) -> dict[str, list[float]]:
    random = np.random.default_rng(2)
    timed = {}
    for name, call in calls.items():
        numbers = random.integers(0, CAST // 5, repeats + 10).tolist()
        timed[name] = [_seconds(call, n) for n in numbers][10 if repeats > 10 else 0 :]
    return timed


def _seconds(call: Call, number: int) -> float:
    started = time.perf_counter()
    call(number)
    return time.perf_counter() - started


def _report(title: str, timed: dict[str, list[float]]) -> None:
    print(f"\n{title}")
    for name, seconds in timed.items():
        last = sorted(seconds)[int(0.99 * (len(seconds) - 1))]
        print(f"  {name:26} {statistics.median(seconds) * 1e3:9.3f} ms   p99 {last * 1e3:9.3f} ms")


if __name__ == "__main__":
    main()
