"""Creating a table: empty, with columns of chosen types, or from the rows that are shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from lamella.core.arrow.types import ID, stored_type, type_named
from lamella.core.errors import LamellaError, visible
from lamella.core.jobs import Job
from lamella.core.store.store import Store
from lamella.core.store.table import Table
from lamella.ui import theme
from lamella.ui.dialogs.error_dialog import message
from lamella.ui.dialogs.work_dialog import WorkDialog
from lamella.ui.tasks import Tasks
from lamella.ui.widgets.controls import FieldForm, FieldRow, FieldRows, Reason

TYPES = (
    "string", "int64", "int32", "int16", "int8", "float64", "float32", "decimal(18, 2)", "bool", "date",
    "timestamp[us]", "timestamp[us, tz=UTC]", "time64[us]", "duration[us]", "uint64", "binary",
)  # fmt: skip
WIDTH, HEIGHT = 460, 420
FIRST_COLUMNS = (("name", "string"), ("value", "float64"))


@dataclass(frozen=True)
class SourceRows:
    """Rows from which to make a table: `rows` returns them, on a worker."""

    label: str
    name: str
    rows: Callable[[Job], Any]


class NewColumn(FieldRow):
    def __init__(self, name: str = "", kind: str = "string", parent: QWidget | None = None) -> None:
        super().__init__("Remove this column", parent)
        self.name = QLineEdit(name, placeholderText="column", accessibleName="Name of the column")
        self.type = QComboBox(editable=True, accessibleName="Type")
        self.type.addItems(list(TYPES))
        self.type.setCurrentText(kind)
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(theme.S)
        line.addWidget(self.name, 1)
        line.addWidget(self.type)
        line.addWidget(self.remove)
        self.setFocusProxy(self.name)
        self.name.textChanged.connect(self.changed)
        self.type.currentTextChanged.connect(self.changed)

    @property
    def text(self) -> str:
        return self.name.text().strip()


class NewTableDialog(WorkDialog):
    """`created` carries the table; nothing is created before the button is pressed, or if the work is
    stopped."""

    created = Signal(Table)

    def __init__(
        self,
        stores: Sequence[Store],
        tasks: Tasks,
        source_rows: SourceRows | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(tasks, parent)
        self._stores, self._source_rows = list(stores), source_rows
        self.setWindowTitle("New table")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._make()
        self._lay_out()
        for name, kind in () if source_rows is not None else FIRST_COLUMNS:
            self._rows.append(NewColumn(name, kind))
        self._follow()
        self.name.setFocus()
        self.name.selectAll()

    def _make(self) -> None:
        source_rows = self._source_rows
        self.title = QLabel("New table" if source_rows is None else "Make a table of what is shown")
        theme.variant(self.title, "title")
        self.name = QLineEdit(accessibleName="Name of the table", placeholderText="name")
        self.name.setText("" if source_rows is None else source_rows.name)
        self.name.textChanged.connect(self._follow)
        self.store = QComboBox(accessibleName="Store")
        self.store.addItems([visible(store.name) for store in self._stores])
        self.add = QPushButton("+ Another column")
        theme.variant(self.add, "link")
        self._rows = FieldRows(self.add, NewColumn)
        self._rows.changed.connect(self._follow)
        self.reason = Reason()
        self.create_button = QPushButton("Create the table")
        theme.variant(self.create_button, "primary")
        self.create_button.setDefault(True)
        self.create_button.clicked.connect(self._create)

    def _lay_out(self) -> None:
        form = FieldForm(horizontalSpacing=theme.L, verticalSpacing=theme.S)
        form.addRow("Name", self.name)
        form.addRow("Store", self.store)
        layout = QVBoxLayout(self)
        margin = theme.L + theme.XS
        layout.setContentsMargins(margin, margin, margin, margin)
        layout.setSpacing(theme.M)
        layout.addWidget(self.title)
        layout.addLayout(form)
        if self._source_rows is None:
            inside = QWidget()
            column = QVBoxLayout(inside)
            column.setContentsMargins(0, 0, 0, 0)
            heading = QLabel("Columns")
            theme.variant(heading, "heading")
            column.addWidget(heading)
            column.addWidget(self._rows)
            column.addWidget(self.add, 0, Qt.AlignmentFlag.AlignLeft)
            column.addStretch(1)
            area = QScrollArea(widgetResizable=True)
            area.setFrameShape(QScrollArea.Shape.NoFrame)
            area.setWidget(inside)
            layout.addWidget(area, 1)
        else:
            label = QLabel(self._source_rows.label)
            theme.variant(label, "muted")
            layout.addWidget(label)
            layout.addStretch(1)
        layout.addWidget(self.reason)
        layout.addWidget(self.progress)
        buttons = QHBoxLayout()
        buttons.setSpacing(theme.S)
        buttons.addWidget(self.status, 1)
        buttons.addWidget(self.cancel_button)
        buttons.addWidget(self.create_button)
        layout.addLayout(buttons)
        self.resize(theme.current().px(WIDTH), theme.current().px(HEIGHT if self._source_rows is None else 0))

    @property
    def columns(self) -> list[NewColumn]:
        return self._rows.rows

    # ---------------------------------------------------------------- content

    def schema(self) -> pa.Schema:
        """The schema of the columns. Raises `LamellaError` for an unknown type."""
        return pa.schema(
            [
                pa.field(column.text, stored_type(type_named(column.type.currentText())))
                for column in self.columns
                if column.text
            ]
        )

    def _problem(self) -> str:
        """What is wrong with the columns; the store checks the table's name."""
        names = [column.text for column in self.columns if column.text]
        for column in self.columns:
            name = column.text
            wrong = name == ID or names.count(name) > 1
            theme.variant(column.name, "invalid" if wrong else "")
            try:
                type_named(column.type.currentText())
                theme.variant(column.type, "")
            except LamellaError as error:
                theme.variant(column.type, "invalid")
                return str(error)
            if wrong:
                return f"{ID} is reserved for row ids." if name == ID else (
                    f"Two columns are named '{visible(name)}'."
                )  # fmt: skip
        return ""

    def _follow(self) -> None:
        problem = self._problem()
        self.reason.say(problem)
        self.create_button.setEnabled(bool(self.name.text().strip()) and not problem and bool(self._stores))

    def _create(self) -> None:
        store, name = self._stores[self.store.currentIndex()], self.name.text().strip()
        source_rows = self._source_rows
        empty = self.schema().empty_table() if source_rows is None else None

        def work(job: Job) -> Table:
            data = empty if source_rows is None else source_rows.rows(job)
            return store.create_table(name, data, job=job)

        self._run(self._tasks.write, work, self._finish, f"Making {name}")

    def _finish(self, table: Table) -> None:
        self.created.emit(table)
        self.accept()

    def _fail(self, error: Exception) -> None:
        self.reason.say(message(error))

    def _handle_stop(self) -> None:
        self.reason.say("Stopped; no table was made.")

    def _lock(self, locked: bool) -> None:
        for widget in (self.name, self.store, self.add, self.create_button, self._rows):
            widget.setEnabled(not locked)
