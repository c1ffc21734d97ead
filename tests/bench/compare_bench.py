"""The time to compare two datasets: `python -m tests.bench.compare_bench [--rows N]`.

Compares a table of 20 columns of all common kinds with a copy that has 1,000 changed cells, as Parquet files:
by a key in the same and in another order, by the order of rows, and as two versions of a table. For
comparison, DuckDB computes the same counts on the same files in one statement. Medians of interleaved runs,
in seconds, with the ratio to DuckDB; the first run of each reads files that are in no cache.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lamella import Store, compare, open_dataset
from lamella.core.arrow.arrays import from_numpy
from lamella.core.query.comparison import Comparison
from lamella.core.scan.cache import browsing_cache, cache, few_rows, text_cache
from lamella.core.transfer.generate import make

CHANGES, RUNS = 1_000, 3
KEY, CHANGED = "order_id", ("channel", "total")


def write_changed(source: Path, target: Path, shuffled: bool) -> None:
    """Write the rows with other values in 1,000 cells of two columns, in the same or in another order."""
    table, random = pq.read_table(source), np.random.default_rng(7)
    for name in CHANGED:
        column = table.column(name).combine_chunks()
        places = np.arange(len(column))
        chosen = random.choice(len(column), CHANGES // len(CHANGED), replace=False)
        places[chosen] = (places[chosen] + 17) % len(column)
        table = table.set_column(table.column_names.index(name), name, column.take(from_numpy(places)))
    if shuffled:
        table = table.take(from_numpy(random.permutation(len(table))))
    pq.write_table(table, target)


def forget() -> None:
    for each_cache in (cache, browsing_cache, text_cache, few_rows):
        size = each_cache.max_bytes
        each_cache.resize(0)
        each_cache.resize(size)


def by_duckdb(before: Path, after: Path) -> int:
    with duckdb.connect() as connection:
        names = [row[0] for row in connection.sql(f"DESCRIBE SELECT * FROM '{before}'").fetchall()]
        differs = ", ".join(f'count_if(a."{n}" IS DISTINCT FROM b."{n}")' for n in names if n != KEY)
        rows = " OR ".join(f'a."{n}" IS DISTINCT FROM b."{n}"' for n in names if n != KEY)
        sql = f"SELECT count_if({rows}), {differs} FROM '{before}' a FULL JOIN '{after}' b USING ({KEY})"
        return int(connection.sql(sql).fetchall()[0][0])


def measure(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "store") as store:
        original, same, shuffled = (Path(folder) / f"{name}.parquet" for name in ("one", "same", "other"))
        make("mixed", rows, original)
        write_changed(original, same, shuffled=False)
        write_changed(original, shuffled, shuffled=True)
        table = store.create_table("orders", open_dataset(original).read())
        ids = np.sort(np.random.default_rng(7).choice(rows, CHANGES, replace=False))
        table.edit([pa.table({"_id": ids, "total": from_numpy(np.full(CHANGES, -1.0))})])

        def files(target: Path, key: str | list[str] | None) -> Callable[[], Comparison]:
            return lambda: compare(open_dataset(original), open_dataset(target), key)

        ways: dict[str, Callable[[], object]] = {
            "DuckDB, one statement": lambda: by_duckdb(original, same),
            "by key, same order": files(same, KEY),
            "by key, other order": files(shuffled, KEY),
            "key found, same order": files(same, None),
            "by order": files(same, []),
            "versions": lambda: table.history.compare(1),
        }
        first, again = {}, {name: list[float]() for name in ways}
        for name, way in ways.items():
            forget()
            first[name] = measure(way)
        for _ in range(RUNS):
            for name, way in ways.items():
                again[name].append(measure(way))
        base = statistics.median(again["DuckDB, one statement"])
        print(f"{rows:,} rows x 20 columns, {CHANGES:,} changes; seconds")
        print(f"{'':24}{'first':>8}{'median':>8}{'of DuckDB':>11}")
        for name, times in again.items():
            median = statistics.median(times)
            print(f"{name:24}{first[name]:8.2f}{median:8.2f}{median / base:10.1f}x")


if __name__ == "__main__":
    main()
