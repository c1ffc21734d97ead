"""The fields of a condition: its column, and the values that its operator takes."""

from __future__ import annotations

import pyarrow as pa
from PySide6.QtCore import QDate, QEvent, QObject, QPoint, QStringListModel, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import (
    QCalendarWidget,
    QComboBox,
    QCompleter,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QMenu,
    QWidget,
    QWidgetAction,
)

from lamella.core.filters.kinds import NESTED_KINDS, NUMBERS, Kind, kind_of
from lamella.core.filters.operators import PATTERNS, Arity, Operator, Takes
from lamella.ui import theme
from lamella.ui.filters.tree import CHOICE_OPERATORS
from lamella.ui.widgets.field_buttons import FieldButton, add_clear_button
from lamella.ui.widgets.items import popup_of

PLACEHOLDERS = {
    Kind.DATE: "2013-01-31",
    Kind.TIMESTAMP: "2013-01-31 17:30",
    Kind.TIME: "17:30",
    Kind.DURATION: "1:30:00",
    Kind.TEXT: "text",
    Kind.UUID: "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
    Kind.BINARY: "00ff",
    Kind.LIST: "list",
    Kind.OTHER: "value",
}
PATTERN_HINTS = {"like": "A%", "regex": "^A.*[0-9]$"}
NARROWEST = 4  # in lines of text
NAMES = {0: "Value", 1: "Second value"}


class ValueField(QLineEdit):
    """`choice_requested` is emitted on Down if values can be chosen from a list."""

    choice_requested = Signal()
    offers_choice = False

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self.offers_choice and event.key() == Qt.Key.Key_Down:
            self.choice_requested.emit()
        else:
            super().keyPressEvent(event)


