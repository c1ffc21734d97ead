"""The axes of charts: numbers, logarithms, dates and times, durations, and names of places."""

from __future__ import annotations

import datetime as dt
import math
import re
import sys
from collections.abc import Iterator, Sequence
from html import escape, unescape
from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFontMetrics, QPainter

from lamella.core.filters.kinds import Kind, kind_of
from lamella.core.query.charts import ChartData
from lamella.core.query.charts.dimensions import OTHERS, UNIT_SECONDS, Dimension, next_begin
from lamella.core.query.charts.spec import BAR, BOX, HEAT_MAP
from lamella.ui import theme
from lamella.ui.cards.words import number_text, short_number
from lamella.ui.charts.words import LONGEST, figures_are_durations, tick_text

Ticks = list[tuple[float, list[float]]]
"""Levels of ticks: the distance between ticks, and their positions."""

EVERYWHERE = (-math.inf, math.inf)
TURNED_SHARE = 0.72
"""Height and width of a text turned by 45 degrees, as a share of its length."""
BETWEEN = [math.log10(step) for step in range(2, 10)]
LEAST_DECADES = 1.5
"""On axes shorter than this, 2 and 5 are labelled as well, and 3, 4 and 7 if 4 and 5 are far enough apart."""
FOUR_TO_FIVE = math.log10(5 / 4)
LEAST_SHORT = 9
"""From this power of ten on, numbers between powers have no labels."""
FEW_WHOLE = 6
"""On a shorter axis of whole numbers, each has a tick."""
BELOW = 6
"""Pixels between an axis and the labels below it, which do not touch the lowest one beside it."""
MOMENT_PIXELS, SPAN_PIXELS = 84, 70
"""Pixels that the label of a date or time, and of a duration, takes along its axis."""


class ChartAxis(pg.AxisItem):
    """An axis whose kind of ticks can change: PySide crashes if axes are added and removed. There are no
    ticks outside the `span`."""

    def __init__(self, orientation: str) -> None:
        super().__init__(orientation)
        self.enableAutoSIPrefix(False)
        if orientation == "bottom":
            self.setStyle(tickTextOffset=BELOW)
        self.ticks: NumberTicks | LogTicks | MomentTicks | SpanTicks | NameTicks = NumberTicks()
        self.span = EVERYWHERE

    def show_ticks(self, ticks: NumberTicks | LogTicks | MomentTicks | SpanTicks | NameTicks) -> None:
        self.ticks, self.span, self.picture = ticks, EVERYWHERE, None
        self.setWidth(None) if self.orientation == "left" else self.setHeight(None)
        self.update()

    def fit(self, pixels: float) -> None:
        """Make room for the labels of an axis of this length."""
        if isinstance(self.ticks, NameTicks) and self.style["showValues"]:
            room = self.ticks.fit(pixels, self.orientation)
            if self.orientation == "left":
                self.setWidth(room + self._label_height())
            else:
                self.setHeight(room + self._label_height())

    def reserve(self, low: float, high: float, pixels: float) -> None:
        """Reserve exactly the room for labels and title, so that panels side by side have the same."""
        metrics = QFontMetrics(theme.current().font(theme.TextSize.CAPTION))
        if self.orientation == "bottom":
            self.setHeight(metrics.height() + theme.S + self._label_height())
            return
        texts = [
            text
            for spacing, values in self.tickValues(low, high, pixels)
            for text in self.tickStrings(values, 1.0, spacing)
        ]
        self.setWidth(max(map(metrics.horizontalAdvance, texts), default=0) + theme.L + self._label_height())

    @property
    def overhang(self) -> int:
        """Pixels by which a turned label extends to the left of its tick."""
        return self.ticks.overhang if isinstance(self.ticks, NameTicks) and self._is_turned else 0

    @property
    def _is_turned(self) -> bool:
        return isinstance(self.ticks, NameTicks) and self.ticks.turned and self.orientation == "bottom"

    def boundingRect(self) -> QRectF:
        """The bounds, with room for labels beyond the ends: pyqtgraph draws only those inside."""
        bounds: QRectF = super().boundingRect()
        beyond = theme.current().line_height(theme.TextSize.CAPTION)
        if self.orientation == "left":
            return bounds.adjusted(0, -beyond, 0, beyond)
        wide = self.ticks.widest if self._is_turned and isinstance(self.ticks, NameTicks) else 0
        return bounds.adjusted(-max(wide, 2 * beyond), 0, max(wide, theme.M), 0)

    def resizeEvent(self, ev: Any = None) -> None:
        if self.label is not None:  # pyqtgraph removes it on closing
            self.label.setHtml(self.labelString())
        super().resizeEvent(ev)

    def labelString(self) -> str:
        """The title as HTML, without its middle if the axis is shorter."""
        length = self.size().height() if self.orientation == "left" else self.size().width()
        metrics = QFontMetrics(theme.current().font(theme.TextSize.CAPTION))
        text = unescape(self.labelText)
        if length > 0:  # 0 before the axis is laid out
            room = round(length) - 2 * theme.S
            text = metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, room)
        style = ";".join(f"{name}: {value}" for name, value in self.labelStyle.items())
        return f"<span style='{style}'>{escape(text)}</span>"

    def _label_height(self) -> int:
        return theme.current().line_height() if self.label.isVisible() else 0

    def tickValues(self, minVal: float, maxVal: float, size: float) -> Ticks:
        own = self.ticks.values(minVal, maxVal, size, self.orientation)
        levels = super().tickValues(minVal, maxVal, size) if own is None else own
        least, most = self.span
        return [(spacing, [at for at in values if least <= at <= most]) for spacing, values in levels]

    def tickStrings(self, values: Sequence[float], scale: float, spacing: float) -> list[str]:
        return self.ticks.texts(values, spacing)

    def drawPicture(self, p: QPainter, axisSpec: Any, tickSpecs: Any, textSpecs: Any) -> None:
        labels = [] if self._is_turned else textSpecs
        if isinstance(self.ticks, NumberTicks):
            texts = even_decimals([text for _, _, text in labels])
            labels = [(rect, flags, text) for (rect, flags, _), text in zip(labels, texts, strict=True)]
        super().drawPicture(p, axisSpec, tickSpecs, labels)
        if self._is_turned:
            self._draw_turned_texts(p, textSpecs)

    def _draw_turned_texts(self, p: QPainter, textSpecs: Any) -> None:
        p.setFont(theme.current().font(theme.TextSize.CAPTION))
        p.setPen(self.textPen())
        height = p.fontMetrics().height()
        right = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        for rect, _flags, text in textSpecs:
            p.save()
            p.translate(QPointF(rect.center().x(), rect.top()))
            p.rotate(-45)
            long = p.fontMetrics().horizontalAdvance(text)
            p.drawText(QRectF(-long - 2, -height / 2 + 3, long + 2, height), right, text)
            p.restore()


