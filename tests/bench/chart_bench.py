"""The time to compute charts: `python -m tests.bench.chart_bench [--rows N] [--repeats N]`.

Milliseconds of each chart: the first in its process, and the median of later ones, each with the processor
time of all threads. The file is in the system's cache. Painting takes a few milliseconds more.
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

from lamella import open_dataset
from lamella.core.query.charts.reading import read_chart
from lamella.core.query.charts.spec import ChartSpec

GROUP = 100_000
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


def measure(path: Path, name: str, repeats: int) -> str:
    """Measure one chart in this process."""
    dataset = open_dataset(path)
    times = []
    for _ in range(1 + repeats):
        wall, processor = time.perf_counter(), time.process_time()
        read_chart(dataset.query(), CHARTS[name])
        times.append((1000 * (time.perf_counter() - wall), 1000 * (time.process_time() - processor)))
    later = [statistics.median(one) for one in zip(*times[1:], strict=True)]
    return "".join(f"{value:10.0f}" for value in (*times[0], *later))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition(chr(10))[0])
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--file", type=Path, help="a file of an earlier run, or one like it")
    parser.add_argument("--chart", choices=CHARTS, help="(all)")
    options = parser.parse_args()
    if options.chart and options.file:
        print(f"{options.chart:15}{measure(options.file, options.chart, options.repeats)}")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = options.file or Path(folder, "rows.parquet")
        if not options.file:
            make(path, options.rows)
        with path.open("rb") as file:
            while file.read(1 << 24):
                pass
        print(f"{'':15}{'first':>10}{'cpu':>10}{'again':>10}{'cpu':>10}", flush=True)
        for name in [options.chart] if options.chart else CHARTS:
            command = [sys.executable, "-m", "tests.bench.chart_bench", "--file", str(path), "--chart", name]
            subprocess.run([*command, "--repeats", str(options.repeats)], check=True)


if __name__ == "__main__":
    main()
