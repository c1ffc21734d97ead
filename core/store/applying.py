"""Applies a comparison to the table of its earlier side, in one commit: its rows become those of the later
side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import combine_chunks, from_numpy, take, to_numpy
from lamella.core.arrow.types import ID
from lamella.core.errors import BadData, TypeConflict, VersionConflict
from lamella.core.jobs import Job
from lamella.core.query.comparison.cells import differing
from lamella.core.query.comparison.columns import ColumnPair
from lamella.core.query.comparison.comparison import ROWS_A_BLOCK, Comparison, rows_of
from lamella.core.scan.snapshot import Column
from lamella.core.store.commit import Commit
from lamella.core.store.rows import snapshot_version
from lamella.core.store.table import Table


@dataclass(frozen=True)
class Kinds:
    """Which differences to apply; without `removed` this is like an upsert."""

    added: bool = True
    changed: bool = True
    removed: bool = False

    def counts(self, comparison: Comparison) -> tuple[int, int, int]:
        """The numbers of rows to insert, update and delete."""
        return (
            len(comparison.added) if self.added else 0,
            len(comparison.changed) if self.changed else 0,
            len(comparison.removed) if self.removed else 0,
        )


def why_not_applicable(comparison: Comparison, table: Table) -> str:
    """The reason why differences cannot be applied to a table; empty if they can. Blocks."""
    if comparison.before.token[0] != table.snapshot().token[0]:
        return f"{table.name} is not the earlier side of the comparison"
    if comparison.before.token[1] != table.version:
        return f"{table.name} has changed since it was compared"
    return ""


def apply_comparison(
    comparison: Comparison,
    table: Table,
    kinds: Kinds | None = None,
    message: str = "",
    job: Job | None = None,
) -> Commit:
    """Change the cells that differ, add the rows that only the later side has, and delete those that it
    lacks, as `kinds` selects, in one commit. Columns that the table lacks are skipped.

    Raises `VersionConflict` if the table has changed since the comparison, `BadData` if it is not the
    earlier side, `TypeConflict` naming a column for a value that does not fit it; nothing changes then.
    """
    chosen_kinds, work = kinds or Kinds(), job or Job()
    problem = why_not_applicable(comparison, table)
    if problem:
        if comparison.before.token[0] != table.snapshot().token[0]:
            raise BadData(
                f"The differences cannot be applied: {problem}", fix="Swap the sides of the comparison"
            )
        raise VersionConflict(f"The differences cannot be applied: {problem}", fix="Compare it again")
    pairs = comparison.common
    cells = list(_changed_cells(comparison, pairs, work)) if chosen_kinds.changed else []
    rows = _added_rows(comparison, pairs) if chosen_kinds.added and len(comparison.added) else None
    gone = _ids(comparison, comparison.removed) if chosen_kinds.removed and len(comparison.removed) else None
    text = message or f"apply differences from {comparison.titles[1]}"
    version = snapshot_version(comparison.before)
    return table.edit(cells, rows, gone, text, work, expected_version=version)


def _ids(comparison: Comparison, rows: np.ndarray) -> np.ndarray:
    before = comparison.before
    assert before.ids is not None, "it is a table"
    return np.sort(to_numpy(rows_of(before, rows, [before.ids]).column(0)))


def _changed_cells(comparison: Comparison, pairs: tuple[ColumnPair, ...], job: Job) -> Iterator[pa.Table]:
    """Yield tables of `_id` and one column each, with only the cells that differ."""
    before, after = comparison.before, comparison.after
    assert before.ids is not None, "it is a table"
    for first in range(0, len(comparison.changed), ROWS_A_BLOCK):
        block = slice(first, first + ROWS_A_BLOCK)
        earlier, later = comparison.changed_before[block], comparison.changed[block]
        ids = to_numpy(rows_of(before, earlier, [before.ids]).column(0))
        for pair in pairs:
            job.check()
            ours = rows_of(before, earlier, [_there(pair.before)]).column(0)
            theirs = rows_of(after, later, [_there(pair.after)]).column(0)
            places = np.flatnonzero(differing(ours, theirs, comparison.rule))
            if len(places):
                values = _fitting(take(combine_chunks(theirs), places), pair, comparison)
                yield pa.Table.from_arrays([from_numpy(ids[places]), values], [ID, _there(pair.before).name])


def _added_rows(comparison: Comparison, pairs: tuple[ColumnPair, ...]) -> pa.Table:
    columns = [_there(pair.after) for pair in pairs]
    rows = rows_of(comparison.after, comparison.added, columns)
    values = [
        _fitting(combine_chunks(column), pair, comparison)
        for column, pair in zip(rows.columns, pairs, strict=True)
    ]
    return pa.Table.from_arrays(values, [_there(pair.before).name for pair in pairs])


def _fitting(values: pa.Array, pair: ColumnPair, comparison: Comparison) -> pa.Array:
    """The values in the type of the table's column."""
    column = _there(pair.before)
    if values.type.equals(column.type):
        return values
    try:
        return values.cast(column.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise TypeConflict(
            f"{comparison.before.name}: values of {comparison.titles[1]} do not fit column '{column.name}'"
            f" ({column.type})",
            str(error).partition("\n")[0],
            "Change the type of the column first, or leave it out of the comparison",
        ) from error


def _there(column: Column | None) -> Column:
    assert column is not None, "both sides have it"
    return column
