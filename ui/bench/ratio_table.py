"""The results in words: who was faster at each size, and what went wrong."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableWidget, QTableWidgetItem, QWidget

from core.bench.backends import entry_named
from core.bench.protocol import Failure
from core.bench.ratios import Ratio, shown_rows
from ui import theme


class RatioTable(QTableWidget):
    """One row per ratio or failure: a verdict, and the sentence that holds it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(0, 2, parent)
        self.setAccessibleName("Results in sentences")
        self.setHorizontalHeaderLabels(["Verdict", "Result"])
        self.horizontalHeader().setVisible(False)
        self.verticalHeader().setVisible(False)
        self.setShowGrid(False)
        self.setWordWrap(True)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.horizontalHeader().setSectionResizeMode(1, QHeaderView.ResizeMode.Stretch)
        self._ratios: Sequence[Ratio] = ()
        self._failures: Sequence[Failure] = ()
        theme.current().changed.connect(self._fill)

    def show_results(self, ratios: Sequence[Ratio], failures: Sequence[Failure]) -> None:
        """Failures stand first: whoever reads the ratios should know who is missing."""
        self._ratios, self._failures = ratios, failures
        self._fill()

    def sentences(self) -> list[str]:
        return [self.item(row, 1).text() for row in range(self.rowCount())]

    def _fill(self) -> None:
        self.setRowCount(len(self._failures) + len(self._ratios))
        self.verticalHeader().setDefaultSectionSize(theme.current().line_height() + theme.M)
        for row, failure in enumerate(self._failures):
            self._put(row, "Failed", failure_sentence(failure), "danger", failure.details)
        for row, ratio in enumerate(self._ratios, start=len(self._failures)):
            self._put(row, _sign(ratio) + ratio.verdict, ratio.sentence, _color(ratio), "")
        self.resizeColumnToContents(0)
        self.setColumnWidth(0, self.columnWidth(0) + theme.L)
        self._fit_rows()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_rows()

    def _fit_rows(self) -> None:
        """A sentence takes a second line rather than being cut."""
        self.resizeRowsToContents()
        for row in range(self.rowCount()):
            self.setRowHeight(row, self.rowHeight(row) + theme.S)

    def _put(self, row: int, verdict: str, sentence: str, color: str, details: str) -> None:
        colors = theme.current()
        first, second = QTableWidgetItem(verdict), QTableWidgetItem(sentence)
        first.setForeground(colors.color(color))
        first.setFont(colors.font(bold=True))
        first.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        second.setForeground(colors.color("text"))
        second.setToolTip(details or sentence)
        self.setItem(row, 0, first)
        self.setItem(row, 1, second)


def failure_sentence(failure: Failure) -> str:
    doing = f", {failure.operation.replace('_', ' ')}" if failure.operation else ""
    return f"{entry_named(failure.backend).title}, {shown_rows(failure.rows)}{doing}: {failure.message}"


def _sign(ratio: Ratio) -> str:
    """Colour is not the only signal."""
    if ratio.verdict == "as fast":
        return "≈ "
    return "▲ " if ratio.factor > 1 else "▼ "


def _color(ratio: Ratio) -> str:
    if ratio.verdict == "as fast":
        return "muted"
    return "success" if ratio.factor > 1 else "warning"
