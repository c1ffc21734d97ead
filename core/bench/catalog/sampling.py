"""What the steps share: a call after the other on an open database, each with its latency."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from lamella.core.bench.catalog.backend import CatalogBackend, ObjectBackend
from lamella.core.bench.cycle import Cycle, Sample
from lamella.core.bench.entities.data import Entity
from lamella.core.bench.measure import measured_each

T = TypeVar("T")

ALL = float("inf")


class Sampling(Cycle[ObjectBackend]):
    """Whatever a step puts is read back before its time counts."""

    def _sample(
        self,
        name: str,
        works: Sequence[Callable[[], T]],
        told: Callable[[list[T]], str],
        warm: Callable[[], object] | None = None,
        writing: bool = True,
    ) -> Sample:
        """`told` reads back while the database is open still; `warm` is called before, untimed."""
        self.backend.open(writing)
        if warm is not None:
            warm()
        found, cost = measured_each(works, ALL)
        checksum = told(found)
        self.backend.close()
        return Sample(name, cost, self.backend.disk_bytes(), checksum, again=warm is not None)

    @property
    def _catalog(self) -> CatalogBackend:
        assert isinstance(self.backend, CatalogBackend), "It keeps no entities, and `cannot` has to say so"
        return self.backend

    def _ids(self, numbers: list[int]) -> list[Any]:
        self.backend.open(writing=False)
        ids = self._catalog.ids()
        self.backend.close()
        return [ids[number] for number in numbers]

    def _newest(self, count: int) -> Iterator[Entity]:
        for row_id in self._catalog.ids()[-count:]:
            yield self._catalog.as_entity(self._catalog.get(row_id))

    def _objects(self, made: dict[str, bytes]) -> dict[str, bytes]:
        return {key: self.backend.get_object(key) for key in made}

    def _digest_of_all(self) -> str:
        raise AssertionError("Every step reads back what it changed")
