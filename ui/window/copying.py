"""Copying the selection in one of several formats; values are read in full off the GUI thread."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Protocol

import pyarrow as pa
from PySide6.QtCore import QByteArray, QMimeData, QObject, QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu

from lamella.core.datasets.base import Dataset
from lamella.core.filters.cell_texts import whole_texts
from lamella.core.jobs import Job
from lamella.core.phrases import quantity
from lamella.ui.editing.pasted_block import CELLS_FORMAT, clipboard_lines
from lamella.ui.formats.formats import Format
from lamella.ui.grid.model import Rows
from lamella.ui.grid.selection import CellRange
from lamella.ui.grid.tree import TreeRows
from lamella.ui.grid.view import GridView
from lamella.ui.tasks import Tasks
from lamella.ui.widgets.message_bar import MessageBar
from lamella.ui.window.copy_formats import BY_ID, FORMATS, Cells, CopyFormat
from lamella.ui.window.loader import FailureMessages

ASK_ABOVE = 200_000
MOST_CELLS = 20_000_000
CHUNK_CELLS = 100_000
Part = tuple[CellRange, list[str]]


class CopiedTab(Protocol):
    """What a grid shows, to be copied: the rows of a tab, or a comparison."""

    grid: GridView
    dataset: Dataset
    tasks: Tasks
    messages: MessageBar

    @property
    def rows(self) -> Rows | None: ...

    @property
    def failures(self) -> FailureMessages: ...


class Copying(QObject):
    def __init__(self, tab: CopiedTab) -> None:
        super().__init__(tab.grid)
        self._tab = tab

    def copy(self, headers: bool = False) -> None:
        """Copy as tab-separated text, which spreadsheets read."""
        self.copy_as(BY_ID["tsv_names" if headers else "tsv"])

    def copy_as(self, format_: CopyFormat) -> None:
        """Copy at once, or after a question when the selection is large."""
        cells = self._tab.grid.selection.num_cells
        if cells > MOST_CELLS:
            text = f"{cells:,} cells are too many for the clipboard: select at most {MOST_CELLS:,}"
            self._tab.messages.say(text, kind="message-danger")
        elif cells > ASK_ABOVE:
            self._tab.messages.say(
                f"Copy {cells:,} cells?", ("Copy", lambda: self._start(format_)), stays=True
            )
        elif cells:
            self._start(format_)

    def ask_format(self) -> QMenu | None:
        """Show a menu of all formats at the current cell."""
        grid = self._tab.grid
        if not grid.selection.blocks:
            return None
        menu = QMenu("Copy as", grid)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for format_ in FORMATS:
            menu.addAction(format_.label, partial(self.copy_as, format_))
        rect = grid.cell_rect(grid.selection.current)
        inside = rect is not None and grid.viewport().rect().intersects(rect)
        point = rect.bottomLeft() if rect is not None and inside else QPoint(0, 0)
        menu.popup(grid.viewport().mapToGlobal(point))
        return menu

    def _start(self, format_: CopyFormat) -> None:
        tab_rows, grid = self._tab.rows, self._tab.grid
        if tab_rows is None:
            return
        dataset = self._tab.dataset
        parts = [(block, grid.names_in(block)) for block in grid.selection.blocks]
        rows, formats = sum(block.num_rows for block, _ in parts), dict(grid.all_formats)
        subtotals = isinstance(tab_rows, TreeRows) and any(
            tab_rows.has_subtotals(block.top, block.num_rows) for block, _ in parts
        )

        def put_on_clipboard(texts: tuple[str, str]) -> None:
            QGuiApplication.clipboard().setMimeData(mime_data(*texts))
            if rows > 1 or format_.id not in ("tsv", "tsv_names"):
                as_what = "" if format_.id == "tsv" else f" as {format_.label}"
                count = quantity(rows, "row")
                among = ", subtotals among them" if subtotals else ""
                self._tab.messages.say(f"Copied {count}{as_what}{among}")

        self._tab.tasks.read(
            lambda job: (
                as_text(tab_rows, parts, format_, dataset.name, job, formats),
                cells_text(tab_rows, parts, format_, job),
            ),
            put_on_clipboard,
            self._tab.failures.show,
            owner=self,
            text="Copying",
        )


def mime_data(text: str, cells: str) -> QMimeData:
    data = QMimeData()
    data.setText(text)
    if cells:
        data.setData(CELLS_FORMAT, QByteArray(cells.encode()))
    return data


def cells_text(rows: Rows, parts: Sequence[Part], format_: CopyFormat, job: Job) -> str:
    """The cells for pasting into Lamella, where null differs from empty text; empty for other formats, and
    for selections so large that a second copy would take too much memory."""
    count = sum(block.num_rows * len(names) for block, names in parts)
    if format_.id not in ("tsv", "tsv_names") or count > ASK_ABOVE:
        return ""
    lines: list[str] = []
    for block, names in parts:
        for page in cell_pages(rows, block, names, job):
            texts = zip(*(whole_texts(column) for column in page.columns), strict=True)
            lines.extend(clipboard_lines(texts))
    return "\n".join(lines) + "\n"


def as_text(
    rows: Rows,
    parts: Sequence[Part],
    format_: CopyFormat,
    name: str,
    job: Job,
    formats: Mapping[str, Format] | None = None,
) -> str:
    """The selection as text; each block is written separately. A single cell is written as its bare text in
    text formats. Blocks."""
    if format_.id == "tsv" and len(parts) == 1 and parts[0][0].num_rows == len(parts[0][1]) == 1:
        block, names = parts[0]
        return whole_texts(rows.page(block.top, 1, names).column(0))[0] or ""
    lines: list[str] = []
    for block, names in parts:
        schema = rows.page(block.top, 0, names).schema
        pages = cell_pages(rows, block, names, job)
        lines.extend(format_.write(Cells(name, schema, pages, formats or {})))
    return "\n".join(lines)


def cell_pages(rows: Rows, block: CellRange, names: list[str], job: Job) -> Iterator[pa.Table]:
    """The cells of a block, in pages of a limited number of rows. Blocks."""
    step = max(1, CHUNK_CELLS // max(1, len(names)))
    for start in range(block.top, block.bottom + 1, step):
        job.report(start - block.top, block.num_rows, "rows")
        yield rows.page(start, min(step, block.bottom + 1 - start), names)
