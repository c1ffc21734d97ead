"""Joins: a table that is asked for the rows of one value after another is scanned once, and then looked up.

SQLite makes such an index by itself for tables of its own, but for no virtual table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from core.bridge.constraints import storage_of
from core.bridge.declared import Declared
from core.bridge.kept_rows import Block
from core.bridge.plan import Plan
from core.bridge.scanning import Scan

SCANS_BEFORE = 16
"""Whoever asks no more often is served faster by scans, which skip what they can."""
MOST_ROWS = 1_000_000
"""They are held as Python values while the statement runs."""

StartScan = Callable[[Plan, Sequence[Any]], Scan]


class Lookup:
    """The rows of a scan by their values in the column at place `key` of its blocks."""

    def __init__(self, blocks: Iterator[Block], key: int) -> None:
        self._blocks = list(blocks)
        self._places: dict[Any, list[tuple[Block, int]]] = {}
        for block in self._blocks:
            for place, value in enumerate(block.columns[key]):
                self._places.setdefault(value, []).append((block, place))

    def block(self, value: Any, columns: int) -> Block:
        """The rows that have this value, in their own order."""
        found = self._places.get(value, [])
        lists = [[block.columns[column][place] for block, place in found] for column in range(columns)]
        return Block(lists, len(found), lambda: np.array([block.row_ids[place] for block, place in found]))


class Scans:
    """The scans that one cursor begins: one, but for the inner tables of joins."""

    def __init__(self, start: StartScan, columns: Sequence[Declared]) -> None:
        self._start, self._columns = start, columns
        self._begun: dict[Plan, int] = {}
        self._lookups: dict[Plan, Lookup] = {}

    def blocks(self, plan: Plan, values: Sequence[Any]) -> Iterator[Block]:
        self._begun[plan] = self._begun.get(plan, 0) + 1
        which = self._equality(plan, values) if self._begun[plan] > SCANS_BEFORE else None
        lookup = None if which is None else self._lookup(plan, plan.asked[which].column)
        if which is None or lookup is None:
            return self._start(plan, values).blocks()
        return iter((lookup.block(values[which], len(plan.columns)),))

    def _equality(self, plan: Plan, values: Sequence[Any]) -> int | None:
        """Which constraint has the one value that the rows wanted have. A value of another class than the
        column's may have to be converted first, which is left to the scan."""
        for which, (asked, value) in enumerate(zip(plan.asked, values, strict=True)):
            if asked.op == "=" and asked.column in plan.columns:
                fits = value is not None and self._columns[asked.column].type.storage is storage_of(value)
                return which if fits else None
        return None

    def _lookup(self, plan: Plan, column: int) -> Lookup | None:
        if plan not in self._lookups:
            scan = self._start(Plan(plan.columns, ()), ())
            if scan.snapshot.num_rows > MOST_ROWS:
                return None
            self._lookups[plan] = Lookup(scan.blocks(), plan.columns.index(column))
        return self._lookups[plan]
