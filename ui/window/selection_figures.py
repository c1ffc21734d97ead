"""Figures of the selection: count, sum, mean, least and greatest, read off the GUI thread."""

from __future__ import annotations

import decimal
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from PySide6.QtCore import QObject, QTimer, Signal

from lamella.core.filters.cell_texts import whole_texts
from lamella.core.filters.kinds import NUMBERS, Kind, kind_of, value_type
from lamella.core.jobs import Job
from lamella.core.query.view import View
from lamella.ui.grid.model import Rows
from lamella.ui.grid.selection import CellRange
from lamella.ui.grid.texts import MINUS
from lamella.ui.grid.tree import TreeRows
from lamella.ui.widgets.hosts import widget_of

if TYPE_CHECKING:
    from lamella.ui.tasks import Handle
    from lamella.ui.window.loader import Tab

CHUNK_CELLS = 1_000_000
ORDERED_KINDS = (Kind.DATE, Kind.TIMESTAMP)
LARGEST_INT = 2**63
PRECISION = 120  # decimal digits: sums of decimals stay exact
LARGEST_PLAIN, LEAST_PLAIN = 1e15, 1e-4
Part = tuple[int, int, tuple[str, ...]]
"""First row, last row, and the columns to read."""


@dataclass
class Figures:
    """`values` counts cells that are not null. Numbers are summed without NaN, which `nans` counts."""

    cells: int = 0
    values: int = 0
    numbers: int = 0
    nans: int = 0
    total: Any = 0
    least: Any = None
    greatest: Any = None
    first: str = ""
    last: str = ""

    def add(self, column: pa.ChunkedArray) -> None:
        self.cells += len(column)
        self.values += len(column) - column.null_count
        plain, kind = value_type(column.type), kind_of(column.type)
        column = column.cast(plain) if pa.types.is_dictionary(column.type) else column
        column = column.drop_null()
        if kind in NUMBERS:
            self._add_numbers(column, plain)
        elif kind in ORDERED_KINDS and len(column):
            self._add_times(column)

    def _add_numbers(self, column: pa.ChunkedArray, plain: pa.DataType) -> None:
        if pa.types.is_floating(plain):
            column = column.cast(pa.float64())
            whole = len(column)
            column = column.filter(pc.invert(pc.is_nan(column)))
            self.nans += whole - len(column)
        if not len(column):
            return
        ends = pc.min_max(column)
        least, greatest = ends["min"].as_py(), ends["max"].as_py()
        self.numbers += len(column)
        self.least = least if self.least is None else min(self.least, least)
        self.greatest = greatest if self.greatest is None else max(self.greatest, greatest)
        with decimal.localcontext(prec=PRECISION):
            total = _sum(column, plain, max(abs(least), abs(greatest)))
            mixed = isinstance(total, float) or isinstance(self.total, float)
            self.total = float(self.total) + float(total) if mixed else self.total + total

    def _add_times(self, column: pa.ChunkedArray) -> None:
        ends = pc.min_max(column)
        texts = whole_texts(pa.array([ends["min"].as_py(), ends["max"].as_py()], column.type))
        self.first = min(filter(None, (self.first, texts[0] or "")))
        self.last = max(self.last, texts[1] or "")

    def __str__(self) -> str:
        parts = []
        if self.numbers:
            with decimal.localcontext(prec=PRECISION):
                mean = self.total / self.numbers
            figures = (("Σ", self.total), ("mean", mean), ("min", self.least), ("max", self.greatest))
            parts += [f"{name} {figure_text(value)}" for name, value in figures]
        elif self.first:
            parts += [f"first {self.first}", f"last {self.last}"]
        parts.append(f"n {self.values:,}")
        if self.nans:
            parts.append(f"NaN {self.nans:,}")
        if self.cells > self.values:
            parts.append(f"NULL {self.cells - self.values:,}")
        return "   ".join(parts)


def _sum(column: pa.ChunkedArray, plain: pa.DataType, largest: Any) -> Any:
    if pa.types.is_decimal(plain):
        return pc.sum(column.cast(pa.decimal256(76, plain.scale))).as_py()
    if pa.types.is_integer(plain) and largest * len(column) >= LARGEST_INT:
        return sum(column.to_pylist())
    return pc.sum(column).as_py()


