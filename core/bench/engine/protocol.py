"""What a runner and its child process say to each other, in lines.

In: the `Spec` as one line of JSON, then a line for each `Doing` that was heard, which says: begin. A child
that finds its input at an end has no runner any more, and ends. Out: a message a line, as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lamella.core.bench.results.records import Record
from lamella.core.errors import BadData


@dataclass(frozen=True)
class Spec:
    """One child's work: a system, one size, and the steps to do for each repeat.

    `answers` are the operations whose right answer the runner does not know yet; `table_rows` and `options`
    stand for the workload's own. `interpreter` is another Python, whose worker has the data in the folder; a
    `complete` one has Lamella, and so our own worker.
    """

    workload: str
    system: str
    rows: int
    repeats: tuple[int, ...]
    steps: tuple[str, ...]
    folder: Path
    answers: tuple[str, ...] = ()
    table_rows: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    interpreter: str | None = None
    complete: bool = False

    def to_json(self) -> str:
        return json.dumps(asdict(self) | {"folder": str(self.folder)})

    @classmethod
    def from_json(cls, text: str) -> Spec:
        item = json.loads(text)
        lists = {name: tuple(item[name]) for name in ("repeats", "steps", "answers")}
        return cls(**(item | lists | {"folder": Path(item["folder"])}))


@dataclass(frozen=True)
class Doing:
    """What a child begins as soon as the runner lets it."""

    system: str
    rows: int
    repeat: int
    step: str


@dataclass(frozen=True)
class Measured:
    record: Record


FAILED, CRASHED, WRONG, LIMIT, TOO_LARGE = "failed", "crashed", "wrong answer", "limit", "too large"
"""The kinds of failure: an exception, a process that died, an answer unlike the right one, more time or
memory than a step may take, and a size that was not tried for want of room."""


ANSWERED_BY = "answered_by"
"""In the environment of a system in whose place another program answers: that program's name."""


@dataclass(frozen=True)
class Failure:
    """A system that failed, crashed or answered wrongly: a result too. `details` may be long."""

    workload: str
    system: str
    operation: str
    rows: int
    repeat: int
    message: str
    details: str = ""
    kind: str = FAILED


@dataclass(frozen=True)
class Unsupported:
    """What a system has no means for, and why."""

    workload: str
    system: str
    step: str
    reason: str


@dataclass(frozen=True)
class Surroundings:
    """The machine and libraries of a child, and what it says of its system."""

    system: str
    version: str
    description: str
    environment: dict[str, Any]
    workload: str = ""


@dataclass(frozen=True)
class Ended:
    """A child process has done all it was asked: how long it was there, its start included, and what it took
    at the most."""

    workload: str
    system: str
    rows: int
    table_rows: int
    repeats: int
    steps: int
    seconds: float
    memory_bytes: int
    disk_bytes: int


@dataclass(frozen=True)
class Expected:
    """The checksum that the right answer has, from the data itself."""

    operation: str
    rows: int
    checksum: str


Message = Doing | Measured | Failure | Unsupported | Surroundings | Expected | Ended

_KINDS: dict[str, type[Message]] = {
    kind.__name__.lower(): kind
    for kind in (Doing, Measured, Failure, Unsupported, Surroundings, Expected, Ended)
}


def to_line(message: Message) -> str:
    return json.dumps({"event": type(message).__name__.lower(), **asdict(message)}) + "\n"


def from_line(line: str) -> Message:
    """Raises BadData for a line that no worker wrote."""
    try:
        item = json.loads(line)
        kind = _KINDS[item.pop("event")]
        if kind is Measured:
            return Measured(Record.from_dict(item["record"]))
        return kind(**item)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadData(
            "The benchmark's child process wrote something unreadable", f"It wrote {line[:200]!r}"
        ) from error
