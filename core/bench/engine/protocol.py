"""The line protocol between a runner and its child process.

Input of the child: the `Spec` as one line of JSON, then a line "begin" in answer to each `StepStart`. At the
end of its input the runner is gone, and the child ends. Output: one message per line, as JSON.
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
    """One child's work: a system, one size, and the steps to do in each repeat.

    `answers` are the operations whose right answer the runner does not know yet; `table_rows` and `options`
    replace the workload's own. `interpreter` is another Python, whose worker finds the data in the folder; a
    `complete` one has Lamella, and so runs the usual worker.
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
class StepStart:
    """A step that a child will begin as soon as the runner allows it."""

    system: str
    rows: int
    repeat: int
    step: str


@dataclass(frozen=True)
class Measurement:
    record: Record


FAILED, CRASHED, WRONG, LIMIT, TOO_LARGE = "failed", "crashed", "wrong answer", "limit", "too large"
"""The kinds of failure: an exception, a process that died, a wrong answer, a limit of time or memory that was
exceeded, and a size that was not tried because it does not fit."""


STAND_IN = "answered_by"
"""A key in the environment of a system that another program stands in for: the name of that program."""


@dataclass(frozen=True)
class Failure:
    """A system that failed, crashed or gave a wrong answer, which is a result, too. `details` may be long."""

    workload: str
    system: str
    operation: str
    rows: int
    repeat: int
    message: str
    details: str = ""
    kind: str = FAILED


@dataclass(frozen=True)
class UnsupportedStep:
    """A step that a system does not support, and why."""

    workload: str
    system: str
    step: str
    reason: str


@dataclass(frozen=True)
class Surroundings:
    """The machine and libraries of a child, and the version and description of its system."""

    system: str
    version: str
    description: str
    environment: dict[str, Any]
    workload: str = ""


@dataclass(frozen=True)
class ProcessUsage:
    """A child process that has finished: how long it ran, including its start, and its peaks of memory and
    disk space."""

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
class ExpectedAnswer:
    """The checksum of the right answer, computed from the data itself."""

    operation: str
    rows: int
    checksum: str


Message = StepStart | Measurement | Failure | UnsupportedStep | Surroundings | ExpectedAnswer | ProcessUsage

_EVENTS: dict[str, type[Message]] = {
    "step": StepStart,
    "measurement": Measurement,
    "failure": Failure,
    "unsupported": UnsupportedStep,
    "surroundings": Surroundings,
    "answer": ExpectedAnswer,
    "end": ProcessUsage,
}
_NAMES = {kind: name for name, kind in _EVENTS.items()}


def to_line(message: Message) -> str:
    return json.dumps({"event": _NAMES[type(message)], **asdict(message)}) + "\n"


def from_line(line: str) -> Message:
    """The message in a line. Raises BadData for a line that is none."""
    try:
        item = json.loads(line)
        kind = _EVENTS[item.pop("event")]
        if kind is Measurement:
            return Measurement(Record.from_dict(item["record"]))
        return kind(**item)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadData(
            "The output of the benchmark's child process cannot be read", f"It wrote {line[:200]!r}"
        ) from error
