"""Finding a text in the editor of a console: a bar below it, with the matches marked in the text."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable

from PySide6.QtCore import QEvent, QKeyCombination, QObject, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QLineEdit, QWidget

from lamella.ui import theme
from lamella.ui.find.bar import option_button
from lamella.ui.sql.editor import SqlEditor
from lamella.ui.widgets.controls import IconButton
from lamella.ui.widgets.field_buttons import add_clear_button

FIELD_WIDTH = 260
OPEN, NEXT, PREVIOUS = QKeySequence("Ctrl+F"), QKeySequence("F3"), QKeySequence("Shift+F3")
ENTER, BACK, CLOSE = QKeySequence("Return"), QKeySequence("Shift+Return"), QKeySequence("Esc")


class EditorFindBar(QFrame):
    """Opened by Ctrl+F in the editor. F3 and Shift+F3 go from match to match, in the editor and in the field,
    where Enter and Shift+Enter do so, too; Esc closes the bar."""

    def __init__(self, editor: SqlEditor, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Find in the statements")
        theme.variant(self, "bar")
        self._editor = editor
        self._spans: list[tuple[int, int]] = []
        self.field = QLineEdit(placeholderText="Find in the statements", accessibleName="Find")
        add_clear_button(self.field)
        self.case = option_button("Aa", "Match case")
        self.news = QLabel()
        self.previous = IconButton("chevron-up", "Previous (Shift+F3)")
        self.next = IconButton("chevron-down", "Next (F3)")
        self.close_button = IconButton("close", "Close (Esc)")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(theme.S, theme.XS, theme.S, theme.XS)
        layout.setSpacing(theme.XS)
        widget: QWidget
        for widget in (self.field, self.case, self.news):
            layout.addWidget(widget)
        layout.addStretch(1)
        for widget in (self.previous, self.next, self.close_button):
            layout.addWidget(widget)
        self.field.textChanged.connect(lambda _: self._search(moves=True))
        self.case.toggled.connect(lambda _: self._search(moves=True))
        self.previous.clicked.connect(lambda: self.step(-1))
        self.next.clicked.connect(lambda: self.step(1))
        self.close_button.clicked.connect(self.leave)
        editor.textChanged.connect(lambda: self._search(moves=False))
        editor.selectionChanged.connect(self._say)
        for widget in (editor, self.field):
            widget.installEventFilter(self)
        theme.current().changed.connect(self._fit)
        self._fit()
        self.hide()

    def begin(self) -> None:
        """Open the bar, with the selected text if that is in one line."""
        selected = self._editor.textCursor().selectedText()
        self.show()
        if selected and "\u2029" not in selected:  # the sign between paragraphs
            self.field.setText(selected)
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.field.selectAll()
        self._search(moves=True)

    def leave(self) -> None:
        """Close the bar. What was found last stays selected."""
        self.hide()
        self._editor.show_matches(())
        self._editor.setFocus()

    def step(self, by: int) -> None:
        """Go to the next match after the selection, or with -1 to the one before, around the ends."""
        cursor = self._editor.textCursor()
        if self._spans and by > 0:
            at = bisect_left(self._spans, (cursor.selectionEnd(), 0))
            self._select(at % len(self._spans))
        elif self._spans:
            self._select(bisect_right(self._spans, (cursor.selectionStart() - 1, 1 << 40)) - 1)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if not isinstance(event, QKeyEvent) or event.type() is QEvent.Type.KeyRelease:
            return False
        key = Qt.Key.Key_Return if event.key() == Qt.Key.Key_Enter else Qt.Key(event.key())
        keys = QKeyCombination(event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier, key)
        act = self._act(QKeySequence(keys), watched is self.field)
        if act is None:
            return False
        if event.type() is QEvent.Type.ShortcutOverride:
            event.accept()
        else:
            act()
        return True

    def _act(self, keys: QKeySequence, in_field: bool) -> Callable[[], object] | None:
        if keys == OPEN:
            return self.begin
        if self.isHidden() or (keys == CLOSE and self._editor.completer.is_open):
            return None
        acts: dict[QKeySequence, Callable[[], object]] = {
            NEXT: lambda: self.step(1),
            PREVIOUS: lambda: self.step(-1),
            CLOSE: self.leave,
        }
        if in_field:
            acts |= {ENTER: acts[NEXT], BACK: acts[PREVIOUS]}
        return acts.get(keys)

    def _search(self, moves: bool) -> None:
        """Find all matches; with `moves`, select the first one from the selection on."""
        if self.isHidden():
            return
        text, sought = self._editor.toPlainText(), self.field.text()
        flags = re.NOFLAG if self.case.isChecked() else re.IGNORECASE
        matches = re.finditer(re.escape(sought), text, flags) if sought else ()
        self._spans = _in_document(text, [match.span() for match in matches])
        self._editor.show_matches(self._spans)
        selected = self._editor.selected_span
        if moves and self._spans:
            start = self._editor.textCursor().selectionStart()
            self._select(bisect_left(self._spans, (start, 0)) % len(self._spans))
        if self._editor.selected_span == selected:  # otherwise the new selection made it say so
            self._say()

    def _select(self, number: int) -> None:
        self._editor.select(*self._spans[number])

    def _say(self) -> None:
        if self.isHidden():
            return
        has_none = bool(self.field.text()) and not self._spans
        self.news.setText("No match" if has_none else self._count())
        theme.variant(self.field, "invalid" if has_none else "")
        for button in (self.previous, self.next):
            button.setEnabled(bool(self._spans))

    def _count(self) -> str:
        span, total = self._editor.selected_span, len(self._spans)
        if not total:
            return ""
        if span in self._spans:
            return f"{self._spans.index(span) + 1:,} of {total:,}"
        return f"{total:,} matches" if total > 1 else "1 match"

    def _fit(self) -> None:
        self.field.setFixedWidth(theme.current().px(FIELD_WIDTH))


def _in_document(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Positions in Qt's documents, where characters such as emoji count as two."""
    if text.isascii() or max(text) <= "\uffff":
        return spans
    wide = [place for place, character in enumerate(text) if character > "\uffff"]
    return [(start + bisect_left(wide, start), stop + bisect_left(wide, stop)) for start, stop in spans]
