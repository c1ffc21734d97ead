"""The time to compute charts: `python -m tests.bench.chart_bench [--rows N] [--repeats N]`.

Milliseconds of each chart of a Parquet file and of a table of a store with the same rows, and of the rows
that a brush leaves: the first in its process, and the median of later ones, each with the processor time of
all threads. The files are in the system's cache. Painting takes a few milliseconds more.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lamella import Store, open_dataset
from lamella.core.query.charts.reading import read_chart
from lamella.core.query.charts.spec import ChartSpec

GROUP = 100_000
TABLE = "rows"
CHARTS = {
    "histogram": ChartSpec("histogram", x="value"),
    "mean by day": ChartSpec("line", x="when", measure="value", aggregate="mean", unit="day"),
    "density": ChartSpec("scatter", x="lon", y="lat"),
    "box plots": ChartSpec("box", x="code", y="value"),
    "bars of texts": ChartSpec("bar", x="code"),
}


def make(path: Path, rows: int) -> None:
    numbers, codes = np.random.default_rng(1), pa.array([f"c{i:02d}" for i in range(16)])
    schema = None
    for first in range(0, rows, GROUP):
        count = min(GROUP, rows - first)
        moments = 1_600_000_000 + (first + np.arange(count)) * 5
        part = pa.table(
            {
                "when": pa.array(moments, pa.timestamp("s")),
                "value": numbers.normal(50, 20, count),
                "code": codes.take(pa.array(numbers.integers(0, 16, count))),
                "lon": numbers.random(count) / 3 - 74,
                "lat": numbers.random(count) / 3 + 40,
            }
        )
        if schema is None:
            schema, writer = part.schema, pq.ParquetWriter(path, part.schema)
        writer.write_table(part)
    writer.close()


def measure(path: Path, name: str, brushed: bool, repeats: int) -> str:
    """Measure one chart in this process. Each brush is another one, so that none is remembered."""
    source = Store.open(path, read_only=True)[TABLE] if path.is_dir() else open_dataset(path)
    times = []
    for n in range(1 + repeats):
        query = source.query()
        if brushed:
            query = query.where({"value": {"$gte": 40 + n / 1000, "$lt": 60}})
        wall, processor = time.perf_counter(), time.process_time()
        read_chart(query, CHARTS[name])
        times.append((1000 * (time.perf_counter() - wall), 1000 * (time.process_time() - processor)))
    later = [statistics.median(one) for one in zip(*times[1:], strict=True)]
    return "".join(f"{value:10.0f}" for value in (*times[0], *later))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition(chr(10))[0])
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--source", type=Path, help="a file or a store of an earlier run, or one like it")
    parser.add_argument("--chart", choices=CHARTS, help="(all)")
    parser.add_argument("--brushed", action="store_true", help="only with --source and --chart")
    options = parser.parse_args()
    if options.chart and options.source:
        times = measure(options.source, options.chart, options.brushed, options.repeats)
        print(f"{options.chart + ', brushed' * options.brushed:24}{times}")
        return
    with tempfile.TemporaryDirectory() as folder:
        path, store = Path(folder, "rows.parquet"), Path(folder, "store")
        if not options.source:
            make(path, options.rows)
            with Store.open(store) as made:
                made.create_table(TABLE, open_dataset(path))
        for source in [options.source] if options.source else [path, store]:
            print(f"{source.name:24}{'first':>10}{'cpu':>10}{'again':>10}{'cpu':>10}", flush=True)
            for name in [options.chart] if options.chart else CHARTS:
                for brushed in [(), ("--brushed",)]:
                    command = [sys.executable, "-m", "tests.bench.chart_bench", "--source", str(source)]
                    words = ["--chart", name, *brushed, "--repeats", str(options.repeats)]
                    subprocess.run([*command, *words], check=True)


if __name__ == "__main__":
    main()
