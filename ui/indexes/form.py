"""The form of a new index: its kind, its columns, and the language and weights of a full-text index."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from lamella.core.arrow.types import ID
from lamella.core.errors import visible
from lamella.core.index.fulltext.open_parts import is_text
from lamella.core.index.fulltext.part import ENGLISH, LANGUAGES
from lamella.core.index.planning import SHARE, finds_few_rows
from lamella.core.index.sorted_index import can_be_ordered
from lamella.core.jobs import Job
from lamella.core.store.indexes import TableIndex
from lamella.core.store.table import Table
from lamella.ui import theme
from lamella.ui.filters.word_index import FULLTEXT, rough_size, rough_time
from lamella.ui.tasks import Tasks
from lamella.ui.widgets.controls import DecimalBox, ElidedLabel, FieldForm
from lamella.ui.widgets.popover import ColumnsChoice

SORTED_KIND = "sorted"
MOST_WEIGHT = 100.0
MOST_WEIGHED, A_LINE = 12, 2
"""Up to this many columns have fields for their weights, and so many of these stand side by side."""
SAME_WEIGHTS = f"All columns count the same: weights are for at most {MOST_WEIGHED} columns"
DUPLICATE = "This index already exists"
AS_THEY_ARE = "Words as written"
FEW_VALUES = (
    f"This column has few different values. A filter by any of them finds more than 1 row in {SHARE}, "
    "and reads all rows instead of using an index"
)


@dataclass(frozen=True)
class NewIndex:
    kind: str
    columns: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)


class IndexForm(QFrame):
    """`wanted` carries the index to build."""

    wanted = Signal(NewIndex)
    closed = Signal()

    def __init__(self, table: Table, tasks: Tasks, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        theme.variant(self, "card")
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self._table, self._tasks = table, tasks
        self._taken_keys: set[tuple[str, tuple[str, ...]]] = set()
        schema = table.schema
        own = [column for column in schema if column.name != ID]
        self._sortable = [column.name for column in own if can_be_ordered(column.type)]
        self._texts = [column.name for column in own if is_text(column.type)]
        self._weights: dict[str, DecimalBox] = {}
        self._make()
        self._lay_out()
        self._connect()
        self._change_kind()

    @property
    def index(self) -> NewIndex:
        """The index as it is currently chosen."""
        if self.kind.currentData() == SORTED_KIND:
            return NewIndex(SORTED_KIND, tuple(filter(None, (self.column.currentData(),))))
        names = tuple(self.texts.names)
        language = self.language.currentData()
        weights = {name: box.value() for name, box in self._weights.items() if name in names}
        options: dict[str, Any] = {"language": language}
        if any(weight != 1 for weight in weights.values()):
            options["weights"] = weights
        return NewIndex(FULLTEXT, names, options)

    def begin(self, kind: str, column: str = "") -> None:
        """Start with this kind and column, if the table allows them."""
        self.kind.setCurrentIndex(self.kind.findData(kind))
        without = [name for name in self._sortable if (SORTED_KIND, (name,)) not in self._taken_keys]
        if column in without:
            self.column.setCurrentIndex(self.column.findData(column))
        elif without and self.column.currentData() not in without:
            self.column.setCurrentIndex(self.column.findData(without[0]))
        if column in self._texts:
            self.texts.choose([column])
        (self.column if kind == SORTED_KIND else self.texts).setFocus()

    def show_taken(self, indexes: Sequence[TableIndex]) -> None:
        """Set the indexes that already exist."""
        self._taken_keys = {(index.kind, index.columns) for index in indexes}
        self._check()

    def _make(self) -> None:
        self.kind = QComboBox()
        self.kind.setAccessibleName("Kind")
        self.kind.addItem("Sorted: finds values, ranges and the start of texts", SORTED_KIND)
        self.kind.addItem("Full text: finds words, the best rows first", FULLTEXT)
        self.column = QComboBox()
        self.column.setAccessibleName("Column")
        for name in self._sortable:
            self.column.addItem(visible(name), name)
        self.texts = ColumnsChoice("Columns of text", self._texts)
        self.texts.choose(self._texts[:1])
        self.language = QComboBox()
        self.language.setAccessibleName("Language")
        for language in sorted(LANGUAGES):
            self.language.addItem(language.capitalize(), language)
        self.language.addItem(AS_THEY_ARE, None)
        self.language.setCurrentIndex(self.language.findData(ENGLISH))
        self.weights = QWidget()
        self._weight_grid = QGridLayout(self.weights)
        self._weight_grid.setContentsMargins(0, 0, 0, 0)
        self._weight_grid.setSpacing(theme.S)
        for place in range(A_LINE):
            self._weight_grid.setColumnStretch(2 * place, 1)
        self.news = QLabel(wordWrap=True)
        theme.variant(self.news, "caption")
        self.build, self.cancel = QPushButton("Build the index"), QPushButton("Cancel")
        theme.variant(self.build, "primary")

    def _lay_out(self) -> None:
        self._form = FieldForm()
        self._form.setHorizontalSpacing(theme.L)
        self._form.setVerticalSpacing(theme.S)
        self._form.addRow("Kind", self.kind)
        self._form.addRow("Column", self.column)
        self._form.addRow("Columns", self.texts)
        self._form.addRow("Language", self.language)
        self._form.addRow("Weights", self.weights)
        buttons = QHBoxLayout()
        buttons.addWidget(self.news, 1)
        buttons.addWidget(self.cancel)
        buttons.addWidget(self.build)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.M, theme.M, theme.M, theme.M)
        layout.setSpacing(theme.M)
        layout.addLayout(self._form)
        layout.addLayout(buttons)

    def _connect(self) -> None:
        self.kind.currentIndexChanged.connect(lambda _: self._change_kind())
        self.column.currentIndexChanged.connect(lambda _: self._check())
        self.texts.changed.connect(self._change_texts)
        self.language.currentIndexChanged.connect(lambda _: self._check())
        self.build.clicked.connect(lambda: self.wanted.emit(self.index))
        self.cancel.clicked.connect(self.closed)

    def _change_kind(self) -> None:
        is_sorted = self.kind.currentData() == SORTED_KIND
        self._form.setRowVisible(self.column, is_sorted)
        for widget in (self.texts, self.language, self.weights):
            self._form.setRowVisible(widget, not is_sorted)
        self._change_texts()

    def _change_texts(self) -> None:
        """Make a field for each column's weight, if there are several columns but not too many."""
        names = self.texts.names
        weights = {name: box.value() for name, box in self._weights.items()}
        while (item := self._weight_grid.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.deleteLater()
        self._weights = {}
        if len(names) > MOST_WEIGHED:
            same = QLabel(SAME_WEIGHTS, wordWrap=True)
            theme.variant(same, "caption")
            self._weight_grid.addWidget(same, 0, 0, 1, 2 * A_LINE)
        for number, name in enumerate(names if 1 < len(names) <= MOST_WEIGHED else ()):
            box = DecimalBox(decimals=1, minimum=0.1, maximum=MOST_WEIGHT, singleStep=0.5)
            box.setValue(weights.get(name, 1.0))
            box.setAccessibleName(f"Weight of {visible(name)}")
            box.setToolTip("How much a word in this column counts, relative to the others")
            self._weights[name] = box
            line, place = divmod(number, A_LINE)
            self._weight_grid.addWidget(ElidedLabel(visible(name)), line, 2 * place)
            self._weight_grid.addWidget(box, line, 2 * place + 1)
        has_weights = self.kind.currentData() == FULLTEXT and len(names) > 1
        self._form.setRowVisible(self.weights, has_weights)
        self._check()

    def _check(self) -> None:
        index = self.index
        problem = ""
        if not index.columns:
            none = not (self._sortable if index.kind == SORTED_KIND else self._texts)
            problem = "No column can have this kind of index" if none else "Choose a column"
        elif (index.kind, index.columns) in self._taken_keys:
            problem = DUPLICATE
        theme.variant(self.news, "danger" if problem else "caption")
        self.news.setText(problem)
        self.build.setEnabled(not problem)
        if not problem and self.isVisible():
            self._estimate(self._cost_text if index.kind == FULLTEXT else self._use_text)

    def _estimate(self, text_of: Callable[[NewIndex, Job], str]) -> None:
        """Say what the index costs, or whether it would be used, once that is known."""
        index = self.index

        def show(text: str) -> None:
            if self.index == index and self.build.isEnabled():
                self.news.setText(text)

        self._tasks.read(partial(text_of, index), show, lambda error: show(""), owner=self, quiet=True)

    def _cost_text(self, index: NewIndex, job: Job) -> str:
        from lamella.core.index.fulltext.conditions import expected_cost

        cost = expected_cost(self._table.snapshot(), index.columns, job)
        return f"About {rough_size(cost.num_bytes)}, built in about {rough_time(cost.seconds)}"

    def _use_text(self, index: NewIndex, job: Job) -> str:
        snapshot = self._table.snapshot()
        return "" if finds_few_rows(snapshot, snapshot.column(index.columns[0])) else FEW_VALUES

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._check()
