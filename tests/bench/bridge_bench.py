"""SQLite over Parquet beside a table of SQLite's own: `python -m tests.bench.bridge_bench [--rows N]`.

The same rows in both, asked by the same connection in turn: a scan, a group, filters on columns in order and
not, a beginning of texts, a few rows by their numbers, and a join. For each the first and the median time,
SQLite's own median, and how many row groups were read and skipped. The answers are compared.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import apsw
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core.arrays import from_numpy
from core.bridge import connect, row_groups

ROWS_A_GROUP, ROWS_A_FILE = 100_000, 500_000
ZONES = 200
QUESTIONS = {
    "scan: sum of a column": "SELECT sum(amount) FROM {t}",
    "group by a text": "SELECT zone, count(*), avg(amount) FROM {t} GROUP BY zone",
    "count": "SELECT count(*) FROM {t}",
    "filter, in order": "SELECT count(*), sum(amount) FROM {t} WHERE trip BETWEEN {half} AND {half} + 999",
    "filter, by day": "SELECT count(*) FROM {t} WHERE at >= '2024-01-02' AND at < '2024-01-02 01'",
    "filter, not in order": "SELECT count(*), sum(amount) FROM {t} WHERE passengers = 7 AND amount > 99.5",
    "LIKE 'zone 01%'": "SELECT count(*) FROM {t} WHERE zone LIKE 'zone 01%'",
    "20 rows, all columns": "SELECT * FROM {t} WHERE rowid BETWEEN {half} AND {half} + 19",
    "join 200 zones, group": "SELECT borough, count(*) FROM zones JOIN {t} USING (zone) WHERE amount > 99"
    " GROUP BY borough",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="where the files are made, so on which disk")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        connection = _made(Path(folder), given.rows)
        print(
            f"{given.rows:,} rows; times in ms: first and median of the virtual table, median of SQLite's own"
        )
        for name, question in QUESTIONS.items():
            _compare(connection, name, question.replace("{half}", str(given.rows // 2)), given.repeats)
        connection.close()


def _made(folder: Path, rows: int) -> apsw.Connection:
    """The files as the virtual table `trips`, and a database on disk with `own` and `zones`."""
    data = _trips(rows)
    (folder / "trips").mkdir()
    for number, first in enumerate(range(0, rows, ROWS_A_FILE)):
        part = data.slice(first, ROWS_A_FILE)
        pq.write_table(part, folder / "trips" / f"{number:04}.parquet", row_group_size=ROWS_A_GROUP)
    connection = connect(folder / "trips")
    connection.execute("ATTACH ? AS own", [str(folder / "own.sqlite")])
    declared = ", ".join(
        f"{name} {kind}" for _, name, kind, *_ in connection.execute("PRAGMA table_info(trips)")
    )
    connection.execute(f"CREATE TABLE own.own ({declared}); INSERT INTO own SELECT * FROM trips")
    connection.execute("CREATE TABLE zones (zone TEXT, borough TEXT)")
    zones = ((f"zone {n:03}", f"borough {n % 6}") for n in range(ZONES))
    connection.executemany("INSERT INTO zones VALUES (?, ?)", zones)
    return connection


def _trips(rows: int) -> pa.Table:
    random = np.random.default_rng(0)
    moments = 1_704_067_200_000_000 + np.arange(rows) * (30 * 86_400_000_000 // rows)
    zones = from_numpy(random.integers(0, ZONES, rows))
    names = pa.array([f"zone {n:03}" for n in range(ZONES)])
    return pa.table(
        {
            "trip": from_numpy(np.arange(rows)),
            "at": from_numpy(moments).cast(pa.timestamp("us")),
            "zone": names.take(zones),
            "passengers": from_numpy(random.integers(0, 9, rows)),
            "amount": from_numpy(np.round(random.random(rows) * 100, 2)),
            "tip": from_numpy(np.round(random.random(rows) * 10, 2)),
        }
    )


def _compare(connection: apsw.Connection, name: str, question: str, repeats: int) -> None:
    ours, own = list[float](), list[float]()
    before = row_groups(connection)
    first = _timed(connection, question.format(t="trips"), ours)
    after = row_groups(connection)
    if sorted(first) != sorted(_timed(connection, question.format(t="own"), own)):
        raise SystemExit(f"{name}: the answers differ")
    for _ in range(repeats - 1):
        _timed(connection, question.format(t="trips"), ours)
        _timed(connection, question.format(t="own"), own)
    median, beside = statistics.median(ours), statistics.median(own)
    print(
        f"{name:24} first {ours[0]:8.1f}  median {median:8.1f}  SQLite {beside:8.1f}  SQLite/ours"
        f" {beside / median:7.2f}  row groups read {after.read - before.read},"
        f" skipped {after.skipped - before.skipped}"
    )


def _timed(connection: apsw.Connection, statement: str, times: list[float]) -> list[tuple[object, ...]]:
    started = time.perf_counter()
    rows = list(connection.execute(statement))
    times.append(1000 * (time.perf_counter() - started))
    return rows


if __name__ == "__main__":
    main()
