"""The forms that edit steps: each makes one step of the choices in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from PySide6.QtCore import QStringListModel, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QCheckBox,
    QComboBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QPlainTextEdit,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from lamella.core.arrow.types import ID
from lamella.core.errors import LamellaError, visible
from lamella.core.filters.kinds import Kind, kind_of
from lamella.core.jobs import Job
from lamella.core.query.builder import Query
from lamella.core.query.expressions import Expression
from lamella.core.query.source import Source
from lamella.core.query.steps import (
    Compute,
    Limit,
    Pipeline,
    Sample,
    Select,
    Sort,
    Sql,
    Step,
    Unpivot,
    Unwind,
)
from lamella.core.scan.snapshot import SortKey
from lamella.ui import theme
from lamella.ui.filters.value_fields import ColumnBox
from lamella.ui.tasks import Handle, Tasks
from lamella.ui.widgets.controls import (
    FieldRow,
    FieldRows,
    FlowLayout,
    NumberBox,
    Reason,
    fill_height,
)
from lamella.ui.widgets.field_buttons import add_clear_button

MOST = 2**31 - 1
UNWRITTEN = "…"


@dataclass(frozen=True)
class OtherSource:
    """A dataset to join with. `open` blocks, and reads the file if its tab `is_pending`."""

    open: Callable[[Job], Source]
    is_pending: bool = False


@dataclass(frozen=True)
class StepContext:
    """What an editor may need: the columns and steps before its own step, and the datasets to join, by
    name."""

    schema: pa.Schema
    tasks: Tasks
    source: Source
    other_sources: Callable[[], Mapping[str, OtherSource]] = dict
    draft: Any = None
    sources: Mapping[str, Source] = field(default_factory=dict)
    before: tuple[Step, ...] = ()

    @property
    def rows(self) -> Query:
        """The rows that the step gets."""
        pipeline = Pipeline(self.source.name, self.before)
        return Query({**self.sources, self.source.name: self.source}, pipeline)


class StepEditor(QWidget):
    """`changed` is emitted on every edit, `done` on Enter, and `import_requested` to import the file into a
    table of a store. If the choices do not make a step yet, the form says why."""

    changed = Signal()
    done = Signal()
    import_requested = Signal()

    def __init__(self, context: StepContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.context = context
        self.names = QStringListModel([name for name in context.schema.names if name != ID], self)
        self.reason = Reason()

    def step(self) -> Step | None:
        """The step, or None while something is missing or wrong."""
        raise NotImplementedError

    def draft(self) -> Any:
        """The state that the step does not include, as JSON."""
        return None

    def sources(self) -> Mapping[str, Source]:
        """The other datasets that the step names."""
        return {}

    def focus_first(self) -> None:
        self.setFocus()

    @property
    def types(self) -> Mapping[str, pa.DataType]:
        return dict(zip(self.context.schema.names, self.context.schema.types, strict=True))

    def say(self, reason: str) -> None:
        """Show why there is no step; empty if there is one."""
        self.reason.say(reason)

    def tell(self) -> None:
        self.changed.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.done.emit()
        else:
            super().keyPressEvent(event)


def column(inside: QWidget, *, margins: tuple[int, int, int, int] = (0, 0, 0, 0)) -> QVBoxLayout:
    layout = QVBoxLayout(inside)
    layout.setContentsMargins(*margins)
    layout.setSpacing(theme.S)
    return layout


def line_of(*widgets: QWidget | None, stretch: bool = True, fields: Sequence[QWidget] = ()) -> QHBoxLayout:
    """Widgets in a row; those in `fields` can be narrower than their size hints."""
    layout = QHBoxLayout()
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(theme.S)
    for widget in widgets:
        if widget is not None:
            layout.addWidget(widget, YIELDING if widget in fields else 0)
    if stretch:
        layout.addStretch(1)
    return layout


LEAST_EMS = 5


def yielding(widget: QLineEdit | QComboBox, most: int = 0) -> None:
    """Let a field shrink below its size hint, or below `most` pixels, if there is less room. Its layout has
    the stretch `YIELDING`."""
    if isinstance(widget, QComboBox):
        most = most or widget.sizeHint().width()
        widget.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        widget.setMinimumContentsLength(LEAST_EMS)
    widget.setMinimumWidth(min(most, LEAST_EMS * theme.current().line_height()))
    widget.setMaximumWidth(most)


YIELDING = 1000


def heading(text: str) -> QLabel:
    label = QLabel(text)
    theme.variant(label, "heading")
    return label


def word(text: str) -> QLabel:
    label = QLabel(text)
    theme.variant(label, "muted")
    return label


class ColumnChips(QWidget):
    """Columns in an order, each with a cross, and a field to add one."""

    changed = Signal()

    def __init__(
        self, names: QStringListModel, columns: Sequence[str], title: str, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.columns, self._names = list(columns), names
        self._flow = FlowLayout(theme.XS, self)
        self.add = ColumnBox(names, "")
        self.add.setPlaceholderText("+ Column")
        self.add.setAccessibleName(title)
        self.add.setFixedWidth(10 * theme.current().line_height())
        self.add.chosen.connect(self._take)
        self._show()

    def _take(self, name: str) -> None:
        if name in self._names.stringList() and name not in self.columns:
            self.columns.append(name)
            self.add.clear()
            self._show()
            self.changed.emit()

    def _remove(self, name: str) -> None:
        self.columns.remove(name)
        self._show()
        self.changed.emit()

    def _show(self) -> None:
        while item := self._flow.takeAt(0):
            if (widget := item.widget()) is not None and widget is not self.add:
                widget.hide()
                widget.deleteLater()
        for name in self.columns:
            button = QToolButton()
            theme.variant(button, "chip")
            says = visible(name) or "(no name)"
            button.setText(f"{says}  ✕")
            button.setToolTip(f"Remove {says}")
            button.setAccessibleName(f"Remove {says}")
            button.clicked.connect(lambda _=False, name=name: self._remove(name))
            self._flow.addWidget(button)
        self._flow.addWidget(self.add)
        self.updateGeometry()


LEAST_LISTED, MOST_LISTED = 3, 7
"""The minimum and maximum number of visible rows of a list of columns."""


class ColumnList(QWidget):
    """Columns to tick, with a search by part of their name; dragging changes their order."""

    changed = Signal()

    def __init__(self, names: Sequence[str], ticked: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.search = QLineEdit(placeholderText="Find a column", accessibleName="Find a column")
        add_clear_button(self.search)
        self.list = QListWidget(accessibleName="Columns")
        self.list.setDragDropMode(QAbstractItemView.DragDropMode.InternalMove)
        self.all_button, self.none_button = QToolButton(text="All"), QToolButton(text="None")
        first = set(ticked)
        for name in [*ticked, *(name for name in names if name not in first)]:
            item = QListWidgetItem(visible(name), self.list)
            item.setData(Qt.ItemDataRole.UserRole, name)
            item.setCheckState(Qt.CheckState.Checked if name in first else Qt.CheckState.Unchecked)
        rows = min(max(len(names), LEAST_LISTED), MOST_LISTED)
        line = max(1, self.list.sizeHintForRow(0))
        self.list.setSizeAdjustPolicy(QListWidget.SizeAdjustPolicy.AdjustToContents)
        self.list.setMinimumHeight(LEAST_LISTED * line + theme.S)
        self.list.setMaximumHeight(rows * line + theme.S)
        layout = column(self)
        layout.addLayout(line_of(self.search, self.all_button, self.none_button, stretch=False))
        layout.addWidget(self.list)
        self.search.textChanged.connect(self._show_matches)
        self.list.itemChanged.connect(lambda _: self.changed.emit())
        self.list.model().rowsMoved.connect(lambda *_: self.changed.emit())
        self.all_button.clicked.connect(lambda: self._tick(True))
        self.none_button.clicked.connect(lambda: self._tick(False))

    @property
    def ticked_columns(self) -> tuple[str, ...]:
        return tuple(
            item.data(Qt.ItemDataRole.UserRole)
            for item in self._items()
            if item.checkState() is Qt.CheckState.Checked
        )

    def _items(self) -> list[QListWidgetItem]:
        return [self.list.item(place) for place in range(self.list.count())]

    def _tick(self, on: bool) -> None:
        self.list.blockSignals(True)
        for item in self._items():
            if not item.isHidden():
                item.setCheckState(Qt.CheckState.Checked if on else Qt.CheckState.Unchecked)
        self.list.blockSignals(False)
        self.changed.emit()

    def _show_matches(self) -> None:
        words = self.search.text().strip().casefold()
        for item in self._items():
            item.setHidden(words not in item.data(Qt.ItemDataRole.UserRole).casefold())


# ------------------------------------------------------------------------------ computed columns


def expression_words(value: Expression) -> str:
    """The text of a computed value; "…" if it has none."""
    from lamella.core.query.expression_text import expression_text

    try:
        return expression_text(value)
    except LamellaError:
        return UNWRITTEN


class ComputeRow(FieldRow):
    def __init__(self, name: str = "", text: str = "", parent: QWidget | None = None) -> None:
        super().__init__("Remove this column", parent)
        self.name = QLineEdit(name, placeholderText="name", accessibleName="Name of the column")
        self.expression = QLineEdit(text, placeholderText="expression", accessibleName="Expression")
        self.name.setFixedWidth(10 * theme.current().line_height())
        fill_height(self.name, self.expression)
        self.expression.setFont(theme.current().mono_font())
        self.setLayout(line_of(self.name, word("="), self.expression, self.remove, stretch=False))
        self.setFocusProxy(self.name)
        for text_field in (self.name, self.expression):
            text_field.textEdited.connect(self.changed)


class ComputeEditor(StepEditor):
    """A name and an expression for each computed column."""

    def __init__(self, context: StepContext, step: Compute | None, parent: QWidget | None = None) -> None:
        super().__init__(context, parent)
        add = QToolButton(text="+ Column")
        self.lines = FieldRows(add, ComputeRow, never_empty=True)
        self.lines.changed.connect(self.tell)
        layout = column(self)
        layout.addWidget(self.lines)
        hint = word("Such as distance / air_time, round(delay / 60, 1), upper(name)")
        hint.setWordWrap(True)
        hint.setMinimumWidth(1)
        layout.addLayout(line_of(add, hint, stretch=False, fields=(hint,)))
        layout.addWidget(self.reason)
        from lamella.core.query.expression_text import parse_expression

        self._parse = parse_expression
        for name, value in step.values if step else ():
            text = expression_words(value)
            self.lines.append(ComputeRow(name, "" if text == UNWRITTEN else text))
        if not self.lines.rows:
            self.lines.append(ComputeRow())

    def step(self) -> Compute | None:
        values, reasons = [], []
        for row in self.lines.rows:
            name, text = row.name.text().strip(), row.expression.text()
            if not name and not text.strip():
                continue
            try:
                value = self._parse(text, self.types)
            except LamellaError as error:
                reasons.append(str(error) if text.strip() else "")
                continue
            if name:
                values.append((name, value))
            else:
                reasons.append("Give the column a name.")
        self.say(" ".join(filter(None, reasons)))
        return Compute(tuple(values)) if values and not reasons else None

    def focus_first(self) -> None:
        row = self.lines.rows[-1]
        (row.expression if row.name.text() else row.name).setFocus()


# ------------------------------------------------------------------------------ columns and rows


class SelectEditor(StepEditor):
    def __init__(self, context: StepContext, step: Select | None, parent: QWidget | None = None) -> None:
        super().__init__(context, parent)
        names = [name for name in context.schema.names if name != ID]
        self.list = ColumnList(names, step.columns if step else names)
        layout = column(self)
        layout.addWidget(self.list)
        layout.addWidget(self.reason)
        self.list.changed.connect(self.tell)

    def step(self) -> Select | None:
        ticked = self.list.ticked_columns
        self.say("" if ticked else "Tick at least one column.")
        return Select(ticked) if ticked else None

    def focus_first(self) -> None:
        self.list.search.setFocus()


class SortRow(FieldRow):
    def __init__(self, names: QStringListModel, key: SortKey, parent: QWidget | None = None) -> None:
        super().__init__("Remove this column", parent)
        self.column, self.order = ColumnBox(names, key.column), QComboBox(accessibleName="Order")
        self.order.addItems(["ascending", "descending"])
        self.order.setCurrentIndex(int(key.descending))
        self.column.setFixedWidth(12 * theme.current().line_height())
        self.setLayout(line_of(self.column, self.order, self.remove))
        self.setFocusProxy(self.column)
        self.column.chosen.connect(self.changed)
        self.order.activated.connect(self.changed)

    @property
    def key(self) -> SortKey:
        return SortKey(self.column.text(), self.order.currentIndex() == 1)


class SortEditor(StepEditor):
    def __init__(self, context: StepContext, step: Sort | None, parent: QWidget | None = None) -> None:
        super().__init__(context, parent)
        add = QToolButton(text="+ Column")
        self.keys = FieldRows(add, lambda: SortRow(self.names, SortKey("")), never_empty=True)
        self.keys.changed.connect(self.tell)
        layout = column(self)
        layout.addWidget(self.keys)
        layout.addLayout(line_of(add))
        layout.addWidget(self.reason)
        for key in step.keys if step else (SortKey(""),):
            self.keys.append(SortRow(self.names, key))

    def step(self) -> Sort | None:
        keys = tuple(row.key for row in self.keys.rows if row.key.column)
        unknown = [key.column for key in keys if key.column not in self.types]
        self.say(f"There is no column '{visible(unknown[0])}'." if unknown else "")
        return Sort(keys) if keys and not unknown else None

    def focus_first(self) -> None:
        self.keys.rows[0].setFocus()


class LimitEditor(StepEditor):
    def __init__(self, context: StepContext, step: Limit | None, parent: QWidget | None = None) -> None:
        super().__init__(context, parent)
        self.count, self.first = number_field("Rows", 100), number_field("First row", 1, least=1)
        if step is not None:
            self.count.setValue(MOST if step.count is None else min(step.count, MOST))
            self.first.setValue(step.offset + 1)
        layout = column(self)
        layout.addLayout(line_of(word("At most"), self.count, word("rows, from row"), self.first))
        for box in (self.count, self.first):
            box.valueChanged.connect(self.tell)

    def step(self) -> Limit:
        return Limit(self.count.value(), self.first.value() - 1)

    def focus_first(self) -> None:
        self.count.setFocus()
        self.count.selectAll()


class SqlEditor(StepEditor):
    """A SELECT that reads the rows before it, under the dataset's name."""

    def __init__(self, context: StepContext, step: Sql | None, parent: QWidget | None = None) -> None:
        super().__init__(context, parent)
        self._rows = step.rows if step else context.source.name
        self._other_sources, self._opened_sources = dict[str, Source](), dict[str, Source]()
        self._opening: Handle | None = None
        self.text = QPlainTextEdit(step.text if step else f'SELECT *\nFROM "{self._rows}"')
        self.text.setAccessibleName("SELECT")
        self.text.setFont(theme.current().mono_font())
        self.text.setFixedHeight(8 * theme.current().line_height())
        layout = column(self)
        layout.addWidget(word(f"The rows before this step are called '{visible(self._rows)}'."))
        layout.addWidget(self.text)
        layout.addWidget(self.reason)
        self.text.textChanged.connect(self.tell)

    def step(self) -> Sql | None:
        from lamella.core.query.sql.step import sql_step

        others, pending = self.context.other_sources(), dict[str, OtherSource]()

        def find(name: str) -> Source | None:
            source, other = self.context.sources.get(name) or self._opened_sources.get(name), others.get(name)
            if source is not None or other is None:
                return source
            if other.is_pending:
                pending[name] = other
                return self.context.source
            return other.open(Job())

        try:
            step, sources = sql_step(self.text.toPlainText(), self._rows, find)
        except LamellaError as error:
            self.say(str(error))
            return None
        if pending:
            self._open(pending)
            return None
        self._other_sources = sources
        self.say("")
        return step

    def _open(self, pending: Mapping[str, OtherSource]) -> None:
        """Open the files of pending tabs that the statement names; then it makes a step."""

        def work(job: Job) -> None:
            self._opened_sources.update({name: other.open(job) for name, other in pending.items()})

        if self._opening is not None:
            self._opening.cancel()
        self.say(f"Opening {', '.join(map(visible, pending))}…")
        self._opening = self.context.tasks.read(
            work, lambda _: self.tell(), lambda error: self.say(str(error)), owner=self, quiet=True
        )  # fmt: skip

    def sources(self) -> Mapping[str, Source]:
        return self._other_sources

    def focus_first(self) -> None:
        self.text.setFocus()


