"""Computes the profiles of columns off the GUI thread, two at a time: those on screen first."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from PySide6.QtCore import QObject, Signal

from lamella.core.errors import LamellaError
from lamella.core.filters import Filter
from lamella.core.jobs import Job
from lamella.core.query.computed_view import ComputedView
from lamella.core.query.engine_figures import EngineRows, profile_of
from lamella.core.query.profile import ColumnProfile, profile
from lamella.core.scan.snapshot import Snapshot
from lamella.ui.tasks import Handle, Tasks

AT_ONCE = 2
TOO_MANY_ROWS = "No figures: the column is computed, and there are too many rows to compute them all"
log = logging.getLogger(__name__)


class ProfileLoader(QObject):
    """`arrived` has a column whose profile is computed, or has failed. `finished` is emitted when all are."""

    arrived = Signal(str)
    finished = Signal()

    def __init__(self, tasks: Tasks, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.profiles: dict[str, ColumnProfile] = {}
        self.errors: dict[str, str] = {}
        self._tasks = tasks
        self._rows: Snapshot | EngineRows | None = None
        self._where: Filter | None = None
        self._computed_view: ComputedView | None = None
        self._names: Sequence[str] = ()
        self._first: Sequence[str] = ()
        self._remaining_names: list[str] = []
        self._running: dict[str, Handle] = {}

    @property
    def num_known(self) -> int:
        return len(self.profiles) + len(self.errors)

    @property
    def busy(self) -> bool:
        return bool(self._running)

    @property
    def has_first(self) -> bool:
        """Whether the columns on screen, which come first, are all known."""
        return all(name in self.profiles or name in self.errors for name in self._first)

    def set_rows(
        self,
        rows: Snapshot | EngineRows,
        where: Filter | None,
        computed: ComputedView | None,
        names: Sequence[str],
    ) -> None:
        """Use other rows or columns; the previous profiles are forgotten."""
        self.stop()
        self._rows, self._where, self._computed_view = rows, where, computed
        self._names, self._remaining_names = names, list(names[::-1])
        self.profiles.clear()
        self.errors.clear()

    def want(self, names: Sequence[str]) -> None:
        """Compute the columns on screen first; the others follow."""
        self._first = names
        self._begin()

    def stop(self) -> None:
        for handle in self._running.values():
            handle.cancel()
        self._running.clear()

    def _is_open(self, name: str) -> bool:
        return name not in self.profiles and name not in self.errors and name not in self._running

    def _next(self) -> str | None:
        first = next((name for name in self._first if self._is_open(name)), None)
        if first is not None:
            return first
        while self._remaining_names and not self._is_open(self._remaining_names[-1]):
            self._remaining_names.pop()
        return self._remaining_names[-1] if self._remaining_names else None

    def _begin(self) -> None:
        while self._rows is not None and len(self._running) < AT_ONCE:
            name = self._next()
            if name is None:
                return
            if self._computed_view is not None and not self._computed_view.can_profile(name):
                self.errors[name] = TOO_MANY_ROWS
                self.arrived.emit(name)
            else:
                self._ask(name)

    def _ask(self, name: str) -> None:
        all_rows, where, computed = self._rows, self._where, self._computed_view
        assert all_rows is not None

        def work(job: Job) -> ColumnProfile:
            if computed is not None and name in computed.computed_names:
                rows, condition = computed.rows_of(name, job)
                return profile(rows, name, condition, job)
            return profile_of(all_rows, name, where, job)

        def take(column_profile: ColumnProfile) -> None:
            if self._running.get(name) is handle:
                self.profiles[name] = column_profile
                self._take(name)

        def fail(error: Exception) -> None:
            if self._running.get(name) is handle:
                if not isinstance(error, LamellaError):
                    log.error("No figures of %r", name, exc_info=error)
                self.errors[name] = str(error)
                self._take(name)

        handle = self._tasks.read(work, take, fail, owner=self, quiet=True, text="Figures of columns")
        self._running[name] = handle

    def _take(self, name: str) -> None:
        del self._running[name]
        self.arrived.emit(name)
        self._begin()
        if not self._running and self.num_known == len(self._names):
            self.finished.emit()
