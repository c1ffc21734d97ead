"""One repeat of a workload on one database: its steps in order, each timed and checked.

A step that changes data is checked by what is read next: by the workload's own read where that
follows, and otherwise by one that is not timed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from lamella.core.bench.backends.base import Backend
from lamella.core.bench.measure import Cost, measured
from lamella.core.bench.workloads import Workload

T = TypeVar("T")
B = TypeVar("B", bound=Backend)

ENOUGH_SECONDS = 5.0
"""For changes one at a time: a slow system does the rest in one go, so that all end at the same rows."""


@dataclass(frozen=True)
class Sample:
    """`again` marks an operation that the open database has just done before, `first` the one before it where
    both go by one name."""

    operation: str
    cost: Cost
    disk_bytes: int
    checksum: str
    again: bool = False
    first: bool = False


class Cycle(ABC, Generic[B]):
    """Runs steps on one backend instance; each step opens the database and closes it."""

    steps: ClassVar[tuple[str, ...]]
    """The methods that are steps, named as in `Workload.steps`."""

    def __init__(self, backend: B, workload: Workload, rows: int) -> None:
        self.backend, self.workload, self.rows = backend, workload, rows
        self._unchecked: list[tuple[str, Cost, int]] = []

    def step(self, name: str) -> Iterator[Sample]:
        if name not in self.steps:
            raise KeyError(f"{type(self).__name__} has no step {name!r}")
        yield from getattr(self, name)()

    def settle(self) -> Iterator[Sample]:
        """Check the changes that no timed read has checked yet."""
        if self._unchecked:
            self.backend.open(writing=False)
            digest = self._digest_of_all()
            self.backend.close()
            yield from self._checked(digest)

    @abstractmethod
    def _digest_of_all(self) -> str:
        """Of everything the open database holds."""

    def _changing(self, work: Callable[[], None]) -> Cost:
        """Closing counts: what a system puts off until then is a part of the change."""
        _, cost = self._opened(work, writing=True)
        _, closing = measured(self.backend.close)
        return cost + closing

    def _opened(self, work: Callable[[], T], writing: bool) -> tuple[T, Cost]:
        """Time `work`, and opening the database before it where the workload counts that. Stays open."""
        if not self.workload.opens_inside:
            self.backend.open(writing)
            return measured(work)
        _, opening = measured(lambda: self.backend.open(writing))
        answer, cost = measured(work)
        return answer, opening + cost

    def _owe(self, *operations: tuple[str, Cost]) -> None:
        size = self.backend.disk_bytes()
        known = (operation for operation in operations if self.workload.has(operation[0]))
        self._unchecked.extend((operation, cost, size) for operation, cost in known)

    def _checked(self, digest: str) -> Iterator[Sample]:
        for operation, cost, size in self._unchecked:
            yield Sample(operation, cost, size, digest)
        self._unchecked.clear()
