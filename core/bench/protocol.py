"""What a runner and its child process say to each other: one JSON object in, lines of JSON out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from core.bench.results import Record
from core.errors import BadData


@dataclass(frozen=True)
class Spec:
    """One child's work: a backend, one size, and the steps to do for each repeat.

    `answers` are the operations whose right answer the runner does not know yet; `table_rows` and `options`
    stand for the workload's own.
    """

    workload: str
    backend: str
    rows: int
    repeats: tuple[int, ...]
    steps: tuple[str, ...]
    folder: Path
    answers: tuple[str, ...] = ()
    table_rows: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> str:
        return json.dumps(asdict(self) | {"folder": str(self.folder)})

    @classmethod
    def from_json(cls, text: str) -> Spec:
        item = json.loads(text)
        lists = {name: tuple(item[name]) for name in ("repeats", "steps", "answers")}
        return cls(**(item | lists | {"folder": Path(item["folder"])}))


@dataclass(frozen=True)
class Doing:
    """What a child has begun."""

    backend: str
    rows: int
    repeat: int
    step: str


@dataclass(frozen=True)
class Measured:
    record: Record


@dataclass(frozen=True)
class Failure:
    """A backend that failed, crashed or answered wrongly: a result too. `details` may be long."""

    workload: str
    backend: str
    operation: str
    rows: int
    repeat: int
    message: str
    details: str = ""


@dataclass(frozen=True)
class Unsupported:
    """What a system has no means for, and why."""

    workload: str
    backend: str
    step: str
    reason: str


@dataclass(frozen=True)
class Surroundings:
    """The machine and libraries of a child, and what it says of its system."""

    backend: str
    version: str
    description: str
    environment: dict[str, Any]


@dataclass(frozen=True)
class Expected:
    """The checksum that the right answer has, from the data itself."""

    operation: str
    rows: int
    checksum: str


Message = Doing | Measured | Failure | Unsupported | Surroundings | Expected

_KINDS: dict[str, type[Message]] = {
    kind.__name__.lower(): kind for kind in (Doing, Measured, Failure, Unsupported, Surroundings, Expected)
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
