"""Tables and views of a SQLite database, read by Python's sqlite3 through the cache; never written."""

from __future__ import annotations

import os
import re
import sqlite3
import time
from array import array
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.arrow.arrays import MOST_TEXT, from_numpy, from_values, joined_texts, text_array
from lamella.core.datasets.base import Dataset, OpenOptions
from lamella.core.datasets.cached_dataset import open_blocks
from lamella.core.datasets.locate import Location, Stamp, refuse_changed_files, stamp_of
from lamella.core.datasets.tables import (
    ForeignKey,
    SeveralTables,
    TableEntry,
    chosen_table,
    known_problem,
    quote_identifier,
)
from lamella.core.datasets.text.dialect import distinct_names
from lamella.core.datasets.text.types import read_as
from lamella.core.datasets.values import Values, ValuesFile, all_null, join_types, least_type, to_array
from lamella.core.errors import FileProblem
from lamella.core.jobs import Job

FIRST_ROWS, ROWS_A_BLOCK, BYTES_A_BLOCK = 5_000, 1 << 16, 32 << 20
FEWEST_FETCHED, MOST_FETCHED = 16, 256
"""Rows fetched at a time. With more, their Python objects have left the CPU caches when they are turned into
columns, which then takes twice as long."""
COUNTING_SECONDS = 0.2
BUSY_SECONDS = 2.0
_WAL_MODE = 2
_OF_STORES = b"LAME"
"""The application ID that marks a SQLite database as the catalog of a store."""
_STEPS = 10_000
_DECIMAL = re.compile(r"(?:decimal|numeric|number)\s*\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)")
_RAW = {pa.bool_(): pa.int64(), pa.date32(): pa.string(), pa.timestamp("us"): pa.string()}
BROKEN_TEXT = "Some of its texts are not UTF-8 and are shown as bytes"


def tables_of(path: Path, is_counted: bool = True) -> list[TableEntry]:
    """Return the tables and views in the order of their names, without SQLite's internal ones. Counting rows
    may take `COUNTING_SECONDS` for each."""
    with closing(_connect(path)) as connection, _as_file_problem(path):
        names = connection.execute(
            "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view')"
            " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY type, name COLLATE NOCASE"
        ).fetchall()
        own = {name for name, kind in _table_kinds(connection) if kind == "shadow"}
        return [
            TableEntry(
                name,
                kind,
                count_rows(connection, name) if is_counted else None,
                _column_count(connection, name),
            )
            for name, kind in names
            if name not in own
        ]


def foreign_keys_of(path: Path) -> list[ForeignKey]:
    """Return the declared foreign keys. One that names no columns of the other table refers to its primary
    key."""
    keys: list[ForeignKey] = []
    with closing(_connect(path)) as connection, _as_file_problem(path):
        tables = [name for name, kind in _table_kinds(connection) if kind == "table"]
        called = {name.casefold(): name for name in tables}
        for table in tables:
            pairs_by_key: dict[int, list[tuple[str, str, str | None]]] = {}
            rows = connection.execute(f"PRAGMA foreign_key_list({quote_identifier(table)})").fetchall()
            for number, _, target, column, target_column, *_ in sorted(rows):
                pairs_by_key.setdefault(number, []).append((target, column, target_column))
            for parts in pairs_by_key.values():
                target = called.get(parts[0][0].casefold())
                if target is not None:
                    other_columns = tuple(str(name) for _, _, name in parts)
                    target_columns = other_columns if parts[0][2] else _primary_key(connection, target)
                    keys.append(
                        ForeignKey(table, tuple(column for _, column, _ in parts), target, target_columns)
                    )
    return [key for key in keys if len(key.columns) == len(key.to_columns)]


def _primary_key(connection: sqlite3.Connection, table: str) -> tuple[str, ...]:
    rows = connection.execute(f"PRAGMA table_info({quote_identifier(table)})").fetchall()
    return tuple(row[1] for row in sorted(rows, key=lambda row: row[5]) if row[5])


def open_table(location: Location, options: OpenOptions) -> Dataset:
    """Open a table or view. Raises `FileProblem`, and `SeveralTables` if one has to be named."""
    path = location.files[0]
    stamps = stamps_of(path)
    try:
        table = chosen_table(path, tables_of(path, is_counted=False), options.table, "table")
    except SeveralTables:
        table = chosen_table(path, tables_of(path), options.table, "table")
    return open_blocks(table.name, SqliteTable(path, stamps, table.name, options), options)


def stamps_of(path: Path) -> tuple[Stamp, ...]:
    """Return the stamps of a database and its write-ahead log, which may be the only file that changes."""
    return stamp_of(path), stamp_of(path.with_name(f"{path.name}-wal"))


