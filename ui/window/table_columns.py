"""Changing the columns of a table from their header menus, and making tables from what is shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QLineEdit, QPushButton, QVBoxLayout, QWidget

from lamella.core.arrow.types import ID, type_named
from lamella.core.errors import LamellaError, visible
from lamella.core.filters.cells import parse_cell
from lamella.core.jobs import Job
from lamella.core.phrases import quantity
from lamella.core.query.line import query_of_line
from lamella.core.query.steps import Select
from lamella.ui import theme
from lamella.ui.dialogs.new_table import TYPES, NewTableDialog, SourceRows
from lamella.ui.editing.edit_target import ROWS_ARE_COMPUTED
from lamella.ui.widgets.hosts import widget_of
from lamella.ui.widgets.popover import Popover
from lamella.ui.window.action_state import current_column
from lamella.ui.window.loader import DESCRIPTION as DESCRIPTION_KEY

if TYPE_CHECKING:
    from lamella.ui.window.dataset_tab import DatasetTab
    from lamella.ui.window.window import Window

DESCRIPTION = DESCRIPTION_KEY.decode()
TabAct = Callable[["DatasetTab", str], object]


def on_column(window: Window, act: TabAct) -> Callable[[DatasetTab], object]:
    """`act` with the tab's table and current column. On files and computed rows, say why it is not
    possible."""

    def handler(tab: DatasetTab) -> None:
        name = current_column(tab) or ""
        if tab.table is None:
            window.offer_import(name, lambda copy: act(copy, name))
        elif tab.editable is None:
            tab.messages.say(ROWS_ARE_COMPUTED)
        elif name and name != ID:
            act(tab, name)

    return handler


# ------------------------------------------------------------------------------ forms


class ColumnForm(QWidget):
    """A form about one column. `accepted` carries what was typed; `refuse` returns what is wrong with it."""

    accepted = Signal(dict)

    def __init__(
        self,
        title: str,
        verb: str,
        fields: Sequence[tuple[str, QLineEdit | QComboBox]],
        refuse: Callable[[dict[str, str]], str],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.fields = dict(fields)
        self._refuse = refuse
        heading = QLabel(title)
        theme.variant(heading, "heading")
        self.reason = QLabel(wordWrap=True)
        self.reason.setMinimumWidth(1)
        theme.variant(self.reason, "danger")
        self.accept = QPushButton(verb)
        theme.variant(self.accept, "primary")
        self.accept.clicked.connect(self._take)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.S)
        layout.addWidget(heading)
        for _, field in fields:
            layout.addWidget(field)
            edit = field.lineEdit() if isinstance(field, QComboBox) else field
            if edit is not None:
                edit.textChanged.connect(self._follow)
                edit.returnPressed.connect(self._take)
        layout.addWidget(self.reason)
        line = QHBoxLayout()
        line.addStretch(1)
        line.addWidget(self.accept)
        layout.addLayout(line)
        self._follow()

    def values(self) -> dict[str, str]:
        return {
            name: field.currentText() if isinstance(field, QComboBox) else field.text()
            for name, field in self.fields.items()
        }

    def say(self, reason: str) -> None:
        self.reason.setText(reason)
        self.reason.setVisible(bool(reason))

    def _follow(self) -> None:
        values = self.values()
        reason = self._refuse(values)
        first = next(iter(self.fields.values()))
        theme.variant(first, "invalid" if reason else "")
        self.say(reason)
        self.accept.setEnabled(not reason and bool(next(iter(values.values())).strip() or "text" in values))

    def _take(self) -> None:
        if self.accept.isEnabled():
            self.accepted.emit(self.values())


def _open(tab: DatasetTab, name: str, form: ColumnForm) -> ColumnForm:
    grid = tab.grid
    popover = Popover(form, grid)
    popover.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    form.accepted.connect(popover.close)
    column = grid.grid_model.names.index(name)
    grid.show_column(grid.place(column))
    popover.fit()
    header = grid.column_header
    last = max(0, header.width() - popover.width())
    popover.open_at(header.mapToGlobal(QPoint(min(grid.x_of(column), last), header.own_height)), grid)
    first = next(iter(form.fields.values()))
    first.setFocus(Qt.FocusReason.PopupFocusReason)
    if isinstance(first, QLineEdit):
        first.selectAll()
    return form


def _name_problem(tab: DatasetTab, name: str, own: str = "") -> str:
    name = name.strip()
    if name == ID:
        return f"{ID} is reserved for row ids."
    names = tab.view.snapshot.schema.names if tab.view is not None else []
    if name != own and name in names:
        return f"A column '{visible(name)}' already exists."
    return ""


# ------------------------------------------------------------------------------ acts


def ask_new(tab: DatasetTab, name: str) -> ColumnForm:
    """Ask for a new column after the current one."""
    edit = QLineEdit(placeholderText="name", accessibleName="Name of the column")
    kind = QComboBox(editable=True, accessibleName="Type")
    kind.addItems(list(TYPES))
    default = QLineEdit(placeholderText="NULL in every row", accessibleName="Value in every row")

    def refuse(values: dict[str, str]) -> str:
        problem = _name_problem(tab, values["name"])
        try:
            type_ = type_named(values["type"])
            if values["default"]:
                parse_cell(values["default"], type_)
        except LamellaError as error:
            return problem or error.why or error.what
        return problem

    def add(values: dict[str, str]) -> None:
        type_ = type_named(values["type"])
        value = parse_cell(values["default"], type_) if values["default"] else None
        called = values["name"].strip()
        _commit(
            tab,
            lambda table, job: table.columns.add(called, type_, value, name, job=job),
            f"Adding {called}",
        )

    fields: list[tuple[str, QLineEdit | QComboBox]]
    fields = [("name", edit), ("type", kind), ("default", default)]
    form = _open(tab, name, ColumnForm(f"New column after {visible(name)}", "Add", fields, refuse))
    form.accepted.connect(add)
    return form


def ask_name(tab: DatasetTab, name: str) -> ColumnForm:
    edit = QLineEdit(name, accessibleName="New name")

    def refuse(values: dict[str, str]) -> str:
        return _name_problem(tab, values["name"], name)

    def rename(values: dict[str, str]) -> None:
        called = values["name"].strip()
        if called != name:
            _commit(tab, lambda table, job: table.columns.rename(name, called), f"Renaming {name}")

    form = _open(tab, name, ColumnForm(f"Rename {visible(name)}", "Rename", [("name", edit)], refuse))
    form.accepted.connect(rename)
    return form


def ask_description(tab: DatasetTab, name: str) -> None:
    """Ask for the description of the column, starting with the current one once it has been read."""

    def note(values: dict[str, str]) -> None:
        text = values["text"].strip() or None
        _commit(
            tab,
            lambda table, job: table.columns.set_metadata(
                name, {DESCRIPTION: text}, f"describe {name}" if text else f"forget what {name} is"
            ),
            f"Describing {name}",
        )

    def ask(descriptions: dict[str, str]) -> None:
        edit = QLineEdit(descriptions.get(DESCRIPTION, ""), accessibleName="Description")
        edit.setPlaceholderText("meaning, unit, source")
        edit.setMinimumWidth(theme.current().px(280))
        form = ColumnForm(f"Describe {visible(name)}", "Save", [("text", edit)], lambda _: "")
        _open(tab, name, form).accepted.connect(note)

    table = tab.table
    assert table is not None
    tab.tasks.read(lambda job: table.columns.metadata(name), ask, owner=tab, quiet=True)


def _commit(tab: DatasetTab, work: Callable[[Any, Job], Any], text: str) -> None:
    if tab.table is not None:
        tab.commits.run(tab.table, work, text)


def drop(tab: DatasetTab, name: str) -> None:
    """Drop the column without asking: it can be undone."""
    _commit(tab, lambda table, job: table.columns.drop(name), f"Dropping {name}")


def move(tab: DatasetTab, name: str, by: int) -> None:
    """Move the column one position to the left or right in the table itself."""

    def work(table: Any, job: Job) -> Any:
        names = list(table.columns)
        place = names.index(name) if name in names else 0
        to = max(0, min(len(names) - 1, place + by))
        names.insert(to, names.pop(place))
        return table.columns.reorder(names, f"move {name}")

    _commit(tab, work, f"Moving {name}")


def keep_order(tab: DatasetTab, _name: str) -> None:
    """Reorder the table's columns as they are shown; hidden ones go to the end."""
    names = [name for name in tab.line_actions.shown_columns() if name != ID]
    _commit(tab, lambda table, job: table.columns.reorder(names, "order columns"), "Ordering the columns")


