"""One condition of the filter builder: its column, operator and values, and the buttons to move or remove
it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import pyarrow as pa
from PySide6.QtCore import QStringListModel, Qt, Signal
from PySide6.QtGui import QFontMetrics, QKeyEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QHBoxLayout,
    QLabel,
    QMenu,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from lamella.core.filters import OPERATORS, fits
from lamella.core.filters.kinds import Kind, kind_of
from lamella.core.filters.operators import WORDS, Arity, Takes, offered_operators
from lamella.core.phrases import sentence_case
from lamella.ui import theme
from lamella.ui.filters.tree import (
    Condition,
    Problem,
    quick,
    type_of,
)
from lamella.ui.filters.value_fields import ColumnBox, ValueFields
from lamella.ui.filters.word_index import WordIndexes, WordIndexOffer, WordSearch
from lamella.ui.widgets.controls import IconButton, breakable

COLUMN_WIDTH, OPERATOR_WIDTH, NARROWEST = 12, 11, 4  # in lines of text
MOVES = (
    ("wrap", "Move into a new group"),
    ("unwrap", "Move out of this group"),
    ("up", "Move up"),
    ("down", "Move down"),
)


SWITCHES = ("Compare with a column or a value", "Second: a column or a value")


COUNTING, LONG_COUNT = "counting…", "9,999,999"
"""Room for these beside every row keeps the fields of all rows aligned."""

OFFER = "offer an index"
"""Takes the place of the operator for words if the column has no index."""


class ConditionRow(QWidget):
    """Edits a `Condition` in place. `changed` is emitted after every edit; `move_requested` carries a move of
    it; `import_requested` asks to import the file into a table of a store."""

    changed = Signal()
    move_requested = Signal(str)
    import_requested = Signal()

    def __init__(
        self,
        condition: Condition,
        types: Mapping[str, pa.DataType],
        names: QStringListModel,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.condition, self._types = condition, types
        self._is_touched = condition.values() is not None
        self._words: WordIndexes | None = None
        self._make(names)
        self._lay_out()
        self._show_operators()
        self._show_values()
        self.refresh()

    def use_words(self, words: WordIndexes | None) -> None:
        """Offer a search by words if the column allows one."""
        self._words = words
        if words is not None:
            words.changed.connect(self._show_operators)
            self._show_operators()

    def focus(self) -> None:
        """Move the keyboard to the first field that is incomplete."""
        if not self.condition.column or not self._values.focus_first():
            self._column.setFocus()

    def focus_column(self) -> None:
        self._column.setFocus()
        self._column.selectAll()

    @property
    def values(self) -> ValueFields:
        return self._values

    def choose(self, values: Sequence[Any]) -> None:
        """Set and show values that were chosen from a list."""
        before, self._is_touched = self.condition.operator, True
        self.condition.choose(values)
        if self.condition.operator == before:
            self._values.show_texts(self.condition.texts)
        else:
            self._show_operators()
            self._show_values()
        self._tell()

    def restore(self, before: Condition) -> None:
        """Restore the condition as it was before values were chosen."""
        now = self.condition
        if (now.operator, now.texts) != (before.operator, before.texts):
            now.operator, now.texts = before.operator, before.texts
            now.exact_values, now.columns = before.exact_values, before.columns
            self._show_operators()
            self._show_values()
            self._tell()

    def show_count(self, count: int | None, counting: bool) -> None:
        self._count.setText(COUNTING if counting else "" if count is None else f"{count:,}")
        self._count.setToolTip("" if count is None else f"{count:,} rows meet this condition alone")

    def show_nans(self, count: int) -> None:
        """Show how many of the rows that meet the condition are NaN."""
        self._num_nans = count
        self._nans.setVisible(count > 0)
        if count:
            say, color = f"{count:,} of these are NaN", theme.current().colors.accent
            self._nans.setText(f"{say} · <a href='exclude' style='color: {color}'>exclude</a>")
            self._nans.setAccessibleName(f"{say}. Enter excludes them")

    def _draw(self) -> None:
        self.show_nans(self._num_nans)

    def refresh(self) -> None:
        """Show the problem, if any, at its field."""
        bound = self.condition.bind(self._types)
        problem = bound if isinstance(bound, Problem) else None
        visible_problem = problem if problem and (self._is_touched or not problem.is_unfinished) else None
        theme.variant(
            self._column, "invalid" if visible_problem and visible_problem.place == "column" else ""
        )
        theme.variant(
            self._operator, "invalid" if visible_problem and visible_problem.place == "operator" else ""
        )
        self._values.mark(
            bool(visible_problem and visible_problem.place == "value" and not visible_problem.is_unfinished)
        )
        self._reason.setText(breakable(_sentence(visible_problem.reason)) if visible_problem else "")
        self._reason.setVisible(visible_problem is not None and self.condition.on)
        theme.variant(
            self._reason, "caption" if visible_problem and visible_problem.is_unfinished else "danger"
        )
        for widget in (self._column, self._operator, self._values, self._case):
            widget.setEnabled(self.condition.on)

    def _make(self, names: QStringListModel) -> None:
        self._switch = QCheckBox()
        self._switch.setChecked(self.condition.on)
        self._switch.setToolTip("Use this condition; switched off, it is kept for later")
        self._switch.setAccessibleName("Condition on")
        self._switch.toggled.connect(self._set_on)
        self._column = ColumnBox(names, self.condition.column)
        self._column.chosen.connect(self._set_column)
        self._operator = QComboBox()
        self._operator.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._operator.setAccessibleName("Operator")
        self._operator.setMaxVisibleItems(len(OPERATORS))
        self._operator.activated.connect(self._set_operator)
        self._values = ValueFields(names)
        self._values.edited.connect(self._set_texts)
        self._values.finished.connect(self._take_quick)
        self._values.switched.connect(self._switch_value)
        self._values.choice_requested.connect(lambda: self.move_requested.emit("choose"))
        self._case = self._case_button()
        self._count, self._reason = QLabel(), QLabel()
        self._count.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        theme.variant(self._count, "muted")
        self._count.setAccessibleName("Rows that meet this condition")
        self._reason.setWordWrap(True)
        self._reason.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self._set_widths()
        theme.current().changed.connect(self._set_widths)

    def _set_widths(self) -> None:
        line, metrics = theme.current().line_height(), QFontMetrics(theme.current().font())
        self._count.setMinimumWidth(max(map(metrics.horizontalAdvance, (COUNTING, LONG_COUNT))))
        for box, widest in ((self._column, COLUMN_WIDTH), (self._operator, OPERATOR_WIDTH)):
            box.setMinimumWidth(NARROWEST * line)
            box.setMaximumWidth(widest * line)

    def _case_button(self) -> QToolButton:
        button = QToolButton()
        button.setText("Aa")
        button.setCheckable(True)
        button.setChecked(self.condition.ignore_case)
        button.setToolTip("Ignore upper and lower case")
        button.setAccessibleName("Ignore case")
        policy = button.sizePolicy()
        policy.setRetainSizeWhenHidden(True)  # keeps the fields of all rows aligned
        button.setSizePolicy(policy)
        button.toggled.connect(self._set_case)
        return button

    def _lay_out(self) -> None:
        line = self._line = QHBoxLayout()
        line.setSpacing(theme.S)
        widths = {self._column: COLUMN_WIDTH, self._operator: OPERATOR_WIDTH, self._values: COLUMN_WIDTH}
        for widget in (self._switch, self._column, self._operator, self._values, self._case):
            line.addWidget(widget, widths.get(widget, 0))
        line.addStretch(1)
        line.addWidget(self._count)
        self._move_actions = self._moves()
        line.addWidget(self._move_actions)
        self._remove = IconButton("close", "Remove this condition")
        self._remove.clicked.connect(lambda: self.move_requested.emit("remove"))
        line.addWidget(self._remove)
        for button in (self._move_actions, self._remove):
            theme.variant(button, "tight")
        below = QHBoxLayout()
        below.setContentsMargins(self._switch.sizeHint().width() + theme.S, 0, 0, 0)
        below.addWidget(self._reason)
        self._nans, self._num_nans = QLabel(), 0
        theme.current().changed.connect(self._draw)
        theme.variant(self._nans, "caption")
        self._nans.setTextInteractionFlags(Qt.TextInteractionFlag.LinksAccessibleByMouse
                                           | Qt.TextInteractionFlag.LinksAccessibleByKeyboard)  # fmt: skip
        self._nans.linkActivated.connect(lambda _: self.move_requested.emit("exclude nan"))
        self._nans.hide()
        below.addWidget(self._nans)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.setSpacing(theme.XS)
        outer.addLayout(line)
        outer.addLayout(below)
        self.offer = WordIndexOffer()
        self.offer.built.connect(self._search_words)
        self.offer.import_requested.connect(self.import_requested)
        outer.addWidget(self.offer)

    def _order_tabs(self) -> None:
        """Set the tab order from left to right, because the value fields are often replaced."""
        before, after = (
            (self._switch, self._column, self._operator),
            (self._case, self._move_actions, self._remove),
        )
        for field, following in pairwise((*before, *self._values.fields, *after)):
            QWidget.setTabOrder(field, following)

    def _moves(self) -> QToolButton:
        more = IconButton("chevron-down", "Move this condition")
        menu = QMenu(more)
        for id_, text in MOVES:
            menu.addAction(text, partial(self.move_requested.emit, id_))
        self._switches = [
            menu.addAction(text, partial(self._switch_value, place)) for place, text in enumerate(SWITCHES)
        ]
        more.setMenu(menu)
        more.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        return more

    def _show_operators(self) -> None:
        type_ = type_of(self.condition.column, self._types)
        self._operator.clear()
        if type_ is None:
            return
        for operator in offered_operators(type_):
            self._operator.addItem(operator.wording(kind_of(type_)), operator.id)
        search = WordSearch.NEVER if self._words is None else self._words.search(self.condition.column)
        if search is not WordSearch.NEVER:
            label, is_ready = OPERATORS[WORDS].label, search is WordSearch.READY
            self._operator.addItem(label if is_ready else f"{label}…", WORDS if is_ready else OFFER)
        lacks = search in (WordSearch.NO_INDEX, WordSearch.NO_TABLE)
        if lacks and self.condition.operator == WORDS and self._words is not None and self.offer.isHidden():
            self.offer.begin(self._words, self.condition.column)
        place = self._operator.findData(self.condition.operator)
        if place < 0:
            place = self._operator.count()
            operator = OPERATORS[self.condition.operator]
            self._operator.addItem(operator.wording(kind_of(type_)), operator.id)
        self._operator.setCurrentIndex(place)

    def _show_values(self) -> None:
        type_ = type_of(self.condition.column, self._types)
        operator = OPERATORS[self.condition.operator]
        if type_ is None or not operator.fits(type_):
            self._values.hide()
            self._case.hide()
            return
        self._values.ask(operator, type_, self.condition.texts, self.condition.columns)
        for place, action in enumerate(self._switches):
            action.setVisible(operator.takes is Takes.COLUMNS and place < operator.arity.value)
        crowded = operator.arity is Arity.TWO and bool(self.condition.columns)
        self._line.setStretchFactor(self._values, 2 * COLUMN_WIDTH if crowded else COLUMN_WIDTH)
        self._order_tabs()
        folds = kind_of(type_) is Kind.TEXT and operator.takes is not Takes.WORDS
        self._case.setVisible(folds and operator.arity is not Arity.NONE)

    def _set_on(self, on: bool) -> None:
        self.condition.on = on
        self._tell()

    def _set_case(self, ignored: bool) -> None:
        self.condition.ignore_case = ignored
        self._tell()

    def _set_column(self, name: str) -> None:
        before = type_of(self.condition.column, self._types)
        if name != self.condition.column:
            self.offer.setVisible(self.offer.is_building)
        self.condition.column = name
        after = type_of(name, self._types)
        if after is not None and (before is None or kind_of(before) is not kind_of(after)):
            self.condition.ignore_case = False
            self.condition.type_in([])
            self.condition.columns = frozenset()
            self._is_touched = False
            self._case.setChecked(False)
            self._adapt_operator(after)
        self._show_operators()
        self._show_values()
        self._tell()

    def _adapt_operator(self, type_: pa.DataType) -> None:
        """Switch to an operator that fits the type and needs a value, so that nothing is filtered at once."""
        first = offered_operators(type_)[0]
        if not fits(self.condition.operator, type_) and first.arity is not Arity.NONE:
            self.condition.operator = first.id

    def _set_operator(self) -> None:
        if self._operator.currentData() == OFFER:
            assert self._words is not None
            self._operator.setCurrentIndex(self._operator.findData(self.condition.operator))
            self.offer.begin(self._words, self.condition.column)
            self.offer.act.setFocus()
            return
        self.offer.setVisible(self.offer.is_building)
        self.condition.operator = self._operator.currentData()
        if OPERATORS[self.condition.operator].arity is Arity.NONE:
            self.condition.ignore_case = False
            self._case.setChecked(False)
        self._show_operators()
        self._show_values()
        self._values.focus_first()
        self._tell()

    def _search_words(self, column: str) -> None:
        """Continue with the operator that needs the column's new index."""
        if column != self.condition.column:
            return
        self.condition.operator = WORDS
        self.condition.ignore_case = False
        self._show_operators()
        self._show_values()
        self._values.focus_first()
        self._tell()

    def _switch_value(self, place: int) -> None:
        self.condition.switch(place)
        self._is_touched = False
        self._show_values()
        self._values.fields[place].setFocus()
        self._tell()

    def _set_texts(self, texts: list[str]) -> None:
        self._is_touched = True
        self.condition.type_in(texts)
        self._tell()

    def _take_quick(self) -> None:
        """Turn `>5` in the value field into its operator once it is complete."""
        type_, texts = type_of(self.condition.column, self._types), self.condition.texts
        typed = quick(texts[0], type_) if type_ is not None and len(texts) == 1 else None
        if (
            typed is None
            or self.condition.columns
            or self.condition.operator == WORDS
            or OPERATORS[self.condition.operator].arity is not Arity.ONE
        ):
            return
        self.condition.operator, values = typed
        self.condition.type_in(values)
        self._show_operators()
        self._show_values()
        self._tell()

    def _tell(self) -> None:
        self.refresh()
        self.changed.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.move_requested.emit(
                "add" if event.modifiers() & Qt.KeyboardModifier.ControlModifier else "done"
            )
            return
        super().keyPressEvent(event)


def _sentence(reason: str) -> str:
    return sentence_case(reason).rstrip(".") + "."
