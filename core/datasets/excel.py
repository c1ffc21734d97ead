"""Sheets of Excel and OpenDocument workbooks, parsed by calamine in memory and read through the cache."""

from __future__ import annotations

import datetime as dt
import os
import re
import threading
import zipfile
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from math import ceil
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from lamella.core.datasets.base import Dataset, OpenOptions
from lamella.core.datasets.cached_dataset import open_blocks
from lamella.core.datasets.locate import Location, Stamp, cannot_read, refuse_changed_files, stamp_of
from lamella.core.datasets.tables import SeveralTables, TableEntry, chosen_table
from lamella.core.datasets.text.dialect import YEARS, distinct_names
from lamella.core.datasets.values import RowBlock, ValuesFile
from lamella.core.errors import BadData, FileProblem
from lamella.core.jobs import Job
from lamella.core.phrases import quantity

if TYPE_CHECKING:
    from python_calamine import CalamineSheet, CalamineWorkbook

ROWS_A_BLOCK = 1 << 15
SAMPLED_ROWS = 100
COUNTED_BYTES = 4 << 20
"""The rows of sheets are counted in workbooks up to this size, since that means reading all of it."""
_LARGEST_EXACT = 1e15
_HEADER_SHARE = 0.6
_MOST_TITLES = 3
_ERROR_CELL = re.compile(rb'<c (?=[^>]*?t="e")[^>]*?r="([A-Z]+)([0-9]+)"')
_PADDED_NUMBER = re.compile(
    rb'(<c (?![^>]*t="(?:str|inlineStr)")[^>]*>(?:<f[^>]*/>|<f[^>]*>[^<]*</f>)?<v[^>]*>)'
    rb"(?:\s+([-+.0-9eE]+)\s*|([-+.0-9eE]+)\s+)(?=</v>)"
)
_XML_BYTES = 1 << 20


def sheets_of(path: Path, is_counted: bool = True) -> list[TableEntry]:
    """Return the worksheets, without charts and macros. Their sizes are given if `is_counted` and the
    workbook is small. Raises `FileProblem`."""
    from python_calamine import SheetTypeEnum, SheetVisibleEnum

    refuse_bomb(path)
    entries = []
    is_counted = is_counted and path.stat().st_size <= COUNTED_BYTES
    with _workbook(path) as book:
        for sheet in book.sheets_metadata:
            if sheet.typ != SheetTypeEnum.WorkSheet:
                continue
            cells = _sheet_or_none(book, sheet.name, path) if is_counted else None
            is_visible = sheet.visible == SheetVisibleEnum.Visible
            entries.append(
                TableEntry(
                    sheet.name,
                    "sheet" if is_visible else "hidden sheet",
                    None if cells is None else cells.height,
                    None if cells is None else cells.width,
                    is_offered=is_visible and (cells is None or cells.height > 0),
                )
            )
    return entries


MOST_PLAIN_BYTES, MOST_TIMES = 1 << 30, 300
"""A workbook that unpacks to more bytes than this, and to more times its own size, is taken for a ZIP
bomb."""


def refuse_bomb(path: Path) -> None:
    """Raise `FileProblem` for a small workbook that would become huge in memory."""
    try:
        with zipfile.ZipFile(path) as book:
            plain = sum(part.file_size for part in book.infolist())
    except (zipfile.BadZipFile, OSError):  # not a ZIP archive, or damaged, which calamine reports
        return
    if plain > MOST_PLAIN_BYTES and plain > MOST_TIMES * path.stat().st_size:
        raise FileProblem(
            path,
            f"would take {plain >> 20:,} MB of memory",
            f"It unpacks to {plain // path.stat().st_size:,} times its size, as real data hardly ever does",
            "Check where it comes from; to open it all the same, save the sheet as CSV",
        )


def open_sheet(location: Location, options: OpenOptions) -> Dataset:
    """Open a sheet. Raises `FileProblem`, and `SeveralTables` if one has to be named."""
    path = location.files[0]
    stamp = stamp_of(path)
    sheets = sheets_of(path, is_counted=False)
    try:
        sheet = chosen_table(path, sheets, options.table, "sheet")
    except SeveralTables:
        sheet = chosen_table(path, sheets_of(path), None, "sheet")  # all but one may be empty
    name = location.name if len([s for s in sheets if s.is_offered]) < 2 else sheet.name
    cells = None if options.cells is None else cells_of(options.cells)
    return open_blocks(name, SheetFile(path, stamp, sheet.name, sheets, cells, options), options)


