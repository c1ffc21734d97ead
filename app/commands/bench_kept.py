"""`lamella bench --runs`, `--show`, `--delete` and `--compare`: the runs that were saved."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from lamella.core.bench.results.compare import SLOWER, comparison_table
from lamella.core.bench.results.compare import compare as compared
from lamella.core.bench.results.console import finish
from lamella.core.bench.results.figures import ReportTable, shown_seconds
from lamella.core.bench.results.records import Record, read_json
from lamella.core.bench.results.run import RunSummary, combine
from lamella.core.bench.results.store import SavedRuns

OK, REGRESSION = 0, 1


def show_runs(kept: SavedRuns) -> int:
    found = kept.runs()
    if not found:
        print(f"No run is saved in {kept.path}.")
        return OK
    header = ("run", "started", "took", "samples", "failed", "what", "note")
    print(ReportTable(f"Saved in {kept.path}", header, tuple(map(_line, found))).as_text())
    return OK


def show_run(kept: SavedRuns, arguments: argparse.Namespace) -> int:
    if arguments.note is not None:
        for number in arguments.show:
            kept.note(number, arguments.note)
    run = combine([kept.run(number) for number in arguments.show])
    print(f"{run.title}\n{run.started.astimezone():%Y-%m-%d %H:%M}. {run.note}\n{run.command}")
    finish(run, print, arguments.json, arguments.report)
    return OK


def delete(kept: SavedRuns, numbers: Sequence[int]) -> int:
    kept.delete(numbers)
    print(f"Forgotten: {', '.join(map(str, numbers))}")
    return OK


def compare(kept: SavedRuns, before: str, after: str) -> int:
    """1 when something became slower."""
    found = compared(_records(kept, before), _records(kept, after))
    if not found:
        print(f"{before} and {after} have measured nothing in common.")
        return OK
    print(comparison_table(found).as_text())
    verdicts = [one.verdict for one in found]
    told = ", ".join(f"{verdicts.count(verdict):,} {verdict}" for verdict in dict.fromkeys(verdicts))
    print(f"\n{len(found):,} measured in both: {told}.")
    return REGRESSION if SLOWER in verdicts else OK


def _records(kept: SavedRuns, named: str) -> Sequence[Record]:
    """A number is a saved run, unless there is a file of that name."""
    if named.isdecimal() and not Path(named).exists():
        return kept.run(int(named)).records
    return read_json(Path(named))


def _line(run: RunSummary) -> tuple[str, ...]:
    return (
        str(run.id),
        f"{run.started.astimezone():%Y-%m-%d %H:%M}",
        shown_seconds(run.seconds),
        f"{run.samples:,}",
        f"{run.failures:,}",
        run.title,
        run.note,
    )
