"""From rows of a view to their `_id`, and back. Everything here blocks."""

from __future__ import annotations

from bisect import bisect_left

import numpy as np

from lamella.core.arrow.types import ID
from lamella.core.jobs import Job
from lamella.core.query.expressions import col
from lamella.core.query.query import Query
from lamella.core.query.view import View
from lamella.ui.grid.pages import Rows
from lamella.ui.grid.selection import Block

STEP = 1_000_000


def id_at(view: View, row: int) -> int | None:
    """None past the end of the view."""
    found = view.page(row, 1, [ID]).column(0)
    return found[0].as_py() if len(found) else None


def row_ids(rows: Rows, block: Block) -> list[int]:
    found: list[int] = rows.page(block.top, block.num_rows, [ID]).column(0).to_pylist()
    return found


def row_of(view: View, row_id: int, near: int | None, job: Job) -> int | None:
    """The row of the view with this `_id`, looked for at `near` first; None when the view lacks it."""
    if near is not None and near < view.num_rows and id_at(view, near) == row_id:
        return near
    found = View(view.snapshot, Query(where=col(ID) == row_id), job)
    return _row_at(view, int(found.positions(0, 1)[0]), job) if found.num_rows else None


def _row_at(view: View, position: int, job: Job) -> int | None:
    """Positions ascend unless the view is sorted."""
    if view.query.sort:
        return _first_row(view, position, job)
    row = bisect_left(range(view.num_rows), position, key=lambda r: int(view.positions(r, 1)[0]))
    return row if row < view.num_rows and int(view.positions(row, 1)[0]) == position else None


def _first_row(view: View, position: int, job: Job) -> int | None:
    for start in range(0, view.num_rows, STEP):
        job.check()
        hits = np.flatnonzero(view.positions(start, STEP) == position)
        if len(hits):
            return start + int(hits[0])
    return None
