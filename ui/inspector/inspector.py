"""The panel beside the grid that follows the current cell: its row, or its column."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QShowEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QFrame,
    QHBoxLayout,
    QScrollArea,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from lamella.core.arrow.types import ID
from lamella.core.errors import LamellaError
from lamella.core.jobs import Job
from lamella.core.query.view import View
from lamella.core.relations import Link
from lamella.core.store.table import Table
from lamella.ui import theme
from lamella.ui.editing.column_rules import read_rules, rules_text
from lamella.ui.grid.tree import TreeRows
from lamella.ui.grid.view import GridView
from lamella.ui.inspector.column_page import ColumnFigures, ColumnPage, ValueList, read_figures, read_values
from lamella.ui.inspector.related_rows import Follow, RelatedRows, read_related
from lamella.ui.inspector.row_page import MOST_LINKS, FieldValue, RowPage, names_of, read_row
from lamella.ui.tasks import Handle, Tasks
from lamella.ui.widgets.controls import IconButton

WIDTH, LEAST_WIDTH = 300, 240
MOST_SHARE = 0.45
"""Of the tab, which is narrower where the text is large."""
FOLLOW_MS = 120
ROW, COLUMN = "row", "column"
PAGES = {ROW: "Row", COLUMN: "Column"}


class Links(Protocol):
    """The table whose own rows are shown, the ways that lead from it, and why they are not known."""

    @property
    def table(self) -> Table | None: ...

    @property
    def links(self) -> tuple[Link, ...]: ...

    @property
    def problem(self) -> str: ...


class Inspector(QFrame):
    """Reads only while it is shown. `filter_requested` has a condition, `cell_requested` a column of the
    current row whose value rows should have, `rules_requested` one whose default and checks are wanted,
    `follow_requested` a `Follow`."""

    filter_requested = Signal(object)
    cell_requested = Signal(str)
    rules_requested = Signal(str)
    follow_requested = Signal(Follow)
    back_requested = Signal()
    closed = Signal()

    def __init__(
        self,
        grid: GridView,
        view: Callable[[], View | None],
        links: Links,
        tasks: Tasks,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        theme.variant(self, "panel")
        self._grid, self._view, self._links, self._tasks = grid, view, links, tasks
        self.row_page, self.column_page = RowPage(), ColumnPage()
        self._pages, self._buttons = QStackedWidget(), dict[str, QToolButton]()
        self._shown: tuple[object, ...] = ()
        self._handle: Handle | None = None
        self._wait = QTimer(self, singleShot=True, interval=FOLLOW_MS)
        self._build()
        self.hide()

    @property
    def page(self) -> str:
        return ROW if self._pages.currentWidget() is self.row_page else COLUMN

    def show_page(self, page: str) -> None:
        """Open it at "row" or "column"."""
        self._buttons[page].setChecked(True)
        self._pages.setCurrentIndex(list(PAGES).index(page))
        self.setVisible(True)
        self.follow()

    def follow(self) -> None:
        """After another cell, other rows or another page."""
        if self.isVisible():
            self._wait.start()

    def stop(self) -> None:
        self._wait.stop()
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.parentWidget().installEventFilter(self)
        self._fit()
        self._shown = ()
        self.follow()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self._close()
        else:
            super().keyPressEvent(event)

    def _close(self) -> None:
        self.hide()
        self.closed.emit()

    # ------------------------------------------------------------------- reading

    def _read(self) -> None:
        view, current, name = self._view(), self._grid.selection.current, self._grid.current_name
        if view is None or current is None or name not in view.schema.names:
            self.stop()
            self._shown = ()
            (self.column_page if self.page == COLUMN else self.row_page).show_nothing()
            return
        rows = self._grid.grid_model.tree or view
        about = (name,) if self.page == COLUMN else (current[0], self._links.links, self._links.problem)
        wanted = (self.page, id(view if self.page == COLUMN else rows), *about)
        if wanted == self._shown:
            return
        self.stop()
        self._shown = wanted
        if self.page == COLUMN:
            self._read_column(view, name)
        else:
            self._read_row(rows, current[0])

    def _read_row(self, rows: View | TreeRows, row: int) -> None:
        names, table, links = names_of(rows), self._links.table, self._links.links
        if isinstance(rows, TreeRows):
            names = [name for name in names if rows.has_value(row, 1, name)[0]]
        links = links if table is not None else ()
        self.row_page.show_links(links, self._links.problem)

        def read(job: Job) -> tuple[list[FieldValue], int]:
            fields = read_row(rows, row, names, job)
            return fields, rows.page(row, 1, [ID]).column(0)[0].as_py() if links else -1

        def show(found: tuple[list[FieldValue], int]) -> None:
            fields, row_id = found
            self.row_page.show_row(row, fields)
            if table is not None:
                self._read_related(table, links[:MOST_LINKS], row_id, 0)

        self._handle = self._tasks.read(read, show, self._tasks.failed.emit, owner=self, quiet=True)

    def _read_related(self, table: Table, links: tuple[Link, ...], row_id: int, place: int) -> None:
        """One link after the other: each is shown when it is known."""
        if place == len(links):
            return
        tree, link = self.row_page.related, links[place]

        def go_on(found: RelatedRows) -> None:
            tree.show_related(place, found)
            self._read_related(table, links, row_id, place + 1)

        def fail(error: Exception) -> None:
            if not isinstance(error, LamellaError):
                self._tasks.failed.emit(error)
            go_on(RelatedRows(link, row_id, 0, (), str(error) or type(error).__name__))

        self._handle = self._tasks.read(
            lambda job: read_related(table, link, row_id, job), go_on, fail, owner=self, quiet=True
        )

    def _read_column(self, view: View, name: str) -> None:
        snapshot, where, kind = view.snapshot, view.query.where, view.schema.field(name).type
        table = None if name == ID else self._links.table
        self.column_page.show_rules(None)
        if name not in snapshot.types:
            self.column_page.show_unread(name, kind)
            return
        self.column_page.show_column(name, kind, None)
        wanted = self.column_page.wanted

        def read(job: Job) -> tuple[ColumnFigures, str | None]:
            rules = None if table is None else rules_text(read_rules(table, name), kind)
            return read_figures(snapshot, name, where, wanted, job), rules

        def show(found: tuple[ColumnFigures, str | None]) -> None:
            figures, rules = found
            self.column_page.show_rules(rules)
            self._rows = (figures.part or figures.whole).rows
            self.column_page.show_column(name, kind, figures)

        self._handle = self._tasks.read(
            read,
            show,
            self._tasks.failed.emit,
            owner=self,
            quiet=True,
        )

    def _read_values(self, wanted: ValueList) -> None:
        view, name = self._view(), self._grid.current_name
        if view is None or name not in view.schema.names:
            return
        self.stop()
        snapshot, where = view.snapshot, view.query.where
        self._handle = self._tasks.read(
            lambda job: read_values(snapshot, name, where, wanted, job),
            lambda values: self.column_page.show_values(values, self._rows),
            self._tasks.failed.emit,
            owner=self,
            quiet=True,
        )

    # ------------------------------------------------------------------- building

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() is QEvent.Type.FontChange:
            self._fit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.Resize:
            self._fit()
        return super().eventFilter(watched, event)

    def _fit(self) -> None:
        around = self.parentWidget()
        most = WIDTH if around is None else max(LEAST_WIDTH, round(MOST_SHARE * around.width()))
        self.setFixedWidth(min(round(WIDTH * max(1.0, theme.current().text_scale)), most))

    def _build(self) -> None:
        self._rows = 0
        self._fit()
        head, group = QHBoxLayout(), QButtonGroup(self)
        head.setContentsMargins(theme.M, theme.XS, theme.S, 0)
        for page, title in PAGES.items():
            button = QToolButton(text=title, checkable=True)
            button.clicked.connect(lambda _=False, page=page: self.show_page(page))
            group.addButton(button)
            head.addWidget(button)
            self._buttons[page] = button
        self._buttons[ROW].setChecked(True)
        head.addStretch(1)
        close = IconButton("close", "Close the inspector (F4)")
        close.clicked.connect(self._close)
        head.addWidget(close)
        scrolled = QScrollArea(widgetResizable=True, frameShape=QFrame.Shape.NoFrame)
        scrolled.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scrolled.setWidget(self.column_page)
        self.column_page.setAutoFillBackground(False)
        for widget in (self.row_page, scrolled):
            self._pages.addWidget(widget)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(head)
        layout.addWidget(self._pages, 1)
        self._wait.timeout.connect(self._read)
        self._grid.selection.changed.connect(self.follow)
        self.row_page.filter_requested.connect(self.cell_requested)
        self.row_page.related.follow_requested.connect(self.follow_requested)
        self.row_page.back_requested.connect(self.back_requested)
        self.column_page.filter_requested.connect(self.filter_requested)
        self.column_page.rules_requested.connect(self.rules_requested)
        self.column_page.values_requested.connect(self._read_values)
