"""The steps of the workload on entities."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar

from lamella.core.bench.cycle import Cycle, Sample
from lamella.core.bench.entities.answers import (
    ADDED,
    COMMON_TAG,
    FORGOTTEN,
    GONE,
    GOT,
    INCREMENTED,
    PULLED,
    PUSHED,
    SET,
    SET_SEVERAL,
    SEVERAL,
    STATUS,
    TAG,
    UNSET,
    batches,
    digest,
    first_tag,
    gone_together,
    numbers,
)
from lamella.core.bench.entities.backend import EntityBackend, Id
from lamella.core.bench.entities.data import entities
from lamella.core.bench.measure import measured_each
from lamella.core.bench.workloads import Pick
from lamella.core.bench.workloads.entities import SINGLES


class EntityCycle(Cycle[EntityBackend]):
    steps: ClassVar[tuple[str, ...]] = (
        *("fill", "get", "create_one", "update_set", "update_inc", "update_push"),
        *("update_set_several", "update_add_to_set", "update_pull", "update_unset"),
        *("delete_one", "create_hundred", "create_thousand", "create_batch", "delete_hundred"),
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
        yield from self._each_row("update_set", SET, lambda i: self.backend.set_fields(i, {"status": STATUS}))

    def update_inc(self) -> Iterator[Sample]:
        yield from self._each_row("update_inc", INCREMENTED, lambda i: self.backend.increment(i, "views", 1))

    def update_push(self) -> Iterator[Sample]:
        yield from self._each_row("update_push", PUSHED, lambda i: self.backend.push(i, "tags", TAG))

    def update_set_several(self) -> Iterator[Sample]:
        change = partial(self.backend.set_fields, values=SEVERAL)
        yield from self._each_row("update_set_several", SET_SEVERAL, change)

    def update_add_to_set(self) -> Iterator[Sample]:
        change = partial(self.backend.add_to_set, name="tags", value=COMMON_TAG)
        yield from self._each_row("update_add_to_set", ADDED, change)

    def update_pull(self) -> Iterator[Sample]:
        chosen = numbers(PULLED, self.workload, self.rows)
        pairs = zip(self._ids(PULLED), map(first_tag, chosen), strict=True)
        yield from self._each("update_pull", [partial(self.backend.pull, i, "tags", tag) for i, tag in pairs])

    def update_unset(self) -> Iterator[Sample]:
        yield from self._each_row("update_unset", UNSET, lambda i: self.backend.unset(i, FORGOTTEN))

    def delete_one(self) -> Iterator[Sample]:
        yield from self._each_row("delete_one", GONE, lambda i: self.backend.delete([i]))

    def create_hundred(self) -> Iterator[Sample]:
        yield from self._create("create_hundred")

    def create_thousand(self) -> Iterator[Sample]:
        yield from self._create("create_thousand")

    def create_batch(self) -> Iterator[Sample]:
        yield from self._create("create_batch")

    def delete_hundred(self) -> Iterator[Sample]:
        ids = self._every_id()
        gone = [[ids[place] for place in batch] for batch in gone_together(len(ids), self.workload)]
        yield from self._each("delete_hundred", [partial(self.backend.delete, batch) for batch in gone])

    def _create(self, name: str) -> Iterator[Sample]:
        made = batches(name, self.rows)
        yield from self._each(name, [partial(self.backend.create, batch) for batch in made])

    def _each_row(self, name: str, pick: Pick, change: Callable[[Id], Any]) -> Iterator[Sample]:
        yield from self._each(name, [partial(change, row_id) for row_id in self._ids(pick)])

    def _each(self, name: str, works: list[partial[Any]]) -> Iterator[Sample]:
        yield from self.settle()
        self.backend.open(writing=True)
        _, cost = measured_each(works, float("inf"))
        self.backend.close()
        self._owe((name, cost))

    def _ids(self, pick: Pick) -> list[Id]:
        ids = self._every_id()
        return [ids[number] for number in numbers(pick, self.workload, self.rows)]

    def _every_id(self) -> list[Id]:
        self.backend.open(writing=False)
        ids = self.backend.ids()
        self.backend.close()
        return ids

    def _digest_of_all(self) -> str:
        return digest(self.backend.contents())