class NumberTicks:
    """Numbers with enough digits to distinguish the ticks; years have no separators. A `whole` axis has no
    ticks between whole numbers."""

    def __init__(self, whole: bool = False, years: bool = False) -> None:
        self._whole, self._years = whole, years
        self._end = 0.0
        """The end of the axis that is further from 0: texts of all its ticks are alike."""

    def values(self, low: float, high: float, size: float, orientation: str) -> Ticks | None:
        """The ticks; None to use those of pyqtgraph."""
        self._end = max(abs(low), abs(high))
        if not self._whole or high - low > FEW_WHOLE:
            return None
        return [(1.0, [float(number) for number in range(math.ceil(low), math.floor(high) + 1)])]

    def texts(self, values: Sequence[float], spacing: float) -> list[str]:
        if self._years:
            return [str(round(value)) if float(value).is_integer() else "" for value in values]
        largest = max(self._end, max(map(abs, values), default=0.0))
        if largest >= 1e6 or (largest and largest < 1e-4):
            return [short_number(value) if value else "0" for value in values]
        digits = max(0, math.ceil(-math.log10(spacing) - 1e-9)) if spacing < 1 else 0
        if not digits:
            return [number_text(round(value)) for value in values]
        return [number_text(float(value) + 0.0, digits) for value in values]


DECIMAL = re.compile(r"[^\d.]?[\d,]+(?:\.(\d+))?")


def even_decimals(texts: Sequence[str]) -> list[str]:
    """All labels of an axis with as many decimals as the longest, such as 0.0 beside 0.5."""
    parts = [DECIMAL.fullmatch(text) for text in texts]
    most = max((len(part[1] or "") for part in parts if part), default=0)
    if not most or not all(parts):
        return list(texts)
    return [
        f"{text}{'' if '.' in text else '.'}{'0' * (most - len(part[1] or ''))}"
        for text, part in zip(texts, parts, strict=True)
        if part
    ]


