"""The grid of a comparison: added and removed rows have coloured backgrounds, changed cells show the old
value."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter
from PySide6.QtWidgets import QWidget

from lamella.core.errors import visible
from lamella.core.query.comparison import ComparedRows, RowChange
from lamella.core.query.comparison.comparison import CellExample
from lamella.ui import theme
from lamella.ui.grid.header import RowHeader
from lamella.ui.grid.model import PAGE_ROWS, ChangedTexts, GridModel, Index
from lamella.ui.grid.painter import NULL, PADDING, RIGHT, WIDEST_FIT, CellPainter, Strip
from lamella.ui.grid.texts import screen_texts
from lamella.ui.grid.view import GridView
from lamella.ui.tasks import Tasks

GAP = theme.S
"""Space between the old and the new value, in pixels."""
SIGNS = {RowChange.ADDED: "+", RowChange.REMOVED: "−", RowChange.CHANGED: "±"}
INKS = {RowChange.ADDED: "success", RowChange.REMOVED: "danger", RowChange.CHANGED: "warning"}
WORDS = {RowChange.ADDED: "added", RowChange.REMOVED: "removed", RowChange.CHANGED: "changed"}


def text_before(model: GridModel, row: int, column: int) -> tuple[bool, str | None]:
    """Whether a cell is known to differ, and the text of its old value."""
    texts = model.pages.column(row // PAGE_ROWS, column)
    at = row % PAGE_ROWS
    if isinstance(texts, ChangedTexts) and at in texts.before:
        return True, texts.before[at]
    return False, None


class ComparedModel(GridModel):
    """Tells screen readers how rows and cells differ."""

    compared_rows: ComparedRows | None = None

    def kind(self, row: int) -> RowChange:
        if self.compared_rows is None or not 0 <= row < self.compared_rows.num_rows:
            return RowChange.SAME
        return RowChange(int(self.compared_rows.kinds(row, 1)[0]))

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        text = super().data(index, role)
        if role != Qt.ItemDataRole.AccessibleTextRole or not index.isValid():
            return text
        row = self.start + index.row()
        differs, before = text_before(self, row, index.column())
        if differs:
            return f"{text}, was {NULL if before is None else before}"
        kind = self.kind(row)
        return f"{text}, row {WORDS[kind]}" if kind in (RowChange.ADDED, RowChange.REMOVED) else text


class ComparedRowHeader(RowHeader):
    """Shows signs instead of the numbers of rows that differ."""

    def sign_of(self, row: int) -> tuple[str, str] | None:
        model = self.grid_model
        kind = model.kind(row) if isinstance(model, ComparedModel) else RowChange.SAME
        return (SIGNS[kind], INKS[kind]) if kind in SIGNS else super().sign_of(row)


class ComparedPainter(CellPainter):
    """Paints the old value struck out beside the new one, and removed rows struck out whole."""

    def restyle(self) -> None:
        super().restyle()
        look = theme.current()
        self._grounds_of = {
            kind: look.color(f"{ink}_soft") for kind, ink in INKS.items() if kind is not RowChange.CHANGED
        }
        self._changed_ground = look.color("warning_soft")
        self._change_ink, self._removed_ink, self._old_ink = (
            look.color(name) for name in ("warning", "danger", "muted")
        )
        self._struck_font = QFont(self.inks.font)
        self._struck_font.setStrikeOut(True)
        self._bold = QFontMetrics(self.inks.bold_font)
        self._kinds: dict[int, RowChange] = {}

    def changed_width(self, before: str | None, after: str | None) -> int:
        """The width that a changed cell needs."""
        old, new = NULL if before is None else before, NULL if after is None else after
        return self.metrics.horizontalAdvance(old) + GAP + self._bold.horizontalAdvance(new)

    def _paint_marked_rows(self, painter: QPainter, area: QRect, rows: range, strips: list[Strip]) -> None:
        model = self._grid.grid_model
        compared = model.compared_rows if isinstance(model, ComparedModel) else None
        kinds = np.zeros(0, np.int8) if compared is None else compared.kinds(rows[0], len(rows))
        self._kinds = {row: RowChange(int(kind)) for row, kind in zip(rows, kinds, strict=False)}
        right, height = strips[-1].x + strips[-1].width, self._grid.row_height
        for row, kind in self._kinds.items():
            top = self._grid.row_top(row)
            if kind in self._grounds_of:
                painter.fillRect(area.left(), top, right - area.left(), height, self._grounds_of[kind])
            elif kind is RowChange.CHANGED:
                for strip in strips:
                    if text_before(model, row, strip.column)[0]:
                        painter.fillRect(strip.x, top, strip.width, height, self._changed_ground)

    def _paint_strip(
        self,
        painter: QPainter,
        strip: Strip,
        rows: range,
        top: int,
        height: int,
        nulls: list[tuple[QRect, int, bool]],
    ) -> None:
        model, width = self._grid.grid_model, strip.width - 2 * PADDING
        for place, row in enumerate(rows):
            y, kind = top + place * height, self._kinds.get(row, RowChange.SAME)
            cell = QRect(strip.x + PADDING, y, width, height)
            differs, before = text_before(model, row, strip.column)
            if differs:
                after = model.pages.shown_text(row, strip.column)
                before, after = (text if text is None else strip.write(text) for text in (before, after))
                self._paint_changed(painter, cell, strip.flags, before, after)
            elif kind is RowChange.REMOVED and model.pages.column(row // PAGE_ROWS, strip.column) is not None:
                self._paint_removed(painter, cell, strip, row)
            else:
                super()._paint_strip(painter, strip, range(row, row + 1), y, height, nulls)
            painter.setFont(self.inks.font)
            painter.setPen(self.inks.text)

    def _paint_removed(self, painter: QPainter, cell: QRect, strip: Strip, row: int) -> None:
        try:
            text = self._grid.grid_model.pages.shown_text(row, strip.column)
        except KeyError:
            return
        text, room = self.fitted_in_line(strip.column, NULL if text is None else text, cell.width())
        painter.setFont(self._struck_font)
        painter.setPen(self._removed_ink)
        painter.drawText(cell.x(), cell.y(), room, cell.height(), strip.flags, text)

    def _paint_changed(
        self, painter: QPainter, cell: QRect, flags: int, before: str | None, after: str | None
    ) -> None:
        """Paint the new value first where there is no room for both."""
        old, new = NULL if before is None else before, NULL if after is None else after
        new = self._bold.elidedText(new, Qt.TextElideMode.ElideRight, cell.width())
        width = self._bold.horizontalAdvance(new)
        room = cell.width() - width - GAP
        old = self.metrics.elidedText(old, Qt.TextElideMode.ElideRight, room) if room > 0 else ""
        wide = self.metrics.horizontalAdvance(old)
        left = cell.right() + 1 - width - GAP - wide if flags == RIGHT else cell.left()
        if old:
            self._draw(
                painter, self._struck_font, self._old_ink, QRect(left, cell.y(), wide + 1, cell.height()), old
            )
        place = cell.right() + 1 - width if flags == RIGHT else left + (wide + GAP if old else 0)
        self._draw(
            painter,
            self.inks.bold_font,
            self._change_ink,
            QRect(place, cell.y(), width + 1, cell.height()),
            new,
        )

    def _draw(self, painter: QPainter, font: QFont, ink: QColor, place: QRect, text: str) -> None:
        painter.setFont(font)
        painter.setPen(ink)
        painter.drawText(place, int(Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine), text)


class ComparisonGrid(GridView):
    """Shows `ComparedRows`."""

    def __init__(self, tasks: Tasks, parent: QWidget | None = None) -> None:
        model = ComparedModel(tasks)
        super().__init__(tasks, parent, model)
        model.setParent(self)
        self._examples: dict[str, list[tuple[str | None, str | None]]] = {}
        """Old and new texts of cells that differ, by column: those on screen may all be equal."""
        self._painter = ComparedPainter(self)
        self.setAccessibleName("Rows compared")
        header = ComparedRowHeader(model, self)
        self.setVerticalHeader(header)
        header.rows_requested.connect(self.select_rows)

    def show_compared(self, rows: ComparedRows) -> None:
        model = self.grid_model
        assert isinstance(model, ComparedModel)
        is_other = model.compared_rows is None or model.compared_rows.comparison is not rows.comparison
        if is_other:
            self._examples = {column.name: _texts(column.examples) for column in rows.comparison.columns}
        model.compared_rows = rows
        self.show_rows(rows)
        if is_other:  # the widths are those of other changes
            self._fit_next = True
            self._follow_rows()
        self.row_header.viewport().update()

    def _fit_first(self) -> None:
        super()._fit_first()
        if self.selection.current is not None:  # the columns before it may be wider than they were
            self.show_column(self.selection.current[1])

    def sizeHintForColumn(self, column: int) -> int:
        widest = super().sizeHintForColumn(column)
        painter = self._painter
        if not isinstance(painter, ComparedPainter):
            return widest
        changes = list(self._examples.get(self.grid_model.names[column], ()))
        for row in self.visible_rows():
            differs, before = text_before(self.grid_model, row, column)
            if differs:
                changes.append((before, self.grid_model.pages.shown_text(row, column)))
        needs = max((painter.changed_width(before, after) for before, after in changes), default=0)
        return max(widest, min(needs + 2 * PADDING + theme.XS, WIDEST_FIT)) if changes else widest

    def _tip(self, row: int, column: int, width: int) -> str:
        differs, before = text_before(self.grid_model, row, column)
        if not differs:
            return super()._tip(row, column, width)
        after = self.grid_model.pages.shown_text(row, column)
        return visible(
            f"Before: {NULL if before is None else before}\nNow: {NULL if after is None else after}"
        )


def _texts(examples: Sequence[CellExample]) -> list[tuple[str | None, str | None]]:
    """The old and the new text of each example, as the grid shows them."""
    sides = [
        [text for value in values for text in screen_texts(pa.repeat(value, 1))]
        for values in zip(*((each.before, each.after) for each in examples), strict=True)
    ]
    return list(zip(*sides, strict=True))
