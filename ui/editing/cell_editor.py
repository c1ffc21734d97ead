"""The editors of one cell of the grid: a line, a multi-line area for long text and JSON, and a check box."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, ClassVar, TypeGuard

import pyarrow as pa
from PySide6.QtCore import QDate, QEvent, QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QTextCharFormat, QTextOption
from PySide6.QtWidgets import (
    QCalendarWidget,
    QCheckBox,
    QCompleter,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QToolButton,
    QWidget,
)

from lamella.core.errors import BadData
from lamella.core.filters.cells import parse_cell
from lamella.core.filters.kinds import NESTED_KINDS, Kind, kind_of
from lamella.core.phrases import sentence_case
from lamella.ui import theme
from lamella.ui.widgets.field_buttons import FieldButton
from lamella.ui.widgets.hosts import parent_of
from lamella.ui.widgets.items import popup_of
from lamella.ui.widgets.popover import Popover

NULL_HINT = "null"
ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
MOVES = {
    Qt.Key.Key_Return: (1, 0),
    Qt.Key.Key_Enter: (1, 0),
    Qt.Key.Key_Tab: (0, 1),
    Qt.Key.Key_Backtab: (0, -1),
}
LINE_MOVES = MOVES | {Qt.Key.Key_Up: (-1, 0), Qt.Key.Key_Down: (1, 0)}
DAYS = (Kind.DATE, Kind.TIMESTAMP)
DAY = re.compile(r"\s*(\d{4}-\d\d-\d\d)(.*)", re.DOTALL)
ISO = "yyyy-MM-dd"
UNIT = re.compile(r"\A\ufeff[\s\S]|\r\n|[\s\S]")
"""What counts as one character in Qt's fields."""
MOST_LETTERS = 2**31 - 1
"""The maximum length of a line: Qt would otherwise cut pasted text at 32,767 characters."""
LONGEST_LINE = 80
"""Texts of up to this many characters are edited in a line, longer ones in an area."""
LONGEST_EDITED_TEXT, LONGEST_EDITED_LINE = 1_000_000, 100_000
"""The most characters of a text, and of one of its lines, that Qt lays out without blocking the window."""
SLOW_LINE = 10_000
"""From this many characters on, wrapping a line without spaces at words takes quadratic time."""
SHIFT, CONTROL = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.ControlModifier
TRUTH = {"true": True, "false": False}


def needs_area(type_: pa.DataType, text: str | None) -> bool:
    """Whether a value is edited in an area rather than in a line."""
    kind = kind_of(type_)
    if kind in NESTED_KINDS:
        return True
    return (
        kind is Kind.TEXT and text is not None and (len(text) > LONGEST_LINE or "\n" in text or "\r" in text)
    )


def is_editable(text: str) -> bool:
    """Whether a text is short enough to be edited."""
    return len(text) <= LONGEST_EDITED_TEXT and _longest_line(text) <= LONGEST_EDITED_LINE


def _longest_line(text: str) -> int:
    return max(map(len, text.splitlines()), default=0)


def with_own_letters(before: str, display: str, written: str) -> str:
    """The new value, for a field that showed `display` for `before` and now has `written`. Outside the
    changed part, line ends and characters that Qt cannot represent stay as they were."""
    if before == display:
        return written
    units = UNIT.findall(before)
    if len(units) != len(display):
        return written
    first = _num_alike(display, written)
    last = _num_alike(display[first:][::-1], written[first:][::-1])
    middle = written[first : len(written) - last]
    if "\r\n" in before:
        middle = middle.replace("\n", "\r\n")
    return "".join(units[:first]) + middle + "".join(units[len(units) - last :])


