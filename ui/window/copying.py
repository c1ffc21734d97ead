"""Copies what is selected, in one of several formats, read in full off the GUI thread."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
from PySide6.QtCore import QObject, QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu

from lamella.core.jobs import Job
from lamella.ui.formats.formats import Format
from lamella.ui.grid.model import Rows
from lamella.ui.grid.selection import CellRange
from lamella.ui.grid.texts import whole_texts
from lamella.ui.window.copy_formats import BY_ID, FORMATS, Cells, CopyFormat
from lamella.ui.window.loader import Tab

ASK_ABOVE = 200_000
MOST_CELLS = 20_000_000
CHUNK_CELLS = 100_000
Part = tuple[CellRange, list[str]]


class Copying(QObject):
    def __init__(self, tab: Tab) -> None:
        super().__init__(tab)
        self._tab = tab

    def copy(self, headers: bool = False) -> None:
        """As tab-separated text, which spreadsheets take."""
        self.copy_as(BY_ID["tsv_names" if headers else "tsv"])

    def copy_as(self, format_: CopyFormat) -> None:
        """Copy now, or after a question when it is much."""
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
        """A menu of all formats, at the current cell."""
        grid = self._tab.grid
        if not grid.selection.blocks:
            return None
        menu = QMenu("Copy as", self._tab)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for format_ in FORMATS:
            menu.addAction(format_.label, lambda format_=format_: self.copy_as(format_))
        rect = grid.cell_rect(grid.selection.current)
        inside = rect is not None and grid.viewport().rect().intersects(rect)
        point = rect.bottomLeft() if rect is not None and inside else QPoint(0, 0)
        menu.popup(grid.viewport().mapToGlobal(point))
        return menu

    def _start(self, format_: CopyFormat) -> None:
        view, grid = self._tab.view, self._tab.grid
        if view is None:
            return
        name = self._tab.dataset.name
        parts = [(block, grid.names_in(block)) for block in grid.selection.blocks]
        rows, formats = sum(block.num_rows for block, _ in parts), dict(grid.formats)

        def put_on_clipboard(text: str) -> None:
            QGuiApplication.clipboard().setText(text)
            if rows > 1 or format_.id not in ("tsv", "tsv_names"):
                as_what = "" if format_.id == "tsv" else f" as {format_.label}"
                count = f"{rows:,} {'row' if rows == 1 else 'rows'}"
                self._tab.messages.say(f"Copied {count}{as_what}")

        self._tab.tasks.read(
            lambda job: as_text(view, parts, format_, name, job, formats),
            put_on_clipboard,
            self._tab.failures.show,
            owner=self._tab,
            text="Copying",
        )


def as_text(
    rows: Rows,
    parts: Sequence[Part],
    format_: CopyFormat,
    name: str,
    job: Job,
    formats: Mapping[str, Format] | None = None,
) -> str:
    """Blocks. Each block is written by itself. One cell alone is its text, where text is asked for."""
    if format_.id == "tsv" and len(parts) == 1 and parts[0][0].num_rows == len(parts[0][1]) == 1:
        block, names = parts[0]
        return whole_texts(rows.page(block.top, 1, names).column(0))[0] or ""
    lines: list[str] = []
    for block, names in parts:
        schema = rows.page(block.top, 0, names).schema
        lines.extend(format_.write(Cells(name, schema, _pages(rows, block, names, job), formats or {})))
    return "\n".join(lines)


def _pages(rows: Rows, block: CellRange, names: list[str], job: Job) -> Iterator[pa.Table]:
    step = max(1, CHUNK_CELLS // max(1, len(names)))
    for start in range(block.top, block.bottom + 1, step):
        job.report(start - block.top, block.num_rows, "rows")
        yield rows.page(start, min(step, block.bottom + 1 - start), names)
