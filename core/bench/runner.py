"""Runs a race: one child process per system and size, results as they come.

A system that fails, crashes or answers wrongly is a result and the others go on. Blocking; the
listener is called on the thread that runs the race.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from core.bench import backends
from core.bench.child import Child
from core.bench.plan import Trial, memory_problem, plan
from core.bench.protocol import (
    Doing,
    Expected,
    Failure,
    Measured,
    Message,
    Spec,
    Surroundings,
    Unsupported,
)
from core.bench.results import Record
from core.bench.workloads import Workload, workload_named
from core.errors import FileProblem, LamellaError
from core.jobs import Job

Listener = Callable[[Message], None]


def run(
    workload: str | Workload,
    rows: Sequence[int],
    backends: Sequence[str],
    repeats: int | None = None,
    folder: Path | None = None,
    on_event: Listener | None = None,
    job: Job | None = None,
    fresh: bool = False,
) -> list[Record]:
    """The samples of a race, those with a wrong answer left out; failures go to `on_event`.

    `folder` chooses the disk: the databases are made in a new folder inside it, which is removed
    whatever happens. A workload given whole may have a `table_rows` of its own. Raises UnknownWorkload,
    UnknownBackend, FileProblem, and Cancelled when the job is told to stop, which ends the child
    process at once.
    """
    asked = _asked(workload, rows)
    names = _known(backends)
    _refuse_nothing(rows, names, repeats)
    trials = plan(asked, rows, names, asked.default_repeats if repeats is None else repeats, fresh)
    place = _new_folder(folder)
    try:
        return Race(asked, place, on_event or (lambda message: None), job or Job()).run(trials)
    finally:
        shutil.rmtree(place)


@dataclass
class Race:
    workload: Workload
    folder: Path
    listener: Listener
    job: Job
    records: list[Record] = field(default_factory=list)
    _answers: dict[tuple[str, int], _Right] = field(default_factory=dict)
    _out: set[tuple[str, int]] = field(default_factory=set)
    _unsupported: set[Unsupported] = field(default_factory=set)
    _clock: _Clock = field(init=False)

    def run(self, trials: Sequence[Trial]) -> list[Record]:
        self._clock = _Clock(self.job, sum(trial.seconds for trial in trials))
        for trial in trials:
            self._clock.begin(trial)
            if (trial.backend, trial.rows) not in self._out:
                self._run_one(trial)
        self._clock.end()
        return self.records

    def _run_one(self, trial: Trial) -> None:
        entry = backends.entry_named(trial.backend)
        if not entry.takes(self.workload.family):
            reason = f"{entry.title} is not made for {self.workload.title.lower()}"
            self._hear(Unsupported(self.workload.id, trial.backend, trial.steps[0], reason))
            self._out.add((trial.backend, trial.rows))
            return
        problem = self._too_large(trial)
        if problem:
            self._hear(problem)
            return
        home = self.folder / f"{trial.backend}-{trial.rows}".replace(":", "-")
        home.mkdir(exist_ok=True)
        Child(self._spec(trial, home), self._hear, self.job).run()
        if trial.steps[-1] == self.workload.steps[-1]:
            shutil.rmtree(home)

    def _spec(self, trial: Trial, home: Path) -> Spec:
        names = (operation.id for operation in self.workload.operations)
        return Spec(
            workload=self.workload.id,
            backend=trial.backend,
            rows=trial.rows,
            repeats=trial.repeats,
            steps=trial.steps,
            folder=home,
            answers=tuple(name for name in names if (name, trial.rows) not in self._answers),
            table_rows=self.workload.table_rows,
            options=self.workload.options,
        )

    def _hear(self, message: Message) -> None:
        match message:
            case Expected():
                known = _Right(message.checksum)
                self._answers.setdefault((message.operation, message.rows), known)
                return
            case Failure():
                self._out.add((message.backend, message.rows))
            case Measured():
                message = self._compared(message)
            case Doing():
                self._clock.step(message)
            case Unsupported():
                if message in self._unsupported:
                    return
                self._unsupported.add(message)
            case Surroundings():
                pass
        self.listener(message)

    def _compared(self, message: Measured) -> Measured | Failure:
        """The record, kept; or a failure when its answer is not the right one.

        Where nobody knows the right answer, it is what the first system says, and the others have to agree.
        """
        record = message.record
        said = _Right(record.checksum, record.backend)
        right = self._answers.setdefault((record.operation, record.rows), said)
        if record.checksum == right.checksum:
            self.records.append(record)
            return message
        return Failure(
            workload=record.workload,
            backend=record.backend,
            operation=record.operation,
            rows=record.rows,
            repeat=record.repeat,
            message=f"{_against(right)}: {_shown(record.checksum)} instead of {_shown(right.checksum)}",
            details=f"It took {record.seconds:.6f} seconds; a wrong answer has no time.",
        )

    def _too_large(self, trial: Trial) -> Failure | None:
        problem = memory_problem(trial.rows)
        if not problem:
            return None
        return Failure(
            workload=self.workload.id,
            backend=trial.backend,
            operation=trial.steps[0],
            rows=trial.rows,
            repeat=trial.repeats[0],
            message=f"Not enough memory: {problem}",
        )


@dataclass(frozen=True)
class _Right:
    """`said_by` is the system that was first to answer where nobody knew beforehand."""

    checksum: str
    said_by: str = ""


class _Clock:
    """Tells a job how far a race is, by what its trials were estimated to take."""

    def __init__(self, job: Job, seconds: float) -> None:
        self.job, self.whole, self.before = job, seconds, 0.0
        self.trial: Trial | None = None

    def begin(self, trial: Trial) -> None:
        self.before += self.trial.seconds if self.trial else 0.0
        self.trial = trial
        self._tell(self.before)

    def step(self, doing: Doing) -> None:
        assert self.trial is not None
        steps, repeats = self.trial.steps, self.trial.repeats
        done = repeats.index(doing.repeat) * len(steps) + steps.index(doing.step)
        self._tell(self.before + self.trial.seconds * done / (len(steps) * len(repeats)))

    def end(self) -> None:
        self._tell(self.whole)

    def _tell(self, seconds: float) -> None:
        self.job.report(round(seconds * 1000), round(self.whole * 1000))


def _asked(workload: str | Workload, rows: Sequence[int]) -> Workload:
    asked = workload_named(workload) if isinstance(workload, str) else workload
    if asked.table_rows and max(rows, default=0) > asked.table_rows:
        raise LamellaError(
            f"{asked.title}: {max(rows):,} rows cannot change in a table of {asked.table_rows:,}",
            fix="Ask for fewer rows, or for a larger table",
        )
    return asked


def _known(names: Sequence[str]) -> list[str]:
    """The names, each once; raises UnknownBackend before anything is started."""
    for name in names:
        backends.entry_named(name)
    return list(dict.fromkeys(names))


def _refuse_nothing(rows: Sequence[int], names: Sequence[str], repeats: int | None) -> None:
    if not rows or min(rows) < 1:
        raise LamellaError("A benchmark needs numbers of rows of at least 1", f"It was given {list(rows)}")
    if not names:
        raise LamellaError(
            "A benchmark needs at least one backend", fix=f"There are: {', '.join(backends.ENTRIES)}"
        )
    if repeats is not None and repeats < 1:
        raise LamellaError("A benchmark needs at least one repeat", f"It was given {repeats}")


def _new_folder(parent: Path | None) -> Path:
    place = parent or Path(tempfile.gettempdir())
    try:
        return Path(tempfile.mkdtemp(prefix="lamella-bench-", dir=place))
    except OSError as error:
        why = error.strerror or str(error)
        raise FileProblem(
            place, "no benchmark folder can be made here", why, "Choose another folder"
        ) from error


def _against(right: _Right) -> str:
    title = backends.entry_named(right.said_by).title if right.said_by else ""
    return f"Not the answer of {title}" if title else "Wrong answer"


def _shown(checksum: str) -> str:
    rows, _, digest = checksum.partition(":")
    return f"{rows} rows with checksum {digest}" if digest else rows