def _num_alike(left: str, right: str) -> int:
    """The length of the common prefix of two texts."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False)))


if TYPE_CHECKING:
    Editor = QWidget
else:  # one class of Qt is all that a class may be derived from
    Editor = object


class CellEntry(Editor):
    """What the editors have in common. `done` carries the typed value (None for null) and the (row, column)
    step to take next; `left` is emitted instead if nothing was changed or Esc was pressed, and `filled` with
    the text, None for null, if it is for all selected cells. `reason_changed` carries why the text is
    invalid, or an empty text.

    Enter and Tab finish, Ctrl+Enter fills, Ctrl+Backspace sets null. An invalid text is marked, explained
    beside the editor and not accepted.
    """

    done: ClassVar[Signal]
    left: ClassVar[Signal]
    filled: ClassVar[Signal]
    reason_changed: ClassVar[Signal]
    type: pa.DataType
    before: str | None
    variants = ("cell", "cell-invalid")
    moves = MOVES
    refusal = ""
    """Why the text was discarded when the editor lost the keyboard."""
    _over = False

    def new_text(self) -> str:
        """The text in the editor."""
        raise NotImplementedError

    def finish(self, step: tuple[int, int] = (0, 0)) -> bool:
        """Emit the value; False if the text is invalid, and the editor stays open."""
        if self._over:
            return True
        text = self.new_text()
        if text == (self.before or ""):
            self._leave(step)
            return True
        if self._check():
            return False
        self._over = True
        self.done.emit(parse_cell(text, self.type), step)
        return True

    def fill(self) -> None:
        """Emit the text for all selected cells, unless it is invalid for this one."""
        text = self.new_text()
        empty = not text and self.before is None
        if not self._over and (empty or not self._check()):
            self._over = True
            self.filled.emit(None if empty else text)

    def set_null(self) -> None:
        if not self._over:
            if self.before is None:
                self._leave((0, 0))
                return
            self._over = True
            self.done.emit(None, (0, 0))

    def press(self, event: QKeyEvent) -> bool:
        """Handle the keys that all editors share; True if it was one."""
        key, control = Qt.Key(event.key()), bool(event.modifiers() & CONTROL)
        if key == Qt.Key.Key_Escape:
            self._leave((0, 0))
        elif key == Qt.Key.Key_Backspace and control:
            self.set_null()
        elif key in ENTER and control:
            self.fill()
        elif key in self.moves and not event.modifiers() & Qt.KeyboardModifier.AltModifier:
            down, right = self.moves[key]
            back = key in ENTER and bool(event.modifiers() & SHIFT)
            self.finish((-down, right) if back else (down, right))
        else:
            return False
        return True

    def leave_focus(self, event: QFocusEvent) -> None:
        """Commit on a click elsewhere, or discard an invalid text; another window changes nothing."""
        waits = (Qt.FocusReason.PopupFocusReason, Qt.FocusReason.ActiveWindowFocusReason)
        if event.reason() not in waits and not self.finish():
            self.refusal = self._check()
            self._leave((0, 0))

    def _leave(self, step: tuple[int, int]) -> None:
        if not self._over:
            self._over = True
            self.left.emit(step)

    def _check(self) -> str:
        """The reason why the text is invalid, which is also marked in the editor; empty if it is valid."""
        try:
            parse_cell(self.new_text(), self.type)
            reason = ""
        except BadData as error:
            reason = error.why or error.what
        theme.variant(self, self.variants[bool(reason)])
        self.setToolTip(reason)
        self.reason_changed.emit(reason)
        return reason


class Reason(QLabel):
    """Says why the text is invalid, below the editor, or above it if there is no room."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        theme.variant(self, "reason")
        self.setAccessibleName("Why the value does not fit")
        self.setWordWrap(True)
        self.hide()

    def say(self, reason: str, field: QRect) -> None:
        self.setText(sentence_case(reason) + "." if reason else "")
        self.place(field)
        self.setVisible(bool(reason))

    def place(self, field: QRect) -> None:
        """Move beside the editor."""
        around = parent_of(self).rect()
        words = self.fontMetrics().horizontalAdvance(self.text()) + 3 * theme.M
        width = min(max(field.width(), words), around.width() - theme.S)
        size = QSize(width, self.heightForWidth(width))
        below = field.bottom() + 1 + size.height() <= around.bottom()
        top = field.bottom() + 1 if below else field.top() - size.height()
        left = max(0, min(field.left(), around.right() - width))
        self.setGeometry(QRect(QPoint(left, top), size))
        self.raise_()


