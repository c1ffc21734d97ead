"""Lookups with a secondary index and without: the index tables of ParqueDB's page."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from lamella.core.bench.systems.base import Question, Questions, QuestionSystem
from lamella.core.bench.workloads.model import Check, Operation, Workload

ALIKE = 20
"""Rows of one owner, and rows whose codes begin alike."""

KEYS, ROWS = "keys", "rows"

SCANS = {
    "equality": "the 20 rows of one owner",
    "point": "one row by its number",
    "range": "20 rows by a range of numbers",
    "prefix": "20 rows by how their codes begin",
}
"""Lookups that are measured without an index too."""

LOOKUPS = {
    **SCANS,
    "in": "20 rows by a list of numbers",
    "wide_range": "2 % of the rows by a range of numbers",
}

INDEXED = {"number": "distinct numbers", "owner": "repeated numbers", "code": "distinct texts"}
"""Columns, and what they hold."""

SORTS = {"number": "number DESC", "code": "code"}
_WHAT = {KEYS: "Only which rows.", ROWS: "With all columns of the rows."}
_EACH = "For another value each time. "


def indexed(lookup: str, what: str) -> str:
    return f"{lookup}_{what}"


def scanned(lookup: str, what: str) -> str:
    return f"scan_{lookup}_{what}"


def build(column: str) -> str:
    return f"build_{column}"


def sort(column: str) -> str:
    return f"sort_{column}"


def _title(lookup: str) -> str:
    return lookup.replace("_", " ").capitalize()


def _scan(name: str, what: str) -> Operation:
    return Operation(
        scanned(name, what),
        f"{_title(name)}, no index, {what}",
        f"finds {SCANS[name]} among {{rows}} without an index ({what})",
        f"{_EACH}No index there is. {_WHAT[what]}",
    )


def _lookup(name: str, what: str) -> Operation:
    return Operation(
        indexed(name, what),
        f"{_title(name)}, {what}",
        f"finds {LOOKUPS[name]} among {{rows}} by an index ({what})",
        f"{_EACH}By an index on the column. {_WHAT[what]}",
    )


def _build(column: str) -> Operation:
    return Operation(
        build(column),
        f"Build, {INDEXED[column]}",
        f"indexes {{rows}} by {INDEXED[column]}",
        "Make an index that was dropped before, untimed. Lamella and SQLite wait for no disk: Lamella makes "
        "anew what a crash damaged.",
        resizes=True,
    )


def _sort(column: str) -> Operation:
    return Operation(
        sort(column),
        f"Sort by {column}, first {ALIKE}",
        f"sorts {{rows}} by {column} for the first {ALIKE}",
        f"The first {ALIKE} rows in the order of an indexed column, all columns.",
    )


NEXT = "next_rows"

_NEXT = Operation(
    NEXT,
    f"{ALIKE} rows from a number on",
    f"sorts {{rows}} behind a number for the next {ALIKE}",
    f"{_EACH}The next {ALIKE} rows behind a number, in its order, all columns.",
)

_OPERATIONS = (
    *(_scan(name, what) for what in (ROWS, KEYS) for name in SCANS),
    *map(_build, INDEXED),
    *(_lookup(name, what) for what in (KEYS, ROWS) for name in LOOKUPS),
    *map(_sort, SORTS),
    _NEXT,
)

ENTITY_INDEXES = Workload(
    id="entity-indexes",
    title="Indexes",
    about="Items looked up by numbers, owners and codes: first without an index, then each index built, then "
    "by them. Keys alone and whole rows are told apart.",
    steps=("fill", *(operation.id for operation in _OPERATIONS)),
    operations=_OPERATIONS,
    default_rows=(10_000, 100_000),
    default_repeats=5,
    family="entity-indexes",
    check=Check.AGREED,
    small_rows=(1_000,),
    published_rows=(10_000, 100_000),
)

ITEM_TYPES = {"number": "INTEGER", "code": "TEXT", "owner": "INTEGER", "amount": "REAL", "label": "TEXT"}
"""Columns, and what SQL calls their types."""

LOOKED_UP = 30


def items(rows: int) -> dict[str, list[Any]]:
    random = np.random.default_rng(1)
    numbers = random.permutation(rows).tolist()
    return {
        "number": numbers,
        "code": [f"c{number // ALIKE:06}-{number % ALIKE:02}" for number in numbers],
        "owner": [number // ALIKE for number in numbers],
        "amount": random.random(rows).tolist(),
        "label": [f"item number {number % 977}" for number in numbers],
    }


def owners(rows: int) -> list[int]:
    """Those that are asked for, the same for every system."""
    drawn: list[int] = np.random.default_rng(2).integers(0, max(1, rows // ALIKE), LOOKED_UP).tolist()
    return drawn


@dataclass(frozen=True)
class Lookup:
    """What is looked up by an owner's number. `sql` has a mark for each of `values`."""

    name: str
    sql: str
    values: Callable[[int], tuple[Any, ...]]


