"""The same questions as SQL, of systems that make their indexes with CREATE INDEX."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from lamella.core.bench.entity_indexes.data import owners
from lamella.core.bench.entity_indexes.lookups import Lookup, questions
from lamella.core.bench.questions.backend import Question, Questions
from lamella.core.bench.workloads.entity_indexes import ALIKE, INDEXED, KEYS, NEXT, SORTS, build, sort

Ask = Callable[..., Any]
"""A statement and its values; answers in rows."""

COUNT = "SELECT max(_id) + 1 FROM items"
"""Ids have no gaps."""


def sql_questions(rows: int, ask: Ask, run: Callable[[str], object]) -> Questions:
    """`run` is for statements that answer nothing."""
    behind = f"SELECT * FROM items WHERE number > ? ORDER BY number LIMIT {ALIKE}"
    return {
        **questions(rows, partial(_lookup, ask)),
        **{build(column): _build(ask, run, column) for column in INDEXED},
        **{
            sort(column): Question(partial(ask, f"SELECT * FROM items ORDER BY {order} LIMIT {ALIKE}"))
            for column, order in SORTS.items()
        },
        NEXT: Question(lambda owner: ask(behind, owner * ALIKE), owners(rows)),
    }


def _lookup(ask: Ask, lookup: Lookup, what: str) -> Callable[[int], Any]:
    statement = f"SELECT {'_id' if what == KEYS else '*'} FROM items WHERE {lookup.sql}"
    return lambda owner: ask(statement, *lookup.values(owner))


def _build(ask: Ask, run: Callable[[str], object], column: str) -> Question:
    lowest = f"SELECT {column} FROM items ORDER BY {column} LIMIT {ALIKE}"
    return Question(
        partial(run, f"CREATE INDEX items_{column} ON items ({column})"),
        before=partial(run, f"DROP INDEX IF EXISTS items_{column}"),
        told=lambda _: ask(lowest),
    )