class LogTicks:
    """Positions are log10, with ticks at each power of ten and at 2 … 9 between; at round numbers where fewer
    than two of these would have a label."""

    def __init__(self) -> None:
        self._step, self._steps = 1, set[float]()
        self._round: dict[float, str] = {}
        """The labels of round numbers, by their places."""

    def values(self, low: float, high: float, size: float, orientation: str) -> Ticks:
        room = 56 if orientation == "bottom" else 16
        self._step = max(1, math.ceil(room * (high - low) / max(1.0, size)))
        is_wide = FOUR_TO_FIVE * size >= room * (high - low)
        digits = () if high - low >= LEAST_DECADES else (2, 3, 4, 5, 7) if is_wide else (2, 5)
        self._steps = {round(math.log10(step), 6) for step in digits}
        decades = range(math.ceil(low - 1e-9), math.floor(high + 1e-9) + 1)
        between = [d + part for d in range(math.floor(low), math.ceil(high)) for part in BETWEEN]
        levels = [(1.0, [float(d) for d in decades]), (0.1, [v for v in between if low <= v <= high])]
        self._round = {}
        if sum(bool(text) for spacing, places in levels for text in self.texts(places, spacing)) < 2:
            self._round = _round_numbers(low, high, max(2, int(size / room)))
            return [(1.0, list(self._round))] if self._round else levels
        return levels

    def texts(self, values: Sequence[float], spacing: float) -> list[str]:
        if self._round:
            return [self._round.get(value, "") for value in values]
        if spacing >= 1:
            return [_power(value) if round(value) % self._step == 0 else "" for value in values]
        return [_power(value) if round(value % 1, 6) in self._steps else "" for value in values]


def _round_numbers(low: float, high: float, most: int) -> dict[float, str]:
    """At most so many round numbers between two places of a log axis, and their labels; empty where numbers
    cannot be told apart."""
    if not sys.float_info.min_10_exp <= low < high <= min(sys.float_info.max_10_exp, LEAST_SHORT):
        return {}
    least, greatest = 10.0**low, 10.0**high
    power = 10.0 ** math.floor(math.log10((greatest - least) / most or 1.0))
    step = next(power * digit for digit in (1, 2, 5, 10, 20) if (greatest - least) / most <= power * digit)
    numbers = [
        n * step for n in range(math.ceil(least / step - 1e-6), math.floor(greatest / step + 1e-6) + 1)
    ]
    digits = max(0, math.ceil(-math.log10(step) - 1e-9))
    return {
        math.log10(number): number_text(number if digits else round(number), digits) for number in numbers
    }


def _power(place: float) -> str:
    if not sys.float_info.min_10_exp <= place <= sys.float_info.max_10_exp:
        return ""  # in the margin beside the outermost numbers
    value = 10.0**place
    return number_text(round(value)) if 1 <= value < 1e6 else short_number(value)


DAY = 86_400
MONTH, YEAR = 2_629_746, 31_556_952
CLOCK_STEPS = (1, 5, 15, 30, 60, 300, 900, 1_800, 3_600, 10_800, 21_600, 43_200)
DAY_STEPS = (1, 2, 7, 14)
MONTH_STEPS = (1, 2, 3, 6)
MONDAY = 4 * DAY
"""The first Monday since 1970: weeks begin on it."""
OVER_UNITS = (BAR, BOX, HEAT_MAP)
"""The kinds of charts whose marks stand over whole units of time; points of others are where these begin."""
_EPOCH = dt.datetime(1970, 1, 1)
_ENDS = (-62_135_596_800, 253_402_300_799)
"""The limits of Python's calendar, in seconds since 1970."""


NAMED_STEPS = {
    "day": (DAY, 14 * DAY),
    "week": (7 * DAY, 14 * DAY),
    "month": (MONTH, 6 * MONTH),
    "quarter": (3 * MONTH, 6 * MONTH),
    "year": (12 * MONTH, math.inf),
}
"""The least and greatest distance of labels that name units of time, by unit; those further apart name longer
units, which begin at a line."""


