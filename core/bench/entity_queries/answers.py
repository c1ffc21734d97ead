"""The right answer to each question, in plain Python."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from statistics import fmean
from typing import Any

import pyarrow as pa

from lamella.core.bench.data import picked
from lamella.core.bench.entities.data import SCHEMA, STATUSES, Entity, entities
from lamella.core.bench.entities.fingerprint import fingerprint
from lamella.core.bench.questions.answers import digest, together
from lamella.core.bench.workloads import Operation, Pick, Workload, workload_named
from lamella.core.bench.workloads.entity_queries import (
    DEPTHS,
    FILTERS,
    INDEXED_ORDER,
    PAGE,
    PAGE_ORDER,
    PROJECTIONS,
    SORTS,
    by_cursor,
    by_offset,
)

ID = "entity-queries"
LOOKED_UP = Pick("looked up by name", 50)

CONDITIONS: dict[str, Callable[[Entity], bool]] = {
    "equality": lambda one: bool(one["status"] == "draft"),
    "range": lambda one: 1_000 < one["views"] < 5_000,
    "in": lambda one: one["status"] in ("draft", "review"),
    "and": lambda one: one["status"] == "draft" and one["views"] > 90_000,
    "or": lambda one: one["views"] < 1_000 or one["rating"] == 5.0,
    "nested": lambda one: (
        one["profile"]["city"] == "Lagos" and (one["profile"]["age"] < 30 or one["rating"] > 4.0)
    ),
    "regex": lambda one: re.search("^amber .*7$", one["name"]) is not None,
}
PAGES = {name(depth): depth for depth in DEPTHS for name in (by_offset, by_cursor)}
ORDERS = {**SORTS, **dict.fromkeys(PAGES, PAGE_ORDER), "sort_indexed": INDEXED_ORDER}


def expected(_workload: Workload, operation: Operation, rows: int) -> str:
    """As `QuestionCycle` tells the answers of systems."""
    held, name = _held(rows), operation.id
    if name == "count":
        return digest(rows)
    if name == "group_by":
        return digest(_grouped(held))
    if name == "point":
        told = [digest(_found([one for one in held if one["name"] == asked])) for asked in names(rows)]
        return told[0] if len(set(told)) == 1 else together(told)
    if name in ORDERS:
        start = page_start(PAGES.get(name, 1), rows)
        return digest(_found(ordered(held, ORDERS[name])[start : start + PAGE], in_order=True))
    if name in FILTERS:
        return digest(_found([one for one in held if CONDITIONS[name](one)]))
    columns = PROJECTIONS.get(name, tuple(SCHEMA.names))
    return digest(_found(held, [column for column in columns if column in SCHEMA.names]))


def names(rows: int) -> list[str]:
    """That are looked up, one after the other."""
    chosen = picked(LOOKED_UP, workload_named(ID), rows).tolist()
    return [entities(number, 1)[0]["name"] for number in chosen]


def page_start(depth: int, rows: int) -> int:
    """Of the last page that there is, where there are not so many."""
    return min(depth - 1, (rows - 1) // PAGE) * PAGE


def ordered(held: Sequence[Entity], keys: Sequence[str]) -> list[Entity]:
    """Python's sort leaves equal ones as they were, backwards too."""
    found = list(held)
    for key in reversed(keys):
        name = key.removeprefix("-")
        found.sort(key=lambda one: one[name], reverse=key.startswith("-"))
    return found


def _grouped(held: Sequence[Entity]) -> list[list[Any]]:
    views = {status: [one["views"] for one in held if one["status"] == status] for status in STATUSES}
    return [[status, len(found), fmean(found)] for status, found in views.items() if found]


def _found(rows: Sequence[Entity], columns: Sequence[str] = SCHEMA.names, in_order: bool = False) -> Any:
    return fingerprint(pa.Table.from_pylist(list(rows), SCHEMA).select(list(columns)), in_order)


@lru_cache(maxsize=1)
def _held(rows: int) -> list[Entity]:
    return entities(0, rows)
