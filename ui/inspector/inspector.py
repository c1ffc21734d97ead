"""The panel beside the grid that follows the current cell and shows its row or its column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import pyarrow as pa
import shiboken6
from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication, QHideEvent, QKeyEvent, QKeySequence, QShowEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QFrame,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QStackedWidget,
    QToolButton,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from lamella.core.arrow.types import ID, type_text
from lamella.core.errors import LamellaError, visible
from lamella.core.filters import Filter
from lamella.core.filters.cell_texts import whole_texts
from lamella.core.jobs import Job
from lamella.core.query.computed_view import ComputedView
from lamella.core.query.engine_figures import EngineRows, all_rows
from lamella.core.query.view import View
from lamella.core.relations import Link
from lamella.core.scan.snapshot import Snapshot
from lamella.core.store.table import Table
from lamella.ui import theme
from lamella.ui.editing.column_rules import read_rules, rules_text
from lamella.ui.grid.columns import has_sign
from lamella.ui.grid.model import Rows
from lamella.ui.grid.texts import with_minus
from lamella.ui.grid.tree import TreeRows
from lamella.ui.grid.value_popup import Node
from lamella.ui.grid.view import GridView
from lamella.ui.inspector.column_page import ColumnPage, PageFigures, ValueList, read_figures, read_values
from lamella.ui.inspector.history_page import HistoryPage
from lamella.ui.inspector.related_rows import (
    FOLLOW,
    MOST_LINKS,
    Follow,
    RelatedRows,
    RelatedTree,
    content_height,
    read_neighbours,
    read_related,
)
from lamella.ui.inspector.table_page import PageSubject, TablePage
from lamella.ui.tasks import Handle, Tasks
from lamella.ui.widgets.controls import IconButton
from lamella.ui.widgets.field_buttons import add_clear_button
from lamella.ui.widgets.hosts import parent_of
from lamella.ui.widgets.items import top_items

WIDTH, LEAST_WIDTH = 300, 240
MOST_SHARE = 0.45
"""The maximum share of the tab's width, which matters if the text is large."""
FOLLOW_MS = 120
ROW, COLUMN, TABLE, HISTORY = "row", "column", "table", "history"
PAGES = {ROW: "Row", COLUMN: "Column", TABLE: "Table", HISTORY: "History"}


class Links(Protocol):
    """The table whose own rows are shown, its links to other tables, and why they are not known."""

    @property
    def table(self) -> Table | None: ...

    @property
    def any_table(self) -> Table | None:
        """The table of the tab, whatever steps are applied to it."""

    @property
    def no_history(self) -> str:
        """Why there is no table."""

    @property
    def can_import(self) -> bool:
        """Whether the rows could be imported into a table."""

    @property
    def links(self) -> tuple[Link, ...]: ...

    @property
    def problem(self) -> str: ...


