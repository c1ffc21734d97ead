"""The current column in detail: figures of all rows and of the filtered ones, and its values."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from PySide6.QtCore import (
    QModelIndex,
    QPersistentModelIndex,
    QRect,
    QRectF,
    QSignalBlocker,
    QSize,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import QMouseEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import (
    QComboBox,
    QHeaderView,
    QLabel,
    QLineEdit,
    QPushButton,
    QSizePolicy,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from lamella.core.arrow.nested_values import python_values
from lamella.core.arrow.types import type_text
from lamella.core.errors import visible
from lamella.core.filters.cell_texts import whole_texts
from lamella.core.filters.expr import And, Filter, Predicate
from lamella.core.filters.kinds import Kind, kind_of
from lamella.core.jobs import Job
from lamella.core.query.cards import Bars, ColumnCard
from lamella.core.query.engine_figures import EngineRows, card_of, profile_of, query_of_rows
from lamella.core.query.expressions import col
from lamella.core.query.profile import ColumnProfile
from lamella.core.query.steps import Aggregate, Compute, Group, Limit, Sort, Step, Where
from lamella.core.scan.snapshot import Snapshot, SortKey
from lamella.ui import theme
from lamella.ui.cards.painter import paint_heights
from lamella.ui.cards.words import bar_text, value_text
from lamella.ui.grid.columns import has_sign
from lamella.ui.grid.texts import MINUS, with_minus
from lamella.ui.widgets.controls import breakable
from lamella.ui.widgets.field_buttons import add_clear_button

Index = QModelIndex | QPersistentModelIndex
MOST_VALUES, MOST_UNITS = 50, 1000
SEARCH_MS = 200
HEIGHT = 72
BAR = 6
SHARE_ROLE = Qt.ItemDataRole.UserRole + 1
COUNT = "rows with this value"
BEGIN = "start of the unit"
ITEMS = {Kind.TEXT: "characters", Kind.BINARY: "bytes", Kind.LIST: "items"}
UNITS = {
    "year": "Per year",
    "month": "Per month",
    "weekday": "Per day of the week",
    "hour": "Per hour of the day",
}
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

Values = tuple[tuple[str | None, Any, int], ...]
"""Each as a text, the value itself (or the condition for its rows, None if there is none), and its number of
rows."""


@dataclass(frozen=True)
class PageFigures:
    """`part` has the figures of the rows that meet the filter; None without a filter."""

    whole: ColumnProfile
    part: ColumnProfile | None
    values: Values
    card: ColumnCard | None = None


@dataclass(frozen=True)
class ValueList:
    """Which values the page lists: those that contain `words` or, for dates, the rows of each `unit`, a key
    of `UNITS`."""

    words: str = ""
    unit: str = ""


def read_figures(
    rows: Snapshot | EngineRows, where: Filter | None, name: str, request: ValueList, job: Job
) -> PageFigures:
    """Blocks."""
    whole = profile_of(rows, name, None, job)
    part = None if where is None else profile_of(rows, name, where, job)
    is_on_line = whole.histogram is not None
    bars = card_of(rows, name, where, job) if is_on_line else None
    return PageFigures(whole, part, read_values(rows, where, name, request, job), bars)


def read_values(
    rows: Snapshot | EngineRows, where: Filter | None, name: str, request: ValueList, job: Job
) -> Values:
    """The most frequent values of the rows that meet a filter, or the rows of each unit of time; none for
    nested columns. Blocks."""
    kind, words = rows.schema.field(name).type, request.words
    if pa.types.is_nested(kind) or pa.types.is_null(kind):
        return ()
    if request.unit in units_of(kind):
        return _read_units(rows, name, where, request.unit, job)
    steps: list[Step] = [] if where is None else [Where(where)]
    if words and kind_of(kind) is Kind.TEXT:
        steps.append(Where(Predicate(name, "contains", (words,), True)))
    steps += [
        Group((name,), ((COUNT, Aggregate("count")),)),
        Sort((SortKey(COUNT, True),)),
        Limit(MOST_VALUES),
    ]
    answer = _answer(rows, steps, job)
    texts = whole_texts(answer.column(name), 64)
    return tuple(zip(texts, answer.column(name), answer.column(COUNT).to_pylist(), strict=True))


def units_of(kind: pa.DataType) -> tuple[str, ...]:
    """The keys of `UNITS` by which values of a type can be counted."""
    if kind_of(kind) is Kind.DATE:
        return ("year", "month", "weekday")
    return tuple(UNITS) if kind_of(kind) is Kind.TIMESTAMP else ()


def _answer(rows: Snapshot | EngineRows, steps: Sequence[Step], job: Job) -> pa.Table:
    query = query_of_rows(rows)
    return query.with_steps((*query.pipeline.steps, *steps)).read(job)


def _read_units(rows: Snapshot | EngineRows, name: str, where: Filter | None, unit: str, job: Job) -> Values:
    value = col(name)
    part = value.weekday() if unit == "weekday" else value.hour() if unit == "hour" else value.truncate(unit)
    steps: list[Step] = [] if where is None else [Where(where)]
    steps += [
        Compute(((BEGIN, part),)),
        Group((BEGIN,), ((COUNT, Aggregate("count")),)),
        Sort((SortKey(BEGIN),)),
        Limit(MOST_UNITS),
    ]
    answer = _answer(rows, steps, job)
    keys, counts = python_values(answer.column(BEGIN)), answer.column(COUNT).to_pylist()
    kind = answer.column(BEGIN).type
    ticks = kind.unit if pa.types.is_timestamp(kind) else "D"
    texts = [None if key is None else _unit_text(key, unit, ticks) for key in keys]
    inside = [Predicate(name, "is_null") if key is None else _range(name, key, unit) for key in keys]
    return tuple(zip(texts, inside, counts, strict=True))


def _unit_text(key: Any, unit: str, ticks: str) -> str:
    """The text of a unit of time. `ticks` is NumPy's name for the unit in which a number counts since
    1970."""
    if unit == "weekday":
        return DAYS[key - 1]
    if unit == "hour":
        return f"{key:02}:00"
    if not isinstance(key, dt.date):  # a year that Python's calendar does not have
        moment = np.array(key, f"datetime64[{ticks}]")
        return str(moment.astype("datetime64[Y]" if unit == "year" else "datetime64[M]"))
    return f"{key.year:04}" if unit == "year" else f"{key.year:04}-{key.month:02}"


def _range(name: str, begin: Any, unit: str) -> Filter | None:
    """The rows from the start of a year or month to that of the next; None beyond Python's calendar."""
    if not isinstance(begin, dt.date):
        return None
    later = (begin.year + 1, 1) if unit == "year" or begin.month == 12 else (begin.year, begin.month + 1)
    if later[0] > dt.MAXYEAR:
        return None
    return And(
        (Predicate(name, "gte", (begin,)), Predicate(name, "lt", (begin.replace(later[0], later[1]),)))
    )


