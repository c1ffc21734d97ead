"""The answers of two engines to one line of steps, side by side where they differ."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import (
    QDialog,
    QHeaderView,
    QLabel,
    QPushButton,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from lamella.core.errors import visible
from lamella.core.phrases import quantity
from lamella.core.query.answer_comparison import Comparison
from lamella.ui import theme
from lamella.ui.dialogs.work_dialog import fit_into_window

SIZE = QSize(640, 420)
LONGEST = 200
HINT = (
    "A sample draws different rows on each engine, and a limit on unsorted rows returns arbitrary rows of a"
    " server."
)


class AnswerComparison(QDialog):
    def __init__(
        self, comparison: Comparison, own_title: str, engine_title: str, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle("Compare with local")
        self.title = QLabel(verdict(comparison), wordWrap=True)
        theme.variant(self.title, "title")
        self.about = QLabel(
            f"{visible(own_title)}, here: {quantity(comparison.rows_here, 'row')}."
            f" {engine_title}: {quantity(comparison.rows_there, 'row')}.",
            wordWrap=True,
        )
        theme.variant(self.about, "muted")
        self.list = QTreeWidget(rootIsDecorated=False, accessibleName="Where the answers differ")
        self.list.setHeaderLabels(["Row", "Column", "DuckDB", "Spark"])
        self.list.header().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        for difference in comparison.differences:
            texts = [
                f"{difference.row:,}",
                visible(difference.column),
                _text(difference.here),
                _text(difference.there),
            ]
            self.list.addTopLevelItem(QTreeWidgetItem(texts))
        hint = QLabel(HINT, wordWrap=True)
        theme.variant(hint, "muted")
        close = QPushButton("Close")
        close.clicked.connect(self.accept)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.XL, theme.XL, theme.XL, theme.L)
        layout.setSpacing(theme.M)
        for part in (self.title, self.about, self.list, hint):
            layout.addWidget(part)
        layout.addWidget(close, alignment=Qt.AlignmentFlag.AlignRight)
        self.list.setVisible(bool(comparison.differences))
        hint.setVisible(not comparison.is_same)
        if comparison.differences:
            fit_into_window(self, SIZE * theme.current().text_scale)


def verdict(comparison: Comparison) -> str:
    if comparison.is_same:
        return "The answers are the same"
    if comparison.problem:
        return comparison.problem
    count = len(comparison.differences)
    more = "more than " if comparison.has_more else ""
    return f"The answers differ in {more}{quantity(count, 'place')}"


def _text(value: Any) -> str:
    text = "null" if value is None else visible(str(value))
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"
