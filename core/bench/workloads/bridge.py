"""SQLite's own SQL over Parquet files, compared with SQLite's own table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import from_numpy, from_values
from lamella.core.bench.workloads.model import Check, Operation, Workload

_OPERATIONS = tuple(
    Operation(name, title, f"{sentence} {{rows}}", about)
    for name, title, sentence, about in (
        ("sum", "Sum of a column", "adds up a column of", "Every row, one column of six."),
        ("group", "Group by a text", "groups by a text", "Counts and means of 200 zones."),
        ("count", "Count", "counts", "How many rows there are."),
        ("filter_ordered", "Filter, sorted", "filters by a sorted column", "1,000 consecutive rows."),
        ("filter_hour", "Filter, by hour", "filters by an hour of a month", "Times in one hour, sorted."),
        (
            "filter_scattered",
            "Filter, unsorted",
            "filters by unsorted columns",
            "One of nine numbers of passengers, and only the highest amounts.",
        ),
        ("like", "LIKE 'zone 01%'", "filters by the beginning of a text", "Ten of 200 zones."),
        ("rows", "20 rows, all columns", "finds 20 rows by number among", "Consecutive rows in the middle."),
        ("join", "Join 200 zones, group", "joins zones to", "The highest amounts, counted by borough."),
    )
)

BRIDGE = Workload(
    id="bridge",
    title="SQLite over Parquet",
    about="SQLite's statements over trips in two Parquet files of five row groups each, sorted by number and "
    "time; compared with SQLite's own table without an index, in the same version of SQLite.",
    steps=("fill", *(operation.id for operation in _OPERATIONS)),
    operations=_OPERATIONS,
    default_rows=(100_000, 1_000_000),
    default_repeats=5,
    family="bridge",
    check=Check.AGREED,
    asks_only=True,
    small_rows=(1_000,),
    published_rows=(1_000_000,),
)

FILES, GROUPS = 2, 5
GROUP = "group"
ZONES = 200
COLUMN_COUNT = 6

STATEMENTS = {
    "sum": "SELECT sum(amount) FROM trips",
    GROUP: "SELECT zone, count(*), avg(amount) FROM trips GROUP BY zone",
    "count": "SELECT count(*) FROM trips",
    "filter_ordered": "SELECT count(*), sum(amount) FROM trips WHERE trip BETWEEN {half} AND {half} + 999",
    "filter_hour": "SELECT count(*) FROM trips"
    """ WHERE "at" >= '2024-01-02 00:00:00' AND "at" < '2024-01-02 01:00:00'""",
    "filter_scattered": "SELECT count(*), sum(amount) FROM trips WHERE passengers = 7 AND amount > 99.5",
    "like": "SELECT count(*) FROM trips WHERE zone LIKE 'zone 01%'",
    "rows": "SELECT * FROM trips WHERE {rowid} BETWEEN {half} AND {half} + 19",
    "join": "SELECT borough, count(*) FROM zones JOIN trips USING (zone) WHERE amount > 99 GROUP BY borough",
}
"""Statements by operation. `{rowid}` counts from 1, `{half}` is half of all rows."""


def statements(rows: int, rowid: str) -> Iterator[tuple[str, str]]:
    for name, text in STATEMENTS.items():
        yield name, text.format(half=rows // 2, rowid=rowid)


def means_to_sums(groups: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """Convert the answer of `group` for the comparison. A mean of hundredths may lie half-way between two
    numbers of nine digits, so that the order of summation decides how it is rounded; a sum does not."""
    return [(zone, count, round(count * mean, 2)) for zone, count, mean in groups]


def trips(rows: int) -> pa.Table:
    random = np.random.default_rng(0)
    moments = 1_704_067_200_000_000 + np.arange(rows) * (30 * 86_400_000_000 // rows)
    names = from_values([zone for zone, _ in zones()], pa.string())
    return pa.table(
        {
            "trip": from_numpy(np.arange(rows)),
            "at": from_numpy(moments).cast(pa.timestamp("us")),
            "zone": names.take(from_numpy(random.integers(0, ZONES, rows))),
            "passengers": from_numpy(random.integers(0, 9, rows)),
            "amount": from_numpy(np.round(random.random(rows) * 100, 2)),
            "tip": from_numpy(np.round(random.random(rows) * 10, 2)),
        }
    )


def zones() -> list[tuple[str, str]]:
    """Return the zones with their boroughs."""
    return [(f"zone {number:03}", f"borough {number % 6}") for number in range(ZONES)]


def write_files(folder: Path, rows: int) -> None:
    """Write the trips to files of several row groups each."""
    import pyarrow.parquet as pq

    folder.mkdir(parents=True)
    data, in_file = trips(rows), -(-rows // FILES)
    for number in range(FILES):
        part = data.slice(number * in_file, in_file)
        pq.write_table(part, folder / f"{number}.parquet", row_group_size=-(-in_file // GROUPS))
