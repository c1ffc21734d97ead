"""The tables of a benchmark's results: sentences with verdicts, and all figures, which can be sorted."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, QSortFilterProxyModel, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QTableView,
    QTableWidget,
    QTableWidgetItem,
    QWidget,
)

from lamella.core.bench.engine.protocol import CRASHED, LIMIT, TOO_LARGE, WRONG, Failure, UnsupportedStep
from lamella.core.bench.results.compare import Ratio
from lamella.core.bench.results.figures import in_order, shown_rows, shown_seconds
from lamella.core.bench.results.records import Summary
from lamella.core.phrases import quantity
from lamella.ui import theme
from lamella.ui.bench.bar_chart import NOTHING
from lamella.ui.bench.benchmark_results import BenchmarkResults, Display, lost_words, title_of
from lamella.ui.bench.series import CROSS
from lamella.ui.widgets.items import cell_of

VERDICTS = {WRONG: "✕ Wrong answer", CRASHED: "✕ Crashed", LIMIT: "■ Limit", TOO_LARGE: "✕ Too large"}
FAILED, CANNOT = "✕ Failed", "– Cannot"


@dataclass(frozen=True)
class Finding:
    """One sentence with its verdict. `color` is a name of the palette; the verdict's sign means the same."""

    verdict: str
    sentence: str
    color: str
    details: str = ""


def findings(
    failures: Sequence[Failure], ratios: Sequence[Ratio], unsupported: Sequence[UnsupportedStep]
) -> list[Finding]:
    """All sentences, failures first: readers of the ratios should know which systems are missing."""
    findings = [of_failure(failure) for failure in failures] + [of_ratio(ratio) for ratio in ratios]
    return findings + unsupported_findings(unsupported)


def of_failure(failure: Failure) -> Finding:
    doing = f", {failure.operation.replace('_', ' ')}" if failure.operation else ""
    sentence = f"{title_of(failure.system)}, {shown_rows(failure.rows)}{doing}: {failure.message}"
    if failure.kind == WRONG:
        sentence += ". Its time does not count."
    color = "warning" if failure.kind in (LIMIT, TOO_LARGE) else "danger"
    return Finding(VERDICTS.get(failure.kind, FAILED), sentence, color, failure.details)


def of_ratio(ratio: Ratio) -> Finding:
    if ratio.verdict == "as fast":
        return Finding(f"≈ {ratio.verdict}", ratio.sentence, "muted")
    sign, color = ("▲", "success") if ratio.factor > 1 else ("▼", "warning")
    return Finding(f"{sign} {ratio.verdict}", ratio.sentence, color)


def unsupported_findings(unsupported: Iterable[UnsupportedStep]) -> list[Finding]:
    """One sentence for all steps that a system lacks for the same reason."""
    steps: dict[tuple[str, str], list[str]] = {}
    for gap in unsupported:
        steps.setdefault((gap.system, gap.reason), []).append(gap.step.replace("_", " "))
    return [
        Finding(CANNOT, f"{title_of(system)}, {', '.join(names)}: {reason}", "muted")
        for (system, reason), names in steps.items()
    ]


