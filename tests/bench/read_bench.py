"""The time to read, compared with SQLite and PyArrow: `python -m tests.bench.read_bench [--rows N]`.

Interleaved in one process: reading everything without pending changes, with 10,000 scattered pending updates,
and with 10,000 scattered deletes, compared with `fetchall` and a PyArrow file with default settings. Then
pages at several depths, and rows by `_id`. Each first query runs in a separate process, also for SQLite.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lamella import Store, col
from lamella.core.arrow.arrays import from_numpy
from lamella.core.store import Table

ROOT = Path(__file__).parents[2]
NAMES = [f"col{i}" for i in range(100)]
SCATTERED = 10_000
PAGE_ROWS = 50
GOT = 500
PAGED: dict[str, dict[str, object]] = {
    "": {},
    ", filtered": {"where": col("col1") > 500_000},
    ", sorted": {"sort": ["col1"]},
}
QUERY = (col("col1") > 100) & (col("col97") < 1_000)
SQL = "SELECT * FROM t WHERE col1 > 100 AND col97 < 1000"
FIRST = {
    "first query, Lamella": "from tests.bench import read_bench; read_bench.first_query('store')",
    "first query, SQLite": "from tests.bench import read_bench; read_bench.first_select('rows.sqlite')",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="the folder, and so the disk, for the tables")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        _make(Path(folder), arguments.rows)
        _first_queries(Path(folder), arguments.repeats)
        _everything(Path(folder), arguments.repeats)
        _single(Path(folder), arguments.rows)


def first_query(folder: str) -> None:
    """Print the seconds of a query in a process that has read nothing yet."""
    with Store.open(folder) as store:
        table = store["plain"]
        _print_seconds(lambda: table.read(where=QUERY))


def first_select(path: str) -> None:
    connection = sqlite3.connect(path)
    _print_seconds(lambda: connection.execute(SQL).fetchall())


def _make(folder: Path, rows: int) -> None:
    random = np.random.default_rng(0)
    data = pa.table({name: from_numpy(random.integers(0, 1_000_000, rows)) for name in NAMES})
    pq.write_table(data, folder / "rows.parquet")
    connection = sqlite3.connect(folder / "rows.sqlite")
    connection.execute(f"CREATE TABLE t ({', '.join(f'{name} INTEGER' for name in NAMES)})")
    marks = ", ".join("?" * len(NAMES))
    for batch in data.to_batches(50_000):
        values = zip(*(column.to_pylist() for column in batch.columns), strict=True)
        connection.executemany(f"INSERT INTO t VALUES ({marks})", values)
    connection.commit()
    connection.close()
    scattered = np.sort(random.choice(rows, min(SCATTERED, rows), replace=False))
    with Store.open(folder / "store") as store:
        for name in ("plain", "updated", "deleted"):
            store.create_table(name, data)
        store["updated"].update(pa.table({"_id": from_numpy(scattered), "col5": from_numpy(scattered)}))
        store["deleted"].delete(ids=scattered.tolist())


def _first_queries(folder: Path, repeats: int) -> None:
    seconds: dict[str, list[float]] = {}
    for _ in range(repeats):
        for name, code in FIRST.items():
            command = [sys.executable, "-c", code]
            environment = os.environ | {"PYTHONPATH": str(ROOT / "packaging")}
            process = subprocess.run(
                command,
                cwd=folder,
                env=environment,
                check=True,
                capture_output=True,
                text=True,
            )
            seconds.setdefault(name, []).append(float(process.stdout))
    _report(seconds, "first query, SQLite")


def _everything(folder: Path, repeats: int) -> None:
    connection = sqlite3.connect(folder / "rows.sqlite")
    with Store.open(folder / "store") as store:
        plain, updated, deleted = store["plain"], store["updated"], store["deleted"]
        timed: dict[str, Callable[[], object]] = {
            "read": plain.read,
            "read, updates pending": updated.read,
            "read, rows deleted": deleted.read,
            "read, PyArrow": lambda: pq.ParquetFile(folder / "rows.parquet").read(),
            "read, SQLite": lambda: connection.execute("SELECT * FROM t").fetchall(),
            "query again": lambda: plain.read(where=QUERY),
            "query, SQLite": lambda: connection.execute(SQL).fetchall(),
        }
        seconds: dict[str, list[float]] = {name: [] for name in timed}
        for _ in range(1 + repeats):
            for name, work in timed.items():
                seconds[name].append(_seconds(work))
        _report({name: times[1:] for name, times in seconds.items()}, "read")


def _single(folder: Path, rows: int) -> None:
    with Store.open(folder / "store") as store:
        table = store["plain"]
        ids = np.random.default_rng(1).integers(0, rows, GOT).tolist()
        seconds = {
            "get, first": [_seconds(lambda i=i: table.get(i)) for i in ids],
            "get, again": [_seconds(lambda i=i: table.get(i)) for i in ids],
        }
        for name, query in PAGED.items():
            for depth, times in _depths(table, query).items():
                seconds[f"page {depth}{name}"] = times
        _report(seconds, "get, first")


def _depths(table: Table, query: dict[str, object]) -> dict[int, list[float]]:
    """Return the seconds of the pages around the first, the tenth, the hundredth and the five hundredth."""
    after, times = None, {10: [], 100: [], 500: []}  # type: ignore[var-annotated]
    for number in range(1, 511):
        before = time.perf_counter()
        page = table.page(PAGE_ROWS, after, **query)  # type: ignore[arg-type]
        for depth, samples in times.items():
            if depth <= number < depth + 10:
                samples.append(time.perf_counter() - before)
        after = page.next
        if after is None:
            break
    return {depth: samples for depth, samples in times.items() if samples}


def _seconds(work: Callable[[], object]) -> float:
    before = time.perf_counter()
    answer = work()
    seconds = time.perf_counter() - before
    del answer
    return seconds


def _print_seconds(work: Callable[[], object]) -> None:
    print(_seconds(work))


def _report(seconds: dict[str, list[float]], beside: str) -> None:
    base = statistics.median(seconds[beside])
    for name, times in seconds.items():
        middle = statistics.median(times)
        spread = f"{1e3 * min(times):9.2f} … {1e3 * max(times):.2f}"
        print(f"{name:26s} {1e3 * middle:10.2f} ms  × {middle / base:6.2f} of {beside}   {spread}")


if __name__ == "__main__":
    main()
