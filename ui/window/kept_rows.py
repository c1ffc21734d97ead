"""Rows that stay where they are after they were edited, until the tab is refreshed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from lamella.core.arrow.arrays import to_numpy
from lamella.core.arrow.sorted_ids import among, distinct, union
from lamella.core.filters.expr import Filter
from lamella.core.jobs import Job
from lamella.core.query.expressions import col
from lamella.core.query.scan_query import ScanQuery
from lamella.core.query.view import View
from lamella.core.scan.snapshot import Snapshot, SortKey
from lamella.core.store.commit import Commit
from lamella.core.store.rows import snapshot_version

ID = "_id"
NO_LONGER_MATCHES = "No longer matches the filter. It stays here until you refresh (F5)."
OUT_OF_ORDER = "May belong elsewhere in the sort order. It stays here until you refresh (F5)."
FEW_ROWS = 1_000
"""Up to this many rows are looked up by their `_id`; more, by reading the whole result of the filter."""
NO_ROWS = np.empty(0, np.int64)
EditedCells = tuple[range, tuple[str, ...]]
"""Rows of a view, and the columns that were edited in them."""


@dataclass(frozen=True, eq=False)
class RowReasons(Mapping[int, str]):
    """Why edited rows would move or disappear on a refresh, by row number (ascending)."""

    unmatched_rows: np.ndarray = field(default_factory=lambda: NO_ROWS)
    unordered_rows: np.ndarray = field(default_factory=lambda: NO_ROWS)

    def __getitem__(self, row: int) -> str:
        for rows, reason in ((self.unmatched_rows, NO_LONGER_MATCHES), (self.unordered_rows, OUT_OF_ORDER)):
            place = int(np.searchsorted(rows, row))
            if place < len(rows) and rows[place] == row:
                return reason
        raise KeyError(row)

    def __contains__(self, row: object) -> bool:
        """Cheap: the painter asks for every null on screen."""
        if not isinstance(row, int | np.integer):
            return False
        place = int(np.searchsorted(self._rows, row))
        return place < len(self._rows) and bool(self._rows[place] == row)

    def __iter__(self) -> Iterator[int]:
        return iter(self._rows.tolist())

    def __len__(self) -> int:
        return len(self._rows)

    @cached_property
    def _rows(self) -> np.ndarray:
        return union(distinct(self.unmatched_rows), distinct(self.unordered_rows))


@dataclass(frozen=True)
class KeptRows:
    """The rows that stay: the view in which they were edited, the versions that the edits made, the edited
    columns by rows, the deleted rows, and the number of new rows."""

    view: View
    where: Filter | None
    sort: tuple[SortKey, ...]
    versions: frozenset[int] = frozenset()
    edited_cells: tuple[EditedCells, ...] = ()
    deleted_rows: tuple[range, ...] = ()
    num_inserted: int = 0
    numbering: object = field(default_factory=object)
    """Identifies the numbering of the view's rows; a new object once rows are deleted."""

    def with_commit(
        self, commit: Commit, edited: Iterable[EditedCells] = (), deleted: Iterable[range] = ()
    ) -> KeptRows:
        """With one more commit. `edited` and `deleted` are rows of the view; new rows come after them."""
        if not (commit.updated or commit.inserted or commit.deleted):
            return self  # no version was made
        return replace(
            self,
            versions=self.versions | {commit.version},
            edited_cells=tuple(dict.fromkeys((*self.edited_cells, *edited))),
            deleted_rows=(*self.deleted_rows, *deleted),
            num_inserted=self.num_inserted + commit.inserted,
        )

    def in_view(self, view: View) -> KeptRows:
        """The same for the view that these edits made of this one, with its row numbers."""
        gone = _merge_ranges(self.deleted_rows)
        edited = [(_without(rows, gone), names) for rows, names in self.edited_cells]
        new = range(view.num_rows - self.num_inserted, view.num_rows)
        names = tuple(view.schema.names)
        edited += [(new, names)] if new else []
        rest = tuple(each for each in edited if each[0])
        numbering = object() if gone else self.numbering
        return replace(
            self, view=view, edited_cells=rest, deleted_rows=(), num_inserted=0, numbering=numbering
        )

    def view_of(
        self, snapshot: Snapshot, where: Filter | None, sort: tuple[SortKey, ...], job: Job
    ) -> tuple[KeptRows, RowReasons] | None:
        """The view with the rows where they are, and why some of them would move on a refresh. None if the
        query differs, or if someone else changed the table as well. Blocks."""
        if (where, sort) != (self.where, self.sort):
            return None
        before, after = snapshot_version(self.view.snapshot), snapshot_version(snapshot)
        if not self.versions.issuperset(range(before + 1, after + 1)):
            return None
        in_view = self.in_view(self.view.follow(snapshot, self.num_inserted))
        return in_view, in_view._reasons(job)

    def _reasons(self, job: Job) -> RowReasons:
        keys = {key.column for key in self.sort}
        unordered = _numbers(rows for rows, names in self.edited_cells if not keys.isdisjoint(names))
        rows = _numbers(rows for rows, _ in self.edited_cells)
        if self.where is None or not len(rows):
            return RowReasons(unordered_rows=unordered)
        positions = _positions(self.view, rows)
        few = col(ID).is_in(_ids(self.view, rows)) if len(rows) <= FEW_ROWS else None
        still = View(
            self.view.snapshot, ScanQuery(where=self.where if few is None else self.where & few), job
        )
        matching = among(positions, distinct(still.positions(0, still.num_rows)))
        return RowReasons(rows[~matching], unordered)


def _merge_ranges(spans: Iterable[range]) -> list[range]:
    """The same numbers as ascending ranges that neither overlap nor touch."""
    merged: list[range] = []
    for rows in sorted(spans, key=lambda rows: rows.start):
        if merged and rows.start <= merged[-1].stop:
            merged[-1] = range(merged[-1].start, max(merged[-1].stop, rows.stop))
        elif rows:
            merged.append(rows)
    return merged


def _numbers(spans: Iterable[range]) -> np.ndarray:
    """The numbers of the ranges, ascending, each once."""
    return np.concatenate([NO_ROWS, *(np.arange(rows.start, rows.stop) for rows in _merge_ranges(spans))])


def _without(rows: range, gone: Sequence[range]) -> range:
    """The numbers of these rows after the rows in `gone` are removed."""
    first, last = (
        sum(min(end, each.stop) - each.start for each in gone if each.start < end)
        for end in (rows.start, rows.stop)
    )
    return range(rows.start - first, rows.stop - last)


def runs_of(rows: np.ndarray) -> list[range]:
    """Runs of consecutive numbers in an ascending array."""
    if not len(rows):
        return []
    runs = np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1)
    return [range(int(run[0]), int(run[-1]) + 1) for run in runs]


def _positions(view: View, rows: np.ndarray) -> np.ndarray:
    return np.concatenate([view.positions(run.start, len(run)) for run in runs_of(rows)])


def _ids(view: View, rows: np.ndarray) -> Sequence[int]:
    pages = (view.page(run.start, len(run), [ID]).column(0) for run in runs_of(rows))
    return [row_id for page in pages for row_id in to_numpy(page).tolist()]