class SqliteTable(ValuesFile):
    """A table or view. A column has its declared type if all its values fit that type, else the narrowest
    type that keeps them all."""

    def __init__(self, path: Path, stamps: Sequence[Stamp], table: str, options: OpenOptions) -> None:
        with closing(_connect(path)) as connection, _as_file_problem(path):
            columns = _columns(connection, table)
            last = _last_rowid(connection, table)
        if not columns:
            raise FileProblem(path, f"has no columns in '{table}'", fix="Choose another table")
        super().__init__(path, "SQLite", stamps, ("table", table), options)
        self.name_columns(distinct_names([name for name, _ in columns]))
        self._table, self._rows = table, last
        self._declared_types = [_declared_type(kind) for _, kind in columns]

    @property
    def size(self) -> int:
        return self._rows

    @property
    def _query(self) -> str:
        return f"SELECT * FROM {quote_identifier(self._table)}"

    def blocks(self, job: Job) -> Generator[TableBlock, None, None]:
        """Yield the blocks of rows, all from one transaction, so that writes in the meantime are not seen."""
        with (
            closing(_connect(self.path)) as connection,
            _as_file_problem(self.path),
        ):
            connection.set_progress_handler(lambda: job.cancelled, _STEPS)
            if self.about:
                connection.text_factory = _text_or_bytes
            connection.execute("BEGIN")
            connection.execute("SELECT 1 FROM sqlite_master").fetchone()
            refuse_changed_files(self.stamps)  # after the first read, which is when the transaction begins
            try:
                yield from self._cut(connection)
            except sqlite3.OperationalError:
                job.check()
                raise

    def _cut(self, connection: sqlite3.Connection) -> Iterator[TableBlock]:
        number = position = 0
        cursor = connection.execute(self._query)
        while True:
            try:
                for columns, count in _fetch(cursor, ROWS_A_BLOCK if number else FIRST_ROWS):
                    yield TableBlock(number, columns, position + 1, position + count)
                    number, position = number + 1, position + count
                break
            except sqlite3.OperationalError as error:
                if "decode" not in str(error) or self.about:
                    raise
            self.about = (BROKEN_TEXT,)
            connection.text_factory = _text_or_bytes
            cursor = connection.execute(f"{self._query} LIMIT -1 OFFSET {position}")
        if not number:
            yield TableBlock(0, [], 1, 0)

    def least(self, place: int, values: Values) -> pa.DataType:
        declared = self._declared_types[place]
        if declared is not None and self.array(place, values, declared) is not None:
            return pa.null() if all_null(values) else declared
        return least_type(values)

    def join_column_types(self, place: int, a: pa.DataType, b: pa.DataType) -> pa.DataType:
        """Return a type for the values of both. Declared types are compared by how SQLite stores them."""
        if a.equals(b) or pa.types.is_null(a) or pa.types.is_null(b):
            return join_types(a, b)
        return join_types(_raw(a), _raw(b))

    def array(self, place: int, values: Values, kind: pa.DataType) -> pa.Array | None:
        if all_null(values):
            return to_array(values, kind)
        if pa.types.is_boolean(kind):
            return _truths(values)
        if pa.types.is_decimal(kind):
            return _decimals(values, kind)
        if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
            return _parse_dates(values, kind)
        return to_array(values, kind)


def _raw(kind: pa.DataType) -> pa.DataType:
    return pa.float64() if pa.types.is_decimal(kind) else _RAW.get(kind, kind)


def _declared_type(declared: str) -> pa.DataType | None:
    """The type of a declaration that SQLite itself does not enforce, such as a date; None for other ones."""
    name = declared.casefold()
    if name.startswith("bool"):
        return pa.bool_()
    if name.startswith(("datetime", "timestamp")):
        return pa.timestamp("us")
    if name == "date":
        return pa.date32()
    match = _DECIMAL.fullmatch(name)
    if match is None:
        return None
    precision, scale = int(match[1]), int(match[2] or 0)
    return pa.decimal128(precision, scale) if 0 < precision <= 38 and scale <= precision else None


def _truths(values: Values) -> pa.Array | None:
    if not isinstance(values, pa.Array) or not pa.types.is_integer(values.type):
        return None
    span = pc.min_max(values)
    return values.cast(pa.bool_()) if span["min"].as_py() >= 0 and span["max"].as_py() <= 1 else None


def _decimals(values: Values, kind: pa.Decimal128Type) -> pa.Array | None:
    if isinstance(values, pa.Array):
        values = values.to_pylist()
    if not set(map(type, values)) <= {int, float, type(None)}:
        return None
    unit, most = Decimal(1).scaleb(-kind.scale), Decimal(10) ** (kind.precision - kind.scale)
    numbers = [None if value is None else Decimal(repr(value)) for value in values]
    for number in numbers:
        if number is not None and not (number.is_finite() and abs(number) < most and number % unit == 0):
            return None
    return from_values(numbers, pa.decimal128(38, kind.scale)).cast(kind)


