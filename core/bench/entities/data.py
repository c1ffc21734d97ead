"""Made entities: text, numbers, a list and a nested object, the same for every system."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa

from lamella.core.bench.data import SEED

Entity = dict[str, Any]

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
FIELDS = tuple(SCHEMA.names)
STATUSES = ("draft", "review", "published", "archived")
CITIES = ("Bergen", "Cusco", "Hanoi", "Izmir", "Lagos", "Perth", "Quito", "Turin")
WORDS = ("amber", "basalt", "cedar", "delta", "ember", "fjord", "garnet", "harbour", "indigo", "juniper")


def entities(start: int, count: int) -> list[Entity]:
    return [entity(number) for number in range(start, start + count)]


def entity(number: int) -> Entity:
    """About 250 bytes as JSON."""
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
