"""All columns of a dataset as a table of their figures, which can be searched and sorted; rows on screen are
computed first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QPainter, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QLineEdit,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from lamella.core.filters import Filter
from lamella.core.phrases import quantity
from lamella.core.query.computed_view import ComputedView
from lamella.core.query.engine_figures import EngineRows
from lamella.core.scan.snapshot import Snapshot
from lamella.ui import theme
from lamella.ui.cards.painter import paint_heights
from lamella.ui.profiles.figures import NUMBERS, TITLES, Figure, ProfileRow, matches, sort_rows
from lamella.ui.profiles.loader import ProfileLoader
from lamella.ui.tasks import Tasks
from lamella.ui.widgets.controls import IconButton
from lamella.ui.widgets.field_buttons import add_clear_button

WIDTHS = (144, 96, 104, 60, 76, 100, 100, 96, 100, 160)
MOST_WIDTH = 200
WIDE_FIGURES = (
    Figure.NAME, Figure.MIN, Figure.MAX, Figure.MEDIAN, Figure.TYPE, Figure.TOP, Figure.MEAN, Figure.DISTINCT
)  # fmt: skip
"""The columns that get room for all of their texts, those first that need it most."""
SORT_AFTER_MS = 300
Index = QModelIndex | QPersistentModelIndex
NOWHERE = QModelIndex()


class ProfilesModel(QAbstractTableModel):
    """The rows that match the search, sorted by a figure."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.rows: list[ProfileRow] = []
        self.sorted_section, self.arrow = -1, ""

    def rowCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else len(TITLES)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = 0) -> Any:
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return f"{TITLES[section]}{self.arrow}" if section == self.sorted_section else TITLES[section]
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.TextAlignmentRole:
            return _side_of(Figure(section))
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        row, figure = self.rows[index.row()], Figure(index.column())
        if role == Qt.ItemDataRole.DisplayRole:
            return row.text(figure)
        if role == Qt.ItemDataRole.ToolTipRole:
            return row.error or row.text(figure)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{TITLES[figure]}: {row.text(figure) or row.error or 'none'}"
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _side_of(figure)
        if role == Qt.ItemDataRole.ForegroundRole and figure is Figure.TYPE:
            return theme.current().color("muted")
        return None

    def show_rows(self, rows: list[ProfileRow]) -> None:
        self.layoutAboutToBeChanged.emit()
        self.rows = rows
        self.layoutChanged.emit()

    def show_sort(self, sort_order: tuple[Figure, bool] | None) -> None:
        """Mark the sorted column in its title: Qt's own arrow covers titles that are aligned to the right."""
        self.sorted_section = -1 if sort_order is None else int(sort_order[0])
        self.arrow = "" if sort_order is None else f" {'↓' if sort_order[1] else '↑'}"
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, len(TITLES) - 1)

    def put(self, row: ProfileRow) -> None:
        """Show the figures of a column."""
        for place, old_row in enumerate(self.rows):
            if old_row.name == row.name:
                self.rows[place] = row
                self.dataChanged.emit(self.index(place, 0), self.index(place, len(TITLES) - 1))
                return


def _side_of(figure: Figure) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignRight if figure in NUMBERS else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter


