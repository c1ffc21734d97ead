"""What a tab shows beside its groups: their totals."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from PySide6.QtCore import QObject

from lamella.core.errors import LamellaError
from lamella.core.jobs import Job
from lamella.core.query.line import Line
from lamella.core.query.steps import Group, Step
from lamella.ui.grid.texts import screen_texts
from lamella.ui.steps.step_line import StepLine
from lamella.ui.tasks import Handle
from lamella.ui.window.loader import Loaded, Tab


def without_totals_row(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """What decides which rows there are, and in which order."""
    return tuple(replace(one, totals=False) if isinstance(one, Group) else one for one in steps)


class GroupedTab(Tab, Protocol):
    steps: StepLine

    def apply(self, line: Line, session: int = 0) -> None: ...


class GroupRows(QObject):
    """Of one tab. What is asked for is part of its group step."""

    def __init__(self, tab: GroupedTab) -> None:
        super().__init__(tab)
        self._tab = tab
        self._handle: Handle | None = None
        tab.loader.loaded.connect(self._follow)

    def stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    @property
    def step(self) -> Group | None:
        """The one whose groups are shown, if they are any."""
        place = self._tab.line.grouping
        step = None if place is None else self._tab.line.steps[place].step
        return step if isinstance(step, Group) else None

    def toggle_totals(self) -> None:
        if self.step is not None:
            self._edit(replace(self.step, totals=not self.step.totals))

    def _edit(self, step: Group) -> None:
        tab = self._tab
        tab.steps.close_editor()
        place = tab.line.grouping
        if place is not None:
            tab.apply(tab.line.edit(place, step, tab.line.steps[place].draft))

    def _follow(self, loaded: Loaded) -> None:
        """Read the totals of the groups that are shown now."""
        self.stop()
        tab, grid = self._tab, self._tab.grid
        if not loaded.lines.shows_totals:
            grid.totals.set_hidden()
            return
        grid.totals.set_waiting()
        steps = loaded.lines.checked.steps

        def read(job: Job) -> dict[str, str | None]:
            totals = tab.loader.answers.totals(loaded.line, tab.dataset, steps, job)
            return {name: screen_texts(totals.column(name))[0] for name in totals.column_names}

        self._handle = tab.tasks.read(
            read,
            grid.show_totals,
            self._fail,
            stopped=lambda: self._stopped(steps),
            owner=self,
            text=f"Adding up {tab.name}",
        )

    def _stopped(self, steps: tuple[Step, ...]) -> None:
        """By the Stop button; what other rows took the place of is stopped as well."""
        shown = self._tab.shown
        if shown is not None and shown.lines.checked.steps is steps and self._handle is not None:
            self._tab.grid.totals.set_problem("stopped")

    def _fail(self, error: Exception) -> None:
        if not isinstance(error, LamellaError):
            self._tab.failures.show(error)
        self._tab.grid.totals.set_problem(str(error))
