"""The box of a table in a diagram: its name and row count, and below them its columns, which scroll."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

import pyarrow as pa
from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QPainter, QPainterPath, QPen
from PySide6.QtWidgets import (
    QGraphicsItem,
    QGraphicsObject,
    QGraphicsSceneWheelEvent,
    QStyleOptionGraphicsItem,
    QWidget,
)

from lamella.core.arrow.types import ID, type_text
from lamella.core.errors import visible
from lamella.ui import theme
from lamella.ui.grid.columns import icon_name
from lamella.ui.relations.schema import TableShape

MOST_COLUMNS = 12
"""The maximum number of columns that a box shows at once."""
NARROWEST, WIDEST = 148, 260
HEAD, ROW = 32, 22
RADIUS = 8
LEGIBLE = 0.42
"""The zoom below which columns are hidden, and names are twice as large."""
LEAST_DETAIL = 0.12
"""The zoom below which names are hidden as well."""
BAR = 4


class TableBox(QGraphicsObject):
    """The box of a table. `moved` is emitted when it has moved, `scrolled` when it shows other columns.
    Dragging the head moves it; the canvas handles presses on columns."""

    moved = Signal()
    scrolled = Signal()

    def __init__(self, table: TableShape) -> None:
        super().__init__()
        self.table = table
        self.keys: frozenset[str] = frozenset()
        """The columns of relations, which come first."""
        self.columns = table.columns
        self.marked_columns: Collection[str] = ()
        """The columns that are highlighted, as search matches or as the ends of the selected line."""
        self.is_found = self.is_faded = False
        self.hovered_column = ""
        self._target: tuple[str, bool] | None = None
        self._first = 0
        self._width, self._height = 0.0, 0.0
        self.setFlag(QGraphicsItem.GraphicsItemFlag.ItemIsSelectable)
        self.setFlag(QGraphicsItem.GraphicsItemFlag.ItemSendsGeometryChanges)
        self.setAcceptHoverEvents(True)
        self.setZValue(1)
        self.measure()

    # ------------------------------------------------------------------ geometry

    def measure(self) -> None:
        """Resize to what the texts need, at the current text size."""
        look = theme.current()
        self.prepareGeometryChange()
        head = QFontMetricsF(look.font(bold=True)).horizontalAdvance(visible(self.table.name))
        head += QFontMetricsF(look.font("caption")).horizontalAdvance(self._rows_text) + look.px(56)
        scale, columns = look.text_scale, self.table.columns[:200]
        widths = [
            _text_width(visible(c.name), "body", scale) + _text_width(_type_text(c.type), "caption", scale)
            for c in columns
        ]
        width = max(head, max(widths, default=0.0) + look.px(60))
        self._width = float(min(max(width, look.px(NARROWEST)), look.px(WIDEST)))
        self._height = float(self.head + self.num_shown * self.row + look.px(6))

    def take(self, table: TableShape) -> None:
        """Show the current state of the same table."""
        self.table = table
        self.set_keys(self.keys)
        self.measure()
        self._first = min(self._first, self.last_first)

    def set_keys(self, keys: frozenset[str]) -> None:
        self.keys = keys
        columns = self.table.columns
        self.columns = (*(c for c in columns if c.name in keys), *(c for c in columns if c.name not in keys))
        self.update()

    @property
    def head(self) -> int:
        return theme.current().px(HEAD)

    @property
    def row(self) -> int:
        return theme.current().px(ROW)

    @property
    def num_shown(self) -> int:
        return min(len(self.table.columns), MOST_COLUMNS) or (1 if self.table.problem else 0)

    @property
    def last_first(self) -> int:
        """The first visible column when the box is scrolled to the end."""
        return max(0, len(self.table.columns) - MOST_COLUMNS)

    @property
    def size(self) -> tuple[float, float]:
        return self._width, self._height

    def rect(self) -> QRectF:
        return QRectF(0, 0, self._width, self._height)

    def boundingRect(self) -> QRectF:
        return self.rect().adjusted(-3, -3, 3, 3)

    def area(self) -> tuple[float, float, float, float]:
        """Left, top, width and height in the scene."""
        return self.pos().x(), self.pos().y(), self._width, self._height

    def column_at(self, point: QPointF) -> str:
        """The column at a point of the box; empty for its head and foot."""
        place = int((point.y() - self.head) // self.row)
        if not self.rect().contains(point) or point.y() < self.head or not 0 <= place < self.num_shown:
            return ""
        columns = self.columns[self._first : self._first + MOST_COLUMNS]
        return columns[place].name if place < len(columns) else ""

    def height_of(self, name: str) -> float:
        """The height in the scene of the middle of a column, or of the edge beyond which it is scrolled."""
        names = [column.name for column in self.columns]
        if name not in names:
            return self.pos().y() + self.head / 2
        place = names.index(name) - self._first
        inside = self.head + (place + 0.5) * self.row
        return self.pos().y() + min(max(inside, self.head), self.head + self.num_shown * self.row)

    # ------------------------------------------------------------------- changes

    def scroll_by(self, columns: int) -> bool:
        """Scroll, and return whether there were more columns in that direction."""
        first = min(max(self._first + columns, 0), self.last_first)
        if first == self._first:
            return False
        self._first = first
        self.update()
        self.scrolled.emit()
        return True

    def show_column(self, name: str) -> None:
        """Scroll a column into view."""
        names = [column.name for column in self.columns]
        if name in names and not self._first <= names.index(name) < self._first + MOST_COLUMNS:
            self.scroll_by(names.index(name) - MOST_COLUMNS // 2 - self._first)

    def set_target(self, column: str, fits: bool) -> None:
        """Highlight a column as the end of the line being dragged; none for an empty name."""
        target = (column, fits) if column else None
        if target != self._target:
            self._target = target
            self.update()

    def hover(self, column: str) -> None:
        if column != self.hovered_column:
            self.hovered_column = column
            self.update()

    def itemChange(self, change: QGraphicsItem.GraphicsItemChange, value: object) -> object:
        if change is QGraphicsItem.GraphicsItemChange.ItemPositionHasChanged:
            self.moved.emit()
        return super().itemChange(change, value)

    def wheelEvent(self, event: QGraphicsSceneWheelEvent) -> None:
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier or not self.isSelected():
            event.ignore()
        else:
            event.setAccepted(self.scroll_by(-1 if event.delta() > 0 else 1))

    # ------------------------------------------------------------------- drawing

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        look = theme.current()
        detail = option.levelOfDetailFromTransform(painter.worldTransform())
        if self.is_faded:
            painter.setOpacity(0.35)
        edge = "accent" if self.isSelected() or self.is_found else "border_strong"
        if detail < LEGIBLE:
            self._paint_far(painter, detail, QPen(look.color(edge), 2 if edge == "accent" else 1))
            return
        outline = QPainterPath()
        outline.addRoundedRect(self.rect(), look.px(RADIUS), look.px(RADIUS))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillPath(outline, look.color("surface"))
        painter.save()
        painter.setClipPath(outline, Qt.ClipOperation.IntersectClip)
        painter.fillRect(QRectF(0, 0, self._width, self.head), look.color("sunken"))
        self._paint_columns(painter)
        painter.restore()
        painter.setPen(QPen(look.color("border"), 1))
        painter.drawLine(QPointF(0, self.head), QPointF(self._width, self.head))
        painter.setPen(QPen(look.color(edge), 2 if edge == "accent" else 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPath(outline)
        self._paint_head(painter)

    def _paint_far(self, painter: QPainter, detail: float, pen: QPen) -> None:
        """Paint for a low zoom, which shows many boxes: without round corners, which take most of the
        time."""
        look, left = theme.current(), theme.current().px(10)
        pen.setCosmetic(True)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        painter.fillRect(self.rect(), look.color("surface"))
        painter.fillRect(QRectF(0, 0, self._width, self.head), look.color("sunken"))
        painter.setPen(pen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(self.rect())
        if detail < LEAST_DETAIL:
            return
        font = look.font(bold=True)
        font.setPointSizeF(font.pointSizeF() * 2)
        painter.setFont(font)
        painter.setPen(look.color("text"))
        area = self.rect().adjusted(left, 0, -left, 0)
        text = QFontMetricsF(font).elidedText(
            visible(self.table.name), Qt.TextElideMode.ElideRight, area.width()
        )
        painter.drawText(area, Qt.AlignmentFlag.AlignCenter, text)

    def _paint_head(self, painter: QPainter) -> None:
        look, left = theme.current(), theme.current().px(10)
        side = look.px(14)
        icon = QRectF(left, (self.head - side) / 2, side, side).toRect()
        broken = bool(self.table.problem)
        look.icon("warning" if broken else "table", "danger" if broken else "muted").paint(painter, icon)
        counted = QFontMetricsF(look.tabular_font("caption")).horizontalAdvance(self._rows_text)
        area = QRectF(left + side + look.px(6), 0, 0, self.head)
        area.setRight(self._width - left - counted - (look.px(8) if counted else 0))
        painter.setFont(look.font(bold=True))
        painter.setPen(look.color("text"))
        name = painter.fontMetrics().elidedText(
            visible(self.table.name), Qt.TextElideMode.ElideRight, int(area.width())
        )
        painter.drawText(area, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, name)
        painter.setFont(look.tabular_font("caption"))
        painter.setPen(look.color("muted"))
        rows = QRectF(0, 0, self._width - left, self.head)
        painter.drawText(rows, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, self._rows_text)

    def _paint_columns(self, painter: QPainter) -> None:
        look = theme.current()
        if self.table.problem:
            painter.setFont(look.font("caption"))
            painter.setPen(look.color("danger"))
            area = QRectF(look.px(10), self.head, self._width - look.px(20), self.row)
            painter.drawText(
                area, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, "Cannot be read"
            )
            return
        columns = self.columns[self._first : self._first + MOST_COLUMNS]
        for place, column in enumerate(columns):
            area = QRectF(0, self.head + place * self.row, self._width, self.row)
            self._paint_column(painter, area, column.name, column.type)
        if self.last_first:
            height = self.num_shown * self.row
            part = height * MOST_COLUMNS / len(self.table.columns)
            top = self.head + (height - part) * self._first / self.last_first
            painter.fillRect(QRectF(self._width - BAR - 2, top, BAR, part), look.color("border_strong"))

    def _paint_column(self, painter: QPainter, area: QRectF, name: str, kind: object) -> None:
        look, left, side = theme.current(), theme.current().px(10), theme.current().px(12)
        is_key = name in self.keys
        if self._target is not None and self._target[0] == name:
            painter.fillRect(area, look.color("success_soft" if self._target[1] else "danger_soft"))
        elif name in self.marked_columns:
            painter.fillRect(area, look.color("accent_soft"))
        elif name == self.hovered_column:
            painter.fillRect(area, look.color("hover"))
        square = QRectF(left, area.top() + (area.height() - side) / 2, side, side).toRect()
        icon = "relation" if is_key else icon_name(kind)
        look.icon(icon, "accent" if is_key else "faint").paint(painter, square)
        painter.setFont(look.font("caption"))
        metrics = QFontMetricsF(painter.font())
        kind_text = _type_text(kind)
        painter.setPen(look.color("muted"))
        sides = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
        painter.drawText(area.adjusted(0, 0, -left, 0), sides, kind_text)
        room = area.width() - 2 * left - side - look.px(6) - metrics.horizontalAdvance(kind_text) - look.px(8)
        font = look.font(bold=is_key)
        painter.setFont(font)
        painter.setPen(look.color("faint" if name == ID else "text"))
        text = QFontMetricsF(font).elidedText(visible(name), Qt.TextElideMode.ElideRight, room)
        start = QRectF(left + side + look.px(6), area.top(), room + 2, area.height())
        painter.drawText(start, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, text)

    @property
    def _rows_text(self) -> str:
        return "" if self.table.rows is None else f"{self.table.rows:,}"


LONGEST_TYPE = 14


@lru_cache(maxsize=1 << 14)
def _text_width(text: str, size: str, scale: float) -> float:
    """The width of a text in pixels, at the `scale` of all text. Cached, since many columns share names and
    types."""
    look = theme.current()
    return QFontMetricsF(look.font(size)).horizontalAdvance(text)


def _type_text(kind: pa.DataType) -> str:
    text = type_text(kind)
    return text if len(text) <= LONGEST_TYPE else text.partition("<")[0].partition("[")[0][:LONGEST_TYPE]