class MomentTicks:
    """Seconds since 1970, with ticks at whole minutes, hours, days, Mondays, months or years.

    `unit` is the unit of time that bars stand over: no two ticks are closer together, and a label that names
    a unit from a day on stands in its middle. Other labels are where they begin, as times of day."""

    def __init__(self, unit: str = "") -> None:
        self._unit = unit
        self._begins: dict[float, float] = {}
        """Where each unit begins, by its middle."""

    def values(self, low: float, high: float, size: float, orientation: str) -> Ticks:
        least = (high - low) * MOMENT_PIXELS / max(1.0, size)
        least = max(least, 0.99 * UNIT_SECONDS[self._unit]) if self._unit else least
        low, high = max(low, _ENDS[0]), min(high, _ENDS[1])
        self._begins = {}
        if high <= low:
            return [(1.0, [])]
        for step in (*CLOCK_STEPS, *(days * DAY for days in DAY_STEPS)):
            if step >= least and (self._unit != "week" or step % (7 * DAY) == 0):
                offset = MONDAY if step % (7 * DAY) == 0 else 0
                first = math.ceil((low - offset) / step) * step + offset
                begins = [float(first + n * step) for n in range(int((high - first) // step) + 1)]
                return [(float(step), self._middles(begins, step, high))]
        for months in (*MONTH_STEPS, *(12 * years for years in _year_steps())):
            if months * MONTH >= least and (self._unit != "quarter" or months % 3 == 0):
                begins = list(_months(low, high, months))
                return [(float(months * MONTH), self._middles(begins, months * MONTH, high))]
        return [(float(YEAR), [])]

    def _middles(self, begins: list[float], step: float, high: float) -> list[float]:
        """The middles of units that labels `step` apart name."""
        named = NAMED_STEPS.get(self._unit)
        if named is None or not named[0] <= step <= named[1]:
            return begins
        for begin in begins:
            end = next_begin(_EPOCH + dt.timedelta(seconds=begin), self._unit)
            if end is not None and (middle := (begin + (end - _EPOCH).total_seconds()) / 2) <= high:
                self._begins[middle] = begin
        return list(self._begins)

    def texts(self, values: Sequence[float], spacing: float) -> list[str]:
        moments = [_EPOCH + dt.timedelta(seconds=self._begins.get(value, value)) for value in values]
        earlier: list[dt.datetime | None] = [None, *moments]
        pairs = zip(moments, earlier, strict=False)
        if self._unit == "quarter" and self._begins:
            return [_quarter_text(moment, before) for moment, before in pairs]
        return [self._text(moment, before, spacing) for moment, before in pairs]

    @staticmethod
    def _text(moment: dt.datetime, before: dt.datetime | None, spacing: float) -> str:
        if spacing >= 0.99 * YEAR:
            return str(moment.year)
        if spacing >= DAY:
            begins = before is not None and before.year != moment.year
            new_year = begins or (moment.month, moment.day) == (1, 1)
            if spacing >= 0.99 * MONTH:
                return f"{moment.year}" if new_year else f"{moment:%b}"
            return f"{moment.day} {moment:%b} {moment.year}" if new_year else f"{moment.day} {moment:%b}"
        if (moment.hour, moment.minute, moment.second) == (0, 0, 0):
            return f"{moment.day} {moment:%b}"
        return f"{moment:%H:%M}" if spacing >= 60 else f"{moment:%H:%M:%S}"


def _quarter_text(moment: dt.datetime, before: dt.datetime | None) -> str:
    quarter = f"Q{(moment.month + 2) // 3}"
    return quarter if before is not None and before.year == moment.year else f"{moment.year} {quarter}"


def _year_steps() -> Iterator[int]:
    return (many * 10**power for power in range(4) for many in (1, 2, 5))


def _months(low: float, high: float, step: int) -> Iterator[float]:
    first = _EPOCH + dt.timedelta(seconds=low)
    number = -(-(first.year * 12 + first.month - 1) // step) * step
    while 12 <= number < 12 * dt.MAXYEAR:
        begin = (dt.datetime(number // 12, number % 12 + 1, 1) - _EPOCH).total_seconds()
        if begin > high:
            return
        if begin >= low:
            yield begin
        number += step


class SpanTicks:
    """Seconds, as times of day or as durations; in days where the ticks are whole days apart."""

    def __init__(self, clock: bool) -> None:
        self._clock = clock

    def values(self, low: float, high: float, size: float, orientation: str) -> Ticks | None:
        room = SPAN_PIXELS if orientation == "bottom" else 24
        least = (high - low) * room / max(1.0, size)
        step = next((step for step in (*CLOCK_STEPS, *_day_steps()) if step >= least), None)
        if step is None or least < 0.2:
            return None
        first = math.ceil(low / step)
        return [(float(step), [float(n * step) for n in range(first, math.floor(high / step) + 1)])]

    def texts(self, values: Sequence[float], spacing: float) -> list[str]:
        return [self._text(value, spacing) for value in values]

    def _text(self, value: float, spacing: float) -> str:
        sign, seconds = "−" if value < 0 else "", abs(value)
        if spacing < 1:
            return f"{sign}{number_text(seconds)} s"
        if self._clock and not 0 <= value <= DAY:
            return ""
        if spacing >= DAY and not self._clock:
            return f"{sign}{round(seconds / DAY):,} d"
        hours, minutes = int(seconds // 3_600), int(seconds % 3_600 // 60)
        return f"{sign}{hours}:{minutes:02}" + (f":{int(seconds % 60):02}" if spacing < 60 else "")


def _day_steps() -> Iterator[int]:
    return (many * 10**power * DAY for power in range(12) for many in (1, 2, 5))


class NameTicks:
    """The label of each place of a dimension. Below a chart, labels are turned if they do not fit side by
    side, and some are left out if that is not enough, but not that of all other values."""

    def __init__(self, dimension: Dimension) -> None:
        self._names = {place.at: tick_text(dimension, place) for place in dimension.places}
        self._remaining_place = next((place.at for place in dimension.places if place.key == OTHERS), None)
        self.turned, self.widest, self.overhang = False, 0, 0

    def fit(self, pixels: float, orientation: str) -> int:
        """The pixels that labels take across an axis of this length."""
        metrics = QFontMetrics(theme.current().font(theme.TextSize.CAPTION))
        widths = [metrics.horizontalAdvance(name) for name in self._names.values()]
        widest = self.widest = max(widths, default=0)
        self.overhang = round(widths[0] * TURNED_SHARE) if widths else 0
        if orientation == "left":
            return min(widest, metrics.horizontalAdvance("m" * LONGEST)) + theme.M
        self.turned = widest + theme.XS > pixels / max(1, len(self._names))
        height = widest * TURNED_SHARE + metrics.height() if self.turned else metrics.height()
        return round(height) + theme.S

    def values(self, low: float, high: float, size: float, orientation: str) -> Ticks:
        places = [at for at in self._names if low <= at <= high]
        room: float = theme.current().line_height(theme.TextSize.CAPTION)
        if self.turned and orientation == "bottom":  # the lines are closer together than their ticks
            room /= TURNED_SHARE
        step = max(1, math.ceil(room * (high - low) / max(1.0, size))) if places else 1
        first = places.index(self._remaining_place) % step if self._remaining_place in places else 0
        return [(1.0, places[first::step])]

    def texts(self, values: Sequence[float], spacing: float) -> list[str]:
        return [self._names.get(value, "") for value in values]


def ticks_of(
    dimension: Dimension, chart: str = ""
) -> NumberTicks | LogTicks | MomentTicks | SpanTicks | NameTicks:
    """The ticks of an axis for the places of a dimension, in a chart of this kind."""
    kind = kind_of(dimension.type)
    if dimension.log:
        return LogTicks()
    is_single = dimension.form == "values" and len(dimension) == 1 and kind is not Kind.INTEGER
    if is_single or not dimension.is_even:
        return NameTicks(dimension)
    if kind in (Kind.DATE, Kind.TIMESTAMP):
        stands = dimension.form == "moments" and chart in OVER_UNITS
        return MomentTicks(dimension.unit if stands else "")
    if kind in (Kind.TIME, Kind.DURATION):
        return SpanTicks(kind is Kind.TIME)
    ends = [place.low for place in dimension.places if place.key >= 0]
    whole = kind is Kind.INTEGER and bool(ends)
    return NumberTicks(whole, whole and all(1000 <= end < 3000 for end in (ends[0], ends[-1])))


def ticks_of_figures(data: ChartData) -> NumberTicks | LogTicks | SpanTicks:
    """The ticks of an axis along which figures are drawn as heights."""
    if data.spec.log_y:
        return LogTicks()
    if figures_are_durations(data.spec, data.types):
        return SpanTicks(clock=False)
    return NumberTicks(data.spec.counts)