class FindingsTable(QTableWidget):
    """The table of sentences; only changed rows are rewritten."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(0, 2, parent)
        self.setAccessibleName("Results in sentences")
        self.setHorizontalHeaderLabels(["Verdict", "Result"])
        self.horizontalHeader().setVisible(False)
        self.verticalHeader().setVisible(False)
        self.setShowGrid(False)
        self.setWordWrap(True)
        self.setTabKeyNavigation(False)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.verticalHeader().setMinimumSectionSize(0)
        self.horizontalHeader().setSectionResizeMode(1, QHeaderView.ResizeMode.Stretch)
        self._findings: list[Finding] = []
        self._width = 0
        theme.current().changed.connect(self._write_anew)

    def show_findings(self, findings: Sequence[Finding]) -> None:
        self.setRowCount(len(findings))
        changed = [row for row, finding in enumerate(findings) if self._findings[row : row + 1] != [finding]]
        self._findings = list(findings)
        for row in changed:
            self._put(row, findings[row])
        if changed:
            self._fit_verdicts()
            self._fit_rows(changed)

    def sentences(self) -> list[str]:
        return [cell_of(self, row, 1).text() for row in range(self.rowCount())]

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != self._width:
            self._width = event.size().width()
            self._fit_rows(range(self.rowCount()))

    def _write_anew(self) -> None:
        findings, self._findings, self._width = self._findings, [], 0
        self.setColumnWidth(0, 0)
        self.show_findings(findings)

    def _fit_verdicts(self) -> None:
        self.resizeColumnToContents(0)
        self.setColumnWidth(0, self.columnWidth(0) + theme.L)

    def _fit_rows(self, rows: Sequence[int]) -> None:
        """Make rows tall enough for their sentences, which wrap instead of being cut off."""
        for row in rows:
            self.resizeRowToContents(row)
            self.setRowHeight(row, self.rowHeight(row) + theme.XS)

    def _put(self, row: int, finding: Finding) -> None:
        colors = theme.current()
        first, second = QTableWidgetItem(finding.verdict), QTableWidgetItem(finding.sentence)
        first.setForeground(colors.color(finding.color))
        first.setFont(colors.font(bold=True))
        first.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        second.setForeground(colors.color("danger" if finding.color == "danger" else "text"))
        second.setToolTip(finding.details or finding.sentence)
        self.setItem(row, 0, first)
        self.setItem(row, 1, second)


Index = QModelIndex | QPersistentModelIndex
SORT_ROLE = Qt.ItemDataRole.UserRole
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
ROOT = QModelIndex()


@dataclass(frozen=True)
class StatisticsRow:
    """One system at one size; `fastest` of all at that size by the mean. `failure` says why there is no
    summary."""

    system: str
    rows: int
    summary: Summary | None
    fastest: bool = False
    failure: str = ""


Value = Callable[[Summary], float]

COLUMNS: dict[str, tuple[str, Value]] = {
    "Mean": ("", lambda summary: summary.mean),
    "P50": ("The median: half of the samples are faster", lambda summary: summary.median),
    "P95": ("95 of 100 samples are faster", lambda summary: summary.percentile(95)),
    "P99": ("99 of 100 samples are faster", lambda summary: summary.percentile(99)),
    "Lowest": ("The fastest sample", lambda summary: summary.lowest),
    "Per second": ("Operations per second, run one after another", lambda summary: 1 / summary.mean),
    "Deviation": ("Standard deviation of the samples", lambda summary: summary.deviation),
    "Samples": ("Calls that were timed", lambda summary: summary.count),
}
TITLES = ("System", "Rows", *COLUMNS)
COUNTS = ("Rows", "Samples")


def statistics_rows(results: BenchmarkResults, display: Display) -> list[StatisticsRow]:
    """The rows of one operation: largest size first, systems in the table's order, then failures."""
    points = results.tally.summaries("seconds", display.samples, display.operation)
    points = {point: summary for point, summary in points.items() if summary.mean > 0}
    best = {rows: min(s.mean for (_, _, size), s in points.items() if size == rows) for _, _, rows in points}
    order = in_order(system for _, system, _ in points)
    keys = sorted(points, key=lambda point: (-point[2], order.index(point[1])))
    measured = [
        StatisticsRow(b, rows, points[o, b, rows], points[o, b, rows].mean == best[rows])
        for o, b, rows in keys
    ]
    failed = [
        StatisticsRow(system, rows, None, failure=lost_words(failure))
        for system, by_rows in results.failures_of(display.operation).items()
        for rows, failure in by_rows.items()
        if (display.operation, system, rows) not in points
    ]
    return [*measured, *failed]


