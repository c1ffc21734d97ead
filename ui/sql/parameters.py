"""The parameters of a SQL text as fields, each with a type and a value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QLineEdit, QWidget

from lamella.core.errors import BadData, BadSql
from lamella.core.filters.cells import parse_cell
from lamella.ui import theme
from lamella.ui.widgets.controls import FlowLayout

NULL = "NULL"
TYPES: dict[str, pa.DataType | None] = {
    "Text": pa.string(), "Integer": pa.int64(), "Decimal": pa.float64(), "Date": pa.date32(),
    "Time": pa.timestamp("us"), "Yes or no": pa.bool_(), NULL: None,
}  # fmt: skip
EXAMPLES = {"Integer": "100", "Decimal": "0.5", "Date": "2024-05-01", "Time": "2024-05-01 12:00",
            "Yes or no": "true"}  # fmt: skip


def type_word(kind: str) -> str:
    """The word of `TYPES` for the name of a column's type."""
    for begin, word in _WORDS:
        if kind.startswith(begin):
            return word
    return "Text"


_WORDS = (
    ("int", "Integer"), ("uint", "Integer"), ("float", "Decimal"), ("double", "Decimal"),
    ("halffloat", "Decimal"), ("decimal", "Decimal"), ("date", "Date"), ("timestamp", "Time"),
    ("bool", "Yes or no"),
)  # fmt: skip


class ParameterField(QWidget):
    changed = Signal()
    run_requested = Signal(bool)

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.name = name
        self.kind, self.edit = QComboBox(), QLineEdit()
        self._is_touched = False
        self.kind.activated.connect(self._touch)
        self.kind.addItems(list(TYPES))
        self.kind.setAccessibleName(f"Type of parameter {name}")
        self.edit.setAccessibleName(f"Value of parameter {name}")
        self.edit.setMinimumWidth(theme.current().px(120))
        label = QLabel(f"${name}")
        label.setFont(theme.current().mono_font())
        label.setBuddy(self.edit)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.XS)
        for widget in (label, self.edit, self.kind):
            layout.addWidget(widget)
        self.kind.currentTextChanged.connect(self._follow_kind)
        self.edit.textChanged.connect(lambda _: theme.variant(self.edit, ""))
        self.edit.textChanged.connect(lambda _: self.changed.emit())
        self._follow_kind(self.kind.currentText())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.edit.hasFocus():
            both = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
            self.run_requested.emit(event.modifiers() & both == both)
        else:
            super().keyPressEvent(event)

    def value(self) -> Any:
        """The value. Raises `BadSql` if the text is not a value of the type."""
        kind = TYPES[self.kind.currentText()]
        if kind is None or self.is_empty:
            return None
        try:
            return parse_cell(self.edit.text(), kind)
        except BadData as error:
            theme.variant(self.edit, "invalid")
            self.edit.setFocus()
            word = self.kind.currentText().lower()
            raise BadSql(
                f"Parameter ${self.name}: '{self.edit.text()}' is not of the type '{word}'",
                fix="Correct the value, or choose another type",
            ) from error

    @property
    def is_empty(self) -> bool:
        """Whether there is no value, so that it is NULL. With the type text chosen, empty is an empty
        text."""
        kind = self.kind.currentText()
        return not self.edit.text() and kind != NULL and not (self._is_touched and TYPES[kind] == pa.string())

    def propose_type(self, word: str) -> None:
        """Set the type, unless the user has entered or chosen something."""
        if not self._is_touched and not self.edit.text():
            self.kind.setCurrentText(word)

    def state(self) -> dict[str, Any]:
        return {
            "type": self.kind.currentText(),
            "text": self.edit.text(),
            "chosen": self._is_touched,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        if state.get("type") in TYPES:
            self._is_touched = state.get("chosen") is True
            self.kind.setCurrentText(state["type"])
        if isinstance(state.get("text"), str):
            self.edit.setText(state["text"])

    def _touch(self) -> None:
        self._is_touched = True

    def _follow_kind(self, kind: str) -> None:
        self.edit.setEnabled(kind != NULL)
        self.edit.setPlaceholderText(EXAMPLES.get(kind, ""))
        theme.variant(self.edit, "")
        self.changed.emit()


class ParametersBar(QWidget):
    """A field for each name, which stays as long as its name; hidden if there are none. Enter in one emits
    `run_requested` with its name; with Ctrl and Shift, the name is empty, which means all statements."""

    changed = Signal()
    run_requested = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.fields: dict[str, ParameterField] = {}
        self._saved_values: dict[str, Mapping[str, Any]] = {}
        self._flow = FlowLayout(theme.M, self)
        self.setContentsMargins(theme.M, theme.S, theme.M, theme.S)
        self.hide()

    def show_names(self, names: Sequence[str]) -> None:
        if list(self.fields) == list(names):
            return
        for name, field in list(self.fields.items()):
            if name not in names:
                self._saved_values[name] = field.state()
                field.hide()
                field.deleteLater()
                del self.fields[name]
        for name in names:
            if name not in self.fields:
                field = ParameterField(name, self)
                field.restore(self._saved_values.get(name, {}))
                field.changed.connect(self.changed)
                field.run_requested.connect(partial(self._run, name))
                self.fields[name] = field
                self._flow.addWidget(field)
                field.show()
        self.fields = {name: self.fields[name] for name in names}
        self.setVisible(bool(names))
        self.updateGeometry()

    def _run(self, name: str, run_all: bool) -> None:
        self.run_requested.emit("" if run_all else name)

    def values(self, names: Sequence[str]) -> dict[str, Any]:
        """The values of these parameters. Raises `BadSql`."""
        return {name: self.fields[name].value() for name in names if name in self.fields}

    def state(self) -> dict[str, dict[str, Any]]:
        return {name: field.state() for name, field in self.fields.items()}

    def restore(self, state: object) -> None:
        for name, field_state in (state if isinstance(state, Mapping) else {}).items():
            if isinstance(field_state, Mapping):
                self._saved_values[name] = field_state
                if name in self.fields:
                    self.fields[name].restore(field_state)
