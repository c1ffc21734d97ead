"""A field for one new value of a column's type, or null."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from PySide6.QtCore import Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QLabel, QLineEdit, QVBoxLayout, QWidget

from lamella.core.errors import BadData
from lamella.core.filters.cells import parse_cell
from lamella.core.filters.kinds import Kind, kind_of
from lamella.ui import theme
from lamella.ui.editing.cell_editor import MOST_LETTERS

HINTS = {
    Kind.INTEGER: "a whole number",
    Kind.FLOAT: "a number",
    Kind.DECIMAL: "a number",
    Kind.DATE: "2013-01-31",
    Kind.TIMESTAMP: "2013-01-31 17:30",
    Kind.TIME: "17:30",
    Kind.DURATION: "1:30:00 or 90 s",
    Kind.BOOLEAN: "true or false",
    Kind.TEXT: "text; nothing for empty text",
    Kind.UUID: "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
    Kind.BINARY: "hexadecimal digits: 00ff",
    Kind.LIST: "JSON",
    Kind.OTHER: "JSON",
}


class ValueEdit(QWidget):
    """`edited` follows every change; what is wrong is said under the field."""

    edited = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._type = pa.null()
        self._text = QLineEdit()
        self._text.setAccessibleName("New value")
        self._text.setMaxLength(MOST_LETTERS)
        self._text.textEdited.connect(self._tell)
        self._null = QCheckBox("Set to null")
        self._null.setToolTip("No value at all (Ctrl+Backspace)")
        self._null.toggled.connect(self._tell)
        QShortcut(QKeySequence("Ctrl+Backspace"), self._text, self._set_null)
        self._reason = QLabel()
        self._reason.setWordWrap(True)
        theme.variant(self._reason, "danger")
        self.setFocusProxy(self._text)
        line = QHBoxLayout()
        line.setSpacing(theme.M)
        line.addWidget(self._text, 1)
        line.addWidget(self._null)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.XS)
        layout.addLayout(line)
        layout.addWidget(self._reason)
        self._refresh()

    def set_type(self, type_: pa.DataType) -> None:
        self._type = type_
        self._text.setPlaceholderText(HINTS[kind_of(type_)])
        self._refresh()

    def set_text(self, text: str | None) -> None:
        """None sets null."""
        self._null.setChecked(text is None)
        self._text.setText(text or "")
        self._tell()

    @property
    def ready(self) -> bool:
        """A value of the type is there; an empty field is ready only for text."""
        return self._null.isChecked() or (not self._unfinished and self._problem() is None)

    def value(self) -> Any:
        """The typed value, None for null; raises `BadData` when it is not `ready`."""
        return None if self._null.isChecked() else parse_cell(self._text.text(), self._type)

    @property
    def _unfinished(self) -> bool:
        return not self._text.text().strip() and kind_of(self._type) is not Kind.TEXT

    def _problem(self) -> str | None:
        try:
            self.value()
        except BadData as error:
            return error.why or error.what
        return None

    def _set_null(self) -> None:
        self._null.setChecked(True)

    def _tell(self) -> None:
        self._refresh()
        self.edited.emit()

    def _refresh(self) -> None:
        problem = None if self._unfinished or self._null.isChecked() else self._problem()
        self._text.setEnabled(not self._null.isChecked())
        theme.variant(self._text, "invalid" if problem else "")
        self._reason.setText(problem[:1].upper() + problem[1:] + "." if problem else "")
        self._reason.setVisible(problem is not None)