class SampleEditor(StepEditor):
    def __init__(self, context: StepContext, step: Sample | None, parent: QWidget | None = None) -> None:
        super().__init__(context, parent)
        self.count, self.seed = number_field("Rows", 1000), number_field("Seed", 0)
        if step is not None:
            self.count.setValue(step.count)
            self.seed.setValue(step.seed)
        layout = column(self)
        layout.addLayout(line_of(self.count, word("rows at random, with seed"), self.seed))
        for box in (self.count, self.seed):
            box.valueChanged.connect(self.tell)

    def step(self) -> Sample:
        return Sample(self.count.value(), self.seed.value())

    def focus_first(self) -> None:
        self.count.setFocus()
        self.count.selectAll()


def number_field(name: str, value: int, least: int = 0, most: int = MOST) -> NumberBox:
    box = NumberBox(minimum=least, maximum=most, value=value, accessibleName=name)
    box.setGroupSeparatorShown(True)
    box.setKeyboardTracking(True)
    box.setMinimumWidth(7 * theme.current().line_height())
    return box


class UnwindEditor(StepEditor):
    def __init__(self, context: StepContext, step: Unwind | None, parent: QWidget | None = None) -> None:
        super().__init__(context, parent)
        lists = [name for name, kind in self.types.items() if kind_of(kind) is Kind.LIST]
        self.column = QComboBox(accessibleName="Column of lists")
        self.column.addItems(lists)
        self.column.setPlaceholderText("no list here")
        self.column.setCurrentText(step.column if step else "")
        if step is None:
            self.column.setCurrentIndex(0 if lists else -1)
        yielding(self.column)
        self.keep = QCheckBox("Keep rows without items")
        self.keep.setChecked(bool(step and step.keep_empty))
        layout = column(self)
        layout.addLayout(line_of(word("One row for each item of"), self.column, self.keep))
        layout.addWidget(self.reason)
        self.column.activated.connect(self.tell)
        self.keep.toggled.connect(self.tell)

    def step(self) -> Unwind | None:
        name = self.column.currentText()
        self.say("" if name else "There is no column of lists.")
        return Unwind(name, self.keep.isChecked()) if name else None

    def focus_first(self) -> None:
        self.column.setFocus()