@dataclass(frozen=True)
class Cells:
    """A range of cells of a sheet, counted from 0. If `bottom` is None, it reaches to the last row."""

    top: int
    left: int
    bottom: int | None
    right: int


_RANGE = re.compile(r"\$?([A-Z]{1,3})\$?([0-9]{0,7}):\$?([A-Z]{1,3})\$?([0-9]{0,7})", re.IGNORECASE)


def cells_of(text: str) -> Cells:
    """Parse a range such as `B3:F200`, `B3:F` (down to the last row) or `B:F`. Raises `BadData`."""
    match = _RANGE.fullmatch(text.strip())
    if match is not None:
        first, top, last, bottom = match.groups()
        left, right = (_place(letters.upper().encode(), b"1")[1] for letters in (first, last))
        cells = Cells(int(top or 1) - 1, left, int(bottom) - 1 if bottom else None, right)
        if cells.top >= 0 and left <= right and (cells.bottom is None or cells.bottom >= cells.top):
            return cells
    raise BadData(f"'{text}' is not a range of cells", fix="Write its first and last cell, such as B3:F200")


class SheetFile(ValuesFile):
    """One sheet, parsed when it is first needed. calamine keeps the whole sheet in memory while it is
    read."""

    def __init__(
        self,
        path: Path,
        stamp: Stamp,
        sheet: str,
        sheets: Sequence[TableEntry],
        cells: Cells | None,
        options: OpenOptions,
    ) -> None:
        header = options.header
        super().__init__(path, "Excel", [stamp], ("sheet", sheet, header, str(cells)), options)
        self._sheet_name, self._header, self._cells = sheet, header, cells
        self._hidden_sheets = [
            sibling.name for sibling in sheets if sibling.name != sheet and sibling.kind != "sheet"
        ]
        self._lock = threading.Lock()
        self._sheet: CalamineSheet | None = None
        self._titles: list[list[Any]] = []
        self._first_row = self._above = 0
        self._rows = 0
        self._empty_rows = 0
        self._errors: Counter[int] = Counter()
        self._error_rows: frozenset[int] = frozenset()

    @property
    def size(self) -> int:
        return self._rows

    def note(self, place: int) -> str:
        mixed = super().note(place)
        count = self._errors[place]
        if not count:
            return mixed
        cells = "1 cell holds an error" if count == 1 else f"{count:,} cells hold errors"
        errors = f"{cells} of Excel, such as #DIV/0!, and {'is' if count == 1 else 'are'} null here"
        return ". ".join(part for part in (mixed, errors) if part)

    def blocks(self, job: Job) -> Generator[RowBlock, None, None]:
        sheet = self._load()
        number, empty, rows = 0, 0, islice(self._rows_of(sheet), self._first_row, None)
        first = self._first_row + 1
        while True:
            job.check()
            chunk = list(islice(rows, ROWS_A_BLOCK))
            filled = [
                (place, row)
                for place, row in enumerate(chunk, first - 1)
                if any(value is not None for value in row) or place in self._error_rows
            ]
            places = [self._above + place + 1 for place, _ in filled]
            empty += len(chunk) - len(filled)
            is_last = len(chunk) < ROWS_A_BLOCK
            if filled or (is_last and not number):
                yield RowBlock(number, [row for _, row in filled], first, first + len(chunk) - 1, places)
                number += 1
            first += len(chunk)
            if is_last:
                break
        self._empty_rows = empty
        self.about = tuple(self._omissions(sheet))

    def release(self) -> None:
        self._sheet = None

    def _load(self) -> CalamineSheet:
        with self._lock:
            if self._sheet is None:
                refuse_changed_files(self.stamps)
                with _workbook(self.path) as book:
                    self._sheet = _sheet_named(book, self._sheet_name, self.path)
                refuse_changed_files(self.stamps)
                self._lay_out(self._sheet)
            return self._sheet

    def _lay_out(self, sheet: CalamineSheet) -> None:
        sample = list(islice(self._rows_of(sheet), SAMPLED_ROWS))
        if not any(cell is not None for row in sample for cell in row):
            place = f"sheet '{self._sheet_name}'" if self._cells is None else "these cells"
            raise FileProblem(self.path, f"has no data in {place}", fix="Choose a sheet or cells with data")
        top, has_header = header_of(sample, self._header)
        width = max(map(len, sample))
        texts = ["" if cell is None else str(cell) for cell in sample[top]] if has_header else [""] * width
        self.name_columns(distinct_names(texts))
        self._titles = [row for row in sample[:top] if any(cell is not None for cell in row)]
        self._first_row, self._rows = top + has_header, sheet.height
        above, left = sheet.start or (0, 0)
        if self._cells is not None:
            above, left = max(above, self._cells.top), self._cells.left
        self._above = above
        places = [(row - above, column - left) for row, column in errors_in(self.path, self._sheet_name)]
        places = [(row, column) for row, column in places if row >= 0 and 0 <= column < width]
        self._errors = Counter(column for row, column in places if row >= self._first_row)
        self._error_rows = frozenset(row for row, _ in places)

    def _rows_of(self, sheet: CalamineSheet) -> Iterator[list[Any]]:
        """The rows of the sheet, or of the chosen range of cells."""
        cells = self._cells
        if cells is None:
            yield from _rows(sheet)
            return
        above, before = sheet.start or (0, 0)
        stop = None if cells.bottom is None else max(0, cells.bottom + 1 - above)
        empty = [None] * max(0, min(before, cells.right + 1) - cells.left)
        first, last = max(0, cells.left - before), max(0, cells.right + 1 - before)
        width = cells.right + 1 - cells.left
        for row in islice(_rows(sheet), max(0, cells.top - above), stop):
            cut = [*empty, *row[first:last]]
            yield cut + [None] * (width - len(cut))

    def _omissions(self, sheet: CalamineSheet) -> Iterator[str]:
        """Sentences about what is left out of the sheet."""
        if self._titles:
            texts = [str(next(c for c in row if c is not None)) for row in self._titles[:_MOST_TITLES]]
            count = len(self._titles)
            rows = quantity(count, "row")
            yield f"{rows} above the table {'is' if count == 1 else 'are'} left out: {'; '.join(texts)}"
        if self._empty_rows:
            rows = "1 empty row is" if self._empty_rows == 1 else f"{self._empty_rows:,} empty rows are"
            yield f"{rows} left out"
        above = 0 if self._cells is None else max(0, self._cells.top - (sheet.start or (0, 0))[0])
        merged = _merged_below(sheet, above + self._first_row)
        if merged:
            ranges = (
                "1 range of merged cells has" if merged == 1 else f"{merged:,} ranges of merged cells have"
            )
            yield f"{ranges} the value in the first cell only; the others are null"
        if self._hidden_sheets:
            yield f"Hidden in the workbook: {', '.join(self._hidden_sheets)}"


