"""The filter builder: nested groups of conditions, edited in place, with live counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import pyarrow as pa
from PySide6.QtCore import QEvent, QObject, QStringListModel, Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from lamella.core.arrow.nested_values import names_within
from lamella.core.filters import Filter, all_of
from lamella.core.query.builder import Query
from lamella.core.query.steps import Where
from lamella.ui import theme
from lamella.ui.filters.condition_row import NARROWEST, ConditionRow
from lamella.ui.filters.tree import (
    Condition,
    Group,
    Node,
    Problem,
    first_condition,
    from_filter,
    type_of,
)
from lamella.ui.filters.value_picker import ValuePicker, ValueRequest, can_be_picked, open_below
from lamella.ui.filters.word_index import WordIndexes
from lamella.ui.tasks import Tasks
from lamella.ui.widgets.controls import IconButton
from lamella.ui.widgets.hosts import widget_of

JOINS = (
    ("all of these", True, False),
    ("any of these", False, False),
    ("not all of these", True, True),
    ("none of these", False, True),
)


class GroupBox(QFrame):
    """Shows a `Group`. `edited` is emitted after edits inside; `change_requested` carries a node and what to
    do with it."""

    edited = Signal()
    change_requested = Signal(object, str)
    import_requested = Signal()

    def __init__(
        self,
        group: Group,
        types: Mapping[str, pa.DataType],
        names: QStringListModel,
        words: WordIndexes | None = None,
        root: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.group, self._types, self._names, self._words = group, types, names, words
        self._rows: list[ConditionRow] = []
        self._boxes: list[GroupBox] = []
        self._layout = QVBoxLayout(self)
        self._layout.setSpacing(theme.S)
        if root:
            self._layout.setContentsMargins(0, 0, 0, 0)
        else:
            theme.variant(self, "card")
            self._layout.setContentsMargins(theme.M, theme.S, theme.S, theme.S)
        self._layout.addLayout(self._head(root))
        for child in group.children:
            self._layout.addWidget(self._row(child) if isinstance(child, Condition) else self._box(child))

    def rows(self) -> Iterator[ConditionRow]:
        yield from self._rows
        for box in self._boxes:
            yield from box.rows()

    def box_of(self, group: Group) -> GroupBox | None:
        if self.group is group:
            return self
        return next((inner for box in self._boxes if (inner := box.box_of(group))), None)

    def append(self, condition: Condition) -> None:
        """Show one more condition, at the end of the group."""
        row = self._row(condition)
        self._layout.addWidget(row)
        row.show()

    def _head(self, root: bool) -> QHBoxLayout:
        head = QHBoxLayout()
        head.setSpacing(theme.S)
        if not root:
            head.addWidget(self._switch())
        say = QLabel("Rows that meet")
        theme.variant(say, "muted")
        head.addWidget(say)
        head.addWidget(self._join())
        head.addStretch(1)
        for text, what in (("+ Condition", "add"), ("+ Group", "add group")):
            button = QToolButton()
            button.setText(text)
            theme.variant(button, "tight")
            button.setAccessibleName(f"Add a {what.removeprefix('add ').replace('add', 'condition')} here")
            button.clicked.connect(
                lambda _checked=False, what=what: self.change_requested.emit(self.group, what)
            )
            head.addWidget(button)
        if not root:
            remove = IconButton("close", "Remove this group with all its conditions")
            remove.clicked.connect(lambda: self.change_requested.emit(self.group, "remove"))
            theme.variant(remove, "tight")
            head.addWidget(remove)
        return head

    def _switch(self) -> QCheckBox:
        switch = QCheckBox()
        switch.setChecked(self.group.on)
        switch.setToolTip("Use this group; switched off, it is kept for later")
        switch.setAccessibleName("Group on")
        switch.toggled.connect(self._set_on)
        return switch

    def _join(self) -> QComboBox:
        join = QComboBox()
        join.setMinimumWidth(NARROWEST * theme.current().line_height())
        join.addItems([text for text, _join_all, _negated in JOINS])
        choice = (self.group.is_conjunction, self.group.is_negated)
        join.setCurrentIndex([(join_all, negated) for _text, join_all, negated in JOINS].index(choice))
        join.setAccessibleName("How the conditions are joined")
        join.activated.connect(self._set_join)
        return join

    def _row(self, condition: Condition) -> ConditionRow:
        row = ConditionRow(condition, self._types, self._names)
        row.changed.connect(self.edited)
        row.move_requested.connect(lambda what: self.change_requested.emit(condition, what))
        row.import_requested.connect(self.import_requested)
        row.use_words(self._words)
        self._rows.append(row)
        return row

    def _box(self, group: Group) -> GroupBox:
        box = GroupBox(group, self._types, self._names, self._words)
        box.import_requested.connect(self.import_requested)
        box.edited.connect(self.edited)
        box.change_requested.connect(self._pass_on)
        self._boxes.append(box)
        return box

    def _pass_on(self, node: Node, what: str) -> None:
        self.change_requested.emit(node, what)

    def _set_on(self, on: bool) -> None:
        self.group.on = on
        self.edited.emit()

    def _set_join(self, place: int) -> None:
        _text, self.group.is_conjunction, self.group.is_negated = JOINS[place]
        self.edited.emit()


MOST_CONDITIONS = 200
TALLEST = 26  # lines of text before it scrolls


class FilterBuilder(QWidget):
    """Edits one tree. `edited` is emitted after every change; `done` on Enter in a condition;
    `import_requested` asks to import the file into a table of a store.

    The tree is shared with the caller of `show_tree`, and changed in place.
    """

    edited = Signal()
    done = Signal()
    import_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words: WordIndexes | None = None
        self._tree, self._types = Group(), dict[str, pa.DataType]()
        self._names = QStringListModel(self)
        self._box: GroupBox | None = None
        self._rows: Query | None = None
        self._scroll = QScrollArea()
        self._scroll.setWidgetResizable(True)
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._scroll)
        self._rebuild()

    @property
    def tree(self) -> Group:
        return self._tree

    def filter(self) -> Filter | None:
        """The filter of all conditions that are complete and switched on; None if there are none."""
        return self._tree.filter(self._types)

    def set_schema(self, schema: pa.Schema) -> None:
        """Set the columns. Conditions on missing columns stay and are marked."""
        self._types = dict(zip(schema.names, schema.types, strict=True))
        names = dict.fromkeys(names_within(self._types))
        self._names.setStringList([name for name in names if name != "_id"])
        self._rebuild()

    def set_filter(self, filter: Filter | None) -> None:
        self.show_tree(from_filter(filter))

    def show_tree(self, tree: Group) -> None:
        self._tree = tree
        self._rebuild()

    def add_condition(self, group: Group | None = None) -> Condition:
        """Add a condition at the end of a group, with the keyboard in its column field."""
        condition, group = first_condition(self._types), group or self._tree
        group.children.append(condition)
        self._append(condition, group)
        self.edited.emit()
        if row := self._row(condition):
            self._show_row(row)
            row.focus_column()
        return condition

    def focus_on(self, node: Node) -> None:
        """Move the keyboard to a condition, or to the first one of a group."""
        first = node if isinstance(node, Condition) else next(node.conditions(), None)
        if first is not None and (row := self._row(first)):
            self._show_row(row)
            row.focus()

    def set_rows(self, rows: Query, tasks: Tasks) -> None:
        """Set the rows that are filtered, from which values can be chosen."""
        self._rows, self._tasks = rows, tasks

    def set_words(self, words: WordIndexes) -> None:
        """Set which columns can be searched by words."""
        self._words = words
        self._rebuild()

    def choose_values(self, condition: Condition) -> None:
        """Open a list of the values in rows that meet the other conditions."""
        row, before = self._row(condition), replace(condition)
        if row is None or self._rows is None or not can_be_picked(type_of(condition.column, self._types)):
            return
        conditions = self._tree.beside(condition, self._types)
        rows = self._rows.then(Where(all_of(conditions))) if conditions else self._rows
        bound = condition.bind(self._types)
        values = () if isinstance(bound, Problem) or not bound.has_only_values else bound.values
        picker = ValuePicker(ValueRequest(rows, condition.column, self._types), self._tasks, values)
        picker.changed.connect(row.choose)

        def close(_values: object, is_accepted: bool) -> None:
            if not is_accepted:
                row.restore(before)
            row.focus()

        picker.closed.connect(close)
        open_below(picker, self, row.values)

    def set_counts(self, counts: Mapping[Condition, int], counting: bool) -> None:
        """Show how many rows meet each condition alone; conditions without a count show that it is being
        computed."""
        for row in self._box.rows() if self._box else ():
            asks = row.condition.filter(self._types) is not None
            count = counts.get(row.condition)
            row.show_count(count, counting and asks and count is None)

    def set_nans(self, counts: Mapping[Condition, int]) -> None:
        """Show how many of the rows that meet a condition do so because they are NaN."""
        for row in self._box.rows() if self._box else ():
            row.show_nans(counts.get(row.condition, 0))

    def _append(self, condition: Condition, group: Group) -> None:
        """Make only the new row if it is the last of all, so that the tab order still goes from top to
        bottom."""
        conditions = list(self._tree.conditions())
        box = self._box.box_of(group) if self._box else None
        if box is None or conditions[-1] is not condition or len(conditions) > MOST_CONDITIONS:
            self._rebuild()
            return
        box.append(condition)
        QTimer.singleShot(0, self, self._fit)

    def _rebuild(self) -> None:
        self._box = None
        conditions = sum(1 for _ in self._tree.conditions())
        if not self._tree.children:
            inside: QWidget = self._empty()
        elif conditions > MOST_CONDITIONS:
            inside = self._note(f"This filter has {conditions:,} conditions: too many to edit one by one.")
        else:
            self._box = GroupBox(self._tree, self._types, self._names, self._words, root=True)
            self._box.import_requested.connect(self.import_requested)
            self._box.edited.connect(self._tell)
            self._box.change_requested.connect(self._do)
            inside = self._box
        self._scroll.setWidget(inside)
        inside.installEventFilter(self)
        inside.setAutoFillBackground(False)
        QTimer.singleShot(0, self, self._fit)

    def _empty(self) -> QWidget:
        add = QPushButton("Add a condition")
        add.setEnabled(bool(self._types))
        add.clicked.connect(lambda _checked: self.add_condition())
        return self._note("All rows are shown. Add a condition to see only some of them.", add)

    def _note(self, text: str, button: QPushButton | None = None) -> QWidget:
        note = QWidget()
        layout = QVBoxLayout(note)
        layout.setContentsMargins(0, theme.S, 0, theme.S)
        say = QLabel(text)
        say.setWordWrap(True)
        theme.variant(say, "muted")
        layout.addWidget(say)
        if button is not None:
            layout.addWidget(button, 0, Qt.AlignmentFlag.AlignLeft)
        return note

    def _do(self, node: Node, what: str) -> None:
        """Do what a row or group requests, and update the widgets to the tree."""
        if what == "done":
            self.done.emit()
        elif what == "choose" and isinstance(node, Condition):
            self.choose_values(node)
        elif what == "add":
            self.add_condition(node if isinstance(node, Group) else self._tree.parent_of(node))
        elif what == "add group" and isinstance(node, Group):
            inner = Group(is_conjunction=not node.is_conjunction)
            node.children.append(inner)
            self.add_condition(inner)
        else:
            self._move(node, what)

    def _move(self, node: Node, what: str) -> None:
        moves: dict[str, Callable[[Node], object]] = {
            "remove": self._tree.remove,
            "wrap": self._tree.wrap,
            "unwrap": self._tree.unwrap,
            "exclude nan": lambda node: self._tree.exclude_nan(node) if isinstance(node, Condition) else None,
            "up": lambda moved: self._tree.move(moved, -1),
            "down": lambda moved: self._tree.move(moved, 1),
        }
        moves[what](node)
        self._rebuild()
        self._tell()
        if what != "remove":
            self.focus_on(node)
        elif self._box is not None and (rows := list(self._box.rows())):
            rows[0].focus_column()

    def _tell(self) -> None:
        self.edited.emit()
        self._fit()

    def _row(self, condition: Condition) -> ConditionRow | None:
        rows = self._box.rows() if self._box else ()
        return next((row for row in rows if row.condition is condition), None)

    def _show_row(self, row: ConditionRow) -> None:
        QApplication.sendPostedEvents(self._scroll.widget())
        self._scroll.ensureWidgetVisible(row)

    def _fit(self) -> None:
        """Grow to the height of the content, up to a limit above which it scrolls."""
        inside = widget_of(self._scroll.widget())
        if (layout := inside.layout()) is not None:
            layout.activate()
        tallest = TALLEST * theme.current().line_height()
        wide = inside.minimumSizeHint().width() > self._scroll.viewport().width()
        bar = self._scroll.horizontalScrollBar().sizeHint().height() if wide else 0
        self._scroll.setFixedHeight(min(inside.sizeHint().height() + 2, tallest) + bar)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        QTimer.singleShot(0, self, self._fit)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Fit again when something inside was added or removed."""
        if event.type() is QEvent.Type.LayoutRequest and watched is self._scroll.widget():
            QTimer.singleShot(0, self, self._fit)
        return super().eventFilter(watched, event)
