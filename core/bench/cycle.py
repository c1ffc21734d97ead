"""One repeat of a workload on one database: its steps in order, each timed and checked.

A step that changes data is checked by what is read next: by the workload's own read where that
follows, and otherwise by one that is not timed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from core.bench.backends.base import Backend, Rows
from core.bench.checksum import checksum
from core.bench.data import python_rows
from core.bench.measure import Cost, measured
from core.bench.workloads import Workload

T = TypeVar("T")


@dataclass(frozen=True)
class Sample:
    """`again` marks an operation that the open database has just done before."""

    operation: str
    cost: Cost
    disk_bytes: int
    checksum: str
    again: bool = False


class Cycle:
    """Runs steps on one backend instance; each step opens the database and closes it."""

    def __init__(self, backend: Backend, workload: Workload, rows: int) -> None:
        self.backend, self.workload, self.rows = backend, workload, rows
        self._unchecked: list[tuple[str, Cost, int]] = []
        self._steps: dict[str, Callable[[], Iterator[Sample]]] = {
            "create": self._create,
            "index": self._index,
            "read": self._read,
            "query": self._query,
            "update": self._update,
            "update_by_row_id": self._update_by_row_id,
        }

    def step(self, name: str) -> Iterator[Sample]:
        yield from self._steps[name]()

    def settle(self) -> Iterator[Sample]:
        """Check the changes that no timed read has checked yet."""
        if self._unchecked:
            self.backend.open(writing=False)
            digest = self._digest(self.backend.read())
            self.backend.close()
            yield from self._checked(digest)

    def _create(self) -> Iterator[Sample]:
        rows = self._rows("create")
        prepared, preparation = measured(lambda: self.backend.prepare(rows))
        cost = self._changing(lambda: self.backend.create(prepared))
        self._owe(("create", cost), ("create_with_preparation", preparation + cost))
        yield from ()

    def _index(self) -> Iterator[Sample]:
        self.backend.open(writing=True)
        made, cost = measured(self.backend.index)
        self.backend.close()
        if made:
            self._owe(("index", cost))
        yield from ()

    def _read(self) -> Iterator[Sample]:
        answer, cost = self._opened(self.backend.read, writing=False)
        digest = self._digest(answer)
        self.backend.close()
        yield Sample("read", cost, self.backend.disk_bytes(), digest)
        yield from self._checked(digest)

    def _query(self) -> Iterator[Sample]:
        answer, cost = self._opened(self.backend.query, writing=False)
        again, cost_again = measured(self.backend.query)
        self.backend.close()
        size = self.backend.disk_bytes()
        yield Sample("query", cost, size, self._digest(answer))
        yield Sample("query_again", cost_again, size, self._digest(again), again=True)

    def _update(self) -> Iterator[Sample]:
        yield from self.settle()
        rows = self._rows("update")
        prepared, preparation = measured(lambda: self.backend.prepare_update(rows))
        cost = self._changing(lambda: self.backend.update(prepared))
        self._owe(("update", cost), ("update_with_preparation", preparation + cost))

    def _update_by_row_id(self) -> Iterator[Sample]:
        yield from self.settle()
        rows = self._rows("update_by_row_id")
        self.backend.open(writing=False)
        prepared = self.backend.prepare_update_by_row_id(rows)
        self.backend.close()
        cost = self._changing(lambda: self.backend.update_by_row_id(prepared))
        self._owe(("update_by_row_id", cost))

    def _rows(self, operation: str) -> Rows:
        return python_rows(self.workload, self.rows, self.workload.operation(operation).version)

    def _changing(self, work: Callable[[], None]) -> Cost:
        _, cost = self._opened(work, writing=True)
        self.backend.close()
        return cost

    def _opened(self, work: Callable[[], T], writing: bool) -> tuple[T, Cost]:
        """Time `work`, and opening the database before it where the workload counts that. Stays open."""
        _, opening = measured(lambda: self.backend.open(writing))
        answer, cost = measured(work)
        return answer, opening + cost if self.workload.opens_inside else cost

    def _owe(self, *operations: tuple[str, Cost]) -> None:
        size = self.backend.disk_bytes()
        self._unchecked.extend((operation, cost, size) for operation, cost in operations)

    def _checked(self, digest: str) -> Iterator[Sample]:
        for operation, cost, size in self._unchecked:
            yield Sample(operation, cost, size, digest)
        self._unchecked.clear()

    def _digest(self, answer: Any) -> str:
        return checksum(self.backend.blocks(answer, self.workload.checked_columns))
