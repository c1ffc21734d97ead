"""The forms of the Change dialog: each makes one act from its fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
from PySide6.QtCore import QStringListModel, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from lamella.core.arrow.types import ID, type_named, type_text
from lamella.core.datasets.base import Problem, problems_of
from lamella.core.errors import LamellaError, visible
from lamella.core.filters.kinds import Kind, kind_of
from lamella.core.jobs import Job
from lamella.core.store.acts import (
    READING_CHOICES,
    Act,
    CastColumn,
    Delete,
    DropDuplicates,
    Merge,
    Rename,
    Split,
    Upsert,
    update_of,
)
from lamella.core.store.operators.table import paths_of
from lamella.core.store.table import Table
from lamella.ui import theme
from lamella.ui.dialogs.bad_lines import problem_counts
from lamella.ui.dialogs.file_dialog import ask_file
from lamella.ui.dialogs.new_table import TYPES
from lamella.ui.editing.assignment_line import AssignmentLine, Types
from lamella.ui.filters.value_fields import ColumnBox
from lamella.ui.tasks import Tasks
from lamella.ui.widgets.controls import FieldRow, FieldRows, Reason
from lamella.ui.widgets.popover import ColumnsChoice
from lamella.ui.window.file_readings import FileReading

NULLS_OR_NOT: tuple[tuple[str, Literal["refuse", "null"]], ...]
NULLS_OR_NOT = (("Refuse the change", "refuse"), ("Set it to NULL", "null"))
ENDS = (("Keep the first", "first"), ("Keep the last", "last"))
TWICE: tuple[tuple[str, Literal["refuse", "first", "last"]], ...]
TWICE = (("Refuse", "refuse"), ("Take the first", "first"), ("Take the last", "last"))
SIGNS = {
    "": "none", " ": "space", "by values": "as the values show", "iso": "year first",
    "day-first": "day first", "month-first": "month first", "month-names": "month by name",
}  # fmt: skip
"""The labels of the signs and orders whose own names say little."""
EMS = 12
LABEL_WIDTH = 120


class ActForm(QWidget):
    """The form of one act. `changed` is emitted after every edit. `reason` says below the form what is
    wrong."""

    changed = Signal()

    def __init__(self, types: Types, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)  # fields are not cut
        self.types = types
        self.names = QStringListModel(list(types), self)
        self.reason = Reason()

    def act(self) -> Act | None:
        """The act; None while something is missing or wrong."""
        raise NotImplementedError

    @property
    def remark(self) -> str:
        """A sentence about the act's input, shown once its effect is known."""
        return ""

    def focus_first(self) -> None:
        self.setFocus()

    def say(self, reason: str) -> None:
        self.reason.say(reason)

    def column_box(self, column: str) -> ColumnBox:
        box = ColumnBox(self.names, column)
        box.setFixedWidth(EMS * theme.current().line_height())
        box.chosen.connect(lambda _: self.changed.emit())
        return box

    def columns_choice(self, name: str, columns: Sequence[str] = ()) -> ColumnsChoice:
        """A field to choose columns; `columns` are checked at first."""
        choice = ColumnsChoice(name, list(self.types))
        choice.choose(columns)
        choice.changed.connect(self.changed)
        return choice

    def line_edit(self, name: str, hint: str = "", text: str = "") -> QLineEdit:
        edit = QLineEdit(text, placeholderText=hint, accessibleName=name)
        edit.textEdited.connect(lambda _: self.changed.emit())
        return edit

    def choice(self, name: str, labels: Sequence[str], editable: bool = False) -> QComboBox:
        box = QComboBox(accessibleName=name, editable=editable)
        box.addItems(list(labels))
        box.currentTextChanged.connect(lambda _: self.changed.emit())
        return box

    def switch(self, text: str, on: bool = False, tip: str = "") -> QCheckBox:
        box = QCheckBox(text, toolTip=tip)
        box.setChecked(on)
        box.toggled.connect(lambda _: self.changed.emit())
        return box

    def lay_out(self, *rows: tuple[str, QWidget | QHBoxLayout]) -> QFormLayout:
        form = QFormLayout(self, horizontalSpacing=theme.L, verticalSpacing=theme.S)
        form.setContentsMargins(0, 0, 0, 0)
        for label, field in rows:
            form.addRow(form_label(label), field)
        form.addRow(self.reason)
        return form

    def is_column(self, box: ColumnBox) -> bool:
        is_known = box.text() in self.types
        theme.variant(box, "" if is_known or not box.text() else "invalid")
        if not is_known:
            self.say(f"There is no column '{visible(box.text())}'." if box.text() else "")
        return is_known