class ValueFields(QWidget):
    """The value fields. `edited` carries all texts on every key, `finished` is emitted on Enter or when a
    field is left, `choice_requested` to choose a value from a list. `switched` carries the index of a field
    that changes between a value and a column."""

    edited = Signal(list)
    finished = Signal()
    choice_requested = Signal()
    switched = Signal(int)

    def __init__(self, names: QStringListModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._names = names
        self._layout = QHBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(theme.S)
        self._fields: list[QLineEdit | QComboBox] = []

    def ask(
        self,
        operator: Operator,
        type_: pa.DataType,
        texts: list[str],
        columns: frozenset[int] = frozenset(),
    ) -> None:
        """Show the fields for this operator with `texts`; fields at the indexes `columns` name a column."""
        self._clear()
        count = 1 if operator.arity is Arity.MANY else operator.arity.value
        for place in range(count):
            if place:
                self._layout.addWidget(QLabel("and"))
            text = texts[place] if place < len(texts) else ""
            self._add(place, operator, type_, text, operator.takes is Takes.COLUMNS and place in columns)
        self.setVisible(count > 0)

    @property
    def fields(self) -> list[QLineEdit | QComboBox]:
        return list(self._fields)

    def texts(self) -> list[str]:
        return [f.currentText() if isinstance(f, QComboBox) else f.text() for f in self._fields]

    def show_texts(self, texts: list[str]) -> None:
        """Set the texts of the existing fields."""
        for field, text in zip(self._fields, texts, strict=False):
            if isinstance(field, QLineEdit):
                field.setText(text)

    def mark(self, invalid: bool) -> None:
        for field in self._fields:
            if field.property("variant") != ("invalid" if invalid else ""):
                theme.variant(field, "invalid" if invalid else "")

    def focus_first(self) -> bool:
        if self._fields:
            self._fields[0].setFocus()
        return bool(self._fields)

    def _clear(self) -> None:
        self._fields.clear()
        while item := self._layout.takeAt(0):
            if widget := item.widget():
                widget.hide()
                widget.deleteLater()

    def _add(self, place: int, operator: Operator, type_: pa.DataType, text: str, is_column: bool) -> None:
        kind = kind_of(operator.value_type(type_))
        field: QLineEdit | QComboBox
        if is_column:
            field = self._column(text)
        else:
            field = self._choice(text) if kind is Kind.BOOLEAN else self._line(operator, kind, text)
        if operator.takes is Takes.COLUMNS and operator.arity is Arity.ONE and isinstance(field, QLineEdit):
            self._offer_switch(field, place, is_column)
        field.setAccessibleName(f"{NAMES[place]}: a column" if is_column else NAMES[place])
        self._fields.append(field)
        self._layout.addWidget(field)
        field.show()  # a layout shows new widgets only later, and hidden ones cannot take the keyboard

    def _choice(self, text: str) -> QComboBox:
        box = QComboBox()
        box.addItems(["", "true", "false"])
        box.setCurrentText(text)
        box.currentTextChanged.connect(self._tell)
        return box

    def _line(self, operator: Operator, kind: Kind, text: str) -> QLineEdit:
        line = ValueField(text)
        hint = PATTERN_HINTS.get(operator.id) or ("number" if kind in NUMBERS else PLACEHOLDERS[kind])
        line.setPlaceholderText(f"{hint}, {hint}, …" if operator.arity is Arity.MANY else hint)
        line.setMinimumWidth(NARROWEST * theme.current().line_height())
        line.textEdited.connect(self._tell)
        line.editingFinished.connect(self.finished)
        if kind in (Kind.DATE, Kind.TIMESTAMP) and operator.arity is not Arity.MANY:
            self._offer_calendar(line)
        if operator.id in CHOICE_OPERATORS and kind not in NESTED_KINDS:
            self._offer_choice(line)
        if operator.id in PATTERNS:
            line.setFont(theme.current().mono_font())
        return line

    def _column(self, text: str) -> ColumnBox:
        box = ColumnBox(self._names, text)
        box.setCursorPosition(0)
        box.setMinimumWidth(NARROWEST * theme.current().line_height())
        box.chosen.connect(lambda _name: self._tell())
        return box

    def _offer_switch(self, line: QLineEdit, place: int, is_column: bool) -> None:
        says = "Compare with a value" if is_column else "Compare with a column"
        button = FieldButton(line, "columns", says, leading=is_column)
        button.clicked.connect(lambda: self.switched.emit(place))

    def _offer_choice(self, line: ValueField) -> None:
        button = FieldButton(line, "chevron-down", "Choose from the values, with counts (Down)")
        button.clicked.connect(self.choice_requested)
        line.choice_requested.connect(self.choice_requested)
        line.offers_choice = True

    def _offer_calendar(self, line: QLineEdit) -> None:
        FieldButton(line, "date", "Choose a day").clicked.connect(lambda: self._open_calendar(line))

    def _open_calendar(self, line: QLineEdit) -> None:
        calendar, menu = QCalendarWidget(), QMenu(line)
        day = QDate.fromString(line.text()[:10], "yyyy-MM-dd")
        if day.isValid():
            calendar.setSelectedDate(day)
        entry = QWidgetAction(menu)
        entry.setDefaultWidget(calendar)
        menu.addAction(entry)
        calendar.activated.connect(lambda day: self._choose_day(line, day, menu))
        calendar.clicked.connect(lambda day: self._choose_day(line, day, menu))
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(line.mapToGlobal(QPoint(0, line.height())))

    def _choose_day(self, line: QLineEdit, day: QDate, menu: QMenu) -> None:
        line.setText(day.toString("yyyy-MM-dd") + line.text()[10:])
        menu.close()
        self._tell()
        self.finished.emit()

    def _tell(self) -> None:
        self.edited.emit(self.texts())


MOST_COMPLETIONS = 15


class ColumnBox(QLineEdit):
    """`chosen` is emitted when a column is picked or the field is left; the text may not be a column.

    Not a combo box: those measure every item, 0.2 s each for ten thousand columns. The model is shared by all
    boxes of a builder. Typing replaces the current name.
    """

    chosen = Signal(str)

    def __init__(self, names: QStringListModel, name: str, parent: QWidget | None = None) -> None:
        super().__init__(name, parent)
        self._names, self._last = names, name
        self._typed = name
        """The text without the line of the list that the keyboard is on, which Qt writes into the field."""
        self._entered_by_mouse = False
        self.known_columns: frozenset[str] = frozenset()
        """Columns beside those of the model: their names are not completed to others."""
        self.setAccessibleName("Column")
        self.setPlaceholderText("Choose a column")
        self.setTextMargins(0, 0, 2 - theme.S, 0)  # beside the arrow, a field's padding is wasted space
        FieldButton(self, "chevron-down", "All columns (Down)").clicked.connect(self.show_all)
        self.setCompleter(self._complete_anywhere(names))
        self.textEdited.connect(self._note_typed)
        self.editingFinished.connect(self._tell)

    def add_clear_button(self) -> None:
        """Let a click on a cross choose no column."""
        add_clear_button(self).clicked.connect(self._tell)

    def show_name(self, name: str) -> None:
        """Show another column without emitting `chosen`."""
        self._last = name
        self.setText(name)
        self.setCursorPosition(0)
        if self.hasFocus():
            self.selectAll()

    def show_all(self) -> None:
        """Open the list of all columns, at the current one."""
        self.setFocus()
        completer = self.completer()
        completer.setCompletionPrefix("")
        completer.complete()
        matches = self._names.match(self._names.index(0), Qt.ItemDataRole.DisplayRole, self.text(), 1)
        if matches:
            popup_of(completer).setCurrentIndex(completer.completionModel().index(matches[0].row(), 0))

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        popup = popup_of(self.completer())  # a separate list takes 2 ms, and few are used
        theme.variant(popup, "completions")
        popup.installEventFilter(self)
        if event.reason() not in (Qt.FocusReason.PopupFocusReason, Qt.FocusReason.ActiveWindowFocusReason):
            self.selectAll()
        self._entered_by_mouse = event.reason() is Qt.FocusReason.MouseFocusReason

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        if self._entered_by_mouse and not self.hasSelectedText():  # the mouse press set the cursor
            self.selectAll()
        self._entered_by_mouse = False

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Down and not popup_of(self.completer()).isVisible():
            self.show_all()
        else:
            super().keyPressEvent(event)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Restore the text if the list of columns is closed without a choice."""
        popup = popup_of(self.completer())
        if watched is not popup:
            return super().eventFilter(watched, event)
        closes = False
        if event.type() is QEvent.Type.Show:
            self._typed = self.text()
        elif isinstance(event, QKeyEvent):
            closes = event.key() == Qt.Key.Key_Escape
        elif isinstance(event, QMouseEvent) and event.type() is QEvent.Type.MouseButtonPress:
            closes = not popup.rect().contains(event.position().toPoint())
        if closes:
            self.setText(self._typed)
        return super().eventFilter(watched, event)

    def _note_typed(self, text: str) -> None:
        self._typed = text

    def _complete_anywhere(self, names: QStringListModel) -> QCompleter:
        completer = QCompleter(names, self)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        completer.setMaxVisibleItems(MOST_COMPLETIONS)
        completer.activated.connect(self._take, Qt.ConnectionType.QueuedConnection)
        return completer

    def _take(self, name: str) -> None:
        self.setText(name)
        self._tell()

    def _tell(self) -> None:
        self._take_only_match()
        if self.text() != self._last:
            self._last = self.text()
            self.chosen.emit(self._last)

    def _take_only_match(self) -> None:
        """Complete the typed text if only one column matches it."""
        typed, names = self.text(), self._names.stringList()
        if not typed or typed in names or typed in self.known_columns:
            return
        folded = typed.casefold()
        same = [name for name in names if name.casefold() == folded]
        matches = same or [name for name in names if folded in name.casefold()]
        if len(matches) == 1:
            self.setText(matches[0])
