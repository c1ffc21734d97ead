"""Counts that follow a filter bar: of the whole filter, as the grid found it, and of each condition alone."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from lamella.core.filters import Filter
from lamella.core.query.find import count_rows
from lamella.core.scan.snapshot import Snapshot
from lamella.ui.filters.bar import FilterBar
from lamella.ui.filters.tree import Condition

if TYPE_CHECKING:
    from lamella.ui.tasks import Handle, Tasks

MOST_REMEMBERED = 500
CountKey = tuple[tuple[object, ...], Filter]


class LiveCount(QObject):
    """Give it the rows that the grid shows: how many meet the whole filter is known by them. It asks `tasks`
    for the counts of single conditions while the builder is open, and hands all of them to the bar.

    A new filter cancels the counts of the one before. What was counted on a snapshot is remembered.
    `failed` carries what a count met instead of an answer.
    """

    failed = Signal(Exception)

    def __init__(self, bar: FilterBar, tasks: Tasks, parent: QObject | None = None) -> None:
        super().__init__(parent or bar)
        self._bar, self._tasks = bar, tasks
        self._snapshot: Snapshot | None = None
        self._handle: Handle | None = None
        self._known: dict[CountKey, int] = {}
        self._running: CountKey | None = None
        self._is_searched = False
        bar.changed.connect(self._begin)
        bar.wants_counts.connect(self._restart)

    def set_rows(
        self, snapshot: Snapshot | None, where: Filter | None = None, count: int | None = None
    ) -> None:
        """The rows that are shown, and how many of them meet the filter that they were found by."""
        self._snapshot = snapshot
        if snapshot is not None and where is not None and count is not None:
            self._remember((snapshot.token, where), count)
        self._restart()

    def show_none(self) -> None:
        """The search for the rows that meet the filter ended without any."""
        self._is_searched = False
        self._show_total()

    def stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _begin(self, filter: Filter | None) -> None:
        self._is_searched = filter is not None
        self._restart()

    def _restart(self, _filter: Filter | None = None) -> None:
        """A count that is on its way and still wanted goes on."""
        if self._handle is None or self._running not in self._uncounted():
            self.stop()
            self._next()
        self._show()

    def _uncounted(self) -> list[CountKey]:
        """Conditions that have to be counted still. One that is the whole filter is left to the grid."""
        if self._snapshot is None or not self._bar.builder_open:
            return []
        whole, token = self._bar.filter(), self._snapshot.token
        return [(token, one) for _, one in self._alone() if one != whole and self._count(one) is None]

    def _alone(self) -> list[tuple[Condition, Filter]]:
        types = dict(zip(self._snapshot.schema.names, self._snapshot.schema.types, strict=True))
        found = ((c, c.filter(types)) for c in self._bar.builder.tree.conditions())
        return [(condition, filter) for condition, filter in found if filter is not None]

    def _count(self, filter: Filter | None) -> int | None:
        return None if filter is None else self._known.get((self._snapshot.token, filter))

    def _remember(self, key: CountKey, count: int) -> None:
        if len(self._known) >= MOST_REMEMBERED:
            self._known.clear()
        self._known[key] = count

    def _next(self) -> None:
        wanted = self._uncounted()
        if not wanted:
            return
        self._running, snapshot = wanted[0], self._snapshot
        _token, filter = wanted[0]
        self._handle = self._tasks.read(
            lambda job: count_rows(snapshot, filter, job),
            partial(self._take, wanted[0]),
            self._fail,
            owner=self,
            quiet=True,
        )

    def _take(self, key: CountKey, found: int) -> None:
        self._remember(key, found)
        self._handle = None
        self._show()
        self._next()

    def _fail(self, error: Exception) -> None:
        self._handle = None
        self.failed.emit(error)

    def _show(self) -> None:
        self._show_total()
        if self._snapshot is None:
            return
        if self._bar.builder_open:
            counts = {c: n for c, filter in self._alone() if (n := self._count(filter)) is not None}
            self._bar.set_counts(counts, counting=True)

    def _show_total(self) -> None:
        count = None if self._snapshot is None else self._count(self._bar.filter())
        if count is None and not self._is_searched:
            self._bar.clear_total()
        elif self._snapshot is not None:
            self._bar.set_total(count, self._snapshot.num_rows)