def _parse_dates(values: Values, kind: pa.DataType) -> pa.Array | None:
    """Parse texts in the form that SQLite's own functions write; None if a text does not fit the type."""
    if not isinstance(values, pa.Array) or not pa.types.is_string(values.type):
        return None
    dates = read_as(values, kind)
    return dates if dates is not None and dates.null_count == values.null_count else None


class ColumnPart(NamedTuple):
    """Values of a column that were fetched together, packed if SQLite stores all of them in the same way.

    `numbers` are integers, doubles, or the lengths of texts, which are concatenated in `texts` as UTF-8.
    `valid` is None if no value is null, `kind` is None if all are. Bytes and `mixed_values` values have the
    kind `object`."""

    kind: type | None
    rows: int
    numbers: np.ndarray | None = None
    texts: bytes = b""
    valid: np.ndarray | None = None
    mixed_values: Sequence[Any] = ()

    @property
    def size(self) -> int:
        """The bytes of texts and binary values."""
        return len(self.texts) + sum(len(value) for value in self.mixed_values if type(value) in (str, bytes))

    @property
    def filled_numbers(self) -> np.ndarray:
        return np.zeros(self.rows, np.int64) if self.numbers is None else self.numbers

    @property
    def validity(self) -> np.ndarray:
        return np.full(self.rows, self.kind is not None) if self.valid is None else self.valid

    def values(self) -> list[Any]:
        joined = self.mixed_values if self.kind is object else join_parts([self])
        return joined.to_pylist() if isinstance(joined, pa.Array) else list(joined)


def pack(values: tuple[Any, ...]) -> ColumnPart:
    kind, count = type(values[0]), len(values)
    try:
        if kind is int:
            return ColumnPart(int, count, np.frombuffer(array("q", values), np.int64))
        if kind is str:
            texts, lengths = joined_texts(values)
            return ColumnPart(str, count, lengths, texts) if len(texts) <= MOST_TEXT else _as_python(values)
    except TypeError:  # another type is among the values
        pass
    kinds = set(map(type, values))
    if kinds == {float}:
        return ColumnPart(float, count, np.fromiter(values, np.float64, count))
    if kinds == {type(None)}:
        return ColumnPart(None, count)
    value_kinds = kinds - {type(None)}
    if value_kinds == kinds or len(value_kinds) > 1 or bytes in value_kinds:
        return _as_python(values)
    empty = value_kinds.pop()()
    valid = np.fromiter([value is not None for value in values], np.bool_, count)
    filled = pack(tuple([empty if value is None else value for value in values]))
    return _as_python(values) if filled.kind is object else filled._replace(valid=valid)


def _as_python(values: tuple[Any, ...]) -> ColumnPart:
    return ColumnPart(object, len(values), mixed_values=values)


def join_parts(parts: Sequence[ColumnPart]) -> Values:
    """Return the values of all parts, as an array if they are of one kind."""
    kinds = {part.kind for part in parts} - {None}
    if not kinds:
        return pa.nulls(sum(part.rows for part in parts))
    kind = kinds.pop()
    texts = None
    if not kinds and kind is not object:
        numbers = np.concatenate([part.filled_numbers for part in parts])
        has_nulls = any(part.kind is None or part.valid is not None for part in parts)
        valid = np.concatenate([part.validity for part in parts]) if has_nulls else None
        if kind is not str:
            return from_numpy(numbers, None, valid)
        texts = text_array(b"".join([part.texts for part in parts]), numbers, valid)
    return list(chain.from_iterable(part.values() for part in parts)) if texts is None else texts


@dataclass(frozen=True)
class TableBlock:
    """Consecutive rows of a table. `first` is the number of the first row, from 1; `parts` are the fetched
    parts of each column."""

    number: int
    parts: Sequence[Sequence[ColumnPart]]
    first: int
    progress: int

    def row_number(self, place: int) -> int:
        return self.first + place

    def columns(self) -> list[Values]:
        return [join_parts(parts) for parts in self.parts]


