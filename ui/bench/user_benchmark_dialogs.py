"""The dialogs that run a benchmark of the user's own table or file, with the estimate of what it needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from lamella.core.arrow.types import ID, type_text
from lamella.core.bench.engine.choice import Choice, Part, part_of
from lamella.core.bench.engine.costs import Costs, shipped_costs
from lamella.core.bench.registry import ENTRIES, FAMILIES, Entry
from lamella.core.bench.workloads.model import Workload
from lamella.core.bench.workloads.user_script import system_names
from lamella.core.bench.workloads.user_table import cannot_hold, compared_type
from lamella.core.bench.workloads.user_table_source import Source, change_words, user_table, words_of
from lamella.core.datasets.base import Dataset
from lamella.core.filters import Filter, from_json, sentence
from lamella.ui import theme
from lamella.ui.bench.benchmark_results import title_of
from lamella.ui.bench.caption import Caption, EstimateNote
from lamella.ui.dialogs.error_dialog import message
from lamella.ui.tasks import Handle, Tasks
from lamella.ui.widgets.controls import FieldForm, NumberBox

FIRST_CHOICE = ("lamella", "sqlite", "duckdb", "polars", "pyarrow")


class TableSystems(QScrollArea):
    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.boxes: dict[str, QCheckBox] = {}
        self.reasons: dict[str, Caption] = {}
        self._chosen_systems = {name for name in FIRST_CHOICE if not ENTRIES[name].missing}
        self._build()

    @property
    def selection(self) -> tuple[str, ...]:
        return tuple(name for name, box in self.boxes.items() if box.isChecked())

    def show_schema(self, schema: pa.Schema) -> None:
        """Offer the systems that can hold these columns; ticks are kept where possible."""
        for name, box in self.boxes.items():
            unfit = cannot_hold(name, schema, ())
            reason = ENTRIES[name].missing or unfit
            self.reasons[name].tell(f"{unfit}. Exclude these columns to measure it." if unfit else reason)
            box.blockSignals(True)
            box.setEnabled(not reason)
            box.setChecked(not reason and name in self._chosen_systems)
            box.blockSignals(False)
            box.setAccessibleDescription(reason)

    def _toggle(self, name: str, on: bool) -> None:
        self._chosen_systems = self._chosen_systems | {name} if on else self._chosen_systems - {name}
        self.changed.emit()

    def _build(self) -> None:
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        inner = QWidget()
        layout = QVBoxLayout(inner)
        layout.setContentsMargins(0, 0, theme.S, 0)
        layout.setSpacing(theme.XS)
        for name in FAMILIES["mine"].places:
            layout.addWidget(self._box(ENTRIES[name]))
            layout.addWidget(self.reasons[name])
        layout.addStretch(1)
        self.setWidget(inner)

    def _box(self, entry: Entry) -> QCheckBox:
        box = self.boxes[entry.id] = QCheckBox(entry.title)
        box.setChecked(entry.id in self._chosen_systems)
        box.toggled.connect(lambda on, name=entry.id: self._toggle(name, on))
        reason = self.reasons[entry.id] = Caption()
        reason.setContentsMargins(theme.XL, 0, 0, theme.XS)
        reason.hide()
        return box


MOST_REPEATS = 1000
NO_ORDER_NOTE = "Values of the type {type} cannot be compared, so they are not measured"


class UserTableDialog(QDialog):
    """Benchmarks a table. `benchmark_requested` carries the choice and closes the dialog. Rows are counted on
    a worker."""

    benchmark_requested = Signal(Choice)

    def __init__(
        self,
        dataset: Dataset,
        source: Source,
        tasks: Tasks,
        columns: Sequence[str] | None = None,
        where: Filter | None = None,
        costs: Callable[[], Costs] = shipped_costs,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._dataset, self._source, self._tasks, self._where = dataset, source, tasks, where
        self._workload: Workload | None = None
        self._reading: Handle | None = None
        self.setWindowTitle(f"Benchmark {dataset.name}")
        self.summary, self.rule, self.columns = QLabel(), Caption(), QListWidget(accessibleName="Columns")
        self.systems, self.note = TableSystems(), EstimateNote(tasks, costs)
        self.repeats = NumberBox(minimum=1, maximum=MOST_REPEATS, value=3, accessibleName="Repeats")
        self.start, self.cancel = QPushButton("Start"), QPushButton("Cancel")
        self._list_columns(dataset.schema, columns)
        self._build()
        self._connect()
        self._read()

    @property
    def choice(self) -> Choice | None:
        """The choice; None while the rows are counted, or while nothing is chosen."""
        if self._workload is None or not self.systems.selection:
            return None
        words = words_of(self._workload)
        part = Part(
            self._workload, self._workload.default_rows, self.systems.selection, self.repeats.value(), words
        )
        return Choice((part,))

    def reject(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
        super().reject()

    # --------------------------------------------------------------------- reading

    def _read(self) -> None:
        """Find out which benchmark these columns allow."""
        if self._reading is not None:
            self._reading.cancel()
        self._workload = None
        self.summary.setText("Counting the rows…")
        names = self._ticked_columns()
        dataset, source, where = self._dataset, self._source, self._where
        self._reading = self._tasks.read(
            lambda job: user_table(dataset, source, names, where, job),
            self._show,
            self._fail,
            owner=self,
            quiet=True,
        )
        self._tell()

    def _show(self, workload: Workload) -> None:
        self._reading, self._workload = None, workload
        options = workload.options
        rows, count = options["rows"], len(options["columns"])
        what = f"{rows:,} rows, {count:,} column" + ("" if count == 1 else "s")
        self.summary.setText(f"{options['name']}: {what}")
        self.rule.tell(_rule(options))
        schema = self._dataset.schema
        measured = pa.schema([(name, compared_type(schema.field(name).type)) for name in options["columns"]])
        self.systems.show_schema(measured)
        self._tell()

    def _fail(self, error: Exception) -> None:
        self._reading = None
        self.summary.setText("This cannot be measured")
        self.rule.tell(message(error))
        self._tell()

    def _tell(self) -> None:
        problem = "" if self.systems.selection or self._workload is None else "Choose at least one system."
        self.note.show_choice(self.choice, problem)
        self._offer()

    def _offer(self) -> None:
        self.start.setEnabled(self.choice is not None and not self.note.refusal)
        self.start.setToolTip(self.note.refusal or "Copy the rows, and measure every chosen system on them")

    def _start(self) -> None:
        choice = self.choice
        if choice is not None:
            self.benchmark_requested.emit(choice)
            self.accept()

    # --------------------------------------------------------------------- columns

    def _list_columns(self, schema: pa.Schema, names: Sequence[str] | None) -> None:
        for field in schema:
            if field.name == ID:
                continue
            item = QListWidgetItem(field.name, self.columns)
            ticked = names is None or field.name in names
            item.setFlags(Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsUserCheckable)
            item.setToolTip(f"{field.name}: {type_text(field.type)}")
            if compared_type(field.type) is None:
                ticked = False
                item.setFlags(Qt.ItemFlag.NoItemFlags)
                item.setToolTip(NO_ORDER_NOTE.format(type=field.type))
            item.setCheckState(Qt.CheckState.Checked if ticked else Qt.CheckState.Unchecked)

    def _ticked_columns(self) -> list[str]:
        items = map(self.columns.item, range(self.columns.count()))
        return [item.text() for item in items if item.checkState() == Qt.CheckState.Checked]

    # -------------------------------------------------------------------- building

    def _build(self) -> None:
        theme.variant(self.summary, "title")
        theme.variant(self.start, "primary")
        self.start.setDefault(True)
        self.columns.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        body = QHBoxLayout()
        body.setSpacing(theme.XL)
        body.addLayout(_titled_box("Columns", self.columns), 2)
        body.addLayout(_titled_box("Systems", self.systems), 3)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.L, theme.L, theme.L, theme.L)
        layout.setSpacing(theme.M)
        for widget in (self.summary, self.rule):
            layout.addWidget(widget)
        layout.addLayout(body, 1)
        layout.addWidget(self.note)
        layout.addLayout(self._bottom())
        line = theme.current().line_height()
        self.resize(44 * line, 38 * line)

    def _bottom(self) -> QHBoxLayout:
        bottom = QHBoxLayout()
        bottom.setSpacing(theme.S)
        label = QLabel("Repeats")
        label.setBuddy(self.repeats)
        bottom.addWidget(label)
        bottom.addWidget(self.repeats)
        bottom.addStretch(1)
        bottom.addWidget(self.cancel)
        bottom.addWidget(self.start)
        return bottom

    def _connect(self) -> None:
        self.columns.itemChanged.connect(lambda _: self._read())
        self.systems.changed.connect(self._tell)
        self.repeats.valueChanged.connect(lambda _: self._tell())
        self.note.changed.connect(self._offer)
        self.start.clicked.connect(self._start)
        self.cancel.clicked.connect(self.reject)


def _rule(options: Mapping[str, Any]) -> str:
    """The task of every system, in whole sentences."""
    where = f"Where {sentence(from_json(options['where']))}. " if options["where"] else "No filter. "
    does = "load, read and filter" if options["where"] else "load and read"
    words = change_words(options)
    return f"{where}Every system has to {does} the rows; {words}."


def _titled_box(title: str, widget: QWidget) -> QVBoxLayout:
    heading = QLabel(title)
    theme.variant(heading, "heading")
    layout = QVBoxLayout()
    layout.setSpacing(theme.S)
    layout.addWidget(heading)
    layout.addWidget(widget, 1)
    return layout


class UserScriptDialog(QDialog):
    """Benchmarks a file. `benchmark_requested` carries the choice and closes the dialog."""

    benchmark_requested = Signal(Choice)

    def __init__(
        self,
        workload: Workload,
        tasks: Tasks,
        costs: Callable[[], Costs] = shipped_costs,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._workload = workload
        self.setWindowTitle(f"Benchmark {workload.title}")
        self.systems = {name: QCheckBox(title_of(name), checked=True) for name in system_names(workload)}
        self.rows = QLineEdit(", ".join(f"{rows}" for rows in workload.default_rows), accessibleName="Rows")
        self.repeats = NumberBox(
            minimum=1, maximum=MOST_REPEATS, value=workload.default_repeats, accessibleName="Repeats"
        )
        self.note = EstimateNote(tasks, costs)
        self.start, self.cancel = QPushButton("Start"), QPushButton("Cancel")
        self._build()
        self._connect()
        self._tell()

    @property
    def problem(self) -> str:
        """What is missing or wrong; empty if nothing is."""
        if self._sizes() is None:
            return "Rows are whole numbers of at least 1, separated by commas."
        return "" if self._selection() else "Choose at least one system."

    @property
    def choice(self) -> Choice | None:
        if self.problem:
            return None
        part = part_of(self._workload, self._selection(), self._sizes(), self.repeats.value())
        return Choice((part,))

    def _selection(self) -> list[str]:
        return [name for name, box in self.systems.items() if box.isChecked()]

    def _sizes(self) -> list[int] | None:
        words = [word.strip().replace("_", "") for word in self.rows.text().split(",") if word.strip()]
        if not words or not all(word.isdecimal() and int(word) for word in words):
            return None
        return sorted({int(word) for word in words})

    def _tell(self) -> None:
        theme.variant(self.rows, "" if self._sizes() else "invalid")
        self.note.show_choice(self.choice, self.problem)
        self._offer()

    def _offer(self) -> None:
        problem = self.problem or self.note.refusal
        self.start.setEnabled(not problem)
        self.start.setToolTip(problem or "Run every chosen system of the file, each in its own processes")

    def _start(self) -> None:
        choice = self.choice
        if choice is not None:
            self.benchmark_requested.emit(choice)
            self.accept()

    def _build(self) -> None:
        title, about, where = QLabel(self._workload.title), Caption(), Caption()
        theme.variant(title, "title")
        about.tell(self._workload.about)
        where.tell(self._workload.id)
        theme.variant(self.start, "primary")
        self.start.setDefault(True)
        boxes = QVBoxLayout()
        boxes.setSpacing(theme.XS)
        for box in self.systems.values():
            boxes.addWidget(box)
        form = FieldForm()
        form.setHorizontalSpacing(theme.L)
        form.setVerticalSpacing(theme.M)
        form.addRow("Systems", boxes)
        form.addRow("Rows", self.rows)
        form.addRow("Repeats", self.repeats)
        buttons = QHBoxLayout()
        buttons.addStretch(1)
        buttons.addWidget(self.cancel)
        buttons.addWidget(self.start)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.L, theme.L, theme.L, theme.L)
        layout.setSpacing(theme.M)
        for widget in (title, about, where):
            layout.addWidget(widget)
        layout.addLayout(form)
        layout.addWidget(self.note)
        layout.addLayout(buttons)
        self.setMinimumWidth(26 * theme.current().line_height())

    def _connect(self) -> None:
        for box in self.systems.values():
            box.toggled.connect(lambda _: self._tell())
        self.rows.textChanged.connect(lambda _: self._tell())
        self.repeats.valueChanged.connect(lambda _: self._tell())
        self.note.changed.connect(self._offer)
        self.start.clicked.connect(self._start)
        self.cancel.clicked.connect(self.reject)
