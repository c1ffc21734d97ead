"""Counts that follow a filter bar: the whole filter first, then each condition alone."""

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
Asked = tuple[tuple[object, ...], Filter]


class LiveCount(QObject):
    """Give it every new snapshot; it asks `tasks` for counts and hands them to the bar.

    A new filter cancels the counts of the one before. What was counted on a snapshot is remembered.
    `failed` carries what a count met instead of an answer.
    """

    failed = Signal(Exception)

    def __init__(self, bar: FilterBar, tasks: Tasks, parent: QObject | None = None) -> None:
        super().__init__(parent or bar)
        self._bar, self._tasks = bar, tasks
        self._snapshot: Snapshot | None = None
        self._handle: Handle | None = None
        self._known: dict[Asked, int] = {}
        bar.changed.connect(self._restart)
        bar.wants_counts.connect(self._restart)

    def set_snapshot(self, snapshot: Snapshot | None) -> None:
        self._snapshot = snapshot
        self._restart()

    def stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _restart(self, _filter: Filter | None = None) -> None:
        self.stop()
        self._show()
        self._next()

    def _pending(self) -> list[Filter]:
        """What has to be counted still, most wanted first."""
        whole = self._bar.filter()
        asked = [whole] if whole is not None else []
        if self._bar.builder_open:
            asked += [one for _condition, one in self._alone()]
        return [one for one in asked if self._count(one) is None]

    def _alone(self) -> list[tuple[Condition, Filter]]:
        types = dict(zip(self._snapshot.schema.names, self._snapshot.schema.types, strict=True))
        found = ((c, c.filter(types)) for c in self._bar.builder.tree.conditions())
        return [(condition, filter) for condition, filter in found if filter is not None]

    def _count(self, filter: Filter) -> int | None:
        return self._known.get((self._snapshot.token, filter))

    def _next(self) -> None:
        wanted = self._pending() if self._snapshot is not None else []
        if not wanted:
            return
        snapshot, filter = self._snapshot, wanted[0]
        self._handle = self._tasks.read(
            lambda job: count_rows(snapshot, filter, job),
            partial(self._take, (snapshot.token, filter)),
            self._fail,
            owner=self,
            quiet=True,
        )

    def _take(self, asked: Asked, found: int) -> None:
        if len(self._known) >= MOST_REMEMBERED:
            self._known.clear()
        self._known[asked] = found
        self._handle = None
        self._show()
        self._next()

    def _fail(self, error: Exception) -> None:
        self._handle = None
        self.failed.emit(error)

    def _show(self) -> None:
        whole = self._bar.filter()
        if self._snapshot is None:
            return
        self._bar.set_total(self._count(whole) if whole is not None else None, self._snapshot.num_rows)
        if self._bar.builder_open:
            counts = {c: n for c, filter in self._alone() if (n := self._count(filter)) is not None}
            self._bar.set_counts(counts, counting=True)
