"""Nested values of a tab: opened below their cell, used in filters, their fields shown as columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

import pyarrow as pa
from PySide6.QtCore import QObject, QRect, Qt, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent
from PySide6.QtWidgets import QLabel, QListWidget, QListWidgetItem, QPushButton, QVBoxLayout, QWidget

from lamella.core.arrow.nested_values import Place, place_of, places_within, python_value
from lamella.core.errors import BadFilter, LamellaError, visible
from lamella.core.filters.binding import bind_predicate
from lamella.core.filters.cell_texts import whole_texts
from lamella.core.filters.expr import Filter, Predicate
from lamella.core.phrases import quantity
from lamella.core.query.expressions import ColumnReference
from lamella.core.query.steps import Compute, Step
from lamella.ui import theme
from lamella.ui.grid.value_popup import Node, ValuePopup
from lamella.ui.widgets.hosts import widget_of
from lamella.ui.widgets.popover import Popover
from lamella.ui.window.cell_editing import CellEditing
from lamella.ui.window.column_formats import open_beside_column
from lamella.ui.window.loader import Tab


class NestedTab(Tab, Protocol):
    editing: CellEditing

    def add_filter(self, condition: Filter) -> None: ...

    def add_step(self, step: Step) -> None: ...

    def when_shown(self, then: Callable[[], object]) -> None: ...


def condition_of(node: Node) -> Predicate:
    """The condition that a row has the node's value in the same place, or, for a list item, anywhere in the
    list."""
    place = node.place
    assert place is not None
    if node.is_null:
        return Predicate(place.name, "is_null")
    value, within = python_value(node.value[0]), place.outer_list
    if within is not None and within.path == place.path[:-1]:
        return Predicate(within.name, "has", (value,))
    return Predicate(place.name, "eq", (value,))


def column_names(paths: Sequence[str], used_names: Iterable[str]) -> list[str]:
    """A column name for each field: its own name, preceded by those of its parents where it is taken."""
    used, names = set(used_names), list[str]()
    for path in paths:
        parts = path.split(".")
        offers = ["_".join(parts[-count:]) for count in range(1, len(parts) + 1)]
        name = next((offer for offer in offers if offer not in used), None)
        number = 2
        while name is None:
            name = None if f"{offers[-1]}_{number}" in used else f"{offers[-1]}_{number}"
            number += 1
        used.add(name)
        names.append(name)
    return names


def leads_to(place: Place, types: Mapping[str, pa.DataType]) -> bool:
    """Whether the place's name, as conditions and computed columns use it, resolves to this place."""
    meant = place_of(place.name, types, items=True)
    return meant is not None and (meant.column, meant.path) == (place.column, place.path)


