"""The time to create a table from a list of dicts, compared with SQLite; each sample in a separate process,
in turn.

    python tests/bench/create_bench.py [rows …]

Prints the median of each in milliseconds, and the speed-up over SQLite. SQLite gets tuples, whose conversion
is not timed, and does not sync; Lamella gets the dicts and is durable when it returns.
"""

from __future__ import annotations

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

COLUMNS = [f"col{i}" for i in range(100)]
ROUNDS = 7

Rows = list[dict[str, int]]


def made_rows(count: int) -> Rows:
    generator = np.random.default_rng(97)
    rows: Rows = []
    for start in range(0, count, 10_000):
        values = generator.integers(0, 1_000_001, size=(min(10_000, count - start), len(COLUMNS)))
        rows.extend(dict(zip(COLUMNS, row, strict=True)) for row in values.tolist())
    return rows


def sqlite(rows: Rows, folder: Path) -> Callable[[], None]:
    tuples = [tuple(row.values()) for row in rows]
    connection = sqlite3.connect(folder / "bench.sqlite")
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("PRAGMA journal_mode = MEMORY")

    def create() -> None:
        connection.execute(f"CREATE TABLE t ({', '.join(f'{name} INTEGER' for name in COLUMNS)})")
        connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(COLUMNS))})", tuples)
        connection.commit()

    return create


def lamella(rows: Rows, folder: Path) -> Callable[[], None]:
    from lamella import Store

    store = Store.open(folder / "store")
    return lambda: store.create_table("t", rows) and None


SYSTEMS = {"sqlite": sqlite, "lamella": lamella}


def sample(system: str, count: int) -> float:
    """Return the milliseconds of one sample in this process."""
    with tempfile.TemporaryDirectory() as folder:
        create = SYSTEMS[system](made_rows(count), Path(folder))
        started = time.perf_counter()
        create()
        return (time.perf_counter() - started) * 1000


def sampled(system: str, count: int) -> float:
    root = str(Path(__file__).parents[2] / "packaging")
    command = [sys.executable, __file__, "--sample", system, str(count)]
    process = subprocess.run(
        command, capture_output=True, text=True, check=True, env=os.environ | {"PYTHONPATH": root}
    )
    return float(process.stdout)


def main(sizes: list[int]) -> None:
    for count in sizes:
        times: dict[str, list[float]] = {system: [] for system in SYSTEMS}
        for _ in range(ROUNDS):
            for system, seconds in times.items():
                seconds.append(sampled(system, count))
        medians = "  ".join(
            f"{system} {statistics.median(seconds):,.1f} ms (lowest {min(seconds):,.1f})"
            for system, seconds in times.items()
        )
        ratio = statistics.median(times["sqlite"]) / statistics.median(times["lamella"])
        print(f"{count:>9,} rows: {medians}  SQLite ÷ {ratio:.2f}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--sample"]:
        print(sample(sys.argv[2], int(sys.argv[3])))
    else:
        main([int(size) for size in sys.argv[1:]] or [1, 100, 1_000, 10_000, 100_000])
