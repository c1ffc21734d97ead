"""A catalog of entities beside a store of objects, one call at a time: on a disk, what a published page
measured on an edge platform."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import sha256
from typing import Any, TypeVar

from lamella.core.bench.engine.measure import Cycle, Sample, measure_each
from lamella.core.bench.systems.base import CatalogSystem, Entity, ObjectSystem
from lamella.core.bench.workloads.entities import entities
from lamella.core.bench.workloads.model import Operation, Pick, Workload
from lamella.core.bench.workloads.questions import digest, digest_in_order
from lamella.core.bench.workloads.table_rows import SEED, pick_rows

CALLS = 100
OPENINGS = 100
_CALLS_NOTE = f" A sample for each of {CALLS} calls."
_COMMIT_NOTE = " Each call is a separate commit."
_COMMIT = _COMMIT_NOTE + _CALLS_NOTE
SIZES = {
    "100b": 100, "1kb": 1_000, "10kb": 10_000, "100kb": 100_000, "1mb": 1_000_000, "10mb": 10_000_000,
}  # fmt: skip
FEWER_CALLS = {"100kb": 20, "1mb": 10, "10mb": 3}
"""The numbers of calls for large objects, which take longest."""


def calls(prefix: str) -> int:
    return FEWER_CALLS.get(prefix, CALLS)


def _objects(prefix: str, size: str) -> tuple[Operation, Operation]:
    each = f" A sample for each of {calls(prefix)} calls."
    return (
        Operation(
            f"put_{prefix}",
            f"Put {size}",
            f"puts an object of {size}",
            f"A new object of {size}." + _COMMIT_NOTE + each,
        ),
        Operation(
            f"get_{prefix}", f"Get {size}", f"gets an object of {size}", f"An object of {size}." + each
        ),
    )


_OPERATIONS = (
    Operation(
        "open_cold",
        "Open",
        "opens a database of {rows} and reads its catalog",
        f"Open the closed database in a running process, and read its tables and columns. A sample for each "
        f"of {OPENINGS} openings.",
    ),
    Operation(
        "warm_get",
        "Get one",
        "gets one of {rows} from an open database",
        "An entity by its id, at random." + _CALLS_NOTE,
    ),
    Operation(
        "catalog_query",
        "Query",
        "finds 20 of {rows} by a field",
        "The names of the first 20 entities with a rating, for one rating after another, without an index."
        + _CALLS_NOTE,
    ),
    Operation(
        "warm_create", "Create one", "adds one to {rows} in an open database", "A new entity." + _COMMIT
    ),
    Operation(
        "warm_update", "Update one", "updates one of {rows} in an open database", "Set a field." + _COMMIT
    ),
    Operation(
        "crud_cycle",
        "Create, get, update, delete",
        "creates, gets, updates and deletes one beside {rows}",
        "An entity is created, got by its id, updated and deleted: three commits." + _CALLS_NOTE,
    ),
    *(
        operation
        for prefix, size in SIZES.items()
        for operation in _objects(
            prefix, f"{size // 1_000_000} MB" if size >= 1_000_000 else f"{size:,} bytes"
        )
    ),
    Operation(
        "head", "Head", "says how large an object is", "The size of an object of 1,000 bytes." + _CALLS_NOTE
    ),
    Operation("list_10", "List 10", "lists ten objects", "The ten keys under a prefix." + _CALLS_NOTE),
    Operation(
        "commit_then_put",
        "Commit, then put",
        "commits an entity beside {rows} and then puts an object",
        "A new entity, and after it an object of 1,000 bytes: two commits." + _CALLS_NOTE,
    ),
    Operation(
        "commit_and_put",
        "Commit and put at once",
        "commits an entity beside {rows} while it puts an object",
        "A new entity, and at the same time an object of 1,000 bytes on another thread." + _CALLS_NOTE,
    ),
    Operation(
        "one_by_one_100",
        "Create 100 one by one",
        "adds 100 to {rows} one by one",
        "A hundred new entities, each in a separate commit, three times.",
    ),
    Operation(
        "batched_100",
        "Create 100 at once",
        "adds 100 to {rows} in one commit",
        "A hundred new entities in one commit, three times.",
        resizes=True,
    ),
)

CATALOG = Workload(
    id="catalog",
    title="Catalog and objects",
    about="Entities in a database and objects beside them: opened, queried and changed one call at a time.",
    steps=("fill", *(operation.id for operation in _OPERATIONS)),
    operations=_OPERATIONS,
    default_rows=(1_000, 100_000),
    default_repeats=3,
    family="catalog",
    small_rows=(1_000,),
    published_rows=(1_000,),
)

TOGETHER = 100
LIMIT = 20
NUM_LISTED_OBJECTS = 10
STATUS = "featured"
RATINGS = tuple(number / 4 for number in range(21))
GROUPS = 3
_STEPS = ("warm_create", "crud_cycle", "commit_then_put", "commit_and_put", "one_by_one_100", "batched_100")


def objects(prefix: str, size: int, count: int = CALLS) -> dict[str, bytes]:
    """Return objects of random bytes, which cannot be compressed."""
    generator = random.Random(f"{SEED} {prefix}")
    return {f"{prefix}/{number:04}": generator.randbytes(size) for number in range(count)}


def listed_objects() -> dict[str, bytes]:
    return objects("listed", SIZES["100b"], NUM_LISTED_OBJECTS)


def pairs(step: str, rows: int) -> tuple[list[Entity], dict[str, bytes]]:
    """Return new entities, and an object of 1,000 bytes for each."""
    return new_entities(step, rows), objects(step, SIZES["1kb"])


def new_entities(step: str, rows: int, count: int = CALLS) -> list[Entity]:
    """Return the new entities of a step, which differ from those of other steps."""
    return entities(rows + _STEPS.index(step) * TOGETHER * GROUPS, count)


def groups(step: str, rows: int) -> Iterator[list[Entity]]:
    entities = new_entities(step, rows, TOGETHER * GROUPS)
    return (entities[at : at + TOGETHER] for at in range(0, len(entities), TOGETHER))


READ, UPDATED = Pick("catalog-get", CALLS), Pick("catalog-update", CALLS)


def right_answer(workload: Workload, operation: Operation, rows: int) -> str:
    step = operation.id
    if step in ("warm_get", "warm_update"):
        change = {"status": STATUS} if step == "warm_update" else {}
        pick = UPDATED if step == "warm_update" else READ
        data = entities(0, rows)
        return of_entities(data[number] | change for number in numbers(pick, workload, rows))
    return _BY_STEP[step](rows)


def numbers(pick: Pick, workload: Workload, rows: int) -> list[int]:
    chosen_rows: list[int] = pick_rows(pick, workload, rows).tolist()
    return chosen_rows


def of_entities(rows: Iterable[Entity]) -> str:
    return digest([[row] for row in rows])


def of_objects(objects: Mapping[str, bytes]) -> str:
    return digest([[key, sha256(body).hexdigest()] for key, body in objects.items()])


def of_sizes(sizes: Mapping[str, int]) -> str:
    return digest([[key, size] for key, size in sizes.items()])


def of_pairs(entities_found: Iterable[Entity], objects_found: Mapping[str, bytes]) -> str:
    return digest_in_order([of_entities(entities_found), of_objects(objects_found)])


def of_names(ratings: Iterable[tuple[float, Iterable[str]]]) -> str:
    """Return the digest of names by rating; the order of the names counts."""
    return digest([[rating, list(names)] for rating, names in ratings])


def of_keys(keys: Iterable[str]) -> str:
    return digest([[number, key] for number, key in enumerate(keys)])


def of_fields(names: Iterable[str]) -> str:
    return digest([[name] for name in names])


def _names_by_rating(rows: int) -> str:
    data = entities(0, rows)
    names = {rating: [entity["name"] for entity in data if entity["rating"] == rating] for rating in RATINGS}
    return of_names((rating, rated[:LIMIT]) for rating, rated in names.items())


def _in_groups(step: str) -> Callable[[int], str]:
    return lambda rows: of_entities(entity for group in groups(step, rows) for entity in group)


def _of_prefix(prefix: str) -> Callable[[int], str]:
    return lambda rows: of_objects(objects(prefix, SIZES[prefix], calls(prefix)))


_BY_STEP: dict[str, Callable[[int], str]] = {
    "open_cold": lambda rows: of_fields(entities(0, 1)[0]),
    "catalog_query": _names_by_rating,
    "warm_create": lambda rows: of_entities(new_entities("warm_create", rows)),
    "crud_cycle": lambda rows: of_entities(new_entities("crud_cycle", rows)),
    **{f"{verb}_{prefix}": _of_prefix(prefix) for verb in ("put", "get") for prefix in SIZES},
    "head": lambda rows: of_sizes(dict.fromkeys(objects("1kb", SIZES["1kb"]), SIZES["1kb"])),
    "list_10": lambda rows: of_keys(listed_objects()),
    "commit_then_put": lambda rows: of_pairs(*pairs("commit_then_put", rows)),
    "commit_and_put": lambda rows: of_pairs(*pairs("commit_and_put", rows)),
    "one_by_one_100": _in_groups("one_by_one_100"),
    "batched_100": _in_groups("batched_100"),
}

T = TypeVar("T")
NO_LIMIT = float("inf")


class Sampling(Cycle[ObjectSystem]):
    """Reads back what a step wrote before its sample counts."""

    def _sample(
        self,
        name: str,
        works: Sequence[Callable[[], T]],
        fingerprint: Callable[[list[T]], str],
        warm: Callable[[], object] | None = None,
        writing: bool = True,
    ) -> Sample:
        """Time the calls. `fingerprint` reads back while the database is still open; `warm` is called before,
        untimed."""
        self.system.open(writing)
        if warm is not None:
            warm()
        answers, cost = measure_each(works, NO_LIMIT)
        checksum = fingerprint(answers)
        self.system.close()
        return Sample(name, cost, self.system.disk_bytes(), checksum, again=warm is not None)

    @property
    def _catalog(self) -> CatalogSystem:
        assert isinstance(self.system, CatalogSystem), "A system without entities has to say so in `cannot`"
        return self.system

    def _ids(self, numbers: list[int]) -> list[Any]:
        self.system.open(writing=False)
        ids = self._catalog.ids()
        self.system.close()
        return [ids[number] for number in numbers]

    def _newest(self, count: int) -> Iterator[Entity]:
        for row_id in self._catalog.ids()[-count:]:
            yield self._catalog.as_entity(self._catalog.get(row_id))

    def _objects(self, objects: dict[str, bytes]) -> dict[str, bytes]:
        return {key: self.system.get_object(key) for key in objects}

    def _database_digest(self) -> str:
        raise AssertionError("Every step reads back what it changed")


class EntitySteps(Sampling):
    def open_cold(self) -> Iterator[Sample]:
        catalog = self._catalog
        catalog.open(writing=False)
        answers, cost = measure_each([self._opened_anew] * OPENINGS, NO_LIMIT, catalog.close)
        catalog.close()
        (fields,) = {tuple(sorted(fields)) for fields in answers}
        yield Sample("open_cold", cost, catalog.disk_bytes(), of_fields(fields))

    def _opened_anew(self) -> Sequence[str]:
        """Read the whole catalog, and return the columns of the table of entities."""
        self.system.open(writing=False)
        (names,) = (fields for fields in self._catalog.tables().values() if "profile" in fields)
        return names

    def warm_get(self) -> Iterator[Sample]:
        catalog = self._catalog
        ids = self._ids(numbers(READ, self.workload, self.rows))

        def checksum(answers: list[Any]) -> str:
            return of_entities(map(catalog.as_entity, answers))

        works = [partial(catalog.get, row_id) for row_id in ids]
        yield self._sample("warm_get", works, checksum, warm=works[-1], writing=False)

    def catalog_query(self) -> Iterator[Sample]:
        catalog = self._catalog
        ratings = [RATINGS[number % len(RATINGS)] for number in range(CALLS)]

        def checksum(answers: list[Sequence[str]]) -> str:
            return of_names({(rating, tuple(names)) for rating, names in zip(ratings, answers, strict=True)})

        works = [partial(catalog.names_with_rating, rating, LIMIT) for rating in ratings]
        yield self._sample("catalog_query", works, checksum, warm=works[-1], writing=False)

    def warm_create(self) -> Iterator[Sample]:
        entities = new_entities("warm_create", self.rows)
        works = [partial(self._catalog.create, [entity]) for entity in entities]
        yield self._sample("warm_create", works, lambda _: of_entities(self._newest(len(entities))))

    def warm_update(self) -> Iterator[Sample]:
        catalog = self._catalog
        ids = self._ids(numbers(UPDATED, self.workload, self.rows))

        def checksum(_: Any) -> str:
            return of_entities(catalog.as_entity(catalog.get(row_id)) for row_id in ids)

        works = [partial(catalog.set_fields, row_id, {"status": STATUS}) for row_id in ids]
        yield self._sample("warm_update", works, checksum)

    def crud_cycle(self) -> Iterator[Sample]:
        def checksum(answers: list[tuple[int, Any]]) -> str:
            remaining = {row_id for row_id, _ in answers} & set(self._catalog.ids())
            got = [self._catalog.as_entity(entity) for _, entity in answers]
            return of_entities([*got, *({"not deleted": row_id} for row_id in remaining)])

        works = [partial(self._crud, entity) for entity in new_entities("crud_cycle", self.rows)]
        yield self._sample("crud_cycle", works, checksum)

    def _crud(self, entity: Entity) -> tuple[Any, Any]:
        row_id = self._catalog.create_one(entity)
        stored = self._catalog.get(row_id)
        self._catalog.set_fields(row_id, {"status": STATUS})
        self._catalog.delete([row_id])
        return row_id, stored

    def one_by_one_100(self) -> Iterator[Sample]:
        def create_each(group: list[Entity]) -> None:
            for entity in group:
                self._catalog.create([entity])

        yield self._of_groups("one_by_one_100", create_each)

    def batched_100(self) -> Iterator[Sample]:
        yield self._of_groups("batched_100", self._catalog.create)

    def _of_groups(self, name: str, create: Callable[[list[Entity]], None]) -> Sample:
        works = [partial(create, group) for group in groups(name, self.rows)]
        return self._sample(name, works, lambda _: of_entities(self._newest(GROUPS * TOGETHER)))


class ObjectSteps(Sampling):
    def put(self, prefix: str) -> Iterator[Sample]:
        payloads = objects(prefix, SIZES[prefix], calls(prefix))
        works = [partial(self.system.put_object, key, body) for key, body in payloads.items()]
        yield self._sample(f"put_{prefix}", works, lambda _: of_objects(self._objects(payloads)))

    def get(self, prefix: str) -> Iterator[Sample]:
        keys = list(objects(prefix, SIZES[prefix], calls(prefix)))

        def checksum(answers: list[bytes]) -> str:
            return of_objects(dict(zip(keys, answers, strict=True)))

        works = [partial(self.system.get_object, key) for key in keys]
        yield self._sample(f"get_{prefix}", works, checksum, writing=False)

    def head(self) -> Iterator[Sample]:
        keys = list(objects("1kb", SIZES["1kb"]))

        def checksum(answers: list[int]) -> str:
            return of_sizes(dict(zip(keys, answers, strict=True)))

        works = [partial(self.system.head_object, key) for key in keys]
        yield self._sample("head", works, checksum, writing=False)

    def list_10(self) -> Iterator[Sample]:
        def checksum(answers: list[Sequence[str]]) -> str:
            (keys,) = set(map(tuple, answers))
            return of_keys(keys)

        prefix = next(iter(listed_objects())).partition("/")[0]
        works = [partial(self.system.list_objects, prefix)] * CALLS
        yield self._sample("list_10", works, checksum, writing=False)


class CatalogCycle(EntitySteps, ObjectSteps):
    """The database stays open for all calls of a step, except in `open_cold`."""

    steps = CATALOG.steps

    def step(self, name: str) -> Iterator[Sample]:
        verb, _, prefix = name.partition("_")
        if prefix in SIZES:
            yield from self.put(prefix) if verb == "put" else self.get(prefix)
        else:
            yield from super().step(name)

    def fill(self) -> Iterator[Sample]:
        """Fill the database, untimed."""
        self.system.open(writing=True)
        self.system.fill(entities(0, self.rows))
        for key, body in listed_objects().items():
            self.system.put_object(key, body)
        self.system.close()
        yield from ()

    def commit_then_put(self) -> Iterator[Sample]:
        def create_both(entity: Entity, key: str, body: bytes) -> None:
            self._catalog.create([entity])
            self.system.put_object(key, body)

        yield self._of_pairs("commit_then_put", create_both)

    def commit_and_put(self) -> Iterator[Sample]:
        """Starting the second thread is not timed."""
        with ThreadPoolExecutor(max_workers=1) as beside:
            beside.submit(int).result()

            def both(entity: Entity, key: str, body: bytes) -> None:
                put = beside.submit(self.system.put_object, key, body)
                self._catalog.create([entity])
                put.result()

            yield self._of_pairs("commit_and_put", both)

    def _of_pairs(self, name: str, both: Callable[[Entity, str, bytes], None]) -> Sample:
        pairs_made, beside = pairs(name, self.rows)
        works = [partial(both, pair, *item) for pair, item in zip(pairs_made, beside.items(), strict=True)]

        def checksum(_: Any) -> str:
            return of_pairs(self._newest(len(pairs_made)), self._objects(beside))

        return self._sample(name, works, checksum)