def is_tab(event: QEvent) -> TypeGuard[QKeyEvent]:
    """Whether the key is Tab, which the editor handles itself."""
    if not isinstance(event, QKeyEvent) or event.type() != QEvent.Type.KeyPress:
        return False
    return event.key() in (Qt.Key.Key_Tab, Qt.Key.Key_Backtab)


class CellEditor(CellEntry, QLineEdit):
    """A single line; the up and down arrows finish, too. For text, Shift+Enter or F2 opens the area
    (`enlarged` carries text to add); for dates, Alt+Down opens the calendar; for columns of few values,
    Alt+Down lists them."""

    done = Signal(object, tuple)
    left = Signal(tuple)
    filled = Signal(object)
    reason_changed = Signal(str)
    enlarged = Signal(str)
    moves = LINE_MOVES

    def __init__(
        self,
        type_: pa.DataType,
        text: str | None,
        begun_with: str | None = None,
        parent: QWidget | None = None,
    ) -> None:
        """`text` is the whole cell, None for null; `begun_with` is typed text that replaces it."""
        super().__init__(parent)
        self.type, self.before = type_, text
        self.calendar: Popover | None = None
        theme.variant(self, "cell")
        self.setAccessibleName("New value of the cell")
        self.setPlaceholderText(NULL_HINT if text is None else "")
        self.setMaxLength(MOST_LETTERS)
        self.setText((text or "") if begun_with is None else begun_with)
        self._first_text = self.text() if begun_with is None else None
        if begun_with is None:
            self.selectAll()
        if kind_of(type_) in DAYS:
            FieldButton(self, "date", "Choose a day (Alt+Down)").clicked.connect(self.open_calendar)
        self.textEdited.connect(self._check)

    def new_text(self) -> str:
        display = self._first_text
        return self.text() if display is None else with_own_letters(self.before or "", display, self.text())

    def offer(self, values: Sequence[str]) -> None:
        """Offer these values as completions."""
        completer = QCompleter(list(values), self)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        completer.setFilterMode(Qt.MatchFlag.MatchStartsWith)
        theme.variant(popup_of(completer), "completions")
        self.setCompleter(completer)

    def open_list(self) -> None:
        """List all offered values."""
        completer = self.completer()
        if completer is not None:
            completer.setCompletionPrefix("")
            completer.complete()

    def open_calendar(self) -> None:
        """Open the calendar; choosing a day keeps the time."""
        match = DAY.match(self.text())
        calendar = _calendar()
        day = QDate.fromString(match[1], ISO) if match else QDate()
        calendar.setSelectedDate(day if day.isValid() else QDate.currentDate())
        calendar.clicked.connect(self._take_day)
        calendar.activated.connect(self._take_day)
        self.calendar = Popover(calendar, self)
        self.calendar.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.calendar.open_below(self)
        calendar.setFocus(Qt.FocusReason.PopupFocusReason)

    def _take_day(self, day: QDate) -> None:
        if self.calendar is None:
            return
        match = DAY.match(self.text())
        time = match[2] if match else (" 00:00" if kind_of(self.type) is Kind.TIMESTAMP else "")
        calendar, self.calendar = self.calendar, None
        calendar.close()
        self.setText(day.toString(ISO) + time)
        self._check()
        self.setFocus(Qt.FocusReason.PopupFocusReason)

    def event(self, event: QEvent) -> bool:
        if is_tab(event):
            self.keyPressEvent(event)
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, text = Qt.Key(event.key()), kind_of(self.type) is Kind.TEXT
        if key == Qt.Key.Key_Down and event.modifiers() & Qt.KeyboardModifier.AltModifier:
            self.open_calendar() if kind_of(self.type) in DAYS else self.open_list()
        elif text and key == Qt.Key.Key_F2:
            self.enlarged.emit("")
        elif text and key in ENTER and event.modifiers() == SHIFT:
            self.enlarged.emit("\n")
        elif not self.press(event):
            super().keyPressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.leave_focus(event)


