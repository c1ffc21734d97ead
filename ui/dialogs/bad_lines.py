"""The lines and values of a file that could not be read."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QPushButton,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from lamella.core.datasets.base import Problem
from lamella.core.errors import visible
from lamella.core.phrases import quantity
from lamella.ui import theme
from lamella.ui.widgets.list_menu import ListMenu

MOST_PROBLEMS, LONGEST_TEXT = 1_000, 500
SIZE = (760, 420)


class BadLinesDialog(QDialog):
    """Not modal, so that the rows can be seen."""

    def __init__(
        self, name: str, problems: Sequence[Problem], parent: QWidget | None = None, *, unit: str = "line"
    ) -> None:
        """`unit` is what is numbered: a line of a text file, or a row."""
        super().__init__(parent)
        self._problems = problems
        self.setWindowTitle("Bad lines")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.title = QLabel(f"{visible(name)}: {problem_counts(problems)}")
        theme.variant(self.title, "title")
        headings = [unit.capitalize(), "Column", "Text", "Why"]
        self._with_file = any(problem.file for problem in problems)
        self.list = QTreeWidget(rootIsDecorated=False, accessibleName="Lines that could not be read")
        self.list.setHeaderLabels(["File", *headings] if self._with_file else headings)
        self.list.header().setSectionResizeMode(
            len(headings) - 2 + self._with_file, QHeaderView.ResizeMode.Stretch
        )
        self.list.setUniformRowHeights(True)
        ListMenu(self.list)
        for problem in problems[:MOST_PROBLEMS]:
            self.list.addTopLevelItem(QTreeWidgetItem(self._cells(problem)))
        for column in range(self.list.columnCount()):
            self.list.resizeColumnToContents(column)
        more = len(problems) - MOST_PROBLEMS
        self.more_label = QLabel(f"and {more:,} more; an import collects all of them in a separate table")
        theme.variant(self.more_label, "muted")
        self.more_label.setVisible(more > 0)
        self.copy_button, close = QPushButton("Copy"), QPushButton("Close")
        self.copy_button.clicked.connect(self._copy)
        close.clicked.connect(self.reject)
        close.setDefault(True)
        row = QHBoxLayout(spacing=theme.S)
        row.addWidget(self.more_label)
        row.addStretch(1)
        row.addWidget(self.copy_button)
        row.addWidget(close)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.XL, theme.XL, theme.XL, theme.L)
        layout.setSpacing(theme.M)
        layout.addWidget(self.title)
        layout.addWidget(self.list, 1)
        layout.addLayout(row)
        self.resize(*SIZE)

    def _cells(self, problem: Problem) -> list[str]:
        text = visible(problem.text[:LONGEST_TEXT])
        cells = [f"{problem.line:,}", problem.column, text, problem.why]
        return [problem.file, *cells] if self._with_file else cells

    def _copy(self) -> None:
        """Copy the number and full text of each line."""
        lines = [f"{problem.line}\t{problem.text}" for problem in self._problems]
        QGuiApplication.clipboard().setText("\n".join(lines))


def problem_counts(problems: Sequence[Problem]) -> str:
    """Such as "2 lines left out, 1 value read as null"."""
    lines = sum(not problem.column for problem in problems)
    values = len(problems) - lines
    counts = [f"{quantity(lines, 'line')} left out"] if lines else []
    counts += [f"{quantity(values, 'value')} read as null"] if values else []
    return ", ".join(counts)


def show_problems(name: str, problems: Sequence[Problem], window: QWidget, unit: str = "line") -> None:
    BadLinesDialog(name, problems, window, unit=unit).show()