def _merged_below(sheet: CalamineSheet, first_row: int) -> int:
    """The number of ranges of merged cells from a row on; always 0 for OpenDocument, where calamine finds
    none."""
    top = (sheet.start[0] if sheet.start else 0) + first_row
    return sum(end[0] >= top for _, end in sheet.merged_cell_ranges or [])


def _rows(sheet: CalamineSheet) -> Iterator[list[Any]]:
    """The rows, with None for empty cells, and int for doubles that are whole numbers."""
    for row in sheet.iter_rows():
        yield [_value(cell) for cell in row]


def _value(cell: Any) -> Any:
    if type(cell) is float:
        return int(cell) if cell.is_integer() and abs(cell) < _LARGEST_EXACT else cell
    return None if cell == "" else cell


def header_of(rows: Sequence[Sequence[Any]], header: bool | None) -> tuple[int, bool]:
    """Return the index of the row in which the table begins, and whether that row names the columns.

    Rows above it with far fewer cells are titles. The cells of a header are distinct texts, and also years or
    dates if the cells below them are of other kinds.
    """
    counts = [sum(cell is not None for cell in row) for row in rows]
    least = ceil(_HEADER_SHARE * max(counts))
    top = next(place for place, count in enumerate(counts) if count >= least)
    names = [cell for cell in rows[top] if cell is not None]
    texts = [name for name in names if isinstance(name, str)]
    is_named = bool(texts) and len(set(names)) == len(names)
    for place, name in enumerate(rows[top]):
        if is_named and name is not None and not isinstance(name, str):
            below = [row[place] for row in rows[top + 1 :] if row[place] is not None]
            is_named = _is_period(name) and bool(below) and not all(map(_is_period, below))
    return top, is_named if header is None else header


