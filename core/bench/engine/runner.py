"""Runs benchmarks of one or several workloads, one after the other, with one job and one listener: one child
process per system and size, with results as they come.

A system that fails, crashes or gives a wrong answer is a result, and the others go on. Blocks; the listener
is called on the thread that runs the benchmark.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic

from lamella.core.bench import registry
from lamella.core.bench.engine import interpreters, place
from lamella.core.bench.engine.child import Child
from lamella.core.bench.engine.choice import Choice, Part, Trial, new_seed, part_of
from lamella.core.bench.engine.costs import Clock, Costs, planned_trials_by_part, problem, shipped_costs
from lamella.core.bench.engine.interpreters import Interpreter, examine
from lamella.core.bench.engine.judge import Judge
from lamella.core.bench.engine.limits import Limits, Pause, most_memory
from lamella.core.bench.engine.place import benchmark_folder
from lamella.core.bench.engine.protocol import (
    STAND_IN,
    TOO_LARGE,
    ExpectedAnswer,
    Failure,
    Measurement,
    Message,
    ProcessUsage,
    Spec,
    StepStart,
    Surroundings,
    UnsupportedStep,
)
from lamella.core.bench.registry import family_of, variant_name, workload_named
from lamella.core.bench.results.records import Record
from lamella.core.bench.workloads.model import Workload
from lamella.core.errors import LamellaError
from lamella.core.jobs import Job


def run(
    choice: Choice,
    on_event: Listener | None = None,
    job: Job | None = None,
    pause: Pause | None = None,
    costs: Costs | None = None,
    first_repeat: int = 0,
) -> list[Record]:
    """Run a benchmark. Return the samples of all workloads, except those with wrong answers; failures go to
    `on_event`.

    The job's progress covers the whole benchmark, estimated by `costs`, which include saved runs and shipped
    figures. `first_repeat` is the number of the first repeat, for a benchmark that adds some to an earlier
    one. The default limit of memory is nine tenths of the free memory. Raises UnknownSystem and LamellaError
    before anything starts, FileProblem, and Cancelled if the job is cancelled, which ends the child process
    at once; the listener has then received the results so far."""
    job, known_costs = job or Job(), costs or shipped_costs()
    check_choice(choice)
    planned = planned_trials_by_part(choice, first_repeat)
    under = Conditions(
        job=job,
        clock=_clock(job, planned, known_costs),
        listener=on_event or (lambda message: None),
        problem=lambda trial: problem(trial, choice.folder, known_costs),
        limits=Limits(choice.limit_seconds, choice.limit_bytes or most_memory()),
        pause=pause or Pause(),
        interpreter=examine(choice.interpreter),
    )
    records: list[Record] = []
    with benchmark_folder(choice.folder) as place:
        for number, (part, trials) in enumerate(zip(choice.parts, planned, strict=True)):
            home = place / str(number)
            home.mkdir()
            workload = family_of(part.workload).prepare(part.workload, part.rows, home, job)
            records += WorkloadRun(workload, home, under).run(trials)
    under.clock.end()
    return records


def check_choice(choice: Choice) -> None:
    """Raise UnknownSystem or LamellaError for an empty or impossible choice."""
    if not choice.parts:
        raise LamellaError("A benchmark needs at least one workload")
    for part in choice.parts:
        _check_part(part)


def _check_part(part: Part) -> None:
    rows, names, workload = part.rows, part.systems, part.workload
    for name in names:
        if registry.entry_named(name).variant:
            raise registry.UnknownSystem(name, "The benchmark", registry.ENTRIES)
    if not rows or min(rows) < 1:
        raise LamellaError("A benchmark needs numbers of rows of at least 1", f"It was given {list(rows)}")
    if not names:
        systems = ", ".join(registry.ENTRIES)
        raise LamellaError("A benchmark needs at least one system", fix=f"The systems are: {systems}")
    if part.repeats < 1:
        raise LamellaError("A benchmark needs at least one repeat", f"It was given {part.repeats}")
    if workload.table_rows and max(rows) > workload.table_rows:
        raise LamellaError(
            f"{workload.title}: {max(rows):,} rows cannot change in a table of {workload.table_rows:,}",
            fix="Choose fewer rows, or a larger table",
        )


def _clock(job: Job, planned: Sequence[list[Trial]], costs: Costs) -> Clock:
    trials = [trial for of_part in planned for trial in of_part]
    return Clock(job, trials, [costs.seconds(trial) for trial in trials])


def run_workload(  # noqa: PLR0913, PLR0917 -- all options of a benchmark, by keyword
    workload: str | Workload,
    rows: Sequence[int],
    systems: Sequence[str],
    repeats: int | None = None,
    folder: Path | None = None,
    on_event: Listener | None = None,
    job: Job | None = None,
    fresh: bool = False,
    limit_seconds: float | None = None,
    limit_bytes: int | None = None,
    pause: Pause | None = None,
    seed: int | None = None,
    first_repeat: int = 0,
    interpreter: Path | str | None = None,
) -> list[Record]:
    """Run one workload. Return its samples, except those with wrong answers; failures go to `on_event`.

    `folder` chooses the disk: the databases are created in a new folder inside it, which is always removed. A
    `Workload` object may have its own `table_rows`. A step that takes more than `limit_seconds`, or more than
    `limit_bytes` of memory, is ended together with its child: a failure of the kind "limit". The same `seed`
    shuffles the systems in the same way. Another `interpreter` runs the systems that it can.
    Raises BadInterpreter, UnknownWorkload, UnknownSystem, FileProblem, and Cancelled if the job is cancelled,
    which ends the child process at once.
    """
    resolved = workload_named(workload) if isinstance(workload, str) else workload
    choice = Choice(
        parts=(part_of(resolved, systems, rows, repeats),),
        fresh=fresh,
        seed=new_seed() if seed is None else seed,
        folder=folder,
        limit_seconds=limit_seconds,
        limit_bytes=limit_bytes,
        interpreter=None if interpreter is None else str(interpreter),
    )
    return run(choice, on_event, job, pause, first_repeat=first_repeat)


LONGEST_NAME = 100
"""The maximum length of a folder's name: systems of the user's are named by the path of their file."""

Listener = Callable[[Message], None]
Problem = Callable[[Trial], str]


@dataclass(frozen=True)
class Conditions:
    """What all child processes of a benchmark share. `problem` returns why a trial does not fit, or
    nothing."""

    job: Job
    clock: Clock
    listener: Listener
    problem: Problem
    limits: Limits = field(default_factory=Limits)
    pause: Pause = field(default_factory=Pause)
    interpreter: Interpreter | None = None


@dataclass
class WorkloadRun:
    """Runs the trials of one workload. A system that fails, crashes or gives a wrong answer is a result, and
    the others go on."""

    workload: Workload
    folder: Path
    under: Conditions
    records: list[Record] = field(default_factory=list)
    _judge: Judge = field(default_factory=Judge)
    _out: set[tuple[str, int]] = field(default_factory=set)
    _out_steps: set[tuple[str, int, str]] = field(default_factory=set)
    _never: set[str] = field(default_factory=set)
    _variants: dict[str, str] = field(default_factory=dict)
    _failures: list[Failure] = field(default_factory=list)
    _unsupported_steps: set[UnsupportedStep] = field(default_factory=set)
    _of_child: list[Record] = field(default_factory=list)

    def run(self, trials: Sequence[Trial]) -> list[Record]:
        for trial in trials:
            self.under.clock.begin(trial)
            if not self._is_out(trial):
                self._try(trial)
        return [record for record in self.records if self._judge.is_trusted(record)]

    def _is_out(self, trial: Trial) -> bool:
        if trial.system in self._never or (trial.system, trial.rows) in self._out:
            return True
        return not self._without_failed_steps(trial).steps

    def _try(self, trial: Trial) -> None:
        entry = registry.entry_named(trial.system)
        if not entry.takes(self.workload.family):
            why = family_of(self.workload).absent.get(trial.system)
            reason = why or f"{entry.title} does not support {self.workload.title.lower()}"
            self._receive(UnsupportedStep(self.workload.id, trial.system, trial.steps[0], reason))
        elif reason := self._objection(trial.system):
            self._receive(UnsupportedStep(self.workload.id, trial.system, trial.steps[0], reason))
        elif problem := self.under.problem(trial):
            self._out.add((trial.system, trial.rows))
            self._receive(self._too_large(trial, problem))
        else:
            self.under.pause.wait(self.under.job)
            self._run_child(trial)

    def _objection(self, system: str) -> str:
        interpreter = self.under.interpreter
        return interpreters.objection(interpreter, system, self.workload) if interpreter else ""

    def _run_child(self, trial: Trial) -> None:
        home = self.folder / re.sub(r"[^\w.-]", "-", f"{trial.system}-{trial.rows}")[-LONGEST_NAME:]
        home.mkdir(exist_ok=True)
        began = monotonic()
        self._of_child.clear()
        failures = self._run_with_retry(trial, home)
        out = (trial.system, trial.rows) in self._out
        if out or trial.steps[-1] == self.workload.steps[-1]:
            place.remove_folder(home)  # data left by a failed system must not fill the disk
        if not failures:
            self._receive(_end_message(trial, monotonic() - began, self._of_child))

    def _run_with_retry(self, trial: Trial, home: Path) -> int:
        """Run a trial. If a step fails that the others do not need, they continue in another child.

        Return the number of failures.
        """
        pending, failures, under = [trial], 0, self.under
        while pending:
            next_trial = self._without_failed_steps(pending.pop(0))
            if not (next_trial.repeats and next_trial.steps):
                continue
            self._failures.clear()
            Child(
                self._made_ready(next_trial, home), self._receive, under.job, under.limits, under.pause
            ).run()
            for failure in self._failures[:1]:
                failures += 1
                pending = [*self._trials_left(next_trial, failure), *pending]
        return failures

    def _trials_left(self, trial: Trial, failure: Failure) -> list[Trial]:
        """The trials that are left for a system that failed at a step."""
        step, steps = failure.operation, trial.steps
        if not self.workload.asks_only or step not in self.workload.steps[1:]:
            self._out.add((trial.system, trial.rows))
            return []
        self._out_steps.add((trial.system, trial.rows, step))
        after = steps[steps.index(step) + 1 :]
        later = tuple(repeat for repeat in trial.repeats if repeat > failure.repeat)
        return [replace(trial, repeats=(failure.repeat,), steps=after), replace(trial, repeats=later)]

    def _without_failed_steps(self, trial: Trial) -> Trial:
        remaining = (step for step in trial.steps if (trial.system, trial.rows, step) not in self._out_steps)
        return replace(trial, steps=tuple(remaining))

    def _made_ready(self, trial: Trial, home: Path) -> Spec:
        spec, interpreter = self._spec(trial, home), self.under.interpreter
        if interpreter is None:
            return spec
        for message in interpreters.prepare_worker(interpreter, self.workload, spec):
            self._receive(message)
        return interpreters.worker_spec(interpreter, self.workload, spec)

    def _spec(self, trial: Trial, home: Path) -> Spec:
        names = (operation.id for operation in self.workload.operations)
        return Spec(
            workload=self.workload.id,
            system=trial.system,
            rows=trial.rows,
            repeats=trial.repeats,
            steps=trial.steps,
            folder=home,
            answers=tuple(name for name in names if not self._judge.knows(name, trial.rows)),
            table_rows=self.workload.table_rows,
            options=self.workload.options,
        )

    def _receive(self, message: Message) -> None:
        message = self._with_variant(message)
        match message:
            case ExpectedAnswer():
                self._judge.learn(message)
                return
            case Failure():
                self._failures.append(message)
            case Measurement():
                message = self._judge_record(message)
                if isinstance(message, Measurement) and not self._judge.is_trusted(message.record):
                    return
            case StepStart():
                self.under.clock.step(message)
            case UnsupportedStep():
                if message in self._unsupported_steps:
                    return
                self._unsupported_steps.add(message)
                if message.step == self.workload.steps[0]:  # all other steps need it
                    self._never.add(message.system)
            case Surroundings() | ProcessUsage():
                pass
        self.under.listener(message)

    def _with_variant(self, message: Message) -> Message:
        """The message with the name of the variant that really ran the system."""
        if isinstance(
            message, (UnsupportedStep, ExpectedAnswer, ProcessUsage)
        ):  # estimates use the plain names
            return message
        if isinstance(message, Measurement):
            return replace(message, record=replace(message.record, system=self._name(message.record.system)))
        if isinstance(message, Surroundings) and STAND_IN in message.environment:
            self._variants[message.system] = str(message.environment[STAND_IN])
        return replace(message, system=self._name(message.system))

    def _name(self, system: str) -> str:
        interpreter = self.under.interpreter
        variant = interpreter.variant if interpreter else ""
        return variant_name(system, variant or self._variants.get(system, ""))

    def _judge_record(self, message: Measurement) -> Measurement | Failure:
        self._of_child.append(message.record)
        objection = self._judge.objection(message.record)
        if objection is None:
            self.records.append(message.record)
        return objection or message

    def _too_large(self, trial: Trial, problem: str) -> Failure:
        return Failure(
            workload=self.workload.id,
            system=trial.system,
            operation=trial.steps[0],
            rows=trial.rows,
            repeat=trial.repeats[0],
            message=problem,
            kind=TOO_LARGE,
        )


def _end_message(trial: Trial, seconds: float, records: Sequence[Record]) -> ProcessUsage:
    return ProcessUsage(
        workload=trial.workload.id,
        system=trial.system,
        rows=trial.rows,
        table_rows=trial.table_rows,
        repeats=len(trial.repeats),
        steps=len(trial.steps),
        seconds=seconds,
        memory_bytes=max((record.peak_rss_bytes for record in records), default=0),
        disk_bytes=max((record.disk_bytes for record in records), default=0),
    )
