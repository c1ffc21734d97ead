"""Writes docs/benchmarks.md and its plots from a results file: `python -m tests.bench.results_page FILE`.

With `--measure`, the file is measured first: every line of PLAN is a separate benchmark, and is not measured
again if its file is already beside the results file. On two quiet cores, that takes about 35 minutes. The
page has an overall verdict; for each workload the wins and losses, and a picture of its plots and its matrix;
and every claim of the documents.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from lamella.core.bench.engine.machine import sentence
from lamella.core.bench.registry import WORKLOADS, entry_named, plain_name
from lamella.core.bench.results.compare import Standing, standing_counts, standings
from lamella.core.bench.results.figures import shown_factor, shown_rows, shown_seconds, workload_title
from lamella.core.bench.results.matrix import (
    AHEAD,
    BEHIND,
    DISK,
    LEVEL,
    UNSURE,
    Cell,
    Matrix,
    matrix_of,
    usual_samples,
)
from lamella.core.bench.results.published_results import (
    CANNOT,
    NOT_MEASURED,
    NOT_REPRODUCED,
    PARTLY,
    REPRODUCED,
    claims_table,
)
from lamella.core.bench.results.records import Sample, Tally, by_workload, write_text
from lamella.core.bench.results.report import shown_check
from lamella.core.bench.results.results_file import read_results_file, write_results_file
from lamella.core.bench.results.run import SavedRun, combine

ROOT = Path(__file__).resolve().parents[2]
PAGE, PICTURES = ROOT / "docs" / "benchmarks.md", ROOT / "docs" / "results" / "plots"
MOST_LINES = 150
PLAN = (
    "--workload small --systems all --rows 1,100,10000 --repeats 3",
    "--workload small --systems lamella,sqlite,duckdb,polars,pyarrow,parquetdb --rows 100000 --repeats 3",
    "--workload small --systems lamella,sqlite,duckdb,polars --rows 1000000 --repeats 1",
    "--workload update --systems all --rows 1,100,10000 --repeats 2",
    "--workload update --systems lamella,sqlite,duckdb,parquetdb --rows 100000 --repeats 2",
    "--workload single --systems all --rows 100,10000 --repeats 2",
    "--workload single --systems lamella,sqlite,sqlite-wal,duckdb --rows 100000 --repeats 1",
    "--workload partial --systems lamella,sqlite,sqlite-wal,duckdb,parquetdb --rows 1,100,10000"
    " --table-rows 100000 --repeats 1",
    "--workload needle --systems all --rows 1,100,10000 --repeats 2",
    "--workload needle --systems lamella,sqlite,duckdb,polars,pyarrow --rows 100000 --repeats 2",
    "--workload scattered --systems lamella,sqlite,duckdb,polars,parquetdb --rows 100000 --repeats 1",
    "--workload floats --systems all --rows 1000,10000,100000 --repeats 2",
    "--workload entity-changes,entity-queries,entity-storage,entity-memory,entity-relations --systems all"
    " --rows 1000,10000 --repeats 1",
    "--workload entity-queries,entity-storage,entity-relations --rows 100000 --repeats 1"
    " --systems lamella,sqlite,duckdb,polars,parquet-snappy,parquet-zstd,jsonl",
    "--workload entity-indexes,entity-text --systems all --rows 10000,100000 --repeats 1",
    "--workload bridge --systems all --rows 10000,100000 --repeats 2",
    "--workload taxi --systems all --rows 20000,100000 --repeats 2",
    "--workload taxi --systems lamella,sqlite,duckdb,duckdb-parquet,polars --rows 1000000 --repeats 1",
    "--workload catalog --systems all --rows 1000 --repeats 3",
    "--workload transfer --systems lamella,duckdb,polars,pandas,sqlite --rows 100000 --repeats 3",
    "--workload transfer --systems lamella,duckdb,polars,sqlite --rows 2000000 --repeats 1",
    "--workload floats --interpreter pypy3 --systems all --rows 1000,10000,100000 --repeats 2",
    "--workload window --systems lamella --rows 100000,1000000 --repeats 2",
)
TINY = ("--workload all --systems lamella,sqlite --scale small --repeats 1",)
VERDICTS = (REPRODUCED, PARTLY, NOT_REPRODUCED, CANNOT, NOT_MEASURED)
FEWEST_WORKLOADS = 6
FURTHEST = 4
"""The number of wins, and of losses, that the overall verdict names."""


def page_text(run: SavedRun, file: str, pictures: str) -> str:
    """Return the page; `file` and `pictures` are its links."""
    measured = by_workload(run.samples)
    groups = {name: measured[name] for name in WORKLOADS if name in measured}
    results = [(name, standing) for name, group in groups.items() for standing in standings(group)]
    parts = [
        "# Benchmark results",
        _verdict(run, results),
        f"Furthest ahead: {_furthest(results, AHEAD)}.",
        f"Furthest behind: {_furthest(results, BEHIND)}.",
        *_each_rival(groups),
        _how_to_read(),
        "## Every workload",
        "\n\n".join(_workload(name, group, run, pictures) for name, group in groups.items()),
        "## What the documents claim",
        _claims(run),
        "## All figures",
        _all_figures(file),
    ]
    return "\n\n".join(parts) + "\n"


def _verdict(run: SavedRun, results: Sequence[tuple[str, Standing]]) -> str:
    systems = {plain_name(sample.system) for sample in run.samples} - {"lamella"}
    workloads = {sample.workload for sample in run.samples}
    machine = sentence(dict(run.surroundings[0].environment)) if run.surroundings else "an unknown machine"
    ours = [standing for _, standing in results if standing.subject == "lamella"]
    counts = standing_counts(ours).replace("Of ", "", 1).partition(", ")
    return (
        f"Lamella compared with {len(systems)} other systems in {len(workloads)} workloads, measured on"
        f" {run.started:%d %B %Y} on one machine: {machine}. **Of {counts[0]} measurements with other"
        f" systems, {_and(counts[2])}.**"
    )


def _and(text: str) -> str:
    before, comma, last = text.rpartition(", ")
    return f"{before} and {last}" if comma else last


def _furthest(results: Sequence[tuple[str, Standing]], verdict: str) -> str:
    """Return the ratio furthest from 1 in each workload, the furthest first."""
    best: dict[str, Standing] = {}
    for name, standing in results:
        if standing.subject == "lamella" and standing.verdict == verdict:
            before = best.get(name)
            if before is None or _times(standing) > _times(before):
                best[name] = standing
    ordered = sorted(best.items(), key=lambda item: -_times(item[1]))[:FURTHEST]
    return "; ".join(_named(name, standing) for name, standing in ordered) or "nowhere"


def _times(standing: Standing) -> float:
    return max(standing.factor, 1 / standing.factor)


def _named(workload: str, standing: Standing) -> str:
    rival = entry_named(standing.rival).title
    return (
        f"*{workload_title(workload)}, {standing.title}* at {shown_rows(standing.rows)}, "
        f"{shown_factor(_times(standing))} × "
        f"({shown_seconds(standing.seconds)} against {shown_seconds(standing.rival_seconds)} of {rival})"
    )


def _how_to_read() -> str:
    return (
        "A measurement is one operation at one size, and Lamella is compared with the fastest of the others;"
        " times are medians. In the pictures, dashed lines are published figures. Below the plots, Lamella is"
        " compared with each rival at the largest size: ▲ faster, ▼ slower, ≈ if the medians are within 5% or"
        " the spreads overlap, ✕ failed or answered wrongly. SQLite with `synchronous=OFF` is not durable;"
        " every commit of Lamella is."
    )


def _each_rival(groups: Mapping[str, Sequence[Sample]]) -> list[str]:
    """Return the rivals of several workloads, by how often Lamella is ahead of them."""
    counts = []
    for rival in sorted({standing.system for group in groups.values() for standing in group} - {"lamella"}):
        pairs = [
            [standing for standing in group if standing.system in ("lamella", rival)]
            for group in groups.values()
        ]
        by_rival = [
            [standing for standing in standings(pair) if standing.subject == "lamella"]
            for pair in pairs
            if pair
        ]
        if sum(map(bool, by_rival)) >= FEWEST_WORKLOADS:
            largest = [standing for some in by_rival for standing in _largest(some)]
            ahead = sum(standing.verdict == AHEAD for standing in largest)
            level = sum(standing.verdict == LEVEL for standing in largest)
            text = f"{entry_named(rival).title} in {ahead} of {len(largest)}" + f" (level in {level})" * (
                level > 0
            )
            counts.append((ahead / len(largest), text))
    if not counts:
        return []
    listed = "; ".join(text for _, text in sorted(counts, reverse=True))
    return [
        "Compared with each rival alone, at the largest size at which both were measured, Lamella is ahead of"
        f" {listed}. These are the rivals with at least {FEWEST_WORKLOADS} workloads."
    ]


def _largest(results: Sequence[Standing]) -> Iterable[Standing]:
    """Return the standings at the largest size of each operation of a workload."""
    return {
        (standing.operation, standing.call): standing
        for standing in sorted(results, key=lambda standing: standing.rows)
    }.values()


def _workload(name: str, samples: Sequence[Sample], run: SavedRun, pictures: str) -> str:
    workload, tally = WORKLOADS[name], Tally(samples)
    failures = [failure for failure in run.failures if failure.workload == name]
    unsupported = [gap for gap in run.unsupported_steps if gap.workload == name]
    matrix = matrix_of(
        workload, tally, tally.rows[-1], "median", usual_samples(workload), failures, unsupported
    )
    check = shown_check(workload, tally.points)
    return (
        f"### {workload.title}\n{workload.about} {_sentence(matrix)} {check}\n"
        f"![{workload.title}: plots of all operations, and Lamella against each rival]({pictures}/{name}.svg)"
    )


def _sentence(matrix: Matrix) -> str:
    """Return the wins and losses against the best rival of each operation."""
    at = f"At {shown_rows(matrix.rows)}"
    if not matrix.rivals:
        return f"**{at}, only {matrix.title or 'no system'} was measured.**"
    cells = [cell for column in matrix.columns if (cell := matrix.nearest(column)) is not None]
    timed = [cell for cell in cells if cell.column.field != DISK]
    parts = []
    for word, outcomes in (("fastest", (AHEAD,)), ("level", (LEVEL, UNSURE)), ("slower", (BEHIND,))):
        some = sorted(
            (candidate for candidate in timed if candidate.outcome in outcomes),
            key=lambda candidate: -candidate.times,
        )
        if some:
            cells_text = ", ".join(_cell(candidate, matrix, word != "level") for candidate in some)
            parts.append(f"{word} in {len(some)} ({cells_text})")
    if not timed:
        return f"**{at}, only {matrix.title} has figures.**"
    size = next(
        (
            candidate
            for candidate in cells
            if candidate.column.field == DISK and candidate.outcome in (AHEAD, BEHIND)
        ),
        None,
    )
    if size is not None:
        word = size.column.word(size.outcome == AHEAD)
        parts.append(f"{shown_factor(size.times)} × {word} on disk than {matrix.short_title(size.rival)}")
    return f"**{at}, of {len(timed)} operations {matrix.title} is {'; '.join(parts)}.**"


def _cell(cell: Cell, matrix: Matrix, with_factor: bool) -> str:
    factor = f" {shown_factor(cell.times)} ×" if with_factor else ""
    return f"{cell.column.title}{factor} {matrix.short_title(cell.rival)}"


def _claims(run: SavedRun) -> str:
    table = claims_table(run.samples)
    judged = [line[2] for line in table.lines]
    counted = ", ".join(f"{judged.count(verdict)} {verdict}" for verdict in VERDICTS if verdict in judged)
    lines = [
        f"| {document} | {claim} | {own} | {measured} |" for document, claim, own, measured, _ in table.lines
    ]
    head = ["| document | it claims | here | measured here |", "|:---|:---|:---|:---|"]
    return f"{len(judged)} claims: {counted}.\n\n" + "\n".join([*head, *lines])


def _all_figures(file: str) -> str:
    show = f"lamella bench --show docs/{file}"
    return (
        f"[{Path(file).name}]({file}) has all samples, the machine, the versions and how each system was"
        f" set up:\n\n```\n{show}                        # every table\n"
        f"{show} --workload small       # of one workload\n"
        f"{show} --report results.md    # as a page\n"
        f"lamella bench --compare docs/{file} 7    # beside your own run 7\n```\n\n"
        "[Benchmarks](benchmark.md) describes how systems are measured. The goals of"
        " [the store](benchmarks-store.md) and of [queries](benchmarks-queries.md), and the missed ones, are"
        " on separate pages."
    )


def write_pictures(run: SavedRun, folder: Path) -> list[Path]:
    """Write a picture for each workload. Needs Qt, but no screen."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from lamella.app.bootstrap import application
    from lamella.ui.bench.benchmark_results import results_of
    from lamella.ui.bench.export import write_overview

    application()
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, results in results_of(run).items():
        if name in WORKLOADS and results.records:
            paths.append(folder / f"{name}.svg")
            write_overview(paths[-1], results)
    for left in set(folder.glob("*.svg")) - set(paths):
        left.unlink()
    return paths