class NestedValues(QObject):
    """The nested values of one tab."""

    def __init__(self, tab: NestedTab) -> None:
        super().__init__(widget_of(tab))
        self._tab = tab
        self.popup: ValuePopup | None = None
        tab.grid.value_requested.connect(self.open)

    def open(self) -> None:
        """Open the nested value of the current cell below it. On a group, open its rows instead."""
        tab, grid, current = self._tab, self._tab.grid, self._tab.grid.selection.current
        view, name = tab.view, grid.current_name
        if current is None or view is None or name is None:
            return
        row = current[0]
        if tab.line.grouping is not None:
            tab.open_group(row)
            return
        tab.tasks.read(
            lambda job: view.page(row, 1, [name]).column(0).combine_chunks(),
            lambda value: self._show(name, value) if grid.selection.current == current else None,
            tab.failures.show,
            owner=self,
            quiet=True,
        )

    def _show(self, name: str, value: pa.Array) -> None:
        grid, current = self._tab.grid, self._tab.grid.selection.current
        if current is None:
            return
        grid.show_cell(*current)
        rect = grid.cell_rect(current)
        if rect is None or self.popup is not None:
            return
        if value.null_count:
            self._tab.messages.say(f"Column '{visible(name)}': the value is null")
            return
        popup = self.popup = ValuePopup(Node(name, value, Place.of(name, value.type)), grid)
        popup.copy_requested.connect(self._copy)
        popup.filter_requested.connect(self._filter)
        popup.column_requested.connect(lambda node: self.add_columns([node.place.name]))
        popup.closed.connect(self._focus_grid)
        popup.edit.setVisible(self._tab.standing.target is not None)
        popup.edit_requested.connect(self._tab.editing.begin)
        area = rect.intersected(grid.viewport().rect())
        popup.open_at(QRect(grid.viewport().mapToGlobal(area.topLeft()), area.size()))

    def _focus_grid(self) -> None:
        self.popup = None
        self._tab.grid.setFocus(Qt.FocusReason.PopupFocusReason)

    def _copy(self, node: Node) -> None:
        """Copy the whole value; writing a large one takes a while."""
        tab = self._tab
        tab.tasks.read(
            lambda job: whole_texts(node.value)[0] or "",
            QGuiApplication.clipboard().setText,
            tab.failures.show,
            owner=self,
            text="Copying",
        )

    def _filter(self, node: Node) -> None:
        tab, view = self._tab, self._tab.view
        if view is None or node.place is None:
            return
        condition, types = condition_of(node), dict(zip(view.schema.names, view.schema.types, strict=True))
        try:
            if not leads_to(node.place, types):
                raise BadFilter(
                    f"'{node.place.name}' is also the name of another column",
                    fix="Filter by a field whose path is not a column's name",
                )
            bind_predicate(condition, types, tab.name)
        except LamellaError as error:
            tab.messages.say(str(error), kind="message-danger")
            return
        tab.add_filter(condition)

    def add_columns(self, paths: Sequence[str]) -> None:
        """Add computed columns for fields of structs, by their paths."""
        view = self._tab.view
        if view is not None and paths:
            names = column_names(paths, view.schema.names)
            computed = zip(names, map(ColumnReference, paths), strict=True)
            self._tab.add_step(Compute(tuple(computed)))
            self._tab.when_shown(lambda: self._show_column(names[0]))

    def _show_column(self, name: str) -> None:
        grid = self._tab.grid
        if name in grid.grid_model.names:
            grid.go_to_column(grid.grid_model.names.index(name))

    def ask_fields(self, name: str) -> FieldsForm | None:
        """Open a form at the header of a struct with the fields that can become columns."""
        view, grid = self._tab.view, self._tab.grid
        if view is None or name not in view.schema.names or not is_struct(view.schema.field(name).type):
            return None
        kind = view.schema.field(name).type
        fields = [place for place in places_within(Place.of(name, kind)) if place.path]
        form = FieldsForm(fields, name)
        popover = Popover(form, grid)

        def take(paths: list[str]) -> None:
            popover.close()
            self.add_columns(paths)

        form.fields_requested.connect(take)
        open_beside_column(grid, grid.grid_model.names.index(name), popover)
        form.list.setFocus(Qt.FocusReason.PopupFocusReason)
        return form


def is_struct(type_: pa.DataType) -> bool:
    return bool(pa.types.is_struct(type_))


MOST_FIELDS = 1000


class FieldsForm(QWidget):
    """Chooses fields of a struct. `fields_requested` carries the names of the checked ones, in the order of
    the struct. Fields that are null in every row cannot be chosen, as they have no type."""

    fields_requested = Signal(object)

    def __init__(self, fields: Sequence[Place], column: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        title = QLabel(f"Fields of {visible(column)[:40]}")
        theme.variant(title, "title")
        self.list = QListWidget()
        self.list.setAccessibleName("Fields")
        self.add = QPushButton("Add columns")
        theme.variant(self.add, "primary")
        parents = {field.path[:-1] for field in fields}
        for field in fields[:MOST_FIELDS]:
            item = QListWidgetItem(visible(".".join(field.path)))
            item.setData(int(Qt.ItemDataRole.UserRole), field.name)
            if pa.types.is_null(field.type):
                item.setText(f"{item.text()} (null in every row)")
                item.setFlags(Qt.ItemFlag.NoItemFlags)
            else:
                item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
                checked = field.path not in parents
                item.setCheckState(Qt.CheckState.Checked if checked else Qt.CheckState.Unchecked)
            self.list.addItem(item)
        layout = QVBoxLayout(self)
        layout.setSpacing(theme.S)
        for widget in (title, self.list, self.add):
            layout.addWidget(widget)
        self.list.itemChanged.connect(self._follow)
        self.list.setCurrentRow(0)
        self.add.clicked.connect(lambda: self.fields_requested.emit(self.paths))
        self._follow()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.add.click()
        else:
            super().keyPressEvent(event)

    @property
    def paths(self) -> list[str]:
        items = (self.list.item(row) for row in range(self.list.count()))
        return [
            item.data(int(Qt.ItemDataRole.UserRole))
            for item in items
            if item.checkState() is Qt.CheckState.Checked
        ]

    def _follow(self) -> None:
        count = len(self.paths)
        self.add.setText(f"Add {quantity(count, 'column')}")
        self.add.setEnabled(count > 0)
