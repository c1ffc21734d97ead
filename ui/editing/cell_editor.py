"""The field in which one cell of the grid is edited."""

from __future__ import annotations

import pyarrow as pa
from PySide6.QtCore import QEvent, QPoint, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QLineEdit, QToolTip, QWidget

from lamella.core.errors import BadData
from lamella.core.filters.cells import parse_cell
from lamella.ui import theme

NULL_HINT = "null"
ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
MOVES = {
    Qt.Key.Key_Return: (1, 0),
    Qt.Key.Key_Enter: (1, 0),
    Qt.Key.Key_Tab: (0, 1),
    Qt.Key.Key_Backtab: (0, -1),
    Qt.Key.Key_Up: (-1, 0),
    Qt.Key.Key_Down: (1, 0),
}


class CellEditor(QLineEdit):
    """`done` carries the typed value (None for null) and the (row, column) step to take next;
    `left` comes instead when nothing was changed or Esc was pressed, `filled` with the text, None for null,
    when it is for all selected cells.

    Enter, Tab and the arrows up and down finish, Ctrl+Enter fills; Ctrl+Backspace sets null. What does not
    fit the type is marked, said under the field, and not let go of.
    """

    done = Signal(object, tuple)
    left = Signal(tuple)
    filled = Signal(object)

    def __init__(
        self,
        type_: pa.DataType,
        text: str | None,
        begun_with: str | None = None,
        parent: QWidget | None = None,
    ) -> None:
        """`text` is the cell in full, None for null; `begun_with` replaces it by what was typed first."""
        super().__init__(parent)
        self.type, self._before = type_, text
        self._over = False
        theme.variant(self, "cell")
        self.setAccessibleName("New value of the cell")
        self.setPlaceholderText(NULL_HINT if text is None else "")
        self.setText((text or "") if begun_with is None else begun_with)
        if begun_with is None:
            self.selectAll()
        self.textEdited.connect(self._check)

    def finish(self, step: tuple[int, int] = (0, 0)) -> bool:
        """Hand the value over; False when it does not fit and stays."""
        if self._over:
            return True
        text = self.text()
        if text == (self._before or ""):
            self._leave(step)
            return True
        reason = self._check()
        if reason:
            self._tell(reason)
            return False
        self._over = True
        self.done.emit(parse_cell(text, self.type), step)
        return True

    def fill(self) -> None:
        """Hand the text over for all selected cells, unless it does not fit this one."""
        text, reason = self.text(), ""
        empty = not text and self._before is None
        if not empty:
            reason = self._check()
        if reason:
            self._tell(reason)
        elif not self._over:
            self._over = True
            self.filled.emit(None if empty else text)

    def set_null(self) -> None:
        if not self._over:
            if self._before is None:
                self._leave((0, 0))
                return
            self._over = True
            self.done.emit(None, (0, 0))

    def event(self, event: QEvent) -> bool:
        """Tab is a key of the editor, not a way out of it."""
        if event.type() == QEvent.Type.KeyPress and event.key() in (Qt.Key.Key_Tab, Qt.Key.Key_Backtab):  # type: ignore[attr-defined]
            self.keyPressEvent(event)  # type: ignore[arg-type]
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if key == Qt.Key.Key_Escape:
            self._leave((0, 0))
        elif key == Qt.Key.Key_Backspace and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.set_null()
        elif key in ENTER and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.fill()
        elif key in MOVES:
            down, right = MOVES[key]
            back = key in ENTER and _shifted(event)
            self.finish((-down, right) if back else (down, right))
        else:
            super().keyPressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """A click elsewhere keeps what fits and gives up what does not; another window only waits."""
        super().focusOutEvent(event)
        waits = (Qt.FocusReason.PopupFocusReason, Qt.FocusReason.ActiveWindowFocusReason)
        if event.reason() not in waits and not self.finish():
            self._leave((0, 0))

    def _leave(self, step: tuple[int, int]) -> None:
        if not self._over:
            self._over = True
            self.left.emit(step)

    def _check(self) -> str:
        """The reason why the text does not fit, marked at the field; empty when it does."""
        try:
            parse_cell(self.text(), self.type)
            reason = ""
        except BadData as error:
            reason = error.why or error.what
        theme.variant(self, "cell-invalid" if reason else "cell")
        self.setToolTip(reason)
        return reason

    def _tell(self, reason: str) -> None:
        QToolTip.showText(self.mapToGlobal(QPoint(0, self.height())), reason, self)


def _shifted(event: QKeyEvent) -> bool:
    return bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