# ------------------------------------------------------------------------------ tables


def ask_table(window: Window, source_rows: SourceRows | None = None) -> None:
    """Ask for a new table in one of the open stores; that of the tab or page in front is proposed."""
    tab = window.tabs.dataset_tab

    def ask() -> None:
        stores = [store for store in window.library.stores if not store.read_only]
        own = window.store_actions.of()
        if tab is not None:
            own = next((store for store in stores if str(store.path) == tab.key[0]), tab.statement_store)
        stores.sort(key=lambda store: store is not own)
        dialog = NewTableDialog(stores, window.tasks, source_rows, widget_of(window))
        dialog.created.connect(lambda table: window.library.show_imports([table]))
        dialog.open()

    window.library.when_home(ask)


def ask_table_of_rows(window: Window, tab: DatasetTab) -> None:
    """Ask for a new table of the rows and columns that a tab shows, in their order."""
    view = tab.view
    if view is None:
        return
    columns = [name for name in tab.line_actions.shown_columns() if name != ID]
    line, dataset = tab.line, tab.dataset

    def rows(job: Job) -> pa.RecordBatchReader:
        return query_of_line(line, dataset, (*line.active, Select(tuple(columns)))).batches(job)

    count = quantity(view.num_rows, "row") if view.snapshot.complete else "all rows, once they have arrived"
    label = f"{count}, {quantity(len(columns), 'column')}"
    ask_table(window, SourceRows(label, f"{tab.name.partition('.')[0]} 2", rows))
