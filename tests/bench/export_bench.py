"""Exports compared with those of DuckDB, Polars, pandas and xlsxwriter, from the same Parquet file.

    python -m tests.bench.export_bench        # 2M × 10 to CSV, Parquet and SQLite, 200,000 to Excel
    python -m tests.bench.export_bench --rows 200000 --formats csv,excel --repeats 3

Each export runs in a separate process, in turn. Python imports are not timed, but reading the source is.
Lamella's exports are on the disk when they end (fsync); for the others, that is a second figure. xlsxwriter
is measured if it is installed. Memory is the peak of the process.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

SUFFIXES = {"csv": ".csv", "parquet": ".parquet", "sqlite": ".sqlite", "excel": ".xlsx"}
EXCEL_ROWS = 200_000


def rows(count: int, seed: int = 1) -> pa.Table:
    """Return ten columns: identifiers, measures, words, a text, a date, a time, a boolean, and one with
    nulls."""
    rng = np.random.default_rng(seed)
    numbers = np.arange(count)
    words = pa.array([f"word {i}" for i in range(1000)])
    return pa.table(
        {
            "id": numbers,
            "amount": rng.integers(0, 10**6, count),
            "x": rng.normal(size=count),
            "price": np.round(rng.normal(size=count) * 100, 2),
            "word": words.take(pa.array(rng.integers(0, 1000, count))),
            "note": pc.binary_join_element_wise("note of row", pa.array(numbers).cast(pa.string()), " "),
            "day": pa.array(rng.integers(10_000, 20_000, count).astype("int32"), pa.date32()),
            "at": pa.array(rng.integers(10**15, 17 * 10**14, count), pa.timestamp("us")),
            "late": rng.integers(0, 2, count) == 1,
            "rating": pa.array(numbers % 7, pa.int32(), mask=numbers % 5 == 0),
        }
    )


def lamella_export(source: Path, target: Path) -> Callable[[], None]:
    from lamella import open_dataset
    from lamella.core.transfer.exporting import export

    return lambda: void(export(open_dataset(source), target))


def void(_: object) -> None:
    return None


def duckdb_export(source: Path, target: Path) -> Callable[[], None]:
    import duckdb

    connection = duckdb.connect()
    how = {".csv": "(HEADER)", ".parquet": "(FORMAT parquet, CODEC 'zstd')"}[target.suffix]
    return lambda: void(connection.execute(f"COPY (FROM '{source}') TO '{target}' {how}"))


def polars_export(source: Path, target: Path) -> Callable[[], None]:
    import polars

    if target.suffix == ".csv":
        return lambda: polars.scan_parquet(source).sink_csv(target)
    return lambda: polars.scan_parquet(source).sink_parquet(target, compression="zstd")


def pandas_export(source: Path, target: Path) -> Callable[[], None]:
    import pandas

    def write() -> None:
        frame = pandas.read_parquet(source)
        if target.suffix == ".csv":
            frame.to_csv(target, index=False)
        elif target.suffix == ".parquet":
            frame.to_parquet(target, compression="zstd")
        else:
            connection = sqlite3.connect(target)
            frame.to_sql("rows", connection, index=False)
            connection.close()

    return write


def sqlite3_export(source: Path, target: Path) -> Callable[[], None]:
    """Export as in the documentation of sqlite3: executemany of tuples in one transaction."""

    def write() -> None:
        connection = sqlite3.connect(target)
        connection.execute(
            "CREATE TABLE t (id INTEGER, amount INTEGER, x REAL, price REAL, word TEXT, note TEXT, day DATE,"
            " at TIMESTAMP, late BOOLEAN, rating INTEGER)"
        )
        for batch in pq.ParquetFile(source).iter_batches():
            columns = [
                (c.cast(pa.string()) if pa.types.is_temporal(c.type) else c).to_pylist()
                for c in batch.columns
            ]
            marks = ", ".join("?" * len(columns))
            connection.executemany(f"INSERT INTO t VALUES ({marks})", zip(*columns, strict=True))
        connection.commit()
        connection.close()

    return write


def xlsxwriter_export(source: Path, target: Path) -> Callable[[], None]:
    import xlsxwriter

    def write() -> None:
        options = {"constant_memory": True, "default_date_format": "yyyy-mm-dd", "strings_to_urls": False}
        book = xlsxwriter.Workbook(str(target), options)
        sheet = book.add_worksheet()
        file = pq.ParquetFile(source)
        sheet.write_row(0, 0, file.schema_arrow.names)
        number = 1
        for batch in file.iter_batches():
            for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                sheet.write_row(number, 0, row)
                number += 1
        book.close()

    return write


EXPORTS: dict[str, tuple[tuple[str, ...], Callable[[Path, Path], Callable[[], None]]]] = {
    "lamella": (("csv", "parquet", "sqlite", "excel"), lamella_export),
    "duckdb": (("csv", "parquet"), duckdb_export),
    "polars": (("csv", "parquet"), polars_export),
    "pandas": (("csv", "parquet", "sqlite"), pandas_export),
    "sqlite3": (("sqlite",), sqlite3_export),
    "xlsxwriter": (("excel",), xlsxwriter_export),
}


def measure(system: str, source: Path, target: Path) -> dict[str, float]:
    """Measure in this process: seconds until the file is written and until it is synced, and megabytes of
    memory."""
    work = EXPORTS[system][1](source, target)
    begun, processor = time.perf_counter(), time.process_time()
    work()
    written, processor = time.perf_counter(), time.process_time() - processor
    with target.open("rb+") as file:
        os.fsync(file.fileno())
    ended = time.perf_counter()
    memory = most_memory()
    return {
        "written": written - begun,
        "processor": processor,
        "synced": ended - begun,
        "memory": memory,
        "bytes": target.stat().st_size,
    }


def most_memory() -> float:
    """Return the peak memory in megabytes; `getrusage` would include that of the parent process."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def compare(count: int, formats: list[str], chosen: list[str], repeats: int, folder: Path) -> None:
    for kind in formats:
        size = min(count, EXCEL_ROWS) if kind == "excel" else count
        source = folder / f"source-{size}.parquet"
        if not source.exists():
            pq.write_table(rows(size), source, row_group_size=200_000, compression="zstd")
        systems = [
            n
            for n, (kinds, _) in EXPORTS.items()
            if n in chosen and kind in kinds and (n != "xlsxwriter" or find_spec(n))
        ]
        samples: dict[str, list[dict[str, float]]] = {name: [] for name in systems}
        for _ in range(repeats):
            for name in random.sample(systems, len(systems)):
                target = folder / f"out{SUFFIXES[kind]}"
                target.unlink(missing_ok=True)
                words = [
                    sys.executable,
                    "-m",
                    "tests.bench.export_bench",
                    "--one",
                    name,
                    str(source),
                    str(target),
                ]
                result = subprocess.run(words, capture_output=True, text=True, check=True)
                samples[name].append(json.loads(result.stdout.splitlines()[-1]))
                target.unlink()
        report(kind, size, samples)


def report(kind: str, count: int, samples: dict[str, list[dict[str, float]]]) -> None:
    print(f"\n{kind}, {count:,} × 10", flush=True)
    best = min(median(s["synced"] for s in each) for name, each in samples.items() if name != "lamella")
    for name, each in samples.items():
        figures = {key: median(s[key] for s in each) for key in each[0]}
        print(
            f"  {name:10} {figures['written']:6.2f} s, on disk {figures['synced']:6.2f} s"
            f" (× {figures['synced'] / best:.2f} of the best other),"
            f" {figures['processor']:6.2f} s of processors, {figures['memory']:5.0f} MB of memory,"
            f" {figures['bytes'] / 1e6:.0f} MB",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--formats", type=lambda text: text.split(","), default=list(SUFFIXES))
    parser.add_argument("--systems", type=lambda text: text.split(","), default=list(EXPORTS))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--one", nargs=3, metavar=("SYSTEM", "SOURCE", "TARGET"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        system, source, target = arguments.one
        print(json.dumps(measure(system, Path(source), Path(target))))
        return
    with tempfile.TemporaryDirectory() as folder:
        compare(arguments.rows, arguments.formats, arguments.systems, arguments.repeats, Path(folder))


if __name__ == "__main__":
    main()
