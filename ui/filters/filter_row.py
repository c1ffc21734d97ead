"""The row of fields under the grid's header: text typed above a column is a condition on it."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pyarrow as pa
from PySide6.QtCore import QEvent, Qt, QTimer, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QLineEdit, QWidget

from lamella.core.filters.kinds import Kind, kind_of
from lamella.core.filters.operators import OPERATORS, Arity
from lamella.core.phrases import sentence_case
from lamella.ui import theme
from lamella.ui.filters.tree import (
    EMPTY_TEXT,
    SEVERAL,
    Condition,
    Problem,
    Types,
    join_list,
    quick,
    split_list,
    split_operator,
    type_of,
)
from lamella.ui.grid.scrolling import CellPlaces

Key = Qt.Key
DEBOUNCE_MS = 200
_REGEX = re.compile(r"/(.+)/(i?)", re.DOTALL)
_QUOTED_TEXT = re.compile(r'"((?:[^"]|"")+)"')
SIGNS = {"eq": "=", "ne": "<>", "gt": ">", "gte": ">=", "lt": "<", "lte": "<=", "in": "=", "nin": "<>"}
NO_VALUE = {"is_null": "=NULL", "not_null": "<>NULL", "is_true": "true", "is_false": "false"}


def typed_condition(text: str, name: str, types: Types) -> Condition | Problem | None:
    """The condition for a text above a column: None for an empty text, a `Problem` if it cannot be read."""
    type_ = type_of(name, types)
    text = text.strip()
    if not text:
        return None
    if type_ is None:
        return Problem("column", f"there is no column '{name}'")
    condition = _read(text, name, type_)
    predicate = condition.bind(types)
    return predicate if isinstance(predicate, Problem) else condition


def _read(text: str, name: str, type_: pa.DataType) -> Condition:
    kind, sign = kind_of(type_), split_operator(text)
    request = quick(text, type_)
    if request is not None and OPERATORS[request[0]].arity is Arity.NONE:
        return Condition(name, *request)
    if sign is not None:
        operator, values = sign[0], split_list(sign[1]) if sign[0] in SEVERAL else [sign[1]]
        if len(values) > 1:
            return Condition(name, SEVERAL[operator], [join_list(values)])
        return Condition(name, operator, [value or EMPTY_TEXT for value in values] if sign[1] else [""])
    if request is not None:
        return Condition(name, *request)
    if kind is Kind.TEXT:
        return _read_text(text, name)
    if kind is Kind.BOOLEAN and text.lower() in ("true", "false"):
        return Condition(name, f"is_{text.lower()}")
    return Condition(name, "has" if kind is Kind.LIST else "eq", [text])


def _read_text(text: str, name: str) -> Condition:
    if regex := _REGEX.fullmatch(text):
        return Condition(name, "regex", [regex[1].replace("\\/", "/")], bool(regex[2]))
    if quoted := _QUOTED_TEXT.fullmatch(text):
        return Condition(name, "contains", [quoted[1].replace('""', '"')])
    return Condition(name, "contains", [text], True)


def written_condition(condition: Condition, types: Types) -> str | None:
    """The text of a condition in the filter row; None if it has none."""
    condition_filter = condition.filter(types)
    if condition_filter is None:
        return None
    for text in _candidates(condition):
        again = typed_condition(text, condition.column, types)
        if isinstance(again, Condition) and again.filter(types) == condition_filter:
            return text
    return None


def _candidates(condition: Condition) -> list[str]:
    operator, texts = condition.operator, condition.texts
    if operator in NO_VALUE:
        return [NO_VALUE[operator]]
    if operator == "between":
        return ["~".join(texts)]
    if operator == "regex":
        return [f"/{texts[0].replace('/', chr(92) + '/')}/{'i' if condition.ignore_case else ''}"]
    if operator in ("contains", "has"):
        return [texts[0], '"' + texts[0].replace('"', '""') + '"']
    if operator in SIGNS:
        sign = SIGNS[operator]
        bare = [texts[0]] if operator == "eq" else []
        return [*bare, sign + texts[0], sign + join_list(texts)]
    return []


class FilterField(QLineEdit):
    """The field of one column; scrolling may reassign it to another."""

    left = Signal()
    key_pressed = Signal(object)
    name = ""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        event.setAccepted(False)
        self.key_pressed.emit(event)
        if not event.isAccepted():
            super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        """Move Tab to the field of the next column, which may have to be scrolled to."""
        is_press = event.type() == QEvent.Type.KeyPress
        if is_press and isinstance(event, QKeyEvent) and event.key() in (Key.Key_Tab, Key.Key_Backtab):
            self.keyPressEvent(event)
            return True
        return super().event(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.left.emit()


class FilterRow(QWidget):
    """The fields above the columns. `typed` carries a column's name and the text above it, 200 ms after the
    last key.

    Only the columns on screen have fields, and none do while the row is off.
    """

    typed = Signal(str, str)

    def __init__(self, grid: CellPlaces) -> None:
        super().__init__(grid)
        self._grid = grid
        self._is_shown, self._offset = False, -1
        self._names: list[str] = []
        self._fields: dict[str, FilterField] = {}
        self._spare: list[FilterField] = []
        self._texts: Mapping[str, str] = {}
        self._drafts: dict[str, str] = {}
        self._settled_texts: dict[str, str] = {}
        self._reasons: dict[str, str] = {}
        self._pending = ""
        self._wait = QTimer(self, singleShot=True, interval=DEBOUNCE_MS)
        self._wait.timeout.connect(self.flush)
        self.setAccessibleName("Filter row")
        self.setVisible(False)

    # ------------------------------------------------------------------- showing

    @property
    def is_shown(self) -> bool:
        return self._is_shown

    @property
    def wanted_height(self) -> int:
        return theme.current().line_height() + 4 * theme.XS if self._is_shown else 0

    def set_shown(self, is_visible: bool) -> None:
        if is_visible == self._is_shown:
            return
        self._is_shown = is_visible
        self.setVisible(is_visible)
        if is_visible:
            theme.current().changed.connect(self._restyle)
        else:
            self._wait.stop()
            theme.current().changed.disconnect(self._restyle)
            self._drafts.clear()
            self._reasons.clear()
            for field in (*self._fields.values(), *self._spare):
                field.deleteLater()
            self._fields.clear()
            self._spare.clear()
        self._grid.updateGeometries()
        self.follow_columns()

    def show_texts(self, texts: Mapping[str, str]) -> None:
        """Show the conditions of the columns as text; text being typed stays."""
        self._texts = texts
        for name in list(self._drafts):
            is_read = name != self._pending and name not in self._reasons
            if is_read and texts.get(name, "") != self._settled_texts.get(name):
                del self._drafts[name]
        for name in self._fields:
            self._show_text(name)

    def settle(self, name: str, text: str) -> None:
        """Accept the text typed above a column; `text` is the normal form of its condition."""
        self._settled_texts[name] = text
        self._reasons.pop(name, None)
        self._show_reason(name)

    def refuse(self, name: str, reason: str) -> None:
        """Mark the text typed above a column as invalid."""
        self._reasons[name] = reason
        self._show_reason(name)

    def field_of(self, name: str) -> FilterField | None:
        """The field of a column, if the column is on screen."""
        return self._fields.get(name)

    def focus_column(self, place: int) -> None:
        """Move the keyboard above the column at this position from left to right."""
        if not self._is_shown or not 0 <= place < self._grid.horizontalHeader().count():
            return
        self._grid.show_column(place)
        self.follow_columns()
        field = self._fields.get(self._grid.grid_model.names[self._grid.column_at(place)])
        if field is not None:
            field.setFocus(Qt.FocusReason.OtherFocusReason)
            field.selectAll()

    # -------------------------------------------------------------------- places

    def follow(self) -> None:
        """Follow the columns when they were scrolled or replaced."""
        if not self._is_shown:
            return
        offset, names = self._grid.horizontalHeader().offset(), self._grid.grid_model.names
        if offset != self._offset or names is not self._names:
            self.follow_columns()

    def follow_columns(self) -> None:
        """Follow the columns after they were moved, resized, hidden or shown."""
        if not self._is_shown:
            return
        header, names = self._grid.horizontalHeader(), self._grid.grid_model.names
        self._offset, self._names = header.offset(), names
        columns = {
            names[column]: column
            for column in self._grid.columns_between(0, self._grid.viewport().width() - 1)
        }
        for name in [name for name in self._fields if name not in columns]:
            gone = name not in names or header.isSectionHidden(names.index(name))
            if gone or not self._fields[name].hasFocus():
                self._let_go(name)
        for name in columns:
            if name not in self._fields:
                self._fields[name] = self._field(name)
        edge, pinned = self._grid.pinning.width, self._grid.pinning.places
        for name, field in self._fields.items():
            column = names.index(name) if name not in columns else columns[name]
            left, width = self._grid.x_of(column), header.sectionSize(column)
            covered = 0 if self._grid.place(column) < pinned else max(0, edge - left)
            if covered >= width:
                left = -width
            field.setGeometry(left + 2, theme.XS - 1, max(0, width - 5), self.height() - 2 * theme.XS + 1)
            if 0 < covered < width:
                field.setMask(field.rect().adjusted(covered, 0, 0, 0))
            else:
                field.clearMask()
            field.show()
        self.update()

    def _let_go(self, name: str) -> None:
        field = self._fields.pop(name)
        self._spare.append(field)
        if field.hasFocus():
            self._grid.setFocus(Qt.FocusReason.OtherFocusReason)
        field.hide()

    def _field(self, name: str) -> FilterField:
        field = self._spare.pop() if self._spare else self._new_field()
        field.name = name
        field.setPlaceholderText("contains" if self._is_text(name) else "")
        field.setAccessibleName(f"Filter of {name}")
        self._show_text(name, field)
        self._show_reason(name, field)
        return field

    def _new_field(self) -> FilterField:
        field = FilterField(self)
        theme.variant(field, "filter")
        field.textEdited.connect(lambda text: self._take_text(field.name, text))
        field.left.connect(lambda: self._settle(field.name))
        field.key_pressed.connect(lambda event: self._press(field, event))
        return field

    def _is_text(self, name: str) -> bool:
        model = self._grid.grid_model
        return kind_of(model.schema.field(model.names.index(name)).type) is Kind.TEXT

    def _show_text(self, name: str, field: FilterField | None = None) -> None:
        field = field or self._fields[name]
        text = self._drafts.get(name, self._texts.get(name, ""))
        if field.text() != text:
            field.setText(text)
            field.setCursorPosition(len(text) if field.hasFocus() else 0)

    def _show_reason(self, name: str, field: FilterField | None = None) -> None:
        field = field or self._fields.get(name)
        if field is None:
            return
        reason = self._reasons.get(name, "")
        tip = TEXT_TIP if self._is_text(name) else TIP
        field.setToolTip(sentence_case(reason) if reason else tip)
        field.setAccessibleDescription(reason)
        icon_name = "filter-invalid" if reason else "filter"
        if field.property("variant") != icon_name:
            theme.variant(field, icon_name)

    # -------------------------------------------------------------------- typing

    def _take_text(self, name: str, text: str) -> None:
        if self._pending and self._pending != name:
            self.flush()
        self._drafts[name], self._pending = text, name
        self._wait.start()

    def flush(self) -> None:
        """Apply the typed text now rather than after the pause."""
        self._wait.stop()
        name, self._pending = self._pending, ""
        if name:
            self.typed.emit(name, self._drafts.get(name, ""))

    def _settle(self, name: str) -> None:
        """Replace accepted text by the normal form of its condition."""
        if self._pending == name:
            self.flush()
        if name in self._drafts and name not in self._reasons:
            del self._drafts[name]
            if name in self._fields:
                self._show_text(name)

    def _press(self, field: FilterField, event: QKeyEvent) -> None:
        key, alt = event.key(), bool(event.modifiers() & Qt.KeyboardModifier.AltModifier)
        if key in (Key.Key_Return, Key.Key_Enter):
            self.flush()
        elif key == Key.Key_Down and not alt:
            self.flush()
            self._grid.setFocus(Qt.FocusReason.OtherFocusReason)
        elif key == Key.Key_Escape:
            self._escape(field)
        elif key in (Key.Key_Tab, Key.Key_Backtab):
            self._go_on(field, -1 if key == Key.Key_Backtab else 1)
        else:
            return
        event.accept()

    def _escape(self, field: FilterField) -> None:
        """Restore the condition's text, or, if it is unchanged, return to the rows."""
        name = field.name
        text = self._texts.get(name, "")
        if field.text() == text and name not in self._reasons:
            self._grid.setFocus(Qt.FocusReason.OtherFocusReason)
            return
        if self._pending == name:
            self._wait.stop()
            self._pending = ""
        self._drafts.pop(name, None)
        self._reasons.pop(name, None)
        self._show_text(name)
        self._show_reason(name)

    def _go_on(self, field: FilterField, by: int) -> None:
        header = self._grid.horizontalHeader()
        place = self._grid.place(self._grid.grid_model.names.index(field.name)) + by
        while 0 <= place < header.count() and header.isSectionHidden(header.logicalIndex(place)):
            place += by
        if 0 <= place < header.count():
            self.focus_column(place)
        else:
            self._grid.setFocus(Qt.FocusReason.OtherFocusReason)

    # ------------------------------------------------------------------ painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, area, look = QPainter(self), event.rect(), theme.current()
        header, end = self._grid.horizontalHeader(), 0
        painter.fillRect(area, look.color("window"))
        painter.setPen(look.color("border"))
        for zone, _pinned in self._grid.zones(area):
            for column in self._grid.columns_between(zone.left(), zone.right()):
                right = self._grid.x_of(column) + header.sectionSize(column) - 1
                end = max(end, right + 1)
                painter.drawLine(right, 0, right, self.height() - 1)
        painter.drawLine(area.left(), self.height() - 1, min(end, area.right() + 1) - 1, self.height() - 1)
        self._grid.pinning.paint_edge(painter, 0, self.height())
        painter.end()

    def _restyle(self) -> None:
        self._grid.updateGeometries()
        self.follow_columns()


TIP = "A value, or >5, <=5, <>5, =1, 2, a range 1~9, =NULL or <>NULL"
TEXT_TIP = 'Text to find, "Text" exactly as written, =AA, UA, <>AA, /regex/, =NULL or <>NULL'
