"""The editor of a console: line numbers, the current line, errors where they are, completions as you type."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QFontMetrics,
    QHelpEvent,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QTextBlock,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
)
from PySide6.QtWidgets import QFrame, QPlainTextDocumentLayout, QPlainTextEdit, QTextEdit, QToolTip, QWidget

from lamella.ui import theme
from lamella.ui.sql.completer import Completer
from lamella.ui.sql.highlighter import SqlHighlighter

INDENT = "  "
LEADING = 6
"""Pixels between lines at the usual text size."""
COMMENT = "-- "
_LEADING = re.compile(r"\s*")
_OWN_KEYS = tuple(
    QKeySequence(keys)
    for keys in (
        "Ctrl+Space", "Ctrl+/", "Ctrl+Return", "Ctrl+Enter", "Ctrl+Shift+Return", "Ctrl+Shift+Enter",
        "Alt+Shift+F",
    )
)  # fmt: skip
_PAIRS = {"(": ")", "[": "]", "{": "}"}
_CLOSING = {close: opening for opening, close in _PAIRS.items()}
_MOST_MATCHES = 2_000
_FARTHEST = 20_000
"""The number of characters in which the matching bracket is looked for."""


class SpacedLayout(QPlainTextDocumentLayout):
    """A layout with space below lines, for which plain text has no format."""

    def __init__(self, document: QTextDocument) -> None:
        super().__init__(document)
        self.leading = 0

    def blockBoundingRect(self, block: QTextBlock) -> QRectF:
        area = super().blockBoundingRect(block)
        if area.height() > 0:
            area.setHeight(area.height() + self.leading)
        return area


class Gutter(QWidget):
    """The line numbers, with a mark at the line that has an error."""

    def __init__(self, editor: SqlEditor) -> None:
        super().__init__(editor)
        self._editor = editor

    def sizeHint(self) -> QSize:
        return QSize(self._editor.gutter_width, 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        self._editor.paint_gutter(self, event)


class SqlEditor(QPlainTextEdit):
    """`run_requested` says whether to run all statements; `format_requested` has no value. `entered` follows
    when the editor gets the focus. A problem is marked until the text there changes."""

    run_requested = Signal(bool)
    format_requested = Signal()
    entered = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("SQL statements")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setTabChangesFocus(False)
        self.setPlaceholderText(
            "select … from …      Ctrl+Enter runs the statement, Ctrl+Space proposes names"
        )
        theme.variant(self, "code")
        document = QTextDocument(self)
        self._spacing = SpacedLayout(document)
        document.setDocumentLayout(self._spacing)
        self.setDocument(document)
        self.gutter = Gutter(self)
        self.highlighter = SqlHighlighter(self.document())
        self.completer = Completer(self)
        self._problem: QTextCursor | None = None
        self._problem_text = ""
        self._matches: list[QTextCursor] = []
        self.blockCountChanged.connect(self._fit_gutter)
        self.updateRequest.connect(self._scroll_gutter)
        self.cursorPositionChanged.connect(self._mark)
        self.document().contentsChange.connect(self._follow_change)
        theme.current().changed.connect(self._restyle)
        self._restyle()

    # ---------------------------------------------------------------------- text

    @property
    def selected_span(self) -> tuple[int, int] | None:
        """Start and end of the selection in characters; None if it is empty."""
        cursor = self.textCursor()
        return (cursor.selectionStart(), cursor.selectionEnd()) if cursor.hasSelection() else None

    def replace_span(self, start: int, stop: int, text: str) -> None:
        """Replace a part of the text as one undo step; the cursor stays near its position."""
        place = min(self.textCursor().position(), start + len(text))
        cursor = self._cursor(start, stop)
        cursor.beginEditBlock()
        cursor.insertText(text)
        cursor.endEditBlock()
        self.go_to(place)

    def go_to(self, place: int) -> None:
        cursor = self.textCursor()
        cursor.setPosition(max(0, min(place, self.document().characterCount() - 1)))
        self.setTextCursor(cursor)
        self.ensureCursorVisible()

    def select(self, start: int, stop: int) -> None:
        """Select a part of the text, and show it."""
        self.setTextCursor(self._cursor(start, stop))
        self.ensureCursorVisible()

    def show_matches(self, spans: Sequence[tuple[int, int]]) -> None:
        """Mark what was found in the text; of many matches, the first ones."""
        self._matches = [self._cursor(start, stop) for start, stop in spans[:_MOST_MATCHES]]
        self._mark()

    def show_place(self, place: int) -> None:
        """Move the cursor and the focus to a position."""
        self.go_to(place)
        self.setFocus()

    def _cursor(self, start: int, stop: int) -> QTextCursor:
        last = self.document().characterCount() - 1
        cursor = QTextCursor(self.document())
        cursor.setPosition(max(0, min(start, last)))
        cursor.setPosition(max(0, min(stop, last)), QTextCursor.MoveMode.KeepAnchor)
        return cursor

    # ------------------------------------------------------------------ problems

    def show_problem(self, start: int, stop: int, text: str) -> None:
        """Underline an error, with `text` as its tooltip."""
        self._problem, self._problem_text = self._cursor(start, max(stop, start + 1)), text
        self.setAccessibleDescription(text)
        if not self._problem.hasSelection() and start:
            self._problem = self._cursor(start - 1, start)
        self._mark()

    def clear_problem(self) -> None:
        if self._problem is not None:
            self._forget_problem()
            self._mark()

    @property
    def problem(self) -> str:
        return self._problem_text

    @property
    def problem_span(self) -> tuple[int, int] | None:
        problem = self._problem
        return None if problem is None else (problem.selectionStart(), problem.selectionEnd())

    def _follow_change(self, place: int, removed: int, added: int) -> None:
        problem = self._problem
        if problem is not None and (removed or added):
            touches = place <= problem.selectionEnd() and place + added >= problem.selectionStart()
            if touches or not problem.hasSelection():
                self._forget_problem()

    def _forget_problem(self) -> None:
        self._problem, self._problem_text = None, ""
        self.setAccessibleDescription("")

    def _mark(self) -> None:
        colors = theme.current()
        marks: list[QTextEdit.ExtraSelection] = []
        for match in self._matches:
            hit = QTextEdit.ExtraSelection()
            hit.cursor = match
            hit.format.setBackground(colors.color("warning_soft"))
            marks.append(hit)
        for start in self._brackets():
            bracket = QTextEdit.ExtraSelection()
            bracket.cursor = self._cursor(start, start + 1)
            bracket.format.setBackground(colors.color("accent_soft"))
            marks.append(bracket)
        if self._problem is not None:
            wrong = QTextEdit.ExtraSelection()
            wrong.cursor = self._problem
            wrong.format.setUnderlineStyle(QTextCharFormat.UnderlineStyle.WaveUnderline)
            wrong.format.setUnderlineColor(colors.color("danger"))
            marks.append(wrong)
        self.setExtraSelections(marks)
        self.viewport().update()  # the current line
        self.gutter.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        area = self._area(self.textCursor().block())
        line = QRect(0, area.top(), self.viewport().width(), area.height())
        painter.fillRect(line & event.rect(), theme.current().color("sunken"))
        painter.end()
        super().paintEvent(event)

    def _brackets(self) -> list[int]:
        """The positions of the bracket beside the cursor and of the matching one."""
        place, document = self.textCursor().position(), self.document()
        for start in (place - 1, place):
            sign = document.characterAt(start) if start >= 0 else ""
            if sign in _PAIRS:
                partner = self._other_bracket(start, sign, _PAIRS[sign], 1)
            elif sign in _CLOSING:
                partner = self._other_bracket(start, sign, _CLOSING[sign], -1)
            else:
                continue
            return [start] if partner is None else [start, partner]
        return []

    def _other_bracket(self, start: int, sign: str, closing: str, step: int) -> int | None:
        document, depth = self.document(), 0
        end = document.characterCount() if step > 0 else -1
        limit = max(-1, start - _FARTHEST) if step < 0 else min(end, start + _FARTHEST)
        for place in range(start, limit, step):
            character = document.characterAt(place)
            depth += (character == sign) - (character == closing)
            if depth == 0:
                return place
        return None

    # ------------------------------------------------------------------- gutter

    @property
    def gutter_width(self) -> int:
        digits = max(2, len(str(self.blockCount())))
        return theme.M + QFontMetrics(self.font()).horizontalAdvance("9" * digits) + theme.M

    def paint_gutter(self, gutter: QWidget, event: QPaintEvent) -> None:
        colors, painter = theme.current(), QPainter(gutter)
        painter.fillRect(event.rect(), colors.color("window"))
        painter.setPen(colors.color("border"))
        painter.drawLine(gutter.width() - 1, event.rect().top(), gutter.width() - 1, event.rect().bottom())
        current = self.textCursor().blockNumber()
        wrong = -1 if self._problem is None else self.document().findBlock(
            self._problem.selectionStart()
        ).blockNumber()  # fmt: skip
        block = self.firstVisibleBlock()
        while block.isValid():
            area = self._area(block)
            if area.top() > event.rect().bottom():
                break
            number = block.blockNumber()
            if number == current:
                painter.fillRect(area.adjusted(0, 0, -1, 0), colors.color("sunken"))
            if number == wrong:
                painter.fillRect(QRect(0, area.top(), 3, area.height()), colors.color("danger"))
            font = self.font()
            font.setBold(number in (current, wrong))
            painter.setFont(font)
            painter.setPen(
                colors.color("danger" if number == wrong else "text" if number == current else "faint")
            )
            text = area.adjusted(0, self._spacing.leading // 2, -theme.M, 0)
            painter.drawText(text, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop, str(number + 1))
            block = block.next()
        painter.end()

    def _area(self, block: QTextBlock) -> QRect:
        """The area of a line, with half of its spacing above the text."""
        area = self.blockBoundingGeometry(block).translated(self.contentOffset())
        top = round(area.top()) - self._spacing.leading // 2
        height = round(block.layout().boundingRect().height()) + self._spacing.leading
        return QRect(0, top, self.gutter.width(), height)

    def _fit_gutter(self) -> None:
        self.setViewportMargins(self.gutter_width, 0, 0, 0)
        area = self.contentsRect()
        self.gutter.setGeometry(area.left(), area.top(), self.gutter_width, area.height())

    def _scroll_gutter(self, area: QRect, dy: int) -> None:
        if dy:
            self.gutter.scroll(0, dy)
        else:
            self.gutter.update(0, area.y(), self.gutter.width(), area.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_gutter()

    def _restyle(self) -> None:
        font = theme.current().mono_font()
        self.setFont(font)
        self.setStyleSheet(f"font-family: '{font.family()}'; font-size: {font.pointSizeF():.1f}pt;")
        self._spacing.leading = theme.current().px(LEADING)
        self.document().setDocumentMargin(theme.S)
        self.setTabStopDistance(QFontMetrics(font).horizontalAdvance(INDENT))
        self._fit_gutter()
        self._mark()

    # --------------------------------------------------------------------- keys

    def event(self, event: QEvent) -> bool:
        kind = event.type()
        if (
            kind is QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and QKeySequence(event.keyCombination()) in _OWN_KEYS
        ):
            event.accept()
            return True
        if kind is QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            self._show_tip(event)
            return True
        return super().event(event)

    def _show_tip(self, event: QHelpEvent) -> None:
        place = self.cursorForPosition(self.viewport().mapFrom(self, event.pos())).position()
        span = self.problem_span
        inside = span is not None and span[0] <= place <= span[1]
        QToolTip.showText(event.globalPos(), self._problem_text if inside else "", self)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.entered.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self.completer.takes(event):
            event.ignore()
            return
        act = self._act(event)
        if act is not None:
            self.completer.close()
            act()
            event.accept()
            return
        super().keyPressEvent(event)
        self.completer.follow(event)

    def _act(self, event: QKeyEvent) -> Callable[[], object] | None:
        key, keys = Qt.Key(event.key()), event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        plain, control = Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ControlModifier
        shift, alt = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.AltModifier
        key = Qt.Key.Key_Return if key is Qt.Key.Key_Enter else key
        acts: dict[tuple[Qt.Key, Qt.KeyboardModifier], Callable[[], object]] = {
            (Qt.Key.Key_Return, control): lambda: self.run_requested.emit(False),
            (Qt.Key.Key_Return, control | shift): lambda: self.run_requested.emit(True),
            (Qt.Key.Key_Return, plain): self._break_line,
            (Qt.Key.Key_Space, control): self.completer.open,
            (Qt.Key.Key_Slash, control): self.toggle_comment,
            (Qt.Key.Key_Slash, control | shift): self.toggle_comment,  # on layouts where / needs Shift
            (Qt.Key.Key_F, alt | shift): self.format_requested.emit,
            (Qt.Key.Key_Tab, plain): lambda: self._indent(1),
            (Qt.Key.Key_Backtab, shift): lambda: self._indent(-1),
            (Qt.Key.Key_Home, plain): lambda: self._go_to_begin(False),
            (Qt.Key.Key_Home, shift): lambda: self._go_to_begin(True),
        }
        return acts.get((key, keys))

    def _go_to_begin(self, select: bool) -> None:
        """Go to the first character of the line's text, or from there to the start of the line."""
        cursor = self.textCursor()
        block = cursor.block()
        leading = _LEADING.match(block.text())
        begin = block.position() + (len(leading[0]) if leading else 0)
        to = block.position() if cursor.position() == begin else begin
        mode = QTextCursor.MoveMode.KeepAnchor if select else QTextCursor.MoveMode.MoveAnchor
        cursor.setPosition(to, mode)
        self.setTextCursor(cursor)

    def _break_line(self) -> None:
        """Break the line with the indent of the line above, and one more after an opening bracket."""
        cursor = self.textCursor()
        before = cursor.block().text()[: cursor.positionInBlock()]
        leading = _LEADING.match(before)
        indent = leading[0] if leading else ""
        if before.rstrip()[-1:] in _PAIRS:
            indent += INDENT
        cursor.insertText("\n" + indent)
        self.setTextCursor(cursor)
        self.ensureCursorVisible()

    def _lines(self) -> list[QTextBlock]:
        """The lines of the selection, or the current one."""
        cursor, document = self.textCursor(), self.document()
        block, last = document.findBlock(cursor.selectionStart()), cursor.selectionEnd()
        lines = [block]
        while block.next().isValid() and block.next().position() < last:
            block = block.next()
            lines.append(block)
        return lines

    def _indent(self, by: int) -> None:
        """Indent or outdent the lines of the selection; without one, move to the next tab stop."""
        cursor = self.textCursor()
        if by > 0 and not cursor.hasSelection():
            cursor.insertText(INDENT[: len(INDENT) - cursor.positionInBlock() % len(INDENT)])
            return
        self._edit_lines(
            lambda text: INDENT + text if by > 0 else text.removeprefix(INDENT[: _indent_of(text)])
        )

    def toggle_comment(self) -> None:
        """Comment the lines out, or uncomment them."""
        filled = [block.text() for block in self._lines() if block.text().strip()]
        off = bool(filled) and all(text.lstrip().startswith("--") for text in filled)

        def change(text: str) -> str:
            if not text.strip():
                return text
            inner = text.lstrip()
            indent = text[: len(text) - len(inner)]
            return indent + (inner.removeprefix("--").removeprefix(" ") if off else COMMENT + inner)

        self._edit_lines(change)

    def _edit_lines(self, change: Callable[[str], str]) -> None:
        edit = QTextCursor(self.document())
        edit.beginEditBlock()
        for block in self._lines():
            text = block.text()
            new = change(text)
            if new != text:
                edit.setPosition(block.position())
                edit.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
                edit.insertText(new)
        edit.endEditBlock()


def _indent_of(text: str) -> int:
    leading = _LEADING.match(text)
    return min(len(INDENT), len(leading[0]) if leading else 0)
