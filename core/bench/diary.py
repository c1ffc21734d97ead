"""A race as it is told on the command line: what happens as it comes, then the report and the files."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from core.bench.environment import sentence
from core.bench.markdown import markdown_report
from core.bench.protocol import Doing, Failure, Message, Surroundings, Unsupported
from core.bench.report import text_report
from core.bench.results import Record, write_json, write_text


class Diary:
    """Give `hear` to `core.bench.runner.run` as its listener, and its records to `close`."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say = say
        self.failures: list[Failure] = []
        self.unsupported: list[Unsupported] = []
        self.surroundings: dict[str, dict[str, Any]] = {}

    def hear(self, message: Message) -> None:
        match message:
            case Doing(backend, rows, repeat, step):
                self.say(f"{backend}: {rows:,} rows, {step.replace('_', ' ')}, repeat {repeat + 1}")
            case Failure():
                self.failures.append(message)
                self.say(_shown(message))
            case Unsupported(_, backend, step, reason):
                self.unsupported.append(message)
                self.say(f"{backend}, {step.replace('_', ' ')}: cannot. {reason}")
            case Surroundings():
                self._note(message)

    def close(self, records: Sequence[Record], out: Path | None = None, report: Path | None = None) -> int:
        """Say the ratios; the exit status is 1 when a system failed or answered wrongly.

        `out` gets one JSON array of records, and machine and versions go to a file beside it:
        `race.json` and `race.environment.json`; `report` gets all of it as Markdown. Raises FileProblem
        when they cannot be written.
        """
        self.say("\n" + text_report(records) if records else "\nNothing was measured.")
        for failure in self.failures:
            self.say("\n" + _shown(failure))
        if out is not None:
            beside = write_results(records, self.surroundings, out)
            self.say(f"\nSamples: {out}\nMachine and versions: {beside}")
        if report is not None:
            lost: list[Failure | Unsupported] = [*self.unsupported, *self.failures]
            write_text(report, markdown_report(records, self.surroundings, lost))
            self.say(f"Report: {report}")
        return 1 if self.failures else 0

    def _note(self, found: Surroundings) -> None:
        if not self.surroundings:
            self.say(sentence(found.environment))
        if found.backend not in self.surroundings:
            self.say(f"{found.backend} {found.version}: {found.description}")
        self.surroundings[found.backend] = described(found)


def described(found: Surroundings) -> dict[str, Any]:
    """What a file of results says of one system and the machine it ran on."""
    return {"version": found.version, "description": found.description, **found.environment}


def write_results(records: Sequence[Record], surroundings: dict[str, dict[str, Any]], out: Path) -> Path:
    """Write the samples, and beside them the surroundings by backend; the second file's path."""
    beside = out.with_suffix(".environment.json")
    write_json(records, out)
    write_text(beside, json.dumps(surroundings, indent=1) + "\n")
    return beside


def _shown(failure: Failure) -> str:
    doing = f"{failure.operation.replace('_', ' ')}, " if failure.operation else ""
    return f"{failure.backend}, {doing}{failure.rows:,} rows: {failure.message}"
