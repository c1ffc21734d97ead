"""The costs of queries over taxi trips, from a million rows to 1.1 billion, compared with a model's
predictions.

    python -m tests.bench.scale_bench FOLDER            # the page docs/scale.md from its results
    python -m tests.bench.scale_bench FOLDER --measure  # measure them first, in FOLDER: 6 GB, twenty minutes

One Parquet file of 20 million generated trips stands for 1.1 billion: it is linked 56 times, so that every
link is opened, read and decoded as a separate file, while the disk and the system's cache contain only one.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lamella.core.bench.engine.machine import environment, sentence
from lamella.core.bench.engine.measure import measure
from lamella.core.bench.engine.protocol import Surroundings
from lamella.core.bench.registry import entry_named, plain_name, variant_name
from lamella.core.bench.results.figures import shown_bytes, shown_rows, shown_seconds
from lamella.core.bench.results.published_results import published_lines
from lamella.core.bench.results.records import Record
from lamella.core.bench.results.results_file import read_results_file, write_results_file
from lamella.core.bench.results.run import SavedRun
from lamella.core.bench.workloads.questions import digest
from lamella.core.bench.workloads.taxi import (
    DUCKDB_QUERIES,
    QUERIES,
    TRIP_SCHEMA,
    comparable_rows,
    trips,
)
from lamella.core.jobs import Job
from lamella.core.transfer.exporting import Destination
from lamella.core.transfer.writer import Rows
from tests.bench.page import put_into

ROOT = Path(__file__).resolve().parents[2]
PAGE, PART = ROOT / "docs" / "scale.md", "measured"
RESULTS, LAYOUT = ROOT / "docs" / "results" / "scale.results", ROOT / "docs" / "results" / "scale.json"
PICTURE = ROOT / "docs" / "results" / "scale.svg"
QUERIED = {
    "Q1": ("cab_type",),
    "Q2": ("passenger_count", "total_amount"),
    "Q3": ("passenger_count", "pickup_datetime"),
    "Q4": ("passenger_count", "pickup_datetime", "trip_distance"),
}
"""The columns that each query reads."""
KEYS = {"Q1": 1, "Q2": 1, "Q3": 2, "Q4": 3}
"""The number of columns, or of values computed from them, by which each query groups."""
SAMPLES, ASKED_AT_LARGE, LARGE_ROWS = 5, 2, 200_000_000
"""How often each query runs: usually, and with more than `LARGE_ROWS` rows."""
MOST_SECONDS = 100
"""A query that took longer is not repeated."""
ONE_CORE = "1 core"
FITTED, PREDICTED = (1, 5), (56,)
"""The numbers of links at which the model is fitted, and at which it is compared with measurements."""


@dataclass(frozen=True)
class Layout:
    """The file that is linked: its `bytes` on disk, and those of the chunks of each column."""

    rows: int
    bytes: int
    row_groups: int
    columns: Mapping[str, int]

    def bytes_a_row(self, query: str) -> float:
        return sum(self.columns[name] for name in QUERIED[query]) / self.rows


# ------------------------------------------------------------------------------------ measuring


def make_file(path: Path, rows: int) -> Layout:
    """Write generated trips as `lamella export` does."""
    tables = (pa.Table.from_batches([batch]) for batch in trips(rows))
    Destination.of(path, "parquet").write(Rows(TRIP_SCHEMA, tables, rows, "trips"), Job())
    metadata = pq.read_metadata(path)
    sizes = dict.fromkeys(TRIP_SCHEMA.names, 0)
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for place, name in enumerate(TRIP_SCHEMA.names):
            sizes[name] += group.column(place).total_compressed_size
    return Layout(rows, path.stat().st_size, metadata.num_row_groups, sizes)


def link(file: Path, times: int) -> Path:
    """Create a folder with this number of links."""
    folder = file.with_name(f"{file.stem}-{times}")
    folder.mkdir(exist_ok=True)
    for number in range(times):
        place = folder / f"trips_{number:02}.parquet"
        if not place.exists():
            place.hardlink_to(file)
    return folder


Ask = Callable[[str], pa.Table]


@contextmanager
def asking_lamella(folder: Path) -> Iterator[Ask]:
    from lamella import open_dataset, sql

    dataset = open_dataset(folder)
    yield lambda query: sql(DUCKDB_QUERIES[query], {"trips": dataset})


@contextmanager
def asking_duckdb(folder: Path) -> Iterator[Ask]:
    import duckdb

    with duckdb.connect() as connection:
        connection.execute(f"CREATE VIEW trips AS FROM read_parquet('{folder}/*.parquet')")
        yield lambda query: connection.sql(DUCKDB_QUERIES[query]).to_arrow_table()


@contextmanager
def asking_spark_connect(folder: Path) -> Iterator[Ask]:
    from lamella.core.bench.systems.spark_connect import session

    with session() as spark:
        spark.read.parquet(str(folder)).createOrReplaceTempView("trips")
        yield lambda query: spark.sql(DUCKDB_QUERIES[query]).toArrow()


SYSTEMS = {"lamella": asking_lamella, "duckdb-parquet": asking_duckdb, "spark-connect": asking_spark_connect}
VARIANTS = {"spark-connect": f"Sail {version('pysail')}"}
"""The program that answers, if the system's name does not tell."""
VERSIONS = {"lamella": "lamella", "duckdb-parquet": "duckdb", "spark-connect": "pysail"}


