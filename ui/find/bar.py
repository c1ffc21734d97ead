"""The find bar above the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListView,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from lamella.core.errors import visible
from lamella.core.query.cell_search import TextPattern
from lamella.ui import theme
from lamella.ui.widgets.controls import ICON_GAP, IconButton, TwoPartBar
from lamella.ui.widgets.field_buttons import add_clear_button
from lamella.ui.widgets.popover import LIST_HEIGHT, CheckDelegate, CheckList, ChoiceButton, ListSearch

LONGEST = 1 << 16
"""The most characters that a field shows without delay."""
WIDE = 1100
"""From this width on, in pixels at the default text size, buttons have names beside their icons."""
FIELD_WIDTH, NEWS_WIDTH, MOST_NEWS_WIDTH = 160, 104, 400
TEXT, COLUMNS = "text", "columns"
CUT = f"The text is longer than {LONGEST:,} characters: its end was cut off"


class FindColumns(ChoiceButton):
    """The columns to search: all except those left out, or those that are checked."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        form = QWidget()
        self.all_button = QPushButton("All columns")
        self.current = QPushButton("This column")
        self._list = QListView(accessibleName="Columns to search", uniformItemSizes=True)
        self._list.setMinimumHeight(LIST_HEIGHT)
        self._list.setItemDelegate(CheckDelegate(self._list))
        self._columns = CheckList(())
        self._names: list[str] = []
        self._chosen_columns: tuple[str, ...] | None = None
        above = QHBoxLayout()
        for button in (self.all_button, self.current):
            above.addWidget(button)
        layout = QVBoxLayout(form)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.S)
        layout.addLayout(above)
        self.search = ListSearch(self._list, form)
        layout.addWidget(self.search)
        layout.addWidget(self._list)
        super().__init__("Look in", form, parent)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.all_button.clicked.connect(lambda: self.choose(None))
        self._say()

    @property
    def chosen_columns(self) -> tuple[str, ...] | None:
        """The chosen columns; None for all."""
        return self._chosen_columns

    def show_names(self, names: Sequence[str], current: str | None) -> None:
        """Show the columns, and which one is current. Chosen columns stay chosen."""
        self.current.setEnabled(current is not None)
        self.current.setToolTip("" if current is None else visible(current))
        if list(names) == self._names:
            return
        self._names = list(names)
        self._columns = CheckList(self._names, self._list)
        self._list.setModel(self._columns)
        self.search.take_list()
        names_in_table = (
            self._names
            if self._chosen_columns is None
            else [name for name in self._chosen_columns if name in names]
        )
        self._columns.check(names_in_table or self._names)
        self._columns.changed.connect(self._take)
        self._take()

    def choose(self, names: Sequence[str] | None) -> None:
        self._columns.check(self._names if names is None else names)

    def _take(self) -> None:
        checked = tuple(self._columns.checked_names)
        names = None if len(checked) in (0, len(self._names)) else checked
        if names != self._chosen_columns:
            self._chosen_columns = names
            self._say()
            self.changed.emit()

    def _say(self) -> None:
        names = self._chosen_columns
        if names is None:
            self.say("All columns")
        elif len(names) == 1:
            self.say(visible(names[0]))
        else:
            self.say(f"{len(names):,} columns", ", ".join(map(visible, names)))


