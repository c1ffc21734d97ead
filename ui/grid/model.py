"""The table model and its pages: a cache of texts, filled by workers; the GUI thread never reads."""

from __future__ import annotations

import html
import json
import math
import re
import textwrap
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
from pyarrow import types
from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal

from lamella.core.arrow.nested import python_value, python_values
from lamella.core.errors import BadData, visible
from lamella.core.filters.kinds import NUMBERS, Kind, kind_of, value_type
from lamella.core.jobs import Job
from lamella.core.scan.snapshot import NOTE
from lamella.ui.tasks import Handle, Tasks

LONGEST = 200  # characters of one cell on screen; copying takes the whole text
LONGEST_BYTES = 48
LONGEST_FLOAT = 12
TIP_CHARACTERS = 72
FRACTION = re.compile(r"\.(\d*?)0+(?=$|[+\-Z])")
CUT, BREAK, TAB = "…", "↵", "⇥"  # what stands on screen for what was left out
UNREADABLE = "(text that is not UTF-8)"
Texts = list[str | None]

ICONS = {
    Kind.TEXT: "text",
    Kind.BOOLEAN: "bool",
    Kind.DATE: "date",
    Kind.TIMESTAMP: "date",
    Kind.TIME: "date",
    Kind.DURATION: "date",
}


def icon_name(type_: pa.DataType) -> str:
    """The icon that stands for a type in headers and lists of columns."""
    kind = kind_of(type_)
    return "number" if kind in NUMBERS else ICONS.get(kind, "group")


def is_right_aligned(type_: pa.DataType) -> bool:
    return kind_of(type_) in NUMBERS


def note_of(field: pa.Field) -> str:
    """What people should know of the column's values; empty for nothing."""
    return str((field.metadata or {}).get(NOTE, b"").decode(errors="replace"))


def screen_texts(values: pa.ChunkedArray | pa.Array) -> Texts:
    """One line for each value, long ones cut; None stands for null."""
    texts = whole_texts(values, LONGEST_BYTES)
    if is_shortened(values.type):
        return [_short_float(text) if text and len(text) > LONGEST_FLOAT else text for text in texts]
    return [_one_line(text) if text else text for text in texts]


def is_shortened(type_: pa.DataType) -> bool:
    """Whether what is on screen may be less exact than the value."""
    return kind_of(type_) is Kind.FLOAT


def whole_texts(values: pa.ChunkedArray | pa.Array, longest_bytes: int | None = None) -> Texts:
    """Each value in full; None stands for null."""
    type_ = value_type(values.type)
    if types.is_dictionary(values.type):
        values = values.cast(type_)
    if types.is_timestamp(type_) or types.is_time(type_):
        return [_without_zeros(text) for text in values.cast(pa.string()).to_pylist()]
    if types.is_date(type_) or types.is_decimal(type_):
        return values.cast(pa.string()).to_pylist()
    if types.is_float32(type_) or types.is_float16(type_):
        return [
            None if text is None else _float(float(text)) for text in values.cast(pa.string()).to_pylist()
        ]
    write = _writer(type_, longest_bytes)
    return [None if value is None else write(value) for value in _values(values)]


def _values(values: pa.ChunkedArray | pa.Array) -> list[Any]:
    """Far times as `python_value` has them, and text that is not UTF-8 with its bytes as escapes."""
    try:
        return python_values(values)
    except BadData:
        return [_readable(value) for value in values]


def _readable(value: pa.Scalar) -> Any:
    try:
        return python_value(value)
    except BadData:
        if types.is_nested(value.type):
            return UNREADABLE
        return value.as_buffer().to_pybytes().decode(errors="backslashreplace")


def _writer(type_: pa.DataType, longest_bytes: int | None) -> Callable[[Any], str]:
    kind = kind_of(type_)
    if kind is Kind.FLOAT:
        return _float
    if kind is Kind.BOOLEAN:
        return lambda value: "true" if value else "false"
    if kind is Kind.BINARY:
        return lambda value: _hex(value, longest_bytes)
    if types.is_nested(type_):
        return lambda value: json.dumps(value, ensure_ascii=False, default=_json)
    return str


def _one_line(text: str | None) -> str | None:
    if text is None:
        return None
    cut = text if len(text) <= LONGEST else text[: LONGEST - 1] + CUT
    if cut.isprintable():
        return cut
    return cut.replace("\r\n", BREAK).replace("\n", BREAK).replace("\r", BREAK).replace("\t", TAB)