def ask(system: str, folder: Path, times: int) -> Iterator[dict[str, Any]]:
    """Run each query, the first time and again, and return fields of records."""
    with SYSTEMS[system](folder) as answer:
        for query in QUERIES:
            for repeat in range(times):
                table, cost = measure(lambda query=query: answer(query))
                rows = [list(row) for row in zip(*(c.to_pylist() for c in table.columns), strict=True)]
                yield {
                    "operation": query, "repeat": repeat, "seconds": cost.seconds,
                    "cpu_seconds": cost.cpu_seconds, "peak_rss_bytes": cost.peak_rss_bytes,
                    "checksum": digest(comparable_rows(query, rows)),
                    "temperature": "warm" if repeat else "cold",
                    "rows": None if query == "Q2" else sum(row[-1] for row in rows),
                }  # fmt: skip
                if cost.seconds > MOST_SECONDS:
                    break


def records_of(system: str, folder: Path, layout: Layout, links: int, cores: int | None) -> list[Record]:
    """Measure in a separate process. Raises `AssertionError` for an answer that lacks rows."""
    times = SAMPLES if layout.rows * links <= LARGE_ROWS else ASKED_AT_LARGE
    words = [
        sys.executable,
        "-m",
        "tests.bench.scale_bench",
        str(folder),
        "--ask",
        system,
        "--times",
        str(times),
    ]
    alone = {} if cores is None else {"preexec_fn": lambda: os.sched_setaffinity(0, range(cores))}
    result = subprocess.run(words, capture_output=True, text=True, check=False, **alone)
    if result.returncode:
        raise RuntimeError(f"{system} at {links} links: {result.stderr[-2000:]}")
    rows, records = layout.rows * links, []
    for line in result.stdout.splitlines():
        fields = json.loads(line)
        counted = fields.pop("rows")
        assert counted in (None, rows), f"{system} {fields['operation']}: {counted} rows of {rows}"
        name = variant_name(system, ONE_CORE if cores == 1 else VARIANTS.get(system, ""))
        sizes = {"columns": len(TRIP_SCHEMA), "disk_bytes": layout.bytes * links}
        records.append(Record("taxi", name, rows=rows, **sizes, **fields))
    return records


@dataclass(frozen=True)
class Plan:
    """`small` are sizes with separate files, `links` how often the file of `rows` rows is linked."""

    small: tuple[int, ...] = (1_000_000, 10_000_000)
    rows: int = 20_000_000
    links: tuple[int, ...] = (1, 5, 56)
    one_core: tuple[int, ...] = (1, 5)
    systems: tuple[str, ...] = tuple(SYSTEMS)


def measure_all(folder: Path, plan: Plan, say: Callable[[str], object] = print) -> tuple[SavedRun, Layout]:
    """Generate the files, run the queries, and remove the files. Raises `AssertionError` if two answers
    differ."""
    folder.mkdir(parents=True, exist_ok=True)
    started, before = datetime.now(UTC), time.monotonic()
    records: list[Record] = []
    try:
        sizes = [(rows, 1) for rows in plan.small] + [(plan.rows, links) for links in plan.links]
        layouts: dict[int, Layout] = {}
        for rows, links in sizes:
            file = folder / f"trips-{rows}.parquet"
            if rows not in layouts:
                layouts[rows] = make_file(file, rows)
            place = link(file, links)
            for system in plan.systems:
                records += _asked(system, place, layouts[rows], links, None, say)
            if rows == plan.rows and links in plan.one_core:
                records += _asked("lamella", place, layouts[rows], links, 1, say)
            shutil.rmtree(place)
    finally:
        shutil.rmtree(folder)
    facts = environment(folder.parent)
    surroundings = tuple(
        Surroundings(name, version(VERSIONS[name]), DESCRIPTIONS[name], facts, "taxi")
        for name in plan.systems
    )
    run = SavedRun(
        started, "Taxi trips at full size", "python -m tests.bench.scale_bench FOLDER --measure",
        time.monotonic() - before, None, tuple(records), surroundings=surroundings,
        note=f"One file of {plan.rows:,} made trips, linked up to {max(plan.links)} times",
    )  # fmt: skip
    refuse_differences(records)
    return run, layouts[plan.rows]


