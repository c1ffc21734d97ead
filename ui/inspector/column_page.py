"""The current column at full depth: figures of all rows and of those that are shown, and its values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from PySide6.QtCore import QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QHeaderView,
    QLabel,
    QLineEdit,
    QSizePolicy,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from lamella.core.errors import visible
from lamella.core.filters.expr import Filter, Predicate
from lamella.core.filters.kinds import Kind, kind_of
from lamella.core.jobs import Job
from lamella.core.query.builder import query_of
from lamella.core.query.profile import ColumnProfile, Histogram, profile
from lamella.core.query.source import SnapshotSource, Source
from lamella.core.query.steps import Aggregate, Group, Limit, Sort, Step, Where
from lamella.core.scan.snapshot import Snapshot, SortKey
from lamella.ui import theme
from lamella.ui.grid.texts import whole_texts

MOST_VALUES = 50
SEARCH_MS = 200
HEIGHT = 72
COUNT = "rows with this value"


@dataclass(frozen=True)
class ColumnFigures:
    """`part` is of the rows that meet the filter; None without one."""

    whole: ColumnProfile
    part: ColumnProfile | None
    values: tuple[tuple[str | None, Any, int], ...]
    """The most frequent: as text, themselves, and how many rows have them."""


def read_figures(snapshot: Snapshot, name: str, where: Filter | None, words: str, job: Job) -> ColumnFigures:
    """Blocks. Of the values, those that contain `words`."""
    whole = profile(snapshot, name, None, job)
    part = None if where is None else profile(snapshot, name, where, job)
    return ColumnFigures(whole, part, read_values(snapshot, name, where, words, job))


def read_values(
    snapshot: Snapshot, name: str, where: Filter | None, words: str, job: Job
) -> tuple[tuple[str | None, Any, int], ...]:
    """Blocks. The most frequent values of the rows that meet a filter; none of nested columns."""
    kind = snapshot.column(name).type
    if pa.types.is_nested(kind) or pa.types.is_null(kind):
        return ()
    source: Source = SnapshotSource(snapshot)
    steps: list[Step] = [] if where is None else [Where(where)]
    if words and kind_of(kind) is Kind.TEXT:
        steps.append(Where(Predicate(name, "contains", (words,), True)))
    steps += [
        Group((name,), ((COUNT, Aggregate("count")),)),
        Sort((SortKey(COUNT, True),)),
        Limit(MOST_VALUES),
    ]
    answer = query_of(source).with_steps(tuple(steps)).read(job)
    texts = whole_texts(answer.column(name), 64)
    return tuple(zip(texts, answer.column(name), answer.column(COUNT).to_pylist(), strict=True))


class HistogramView(QWidget):
    """Bars of one width, with the least and the greatest value under them."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._shown: Histogram | None = None
        self._text: Callable[[Any], str] = str

    def show_histogram(self, shown: Histogram | None, text: Callable[[Any], str]) -> None:
        self._shown, self._text = shown, text
        self.setVisible(shown is not None)
        self.setAccessibleName("Histogram" if shown is None else _histogram_words(shown, text))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(200, HEIGHT + theme.current().line_height())

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._shown is None:
            return
        look, painter, counts = theme.current(), QPainter(self), self._shown.counts
        below = look.line_height("caption")
        height, most = self.height() - below - 2, max(counts, default=0) or 1
        width = self.width() / max(1, len(counts))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(look.color("accent"))
        for place, count in enumerate(counts):
            tall = max(1.0, height * count / most) if count else 0.0
            painter.drawRect(QRectF(place * width, height - tall, max(1.0, width - 1), tall))
        painter.setFont(look.tabular_font("caption"))
        painter.setPen(look.color("muted"))
        line = self.rect().adjusted(0, height + 2, 0, 0)
        painter.drawText(line, Qt.AlignmentFlag.AlignLeft, self._text(self._shown.edges[0]))
        painter.drawText(line, Qt.AlignmentFlag.AlignRight, self._text(self._shown.edges[-1]))
        painter.end()


def _histogram_words(shown: Histogram, text: Callable[[Any], str]) -> str:
    most = max(range(len(shown.counts)), key=lambda place: shown.counts[place], default=0)
    between = f"{text(shown.edges[most])} and {text(shown.edges[most + 1])}" if shown.counts else ""
    return f"Histogram from {text(shown.edges[0])} to {text(shown.edges[-1])}, most between {between}"


