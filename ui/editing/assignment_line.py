"""One line of the Change dialog: a column, the operation on it, and the operation's argument."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

import pyarrow as pa
from PySide6.QtCore import QStringListModel, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QVBoxLayout,
    QWidget,
)

from lamella.core.arrow.types import ID
from lamella.core.errors import BadData, visible
from lamella.core.filters.cells import parse_cell
from lamella.core.filters.kinds import Kind, kind_of
from lamella.core.phrases import sentence_case
from lamella.core.store.acts import ASSIGNMENT_BY_ID, Assignment, assignments_for
from lamella.core.store.operators.texts import read_replacement
from lamella.core.store.operators.values import Refusal
from lamella.ui import theme
from lamella.ui.editing.cell_editor import MOST_LETTERS
from lamella.ui.editing.expression_edit import ExpressionEdit
from lamella.ui.filters.value_fields import ColumnBox
from lamella.ui.widgets.controls import FieldRow, NumberBox, Reason, fill_height
from lamella.ui.widgets.hosts import set_focus_proxy

HINTS = {
    Kind.INTEGER: "a whole number",
    Kind.FLOAT: "a number",
    Kind.DECIMAL: "a number",
    Kind.DATE: "2013-01-31",
    Kind.TIMESTAMP: "2013-01-31 17:30",
    Kind.TIME: "17:30",
    Kind.DURATION: "1:30:00 or 90 s",
    Kind.BOOLEAN: "true or false",
    Kind.TEXT: "text",
    Kind.UUID: "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
    Kind.BINARY: "hexadecimal digits: 00ff",
    Kind.LIST: "JSON",
    Kind.OTHER: "JSON",
}
MOST_DIGITS = 30
Types = Mapping[str, pa.DataType]


class AnswerField(QWidget):
    """The fields for the argument of an assignment. `edited` is emitted after every change."""

    edited = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._layout = QHBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(theme.S)
        self._asks: str = "nothing"
        self._type = pa.null()
        self._is_touched = False
        self.text: QLineEdit | None = None
        self.choice: QComboBox | None = None
        self.digits: NumberBox | None = None
        self.with_: QLineEdit | None = None
        self.flags: dict[str, QCheckBox] = {}

    def ask(self, assignment: Assignment, kind: pa.DataType, columns: Types) -> None:
        """Show the fields of an assignment for values of this type; typed text that may still fit stays.
        `columns` are those that an expression may use."""
        typed = self.text.text() if self.text is not None else ""
        had_focus = self.focusWidget() is not None and self.focusWidget().hasFocus()
        while self._layout.count():
            item = self._layout.takeAt(0)
            if item is not None and (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        self.text = self.choice = self.digits = self.with_ = None
        self.flags = {}
        self._asks, self._type = assignment.asks, assignment.type_of_answer(kind)
        if assignment.asks == "choice":
            self.choice = QComboBox(accessibleName=assignment.label)
            self.choice.addItems(list(assignment.choices(kind)))
            self.choice.currentIndexChanged.connect(self.edited)
            self._layout.addWidget(self.choice, 1)
        elif assignment.asks == "digits":
            self.digits = NumberBox(minimum=-MOST_DIGITS, maximum=MOST_DIGITS, accessibleName="Digits")
            self.digits.valueChanged.connect(self.edited)
            self._layout.addWidget(self.digits)
            hint = QLabel("decimal places")
            theme.variant(hint, "muted")
            self._layout.addWidget(hint, 1)
        elif assignment.asks == "expression":
            edit = ExpressionEdit()
            edit.set_types({ID: pa.int64(), **columns})
            edit.setText(typed)
            edit.setPlaceholderText(assignment.hint)
            edit.edited.connect(self._tell)
            self.text = edit
            self._layout.addWidget(edit, 1)
        elif assignment.asks != "nothing":
            self._ask_text(assignment, typed)
        set_focus_proxy(self, self.text or self.choice or self.digits)
        if had_focus:
            self.setFocus()

    def _ask_text(self, assignment: Assignment, typed: str) -> None:
        self.text = QLineEdit(typed, accessibleName="New value")
        hints = {
            "replacement": "find",
            "column": "name of a column",
            "json": assignment.hint,
            "number": assignment.hint,
        }
        self.text.setMaxLength(MOST_LETTERS)
        self.text.setPlaceholderText(hints.get(assignment.asks, HINTS[kind_of(self._type)]))
        self.text.textEdited.connect(self._tell)
        self._layout.addWidget(self.text, 1)
        if assignment.asks != "replacement":
            return
        self.text.setAccessibleName("Find")
        self.with_ = QLineEdit(placeholderText="replace with", accessibleName="Replace with")
        self.with_.textEdited.connect(self._tell)
        self._layout.addWidget(self.with_, 1)
        for name, label, tip in (
            ("regex", ".*", "As a regular expression, with \\1 for its first group"),
            ("whole", "whole", "Match only whole texts"),
            ("case", "Aa", "Match upper and lower case exactly"),
        ):
            box = QCheckBox(label, toolTip=tip, accessibleName=tip)
            box.setChecked(name == "case")
            box.toggled.connect(self.edited)
            self.flags[name] = box
            self._layout.addWidget(box)

    @property
    def is_empty(self) -> bool:
        """Whether nothing has been typed; for text, a field that was edited and is empty again is an
        answer."""
        if self.text is None:
            return False
        if self._asks == "value" and kind_of(self._type) is Kind.TEXT:
            return not self._is_touched and not self.text.text()
        return not self.text.text().strip() and not (self._asks == "replacement" and self.text.text())

    @property
    def problem(self) -> str:
        try:
            self.answer()
        except BadData as error:
            return error.why or error.what
        except Refusal as refusal:
            return refusal.reason
        return self.text.problem if isinstance(self.text, ExpressionEdit) else ""

    def answer(self) -> Any:
        """The argument; raises `BadData` if it is not valid."""
        if self.choice is not None:
            return self.choice.currentText()
        if self.digits is not None:
            return self.digits.value()
        text = self.text.text() if self.text is not None else ""
        if self._asks in ("value", "item"):
            return parse_cell(text, self._type)
        if self._asks == "number":
            return _number(text, self._type)
        if self._asks == "json":
            return _json(text)
        if self._asks == "replacement" and self.with_ is not None:
            flags = {name: box.isChecked() for name, box in self.flags.items()}
            operand = {"find": text, "with": self.with_.text(), **flags}
            read_replacement(operand)
            return operand
        return text.strip() if self._asks != "nothing" else None

    def set_text(self, text: str) -> None:
        """Set the text as if it were typed."""
        if self.text is not None:
            self.text.setText(text)
            self._tell()

    def mark(self, invalid: bool) -> None:
        if self.text is not None:
            theme.variant(self.text, "invalid" if invalid else "")

    def _tell(self) -> None:
        self._is_touched = True
        self.edited.emit()


def _number(text: str, kind: pa.DataType) -> int | float | Decimal:
    plain = text.strip().replace("_", "")
    try:
        exact = Decimal(plain)
    except InvalidOperation:
        raise BadData(text, "this is not a number") from None
    if not exact.is_finite():
        raise BadData(text, "this is not a finite number")
    if exact == exact.to_integral_value() and "." not in plain and abs(exact.adjusted()) < 30:
        return int(exact)
    if pa.types.is_decimal(kind):
        return exact
    number = float(exact)
    if math.isinf(number):
        raise BadData(text, "this is too large for a number of 64 bits")
    return number


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadData(text, f"this is not JSON: {error}") from error


class AssignmentLine(FieldRow):
    def __init__(
        self,
        names: QStringListModel,
        types: Types,
        columns: Types,
        column: str,
        parent: QWidget | None = None,
    ) -> None:
        """`types` are of columns and of the fields inside them, by their paths; `names` are the same
        paths."""
        super().__init__("Remove this column", parent)
        self._types, self._columns = types, columns
        self._assignments: list[Assignment] = []
        self.column = ColumnBox(names, column)
        self.column.setFixedWidth(10 * theme.current().line_height())
        self.assignment_box = QComboBox(accessibleName="What to do")
        self.assignment_box.setFixedWidth(12 * theme.current().line_height())
        self.field = AnswerField()
        self.reason = Reason()
        fill_height(self.column, self.assignment_box)
        line = QHBoxLayout()
        line.setSpacing(theme.S)
        line.addWidget(self.column)
        line.addWidget(self.assignment_box)
        line.addWidget(self.field, 1)
        line.addWidget(self.remove)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.XS)
        layout.addLayout(line)
        layout.addWidget(self.reason)
        self.column.chosen.connect(self._choose_column)
        self.assignment_box.currentIndexChanged.connect(self._choose)
        self.assignment_box.activated.connect(lambda _: self.field.setFocus())
        self.field.edited.connect(self.changed)
        self.setFocusProxy(self.column)
        self._choose_column(column)

    def choose(self, assignment: str) -> None:
        """Choose an assignment that fits the column, by its id."""
        self.assignment_box.setCurrentIndex(self._assignments.index(ASSIGNMENT_BY_ID[assignment]))

    def answer(self) -> tuple[str, Assignment, Any] | None:
        """Column, assignment and argument; None while something is missing or invalid, which is shown beside
        the field."""
        name = self.column.text()
        if name not in self._types or self.assignment_box.currentIndex() < 0:
            self.reason.say(f"There is no column '{visible(name)}'." if name else "")
            return None
        assignment = self._assignments[self.assignment_box.currentIndex()]
        problem = "" if self.field.is_empty else self.field.problem
        self.reason.say(sentence_case(problem).rstrip(".") + "." if problem else "")
        self.field.mark(bool(problem))
        if problem or self.field.is_empty:
            return None
        return name, assignment, self.field.answer()

    def _choose_column(self, name: str) -> None:
        theme.variant(self.column, "" if name in self._types or not name else "invalid")
        if name in self._types:
            before = (
                self._assignments[self.assignment_box.currentIndex()]
                if self.assignment_box.currentIndex() >= 0
                else None
            )
            self._assignments = assignments_for(self._types[name], inside=name not in self._columns)
            self.assignment_box.blockSignals(True)
            self.assignment_box.clear()
            self.assignment_box.addItems([assignment.label for assignment in self._assignments])
            self.assignment_box.setCurrentIndex(
                self._assignments.index(before) if before in self._assignments else 0
            )
            self.assignment_box.blockSignals(False)
            self._choose()
        else:
            self.changed.emit()

    def _choose(self) -> None:
        if self.column.text() in self._types and self.assignment_box.currentIndex() >= 0:
            kind = self._types[self.column.text()]
            self.field.ask(self._assignments[self.assignment_box.currentIndex()], kind, self._columns)
        self.changed.emit()
