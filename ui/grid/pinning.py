"""Pinned columns: the first ones of a header, which stay at the left while the others scroll, and the mouse
on a header with pinned columns."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from PySide6.QtCore import QObject, QPoint, QRect, Qt, Signal
from PySide6.QtGui import QMouseEvent, QPainter
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QHeaderView, QStyle

from lamella.ui import theme

EDGE = 2
SCROLL_STEP = 24
LEAST_ROOM = 160
"""Minimum pixels for the scrolling columns; with less room, some pinned columns scroll, too."""


class Pinning(QObject):
    """The pinned columns of a header. `changed` is emitted when columns were pinned or unpinned.

    Dragging a column among the pinned ones pins it; dragging it out of them unpins it.
    """

    changed = Signal()

    def __init__(self, header: QHeaderView) -> None:
        super().__init__(header)
        self.count = 0
        self._header = header
        self._homes: dict[int, int] = {}
        self._moving = False
        header.sectionMoved.connect(self._follow_move)

    def __contains__(self, column: int) -> bool:
        return 0 <= self._header.visualIndex(column) < self.count

    @property
    def columns(self) -> list[int]:
        """The schema indexes of the pinned columns, from left to right."""
        return [self._header.logicalIndex(place) for place in range(min(self.count, self._header.count()))]

    @property
    def places(self) -> int:
        """The number of columns that stay in place: the pinned ones, as far as there is room."""
        if not self.count:
            return 0
        room = self._header.viewport().width() - theme.current().px(LEAST_ROOM)
        most = min(self.count, self._header.count())
        return max(0, bisect_right(range(most + 1), room, key=self._position) - 1)

    @property
    def width(self) -> int:
        """The width of the columns that stay in place; 0 if there are none."""
        places = self.places
        return self._position(places) if places else 0

    def pin(self, column: int) -> None:
        """Pin a column, to the right of those already pinned."""
        if column not in self:
            self._homes[column] = self._header.visualIndex(column)
            self._move(column, self.count)
            self._set(self.count + 1)

    def unpin(self, column: int) -> None:
        """Unpin a column and move it back to its old position."""
        if column in self:
            last = self._header.count() - 1
            self._move(column, min(max(self._homes.pop(column, 0), self.count - 1), last))
            self._set(self.count - 1)

    def unpin_all(self) -> None:
        for column in reversed(self.columns):
            self.unpin(column)

    def begin(self, count: int) -> None:
        """Start with other columns, the first `count` of which are pinned."""
        self._homes.clear()
        self._set(count)

    def x_of(self, column: int) -> int:
        """The left edge of a column in the viewport. Scrolling columns may be covered by pinned ones."""
        if self.count and self._header.visualIndex(column) < self.places:
            return self._header.sectionPosition(column)
        return self._header.sectionViewportPosition(column)

    def place_at(self, x: int) -> int:
        """The position of the column that is visible at `x`; -1 if there is none."""
        if self.count and 0 <= x < self.width:
            return self._header.visualIndexAt(x - self._header.offset())
        return self._header.visualIndexAt(x)

    def paint_edge(self, painter: QPainter, top: int, height: int) -> None:
        """Paint the line between the pinned and the scrolling columns."""
        if width := self.width:
            painter.fillRect(QRect(width - EDGE, top, EDGE, height), theme.current().color("input_border"))

    def _position(self, place: int) -> int:
        header = self._header
        if place >= header.count():
            return header.length()
        return header.sectionPosition(header.logicalIndex(place))

    def _move(self, column: int, place: int) -> None:
        self._moving = True
        self._header.moveSection(self._header.visualIndex(column), place)
        self._moving = False

    def _set(self, count: int) -> None:
        if count != self.count:
            self.count = count
            self.changed.emit()

    def _follow_move(self, column: int, old: int, new: int) -> None:
        if self._moving:
            return
        if old < self.count <= new:
            self._homes.pop(column, None)
            self._set(self.count - 1)
        elif new < self.count <= old:
            self._homes[column] = old
            self._set(self.count + 1)


@dataclass
class _Drag:
    """The drag of a column, or of its edge if `width` is set to its width at the start. `target` is the
    position to which the column is dragged."""

    column: int
    begin: QPoint
    width: int | None = None
    target: int | None = None


class HeaderMouse:
    """Clicks and drags on a header with pinned columns; Qt's own handling has one offset for all columns."""

    def __init__(self, header: QHeaderView, pinning: Pinning) -> None:
        self._header, self._pinning = header, pinning
        self._drag: _Drag | None = None

    def press(self, event: QMouseEvent) -> None:
        point = event.position().toPoint()
        column = self.handle_at(point.x())
        if event.button() is not Qt.MouseButton.LeftButton:
            return
        if column >= 0:
            self._drag = _Drag(column, point, self._header.sectionSize(column))
        elif (place := self._pinning.place_at(point.x())) >= 0:
            self._drag = _Drag(self._header.logicalIndex(place), point)

    def move(self, event: QMouseEvent) -> None:
        point, drag, header = event.position().toPoint(), self._drag, self._header
        if drag is None:
            on_handle = self.handle_at(point.x()) >= 0
            header.setCursor(Qt.CursorShape.SplitHCursor) if on_handle else header.unsetCursor()
        elif drag.width is not None:
            width = drag.width + point.x() - drag.begin.x()
            header.resizeSection(drag.column, max(width, header.minimumSectionSize()))
        elif drag.target is not None or (abs(point.x() - drag.begin.x()) >= QApplication.startDragDistance()):
            self._scroll(point.x())
            place = self._pinning.place_at(min(max(point.x(), 0), header.viewport().width() - 1))
            drag.target = place if place >= 0 else header.count() - 1
            header.setCursor(Qt.CursorShape.ClosedHandCursor)
            header.viewport().update()

    def _scroll(self, x: int) -> None:
        """Scroll the other columns when a column is dragged out of view."""
        table, outside = self._header.parentWidget(), x - min(max(x, 0), self._header.viewport().width() - 1)
        if outside and isinstance(table, QAbstractScrollArea):
            bar = table.horizontalScrollBar()
            bar.setValue(bar.value() + (SCROLL_STEP if outside > 0 else -SCROLL_STEP))

    def release(self, event: QMouseEvent) -> int:
        """Finish a click or drag; return the column that was clicked, -1 for none."""
        drag, self._drag, header = self._drag, None, self._header
        if drag is None or drag.width is not None:
            return -1
        header.unsetCursor()
        if drag.target is not None:
            header.viewport().update()
            header.moveSection(header.visualIndex(drag.column), drag.target)
            return -1
        place = self._pinning.place_at(event.position().toPoint().x())
        return drag.column if place >= 0 and header.logicalIndex(place) == drag.column else -1

    def handle_at(self, x: int) -> int:
        """The column whose right edge is at `x`, -1 for none."""
        header, pinning = self._header, self._pinning
        grip = header.style().pixelMetric(QStyle.PixelMetric.PM_HeaderGripMargin, None, header)
        for near in (x + grip, x - grip):
            place = pinning.place_at(near) if near >= 0 else -1
            while place >= 0 and header.isSectionHidden(header.logicalIndex(place)):
                place -= 1
            column = header.logicalIndex(place) if place >= 0 else -1
            if column >= 0:
                right = pinning.x_of(column) + header.sectionSize(column)
                is_covered = place >= pinning.places and right <= pinning.width
                if abs(right - x) <= grip and not is_covered:
                    return column
        return -1

    def paint(self, painter: QPainter) -> None:
        """Paint the line where a dragged column would go."""
        drag, header = self._drag, self._header
        if drag is None or drag.target is None or drag.target == header.visualIndex(drag.column):
            return
        column = header.logicalIndex(drag.target)
        x = self._pinning.x_of(column)
        if drag.target > header.visualIndex(drag.column):
            x += header.sectionSize(column) - EDGE
        painter.fillRect(QRect(x, 0, EDGE, header.height()), theme.current().color("accent"))
