"""Following relations from row to row across tabs, and going back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from weakref import ReferenceType, ref

from PySide6.QtCore import QObject, Signal

from lamella.core.arrow.types import ID
from lamella.core.filters.expr import Filter
from lamella.core.jobs import Job
from lamella.core.query.line import Line
from lamella.core.query.steps import Where
from lamella.core.relations import Link
from lamella.core.store.table import Table
from lamella.ui.inspector.related_rows import Follow, why_none
from lamella.ui.window.commits import row_of
from lamella.ui.window.dataset_tab import DatasetTab
from lamella.ui.window.opening import Opening

MOST_WALKS = 100
Key = tuple[str, ...]


@dataclass(frozen=True)
class Place:
    """A row of a tab, and the steps under which it is shown."""

    key: Key
    name: str
    line: Line
    row: int | None
    row_id: int
    column: str


def place_text(place: Place) -> str:
    return place.name if place.row is None else f"{place.name}, row {place.row + 1:,}"


@dataclass(frozen=True)
class Walk:
    """A step of the trail: from a place to a tab, which showed `line` then."""

    origin: Place
    target: ReferenceType[DatasetTab]
    line: Line


@dataclass(frozen=True)
class Target:
    """What a link leads to: one row, or those that meet a condition. `why_none` says why there is nothing."""

    key: Key
    row_id: int | None = None
    where: Filter | None = None
    why_none: str = ""


class Trail(QObject):
    """The rows of a window from which relations were followed; going back returns to the last one first."""

    changed = Signal()

    def __init__(self, opening: Opening) -> None:
        super().__init__(opening)
        self._opening = opening
        self._walks: list[Walk] = []

    def origin(self, tab: DatasetTab) -> Place | None:
        """The place from which a tab was reached, unless the tab shows other steps by now."""
        while self._walks and self._walks[-1].target() is None:
            self._walks.pop()
        last = self._walks[-1] if self._walks else None
        return last.origin if last is not None and last.target() is tab and last.line == tab.line else None

    def follow(self, tab: DatasetTab, follow: Follow) -> None:
        """Follow a relation from the current row of a tab, which has the `_id` of `follow`, or its
        `start`."""
        table, grid = tab.table, tab.grid
        if table is None:
            return
        current = grid.selection.current
        row_id = follow.row_id if follow.start is None else follow.start
        origin = Place(
            tab.key, tab.name, tab.line, current[0] if current else None, row_id, grid.current_name or ""
        )

        def go(target: Target) -> None:
            if target.why_none:
                tab.messages.say(target.why_none)
            else:
                show = partial(self._arrive, tab, origin, follow.link, target)
                self._opening.open_key(target.key, show)

        tab.tasks.read(
            lambda job: read_target(table, follow, job), go, tab.failures.show, owner=tab, text="Following"
        )

    def go_back(self, tab: DatasetTab) -> None:
        """Go back to the row that led to a tab, or else to its previous steps."""
        origin = self.origin(tab)
        if origin is None:
            tab.go_back()
            return
        self._walks.pop()
        self._opening.open_key(origin.key, partial(self._return, tab, origin))
        self.changed.emit()

    def _return(self, former_tab: DatasetTab, origin: Place, tab: DatasetTab) -> None:
        tab.show_rows()
        if tab is former_tab and tab.line != origin.line:
            tab.go_back()  # following and going back within one tab is one visit
        else:
            self._show(tab, origin.line)
        gone = f"The row you came from is no longer among the rows of {origin.name}"
        self._go_to(tab, origin.row_id, origin.column, origin.row, lambda: tab.messages.say(gone))

    def _arrive(
        self, former_tab: DatasetTab, origin: Place, link: Link, target: Target, tab: DatasetTab
    ) -> None:
        column = link.other_columns[0]
        tab.show_rows()
        if target.row_id is None:
            assert target.where is not None
            self._show(tab, Line.of([Where(target.where)]))
            self._walk(former_tab, origin, tab)
            tab.when_shown(lambda: tab.grid.go_to(0, _place_of(tab, column)))
            return
        row_id = target.row_id

        def show_all() -> None:
            """Look for the row without the tab's steps, which may exclude it."""
            gone = partial(tab.messages.say, f"The row is no longer in {tab.name}")
            if not tab.line.active:
                gone()
                return
            self._show(tab, Line())
            self._walk(former_tab, origin, tab)
            self._go_to(tab, row_id, column, None, gone)
            tab.messages.say("The steps were removed to show the row", ("Back", partial(self.go_back, tab)))

        def arrive() -> None:
            self._walk(former_tab, origin, tab)

        if tab.relations.table is None:
            show_all()
        else:
            self._go_to(tab, row_id, column, None, show_all, arrive)

    def _show(self, tab: DatasetTab, line: Line) -> None:
        tab.steps.close_editor()
        if line != tab.line:
            tab.apply(line)

    def _walk(self, former_tab: DatasetTab, origin: Place, tab: DatasetTab) -> None:
        self._walks.append(Walk(origin, ref(tab), tab.line))
        del self._walks[:-MOST_WALKS]
        if former_tab.is_inspector_open and not tab.is_inspector_open:
            tab.inspector.show_page("row")
        if not tab.is_inspector_open:
            tab.messages.say(f"Followed from {place_text(origin)}", ("Back", partial(self.go_back, tab)))
        self.changed.emit()

    def _go_to(
        self,
        tab: DatasetTab,
        row_id: int,
        column: str,
        near: int | None,
        missing: Callable[[], object],
        arrived: Callable[[], object] = lambda: None,
    ) -> None:
        def look(job: Job) -> int | None:
            view = tab.view
            if view is None or tab.relations.table is None:
                return None
            return row_of(view, row_id, near, job)

        def go(row: int | None) -> None:
            if row is None:
                missing()
            else:
                tab.grid.setFocus()
                tab.grid.go_to(row, _place_of(tab, column))
                arrived()

        def begin() -> None:
            tab.tasks.read(look, go, tab.failures.show, owner=tab, text="Finding the row")

        tab.when_shown(begin)


def read_target(table: Table, follow: Follow, job: Job) -> Target:
    """Find what a link leads to. Blocks."""
    link, row_id = follow.link, follow.row_id
    key = (str(table.store.path), link.other)
    if follow.target is not None:
        return Target(key, follow.target)
    name, direction = link.relation.name, link.direction
    if link.table != table.name:
        table = table.store[link.table]
    rows = table.relations.rows(
        row_id, link.other, [ID], limit=2, job=job, through=name, direction=direction
    ).column(0)  # fmt: skip
    if len(rows) == 0:
        reason, _ = why_none(table, link, row_id, job)
        return Target(key, why_none=f"{reason} ({link.other})")
    if len(rows) == 1:
        return Target(key, rows[0].as_py())
    where = table.relations.condition(row_id, link.other, job, through=name, direction=direction)
    return Target(key, where=where)


def _place_of(tab: DatasetTab, column: str) -> int | None:
    """The position of a column; None if it is hidden or does not exist."""
    names = tab.grid.grid_model.names
    if column not in names or tab.grid.isColumnHidden(names.index(column)):
        return tab.grid.first_place()
    return tab.grid.place(names.index(column))
