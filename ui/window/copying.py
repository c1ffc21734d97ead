"""Copies what is selected as tab-separated text, read in full off the GUI thread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtGui import QGuiApplication

from lamella.core.jobs import Job
from lamella.ui.grid.model import Rows
from lamella.ui.grid.selection import CellRange
from lamella.ui.grid.texts import whole_texts

if TYPE_CHECKING:
    from lamella.ui.window.dataset_tab import DatasetTab

ASK_ABOVE = 200_000
MOST_CELLS = 20_000_000
CHUNK_CELLS = 100_000
BREAKS = "\t\n\r"


class Copying(QObject):
    def __init__(self, tab: DatasetTab) -> None:
        super().__init__(tab)
        self._tab = tab

    def copy(self, headers: bool = False) -> None:
        """Copy now, or after a question when it is much."""
        cells = self._tab.grid.selection.num_cells
        if cells > MOST_CELLS:
            text = f"{cells:,} cells are too many for the clipboard: select at most {MOST_CELLS:,}"
            self._tab.messages.say(text, kind="message-danger")
        elif cells > ASK_ABOVE:
            self._tab.messages.say(
                f"Copy {cells:,} cells?", ("Copy", lambda: self._start(headers)), stays=True
            )
        elif cells:
            self._start(headers)

    def _start(self, headers: bool) -> None:
        view, grid = self._tab.view, self._tab.grid
        if view is None:
            return
        parts = [(block, grid.names_in(block)) for block in grid.selection.blocks]
        rows = sum(block.num_rows for block, _ in parts)

        def put_on_clipboard(text: str) -> None:
            QGuiApplication.clipboard().setText(text)
            if rows > 1:
                self._tab.messages.say(f"Copied {rows:,} rows")

        self._tab.tasks.read(
            lambda job: as_text(view, parts, headers, job),
            put_on_clipboard,
            owner=self._tab,
            text="Copying",
        )


def as_text(rows: Rows, parts: Sequence[tuple[CellRange, list[str]]], headers: bool, job: Job) -> str:
    """Blocks. One line for each row, a tab between cells; nulls are empty. One cell alone is its text."""
    if not headers and len(parts) == 1 and parts[0][0].num_rows == len(parts[0][1]) == 1:
        block, names = parts[0]
        return whole_texts(rows.page(block.top, 1, names).column(0))[0] or ""
    lines: list[str] = []
    for block, names in parts:
        if headers:
            lines.append("\t".join(map(_cell, names)))
        for line in _lines(rows, block, names, job):
            lines.append(line)
    return "\n".join(lines)


def _lines(rows: Rows, block: CellRange, names: list[str], job: Job) -> Iterator[str]:
    step = max(1, CHUNK_CELLS // max(1, len(names)))
    total = block.num_rows
    for start in range(block.top, block.bottom + 1, step):
        job.report(start - block.top, total, "rows")
        table = rows.page(start, min(step, block.bottom + 1 - start), names)
        yield from map("\t".join, zip(*(map(_cell, whole_texts(c)) for c in table.columns), strict=True))


def _cell(text: str | None) -> str:
    """Quoted where a spreadsheet would otherwise end the cell early, or take a quote of its own for ours."""
    if text is None:
        return ""
    quoted = text.startswith('"') or any(c in text for c in BREAKS)
    return '"' + text.replace('"', '""') + '"' if quoted else text
