"""The child processes of a benchmark, from start to end, however they end: one measures a system, another
lets the systems describe themselves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import IO

import lamella
from lamella.core.bench.engine import interpreters
from lamella.core.bench.engine.limits import NO_LIMITS, START_SECONDS, Limits, Pause, Watch
from lamella.core.bench.engine.protocol import (
    CRASHED,
    LIMIT,
    Failure,
    Message,
    Spec,
    StepStart,
    Surroundings,
    from_line,
)
from lamella.core.bench.registry import ENTRIES, Entry, load
from lamella.core.errors import BadData, LamellaError
from lamella.core.jobs import Job

HIDDEN_ARGUMENT = "--bench-worker"
KEPT_ERROR_CHARACTERS = 4000
NO_CONSOLE: int = getattr(subprocess, "CREATE_NO_WINDOW", 0)
"""Without this flag, Windows opens a console for each child of a program that has none."""


class Child:
    """Runs a `Spec` in a new process and passes on its messages; a crash becomes a `Failure`."""

    def __init__(
        self,
        spec: Spec,
        listener: Callable[[Message], None],
        job: Job,
        limits: Limits = NO_LIMITS,
        pause: Pause | None = None,
    ) -> None:
        self.spec, self.listener, self.job = spec, listener, job
        self._limits, self._pause = limits, pause or Pause()
        self._last = StepStart(spec.system, spec.rows, spec.repeats[0], spec.steps[0])
        self._has_failed = False

    def run(self) -> None:
        """Run the process and block until it has ended. Raises Cancelled if the job was cancelled."""
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
            with _start(self.spec, errors) as process, _ending(process):
                kill = partial(_kill, process)
                watch = Watch(process.pid, self._limits, kill)
                with self.job.interrupted_by(kill), watch:
                    self._talk(process, watch)
                    status = process.wait()
            self.job.check()
            if watch.reason:
                self._pass_on(self._failure(f"Ended: {watch.reason}", "", LIMIT))
            elif status != 0 and not self._has_failed:
                self._pass_on(self._crash(status, errors))

    def _talk(self, process: subprocess.Popen[str], watch: Watch) -> None:
        assert process.stdin is not None and process.stdout is not None
        watch.begin(at_least=START_SECONDS)
        try:
            _say(process.stdin, self.spec.to_json())
            for line in process.stdout:
                message = from_line(line)
                if isinstance(message, (Surroundings, StepStart)):
                    watch.stop_looking()
                self._pass_on(message)
                if isinstance(message, StepStart):
                    self._pause.wait(self.job)
                    watch.begin()
                    _say(process.stdin, "begin")
        except BrokenPipeError:  # it died before it listened: its exit status says more
            return
        except BadData as error:
            self.job.check()  # after a kill, a truncated line is no error
            if not watch.reason:
                self._pass_on(self._failure(str(error), line))

    def _pass_on(self, message: Message) -> None:
        if isinstance(message, StepStart):
            self._last = message
        self._has_failed = self._has_failed or isinstance(message, Failure)
        self.listener(message)

    def _crash(self, status: int, errors: IO[str]) -> Failure:
        errors.seek(0)
        message = errors.read()[-KEPT_ERROR_CHARACTERS:].strip()
        how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
        hint = "; possibly out of memory" if status == -9 else ""
        last_line = f": {message.splitlines()[-1]}" if message else ""
        return self._failure(f"Its process {how}{hint}{last_line}", message)

    def _failure(self, message: str, details: str, kind: str = CRASHED) -> Failure:
        return Failure(
            workload=self.spec.workload,
            system=self.spec.system,
            operation=self._last.step,
            rows=self._last.rows,
            repeat=self._last.repeat,
            message=message,
            details=details,
            kind=kind,
        )


def command(*words: str) -> list[str]:
    """The command that starts this program with a hidden argument, which also works in the bundle. On Windows
    it is the executable with standard streams, not the one that starts windows."""
    if getattr(sys, "frozen", False):
        program = Path(sys.executable)
        return [str(program.with_name("lamella.exe") if program.stem == "lamellaw" else program), *words]
    return [sys.executable, "-m", "lamella.app", *words]


def _start(spec: Spec, errors: IO[str]) -> subprocess.Popen[str]:
    """Start a child in its own session, so that its children can be ended with it, and only this process gets
    Ctrl+C."""
    program, environment = command(HIDDEN_ARGUMENT), own_environment()
    if spec.interpreter is not None and spec.complete:
        program = interpreters.complete_command(spec.interpreter, HIDDEN_ARGUMENT)
        environment = interpreters.environment_of_complete()
    elif spec.interpreter is not None:
        program = interpreters.command(spec.interpreter)
        environment = interpreters.environment_of_other()
    return subprocess.Popen(
        program,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        env=environment | _places_in(spec.folder),
        encoding="utf-8",
        start_new_session=True,
        creationflags=NO_CONSOLE,
    )


@contextmanager
def _ending(process: subprocess.Popen[str]) -> Iterator[None]:
    """End the process and its children after the block, whatever happens in it."""
    try:
        yield
    finally:
        _kill(process)


def _kill(process: subprocess.Popen[str]) -> None:
    if sys.platform == "win32":
        process.kill()
        return
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _say(input_: IO[str], line: str) -> None:
    input_.write(line + "\n")
    input_.flush()


def _places_in(folder: Path) -> dict[str, str]:
    """Environment variables that put temporary files and caches into the benchmark's folder: on the chosen
    disk, and removed with it."""
    temporary, home = folder / "temporary", folder / "home"
    temporary.mkdir(exist_ok=True)
    return {"LAMELLA_HOME": str(home)} | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary))


def own_environment() -> dict[str, str]:
    """The environment of this process, with the path to import from."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(_import_path())}