def measure(file: Path, plan: Sequence[str]) -> None:
    """Measure each benchmark to a separate file, then combine all in one."""
    parts = [file.with_name(f"{file.stem}-{number}.part") for number in range(1, len(plan) + 1)]
    for line, part in zip(plan, parts, strict=True):
        if not part.exists():
            print(f"{datetime.now():%H:%M:%S} lamella bench {line}", flush=True)
            how = [*shlex.split(line), "--quiet", "--no-save", "--export", str(part)]
            subprocess.run([sys.executable, "-m", "lamella.app", "bench", *how], check=False)
    write_results_file(combine([read_results_file(part) for part in parts]), file)
    for part in parts:
        part.unlink()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, help="a results file below docs/results")
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--pictures", type=Path, default=PICTURES)
    parser.add_argument("--measure", action="store_true", help="measure the results first")
    parser.add_argument("--tiny", action="store_true", help="with --measure: a two-minute run, for a test")
    chosen = parser.parse_args(arguments)
    if chosen.measure:
        measure(chosen.file, TINY if chosen.tiny else PLAN)
    run = read_results_file(chosen.file)
    file, pictures = (
        os.path.relpath(path.absolute(), chosen.page.absolute().parent)
        for path in (chosen.file, chosen.pictures)
    )
    for path in write_pictures(run, chosen.pictures):
        print(f"{path}: {path.stat().st_size:,} bytes")
    text = page_text(run, file, pictures)
    write_text(chosen.page, text)
    print(f"{chosen.page}: {len(text.splitlines())} lines, of at most {MOST_LINES}")


if __name__ == "__main__":
    main()
