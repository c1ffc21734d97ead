"""The row of totals: below the last row of a grid, or at its bottom edge where the rows go on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from PySide6.QtCore import QEvent, QPoint, QRect, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QFontMetrics, QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QHeaderView, QToolTip, QWidget

from lamella.ui import theme
from lamella.ui.formats.formats import in_format
from lamella.ui.grid.model import GridModel
from lamella.ui.grid.painter import LEFT, NULL, PADDING, RIGHT, CellPainter
from lamella.ui.grid.pinning import Pinning

LABEL = "Total"
SUM = "Σ"
ABOUT = (
    "Totals of all rows that are grouped, also of those whose groups a filter or a limit behind the groups"
    " leaves out. They are no row of the grid: copying and exporting leave them out."
)


class TotalsGrid(Protocol):
    """What the row knows of its grid."""

    grid_model: GridModel

    @property
    def cell_painter(self) -> CellPainter: ...

    def horizontalHeader(self) -> QHeaderView: ...

    def verticalHeader(self) -> QHeaderView: ...

    def columns_between(self, left: int, right: int) -> list[int]: ...

    def zones(self, area: QRect) -> list[tuple[QRect, bool]]: ...

    def x_of(self, column: int) -> int: ...

    pinning: Pinning


class TotalsRow(QWidget):
    """Not seen before `set_waiting` or `set_texts`. Its texts are by the names of columns; None is null."""

    menu_requested = Signal(QPoint)
    shown_or_hidden = Signal()

    def __init__(self, grid: TotalsGrid, parent: QWidget) -> None:
        super().__init__(parent)
        self._grid = grid
        self.texts: Mapping[str, str | None] = {}
        self.problem = ""
        self._is_waiting = False
        self.setAccessibleName("Totals")
        self.hide()
        theme.current().changed.connect(self.update)

    def set_waiting(self) -> None:
        """The totals are on their way; those of before are no longer true."""
        self._show({}, waiting=True)

    def set_texts(self, texts: Mapping[str, str | None]) -> None:
        self._show(texts)

    def set_problem(self, problem: str) -> None:
        """Why there are none."""
        self._show({}, problem)

    def set_hidden(self) -> None:
        if not self.isHidden():
            self.hide()
            self.shown_or_hidden.emit()

    def _show(self, texts: Mapping[str, str | None], problem: str = "", waiting: bool = False) -> None:
        self.texts, self.problem, self._is_waiting = texts, problem, waiting
        known = ", ".join(f"{name} {NULL if text is None else text}" for name, text in texts.items())
        self.setAccessibleDescription(problem or known)
        self.update()
        if self.isHidden():
            self.show()
            self.shown_or_hidden.emit()

    # ------------------------------------------------------------------- drawing

    @property
    def label_column(self) -> int | None:
        """The first column on screen that has no total, as that of a key."""
        names = self._grid.grid_model.names
        shown = self._columns()
        return next((one for one in shown if names[one] not in self.texts), None)

    def _columns(self) -> list[int]:
        return self._grid.columns_between(0, self.width() - self._gutter)

    @property
    def _gutter(self) -> int:
        return self._grid.verticalHeader().width()

    def _cell(self, column: int) -> QRect:
        width = self._grid.horizontalHeader().sectionSize(column)
        return QRect(self._gutter + self._grid.x_of(column), 0, width, self.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        look, painter = theme.current(), QPainter(self)
        painter.fillRect(self.rect(), look.color("sunken"))
        for zone, _pinned in self._grid.zones(self.rect().adjusted(0, 0, -self._gutter, 0)):
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

    def _paint_cells(self, painter: QPainter, columns: list[int]) -> None:
        look, label = theme.current(), self.label_column
        for column in columns:
            cell = self._cell(column)
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
                self._paint_text(painter, column, inner, self.texts[name])

    def _paint_text(self, painter: QPainter, column: int, inner: QRect, text: str | None) -> None:
        look, model = theme.current(), self._grid.grid_model
        flags, form = self._grid.cell_painter.flags(column), model.pages.form(column)
        if text is None:
            painter.setFont(self._grid.cell_painter.inks.null_font)
            painter.setPen(look.color("muted"))
            painter.drawText(inner, flags, NULL)
            return
        painter.setFont(look.tabular_font())
        painter.setPen(look.color("text"))
        text = text if form is None else in_format(text, form)
        shown, room = self._grid.cell_painter.fitted_in_line(column, text, inner.width())
        painter.drawText(inner.x(), 0, room, self.height(), flags, shown)

    # -------------------------------------------------------------------- events

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), self._tip(event.pos()), self)
            return True
        return super().event(event)

    def _tip(self, point: QPoint) -> str:
        if self.problem:
            return self.problem
        names = self._grid.grid_model.names
        here = next((one for one in self._columns() if self._cell(one).contains(point)), None)
        text = None if here is None else self.texts.get(names[here])
        return f"{text}\n\n{ABOUT}" if text else ABOUT

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.menu_requested.emit(event.globalPos())
