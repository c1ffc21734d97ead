"""What the entities are after each step, in plain Python."""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

from core.bench.data import picked
from core.bench.entities.data import Entity, entities
from core.bench.workloads import Operation, Pick, Workload
from core.bench.workloads.entities import BATCH, SINGLES

GOT, SET, INCREMENTED, PUSHED, GONE = (
    Pick(name, SINGLES) for name in ("get", "set", "increment", "push", "delete")
)
STATUS, TAG = "featured", "kelp"


def expected(workload: Workload, operation: Operation, rows: int) -> str:
    """The checksum of all entities after an operation; for the reading ones, of those read."""
    held = dict(enumerate(entities(0, rows)))
    if operation.id in ("get", "get_again"):
        return digest(held[number] for number in numbers(GOT, workload, rows))
    for step in workload.steps[2:]:
        _do(step, held, workload, rows)
        if step == operation.id:
            break
    return digest(held.values())


def numbers(pick: Pick, workload: Workload, rows: int) -> list[int]:
    found: list[int] = picked(pick, workload, rows).tolist()
    return found


def digest(found: Iterable[Entity]) -> str:
    """Entities count in any order, their fields too."""
    count, total = 0, 0
    for one in found:
        text = json.dumps(one, sort_keys=True).encode()
        total += int.from_bytes(blake2b(text, digest_size=8).digest(), "little")
        count += 1
    return f"{count}:{total % 2**64:016x}"


def _do(step: str, held: dict[int, Entity], workload: Workload, rows: int) -> None:
    match step:
        case "create_one":
            held.update(enumerate(entities(rows, SINGLES), start=rows))
        case "update_set":
            _each(held, numbers(SET, workload, rows), lambda one: {"status": STATUS})
        case "update_inc":
            _each(held, numbers(INCREMENTED, workload, rows), lambda one: {"views": one["views"] + 1})
        case "update_push":
            _each(held, numbers(PUSHED, workload, rows), lambda one: {"tags": [*one["tags"], TAG]})
        case "delete_one":
            for number in numbers(GONE, workload, rows):
                del held[number]
        case "create_batch":
            held.update(enumerate(entities(rows + SINGLES, BATCH), start=rows + SINGLES))


def _each(held: dict[int, Entity], chosen: Iterable[int], change: Any) -> None:
    for number in chosen:
        held[number] |= change(held[number])