class SpreadDelegate(QStyledItemDelegate):
    """Draws the histogram of a column, or the share of its most frequent value."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        super().paint(painter, option, index)
        model = index.model()
        profile = model.rows[index.row()].profile if isinstance(model, ProfilesModel) else None
        if profile is None:
            return
        look, rect = theme.current(), option.rect
        area = QRectF(rect.x() + theme.S, rect.y() + theme.XS, rect.width() - 2 * theme.S, rect.height() - 6)
        if profile.histogram is not None and profile.histogram.counts:
            counts = profile.histogram.counts
            paint_heights(painter, counts, 1.0, area, area.width() / len(counts), look.color("card_met"))
        elif profile.top_values and profile.rows:
            area.setTop(area.center().y() - 2)
            area.setHeight(4)
            painter.fillRect(area, look.color("card"))
            area.setWidth(max(1.0, area.width() * profile.top_values[0][1] / profile.rows))
            painter.fillRect(area, look.color("card_met"))


class ProfilesView(QWidget):
    """`column_chosen` has the name of a column to go to; `export_requested` is emitted to export the
    figures."""

    column_chosen = Signal(str)
    export_requested = Signal()
    closed = Signal()

    def __init__(self, tasks: Tasks, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.loader = ProfileLoader(tasks, self)
        self.model, self.table = ProfilesModel(self), QTableView()
        self.search = QLineEdit(placeholderText="Columns by name or type")
        add_clear_button(self.search)
        self.search.setAccessibleName("Search columns by name or type")
        self.count = QLabel()
        self.count.setAccessibleName("Number of columns shown")
        theme.variant(self.count, "muted")
        self.export = IconButton("export", "Export these figures")
        self.close_button = IconButton("close", "Back to the rows (Esc)")
        self.sort_order: tuple[Figure, bool] | None = None
        self._rows: dict[str, ProfileRow] = {}
        self._by_hand: set[int] = set()
        self._is_fitting = False
        self._fits_figures = False
        self._again = QTimer(self, singleShot=True, interval=SORT_AFTER_MS)
        self._again.timeout.connect(self._arrange)
        self._build()
        self._connect()

    @property
    def rows(self) -> Sequence[ProfileRow]:
        """The rows of all columns, in the order of the dataset."""
        return list(self._rows.values())

    def show_rows(
        self,
        rows: Snapshot | EngineRows,
        where: Filter | None,
        computed: ComputedView | None,
        schema: pa.Schema,
    ) -> None:
        """Show the columns of other rows, whose figures arrive over time."""
        self._rows = {field.name: ProfileRow(field.name, field.type) for field in schema}
        self.loader.set_rows(rows, where, computed, list(self._rows))
        self._fits_figures = False
        self._arrange()
        self._fit()

    def _arrange(self) -> None:
        self._again.stop()
        current = self._current()
        words = self.search.text().casefold().split()
        rows = [row for row in self._rows.values() if matches(row, words)]
        figure, descending = self.sort_order or (None, False)
        self.model.show_rows(sort_rows(rows, figure, descending))
        place = next((n for n, row in enumerate(self.model.rows) if row.name == current), 0)
        column = max(0, self.table.currentIndex().column())
        self.table.setCurrentIndex(self.model.index(place, column))  # none if no column matches
        self._say_count()
        self._want()

    def _say_count(self) -> None:
        all_, count = len(self._rows), len(self.model.rows)
        text = f"{count:,} of {quantity(all_, 'column')}" if count != all_ else quantity(all_, "column")
        num_known = self.loader.num_known
        self.count.setText(text if num_known == all_ else f"{text} · figures of {num_known:,}")

    def _current(self) -> str | None:
        row = self.table.currentIndex().row()
        return self.model.rows[row].name if 0 <= row < len(self.model.rows) else None

    def _want(self) -> None:
        """Request the columns on screen, from the top."""
        if not self.isVisible():
            return
        first = max(0, self.table.rowAt(0))
        last = self.table.rowAt(self.table.viewport().height() - 1)
        last = len(self.model.rows) - 1 if last < 0 else last
        self.loader.want([row.name for row in self.model.rows[first : last + 1]])

    def _take(self, name: str) -> None:
        old_row = self._rows.get(name)
        if old_row is None:
            return
        loader = self.loader
        row = ProfileRow(name, old_row.type, loader.profiles.get(name), loader.errors.get(name, ""))
        self._rows[name] = row
        self.model.put(row)
        self._say_count()
        if not self._fits_figures and loader.has_first:
            self._fits_figures = True
            self._fit()
        if self.sort_order is not None and self.sort_order[0] > Figure.TYPE and not self._again.isActive():
            self._again.start()

    def _sort(self, section: int) -> None:
        """Sort ascending, then descending, then in the order of the dataset."""
        figure = Figure(section)
        if figure is Figure.SPREAD:
            return
        if self.sort_order is None or self.sort_order[0] is not figure:
            self.sort_order = (figure, False)
        else:
            self.sort_order = None if self.sort_order[1] else (figure, True)
        self.model.show_sort(self.sort_order)
        self._fit()
        self._arrange()

    def _choose(self, index: QModelIndex) -> None:
        if index.isValid():
            self.column_chosen.emit(self.model.rows[index.row()].name)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.closed.emit()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._choose(self.table.currentIndex())
        else:
            super().keyPressEvent(event)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        QTimer.singleShot(0, self, self._want)

    def _build(self) -> None:
        self.table.setModel(self.model)
        self.table.setAccessibleName("All columns with their figures")
        self.table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.table.setTabKeyNavigation(False)
        self.table.setWordWrap(False)
        self.table.setItemDelegateForColumn(Figure.SPREAD, SpreadDelegate(self.table))
        self.table.verticalHeader().hide()
        header = self.table.horizontalHeader()
        header.setSectionsClickable(True)
        header.setHighlightSections(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setStretchLastSection(True)
        bar = QHBoxLayout()
        bar.setContentsMargins(theme.S, theme.XS, theme.S, theme.XS)
        bar.setSpacing(theme.M)
        bar.addWidget(self.search, 1)
        bar.addWidget(self.count)
        bar.addStretch(1)
        bar.addWidget(self.export)
        bar.addWidget(self.close_button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(bar)
        layout.addWidget(self.table, 1)
        self.setFocusProxy(self.table)
        self._restyle()

    def _restyle(self) -> None:
        look = theme.current()
        self.table.setFont(look.tabular_font("body"))
        self.table.verticalHeader().setDefaultSectionSize(look.px(24))
        self._by_hand.clear()
        self._fit()

    def _fit(self) -> None:
        """Share the room: columns are no wider than their texts, and as many as possible show all of them.
        Columns that were resized by hand keep their width."""
        look, header = theme.current(), self.table.horizontalHeader()
        hints = [
            max(self.table.sizeHintForColumn(section), header.sectionSizeHint(section))
            for section in range(len(WIDTHS))
        ]
        hints[Figure.SPREAD] = look.px(WIDTHS[Figure.SPREAD])
        widths = [min(look.px(width), hint) for width, hint in zip(WIDTHS, hints, strict=True)]
        if self.sort_order is not None:  # its title has an arrow
            section = int(self.sort_order[0])
            widths[section] = max(widths[section], header.sectionSizeHint(section))
        for section in self._by_hand:
            widths[section] = hints[section] = self.table.columnWidth(section)
        room = self.table.viewport().width() - sum(widths)
        for section in WIDE_FIGURES:
            wider = min(look.px(MOST_WIDTH), hints[section]) - widths[section]
            if 0 < wider <= room:
                widths[section] += wider
                room -= wider
        self._is_fitting = True
        for section, width in enumerate(widths):
            self.table.setColumnWidth(section, width)
        self._is_fitting = False

    def _note_width(self, section: int) -> None:
        if not self._is_fitting and section != len(WIDTHS) - 1:  # the last one takes the room that is left
            self._by_hand.add(section)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _connect(self) -> None:
        self.loader.arrived.connect(self._take)
        self.loader.finished.connect(self._arrange)
        self.loader.finished.connect(self._fit)
        self.search.textChanged.connect(lambda _: self._arrange())
        self.table.horizontalHeader().sectionClicked.connect(self._sort)
        self.table.horizontalHeader().sectionResized.connect(lambda section, *_: self._note_width(section))
        self.table.verticalScrollBar().valueChanged.connect(lambda _: self._want())
        self.table.doubleClicked.connect(self._choose)
        self.export.clicked.connect(self.export_requested)
        self.close_button.clicked.connect(self.closed)
        theme.current().changed.connect(self._restyle)
