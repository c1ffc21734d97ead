"""What the goals are set for, beside the rivals: `python -m tests.bench.goals_bench`.

From 100,000 rows on every step of every repeat is a process of its own and the systems take turns.
Results come as JSON and, with --report, replace the measured part of a Markdown page.
`--tiny` takes seconds and only shows that everything runs; the full form takes hours.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lamella.core.bench.engine import runner
from lamella.core.bench.engine.protocol import Failure, Measured, Message, Unsupported
from lamella.core.bench.registry import ENTRIES, WORKLOADS, workload_named
from lamella.core.bench.results.console import Console, write_results
from lamella.core.bench.results.markdown import HOW_TO_READ, machine_and_systems, not_measured_lines, tables
from lamella.core.bench.results.records import Record, read_json
from lamella.core.bench.results.report import overview_table
from lamella.core.bench.workloads.model import Workload
from lamella.core.bench.workloads.tables import ALL_SIZES, PARTIAL
from lamella.core.jobs import Job, Progress
from tests.bench.goals import goal_table, verdicts
from tests.bench.page import put_into

STOPPED = 130


@dataclass(frozen=True)
class Plan:
    """One workload with the systems it is asked of; `fresh`: every step in a process of its own."""

    workload: Workload
    systems: tuple[str, ...]
    rows: tuple[int, ...]
    repeats: int = 5
    fresh: bool = True


RIVALS = ("sqlite", "parquetdb", "pyarrow", "pyarrow-tuned")
DURABLE = ("sqlite", "sqlite-wal", "parquetdb")
FEW, MANY, MOST = ALL_SIZES[:5], ALL_SIZES[5:6], ALL_SIZES[6:]


def _sizes(name: str, systems: tuple[str, ...], at_most: int = 5) -> list[Plan]:
    """All sizes; a process for every step only where the work outweighs its start."""
    asked = workload_named(name)
    return [
        Plan(asked, systems, FEW, fresh=False),
        Plan(asked, systems, MANY),
        Plan(asked, systems, MOST, at_most),
    ]


def _questions(name: str, systems: tuple[str, ...], rows: tuple[int, ...]) -> Plan:
    """One process for each system: questions tell the first call from those after it themselves."""
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
    """The same on a few rows, once."""
    workload = replace(plan.workload, table_rows=200) if plan.workload.table_rows else plan.workload
    return Plan(workload, plan.systems, (20,), 1, plan.fresh)


class Told:
    """Says what happens with the time since the start, and keeps what was measured and what was lost."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.share = 0.0
        self.records: list[Record] = []
        self.diary = Console(self.say)

    def say(self, line: str) -> None:
        minutes = (time.monotonic() - self.started) / 60
        print(f"[{minutes:6.1f} min, {self.share:4.0%}] {line}", flush=True)

    def hear(self, message: Message) -> None:
        self.diary.receive(message)
        if isinstance(message, Measured):
            self.records.append(message.record)

    def progress(self, progress: Progress) -> None:
        self.share = progress.fraction or 0.0

    @property
    def lost(self) -> list[Failure | Unsupported]:
        return [*self.diary.unsupported, *self.diary.failures]


def measure(plans: Sequence[Plan], told: Told, folder: Path | None, out: Path | None) -> None:
    """Benchmark after benchmark. `out` is written anew after each, and when a benchmark is broken off in
    between."""
    for plan in plans:
        told.say(f"== {plan.workload.title}: {', '.join(plan.systems)}")
        try:
            runner.run_workload(
                plan.workload,
                plan.rows,
                plan.systems,
                repeats=plan.repeats,
                folder=folder,
                on_event=told.hear,
                job=Job(told.progress),
                fresh=plan.fresh,
            )
        finally:
            if out is not None:
                write_results(told.records, told.diary.surroundings, out)


def recall(files: Sequence[Path], told: Told) -> None:
    """What earlier benchmarks wrote."""
    for file in files:
        told.records += read_json(file)
        beside = file.with_suffix(".environment.json")
        told.diary.surroundings |= json.loads(beside.read_text(encoding="utf-8"))


def finished(plans: Sequence[Plan], told: Told, folder: Path | None, out: Path | None) -> bool:
    """Measure; False when Ctrl+C ended it."""
    try:
        measure(plans, told, folder, out)
    except KeyboardInterrupt:
        told.say("Broken off. This was measured so far:")
        return False
    return True


def report(records: Sequence[Record], told: Told, command: str) -> str:
    found = verdicts(records)
    missed = sum(verdict.counts and not verdict.met for verdict in found)
    counted = sum(verdict.counts for verdict in found)
    goals = f"{counted - missed} of {counted} goals met.\n\n{goal_table(found).as_markdown()}"
    head = [f"Measured by `{command}`.", machine_and_systems(told.diary.surroundings), goals, HOW_TO_READ]
    overview = [overview_table(records).as_markdown()] if records else []
    parts = [*head, *overview, *tables(records), *not_measured_lines(told.lost)]
    return "\n\n".join(parts)


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


def _installed(plan: Plan, wanted: Sequence[str] | None) -> Plan:
    for name in plan.systems:
        if ENTRIES[name].missing:
            print(f"{name} is left out. {ENTRIES[name].missing}", file=sys.stderr)
    there = tuple(name for name in plan.systems if not ENTRIES[name].missing and name in (wanted or ENTRIES))
    return replace(plan, systems=there)


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status 1 when a system failed or answered wrongly, 130 when broken off; missed goals are told."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", type=_words, metavar="WORKLOAD,…", help="some of the workloads")
    parser.add_argument("--systems", type=_words, metavar="NAME,…", help="some of the systems")
    parser.add_argument("--rows", type=_numbers, metavar="N,…", help="some of the sizes")
    parser.add_argument("--repeats", type=int)
    parser.add_argument("--folder", type=Path, help="where the databases are made, so on which disk")
    parser.add_argument("--json", type=Path, metavar="OUT", help="every sample")
    parser.add_argument(
        "--of", type=Path, nargs="+", metavar="FILE.json", help="judge what earlier benchmarks wrote instead"
    )
    parser.add_argument("--report", type=Path, metavar="PAGE.md", help="the page whose measured part it is")
    parser.add_argument("--tiny", action="store_true", help="few rows, one repeat: only to see that it runs")
    words = list(sys.argv[1:] if argv is None else argv)
    arguments = parser.parse_args(words)
    told = Told()
    if arguments.of:
        recall(arguments.of, told)
    stopped = not arguments.of and not finished(chosen(arguments), told, arguments.folder, arguments.json)
    records = [record for record in told.records if record.workload in (arguments.only or WORKLOADS)]
    print("\n" + goal_table(verdicts(records)).as_text())
    if arguments.report and not stopped:
        command = shlex.join(["python", "-m", "tests.bench.goals_bench", *words])
        put_into(arguments.report, "measured", report(records, told, command))
    for one in told.diary.failures:
        print(f"{one.system}, {one.operation}, {one.rows:,} rows: {one.message}", file=sys.stderr)
    return STOPPED if stopped else 1 if told.diary.failures else 0


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _numbers(text: str) -> list[int]:
    return [int(float(word)) for word in _words(text)]


if __name__ == "__main__":
    sys.exit(main())
