"""Assignments applied to rows: columns of values held in, columns of new values out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa

from lamella.core.arrays import take, to_numpy
from lamella.core.store.operators.assignments import Assignment, Path
from lamella.core.store.operators.in_documents import Compute, changed_at, value_in
from lamella.core.store.operators.meeting import as_held, chosen, nulls
from lamella.core.store.operators.refusal import Refusal


def columns_read(found: Iterable[Assignment]) -> list[str]:
    """The names of the columns that the assignments read or change, each once; some may not exist yet."""
    paths = (path for a in found for path in (a.path, a.target) if path is not None)
    return list(dict.fromkeys(path.column for path in paths))


def applied(
    found: Iterable[Assignment],
    held: Mapping[str, pa.Array],
    count: int,
    table: str,
    inserted: bool = False,
) -> dict[str, pa.Array]:
    """The new values of the columns that the assignments change, `count` of each.

    Of the type held where they fit it, else of one that takes them. `inserted`: the rows are new. Raises
    `BadData` naming the operator and the column.
    """
    rows = _Rows(held, count)
    for assignment in found:
        if assignment.operator.only_inserted and not inserted:
            continue
        try:
            _apply(assignment, rows)
        except Refusal as refusal:
            raise assignment.refused(table, refusal) from refusal
    return rows.changed


class _Rows:
    """Columns of rows while one assignment after the other changes them."""

    def __init__(self, held: Mapping[str, pa.Array], count: int) -> None:
        self._held, self._count = held, count
        self.changed: dict[str, pa.Array] = {}

    def get(self, path: Path) -> pa.Array:
        return value_in(self._column(path.column), path.steps)

    def change(self, path: Path, compute: Compute) -> None:
        column, rows = self._column(path.column), np.arange(self._count)
        if path.steps:
            self.changed[path.column] = changed_at(column, path.steps, compute, rows)
        else:
            self.changed[path.column] = as_held(compute(column, rows), column.type)

    def _column(self, name: str) -> pa.Array:
        column = self.changed.get(name, self._held.get(name))
        return nulls(self._count) if column is None else column


def _apply(assignment: Assignment, rows: _Rows) -> None:
    operator = assignment.operator
    if assignment.target is not None:
        _copy(rows, assignment.path, assignment.target)

    def compute(held: pa.Array, _rows: np.ndarray) -> pa.Array:
        if not pa.types.is_null(held.type) and not operator.fits(held.type):
            raise Refusal(f"it is for {operator.wants}, and this is {held.type}", "Cast it first")
        return operator.compute(held, assignment.operand)

    rows.change(assignment.path, compute)


def _copy(rows: _Rows, source: Path, target: Path) -> None:
    held = rows.get(source)
    there = to_numpy(held.is_valid())
    rows.change(target, lambda before, some: chosen(there[some], take(held, some), before))
