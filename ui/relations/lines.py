"""The line of a relation in a diagram, with its cardinality at each end."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPainterPath, QPainterPathStroker, QPen
from PySide6.QtWidgets import QGraphicsItem, QStyleOptionGraphicsItem, QWidget

from lamella.core.errors import visible
from lamella.ui import theme
from lamella.ui.relations.boxes import LEGIBLE, TableBox
from lamella.ui.relations.routing import STUB, Anchor, Point, plain_route, route
from lamella.ui.relations.schema import Connection

CORNER = 7.0
FAR = 0.25
"""The zoom below which the ends of lines have no symbols."""
TOUCH = 12.0
"""The width of a line for the mouse."""
SIGN = 9.0
"""The length of the symbol at an end, which is half as wide."""
LABEL = (98, 20)
"""The approximate size of a line's label."""
SHARES = (0.5, 0.3, 0.7, 0.12, 0.88)
"""Possible positions of the label along a segment of a line, the best first."""
ROOM = 140.0
"""The space around a line for its label."""


class ConnectionLine(QGraphicsItem):
    """A line between two boxes, or from one to itself."""

    def __init__(self, connection: Connection, start: TableBox, end: TableBox) -> None:
        super().__init__()
        self.connection, self.start, self.end = connection, start, end
        self.is_chosen = self.is_faded = self.is_hovered = False
        self._way: list[Point] = []
        self.middle = QPointF()
        self._path, self._touch = QPainterPath(), QPainterPath()
        self.setAcceptHoverEvents(True)
        self.setToolTip(_tip(connection))

    def take(self, connection: Connection) -> None:
        """Show the current state of the same relation."""
        before, self.connection = self.connection, connection
        if before == connection:
            return
        self.setToolTip(_tip(connection))
        if _look_of(before) != _look_of(connection):
            self.update()

    def route(
        self, boxes: np.ndarray, lane: int, quickly: bool = False, labels: Sequence[QPointF] = ()
    ) -> None:
        """Route the line again around `boxes`, in the form of `routing.route`; with `quickly`, ignore
        them. Its label does not cover those of other lines, in the middle of which are `labels`, if
        possible."""
        self.prepareGeometryChange()
        starts = [self.start.height_of(name) for name in self.connection.from_columns]
        ends = [self.end.height_of(name) for name in self.connection.to_columns]
        start_anchor = Anchor(self.start.area(), sum(starts) / len(starts))
        end_anchor = Anchor(self.end.area(), sum(ends) / len(ends))
        self._way = (
            plain_route(start_anchor, end_anchor, lane)
            if quickly
            else route(start_anchor, end_anchor, boxes, lane)
        )
        self._path = _round_corners(self._way)
        self._find_middle(boxes[:0] if quickly else boxes, labels)
        for (x, _), (beyond, _), heights in (
            (self._way[0], self._way[1], starts), (self._way[-1], self._way[-2], ends),
        ):  # fmt: skip
            self._add_comb(x, STUB * 0.6 if beyond > x else -STUB * 0.6, heights)
        stroker = QPainterPathStroker()
        stroker.setWidth(TOUCH)
        self._touch = stroker.createStroke(self._path)
        self.update()

    def _add_comb(self, x: float, length: float, heights: Sequence[float]) -> None:
        """Add a branch for each of several columns."""
        if len(heights) > 1:
            for y in heights:
                self._path.moveTo(x, y)
                self._path.lineTo(x + length, y)
            self._path.moveTo(x + length, min(heights))
            self._path.lineTo(x + length, max(heights))

    def _find_middle(self, boxes: np.ndarray, labels: Sequence[QPointF]) -> None:
        """Find the position of the label: at or near the middle of the longest segment that has room for
        it, if possible beside the symbols at the ends."""
        parts = sorted(pairwise(self._way), key=lambda part: -_far(*part))
        middles = [
            (start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share)
            for start, end in parts
            for share in SHARES
        ]
        width, height = (theme.current().px(side) for side in LABEL)
        ends = ((self._way[0], self._way[1]), (self._way[-1], self._way[-2]))
        signs = np.array([_sign_area(tip, beyond) for tip, beyond in ends])
        others = np.array(
            [
                (at.x() - width / 2, at.y() - height / 2, at.x() + width / 2, at.y() + height / 2)
                for at in labels
            ]
        ).reshape(-1, 4)
        around = np.concatenate([boxes, signs])
        for obstacles in (np.concatenate([around, others]), around, boxes):
            for x, y in middles:
                across = (obstacles[:, 0] < x + width / 2) & (obstacles[:, 2] > x - width / 2)
                if not (
                    across & (obstacles[:, 1] < y + height / 2) & (obstacles[:, 3] > y - height / 2)
                ).any():
                    self.middle = QPointF(x, y)
                    return
        self.middle = QPointF(*middles[0])

    def boundingRect(self) -> QRectF:
        return self._path.boundingRect().adjusted(-ROOM, -24, ROOM, 24)

    def shape(self) -> QPainterPath:
        return self._touch

    def hoverEnterEvent(self, event: object) -> None:
        self.is_hovered = True
        self.update()

    def hoverLeaveEvent(self, event: object) -> None:
        self.is_hovered = False
        self.update()

    # ------------------------------------------------------------------- drawing

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        if not self._way:
            return
        look, connection = theme.current(), self.connection
        if self.is_faded:
            painter.setOpacity(0.25)
        name = "danger" if connection.problem else "accent" if self.is_chosen else "muted"
        pen = QPen(look.color(name), 2.25 if self.is_chosen or self.is_hovered else 1.5)
        if connection.is_suggested or connection.problem:
            pen.setDashPattern([4, 3])
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        detail = option.levelOfDetailFromTransform(painter.worldTransform())
        pen.setCosmetic(detail < LEGIBLE)
        if detail < FAR and not self.is_chosen:
            pen.setWidthF(1)  # the fastest to paint, and enough for many lines
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, detail >= FAR)
        painter.setPen(pen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPath(self._path)
        if detail < FAR:
            return
        pen.setStyle(Qt.PenStyle.SolidLine)
        painter.setPen(pen)
        start_count, end_count = connection.cardinality
        self._paint_end(painter, self._way[0], self._way[1], start_count, is_target=False)
        self._paint_end(painter, self._way[-1], self._way[-2], end_count, is_target=True)
        if detail >= LEGIBLE:
            self._paint_label(painter)

    def _paint_end(
        self, painter: QPainter, tip: Point, beyond: Point, many: str, is_target: bool
    ) -> None:  # fmt: skip
        """Paint the end of a line: a bar for one row, a crow's foot for many, an arrow if that is unknown and
        it is the target."""
        way = 1.0 if beyond[0] > tip[0] else -1.0
        x, y = tip
        if many == "1":
            painter.drawLine(QPointF(x + way * SIGN, y - SIGN / 2), QPointF(x + way * SIGN, y + SIGN / 2))
        elif many == "n":
            for side in (-SIGN / 2 - 1, SIGN / 2 + 1):
                painter.drawLine(QPointF(x + way * SIGN * 1.2, y), QPointF(x, y + side))
        elif is_target:
            for side in (-SIGN / 2, SIGN / 2):
                painter.drawLine(QPointF(x, y), QPointF(x + way * SIGN, y + side))
        if many:
            look = theme.current()
            painter.setFont(look.font("caption", bold=self.is_chosen))
            metrics = QFontMetricsF(painter.font())
            width = metrics.horizontalAdvance(many)
            left = x + SIGN * 1.4 if way > 0 else x - SIGN * 1.4 - width
            painter.drawText(QPointF(left, y - 4), many)

    def _paint_label(self, painter: QPainter) -> None:
        connection, look = self.connection, theme.current()
        if connection.problem:
            text, name, ground = "broken", "danger", "danger_soft"
        elif connection.dangling:
            text, name, ground = f"{connection.dangling:,} missing", "warning", "warning_soft"
        elif self.is_chosen or self.is_hovered:
            text = (
                f"suggested, {connection.suggestion.score:.0%}" if connection.suggestion else connection.name
            )
            name, ground = "text", "raised"
        else:
            return
        painter.setFont(look.font("caption"))
        metrics = QFontMetricsF(painter.font())
        text = metrics.elidedText(visible(text), Qt.TextElideMode.ElideRight, 2 * ROOM - 16)
        area = QRectF(0, 0, metrics.horizontalAdvance(text) + look.px(12), metrics.height() + look.px(4))
        area.moveCenter(self.middle)
        painter.setPen(QPen(look.color(name), 1))
        painter.setBrush(look.color(ground))
        painter.drawRoundedRect(area, 4, 4)
        painter.drawText(area, Qt.AlignmentFlag.AlignCenter, text)


def _look_of(connection: Connection) -> tuple[object, ...]:
    """The parts of a relation that affect its drawing."""
    return connection.name, connection.problem, connection.dangling, connection.cardinality


def _tip(connection: Connection) -> str:
    lines = [connection.text if connection.is_suggested else f"{connection.name}: {connection.text}"]
    if connection.problem:
        lines.append(f"Cannot be followed: {connection.problem}")
    elif connection.suggestion is not None:
        lines += ["Suggested:", *(f"· {reason}" for reason in connection.suggestion.reasons)]
    else:
        lines.append(connection.sentence)
        if connection.check is not None:
            lines.append(check_text(connection))
    return visible("\n".join(lines))


def check_text(connection: Connection) -> str:
    """What is known about the rows of a connection, in a sentence."""
    check = connection.check
    if check is None:
        return "Not checked yet"
    parts = []
    if check.dangling:
        parts.append(f"{check.dangling:,} of {check.rows:,} rows point at nothing")
    else:
        parts.append(f"All {check.rows:,} rows point at existing rows" if check.rows else "No rows")
    if check.unset:
        parts.append(f"{check.unset:,} have no key (NULL)")
    if check.repeated:
        parts.append(f"{check.repeated:,} keys of {connection.to_table} occur more than once")
    return "; ".join(parts)


def _round_corners(way: Sequence[Point]) -> QPainterPath:
    """A path with round corners, if there is room for them."""
    path = QPainterPath(QPointF(*way[0]))
    for before, corner, after in zip(way, way[1:], way[2:], strict=False):
        reach = min(CORNER, _far(before, corner) / 2, _far(corner, after) / 2)
        path.lineTo(_towards(corner, before, reach))
        path.quadTo(QPointF(*corner), _towards(corner, after, reach))
    path.lineTo(QPointF(*way[-1]))
    return path


def _sign_area(tip: Point, beyond: Point) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of the symbol at the tip of a line."""
    inner = tip[0] + (SIGN * 1.2 if beyond[0] > tip[0] else -SIGN * 1.2)
    return min(tip[0], inner), tip[1] - SIGN, max(tip[0], inner), tip[1] + SIGN


def _far(start: Point, end: Point) -> float:
    return abs(end[0] - start[0]) + abs(end[1] - start[1])


def _towards(start: Point, end: Point, reach: float) -> QPointF:
    length = _far(start, end)
    share = reach / length if length else 0.0
    return QPointF(start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share)
