"""Entities changed one at a time and in batches: the CRUD and update operator tables of ParqueDB's page."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from hashlib import blake2b
from random import Random
from typing import Any

import pyarrow as pa

from lamella.core.bench.engine.measure import Cycle, Sample, measure_each
from lamella.core.bench.registry import workload_named
from lamella.core.bench.systems.base import Entity, EntitySystem, Id
from lamella.core.bench.workloads.model import Operation, Pick, Workload
from lamella.core.bench.workloads.table_rows import SEED, pick_rows

SCHEMA = pa.schema(
    {
        "name": pa.string(),
        "status": pa.string(),
        "views": pa.int64(),
        "rating": pa.float64(),
        "tags": pa.list_(pa.string()),
        "profile": pa.struct({"city": pa.string(), "age": pa.int64()}),
        "about": pa.string(),
    }
)

STATUSES = ("draft", "review", "published", "archived")
CITIES = ("Bergen", "Cusco", "Hanoi", "Izmir", "Lagos", "Perth", "Quito", "Turin")
WORDS = ("amber", "basalt", "cedar", "delta", "ember", "fjord", "garnet", "harbour", "indigo", "juniper")


def entities(start: int, count: int) -> list[Entity]:
    return [entity(number) for number in range(start, start + count)]


def entity(number: int) -> Entity:
    """Return an entity, of about 250 bytes as JSON."""
    chance = Random(SEED * 1_000_003 + number)
    return {
        "name": f"{chance.choice(WORDS)} {number}",
        "status": chance.choice(STATUSES),
        "views": chance.randrange(100_000),
        "rating": chance.randrange(21) / 4,
        "tags": chance.sample(WORDS, chance.randint(1, 4)),
        "profile": {"city": chance.choice(CITIES), "age": chance.randint(18, 90)},
        "about": " ".join(chance.choices(WORDS, k=12)),
    }


ITEM_END = "\x1f"


def fingerprint(rows: pa.Table, in_order: bool = False) -> list[list[Any]]:
    """Return a digest of the columns that entities have. Ids are left out, since they differ between systems.

    This works on whole columns: a loop over all values would take longer than most questions.
    """
    from pyarrow import csv

    flat = _flat(rows)
    if not in_order:
        keys = ["name"] if "name" in flat.column_names else flat.column_names
        flat = flat.sort_by([(key, "ascending") for key in keys])
    sink = pa.BufferOutputStream()
    csv.write_csv(flat, sink)
    return [[flat.num_rows, blake2b(sink.getvalue(), digest_size=8).hexdigest()]]


def _flat(rows: pa.Table) -> pa.Table:
    """Convert lists to one text each, and nested fields to columns."""
    flat: dict[str, Any] = {}
    for name in SCHEMA.names:
        if name in rows.column_names:
            flat |= _leaves(name, rows[name].cast(SCHEMA.field(name).type))
    return pa.table(flat)


def _leaves(name: str, column: pa.ChunkedArray) -> dict[str, Any]:
    import pyarrow.compute as pc

    if pa.types.is_list(column.type):
        return {name: pc.binary_join(column.combine_chunks(), ITEM_END)}
    if pa.types.is_struct(column.type):
        return {field.name: pc.struct_field(column, field.name) for field in column.type.fields}
    return {name: column}


SINGLES = 500


@dataclass(frozen=True)
class Batches:
    """`times` commits of `size` entities each."""

    size: int
    times: int


CREATION_BATCHES = {
    "create_hundred": Batches(100, 10),
    "create_thousand": Batches(1_000, 5),
    "create_batch": Batches(10_000, 1),
}

DELETION_BATCHES = Batches(100, 10)
_COMMITS_NOTE = f"; a sample for each of up to {SINGLES} entities, each in a separate commit."


def _update(name: str, title: str, does: str, about: str) -> Operation:
    return Operation(name, title, f"{does} of one of {{rows}}", about + _COMMITS_NOTE)


def _creating(name: str) -> Operation:
    size, times = CREATION_BATCHES[name].size, CREATION_BATCHES[name].times
    samples = "" if times == 1 else f"; a sample for each of {times} batches"
    about = f"{size:,} new entities from Python dicts in one commit{samples}."
    return Operation(name, f"Create {size:,}", f"adds {size:,} entities to {{rows}}", about, resizes=True)


ENTITY_CHANGES = Workload(
    id="entity-changes",
    title="Entities",
    about="Text, numbers, a list of tags and a nested profile: created, read and changed, one by one and in "
    "batches. Samples do not include work that a system defers until it is closed: Lamella's flush of 1,000 "
    "or more pending rows, SQLite's checkpoint of its write-ahead log.",
    steps=(
        *("fill", "get", "create_one", "update_set", "update_inc", "update_push"),
        *("update_set_several", "update_add_to_set", "update_pull", "update_unset"),
        *("delete_one", "create_hundred", "create_thousand", "create_batch", "delete_hundred"),
    ),
    operations=(
        Operation(
            "get",
            "Get by id",
            "gets one of {rows} by its id",
            "At random, the first since opening" + _COMMITS_NOTE,
        ),
        Operation(
            "get_again",
            "Get again",
            "gets one of {rows} by its id once more",
            "The same entities once more" + _COMMITS_NOTE,
        ),
        Operation("create_one", "Create one", "adds one entity to {rows}", "One new entity" + _COMMITS_NOTE),
        _update("update_set", "$set", "sets a field", "Set one field"),
        _update("update_inc", "$inc", "increments a field", "Add one to a number"),
        _update("update_push", "$push", "appends to a list", "Append a tag"),
        _update("update_set_several", "$set of three", "sets three fields", "Set three fields"),
        _update(
            "update_add_to_set",
            "$addToSet",
            "adds to a set",
            "Append a tag unless the entity has it, as a quarter do",
        ),
        _update("update_pull", "$pull", "removes from a list", "Remove the entity's first tag"),
        _update("update_unset", "$unset", "removes a field", "Remove a field, or set it to null"),
        Operation("delete_one", "Delete one", "deletes one of {rows}", "Delete by id" + _COMMITS_NOTE),
        *map(_creating, CREATION_BATCHES),
        Operation(
            "delete_hundred",
            f"Delete {DELETION_BATCHES.size}",
            f"deletes {DELETION_BATCHES.size} entities from {{rows}} and those added",
            f"Delete {DELETION_BATCHES.size} scattered entities by id in one commit;"
            f" a sample for each of {DELETION_BATCHES.times} batches.",
        ),
    ),
    default_rows=(1_000, 10_000, 100_000),
    default_repeats=5,
    family="entity",
    published_rows=(1_000, 10_000, 100_000),
)

GET_PICK, SET_PICK, INCREMENT_PICK, PUSH_PICK, DELETE_PICK = (
    Pick(name, SINGLES) for name in ("get", "set", "increment", "push", "delete")
)

SET_SEVERAL_PICK, ADD_TO_SET_PICK, PULL_PICK, UNSET_PICK = (
    Pick(name, SINGLES) for name in ("set several", "add to set", "pull", "unset")
)

JOINT_DELETE_PICK = Pick("delete together", DELETION_BATCHES.size * DELETION_BATCHES.times)
STATUS, TAG, COMMON_TAG, UNSET_FIELD = "featured", "kelp", "cedar", "about"
SEVERAL = {"status": "reviewed", "views": 7, "rating": 4.5}

Entities = dict[int, Entity]
"""Entities by number, in the order in which they were added."""


def right_answer(workload: Workload, operation: Operation, rows: int) -> str:
    """Return the checksum of all entities after an operation; for one that reads, of the entities read."""
    if operation.id in ("get", "get_again"):
        data = entities(0, rows)
        return digest(data[number] for number in numbers(GET_PICK, workload, rows))
    return _digests(workload.id, rows)[operation.id]


def numbers(pick: Pick, workload: Workload, rows: int) -> list[int]:
    chosen_rows: list[int] = pick_rows(pick, workload, rows).tolist()
    return chosen_rows


def batches(step: str, rows: int) -> list[list[Entity]]:
    """Return the new entities of a step that creates some, one list per commit."""
    size, times = CREATION_BATCHES[step].size, CREATION_BATCHES[step].times
    before = (CREATION_BATCHES[name] for name in list(CREATION_BATCHES)[: list(CREATION_BATCHES).index(step)])
    first = rows + SINGLES + sum(batch.size * batch.times for batch in before)
    return [entities(first + batch * size, size) for batch in range(times)]


def deletion_batches(count: int, workload: Workload) -> list[list[int]]:
    """Return which of `count` entities are deleted in batches, by their positions in the order in which they
    were added, one list per commit."""
    ids_of_rows = numbers(JOINT_DELETE_PICK, workload, count)
    return [
        ids_of_rows[start : start + DELETION_BATCHES.size]
        for start in range(0, len(ids_of_rows), DELETION_BATCHES.size)
    ]


def first_tag(number: int) -> str:
    """Return the first tag of an entity, which the steps before `update_pull` do not change."""
    tag: str = entities(number, 1)[0]["tags"][0]
    return tag


def digest(rows: Iterable[Entity]) -> str:
    """Return a checksum that does not depend on the order of entities or of their fields."""
    count, total = 0, 0
    for row in rows:
        text = json.dumps(row, sort_keys=True).encode()
        total += int.from_bytes(blake2b(text, digest_size=8).digest(), "little")
        count += 1
    return f"{count}:{total % 2**64:016x}"


@lru_cache(maxsize=1)
def _digests(workload_id: str, rows: int) -> dict[str, str]:
    """Return the checksums after each step that changes something."""
    workload = workload_named(workload_id)
    data, digests = dict(enumerate(entities(0, rows))), {}
    for step in workload.steps[2:]:
        _do(step, data, workload, rows)
        digests[step] = digest(data.values())
    return digests


def _do(step: str, data: Entities, workload: Workload, rows: int) -> None:
    if step in _UPDATES:
        pick, change = _UPDATES[step]
        for number in numbers(pick, workload, rows):
            data[number] |= change(data[number])
    elif step == "create_one":
        data.update(enumerate(entities(rows, SINGLES), start=rows))
    elif step == "delete_one":
        for number in numbers(DELETE_PICK, workload, rows):
            del data[number]
    elif step == "delete_hundred":
        ids = list(data)
        for batch in deletion_batches(len(ids), workload):
            for place in batch:
                del data[ids[place]]
    else:
        entities_made = [item for batch in batches(step, rows) for item in batch]
        data.update(enumerate(entities_made, start=max(data) + 1))


_UPDATES: dict[str, tuple[Pick, Callable[[Entity], Entity]]] = {
    "update_set": (SET_PICK, lambda before: {"status": STATUS}),
    "update_inc": (INCREMENT_PICK, lambda before: {"views": before["views"] + 1}),
    "update_push": (PUSH_PICK, lambda before: {"tags": [*before["tags"], TAG]}),
    "update_set_several": (SET_SEVERAL_PICK, lambda before: SEVERAL),
    "update_add_to_set": (
        ADD_TO_SET_PICK,
        lambda before: {
            "tags": before["tags"] if COMMON_TAG in before["tags"] else [*before["tags"], COMMON_TAG]
        },
    ),
    "update_pull": (
        PULL_PICK,
        lambda before: {"tags": [tag for tag in before["tags"] if tag != before["tags"][0]]},
    ),
    "update_unset": (UNSET_PICK, lambda before: {UNSET_FIELD: None}),
}


class EntityCycle(Cycle[EntitySystem]):
    steps = ENTITY_CHANGES.steps

    def fill(self) -> Iterator[Sample]:
        """Fill the table, untimed."""
        self._changing(lambda: self.system.fill(entities(0, self.rows)))
        yield from ()

    def get(self) -> Iterator[Sample]:
        works = [partial(self.system.get, row_id) for row_id in self._ids(GET_PICK)]
        self.system.open(writing=False)
        answers, cost = measure_each(works, float("inf"))
        again, cost_again = measure_each(works, float("inf"))
        first, second = (digest(map(self.system.as_entity, each_answer)) for each_answer in (answers, again))
        self.system.close()
        size = self.system.disk_bytes()
        yield Sample("get", cost, size, first)
        yield Sample("get_again", cost_again, size, second, again=True)

    def create_one(self) -> Iterator[Sample]:
        singles = entities(self.rows, SINGLES)
        yield from self._measure_works(
            "create_one", [partial(self.system.create, [item]) for item in singles]
        )

    def update_set(self) -> Iterator[Sample]:
        yield from self._each_row(
            "update_set", SET_PICK, lambda i: self.system.set_fields(i, {"status": STATUS})
        )

    def update_inc(self) -> Iterator[Sample]:
        yield from self._each_row(
            "update_inc", INCREMENT_PICK, lambda i: self.system.increment(i, "views", 1)
        )

    def update_push(self) -> Iterator[Sample]:
        yield from self._each_row("update_push", PUSH_PICK, lambda i: self.system.push(i, "tags", TAG))

    def update_set_several(self) -> Iterator[Sample]:
        change = partial(self.system.set_fields, values=SEVERAL)
        yield from self._each_row("update_set_several", SET_SEVERAL_PICK, change)

    def update_add_to_set(self) -> Iterator[Sample]:
        change = partial(self.system.add_to_set, name="tags", value=COMMON_TAG)
        yield from self._each_row("update_add_to_set", ADD_TO_SET_PICK, change)

    def update_pull(self) -> Iterator[Sample]:
        places = numbers(PULL_PICK, self.workload, self.rows)
        pairs = zip(self._ids(PULL_PICK), map(first_tag, places), strict=True)
        yield from self._measure_works(
            "update_pull", [partial(self.system.pull, i, "tags", tag) for i, tag in pairs]
        )

    def update_unset(self) -> Iterator[Sample]:
        yield from self._each_row("update_unset", UNSET_PICK, lambda i: self.system.unset(i, UNSET_FIELD))

    def delete_one(self) -> Iterator[Sample]:
        yield from self._each_row("delete_one", DELETE_PICK, lambda i: self.system.delete([i]))

    def create_hundred(self) -> Iterator[Sample]:
        yield from self._create("create_hundred")

    def create_thousand(self) -> Iterator[Sample]:
        yield from self._create("create_thousand")

    def create_batch(self) -> Iterator[Sample]:
        yield from self._create("create_batch")

    def delete_hundred(self) -> Iterator[Sample]:
        ids = self._every_id()
        batches = [[ids[place] for place in batch] for batch in deletion_batches(len(ids), self.workload)]
        yield from self._measure_works(
            "delete_hundred", [partial(self.system.delete, batch) for batch in batches]
        )

    def _create(self, name: str) -> Iterator[Sample]:
        new_batches = batches(name, self.rows)
        yield from self._measure_works(name, [partial(self.system.create, batch) for batch in new_batches])

    def _each_row(self, name: str, pick: Pick, change: Callable[[Id], Any]) -> Iterator[Sample]:
        yield from self._measure_works(name, [partial(change, row_id) for row_id in self._ids(pick)])

    def _measure_works(self, name: str, works: list[partial[Any]]) -> Iterator[Sample]:
        yield from self.settle()
        self.system.open(writing=True)
        _, cost = measure_each(works, float("inf"))
        self.system.close()
        self._owe((name, cost))

    def _ids(self, pick: Pick) -> list[Id]:
        ids = self._every_id()
        return [ids[number] for number in numbers(pick, self.workload, self.rows)]

    def _every_id(self) -> list[Id]:
        self.system.open(writing=False)
        ids = self.system.ids()
        self.system.close()
        return ids

    def _database_digest(self) -> str:
        return digest(self.system.contents())
