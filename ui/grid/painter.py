"""Draws the cells on screen in one pass, directly from the pages."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from PySide6.QtCore import QLine, QRect, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QImage, QPainter
from PySide6.QtWidgets import QHeaderView

from lamella.ui import theme
from lamella.ui.formats.formats import FormattedTexts
from lamella.ui.formats.shading import COLORS, Shading
from lamella.ui.grid.header import RowHeader
from lamella.ui.grid.hits import HitPainter
from lamella.ui.grid.model import PAGE_ROWS, GridModel, PictureTexts
from lamella.ui.grid.pinning import Pinning
from lamella.ui.grid.selection import CellRange, Selection
from lamella.ui.grid.texts import Fraction, fraction_digits, with_fraction_digits, with_minus
from lamella.ui.grid.tree import ARROW, TreeRows, arrow_room

PADDING = theme.S
NULL = "NULL"
FEW_MARKS = 500
LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine)
CENTER = int(Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextSingleLine)
RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine)
MOST_CACHED_TEXTS = 4096
ANY_WIDTH = 100_000
WIDEST_FIT = 360
"""Fitting does not make columns wider than this, in pixels."""
SIDES = {"left": LEFT, "center": CENTER, "right": RIGHT}
STRONGEST = 0.4
"""The strongest colour behind a cell on which text stays readable."""

STRENGTHS = 32


@dataclass(frozen=True)
class Mark:
    """A cell that is being written, or could not be written. `text` is what was typed, None for null."""

    text: str | None
    error: str = ""


@dataclass
class Strip:
    """A visible column: where it is, and how its cells are written."""

    column: int
    x: int
    width: int
    flags: int
    fraction: Fraction = Fraction.NONE
    digits: int = 0
    shading: Shading | None = None
    write: Callable[[str], str] = str
    """How a text is drawn."""
    bold: set[int] = field(default_factory=set)
    """Rows for which a format rule asks for bold text."""


@dataclass
class Inks:
    surface: QColor
    text: QColor
    null: QColor
    line: QColor
    selection: QColor
    waiting: QColor
    accent: QColor
    danger: QColor
    danger_soft: QColor
    out_of_place: QColor
    null_on_color: QColor
    beyond: QColor
    border: QColor
    subtotal: QColor
    font: QFont
    null_font: QFont
    bold_font: QFont

    @staticmethod
    def of(look: theme.Theme) -> Inks:
        inks = Inks(
            surface=look.color("surface"),
            text=look.color("text"),
            null=look.color("faint"),
            line=look.color("grid_line"),
            selection=look.color("accent_soft"),
            waiting=look.color("hover"),
            accent=look.color("accent"),
            danger=look.color("danger"),
            danger_soft=look.color("danger_soft"),
            out_of_place=look.color("warning_soft"),
            null_on_color=look.color("muted"),
            beyond=look.color("window"),
            border=look.color("border"),
            subtotal=look.color("window"),
            font=look.tabular_font(),
            bold_font=look.tabular_font(bold=True),
            null_font=look.font("caption"),
        )
        inks.null_font.setItalic(True)
        return inks


class PaintedGrid(Protocol):
    """The grid as the painter sees it."""

    grid_model: GridModel
    selection: Selection
    pinning: Pinning
    marks: Mapping[tuple[int, int], Mark]
    row_marks: Mapping[int, str]
    hits: HitPainter | None

    @property
    def row_header(self) -> RowHeader: ...

    @property
    def row_height(self) -> int: ...

    def horizontalHeader(self) -> QHeaderView: ...

    def hasFocus(self) -> bool: ...

    def rows_between(self, top: int, bottom: int) -> range: ...

    def visible_rows(self) -> range: ...

    def visible_columns(self) -> list[int]: ...

    def columns_between(self, left: int, right: int) -> list[int]: ...

    def zones(self, area: QRect) -> list[tuple[QRect, bool]]: ...

    def x_of(self, column: int) -> int: ...

    def row_top(self, row: int) -> int: ...

    def place(self, column: int) -> int: ...

    def cell_rect(self, cell: tuple[int, int] | None) -> QRect | None: ...

    def block_rect(self, block: CellRange, rows: range, pinned: bool = False) -> QRect: ...


class CellPainter:
    """Paints a part of a grid. Restyle it after the theme has changed."""

    def __init__(self, grid: PaintedGrid) -> None:
        self._grid = grid
        self._elided_texts: dict[tuple[str, int], str] = {}
        self._aligned_texts: dict[tuple[str, int, int], tuple[str, int]] = {}
        self.restyle()

    def restyle(self) -> None:
        self.inks = Inks.of(theme.current())
        self.metrics = QFontMetrics(self.inks.font)
        self._bold_metrics = QFontMetrics(self.inks.bold_font)
        self._grounds: dict[tuple[str, int], QColor] = {}
        self._widest = max(self.metrics.maxWidth(), 1)
        self._usual = max(self.metrics.horizontalAdvance("0"), 1)
        self._point = self.metrics.horizontalAdvance(".")
        self._elided_texts.clear()
        self._aligned_texts.clear()

    def paint(self, painter: QPainter, area: QRect) -> None:
        painter.fillRect(area, self.inks.surface)
        self._paint_beyond(painter, area)
        rows = self._grid.rows_between(area.top(), area.bottom())
        zones = self._grid.zones(area)
        for zone, pinned in zones:
            strips = self._strips(zone)
            if rows and strips:
                if len(zones) > 1 or pinned:
                    painter.setClipRect(zone)
                self._paint_zone(painter, zone, rows, strips, pinned)
        if rows and zones and zones[-1][1]:
            painter.setClipping(False)
            top = self._grid.row_top(rows[0])
            self._grid.pinning.paint_edge(painter, top, len(rows) * self._grid.row_height)

    def _paint_zone(
        self, painter: QPainter, zone: QRect, rows: range, strips: list[Strip], pinned: bool
    ) -> None:
        top, height = self._grid.row_top(rows[0]), self._grid.row_height
        for strip in strips:
            if strip.shading is not None:
                self._paint_shades(painter, strip, rows, top)
        self._paint_marked_rows(painter, zone, rows, strips)
        self._paint_subtotal_rows(painter, zone, rows, strips)
        self._paint_selection(painter, rows, pinned)
        if self._grid.hits is not None:
            self._grid.hits.paint(painter, self, self._grid, strips, rows)
        self._paint_lines(painter, zone, rows, strips, top)
        painter.setFont(self.inks.font)
        painter.setPen(self.inks.text)
        nulls: list[tuple[QRect, int, bool]] = []
        tree = self._grid.grid_model.tree
        for strip in strips:
            if tree is not None and tree.has_gaps(strip.column):
                self._paint_of_levels(painter, strip, rows, tree, nulls)
            else:
                self._paint_strip(painter, strip, rows, top, height, nulls)
        self._paint_nulls(painter, nulls)
        self._paint_marks(painter, pinned)
        self._paint_outlines(painter, rows, pinned)
        self._paint_current(painter, pinned)

    def _paint_beyond(self, painter: QPainter, area: QRect) -> None:
        """Paint the area right of the last column."""
        header = self._grid.horizontalHeader()
        end = header.length() - header.offset()
        if header.count() and end <= area.right():
            painter.fillRect(area.adjusted(max(0, end - area.left()), 0, 0, 0), self.inks.beyond)
            painter.setPen(self.inks.border)
            painter.drawLine(end - 1, area.top(), end - 1, area.bottom())

    def _strips(self, area: QRect) -> list[Strip]:
        header, right = self._grid.horizontalHeader(), self._grid.grid_model.right
        has_minus = self._grid.grid_model.has_minus
        pages = self._grid.grid_model.pages
        strips = []
        for column in self._grid.columns_between(area.left(), area.right()):
            x, width = self._grid.x_of(column), header.sectionSize(column)
            fraction, digits = pages.fraction(column), pages.fraction_digits.get(column, 0)
            flags = RIGHT if right[column] else LEFT
            strip = Strip(
                column, x, width, flags, fraction, digits, write=with_minus if has_minus[column] else str
            )
            if (form := pages.form(column)) is not None:
                strip.flags, strip.shading = SIDES.get(form.align, strip.flags), form.shading
                if fraction is Fraction.NONE or (fraction is Fraction.AT_POINT and strip.flags != RIGHT):
                    strip.digits = 0
            strips.append(strip)
        return strips

    def flags(self, column: int) -> int:
        """The alignment of a column's texts."""
        form = self._grid.grid_model.pages.form(column)
        usual = RIGHT if self._grid.grid_model.right[column] else LEFT
        return usual if form is None else SIDES.get(form.align, usual)

    def _paint_shades(self, painter: QPainter, strip: Strip, rows: range, top: int) -> None:
        """Paint the colours behind the values of a column."""
        pages, height, shading = self._grid.grid_model.pages, self._grid.row_height, strip.shading
        extent = pages.extents.get(strip.column)
        if shading is None or extent is None:
            return
        inner = strip.width - 1
        for place, row in enumerate(rows):
            texts, at = pages.column(row // PAGE_ROWS, strip.column), row % PAGE_ROWS
            numbers = texts.numbers if isinstance(texts, FormattedTexts) else []
            shade = shading.shade(numbers[at], extent) if at < len(numbers) else None
            if shade is None:
                continue
            left, right = round(shade.left * inner), round(shade.right * inner)
            bar = 3 if shading.kind == "bars" else 0
            painter.fillRect(
                QRect(strip.x + left, top + place * height + bar, max(right - left, bar and 1),
                      height - 1 - 2 * bar), self.ground(shade.color, shade.strength))  # fmt: skip
            if shade.bold:
                strip.bold.add(row)

    def ground(self, color: str, strength: float) -> QColor:
        """A plot colour, at a strength of up to 1, pale enough for text on it."""
        key = (color, round(strength * STRENGTHS))
        ground = self._grounds.get(key)
        if ground is None:
            look = theme.current()
            ground = QColor(look.colors.plot[COLORS.index(color)])
            ground.setAlphaF(STRONGEST * key[1] / STRENGTHS)
            self._grounds[key] = ground
        return ground

    def _paint_strip(
        self,
        painter: QPainter,
        strip: Strip,
        rows: range,
        top: int,
        height: int,
        nulls: list[tuple[QRect, int, bool]],
    ) -> None:
        pages, width = self._grid.grid_model.pages, strip.width - 2 * PADDING
        x, y, flags = strip.x + PADDING, top, strip.flags
        always_fits = width // self._widest
        page_number, texts, place = -1, None, self._grid.place(strip.column)
        pictures: dict[int, QImage] = {}
        hits, name = self._grid.hits, self._grid.grid_model.names[strip.column]
        for row in rows:
            if row // PAGE_ROWS != page_number:
                page_number = row // PAGE_ROWS
                texts = pages.column(page_number, strip.column)
                pictures = texts.pictures if isinstance(texts, PictureTexts) else {}
            at = row % PAGE_ROWS
            if texts is None or at >= len(texts):
                self._paint_waiting(painter, QRect(x, y, width, height), flags, row)
            elif (text := texts[at]) is None:
                nulls.append((QRect(x, y, width, height), flags, self._is_coloured(row, place)))
            elif at in pictures:
                self._paint_picture(painter, QRect(x, y, width, height), pictures[at], text)
            elif text:
                text = text if hits is None else hits.text_of(row, name, text)
                text, room = strip.write(text), width
                if strip.digits:
                    text, room = self.align_decimals(text, strip.fraction, strip.digits, width)
                if strip.bold and row in strip.bold:
                    painter.setFont(self.inks.bold_font)
                    text = self._bold_metrics.elidedText(text, Qt.TextElideMode.ElideRight, room)
                    painter.drawText(x, y, room, height, flags, text)
                    painter.setFont(self.inks.font)
                else:
                    if len(text) > always_fits:
                        text = self._fit_text(text, room)
                    painter.drawText(x, y, room, height, flags, text)
            y += height

    def _paint_of_levels(
        self,
        painter: QPainter,
        strip: Strip,
        rows: range,
        tree: TreeRows,
        nulls: list[tuple[QRect, int, bool]],
    ) -> None:
        """Paint a column of a tree of groups that has no values on the first levels. A key column shows the
        key of the row's own level, after an arrow if it can be expanded; keys of the levels above are
        fainter."""
        pages, first = self._grid.grid_model.pages, tree.first_levels[strip.column]
        is_key = strip.column in tree.key_columns
        indent = arrow_room() if is_key and (first < tree.last_level or tree.opens_rows) else 0
        place = self._grid.place(strip.column)
        hits, name = self._grid.hits, self._grid.grid_model.names[strip.column]
        for row in rows:
            level = tree.level(row)
            if not tree.shows(row, strip.column):
                continue
            top, height = self._grid.row_top(row), self._grid.row_height
            cell = QRect(strip.x + PADDING, top, strip.width - 2 * PADDING, height)
            if level == first and indent:
                self._paint_arrow(painter, cell, bool(tree.is_open(row)))
            cell.adjust(indent, 0, 0, 0)
            try:
                text = pages.shown_text(row, strip.column)
            except KeyError:
                self._paint_waiting(painter, cell, strip.flags, row)
                continue
            if text is None:
                nulls.append((cell, strip.flags, self._is_coloured(row, place)))
                continue
            painter.setPen(self.inks.null_on_color if is_key and level > first else self.inks.text)
            text = text if hits is None else hits.text_of(row, name, text)
            text, room = self.fitted_in_line(strip.column, text, cell.width())
            painter.drawText(cell.x(), top, room, height, strip.flags, text)
        painter.setPen(self.inks.text)

    def _paint_arrow(self, painter: QPainter, cell: QRect, is_open: bool) -> None:
        side = theme.current().px(ARROW)
        icon = theme.current().icon("chevron-down" if is_open else "chevron-right", "muted")
        icon.paint(painter, QRect(cell.left(), cell.top() + (cell.height() - side) // 2, side, side))

    def _paint_subtotal_rows(self, painter: QPainter, area: QRect, rows: range, strips: list[Strip]) -> None:
        tree = self._grid.grid_model.tree
        if tree is None:
            return
        right, height = strips[-1].x + strips[-1].width, self._grid.row_height
        for row in rows:
            if tree.level(row) < tree.last_level:
                painter.fillRect(
                    area.left(), self._grid.row_top(row), right - area.left(), height, self.inks.subtotal
                )

    def align_decimals(self, text: str, fraction: Fraction, digits: int, width: int) -> tuple[str, int]:
        """The text, and the width to draw it in so that decimal points line up. A number that would be cut
        off is right-aligned instead."""
        if fraction is Fraction.NONE:
            return text, width
        key = (text, digits, width)
        text_aligned = self._aligned_texts.get(key)
        if text_aligned is None:
            if len(self._aligned_texts) > MOST_CACHED_TEXTS:
                self._aligned_texts.clear()
            text_aligned = self._aligned_texts[key] = self._align_decimals(text, fraction, digits, width)
        return text_aligned

    def _align_decimals(self, text: str, fraction: Fraction, digits: int, width: int) -> tuple[str, int]:
        if fraction is Fraction.FILLED:
            return with_fraction_digits(text, digits), width
        missing = digits - fraction_digits(text)
        if missing <= 0 or "e" in text or not text[-1].isdigit():
            return text, width
        room = width - self._usual * missing - (0 if "." in text else self._point)
        return text, room if self.metrics.horizontalAdvance(text) <= room else width

    def fitted_in_line(self, column: int, text: str, width: int) -> tuple[str, int]:
        """A text as drawn in a column of this width, and the width to draw it in."""
        pages = self._grid.grid_model.pages
        digits = pages.fraction_digits.get(column, 0)
        text = with_minus(text) if self._grid.grid_model.has_minus[column] else text
        text, room = (
            self.align_decimals(text, pages.fraction(column), digits, width) if digits else (text, width)
        )
        return self._fit_text(text, room), room

    def wanted_width(self, column: int, text: str) -> int:
        """The width that a cell needs to be drawn in full and lined up with its neighbours."""
        pages = self._grid.grid_model.pages
        digits = pages.fraction_digits.get(column, 0)
        text = with_minus(text) if self._grid.grid_model.has_minus[column] else text
        text, room = (
            self.align_decimals(text, pages.fraction(column), digits, ANY_WIDTH)
            if text
            else (text, ANY_WIDTH)
        )
        tree, form = self._grid.grid_model.tree, pages.form(column)
        arrow = arrow_room() if tree is not None and column in tree.opening_columns else 0
        is_bold = form is not None and form.shading is not None and form.shading.kind == "rules"
        metrics = self._bold_metrics if is_bold else self.metrics
        return arrow + metrics.horizontalAdvance(text) + ANY_WIDTH - room

    def _fit_text(self, text: str, width: int) -> str:
        """The beginning of a text that fits, or the part with a hit of the search."""
        beginning, hits = self._beginning(text, width), self._grid.hits
        if hits is None or beginning == text:
            return beginning
        return hits.part_with_hit(text, beginning, self.metrics, width)

    def _beginning(self, text: str, width: int) -> str:
        key = (text, width)
        elided = self._elided_texts.get(key)
        if elided is None:
            if len(self._elided_texts) > MOST_CACHED_TEXTS:
                self._elided_texts.clear()
            beginning = text[: 2 * width // self._usual + 8] if len(text) > 40 else text
            elided = self.metrics.elidedText(beginning, Qt.TextElideMode.ElideRight, width)
            self._elided_texts[key] = elided
        return elided

    def _paint_picture(self, painter: QPainter, cell: QRect, picture: QImage, text: str) -> None:
        size = picture.size().scaled(cell.width(), cell.height() - 4, Qt.AspectRatioMode.KeepAspectRatio)
        if size.height() > picture.height():
            size = picture.size()
        place = QRect(
            cell.left(), cell.top() + (cell.height() - size.height()) // 2, size.width(), size.height()
        )
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        painter.drawImage(place, picture)
        beside = cell.adjusted(size.width() + PADDING, 0, 0, 0)
        if beside.width() > 0:
            painter.drawText(beside, LEFT, self._fit_text(text, beside.width()))

    def _paint_waiting(self, painter: QPainter, cell: QRect, flags: int, row: int) -> None:
        bar = QRect(0, 0, max(8, cell.width() * (40 + row * 37 % 35) // 100), 8)
        bar.moveCenter(cell.center())
        if flags == LEFT:
            bar.moveLeft(cell.left())
        elif flags == RIGHT:
            bar.moveRight(cell.right())
        painter.fillRect(bar, self.inks.waiting)

    def _is_coloured(self, row: int, place: int) -> bool:
        """Whether a cell is on the colour of the selection or of a mark, where a faint text is unreadable."""
        selection = self._grid.selection
        return row in self._grid.row_marks or (selection.num_cells > 1 and (row, place) in selection)

    def _paint_nulls(self, painter: QPainter, cells: list[tuple[QRect, int, bool]]) -> None:
        painter.setFont(self.inks.null_font)
        for on_color, ink in ((False, self.inks.null), (True, self.inks.null_on_color)):
            painter.setPen(ink)
            for cell, flags, coloured in cells:
                if coloured is on_color:
                    painter.drawText(cell, flags, NULL)

    def _paint_lines(
        self, painter: QPainter, area: QRect, rows: range, strips: list[Strip], top: int
    ) -> None:
        height = self._grid.row_height
        bottom, right = top + height * len(rows), strips[-1].x + strips[-1].width
        lines = [QLine(area.left(), y, right - 1, y) for y in range(top + height - 1, bottom, height)]
        lines += [QLine(s.x + s.width - 1, area.top(), s.x + s.width - 1, bottom - 1) for s in strips]
        painter.setPen(self.inks.line)
        painter.drawLines(lines)

    def _paint_marked_rows(self, painter: QPainter, area: QRect, rows: range, strips: list[Strip]) -> None:
        right = strips[-1].x + strips[-1].width
        for row in rows if self._grid.row_marks else ():
            if row in self._grid.row_marks:
                top, height = self._grid.row_top(row), self._grid.row_height
                is_deleted = row in self._grid.row_header.deleted_rows
                ink = self.inks.danger_soft if is_deleted else self.inks.out_of_place
                painter.fillRect(area.left(), top, right - area.left(), height, ink)

    def _paint_selection(self, painter: QPainter, rows: range, pinned: bool) -> None:
        selection = self._grid.selection
        if selection.num_cells > 1:
            for block in selection.blocks:
                painter.fillRect(self._grid.block_rect(block, rows, pinned), self.inks.selection)

    def _paint_outlines(self, painter: QPainter, rows: range, pinned: bool) -> None:
        """Outline the blocks: for many eyes, their fill alone is too close to the background."""
        selection = self._grid.selection
        if selection.num_cells < 2:
            return
        painter.setPen(self.inks.accent if self._grid.hasFocus() else self.inks.null)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for block in selection.blocks:
            if block.top <= rows[-1] and block.bottom >= rows[0]:
                rect = self._grid.block_rect(block, rows, pinned).adjusted(-1, -1, -1, -1)
                if rect.isEmpty():
                    continue
                if block.top < rows[0]:
                    rect.setTop(rect.top() - self._grid.row_height)
                if block.bottom > rows[-1]:
                    rect.setBottom(rect.bottom() + self._grid.row_height)
                painter.drawRect(rect)

    def _paint_current(self, painter: QPainter, pinned: bool) -> None:
        current = self._grid.selection.current
        rect = self._grid.cell_rect(current)
        if current is not None and rect is not None and self._is_pinned(current[1]) is pinned:
            pen = self.inks.accent if self._grid.hasFocus() else self.inks.null
            painter.setPen(pen)
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(rect.adjusted(0, 0, -2, -2))
            painter.drawRect(rect.adjusted(1, 1, -3, -3))

    def _is_pinned(self, place: int) -> bool:
        return place < self._grid.pinning.places

    def _visible_marks(self) -> Iterator[tuple[tuple[int, int], Mark]]:
        """The marks of the cells on screen. If there are many marks, the cells are looked up instead."""
        grid, marks = self._grid, self._grid.marks
        visible = grid.visible_rows() if marks else range(0)
        if len(marks) <= FEW_MARKS:
            yield from ((cell, mark) for cell, mark in marks.items() if cell[0] in visible)
            return
        for cell in itertools.product(visible, grid.visible_columns()):
            mark = marks.get(cell)
            if mark is not None:
                yield cell, mark

    def _paint_marks(self, painter: QPainter, pinned: bool) -> None:
        for (row, column), mark in self._visible_marks():
            place = self._grid.place(column)
            rect = self._grid.cell_rect((row, place))
            if rect is None or self._is_pinned(place) is not pinned:
                continue
            painter.fillRect(
                rect.adjusted(0, 0, -1, -1), self.inks.danger_soft if mark.error else self.inks.selection
            )
            painter.fillRect(QRect(rect.left(), rect.top(), 3, rect.height() - 1),
                             self.inks.danger if mark.error else self.inks.accent)  # fmt: skip
            inner = rect.adjusted(PADDING, 0, -PADDING, 0)
            flags = self.flags(column)
            painter.setFont(self.inks.null_font if mark.text is None else self.inks.font)
            painter.setPen(self.inks.danger if mark.error else self.inks.text)
            text = NULL if mark.text is None else self._fit_text(mark.text, inner.width())
            painter.drawText(inner, flags, text)
