"""The time of each method to find rows: `python -m tests.bench.find_bench [--rows N]`.

Medians of interleaved runs, in milliseconds. "first": in files that have not been read yet, so that their
pages are also verified; "undecoded": verified, but in no cache; "again": decoded, or in DuckDB's cache. The
last columns show the planner's choice for a first and a second search. docs/design/reading.md has the
figures.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

from lamella import Store, col
from lamella.core.arrow.arrays import from_numpy
from lamella.core.filters import Filter
from lamella.core.query import find
from lamella.core.query.find import Method, RowSearch
from lamella.core.scan.cache import browsing_cache, cache, few_rows, text_cache
from lamella.core.scan.snapshot import Snapshot

NAMES = [
    "masks first",
    "masks undecoded",
    "masks again",
    "DuckDB first",
    "DuckDB again",
    "chosen first",
    "second",
]


def rows_of(count: int) -> pa.Table:
    random = np.random.default_rng(1)
    words = random.integers(0, 200, count)
    return pa.table(
        {
            "ascending": from_numpy(np.arange(count)),
            "number": from_numpy(random.integers(0, 1_000, count)),
            "float": from_numpy(random.normal(size=count)),
            "word": pa.array([f"word {word}" for word in words]),
            "text": pa.array([f"text {place * 7919 % count}" for place in range(count)]),
        }
    )


def conditions(count: int) -> dict[str, Filter]:
    return {
        "range of ascending numbers": col("ascending").between(count // 2, count // 2 + 100),
        "number ==": col("number") == 7,
        "number >, half of all": col("number") > 500,
        "float >": col("float") > 2,
        "number == and float >": (col("number") == 7) & (col("float") > 1),
        "one of 200 words ==": col("word") == "word 7",
        "one of 200 words contains": col("word").contains("d 7"),
        "text ==": col("text") == "text 77",
        "text contains": col("text").contains("77"),
    }


def forget() -> None:
    for each_cache in (cache, browsing_cache, text_cache, few_rows):
        size = each_cache.max_bytes
        each_cache.resize(0)
        each_cache.resize(size)
    find.forget()


def ms(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - started)


def measured(folder: Path, where: Filter, repeats: int) -> list[str]:
    times: dict[str, list[float]] = {name: [] for name in NAMES[:5]}

    def search(snapshot: Snapshot, name: str, method: Method) -> None:
        times[name].append(ms(RowSearch(snapshot, where, method=method).run))

    for run in range(repeats):
        fresh = folder.with_name(f"fresh {run}")
        for method, name in ((Method.MASKS, "masks first"), (Method.DUCKDB, "DuckDB first")):
            shutil.copytree(folder, fresh)
            with Store.open(fresh) as store:
                forget()
                snapshot = store["t"].snapshot()
                search(snapshot, name, method)
                again = name.replace("first", "again")
                for _ in range(3):
                    search(snapshot, again, method)
                if method is Method.MASKS:
                    forget()
                    search(snapshot, "masks undecoded", method)
            shutil.rmtree(fresh)
    with Store.open(folder) as store:
        forget()
        chosen = [RowSearch(store["t"].snapshot(), where).strategy.method.value for _ in range(2)]
    return [f"{statistics.median(samples):.1f}" for samples in times.values()] + chosen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "store"
        with Store.open(place) as store:
            store.create_table("t", rows_of(arguments.rows))
        print(" | ".join([f"{arguments.rows:,} rows", *NAMES]))
        for name, where in conditions(arguments.rows).items():
            print(" | ".join([name, *measured(place, where, arguments.repeats)]), flush=True)


if __name__ == "__main__":
    main()
