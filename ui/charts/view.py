"""The chart of a tab: read off the GUI thread, drawn, explained, used to filter, and exported."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication, QIcon, QKeyEvent, QPainter, QRegion, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QMenu,
    QPushButton,
    QScrollArea,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from lamella.core.errors import LamellaError, visible
from lamella.core.phrases import quantity
from lamella.core.query.builder import Query
from lamella.core.query.charts import (
    ChartData,
    ChartSpec,
    prepare_previews,
    preview_chart,
    read_chart,
    suggest,
)
from lamella.core.query.charts.spec import TITLES
from lamella.ui import theme
from lamella.ui.charts.brush import ChartSelection
from lamella.ui.charts.canvas import ChartCanvas
from lamella.ui.charts.figures import FiguresTable
from lamella.ui.charts.form import ANY_WIDTH, WIDTH, ChartForm
from lamella.ui.charts.legend import ChartLegend, SizeScale
from lamella.ui.charts.marks import Display, PointSizes
from lamella.ui.charts.ramps import RampScale, ramp_of
from lamella.ui.charts.words import counts_of, figure_title, remarks_of, title_of
from lamella.ui.tasks import Handle, Tasks
from lamella.ui.widgets.controls import ICON_GAP, ElidedLabel, IconButton
from lamella.ui.widgets.plotting import pixels_of, svg_of

NOTHING = "There is nothing to draw: no row has all the values that this chart needs."
NO_ROWS = "There is nothing to draw: no row meets the filter."
FARTHEST = 1e150
"""The greatest distance from zero. The squares of such numbers, which Qt computes in drawing, are still
finite."""
NARROWEST = 1e-150
"""The least extent of an axis, for the same reason: Qt computes pixels per unit."""
TOO_FAR = "Values beyond 10^150 cannot be drawn. Filter them out, or choose a log scale for their axis."
TOO_NARROW = (
    "Values that differ by less than 10^-150 cannot be drawn. Choose a log scale for their axis, or multiply"
    " them in a computed column."
)
MOST_SHARE = 0.4
"""The maximum share of the view for the panel beside the chart."""
NARROW, ICON_WIDTH = 560, 36
"""The width in pixels below which buttons show only icons, and the width of such a button."""
EXPORTS = {"png": "Picture, PNG…", "svg": "Picture, SVG…", "figures": "Figures…"}


class BrushBar(QFrame):
    """Describes the brushed range, with a button that filters by it."""

    kept = Signal()
    dropped = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        theme.variant(self, "overlay")
        self.text, self.keep = QLabel(wordWrap=True), QPushButton("Keep")
        self.text.setTextFormat(Qt.TextFormat.PlainText)
        close = IconButton("close", "Clear the selection")
        line = QHBoxLayout(self)
        line.setContentsMargins(theme.M, theme.XS, theme.XS, theme.XS)
        for widget in (self.text, self.keep, close):
            line.addWidget(widget)
        self.keep.setIcon(theme.current().icon("filter"))
        self.keep.setToolTip("Filter by this (Enter)")
        self.keep.clicked.connect(self.kept)
        close.clicked.connect(self.dropped)
        self.hide()

    def show_selection(self, selection: ChartSelection | None) -> None:
        self.setVisible(selection is not None)
        if selection is not None:
            text = f"{selection.text} · {quantity(selection.rows, 'row')}"
            self.text.setText(text)
            self.keep.setEnabled(selection.condition is not None)
            self.setAccessibleName(f"Selected: {text}")

    def fit(self, width: int) -> None:
        """Take at most this width, with the text on as many lines as necessary."""
        self.text.setFixedWidth(0)
        room = width - self.sizeHint().width()
        line = self.text.fontMetrics().horizontalAdvance(self.text.text()) + theme.XS
        self.text.setFixedWidth(max(1, min(line, room)))
        self.adjustSize()


class ChartView(QWidget):
    """The view of a chart. `filter_requested` carries a condition, `refused` why there is none.
    `export_requested` asks for a file of one of the `EXPORTS`, `closed` for the table."""

    filter_requested = Signal(object)
    refused = Signal(str)
    export_requested = Signal(str)
    changed = Signal()
    closed = Signal()

    def __init__(self, tasks: Tasks, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.form, self.canvas, self.legend = ChartForm(), ChartCanvas(), ChartLegend()
        self.title, self.message = ElidedLabel(), QLabel(wordWrap=True)
        self.copy, self.figures = QPushButton(), QPushButton()
        self.export = QToolButton(text="Export ▾")
        self.brush_bar, self.table = BrushBar(self), FiguresTable()
        self.data: ChartData | None = None
        self.seconds = 0.0
        self._tasks = tasks
        self._handle: Handle | None = None
        self._caching: Handle | None = None
        self._read_next: Callable[[], None] | None = None
        self._after_paint = QTimer(self, singleShot=True, interval=0)
        self._after_paint.timeout.connect(self._continue)
        self._query: Query | None = None
        self._types: Mapping[str, pa.DataType] = {}
        self._total = 0
        self._title = ""
        self._selection: ChartSelection | None = None
        self._next_columns: Sequence[str] = ()
        self._build()

    @property
    def spec(self) -> ChartSpec:
        return self.form.spec

    @property
    def running(self) -> bool:
        return self._handle is not None or self._read_next is not None

    def draw_next(self, names: Sequence[str]) -> None:
        """Draw a chart that fits these columns when the next rows are shown."""
        self._next_columns = names

    def show_rows(self, query: Query, schema: pa.Schema, total: int, columns: list[str]) -> None:
        """Draw other rows; the first time, with a chart that fits the `columns` or those of `draw_next`.
        `total` counts the rows before any filter."""
        self._query, self._total = query, total
        types = {field.name: field.type for field in schema}
        first = not self._types
        self._types = types
        next_columns = [name for name in self._next_columns if name in types]
        self._next_columns = ()
        spec = self.spec
        if next_columns or (first and not spec.x and not spec.y):
            spec = suggest(next_columns or columns, types)
        self.form.show_spec(spec, types)
        self._read()

    def show_spec(self, spec: ChartSpec, display: Display | None = None) -> None:
        """Draw another chart of the same rows."""
        self._next_columns = ()
        if display is not None:
            self.form.show_display(display)
        self.form.show_spec(spec, self._types)
        if self._query is not None:
            self._read()

    def stop(self) -> None:
        self._read_next = None
        if self._caching is not None:
            self._caching.cancel()
        if self._handle is not None:
            handle, self._handle = self._handle, None
            handle.cancel()

    # ------------------------------------------------------------------- reading

    def _read(self) -> None:
        self.stop()
        spec, query = self.spec, self._query
        problem = spec.problem(self._types)
        if problem or not self._is_drawn:
            self._entitle(TITLES[spec.kind] if problem else title_of(spec))
        if query is None or problem:
            self._say(problem)
            return
        self._enable(False)  # the chart drawn before stays until the next one is there

        def show_exact(data: ChartData) -> None:
            self._show(data)
            self._caching = self._tasks.read(
                lambda job: prepare_previews(query, spec, job), on_error=self._fail_to_cache,
                owner=self, quiet=True,
            )  # fmt: skip

        def read() -> None:
            self._handle = self._tasks.read(
                lambda job: read_chart(query, spec, job), show_exact, self._fail,
                on_cancel=self._stopped, owner=self, text="Drawing the chart",
            )  # fmt: skip
            self.changed.emit()

        def show(data: ChartData | None) -> None:
            if data is None:
                read()
                return
            self._show(data)
            self._read_next = read
            self._after_paint.start()  # the threads of the exact chart would delay the painting of this one

        self._handle = self._tasks.read(
            lambda job: preview_chart(query, spec, job), show, lambda _error: read(),
            on_cancel=self._stopped, owner=self, text="Drawing the chart",
        )  # fmt: skip
        self.changed.emit()

    def _continue(self) -> None:
        """Read the exact chart, after the one of the sample is painted."""
        read, self._read_next = self._read_next, None
        if read is not None:
            read()

    def _show(self, data: ChartData) -> None:
        """Show the chart, or a preview of it, which can be neither exported nor copied."""
        self._handle = None
        self.data = data
        self._selection = None
        self.brush_bar.hide()
        self.form.show_counts(counts_of(data, self._total), remarks_of(data))
        if not data.table.num_rows:
            self._say(NOTHING if data.rows else NO_ROWS, data)
            return
        if data.farthest > FARTHEST:
            self._say(TOO_FAR, data)
            return
        if data.narrowest < NARROWEST:
            self._say(TOO_NARROW, data)
            return
        unit = "" if data.x is None else data.x.unit
        self._entitle(title_of(data.spec, data.color is not None, unit))
        self._draw()
        self._enable(not data.sampled)
        self._show_page(figures=self._pages.currentWidget() is self.table)
        self.changed.emit()

    @property
    def _is_drawn(self) -> bool:
        """Whether there is a chart, and neither a message why there is none nor a first one being read."""
        return self.data is not None and self._pages.currentWidget() is not self.message

    def _toggle_figures(self) -> None:
        self._show_page(figures=self._pages.currentWidget() is not self.table)

    def _show_page(self, figures: bool) -> None:
        assert self.data is not None
        if figures:
            self.canvas.clear_brush()
            self.table.show_figures(self.data)
        self._pages.setCurrentWidget(self.table if figures else self._area)
        self._fit()
        self.copy.setEnabled(not figures and not self.data.sampled)

    def _draw(self) -> None:
        assert self.data is not None
        self.canvas.show_data(self.data, self.form.display)
        self.form.show_drawn(self.data)
        if not self.data.shows_points and self.data.spec.kind in ("heat_map", "scatter"):
            title = figure_title(self.data.spec) if self.data.spec.kind == "heat_map" else "Rows"
            self.legend.show_scale(RampScale(ramp_of(self.data), title))
            return
        named = self.canvas.names_lines or self.data.color is None
        hatched = self.data.spec.kind in ("bar", "histogram")
        partial = f"incomplete {self.data.x.unit}" if self.data.partial and self.data.x is not None else ""
        self.legend.show_looks([] if named else self.canvas.looks, hatched, self._sizes(), partial)

    def _sizes(self) -> SizeScale | None:
        assert self.data is not None
        name = self.data.spec.size
        if name is None or "size" not in self.data.table.column_names:
            return None
        sizes = PointSizes.of(self.data)
        return SizeScale(sizes, visible(name)) if sizes.greatest > 0 else None

    def _fail_to_cache(self, error: Exception) -> None:
        if not isinstance(error, LamellaError):  # such as a file that is gone, which the next chart says
            self._tasks.failed.emit(error)

    def _fail(self, error: Exception) -> None:
        self._handle = None
        if not isinstance(error, LamellaError):
            self._tasks.failed.emit(error)
        self._say(str(error))

    def _stopped(self) -> None:
        if self._handle is not None and not self._handle.running:
            self._handle = None
            self._say("Stopped. Change anything in the panel to draw the chart again.")

    def _say(self, text: str, data: ChartData | None = None) -> None:
        self.data = data
        self.message.setText(visible(text))
        self.canvas.clear_brush()
        self._pages.setCurrentWidget(self.message)
        self.legend.hide()
        self._fit()
        if data is None:
            self.form.show_counts([], [])
        self._enable(False)
        self.changed.emit()

    def _enable(self, on: bool) -> None:
        for button in (self.copy, self.figures, self.export):
            button.setEnabled(on)

    # ------------------------------------------------------------------- filtering

    def _show_brushed(self, selection: ChartSelection | None) -> None:
        self._selection = selection
        self.brush_bar.show_selection(selection)
        self._place_brush_bar()

    def _place_brush_bar(self) -> None:
        """Place the bar at the bottom, or at the top if only there it leaves the brush in sight."""
        bar, room = self.brush_bar, self._pages.geometry()
        bar.fit(room.width() - 2 * theme.L)
        area = self.canvas.brush_area
        brush = QRect(self.canvas.mapTo(self, area.topLeft()), area.size())
        left = room.right() - bar.width() - theme.L
        bottom = QRect(QPoint(left, room.bottom() - bar.height() - 3 * theme.XL), bar.size())
        top = QRect(QPoint(left, room.top() + theme.L), bar.size())
        at_top = bottom.intersects(brush) and not top.intersects(brush)
        bar.setGeometry(top if at_top else bottom)
        bar.raise_()

    def _drop(self) -> None:
        """Clear the brush, and return the keyboard from its bar to the chart."""
        self.canvas.setFocus()
        self.canvas.clear_brush()

    def _keep(self) -> None:
        selection = self._selection
        self._drop()
        if selection is not None:
            self._filter(selection)

    def _filter(self, selection: ChartSelection) -> None:
        if selection.condition is None:
            self.refused.emit(f"No condition can select these rows: {selection.text}")
        else:
            self.filter_requested.emit(selection.condition)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self._selection is not None:
            self._keep()
        elif event.key() == Qt.Key.Key_Escape:
            self.closed.emit()
        else:
            super().keyPressEvent(event)

    # ------------------------------------------------------------------- pictures

    def paint_picture(self, painter: QPainter) -> None:
        """Paint title, legend and chart for an export."""
        look, width = theme.current(), self.picture_size.width()
        painter.setFont(look.font(theme.TextSize.TITLE, bold=True))
        painter.setPen(look.color("text"))
        height = self._title_height
        painter.drawText(
            theme.L, 0, width - 2 * theme.L, height, int(Qt.AlignmentFlag.AlignVCenter), self._title
        )
        if not self.legend.isHidden():
            place, children = QPoint(0, height), QWidget.RenderFlag.DrawChildren
            self.legend.render(painter, place, QRegion(), children)
            height += self.legend.height()
        target = QRectF(0, height, self.canvas.width(), self.canvas.height())
        self.canvas.render(painter, target, self.canvas.viewport().rect())

    @property
    def picture_size(self) -> QSize:
        legend = 0 if self.legend.isHidden() else self.legend.height()
        return QSize(self.canvas.width(), self._title_height + legend + self.canvas.height())

    @property
    def _title_height(self) -> int:
        return 2 * theme.current().line_height(theme.TextSize.TITLE)

    def pixels(self) -> Any:
        return pixels_of(self.picture_size, self.paint_picture)

    def svg(self) -> str:
        return svg_of(f"Lamella: {self._title}", self.picture_size, self.paint_picture)

    def copy_picture(self) -> None:
        QGuiApplication.clipboard().setImage(self.pixels())

    # ------------------------------------------------------------------- set-up

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()
        self._place_brush_bar()

    def _fit(self) -> None:
        """In a narrow view, show only the icons of buttons, and make the panel narrower."""
        look = theme.current()
        self.form.setFixedWidth(min(look.px(WIDTH), round(self.width() * MOST_SHARE)))
        narrow = self.width() - self.form.width() < look.px(NARROW)
        self.copy.setText("" if narrow else f"{ICON_GAP}Copy")
        self.export.setText("" if narrow else "Export ▾")
        self.export.setIcon(look.icon("export") if narrow else QIcon())
        self.export.setIconSize(look.icon_size())
        for button in (self.copy, self.figures, self.export):
            button.setMaximumWidth(look.px(ICON_WIDTH) if narrow else ANY_WIDTH)
        self._name_figures(narrow)

    def _name_figures(self, narrow: bool) -> None:
        count = self.data.table.num_rows if self.data is not None and self._is_drawn else 0
        in_table = self._pages.currentWidget() is self.table
        name = (
            "Show the chart"
            if in_table
            else f"Show the {count:,} figures"
            if count > 1
            else "Show the figure"
            if count
            else "Show the figures"
        )
        self.figures.setAccessibleName(name)
        self.figures.setText("" if narrow else f"{ICON_GAP}{name}")
        self.figures.setIcon(theme.current().icon("chart-line" if in_table else "table"))

    def _entitle(self, title: str) -> None:
        self._title = title
        self.title.say(title)

    def _build(self) -> None:
        theme.variant(self.title, "title")
        theme.variant(self.message, "blank")
        self.message.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.message.setTextFormat(Qt.TextFormat.PlainText)
        self.message.setContentsMargins(theme.XL, theme.XL, theme.XL, theme.XL)
        for button, icon in ((self.copy, "copy"), (self.figures, "table")):
            theme.variant(button, "ghost")
            button.setIcon(theme.current().icon(icon))
        self.copy.setToolTip("Copy the chart as a picture")
        self.copy.setAccessibleName("Copy the chart")
        self.figures.setToolTip("Open the figures of the chart as a table")
        menu = QMenu(self.export)
        for kind, text in EXPORTS.items():
            menu.addAction(text, partial(self.export_requested.emit, kind))
        self.export.setMenu(menu)
        self.export.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.export.setToolTip("Save the chart as a picture, or its figures as a file")
        self.export.setAccessibleName("Export the chart")
        head = QHBoxLayout()
        head.setContentsMargins(theme.L, theme.S, theme.S, 0)
        head.setSpacing(theme.XS)
        head.addWidget(self.title, 1)
        for widget in (self.copy, self.figures, self.export):
            head.addWidget(widget)
        self._pages = QStackedWidget()
        self._area = QScrollArea(widgetResizable=True, frameShape=QFrame.Shape.NoFrame)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._area.setWidget(self.canvas)
        for page in (self._area, self.message, self.table):
            self._pages.addWidget(page)
        self._lay_out(head)
        self._connect()
        self._enable(False)

    def _lay_out(self, head: QHBoxLayout) -> None:
        left = QVBoxLayout()
        left.setContentsMargins(0, 0, 0, 0)
        left.setSpacing(theme.XS)
        left.addLayout(head)
        self.legend.setContentsMargins(theme.L, 0, theme.L, 0)
        left.addWidget(self.legend)
        left.addWidget(self._pages, 1)
        whole = QHBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(0)
        whole.addLayout(left, 1)
        whole.addWidget(self.form)
        self.setFocusProxy(self.canvas)

    def _connect(self) -> None:
        self.form.changed.connect(lambda _spec: self._read())
        self.form.displayed.connect(self._show_display)
        self.form.closed.connect(self.closed)
        self.canvas.brushed.connect(self._show_brushed)
        self.canvas.clicked.connect(self._filter)
        self.brush_bar.kept.connect(self._keep)
        self.brush_bar.dropped.connect(self._drop)
        self.copy.clicked.connect(self.copy_picture)
        self.figures.clicked.connect(self._toggle_figures)
        theme.current().changed.connect(self._restyle)

    def _show_display(self) -> None:
        if self._is_drawn:
            self._draw()
        self.changed.emit()

    def _restyle(self) -> None:
        for button, icon in ((self.copy, "copy"), (self.figures, "table")):
            button.setIcon(theme.current().icon(icon))
        self.brush_bar.keep.setIcon(theme.current().icon("filter"))
        self._fit()
        if self._is_drawn:
            self._draw()
