"""What the steps put and ask: entities by their number, objects by their key."""

from __future__ import annotations

import random
from collections.abc import Iterator

from lamella.core.bench.data import SEED
from lamella.core.bench.entities.data import Entity, entities
from lamella.core.bench.workloads.catalog import CALLS

TOGETHER = 100
LIMIT = 20
LISTED = 10
STATUS = "featured"
SIZES = {"100b": 100, "1kb": 1_000, "10kb": 10_000}
RATINGS = tuple(number / 4 for number in range(21))

GROUPS = 3
_STEPS = ("warm_create", "crud_cycle", "commit_then_put", "commit_and_put", "one_by_one_100", "batched_100")


def objects(prefix: str, size: int, count: int = CALLS) -> dict[str, bytes]:
    """Random bytes, which nothing can compress."""
    made = random.Random(f"{SEED} {prefix}")
    return {f"{prefix}/{number:04}": made.randbytes(size) for number in range(count)}


def listed_objects() -> dict[str, bytes]:
    return objects("listed", SIZES["100b"], LISTED)


def pairs(step: str, rows: int) -> tuple[list[Entity], dict[str, bytes]]:
    """New entities, and an object of 1,000 bytes beside each."""
    return new_entities(step, rows), objects(step, SIZES["1kb"])


def new_entities(step: str, rows: int, count: int = CALLS) -> list[Entity]:
    """Of one step, unlike those of any other."""
    return entities(rows + _STEPS.index(step) * TOGETHER * GROUPS, count)


def groups(step: str, rows: int) -> Iterator[list[Entity]]:
    made = new_entities(step, rows, TOGETHER * GROUPS)
    return (made[at : at + TOGETHER] for at in range(0, len(made), TOGETHER))