class HistogramView(QWidget):
    """Bars of all rows in grey, and inside them those of the rows that meet the filter. `filter_requested`
    has the condition for the bars that were selected by dragging."""

    filter_requested = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setToolTip("Drag over bars to filter")
        self._card: ColumnCard | None = None
        self._bars = Bars((), (), None)
        self._brush: tuple[int, int] | None = None

    def show_card(self, card: ColumnCard | None) -> None:
        """Show the histogram of a card; nothing for values that have no order."""
        self._card = card if card is not None and card.scale is not None else None
        self._brush = None
        self._arrange()
        self.setVisible(len(self._bars) > 0)
        self.setAccessibleName(self._words())
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(200, HEIGHT + theme.current().line_height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def bar_rect(self, place: int) -> QRectF:
        """The area of a bar at full height."""
        pitch = self.width() / max(1, len(self._bars))
        return QRectF(place * pitch, 0, max(1.0, pitch - 1), self._height)

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._card is None or not len(self._bars):
            return
        look, painter = theme.current(), QPainter(self)
        painter.setPen(Qt.PenStyle.NoPen)
        if self._brush is not None:
            low, high = sorted(self._brush)
            painter.fillRect(self.bar_rect(low).united(self.bar_rect(high)), look.color("accent_soft"))
        met, last_width = self._bars.matching_counts, self._bars.last_width
        area, pitch = QRectF(0, 0, self.width(), self._height), self.width() / len(self._bars)
        ink = look.color("card_met" if met is None else "card")
        paint_heights(painter, self._bars.counts, last_width, area, pitch, ink)
        if met is not None:
            paint_heights(painter, met, last_width, area, pitch, look.color("card_met"))
        painter.setFont(look.tabular_font("caption"))
        painter.setPen(look.color("muted" if self._brush is None else "accent"))
        line = self.rect().adjusted(0, round(self._height) + 2, 0, 0)
        if self._brush is not None:
            painter.drawText(
                line, Qt.AlignmentFlag.AlignCenter, bar_text(self._card, self._bars, *sorted(self._brush))
            )
        else:
            painter.drawText(
                line, Qt.AlignmentFlag.AlignLeft, value_text(self._card.figures.min, self._card.type)
            )
            painter.drawText(line, Qt.AlignmentFlag.AlignRight, self._last_text())
        painter.end()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() is Qt.MouseButton.LeftButton and self._can_filter:
            place = self._place(event.position().x())
            self._brush = place, place
            self.update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._brush is not None:
            self._brush = self._brush[0], self._place(event.position().x())
            self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        brush, self._brush = self._brush, None
        self.update()
        if brush is not None and self._card is not None:
            self.filter_requested.emit(self._card.range_filter(self._bars, *sorted(brush)))

    @property
    def _height(self) -> float:
        return self.height() - theme.current().line_height("caption") - 2

    @property
    def _can_filter(self) -> bool:
        return self._card is not None and self._card.is_comparable and self._bars.can_filter

    def _place(self, x: float) -> int:
        count = len(self._bars)
        return min(max(int(x * count / max(1, self.width())), 0), count - 1)

    def _arrange(self) -> None:
        self._bars = (
            Bars((), (), None) if self._card is None else self._card.bars(max(1, self.width() // BAR))
        )

    def _last_text(self) -> str:
        """The greatest value or, if there are a few outliers, the start of the last bar."""
        assert self._card is not None
        tail = bool(self._bars.edges) and self._card.has_tail
        edge = value_text(self._bars.edges[-1] if tail else self._card.figures.max, self._card.type)
        return f"≥ {edge}" if tail else edge

    def _words(self) -> str:
        if self._card is None or not len(self._bars):
            return "Histogram"
        counts = self._bars.counts if self._bars.matching_counts is None else self._bars.matching_counts
        most = max(range(len(counts)), key=lambda place: counts[place])
        figures = self._card.shown_figures
        between = (
            f"from {value_text(figures.min, self._card.type)} to {value_text(figures.max, self._card.type)}"
        )
        return f"Histogram {between}, most are {bar_text(self._card, self._bars, most, most)}"


class BarPainter(QStyledItemDelegate):
    """Paints a bar behind each value, with its count relative to that of the most frequent one."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        share = index.data(SHARE_ROLE)
        if share:
            room = QRectF(option.rect).adjusted(0, 2, -2, -2)
            room.setWidth(max(2.0, room.width() * share))
            painter.fillRect(room, theme.current().color("cell_bar"))
        super().paint(painter, option, index)


class ColumnPage(QWidget):
    """`filter_requested` has the condition for a value that was chosen, `values_requested` a `ValueList`, and
    `rules_requested` the name of the column whose default and checks to set."""

    filter_requested = Signal(object)
    values_requested = Signal(object)
    rules_requested = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title, self.kind = QLabel(), QLabel()
        self.histogram, self.figures, self.values = HistogramView(), QTreeWidget(), QTreeWidget()
        self.search = QLineEdit(placeholderText="Search the values", accessibleName="Search the values")
        self.unit, self.heading = QComboBox(accessibleName="Count the values"), QLabel("Most frequent")
        self.rules = QPushButton(flat=True, visible=False)
        self._name = ""
        self._column: tuple[str, pa.DataType, PageFigures | None] | None = None
        self._listed_values: tuple[Values, int] = ((), 0)
        self._wait = QTimer(self, singleShot=True, interval=SEARCH_MS)
        self._prepare_lists()
        self._lay_out()
        self._connect()

    @property
    def value_list(self) -> ValueList:
        return ValueList(self.search.text().strip(), self.unit.currentData() or "")

    def show_column(self, name: str, kind: pa.DataType, figures: PageFigures | None) -> None:
        """Show a column; `figures` is None while they are being read."""
        self._column = name, kind, figures
        self.heading.setVisible(self.unit.isHidden())
        if name != self._name:
            self._name = name
            self.search.clear()
            self._offer_units(units_of(kind))
        self.title.setText(breakable(visible(name)))
        self.kind.setText(type_text(kind))
        self.search.setVisible(kind_of(kind) is Kind.TEXT)
        if figures is None:
            self.histogram.show_card(None)
            self.figures.clear()
            self.values.clear()
            self._fit_values()
            return
        figures_ = figures.part or figures.whole
        self.histogram.show_card(figures.card)
        self._show_figures(figures, kind)
        self.show_values(figures.values, figures_.rows)

    def show_rules(self, text: str | None) -> None:
        """Show the default and the checks of the column; None if it cannot have any."""
        self.rules.setText(text or "Default and checks…")
        self.rules.setToolTip("" if text is None else "Set the default and the checks of this column")
        self.rules.setVisible(text is not None)

    def show_unread(self, name: str, kind: pa.DataType) -> None:
        """Show a column that is computed only for the rows on screen."""
        self.show_column(name, kind, None)
        why = "computed only for the rows on screen: sort by it to see its figures"
        self.kind.setText(f"{type_text(kind)}, {why}")

    def show_nothing(self) -> None:
        self._name, self._column = "", None
        self.show_rules(None)
        self.title.setText("Select a cell to see its column")
        self.kind.clear()
        self._offer_units(())
        self.heading.hide()
        self.search.hide()
        self.histogram.show_card(None)
        self.figures.clear()
        self.figures.setHeaderLabels(["", "", ""])
        self.values.clear()
        self._fit_values()

    def show_values(self, values: Values, rows: int) -> None:
        self._listed_values = values, rows
        self.values.clear()
        look = theme.current()
        most = max((count for _, _, count in values), default=0) or 1
        for text, value, count in values:
            says = "NULL" if text is None else visible(text) or "(empty text)"
            if isinstance(value, pa.Scalar) and has_sign(value.type):
                says = with_minus(says)
            item = QTreeWidgetItem([says, f"{count:,}", f"{100 * count / rows:.1f}%" if rows else ""])
            item.setData(0, Qt.ItemDataRole.UserRole, value)
            item.setData(0, SHARE_ROLE, count / most)
            for place in (1, 2):
                item.setTextAlignment(place, Qt.AlignmentFlag.AlignRight)
                item.setFont(place, look.tabular_font())
                item.setForeground(place, look.color("muted"))
            if not text:
                item.setForeground(0, look.color("faint"))
            self.values.addTopLevelItem(item)
        self._fit_values()

    def _fit_values(self) -> None:
        """Give the list the height of all its values: what does not fit is scrolled with the page."""
        count = self.values.topLevelItemCount()
        self.values.setFixedHeight(count * self.values.sizeHintForRow(0) + 2 if count else 0)

    def place_of(self, item: QTreeWidgetItem) -> QRect:
        """Where a value is on the page."""
        rect = self.values.visualItemRect(item)
        return QRect(self.values.viewport().mapTo(self, rect.topLeft()), rect.size())

    def _restyle(self) -> None:
        """Restyle the items of the lists, which keep the font and colours that they were given."""
        _, kind, figures = self._column or ("", pa.null(), None)
        if figures is not None:
            self._show_figures(figures, kind)
            self.show_values(*self._listed_values)

    def _show_figures(self, figures: PageFigures, kind: pa.DataType) -> None:
        self.figures.clear()
        whole, part = figures.whole, figures.part
        self.figures.setHeaderLabels(["", "filtered", "all rows"] if part else ["", "all rows", ""])
        self.figures.setColumnHidden(2, part is None)
        for place in (1, 2):
            self.figures.headerItem().setTextAlignment(place, Qt.AlignmentFlag.AlignRight)
        rows = zip(_lines(part or whole, kind), _lines(whole, kind), strict=False)
        for (title, first), (_, second) in rows:
            item = QTreeWidgetItem([title, first, second if part else ""])
            for place in (1, 2):
                item.setTextAlignment(place, Qt.AlignmentFlag.AlignRight)
                item.setFont(place, theme.current().tabular_font())
            item.setForeground(2, theme.current().color("muted"))
            self.figures.addTopLevelItem(item)
        line = max(1, self.figures.sizeHintForRow(0))
        header = self.figures.header().sizeHint().height()
        self.figures.setFixedHeight(self.figures.topLevelItemCount() * line + header + 2)

    def _offer_units(self, units: tuple[str, ...]) -> None:
        """Offer units, keeping the one chosen for the previous column if this one has it."""
        earlier_unit = self.unit.currentData()
        with QSignalBlocker(self.unit):
            self.unit.clear()
            self.unit.addItem("Most frequent", "")
            for unit in units:
                self.unit.addItem(UNITS[unit], unit)
            self.unit.setCurrentIndex(max(0, self.unit.findData(earlier_unit)))
        self.unit.setVisible(bool(units))
        self.heading.setVisible(not units)

    def _take(self, item: QTreeWidgetItem) -> None:
        value = item.data(0, Qt.ItemDataRole.UserRole)
        if value is None:
            return
        if isinstance(value, Filter):
            self.filter_requested.emit(value)
            return
        plain = value.as_py()
        null = Predicate(self._name, "is_null")
        self.filter_requested.emit(null if plain is None else Predicate(self._name, "eq", (plain,)))

    def _prepare_lists(self) -> None:
        for tree, name in ((self.figures, "Figures of the column"), (self.values, "Most frequent values")):
            theme.variant(tree, "panel")
            tree.setHeaderLabels(["", "", ""])
            tree.setAccessibleName(name)
            tree.setColumnCount(3)
            tree.setRootIsDecorated(False)
            tree.header().setStretchLastSection(False)
            tree.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
            for place in (1, 2):
                tree.header().setSectionResizeMode(place, QHeaderView.ResizeMode.ResizeToContents)
        self.values.setHeaderHidden(True)
        self.values.setItemDelegateForColumn(0, BarPainter(self.values))
        self.values.setUniformRowHeights(True)
        self.values.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.values.setToolTip("Double-click a value to see its rows")
        self.figures.setSelectionMode(QTreeWidget.SelectionMode.NoSelection)

    def _lay_out(self) -> None:
        theme.variant(self.title, "title")
        theme.variant(self.kind, "caption")
        self.title.setWordWrap(True)
        add_clear_button(self.search)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.M, theme.S, theme.M, theme.S)
        layout.setSpacing(theme.S)
        theme.variant(self.heading, "heading")
        self._offer_units(())
        top = (
            self.title,
            self.kind,
            self.histogram,
            self.figures,
            self.heading,
            self.unit,
            self.search,
        )
        for widget in top:
            layout.addWidget(widget)
        layout.addWidget(self.values)
        theme.variant(self.rules, "ghost")
        layout.addWidget(self.rules, 0, Qt.AlignmentFlag.AlignLeft)
        layout.addStretch(1)

    def _connect(self) -> None:
        theme.current().changed.connect(self._restyle)
        self.values.itemActivated.connect(self._take)
        self.histogram.filter_requested.connect(self.filter_requested)
        self.rules.clicked.connect(lambda: self.rules_requested.emit(self._name))
        self.search.textEdited.connect(lambda _: self._wait.start())
        self._wait.timeout.connect(lambda: self.values_requested.emit(self.value_list))
        self.unit.activated.connect(lambda _: self.values_requested.emit(self.value_list))


def _text(value: Any, kind: pa.DataType) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:,.6g}".replace("-", MINUS)
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}".replace("-", MINUS)
    if isinstance(value, Decimal) and value.is_finite():
        return f"{value:,f}".replace("-", MINUS)[:40]
    if isinstance(value, bool | dt.timedelta):
        return value_text(value, kind)
    return visible(str(value))[:40]


def _lines(profile: ColumnProfile, kind: pa.DataType) -> list[tuple[str, str]]:
    about = "≈ " if profile.approximate else ""
    share = f" · {100 * profile.nulls / profile.rows:.1f}%" if profile.rows and profile.nulls else ""
    lines = [
        ("Rows", f"{profile.rows:,}"),
        ("Null", f"{profile.nulls:,}{share}"),
        ("Distinct", f"{about}{profile.distinct:,}"),
    ]
    if pa.types.is_floating(kind):
        lines.append(("NaN", f"{profile.nans:,}"))
    lines += [("Min", _text(profile.min, kind)), ("Max", _text(profile.max, kind))]
    if profile.mean is not None:
        lines.append(("Mean", _text(profile.mean, kind)))
    if profile.lengths is not None:
        short, long = profile.lengths.min, profile.lengths.max
        between = f"{short:,}" if short == long else f"{short:,} – {long:,}"
        lines += [
            (ITEMS[kind_of(kind)].capitalize(), between),
            ("Mean length", f"{profile.lengths.mean:,.1f}"),
            ("Empty", f"{profile.lengths.empty:,}"),
        ]
    names = {0.05: "5%", 0.25: "25%", 0.5: "Median", 0.75: "75%", 0.95: "95%"}
    lines += [
        (names[part], f"{about}{_text(value, kind)}") for part, value in (profile.quantiles or {}).items()
    ]
    return lines