def figure_text(value: Any) -> str:
    """A number with separators, and at most four decimal places."""
    if isinstance(value, float) and not math.isfinite(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    if isinstance(value, int):
        return f"{value:,}".replace("-", MINUS)
    if value and not LEAST_PLAIN <= abs(value) < LARGEST_PLAIN:
        return f"{value:.6g}".replace("-", MINUS)
    return f"{value:,.4f}".rstrip("0").rstrip(".").replace("-", MINUS)


def disjoint_parts(blocks: Sequence[tuple[CellRange, list[str]]]) -> list[Part]:
    """The cells of blocks that may overlap, each once; columns with the same rows are read together."""
    rows_of: dict[str, list[tuple[int, int]]] = {}
    for block, names in blocks:
        for name in names:
            rows_of.setdefault(name, []).append((block.top, block.bottom))
    columns_of: dict[tuple[tuple[int, int], ...], list[str]] = {}
    for name, spans in rows_of.items():
        columns_of.setdefault(tuple(_merge_spans(sorted(spans))), []).append(name)
    return [(top, bottom, tuple(names)) for spans, names in columns_of.items() for top, bottom in spans]


def _merge_spans(spans: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    top, bottom = spans[0]
    for first, last in spans[1:]:
        if first > bottom + 1:
            yield top, bottom
            top = first
        bottom = max(bottom, last)
    yield top, bottom


def read_figures(rows: Rows, parts: Sequence[Part], job: Job) -> Figures:
    """Read the figures of these cells. Blocks."""
    figures = Figures()
    for top, bottom, names in parts:
        source = _in_own_order(rows, job) if top == 0 and bottom == rows.num_rows - 1 else rows
        step = max(1, CHUNK_CELLS // len(names))
        tree = rows if isinstance(rows, TreeRows) else None
        counted = np.empty(0, bool) if tree is None else tree.is_counted(top, bottom)
        for start in range(top, bottom + 1, step):
            job.check()
            count = min(step, bottom + 1 - start)
            for name, column in zip(names, source.page(start, count, list(names)).columns, strict=True):
                if tree is None:
                    figures.add(column)
                else:  # each row once, even if a subtotal and its own groups are both selected
                    is_counted = counted[start - top :][:count] & tree.has_value(start, count, name)
                    figures.add(column.filter(pa.array(is_counted)))
    return figures


def _in_own_order(rows: Rows, job: Job) -> Rows:
    """All rows of a sorted view in the order of the file: a sum needs no sort."""
    if not isinstance(rows, View) or not rows.query.sort or rows.query.limit is not None or rows.query.offset:
        return rows
    unsorted = View(rows.snapshot, replace(rows.query, sort=()), job)
    return unsorted if unsorted.num_rows == rows.num_rows else rows


WAIT_MS = 120  # nothing is read while the selection is being dragged


class SelectionFigures(QObject):
    """The figures of one tab's selection. `text` describes it; it is empty for a single cell, whose value can
    be seen. `changed` is emitted with it."""

    changed = Signal()

    def __init__(self, tab: Tab) -> None:
        super().__init__(widget_of(tab))
        self.text = ""
        self._tab = tab
        self._handle: Handle | None = None
        self._wait = QTimer(self, singleShot=True, interval=WAIT_MS)
        self._wait.timeout.connect(self._read)
        tab.grid.selection.changed.connect(self._begin)
        tab.loader.loaded.connect(self._begin)

    def _begin(self) -> None:
        """Start reading the figures, and stop reading those of the previous selection."""
        self._wait.stop()
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        selected = self._tab.grid.selection.num_cells > 1
        self._show("…" if selected else "")
        if selected:
            self._wait.start()

    def _read(self) -> None:
        rows, grid = self._tab.rows, self._tab.grid
        if rows is None:
            return
        parts = disjoint_parts([(block, grid.names_in(block)) for block in grid.selection.blocks])
        self._handle = self._tab.tasks.read(
            lambda job: str(read_figures(rows, parts, job)),
            self._show,
            lambda _: self._show(""),  # the grid shows the same error
            owner=self,
            quiet=True,
            text="Adding up",
        )

    def _show(self, text: str) -> None:
        if text != self.text:
            self.text = text
            self.changed.emit()
