"""The default and the checks of a column, and the form that edits them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from lamella.core.arrow.arrays import from_values
from lamella.core.errors import LamellaError, visible
from lamella.core.filters.cell_texts import whole_texts
from lamella.core.filters.cells import parse_cell
from lamella.core.filters.kinds import NESTED_KINDS, kind_of
from lamella.core.jobs import Job
from lamella.core.phrases import sentence_case
from lamella.core.store.column_rules import Checks
from lamella.core.store.commit import Commit
from lamella.core.store.table import Table
from lamella.ui import theme
from lamella.ui.dialogs.error_dialog import message
from lamella.ui.widgets.controls import FieldForm, Reason

LISTED_LINES = 4


@dataclass(frozen=True)
class Rules:
    """The rules of one column."""

    default: Any = None
    checks: Checks = field(default_factory=Checks)

    def commit(self, table: Table, name: str, job: Job) -> Commit | None:
        """Set the rules that differ, as one undo step; None if none differ. Blocks."""
        before, commit = read_rules(table, name), None
        one_of = self.checks.one_of != before.checks.one_of
        with table.store.transaction():
            if one_of and before.default is not None and before.default != self.default:
                commit = table.columns.set_default(name, None)  # the new values may not allow the old default
            if before.checks != self.checks:
                commit = table.columns.set_checks(
                    name,
                    required=self.checks.required,
                    unique=self.checks.unique,
                    one_of=self.checks.one_of if one_of else None,
                    job=job,
                )
            if before.default != self.default:
                commit = table.columns.set_default(name, self.default)
        return commit


def read_rules(table: Table, name: str) -> Rules:
    """Read the rules of a column. Blocks."""
    return Rules(table.columns.default(name), table.columns.checks(name))


def rules_text(rules: Rules, kind: pa.DataType) -> str:
    """The rules in one line, such as "Required · unique · default 0"; empty for none."""
    words = [word for word in ("required", "unique") if getattr(rules.checks, word)]
    if rules.checks.one_of:
        words.append(f"one of {', '.join(_value_texts(rules.checks.one_of, kind))}")
    if rules.default is not None:
        words.append(f"default {_value_texts([rules.default], kind)[0]}")
    text = " · ".join(words)
    return sentence_case(text)


def _value_texts(values: Sequence[Any], kind: pa.DataType) -> list[str]:
    """The values as they are typed."""
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    return [visible(text or "") for text in whole_texts(from_values(list(values), plain))]


class RulesForm(QWidget):
    """Edits rules; `applied` carries the new `Rules`."""

    applied = Signal(Rules)
    done = Signal()

    def __init__(self, name: str, kind: pa.DataType) -> None:
        """The form is disabled until `show_rules` is called."""
        super().__init__()
        self._kind = kind
        self._before, self._default_text, self._one_of_text = Rules(), "", ""
        self.default = QLineEdit(accessibleName="Default", placeholderText="none: new rows get NULL")
        self.required_box = QCheckBox("Required: no NULL")
        self.unique = QCheckBox("Unique: no value twice")
        self.allowed_values = QPlainTextEdit(
            accessibleName="One of", placeholderText="any value; or one in each line"
        )
        self.apply_button, self.close_button = QPushButton("Apply"), QPushButton("Cancel")
        self.reason = Reason()
        self._fields = QWidget(enabled=False)
        self._build(name)
        self.apply_button.setEnabled(False)

    def show_rules(self, rules: Rules) -> None:
        if rules.default is not None:
            self.default.setText(_value_texts([rules.default], self._kind)[0])
        self.required_box.setChecked(rules.checks.required)
        self.unique.setChecked(rules.checks.unique)
        self.allowed_values.setPlainText("\n".join(_value_texts(rules.checks.one_of, self._kind)))
        self._before = rules
        self._default_text, self._one_of_text = self.default.text(), self.allowed_values.toPlainText()
        self._fields.setEnabled(True)
        self.apply_button.setEnabled(True)
        self.default.setFocus(Qt.FocusReason.PopupFocusReason)

    def rules(self) -> Rules:
        """The rules in the form. Fields that were not edited keep their value, since a field cannot show
        every text. Raises `BadData` for a value that is not valid in the column."""
        values, default = self._before.checks.one_of, self._before.default
        if self.allowed_values.toPlainText() != self._one_of_text:
            lines = dict.fromkeys(line for line in self.allowed_values.toPlainText().split("\n") if line)
            values = tuple(parse_cell(line, self._kind) for line in lines)
        if (text := self.default.text()) != self._default_text:
            default = parse_cell(text, self._kind) if text else None
        return Rules(default, Checks(self.required_box.isChecked(), self.unique.isChecked(), values))

    def refuse(self, reason: str) -> None:
        self.reason.say(reason)
        self.apply_button.setEnabled(True)

    def apply(self) -> None:
        try:
            rules = self.rules()
        except LamellaError as error:
            self.refuse(message(error))
            return
        self.refuse("")
        self.apply_button.setEnabled(False)
        self.applied.emit(rules)

    def _build(self, name: str) -> None:
        title = QLabel(f"Default and checks of {visible(name)}")
        theme.variant(title, "title")
        theme.variant(self.apply_button, "primary")
        hint = self.default.fontMetrics().horizontalAdvance(self.default.placeholderText())
        self.default.setMinimumWidth(hint + 2 * theme.M)
        self.allowed_values.setFixedHeight(LISTED_LINES * self.fontMetrics().lineSpacing() + 2 * theme.S)
        self.allowed_values.setTabChangesFocus(True)
        nested = kind_of(self._kind) in NESTED_KINDS
        self.unique.setDisabled(nested)
        self.allowed_values.setDisabled(nested)
        form = FieldForm(self._fields)
        form.setContentsMargins(0, 0, 0, 0)
        form.setHorizontalSpacing(theme.M)
        form.addRow("Default", self.default)
        form.addRow("", self.required_box)
        form.addRow("", self.unique)
        form.addRow("One of", self.allowed_values)
        buttons = QHBoxLayout()
        buttons.addStretch(1)
        buttons.addWidget(self.close_button)
        buttons.addWidget(self.apply_button)
        layout = QVBoxLayout(self)
        layout.addWidget(title)
        layout.addWidget(self._fields)
        layout.addWidget(self.reason)
        layout.addLayout(buttons)
        self.apply_button.clicked.connect(self.apply)
        self.close_button.clicked.connect(self.done)
        self.default.returnPressed.connect(self.apply)
