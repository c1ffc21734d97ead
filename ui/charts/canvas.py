"""The panels of a chart on shared axes: drawing, hovering, and brushing to filter."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QRectF, Qt, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QFontMetrics,
    QKeyEvent,
    QMouseEvent,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QToolTip, QWidget

from lamella.core.errors import visible
from lamella.core.query.charts import ChartData
from lamella.core.query.charts.dimensions import Dimension, Place
from lamella.core.query.charts.spec import AREA, BAR, BOX, HEAT_MAP, HISTOGRAM, LINE, SCATTER
from lamella.ui import theme
from lamella.ui.charts.axes import ChartAxis, NumberTicks, ticks_of, ticks_of_figures
from lamella.ui.charts.brush import ChartSelection, Veil, places_between, select_places
from lamella.ui.charts.marks import Display, EndLabels, Mark, Marks, SeriesLook, looks_of
from lamella.ui.charts.panels import (
    EARTH,
    LEAST_HEIGHT,
    Panel,
    align_axes,
    map_stretch,
    names_overhang,
    panels_across,
)
from lamella.ui.charts.words import (
    axis_title,
    figure_title,
    hover_text,
    place_text,
    summary_of,
)
from lamella.ui.widgets.plotting import cosmetic_pen

LEAST_TITLE = 80
"""Pixels: the minimum width of a panel's title, and the part of the panel that it leaves to the axis."""
REACH = 16
"""How far from a point the mouse may be, in pixels."""
DRAG = 5
MARGIN, MARKER_ROOM = 0.05, 0.02
"""Room above and below the marks, as a share of their height."""
GRID_ALPHA = 40


