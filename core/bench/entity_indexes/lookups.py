"""What is looked up for an owner: as a filter of ours, and as SQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from lamella.core.bench.entity_indexes.data import owners
from lamella.core.bench.questions.backend import Question, Questions
from lamella.core.bench.workloads.entity_indexes import ALIKE, KEYS, LOOKUPS, ROWS, SCANS, indexed, scanned
from lamella.core.filters import col
from lamella.core.filters.expr import Filter


@dataclass(frozen=True)
class Lookup:
    """Of an owner's number. `sql` has a mark for each of `values`."""

    where: Callable[[int], Filter]
    sql: str
    values: Callable[[int], tuple[Any, ...]]


Ask = Callable[[Lookup, str], Callable[[int], Any]]
"""How a system looks up the keys, or the rows, of an owner."""


def lookups(rows: int) -> dict[str, Lookup]:
    wide, step = max(1, rows // 50), rows // ALIKE

    def some(owner: int) -> tuple[int, ...]:
        return tuple((owner + step * place) % rows for place in range(ALIKE))

    return {
        "equality": Lookup(lambda owner: col("owner") == owner, "owner = ?", lambda owner: (owner,)),
        "point": Lookup(
            lambda owner: col("number") == owner * ALIKE, "number = ?", lambda owner: (owner * ALIKE,)
        ),
        "range": Lookup(
            lambda owner: col("number").between(*numbers_of(owner)), "number BETWEEN ? AND ?", numbers_of
        ),
        "prefix": Lookup(
            lambda owner: col("code").starts_with(beginning_of(owner)),
            "code >= ? AND code < ?",
            lambda owner: (beginning_of(owner), f"c{owner:06}."),
        ),
        "in": Lookup(
            lambda owner: col("number").is_in(some(owner)), f"number IN ({', '.join('?' * ALIKE)})", some
        ),
        "wide_range": Lookup(
            lambda owner: col("number").between(owner, owner + wide - 1),
            "number BETWEEN ? AND ?",
            lambda owner: (owner, owner + wide - 1),
        ),
    }


def numbers_of(owner: int) -> tuple[int, int]:
    """The first and the last."""
    return owner * ALIKE, owner * ALIKE + ALIKE - 1


def beginning_of(owner: int) -> str:
    """What the codes of an owner have in common: a full stop is the next character after the hyphen."""
    return f"c{owner:06}-"


def questions(rows: int, ask: Ask) -> Questions:
    """Every lookup, of keys and of rows, with an index and without."""
    known, asked_of = lookups(rows), owners(rows)
    found: dict[str, Question] = {}
    for what in (KEYS, ROWS):
        found |= {indexed(name, what): Question(ask(known[name], what), asked_of) for name in LOOKUPS}
        found |= {scanned(name, what): Question(ask(known[name], what), asked_of) for name in SCANS}
    return found


def needs_an_index(operations: Sequence[str]) -> list[str]:
    """All but the lookups that look at every row."""
    scans = {scanned(name, what) for name in SCANS for what in (KEYS, ROWS)}
    return [name for name in operations if name not in scans]
