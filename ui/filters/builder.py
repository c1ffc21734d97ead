"""The filter builder: nested groups of conditions, edited in place, with live counts."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from PySide6.QtCore import QStringListModel, Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QApplication, QFrame, QLabel, QPushButton, QScrollArea, QVBoxLayout, QWidget

from lamella.core.filters import Filter
from lamella.ui import theme
from lamella.ui.filters.condition_row import ConditionRow
from lamella.ui.filters.group_box import GroupBox
from lamella.ui.filters.tree import Condition, Group, Node, first_condition, from_filter

MOST_CONDITIONS = 200
TALLEST = 26  # lines of text before it scrolls


class FilterBuilder(QWidget):
    """Edits one tree. `edited` follows every change; `done` is Enter in a condition.

    The tree is shared with whoever calls `show_tree`, and changed in place.
    """

    edited = Signal()
    done = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tree, self._types = Group(), dict[str, pa.DataType]()
        self._names = QStringListModel(self)
        self._box: GroupBox | None = None
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
        """What the finished conditions that are on ask together; None when they ask nothing."""
        return self._tree.filter(self._types)

    def set_schema(self, schema: pa.Schema) -> None:
        """Conditions on columns that are not in it stay, marked."""
        self._types = dict(zip(schema.names, schema.types, strict=True))
        self._names.setStringList([name for name in schema.names if name != "_id"])
        self._rebuild()

    def set_filter(self, filter: Filter | None) -> None:
        self.show_tree(from_filter(filter))

    def show_tree(self, tree: Group) -> None:
        self._tree = tree
        self._rebuild()

    def add_condition(self, group: Group | None = None) -> Condition:
        """A new condition at the end of a group, with the keyboard in its column."""
        condition, group = first_condition(self._types), group or self._tree
        group.children.append(condition)
        self._append(condition, group)
        self.edited.emit()
        if row := self._row(condition):
            self._show_row(row)
            row.focus_column()
        return condition

    def focus_on(self, node: Node) -> None:
        """Put the keyboard into a condition, or into the first of a group."""
        first = node if isinstance(node, Condition) else next(node.conditions(), None)
        if first is not None and (row := self._row(first)):
            self._show_row(row)
            row.focus()

    def set_counts(self, counts: Mapping[Condition, int], counting: bool) -> None:
        """How many rows meet each condition alone; those without a count show that it is coming."""
        for row in self._box.rows() if self._box else ():
            asks = row.condition.filter(self._types) is not None
            count = counts.get(row.condition)
            row.show_count(count, counting and asks and count is None)

    def _append(self, condition: Condition, group: Group) -> None:
        """Only the new row is made where it is the last of all, so that Tab still goes from top to bottom."""
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
            self._box = GroupBox(self._tree, self._types, self._names, root=True)
            self._box.edited.connect(self._tell)
            self._box.asked.connect(self._do)
            inside = self._box
        self._scroll.setWidget(inside)
        inside.setAutoFillBackground(False)
        QTimer.singleShot(0, self, self._fit)

    def _empty(self) -> QWidget:
        empty = self._note("Every row is shown. Add a condition to see only some of them.")
        add = QPushButton("Add a condition")
        add.setEnabled(bool(self._types))
        add.clicked.connect(lambda _checked: self.add_condition())
        empty.layout().addWidget(add, 0, Qt.AlignmentFlag.AlignLeft)
        return empty

    def _note(self, text: str) -> QWidget:
        note = QWidget()
        layout = QVBoxLayout(note)
        layout.setContentsMargins(0, theme.S, 0, theme.S)
        say = QLabel(text)
        say.setWordWrap(True)
        theme.variant(say, "muted")
        layout.addWidget(say)
        return note

    def _do(self, node: Node, what: str) -> None:
        """Carry out what a row or group asks for; the widgets follow the tree."""
        if what == "done":
            self.done.emit()
        elif what == "add":
            self.add_condition(node if isinstance(node, Group) else self._tree.parent_of(node))
        elif what == "add group" and isinstance(node, Group):
            inner = Group(every=not node.every)
            node.children.append(inner)
            self.add_condition(inner)
        else:
            self._move(node, what)

    def _move(self, node: Node, what: str) -> None:
        moves = {
            "remove": self._tree.remove,
            "wrap": self._tree.wrap,
            "unwrap": self._tree.unwrap,
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
        """As tall as what is inside, up to where it scrolls."""
        inside = self._scroll.widget()
        inside.layout().activate()
        tallest = TALLEST * theme.current().line_height()
        wide = inside.minimumSizeHint().width() > self._scroll.viewport().width()
        bar = self._scroll.horizontalScrollBar().sizeHint().height() if wide else 0
        self._scroll.setFixedHeight(min(inside.sizeHint().height() + 2, tallest) + bar)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        QTimer.singleShot(0, self, self._fit)
