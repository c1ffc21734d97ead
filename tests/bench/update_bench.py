"""The time of changes, compared with SQLite: `python -m tests.bench.update_bench [--rows N]`.

Interleaved in one process: every row updated by `_id` and by a key column, from Python dicts and from an
Arrow table, each in a durable commit; SQLite by rowid and by an indexed key, from tuples whose conversion is
not timed, with the journal in memory and without syncing, and in WAL mode with syncing. Then single commits:
one row by `_id` with $set and $inc.
"""

from __future__ import annotations

import argparse
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

from lamella import Store
from lamella.core.store import Table

COLUMNS = 100
NAMES = [f"col{i}" for i in range(COLUMNS)]
SINGLE_COMMITS = 300


class Rival:
    """A SQLite table with a key `k` in addition to its rowid."""

    def __init__(self, path: Path, synced: bool, rows: int) -> None:
        self.connection = sqlite3.connect(path, isolation_level=None)
        mode, level = ("WAL", "FULL") if synced else ("MEMORY", "OFF")
        self.connection.execute(f"PRAGMA journal_mode = {mode}")
        self.connection.execute(f"PRAGMA synchronous = {level}")
        self.connection.execute(f"CREATE TABLE t (id INTEGER PRIMARY KEY, k INTEGER, {', '.join(NAMES)})")
        marks = ", ".join("?" * (COLUMNS + 2))
        values = ((i, i, *([0] * COLUMNS)) for i in range(rows))
        self.connection.execute("BEGIN")
        self.connection.executemany(f"INSERT INTO t VALUES ({marks})", values)
        self.connection.execute("CREATE UNIQUE INDEX by_key ON t (k)")
        self.connection.execute("COMMIT")

    def update(self, column: str, rows: list[tuple[int, ...]]) -> None:
        assigned = ", ".join(f"{name} = ?" for name in NAMES)
        self.connection.execute("BEGIN")
        self.connection.executemany(f"UPDATE t SET {assigned} WHERE {column} = ?", rows)
        self.connection.execute("COMMIT")

    def increment(self, row: int) -> None:
        self.connection.execute("UPDATE t SET col0 = col0 + 1 WHERE id = ?", (row,))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="the folder, and so the disk, for the tables")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        _compare(Path(folder), arguments.rows, arguments.repeats)


def _compare(folder: Path, rows: int, repeats: int) -> None:
    loose = Rival(folder / "loose.sqlite", synced=False, rows=rows)
    synced = Rival(folder / "synced.sqlite", synced=True, rows=rows)
    with Store.open(folder / "store") as store:
        columns = {"k": np.arange(rows)} | {name: np.zeros(rows, np.int64) for name in NAMES}
        tables = {way: store.create_table(way.replace(" ", "_"), columns) for way in _WAYS}
        seconds: dict[str, list[float]] = {}
        for repeat in range(repeats):
            values = np.random.default_rng(repeat).integers(0, 1_000_000, (rows, COLUMNS))
            tuples = [(*row, i) for i, row in enumerate(values.tolist())]
            timed = {
                "SQLite by rowid": lambda t=tuples: loose.update("id", t),
                "SQLite by key": lambda t=tuples: loose.update("k", t),
                "SQLite by rowid, synced": lambda t=tuples: synced.update("id", t),
            }
            for way, (key, form) in _WAYS.items():
                timed[way] = _update(tables[way], key, form(key, values))
            _time(timed, seconds)
        _report(f"update of {rows:,} rows × {COLUMNS}", seconds, "SQLite by rowid")
        _single(synced, store.create_table("single", columns), rows)


def _update(table: Table, key: str, data: object) -> Callable[[], object]:
    return lambda: table.update(data, on=key)


def _as_dicts(key: str, values: np.ndarray) -> list[dict[str, int]]:
    names = [key, *NAMES]
    return [dict(zip(names, (i, *row), strict=True)) for i, row in enumerate(values.tolist())]


def _as_arrow(key: str, values: np.ndarray) -> pa.Table:
    numbers = np.arange(len(values))
    return pa.table({key: numbers} | {n: np.ascontiguousarray(values[:, i]) for i, n in enumerate(NAMES)})


_WAYS: dict[str, tuple[str, Callable[[str, np.ndarray], object]]] = {
    "dicts by _id": ("_id", _as_dicts),
    "dicts by key": ("k", _as_dicts),
    "Arrow by _id": ("_id", _as_arrow),
    "Arrow by key": ("k", _as_arrow),
}


def _single(rival: Rival, table: Table, rows: int) -> None:
    seconds: dict[str, list[float]] = {}
    for row in np.random.default_rng(0).integers(0, rows, SINGLE_COMMITS).tolist():
        _time(
            {
                "SQLite synced": lambda row=row: rival.increment(row),
                "$set": lambda row=row: table.update_where([row], {"$set": {"col1": row + 1}}),
                "$inc": lambda row=row: table.update_where([row], {"$inc": {"col0": 1}}),
            },
            seconds,
        )
    _report("one row by _id, one commit each", seconds, "SQLite synced")


def _time(work: dict[str, Callable[[], object]], seconds: dict[str, list[float]]) -> None:
    for name, run in work.items():
        started = time.perf_counter()
        run()
        seconds.setdefault(name, []).append(time.perf_counter() - started)


def _report(title: str, seconds: dict[str, list[float]], rival: str) -> None:
    base = statistics.median(seconds[rival])
    print(title)
    for name, times in seconds.items():
        median = statistics.median(times)
        print(f"  {name:26} {median * 1000:9.2f} ms   best {min(times) * 1000:9.2f}   ÷ {base / median:5.2f}")


if __name__ == "__main__":
    main()
