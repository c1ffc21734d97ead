"""Systems that each fail in one way; a benchmark refers to them as `module:Class`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from lamella.core.bench.systems.base import Question, Questions, QuestionSystem
from lamella.core.bench.systems.rows import Tuples
from lamella.core.bench.systems.sqlite import SQLite
from lamella.core.bench.systems.sqlite_entities import SQLiteIndexes

EMPLOYED_SECONDS = "36017"
"""The argument by which the process that `Employer` starts is found."""

LEFT = "left-by-an-employer.txt"


class Liar(SQLite):
    """Fast and wrong: its answers to reads lack one row."""

    def read(self) -> Tuples:
        return super().read()[:-1]


class SometimesLiar(SQLite):
    """Answers its third read wrongly."""

    reads = 0

    def read(self) -> Tuples:
        SometimesLiar.reads += 1
        return super().read()[: -1 if self.reads == 3 else None]


class LyingIndexes(SQLiteIndexes):
    """Finds one row too few by a range."""

    def questions(self) -> Questions:
        questions = super().questions()
        honest = questions["range_keys"]
        return {**questions, "range_keys": replace(honest, ask=lambda *about: honest.ask(*about)[:-1])}


class Crasher(SQLite):
    """Its process dies in the middle of a query."""

    def query(self) -> Tuples:
        print("about to fall over", file=sys.stderr, flush=True)
        os.abort()


class Refuser(SQLite):
    def create(self, prepared: Tuples) -> None:
        raise ValueError(f"no room for {len(prepared)} rows")


class Talker(SQLite):
    """Prints to the stream by which its process talks to the runner."""

    def read(self) -> Tuples:
        print("reading now")
        os.write(1, b"and once more past Python\n")
        return super().read()


class Sleeper(SQLite):
    """Never returns from reading."""

    def read(self) -> Tuples:
        time.sleep(3600)
        return []


class Killed(SQLite):
    """Is killed, as the operating system does with a process that takes too much memory."""

    def query(self) -> Tuples:
        os.kill(os.getpid(), signal.SIGKILL)
        return []


class Hoarder(SQLite):
    """Takes more and more memory, and never frees any."""

    def read(self) -> Tuples:
        blocks = []
        while True:
            blocks.append(b"\1" * 20_000_000)
            time.sleep(0.02)


class Filler(SQLite):
    """Writes until the disk is full."""

    def create(self, prepared: Tuples) -> None:
        with (self.folder / "filler").open("wb") as file:
            while True:
                file.write(bytes(1_000_000))


class Listener(SQLite):
    """Reads from the stream by which the runner talks to its process."""

    def read(self) -> Tuples:
        assert sys.stdin.read() == ""
        return super().read()


class Employer(SQLite):
    """Starts a process that would outlive it, and leaves a temporary file."""

    def read(self) -> Tuples:
        subprocess.Popen(["sleep", EMPLOYED_SECONDS])
        Path(tempfile.gettempdir(), LEFT).write_text("left behind")
        time.sleep(3600)
        return []


class Slow(SQLite):
    """Takes a tenth of a second to read."""

    def read(self) -> Tuples:
        time.sleep(0.1)
        return super().read()


class Moody(QuestionSystem):
    """Answers all questions but two: it refuses one, and crashes at the other."""

    id = "moody"
    columns = 1

    @classmethod
    def version(cls) -> str:
        return "1"

    @classmethod
    def describe(cls) -> str:
        return "refuses to group, and dies of like"

    def open(self, writing: bool) -> None: ...

    def close(self) -> None: ...

    def fill(self, rows: int) -> None: ...

    def questions(self) -> Questions:
        odd = {"group": _refuse, "like": os.abort}
        return {o.id: Question(odd.get(o.id, lambda: 42)) for o in self.workload.operations}


def _refuse() -> None:
    raise ValueError("not this one")
