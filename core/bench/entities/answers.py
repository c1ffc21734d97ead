"""What the entities are after each step, in plain Python."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import lru_cache
from hashlib import blake2b

from lamella.core.bench.data import picked
from lamella.core.bench.entities.data import Entity, entities
from lamella.core.bench.workloads import Operation, Pick, Workload, workload_named
from lamella.core.bench.workloads.entities import CREATED, DELETED, SINGLES

GOT, SET, INCREMENTED, PUSHED, GONE = (
    Pick(name, SINGLES) for name in ("get", "set", "increment", "push", "delete")
)
SET_SEVERAL, ADDED, PULLED, UNSET = (
    Pick(name, SINGLES) for name in ("set several", "add to set", "pull", "unset")
)
GONE_TOGETHER = Pick("delete together", DELETED.size * DELETED.times)

STATUS, TAG, COMMON_TAG, FORGOTTEN = "featured", "kelp", "cedar", "about"
SEVERAL = {"status": "reviewed", "views": 7, "rating": 4.5}

Held = dict[int, Entity]
"""By number, in the order they came."""


def expected(workload: Workload, operation: Operation, rows: int) -> str:
    """The checksum of all entities after an operation; for the reading ones, of those read."""
    if operation.id in ("get", "get_again"):
        held = entities(0, rows)
        return digest(held[number] for number in numbers(GOT, workload, rows))
    return _digests(workload.id, rows)[operation.id]


def numbers(pick: Pick, workload: Workload, rows: int) -> list[int]:
    found: list[int] = picked(pick, workload, rows).tolist()
    return found


def batches(step: str, rows: int) -> list[list[Entity]]:
    """The new entities of a step that creates, one list a commit."""
    size, times = CREATED[step].size, CREATED[step].times
    before = (CREATED[name] for name in list(CREATED)[: list(CREATED).index(step)])
    first = rows + SINGLES + sum(batch.size * batch.times for batch in before)
    return [entities(first + batch * size, size) for batch in range(times)]


def gone_together(held: int, workload: Workload) -> list[list[int]]:
    """Which of so many are deleted together, as places in the order they came, one list a commit."""
    chosen = numbers(GONE_TOGETHER, workload, held)
    return [chosen[start : start + DELETED.size] for start in range(0, len(chosen), DELETED.size)]


def first_tag(number: int) -> str:
    """It stays the first through the steps before `update_pull`."""
    tag: str = entities(number, 1)[0]["tags"][0]
    return tag


def digest(found: Iterable[Entity]) -> str:
    """Entities count in any order, their fields too."""
    count, total = 0, 0
    for one in found:
        text = json.dumps(one, sort_keys=True).encode()
        total += int.from_bytes(blake2b(text, digest_size=8).digest(), "little")
        count += 1
    return f"{count}:{total % 2**64:016x}"


@lru_cache(maxsize=1)
def _digests(workload_id: str, rows: int) -> dict[str, str]:
    """After each step that changes something."""
    workload = workload_named(workload_id)
    held, found = dict(enumerate(entities(0, rows))), {}
    for step in workload.steps[2:]:
        _do(step, held, workload, rows)
        found[step] = digest(held.values())
    return found


def _do(step: str, held: Held, workload: Workload, rows: int) -> None:
    if step in _UPDATES:
        pick, change = _UPDATES[step]
        for number in numbers(pick, workload, rows):
            held[number] |= change(held[number])
    elif step == "create_one":
        held.update(enumerate(entities(rows, SINGLES), start=rows))
    elif step == "delete_one":
        for number in numbers(GONE, workload, rows):
            del held[number]
    elif step == "delete_hundred":
        there = list(held)
        for batch in gone_together(len(there), workload):
            for place in batch:
                del held[there[place]]
    else:
        made = [one for batch in batches(step, rows) for one in batch]
        held.update(enumerate(made, start=max(held) + 1))


_UPDATES: dict[str, tuple[Pick, Callable[[Entity], Entity]]] = {
    "update_set": (SET, lambda one: {"status": STATUS}),
    "update_inc": (INCREMENTED, lambda one: {"views": one["views"] + 1}),
    "update_push": (PUSHED, lambda one: {"tags": [*one["tags"], TAG]}),
    "update_set_several": (SET_SEVERAL, lambda one: SEVERAL),
    "update_add_to_set": (
        ADDED,
        lambda one: {"tags": one["tags"] if COMMON_TAG in one["tags"] else [*one["tags"], COMMON_TAG]},
    ),
    "update_pull": (PULLED, lambda one: {"tags": [tag for tag in one["tags"] if tag != one["tags"][0]]}),
    "update_unset": (UNSET, lambda one: {FORGOTTEN: None}),
}
