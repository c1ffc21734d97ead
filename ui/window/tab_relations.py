"""The relations of a tab's table: which columns lead to other tables, and following them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QApplication, QMenu

from lamella.core.arrow.types import ID
from lamella.core.errors import visible
from lamella.core.jobs import Job
from lamella.core.query.line import Line
from lamella.core.query.steps import Compute, Join, Limit, Pipeline, Sample, Select, Sort, Where
from lamella.core.relations import Link
from lamella.core.store.table import Table
from lamella.ui.grid.view import GridView
from lamella.ui.inspector.related_rows import Follow
from lamella.ui.widgets.controls import without_mnemonic
from lamella.ui.widgets.hosts import widget_of
from lamella.ui.window.commits import id_at
from lamella.ui.window.file_watch import is_file, version_of
from lamella.ui.window.loader import Tab

if TYPE_CHECKING:
    from lamella.ui.inspector.inspector import Inspector

OWN_ROWS = (Where, Sort, Limit, Sample, Select, Compute)
"""Steps whose rows are still rows of the table."""


OF_FILES = (
    "A file that is open in place has no history: only its current content is known. Import it into a store,"
    " and every change is kept and can be compared and undone."
)
OF_VERSIONS = "Open the newest version of the table to see its history."


class RelatedTab(Tab, Protocol):
    def apply(self, line: Line) -> None: ...


class TabRelations(QObject):
    """The relations of the table of one tab. `changed` is emitted when they have been read; `followed`
    carries a `Follow`."""

    changed = Signal()
    followed = Signal(Follow)
    back_requested = Signal()

    def __init__(self, tab: RelatedTab) -> None:
        super().__init__(widget_of(tab))
        self._tab = tab
        self.links: tuple[Link, ...] = ()
        self.problem = ""
        self._clicks = FollowClicks(self, tab.grid)
        tab.loader.loaded.connect(lambda _: self.read())

    def attach(self, inspector: Inspector) -> None:
        inspector.follow_requested.connect(self.followed)
        inspector.back_requested.connect(self.back_requested)
        self.changed.connect(inspector.follow)

    @property
    def table(self) -> Table | None:
        """The store's table while its own rows are shown, with or without computed columns."""
        content = self._tab.content
        if content is None or ID not in content.view.snapshot.types:
            return None
        return self._tab.table if all(isinstance(step, OWN_ROWS) for step in content.line.active) else None

    @property
    def any_table(self) -> Table | None:
        """The table of the tab, whichever rows are shown."""
        return self._tab.table

    @property
    def no_history(self) -> str:
        """Why the tab has no history to show."""
        version = version_of(self._tab.key)
        return OF_FILES if version is None else f"This is version {version}. {OF_VERSIONS}"

    @property
    def can_import(self) -> bool:
        """Whether the rows could be imported into a table, which would have a history."""
        return is_file(self._tab.key)

    def of_column(self, name: str | None) -> list[Link]:
        """The links that lead from a column; for the `_id`, those of columns that point at it."""
        if self.table is None or name is None:
            return []
        return [link for link in self.links if name in link.columns and not link.relation.problem]

    def follow(self, link: Link) -> None:
        """Follow a link from the current row."""
        current, view, tab = self._tab.grid.selection.current, self._tab.view, self._tab
        if current is None or view is None:
            return

        def go(row_id: int | None) -> None:
            if row_id is not None:
                self.followed.emit(Follow(link, row_id))

        tab.tasks.read(lambda job: id_at(view, current[0]), go, tab.failures.show, owner=self, quiet=True)

    def add_to(self, menu: QMenu, name: str | None) -> None:
        """Add an entry for each link of a column."""
        links = self.of_column(name)
        if links and not menu.isEmpty():
            menu.addSeparator()
        for link in links:
            text = follow_text(link, self._has_rivals(link))
            menu.addAction(without_mnemonic(visible(text)), partial(self.follow, link))
        for link in links:
            text = join_text(link, self._has_rivals(link))
            menu.addAction(without_mnemonic(visible(text)), partial(self.join, link))

    def _has_rivals(self, link: Link) -> bool:
        """Whether another link leads to the same table."""
        return sum(other.other == link.other for other in self.links) > 1

    def join(self, link: Link) -> None:
        """Add a step that joins the columns of the other table by the keys of a link."""
        tab, table = self._tab, self.table
        if table is None:
            return

        def read(job: Job) -> tuple[Join, Table]:
            target = table.store[link.other]
            return join_of(link, target.schema.names), target

        def add(join_and_table: tuple[Join, Table]) -> None:
            step, target = join_and_table
            line = tab.line.insert(tab.line.place_of_new(Join), Join, step)
            tab.apply(line.with_sources({target.name: target}))

        tab.tasks.read(read, add, tab.failures.show, owner=self, text=f"Joining {link.other}")

    def choose(self, name: str | None) -> None:
        """Follow a column's only link, or ask which."""
        links = self.of_column(name)
        if len(links) == 1:
            self.follow(links[0])
        elif links:
            menu = QMenu(self._tab.grid)
            self.add_to(menu, name)
            menu.aboutToHide.connect(menu.deleteLater)
            menu.popup(_below_current(self._tab.grid))

    def read(self) -> None:
        """Read the links of the table, off the GUI thread."""
        table = self._tab.table
        if table is not None:
            self._tab.tasks.read(
                lambda job: table.store.relations.links(table.name),
                self._show,
                lambda error: self._show((), f"The relations of this table cannot be read: {error}"),
                owner=self,
                quiet=True,
            )

    def _mark(self) -> None:
        """Mark the columns that lead to other tables in the header."""
        links = self.links if self.table is not None else ()
        names = (name for link in links if not link.relation.problem for name in link.columns if name != ID)
        self._tab.grid.column_header.set_keys(frozenset(names))

    def _show(self, links: tuple[Link, ...], problem: str = "") -> None:
        if (links, problem) != (self.links, self.problem):
            self.links, self.problem = links, problem
            self.changed.emit()
        self._mark()  # even for the same links, since other steps may be shown