def _is_period(value: Any) -> bool:
    return isinstance(value, dt.date) or (type(value) is int and value in YEARS)


def errors_in(path: Path, sheet: str) -> list[tuple[int, int]]:
    """Return the row and column, from 0, of each cell with an error, which calamine reports as empty. Only
    Excel's XML format is searched; for other formats the list is empty."""
    errors: list[tuple[int, int]] = []
    try:
        with zipfile.ZipFile(path) as book:
            part = _part_of(book, sheet)
            if part is None:
                return errors
            with book.open(part) as xml:
                tail = b""
                while data := xml.read(_XML_BYTES):
                    data = tail + data
                    end = max(0, data.rfind(b"<c "))
                    errors += [_place(*match.groups()) for match in _ERROR_CELL.finditer(data, 0, end)]
                    tail = data[end:][-_XML_BYTES:]  # bounds memory in a file without such tags
                errors += [_place(*match.groups()) for match in _ERROR_CELL.finditer(tail)]
    except (zipfile.BadZipFile, KeyError, ElementTree.ParseError, NotImplementedError):
        return []  # not Excel's XML, or a variant that only calamine understands
    return errors


def _part_of(book: zipfile.ZipFile, sheet: str) -> str | None:
    """The name of the part that holds a sheet."""
    if "xl/workbook.xml" not in book.namelist():
        return None
    sheets = ElementTree.fromstring(book.read("xl/workbook.xml")).iterfind(".//{*}sheet")
    ids = [
        value
        for element in sheets
        if element.get("name") == sheet
        for key, value in element.attrib.items()
        if key.endswith("}id")
    ]
    relations = ElementTree.fromstring(book.read("xl/_rels/workbook.xml.rels"))
    targets = [relation.get("Target", "") for relation in relations if ids and relation.get("Id") == ids[0]]
    return str(PurePosixPath("xl") / targets[0]).removeprefix("xl//").lstrip("/") if targets else None


def _place(letters: bytes, row: bytes) -> tuple[int, int]:
    column = 0
    for letter in letters:
        column = column * 26 + letter - 64
    return int(row) - 1, column - 1


def _sheet_or_none(book: CalamineWorkbook, name: str, path: Path) -> CalamineSheet | None:
    """The sheet, or None if it cannot be read: opening it reports that, and other sheets may be readable."""
    from python_calamine import CalamineError

    try:
        return _sheet_named(book, name, path)
    except CalamineError:
        return None


def _sheet_named(book: CalamineWorkbook, name: str, path: Path) -> CalamineSheet:
    from python_calamine import CalamineError, CalamineWorkbook

    try:
        return book.get_sheet_by_name(name)
    except CalamineError:
        trimmed = _with_trimmed_numbers(path)
        if trimmed is None:
            raise
        with CalamineWorkbook.from_filelike(trimmed) as workbook:
            return workbook.get_sheet_by_name(name)


def _with_trimmed_numbers(path: Path) -> BytesIO | None:
    """The workbook without spaces around numbers, which some programs write and Excel accepts, but calamine
    refuses; None if there are none."""
    target, trimmed = BytesIO(), 0
    try:
        with zipfile.ZipFile(path) as book, zipfile.ZipFile(target, "w") as copy:
            for part in book.infolist():
                content = book.read(part)
                if part.filename.startswith("xl/worksheets/"):
                    content, count = _PADDED_NUMBER.subn(rb"\1\2\3", content)
                    trimmed += count
                copy.writestr(part, content)
    except (zipfile.BadZipFile, OSError):  # not Excel's XML
        return None
    target.seek(0)
    return target if trimmed else None


@contextmanager
def _workbook(path: Path) -> Iterator[CalamineWorkbook]:
    from python_calamine import CalamineError, CalamineWorkbook, PasswordError

    try:
        with CalamineWorkbook.from_path(os.fspath(path)) as book:
            yield book
    except PasswordError as error:
        raise FileProblem(
            path,
            "is protected by a password",
            "Encrypted workbooks cannot be read",
            "Save a copy without the password in the program that made it",
        ) from error
    except OSError as error:
        raise cannot_read(path, error) from error
    except CalamineError as error:
        raise FileProblem(
            path, "is a damaged workbook", str(error), "Open it in the program that made it and save it again"
        ) from error