Ask = Callable[[Lookup, str], Callable[[int], Any]]
"""How a system looks up the keys, or the rows, of an owner."""


def lookups(rows: int) -> dict[str, Lookup]:
    wide, step = max(1, rows // 50), rows // ALIKE

    def some(owner: int) -> tuple[int, ...]:
        return tuple((owner + step * place) % rows for place in range(ALIKE))

    answers = (
        Lookup("equality", "owner = ?", lambda owner: (owner,)),
        Lookup("point", "number = ?", lambda owner: (owner * ALIKE,)),
        Lookup("range", "number BETWEEN ? AND ?", numbers_of),
        Lookup(
            "prefix",
            "code >= ? AND code < ?",
            lambda owner: (beginning_of(owner), f"c{owner:06}."),
        ),
        Lookup("in", f"number IN ({', '.join('?' * ALIKE)})", some),
        Lookup("wide_range", "number BETWEEN ? AND ?", lambda owner: (owner, owner + wide - 1)),
    )
    return {lookup.name: lookup for lookup in answers}


def numbers_of(owner: int) -> tuple[int, int]:
    """The first and the last."""
    return owner * ALIKE, owner * ALIKE + ALIKE - 1


def beginning_of(owner: int) -> str:
    """What the codes of an owner have in common: a full stop is the next character after the hyphen."""
    return f"c{owner:06}-"


def questions(rows: int, ask: Ask) -> Questions:
    """Every lookup, of keys and of rows, with an index and without."""
    lookup_answers, asked_of = lookups(rows), owners(rows)
    by_name: dict[str, Question] = {}
    for what in (KEYS, ROWS):
        by_name |= {
            indexed(name, what): Question(ask(lookup_answers[name], what), asked_of) for name in LOOKUPS
        }
        by_name |= {
            scanned(name, what): Question(ask(lookup_answers[name], what), asked_of) for name in SCANS
        }
    return by_name


def needs_an_index(operations: Sequence[str]) -> list[str]:
    """All but the lookups that look at every row."""
    scans = {scanned(name, what) for name in SCANS for what in (KEYS, ROWS)}
    return [name for name in operations if name not in scans]


NEED_AN_INDEX = needs_an_index([operation.id for operation in ENTITY_INDEXES.operations])


class FrameScans(QuestionSystem):
    columns = len(ITEM_TYPES)

    def fill(self, rows: int) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"_id": range(rows), **items(rows)}), self.file)

    def close(self) -> None:
        """What was read is kept by nobody."""

    def questions(self) -> Questions:
        import pyarrow.parquet as pq

        of = owners(pq.read_metadata(self.file).num_rows)
        return {
            scanned(name, what): Question(partial(self.find, name, what), of, comparable=self.comparable)
            for name in SCANS
            for what in (KEYS, ROWS)
        }

    @property
    def file(self) -> Path:
        return self.folder / "items.parquet"

    @abstractmethod
    def find(self, name: str, what: str, owner: int) -> Any: ...

    @abstractmethod
    def comparable(self, answer: Any, owner: int) -> Any:
        """The rows of an answer, for comparing."""
