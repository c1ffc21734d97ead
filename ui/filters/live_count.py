"""Counting the rows that meet each single condition of a filter while it is edited."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Protocol

from PySide6.QtCore import QObject, Signal

from lamella.core.filters import Filter, Predicate
from lamella.core.query.find import count_rows
from lamella.core.scan.snapshot import Snapshot
from lamella.ui.filters.builder import FilterBuilder
from lamella.ui.filters.tree import Condition, nans_in

if TYPE_CHECKING:
    from lamella.ui.tasks import Handle, Tasks

MOST_COUNTS = 500
CountKey = tuple[tuple[object, ...], Filter]


class CountedFilter(Protocol):
    """A filter being edited."""

    builder: FilterBuilder

    def filter(self) -> Filter | None: ...

    def set_counts(self, counts: Mapping[Condition, int], counting: bool) -> None: ...

    def set_nans(self, counts: Mapping[Condition, int]) -> None: ...


class LiveCount(QObject):
    """Counts for each condition how many rows meet it alone, through `tasks`. Give it the filtered rows, and
    the filter while it is edited; the count of the whole filter is known from the grid.

    Another filter cancels the counts of the previous one. Counts on a snapshot are remembered.
    `failed` carries the error of a count.
    """

    failed = Signal(Exception)

    def __init__(self, tasks: Tasks, parent: QObject) -> None:
        super().__init__(parent)
        self._tasks = tasks
        self._edited_filter: CountedFilter | None = None
        self._snapshot: Snapshot | None = None
        self._handle: Handle | None = None
        self._known_counts: dict[CountKey, int] = {}
        self._running: CountKey | None = None

    def edit(self, edited: CountedFilter | None) -> None:
        """Count for this filter from now on; None to stop."""
        self._edited_filter = edited
        self.restart()

    def set_rows(
        self, snapshot: Snapshot | None, where: Filter | None = None, count: int | None = None
    ) -> None:
        """Set the rows that are filtered, and the known count of one filter on them."""
        self._snapshot = snapshot
        if snapshot is not None and where is not None and count is not None:
            self._remember((snapshot.token, where), count)
        self.restart()

    def stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def restart(self) -> None:
        """Count again; a running count goes on if it is still needed."""
        if self._handle is None or self._running not in self._uncounted_conditions():
            self.stop()
            self._next()
        self._show()

    def _uncounted_conditions(self) -> list[CountKey]:
        """The conditions still to be counted. One that is the whole filter is left to the grid."""
        if self._snapshot is None or self._edited_filter is None:
            return []
        whole, token = self._edited_filter.filter(), self._snapshot.token
        filters = [part for _, part in self._alone() if part != whole] + [part for _, part in self._of_nan()]
        return [(token, part) for part in filters if self._count(part) is None]

    def _alone(self) -> list[tuple[Condition, Filter]]:
        if self._edited_filter is None or self._snapshot is None:
            return []
        types = self._snapshot.types
        pairs = ((c, c.filter(types)) for c in self._edited_filter.builder.tree.conditions())
        return [(condition, filter) for condition, filter in pairs if filter is not None]

    def _of_nan(self) -> list[tuple[Condition, Filter]]:
        """For each condition that NaN meets, a filter of those rows, unless a condition beside it excludes
        NaN."""
        if self._edited_filter is None or self._snapshot is None:
            return []
        types, tree = self._snapshot.types, self._edited_filter.builder.tree
        pairs = ((node, nans_in(node, filter, types)) for node, filter in self._alone())
        return [
            (node, filter)
            for node, filter in pairs
            if filter is not None
            and Predicate(node.column, "ne", (math.nan,)) not in tree.beside(node, types)
        ]

    def _count(self, filter: Filter) -> int | None:
        return None if self._snapshot is None else self._known_counts.get((self._snapshot.token, filter))

    def _remember(self, key: CountKey, count: int) -> None:
        if len(self._known_counts) >= MOST_COUNTS:
            self._known_counts.clear()
        self._known_counts[key] = count

    def _next(self) -> None:
        uncounted, snapshot = self._uncounted_conditions(), self._snapshot
        if not uncounted or snapshot is None:
            return
        self._running = uncounted[0]
        _token, filter = uncounted[0]
        self._handle = self._tasks.read(
            lambda job: count_rows(snapshot, filter, job),
            partial(self._take, uncounted[0]),
            self._fail,
            owner=self,
            quiet=True,
        )

    def _take(self, key: CountKey, count: int) -> None:
        self._remember(key, count)
        self._handle = None
        self._show()
        self._next()

    def _fail(self, error: Exception) -> None:
        self._handle = None
        self.failed.emit(error)

    def _show(self) -> None:
        if self._edited_filter is not None and self._snapshot is not None:
            counts = {c: n for c, filter in self._alone() if (n := self._count(filter)) is not None}
            self._edited_filter.set_counts(counts, counting=True)
            self._edited_filter.set_nans(
                {c: n for c, nan_filter in self._of_nan() if (n := self._count(nan_filter))}
            )
