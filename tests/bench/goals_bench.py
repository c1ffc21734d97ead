"""Measures the operations that have goals, and the rivals: `python -m tests.bench.goals_bench`.

From 100,000 rows on, every step of every repeat runs in a separate process, and the systems take turns.
--export writes a results file; with --report, its goals replace the measured part of a Markdown page.
`--tiny` takes seconds and only shows that everything runs; the full form takes hours.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from lamella.core.bench.engine import runner
from lamella.core.bench.engine.protocol import Failure, Measurement, Message, Surroundings, UnsupportedStep
from lamella.core.bench.registry import ENTRIES, WORKLOADS, workload_named
from lamella.core.bench.results.console import Console
from lamella.core.bench.results.markdown import machine_and_systems, not_measured_lines
from lamella.core.bench.results.records import Record, by_workload
from lamella.core.bench.results.report import overview_table
from lamella.core.bench.results.results_file import read_results_file, write_results_file
from lamella.core.bench.results.run import SavedRun, by_system, combine
from lamella.core.bench.workloads.model import Workload
from lamella.core.bench.workloads.tables import ALL_SIZES, PARTIAL
from lamella.core.jobs import Job, Progress
from tests.bench.goals import goal_table, missed_and_met, verdicts
from tests.bench.page import put_into

STOPPED = 130


@dataclass(frozen=True)
class Plan:
    """One workload with its systems; with `fresh`, every step runs in a separate process."""

    workload: Workload
    systems: tuple[str, ...]
    rows: tuple[int, ...]
    repeats: int = 5
    fresh: bool = True


RIVALS = ("sqlite", "parquetdb", "pyarrow", "pyarrow-tuned")
DURABLE = ("sqlite", "sqlite-wal", "parquetdb")
FEW, MANY, MOST = ALL_SIZES[:5], ALL_SIZES[5:6], ALL_SIZES[6:]


def _sizes(name: str, systems: tuple[str, ...], at_most: int = 5) -> list[Plan]:
    """Return the plans of all sizes, with a process for every step only if the work outweighs its start."""
    workload = workload_named(name)
    return [
        Plan(workload, systems, FEW, fresh=False),
        Plan(workload, systems, MANY),
        Plan(workload, systems, MOST, at_most),
    ]


def _questions(name: str, systems: tuple[str, ...], rows: tuple[int, ...]) -> Plan:
    """Return the plans of questions, with one process per system: questions distinguish first and later calls
    themselves."""
    return Plan(workload_named(name), systems, rows, fresh=False)


FULL = (
    *_sizes("small", ("lamella", *RIVALS)),
    *_sizes("update", ("lamella", *DURABLE), at_most=1),
    *_sizes("single", ("lamella", *DURABLE, "pyarrow", "pyarrow-tuned")),
    Plan(workload_named("scattered"), ("lamella",), (*MANY, *MOST)),
    Plan(workload_named("entity-changes"), ("lamella", "sqlite", "sqlite-wal"), (1_000, 10_000, 100_000)),
    *_sizes("needle", ("lamella", *RIVALS)),
    _questions("entity-queries", ("lamella", "sqlite", "duckdb"), (1_000, 10_000, 100_000)),
    _questions("entity-storage", ("lamella", "sqlite", "jsonl"), (1_000, 10_000, 100_000)),
    _questions("entity-indexes", ("lamella", "sqlite", "duckdb"), (10_000, 100_000)),
    _questions("entity-text", ("lamella", "sqlite-fts5", "tantivy"), (10_000, 50_000, 100_000)),
    _questions("entity-relations", ("lamella", "sqlite", "duckdb"), (10_000, 100_000)),
    _questions("taxi", ("lamella", "duckdb", "duckdb-parquet", "polars", "sqlite"), (1_000_000,)),
    _questions("bridge", ("sqlite-parquet", "sqlite", "duckdb"), (100_000,)),
    Plan(PARTIAL, ("lamella", *DURABLE), ALL_SIZES, repeats=1),
)


def tiny(plan: Plan) -> Plan:
    """Return the same plan with few rows and one repeat."""
    workload = replace(plan.workload, table_rows=200) if plan.workload.table_rows else plan.workload
    return Plan(workload, plan.systems, (20,), 1, plan.fresh)


class Told:
    """Prints the progress with the time since the start, and keeps the records and the failures."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.share = 0.0
        self.records: list[Record] = []
        self.surroundings: list[Surroundings] = []
        self.lost: list[Failure | UnsupportedStep] = []
        self.command, self.date = "", datetime.now(UTC)
        self.diary = Console(self.say)

    def say(self, line: str) -> None:
        minutes = (time.monotonic() - self.started) / 60
        print(f"[{minutes:6.1f} min, {self.share:4.0%}] {line}", flush=True)

    def hear(self, message: Message) -> None:
        self.diary.receive(message)
        match message:
            case Measurement(record):
                self.records.append(record)
            case Failure() | UnsupportedStep():
                self.lost.append(message)
            case Surroundings():
                self.surroundings.append(message)

    def progress(self, progress: Progress) -> None:
        self.share = progress.fraction or 0.0

    def run(self) -> SavedRun:
        return SavedRun(
            self.date,
            "Goals of Lamella",
            self.command,
            time.monotonic() - self.started,
            None,
            tuple(self.records),
            tuple(loss for loss in self.lost if isinstance(loss, Failure)),
            tuple(loss for loss in self.lost if isinstance(loss, UnsupportedStep)),
            tuple({(loss.workload, loss.system): loss for loss in self.surroundings}.values()),
        )