DESCRIPTIONS = {
    "lamella": "files in place, asked in SQL",
    "duckdb-parquet": "a view over read_parquet of the files, as installed",
    "spark-connect": "Sail over loopback, which reads the files in place; answers as Arrow",
}


def _asked(
    system: str, folder: Path, layout: Layout, links: int, cores: int | None, say: Callable[[str], object]
) -> list[Record]:
    say(f"{datetime.now():%H:%M:%S} {system} {layout.rows * links:,} rows, on {cores or 'all'} core(s)")
    try:
        return records_of(system, folder, layout, links, cores)
    except RuntimeError as error:
        say(str(error))
        return []


def refuse_differences(records: Iterable[Record]) -> None:
    """Raise `AssertionError` if answers to a query at one size differ."""
    answers: dict[tuple[str, int], dict[str, set[str]]] = {}
    for record in records:
        answers.setdefault((record.operation, record.rows), {}).setdefault(record.checksum, set()).add(
            record.system
        )
    odd = {point: by for point, by in answers.items() if len(by) > 1}
    assert not odd, odd


# ------------------------------------------------------------------------------------ the model


@dataclass(frozen=True)
class Model:
    """Core-seconds of a query = rows × (`column` × columns + `key` × keys of groups + `byte` × bytes a row).
    Columns and bytes are those that the query reads, bytes as in the files."""

    column: float
    key: float
    byte: float

    def core_seconds(self, rows: float, columns: float, keys: float, bytes_a_row: float) -> float:
        return rows * (self.column * columns + self.key * keys + self.byte * bytes_a_row)

    @classmethod
    def fitted(cls, points: Sequence[tuple[float, float, float, float, float]]) -> Model:
        """Fit by least squares of relative errors, without negative terms. A point is core-seconds, rows,
        columns, keys, and bytes per row."""
        seconds, rows, *counted = np.array(points, float).T
        terms = np.stack(counted, 1) * (rows / seconds)[:, None]
        used = list(range(len(counted)))
        while True:  # a term that would be negative is left out
            parameters = np.zeros(len(counted))
            parameters[used] = np.linalg.lstsq(terms[:, used], np.ones(len(seconds)), rcond=None)[0]
            if (parameters >= 0).all():
                return cls(*parameters.tolist())
            used = [place for place in used if parameters[place] >= 0]


Points = Mapping[tuple[str, str, int], float]
"""Figures by system, query and rows."""


def lowest(run: SavedRun, quantity: str = "seconds") -> Points:
    """Return the lowest figure of each point: the statistic that was published."""
    figures: dict[tuple[str, str, int], float] = {}
    for record in run.records:
        key, figure = (record.system, record.operation, record.rows), float(getattr(record, quantity))
        figures[key] = min(figures.get(key, figure), figure)
    return figures


def factors(layout: Layout, query: str) -> tuple[int, int, float]:
    """Return the model's inputs for a query: columns, keys and bytes per row."""
    return len(QUERIED[query]), KEYS[query], layout.bytes_a_row(query)


def model_of(run: SavedRun, layout: Layout) -> Model:
    """Return the model of Lamella, fitted at the sizes of `FITTED` on all cores."""
    work = lowest(run, "cpu_seconds")
    return Model.fitted(
        [
            (work["lamella", query, layout.rows * links], layout.rows * links, *factors(layout, query))
            for links in FITTED
            for query in QUERIES
        ]
    )


# ------------------------------------------------------------------------------------ the page


