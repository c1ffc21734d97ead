"""The form of a filter: the builder with live counts, and the filter in plain words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QLabel, QSizePolicy, QWidget

from lamella.core.arrow.nested_values import place_of
from lamella.core.filters import Filter, bind, sentence
from lamella.core.filters.expr import columns_read
from lamella.core.query.steps import Where
from lamella.ui import theme
from lamella.ui.filters.builder import FilterBuilder
from lamella.ui.filters.tree import (
    Condition,
    Group,
    Node,
    Problem,
    as_conjunction,
    from_filter,
    from_json,
    to_json,
)
from lamella.ui.filters.word_index import WordIndexes
from lamella.ui.steps.editors import StepContext, StepEditor
from lamella.ui.steps.filter_texts import FilterTexts
from lamella.ui.widgets.controls import breakable

LONGEST_SENTENCE = 400
NOTHING = "Shows every row."
WIDE, BESIDE = 900, 264
"""The width of the form from which the texts are beside the builder, and their width there; in pixels at the
usual text size."""
MOST_WIDTH = 16_777_215
"""Qt's value for no maximum width."""


def sentence_of(filter: Filter, types: Mapping[str, pa.DataType]) -> str:
    """A filter as a sentence; its conditions must fit these types."""
    places = (place_of(name, types) for name in columns_read(filter))
    columns = {place.column: place.whole for place in places if place is not None}
    return sentence(bind(filter, pa.schema(list(columns.items())), "this table"))


class WhereEditor(StepEditor):
    """The form of a filter. `wants_counts` is emitted when conditions should be counted: at first, and after
    every edit."""

    wants_counts = Signal()

    def __init__(self, context: StepContext, step: Where | None, parent: QWidget | None = None) -> None:
        super().__init__(context, parent)
        self.builder = FilterBuilder()
        self.builder.set_schema(context.schema)
        self.builder.set_rows(context.rows, context.tasks)
        if all(isinstance(before, Where) for before in context.before):
            self.builder.set_words(WordIndexes(context.source, context.tasks, self))
        self.builder.import_requested.connect(self.import_requested)
        self._sentence = QLabel()
        self._sentence.setWordWrap(True)
        self._sentence.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._sentence.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._sentence.setAccessibleName("The filter in plain words")
        self._sentence.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.texts = FilterTexts(self._sentence, context.schema, context.tasks)
        self.texts.read.connect(self._take_read)
        self._layout = QBoxLayout(QBoxLayout.Direction.TopToBottom, self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(theme.S)
        self._layout.addWidget(self.builder, 2)
        self._layout.addWidget(self.texts)
        self.builder.edited.connect(self._take)
        self.builder.done.connect(self.done)
        self.show_filter(step.condition if step else None, context.draft)

    def show_filter(self, condition: Filter | None, draft: Any = None) -> None:
        """Show a filter; `draft` adds conditions that are off or unfinished."""
        tree = from_json(draft) if draft is not None else from_filter(condition)
        self.builder.show_tree(tree)
        self._say()

    def step(self) -> Where | None:
        """The step, or None while there are no finished conditions that are on."""
        filter = self.filter()
        return None if filter is None else Where(filter)

    def draft(self) -> Any:
        """The state of the form as JSON; None while nothing has been chosen."""
        tree = self.builder.tree
        return to_json(tree) if self.filter() is not None or _has_values(tree) else None

    def filter(self) -> Filter | None:
        return self.builder.filter()

    def add_condition(self) -> None:
        self.builder.add_condition()

    def set_counts(self, counts: Mapping[Condition, int], counting: bool) -> None:
        self.builder.set_counts(counts, counting)

    def set_nans(self, counts: Mapping[Condition, int]) -> None:
        self.builder.set_nans(counts)

    def focus_first(self) -> None:
        if self.builder.tree.children:
            self.builder.focus_on(self.builder.tree)
        else:
            self.add_condition()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Place the texts beside the builder if there is room for both."""
        super().resizeEvent(event)
        beside = event.size().width() >= theme.current().px(WIDE)
        ways = QBoxLayout.Direction
        way = ways.LeftToRight if beside else ways.TopToBottom
        if self._layout.direction() != way:
            self._layout.setDirection(way)
            self._layout.setSpacing(theme.L if beside else theme.S)
            self.texts.setMaximumWidth(theme.current().px(BESIDE) if beside else MOST_WIDTH)
            self._layout.setStretchFactor(self.texts, 1 if beside else 0)

    def _take_read(self, filter: Filter | None) -> None:
        """Take a filter that was typed as text; conditions that are off or unfinished stay."""
        waiting = [child for child in self.builder.tree.children if child.filter(self.types) is None]
        tree = from_filter(filter)
        tree = as_conjunction(tree) if waiting else tree
        tree.children.extend(waiting)
        self.builder.show_tree(tree)
        self._take()

    def _take(self) -> None:
        self._say()
        self.tell()
        self.wants_counts.emit()

    def _say(self) -> None:
        filter = self.filter()
        sentence_text = f"Shows rows where {sentence_of(filter, self.types)}." if filter is not None else ""
        cut = (
            sentence_text
            if len(sentence_text) <= LONGEST_SENTENCE
            else sentence_text[:LONGEST_SENTENCE] + "…"
        )
        self._sentence.setText(breakable(cut) or NOTHING)
        theme.variant(self._sentence, "" if cut else "muted")
        self.texts.show_filter(filter)


def _has_values(node: Node) -> bool:
    """Whether any condition, on or off, has a value, unlike the empty one of a new form."""
    if isinstance(node, Condition):
        return (bool(node.column) and node.values() not in (None, ())) or any(node.texts)
    return any(_has_values(child) for child in node.children)


def with_change(
    step: Where | None, draft: Any, types: Mapping[str, pa.DataType], change: Callable[[Group], None]
) -> tuple[Where | None, Any]:
    """Change the group of conditions that must all be met, and return the filter and its draft; no step if no
    condition is left. Conditions that do not fit the columns stay in the draft."""
    tree = from_json(draft) if draft is not None else from_filter(step.condition if step else None)
    root = as_conjunction(tree)
    change(root)
    filter = root.filter(types)
    keeps = draft is not None or any(
        isinstance(condition.bind(types), Problem) for condition in root.conditions()
    )
    saved = to_json(root) if keeps and root.children else None
    return None if filter is None else Where(filter), saved


def with_condition(step: Where | None, draft: Any, condition: Filter) -> tuple[Where, Any]:
    """The filter with one more condition that rows must meet. Conditions that are off stay in the draft."""
    tree = from_json(draft) if draft is not None else from_filter(step.condition if step else None)
    added = from_filter(condition)
    root = as_conjunction(tree)
    root.children.extend(added.children if added.is_conjunction else [added])
    both = condition if step is None else step.condition & condition
    return Where(both), to_json(root) if draft is not None else None
