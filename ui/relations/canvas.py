"""The canvas of a diagram: boxes that can be moved, lines that can be drawn between columns, zoom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from PySide6.QtCore import QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPen,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QApplication, QFrame, QGraphicsLineItem, QGraphicsScene, QGraphicsView, QWidget

from lamella.ui import theme
from lamella.ui.relations.boxes import TableBox
from lamella.ui.relations.layout import Point, arrange, free_place
from lamella.ui.relations.lines import ConnectionLine
from lamella.ui.relations.schema import Connection, StoreShape, keys_by_table, likely_target, mismatch
from lamella.ui.slices import Slices

SMALLEST, LARGEST = 0.05, 3.0
ZOOM_STEP = 1.2
MARGIN = 48.0
OVER_BOXES = 1.5
"""The Z value of the selected line, between those of boxes and of a line that is being drawn."""
MOST_AT_ONCE, MOST_ROUTED = 20, 400
"""The maximum number of lines that are routed without a pause, and up to which all lines are routed again
when a box has moved."""
KEY_STEP = 16
Key = Qt.Key
ARROWS: dict[int, tuple[int, int]] = {
    Key.Key_Left: (-1, 0),
    Key.Key_Right: (1, 0),
    Key.Key_Up: (0, -1),
    Key.Key_Down: (0, 1),
}


class Canvas(QGraphicsView):
    """The canvas. `chosen` has the name of a connection, or nothing; `table_chosen` that of a table.
    `pair_drawn` has a table and a column, and those that a line was drawn to; the second column is empty if
    the line ended on no column. `menu_requested` has the table or connection that was clicked, and the
    position. `places_changed` is emitted when boxes were moved, `built` when everything given to `show_shape`
    or `show_connections` is drawn."""

    chosen = Signal(str)
    table_chosen = Signal(str)
    table_opened = Signal(str)
    pair_drawn = Signal(str, str, str, str)
    menu_requested = Signal(str, str, QPoint)
    places_changed = Signal()
    zoomed = Signal(float)
    built = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.boxes: dict[str, TableBox] = {}
        self.lines: dict[str, ConnectionLine] = {}
        self._drawing = QGraphicsScene(self)
        self._moving: tuple[TableBox, QPointF] | None = None
        self._drawn_link: tuple[TableBox, str, QPoint] | None = None
        self._pan_place: QPoint | None = None
        self._rubber = QGraphicsLineItem()
        self._fits = True
        self._building, self._routing = Slices(self), Slices(self)
        self._building.finished.connect(self.built)
        self._routing.finished.connect(self._show_routes)
        self._text_scale = theme.current().text_scale
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setScene(self._drawing)
        self._drawing.addItem(self._rubber)
        self._rubber.setZValue(2)
        self._rubber.hide()
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setRenderHint(QPainter.RenderHint.Antialiasing)
        self.setViewportUpdateMode(QGraphicsView.ViewportUpdateMode.SmartViewportUpdate)
        self.setTransformationAnchor(QGraphicsView.ViewportAnchor.AnchorUnderMouse)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Diagram of the tables and their relations")
        self.setAccessibleDescription(
            "Arrow keys go from table to table, with Shift they move one; Enter opens it; plus and minus zoom"
        )
        theme.current().changed.connect(self._restyle)
        self._restyle()

    # ------------------------------------------------------------------- content

    @property
    def is_building(self) -> bool:
        return self._building.running

    def show_shape(
        self, shape: StoreShape, places: Mapping[str, Point], connections: Sequence[Connection]
    ) -> None:
        """Draw boxes for these tables and lines between them, a few per turn of the event loop, then emit
        `built`. Boxes of missing tables are removed with their lines. `places` are known positions of some
        boxes; without any, all are arranged."""
        self._building.finish()
        self._building.start(self._build(shape, places, connections))

    def _build(
        self, shape: StoreShape, places: Mapping[str, Point], connections: Sequence[Connection]
    ) -> Iterator[None]:
        for name in [name for name in self.boxes if shape.table(name) is None]:
            box = self.boxes.pop(name)
            self._remove_lines([name for name, line in self.lines.items() if box in (line.start, line.end)])
            self._drawing.removeItem(box)
            box.deleteLater()
        new: dict[str, TableBox] = {}
        for table in shape.tables:
            if table.name not in self.boxes:
                new[table.name] = TableBox(table)
            elif table != self.boxes[table.name].table:
                self.boxes[table.name].take(table)
            yield
        edges = [(r.from_table, r.to_table) for r in shape.relations]
        yield from self._add(new, places, edges)
        self._fit_scene()
        self.viewport().update()
        yield
        yield from self._rebuild(connections)
        yield
        self._fit_scene()
        yield

    def _add(
        self, new: Mapping[str, TableBox], places: Mapping[str, Point], edges: Sequence[tuple[str, str]]
    ) -> Iterator[None]:
        """Place boxes and show them."""
        sizes = self._sizes() | self._sizes(new)
        known_places = {name: places[name] for name in new if name in places}
        if not known_places and not self.boxes:
            known_places = arrange(sizes, edges)
        standing = self.places | known_places
        for name, box in new.items():
            if name not in standing:
                beside = [b if a == name else a for a, b in edges if name in (a, b)]
                standing[name] = free_place(sizes[name], sizes, standing, beside)
            self.boxes[name] = box
            self._place({name: standing[name]})
            box.scrolled.connect(lambda box=box: self._route_of(box))
            self._drawing.addItem(box)
            yield

    def show_connection(self, connection: Connection) -> None:
        """Update what is known about a connection, without moving its line."""
        if connection.name in self.lines:
            self.lines[connection.name].take(connection)

    def show_connections(self, connections: Sequence[Connection]) -> None:
        """Show other lines between the same boxes."""
        self._building.finish()
        self._building.start(self._rebuild(connections))

    def _rebuild(self, connections: Sequence[Connection]) -> Iterator[None]:
        yield from self._connect(connections)
        self.route_all()

    def _connect(self, connections: Sequence[Connection]) -> Iterator[None]:
        by_name = {connection.name: connection for connection in connections}
        lines = self.lines.items()
        self._remove_lines([name for name, line in lines if not _is_same(line.connection, by_name.get(name))])
        for name, connection in by_name.items():
            start, end = self.boxes.get(connection.from_table), self.boxes.get(connection.to_table)
            if name in self.lines:
                self.lines[name].take(connection)
            elif start is not None and end is not None:
                self.lines[name] = ConnectionLine(connection, start, end)
                self._drawing.addItem(self.lines[name])
            yield
        keys = keys_by_table(connections)
        for name, box in self.boxes.items():
            if box.keys != (own := keys.get(name, frozenset())):
                box.set_keys(own)

    def choose(self, name: str) -> None:
        """Select a connection, show its label over the boxes, and highlight the columns of its ends; none for
        an empty name."""
        chosen_line = self.lines.get(name)
        for line in self.lines.values():
            line.is_chosen = line is chosen_line
            line.setZValue(OVER_BOXES if line is chosen_line else 0)
            line.update()
        for box in self.boxes.values():
            box.marked_columns = ()
            if chosen_line is not None and box is chosen_line.start:
                box.marked_columns = chosen_line.connection.from_columns
            if chosen_line is not None and box is chosen_line.end:
                box.marked_columns = (*box.marked_columns, *chosen_line.connection.to_columns)
            box.update()

    def choose_table(self, name: str) -> None:
        """Make a table the current one, and highlight its lines."""
        self._drawing.clearSelection()
        box = self.boxes.get(name)
        if box is not None:
            box.setSelected(True)
        for line in self.lines.values():
            line.is_chosen = box is not None and box in (line.start, line.end)
            line.update()
        for each_box in self.boxes.values():
            each_box.marked_columns = ()
            each_box.update()
        self.table_chosen.emit(name if box is not None else "")

    @property
    def current(self) -> TableBox | None:
        return next((box for box in self.boxes.values() if box.isSelected()), None)

    def mark(self, matches: Mapping[str, Sequence[str]] | None) -> None:
        """Highlight tables and columns as matches, and fade the others; None ends that."""
        for name, box in self.boxes.items():
            box.is_found = matches is not None and name in matches
            box.is_faded = matches is not None and name not in matches
            box.marked_columns = matches.get(name, ()) if matches is not None else ()
            if box.marked_columns:
                box.show_column(box.marked_columns[0])
            box.update()
        for line in self.lines.values():
            line.is_faded = matches is not None
            line.update()

    def show_box(self, name: str) -> None:
        """Centre a table, large enough to be legible."""
        if name in self.boxes:
            if self.scale_now < 0.6:
                self.zoom_by(0.8 / self.scale_now)
            self._fits = False
            self.centerOn(self.boxes[name])

    # -------------------------------------------------------------------- places

    @property
    def places(self) -> dict[str, Point]:
        """The positions of the upper left corners of the boxes, at the usual text size."""
        scale = self._text_scale
        return {name: (box.pos().x() / scale, box.pos().y() / scale) for name, box in self.boxes.items()}

    def arrange(self) -> None:
        """Arrange all boxes by their relations."""
        self._building.finish()
        edges = [(line.connection.from_table, line.connection.to_table) for line in self.lines.values()]
        self._place(arrange(self._sizes(), edges))
        self._fit_scene()
        self.route_all()
        self.places_changed.emit()

    def restore_places(self, places: Mapping[str, Point]) -> None:
        self._building.finish()
        self._place({name: place for name, place in places.items() if name in self.boxes})
        self._fit_scene()
        self.route_all()
        self.places_changed.emit()

    def _place(self, places: Mapping[str, Point]) -> None:
        for name, (x, y) in places.items():
            self.boxes[name].setPos(x * self._text_scale, y * self._text_scale)

    def _sizes(self, boxes: Mapping[str, TableBox] | None = None) -> dict[str, Point]:
        boxes, scale = self.boxes if boxes is None else boxes, self._text_scale
        return {name: (box.size[0] / scale, box.size[1] / scale) for name, box in boxes.items()}

    def _remove_lines(self, names: Sequence[str]) -> None:
        for name in names:
            self._drawing.removeItem(self.lines.pop(name))

    def route_all(self) -> None:
        self._route(list(self.lines))

    def _route_of(self, box: TableBox) -> None:
        self._route([name for name, line in self.lines.items() if box in (line.start, line.end)])

    def _route(self, names: Sequence[str]) -> None:
        """Route lines. If there are many, they are first drawn directly, then routed around boxes a few at a
        time."""
        self._routing.finish()
        if not names:
            return
        around = [box.area() for box in self.boxes.values()]
        boxes = np.array([(x, y, x + width, y + height) for x, y, width, height in around])
        used = Counter[str]()
        lanes = {}
        for name, line in self.lines.items():
            number = used[line.connection.from_table] + used[line.connection.to_table]
            used.update({line.connection.from_table, line.connection.to_table})
            lanes[name] = (number + 1) // 2 * (1 if number % 2 else -1)
        if len(names) > MOST_AT_ONCE:  # painting intermediate lines takes longer than routing
            self.setViewportUpdateMode(QGraphicsView.ViewportUpdateMode.NoViewportUpdate)
            self._routing.start(self._route_many(names, boxes, lanes))
        else:
            labels = [line.middle for name, line in self.lines.items() if name not in names]
            for name in names:
                self.lines[name].route(boxes, lanes[name], labels=labels)
                labels.append(self.lines[name].middle)
        self.viewport().update()

    def _route_many(
        self, names: Sequence[str], boxes: np.ndarray, lanes: Mapping[str, int]
    ) -> Iterator[None]:  # fmt: skip
        for quickly in (True, False):
            for name in names:
                if name in self.lines:
                    self.lines[name].route(boxes, lanes[name], quickly)
                yield
            self.viewport().update()

    def _show_routes(self) -> None:
        self.setViewportUpdateMode(QGraphicsView.ViewportUpdateMode.SmartViewportUpdate)
        self.viewport().update()

    # ---------------------------------------------------------------------- zoom

    @property
    def scale_now(self) -> float:
        return self.transform().m11()

    def zoom_by(self, factor: float) -> None:
        scale = min(max(self.scale_now * factor, SMALLEST), LARGEST)
        self._fits = False
        self.scale(scale / self.scale_now, scale / self.scale_now)
        self.zoomed.emit(self.scale_now)

    def zoom_to(self, scale: float) -> None:
        self.zoom_by(scale / self.scale_now)

    def fit(self) -> None:
        """Fit the whole diagram into the view, at most at actual size, also when the window is resized."""
        area = self.content
        if area.isEmpty() or self.viewport().width() < 10:
            return
        self.fitInView(area, Qt.AspectRatioMode.KeepAspectRatio)
        if self.scale_now > 1:
            self.resetTransform()
        elif self.scale_now < SMALLEST:
            self.resetTransform()
            self.scale(SMALLEST, SMALLEST)
        self.centerOn(area.center())
        self._fits = True
        self.zoomed.emit(self.scale_now)

    @property
    def content(self) -> QRectF:
        """The area of boxes and lines, with a margin."""
        area = QRectF()
        for box in self.boxes.values():
            area = area.united(box.sceneBoundingRect())
        for line in self.lines.values():
            area = area.united(line.shape().boundingRect())
        return area.adjusted(-MARGIN, -MARGIN, MARGIN, MARGIN) if not area.isEmpty() else area

    def _fit_scene(self) -> None:
        """Make room to move boxes in all directions."""
        area = self.content
        self.setSceneRect(area.adjusted(-600, -400, 600, 400))
        if self._fits:
            self.fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._fits:
            self.fit()

    def wheelEvent(self, event: QWheelEvent) -> None:
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.zoom_by(ZOOM_STEP if event.angleDelta().y() > 0 else 1 / ZOOM_STEP)
            event.accept()
        else:
            self._fits = False
            super().wheelEvent(event)

    # --------------------------------------------------------------------- mouse

    def _under(self, point: QPoint) -> tuple[TableBox | None, str, ConnectionLine | None]:
        """The box and its column, or the line, at a point of the viewport."""
        for item in self.items(point):
            if isinstance(item, TableBox):
                return item, item.column_at(item.mapFromScene(self.mapToScene(point))), None
            if isinstance(item, ConnectionLine):
                return None, "", item
        return None, "", None

    def mousePressEvent(self, event: QMouseEvent) -> None:
        point = event.position().toPoint()
        box, column, line = self._under(point)
        self.setFocus(Qt.FocusReason.MouseFocusReason)
        if event.button() is Qt.MouseButton.MiddleButton or (box is None and line is None):
            self._pan_place = point
            if event.button() is Qt.MouseButton.LeftButton:
                self.choose_table("")
                self.chosen.emit("")
            self.viewport().setCursor(Qt.CursorShape.ClosedHandCursor)
        elif line is not None:
            self._drawing.clearSelection()
            self.chosen.emit(line.connection.name)
        elif box is not None:
            self.choose_table(box.table.name)
            if event.button() is Qt.MouseButton.LeftButton and column:
                self._drawn_link = box, column, point
            elif event.button() is Qt.MouseButton.LeftButton:
                self._moving = box, box.pos() - self.mapToScene(point)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        point = event.position().toPoint()
        if self._pan_place is not None:
            step, self._pan_place, self._fits = point - self._pan_place, point, False
            self.horizontalScrollBar().setValue(self.horizontalScrollBar().value() - step.x())
            self.verticalScrollBar().setValue(self.verticalScrollBar().value() - step.y())
        elif self._moving is not None:
            box, offset = self._moving
            box.setPos(self.mapToScene(point) + offset)
            self._fits = False
            self._route_of(box)
        elif self._drawn_link is not None:
            self._draw_to(point)
        else:
            self._hover(point)
            super().mouseMoveEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        point = event.position().toPoint()
        if self._moving is not None:
            self._moving = None
            self._follow_move()
        new_link, self._drawn_link, self._pan_place = self._drawn_link, None, None
        self._hover(point)
        if new_link is None or not self._rubber.isVisible():
            return
        self._rubber.hide()
        for box in self.boxes.values():
            box.set_target("", False)
        target, column, _ = self._under(point)
        start, name, _ = new_link
        if target is not None and (target is not start or (column and column != name)):
            self.pair_drawn.emit(start.table.name, name, target.table.name, column)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        box, _, line = self._under(event.position().toPoint())
        self._drawn_link = self._moving = None
        if box is not None:
            self.table_opened.emit(box.table.name)
        elif line is not None:
            self.chosen.emit(line.connection.name)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        by_key = event.reason() is QContextMenuEvent.Reason.Keyboard
        box, _, line = (self.current, "", None) if by_key else self._under(event.pos())
        place = event.globalPos()
        if by_key and box is not None:
            place = self.viewport().mapToGlobal(self.mapFromScene(box.sceneBoundingRect().center()))
        if box is not None:
            self.choose_table(box.table.name)
            self.menu_requested.emit("table", box.table.name, place)
        elif line is not None:
            self.chosen.emit(line.connection.name)
            self.menu_requested.emit("connection", line.connection.name, place)
        else:
            self.menu_requested.emit("", "", place)

    def _draw_to(self, point: QPoint) -> None:
        """Draw a line from the pressed column, and show whether the column under the mouse fits."""
        assert self._drawn_link is not None
        start, name, pressed = self._drawn_link
        far = (point - pressed).manhattanLength() >= QApplication.startDragDistance()
        if not far and not self._rubber.isVisible():
            return
        target, column, _ = self._under(point)
        fits = False
        for box in self.boxes.values():
            target_name = ""
            if box is target and (box is not start or column != name):
                target_name = column or likely_target(start.table, name, box.table)
                fits = bool(target_name) and not mismatch(start.table, name, box.table, target_name)
            box.set_target(target_name, fits)
        end = self.mapToScene(point)
        right = end.x() > start.pos().x() + start.rect().width() / 2
        edge = QPointF(start.pos().x() + (start.rect().width() if right else 0), start.height_of(name))
        name = "accent" if target is None or target is start else "success" if fits else "danger"
        self._rubber.setPen(QPen(theme.current().color(name), 2, Qt.PenStyle.DashLine))
        self._rubber.setLine(edge.x(), edge.y(), end.x(), end.y())
        self._rubber.show()

    def _hover(self, point: QPoint) -> None:
        box, column, line = self._under(point)
        for each_box in self.boxes.values():
            each_box.hover(column if each_box is box else "")
        if box is not None:
            shape = Qt.CursorShape.CrossCursor if column else Qt.CursorShape.SizeAllCursor
        else:
            shape = Qt.CursorShape.PointingHandCursor if line is not None else Qt.CursorShape.OpenHandCursor
        self.viewport().setCursor(shape)

    def _follow_move(self) -> None:
        self._fit_scene()
        if len(self.lines) <= MOST_ROUTED:
            self.route_all()
        self.places_changed.emit()

    # ---------------------------------------------------------------------- keys

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, current = event.key(), self.current
        if key in ARROWS:
            self._step(*ARROWS[key], bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier))
        elif key in (Key.Key_Return, Key.Key_Enter) and current is not None:
            self.table_opened.emit(current.table.name)
        elif key in (Key.Key_Plus, Key.Key_Equal):
            self.zoom_by(ZOOM_STEP)
        elif key == Key.Key_Minus:
            self.zoom_by(1 / ZOOM_STEP)
        elif key == Key.Key_0:
            self.fit()
        elif key in (Key.Key_PageDown, Key.Key_PageUp) and current is not None:
            current.scroll_by(5 if key == Key.Key_PageDown else -5)
        elif key == Key.Key_Escape and self._drawn_link is not None:
            self._drawn_link = None
            self._rubber.hide()
        else:
            super().keyPressEvent(event)

    def _step(self, right: int, down: int, moves: bool) -> None:
        """Go to the next table in a direction, or move the current one there."""
        current = self.current
        if current is None:
            if self.boxes:
                self.choose_table(min(self.boxes, key=lambda name: sum(self.places[name])))
            return
        if moves:
            current.setPos(current.pos() + QPointF(right * KEY_STEP, down * KEY_STEP))
            self._follow_move()
            return
        center = current.sceneBoundingRect().center()
        best, least = None, float("inf")
        for box in self.boxes.values():
            away = box.sceneBoundingRect().center() - center
            ahead = away.x() * right + away.y() * down
            aside = abs(away.x() * down) + abs(away.y() * right)
            if box is not current and ahead > 1 and ahead + 2 * aside < least:
                best, least = box, ahead + 2 * aside
        if best is not None:
            self.choose_table(best.table.name)
            self.ensureVisible(best, 24, 24)

    # ------------------------------------------------------------------- picture

    @property
    def picture_size(self) -> QSize:
        return self.content.size().toSize()

    def paint_picture(self, painter: QPainter) -> None:
        """Paint the whole diagram, without a selection."""
        chosen_lines = [line for line in self.lines.values() if line.is_chosen]
        marked = {box: box.marked_columns for box in self.boxes.values()}
        selected = self.current
        self._drawing.clearSelection()
        for line in chosen_lines:
            line.is_chosen = False
        for box in marked:
            box.marked_columns = ()
        area = self.content
        self._drawing.render(painter, QRectF(QPointF(), area.size()), area)
        for line in chosen_lines:
            line.is_chosen = True
        for box, columns in marked.items():
            box.marked_columns = columns
        if selected is not None:
            selected.setSelected(True)

    def _restyle(self) -> None:
        self._building.finish()
        self.setBackgroundBrush(theme.current().color("window"))
        places, self._text_scale = self.places, theme.current().text_scale
        for box in self.boxes.values():
            box.measure()
            box.update()
        self._place(places)
        self._fit_scene()
        self.route_all()


def _is_same(line: Connection, earlier: Connection | None) -> bool:
    ends = ("from_table", "from_columns", "to_table", "to_columns")
    return earlier is not None and all(getattr(line, end) == getattr(earlier, end) for end in ends)
