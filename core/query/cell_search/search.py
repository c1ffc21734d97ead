"""Searches the cells of rows: those near the current row first, then all others, on all processors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import combine_chunks
from lamella.core.jobs import Job
from lamella.core.query.cell_search.hits import Hits
from lamella.core.query.cell_search.pattern import ColumnMatcher, TextConversion, TextPattern
from lamella.core.query.computed_view import ComputedView
from lamella.core.query.view import View
from lamella.core.scan.chunks import coded_texts
from lamella.core.scan.open_file import OpenFile
from lamella.core.scan.parallel import run_tasks
from lamella.core.scan.read import Pending, Piece, live, runs
from lamella.core.scan.snapshot import Column, FileSegment, Snapshot, project

NEAR_ROWS = 1_024
"""The number of rows from the current one on that are searched first: rows on screen are in memory."""
ROWS_AT_ONCE = 1 << 17
MOST_CELLS = 1 << 20
"""The maximum number of cells in one task of a thread."""
FEWEST_TASKS, TASKS_AT_ONCE = 2, 16
"""The number of tasks at once, small enough that other readers get their turn."""
PAGE_CELLS = 500_000
FEW_ROWS = 20_000
"""Up to this many filtered rows are read one by one; for more, all rows are read."""


class Rows(Protocol):
    """Rows that can be searched: `View`, and anything else with pages."""

    @property
    def num_rows(self) -> int: ...

    @property
    def schema(self) -> pa.Schema: ...

    def page(self, offset: int, count: int, columns: list[str] | None = None) -> pa.Table: ...


@dataclass(frozen=True)
class _Slab:
    """Some columns of a piece; `is_last` if they include its last column."""

    piece: Piece
    columns: tuple[Column, ...]
    is_last: bool


class CellSearch:
    """A search for a pattern in `columns` of the rows. `hits` fills while `run` is running in another thread.

    `displayed` maps the names of columns to how they are shown, if that differs from the text of their
    values. `start` is the row to begin at: it and the rows after it are searched first.
    """

    def __init__(
        self,
        rows: Rows,
        pattern: TextPattern,
        columns: Sequence[str],
        displayed: Mapping[str, TextConversion] | None = None,
        start: int = 0,
    ) -> None:
        self.hits = Hits(rows.num_rows)
        self._rows, self._start = rows, min(max(start, 0), max(0, rows.num_rows - 1))
        formats, types = displayed or {}, dict(zip(rows.schema.names, rows.schema.types, strict=True))
        matchers = {name: ColumnMatcher(pattern, types[name], formats.get(name)) for name in columns}
        self._matchers = {name: matcher for name, matcher in matchers.items() if matcher.can_match}

    def run(self, job: Job | None = None) -> Hits:
        """Search all rows. Blocks. Reports the number of finished rows; raises `Cancelled` soon after the job
        is cancelled. Hits found until then stay in `hits`."""
        job, rows = job or Job(), self._rows
        if self._matchers and rows.num_rows:
            near = min(NEAR_ROWS, rows.num_rows - self._start)
            self._look_at_page(self._start, near)
            self._know(near, job)
            if isinstance(rows, View | ComputedView) and self._is_scan(rows):
                self._scan(rows, job)
            else:
                self._look_at_pages(job)
        self.hits.complete = True
        self._know(rows.num_rows, job)
        return self.hits

    def _know(self, rows: int, job: Job) -> None:
        """Record that this many rows from the first one on have been searched."""
        self.hits.sure_rows = max(self.hits.sure_rows, rows)
        job.report(rows, self._rows.num_rows + (not self.hits.complete))

    # ------------------------------------------------------------------ page by page

    def _look_at_pages(self, job: Job) -> None:
        rows, position = self._rows, 0
        count = max(1, PAGE_CELLS // len(self._matchers))
        for first, stop in ((self._start, rows.num_rows), (0, self._start)):
            for offset in range(first, stop, count):
                page_rows = min(count, stop - offset)
                self._look_at_page(offset, page_rows)
                position += page_rows
                self._know(position, job)

    def _look_at_page(self, offset: int, count: int) -> None:
        page = self._rows.page(offset, count, list(self._matchers))
        for name, values in zip(self._matchers, page.columns, strict=True):
            matches = (
                self._matchers[name].matches(combine_chunks(values)) if len(values) else np.empty(0, np.bool_)
            )
            self.hits.add(name, np.flatnonzero(matches) + offset)

    # ---------------------------------------------------------- in the order of files

    def _is_scan(self, view: View | ComputedView) -> bool:
        """Whether to read the rows in the order of the files rather than in the order shown."""
        computed = view.computed_names if isinstance(view, ComputedView) else frozenset()
        if not computed.isdisjoint(self._matchers):
            return False
        return view.is_whole or view.num_rows > FEW_ROWS

    def _scan(self, view: View | ComputedView, job: Job) -> None:
        snapshot, places = view.snapshot, RowPlaces(view, job)
        columns = project(snapshot, list(self._matchers))
        by_key = {column: self._matchers[column.name] for column in columns}

        def look(slab: _Slab, file: OpenFile) -> None:
            for column, values in _values(snapshot, slab, file):
                job.check()
                at = slab.piece.first
                for chunk in values.chunks:
                    matches = np.flatnonzero(by_key[column].matches(chunk)) + at
                    self.hits.add(column.name, places.rows(matches))
                    at += len(chunk)

        def report(slab: _Slab) -> None:
            job.report(self.hits.sure_rows, view.num_rows + 1)

        begin = int(view.positions(self._start, 1)[0])
        more_slabs, count = _slabs(snapshot, columns, begin), FEWEST_TASKS
        while slabs := list(islice(more_slabs, count)):
            run_tasks(look, slabs, report)
            self._know(self._sure_rows(places, slabs[-1], begin), job)
            count = min(2 * count, TASKS_AT_ONCE)

    def _sure_rows(self, places: RowPlaces, last: _Slab, begin: int) -> int:
        """The number of rows from the first one on that are searched once a slab and those before it are
        done. If the rows are sorted, this is unknown, and any hit is as good as another."""
        if places.are_sorted:
            return self.hits.num_rows if self.hits.count else 0
        position = int(places.before(last.piece.stop if last.is_last else last.piece.first))
        is_behind = last.piece.stop > begin
        return max(0, position - self._start if is_behind else position + self.hits.num_rows - self._start)


def _values(snapshot: Snapshot, slab: _Slab, file: OpenFile) -> Iterator[tuple[Column, pa.ChunkedArray]]:
    """The columns of a slab, including deleted rows. Repeated texts are dictionary-encoded, so that each is
    searched once."""
    piece, unmatched = slab.piece, list[Column]()
    pending = Pending(snapshot, piece.first, piece.stop, slab.columns)
    for column in slab.columns:
        coded = None
        if isinstance(piece.segment, FileSegment) and pending.of(column) is None:
            coded = coded_texts(piece.segment, piece.row_groups, column, file)
        if coded is None:
            unmatched.append(column)
        else:
            yield column, coded
    yield from zip(unmatched, live(snapshot, piece, None, unmatched, file) if unmatched else (), strict=True)


def _slabs(snapshot: Snapshot, columns: Sequence[Column], begin: int) -> Iterator[_Slab]:
    """Yield the slabs from the piece that contains position `begin` on, then those before it."""
    pieces = list(runs(snapshot, 0, snapshot.num_positions, ROWS_AT_ONCE))
    at = next((number for number, piece in enumerate(pieces) if piece.stop > begin), 0)
    for piece in [*pieces[at:], *pieces[:at]]:
        width = max(1, MOST_CELLS // max(1, piece.stop - piece.first))
        for first in range(0, len(columns), width):
            yield _Slab(piece, tuple(columns[first : first + width]), first + width >= len(columns))


class RowPlaces:
    """Maps positions of a snapshot to rows of a view. Builds a table of all positions if the view is
    sorted."""

    def __init__(self, view: View | ComputedView, job: Job) -> None:
        self._deleted_positions = view.snapshot.deleted_positions
        self._positions = None if view.is_whole else view.positions(0, view.num_rows)
        self._rows: np.ndarray | None = None
        job.check()
        at = self._positions
        self.are_sorted = at is not None and bool(np.any(at[1:] <= at[:-1]))
        if at is not None and self.are_sorted:
            narrow = np.int32 if view.num_rows < 2**31 else np.int64
            self._rows = np.full(view.snapshot.num_positions, -1, narrow)
            self._rows[at] = np.arange(view.num_rows, dtype=narrow)

    def rows(self, positions: np.ndarray) -> np.ndarray:
        """The rows at ascending positions, without those that the view lacks. Unordered if the view is
        sorted."""
        if self._rows is not None:
            rows = self._rows[positions]
            return np.asarray(rows[rows >= 0])
        places = self.before(positions)
        sorted_positions = self._deleted_positions if self._positions is None else self._positions
        if not len(sorted_positions):
            return positions if self._positions is None else np.asarray(places[:0])
        at = np.searchsorted(sorted_positions, positions)
        is_known = sorted_positions[np.minimum(at, len(sorted_positions) - 1)] == positions
        return np.asarray(places[is_known if self._positions is not None else ~is_known])

    def before(self, positions: Any) -> Any:
        """The number of rows before positions, unless the view is sorted."""
        if self._positions is None:
            return positions - np.searchsorted(self._deleted_positions, positions)
        return np.searchsorted(self._positions, positions)
