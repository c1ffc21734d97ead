"""A benchmark as it is told on the command line: what happens as it comes, then the report and the files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lamella.core.bench.engine.machine import sentence
from lamella.core.bench.engine.protocol import (
    LIMIT,
    TOO_LARGE,
    Doing,
    Failure,
    Message,
    Surroundings,
    Unsupported,
)
from lamella.core.bench.results.markdown import markdown_report
from lamella.core.bench.results.records import Record, write_json, write_text
from lamella.core.bench.results.report import text_report
from lamella.core.bench.results.run import SavedRun, by_system, describe_surroundings


class Console:
    """Prints a benchmark's progress: pass `receive` as its listener. Every line goes to `say`."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say = say
        self.failures: list[Failure] = []
        self.unsupported: list[Unsupported] = []
        self.surroundings: dict[str, dict[str, Any]] = {}

    def receive(self, message: Message) -> None:
        match message:
            case Doing(system, rows, repeat, step):
                self.say(f"{system}: {rows:,} rows, {step.replace('_', ' ')}, repeat {repeat + 1}")
            case Failure():
                self.failures.append(message)
                self.say(failure_line(message))
            case Unsupported(_, system, step, reason):
                self.unsupported.append(message)
                self.say(f"{system}, {step.replace('_', ' ')}: cannot. {reason}")
            case Surroundings():
                self._note(message)

    def _note(self, surroundings: Surroundings) -> None:
        if not self.surroundings:
            self.say(sentence(surroundings.environment))
        if surroundings.system not in self.surroundings:
            self.say(f"{surroundings.system} {surroundings.version}: {surroundings.description}")
        self.surroundings[surroundings.system] = describe_surroundings(surroundings)


def finish(
    run: SavedRun, say: Callable[[str], None], out: Path | None = None, report: Path | None = None
) -> None:
    """Say the tables and what went wrong, and write the files.

    `out` gets one JSON array of records, and machine and versions go to a file beside it: `out.json`
    and `out.environment.json`; `report` gets all of it as Markdown. Raises FileProblem.
    """
    say("\n" + text_report(run.samples) if run.samples else "\nNothing was measured.")
    for failure in run.failures:
        say("\n" + failure_line(failure))
    if out is not None:
        beside = write_results(run.records, by_system(run.surroundings), out)
        say(f"\nSamples: {out}\nMachine and versions: {beside}")
    if report is not None:
        write_text(report, markdown_report(run))
        say(f"Report: {report}")


def has_failures(run: SavedRun) -> bool:
    """Whether a system failed, crashed or answered wrongly; to pass a limit, or not to fit, is a result."""
    return any(failure.kind not in (LIMIT, TOO_LARGE) for failure in run.failures)


def write_results(
    records: Sequence[Record], surroundings: Mapping[str, Mapping[str, Any]], out: Path
) -> Path:
    """Write the samples, and beside them the surroundings by system; the second file's path."""
    beside = out.with_suffix(".environment.json")
    write_json(records, out)
    write_text(beside, json.dumps(surroundings, indent=1) + "\n")
    return beside


def failure_line(failure: Failure) -> str:
    doing = f"{failure.operation.replace('_', ' ')}, " if failure.operation else ""
    return f"{failure.system}, {doing}{failure.rows:,} rows: {failure.message}"
