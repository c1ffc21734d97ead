"""A comparison by column: the number of rows that differ, the largest difference, and examples."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHeaderView, QTreeWidget, QTreeWidgetItem, QWidget

from lamella.core.errors import visible
from lamella.core.filters.cell_texts import whole_texts
from lamella.core.query.comparison import Comparison
from lamella.core.query.comparison.comparison import CellExample, ColumnDifferences
from lamella.ui import theme
from lamella.ui.cards.words import percent

NAME, ROWS, SHARE, LARGEST = range(4)
LONGEST = 200
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
MOST_COLUMNS = 2_000
"""The most columns listed, those that differ most first."""
DIGITS, MOST_DIGITS = 1e6, 1e15
"""Between these values, a number is shown without a fraction and with all its digits."""
COLUMN = Qt.ItemDataRole.UserRole


class ComparisonSummary(QTreeWidget):
    """The list of columns. `column_chosen` carries the name of a column whose differences to show."""

    column_chosen = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        theme.variant(self, "panel")
        self._comparison: Comparison | None = None
        self.setAccessibleName("Differences by column")
        self.setHeaderLabels(["Column", "Rows that differ", "Share", "Largest difference"])
        self.setColumnCount(4)
        self.setUniformRowHeights(True)
        header = self.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(NAME, QHeaderView.ResizeMode.Stretch)
        for place in (ROWS, SHARE, LARGEST):
            header.setSectionResizeMode(place, QHeaderView.ResizeMode.ResizeToContents)
            self.headerItem().setTextAlignment(place, RIGHT)
        self.setToolTip("Enter or a double click shows the rows in which a column differs")
        self.itemDoubleClicked.connect(self._choose)
        theme.current().changed.connect(self._restyle)

    def show_comparison(self, comparison: Comparison | None) -> None:
        self._comparison = comparison
        self.clear()
        if comparison is None:
            return
        different = [column for column in comparison.columns if column.rows]
        equal = [column for column in comparison.columns if not column.rows]
        pairs = max(1, comparison.after.num_rows - len(comparison.added))
        different.sort(key=lambda column: -column.rows)
        for column in different[:MOST_COLUMNS]:
            self.addTopLevelItem(self._item(column, pairs))
        if equal:
            names = ", ".join(visible(column.name) for column in equal[:20])
            more = f" and {len(equal) - 20:,} more" if len(equal) > 20 else ""
            item = QTreeWidgetItem([f"Equal: {names}{more}"])
            item.setForeground(NAME, theme.current().color("muted"))
            self.addTopLevelItem(item)
            item.setFirstColumnSpanned(True)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        item = self.currentItem()
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and item is not None:
            self._choose(item)
        else:
            super().keyPressEvent(event)

    def _item(self, column: ColumnDifferences, pairs: int) -> QTreeWidgetItem:
        look = theme.current()
        largest = "" if column.largest is None else _number_text(column.largest)
        item = QTreeWidgetItem(
            [visible(column.name), f"{column.rows:,}", percent(column.rows, pairs), largest]
        )
        item.setData(NAME, COLUMN, column.name)
        for place in (ROWS, SHARE, LARGEST):
            item.setTextAlignment(place, RIGHT)
            item.setFont(place, look.tabular_font())
        item.setForeground(SHARE, look.color("muted"))
        for example in column.examples:
            child = QTreeWidgetItem([_example_text(example)])
            child.setForeground(NAME, look.color("muted"))
            child.setData(NAME, COLUMN, column.name)
            item.addChild(child)
            child.setFirstColumnSpanned(True)
        return item

    def _choose(self, item: QTreeWidgetItem) -> None:
        name = item.data(NAME, COLUMN)
        if name is not None:
            self.column_chosen.emit(name)

    def _restyle(self) -> None:
        self.show_comparison(self._comparison)


def _number_text(number: float) -> str:
    return f"{number:,.0f}" if DIGITS <= abs(number) < MOST_DIGITS else f"{number:,.6g}"


def _example_text(example: CellExample) -> str:
    before, after = (_text(value) for value in (example.before, example.after))
    return visible(f"row {example.after_row + 1:,}: {before} → {after}")


def _text(value: object) -> str:
    import pyarrow as pa

    assert isinstance(value, pa.Scalar)
    (text,) = whole_texts(pa.repeat(value, 1), LONGEST)
    return "NULL" if text is None else text or "(empty text)"
