"""The steps on entities."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from lamella.core.bench.catalog import answers
from lamella.core.bench.catalog.data import GROUPS, LIMIT, RATINGS, STATUS, TOGETHER, groups, new_entities
from lamella.core.bench.catalog.sampling import ALL, Sampling
from lamella.core.bench.cycle import Sample
from lamella.core.bench.entities.data import Entity
from lamella.core.bench.measure import measured_each
from lamella.core.bench.workloads.catalog import CALLS, OPENINGS


class EntitySteps(Sampling):
    def open_cold(self) -> Iterator[Sample]:
        catalog = self._catalog
        catalog.open(writing=False)
        found, cost = measured_each([self._opened_anew] * OPENINGS, ALL, catalog.close)
        catalog.close()
        (fields,) = {tuple(sorted(fields)) for fields in found}
        yield Sample("open_cold", cost, catalog.disk_bytes(), answers.of_fields(fields))

    def _opened_anew(self) -> Sequence[str]:
        """The columns of the table of entities, from all that the catalog says."""
        self.backend.open(writing=False)
        (found,) = (fields for fields in self._catalog.tables().values() if "profile" in fields)
        return found

    def warm_get(self) -> Iterator[Sample]:
        catalog = self._catalog
        ids = self._ids(answers.numbers(answers.READ, self.workload, self.rows))

        def told(found: list[Any]) -> str:
            return answers.of_entities(map(catalog.as_entity, found))

        works = [partial(catalog.get, row_id) for row_id in ids]
        yield self._sample("warm_get", works, told, warm=works[-1], writing=False)

    def catalog_query(self) -> Iterator[Sample]:
        catalog = self._catalog
        ratings = [RATINGS[number % len(RATINGS)] for number in range(CALLS)]

        def told(found: list[Sequence[str]]) -> str:
            return answers.of_names(
                {(rating, tuple(names)) for rating, names in zip(ratings, found, strict=True)}
            )

        works = [partial(catalog.names_rated, rating, LIMIT) for rating in ratings]
        yield self._sample("catalog_query", works, told, warm=works[-1], writing=False)

    def warm_create(self) -> Iterator[Sample]:
        made = new_entities("warm_create", self.rows)
        works = [partial(self._catalog.create, [one]) for one in made]
        yield self._sample("warm_create", works, lambda _: answers.of_entities(self._newest(len(made))))

    def warm_update(self) -> Iterator[Sample]:
        catalog = self._catalog
        ids = self._ids(answers.numbers(answers.UPDATED, self.workload, self.rows))

        def told(_: Any) -> str:
            return answers.of_entities(catalog.as_entity(catalog.get(row_id)) for row_id in ids)

        works = [partial(catalog.set_fields, row_id, {"status": STATUS}) for row_id in ids]
        yield self._sample("warm_update", works, told)

    def crud_cycle(self) -> Iterator[Sample]:
        def told(found: list[tuple[int, Any]]) -> str:
            left = {row_id for row_id, _ in found} & set(self._catalog.ids())
            got = [self._catalog.as_entity(one) for _, one in found]
            return answers.of_entities([*got, *({"not deleted": row_id} for row_id in left)])

        works = [partial(self._crud, one) for one in new_entities("crud_cycle", self.rows)]
        yield self._sample("crud_cycle", works, told)

    def _crud(self, entity: Entity) -> tuple[Any, Any]:
        row_id = self._catalog.create_one(entity)
        found = self._catalog.get(row_id)
        self._catalog.set_fields(row_id, {"status": STATUS})
        self._catalog.delete([row_id])
        return row_id, found

    def one_by_one_100(self) -> Iterator[Sample]:
        def create_each(group: list[Entity]) -> None:
            for one in group:
                self._catalog.create([one])

        yield self._of_groups("one_by_one_100", create_each)

    def batched_100(self) -> Iterator[Sample]:
        yield self._of_groups("batched_100", self._catalog.create)

    def _of_groups(self, name: str, create: Callable[[list[Entity]], None]) -> Sample:
        works = [partial(create, group) for group in groups(name, self.rows)]
        return self._sample(name, works, lambda _: answers.of_entities(self._newest(GROUPS * TOGETHER)))
