"""The figures of a chart as a table, and exporting a chart to files."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QImage, QImageWriter, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QApplication, QTableView, QWidget

from lamella.core.errors import FileProblem, visible
from lamella.core.filters.cell_texts import whole_texts
from lamella.core.jobs import Job
from lamella.core.phrases import quantity
from lamella.core.query.charts import ChartData
from lamella.ui import theme
from lamella.ui.cards.words import number_text, value_text
from lamella.ui.charts.words import common_digits, figure_text
from lamella.ui.grid.columns import is_right_aligned

if TYPE_CHECKING:
    from lamella.core.transfer.exporting import Export
    from lamella.ui.dialogs.export_dialog import ExportRows

Index = QModelIndex | QPersistentModelIndex
NOWHERE = QModelIndex()
PICTURES = {".png": "PNG pictures (*.png)", ".svg": "SVG drawings (*.svg)"}


class FiguresModel(QAbstractTableModel):
    """The table of figures; texts are made when they are shown."""

    def __init__(self, table: pa.Table) -> None:
        super().__init__()
        self._table = table
        self._values = [column.to_pylist() for column in table.columns]

    def rowCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else self._table.num_rows

    def columnCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else self._table.num_columns

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        kind = self._table.schema.field(index.column()).type
        if role == Qt.ItemDataRole.DisplayRole:
            return self._text(index.column(), self._values[index.column()][index.row()], kind)
        if role == Qt.ItemDataRole.EditRole:  # what is copied: programs read neither separators nor −
            return whole_texts(pa.array([self._values[index.column()][index.row()]], kind))[0] or ""
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if is_right_aligned(kind) else Qt.AlignmentFlag.AlignLeft
            return int(side | Qt.AlignmentFlag.AlignVCenter)
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        return (
            visible(self._table.column_names[section])
            if orientation is Qt.Orientation.Horizontal
            else section + 1
        )

    def _text(self, column: int, value: Any, kind: pa.DataType) -> str:
        if value is None or not pa.types.is_floating(kind):
            return value_text(value, kind)
        digits = self._digits[column]
        return figure_text(value) if digits is None else number_text(float(value), digits)

    @cached_property
    def _digits(self) -> list[int | None]:
        return [common_digits(values) for values in self._values]


class FiguresTable(QTableView):
    """Copies the selected figures as tab-separated text, for spreadsheets."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Figures of the chart")
        self.setFrameShape(QTableView.Shape.NoFrame)
        theme.current().changed.connect(self._restyle)
        self._restyle()

    def _restyle(self) -> None:
        self.setFont(theme.current().tabular_font())
        self.verticalHeader().setDefaultSectionSize(theme.current().line_height() + theme.S)
        if self.model() is not None:
            self.resizeColumnsToContents()

    def show_figures(self, data: ChartData) -> None:
        old = self.model()
        self.setModel(FiguresModel(data.figures()))
        if old is not None:
            old.deleteLater()
        self.resizeColumnsToContents()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self._copy()
        else:
            super().keyPressEvent(event)

    def _copy(self) -> None:
        places = sorted((index.row(), index.column()) for index in self.selectedIndexes())
        rows: dict[int, list[str]] = {}
        for row, column in places:
            text = self.model().index(row, column).data(Qt.ItemDataRole.EditRole)
            rows.setdefault(row, []).append(text)
        QApplication.clipboard().setText("\n".join("\t".join(cells) for cells in rows.values()))


def export_rows(data: ChartData) -> ExportRows:
    """The figures as the export dialog takes them."""
    from lamella.core.query.builder import query_of
    from lamella.core.query.source import SnapshotSource
    from lamella.core.scan.snapshot import snapshot_of_rows
    from lamella.ui.dialogs.export_dialog import ExportRows

    table = data.figures()

    def write(path: Path, format: str, values: Mapping[str, Any], overwrite: bool, job: Job) -> Export:
        from lamella.core.transfer.exporting import export_query

        query = query_of(SnapshotSource(snapshot_of_rows(table, "chart")))
        return export_query(query, path, format, job, overwrite=overwrite, total=table.num_rows, **values)

    size = f"{quantity(table.num_rows, 'row')} × {quantity(table.num_columns, 'column')}"
    label = f"The figures of the chart: {size}"
    return ExportRows(label, table.num_rows, lambda count, _job: table.slice(0, count), write)


def write_picture(path: Path, picture: str | QImage) -> None:
    """Write a picture or drawing. Raises `FileProblem` if the file cannot be written."""
    if isinstance(picture, QImage):
        if not QImageWriter(str(path), b"PNG").write(picture):
            raise FileProblem(path, "the picture cannot be written", fix="Choose another place")
        return
    try:
        path.write_text(picture, "utf-8")
    except OSError as error:
        why = error.strerror or str(error)
        raise FileProblem(path, "the drawing cannot be written", why, "Choose another place") from error
