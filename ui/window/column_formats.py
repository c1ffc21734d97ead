"""The form that chooses how the values of a column are shown, under the column's header."""

from __future__ import annotations

import pyarrow as pa
from PySide6.QtCore import QObject, QPoint, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QWidget

from lamella.core.query.cards import ColumnCard
from lamella.ui import theme
from lamella.ui.formats.format_form import FormatForm
from lamella.ui.formats.formats import can_be_shaded, form_of
from lamella.ui.grid.view import GridView
from lamella.ui.widgets.hosts import widget_of
from lamella.ui.widgets.popover import Popover
from lamella.ui.window.loader import Tab


class ColumnFormats(QObject):
    """Opens the format forms of one tab."""

    def __init__(self, tab: Tab) -> None:
        super().__init__(widget_of(tab))
        self._tab = tab
        self.form: FormatForm | None = None

    def ask(self, name: str) -> FormatForm | None:
        """Open the form of a column under its header. Choices are shown at once; Escape undoes them."""
        tab, view, grid = self._tab, self._tab.view, self._tab.grid
        if view is None or name not in grid.grid_model.names:
            return None
        type_ = view.schema.field(name).type
        column = grid.grid_model.names.index(name)
        extent = _extent(grid.cards.card_of(column)) if can_be_shaded(type_) else None
        form = self.form = FormatForm(name, type_, form_of(grid.all_formats, name, type_), extent)
        popover = FormatPopover(form, grid)
        form.changed.connect(lambda form: grid.set_format(name, form))
        form.done.connect(popover.close)
        popover.destroyed.connect(lambda: self._forget(form))
        open_beside_column(grid, column, popover)
        form.kind.setFocus(Qt.FocusReason.PopupFocusReason)
        rows = grid.visible_rows()
        if rows:
            tab.tasks.read(
                lambda job: view.page(rows[0], len(rows), [name]).column(0).combine_chunks(),
                lambda values: self._show(form, values),
                owner=self,
                quiet=True,
            )
        return form

    def _forget(self, form: FormatForm) -> None:
        if form is self.form:
            self.form = None

    def _show(self, form: FormatForm, values: pa.Array) -> None:
        if form is self.form:
            form.show_values(values)


def open_beside_column(grid: GridView, column: int, popover: Popover) -> None:
    """Open a popover so that the column stays visible: to its right, or to its left where there is no room.
    It is deleted when it closes."""
    popover.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    grid.show_column(grid.place(column))
    popover.fit()
    header, left = grid.column_header, grid.x_of(column)
    point = header.mapToGlobal(QPoint(left + header.sectionSize(column), header.own_height + theme.XS))
    if point.x() + popover.width() > grid.screen().availableGeometry().right():
        point.setX(header.mapToGlobal(QPoint(left, 0)).x() - popover.width())
    popover.open_at(point, grid)


def _extent(card: ColumnCard | None) -> tuple[float, float] | None:
    """The least and greatest value of the shown rows, once they are known."""
    if card is None or card.shown_figures.min is None or card.shown_figures.max is None:
        return None
    return float(card.shown_figures.min), float(card.shown_figures.max)


class FormatPopover(Popover):
    """The popover of a format form; Escape restores the column's format."""

    def __init__(self, form: FormatForm, owner: QWidget) -> None:
        super().__init__(form, owner)
        self._form = form

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self._form.reset()
        super().keyPressEvent(event)
