"""One condition or group above the grid: switch it, click it to edit, remove it."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFontMetrics, QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QToolButton, QWidget

from lamella.core.arrow.nested import place_of
from lamella.core.filters import Filter, bind, sentence
from lamella.core.filters.expr import columns_read
from lamella.ui import theme
from lamella.ui.filters.icon_button import IconButton
from lamella.ui.filters.tree import Condition, Node, Problem

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
