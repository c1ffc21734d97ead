"""The panel beside a chart: its type, its columns, how it is drawn, and the rows it is made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
from PySide6.QtCore import QSignalBlocker, QStringListModel, Qt, QTimer, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QButtonGroup,
    QCheckBox,
    QComboBox,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from lamella.core.errors import BadQuery, nearest, visible, with_full_stop
from lamella.core.phrases import sentence_case
from lamella.core.query.charts import ChartData, ChartSpec
from lamella.core.query.charts.dimensions import UNIT_SECONDS
from lamella.core.query.charts.reading import ESTIMATED_ROWS
from lamella.core.query.charts.spec import (
    AGGREGATES,
    AREA,
    BAR,
    BOX,
    HEAT_MAP,
    HISTOGRAM,
    LINE,
    OF_ANY,
    SCATTER,
    TITLES,
    fits,
    is_moment,
    is_number,
    is_on_line,
    phrase_of,
)
from lamella.ui import theme
from lamella.ui.charts.marks import MOST_MARKED, Display
from lamella.ui.filters.value_fields import ColumnBox
from lamella.ui.widgets.controls import FlowLayout, IconButton

WIDTH, AGGREGATE_WIDTH = 304, 104
AGGREGATE_SHARE = 0.4
"""The maximum share of the panel for the aggregate."""
ANY_WIDTH = 16_777_215  # Qt's QWIDGETSIZE_MAX
ICONS = {
    LINE: "chart-line", BAR: "chart", AREA: "chart-area", SCATTER: "chart-scatter", HISTOGRAM: "histogram",
    BOX: "chart-box", HEAT_MAP: "chart-heat",
}  # fmt: skip
ROLES = {"x": "X", "y": "Y", "measure": "Figure", "color": "Colour", "size": "Size", "panels": "Panels"}
UNITS = {"": "automatic", **{unit: unit for unit in UNIT_SECONDS}}
CONFIDENCE = "95% confidence"
DISPLAY = {
    "band": f"Band: {CONFIDENCE}",
    "markers": "Markers",
    "labels": "Labels on the lines",
    "zero": "Start Y at zero",
    "map": "Map proportions",
}
SHOWN_FOR = {
    "band": (LINE, BAR),
    "markers": (LINE, AREA),
    "labels": (LINE, AREA),
    "zero": (LINE,),
    "map": (SCATTER,),
}


class _UnitBox(QComboBox):
    """What is typed after a click replaces the unit, as a name replaces that of a column."""

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        edit = self.lineEdit()
        if event.reason() is Qt.FocusReason.MouseFocusReason and edit is not None:
            QTimer.singleShot(0, edit, edit.selectAll)  # the mouse press sets the cursor


class ChartForm(QFrame):
    """The form. `changed` carries a new `ChartSpec`, `displayed` a new `Display`; `closed` asks to show the
    table again."""

    changed = Signal(object)
    displayed = Signal(object)
    closed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        theme.variant(self, "panel")
        self.spec, self.display = ChartSpec(BAR), Display()
        self._types: Mapping[str, pa.DataType] = {}
        self._kind_of_models = ""
        self.title = QLabel()
        self.kinds = QButtonGroup(self)
        self.buttons: dict[str, IconButton] = {}
        self.boxes: dict[str, ColumnBox] = {}
        self._models: dict[str, QStringListModel] = {}
        self._rows: dict[str, tuple[QLabel, QWidget]] = {}
        self.aggregate = QComboBox(accessibleName="What makes one figure of several rows")
        self.unit = _UnitBox()
        self.unit.setAccessibleName("Unit of time along X")
        self.unit.setEditable(True)
        self.unit.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.log_x, self.log_y = QCheckBox("Log scale along X"), QCheckBox("Log scale along Y")
        self.checks = {name: QCheckBox(text) for name, text in DISPLAY.items()}
        self.counts = QGridLayout()
        self.message = QLabel(wordWrap=True)
        self._heading, self.remarks = QLabel("Rows"), QLabel(wordWrap=True)
        self._build()

    # ------------------------------------------------------------------- showing

    def show_spec(self, spec: ChartSpec, types: Mapping[str, pa.DataType]) -> None:
        """Show a chart; its type and the types of the columns determine the choices."""
        if spec != self.spec:
            self._say("")
        self.spec = spec
        self.title.setText(TITLES[spec.kind])
        self.buttons[spec.kind].setChecked(True)
        if types is not self._types or spec.kind != self._kind_of_models:
            self._types, self._kind_of_models = types, spec.kind
            for role, model in self._models.items():
                model.setStringList([name for name, kind in types.items() if fits(spec.kind, role, kind)])
            for box in self.boxes.values():
                box.known_columns = frozenset(types)
        for role, box in self.boxes.items():
            box.show_name(getattr(spec, role))
        self._show_choice(self.aggregate, AGGREGATES, spec.aggregate)
        self._show_choice(self.unit, UNITS, spec.unit)
        for check, on in ((self.log_x, spec.log_x), (self.log_y, spec.log_y)):
            with QSignalBlocker(check):
                check.setChecked(on)
        self._show_rows()

    def show_display(self, display: Display) -> None:
        self.display = display
        for name, check in self.checks.items():
            with QSignalBlocker(check):
                check.setChecked(getattr(display, name) and check.isEnabled())

    def show_drawn(self, data: ChartData) -> None:
        """Show whether bands are drawn, and markers: one of the lines has few enough points."""
        by = [data.table[name].to_pylist() for name in ("panels", "color") if name in data.table.column_names]
        lines = Counter(zip(*by, strict=True)) if by else {"": data.table.num_rows}
        are_marked, check = min(lines.values(), default=0) <= MOST_MARKED, self.checks["markers"]
        check.setEnabled(are_marked)
        check.setToolTip("" if are_marked else f"Lines of more than {MOST_MARKED} points have no markers")
        has_bands, check = "low" in data.table.column_names, self.checks["band"]
        check.setEnabled(has_bands)
        check.setToolTip("" if has_bands else f"Means of more than {ESTIMATED_ROWS:,} rows have no bands")
        self.show_display(self.display)

    def show_counts(self, counts: Sequence[tuple[str, str]], remarks: Sequence[str]) -> None:
        while self.counts.count():
            item = self.counts.takeAt(0)
            widget = item.widget() if item is not None else None
            if widget is not None:
                widget.deleteLater()
        for row, (what, count) in enumerate(counts):
            name, figure = QLabel(what, wordWrap=True), QLabel(count)
            name.setTextFormat(Qt.TextFormat.PlainText)
            theme.variant(name, "caption")
            figure.setFont(theme.current().tabular_font(theme.TextSize.CAPTION))
            figure.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop)
            self.counts.addWidget(name, row, 0)
            self.counts.addWidget(figure, row, 1)
        self._heading.setVisible(bool(counts))
        self.remarks.setText(". ".join(remarks) + "." if remarks else "")
        self.remarks.setVisible(bool(remarks))

    @staticmethod
    def _show_choice(box: QComboBox, choices: Mapping[str, str], choice: str) -> None:
        with QSignalBlocker(box):
            if [box.itemData(n) for n in range(box.count())] != list(choices):
                box.clear()
                for value, text in choices.items():
                    box.addItem(text, value)
            box.setCurrentIndex(max(0, box.findData(choice)))
            if box.isEditable():
                box.setEditText(choices[choice])

    def _show_rows(self) -> None:
        spec, kind = self.spec, self._types.get(self.spec.x)
        titles = {"measure": "Cells" if spec.kind == HEAT_MAP else "Y"}
        visibility = {
            "x": True, "y": spec.has_y, "measure": spec.has_measure, "color": spec.has_color,
            "size": spec.has_size, "panels": True,
            "unit": kind is not None and is_moment(kind) and spec.kind != SCATTER,
        }  # fmt: skip
        for role, (label, field) in self._rows.items():
            label.setText(titles.get(role, label.text()))
            label.setVisible(visibility[role])
            field.setVisible(visibility[role])
        numbers = kind is not None and is_on_line(kind) and is_number(kind)
        self.log_x.setVisible(numbers and spec.kind in (HISTOGRAM, SCATTER, LINE, AREA, BAR))
        y_kind = self._types.get(spec.y)
        log_y = spec.kind not in (HEAT_MAP, SCATTER) or (
            spec.kind == SCATTER and y_kind is not None and is_number(y_kind)
        )
        self.log_y.setVisible(log_y)
        for name, check in self.checks.items():
            fits_chart = {
                "band": spec.aggregate == "mean", "map": spec.is_map,
                "labels": bool(spec.color) and not spec.panels,
            }.get(name, True)  # fmt: skip
            check.setVisible(spec.kind in SHOWN_FOR[name] and fits_chart)
        self.checks["band"].setText(f"Error bars: {CONFIDENCE}" if spec.kind == BAR else DISPLAY["band"])

    # ------------------------------------------------------------------- choosing

    def _choose_kind(self, kind: str) -> None:
        if kind != self.spec.kind:
            self._take(self.spec.as_kind(kind, self._types))

    def _choose_column(self, role: str, name: str) -> None:
        if name == getattr(self.spec, role):
            return
        change: dict[str, Any] = {role: name}
        spec, note = replace(self.spec, **change), ""
        if role == "measure" and not name:
            spec = replace(spec, aggregate="count")
        elif role == "measure" and name in self._types:
            is_of_numbers = is_number(self._types[name])
            if not is_of_numbers and (self._counts_rows or spec.aggregate not in OF_ANY):
                spec = replace(spec, aggregate="distinct")
                note = f"'{visible(name)}' is {self._types[name]}, so its distinct values are counted."
            elif self._counts_rows:
                spec = replace(spec, aggregate="mean")
        problem = self._problem_of(role, name, spec)
        if problem:
            self.show_spec(self.spec, self._types)  # restore the previous column
            self._say(problem, is_problem=True)
            return
        if role == "x":
            spec = replace(spec, unit="", log_x=False)
        self._take(spec)
        self._say(note)

    @property
    def _counts_rows(self) -> bool:
        return self.spec.aggregate == "count" and not self.spec.measure

    def _problem_of(self, role: str, name: str, spec: ChartSpec) -> str:
        """Why a column cannot be taken; empty if it can."""
        if not name:
            needed = role == "y" or (role == "x" and spec.kind != BOX)
            return (
                f"{sentence_case(phrase_of(spec.kind))} needs a column for {ROLES[role]}." if needed else ""
            )
        if name not in self._types:
            guesses = " or ".join(f"'{visible(guess)}'" for guess in nearest(name, list(self._types)))
            advice = f"Did you mean {guesses}?" if guesses else "Down lists those that can be chosen."
            return f"There is no column '{visible(name)}'. {advice}"
        if not fits(spec.kind, role, self._types[name]):
            return f"{spec.misfit(role, self._types)}{self._advice_on_fields(role, name)}"
        return ""

    def _advice_on_fields(self, role: str, name: str) -> str:
        """How a field of a struct is drawn; empty for other columns."""
        if not pa.types.is_struct(self._types[name]):
            return ""
        fields = [
            f"'{visible(column)}'"
            for column, kind in self._types.items()
            if column.startswith(f"{name}.") and fits(self.spec.kind, role, kind)
        ]
        if fields:
            return f" Did you mean {' or '.join(fields[:3])}?"
        return " A field of it can be a column: Fields as columns…, in the menu of its header."

    def _say(self, text: str, is_problem: bool = False) -> None:
        """Show why a column was not taken, or what became of it."""
        self.message.setText(text)
        self.message.setVisible(bool(text))
        theme.variant(self.message, "danger" if is_problem else "caption")

    def _choose_unit(self) -> None:
        text = self.unit.currentText().strip()
        units = {word: unit for unit, word in UNITS.items()} | {"": ""}
        spec = replace(self.spec, unit=units.get(text.casefold(), text))
        try:
            spec.check()
        except BadQuery as error:
            self.show_spec(self.spec, self._types)  # restore the previous unit
            self._say(" ".join(map(with_full_stop, (sentence_case(error.what), error.fix))), is_problem=True)
            return
        if spec != self.spec:
            self._take(spec)
        else:
            self.show_spec(spec, self._types)

    def _choose_aggregate(self) -> None:
        aggregate = self.aggregate.currentData()
        spec = replace(self.spec, aggregate=aggregate)
        if aggregate != "count" and not spec.measure:
            numbers = (name for name, kind in self._types.items() if is_number(kind) and is_on_line(kind))
            spec = replace(spec, measure=next((n for n in numbers if n not in (spec.x, spec.y)), ""))
        self._take(spec)

    def _take(self, spec: ChartSpec) -> None:
        self.show_spec(spec, self._types)
        self.changed.emit(spec)

    def _take_display(self) -> None:
        enabled = {name: check.isChecked() for name, check in self.checks.items() if check.isEnabled()}
        self.display = replace(self.display, **enabled)
        self.displayed.emit(self.display)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.closed.emit()
        else:
            super().keyPressEvent(event)

    # ------------------------------------------------------------------- set-up

    def _build(self) -> None:
        self._models_kind = ""
        area = QScrollArea(self, widgetResizable=True, frameShape=QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        inside = QWidget(area)
        area.setWidget(inside)
        layout = QVBoxLayout(inside)
        layout.setContentsMargins(theme.L, theme.S, theme.L, theme.M)
        layout.setSpacing(theme.S)
        theme.variant(self.title, "title")
        close = IconButton("close", "Show the table again")
        close.clicked.connect(self.closed)
        head = QHBoxLayout()
        head.addWidget(self.title, 1)
        head.addWidget(close)
        layout.addLayout(head)
        layout.addWidget(self._kind_buttons())
        layout.addLayout(self._fields())
        self.message.setTextFormat(Qt.TextFormat.PlainText)
        self._say("")
        layout.addWidget(self.message)
        for check in (self.log_x, self.log_y, *self.checks.values()):
            layout.addWidget(check)
        line = QFrame()
        theme.variant(line, "line")
        layout.addWidget(line)
        theme.variant(self._heading, "heading")
        layout.addWidget(self._heading)
        self.counts.setColumnStretch(0, 1)
        self.counts.setVerticalSpacing(theme.XS)
        layout.addLayout(self.counts)
        theme.variant(self.remarks, "caption")
        self.remarks.setTextFormat(Qt.TextFormat.PlainText)
        layout.addWidget(self.remarks)
        layout.addStretch(1)
        around = QVBoxLayout(self)
        around.setContentsMargins(0, 0, 0, 0)
        around.addWidget(area)
        self.log_x.toggled.connect(lambda on: self._take(replace(self.spec, log_x=on)))
        self.log_y.toggled.connect(lambda on: self._take(replace(self.spec, log_y=on)))
        self.aggregate.activated.connect(lambda _: self._choose_aggregate())
        edit = self.unit.lineEdit()
        assert edit is not None
        edit.editingFinished.connect(self._choose_unit)
        self.unit.activated.connect(lambda _: self._choose_unit())
        for check in self.checks.values():
            check.toggled.connect(lambda _: self._take_display())
        self.show_display(self.display)
        theme.current().changed.connect(self._fit)
        self._fit()

    def _kind_buttons(self) -> QWidget:
        row = QWidget()
        flow = FlowLayout(theme.S, row)
        self.kinds.setExclusive(True)
        for kind, icon in ICONS.items():
            button = IconButton(icon, TITLES[kind])
            theme.variant(button, "tight")
            button.setCheckable(True)
            button.clicked.connect(self._chooser(kind))
            self.kinds.addButton(button)
            self.buttons[kind] = button
            flow.addWidget(button)
        row.setAccessibleName("Type of chart")
        return row

    def _chooser(self, kind: str) -> Callable[[], None]:
        return lambda: self._choose_kind(kind)

    def _fields(self) -> QGridLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(theme.S)
        grid.setVerticalSpacing(theme.S)
        grid.setColumnStretch(1, 1)
        order = ("x", "unit", "y", "measure", "color", "size", "panels")
        for row, role in enumerate(order):
            label = QLabel(ROLES.get(role, "By"))
            theme.variant(label, "muted")
            field: QWidget = self.unit if role == "unit" else self._column_field(role)
            grid.addWidget(label, row, 0)
            grid.addWidget(field, row, 1)
            self._rows[role] = label, field
        return grid

    def _column_field(self, role: str) -> QWidget:
        model = self._models[role] = QStringListModel(self)
        box = self.boxes[role] = ColumnBox(model, "")
        says = {
            "x": "Column along X", "y": "Column along Y", "measure": "Column of the figures",
            "size": "Column of the size of the points",
        }  # fmt: skip
        box.setAccessibleName(
            says.get(role, f"Column of the {ROLES[role].lower()}s".replace("panelss", "panels"))
        )
        box.setPlaceholderText(
            {"measure": "rows"}.get(
                role, "none" if role in ("color", "size", "panels") else "Choose a column"
            )
        )
        if role in ("color", "size", "panels"):
            box.add_clear_button()
        box.setMinimumWidth(theme.current().px(48))
        box.chosen.connect(lambda name, role=role: self._choose_column(role, name.strip()))
        if role != "measure":
            return box
        both = QWidget()
        self._measure_line = line = QBoxLayout(QBoxLayout.Direction.LeftToRight, both)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(theme.XS)
        line.addWidget(self.aggregate)
        line.addWidget(box, 1)
        return both

    def _fit(self) -> None:
        """Put the aggregate beside its column, or above it if text is large."""
        wide, directions = theme.current().px(AGGREGATE_WIDTH), QBoxLayout.Direction
        beside = wide <= self.width() * AGGREGATE_SHARE
        self._measure_line.setDirection(directions.LeftToRight if beside else directions.TopToBottom)
        self.aggregate.setMinimumWidth(wide if beside else 0)
        self.aggregate.setMaximumWidth(wide if beside else ANY_WIDTH)
