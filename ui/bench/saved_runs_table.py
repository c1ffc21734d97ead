"""The table of saved runs, with notes that can be edited, and a hint where there are none."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QPushButton,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from lamella.core.bench.results.run import RunSummary
from lamella.core.errors import LamellaError
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
    def selection(self) -> list[RunSummary]:
        """Newest first."""
        rows = sorted(index.row() for index in self.selectionModel().selectedRows())
        return [self.kept.runs[row] for row in rows]

    def show_runs(self, runs: Sequence[RunSummary]) -> None:
        """What was chosen stays chosen where it is still there; else the newest is."""
        before = {run.id for run in self.selection}
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


class SavedRunsHint(QWidget):
    move_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title, self.words = QLabel(), QLabel()
        self.move, self.folder = QPushButton("Move the file aside"), QPushButton("Open its folder")
        self._path = Path()
        self._build()

    def show_hint(self, title: str, words: str) -> None:
        self._show(title, words, problem=False)

    def show_problem(self, error: LamellaError, path: Path) -> None:
        self._path = path
        self._show("The saved runs cannot be shown", str(error), problem=True)

    def _show(self, title: str, words: str, problem: bool) -> None:
        self.title.setText(title)
        self.words.setText(words)
        theme.variant(self.words, "danger" if problem else "muted")
        for button in (self.move, self.folder):
            button.setVisible(problem)

    def _open_folder(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._path.parent)))

    def _build(self) -> None:
        theme.variant(self.title, "title")
        theme.variant(self.move, "primary")
        self.move.setToolTip(
            "It gets another name, and the next benchmark begins a new one: nothing is deleted"
        )
        self.words.setWordWrap(True)
        self.words.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        for label in (self.title, self.words):
            label.setAlignment(Qt.AlignmentFlag.AlignCenter)
        buttons = QHBoxLayout()
        buttons.setSpacing(theme.S)
        buttons.addStretch(1)
        for button in (self.move, self.folder):
            button.setAutoDefault(False)
            buttons.addWidget(button)
        buttons.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.XL, 0, theme.XL, 0)
        layout.setSpacing(theme.M)
        layout.addStretch(2)
        layout.addWidget(self.title)
        layout.addWidget(self.words)
        layout.addLayout(buttons)
        layout.addStretch(3)
        self.show_hint("", "")
        self.move.clicked.connect(self.move_requested)
        self.folder.clicked.connect(self._open_folder)