def measure(plans: Sequence[Plan], progress: Told, folder: Path | None, out: Path | None) -> None:
    """Run the benchmarks one after another. `out` is rewritten after each, and if a benchmark is
    interrupted."""
    for plan in plans:
        progress.say(f"== {plan.workload.title}: {', '.join(plan.systems)}")
        try:
            runner.run_workload(
                plan.workload,
                plan.rows,
                plan.systems,
                repeats=plan.repeats,
                folder=folder,
                on_event=progress.hear,
                job=Job(progress.progress),
                fresh=plan.fresh,
            )
        finally:
            if out is not None:
                write_results_file(progress.run(), out)


def recall(files: Sequence[Path], progress: Told) -> None:
    """Read the results files of earlier benchmarks."""
    run = combine([read_results_file(file) for file in files])
    progress.records, progress.surroundings = list(run.records), list(run.surroundings)
    progress.lost = [*run.unsupported_steps, *run.failures]
    progress.command, progress.date = run.command, run.started


def finished(plans: Sequence[Plan], progress: Told, folder: Path | None, out: Path | None) -> bool:
    """Measure; return False if Ctrl+C interrupted it."""
    try:
        measure(plans, progress, folder, out)
    except KeyboardInterrupt:
        progress.say("Interrupted. Measured so far:")
        return False
    return True


def report(run: SavedRun, file: str) -> str:
    """Return the report, with missed goals first; `file` is the page's link to all samples."""
    counted = [verdict for verdict in verdicts(run.records) if verdict.counts]
    met = sum(verdict.met for verdict in counted)
    show = f"`lamella bench --show docs/{file}`"
    parts = [
        f"**{met} of {len(counted)} goals are met, {len(counted) - met} are missed.** Measured on"
        f" {run.started:%d %B %Y}; all figures are in [{Path(file).name}]({file}), which {show} opens.",
        *(table.as_markdown() for table in missed_and_met(counted)),
        "÷ 3.1 says that Lamella takes the other's time divided by 3.1, × 2.0 that it takes twice that time.",
        _at_largest_sizes(run.records),
        machine_and_systems(by_system(run.surroundings)),
        *not_measured_lines([*run.unsupported_steps, *run.failures]),
    ]
    return "\n\n".join(filter(None, parts))


