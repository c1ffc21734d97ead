"""The dialog of a table's indexes: which there are, their size and last use; building and dropping them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from functools import partial
from typing import Protocol

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QMenu,
    QMessageBox,
    QProgressBar,
    QPushButton,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from lamella.core.errors import visible
from lamella.core.jobs import Job, Progress
from lamella.core.phrases import quantity, size_text
from lamella.core.store.indexes import IndexStatus, TableIndex
from lamella.core.store.table import Table
from lamella.ui import theme
from lamella.ui.dialogs.error_dialog import message
from lamella.ui.filters.word_index import FULLTEXT
from lamella.ui.indexes.form import IndexForm, NewIndex
from lamella.ui.tasks import Handle, Tasks
from lamella.ui.widgets.list_menu import ListMenu
from lamella.ui.widgets.message_bar import MessageBar
from lamella.ui.window.commits import Commits

HEADINGS = ("Columns", "Kind", "Language", "Size", "Rows", "Last used", "State")
RIGHT = (3, 4)
KINDS = {"sorted": "Sorted", FULLTEXT: "Full text"}
NO_INDEX_TEXT = "No index yet. An index finds rows by value or by words without reading all of them."
MINUTE, HOUR, DAY = 60, 3_600, 86_400
READY = "Ready"
STOP_TEXT = "Stopped; the index was not built"
MOMENT = "%Y-%m-%d %H:%M"


class IndexesDialog(QDialog):
    """`changed` is emitted after an index was built or dropped. Building continues if the dialog is closed:
    then the status bar shows it, and its end is `news_unseen`, or an error of the tasks."""

    changed = Signal()
    news_unseen = Signal(str)

    def __init__(self, table: Table, name: str, tasks: Tasks, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._table, self._name, self._tasks = table, name, tasks
        self._building: Handle | None = None
        self.column = ""
        """The default column of a new index."""
        self.statuses: list[IndexStatus] = []
        self._new_identity: tuple[str, tuple[str, ...]] | None = None
        """The index that was just built, to be selected."""
        self.setWindowTitle(f"Indexes of {visible(name)}")
        self._make()
        self._lay_out()
        self.refresh()

    def refresh(self) -> None:
        """Read the indexes again, for example after rows have changed."""
        self._tasks.read(
            lambda job: self._table.indexes.status(), self._show, self._fail, owner=self, quiet=True
        )  # fmt: skip

    def follow(self, table: Table, commit: object) -> None:
        """Refresh if this table was changed."""
        if table is self._table:
            self.refresh()

    def begin_new(self, kind: str = "sorted", column: str = "") -> None:
        """Open the form of a new index."""
        self.form.begin(kind, column or self.column)
        self.form.show()
        self.new.setEnabled(False)

    def _begin(self) -> None:
        self.begin_new()

    # ------------------------------------------------------------------ set-up

    def _make(self) -> None:
        self.list = QTableWidget(0, len(HEADINGS))
        self.list.setAccessibleName("Indexes")
        self.list.setHorizontalHeaderLabels(HEADINGS)
        for column in RIGHT:
            title = self.list.horizontalHeaderItem(column)
            assert title is not None
            title.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.list.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.list.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.list.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.list.setTabKeyNavigation(False)
        ListMenu(self.list, self._fill_menu)
        self.list.setShowGrid(False)
        self.list.setMinimumHeight(7 * theme.current().line_height())
        self.list.verticalHeader().hide()
        header = self.list.horizontalHeader()
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setHighlightSections(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.nothing = QLabel(NO_INDEX_TEXT, wordWrap=True, alignment=Qt.AlignmentFlag.AlignCenter)
        theme.variant(self.nothing, "muted")
        self.new, self.drop = QPushButton("New index…"), QPushButton("Drop…")
        theme.variant(self.drop, "danger")
        self.drop.setEnabled(False)
        self.close_button = QPushButton("Close")
        self.form = IndexForm(self._table, self._tasks)
        self.form.hide()
        self.progress = QProgressBar(textVisible=False)
        self.progress.setAccessibleName("Building")
        self.news = QLabel(wordWrap=True)
        self.cancel = QPushButton("Cancel")
        self.messages = MessageBar(self)
        self._show_building(False)
        self.list.itemSelectionChanged.connect(self._allow)
        self.new.clicked.connect(self._begin)
        self.drop.clicked.connect(self._ask_drop)
        by_key = QShortcut(QKeySequence(Qt.Key.Key_Delete), self.list)
        by_key.setContext(Qt.ShortcutContext.WidgetShortcut)
        by_key.activated.connect(self.drop.click)
        self.cancel.clicked.connect(self._stop)
        self.close_button.clicked.connect(self.accept)
        self.form.wanted.connect(self.build)
        self.form.closed.connect(self._close_form)

    def _lay_out(self) -> None:
        under_way = QHBoxLayout()
        under_way.addWidget(self.news, 2)
        under_way.addWidget(self.progress, 1)
        under_way.addWidget(self.cancel)
        buttons = QHBoxLayout()
        for button in (self.new, self.drop):
            buttons.addWidget(button)
        buttons.addStretch(1)
        buttons.addWidget(self.close_button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.L, theme.L, theme.L, theme.L)
        layout.setSpacing(theme.M)
        layout.addWidget(self.messages)
        layout.addWidget(self.nothing, 1)
        layout.addWidget(self.list, 1)
        layout.addWidget(self.form)
        layout.addLayout(under_way)
        layout.addLayout(buttons)
        self.form.build.setDefault(True)  # while it is hidden, Enter presses the button that has the keyboard
        line = theme.current().line_height()
        self.resize(48 * line, 26 * line)

    # ------------------------------------------------------------------ showing

    @property
    def is_building(self) -> bool:
        return self._building is not None

    def shows(self, table: Table) -> bool:
        return table is self._table

    def leave(self) -> None:
        """Delete the closed dialog, but not before what it builds has ended."""
        if self._building is None:
            self.deleteLater()

    def _show(self, statuses: Sequence[IndexStatus]) -> None:
        self.statuses = list(statuses)
        is_first = self.list.isHidden() and self.close_button.hasFocus()
        self.nothing.setVisible(not statuses)
        self.list.setVisible(bool(statuses))
        if statuses and is_first:
            self.list.setFocus()
        current_row = self.list.currentRow()
        self.list.setRowCount(len(statuses))
        for row, status in enumerate(statuses):
            for column, (text, tip) in enumerate(_cells(status)):
                item = QTableWidgetItem(text)
                item.setToolTip(tip)
                if column in RIGHT:
                    item.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
                self.list.setItem(row, column, item)
        if statuses:
            rows = [place for place, status in enumerate(statuses) if self._new_identity == _identity(status)]
            self.list.selectRow(rows[0] if rows else min(max(current_row, 0), len(statuses) - 1))
            self._new_identity = None
        self.form.show_taken([status.index for status in statuses])
        self._allow()

    def _allow(self) -> None:
        self.drop.setEnabled(bool(self.list.selectedItems()) and not self._table.store.read_only)
        self.new.setEnabled(
            self._building is None and not self._table.store.read_only and self.form.isHidden()
        )

    def _fill_menu(self, menu: QMenu) -> None:
        for button in (self.new, self.drop):
            action = menu.addAction(button.text(), button.click)
            action.setEnabled(button.isEnabled())

    def _close_form(self) -> None:
        self.form.hide()
        self._allow()
        self.new.setFocus()

    def _show_building(self, building: bool, text: str = "") -> None:
        self.news.setText(text)
        self.news.setVisible(bool(text))
        for widget in (self.progress, self.cancel):
            widget.setVisible(building)
        self.progress.setRange(0, 0)

    def _fail(self, error: Exception) -> None:
        self.messages.say(message(error), kind="message-danger")

    def _fail_building(self, error: Exception) -> None:
        self._end_building()
        if self.isVisible():
            self._fail(error)
        else:
            self._tasks.failed.emit(error)
            self.deleteLater()

    def _end_building(self) -> None:
        self._building = None
        self.cancel.setEnabled(True)
        self._show_building(False)
        self._allow()

    # ------------------------------------------------------------------ making and dropping

    def build(self, index: NewIndex) -> None:
        """Build an index in the background, for the current rows and those added meanwhile."""
        table, called = self._table, index_text(index.kind, index.columns)

        def work(job: Job) -> TableIndex:
            return table.indexes.create(list(index.columns), index.kind, job, **index.options)

        self._close_form()
        self._building = self._tasks.read(
            work,
            lambda _index: self._finish_building(index),
            self._fail_building,
            on_progress=partial(self._show_progress, called),
            on_cancel=self._show_stop,
            owner=self,
            text=f"Building the {called}",
        )
        self._building.progress_widget = self
        self._show_building(True, f"Building the {called}…")
        self._allow()
        (self.close_button if self.list.isHidden() else self.list).setFocus()  # where Enter does no harm

    def _show_progress(self, called: str, progress: Progress) -> None:
        if progress.total:
            self.progress.setRange(0, progress.total)
            self.progress.setValue(progress.done)
            self.news.setText(
                f"Building the {called}: {progress.done:,} of {quantity(progress.total, 'row')}"
            )

    def _finish_building(self, index: NewIndex) -> None:
        self._end_building()
        news = f"Built the {index_text(index.kind, index.columns)}"
        self._new_identity = (index.kind, tuple(index.columns))
        self.changed.emit()
        if self.isVisible():
            self.messages.say(news, kind="message-success")
            self.refresh()
        else:
            self.news_unseen.emit(news)
            self.deleteLater()

    def _stop(self) -> None:
        if self._building is not None:
            self.cancel.setEnabled(False)
            self._building.cancel()

    def _show_stop(self) -> None:
        self._end_building()
        if self.isVisible():
            self.messages.say(STOP_TEXT)
        else:
            self.news_unseen.emit(STOP_TEXT)
            self.deleteLater()

    def _ask_drop(self) -> QMessageBox | None:
        row = self.list.currentRow()
        if not 0 <= row < len(self.statuses):
            return None
        status = self.statuses[row]
        called = index_text(status.index.kind, status.index.columns)
        box = QMessageBox(QMessageBox.Icon.Question, "Lamella", f"Drop the {called}?", parent=self)
        box.setInformativeText(
            f"It frees {size_text(status.num_bytes)}. Rows stay unchanged; {_slower(status.index.kind)} "
            "It can be built again."
        )
        drop = box.addButton("Drop", QMessageBox.ButtonRole.AcceptRole)
        box.addButton(QMessageBox.StandardButton.Cancel)
        box.setDefaultButton(QMessageBox.StandardButton.Cancel)
        drop.clicked.connect(lambda: self._drop(status.index))
        box.finished.connect(box.deleteLater)
        box.open()
        return box

    def _drop(self, index: TableIndex) -> None:
        table, called = self._table, index_text(index.kind, index.columns)

        def finish(_: object) -> None:
            again = NewIndex(index.kind, index.columns, dict(index.options))
            self.messages.say(f"Dropped the {called}", ("Build it again", lambda: self.build(again)))
            self.refresh()
            self.changed.emit()

        self._tasks.read(
            lambda job: table.indexes.drop(list(index.columns), index.kind), finish, self._fail, owner=self,
            text=f"Dropping the {called}",
        )  # fmt: skip


class TableTab(Protocol):
    """A tab that shows a table."""

    tasks: Tasks
    commits: Commits
    messages: MessageBar

    @property
    def table(self) -> Table | None: ...

    @property
    def name(self) -> str: ...

    def window(self) -> QWidget: ...


def show_indexes(tab: TableTab, column: str = "") -> IndexesDialog | None:
    """Show the indexes of a tab's table, and the one that is being built; None for files, which have none. A
    new index starts with `column`."""
    table = tab.table
    if table is None:
        return None
    dialogs = tab.window().findChildren(IndexesDialog)
    dialog = next(
        (candidate for candidate in dialogs if candidate.is_building and candidate.shows(table)), None
    )
    if dialog is None:
        dialog = IndexesDialog(table, tab.name, tab.tasks, tab.window())
        dialog.finished.connect(dialog.leave)
        dialog.news_unseen.connect(tab.messages.say)
        tab.commits.committed.connect(dialog.follow)
    dialog.column = column
    dialog.open()
    return dialog


def _identity(status: IndexStatus) -> tuple[str, tuple[str, ...]]:
    return status.index.kind, status.index.columns


def index_text(kind: str, columns: Sequence[str]) -> str:
    """The name of an index, such as `sorted index of delay`."""
    return f"{KINDS.get(kind, kind).lower().replace(' ', '-')} index of {', '.join(map(visible, columns))}"


def _slower(kind: str) -> str:
    if kind == FULLTEXT:
        return "words cannot be searched without it."
    return "filters and sorts by this column read all of them again."


def _cells(status: IndexStatus) -> list[tuple[str, str]]:
    """The text and tooltip of each cell."""
    index, used = status.index, status.last_used
    language = index.options.get("language")
    spoken = (str(language).capitalize() if language else "None: words as written") if (
        index.kind == FULLTEXT) else ""  # fmt: skip
    pending = (
        f"{status.pending_rows:,} more are in memory, and are found there" if status.pending_rows else ""
    )
    return [
        (_weights_text(index), ", ".join(map(visible, index.columns))),
        (KINDS.get(index.kind, index.kind), ""),
        (spoken, "Words with the same stem are found together" if language else ""),
        (size_text(status.num_bytes), f"{status.num_bytes:,} bytes"),
        (f"{status.rows + status.pending_rows:,}", pending),
        (
            ago_text(used, dt.datetime.now(dt.UTC)),
            "" if used is None else f"{used.astimezone():%Y-%m-%d %H:%M}",
        ),
        state_text(status),
    ]


def _weights_text(index: TableIndex) -> str:
    """The columns with their weights, such as `title × 2, body`."""
    weights = index.options.get("weights") or [1.0] * len(index.columns)
    pairs = zip(index.columns, weights, strict=True)
    return ", ".join(visible(name) + (f" × {weight:g}" if weight != 1 else "") for name, weight in pairs)


def state_text(status: IndexStatus) -> tuple[str, str]:
    if status.is_complete:
        return READY, ""
    missing = status.data_files - status.built
    return (
        f"{missing:,} of {status.data_files:,} files missing",
        "Missing parts are built when the index is next used",
    )


def ago_text(used: dt.datetime | None, now: dt.datetime) -> str:
    if used is None:
        return "Never"
    seconds = (now - used).total_seconds()
    if seconds < MINUTE:
        return "Just now"
    for size, name in ((DAY, "day"), (HOUR, "hour"), (MINUTE, "minute")):
        count = int(seconds // size)
        if count:
            return f"{quantity(count, name)} ago"
    return "Just now"
