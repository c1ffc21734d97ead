"""One group of the builder: how its conditions are joined, the conditions, and buttons to add more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa
from PySide6.QtCore import QStringListModel, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from lamella.ui import theme
from lamella.ui.filters.condition_row import ConditionRow
from lamella.ui.filters.icon_button import IconButton
from lamella.ui.filters.tree import Condition, Group, Node

JOINS = (
    ("all of these", True, False),
    ("any of these", False, False),
    ("not all of these", True, True),
    ("none of these", False, True),
)


class GroupBox(QFrame):
    """Shows a `Group`. `edited` follows edits inside; `asked` carries a node and what to do with it."""

    edited = Signal()
    asked = Signal(object, str)

    def __init__(
        self,
        group: Group,
        types: Mapping[str, pa.DataType],
        names: QStringListModel,
        root: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.group, self._types, self._names = group, types, names
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
        return next((found for box in self._boxes if (found := box.box_of(group))), None)

    def append(self, condition: Condition) -> None:
        """Show one more condition, the last of the group's."""
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
            button.setAccessibleName(f"Add a {what.removeprefix('add ').replace('add', 'condition')} here")
            button.clicked.connect(lambda _checked=False, what=what: self.asked.emit(self.group, what))
            head.addWidget(button)
        if not root:
            remove = IconButton("close", "Remove this group with all its conditions")
            remove.clicked.connect(lambda: self.asked.emit(self.group, "remove"))
            head.addWidget(remove)
        return head

    def _switch(self) -> QCheckBox:
        switch = QCheckBox()
        switch.setChecked(self.group.on)
        switch.setToolTip("Use this group; off keeps it for later")
        switch.setAccessibleName("Group on")
        switch.toggled.connect(self._set_on)
        return switch

    def _join(self) -> QComboBox:
        join = QComboBox()
        join.addItems([text for text, _every, _negated in JOINS])
        chosen = (self.group.every, self.group.negated)
        join.setCurrentIndex([(every, negated) for _text, every, negated in JOINS].index(chosen))
        join.setAccessibleName("How the conditions are joined")
        join.activated.connect(self._set_join)
        return join

    def _row(self, condition: Condition) -> ConditionRow:
        row = ConditionRow(condition, self._types, self._names)
        row.changed.connect(self.edited)
        row.asked.connect(lambda what: self.asked.emit(condition, what))
        self._rows.append(row)
        return row

    def _box(self, group: Group) -> GroupBox:
        box = GroupBox(group, self._types, self._names)
        box.edited.connect(self.edited)
        box.asked.connect(self._pass_on)
        self._boxes.append(box)
        return box

    def _pass_on(self, node: Node, what: str) -> None:
        self.asked.emit(node, what)

    def _set_on(self, on: bool) -> None:
        self.group.on = on
        self.edited.emit()

    def _set_join(self, place: int) -> None:
        _text, self.group.every, self.group.negated = JOINS[place]
        self.edited.emit()
