"""The picture of a benchmark: lines over rows or bars by operation, and beside them whose they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QScrollArea, QStackedWidget, QWidget

from lamella.ui import theme
from lamella.ui.bench.bar_chart import NOTHING, BarChart, Bars
from lamella.ui.bench.legend import Legend
from lamella.ui.bench.line_canvas import LineCanvas, Spot
from lamella.ui.bench.quantities import Quantity, Scale
from lamella.ui.bench.series import Series

INSET_WIDTH, INSET_HEIGHT = 0.4, 0.48
"""Of the linear plot, as in the notebook of the small benchmark."""

SMALLEST_INSET = 140
LEAST_HEIGHT = 120
LEGEND_SHARE = 0.38
"""Of the width, at most: the rest is for lines and bars."""


class BenchmarkPlot(QWidget):
    """Shows what it is given; lines and bars that the legend has off are left out."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Plot of the benchmark")
        self.setMinimumSize(320, LEAST_HEIGHT)
        self.legend, self.bars = Legend(), BarChart()
        self.log = LineCanvas(log=True)
        self._again: Callable[[], None] = lambda: None
        self._stack, self._area = QStackedWidget(), QScrollArea(widgetResizable=True)
        self._nothing = QLabel(NOTHING)
        self._build()

    @cached_property
    def even(self) -> WithInset:
        """Made when it is first wanted: most benchmarks are only looked at by powers of ten."""
        made = WithInset()
        self._stack.addWidget(made)
        return made

    @property
    def canvas(self) -> LineCanvas:
        """The lines that are shown."""
        shown = self._stack.currentWidget()
        return shown if isinstance(shown, LineCanvas) else self.log

    @property
    def picture(self) -> QWidget:
        """Of an export: all bars, which say whose they are, or the lines and their legend."""
        return self.bars if self.shows_bars else self

    @property
    def spots(self) -> list[Spot]:
        return self.canvas.spots

    @property
    def shows_bars(self) -> bool:
        return self._stack.currentWidget() is self._area

    def show_lines(self, series: Sequence[Series], quantity: Quantity, scale: Scale) -> None:
        def draw() -> None:
            shown = [one for one in series if one.label not in self.legend.hidden]
            canvas.show_series(shown, quantity)
            if scale is not Scale.LOG:
                self.even.show_inset(shown, quantity, scale is Scale.INSET)

        canvas = self.log if scale is Scale.LOG else self.even
        self._stack.setCurrentWidget(canvas if series else self._nothing)
        self.legend.show_series(series)
        self._draw(draw)

    def show_bars(self, bars: Bars) -> None:
        self._stack.setCurrentWidget(self._area)
        self.legend.show_series(bars.series)
        self._draw(lambda: self.bars.show_bars(bars.without(self.legend.hidden)))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.legend.limit(round(event.size().width() * LEGEND_SHARE))

    def _draw(self, draw: Callable[[], None]) -> None:
        self._again = draw
        draw()

    def _draw_again(self) -> None:
        self._again()

    def _build(self) -> None:
        self._area.setWidget(self.bars)
        self._nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        theme.variant(self._nothing, "blank")
        for page in (self.log, self._area, self._nothing):
            self._stack.addWidget(page)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.S)
        layout.addWidget(self._stack, 1)
        layout.addWidget(self.legend)
        self.legend.changed.connect(self._draw_again)


class WithInset(LineCanvas):
    """Lines on even axes and, in the corner where they are lowest, the same ones by powers of ten."""

    def __init__(self) -> None:
        super().__init__(log=False)
        self.inset = LineCanvas(log=True, small=True, parent=self)
        self.inset.hide()
        self._frame_inset()
        theme.current().changed.connect(self._frame_inset)

    def show_inset(self, series: Sequence[Series], quantity: Quantity, shown: bool) -> None:
        self.inset.setVisible(shown)
        if shown:
            self.inset.show_series(series, quantity)
            self._place_inset()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if hasattr(self, "inset"):
            self._place_inset()

    def _frame_inset(self) -> None:
        self.inset.setStyleSheet(f"border: 1px solid {theme.current().colors.border_strong};")

    def _place_inset(self) -> None:
        box = self.getViewBox().sceneBoundingRect()
        width = max(SMALLEST_INSET, round(box.width() * INSET_WIDTH))
        height = max(SMALLEST_INSET, round(box.height() * INSET_HEIGHT))
        self.inset.setGeometry(QRect(round(box.left()) + theme.XL, theme.M, width, height))
