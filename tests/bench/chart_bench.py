"""The time to compute charts: `python -m tests.bench.chart_bench [--rows N] [--repeats N]`.

Milliseconds of each chart of a Parquet file and of a table of a store with the same rows, and of the rows
that a brush leaves: the first in its process, and the median of later ones, each with the processor time of
all threads. The columns of a chart that is brushed are cached, as a window does once it has drawn it. The
files are in the system's cache. `--window` draws them in a chart's view: the time until the chart of a sample
is painted, if there is one, and until the exact one is.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PySide6.QtCore import QEvent, QEventLoop, QObject, QTimer
from PySide6.QtWidgets import QApplication

from lamella import Store, open_dataset
from lamella.core.datasets.base import Dataset
from lamella.core.query.builder import Query
from lamella.core.query.charts.figures import ChartData
from lamella.core.query.charts.reading import cache_columns, read_chart
from lamella.core.query.charts.spec import ChartSpec
from lamella.ui import theme
from lamella.ui.charts.view import ChartView
from lamella.ui.tasks import Handle, Tasks

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


def query_of(source: Dataset, brushed: bool, number: int) -> Query:
    """All rows, or those that a brush leaves; each `number` is another brush, so that none is remembered."""
    query = source.query()
    return query.where({"value": {"$gte": 40 + number / 1000, "$lt": 60}}) if brushed else query


def measure(path: Path, name: str, brushed: bool, repeats: int) -> str:
    """Measure one chart in this process."""
    source = open_source(path)
    if brushed:
        cache_columns(query_of(source, brushed, 0), CHARTS[name])
    times = []
    for number in range(1 + repeats):
        query = query_of(source, brushed, number)
        wall, processor = time.perf_counter(), time.process_time()
        read_chart(query, CHARTS[name])
        times.append((1000 * (time.perf_counter() - wall), 1000 * (time.process_time() - processor)))
    return columns_of(times)


def measure_window(path: Path, name: str, brushed: bool, repeats: int) -> str:
    """Measure until a view of charts has painted the chart."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    application = QApplication([])
    theme.install(application)
    source, tasks = open_source(path), Tasks()
    reads: list[Handle] = []
    tasks.started.connect(reads.append)
    tasks.finished.connect(reads.remove)
    view = ChartView(tasks)
    view.show_spec(CHARTS[name])
    view.resize(1200, 700)
    view.show()
    times = []
    for number in range(1 + repeats):
        query, painted = query_of(source, brushed, number), PaintedCharts(view)
        begin = time.perf_counter()
        view.show_rows(query, source.schema, source.num_rows, [])
        while painted.exact is None:
            application.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents)
        sampled = painted.exact if painted.sampled is None else painted.sampled
        times.append((1000 * (sampled - begin), 1000 * (painted.exact - begin)))
        painted.stop()
        while reads:  # the columns are decoded into the cache before the next brush
            application.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents)
    tasks.shutdown()
    view.close()
    return columns_of(times)


class PaintedCharts(QObject):
    """When the chart of a sample and the exact one were painted."""

    def __init__(self, view: ChartView) -> None:
        super().__init__(view)
        self.sampled: float | None = None
        self.exact: float | None = None
        self._view, self._before = view, view.data
        view.canvas.viewport().installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        data = self._view.data
        if event.type() == QEvent.Type.Paint and data is not None and data is not self._before:
            QTimer.singleShot(0, lambda: self._note(data))
        return False

    def _note(self, data: ChartData) -> None:
        if data.sampled:
            self.sampled = self.sampled or time.perf_counter()
        else:
            self.exact = self.exact or time.perf_counter()

    def stop(self) -> None:
        self._view.canvas.viewport().removeEventFilter(self)


def open_source(path: Path) -> Dataset:
    return Store.open(path, read_only=True)[TABLE] if path.is_dir() else open_dataset(path)


def columns_of(times: list[tuple[float, float]]) -> str:
    """The first times, and the medians of the later ones."""
    later = [statistics.median(each) for each in zip(*times[1:], strict=True)]
    return "".join(f"{value:10.0f}" for value in (*times[0], *later))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition(chr(10))[0])
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--source", type=Path, help="a file or a store of an earlier run, or one like it")
    parser.add_argument("--chart", choices=CHARTS, help="(all)")
    parser.add_argument("--brushed", action="store_true", help="only with --source and --chart")
    parser.add_argument("--window", action="store_true", help="until the chart is painted")
    options = parser.parse_args()
    if options.chart and options.source:
        chosen = measure_window if options.window else measure
        times = chosen(options.source, options.chart, options.brushed, options.repeats)
        print(f"{options.chart + ', brushed' * options.brushed:24}{times}")
        return
    with tempfile.TemporaryDirectory() as folder:
        path, store = Path(folder, "rows.parquet"), Path(folder, "store")
        if not options.source:
            make(path, options.rows)
            with Store.open(store) as made:
                made.create_table(TABLE, open_dataset(path))
        for source in [options.source] if options.source else [path, store]:
            titles = (
                ["first", "exact", "again", "exact"] if options.window else ["first", "cpu", "again", "cpu"]
            )
            print(f"{source.name:24}" + "".join(f"{title:>10}" for title in titles), flush=True)
            for name in [options.chart] if options.chart else CHARTS:
                for brushed in [(), ("--brushed",)]:
                    command = [sys.executable, "-m", "tests.bench.chart_bench", "--source", str(source)]
                    words = ["--chart", name, *brushed, "--repeats", str(options.repeats)]
                    words += ["--window"] if options.window else []
                    subprocess.run([*command, *words], check=True)


if __name__ == "__main__":
    main()
