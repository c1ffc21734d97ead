"""What is asked of several systems, and what came of it."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LAMELLA = "Lamella"


@dataclass(frozen=True)
class Question:
    """Only `ask` is timed; it answers as plain rows, an Arrow table, positions or a number.

    `of` are values that it is asked about, one a call. `before` makes ready for each call. `told` turns an
    answer, and what it was asked about, into what is compared with other systems. `note` says, when all calls
    are done, what the time does not.
    """

    ask: Callable[..., Any]
    of: Sequence[Any] = ()
    before: Callable[[], object] | None = None
    told: Callable[..., Any] | None = None
    note: Callable[[], str] | None = None


Questions = Mapping[str, Callable[[], Any] | Question]
Opened = Callable[[Path], Questions]


@dataclass(frozen=True)
class Goal:
    """When asked again, at most: so many `milliseconds`, so many `times` what each of the other systems
    takes, and so many times what Lamella itself takes for other questions (`than`)."""

    milliseconds: float | None = None
    times: Mapping[str, float] = field(default_factory=dict)
    than: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Suite:
    """`make` puts the same rows into every system's place in a folder; `systems` open them there."""

    name: str
    about: str
    rows: int
    make: Callable[[Path, int], None]
    systems: Mapping[str, Opened]
    goals: Mapping[str, Goal] = field(default_factory=dict)


@dataclass(frozen=True)
class Asked:
    """One question in one process: the first time and the times after it, and what it answered."""

    suite: str
    system: str
    question: str
    milliseconds: tuple[float, ...]
    answer: str
    note: str = ""

    @property
    def first(self) -> float:
        return self.milliseconds[0]

    @property
    def again(self) -> float:
        return statistics.median(self.milliseconds[1:])


def disagreements(found: Iterable[Asked]) -> list[str]:
    """Questions whose answers differ between systems: none of their times counts."""
    answers: dict[tuple[str, str], dict[str, set[str]]] = {}
    for one in found:
        answers.setdefault((one.suite, one.question), {}).setdefault(one.answer, set()).add(one.system)
    return [
        f"{suite}, {question}: " + "; ".join(f"{', '.join(sorted(of))}: {what}" for what, of in by.items())
        for (suite, question), by in answers.items()
        if len(by) > 1
    ]