class Inspector(QFrame):
    """The inspector, which reads only while it is visible. `filter_requested` has a condition,
    `cell_requested` a column by whose current value to filter, `rules_requested` a column whose default and
    checks to set, and `follow_requested` a `Follow`."""

    filter_requested = Signal(object)
    cell_requested = Signal(str)
    rules_requested = Signal(str)
    follow_requested = Signal(Follow)
    back_requested = Signal()
    opened = Signal()
    """Also emitted when another page is shown."""
    closed = Signal()

    def __init__(
        self,
        grid: GridView,
        view: Callable[[], View | ComputedView | None],
        links: Links,
        tasks: Tasks,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        theme.variant(self, "panel")
        self._grid, self._view, self._links, self._tasks = grid, view, links, tasks
        self._pages, self._buttons = QStackedWidget(self), dict[str, QToolButton]()
        self._scroll_area = QScrollArea(self._pages, widgetResizable=True, frameShape=QFrame.Shape.NoFrame)
        # widgets that get their parent only when they are added are styled again with all their children
        self.row_page, self.column_page = RowPage(self._pages), ColumnPage(self._scroll_area.viewport())
        self.table_page = TablePage(tasks, self._pages)
        self.about: Callable[[], PageSubject | None] = lambda: None
        """Returns what the page about the table should show."""
        self.compared: Callable[[], tuple[Rows, int | None] | None] = lambda: None
        """Returns the rows of the comparison in place of the grid, and the current one."""
        self.history_page = HistoryPage(
            lambda: links.any_table, lambda: links.no_history, lambda: links.can_import, tasks, self._pages
        )
        self._shown_key: tuple[object, ...] = ()
        self._handle: Handle | None = None
        self._wait = QTimer(self, singleShot=True, interval=FOLLOW_MS)
        self._build()
        self.hide()

    @property
    def page(self) -> str:
        return list(PAGES)[max(0, self._pages.currentIndex())]

    def show_page(self, page: str) -> None:
        """Open the inspector at a page, such as "row" or "column"."""
        self._buttons[page].setChecked(True)
        self._pages.setCurrentIndex(list(PAGES).index(page))
        self.setVisible(True)
        self.follow()
        self.opened.emit()

    def follow(self) -> None:
        """Update the page after the cell, the rows or the page have changed."""
        if self.isVisible():
            self._wait.start()

    def stop(self) -> None:
        self._wait.stop()
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        parent_of(self).installEventFilter(self)
        self._fit()
        self.follow()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._shown_key = ()  # do not keep rows in memory that are not visible

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close_page()
        else:
            super().keyPressEvent(event)

    def _scroll_to_value(self, value: QTreeWidgetItem | None) -> None:
        if value is not None:
            place = self.column_page.place_of(value)
            self._scroll_area.ensureVisible(place.left(), place.center().y(), 0, place.height())

    def close_page(self) -> None:
        self.hide()
        self.closed.emit()

    # ------------------------------------------------------------------- reading

    def _read(self) -> None:
        if self.page in (TABLE, HISTORY):
            self.stop()
            self._shown_key = ()
            if self.page == TABLE:
                self.table_page.show_subject(self.about())
            else:
                self.history_page.follow(self._view())
            return
        compared = self.compared() if self.page == ROW else None
        compared_rows, place = compared or (None, None)
        if compared_rows is not None and place is not None:
            if (compared_rows, place) != self._shown_key:
                self.stop()
                self._shown_key = compared_rows, place
                self._read_row(compared_rows, place, ())
            return
        view, current, name = self._view(), self._grid.selection.current, self._grid.current_name
        if (
            compared is not None
            or view is None
            or current is None
            or name is None
            or name not in view.schema.names
        ):
            self.stop()
            self._shown_key = ()
            (self.column_page if self.page == COLUMN else self.row_page).show_nothing()
            return
        rows = self._grid.grid_model.tree or view
        about = (name,) if self.page == COLUMN else (current[0], self._links.links, self._links.problem)
        request = (self.page, view if self.page == COLUMN else rows, *about)
        if request == self._shown_key:
            return
        self.stop()
        self._shown_key = request
        if self.page == COLUMN:
            self._read_column(view, name)
        else:
            self._read_row(rows, current[0], self._links.links)

    def _read_row(self, rows: Rows, row: int, links: tuple[Link, ...]) -> None:
        names, table = names_of(rows), self._links.table
        if isinstance(rows, TreeRows):
            names = [name for name in names if rows.has_value(row, 1, name)[0]]
        links = links if table is not None else ()
        self.row_page.show_links(links, self._links.problem)

        def read(job: Job) -> tuple[list[FieldValue], int]:
            fields = read_row(rows, row, names, job)
            return fields, rows.page(row, 1, [ID]).column(0)[0].as_py() if links else -1

        def show(fields_and_row: tuple[list[FieldValue], int]) -> None:
            fields, row_id = fields_and_row
            self.row_page.show_row(row, fields)
            if table is not None:
                self._read_related(table, links[:MOST_LINKS], row_id, 0)

        self._handle = self._tasks.read(read, show, self._tasks.failed.emit, owner=self, quiet=True)

    def _read_related(self, table: Table, links: tuple[Link, ...], row_id: int, place: int) -> None:
        """Read one link after the other; each is shown as soon as it is read."""
        if place == len(links):
            return
        tree, link = self.row_page.related_tree, links[place]

        def go_on(related: RelatedRows) -> None:
            tree.show_related(place, related)
            self._read_related(table, links, row_id, place + 1)

        def fail(error: Exception) -> None:
            if not isinstance(error, LamellaError):
                self._tasks.failed.emit(error)
            go_on(RelatedRows(link, row_id, 0, (), str(error) or type(error).__name__))

        self._handle = self._tasks.read(
            lambda job: read_related(table, link, row_id, job), go_on, fail, owner=self, quiet=True
        )

    def _read_neighbours(self, item: QTreeWidgetItem) -> None:
        """Read what a related row is related to in turn, unless it is no longer shown."""
        table, follow, tree = self._links.table, item.data(0, FOLLOW), self.row_page.related_tree
        if table is None or follow is None or follow.target is None:
            return

        def read(job: Job) -> tuple[RelatedRows, ...]:
            return read_neighbours(table.store[follow.link.other], follow.target, job)

        def show(neighbours: tuple[RelatedRows, ...]) -> None:
            if shiboken6.isValid(item) and item.data(0, FOLLOW) == follow:
                tree.show_neighbours(item, neighbours)

        def fail(error: Exception) -> None:
            if not isinstance(error, LamellaError):
                self._tasks.failed.emit(error)
            if shiboken6.isValid(item) and item.data(0, FOLLOW) == follow:
                tree.refuse_neighbours(item, str(error) or type(error).__name__)

        self._tasks.read(read, show, fail, owner=self, quiet=True)

    def _read_column(self, view: View | ComputedView, name: str) -> None:
        kind, rows = view.schema.field(name).type, rows_of(view, name)
        is_computed = isinstance(view, ComputedView) and name in view.computed_names
        table = None if name == ID or is_computed else self._links.table
        self.column_page.show_rules(None)
        if rows is None:
            self.column_page.show_unread(name, kind)
            return
        self.column_page.show_column(name, kind, None)
        request = self.column_page.value_list

        def read(job: Job) -> tuple[PageFigures, str | None]:
            rules = None if table is None else rules_text(read_rules(table, name), kind)
            return read_figures(*rows(job), name, request, job), rules

        def show(figures_and_rules: tuple[PageFigures, str | None]) -> None:
            figures, rules = figures_and_rules
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

    def _read_values(self, request: ValueList) -> None:
        view, name = self._view(), self._grid.current_name
        if view is None or name is None or name not in view.schema.names:
            return
        rows = rows_of(view, name)
        if rows is None:
            return
        self.stop()
        self._handle = self._tasks.read(
            lambda job: read_values(*rows(job), name, request, job),
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
        for button in self._buttons.values():  # whose size hint is two spaces wider than the text
            text_width = button.fontMetrics().horizontalAdvance(button.text())
            button.setMinimumWidth(text_width + theme.S)

    def _build(self) -> None:
        self._rows = 0
        self._fit()
        head, group = QHBoxLayout(), QButtonGroup(self)
        head.setContentsMargins(theme.M, theme.XS, theme.S, 0)
        head.setSpacing(theme.XS)
        for page, title in PAGES.items():
            button = QToolButton(text=title, checkable=True)
            theme.variant(button, "tight")
            button.clicked.connect(lambda _=False, page=page: self.show_page(page))
            group.addButton(button)
            head.addWidget(button)
            self._buttons[page] = button
        self._buttons[ROW].setChecked(True)
        head.addStretch(1)
        close = IconButton("close", "Close the inspector (F4)")
        close.clicked.connect(self.close_page)
        head.addWidget(close)
        self._scroll_area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll_area.setWidget(self.column_page)
        self.column_page.setAutoFillBackground(False)
        self.column_page.values.currentItemChanged.connect(self._scroll_to_value)
        for widget in (self.row_page, self._scroll_area, self.table_page, self.history_page):
            self._pages.addWidget(widget)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(head)
        layout.addWidget(self._pages, 1)
        self._wait.timeout.connect(self._read)
        self._grid.selection.changed.connect(self.follow)
        self.row_page.filter_requested.connect(self.cell_requested)
        self.row_page.related_tree.follow_requested.connect(self.follow_requested)
        self.row_page.related_tree.neighbours_requested.connect(self._read_neighbours)
        self.row_page.back_requested.connect(self.back_requested)
        self.column_page.filter_requested.connect(self.filter_requested)
        self.column_page.rules_requested.connect(self.rules_requested)
        self.column_page.values_requested.connect(self._read_values)


def rows_of(
    view: View | ComputedView, name: str
) -> Callable[[Job], tuple[Snapshot | EngineRows, Filter | None]] | None:
    """A function that reads all rows with a column, and the filter on them; None if that would take too
    long."""
    if not isinstance(view, ComputedView):
        return lambda job: all_rows(view)
    return partial(view.rows_of, name) if view.can_profile(name) else None


MOST_ITEMS = 500
"""The maximum number of items of a list, or fields of a struct, that are shown."""
FIELD, VALUE = 0, 1
ANY_HEIGHT = 16_777_215  # Qt's QWIDGETSIZE_MAX


@dataclass(frozen=True)
class FieldValue:
    """A value. `text` is the whole value, None for null; `children` are the parts of a nested value."""

    name: str
    kind: str
    text: str | None
    children: tuple[FieldValue, ...] = ()
    has_sign: bool = False


def read_row(rows: Rows, row: int, names: list[str], job: Job) -> list[FieldValue]:
    """Blocks."""
    page = rows.page(row, 1, names)
    fields = []
    for name, column in zip(names, page.columns, strict=True):
        job.check()
        fields.append(field_value(name, column))
    return fields


def field_value(name: str, value: pa.ChunkedArray | pa.Array) -> FieldValue:
    """The field of a column that has one value."""
    (text,) = whole_texts(value)
    whole = value.combine_chunks() if isinstance(value, pa.ChunkedArray) else value
    children = Node(name, whole, None).children(0, MOST_ITEMS)
    parts = tuple(field_value(child.name, child.value) for child in children)
    return FieldValue(name, type_text(value.type), text, parts, has_sign(value.type))


class RowPage(QWidget):
    """`filter_requested` has the name of a column by whose value in this row to filter; `back_requested` is
    emitted to return to the row that led to this one."""

    filter_requested = Signal(str)
    back_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = QLabel()
        theme.variant(self.title, "title")
        self.search = QLineEdit(placeholderText="Find a field", accessibleName="Find a field")
        add_clear_button(self.search)
        self.tree, self.related_tree = RowTree(), RelatedTree()
        self.back, self.heading = QPushButton(), QLabel("Related rows")
        theme.variant(self.back, "ghost")
        theme.variant(self.heading, "heading")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.M, theme.S, theme.M, theme.S)
        layout.setSpacing(theme.S)
        layout.addWidget(self.back, 0, Qt.AlignmentFlag.AlignLeft)
        for widget in (self.title, self.search):
            layout.addWidget(widget)
        layout.addWidget(self.tree, 3)
        layout.addWidget(self.heading)
        layout.addWidget(self.related_tree, 2)
        layout.addStretch(0)
        self.show_links((), "")
        self.show_way_back("")
        self.back.clicked.connect(self.back_requested)
        self.search.textChanged.connect(self._show_matches)
        self.tree.itemDoubleClicked.connect(self._take)
        self.tree.itemExpanded.connect(self._fit)
        self.tree.itemCollapsed.connect(self._fit)
        theme.current().changed.connect(self._fit)

    def show_row(self, number: int, fields: list[FieldValue]) -> None:
        """Show a row; `number` is its position in the view, from 0."""
        self.title.setText(f"Row {number + 1:,}")
        self.search.show()
        self.tree.show_fields(fields)
        self._show_matches()

    def show_links(self, links: Sequence[Link], problem: str) -> None:
        """Show the links of the row's table, or why they are not known."""
        beyond = f" ({MOST_LINKS} of {len(links)} relations)" if len(links) > MOST_LINKS else ""
        self.heading.setText(visible(problem) if problem else f"Related rows{beyond}")
        self.heading.setWordWrap(bool(problem))
        self.heading.setVisible(bool(links or problem))
        self.related_tree.setVisible(bool(links))
        self.related_tree.show_links(links[:MOST_LINKS])
        self._fit()

    def show_way_back(self, where: str) -> None:
        """Show the way back to the row that led here; empty if none did."""
        look = theme.current()
        self.back.setIcon(look.icon("arrow-left"))
        self.back.setText(visible(f"Back to {where}"))
        self.back.setToolTip("Back to the row you came from (Alt+Left)")
        self.back.setVisible(bool(where))

    def show_nothing(self) -> None:
        self.title.setText("Select a cell to see its row")
        self.search.hide()
        self.tree.clear()
        self.show_links((), "")

    def _take(self, item: QTreeWidgetItem) -> None:
        if item.parent() is None:
            self.filter_requested.emit(item.data(FIELD, Qt.ItemDataRole.UserRole).name)

    def _show_matches(self) -> None:
        words = self.search.text().strip().casefold()
        for item in top_items(self.tree):
            field = item.data(FIELD, Qt.ItemDataRole.UserRole)
            item.setHidden(words not in f"{field.name} {field.text or ''}".casefold())
        self._fit()

    def _fit(self) -> None:
        """Resize the fields; if there are few, the related rows get the remaining room."""
        self.tree.setMaximumHeight(ANY_HEIGHT if self.related_tree.isHidden() else content_height(self.tree))


class RowTree(QTreeWidget):
    """The fields of a row. Expanded fields stay expanded from row to row. Ctrl+C copies the value."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Fields of the row")
        theme.variant(self, "panel")
        self.setColumnCount(2)
        self.setHeaderHidden(True)
        self.setIndentation(theme.M)
        self.setWordWrap(False)
        self.setVerticalScrollMode(QTreeWidget.ScrollMode.ScrollPerPixel)
        self.header().setStretchLastSection(True)
        self.header().setSectionResizeMode(FIELD, QHeaderView.ResizeMode.Interactive)
        theme.current().changed.connect(self._restyle)

    def show_fields(self, fields: list[FieldValue]) -> None:
        before = {item.text(FIELD) for item in top_items(self) if item.isExpanded()}
        self.clear()
        for field in fields:
            if field.name != ID:
                item = self._item(field)
                self.addTopLevelItem(item)
                item.setExpanded(item.text(FIELD) in before)
        self.resizeColumnToContents(FIELD)
        self.setColumnWidth(FIELD, min(self.columnWidth(FIELD), self.width() // 2))

    def event(self, event: QEvent) -> bool:
        """Take Ctrl+C from the window, which would copy cells of the grid."""
        copies = isinstance(event, QKeyEvent) and event.matches(QKeySequence.StandardKey.Copy)
        if event.type() is QEvent.Type.ShortcutOverride and copies:
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        item = self.currentItem()
        if event.matches(QKeySequence.StandardKey.Copy) and item is not None:
            field = item.data(FIELD, Qt.ItemDataRole.UserRole)
            QGuiApplication.clipboard().setText(field.text or "")
        else:
            super().keyPressEvent(event)

    def _item(self, field: FieldValue) -> QTreeWidgetItem:
        look = theme.current()
        text = "NULL" if field.text is None else visible(field.text.replace("\n", "↵"))
        text = with_minus(text) if field.has_sign else text
        item = QTreeWidgetItem([visible(field.name), text[:2000]])
        item.setData(FIELD, Qt.ItemDataRole.UserRole, field)
        item.setForeground(FIELD, look.color("muted"))
        item.setFont(VALUE, look.tabular_font())
        if field.text is None:
            item.setForeground(VALUE, look.color("faint"))
        item.setToolTip(FIELD, f"{visible(field.name)}: {field.kind}")
        item.setToolTip(VALUE, "NULL" if field.text is None else visible(field.text[:4000]))
        for child in field.children:
            item.addChild(self._item(child))
        return item

    def _restyle(self) -> None:
        self.show_fields([item.data(FIELD, Qt.ItemDataRole.UserRole) for item in top_items(self)])


def names_of(rows: Any) -> list[str]:
    """The names of all columns of a view, without the id."""
    return [name for name in rows.schema.names if name != ID]
