"""SQLite asks how a scan would go: what can be left out of it, and what it would cost."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import apsw

from lamella.core.bridge.column_types import Storage
from lamella.core.bridge.declared import Declared
from lamella.core.bridge.plan import ROWID, Asked, Plan

OPERATORS = {
    apsw.SQLITE_INDEX_CONSTRAINT_EQ: "=",
    apsw.SQLITE_INDEX_CONSTRAINT_NE: "<>",
    apsw.SQLITE_INDEX_CONSTRAINT_LT: "<",
    apsw.SQLITE_INDEX_CONSTRAINT_LE: "<=",
    apsw.SQLITE_INDEX_CONSTRAINT_GT: ">",
    apsw.SQLITE_INDEX_CONSTRAINT_GE: ">=",
    apsw.SQLITE_INDEX_CONSTRAINT_IS: "is",
    apsw.SQLITE_INDEX_CONSTRAINT_ISNOT: "is not",
    apsw.SQLITE_INDEX_CONSTRAINT_ISNULL: "is null",
    apsw.SQLITE_INDEX_CONSTRAINT_ISNOTNULL: "is not null",
    apsw.SQLITE_INDEX_CONSTRAINT_LIKE: "like",
    apsw.SQLITE_INDEX_CONSTRAINT_GLOB: "glob",
}
WITHOUT_COLLATION = ("is null", "is not null", "like", "glob")
SHARES = {"=": 0.02, "is": 0.02, "in": 0.1, "like": 0.2, "glob": 0.2, "is null": 0.1}
"""Of the rows, which a constraint is taken to let through; a third for the others."""
OTHER_SHARE = 0.3
BEGINNING_COST = 100.0
UNSEEN_COST = 0.02
"""Of a row that is left out before SQLite sees it; one that it sees costs 1, and more for each column."""
COLUMN_COST = 0.3


@dataclass(frozen=True)
class Numbered:
    """What the row id is: the column `_id` at a place, or where there is none the number of the row."""

    id_place: int | None

    def asked(self, place: int) -> int:
        return self.id_place if place == ROWID and self.id_place is not None else place

    def is_id(self, place: int) -> bool:
        return place in (ROWID, self.id_place)


def best_index(info: apsw.IndexInfo, columns: Sequence[Declared], numbered: Numbered, rows: int) -> Plan:
    """The plan, which is entered into `info` too. SQLite looks at every row it is given once more."""
    asked = []
    for which, each in _usable(info, columns, numbered):
        asked.append(each)
        info.set_aConstraintUsage_argvIndex(which, len(asked))
        if each.op == "in":
            info.set_aConstraintUsage_in(which, True)
    plan = Plan(tuple(sorted(_used(info, len(columns)))), tuple(asked))
    info.idxStr = plan.to_text()
    _estimate(info, plan, numbered, rows)
    info.orderByConsumed = _in_order(info, numbered)
    return plan


def _usable(
    info: apsw.IndexInfo, columns: Sequence[Declared], numbered: Numbered
) -> Iterator[tuple[int, Asked]]:
    for which in range(info.nConstraint):
        op = OPERATORS.get(info.get_aConstraint_op(which))
        if op is None or not info.get_aConstraint_usable(which):
            continue
        place = numbered.asked(info.get_aConstraint_iColumn(which))
        is_text = place != ROWID and columns[place].type.storage is Storage.TEXT
        if is_text and op not in WITHOUT_COLLATION and info.get_aConstraint_collation(which) != "BINARY":
            continue
        if op == "=" and info.get_aConstraintUsage_in(which):
            op = "in"
        yield which, Asked(place, op, info.get_aConstraint_rhs(which) is not None)


def _used(info: apsw.IndexInfo, columns: int) -> set[int]:
    """SQLite has 64 bits to say which columns it reads: the last one stands for all from there on."""
    used = info.colUsed
    return {place for place in used if place < columns} | (set(range(63, columns)) if 63 in used else set())


def _estimate(info: apsw.IndexInfo, plan: Plan, numbered: Numbered, rows: int) -> None:
    if any(each.op in ("=", "is") and numbered.is_id(each.column) for each in plan.asked):
        info.estimatedRows, info.idxFlags = 1, apsw.SQLITE_INDEX_SCAN_UNIQUE
        info.estimatedCost = BEGINNING_COST
        return
    seen = rows * math.prod(SHARES.get(each.op, OTHER_SHARE) for each in plan.asked)
    info.estimatedRows = max(1, int(seen))
    unseen = rows * UNSEEN_COST * len(plan.asked)
    info.estimatedCost = BEGINNING_COST + unseen + seen * (1 + COLUMN_COST * len(plan.columns))


def _in_order(info: apsw.IndexInfo, numbered: Numbered) -> bool:
    """Rows come in the order of their ids."""
    return (
        info.nOrderBy == 1 and numbered.is_id(info.get_aOrderBy_iColumn(0)) and not info.get_aOrderBy_desc(0)
    )
