"""A benchmark as it is saved: what it measured, when, and all its results."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from time import monotonic
from typing import Any

from lamella.core.bench.engine.choice import Choice
from lamella.core.bench.engine.judge import trusted_samples
from lamella.core.bench.engine.machine import machine_of
from lamella.core.bench.engine.protocol import (
    Failure,
    Measurement,
    Message,
    ProcessUsage,
    Surroundings,
    UnsupportedStep,
)
from lamella.core.bench.registry import entry_named
from lamella.core.bench.results.batches import Records
from lamella.core.bench.results.figures import workload_title
from lamella.core.bench.results.records import Record, Sample


@dataclass(frozen=True)
class SavedRun:
    """`id` is 0 until it is saved. `choice` is None if this version no longer knows its workloads.

    `processes` are the child processes of the benchmark, which serve to estimate later ones.
    """

    started: datetime
    title: str
    command: str
    seconds: float
    choice: Choice | None
    records: Sequence[Record] = ()
    failures: tuple[Failure, ...] = ()
    unsupported_steps: tuple[UnsupportedStep, ...] = ()
    surroundings: tuple[Surroundings, ...] = ()
    processes: tuple[ProcessUsage, ...] = ()
    note: str = ""
    id: int = 0

    @property
    def samples(self) -> Sequence[Sample]:
        """Its records, or their batches if they are saved as such, for statistics over all of them."""
        return self.records.batches if isinstance(self.records, Records) else self.records


@dataclass(frozen=True)
class RunSummary:
    """A saved run in one line: `samples` and `failures` are counts, `sizes` are rows."""

    id: int
    started: datetime
    title: str
    workloads: tuple[str, ...]
    systems: tuple[str, ...]
    sizes: tuple[int, ...]
    repeats: int
    note: str
    samples: int
    failures: int
    seconds: float
    command: str
    machine: str = ""

    @classmethod
    def of(cls, run: SavedRun) -> RunSummary:
        """The summary of a run that is not in a file of saved runs."""
        outcomes: list[Sample | Failure] = [*run.samples, *run.failures]
        first = run.surroundings[0].environment if run.surroundings else {}
        return cls(
            id=run.id,
            started=run.started,
            title=run.title,
            workloads=tuple(dict.fromkeys(outcome.workload for outcome in outcomes)),
            systems=tuple(dict.fromkeys(outcome.system for outcome in outcomes)),
            sizes=tuple(sorted({outcome.rows for outcome in outcomes})),
            repeats=run.choice.repeats if run.choice else 0,
            note=run.note,
            samples=len(run.records),
            failures=len(run.failures),
            seconds=run.seconds,
            command=run.command,
            machine=machine_of(first),
        )

    @property
    def tags(self) -> tuple[str, ...]:
        """The words of its note that begin with #, without the #."""
        return tuple(dict.fromkeys(_TAG.findall(self.note)))

    def matches(self, text: str) -> bool:
        """Whether each word of `text` is in the run's title, note, command, machine or start time, or in what
        it measured; words that begin with # are tags."""
        words = text.casefold().split()
        tags = {word[1:] for word in words if _TAG.fullmatch(word)}
        if not tags <= {tag.casefold() for tag in self.tags}:
            return False
        known_words = self._words
        return all(word in known_words for word in words if word[1:] not in tags)

    @cached_property
    def _words(self) -> str:
        titles = [workload_title(name) for name in self.workloads]
        systems = [entry_named(name).title for name in self.systems]
        when = f"{self.started.astimezone():%Y-%m-%d %H:%M}"
        lists = (self.workloads, titles, self.systems, systems)
        single = (str(self.id), self.title, self.note, self.command, self.machine, when)
        return "\n".join((*single, *(word for words in lists for word in words))).casefold()


_TAG = re.compile(r"(?<![\w#])#(\w[\w.-]*)")


@dataclass
class Recording:
    """Collects a benchmark for `SavedRuns.save`: pass `receive` as its listener, or call it from one."""

    choice: Choice
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    records: list[Record] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    unsupported_steps: list[UnsupportedStep] = field(default_factory=list)
    surroundings: list[Surroundings] = field(default_factory=list)
    processes: list[ProcessUsage] = field(default_factory=list)
    _start_time: float = field(default_factory=monotonic)

    def receive(self, message: Message) -> None:
        match message:
            case Measurement(record):
                self.records.append(record)
            case Failure():
                self.failures.append(message)
            case UnsupportedStep():
                self.unsupported_steps.append(message)
            case Surroundings():
                self._introduce(message)
            case ProcessUsage():
                self.processes.append(message)

    def run(self) -> SavedRun:
        """The run with its results so far: the benchmark may still run, be over or have been stopped."""
        return SavedRun(
            started=self.started,
            title=self.choice.title,
            command="\n".join(self.choice.commands),
            seconds=monotonic() - self._start_time,
            choice=self.choice,
            records=tuple(trusted_samples(self.records, self.failures)),
            failures=tuple(self.failures),
            unsupported_steps=tuple(self.unsupported_steps),
            surroundings=tuple(self.surroundings),
            processes=tuple(self.processes),
        )

    def _introduce(self, new: Surroundings) -> None:
        if (new.workload, new.system) not in {
            (environment.workload, environment.system) for environment in self.surroundings
        }:
            self.surroundings.append(new)


def combine(runs: Sequence[SavedRun]) -> SavedRun:
    """Combine runs into one. Each workload and size comes from the last run that measured it, so that all
    values that are compared were measured in one run. Runs with another interpreter are combined separately.
    """
    if len(runs) == 1:
        return runs[0]
    last: dict[tuple[str, int, str], SavedRun] = {}
    variants = {id(run): _variant(run) for run in runs}
    for run in runs:
        measured: list[Sample | Failure] = [*run.samples, *run.failures]
        last |= {(result.workload, result.rows, variants[id(run)]): run for result in measured}

    def counts(run: SavedRun, result: Record | Failure) -> bool:
        return last[result.workload, result.rows, variants[id(run)]] is run

    return SavedRun(
        started=min(run.started for run in runs),
        title=f"{len(runs)} benchmarks together",
        command="\n".join(run.command for run in runs),
        seconds=sum(run.seconds for run in runs),
        choice=None,
        records=tuple(record for run in runs for record in run.records if counts(run, record)),
        failures=tuple(failure for run in runs for failure in run.failures if counts(run, failure)),
        unsupported_steps=tuple(dict.fromkeys(gap for run in runs for gap in run.unsupported_steps)),
        surroundings=tuple(environment for run in runs for environment in run.surroundings),
        processes=tuple(end for run in runs for end in run.processes),
        note=" ".join(run.note for run in runs if run.note),
    )


def _variant(run: SavedRun) -> str:
    """The variant of all systems of a run; empty if they are the usual ones or differ."""
    measured: list[Sample | Failure] = [*run.samples, *run.failures]
    variants = {entry_named(result.system).variant for result in measured}
    return variants.pop() if len(variants) == 1 else ""


def by_system(surroundings: Sequence[Surroundings], workload: str | None = None) -> dict[str, dict[str, Any]]:
    """The description of each system and its machine for results files: in this workload, or in the first one
    that it took part in."""
    last_first = [environment for environment in surroundings if workload in (None, environment.workload)]
    return {environment.system: describe_surroundings(environment) for environment in reversed(last_first)}


def describe_surroundings(surroundings: Surroundings) -> dict[str, Any]:
    """The description of one system and its machine for results files."""
    environment: Mapping[str, Any] = surroundings.environment
    return {"version": surroundings.version, "description": surroundings.description, **environment}
