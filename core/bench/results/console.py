"""The output of a benchmark on the command line: its progress, then the report and the files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lamella.core.bench.engine.machine import sentence
from lamella.core.bench.engine.protocol import (
    LIMIT,
    TOO_LARGE,
    Failure,
    Message,
    StepStart,
    Surroundings,
    UnsupportedStep,
)
from lamella.core.bench.results.markdown import markdown_report
from lamella.core.bench.results.records import Record, write_json, write_text
from lamella.core.bench.results.report import text_report
from lamella.core.bench.results.run import SavedRun, by_system, describe_surroundings


class Console:
    """Prints a benchmark's progress: pass `receive` as its listener. Each line goes to `say`."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say = say
        self.failures: list[Failure] = []
        self.unsupported_steps: list[UnsupportedStep] = []
        self.surroundings: dict[str, dict[str, Any]] = {}

    def receive(self, message: Message) -> None:
        match message:
            case StepStart(system, rows, repeat, step):
                self.say(f"{system}: {rows:,} rows, {step.replace('_', ' ')}, repeat {repeat + 1}")
            case Failure():
                self.failures.append(message)
                self.say(failure_line(message))
            case UnsupportedStep(_, system, step, reason):
                self.unsupported_steps.append(message)
                self.say(f"{system}, {step.replace('_', ' ')}: not supported. {reason}")
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
    """Print the tables and failures, and write the files.

    `out` gets a JSON array of records, with machine and versions in a file beside it: `out.json` and
    `out.environment.json`; `report` gets everything as Markdown. Raises FileProblem.
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
    """Whether a system failed, crashed or gave a wrong answer. Exceeding a limit, or not fitting, is a normal
    result."""
    return any(failure.kind not in (LIMIT, TOO_LARGE) for failure in run.failures)


def write_results(
    records: Sequence[Record], surroundings: Mapping[str, Mapping[str, Any]], out: Path
) -> Path:
    """Write the samples, and the surroundings by system in a file beside it, whose path is returned."""
    beside = out.with_suffix(".environment.json")
    write_json(records, out)
    write_text(beside, json.dumps(surroundings, indent=1) + "\n")
    return beside


def failure_line(failure: Failure) -> str:
    doing = f"{failure.operation.replace('_', ' ')}, " if failure.operation else ""
    return f"{failure.system}, {doing}{failure.rows:,} rows: {failure.message}"