def _at_largest_sizes(records: Sequence[Record]) -> str:
    """Return every operation compared with the best of the others, whether it has a goal or not."""
    largest = {name: max(point.rows for point in group) for name, group in by_workload(records).items()}
    table = overview_table([record for record in records if record.rows == largest[record.workload]])
    lines = tuple((_LINK.sub(r"\1", line[0]), *line[1:]) for line in table.lines)
    return replace(table, title=f"{table.title}, at the largest size", lines=lines).as_markdown()


_LINK = re.compile(r"\[(.+)\]\(.+\)")


def chosen(arguments: argparse.Namespace) -> list[Plan]:
    names = arguments.only or [plan.workload.id for plan in FULL]
    plans = [plan for plan in FULL if plan.workload.id in names]
    if arguments.tiny:
        plans = list({plan.workload.id: tiny(plan) for plan in plans}.values())
    if arguments.rows:
        plans = [replace(plan, rows=tuple(n for n in plan.rows if n in arguments.rows)) for plan in plans]
        plans = [plan for plan in plans if plan.rows]
    if arguments.repeats:
        plans = [replace(plan, repeats=arguments.repeats) for plan in plans]
    return [_installed(plan, arguments.systems) for plan in plans]


def _installed(plan: Plan, names: Sequence[str] | None) -> Plan:
    for name in plan.systems:
        if ENTRIES[name].missing:
            print(f"{name} is left out. {ENTRIES[name].missing}", file=sys.stderr)
    available = tuple(
        name for name in plan.systems if not ENTRIES[name].missing and name in (names or ENTRIES)
    )
    return replace(plan, systems=available)


def main(argv: Sequence[str] | None = None) -> int:
    """Return exit status 1 if a system failed or answered wrongly, 130 if interrupted; missed goals are
    printed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", type=_words, metavar="WORKLOAD,…", help="only these workloads")
    parser.add_argument("--systems", type=_words, metavar="NAME,…", help="only these systems")
    parser.add_argument("--rows", type=_numbers, metavar="N,…", help="only these sizes")
    parser.add_argument("--repeats", type=int)
    parser.add_argument("--folder", type=Path, help="the folder, and so the disk, for the databases")
    parser.add_argument("--export", type=Path, metavar="OUT", help="write all samples to a results file")
    parser.add_argument(
        "--of",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="judge the results files of earlier benchmarks instead",
    )
    parser.add_argument(
        "--report",
        type=Path,
        metavar="PAGE.md",
        help="replace the measured part of this page, with a link to the file",
    )
    parser.add_argument("--tiny", action="store_true", help="few rows, one repeat: only a test that it runs")
    words = list(sys.argv[1:] if argv is None else argv)
    arguments = parser.parse_args(words)
    progress, file = Told(), (arguments.of or [arguments.export])[0]
    progress.command = shlex.join(["python", "-m", "tests.bench.goals_bench", *words])
    if arguments.report and file is None:
        parser.error("--report needs the file that it links to: --export, or --of")
    if arguments.of:
        recall(arguments.of, progress)
    stopped = not arguments.of and not finished(
        chosen(arguments), progress, arguments.folder, arguments.export
    )
    progress.records = [
        record for record in progress.records if record.workload in (arguments.only or WORKLOADS)
    ]
    print("\n" + goal_table(verdicts(progress.records)).as_text())
    if arguments.report and not stopped:
        link = os.path.relpath(file.absolute(), arguments.report.absolute().parent)
        put_into(arguments.report, "measured", report(progress.run(), link))
    for failure in progress.diary.failures:
        print(
            f"{failure.system}, {failure.operation}, {failure.rows:,} rows: {failure.message}",
            file=sys.stderr,
        )
    return STOPPED if stopped else 1 if progress.diary.failures else 0


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _numbers(text: str) -> list[int]:
    return [int(float(word)) for word in _words(text)]


if __name__ == "__main__":
    sys.exit(main())