def follow_text(link: Link, has_rivals: bool = False) -> str:
    """Such as "Follow to airlines"; for a row that others point at, with the name of their column. With the
    columns of both ends if another link leads to the same table."""
    by = "" if link.direction == "out" else f" ({', '.join(link.other_columns)})"
    return f"Follow to {link.other}{_columns_text(link) if has_rivals else by}"


def join_text(link: Link, has_rivals: bool = False) -> str:
    by = "" if link.direction == "out" else f" by {', '.join(link.other_columns)}"
    return f"Join the columns of {link.other}{_columns_text(link) if has_rivals else by}"


def _columns_text(link: Link) -> str:
    """Such as " (boss → id)": from the column that points to the one it points at."""
    ends = [", ".join(link.columns), ", ".join(link.other_columns)]
    return f" ({' → '.join(ends if link.direction == 'out' else ends[::-1])})"


def join_of(link: Link, other_names: Sequence[str]) -> Join:
    """The join that keeps all rows of this side and adds the columns of the related rows."""
    names = [name for name in other_names if name != ID or name in link.other_columns]
    return Join(
        Pipeline(link.other, (Select(tuple(names)),)), link.columns, link.other_columns, "left",
        f"_{link.other}",
    )  # fmt: skip


class FollowClicks(QObject):
    """Follows the link of a cell on Ctrl+click. Dragging with Ctrl still selects."""

    def __init__(self, relations: TabRelations, grid: GridView) -> None:
        super().__init__(relations)
        self._relations, self._grid = relations, grid
        self._press: tuple[QPoint, tuple[int, int]] | None = None
        self._is_hand = False
        grid.viewport().installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if not isinstance(event, QMouseEvent):
            return False
        point, kind = event.position().toPoint(), event.type()
        with_control = event.modifiers() == Qt.KeyboardModifier.ControlModifier
        if kind is QEvent.Type.MouseButtonPress:
            leads = with_control and event.button() is Qt.MouseButton.LeftButton and self._leads_on(point)
            cell = self._grid.cell_at(point) if leads else None
            self._press = None if cell is None else (point, cell)
        elif kind is QEvent.Type.MouseMove and not event.buttons():
            return self._point(with_control and self._leads_on(point))
        elif kind is QEvent.Type.MouseMove and self._press is not None:
            if (point - self._press[0]).manhattanLength() >= QApplication.startDragDistance():
                self._press = None
        elif kind is QEvent.Type.MouseButtonRelease and self._press is not None:
            cell, self._press = self._press[1], None
            if self._grid.cell_at(point) == cell and self._grid.selection.current == cell:
                QTimer.singleShot(0, self, lambda: self._relations.choose(self._grid.current_name))
        return False

    def _leads_on(self, point: QPoint) -> bool:
        cell = self._grid.cell_at(point)
        if cell is None:
            return False
        column = self._grid.column_at(cell[1])
        names = self._grid.grid_model.names
        return 0 <= column < len(names) and bool(self._relations.of_column(names[column]))

    def _point(self, leads: bool) -> bool:
        """Show a hand over a link while Ctrl is held. Returns whether the grid should leave the cursor
        alone."""
        if leads:
            self._grid.viewport().setCursor(Qt.CursorShape.PointingHandCursor)
        elif self._is_hand:
            self._grid.viewport().unsetCursor()
        self._is_hand = leads
        return leads


def _below_current(grid: GridView) -> QPoint:
    rect = grid.cell_rect(grid.selection.current)
    inside = rect is not None and grid.viewport().rect().intersects(rect)
    return grid.viewport().mapToGlobal(rect.bottomLeft() if rect is not None and inside else QPoint(0, 0))