class ChartCanvas(pg.GraphicsLayoutWidget):
    """Draws a chart. `brushed` carries what a brushed range stands for, None for nothing; `clicked` the same
    for a figure."""

    brushed = Signal(object)
    clicked = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.data: ChartData | None = None
        self.display = Display()
        self.looks: list[SeriesLook] = []
        self.panels: list[Panel] = []
        self._view: tuple[float, float] = (0.0, 1.0)
        self._pressed_place: tuple[Panel, QPointF, QPoint] | None = None
        self._veils: list[tuple[pg.PlotItem, Veil]] = []
        self._brush: tuple[int, list[Place], list[Place] | None] | None = None
        """The number of the panel, and the places along both axes."""
        self._current: Mark | None = None
        self._ring: Any = None
        self._abreast, self._redrawing = 1, False
        self._plots: list[pg.PlotItem] = []
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setAccessibleName("Chart")
        self.setMinimumWidth(240)
        self.ci.layout.setSpacing(theme.S)
        self.ci.layout.setContentsMargins(theme.S, theme.XS, theme.M, theme.XS)
        theme.current().changed.connect(self._redraw)
        self.setBackground(theme.current().color("surface"))

    def show_data(self, data: ChartData, display: Display) -> None:
        if data is not self.data:
            self.clear_brush()
        self.data, self.display = data, display
        self._redraw()

    @property
    def names_lines(self) -> bool:
        """Whether lines are labelled at their ends, and need no legend."""
        assert self.data is not None
        drawn = self.data.spec.kind in (LINE, AREA) and self.display.labels and len(self.panels) <= 1
        return drawn and self.data.color is not None

    # ------------------------------------------------------------------- drawing

    def _redraw(self) -> None:
        """Draw all panels, and the brush. Plots are reused: PySide crashes if they are added and removed."""
        self._redrawing = True
        self._pressed_place, brush = None, self._brush
        self._remove_brush()
        self._show_ring(None, None)
        for plot in self._plots:
            plot.clear()
            if plot in self.ci.items:
                self.ci.removeItem(plot)
        self.panels, self._current = [], None
        self.setBackground(theme.current().color("surface"))
        if self.data is not None:
            self._draw(self.data)
        self._redrawing = False
        if brush is not None:
            self._show_brush(*brush)

    def _draw(self, data: ChartData) -> None:
        self.setAccessibleName(summary_of(data))
        self.setAccessibleDescription("")
        self.looks = looks_of(data.color)
        marks, rows = Marks(data, self.display, self.looks), data.table.to_pylist()
        places: list[Place | None] = [None] if data.panels is None else list(data.panels.places)
        across = self._abreast = panels_across(len(places), *self._room())
        self.setMinimumHeight(math.ceil(len(places) / across) * theme.current().px(LEAST_HEIGHT))
        for number, place in enumerate(places):
            own = rows if place is None else [row for row in rows if row["panels"] == place.key]
            row_end = min(len(places), (number // across + 1) * across)
            named = row_end + across > len(places)  # some panel in its row has none below it
            self._add_panel(marks, own, place, divmod(number, across), named)
        self._name_panels()
        self._set_ranges()
        self._fit_axes()

    def _name_panels(self) -> None:
        """Write the panels' titles, as far as there is room above each."""
        look, data = theme.current(), self.data
        metrics = QFontMetrics(look.font(theme.TextSize.CAPTION, bold=True))
        room = max(LEAST_TITLE, self.width() // self._abreast - LEAST_TITLE)
        size = f"{look.font(theme.TextSize.CAPTION).pointSizeF():.1f}pt"
        for panel in self.panels:
            name = None
            if panel.place is not None and data is not None and data.panels is not None:
                text = place_text(data.panels, panel.place)
                name = escape(metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, room))
            panel.plot.setTitle(name, color=look.colors.text, size=size, bold=True)

    def _plot(self, number: int) -> pg.PlotItem:
        while len(self._plots) <= number:
            axes = {name: ChartAxis(name) for name in ("bottom", "left")}
            plot = pg.PlotItem(axisItems=axes, enableMenu=False)
            plot.hideButtons()
            plot.vb.setMouseEnabled(x=False, y=False)
            plot.vb.disableAutoRange()
            self._plots.append(plot)
        return self._plots[number]

    def _room(self) -> tuple[int, int]:
        """The size of the visible part of the chart."""
        holder = self.parentWidget()
        return (self.width(), self.height()) if holder is None else (holder.width(), holder.height())

    def _add_panel(
        self,
        marks: Marks,
        rows: Sequence[Mapping[str, Any]],
        place: Place | None,
        cell: tuple[int, int],
        named: bool,
    ) -> None:
        """Draw a panel; `named` with the labels of places below it."""
        row, column = cell
        data, look = self.data, theme.current()
        assert data is not None
        plot = self._plot(len(self.panels))
        self.ci.addItem(plot, row=row, col=column)
        caption = look.font(theme.TextSize.CAPTION)
        bottom, left = (plot.getAxis(name) for name in ("bottom", "left"))
        bottom.show_ticks(NumberTicks() if data.x is None else ticks_of(data.x, data.spec.kind))
        left.show_ticks(ticks_of_figures(data) if data.y is None else ticks_of(data.y, data.spec.kind))
        for axis in (bottom, left):
            axis.setPen(pg.mkPen(look.color("border_strong")))
            axis.setTextPen(look.color("muted"))
            axis.setStyle(tickFont=caption, maxTickLevel=1)
        left.setGrid(False if data.spec.kind == HEAT_MAP else GRID_ALPHA)  # grid lines would cross the cells
        points = f"{caption.pointSizeF():.1f}pt"
        style = {"color": look.colors.muted, "font-size": points}
        named = named and data.x is not None
        bottom.setStyle(showValues=named)
        bottom.setLabel(escape(axis_title(data.x)) if named and data.x is not None else None, **style)
        bottom.showLabel(named)
        title = data.spec.y if data.spec.kind == HEAT_MAP else figure_title(data.spec)
        left.setLabel(escape(visible(title)), **style)
        left.showLabel(data.panels is None)
        panel_marks = marks.of_rows(rows)
        for item in panel_marks.items:
            plot.addItem(item, ignoreBounds=True)
        has_zero = data.y is None and not data.spec.log_y and panel_marks.low < 0 < panel_marks.high
        if has_zero:
            zero = pg.InfiniteLine(0, 0, pen=cosmetic_pen(look.color("border_strong"), 1))
            zero.setZValue(-10)
            plot.addItem(zero, ignoreBounds=True)
        self.panels.append(Panel(plot, panel_marks, rows, place, cell, named))

    def _set_ranges(self) -> None:
        data = self.data
        assert data is not None
        left, right = _ends(data.x)
        if data.spec.kind in (LINE, AREA) and data.x is not None and len(data.x) > 1:
            left, right = data.x.places[0].at, data.x.places[-1].at
            left, right = _with_room(left, right)
        if data.shows_points or data.spec.kind in (SCATTER, HEAT_MAP):
            low, high = _ends(data.y)
            if data.shows_points:  # otherwise points at the ends are cut in half
                left, right = _with_room(left, right)
                low, high = _with_room(low, high)
        else:
            low = min((panel.drawing.low for panel in self.panels), default=0.0)
            high = max((panel.drawing.high for panel in self.panels), default=1.0)
            if not math.isfinite(low + high):
                low, high = 0.0, 1.0
            flat = 0 < low == high
            if low == high and not data.spec.log_y:  # a flat line is clearer above zero
                low, high = min(low, 0.0), max(high, 0.0) or float(low == 0)
            room = MARGIN * (high - low or abs(high) or 1.0)
            stands = low == 0 if not data.spec.log_y else data.spec.kind in (BAR, HISTOGRAM)
            low = low if stands and (flat or data.spec.kind not in (LINE, BOX)) else low - room
            high += room
        self._view = left, right
        stretch = map_stretch(low, high) if data.is_map and self.display.map else None
        for panel in self.panels:
            panel.plot.vb.setAspectLocked(stretch is not None, stretch)
            if stretch is not None:  # a map may extend beyond the earth's limits
                panel.plot.getAxis("bottom").span, panel.plot.getAxis("left").span = EARTH
            panel.plot.setRange(xRange=(left, right), yRange=(low, high), padding=0)
        self._name_lines()

    def _name_lines(self) -> None:
        """Label lines at their ends, where the labels take part of the axis to their right."""
        if not self.panels or not self.names_lines:
            return
        panel, (left, right) = self.panels[0], self._view
        names = EndLabels.width(self.looks)
        pixels = max(1.0, panel.plot.vb.width() or self.width() * 0.9)
        share = min(0.4, names / pixels)
        if panel.labels is not None:
            panel.plot.removeItem(panel.labels)
            panel.labels = None
        panel.plot.setXRange(left, left + (right - left) / (1 - share), padding=0)
        panel.plot.getAxis("bottom").span = (-math.inf, right)
        if panel.drawing.ends:
            panel.labels = EndLabels(panel.drawing.ends, right)
            panel.plot.addItem(panel.labels, ignoreBounds=True)

    def _fit_axes(self) -> None:
        self._lay_out()
        for panel in self.panels:
            for name, pixels in (("bottom", panel.plot.vb.width()), ("left", panel.plot.vb.height())):
                panel.plot.getAxis(name).fit(pixels or self.width() * 0.85)
        if len(self.panels) > 1:
            align_axes(self.panels)
        left = 0.0 if self.data is None or self.data.x is None else names_overhang(self.panels, self.data.x)
        self.ci.layout.setContentsMargins(theme.S + left, theme.XS, theme.M, theme.XS)
        self._lay_out()

    def _lay_out(self) -> None:
        """Give axes and titles their places now: Qt would do so after the chart has been painted once."""
        for panel in self.panels:
            panel.plot.layout.activate()
        self.ci.layout.activate()

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        super().resizeEvent(event)
        if event is None or not hasattr(self, "panels") or self.data is None or self._redrawing:
            return  # pyqtgraph calls this during construction
        across = panels_across(len(self.panels), *self._room())
        before = self._abreast
        if len(self.panels) > 1 and across != before:
            self._redraw()
        if len(self.panels) > 1:
            self._name_panels()
        self._fit_axes()
        self._name_lines()

    # ------------------------------------------------------------------ hovering

    def panel_at(self, position: QPointF) -> Panel | None:
        """The panel at a position of the scene."""
        return next((p for p in self.panels if p.plot.vb.sceneBoundingRect().contains(position)), None)

    def mark_at(self, position: QPointF) -> tuple[Panel, Mark] | None:
        """The figure at a position of the scene, or near it."""
        panel = self.panel_at(position)
        if panel is None:
            return None
        place = panel.plot.vb.mapSceneToView(position)
        inside = [mark for mark in panel.drawing.marks if mark.area is not None and _holds(mark.area, place)]
        if inside:
            return panel, inside[-1]
        away, number = self._nearest(panel, place)
        if away <= REACH:
            return panel, panel.drawing.marks[number]
        return self._below(panel, place)

    def _below(self, panel: Panel, place: QPointF) -> tuple[Panel, Mark] | None:
        """The bar at a place above it, if the bar is low."""
        for mark in panel.drawing.marks:
            if (
                mark.area is not None
                and mark.area.left() <= place.x() < mark.area.right()
                and "y" not in mark.row
            ):
                return panel, mark
        return None

    @staticmethod
    def _nearest(panel: Panel, place: QPointF) -> tuple[float, int]:
        """The distance of the nearest point in pixels, and its index."""
        wide, high = panel.plot.vb.viewPixelSize()
        x, y = place.x(), place.y()
        away = (
            (math.hypot((mark.point.x() - x) / wide, (mark.point.y() - y) / high), number)
            for number, mark in enumerate(panel.drawing.marks)
            if mark.point is not None
        )
        return min(away, default=(math.inf, -1))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        position = self.mapToScene(event.position().toPoint())
        if self._pressed_place is not None:
            if (event.position().toPoint() - self._pressed_place[2]).manhattanLength() >= DRAG:
                QToolTip.hideText()
                self._show_ring(None, None)
                self._drag_to(position)
            return
        mark = self.mark_at(position)
        if mark is None or self.data is None:
            QToolTip.hideText()
            self._show_ring(None, None)
            return
        self._show_ring(*mark)
        QToolTip.showText(event.globalPosition().toPoint(), hover_text(self.data, mark[1].row), self)

    def viewportEvent(self, event: QEvent) -> bool:
        # the scene has no tooltips, and would hide the text of a figure once the mouse rests on it
        return event.type() == QEvent.Type.ToolTip or bool(super().viewportEvent(event))

    def leaveEvent(self, event: QEvent) -> None:
        self._show_ring(None, None)
        super().leaveEvent(event)

    def _show_ring(self, panel: Panel | None, mark: Mark | None) -> None:
        """Draw a ring around the figure under the mouse or the keyboard's cursor."""
        if self._ring is not None:
            plot, ring = self._ring
            plot.removeItem(ring)
            self._ring = None
        if panel is None or mark is None:
            return
        pen = cosmetic_pen(theme.current().color("text"), 1.6)
        if mark.area is not None:
            rect = mark.area
            xs = [rect.left(), rect.right(), rect.right(), rect.left(), rect.left()]
            ys = [rect.top(), rect.top(), rect.bottom(), rect.bottom(), rect.top()]
            ring = pg.PlotCurveItem(xs, ys, pen=pen)
        else:
            at = mark.point or QPointF()
            ring = pg.ScatterPlotItem([at.x()], [at.y()], size=13, pen=pen, brush=None)
        ring.setZValue(60)
        panel.plot.addItem(ring, ignoreBounds=True)
        self._ring = panel.plot, ring

    # ------------------------------------------------------------------- brushing

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.setFocus(Qt.FocusReason.MouseFocusReason)
        position = self.mapToScene(event.position().toPoint())
        panel = self.panel_at(position)
        if event.button() is Qt.MouseButton.LeftButton and panel is not None:
            self._pressed_place = panel, position, event.position().toPoint()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        pressed, self._pressed_place = self._pressed_place, None
        if pressed is None:
            return
        position = self.mapToScene(event.position().toPoint())
        if (event.position().toPoint() - pressed[2]).manhattanLength() >= DRAG:
            self._pressed_place = pressed
            self._drag_to(position)
            self._pressed_place = None
            return
        had_brush = self._brush is not None
        self.clear_brush()
        mark = self.mark_at(position)
        if mark is not None and not had_brush:
            self.clicked.emit(self.selection_of(*mark))

    def _drag_to(self, position: QPointF) -> None:
        assert self._pressed_place is not None and self.data is not None
        panel, start, _ = self._pressed_place
        box = panel.plot.vb
        begin, end = box.mapSceneToView(start), box.mapSceneToView(position)
        x = self.data.x
        if x is None:
            return
        left, right = sorted((begin.x(), end.x()))
        across = places_between(x, left, right)
        down: list[Place] | None = None
        if self.data.y is not None:
            down = places_between(self.data.y, *sorted((begin.y(), end.y())))
        self._show_brush(self.panels.index(panel), across, down)

    def _show_brush(self, number: int, across: list[Place], down: list[Place] | None = None) -> None:
        self._remove_brush()
        assert self.data is not None
        if not across or down == []:
            self.brushed.emit(None)
            return
        panel = self.panels[number]
        rect = self._brush_rect(panel, across, down)
        for other in self.panels:
            veil = Veil(rect if other is panel else None)
            other.plot.addItem(veil, ignoreBounds=True)
            self._veils.append((other.plot, veil))
        self._brush = number, across, down
        self.brushed.emit(self._selection_in(panel, across, down))

    @property
    def brush_area(self) -> QRect:
        """The brush, in the coordinates of the widget; empty if there is none."""
        if self._brush is None:
            return QRect()
        number, across, down = self._brush
        panel = self.panels[number]
        corners = panel.plot.vb.mapViewToScene(self._brush_rect(panel, across, down))
        area: QRect = self.mapFromScene(corners).boundingRect()
        return area

    @staticmethod
    def _brush_rect(panel: Panel, across: Sequence[Place], down: Sequence[Place] | None) -> QRectF:
        (_, _), (low, high) = panel.plot.vb.viewRange()
        if down is not None:
            low, high = min(p.left for p in down), max(p.right for p in down)
        left, right = min(p.left for p in across), max(p.right for p in across)
        return QRectF(QPointF(left, low), QPointF(right, high))

    def clear_brush(self) -> None:
        if self._brush is not None:
            self._remove_brush()
            self.brushed.emit(None)

    def _remove_brush(self) -> None:
        for plot, veil in self._veils:
            plot.removeItem(veil)
        self._veils, self._brush = [], None

    def _selection_in(
        self, panel: Panel, across: Sequence[Place], down: Sequence[Place] | None
    ) -> ChartSelection:
        data = self.data
        assert data is not None and data.x is not None
        parts = [(data.x, across), *([] if down is None or data.y is None else [(data.y, down)])]
        keys = {p.key for p in across}
        rows = [row for row in panel.rows if row["x"] in keys]
        if down is not None:
            below = {p.key for p in down}
            rows = [row for row in rows if row["y"] in below]
        if panel.place is not None and data.panels is not None:
            parts.append((data.panels, [panel.place]))
        return select_places(parts, sum(row.get("rows", 1) for row in rows))

    def selection_of(self, panel: Panel, mark: Mark) -> ChartSelection:
        """What a figure stands for: its place, its colour and its panel."""
        data, row = self.data, mark.row
        assert data is not None
        parts = [
            (dimension, [dimension.place(row[name])])
            for name, dimension in (
                ("x", data.x),
                ("y", data.y),
                ("color", data.color),
                ("panels", data.panels),
            )
            if dimension is not None and name in row
        ]
        return select_places(parts, row.get("rows", 1))

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()  # the scroll area around the chart scrolls

    # ------------------------------------------------------------------- keyboard

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps: dict[int, int] = {Qt.Key.Key_Right: 1, Qt.Key.Key_Left: -1}
        key = event.key()
        if key in steps and self.panels:
            if event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
                self._extend(steps[key])
            else:
                self._step(steps[key])
        elif key in (Qt.Key.Key_Up, Qt.Key.Key_Down) and self.panels:
            self._step_series(1 if key == Qt.Key.Key_Down else -1)
        elif (
            key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self._current is not None and self._brush is None
        ):
            self.clicked.emit(self.selection_of(self._panel_of(self._current), self._current))
        elif key == Qt.Key.Key_Escape and self._brush is not None:
            self.clear_brush()
        else:
            QWidget.keyPressEvent(self, event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        if event.reason() in (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason):
            self._step(0)

    def _ordered_marks(self) -> list[Mark]:
        """All marks by panel, then along the axis."""

        def place(mark: Mark) -> float:
            return mark.area.center().x() if mark.area is not None else mark.point.x() if mark.point else 0.0

        return [mark for panel in self.panels for mark in sorted(panel.drawing.marks, key=place)]

    def _step(self, by: int) -> None:
        ordered = self._ordered_marks()
        if self._current is not None and self._current in ordered and "color" in self._current.row:
            color = self._current.row["color"]
            ordered = [mark for mark in ordered if mark.row.get("color") == color]
        self._go(ordered, by)

    def _step_series(self, by: int) -> None:
        current = self._current
        if current is None:
            self._step(0)
            return
        names = [name for name in ("x", "panels") if name in current.row]
        alike = [m for m in self._ordered_marks() if all(m.row[name] == current.row[name] for name in names)]
        self._go(alike, by)

    def _go(self, among: list[Mark], by: int) -> None:
        if not among:
            return
        now = next((n for n, mark in enumerate(among) if mark is self._current), None)
        self._current = among[0 if now is None else max(0, min(len(among) - 1, now + by))]
        panel = self._panel_of(self._current)
        self._show_ring(panel, self._current)
        assert self.data is not None
        text = hover_text(self.data, self._current.row)
        self.setAccessibleDescription(text.replace("\n", ", "))
        at = self._current.point or (self._current.area or QRectF()).center()
        where = self.mapFromScene(panel.plot.vb.mapViewToScene(QPointF(at)))
        QToolTip.showText(self.mapToGlobal(where), text, self)

    def _extend(self, by: int) -> None:
        """Extend the brush by one place at its end."""
        data = self.data
        assert data is not None
        if data.x is None or not len(data.x):
            return
        places = list(data.x.places)
        if self._brush is None:
            if self._current is None:
                self._step(0)
            if self._current is None:
                return
            begin = places.index(data.x.place(self._current.row["x"]))
            self._show_brush(self.panels.index(self._panel_of(self._current)), [places[begin]])
            return
        number, across, down = self._brush
        first, last = places.index(across[0]), places.index(across[-1])
        last = max(first, min(len(places) - 1, last + by))
        self._show_brush(number, places[first : last + 1], down)

    def _panel_of(self, mark: Mark) -> Panel:
        return next(
            panel for panel in self.panels if any(own_mark is mark for own_mark in panel.drawing.marks)
        )


def _ends(dimension: Dimension | None) -> tuple[float, float]:
    if dimension is None or not len(dimension):
        return -0.5, 0.5
    left, right = min(p.left for p in dimension.places), max(p.right for p in dimension.places)
    return (left, right) if right > left else (left - 0.5, right + 0.5)


def _with_room(low: float, high: float) -> tuple[float, float]:
    """The range, extended at both ends by the room for a marker."""
    room = MARKER_ROOM * (high - low)
    return low - room, high + room


def _holds(area: QRectF, place: QPointF) -> bool:
    inside = area.left() <= place.x() < area.right()
    return inside and area.top() <= place.y() <= area.bottom()