class CellArea(CellEntry, QPlainTextEdit):
    """Several lines of text or of formatted JSON. Shift+Enter begins a new line."""

    done = Signal(object, tuple)
    left = Signal(tuple)
    filled = Signal(object)
    reason_changed = Signal(str)
    variants = ("cell-area", "cell-area-invalid")

    def __init__(
        self,
        type_: pa.DataType,
        text: str | None,
        begun_with: str | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        display = _format_json(text) if text and kind_of(type_) in NESTED_KINDS else text
        self.type, self.before, self._began_typing = type_, display, begun_with is not None
        theme.variant(self, "cell-area")
        self.setPlaceholderText(NULL_HINT if text is None else "")
        if _longest_line(display or "") > SLOW_LINE:
            self.setWordWrapMode(QTextOption.WrapMode.WrapAnywhere)
        self.setPlainText((display or "") if begun_with is None else begun_with)
        self._first_text = self._text()
        if begun_with is not None:
            self.moveCursor(self.textCursor().MoveOperation.End)
        elif kind_of(type_) not in NESTED_KINDS:
            self.selectAll()
        self.textChanged.connect(self._check)

    def new_text(self) -> str:
        """The text with the value's own line ends; the unchanged value if nothing was typed."""
        if not self._began_typing and not self.document().isModified():
            return self.before or ""
        before, text = self.before or "", self._text()
        if not self._began_typing:
            return with_own_letters(before, self._first_text, text)
        return text.replace("\n", "\r\n") if "\r\n" in before else text

    def _text(self) -> str:
        """The plain text with non-breaking spaces, which `toPlainText` would turn into ordinary ones."""
        return self.document().toRawText().replace("\u2029", "\n")

    def event(self, event: QEvent) -> bool:
        if is_tab(event):
            self.keyPressEvent(event)
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in ENTER and event.modifiers() == SHIFT:
            self.insertPlainText("\n")
        elif not self.press(event):
            super().keyPressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.leave_focus(event)


class CellCheck(CellEntry, QCheckBox):
    """A boolean: Space switches it, and null becomes true."""

    done = Signal(object, tuple)
    left = Signal(tuple)
    filled = Signal(object)
    reason_changed = Signal(str)
    variants = ("cell", "cell")
    moves = LINE_MOVES

    def __init__(self, type_: pa.DataType, text: str | None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.type, self.before = type_, text
        theme.variant(self, "cell")
        self.setTristate(text is None)
        state = Qt.CheckState.PartiallyChecked if text is None else _state(text == "true")
        self.setCheckState(state)
        self._follow()
        self.clicked.connect(self._follow_switch)

    def new_text(self) -> str:
        state = self.checkState()
        unset = state is Qt.CheckState.PartiallyChecked
        return "" if unset else ("true" if state is Qt.CheckState.Checked else "false")

    def event(self, event: QEvent) -> bool:
        if is_tab(event):
            self.keyPressEvent(event)
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if not self.press(event):
            super().keyPressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.leave_focus(event)

    def _follow_switch(self) -> None:
        self.setTristate(False)
        self._follow()

    def _follow(self) -> None:
        self.setText(self.new_text() or NULL_HINT)


def _calendar() -> QCalendarWidget:
    """A calendar in the theme's colours."""
    calendar = QCalendarWidget()
    calendar.setVerticalHeaderFormat(QCalendarWidget.VerticalHeaderFormat.NoVerticalHeader)
    calendar.setAccessibleName("Day")
    for day in (Qt.DayOfWeek.Saturday, Qt.DayOfWeek.Sunday):
        calendar.setWeekdayTextFormat(day, QTextCharFormat())  # otherwise bright red
    for name, icon in (("prev", "chevron-left"), ("next", "chevron-right")):
        button = calendar.findChild(QToolButton, f"qt_calendar_{name}month")
        if button is not None:
            button.setIcon(theme.current().icon(icon))
    return calendar


def _state(on: bool) -> Qt.CheckState:
    return Qt.CheckState.Checked if on else Qt.CheckState.Unchecked


def _format_json(text: str) -> str:
    """JSON on several lines."""
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except ValueError:
        return text