class ColumnPage(QWidget):
    """`filter_requested` has a condition, for a value that was chosen; `values_requested` wants the values
    that contain a text."""

    filter_requested = Signal(object)
    values_requested = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title, self.kind = QLabel(), QLabel()
        self.histogram, self.figures, self.values = HistogramView(), QTreeWidget(), QTreeWidget()
        self.find = QLineEdit(placeholderText="Search the values", accessibleName="Search the values")
        self._name = ""
        self._wait = QTimer(self, singleShot=True, interval=SEARCH_MS)
        self._build()

    @property
    def words(self) -> str:
        return self.find.text().strip()

    def show_column(self, name: str, kind: pa.DataType, figures: ColumnFigures | None) -> None:
        """None while they are being read."""
        if name != self._name:
            self._name = name
            self.find.clear()
        self.title.setText(visible(name))
        self.kind.setText(str(kind))
        self.find.setVisible(kind_of(kind) is Kind.TEXT)
        if figures is None:
            self.histogram.show_histogram(None, str)
            self.figures.clear()
            self.values.clear()
            return
        shown = figures.part or figures.whole
        self.histogram.show_histogram(shown.histogram, lambda value: _text(value, kind))
        self._show_figures(figures, kind)
        self.show_values(figures.values, shown.rows)

    def show_unread(self, name: str, kind: pa.DataType) -> None:
        """A column that is computed as its rows are shown, and of no others."""
        self.show_column(name, kind, None)
        self.kind.setText(f"{kind}, computed as the rows are shown: sort by it for its figures")

    def show_nothing(self) -> None:
        self._name = ""
        self.title.setText("No column is current")
        self.kind.clear()
        self.histogram.show_histogram(None, str)
        self.figures.clear()
        self.values.clear()

    def show_values(self, values: tuple[tuple[str | None, Any, int], ...], rows: int) -> None:
        self.values.clear()
        look = theme.current()
        for text, value, count in values:
            item = QTreeWidgetItem(["NULL" if text is None else visible(text) or "(empty text)", f"{count:,}",
                                    f"{100 * count / rows:.1f}%" if rows else ""])  # fmt: skip
            item.setData(0, Qt.ItemDataRole.UserRole, value)
            for place in (1, 2):
                item.setTextAlignment(place, Qt.AlignmentFlag.AlignRight)
                item.setFont(place, look.tabular_font())
                item.setForeground(place, look.color("muted"))
            if not text:
                item.setForeground(0, look.color("faint"))
            self.values.addTopLevelItem(item)

    def _show_figures(self, figures: ColumnFigures, kind: pa.DataType) -> None:
        self.figures.clear()
        whole, part = figures.whole, figures.part
        self.figures.setHeaderLabels(["", "filtered", "all rows"] if part else ["", "all rows", ""])
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

    def _take(self, item: QTreeWidgetItem) -> None:
        value = item.data(0, Qt.ItemDataRole.UserRole)
        plain = value.as_py()
        null = Predicate(self._name, "is_null")
        self.filter_requested.emit(null if plain is None else Predicate(self._name, "eq", (plain,)))

    def _build(self) -> None:
        theme.variant(self.title, "title")
        theme.variant(self.kind, "caption")
        self.title.setWordWrap(True)
        self.find.setClearButtonEnabled(True)
        for tree, name in ((self.figures, "Figures of the column"), (self.values, "Most frequent values")):
            tree.setAccessibleName(name)
            tree.setColumnCount(3)
            tree.setRootIsDecorated(False)
            tree.header().setStretchLastSection(False)
            tree.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
            for place in (1, 2):
                tree.header().setSectionResizeMode(place, QHeaderView.ResizeMode.ResizeToContents)
        self.values.setHeaderHidden(True)
        self.values.setToolTip("Double-click a value to see its rows")
        self.figures.setSelectionMode(QTreeWidget.SelectionMode.NoSelection)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.M, theme.S, theme.M, theme.S)
        layout.setSpacing(theme.S)
        most = QLabel("Most frequent")
        theme.variant(most, "heading")
        for widget in (self.title, self.kind, self.histogram, self.figures, most, self.find):
            layout.addWidget(widget)
        layout.addWidget(self.values, 1)
        self.values.itemActivated.connect(self._take)
        self.find.textEdited.connect(lambda _: self._wait.start())
        self._wait.timeout.connect(lambda: self.values_requested.emit(self.words))


def _text(value: Any, kind: pa.DataType) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:,.6g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return visible(str(value))[:40]


def _lines(one: ColumnProfile, kind: pa.DataType) -> list[tuple[str, str]]:
    about = "≈ " if one.approximate else ""
    share = f" · {100 * one.nulls / one.rows:.1f}%" if one.rows and one.nulls else ""
    lines = [
        ("Rows", f"{one.rows:,}"),
        ("Null", f"{one.nulls:,}{share}"),
        ("Distinct", f"{about}{one.distinct:,}"),
    ]
    if pa.types.is_floating(kind):
        lines.append(("NaN", f"{one.nans:,}"))
    lines += [("Min", _text(one.min, kind)), ("Max", _text(one.max, kind))]
    if one.mean is not None:
        lines.append(("Mean", _text(one.mean, kind)))
    names = {0.05: "5%", 0.25: "25%", 0.5: "Median", 0.75: "75%", 0.95: "95%"}
    lines += [(names[part], f"{about}{_text(value, kind)}") for part, value in (one.quantiles or {}).items()]
    return lines
