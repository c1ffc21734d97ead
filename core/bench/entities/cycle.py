"""The steps of the workload on entities."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar

from core.bench.cycle import Cycle, Sample
from core.bench.entities.answers import (
    GONE,
    GOT,
    INCREMENTED,
    PUSHED,
    SET,
    STATUS,
    TAG,
    digest,
    numbers,
)
from core.bench.entities.backend import EntityBackend
from core.bench.entities.data import entities
from core.bench.measure import measured_each
from core.bench.workloads import Pick
from core.bench.workloads.entities import BATCH, SINGLES


class EntityCycle(Cycle[EntityBackend]):
    steps: ClassVar[tuple[str, ...]] = (
        *("fill", "get", "create_one", "update_set", "update_inc", "update_push"),
        *("delete_one", "create_batch"),
    )

    def fill(self) -> Iterator[Sample]:
        """Nothing is timed."""
        self._changing(lambda: self.backend.fill(entities(0, self.rows)))
        yield from ()

    def get(self) -> Iterator[Sample]:
        works = [partial(self.backend.get, row_id) for row_id in self._ids(GOT)]
        self.backend.open(writing=False)
        answers, cost = measured_each(works, float("inf"))
        again, cost_again = measured_each(works, float("inf"))
        first, second = (digest(map(self.backend.as_entity, found)) for found in (answers, again))
        self.backend.close()
        size = self.backend.disk_bytes()
        yield Sample("get", cost, size, first)
        yield Sample("get_again", cost_again, size, second, again=True)

    def create_one(self) -> Iterator[Sample]:
        made = entities(self.rows, SINGLES)
        yield from self._each("create_one", [partial(self.backend.create, [one]) for one in made])

    def update_set(self) -> Iterator[Sample]:
        yield from self._each_row("update_set", SET, lambda i: self.backend.set_field(i, "status", STATUS))

    def update_inc(self) -> Iterator[Sample]:
        yield from self._each_row("update_inc", INCREMENTED, lambda i: self.backend.increment(i, "views", 1))

    def update_push(self) -> Iterator[Sample]:
        yield from self._each_row("update_push", PUSHED, lambda i: self.backend.push(i, "tags", TAG))

    def delete_one(self) -> Iterator[Sample]:
        yield from self._each_row("delete_one", GONE, self.backend.delete)

    def create_batch(self) -> Iterator[Sample]:
        yield from self.settle()
        made = entities(self.rows + SINGLES, BATCH)
        self._owe(("create_batch", self._changing(lambda: self.backend.create(made))))

    def _each_row(self, name: str, pick: Pick, change: Callable[[int], Any]) -> Iterator[Sample]:
        yield from self._each(name, [partial(change, row_id) for row_id in self._ids(pick)])

    def _each(self, name: str, works: list[partial[Any]]) -> Iterator[Sample]:
        yield from self.settle()
        self.backend.open(writing=True)
        _, cost = measured_each(works, float("inf"))
        self.backend.close()
        self._owe((name, cost))

    def _ids(self, pick: Pick) -> list[int]:
        self.backend.open(writing=False)
        ids = self.backend.ids()
        self.backend.close()
        return [ids[number] for number in numbers(pick, self.workload, self.rows)]

    def _digest_of_all(self) -> str:
        return digest(self.backend.contents())
