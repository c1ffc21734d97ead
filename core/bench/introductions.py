"""What each system says of itself, asked in a process of its own: to load two dozen of them costs seconds and
memory that no window has to spare."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from lamella.core.bench.backends import ENTRIES, Entry, load
from lamella.core.bench.child import command, own_environment
from lamella.core.errors import BadData, LamellaError
from lamella.core.jobs import Job

HIDDEN_ARGUMENT = "--bench-systems"


@dataclass(frozen=True)
class Introduction:
    """`problem` says why the system cannot be asked here, and is empty when it can."""

    backend: str
    version: str = ""
    description: str = ""
    problem: str = ""


def tell_all(families: Sequence[str]) -> int:
    """In the child: a line for each system that takes one of the families, as soon as it has been loaded."""
    for entry in sorted(ENTRIES.values(), key=lambda entry: entry.server):  # whose answer takes seconds, last
        family = next((family for family in families if entry.takes(family)), None)
        if family is not None:
            sys.stdout.write(json.dumps(asdict(_introduction(entry, family))) + "\n")
            sys.stdout.flush()
    return 0


def ask_all(families: Sequence[str], heard: Callable[[Introduction], None], job: Job) -> None:
    """Blocks until all have told. Raises Cancelled when the job is told to stop, and BadData where the
    process breaks."""
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors,
        subprocess.Popen(
            command(HIDDEN_ARGUMENT, ",".join(families)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=own_environment(),
            encoding="utf-8",
            errors="replace",
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
            raise BadData("The systems could not be asked about themselves", errors.read()[-500:].strip())


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
    except Exception as error:  # noqa: BLE001 -- a system may fail in any way, and it is told
        return Introduction(entry.id, problem=f"{type(error).__name__}: {error}")


def _read(line: str) -> Introduction:
    try:
        return Introduction(**json.loads(line))
    except (ValueError, TypeError) as error:
        raise BadData("A system's introduction cannot be read", f"It is {line[:200]!r}") from error
