"""Hits behind the characters of a long text that are read for its cell: the part around each is read, too."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import pyarrow as pa
from PySide6.QtCore import QObject, QTimer

from lamella.core.filters.cell_texts import CUT, whole_texts
from lamella.core.jobs import Job
from lamella.core.query.cell_search import TextPattern
from lamella.core.query.cell_search.hits import Cell
from lamella.ui.grid.hits import HitParts
from lamella.ui.grid.model import Rows
from lamella.ui.grid.texts import LONGEST, screen_texts
from lamella.ui.tasks import Handle
from lamella.ui.widgets.hosts import widget_of
from lamella.ui.window.loader import Tab

BEFORE = 60
"""Characters before a hit that are shown if there is room for them."""

ROWS_AT_ONCE = 32


class LongTextHits(QObject):
    """Reads parts of long texts in the cells on screen, when they are first drawn."""

    def __init__(self, tab: Tab, rows: Rows, pattern: TextPattern) -> None:
        super().__init__(widget_of(tab))
        self.parts = HitParts(self._note)
        self._tab, self._rows, self._pattern = tab, rows, pattern
        self._cells: set[Cell] = set()
        self._handle: Handle | None = None
        self._pause = QTimer(self, singleShot=True, interval=0)
        self._pause.timeout.connect(self._read)

    def stop(self) -> None:
        self._pause.stop()
        if self._handle is not None:
            self._handle.cancel()
        self.deleteLater()

    def _note(self, cell: Cell) -> None:
        """Note a cell to read; drawing goes on."""
        self._cells.add(cell)
        if self._handle is None:
            self._pause.start()

    def _read(self) -> None:
        cells, rows, pattern = sorted(self._cells), self._rows, self._pattern
        self._cells.clear()

        def show(parts: dict[Cell, str]) -> None:
            self._handle = None
            self.parts.update(parts)
            self._tab.grid.viewport().update()
            if self._cells:
                self._pause.start()

        self._handle = self._tab.tasks.read(
            lambda job: _parts(rows, pattern, cells, job),
            show,
            self._tab.failures.show,
            owner=self,
            quiet=True,
            text="Reading the hits",
        )


def _parts(rows: Rows, pattern: TextPattern, cells: Sequence[Cell], job: Job) -> dict[Cell, str]:
    """The part of each cell's text around its first hit, as it is shown. Blocks."""
    parts = {}
    by_column = sorted(cells, key=lambda cell: (cell[1], cell[0]))
    for (name, block), together in groupby(by_column, key=lambda cell: (cell[1], cell[0] // ROWS_AT_ONCE)):
        job.check()
        start = block * ROWS_AT_ONCE
        row_places = [row for row, _ in together]
        texts = whole_texts(rows.page(start, row_places[-1] + 1 - start, [name]).column(0))
        for row in row_places:
            text = texts[row - start] or ""
            spans = pattern.spans(text)
            if spans:
                first = max(0, spans[0][0] - BEFORE)
                part = (CUT if first else "") + text[first : first + LONGEST]
                parts[row, name] = screen_texts(pa.array([part]))[0] or ""
    return parts