def form_label(text: str) -> QLabel:
    """A label as wide as those of the other forms, so that fields are aligned."""
    label = QLabel(text)
    theme.variant(label, "muted")
    label.setMinimumWidth(theme.current().px(LABEL_WIDTH))
    label.setMinimumHeight(theme.current().line_height() + theme.S)
    return label


def beside(*widgets: QWidget, stretch: bool = True) -> QHBoxLayout:
    layout = QHBoxLayout()
    layout.setSpacing(theme.S)
    for widget in widgets:
        layout.addWidget(widget)
    if stretch:
        layout.addStretch(1)
    return layout


class LinesForm(ActForm):
    """A form with one line for each column, and at least one line."""

    def __init__(self, types: Types, parent: QWidget | None = None) -> None:
        super().__init__(types, parent)
        self.add = QPushButton("+ Another column")
        theme.variant(self.add, "link")
        self._rows = FieldRows(self.add, lambda: self.line(""), never_empty=True)
        self._rows.changed.connect(self.changed)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.XS)
        layout.addWidget(self._rows)
        layout.addLayout(beside(self.add))
        layout.addWidget(self.reason)

    def line(self, column: str) -> FieldRow:
        """Add a line for this column."""
        raise NotImplementedError

    @property
    def lines(self) -> list[Any]:
        return self._rows.rows

    def add_line(self, column: str) -> Any:
        line = self._rows.append(self.line(column))
        self.changed.emit()
        return line


class UpdateForm(LinesForm):
    """Sets values: one line for each column, or field inside a struct."""

    def __init__(self, types: Types, column: str, parent: QWidget | None = None) -> None:
        super().__init__(types, parent)
        self._paths = paths_of(types)
        self.names.setStringList(list(self._paths))
        self.add_line(column)

    def line(self, column: str) -> AssignmentLine:
        return AssignmentLine(self.names, self._paths, self.types, column)

    def act(self) -> Act | None:
        answers = [line.answer() for line in self.lines if line.column.text() or len(self.lines) == 1]
        values = [answer for answer in answers if answer is not None]
        if len(values) < len(answers) or not values:
            self.say("")
            return None
        try:
            update = update_of(values)
        except LamellaError as error:
            self.say(str(error))
            return None
        self.say("")
        return update

    def focus_first(self) -> None:
        line = self.lines[-1]
        (line.field if line.column.text() in self._paths else line.column).setFocus()


class CastForm(ActForm):
    def __init__(self, types: Types, column: str, parent: QWidget | None = None) -> None:
        super().__init__(types, parent)
        self.column = self.column_box(column)
        self.type = self.choice("Type", TYPES, editable=True)
        self.on_error = self.choice("Invalid values", [label for label, _ in NULLS_OR_NOT])
        self.lossy = self.switch("Allow loss of precision", tip="1.7 as a whole number is 1, a time its day")
        self.signs = {
            name: self.choice(name.capitalize(), [SIGNS.get(sign, sign) for sign in signs])
            for name, signs in READING_CHOICES.items()
        }
        self._reading = QWidget()
        labels = ("Decimal sign", "thousands", "dates")
        parts: list[QWidget] = []
        for label, box in zip(labels, self.signs.values(), strict=True):
            parts += [QLabel(label), box]
        line = beside(*parts)
        line.setContentsMargins(0, 0, 0, 0)
        self._reading.setLayout(line)
        self.lay_out(
            ("Column", beside(self.column, QLabel("to"), self.type)),
            ("Written with", self._reading),
            ("Invalid values", beside(self.on_error, self.lossy)),
        )

    def act(self) -> Act | None:
        if not self.is_column(self.column):
            return None
        name = self.column.text()
        is_text = kind_of(self.types[name]) is Kind.TEXT
        self._reading.setEnabled(is_text)
        try:
            type_ = type_named(self.type.currentText())
        except LamellaError as error:
            self.say(str(error))
            return None
        if type_.equals(self.types[name]):
            self.say(f"'{visible(name)}' is {type_text(type_)} already.")
            return None
        self.say("")
        types = {
            sign: READING_CHOICES[sign][box.currentIndex()] for sign, box in self.signs.items() if is_text
        }
        on_error = NULLS_OR_NOT[self.on_error.currentIndex()][1]
        return CastColumn(name, self.type.currentText(), self.lossy.isChecked(), on_error, **types)

    def focus_first(self) -> None:
        self.type.setFocus()