def _fetch(cursor: sqlite3.Cursor, most: int) -> Iterator[tuple[list[list[ColumnPart]], int]]:
    """Yield the fetched parts of each column with the number of rows, limited by rows and bytes. The first
    groups are small, so that the first rows, and whether there are more, are known soon."""
    fetched: list[list[ColumnPart]] = []
    count, size, step = 0, 0, FEWEST_FETCHED
    while rows := cursor.fetchmany(min(step, most - count)):
        parts = [pack(values) for values in zip(*rows, strict=True)]
        fetched.append(parts)
        long = sum(part.size for part in parts)
        step = min(MOST_FETCHED, 2 * step) if long < BYTES_A_BLOCK >> 4 else max(1, step // 2)
        count, size = count + len(rows), size + long
        if count >= most or size >= BYTES_A_BLOCK:
            yield [list(parts) for parts in zip(*fetched, strict=True)], count
            fetched, count, size, most = [], 0, 0, min(2 * most, ROWS_A_BLOCK)
    if fetched:
        yield [list(parts) for parts in zip(*fetched, strict=True)], count


def _text_or_bytes(data: bytes) -> str | bytes:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def _table_kinds(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """The names and kinds of tables as SQLite lists them; empty before SQLite 3.37."""
    try:
        return [(row[1], row[2]) for row in connection.execute("PRAGMA table_list")]
    except sqlite3.OperationalError:
        return []


def _columns(connection: sqlite3.Connection, table: str) -> list[tuple[str, str]]:
    """The names and declared types of columns, in the order of SELECT *."""
    described = connection.execute(f"PRAGMA table_xinfo({quote_identifier(table)})").fetchall()
    return [(row[1], row[2] or "") for row in described if row[6] != 1]


def _column_count(connection: sqlite3.Connection, table: str) -> int | None:
    try:
        return len(_columns(connection, table))
    except sqlite3.OperationalError:  # a view of something missing must not hide the other tables
        return None


def count_rows(connection: sqlite3.Connection, table: str) -> int | None:
    """Return the number of rows, or None if counting takes longer than `COUNTING_SECONDS`."""
    return _answer_soon(connection, f"SELECT count(*) FROM {quote_identifier(table)}")


def _last_rowid(connection: sqlite3.Connection, table: str) -> int:
    """Roughly the number of rows; 0 if that cannot be told quickly."""
    return _answer_soon(connection, f"SELECT max(rowid) FROM {quote_identifier(table)}") or 0


def _answer_soon(connection: sqlite3.Connection, query: str) -> int | None:
    until = time.monotonic() + COUNTING_SECONDS
    connection.set_progress_handler(lambda: time.monotonic() > until, _STEPS)
    try:
        answer = connection.execute(query).fetchone()[0]
    except sqlite3.Error:  # a broken view is reported when it is opened; some tables have no rowid
        return None
    finally:
        connection.set_progress_handler(None, 0)
    return answer if isinstance(answer, int) else None


def _connect(path: Path) -> sqlite3.Connection:
    """Connect read-only. A database in WAL mode without a log is opened as immutable, since SQLite would
    otherwise create files beside it."""
    with path.open("rb") as file:
        header = file.read(100)
    if header[68:72] == _OF_STORES:
        why, fix = "The rows of its tables are in the folders beside it", f"Open the folder {path.parent}"
        raise FileProblem(path, "is the catalog of a store", why, fix)
    _refuse_truncated(path, header)
    log = path.with_name(f"{path.name}-wal")
    is_still = header[18:19] == bytes([_WAL_MODE]) and stamp_of(log)[1] <= 0
    how = "immutable=1" if is_still else "mode=ro"
    with _as_file_problem(path):
        return sqlite3.connect(
            f"{Path(os.fspath(path)).absolute().as_uri()}?{how}",
            uri=True,
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )


def _refuse_truncated(path: Path, header: bytes) -> None:
    """Raise `FileProblem` if the file is shorter than its header says: SQLite may read missing pages as
    nulls. The header's page count is only valid if it was written with the last change."""
    page, pages = int.from_bytes(header[16:18], "big"), int.from_bytes(header[28:32], "big")
    page = 1 << 16 if page == 1 else page
    if header[24:28] == header[92:96] and path.stat().st_size < page * pages:
        raise FileProblem(
            path,
            "is cut off",
            f"It is {path.stat().st_size:,} bytes long instead of {page * pages:,}",
            "Copy or download it again",
        )


@contextmanager
def _as_file_problem(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise _problem(path, error) from error


_PROBLEMS = (
    (
        ("locked", "busy"),
        "is locked by another program",
        "It is writing to the database",
        "Wait until that program is done, or close the database there",
    ),
    (
        ("not a database",),
        "is not a readable SQLite database",
        "It is encrypted or damaged",
        "Decrypt it with the program that created it, or download it again",
    ),
    (
        ("malformed", "corrupt", "disk I/O"),
        "is a damaged SQLite database",
        "Its pages contradict each other",
        "Download it again, or recover what is left: sqlite3 FILE .recover",
    ),
    (
        ("unable to open", "readonly"),
        "could not be opened",
        "To read its log, SQLite has to write files beside it",
        "Copy the database, with its -wal and -journal files, to a folder where you can write",
    ),
)


def _problem(path: Path, error: sqlite3.DatabaseError) -> FileProblem:
    return known_problem(path, str(error), _PROBLEMS) or FileProblem(
        path, "could not be read by SQLite", str(error), "Look at that table with the sqlite3 shell"
    )
