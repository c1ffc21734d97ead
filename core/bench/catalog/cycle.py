"""The steps of the workload on a catalog and its objects: on either, and on both together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, ClassVar

from lamella.core.bench.catalog import answers
from lamella.core.bench.catalog.data import SIZES, listed_objects, pairs
from lamella.core.bench.catalog.entity_steps import EntitySteps
from lamella.core.bench.catalog.object_steps import ObjectSteps
from lamella.core.bench.cycle import Sample
from lamella.core.bench.entities.data import Entity, entities


class CatalogCycle(EntitySteps, ObjectSteps):
    """The database is open for all calls of a step, but for those of `open_cold`."""

    steps: ClassVar[tuple[str, ...]] = (
        *("fill", "open_cold", "warm_get", "catalog_query", "warm_create", "warm_update", "crud_cycle"),
        *(f"{verb}_{prefix}" for prefix in SIZES for verb in ("put", "get")),
        *("head", "list_10", "commit_then_put", "commit_and_put", "one_by_one_100", "batched_100"),
    )

    def step(self, name: str) -> Iterator[Sample]:
        verb, _, prefix = name.partition("_")
        if prefix in SIZES:
            yield from self.put(prefix) if verb == "put" else self.get(prefix)
        else:
            yield from super().step(name)

    def fill(self) -> Iterator[Sample]:
        """Nothing is timed."""
        self.backend.open(writing=True)
        self.backend.fill(entities(0, self.rows))
        for key, body in listed_objects().items():
            self.backend.put_object(key, body)
        self.backend.close()
        yield from ()

    def commit_then_put(self) -> Iterator[Sample]:
        def both(entity: Entity, key: str, body: bytes) -> None:
            self._catalog.create([entity])
            self.backend.put_object(key, body)

        yield self._of_pairs("commit_then_put", both)

    def commit_and_put(self) -> Iterator[Sample]:
        """Starting the second thread is not part of it."""
        with ThreadPoolExecutor(max_workers=1) as beside:
            beside.submit(int).result()

            def both(entity: Entity, key: str, body: bytes) -> None:
                put = beside.submit(self.backend.put_object, key, body)
                self._catalog.create([entity])
                put.result()

            yield self._of_pairs("commit_and_put", both)

    def _of_pairs(self, name: str, both: Callable[[Entity, str, bytes], None]) -> Sample:
        made, beside = pairs(name, self.rows)
        works = [partial(both, one, *item) for one, item in zip(made, beside.items(), strict=True)]

        def told(_: Any) -> str:
            return answers.of_pairs(self._newest(len(made)), self._objects(beside))

        return self._sample(name, works, told)