class UnpivotEditor(StepEditor):
    def __init__(self, context: StepContext, step: Unpivot | None, parent: QWidget | None = None) -> None:
        super().__init__(context, parent)
        names = [name for name in context.schema.names if name != ID]
        self.list = ColumnList(names, step.columns if step else ())
        self.name = QLineEdit(step.name if step else "name", accessibleName="Column for the names")
        self.value = QLineEdit(step.value if step else "value", accessibleName="Column for the values")
        fields = (self.name, self.value)
        for each in fields:
            yielding(each, 11 * theme.current().line_height())
        layout = column(self)
        layout.addWidget(word("Ticked columns become rows."))
        layout.addWidget(self.list)
        layout.addLayout(
            line_of(word("Names go into"), self.name, word("values into"), self.value, fields=fields)
        )
        layout.addWidget(self.reason)
        self.list.changed.connect(self.tell)
        for box in (self.name, self.value):
            box.textEdited.connect(self.tell)

    def step(self) -> Unpivot | None:
        ticked, name, value = self.list.ticked_columns, self.name.text().strip(), self.value.text().strip()
        self.say("" if ticked else "Tick the columns that become rows.")
        return Unpivot(ticked, name, value) if ticked and name and value else None

    def focus_first(self) -> None:
        self.list.search.setFocus()