def page_part(run: SavedRun, layout: Layout) -> str:
    facts = dict(run.surroundings[0].environment)
    parts = [
        f"Measured on {run.started:%d %B %Y} on {sentence(facts)}. Core-seconds are in brackets."
        f" Figures are the lowest of {SAMPLES} in one process, above {shown_rows(LARGE_ROWS)} of"
        f" {ASKED_AT_LARGE}; a query that took more than {MOST_SECONDS} s was run once. The file of"
        f" {shown_rows(layout.rows)} takes {shown_bytes(layout.bytes)} in {layout.row_groups:,} row groups,"
        " and is in the system's file cache. All systems gave the same answers.",
        "![Q1 to Q4 by rows](results/scale.svg)",
        _times_table(run),
        "### The model",
        _model_part(run, layout),
    ]
    return "\n\n".join(parts)


def _times_table(run: SavedRun) -> str:
    times, work = lowest(run), lowest(run, "cpu_seconds")
    sizes = sorted({rows for _, _, rows in times})
    systems = list(dict.fromkeys(record.system for record in run.records))
    lines = ["| rows | system | " + " | ".join(QUERIES) + " |", "|---:|:---|" + "---:|" * len(QUERIES)]
    for rows in sizes:
        for system in systems:
            if (system, QUERIES[0], rows) in times:
                cells = [_cell(times, work, (system, query, rows)) for query in QUERIES]
                lines.append(f"| {rows:,} | {entry_named(system).title} | " + " | ".join(cells) + " |")
    for system in ("sqlite-parquet", "sqlite"):
        published = {
            query: line.points[0].seconds
            for query in QUERIES
            for line in published_lines("taxi", query)
            if line.system == system
        }
        texts = [shown_seconds(published[query]) if query in published else "–" for query in QUERIES]
        title = f"{entry_named(system).title.partition(' (')[0]}, published"
        lines.append(f"| 1,100,000,000 | {title} | " + " | ".join(texts) + " |")
    return "\n".join(lines)


def _cell(times: Points, work: Points, point: tuple[str, str, int]) -> str:
    """Return a cell; for a server, only the time is known."""
    if point not in times:
        return "–"
    served = plain_name(point[0]) == "spark-connect"
    return shown_seconds(times[point]) + ("" if served else f" ({shown_seconds(work[point])})")


def _model_part(run: SavedRun, layout: Layout) -> str:
    model, work = model_of(run, layout), lowest(run, "cpu_seconds")
    formula = (
        "A query of Lamella over files in memory takes, in core-seconds, rows × ("
        f"{model.column * 1e9:.1f} ns × columns + {model.key * 1e9:.1f} ns × keys + {model.byte * 1e9:.1f} ns"
        " × bytes per row): it counts the columns and bytes that are read, and the keys of the groups. On"
        " idle cores, divide by their number. **Fitted** to"
        f" {' and '.join(shown_rows(layout.rows * links) for links in FITTED)} on all cores; **predicted**:"
    )
    head = [
        "| predicted | query | bytes per row | model | measured | error |",
        "|:---|:---|---:|---:|---:|---:|",
    ]
    lines = []
    for links, system, where in (
        *((links, "lamella", "all cores") for links in PREDICTED),
        *((links, variant_name("lamella", ONE_CORE), ONE_CORE) for links in FITTED),
    ):
        rows = layout.rows * links
        for query in QUERIES:
            if (system, query, rows) in work:
                counted, seconds = factors(layout, query), work[system, query, rows]
                estimate = model.core_seconds(rows, *counted)
                lines.append(
                    f"| {shown_rows(rows)}, {where} | {query} | {counted[-1]:.2f} | "
                    f"{shown_seconds(estimate)} | {shown_seconds(seconds)} | {estimate / seconds - 1:+.0%} |"
                )
    return "\n\n".join([formula, "\n".join([*head, *lines])])


def write_picture(run: SavedRun) -> None:
    """Write the picture. Needs Qt, but no screen."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from lamella.app.bootstrap import application
    from lamella.ui.bench.benchmark_results import results_of
    from lamella.ui.bench.export import write_overview

    application()
    write_overview(PICTURE, results_of(run)["taxi"])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--ask", choices=SYSTEMS, help=argparse.SUPPRESS)
    parser.add_argument("--times", type=int, default=SAMPLES, help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.ask:
        for fields in ask(chosen.ask, chosen.folder, chosen.times):
            print(json.dumps(fields), flush=True)
        return
    if chosen.measure:
        run, layout = measure_all(chosen.folder, Plan())
        write_results_file(run, RESULTS)
        LAYOUT.write_text(json.dumps(asdict(layout), indent=1) + "\n", "utf-8")
    run, layout = read_results_file(RESULTS), Layout(**json.loads(LAYOUT.read_text("utf-8")))
    write_picture(run)
    put_into(PAGE, PART, page_part(run, layout))


if __name__ == "__main__":
    main()