class SplitForm(ActForm):
    def __init__(self, types: Types, column: str, parent: QWidget | None = None) -> None:
        super().__init__(types, parent)
        self.column = self.column_box(column)
        self.by = self.line_edit("At", text=" ")
        self.by.setMaximumWidth(EMS * theme.current().line_height() // 2)
        self.regex = self.switch("Regular expression")
        self.into = self.line_edit("Into", "first, last")
        self.keep = self.switch("Keep the column", on=True)
        self.lay_out(
            ("Column", beside(self.column, QLabel("at"), self.by, self.regex)),
            ("Into columns", self.into),
            ("", self.keep),
        )

    def act(self) -> Act | None:
        names = [name.strip() for name in self.into.text().split(",") if name.strip()]
        if not self.is_column(self.column) or not names:
            return None
        self.say("" if len(names) > 1 else "Name at least two columns, separated by commas.")
        if len(names) < 2:
            return None
        return Split(self.column.text(), names, self.by.text(), self.regex.isChecked(), self.keep.isChecked())

    def focus_first(self) -> None:
        self.into.setFocus()


class MergeForm(ActForm):
    def __init__(self, types: Types, columns: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__(types, parent)
        self.columns = self.columns_choice("Columns", columns)
        self.between = self.line_edit("Between", text=" ")
        self.between.setMaximumWidth(EMS * theme.current().line_height() // 2)
        self.into = self.line_edit("Into", "name of the new column")
        self.keep = self.switch("Keep the columns", on=True)
        self.lay_out(
            ("Columns", beside(self.columns, QLabel("with"), self.between, QLabel("between"))),
            ("Into", self.into),
            ("", self.keep),
        )

    def act(self) -> Act | None:
        names, into = self.columns.names, self.into.text().strip()
        self.say("Choose at least two columns." if into and len(names) < 2 else "")
        if len(names) < 2 or not into:
            return None
        return Merge(names, into, self.between.text(), self.keep.isChecked())

    def focus_first(self) -> None:
        self.into.setFocus()


class RenameLine(FieldRow):
    def __init__(self, column: ColumnBox, name: QLineEdit, parent: QWidget | None = None) -> None:
        super().__init__("Remove this column", parent)
        self.column, self.name = column, name
        line = beside(column, QLabel("to"), name, self.remove, stretch=False)
        line.setContentsMargins(0, 0, 0, 0)
        self.setLayout(line)
        self.setFocusProxy(column)


class RenameForm(LinesForm):
    def __init__(self, types: Types, column: str, parent: QWidget | None = None) -> None:
        super().__init__(types, parent)
        self.add_line(column)

    def line(self, column: str) -> RenameLine:
        return RenameLine(self.column_box(column), self.line_edit("New name", "new name"))

    def act(self) -> Act | None:
        names = {}
        self.say("")
        for line in self.lines:
            column, name = line.column.text(), line.name.text().strip()
            if not column and not name:
                continue
            if not self.is_column(line.column) or not name:
                return None
            if column in names:
                self.say(f"'{visible(column)}' is renamed twice. Remove one of the lines.")
                return None
            names[column] = name
        return Rename(names) if names else None

    def focus_first(self) -> None:
        self.lines[0].name.setFocus()


class DuplicatesForm(ActForm):
    def __init__(self, types: Types, columns: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__(types, parent)
        self.columns = self.columns_choice("Columns", columns)
        self.keep = self.choice("Which to keep", [label for label, _ in ENDS])
        hint = QLabel("None: rows that are equal in all columns")
        theme.variant(hint, "muted")
        self.lay_out(("Alike in", beside(self.columns, hint)), ("Of these", beside(self.keep)))

    def act(self) -> Act | None:
        return DropDuplicates(self.columns.names or None, ENDS[self.keep.currentIndex()][1])

    def focus_first(self) -> None:
        self.columns.setFocus()


class DeleteForm(ActForm):
    def __init__(self, types: Types, parent: QWidget | None = None) -> None:
        super().__init__(types, parent)
        self.lay_out()

    def act(self) -> Act | None:
        return Delete()


class UpsertForm(ActForm):
    """Inserts or updates rows from another table of the store, or from a file."""

    def __init__(
        self, table: Table, types: Types, tables: Sequence[str], tasks: Tasks, parent: QWidget | None = None
    ) -> None:
        super().__init__(types, parent)
        self._table, self.tables, self._tasks = table, list(tables), tasks
        self.source = self.choice("Rows of", ["Choose a table or file", *map(visible, self.tables)])
        self.browse = QPushButton("File…")
        self.browse.clicked.connect(self._browse)
        self.options = QPushButton("Options…", toolTip="How the file is read")
        self.options.setEnabled(False)
        self.options.clicked.connect(self._ask_reading)
        self.source.currentIndexChanged.connect(lambda _: self.options.setEnabled(self._is_file))
        self._file: FileRows | None = None
        self.columns = self.columns_choice("Key")
        self.keep = self.choice("Duplicate keys", [label for label, _ in TWICE])
        self.lay_out(
            ("Rows of", beside(self.source, self.browse, self.options)),
            ("Key", beside(self.columns)),
            ("Duplicate keys", beside(self.keep)),
        )

    def act(self) -> Act | None:
        data, names = self._data(), self.columns.names
        self.say("Choose the key columns that identify rows." if data is not None and not names else "")
        if data is None or not names:
            return None
        return Upsert(data, names, TWICE[self.keep.currentIndex()][1])

    @property
    def remark(self) -> str:
        problems = self._file.problems if self._file is not None and self._is_file else ()
        return f"In the file: {problem_counts(problems)}." if problems else ""

    def use_file(self, path: Path, reading: FileReading | None = None) -> None:
        """Take the rows from a file. `reading` is how the user chose to read it; otherwise it is detected."""
        self._file = FileRows(path, reading)
        if self.source.count() == len(self.tables) + 1:
            self.source.addItem("")
        self.source.setItemText(self.source.count() - 1, visible(path.name))
        self.source.setCurrentIndex(self.source.count() - 1)
        self.changed.emit()

    def focus_first(self) -> None:
        self.source.setFocus()

    @property
    def _is_file(self) -> bool:
        return self.source.currentIndex() > len(self.tables)

    def _data(self) -> Callable[[], Any] | None:
        place = self.source.currentIndex()
        if place <= 0:
            return None
        if self._is_file:
            return self._file
        return TableRows(self._table, self.tables[place - 1])

    def _browse(self) -> None:
        ask_file(self, "Rows of a file", self.use_file)

    def _ask_reading(self) -> None:
        from lamella.ui.dialogs.file_import import ReadingDialog

        if self._file is None:
            return
        path, reading = self._file.path, self._file.reading or FileReading()
        dialog = ReadingDialog(path, None, reading, self._tasks, self, remembered=False)
        dialog.chosen.connect(lambda reading: self.use_file(path, reading))
        dialog.open()


class FileRows:
    """The rows of a file, read on a worker when called. Lines that cannot be read are refused; if the user
    chose how to read the file, they are collected in `problems`."""

    def __init__(self, path: Path, reading: FileReading | None = None) -> None:
        self.path, self.reading = path, reading
        self.problems: Sequence[Problem] = ()

    def __call__(self) -> pa.Table:
        from lamella.core.datasets import open_dataset

        reading = self.reading
        dataset = open_dataset(self.path) if reading is None else reading.open(str(self.path), None, Job())
        rows = dataset.read([name for name in dataset.schema.names if name != ID])
        self.problems = problems_of(dataset)
        return rows


class TableRows:
    def __init__(self, table: Table, name: str) -> None:
        self._table, self._name = table, name

    def __call__(self) -> pa.Table:
        source = self._table.store[self._name]
        return source.read([name for name in source.schema.names if name != ID])


Forms = Mapping[str, Callable[[], ActForm]]


def forms(
    table: Table, types: Types, column: str, columns: Sequence[str], tables: Sequence[str], tasks: Tasks
) -> Forms:
    """Functions that make the form of each kind of act, by its id. `tables` are the other tables of the
    store."""
    return {
        "update": lambda: UpdateForm(types, column),
        "cast": lambda: CastForm(types, column),
        "split": lambda: SplitForm(types, column),
        "merge": lambda: MergeForm(types, columns),
        "rename": lambda: RenameForm(types, column),
        "drop_duplicates": lambda: DuplicatesForm(types, columns),
        "delete": lambda: DeleteForm(types),
        "upsert": lambda: UpsertForm(table, types, tables, tasks),
    }
