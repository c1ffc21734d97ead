"""The table model and its pages of texts and thumbnails, filled by workers; the GUI thread never reads."""

from __future__ import annotations

import html
import textwrap
from collections import ChainMap, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
from PySide6.QtCore import (
    QAbstractTableModel,
    QBuffer,
    QByteArray,
    QIODevice,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QImage, QImageReader

from lamella.core.arrow.types import type_text
from lamella.core.errors import visible
from lamella.core.filters.cell_texts import Texts
from lamella.core.filters.kinds import Kind, kind_of
from lamella.core.jobs import Job
from lamella.core.query.comparison import ComparedRows
from lamella.core.query.view import View
from lamella.ui.formats.formats import AT_POINT, BY_ID, Format, FormattedTexts, form_of, format_texts
from lamella.ui.grid.columns import GridColumns
from lamella.ui.grid.texts import Fraction, most_fraction_digits, screen_texts
from lamella.ui.grid.tree import TreeRows
from lamella.ui.tasks import Handle, Tasks

TIP_CHARACTERS = 72

PAGE_ROWS = 16  # scattered rows cost one read each; a screen of rows spans two or three pages
PAGES_AHEAD = 2
AT_ONCE = 2  # concurrent requests: a jump does not have to wait for the page it left
MOST_CELLS = 1_500_000
CELLS_A_PICTURE = 200


class Rows(Protocol):
    """The rows that the grid shows: `core.query.view.View`, as far as the grid needs it."""

    @property
    def num_rows(self) -> int: ...

    @property
    def schema(self) -> pa.Schema: ...

    def page(self, offset: int, count: int, columns: list[str] | None = None) -> pa.Table: ...


@dataclass(frozen=True)
class NoRows:
    """No rows, of the given columns."""

    schema: pa.Schema
    num_rows: int = 0

    def page(self, offset: int, count: int, columns: list[str] | None = None) -> pa.Table:
        return self.schema.empty_table()


@dataclass(frozen=True)
class Request:
    """Pages `first` to `last`, inclusive, of the given columns (indexes in the schema)."""

    first: int
    last: int
    columns: tuple[int, ...]


class PictureTexts(list[str | None]):
    """The texts of a page; `pictures` has the thumbnails of some values, by index in the page."""

    def __init__(self, texts: Texts, pictures: dict[int, QImage]) -> None:
        super().__init__(texts)
        self.pictures = pictures
        self.form = _form_of(texts)


def _form_of(texts: Texts) -> Format | None:
    """The format in which the texts of a page are written."""
    texts = texts.texts if isinstance(texts, ChangedTexts) else texts
    return texts.form if isinstance(texts, FormattedTexts | PictureTexts) else None


def _weight(texts: Texts | tuple[()]) -> int:
    """The memory that texts take, in cells."""
    pictures = len(texts.pictures) if isinstance(texts, PictureTexts) else 0
    formatted_too = len(texts.values) + len(texts.numbers) if isinstance(texts, FormattedTexts) else 0
    return len(texts) + formatted_too + CELLS_A_PICTURE * pictures


PageTexts = dict[int, dict[int, Texts]]  # page -> column -> texts


class ChangedTexts(list[str | None]):
    """The `texts` of one column in a page; `before` has the old values of changed cells, by index in the
    page."""

    def __init__(self, texts: Texts, before: dict[int, str | None]) -> None:
        super().__init__(texts)
        self.texts, self.before = texts, before


def _put_changes(
    pages: PageTexts, rows: ComparedRows, columns: Sequence[int], names: Sequence[str], page_rows: int
) -> None:
    """Add the old values of cells that differ to the texts of whole pages. Blocks."""
    if not pages:
        return
    first = min(pages)
    start, count = first * page_rows, (max(pages) + 1 - first) * page_rows
    numbers = {names[column]: column for column in columns}
    for name, cells in rows.cells_before(start, count, list(numbers)).items():
        column = numbers[name]
        now = pages[first][column]
        form = now.form if isinstance(now, FormattedTexts) else None
        texts = screen_texts(cells.values) if form is None else format_texts(cells.values, form)
        by_page: dict[int, dict[int, str | None]] = {}
        for place, text in zip(cells.places.tolist(), texts, strict=True):
            by_page.setdefault(first + place // page_rows, {})[place % page_rows] = text
        for page, before in by_page.items():
            pages[page][column] = ChangedTexts(pages[page][column], before)


def read_pages(
    rows: Rows,
    request: Request,
    names: Sequence[str],
    job: Job,
    formats: Mapping[str, Format] | None = None,
) -> PageTexts:
    """Read pages; `formats` are by column name. Blocks; call it on a worker."""
    start = request.first * PAGE_ROWS
    count = (request.last + 1) * PAGE_ROWS - start
    table = rows.page(start, count, [names[column] for column in request.columns])
    pages: PageTexts = {page: {} for page in range(request.first, request.last + 1)}
    for column, values in zip(request.columns, table.columns, strict=True):
        job.check()
        form = form_of(formats or {}, names[column], values.type)
        texts = screen_texts(values) if form is None else format_texts(values, form)
        pictures = thumbnails(values)
        for page in pages:
            at = (page - request.first) * PAGE_ROWS
            page_texts = texts.part(at, PAGE_ROWS) if isinstance(texts, FormattedTexts) else (
                texts[at : at + PAGE_ROWS])  # fmt: skip
            page_pictures = {row - at: image for row, image in pictures.items() if at <= row < at + PAGE_ROWS}
            pages[page][column] = PictureTexts(page_texts, page_pictures) if page_pictures else page_texts
    if isinstance(rows, ComparedRows):
        _put_changes(pages, rows, request.columns, names, PAGE_ROWS)
    return pages


class Pages(QObject):
    """The pages of the shown rows. `arrived` carries the first and last row that can now be drawn; `failed`
    is emitted at most once per view."""

    arrived = Signal(object, object)
    failed = Signal(Exception)

    def __init__(self, tasks: Tasks, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._tasks = tasks
        self._rows: Rows | None = None
        self._columns = GridColumns()
        self.has_new_types = False
        """Whether the new rows have columns of the same names with other types."""
        self._generation = 0
        self._is_broken = False
        self._cells = 0
        self._pages: OrderedDict[int, dict[int, Texts]] = OrderedDict()
        self.fraction_digits: dict[int, int] = {}
        """The most decimal places read so far, by column."""
        self.formats: dict[str, Format] = {}
        """The formats chosen for columns, by name."""
        self.usual_formats: Mapping[str, Format] = {}
        """Default formats of columns, by name, where they differ from the type's own."""
        self.extents: dict[int, tuple[float, float]] = {}
        """The least and greatest values read so far, by column, of columns whose cells are coloured."""
        self._stale: dict[int, set[int]] = {}
        self._under_way: list[tuple[Handle, Request]] = []
        self._missing_part: Request | None = None
        self._next: Request | None = None

    def show(self, rows: Rows | None, columns: GridColumns, ready: PageTexts | None = None) -> None:
        """Forget everything read so far; `ready` has pages of the new rows that are already read."""
        is_renamed = columns.names != self._columns.names
        self.has_new_types = not is_renamed and columns.types != self._columns.types
        self._generation += 1
        self._rows, self._columns, self._is_broken = rows, columns, False
        self.cancel()
        self._missing_part = self._next = None
        self._pages.clear()
        self._stale.clear()
        if is_renamed or self.has_new_types:
            self.fraction_digits, self.extents = {}, {}
        self._cells = 0
        self._keep(ready or {})

    def grow(self, rows: Rows) -> None:
        """Show the same rows with more at the end: only the last page may be incomplete."""
        last = (self._rows.num_rows - 1) // PAGE_ROWS if self._rows else 0
        self._generation += 1
        self._rows = rows
        self.cancel()
        for column in self._pages.pop(last, {}).values():
            self._cells -= _weight(column)

    def reformat(self, column: int) -> None:
        """Read a column again in its new format; its old texts are drawn until then."""
        self._generation += 1
        self.cancel()
        self.fraction_digits.pop(column, None)
        self._stale[column] = {page for page, columns in self._pages.items() if column in columns}
        self._missing_part = self._next = None

    def form(self, column: int) -> Format | None:
        """The column's format, if it applies to its values."""
        rows = self._rows
        if rows is None or column >= len(self._columns.names):
            return None
        name = self._columns.names[column]
        formats = self.formats if name in self.formats else self.usual_formats
        return form_of(formats, name, self._columns.types[column])

    @property
    def all_formats(self) -> Mapping[str, Format]:
        """The chosen formats, and the default ones of the other columns."""
        return ChainMap(self.formats, self.usual_formats)  # type: ignore[arg-type]

    def cancel(self) -> None:
        """Cancel all requests."""
        for handle, _ in self._under_way:
            handle.cancel()
        self._under_way.clear()

    def text(self, row: int, column: int) -> str | None:
        """The text of a cell without its format, None for null; raises KeyError if it has not been read."""
        return self._text(row, column, formatted=False)

    def shown_text(self, row: int, column: int) -> str | None:
        """The text of a cell as it is drawn."""
        return self._text(row, column, formatted=True)

    def _text(self, row: int, column: int, formatted: bool) -> str | None:
        texts = self._pages[row // PAGE_ROWS][column]
        if not formatted and isinstance(texts, ChangedTexts):
            texts = texts.texts
        if not formatted and isinstance(texts, FormattedTexts):
            texts = texts.values
        try:
            return texts[row % PAGE_ROWS]
        except IndexError:
            raise KeyError(row) from None

    def fraction(self, column: int) -> Fraction:
        form = self.form(column)
        if form is not None and form.kind not in AT_POINT:
            return Fraction.NONE
        return self._columns.fractions.get(column, Fraction.NONE)

    def column(self, page: int, column: int) -> Texts | None:
        """The texts of one page of a column, for drawing many cells; None if they have not been read."""
        page_texts = self._pages.get(page)
        return None if page_texts is None else page_texts.get(column)

    def want(self, first_row: int, last_row: int, columns: Sequence[int], downwards: bool = True) -> None:
        """Request what is on screen. Replaces all earlier requests that have not begun."""
        if self._rows is None or self._is_broken or not columns or self._rows.num_rows == 0:
            return
        first, last = first_row // PAGE_ROWS, last_row // PAGE_ROWS
        for page in range(first, last + 1):
            if page in self._pages:
                self._pages.move_to_end(page)
        self._missing_part = self._missing(first, last, columns)
        ahead = range(last + 1, last + 1 + PAGES_AHEAD) if downwards else range(first - PAGES_AHEAD, first)
        inside = [page for page in ahead if 0 <= page <= (self._rows.num_rows - 1) // PAGE_ROWS]
        self._next = self._missing(inside[0], inside[-1], columns) if inside else None
        self._begin()

    @property
    def is_settled(self) -> bool:
        """Whether everything on screen has been read."""
        return self._missing_part is None or self._is_broken

    def _missing(self, first: int, last: int, columns: Sequence[int]) -> Request | None:
        pages = [p for p in range(first, last + 1) if any(not self._has(p, c) for c in columns)]
        if not pages:
            return None
        needed = tuple(c for c in columns if any(not self._has(p, c) for p in pages))
        return Request(pages[0], pages[-1], needed)

    def _has(self, page: int, column: int) -> bool:
        return column in self._pages.get(page, ()) and page not in self._stale.get(column, ())

    def _begin(self) -> None:
        requests = [request for _, request in self._under_way]
        if self._missing_part is not None and self._missing_part not in requests and len(requests) < AT_ONCE:
            self._ask(self._missing_part)
        elif self._missing_part is None and self._next is not None and not requests:
            self._ask(self._next)

    def _ask(self, request: Request) -> None:
        rows, names, formats = self._rows, self._columns.names, dict(self.all_formats)
        generation = self._generation

        def work(job: Job) -> PageTexts:
            assert rows is not None
            return read_pages(rows, request, names, job, formats)

        def finish(pages: PageTexts) -> None:
            if generation == self._generation:
                self._take(request, pages)

        def fail(error: Exception) -> None:
            if generation == self._generation:
                self._is_broken = True
                self.failed.emit(error)

        handle = self._tasks.read(work, finish, fail, owner=self, quiet=True, text="Reading rows")
        self._under_way.append((handle, request))

    def _take(self, request: Request, pages: PageTexts) -> None:
        self._under_way = [(h, r) for h, r in self._under_way if r is not request]
        self._keep(pages)
        if self._next is not None and self._next == request:
            self._next = None
        if self._missing_part is not None:
            self._missing_part = self._missing(
                self._missing_part.first, self._missing_part.last, self._missing_part.columns
            )
        self._begin()
        self.arrived.emit(request.first * PAGE_ROWS, (request.last + 1) * PAGE_ROWS - 1)

    def _keep(self, pages: PageTexts) -> None:
        for page, columns_read in pages.items():
            columns = {c: texts for c, texts in columns_read.items() if _form_of(texts) == self.form(c)}
            page_texts = self._pages.setdefault(page, {})
            self._cells += sum(
                _weight(texts) - _weight(page_texts.get(c, ())) for c, texts in columns.items()
            )
            page_texts.update(columns)
            for column, texts in columns.items():
                if column in self._stale:
                    self._stale[column].discard(page)
                if isinstance(texts, FormattedTexts) and texts.extent is not None:
                    low, high = self.extents.get(column, texts.extent)
                    self.extents[column] = min(low, texts.extent[0]), max(high, texts.extent[1])
            for column in self._columns.fractions.keys() & columns.keys():
                most = max(self.fraction_digits.get(column, 0), most_fraction_digits(columns[column]))
                self.fraction_digits[column] = most
            self._pages.move_to_end(page)
        while self._cells > MOST_CELLS and len(self._pages) > len(pages) + 2:
            _, dropped = self._pages.popitem(last=False)
            self._cells -= sum(map(_weight, dropped.values()))


def _total_rows(rows: Rows) -> int:
    if isinstance(rows, TreeRows):
        return rows.most_rows
    if isinstance(rows, ComparedRows):
        return rows.total_rows
    return rows.snapshot.num_rows if isinstance(rows, View) else rows.num_rows


def _text_in_tree(tree: TreeRows, row: int, column: int, text: str | None) -> str:
    """The text, with what a screen reader says about a group that can be expanded."""
    level, first = tree.level(row), tree.first_levels[column]
    if not tree.shows(row, column):
        return ""
    shown_text = "NULL" if text is None else text
    state = tree.is_open(row) if column in tree.key_columns and level == first else None
    return shown_text if state is None else f"{shown_text}, {'open' if state else 'closed'}"


WINDOW_ROWS = 1_000_000  # Qt sums row heights in an int: its views break at 2³¹ ÷ height rows
Index = QModelIndex | QPersistentModelIndex
NO_PARENT = QModelIndex()


class GridModel(QAbstractTableModel):
    """Model row r is row `start + r` of the shown rows; at most `window` rows at once."""

    def __init__(self, tasks: Tasks, parent: QObject | None = None, window: int = WINDOW_ROWS) -> None:
        super().__init__(parent)
        self.pages = Pages(tasks, self)
        self.window = window
        self.start = 0
        self.num_rows = 0
        self.total_rows = 0  # in the whole table, before filters
        self.columns = GridColumns()
        self.names: list[str] = []
        self.descriptions: Mapping[str, str] = {}
        self.tree: TreeRows | None = None
        """The rows, if they are groups that can be expanded."""
        self._rows = 0

    @property
    def is_windowed(self) -> bool:
        return self.num_rows > self.window

    @property
    def has_cells(self) -> bool:
        """Whether there is a cell: there may be rows without columns, and columns without rows."""
        return self.num_rows > 0 and bool(self.names)

    @property
    def schema(self) -> pa.Schema:
        return self.columns.schema

    @property
    def notes(self) -> Mapping[str, str]:
        return self.columns.notes

    @property
    def right(self) -> Sequence[bool]:
        """For each column, whether it is aligned to the right."""
        return self.columns.right

    @property
    def has_minus(self) -> Sequence[bool]:
        return self.columns.has_minus

    def show(self, rows: Rows, ready: PageTexts | None = None, columns: GridColumns | None = None) -> bool:
        """Show other rows; `columns` if they are known. Returns True if the columns differ, except for
        columns that are added or missing at the end, such as those of rows inside groups."""
        columns = columns or GridColumns.of(rows.schema)
        names = list(columns.names)
        before, now = len(self.names), len(names)
        in_tree = self.tree is not None and isinstance(rows, TreeRows)
        is_renamed = names[:before] != self.names[:now] if in_tree else names != self.names
        if is_renamed:
            self.beginResetModel()
        elif now > before:
            self.beginInsertColumns(NO_PARENT, before, now - 1)
        elif now < before:
            self.beginRemoveColumns(NO_PARENT, now, before - 1)
        self.columns, self.names = columns, names
        self.tree = rows if isinstance(rows, TreeRows) else None
        self.total_rows = _total_rows(rows)
        self.pages.show(rows, columns, ready)
        if is_renamed:
            self.num_rows, self._rows, self.start = rows.num_rows, min(rows.num_rows, self.window), 0
            self.endResetModel()
            return True
        if now > before:
            self.endInsertColumns()
        elif now < before:
            self.endRemoveColumns()
        self._resize(rows.num_rows)
        return False

    def grow(self, rows: Rows) -> None:
        """Show the same rows with more at the end."""
        self.total_rows = _total_rows(rows)
        self.pages.grow(rows)
        self._resize(rows.num_rows)

    def move_window(self, start: int) -> int:
        """Make row `start` model row 0, as far as there are rows; return the distance moved."""
        start = max(0, min(start, self.num_rows - self._rows))
        moved, self.start = start - self.start, start
        return moved

    def rowCount(self, parent: Index = NO_PARENT) -> int:
        return 0 if parent.isValid() else self._rows

    def columnCount(self, parent: Index = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self.names)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """For accessibility and tests; the view draws directly from the pages."""
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole) and index.isValid():
            row, column = self.start + index.row(), index.column()
            try:
                text = self.pages.shown_text(row, column)
            except KeyError:
                return "…"
            if self.tree is not None:
                return _text_in_tree(self.tree, row, column, text)
            return "NULL" if text is None else text
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        if orientation is Qt.Orientation.Vertical:
            return f"{self.start + section + 1:,}" if role == Qt.ItemDataRole.DisplayRole else None
        if not 0 <= section < len(self.names):
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self.names[section]
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._tool_tip(section)
        return None

    def _tool_tip(self, section: int) -> str:
        name = self.names[section]
        lines = [name, type_text(self.schema.field(section).type)]
        lines += textwrap.wrap(self.descriptions.get(name, ""), TIP_CHARACTERS)
        form = self.pages.form(section)
        if form is not None and form.kind != "plain" and name in self.pages.all_formats:
            lines.append(f"Shown as {BY_ID[form.kind].label.lower()}")
        if name in self.notes:
            lines += ["", *textwrap.wrap(self.notes[name], TIP_CHARACTERS)]
        text = "\n".join(map(visible, lines))
        if "<" not in text:
            return text
        # Qt treats text that looks like HTML as HTML, and a column's name may look like it.
        return f"<p style='white-space: pre'>{html.escape(text)}</p>"

    def _resize(self, num_rows: int) -> None:
        rows_now = min(num_rows, self.window)
        if rows_now > self._rows:
            self.beginInsertRows(NO_PARENT, self._rows, rows_now - 1)
            self.num_rows, self._rows = num_rows, rows_now
            self.endInsertRows()
        elif rows_now < self._rows:
            self.beginRemoveRows(NO_PARENT, rows_now, self._rows - 1)
            self.num_rows, self._rows = num_rows, rows_now
            self.endRemoveRows()
        self.num_rows = num_rows
        self.start = max(0, min(self.start, num_rows - rows_now))


BEGINNINGS = {b"\x89PNG\r\n\x1a\n": b"png", b"\xff\xd8\xff": b"jpeg"}
MOST_BYTES = 8 << 20
MOST_PIXELS = 50_000_000
SIDE = QSize(144, 48)  # enough for one row at double resolution
LONGEST_BEGINNING = max(map(len, BEGINNINGS))


def thumbnails(values: pa.ChunkedArray) -> dict[int, QImage]:
    """Thumbnails by row; values that are not pictures, or too large to be decoded quickly, have none."""
    if kind_of(values.type) is not Kind.BINARY:
        return {}
    pictures = {}
    for row, value in enumerate(values):
        if value.is_valid and (image := thumbnail(memoryview(value.as_buffer()))) is not None:
            pictures[row] = image
    return pictures


def thumbnail(data: memoryview) -> QImage | None:
    beginning = bytes(data[:LONGEST_BEGINNING])
    format_ = next((name for begin, name in BEGINNINGS.items() if beginning.startswith(begin)), None)
    if format_ is None or len(data) > MOST_BYTES:
        return None
    buffer = QBuffer()
    buffer.setData(QByteArray(bytes(data)))
    buffer.open(QIODevice.OpenModeFlag.ReadOnly)
    reader = QImageReader(buffer, format_)
    size = reader.size()
    if size.isEmpty() or size.width() * size.height() > MOST_PIXELS:
        return None
    small = size.scaled(SIDE, Qt.AspectRatioMode.KeepAspectRatio).expandedTo(QSize(1, 1))
    if small.height() < size.height():
        reader.setScaledSize(small)
    image = reader.read()
    return None if image.isNull() else image
