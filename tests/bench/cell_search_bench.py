"""The time to find a text in many rows: `python -m tests.bench.cell_search_bench [--rows N] [--repeats N]`.

Generates a Parquet file and searches it from the middle on, one column after another. Prints the milliseconds
until the window has the first hit, and until all are counted. Medians; the file is in the system's cache.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lamella import col, open_dataset
from lamella.core.jobs import Job, Progress
from lamella.core.query.cell_search import CellSearch, TextPattern
from lamella.core.query.scan_query import ScanQuery
from lamella.core.query.view import View
from lamella.core.scan.snapshot import SortKey

GROUP = 250_000
SEARCHES = (
    ("texts that repeat", "carrier", TextPattern("carrier 123")),
    ("texts that differ", "code", TextPattern("12345")),
    ("a regular expression", "code", TextPattern("9{4}$", regex=True)),
    ("whole numbers", "amount", TextPattern("1234")),
    ("fractions", "price", TextPattern("12.34")),
    ("moments", "when", TextPattern("2013-07-04")),
    ("a text that is nowhere", "code", TextPattern("zzz")),
)


def make(path: Path, rows: int) -> None:
    numbers, names = np.random.default_rng(1), pa.array([f"carrier {i:03d}" for i in range(500)])
    schema = None
    for first in range(0, rows, GROUP):
        count = min(GROUP, rows - first)
        part = pa.table(
            {
                "amount": numbers.integers(0, 100_000, count),
                "price": numbers.random(count) * 1000,
                "carrier": names.take(pa.array(numbers.integers(0, 500, count))),
                "code": pa.array(numbers.integers(0, 10**9, count)).cast(pa.string()),
                "when": pa.array(numbers.integers(1356998400, 1388534400, count)).cast(pa.timestamp("s")),
            }
        )
        if schema is None:
            schema, writer = part.schema, pq.ParquetWriter(path, part.schema)
        writer.write_table(part)
    writer.close()


def timed(view: View, pattern: TextPattern, name: str) -> tuple[float, float, int]:
    """Return the milliseconds until the first hit and until the end, and the number of hits."""
    search = CellSearch(view, pattern, [name], start=view.num_rows // 2)
    started, first = time.perf_counter(), [0.0]

    def listen(progress: Progress) -> None:
        if not first[0] and search.hits.count:
            first[0] = time.perf_counter() - started

    search.run(Job(listen))
    return first[0] * 1000, (time.perf_counter() - started) * 1000, search.hits.count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lamella-search-") as folder:
        path = Path(folder) / "rows.parquet"
        make(path, arguments.rows)
        snapshot = open_dataset(path).snapshot()
        views = {
            "": View(snapshot),
            ", filtered": View(snapshot, ScanQuery(where=col("amount") < 50_000)),
            ", sorted": View(snapshot, ScanQuery(sort=(SortKey("amount"),))),
        }
        print(f"{'':36}{'first ms':>10}{'all ms':>10}{'hits':>12}")
        for about, name, pattern in SEARCHES:
            for how, view in views.items():
                runs = [timed(view, pattern, name) for _ in range(arguments.repeats)]
                first, all_hits = (statistics.median(run[place] for run in runs) for place in (0, 1))
                print(f"{about + how:36}{first:>10.0f}{all_hits:>10.0f}{runs[0][2]:>12,}", flush=True)


if __name__ == "__main__":
    main()
