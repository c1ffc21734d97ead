"""The saved runs as a list: their numbers, when, what, and a note that is written in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget

from lamella.core.bench.results.run import RunSummary
from lamella.ui import theme
from lamella.ui.bench.durations import about

Index = QModelIndex | QPersistentModelIndex
TITLES = ("Run", "When", "What", "Note")
RUN, WHEN, WHAT, NOTE = range(4)
HOW_TO_NOTE = "Double-click or press F2 to write a note"


class SavedRunsModel(QAbstractTableModel):
    """Newest first. `noted` says that the user gave a run another note."""

    noted = Signal(int, str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.runs: list[RunSummary] = []

    def show_runs(self, runs: Sequence[RunSummary]) -> None:
        self.beginResetModel()
        self.runs = list(runs)
        self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 -- as Qt has it
        return 0 if parent.isValid() else len(self.runs)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(TITLES)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = 0) -> Any:
        across = orientation == Qt.Orientation.Horizontal
        return TITLES[section] if across and role == Qt.ItemDataRole.DisplayRole else None

    def data(self, index: Index, role: int = 0) -> Any:
        run = self.runs[index.row()]
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.EditRole):
            return (run.id, shown_moment(run), run.title, run.note)[index.column()]
        if role == Qt.ItemDataRole.ToolTipRole:
            return HOW_TO_NOTE if index.column() == NOTE and not run.note else described(run)
        if role == Qt.ItemDataRole.ForegroundRole and index.column() in (RUN, WHEN):
            return theme.current().color("muted")
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        plain = super().flags(index)
        return plain | Qt.ItemFlag.ItemIsEditable if index.column() == NOTE else plain

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        run, text = self.runs[index.row()], str(value).strip()
        if role != Qt.ItemDataRole.EditRole or text == run.note:
            return False
        self.noted.emit(run.id, text)
        return True


class SavedRunsTable(QTableView):
    """Several can be chosen: two are compared."""

    chosen_changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.kept = SavedRunsModel(self)
        self.setModel(self.kept)
        self.setAccessibleName("Saved runs")
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(
            QAbstractItemView.EditTrigger.DoubleClicked | QAbstractItemView.EditTrigger.EditKeyPressed
        )
        theme.variant(self, "figures")
        self.setShowGrid(False)
        self.setTabKeyNavigation(False)
        self.setWordWrap(False)
        self.verticalHeader().hide()
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setSectionResizeMode(WHAT, QHeaderView.ResizeMode.Stretch)
        self.selectionModel().selectionChanged.connect(lambda *_: self.chosen_changed.emit())
        theme.current().changed.connect(self._fit)
        self._fit()

    @property
    def chosen(self) -> list[RunSummary]:
        """Newest first."""
        rows = sorted(index.row() for index in self.selectionModel().selectedRows())
        return [self.kept.runs[row] for row in rows]

    def show_runs(self, runs: Sequence[RunSummary]) -> None:
        """What was chosen stays chosen where it is still there; else the newest is."""
        before = {run.id for run in self.chosen}
        self.kept.show_runs(runs)
        rows = [row for row, run in enumerate(runs) if run.id in before] or ([0] if runs else [])
        self.choose(rows)
        self._fit()

    def choose(self, rows: Sequence[int]) -> None:
        selection = self.selectionModel()
        selection.clearSelection()
        for row in rows:
            both = selection.SelectionFlag.Select | selection.SelectionFlag.Rows
            selection.select(self.kept.index(row, 0), both)
        if rows:
            selection.setCurrentIndex(self.kept.index(rows[0], NOTE), selection.SelectionFlag.NoUpdate)
        self.chosen_changed.emit()

    def edit_note(self, row: int) -> None:
        self.edit(self.kept.index(row, NOTE))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.setColumnWidth(NOTE, self.viewport().width() // 5)

    def _fit(self) -> None:
        self.verticalHeader().setDefaultSectionSize(theme.current().line_height() + theme.M)
        for column in (RUN, WHEN):
            self.resizeColumnToContents(column)
            self.setColumnWidth(column, self.columnWidth(column) + theme.M)


def shown_moment(run: RunSummary) -> str:
    """In the user's own time zone."""
    return f"{run.started.astimezone():%Y-%m-%d %H:%M}"


def described(run: RunSummary) -> str:
    sizes = ", ".join(f"{rows:,}" for rows in run.sizes)
    failed = f", {run.failures} failed" if run.failures else ""
    return "\n".join(
        [
            run.title,
            f"{sizes} rows, {run.samples:,} samples{failed}, took {about(run.seconds)}",
            run.command,
        ]
    )
