"""The relations of the table of a tab: which columns lead on, and a choice of where to."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPoint, Signal
from PySide6.QtWidgets import QMenu

from lamella.core.arrow.types import ID
from lamella.core.errors import visible
from lamella.core.query.steps import Compute, Limit, Sample, Select, Sort, Where
from lamella.core.relations import Link
from lamella.core.store.table import Table
from lamella.ui.grid.view import GridView
from lamella.ui.inspector.related_rows import Follow
from lamella.ui.widgets.controls import without_mnemonic
from lamella.ui.window.commits import id_at
from lamella.ui.window.loader import Tab

if TYPE_CHECKING:
    from lamella.ui.inspector.inspector import Inspector

OWN_ROWS = (Where, Sort, Limit, Sample, Select, Compute)
"""Steps that leave each row the one that it is in the table."""


class TabRelations(QObject):
    """What the relations of a store say about the table of one tab. `changed` when that is known anew;
    `followed` has a `Follow`."""

    changed = Signal()
    followed = Signal(Follow)
    back_requested = Signal()

    def __init__(self, tab: Tab) -> None:
        super().__init__(tab)
        self._tab = tab
        self.links: tuple[Link, ...] = ()
        self.problem = ""
        tab.loader.loaded.connect(lambda _: self.read())

    def attach(self, inspector: Inspector) -> None:
        inspector.follow_requested.connect(self.followed)
        inspector.back_requested.connect(self.back_requested)
        self.changed.connect(inspector.follow)

    @property
    def table(self) -> Table | None:
        """The table of a store, while its rows are shown, with whatever computed columns."""
        shown = self._tab.shown
        if shown is None or ID not in shown.view.snapshot.types:
            return None
        return self._tab.table if all(isinstance(step, OWN_ROWS) for step in shown.line.active) else None

    def of_column(self, name: str | None) -> list[Link]:
        """The links that lead on from a column, or from the row where it is the row's `_id` that others
        point at."""
        if self.table is None or name is None:
            return []
        return [link for link in self.links if name in link.columns and not link.relation.problem]

    def follow(self, link: Link) -> None:
        """From the current row."""
        current, view, tab = self._tab.grid.selection.current, self._tab.view, self._tab
        if current is None or view is None:
            return

        def go(row_id: int | None) -> None:
            if row_id is not None:
                self.followed.emit(Follow(link, row_id))

        tab.tasks.read(lambda job: id_at(view, current[0]), go, tab.failures.show, owner=self, quiet=True)

    def add_to(self, menu: QMenu, name: str | None) -> None:
        """A choice for each link of a column."""
        links = self.of_column(name)
        if links and not menu.isEmpty():
            menu.addSeparator()
        for link in links:
            menu.addAction(without_mnemonic(visible(follow_text(link))), partial(self.follow, link))

    def choose(self, name: str | None) -> None:
        """Follow the only link of a column, or ask which."""
        links = self.of_column(name)
        if len(links) == 1:
            self.follow(links[0])
        elif links:
            menu = QMenu(self._tab.grid)
            self.add_to(menu, name)
            menu.aboutToHide.connect(menu.deleteLater)
            menu.popup(_below_current(self._tab.grid))

    def read(self) -> None:
        """What leads from the table, off the GUI thread."""
        table = self._tab.table
        if table is not None:
            self._tab.tasks.read(
                lambda job: table.store.relations.links(table.name),
                self._show,
                lambda error: self._show((), f"The relations of this table cannot be read: {error}"),
                owner=self,
                quiet=True,
            )

    def _show(self, links: tuple[Link, ...], problem: str = "") -> None:
        if (links, problem) != (self.links, self.problem):
            self.links, self.problem = links, problem
            self.changed.emit()


def follow_text(link: Link) -> str:
    """Follow to airlines; from a row that is pointed at, also by which column."""
    by = "" if link.direction == "out" else f" ({', '.join(link.other_columns)})"
    return f"Follow to {link.other}{by}"


def _below_current(grid: GridView) -> QPoint:
    rect = grid.cell_rect(grid.selection.current)
    inside = rect is not None and grid.viewport().rect().intersects(rect)
    return grid.viewport().mapToGlobal(rect.bottomLeft() if rect is not None and inside else QPoint(0, 0))
