"""A benchmark in sentences, each with its verdict: failures, who was faster, what could not be asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableWidget, QTableWidgetItem, QWidget

from lamella.core.bench.engine.protocol import CRASHED, LIMIT, TOO_LARGE, WRONG, Failure, Unsupported
from lamella.core.bench.results.compare import Ratio
from lamella.core.bench.results.figures import shown_rows
from lamella.ui import theme
from lamella.ui.bench.benchmark_results import title_of

VERDICTS = {WRONG: "✕ Wrong answer", CRASHED: "✕ Crashed", LIMIT: "■ Limit", TOO_LARGE: "✕ Too large"}
FAILED, CANNOT = "✕ Failed", "– Cannot"


@dataclass(frozen=True)
class Finding:
    """`color` is a name of the palette; the verdict's sign says the same."""

    verdict: str
    sentence: str
    color: str
    details: str = ""


def findings(
    failures: Sequence[Failure], ratios: Sequence[Ratio], unsupported: Sequence[Unsupported]
) -> list[Finding]:
    """Failures stand first: whoever reads the ratios should know who is missing."""
    told = [of_failure(failure) for failure in failures] + [of_ratio(ratio) for ratio in ratios]
    return told + of_unsupported(unsupported)


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


def of_unsupported(unsupported: Iterable[Unsupported]) -> list[Finding]:
    """One sentence for all steps that a system has the same reason for."""
    steps: dict[tuple[str, str], list[str]] = {}
    for one in unsupported:
        steps.setdefault((one.system, one.reason), []).append(one.step.replace("_", " "))
    return [
        Finding(CANNOT, f"{title_of(system)}, {', '.join(names)}: {reason}", "muted")
        for (system, reason), names in steps.items()
    ]


class FindingsTable(QTableWidget):
    """Only rows that say something else than before are written again."""

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
        self._shown: list[Finding] = []
        self._width = 0
        theme.current().changed.connect(self._write_anew)

    def show_findings(self, found: Sequence[Finding]) -> None:
        self.setRowCount(len(found))
        changed = [row for row, one in enumerate(found) if self._shown[row : row + 1] != [one]]
        self._shown = list(found)
        for row in changed:
            self._put(row, found[row])
        if changed:
            self._fit_verdicts()
            self._fit_rows(changed)

    def sentences(self) -> list[str]:
        return [self.item(row, 1).text() for row in range(self.rowCount())]

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != self._width:
            self._width = event.size().width()
            self._fit_rows(range(self.rowCount()))

    def _write_anew(self) -> None:
        found, self._shown, self._width = self._shown, [], 0
        self.setColumnWidth(0, 0)
        self.show_findings(found)

    def _fit_verdicts(self) -> None:
        self.resizeColumnToContents(0)
        self.setColumnWidth(0, self.columnWidth(0) + theme.L)

    def _fit_rows(self, rows: Sequence[int]) -> None:
        """A sentence takes a second line rather than being cut."""
        for row in rows:
            self.resizeRowToContents(row)
            self.setRowHeight(row, self.rowHeight(row) + theme.XS)

    def _put(self, row: int, found: Finding) -> None:
        colors = theme.current()
        first, second = QTableWidgetItem(found.verdict), QTableWidgetItem(found.sentence)
        first.setForeground(colors.color(found.color))
        first.setFont(colors.font(bold=True))
        first.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        second.setForeground(colors.color("danger" if found.color == "danger" else "text"))
        second.setToolTip(found.details or found.sentence)
        self.setItem(row, 0, first)
        self.setItem(row, 1, second)