class FindBar(TwoPartBar):
    """`changed` is emitted when the search has changed; `words_changed` on a switch between words and
    text."""

    changed = Signal()
    mode_changed = Signal()
    next_requested = Signal()
    previous_requested = Signal()
    stop_requested = Signal()
    keep_requested = Signal()
    replace_requested = Signal()
    show_requested = Signal()
    closed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, stretches=(2, 1))
        self.setAccessibleName("Find")
        self._make()
        self._lay_out()
        self._connect()
        self.set_counting(False)
        self.say("")
        self.show_hidden("")

    def _make(self) -> None:
        self.text_mode, self.word_mode = segment_button("Text"), segment_button("Words")
        self.text_mode.setToolTip("Find a text anywhere in cells")
        self.word_mode.setToolTip("Search for words by a full-text index, the best rows first")
        self._modes = QButtonGroup(self)
        for mode in (self.text_mode, self.word_mode):
            self._modes.addButton(mode)
        self.text_mode.setChecked(True)
        self.field = QLineEdit(maxLength=LONGEST)
        add_clear_button(self.field)
        self.field.setPlaceholderText("Find in all rows")
        self.field.setAccessibleName("Find")
        self.case = option_button("Aa", "Match case")
        self.whole = option_button("'ab'", "Whole cell: matches only if the text is the whole cell")
        self.regex = option_button(
            ".*", "Regular expression, in RE2's syntax: \\w is a letter from A to Z, \\pL any letter"
        )
        self._options = {"case": self.case, "whole": self.whole, "regex": self.regex, "words": self.word_mode}
        self.columns = FindColumns()
        self.news = _News()
        self.show_column = QPushButton("Show it")
        theme.variant(self.show_column, "ghost")
        self.previous = IconButton("chevron-up", "Previous (Shift+F3)")
        self.next = IconButton("chevron-down", "Next (F3)")
        self.stop = IconButton("stop", "Stop searching (Ctrl+.)")
        steady = self.stop.sizePolicy()
        steady.setRetainSizeWhenHidden(True)  # so that the options do not move away from under the mouse
        self.stop.setSizePolicy(steady)
        self.keep = _text_button("filter", "Keep only these", "Filter the rows by this search")
        self.replace = _text_button("edit", "Replace…", "Replace the matches by another text (Ctrl+H)")
        self.close_button = IconButton("close", "Close (Esc)")

    def _lay_out(self) -> None:
        modes = QHBoxLayout()
        modes.setSpacing(0)
        modes.addWidget(self.text_mode)
        modes.addWidget(self.word_mode)
        self.parts.setContentsMargins(theme.S, theme.XS + 2, theme.S, theme.XS + 2)
        self.first.addLayout(modes)
        self.first.addSpacing(theme.XS)
        self.first.addWidget(self.field, 1)
        for widget in (self.case, self.whole, self.regex, self.columns):
            self.first.addWidget(widget)
        self.second.addWidget(self.news, 1)
        self.second.addWidget(self.show_column)
        for widget in (self.stop, self.previous, self.next, self.keep, self.replace, self.close_button):
            self.second.addWidget(widget)

    def _connect(self) -> None:
        self.field.textChanged.connect(lambda _: self.changed.emit())
        self.field.inputRejected.connect(lambda: self.say(CUT, "danger"))
        for toggle in (self.case, self.whole, self.regex):
            toggle.toggled.connect(lambda _: self.changed.emit())
        self.columns.changed.connect(self.changed)
        self._modes.buttonToggled.connect(lambda _, on: self._change_mode() if on else None)
        self.previous.clicked.connect(self.previous_requested)
        self.next.clicked.connect(self.next_requested)
        self.stop.clicked.connect(self.stop_requested)
        self.keep.clicked.connect(self.keep_requested)
        self.replace.clicked.connect(self.replace_requested)
        self.show_column.clicked.connect(self.show_requested)
        self.close_button.clicked.connect(self.closed)
        theme.current().changed.connect(self.fit)

    @property
    def pattern(self) -> TextPattern:
        flags = self.case.isChecked(), self.whole.isChecked(), self.regex.isChecked()
        return TextPattern(self.field.text(), *flags)

    @property
    def finds_words(self) -> bool:
        return self.word_mode.isChecked()

    def state(self) -> dict[str, Any]:
        """The text and the options, as JSON, except those as in a new bar."""
        state: dict[str, Any] = {name: button.isChecked() for name, button in self._options.items()}
        state |= {TEXT: self.field.text(), COLUMNS: list(self.columns.chosen_columns or ())}
        return {name: value for name, value in state.items() if value}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what `state` returned. Parts that do not fit are skipped."""
        for name, button in self._options.items():
            if state.get(name) is True:
                button.setChecked(True)
        text, columns = state.get(TEXT), state.get(COLUMNS)
        if isinstance(text, str):
            self.field.setText(text)
        if isinstance(columns, list) and columns:
            self.columns.choose([name for name in columns if isinstance(name, str)])

    def begin(self) -> None:
        """Focus the field and select its text."""
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.field.selectAll()

    def say(self, text: str, look: str = "muted") -> None:
        """Show the number of hits, or why there are none."""
        self.news.say(text, look)
        theme.variant(self.field, "invalid" if look == "danger" else "")

    def show_hidden(self, column: str) -> None:
        """Say that the current hit is in a hidden column; hide that for an empty name."""
        self.show_column.setVisible(bool(column))
        self.show_column.setToolTip(f"Show the column '{visible(column)}'" if column else "")

    def set_counting(self, counting: bool) -> None:
        self.stop.setVisible(counting)

    def set_found(self, has_hits: bool) -> None:
        """Set whether there are hits to go to."""
        for button in (self.previous, self.next, self.keep):
            button.setEnabled(has_hits)

    def _change_mode(self) -> None:
        words = self.finds_words
        for widget in (self.case, self.whole, self.regex, self.columns, self.replace, self.keep):
            widget.setVisible(not words)
        self.field.setPlaceholderText("Words, the best rows first" if words else "Find in all rows")
        self.mode_changed.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        back = event.modifiers() & Qt.KeyboardModifier.ShiftModifier
        if event.key() == Qt.Key.Key_Escape:
            self.closed.emit()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.field.hasFocus():
            (self.previous_requested if back else self.next_requested).emit()
        else:
            super().keyPressEvent(event)

    def fit(self) -> None:
        """Show names beside icons where there is room."""
        styles = Qt.ToolButtonStyle
        self.field.setMinimumWidth(theme.current().px(FIELD_WIDTH))
        self.news.fit()
        wide = self.width() >= theme.current().px(WIDE)
        for button in (self.keep, self.replace):
            button.setToolButtonStyle(styles.ToolButtonTextBesideIcon if wide else styles.ToolButtonIconOnly)
        super().fit()


class _News(QLabel):
    """A text that is shortened if it is too long; the tooltip has all of it."""

    def __init__(self) -> None:
        super().__init__(textFormat=Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._text = ""

    def say(self, text: str, look: str) -> None:
        theme.variant(self, look)
        self._text = visible(text)
        self.setAccessibleName(self._text)
        self.fit()
        self._elide()

    def text(self) -> str:
        """The full text."""
        return self._text

    def fit(self) -> None:
        """Keep room for the text, unless it is very long."""
        least, greatest = (theme.current().px(width) for width in (NEWS_WIDTH, MOST_NEWS_WIDTH))
        words = self.fontMetrics().horizontalAdvance(self._text) + theme.XS
        self.setMinimumWidth(max(least, min(greatest, words)))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._elide()

    def _elide(self) -> None:
        elided = self.fontMetrics().elidedText(self._text, Qt.TextElideMode.ElideMiddle, self.width())
        self.setText(elided)
        self.setToolTip(self._text if elided != self._text else "")


def segment_button(text: str) -> QToolButton:
    button = QToolButton(text=text, checkable=True)
    theme.variant(button, "segment")
    return button


def option_button(text: str, says: str) -> QToolButton:
    button = QToolButton(text=text, checkable=True, toolTip=says)
    theme.variant(button, "tight")
    button.setAccessibleName(says)
    return button


def _text_button(icon: str, text: str, says: str) -> IconButton:
    button = IconButton(icon, says)
    button.setText(ICON_GAP + text)
    button.setAccessibleName(text)
    return button
