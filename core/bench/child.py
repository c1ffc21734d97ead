"""One child process of a race, from its start to its end, however it ends."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

from core.bench.protocol import Doing, Failure, Message, Spec, from_line
from core.errors import BadData
from core.jobs import Job

HIDDEN_ARGUMENT = "--bench-worker"
KEPT_ERROR_CHARACTERS = 4000


class Child:
    """Runs a `Spec` in a new process and passes on its messages; a crash becomes a `Failure`."""

    def __init__(self, spec: Spec, listener: Callable[[Message], None], job: Job) -> None:
        self.spec, self.listener, self.job = spec, listener, job
        self._last = Doing(spec.backend, spec.rows, spec.repeats[0], spec.steps[0])
        self._failed = False

    def run(self) -> None:
        """Blocks until the process is gone. Raises Cancelled when the job was told to stop."""
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
            with _start(self.spec, errors) as process:
                try:
                    with self.job.interrupted_by(process.kill):
                        self._talk(process)
                        status = process.wait()
                finally:
                    process.kill()
            self.job.check()
            if status != 0 and not self._failed:
                self._pass_on(self._crash(status, errors))

    def _talk(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(self.spec.to_json())
            process.stdin.close()
        except BrokenPipeError:  # it died before it listened: its exit status tells
            return
        for line in process.stdout:
            try:
                self._pass_on(from_line(line))
            except BadData as error:
                self.job.check()  # a line cut short by the kill is nobody's fault
                self._pass_on(self._failure(str(error), line))
                return

    def _pass_on(self, message: Message) -> None:
        if isinstance(message, Doing):
            self._last = message
        self._failed = self._failed or isinstance(message, Failure)
        self.listener(message)

    def _crash(self, status: int, errors: IO[str]) -> Failure:
        errors.seek(0)
        said = errors.read()[-KEPT_ERROR_CHARACTERS:].strip()
        how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
        hint = "; out of memory, perhaps" if status == -9 else ""
        last_line = f": {said.splitlines()[-1]}" if said else ""
        return self._failure(f"Its process {how}{hint}{last_line}", said)

    def _failure(self, message: str, details: str) -> Failure:
        at = self._last
        return Failure(self.spec.workload, self.spec.backend, at.step, at.rows, at.repeat, message, details)


def command() -> list[str]:
    """The program itself with a hidden argument, so that it works from the bundle too."""
    if getattr(sys, "frozen", False):
        return [sys.executable, HIDDEN_ARGUMENT]
    return [sys.executable, "-m", "app", HIDDEN_ARGUMENT]


def _start(spec: Spec, errors: IO[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        env=_environment(),
        encoding="utf-8",
    )


def _environment() -> dict[str, str]:
    """Ours, with where to import from."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(_import_path())}


def _import_path() -> list[str]:
    """Where this program was imported from, wherever the child is started."""
    root = str(Path(__file__).resolve().parents[2])
    return [root, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
