"""A block of cells from the clipboard: its texts, where it goes, and the values read from it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import from_numpy, quick_array, take
from lamella.core.arrow.types import ID
from lamella.core.errors import BadData
from lamella.core.filters.cells import cell_reader
from lamella.core.jobs import Job
from lamella.ui.grid.selection import CellRange

CELLS_FORMAT = "application/x-lamella-cells"
"""The clipboard format beside plain text: cells for `read_block`, in which null differs from empty text."""
CELL = re.compile(r'"((?:[^"]++|"")*+)"(?=[\t\r\n]|\Z)|[^\t\r\n]*')
"""A cell; quoted if it contains tabs or line breaks, or begins with a quote, as spreadsheets write it."""
CHECK_EVERY = 10_000


@dataclass(frozen=True)
class Block:
    """Texts by row, None for null. Rows may have different lengths: missing cells stay unchanged."""

    rows: list[list[str | None]]

    @property
    def height(self) -> int:
        return len(self.rows)

    @property
    def width(self) -> int:
        return max(map(len, self.rows), default=0)


def read_block(text: str, job: Job | None = None) -> Block:
    """Read tab-separated text as spreadsheets write it to the clipboard. Nothing between two tabs is null, a
    pair of quotes is empty text."""
    rows: list[list[str | None]] = [[]]
    place, own = 0, job or Job()
    while True:
        match = CELL.match(text, place)
        assert match is not None
        quoted, place = match[1], match.end()
        rows[-1].append(quoted.replace('""', '"') if quoted is not None else match[0] or None)
        if place == len(text):
            break
        if text[place] == "\t":
            place += 1
            continue
        place += 2 if text.startswith("\r\n", place) else 1
        if place == len(text):  # the last line may end with a line break
            break
        rows.append([])
        if len(rows) % CHECK_EVERY == 0:
            own.report(place, len(text), "Reading the clipboard")
    return Block(rows)


@dataclass(frozen=True)
class Area:
    """Where a block goes: rows of a view from `top` on, and columns from left to right."""

    top: int
    height: int
    names: tuple[str, ...]

    @property
    def num_cells(self) -> int:
        return self.height * len(self.names)


def area_of(block: Block, selected: CellRange, names: Sequence[str]) -> Area:
    """The area of a block: the selected cells if the block fits into them a whole number of times, otherwise
    once from the first one on. `names` are the columns from there to the right end."""
    height = _repeated_length(block.height, selected.num_rows)
    width = _repeated_length(block.width, selected.right - selected.left + 1)
    return Area(selected.top, height, tuple(names[:width]))


def _repeated_length(length: int, room: int) -> int:
    return room if room % length == 0 else length


@dataclass(frozen=True)
class Problem:
    """A cell that cannot be read as a value of its column. `row` is its row in the view."""

    row: int
    name: str
    text: str
    reason: str


@dataclass(frozen=True)
class Values:
    """The values of a block for one column of an area, one per row of the block, and which rows have none."""

    values: pa.Array
    omissions: np.ndarray


@dataclass(frozen=True)
class Paste:
    """What goes into an area. `problems` are the cells of the block that cannot be read, each once, however
    often the block is repeated."""

    area: Area
    height: int
    columns: Mapping[str, Values]
    problems: Sequence[Problem] = field(default_factory=tuple)

    def cells(self, row_ids: np.ndarray) -> list[pa.Table]:
        """The cells of existing rows, for `Table.edit`; columns with the same rows are together."""
        places = np.arange(len(row_ids)) % self.height
        together: dict[bytes, list[str]] = {}
        for name, column in self.columns.items():
            together.setdefault(column.omissions.tobytes(), []).append(name)
        tables = []
        for names in together.values():
            rows = np.flatnonzero(~self.columns[names[0]].omissions[places])
            ids, row_places = from_numpy(np.ascontiguousarray(row_ids[rows])), places[rows]
            values = {name: take(self.columns[name].values, row_places) for name in names}
            tables.append(pa.Table.from_arrays([ids, *values.values()], names=[ID, *values]))
        return tables

    def new_rows(self, existing: int) -> pa.Table | None:
        """The rows of the area after the `existing` ones; None if there are none."""
        if existing >= self.area.height:
            return None
        places = np.arange(existing, self.area.height) % self.height
        values = [take(column.values, places) for column in self.columns.values()]
        return pa.Table.from_arrays(values, names=list(self.columns))


def read_paste(block: Block, area: Area, schema: pa.Schema, job: Job) -> Paste:
    """Read the values of a block for its area. Blocks."""
    columns: dict[str, Values] = {}
    problems: list[Problem] = []
    width = block.width
    for place, name in enumerate(area.names):
        job.report(place, len(area.names), "Reading the clipboard")
        texts = [row[place % width] if place % width < len(row) else "" for row in block.rows]
        lacks = np.array([place % width >= len(row) for row in block.rows], bool)
        values, unread = _values(texts, lacks, schema.field(name).type, job)
        problems += [
            Problem(area.top + row, name, texts[row] or "", reason) for row, reason in unread.items()
        ]
        lacks[list(unread)] = True
        columns[name] = Values(values, lacks)
    problems.sort(key=lambda problem: problem.row)
    return Paste(area, block.height, columns, problems)


def _values(
    texts: list[str | None], lacks: np.ndarray, type_: pa.DataType, job: Job
) -> tuple[pa.Array, dict[int, str]]:
    """The values of a column, null where there is none, and the reasons for cells that cannot be read, by
    row."""
    read_cell = cell_reader(type_)
    values_by_text: dict[str, Any] = {}
    unread: dict[int, str] = {}
    reasons: dict[str, str] = {}
    values: list[Any] = []
    for row, text in enumerate(texts):
        if row % CHECK_EVERY == 0:
            job.check()
        if text is None or lacks[row]:
            values.append(None)
            continue
        if text not in values_by_text and text not in reasons:
            try:
                values_by_text[text] = read_cell(text)
            except BadData as error:
                reasons[text] = error.why or error.what
        if text in reasons:
            unread[row] = reasons[text]
        values.append(values_by_text.get(text))
    return typed_array(values, type_), unread


def typed_array(values: list[Any], type_: pa.DataType) -> pa.Array:
    """Values from `parse_cell` as an array; for common types without `pa.array`, which imports pandas. Times
    finer than Python's are taken as Arrow scalars, with their time zone."""
    quick = quick_array(values, type_)
    if quick is not None:
        return quick
    fine = np.datetime64 | np.timedelta64
    scalars = [pa.scalar(int(v.astype(np.int64)), type_) if isinstance(v, fine) else v for v in values]
    return pa.array(scalars, type_)


def clipboard_lines(rows: Iterable[Sequence[str | None]]) -> Iterator[str]:
    """Lines of text that `read_block` reads as the same cells."""
    for row in rows:
        yield "\t".join("" if text is None else _quote(text) for text in row)


def _quote(text: str) -> str:
    plain = text and not text.startswith('"') and not any(c in text for c in "\t\r\n")
    return text if plain else '"' + text.replace('"', '""') + '"'
