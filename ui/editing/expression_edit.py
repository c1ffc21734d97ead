"""A field for an expression over columns, with completion of column and function names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa
from PySide6.QtCore import QStringListModel, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QCompleter, QLineEdit, QWidget

from lamella.core.arrow.nested_values import names_within
from lamella.core.errors import LamellaError
from lamella.core.filters.text.printer import name as column_text
from lamella.ui import theme
from lamella.ui.widgets.items import popup_of

if TYPE_CHECKING:
    from lamella.core.query.expressions import Expression

_WORD = re.compile(r'"?[^\W\d][\w.]*$')
MOST_COMPLETIONS = 12


class ExpressionEdit(QLineEdit):
    """`edited` is emitted after every change. Names are completed while typing; Ctrl+Space lists all of
    them."""

    edited = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFont(theme.current().mono_font())
        self.setAccessibleName("Expression")
        self._types: Mapping[str, pa.DataType] = {}
        self._names = QStringListModel(self)
        self._completer = QCompleter(self._names, self)
        self._completer.setWidget(self)
        self._completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self._completer.setFilterMode(Qt.MatchFlag.MatchStartsWith)
        self._completer.setMaxVisibleItems(MOST_COMPLETIONS)
        theme.variant(popup_of(self._completer), "completions")
        self._completer.activated.connect(self._insert)
        self.textEdited.connect(self._take_text)

    def set_types(self, types: Mapping[str, pa.DataType]) -> None:
        """Set the columns that the expression may use."""
        from lamella.core.query.functions.table import FUNCTIONS

        self._types = types
        columns = [column_text(name) for name in names_within(types)]
        self._names.setStringList([*columns, *(f"{name}()" for name in sorted(FUNCTIONS))])

    def expression(self) -> Expression:
        """The expression. Raises a `LamellaError` that shows the position of the problem."""
        from lamella.core.query.expression_text import parse_expression

        return parse_expression(self.text(), self._types)

    @property
    def problem(self) -> str:
        """What is wrong; empty if nothing is."""
        try:
            self.expression()
        except LamellaError as error:
            return str(error)
        return ""

    @property
    def completions(self) -> QCompleter:
        return self._completer

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Space and event.modifiers() == Qt.KeyboardModifier.ControlModifier:
            self._complete(all_names=True)
            return
        super().keyPressEvent(event)

    def _take_text(self) -> None:
        self._complete()
        self.edited.emit()

    def _word(self) -> str:
        match = _WORD.search(self.text()[: self.cursorPosition()])
        return match.group() if match else ""

    def _complete(self, all_names: bool = False) -> None:
        word, popup = self._word(), popup_of(self._completer)
        self._completer.setCompletionPrefix(word)
        names = self._completer.completionCount()
        same = names == 1 and self._completer.currentCompletion().casefold() == word.casefold()
        if not names or same or not (word or all_names):
            popup.hide()
            return
        where = self.cursorRect()
        where.setWidth(popup.sizeHintForColumn(0) + 3 * theme.L)
        self._completer.complete(where)

    def _insert(self, name: str) -> None:
        """Insert a name in place of its typed beginning; the cursor goes into a function's parentheses."""
        start = self.cursorPosition() - len(self._word())
        self.setText(self.text()[:start] + name + self.text()[self.cursorPosition() :])
        self.setCursorPosition(start + len(name) - name.endswith("()"))
        self.edited.emit()