def _import_path() -> list[str]:
    """The folders that this program is imported from, first its own: a child may start in another folder."""
    root = str(Path(lamella.__file__).parents[1])
    return [root, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]


INTRODUCING_ARGUMENT = "--bench-systems"


@dataclass(frozen=True)
class Introduction:
    """What a system says of itself. `problem` says why it cannot run here, and is empty if it can."""

    system: str
    version: str = ""
    description: str = ""
    problem: str = ""


def introduce_systems(families: Sequence[str]) -> int:
    """Write a line for each system that takes one of the families, once it is loaded. Runs in the child."""
    for entry in sorted(ENTRIES.values(), key=lambda entry: entry.server):  # servers last: they take seconds
        family = next((family for family in families if entry.takes(family)), None)
        if family is not None:
            sys.stdout.write(json.dumps(asdict(_introduction(entry, family))) + "\n")
            sys.stdout.flush()
    return 0


def ask_introductions(families: Sequence[str], heard: Callable[[Introduction], None], job: Job) -> None:
    """Pass on the introductions of all systems that take one of the families, as they come. Blocks. Raises
    `Cancelled` if the job is cancelled, and `BadData` if the process fails."""
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors,
        subprocess.Popen(
            command(INTRODUCING_ARGUMENT, ",".join(families)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=own_environment(),
            encoding="utf-8",
            errors="replace",
            creationflags=NO_CONSOLE,
        ) as process,
    ):
        try:
            with job.interrupted_by(process.kill):
                assert process.stdout is not None
                for line in process.stdout:
                    heard(_read(line))
                status = process.wait()
        finally:
            process.kill()
        job.check()
        if status != 0:
            errors.seek(0)
            raise BadData("The systems could not be described", errors.read()[-500:].strip())


def _introduction(entry: Entry, family: str) -> Introduction:
    if entry.missing:
        return Introduction(entry.id, problem=entry.missing)
    try:
        system = load(entry.id, family)
        if entry.server:
            system.answering_version()
        return Introduction(entry.id, system.version(), system.describe())
    except LamellaError as error:
        return Introduction(entry.id, problem=str(error))
    except Exception as error:  # noqa: BLE001 -- a system may fail in any way; it is reported
        return Introduction(entry.id, problem=f"{type(error).__name__}: {error}")


def _read(line: str) -> Introduction:
    try:
        return Introduction(**json.loads(line))
    except (ValueError, TypeError) as error:
        raise BadData("The description of a system cannot be read", f"It is {line[:200]!r}") from error
