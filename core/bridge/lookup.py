"""Joins: a table that is asked for the rows of one value after another is scanned once, and then looked up.

SQLite makes such an index by itself for tables of its own, but for no virtual table.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from lamella.core.bridge.constraints import storage_of
from lamella.core.bridge.declared import Declared
from lamella.core.bridge.kept_rows import Block
from lamella.core.bridge.plan import ROWID, Asked, Plan
from lamella.core.bridge.scanning import Scan

SCANS_BEFORE = 16
"""Whoever asks no more often is served faster by scans, which skip what they can."""
MOST_ROWS = 1_000_000
"""They are held as Python values, until the table changes or is let go of."""
MOST_LOOKUPS = 4

StartScan = Callable[[Plan, Sequence[Any]], Scan]


class Lookup:
    """The rows of a scan by their values in the columns at the places `keys` of its blocks, of which `ROWID`
    is the row ids."""

    def __init__(self, blocks: Iterator[Block], keys: Sequence[int]) -> None:
        self._places: dict[tuple[Any, ...], list[tuple[Block, int]]] = {}
        for block in blocks:
            columns = [block.row_ids if key == ROWID else block.columns[key] for key in keys]
            for place, values in enumerate(zip(*columns, strict=True)):
                self._places.setdefault(values, []).append((block, place))

    def block(self, values: tuple[Any, ...], columns: int) -> Block:
        """The rows that have these values, in their own order."""
        found = self._places.get(values, [])
        lists = [[block.columns[column][place] for block, place in found] for column in range(columns)]
        return Block(lists, len(found), lambda: np.array([block.row_ids[place] for block, place in found]))


class Scans:
    """The scans of one version of a table, which is not kept from being vacuumed by them. Those begun again
    and again, for the inner table of a join or a subquery of each row, become look-ups; a few are kept."""

    def __init__(self, columns: Sequence[Declared]) -> None:
        self._columns = columns
        self._begun: Counter[Plan] = Counter()
        self._lookups: OrderedDict[tuple[Plan, tuple[int, ...]], Lookup | None] = OrderedDict()

    def blocks(self, start: StartScan, plan: Plan, values: Sequence[Any]) -> Iterator[Block]:
        self._begun[plan] += 1
        which = self._equalities(plan, values) if self._begun[plan] > SCANS_BEFORE else ()
        lookup = self._lookup(start, plan, tuple(plan.asked[i].column for i in which)) if which else None
        if lookup is None:
            return start(plan, values).blocks()
        return iter((lookup.block(tuple(values[i] for i in which), len(plan.columns)),))

    def _equalities(self, plan: Plan, values: Sequence[Any]) -> tuple[int, ...]:
        """Which constraints have the one value that the rows wanted have. A value of another class than the
        column's may have to be converted first, which is left to SQLite."""
        return tuple(
            which for which, value in enumerate(values) if self._fits(plan, plan.asked[which], value)
        )

    def _fits(self, plan: Plan, asked: Asked, value: Any) -> bool:
        if asked.op != "=" or value is None:
            return False
        if asked.column == ROWID:
            return type(value) is int
        return asked.column in plan.columns and self._columns[asked.column].type.storage is storage_of(value)

    def _lookup(self, start: StartScan, plan: Plan, columns: tuple[int, ...]) -> Lookup | None:
        """None for a table that is too large for it."""
        wanted = (plan, columns)
        if wanted not in self._lookups:
            scan = start(Plan(plan.columns, ()), ())
            keys = [ROWID if column == ROWID else plan.columns.index(column) for column in columns]
            few = scan.snapshot.num_rows <= MOST_ROWS
            self._lookups[wanted] = Lookup(scan.blocks(), keys) if few else None
            if len(self._lookups) > MOST_LOOKUPS:
                self._lookups.popitem(last=False)
        self._lookups.move_to_end(wanted)
        return self._lookups[wanted]
