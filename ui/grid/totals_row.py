"""The row of totals: below the last row of a grid, or at its bottom edge if there are further rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QEvent, QPoint, QRect, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QFontMetrics, QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QToolTip, QWidget

from lamella.ui import theme
from lamella.ui.formats.formats import in_format
from lamella.ui.grid.painter import LEFT, NULL, PADDING, RIGHT, WIDEST_FIT, CellPainter
from lamella.ui.grid.scrolling import CellPlaces

LABEL = "Total"
SUM = "Σ"
ABOUT = (
    "Totals of all grouped rows, including those of groups that a later filter or limit hides."
    " They are not a row of the grid: copying and exporting leave them out."
)


class TotalsRow(QWidget):
    """Hidden until `set_waiting` or `set_texts` is called. Texts are by column name; None is null."""

    menu_requested = Signal(QPoint)
    shown_or_hidden = Signal()

    def __init__(self, grid: CellPlaces, painter: CellPainter) -> None:
        """`painter` is the painter of the rows."""
        super().__init__(grid)
        self._grid, self._painter = grid, painter
        self.texts: Mapping[str, str | None] = {}
        self.problem = ""
        self._is_waiting = False
        self.setAccessibleName("Totals")
        self.hide()
        theme.current().changed.connect(self.update)

    def set_waiting(self) -> None:
        """Say that the totals are being read; the old ones are no longer valid."""
        self._show({}, waiting=True)

    def set_texts(self, texts: Mapping[str, str | None]) -> None:
        """Show the totals, and widen columns in which they would be cut off."""
        self._show(texts)
        header = self._grid.horizontalHeader()
        for column in range(len(self._grid.grid_model.names)):
            text = self.shown_text(column)
            if text and not header.isSectionHidden(column):
                width = self._painter.wanted_width(column, text) + 2 * PADDING + theme.XS
                if header.sectionSize(column) < width <= WIDEST_FIT:
                    header.resizeSection(column, width)

    def set_problem(self, problem: str) -> None:
        """Say why there are no totals."""
        self._show({}, problem)

    def set_hidden(self) -> None:
        if not self.isHidden():
            self.hide()
            self.shown_or_hidden.emit()

    def _show(self, texts: Mapping[str, str | None], problem: str = "", waiting: bool = False) -> None:
        self.texts, self.problem, self._is_waiting = texts, problem, waiting
        spoken_texts = ", ".join(f"{name} {NULL if text is None else text}" for name, text in texts.items())
        self.setAccessibleDescription(problem or spoken_texts)
        self.update()
        if self.isHidden():
            self.show()
            self.shown_or_hidden.emit()

    # ------------------------------------------------------------------ position

    def follow(self) -> None:
        """Move below the last row, as far as it is scrolled."""
        if self.isHidden():
            return
        grid, place, header = self._grid, self._grid.viewport().geometry(), self._grid.horizontalHeader()
        model, height = grid.grid_model, grid.room_at_bottom
        end = grid.row_top(model.start + model.rowCount()) if model.rowCount() else 0
        top = min(end, place.height() - height)
        width = self._gutter + max(0, min(place.width(), header.length() - header.offset()))
        self.setGeometry(place.left() - self._gutter, place.top() + top, width, height)
        self.raise_()
        self.update()

    def extend_scrolling(self, value: int) -> None:
        """Let the last row scroll above this one; `value` is the scroll position of the rows."""
        bar, rows, room = (
            self._grid.verticalScrollBar(),
            self._grid.grid_model.rowCount(),
            self._grid.room_at_bottom,
        )
        last = rows * self._grid.row_height + room - self._grid.viewport().height()
        if room and rows and last > bar.maximum():
            bar.setRange(0, last)
            bar.setValue(min(value, last))

    # ------------------------------------------------------------------- drawing

    @property
    def label_column(self) -> int | None:
        """The first column on screen that has no total, such as that of a key."""
        names = self._grid.grid_model.names
        columns = self._grid.columns_between(0, self.width() - self._gutter)
        return next((column for column in columns if names[column] not in self.texts), None)

    @property
    def _gutter(self) -> int:
        return self._grid.verticalHeader().width()

    def cell_rect(self, column: int) -> QRect:
        """The rectangle of a total."""
        width = self._grid.horizontalHeader().sectionSize(column)
        return QRect(self._gutter + self._grid.x_of(column), 0, width, self.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        look, painter = theme.current(), QPainter(self)
        painter.fillRect(self.rect(), look.color("sunken"))
        for zone, _pinned in self._grid.zones(QRect(0, 0, self.width() - self._gutter, self.height())):
            painter.setClipRect(zone.translated(self._gutter, 0))
            self._paint_cells(painter, self._grid.columns_between(zone.left(), zone.right()))
        painter.setClipping(False)
        painter.save()
        painter.translate(self._gutter, 0)
        self._grid.pinning.paint_edge(painter, 0, self.height())
        painter.restore()
        painter.setPen(look.color("border_strong"))
        painter.drawLine(0, 0, self.width(), 0)
        painter.drawLine(0, self.height() - 1, self.width(), self.height() - 1)
        painter.setPen(look.color("muted"))
        painter.setFont(look.font(bold=True))
        painter.drawText(QRect(0, 0, self._gutter - theme.S, self.height()), RIGHT, SUM)

    def _paint_cells(self, painter: QPainter, columns: Sequence[int]) -> None:
        look, label = theme.current(), self.label_column
        for column in columns:
            cell = self.cell_rect(column)
            painter.setPen(look.color("border"))
            painter.drawLine(cell.right(), 0, cell.right(), cell.height())
            inner, name = cell.adjusted(PADDING, 0, -PADDING, 0), self._grid.grid_model.names[column]
            if column == label:
                painter.setFont(look.font(bold=True))
                painter.setPen(look.color("danger" if self.problem else "text"))
                text = f"{LABEL}: {self.problem}" if self.problem else LABEL
                painter.drawText(inner, LEFT, QFontMetrics(painter.font()).elidedText(
                    text, Qt.TextElideMode.ElideRight, inner.width()))  # fmt: skip
            elif self._is_waiting:
                painter.fillRect(QRect(inner.center().x(), inner.center().y() - 4, inner.width() // 2, 8),
                                 look.color("hover"))  # fmt: skip
            elif name in self.texts:
                self._paint_text(painter, column, inner, self.shown_text(column))

    def _paint_text(self, painter: QPainter, column: int, inner: QRect, text: str | None) -> None:
        look = theme.current()
        flags = self._painter.flags(column)
        if text is None:
            painter.setFont(self._painter.inks.null_font)
            painter.setPen(look.color("muted"))
            painter.drawText(inner, flags, NULL)
            return
        painter.setFont(look.tabular_font())
        painter.setPen(look.color("text"))
        fitted, room = self._painter.fitted_in_line(column, text, inner.width())
        painter.drawText(inner.x(), 0, room, self.height(), flags, fitted)

    def shown_text(self, column: int) -> str | None:
        """A total as drawn, in the column's format; None for null."""
        model = self._grid.grid_model
        text, form = self.texts.get(model.names[column]), model.pages.form(column)
        return text if form is None or not text else in_format(text, form)

    # -------------------------------------------------------------------- events

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), self._tip(event.pos()), self)
            return True
        return super().event(event)

    def _tip(self, point: QPoint) -> str:
        if self.problem:
            return self.problem
        names, x = self._grid.grid_model.names, point.x() - self._gutter
        column = next(iter(self._grid.columns_between(x, x)), None) if x >= 0 else None
        text = None if column is None else self.texts.get(names[column])
        return f"{text}\n\n{ABOUT}" if text else ABOUT

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.menu_requested.emit(event.globalPos())
