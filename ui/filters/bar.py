"""The filter bar above the grid: chips, the sentence, and the builder that unfolds from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from PySide6.QtCore import QEvent, QObject, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QFontMetrics, QKeyEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QScrollArea,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from lamella.core.arrow.nested import place_of
from lamella.core.filters import Filter, bind, sentence
from lamella.core.filters.expr import columns_read
from lamella.ui import theme
from lamella.ui.filters.builder import FilterBuilder
from lamella.ui.filters.tree import Condition, Group, Node, Problem, from_filter, from_json, to_json
from lamella.ui.widgets.controls import FlowLayout, IconButton, breakable

WIDEST = 360
TIGHT = "QToolButton#inside-chip { padding: 3px; }"


class Chip(QFrame):
    """`edit`, `switched` and `removed` are asked of `node`; Delete removes, too."""

    edit = Signal(object)
    switched = Signal(object)
    removed = Signal(object)

    def __init__(self, node: Node, types: Mapping[str, pa.DataType], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.node = node
        theme.variant(self, "chip")
        text = words(node, types)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(theme.XS, 0, theme.XS, 0)
        layout.setSpacing(0)
        for button in (self._switch(text), self._label(text), self._remove(text)):
            button.setObjectName("inside-chip")
            layout.addWidget(button)
        self.setStyleSheet(TIGHT)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.removed.emit(self.node)
        else:
            super().keyPressEvent(event)

    def _switch(self, text: str) -> IconButton:
        on = self.node.on
        switch = IconButton("eye" if on else "eye-off", f"Switch {'off' if on else 'on'}: {text}")
        switch.clicked.connect(lambda: self.switched.emit(self.node))
        return switch

    def _label(self, text: str) -> QToolButton:
        label = QToolButton()
        font = label.font()
        font.setStrikeOut(not self.node.on)
        label.setFont(font)
        label.setText(QFontMetrics(font).elidedText(text, Qt.TextElideMode.ElideRight, WIDEST))
        label.setToolTip(f"Edit: {text}")
        label.setAccessibleName(f"Edit: {text}" + ("" if self.node.on else " (off)"))
        label.clicked.connect(lambda: self.edit.emit(self.node))
        return label

    def _remove(self, text: str) -> IconButton:
        remove = IconButton("close", f"Remove: {text}")
        remove.clicked.connect(lambda: self.removed.emit(self.node))
        return remove


def words(node: Node, types: Mapping[str, pa.DataType]) -> str:
    """A node in plain words, whether it is on or not; what is wrong or missing where it says nothing yet."""
    if isinstance(node, Condition):
        found = node.bound(types)
        if isinstance(found, Problem):
            return f"{node.column}: {found.reason}" if node.column else found.reason
        return sentence(found)
    was_on, node.on = node.on, True
    inside = node.filter(types)
    node.on = was_on
    return spoken(inside, types) if inside is not None else "group without conditions"


def spoken(filter: Filter, types: Mapping[str, pa.DataType]) -> str:
    """The sentence of a filter whose conditions all fit these types."""
    places = (place_of(name, types) for name in columns_read(filter))
    columns = {place.column: place.whole for place in places if place is not None}
    return sentence(bind(filter, pa.schema(list(columns.items())), "this table"))


MOST_LINES = 3


class ChipArea(QScrollArea):
    """Add the chips to `flow`."""

    def __init__(self, gap: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._gap = gap
        inside = QWidget()
        self.flow = FlowLayout(gap, inside)
        self.setWidget(inside)
        inside.setAutoFillBackground(False)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.widget() and event.type() is QEvent.Type.LayoutRequest:
            self.updateGeometry()
        return super().eventFilter(watched, event)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        tallest = MOST_LINES * self.flow.minimumSize().height() + (MOST_LINES - 1) * self._gap
        return min(self.flow.heightForWidth(width), tallest)

    def sizeHint(self) -> QSize:
        return self.flow.minimumSize()

    def minimumSizeHint(self) -> QSize:
        return self.flow.minimumSize()


DEBOUNCE_MS = 200
MOST_CHIPS = 30
LONGEST_SENTENCE = 400


class FilterBar(QWidget):
    """One filter, shown as chips and as a tree. Set the schema first.

    `changed` carries the new filter, or None, 200 ms after the last edit, and only when it differs from
    the one before. `wants_counts` carries the same, for the counts of each condition, while the builder
    is open.
    """

    changed = Signal(object)
    wants_counts = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._types: dict[str, pa.DataType] = {}
        self._last_filter: Filter | None = None
        self._wait = QTimer(self, singleShot=True, interval=DEBOUNCE_MS)
        self._wait.timeout.connect(self._tell)
        self.builder = FilterBuilder()
        self.builder.edited.connect(self._edited)
        self.builder.done.connect(self.flush)
        self._make()
        self._show_chips()

    def set_schema(self, schema: pa.Schema) -> None:
        self._types = dict(zip(schema.names, schema.types, strict=True))
        self.builder.set_schema(schema)
        self._show_chips()

    def filter(self) -> Filter | None:
        """What is asked now, whether `changed` told it already or not."""
        return self.builder.filter()

    def set_filter(self, filter: Filter | None) -> None:
        """Show a filter; `changed` follows when it is another one."""
        self._show_tree(from_filter(filter))

    def add_filter(self, filter: Filter) -> None:
        """One more condition that rows have to meet."""
        added = from_filter(filter)
        tree = self.builder.tree
        root = tree if tree.every and not tree.negated else Group([tree] if tree.children else [])
        root.children.extend(added.children if added.every else [added])
        self._show_tree(root)

    def tree_json(self) -> dict[str, Any]:
        """The filter with what is off and unfinished, to be saved."""
        return to_json(self.builder.tree)

    def set_tree_json(self, obj: Any) -> None:
        """Raises `BadFilter` when `obj` was not made by `tree_json`."""
        self._show_tree(from_json(obj))

    def clear(self) -> None:
        self._show_tree(Group())

    def add_condition(self) -> None:
        """Unfold the builder at a new condition."""
        self.open_builder()
        self.builder.add_condition()

    def open_builder(self, open_: bool = True) -> None:
        self._fold.setChecked(open_)

    @property
    def builder_open(self) -> bool:
        return self._fold.isChecked()

    def set_total(self, matching: int | None, of: int | None = None) -> None:
        """`26,581 of 336,776 rows`; None while it is being counted."""
        if self.filter() is None:
            self._total.clear()
        elif matching is None:
            self._total.setText("counting…")
        else:
            self._total.setText(f"{matching:,}" + (f" of {of:,} rows" if of is not None else " rows"))

    def clear_total(self) -> None:
        self._total.clear()

    def set_counts(self, counts: Mapping[Condition, int], counting: bool) -> None:
        self.builder.set_counts(counts, counting)

    def flush(self) -> None:
        """Tell the filter now rather than after the pause."""
        self._wait.stop()
        self._tell()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.builder_open:
            self.open_builder(False)
            self._fold.setFocus()
        else:
            super().keyPressEvent(event)

    def _make(self) -> None:
        self._chips = ChipArea(theme.S)
        self._flow = self._chips.flow
        self._add = QToolButton(text="+ condition")
        self._add.setAccessibleName("Add a condition")
        theme.variant(self._add, "chip")
        self._add.clicked.connect(self.add_condition)
        self._total = QLabel()
        self._total.setAccessibleName("Rows that meet the filter")
        theme.variant(self._total, "muted")
        self._total.setMinimumHeight(self._add.sizeHint().height())
        self._fold = QToolButton(text="Builder", checkable=True)
        self._fold.setToolTip("Conditions in nested groups")
        self._fold.toggled.connect(self._fold_out)
        self._panel = self._make_panel()
        top = QHBoxLayout()
        top.setSpacing(theme.S)
        top.addWidget(self._chips, 1, Qt.AlignmentFlag.AlignVCenter)
        top.addWidget(self._total, 0, Qt.AlignmentFlag.AlignTop)
        top.addWidget(self._fold, 0, Qt.AlignmentFlag.AlignTop)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(theme.S, theme.XS, theme.S, theme.XS)
        outer.setSpacing(theme.XS)
        outer.addLayout(top)
        outer.addWidget(self._panel)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def _make_panel(self) -> QFrame:
        panel = QFrame()
        theme.variant(panel, "card")
        self._sentence = QLabel()
        self._sentence.setWordWrap(True)
        self._sentence.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._sentence.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._sentence.setAccessibleName("The filter in plain words")
        layout = QVBoxLayout(panel)
        layout.setContentsMargins(theme.M, theme.S, theme.M, theme.S)
        layout.setSpacing(theme.S)
        layout.addWidget(self.builder)
        layout.addWidget(self._sentence)
        panel.hide()
        return panel

    def _fold_out(self, open_: bool) -> None:
        self._panel.setVisible(open_)
        if open_:
            self._say()
            self.wants_counts.emit(self.filter())

    def _show_tree(self, tree: Group) -> None:
        self.builder.show_tree(tree)
        self._show_chips()
        self.flush()

    def _edited(self) -> None:
        self._show_chips()
        self._wait.start()

    def _tell(self) -> None:
        filter = self.filter()
        if filter != self._last_filter:
            self._last_filter = filter
            self.set_total(None)
            self.changed.emit(filter)
        if self.builder_open:
            self.wants_counts.emit(filter)

    def _show_chips(self) -> None:
        while item := self._flow.takeAt(0):
            if (widget := item.widget()) is not self._add:
                widget.hide()
                widget.deleteLater()
        tree = self.builder.tree
        plain = tree.every and not tree.negated and len(tree.children) <= MOST_CHIPS
        for node in tree.children if plain else [tree]:
            self._flow.addWidget(self._chip(node))
        self._flow.addWidget(self._add)
        self._chips.updateGeometry()
        self._say()

    def _chip(self, node: Node) -> Chip:
        chip = Chip(node, self._types)
        chip.edit.connect(self._edit)
        chip.switched.connect(self._switch)
        chip.removed.connect(self._remove)
        return chip

    def _edit(self, node: Node) -> None:
        self.open_builder()
        self.builder.focus_on(node)

    def _switch(self, node: Node) -> None:
        node.on = not node.on
        self._show_tree(self.builder.tree)

    def _remove(self, node: Node) -> None:
        tree = self.builder.tree
        tree.remove(node)
        self._show_tree(Group() if node is tree else tree)

    def _say(self) -> None:
        filter = self.filter()
        said = f"Shows rows where {spoken(filter, self._types)}." if filter is not None else ""
        cut = said if len(said) <= LONGEST_SENTENCE else said[:LONGEST_SENTENCE] + "…"
        self._sentence.setText(breakable(cut))
        self._sentence.setVisible(bool(cut))