class StatisticsTable(QTableView):
    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Statistics")
        self.figures = _Figures()
        proxy = QSortFilterProxyModel(self)
        proxy.setSourceModel(self.figures)
        proxy.setSortRole(SORT_ROLE)
        self.setModel(proxy)
        self.setSortingEnabled(True)
        self.sortByColumn(-1, Qt.SortOrder.AscendingOrder)
        self.setShowGrid(False)
        self.setTabKeyNavigation(False)
        self.setAlternatingRowColors(True)
        self.verticalHeader().setVisible(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        self.horizontalHeader().setHighlightSections(False)
        self._fitted_width = -1
        theme.current().changed.connect(self._restyle)
        self._restyle()

    def show_rows(self, rows: Sequence[StatisticsRow]) -> None:
        self.figures.show_rows(rows)
        if not self._fitted_width <= len(rows) < 2 * self._fitted_width:
            self._fitted_width = len(rows)
            self.resizeColumnsToContents()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self.figures.rows:
            painter = QPainter(self.viewport())
            painter.setPen(theme.current().color("muted"))
            painter.drawText(self.viewport().rect(), int(Qt.AlignmentFlag.AlignCenter), NOTHING)
            painter.end()

    def _restyle(self) -> None:
        self.verticalHeader().setDefaultSectionSize(theme.current().line_height() + theme.S)
        self._fitted_width = -1
        self.show_rows(self.figures.rows)


class _Figures(QAbstractTableModel):
    def __init__(self) -> None:
        super().__init__()
        self.rows: list[StatisticsRow] = []

    def show_rows(self, rows: Sequence[StatisticsRow]) -> None:
        """Show rows, updating them in place if they are of the same systems and sizes."""
        same = [(row.system, row.rows) for row in rows] == [(row.system, row.rows) for row in self.rows]
        if not same:
            self.beginResetModel()
        changed = [place for place, row in enumerate(rows) if not same or row is not self.rows[place]]
        self.rows = list(rows)
        if not same:
            self.endResetModel()
        elif changed:
            self.dataChanged.emit(self.index(changed[0], 0), self.index(changed[-1], len(TITLES) - 1))

    def rowCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(TITLES)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        row, title = self.rows[index.row()], TITLES[index.column()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return _cell_text(title, _value(row, title))
            case _ if role == SORT_ROLE:
                value = _value(row, title)
                return math.inf if title in COLUMNS and isinstance(value, str) else value
            case Qt.ItemDataRole.TextAlignmentRole:
                return LEFT if title == "System" else RIGHT
            case Qt.ItemDataRole.FontRole:
                return theme.current().tabular_font(bold=row.fastest)
            case Qt.ItemDataRole.ForegroundRole:
                return theme.current().color("danger") if row.failure else None
            case Qt.ItemDataRole.ToolTipRole:
                fastest = f"{title_of(row.system)} is the fastest at {quantity(row.rows, 'row')}"
                return fastest if row.fastest else row.failure or None
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        if orientation != Qt.Orientation.Horizontal:
            return None
        title = TITLES[section]
        about, _ = COLUMNS.get(title, ("", None))
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return title
            case Qt.ItemDataRole.ToolTipRole:
                return about or None
            case Qt.ItemDataRole.TextAlignmentRole:
                return LEFT if title == "System" else RIGHT
        return None


def _value(row: StatisticsRow, title: str) -> float | str:
    if title == "System":
        return title_of(row.system)
    if title == "Rows":
        return row.rows
    if row.summary is None:
        return f"{CROSS} {row.failure.partition(':')[0]}" if title == "Mean" else ""
    return COLUMNS[title][1](row.summary)


def _cell_text(title: str, value: float | str) -> str:
    if isinstance(value, str):
        return value
    if title in COUNTS:
        return f"{value:,.0f}"
    if title == "Per second":
        return f"{value:,.0f}" if value >= 100 else f"{value:,.3g}"
    return shown_seconds(value) if value else "0"
