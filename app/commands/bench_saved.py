"""`lamella bench --runs`, `--show`, `--delete` and `--compare`: saved runs and results files."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from lamella.core.bench.engine.machine import sentence
from lamella.core.bench.results.compare import SLOWER, comparison_table
from lamella.core.bench.results.compare import compare as compared
from lamella.core.bench.results.console import finish
from lamella.core.bench.results.figures import ReportTable, shown_seconds
from lamella.core.bench.results.records import Record, read_json
from lamella.core.bench.results.run import RunSummary, SavedRun, combine
from lamella.core.bench.results.store import SavedRuns, read_results_file, write_results_file
from lamella.core.errors import LamellaError

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
        for named in arguments.show:
            if not _is_number(named):
                raise LamellaError(f"{named}: a results file keeps the note that it has", fix=_SHOW_RUN)
            kept.note(int(named), arguments.note)
    run = combine([_run(kept, named) for named in arguments.show])
    print(f"{run.title}\n{run.started.astimezone():%Y-%m-%d %H:%M}. {run.note}\n{run.command}")
    for machine in dict.fromkeys(sentence(found.environment) for found in run.surroundings):
        print(machine)
    finish(run, print, arguments.json, arguments.report)
    export(run, arguments.export)
    return OK


_SHOW_RUN = "Give --note with the number of a saved run"


def export(run: SavedRun, out: Path | None) -> None:
    if out is not None:
        write_results_file(run, out)
        print(f"Results file: {out}")


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
    if _is_number(named):
        return kept.run(int(named)).records
    path = Path(named)
    return read_json(path) if _begins_as_json(path) else read_results_file(path).records


def _run(kept: SavedRuns, named: str) -> SavedRun:
    return kept.run(int(named)) if _is_number(named) else read_results_file(Path(named))


def _is_number(named: str) -> bool:
    """A number is a saved run, unless there is a file of that name."""
    return named.isdecimal() and not Path(named).exists()


def _begins_as_json(path: Path) -> bool:
    """Also where it cannot be read, which its reader says."""
    try:
        with path.open("rb") as file:
            return file.read(64).lstrip()[:1] in (b"[", b"{")
    except OSError:
        return True


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
