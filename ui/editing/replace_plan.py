"""What a find and replace would change: exact counts, and the first cells before and after."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import combine_chunks, from_numpy, take
from lamella.core.arrow.equality import differs
from lamella.core.arrow.sorted_ids import distinct
from lamella.core.arrow.types import ID
from lamella.core.errors import BadData
from lamella.core.jobs import Job
from lamella.core.query.computed_view import ComputedView
from lamella.core.query.view import View
from lamella.core.store.operators.texts import read_replacement
from lamella.core.store.operators.values import Refusal
from lamella.ui.editing.edit_target import ids_of
from lamella.ui.editing.staged_edits import Difference

PREVIEW_CELLS = 50
CHUNK_CELLS = 200_000


@dataclass(frozen=True)
class ReplacePlan:
    """What to replace, in these columns of these rows of `view`. `operand` is the operand of `$replace`."""

    view: View | ComputedView
    rows: Sequence[range]
    columns: Sequence[str]
    operand: Mapping[str, Any]
    staged_edits: Difference | None = None
    """Unsaved edits, which are searched, too."""

    @property
    def num_rows(self) -> int:
        return sum(map(len, self.rows))


@dataclass(frozen=True)
class ChangedCell:
    """A changed cell; `row` is its row in the view."""

    row: int
    name: str
    before: str
    after: str


@dataclass(frozen=True)
class Replacements:
    """All changes: `cells` for `Table.edit`, and `rows`, the ascending numbers of their rows in the view."""

    num_cells: int
    rows: np.ndarray
    first: Sequence[ChangedCell]
    cells: Sequence[pa.Table] = field(default_factory=tuple, repr=False)
    columns: Sequence[str] = ()


def problem_of(operand: Mapping[str, Any]) -> str:
    """What is wrong with the pattern or the new text; empty if nothing is."""
    try:
        read_replacement(operand)
    except Refusal as refusal:
        return refusal.reason
    return ""


def find_replacements(plan: ReplacePlan, job: Job) -> Replacements:
    """Compute the replacements. Blocks, with progress."""
    try:
        replacement = read_replacement(plan.operand)
    except Refusal as refusal:
        raise BadData(refusal.reason, fix=refusal.fix) from refusal
    cells: list[pa.Table] = []
    rows: list[np.ndarray] = []
    first: list[ChangedCell] = []
    changed_columns: dict[str, None] = {}
    position = 0
    for start, ids, page in _pages(plan):
        job.report(position, plan.num_rows, "rows")
        position += page.num_rows
        hits = np.zeros(page.num_rows, bool)
        for name in plan.columns:
            before = combine_chunks(page.column(name))
            after = replacement.apply(before)
            places = np.flatnonzero(differs(before, after))
            if not len(places):
                continue
            hits[places] = True
            changed_columns[name] = None
            new = take(after, places)
            cells.append(pa.Table.from_arrays([from_numpy(ids[places]), new], names=[ID, name]))
            for place in places[: max(0, PREVIEW_CELLS - len(first))].tolist():
                first.append(ChangedCell(start + place, name, before[place].as_py(), after[place].as_py()))
        rows.append(start + np.flatnonzero(hits))
    numbers = distinct(np.concatenate(rows)) if rows else np.empty(0, np.int64)
    first.sort(key=lambda cell: cell.row)
    return Replacements(sum(map(len, cells)), numbers, first, cells, list(changed_columns))


def _pages(plan: ReplacePlan) -> Iterator[tuple[int, np.ndarray, pa.Table]]:
    """The rows in pages: number of the first row, ids, and columns."""
    step = max(1, CHUNK_CELLS // max(1, len(plan.columns)))
    for span in plan.rows:
        for start in range(span.start, span.stop, step):
            page = plan.view.page(start, min(step, span.stop - start), list(plan.columns))
            ids = ids_of(plan.view, start, page.num_rows)
            yield start, ids, page if plan.staged_edits is None else plan.staged_edits.apply_to(ids, page)