def _float(value: float) -> str:
    """The shortest text that reads back as the same number, without a trailing `.0`."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("∞" if value > 0 else "-∞")
    text = repr(value)
    return text[:-2] if text.endswith(".0") else text


def _short_float(text: str) -> str:
    """Ten digits: what lies behind them is mostly the rounding of binary numbers."""
    return f"{float(text):.10g}"


def _without_zeros(text: str | None) -> str | None:
    """A time without the zeros at the end of its fraction."""
    return (
        None
        if text is None
        else FRACTION.sub(lambda found: "." + found[1] if found[1] else "", text, count=1)
    )


def _hex(value: bytes, longest: int | None) -> str:
    if longest is not None and len(value) > longest:
        return "0x" + value[:longest].hex() + CUT
    return "0x" + value.hex()


def _json(value: Any) -> str:
    return "0x" + value.hex() if isinstance(value, bytes) else str(value)


PAGE_ROWS = 32  # rows scattered over a file cost one by one, so a page is no more than a screen
AT_ONCE = 2  # requests under way: a jump need not wait for the page it left
MOST_CELLS = 1_500_000


class Rows(Protocol):
    """What the grid shows: `core.query.view.View`, as far as the grid needs it."""

    @property
    def num_rows(self) -> int: ...

    @property
    def schema(self) -> pa.Schema: ...

    def page(self, offset: int, count: int, columns: list[str] | None = None) -> pa.Table: ...


@dataclass(frozen=True)
class NoRows:
    """None of these columns."""

    schema: pa.Schema
    num_rows: int = 0

    def page(self, offset: int, count: int, columns: list[str] | None = None) -> pa.Table:
        return self.schema.empty_table()


@dataclass(frozen=True)
class Request:
    """Pages `first` to `last`, inclusive, of these columns (numbers in the schema)."""

    first: int
    last: int
    columns: tuple[int, ...]


PageTexts = dict[int, dict[int, Texts]]  # page -> column -> texts


def read_pages(rows: Rows, request: Request, names: Sequence[str], job: Job) -> PageTexts:
    """Blocks; call it on a worker."""
    start = request.first * PAGE_ROWS
    count = (request.last + 1) * PAGE_ROWS - start
    table = rows.page(start, count, [names[column] for column in request.columns])
    pages: PageTexts = {page: {} for page in range(request.first, request.last + 1)}
    for column, values in zip(request.columns, table.columns, strict=True):
        job.check()
        texts = screen_texts(values)
        for page in pages:
            at = (page - request.first) * PAGE_ROWS
            pages[page][column] = texts[at : at + PAGE_ROWS]
    return pages


class Pages(QObject):
    """`arrived` names the rows, first and last, that can be drawn now. `failed` comes once for each view."""

    arrived = Signal(object, object)
    failed = Signal(Exception)

    def __init__(self, tasks: Tasks, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._tasks = tasks
        self._rows: Rows | None = None
        self._names: list[str] = []
        self._generation = 0
        self._broken = False
        self._cells = 0
        self._pages: OrderedDict[int, dict[int, Texts]] = OrderedDict()
        self._under_way: list[tuple[Handle, Request]] = []
        self._wanted: Request | None = None
        self._next: Request | None = None

    def show(self, rows: Rows | None, names: Sequence[str], ready: PageTexts | None = None) -> None:
        """Forget everything read so far; `ready` was read from the new rows already."""
        self._generation += 1
        self._rows, self._names, self._broken = rows, list(names), False
        self.cancel()
        self._wanted = self._next = None
        self._pages.clear()
        self._cells = 0
        self._keep(ready or {})

    def grow(self, rows: Rows) -> None:
        """The same rows with more at the end: only the last page may have been read too short."""
        last = (self._rows.num_rows - 1) // PAGE_ROWS if self._rows else 0
        self._generation += 1
        self._rows = rows
        self.cancel()
        for column in self._pages.pop(last, {}).values():
            self._cells -= len(column)

    def cancel(self) -> None:
        """Nobody waits any more for what is under way."""
        for handle, _ in self._under_way:
            handle.cancel()
        self._under_way.clear()

    def text(self, row: int, column: int) -> str | None:
        """The text of a cell, None for null; raises KeyError while it has not been read."""
        try:
            return self._pages[row // PAGE_ROWS][column][row % PAGE_ROWS]
        except IndexError:
            raise KeyError(row) from None

    def column(self, page: int, column: int) -> Texts | None:
        """The texts of one page of a column, for drawing many cells; None while not read."""
        found = self._pages.get(page)
        return None if found is None else found.get(column)

    def want(self, first_row: int, last_row: int, columns: Sequence[int], downwards: bool = True) -> None:
        """What is on screen now. Replaces everything wanted before and not yet begun."""
        if self._rows is None or self._broken or not columns or self._rows.num_rows == 0:
            return
        first, last = first_row // PAGE_ROWS, last_row // PAGE_ROWS
        for page in range(first, last + 1):
            if page in self._pages:
                self._pages.move_to_end(page)
        self._wanted = self._missing(first, last, columns)
        ahead = last + 1 if downwards else first - 1
        inside = 0 <= ahead <= (self._rows.num_rows - 1) // PAGE_ROWS
        self._next = self._missing(ahead, ahead, columns) if inside else None
        self._begin()

    @property
    def settled(self) -> bool:
        """Nothing that is on screen is still to come."""
        return self._wanted is None or self._broken

    def _missing(self, first: int, last: int, columns: Sequence[int]) -> Request | None:
        pages = [p for p in range(first, last + 1) if any(c not in self._pages.get(p, ()) for c in columns)]
        if not pages:
            return None
        needed = tuple(c for c in columns if any(c not in self._pages.get(p, ()) for p in pages))
        return Request(pages[0], pages[-1], needed)

    def _begin(self) -> None:
        asked = [request for _, request in self._under_way]
        if self._wanted is not None and self._wanted not in asked and len(asked) < AT_ONCE:
            self._ask(self._wanted)
        elif self._wanted is None and self._next is not None and not asked:
            self._ask(self._next)

    def _ask(self, request: Request) -> None:
        rows, names, generation = self._rows, self._names, self._generation

        def work(job: Job) -> PageTexts:
            assert rows is not None
            return read_pages(rows, request, names, job)

        def done(pages: PageTexts) -> None:
            if generation == self._generation:
                self._take(request, pages)

        def failed(error: Exception) -> None:
            if generation == self._generation:
                self._broken = True
                self.failed.emit(error)

        handle = self._tasks.read(work, done, failed, owner=self, quiet=True, text="Reading rows")
        self._under_way.append((handle, request))

    def _take(self, request: Request, pages: PageTexts) -> None:
        self._under_way = [(h, r) for h, r in self._under_way if r is not request]
        self._keep(pages)
        if self._next is not None and self._next == request:
            self._next = None
        if self._wanted is not None:
            self._wanted = self._missing(self._wanted.first, self._wanted.last, self._wanted.columns)
        self._begin()
        self.arrived.emit(request.first * PAGE_ROWS, (request.last + 1) * PAGE_ROWS - 1)

    def _keep(self, pages: PageTexts) -> None:
        for page, columns in pages.items():
            held = self._pages.setdefault(page, {})
            self._cells += sum(len(texts) - len(held.get(c, ())) for c, texts in columns.items())
            held.update(columns)
            self._pages.move_to_end(page)
        while self._cells > MOST_CELLS and len(self._pages) > len(pages) + 2:
            _, dropped = self._pages.popitem(last=False)
            self._cells -= sum(map(len, dropped.values()))


WINDOW_ROWS = 1_000_000  # Qt adds row heights up in an int: 2³¹ ÷ height is where its views break
Index = QModelIndex | QPersistentModelIndex
NO_PARENT = QModelIndex()


class GridModel(QAbstractTableModel):
    """Model row r is row `start + r` of what is shown; at most `window` rows at once."""

    def __init__(self, tasks: Tasks, parent: QObject | None = None, window: int = WINDOW_ROWS) -> None:
        super().__init__(parent)
        self.pages = Pages(tasks, self)
        self.window = window
        self.start = 0
        self.num_rows = 0
        self.schema = pa.schema([])
        self.names: list[str] = []
        self.notes: dict[str, str] = {}
        self.right: list[bool] = []
        self._rows = 0

    @property
    def is_windowed(self) -> bool:
        return self.num_rows > self.window

    def show(self, rows: Rows, ready: PageTexts | None = None) -> bool:
        """Show other rows; True when the columns are others, too."""
        names = list(rows.schema.names)
        others = names != self.names
        if others:
            self.beginResetModel()
        self.schema, self.names = rows.schema, names
        self.notes = {field.name: note for field in rows.schema if (note := note_of(field))}
        self.right = [is_right_aligned(field.type) for field in rows.schema]
        self.pages.show(rows, names, ready)
        if others:
            self.num_rows, self._rows, self.start = rows.num_rows, min(rows.num_rows, self.window), 0
            self.endResetModel()
        else:
            self._resize(rows.num_rows)
        return others

    def grow(self, rows: Rows) -> None:
        """The same rows, more of them."""
        self.pages.grow(rows)
        self._resize(rows.num_rows)

    def move_window(self, start: int) -> int:
        """Let model row 0 be row `start`, as far as there are rows; answers by how much it moved."""
        start = max(0, min(start, self.num_rows - self._rows))
        moved, self.start = start - self.start, start
        return moved

    def rowCount(self, parent: Index = NO_PARENT) -> int:
        return 0 if parent.isValid() else self._rows

    def columnCount(self, parent: Index = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self.names)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """For accessibility and tests; the view draws from the pages directly."""
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole) and index.isValid():
            try:
                text = self.pages.text(self.start + index.row(), index.column())
            except KeyError:
                return "…"
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
        lines = [name, str(self.schema.field(section).type)]
        if name in self.notes:
            lines += ["", *textwrap.wrap(self.notes[name], TIP_CHARACTERS)]
        text = "\n".join(map(visible, lines))
        if "<" not in text:
            return text
        # Qt takes for HTML what looks like it, as the name of a column may.
        return f"<p style='white-space: pre'>{html.escape(text)}</p>"

    def _resize(self, num_rows: int) -> None:
        shown = min(num_rows, self.window)
        if shown > self._rows:
            self.beginInsertRows(NO_PARENT, self._rows, shown - 1)
            self.num_rows, self._rows = num_rows, shown
            self.endInsertRows()
        elif shown < self._rows:
            self.beginRemoveRows(NO_PARENT, shown, self._rows - 1)
            self.num_rows, self._rows = num_rows, shown
            self.endRemoveRows()
        self.num_rows = num_rows
        self.start = max(0, min(self.start, num_rows - shown))
