"""The forms of steps that combine many rows into one: groups, pivots and ranges."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QLineEdit, QToolButton, QWidget

from lamella.core.arrow.types import ID, type_text
from lamella.core.errors import visible
from lamella.core.filters.kinds import COUNTED_KINDS, NUMBERS, Kind, kind_of
from lamella.core.query.expressions import ColumnReference
from lamella.core.query.functions.aggregates import AGGREGATES
from lamella.core.query.steps import Aggregate, Aggregates, Buckets, Group, Pivot
from lamella.ui import theme
from lamella.ui.filters.value_fields import ColumnBox
from lamella.ui.steps.editors import (
    ColumnChips,
    StepContext,
    StepEditor,
    column,
    expression_words,
    heading,
    line_of,
    number_field,
    word,
    yielding,
)
from lamella.ui.widgets.controls import FieldRow, FieldRows

COUNT = "count"
FUNCTIONS = ("count", "sum", "avg", "median", "min", "max", "count_distinct")
"""The common functions, which come first; the others follow."""

RANGES = 20
Figures = Aggregates


def aggregate_name(aggregate: Aggregate) -> str:
    """The default name of an aggregate: "n", "mean(dep_delay)"."""
    if aggregate.value is None:
        return "n"
    function = {"avg": "mean", "count_distinct": "distinct"}.get(aggregate.function, aggregate.function)
    return f"{function}({expression_words(aggregate.value)})"


class FigureRow(FieldRow):
    """One aggregate: its function, its column and its name."""

    def __init__(
        self, editor: StepEditor, name: str, aggregate: Aggregate, parent: QWidget | None = None
    ) -> None:
        super().__init__("Remove this figure", parent)
        self._types, self._aggregate = editor.types, aggregate
        line = theme.current().line_height()
        self.function = QComboBox(accessibleName="Function")
        for each in [*FUNCTIONS, *(function for function in AGGREGATES if function not in FUNCTIONS)]:
            if each != "quantile" or aggregate.function == "quantile":
                self.function.addItem(AGGREGATES[each].label, each)
        self.function.setMaxVisibleItems(self.function.count())
        self.function.setCurrentIndex(self.function.findData(aggregate.function))
        value = aggregate.value
        self.column = ColumnBox(editor.names, value.name if isinstance(value, ColumnReference) else "")
        self.column.setPlaceholderText("all rows")
        if value is not None and not isinstance(value, ColumnReference):
            self.column.setText(expression_words(value))
            self.column.setReadOnly(True)
        self.name = QLineEdit(accessibleName="Name of the figure")
        self._has_own_name = name != aggregate_name(aggregate)
        self.name.setText(name)
        fields = (self.function, self.column, self.name)
        yielding(self.function)
        yielding(self.column, 11 * line)
        yielding(self.name, 11 * line)
        parts = (self.function, word("of"), self.column, word("as"), self.name, self.remove)
        self.setLayout(line_of(*parts, fields=fields))
        self.setFocusProxy(self.column)
        self.function.activated.connect(self._take_function)
        self.column.chosen.connect(self._take)
        self.name.textEdited.connect(self._take_name)

    @property
    def aggregate(self) -> Aggregate:
        function, text = self.function.currentData(), self.column.text()
        value = self._aggregate.value if self.column.isReadOnly() else ColumnReference(text) if text else None
        parameter = self._aggregate.parameter if function == "quantile" else None
        return Aggregate(function, value, self._aggregate.where, parameter)

    @property
    def problem(self) -> str:
        aggregate, text = self.aggregate, self.column.text()
        function = AGGREGATES[aggregate.function]
        if aggregate.value is None:
            return f"'{function.label}' needs a column." if function.needs_value else ""
        if self.column.isReadOnly():
            return ""
        if text not in self._types:
            return f"There is no column '{visible(text)}'."
        if not function.fits(self._types[text]):
            return f"'{function.label}' takes {function.takes}, and {visible(text)} is {self._types[text]}."
        return "" if self.name.text().strip() else "Give the figure a name."

    def _take_function(self) -> None:
        """Preselect a column that fits, if the function needs one; typing replaces it."""
        function = AGGREGATES[self.function.currentData()]
        if function.needs_value and not self.column.text():
            fitting = (name for name, kind in self._types.items() if name != ID and function.fits(kind))
            self.column.setText(next(fitting, ""))
            self.column.setFocus()
        self._take()

    def _take(self) -> None:
        if not self._has_own_name:
            self.name.setText(aggregate_name(self.aggregate))
        self.changed.emit()

    def _take_name(self) -> None:
        self._has_own_name = bool(self.name.text().strip())
        self.changed.emit()


class FigureRows(QWidget):
    """A list of aggregates."""

    changed = Signal()

    def __init__(self, editor: StepEditor, figures: Figures, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._editor = editor
        self.add = QToolButton(text="+ Figure")
        self._list = FieldRows(self.add, self._new)
        self._list.changed.connect(self.changed)
        layout = column(self)
        layout.addWidget(self._list)
        layout.addLayout(line_of(self.add))
        for name, aggregate in figures:
            self._list.append(FigureRow(editor, name, aggregate))

    @property
    def rows(self) -> list[FigureRow]:
        return self._list.rows

    @property
    def figures(self) -> Figures:
        return tuple((row.name.text().strip(), row.aggregate) for row in self.rows)

    @property
    def problem(self) -> str:
        problem = next((row.problem for row in self.rows if row.problem), "")
        names = [row.name.text().strip() for row in self.rows]
        twice = next((name for name in names if names.count(name) > 1), "")
        return problem or (f"Two figures have the name '{visible(twice)}'." if twice else "")

    def _new(self) -> FigureRow:
        """A new aggregate, of the first column of numbers that has none yet."""
        types, used = self._editor.types, {row.column.text() for row in self.rows}
        numbers = [
            name
            for name, kind in types.items()
            if kind_of(kind) in NUMBERS and name != ID and name not in used
        ]
        aggregate = Aggregate("avg", ColumnReference(numbers[0])) if numbers else Aggregate(COUNT)
        return FigureRow(self._editor, aggregate_name(aggregate), aggregate)


COUNT_ROWS: Figures = (("n", Aggregate(COUNT)),)


def count_beside(keys: Sequence[str]) -> Figures:
    """The number of rows, under a name that differs from these columns, ignoring case."""
    used, numbers = {key.casefold() for key in keys}, (f"n_{number}" for number in itertools.count(2))
    name = next(name for name in itertools.chain(["n", "count"], numbers) if name not in used)
    return ((name, Aggregate(COUNT)),)


class GroupEditor(StepEditor):
    def __init__(self, context: StepContext, step: Group | None, parent: QWidget | None = None) -> None:
        super().__init__(context, parent)
        self._having = step.having if step else None
        self.keys = ColumnChips(self.names, step.keys if step else (), "Group by")
        self.figures = FigureRows(self, step.aggregates if step else COUNT_ROWS)
        self.totals, self.subtotals = QCheckBox("Totals row"), QCheckBox("As a tree")
        self.totals.setToolTip("The aggregates of all rows, below the groups")
        self.totals.setChecked(step is not None and step.totals)
        self.subtotals.setChecked(step is not None and step.subtotals)
        layout = column(self)
        for widget in (heading("Group by"), self.keys, heading("Calculate"), self.figures):
            layout.addWidget(widget)
        boxes = line_of(self.totals, self.subtotals)
        boxes.insertSpacing(1, theme.M)
        layout.addLayout(boxes)
        layout.addWidget(self.reason)
        self._offer()
        self.keys.changed.connect(self._take_keys)
        self.figures.changed.connect(self._take_figures)
        for box in (self.totals, self.subtotals):
            box.clicked.connect(self.tell)

    def _take_keys(self) -> None:
        """Rename the row count if a key column has the same name."""
        if self.figures.figures == COUNT_ROWS:
            self.figures.rows[0].name.setText(count_beside(self.keys.columns)[0][0])
        self._take_figures()

    def _take_figures(self) -> None:
        self._offer()
        self.tell()

    def _offer(self) -> None:
        """Offer totals if there are a key and an aggregate, and a tree if there is a key."""
        self.totals.setEnabled(bool(self.keys.columns and self.figures.rows))
        self.subtotals.setEnabled(bool(self.keys.columns))
        self.subtotals.setToolTip("Groups expand in place into subgroups, and subgroups into rows")

    def step(self) -> Group | None:
        keys, figures = tuple(self.keys.columns), self.figures.figures
        clash = next((name for name, _ in figures if name in keys), "")
        problem = self.figures.problem or (f"'{visible(clash)}' is a column already." if clash else "")
        self.say(problem)
        if problem or not (keys or figures):
            return None
        if not keys and figures == COUNT_ROWS:
            return None
        beside = (box.isChecked() and box.isEnabled() for box in (self.totals, self.subtotals))
        return Group(keys, figures, self._having, *beside)

    def focus_first(self) -> None:
        self.keys.add.setFocus()


class PivotEditor(StepEditor):
    def __init__(self, context: StepContext, step: Pivot | None, parent: QWidget | None = None) -> None:
        super().__init__(context, parent)
        self._values = step.values if step else None
        self.keys = ColumnChips(self.names, step.keys if step else (), "Rows")
        self.across = ColumnBox(self.names, step.column if step else "")
        self.across.setFixedWidth(12 * theme.current().line_height())
        self.figures = FigureRows(self, step.aggregates if step else COUNT_ROWS)
        layout = column(self)
        widget: QWidget
        for widget in (heading("One row for each"), self.keys, heading("One column for each value of")):
            layout.addWidget(widget)
        layout.addWidget(self.across, 0, Qt.AlignmentFlag.AlignLeft)
        for widget in (heading("Calculate"), self.figures, self.reason):
            layout.addWidget(widget)
        for part in (self.keys, self.figures):
            part.changed.connect(self.tell)
        self.across.chosen.connect(self._take_column)

    def step(self) -> Pivot | None:
        across = self.across.text()
        missing = f"There is no column '{visible(across)}'." if across and across not in self.types else ""
        problem = self.figures.problem or missing
        self.say(problem)
        if problem or not across or not self.figures.rows:
            return None
        return Pivot(tuple(self.keys.columns), across, self.figures.figures, self._values)

    def focus_first(self) -> None:
        self.keys.add.setFocus()

    def _take_column(self) -> None:
        self._values = None
        self.tell()


class BucketsEditor(StepEditor):
    def __init__(self, context: StepContext, step: Buckets | None, parent: QWidget | None = None) -> None:
        super().__init__(context, parent)
        self._edges = None if step is None or isinstance(step.edges, int) else step.edges
        self.column = ColumnBox(self.names, step.column if step else "")
        yielding(self.column, 12 * theme.current().line_height())
        self.count = number_field("Ranges", RANGES, least=1, most=10_000)
        if step is not None and isinstance(step.edges, int):
            self.count.setValue(step.edges)
        self.count.setEnabled(self._edges is None)
        self.figures = FigureRows(self, step.aggregates if step else COUNT_ROWS)
        layout = column(self)
        layout.addLayout(line_of(self.column, word("in"), self.count, word("ranges of equal width")))
        for widget in (heading("Calculate"), self.figures, self.reason):
            layout.addWidget(widget)
        self.column.chosen.connect(self._take_column)
        self.count.valueChanged.connect(self.tell)
        self.figures.changed.connect(self.tell)

    def step(self) -> Buckets | None:
        name = self.column.text()
        kind = self.types.get(name)
        reason = "" if not name or kind is not None else f"There is no column '{visible(name)}'."
        if kind is not None and kind_of(kind) not in NUMBERS | COUNTED_KINDS | {
            Kind.DATE,
            Kind.TIMESTAMP,
            Kind.TIME,
        }:
            reason = f"{visible(name)} is {type_text(kind)}: ranges are of numbers and times."
        problem = reason or self.figures.problem
        self.say(problem)
        if problem or not name or not self.figures.rows:
            return None
        return Buckets(name, self.count.value() if self._edges is None else self._edges, self.figures.figures)

    def focus_first(self) -> None:
        self.column.setFocus()

    def _take_column(self) -> None:
        self._edges = None
        self.count.setEnabled(True)
        self.tell()
