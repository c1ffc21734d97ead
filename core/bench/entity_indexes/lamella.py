"""Sorted indexes of Lamella's: one kind does what ParqueDB has hash and SST indexes for."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa

from lamella.core.bench.backends.lamella import LamellaStore
from lamella.core.bench.entity_indexes.data import TYPES, items, owners
from lamella.core.bench.entity_indexes.lookups import Lookup, questions
from lamella.core.bench.questions.backend import Question, QuestionBackend, Questions
from lamella.core.bench.workloads.entity_indexes import ALIKE, INDEXED, KEYS, NEXT, SORTS, build, sort
from lamella.core.filters import col
from lamella.core.store import Table

KEYS_OF_SORTS = {"number": "-number", "code": "code"}


class LamellaIndexes(LamellaStore, QuestionBackend):
    @property
    def columns(self) -> int:
        return len(TYPES)

    def fill(self, rows: int) -> None:
        self.open(writing=True)
        self._store.create_table("items", items(rows))
        self.close()

    def questions(self) -> Questions:
        table = self._store["items"]
        return {
            **questions(table.num_rows, partial(_lookup, table)),
            **{build(column): _build(table, column) for column in INDEXED},
            **{sort(column): Question(partial(_first, table, KEYS_OF_SORTS[column])) for column in SORTS},
            NEXT: Question(partial(_behind, table), owners(table.num_rows)),
        }


def _lookup(table: Table, lookup: Lookup, what: str) -> Callable[[int], Any]:
    names = ["_id"] if what == KEYS else None
    return lambda owner: table.read(names, where=lookup.where(owner))


def _build(table: Table, column: str) -> Question:
    return Question(
        partial(table.create_index, column),
        before=partial(_drop, table, column),
        told=lambda _: table.read([column], sort=[column], limit=ALIKE),
    )


def _drop(table: Table, column: str) -> None:
    if any(index.columns == (column,) for index in table.indexes):
        table.drop_index(column)


def _first(table: Table, key: str) -> pa.Table:
    return table.read(sort=[key], limit=ALIKE)


def _behind(table: Table, owner: int) -> pa.Table:
    return table.read(where=col("number") > owner * ALIKE, sort=["number"], limit=ALIKE)
