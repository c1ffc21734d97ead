"""Filters of single columns, set at their header: chosen from the column's values, or typed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import pyarrow as pa
from PySide6.QtCore import QObject, QPoint, SignalInstance

from lamella.core.filters.expr import Filter, Predicate, all_of
from lamella.core.filters.kinds import Kind, kind_of
from lamella.core.query.builder import Query, query_of
from lamella.core.query.computed_view import ComputedView
from lamella.core.query.line import Line, query_of_line
from lamella.core.query.source import SnapshotSource
from lamella.core.query.steps import Where
from lamella.core.query.view import View
from lamella.ui.filters.filter_row import typed_condition, written_condition
from lamella.ui.filters.tree import Condition, Group, Node, Problem, as_conjunction, from_filter, from_json
from lamella.ui.filters.value_picker import PickerPopup, ValuePicker, ValueRequest, can_be_picked
from lamella.ui.steps.step_line import StepLine
from lamella.ui.steps.where_editor import with_change
from lamella.ui.widgets.hosts import widget_of
from lamella.ui.window.loader import Tab

LIST_OPERATORS = frozenset({"eq", "in", "is_null", "is_true", "is_false"})
Types = Mapping[str, pa.DataType]


def listed_values(node: Node, name: str, types: Types) -> list[Any] | None:
    """The values that a condition on this column lists, including null; None if it is any other condition."""
    if not node.on:
        return None
    if isinstance(node, Group):
        parts = [listed_values(child, name, types) for child in node.children]
        value_lists = [part for part in parts if part is not None]
        several = (
            len(value_lists) == len(parts)
            and not node.is_negated
            and (not node.is_conjunction or len(parts) == 1)
        )
        return [value for part in value_lists for value in part] if several and value_lists else None
    if node.column != name or node.operator not in LIST_OPERATORS or node.ignore_case:
        return None
    if node.operator in ("is_true", "is_false", "is_null"):
        return [{"is_true": True, "is_false": False, "is_null": None}[node.operator]]
    bound = node.bind(types)
    return None if isinstance(bound, Problem) or not bound.has_only_values else list(bound.values)


def condition_of_values(name: str, kind: pa.DataType, values: Sequence[Any]) -> Filter | None:
    """The condition that a value is one of these; None stands for null."""
    not_null = [value for value in values if value is not None]
    if not values:
        return None
    null = Predicate(name, "is_null")
    if not not_null:
        return null
    if kind_of(kind) is Kind.BOOLEAN and len(not_null) == 1:
        predicate = Predicate(name, "is_true" if not_null[0] else "is_false")
    else:
        predicate = Predicate(name, "eq" if len(not_null) == 1 else "in", tuple(not_null))
    return predicate if len(not_null) == len(values) else null | predicate


class FilteredTab(Tab, Protocol):
    steps: StepLine
    changed: SignalInstance

    def apply(self, line: Line, session: int = 0) -> None: ...


class ColumnFilters(QObject):
    """The column filters of one tab. Each is a condition of the last filter step, if that step requires
    all of its conditions."""

    def __init__(self, tab: FilteredTab) -> None:
        super().__init__(widget_of(tab))
        self._tab = tab
        self._line: Line | None = None
        self._typed_above, self._visit = "", 0
        tab.changed.connect(self.follow)
        tab.grid.filter_row.typed.connect(self._take)

    def choose_values(self, name: str | None) -> ValuePicker | None:
        """Open a list of a column's values under its header; the chosen values become a condition."""
        tab, view = self._tab, self._tab.view
        if view is None or name is None:
            return None
        types = self._types_of_filter()
        kind = types.get(name)
        if kind is None or not can_be_picked(kind):
            tab.messages.say(f"Column '{name}': values of this type cannot be compared yet")
            return None
        tab.steps.close_editor()
        tree = self._tree()
        node = self._node_of_values(tree, name, types)
        chosen_values = [] if node is None else listed_values(node, name, types) or []
        conditions = self._other_conditions(tree, node, types)
        rows = self._rows(view)
        rows = rows.then(Where(all_of(conditions))) if conditions else rows
        picker = ValuePicker(ValueRequest(rows, name, types, with_null=True), tab.tasks, chosen_values)

        def take(values: list[Any], is_accepted: bool) -> None:
            tab.grid.setFocus()
            if is_accepted and values != chosen_values:
                condition = condition_of_values(name, kind, values)
                self.change(
                    lambda root: replace_node(root, self._node_of_values(root, name, types), condition)
                )

        picker.closed.connect(take)
        header = tab.grid.column_header
        left = tab.grid.x_of(tab.grid.grid_model.names.index(name))
        place = header.mapToGlobal(QPoint(max(0, left), header.own_height))
        PickerPopup(picker, header).open_at(place)
        return picker

    # --------------------------------------------------------------- filter row

    def toggle_row(self) -> None:
        """Show the filter row, with the keyboard above the current column, or hide it."""
        grid, row = self._tab.grid, self._tab.grid.filter_row
        if row.is_shown:
            row.set_shown(False)
            self._line = None
            grid.setFocus()
            return
        row.set_shown(True)
        self.follow()
        row.focus_column(grid.selection.current[1] if grid.selection.current else grid.first_place())

    def follow(self) -> None:
        """Show the conditions of the line in the fields of their columns."""
        row, line = self._tab.grid.filter_row, self._tab.line
        if not row.is_shown or line is self._line:
            return
        self._line = line
        types, texts = self._types_of_filter(), dict[str, str]()
        for node in self._tree().children:
            text = written_condition(node, types) if isinstance(node, Condition) else None
            if isinstance(node, Condition) and text is not None:
                texts.setdefault(node.column, text)
        row.show_texts(texts)

    def _take(self, name: str, text: str) -> None:
        types, row = self._types_of_filter(), self._tab.grid.filter_row
        condition = typed_condition(text, name, types)
        if isinstance(condition, Problem):
            row.refuse(name, condition.reason)
            return
        row.settle(name, "" if condition is None else written_condition(condition, types) or "")
        if name != self._typed_above:
            self._typed_above, self._visit = name, self._visit - 1

        def put(root: Group) -> None:
            own = next((child for child in root.children if _is_own(child, name, types)), None)
            before = None if own is None else own.filter(types)
            if before != (None if condition is None else condition.filter(types)):
                place = len(root.children) if own is None else root.children.index(own)
                root.children[place : place + (own is not None)] = [] if condition is None else [condition]

        self.change(put, self._visit)

    def _types_of_filter(self) -> Types:
        line = self._tab.line
        place = line.last_of(Where)
        return self._types(line.place_of_new(Where) if place is None else place)

    # ----------------------------------------------------------------- the steps

    def change(self, change: Callable[[Group], None], session: int = 0) -> None:
        """Change the conditions of the last filter step in place; if there is none, add one."""
        tab = self._tab
        tab.steps.close_editor()
        line, place = tab.line, tab.line.last_of(Where)
        now = None if place is None else line.steps[place]
        types = self._types(line.place_of_new(Where) if place is None else place)
        before = now.step if now is not None and isinstance(now.step, Where) else None
        step, draft = with_change(before, None if now is None else now.draft, types, change)
        if place is None:
            after = line if step is None else line.insert(line.place_of_new(Where), Where, step)
        elif step is None and draft is None:
            after = line.remove(place)
        else:
            after = line.edit(place, step, draft)
        if after != line:
            tab.apply(after, session)

    def _types(self, place: int) -> Types:
        schemas = self._tab.steps.runnable_line.schemas
        schema = schemas[min(place, len(schemas) - 1)]
        return dict(zip(schema.names, schema.types, strict=True))

    def _tree(self) -> Group:
        """The conditions of the last filter step."""
        line = self._tab.line
        place = line.last_of(Where)
        if place is None:
            return Group()
        step = line.steps[place]
        return as_conjunction(
            from_json(step.draft) if step.draft is not None else from_filter(_condition_of(step.step))
        )

    def _rows(self, view: View | ComputedView) -> Query:
        """The rows that go into the filters at the end of the line."""
        if not isinstance(view, ComputedView):
            return query_of(SnapshotSource(view.snapshot))
        tab, place = self._tab, self._tab.line.last_of(Where)
        place = tab.line.place_of_new(Where) if place is None else place
        return query_of_line(tab.line, tab.dataset, tab.steps.steps_before(place))

    def _other_conditions(self, tree: Group, node: Node | None, types: Types) -> list[Filter]:
        """All other conditions that the shown rows meet, without the one of `node`."""
        line, place = self._tab.line, self._tab.line.last_of(Where)
        steps = [step.step for n, step in enumerate(line.steps) if n >= line.tail and n != place and step.on]
        conditions = [step.condition for step in steps if isinstance(step, Where)]
        if node is not None:
            return conditions + tree.beside(node, types)
        whole = tree.filter(types)
        return conditions if whole is None else [*conditions, whole]

    def _node_of_values(self, root: Group, name: str, types: Types) -> Node | None:
        return next((child for child in root.children if listed_values(child, name, types) is not None), None)


def _condition_of(step: object) -> Filter | None:
    return step.condition if isinstance(step, Where) else None


def _is_own(node: Node, name: str, types: Types) -> bool:
    """Whether the filter row can show this condition in the column's field."""
    own = isinstance(node, Condition) and node.column == name
    return own and isinstance(node, Condition) and written_condition(node, types) is not None


def replace_node(root: Group, node: Node | None, condition: Filter | None) -> None:
    """Replace the condition of `node`; without a node append it, without a condition remove the node."""
    added = from_filter(condition)
    children = added.children if added.is_conjunction else [added]
    place = len(root.children) if node is None else root.children.index(node)
    root.children[place : place + (node is not None)] = children
