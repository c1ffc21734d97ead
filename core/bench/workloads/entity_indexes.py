"""Lookups with and without a secondary index: the tables about indexes on ParqueDB's page."""

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
"""The number of rows with the same owner, and with the same prefix of the code."""

KEYS, ROWS = "keys", "rows"

SCANS = {
    "equality": "the 20 rows of one owner",
    "point": "one row by its number",
    "range": "20 rows by a range of numbers",
    "prefix": "20 rows by the beginning of their codes",
}
"""Lookups that are also measured without an index."""

LOOKUPS = {
    **SCANS,
    "in": "20 rows by a list of numbers",
    "wide_range": "2 % of the rows by a range of numbers",
}

INDEX_COLUMNS = {"number": "distinct numbers", "owner": "repeated numbers", "code": "distinct texts"}
"""Columns, and the kinds of their values."""

SORTS = {"number": "number DESC", "code": "code"}
_RESULT_TEXTS = {KEYS: "Only the ids of the rows.", ROWS: "All columns of the rows."}
_VALUES_NOTE = "Each time with another value. "


def index_step(lookup: str, what: str) -> str:
    return f"{lookup}_{what}"


def scan_step(lookup: str, what: str) -> str:
    return f"scan_{lookup}_{what}"


def build(column: str) -> str:
    return f"build_{column}"


def sort(column: str) -> str:
    return f"sort_{column}"


def _title(lookup: str) -> str:
    return lookup.replace("_", " ").capitalize()


def _scan(name: str, what: str) -> Operation:
    return Operation(
        scan_step(name, what),
        f"{_title(name)}, no index, {what}",
        f"finds {SCANS[name]} among {{rows}} without an index ({what})",
        f"{_VALUES_NOTE}There is no index. {_RESULT_TEXTS[what]}",
    )


def _lookup(name: str, what: str) -> Operation:
    return Operation(
        index_step(name, what),
        f"{_title(name)}, {what}",
        f"finds {LOOKUPS[name]} among {{rows}} by an index ({what})",
        f"{_VALUES_NOTE}With an index on the column. {_RESULT_TEXTS[what]}",
    )


def _build(column: str) -> Operation:
    return Operation(
        build(column),
        f"Build, {INDEX_COLUMNS[column]}",
        f"indexes {{rows}} by {INDEX_COLUMNS[column]}",
        "Create an index; dropping it first is not timed. Lamella and SQLite do not wait for the disk: "
        "Lamella rebuilds an index that a crash damaged.",
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
    f"{ALIKE} rows after a number",
    f"sorts {{rows}} after a number for the next {ALIKE}",
    f"{_VALUES_NOTE}The next {ALIKE} rows after a number, in the order of the numbers, all columns.",
)

_OPERATIONS = (
    *(_scan(name, what) for what in (ROWS, KEYS) for name in SCANS),
    *map(_build, INDEX_COLUMNS),
    *(_lookup(name, what) for what in (KEYS, ROWS) for name in LOOKUPS),
    *map(_sort, SORTS),
    _NEXT,
)

ENTITY_INDEXES = Workload(
    id="entity-indexes",
    title="Indexes",
    about="Items looked up by numbers, owners and codes: first without an index, then with indexes, whose "
    "building is timed, too. Keys alone and whole rows are measured separately.",
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
"""Columns, and their types in SQL."""

NUM_LOOKUPS = 30


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
    """Return the owners to look up, the same for every system."""
    numbers: list[int] = np.random.default_rng(2).integers(0, max(1, rows // ALIKE), NUM_LOOKUPS).tolist()
    return numbers


@dataclass(frozen=True)
class Lookup:
    """A lookup by an owner's number. `sql` has a placeholder for each of `values`."""

    name: str
    sql: str
    values: Callable[[int], tuple[Any, ...]]


Ask = Callable[[Lookup, str], Callable[[int], Any]]
"""Returns the system's function that looks up the keys, or the rows, of an owner."""


def lookups(rows: int) -> dict[str, Lookup]:
    wide, step = max(1, rows // 50), rows // ALIKE

    def values_of(owner: int) -> tuple[int, ...]:
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
        Lookup("in", f"number IN ({', '.join('?' * ALIKE)})", values_of),
        Lookup("wide_range", "number BETWEEN ? AND ?", lambda owner: (owner, owner + wide - 1)),
    )
    return {lookup.name: lookup for lookup in answers}


def numbers_of(owner: int) -> tuple[int, int]:
    """Return the first and the last number of an owner."""
    return owner * ALIKE, owner * ALIKE + ALIKE - 1


def beginning_of(owner: int) -> str:
    """Return the prefix that the codes of an owner have in common. A full stop, which ends the range of such
    codes, is the character after the hyphen."""
    return f"c{owner:06}-"


def questions(rows: int, ask: Ask) -> Questions:
    """Return every lookup, of keys and of rows, with and without an index."""
    lookup_answers, asked_of = lookups(rows), owners(rows)
    by_name: dict[str, Question] = {}
    for what in (KEYS, ROWS):
        by_name |= {
            index_step(name, what): Question(ask(lookup_answers[name], what), asked_of) for name in LOOKUPS
        }
        by_name |= {
            scan_step(name, what): Question(ask(lookup_answers[name], what), asked_of) for name in SCANS
        }
    return by_name


def needs_an_index(operations: Sequence[str]) -> list[str]:
    """Return the operations other than lookups that scan every row."""
    scans = {scan_step(name, what) for name in SCANS for what in (KEYS, ROWS)}
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
        """Nothing is open."""

    def questions(self) -> Questions:
        import pyarrow.parquet as pq

        of = owners(pq.read_metadata(self.file).num_rows)
        return {
            scan_step(name, what): Question(partial(self.find, name, what), of, comparable=self.comparable)
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
        """Return the rows of an answer for the comparison."""
