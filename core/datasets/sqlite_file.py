"""Tables and views of a SQLite database: read by Python's sqlite3, never written, through the cache."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from lamella.core.arrow.arrays import from_values
from lamella.core.datasets.base import Dataset, OpenOptions
from lamella.core.datasets.cached import open_blocks
from lamella.core.datasets.locate import Location, Stamp, refuse_changed, stamp_of
from lamella.core.datasets.tables import ForeignKey, TableEntry, chosen_table, known_problem, quoted
from lamella.core.datasets.text.dialect import distinct_names
from lamella.core.datasets.text.types import read_as
from lamella.core.datasets.values import RowBlock, Values, ValuesFile, join_types, least_type, to_array
from lamella.core.errors import FileProblem
from lamella.core.jobs import Job

FIRST_ROWS, ROWS_A_BLOCK, BYTES_A_BLOCK = 5_000, 1 << 16, 32 << 20
FEWEST_FETCHED, MOST_FETCHED = 16, 4096
COUNTING_SECONDS = 0.2
BUSY_SECONDS = 2.0
_WAL_MODE = 2
_OF_STORES = b"LAME"
"""What the catalog of a store says that it is, in the place that SQLite has for that."""
_STEPS = 10_000
_DECIMAL = re.compile(r"(?:decimal|numeric|number)\s*\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)")
_RAW = {pa.bool_(): pa.int64(), pa.date32(): pa.string(), pa.timestamp("us"): pa.string()}
BROKEN_TEXT = "Some of its texts are not UTF-8 and are shown as the bytes they are"


def tables_of(path: Path) -> list[TableEntry]:
    """Tables and views in the order of their names; what SQLite keeps for itself is not among them."""
    with closing(_connect(path)) as connection, _as_file_problem(path):
        names = connection.execute(
            "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view')"
            " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY type, name COLLATE NOCASE"
        ).fetchall()
        own = {name for name, kind in _table_kinds(connection) if kind == "shadow"}
        return [
            TableEntry(name, kind, _row_count(connection, name), _column_count(connection, name))
            for name, kind in names
            if name not in own
        ]


def foreign_keys_of(path: Path) -> list[ForeignKey]:
    """Those that are declared. One that names no columns of the other table means its primary key."""
    keys: list[ForeignKey] = []
    with closing(_connect(path)) as connection, _as_file_problem(path):
        tables = [name for name, kind in _table_kinds(connection) if kind == "table"]
        called = {name.casefold(): name for name in tables}
        for table in tables:
            found: dict[int, list[tuple[str, str, str | None]]] = {}
            rows = connection.execute(f"PRAGMA foreign_key_list({quoted(table)})").fetchall()
            for number, _, target, column, other, *_ in sorted(rows):
                found.setdefault(number, []).append((target, column, other))
            for parts in found.values():
                target = called.get(parts[0][0].casefold())
                if target is not None:
                    named = tuple(str(other) for _, _, other in parts)
                    others = named if parts[0][2] else _primary_key(connection, target)
                    keys.append(ForeignKey(table, tuple(column for _, column, _ in parts), target, others))
    return [key for key in keys if len(key.columns) == len(key.to_columns)]


def _primary_key(connection: sqlite3.Connection, table: str) -> tuple[str, ...]:
    rows = connection.execute(f"PRAGMA table_info({quoted(table)})").fetchall()
    return tuple(row[1] for row in sorted(rows, key=lambda row: row[5]) if row[5])


def open_table(location: Location, options: OpenOptions) -> Dataset:
    """Raises `FileProblem`, and `SeveralTables` where one has to be named."""
    path = location.files[0]
    stamps = stamps_of(path)
    table = chosen_table(path, tables_of(path), options.table, "table")
    return open_blocks(table.name, SqliteTable(path, stamps, table.name), options)


def stamps_of(path: Path) -> tuple[Stamp, ...]:
    """What is committed to a database may be in its write-ahead log alone."""
    return stamp_of(path), stamp_of(path.with_name(f"{path.name}-wal"))


class SqliteTable(ValuesFile):
    """A column has the type that was declared for it where all its values are of it, or else the least that
    keeps them all."""

    def __init__(self, path: Path, stamps: Sequence[Stamp], table: str) -> None:
        with closing(_connect(path)) as connection, _as_file_problem(path):
            columns = _columns(connection, table)
            last = _last_rowid(connection, table)
        if not columns:
            raise FileProblem(path, f"has no columns in '{table}'", fix="Choose another table")
        super().__init__(path, "SQLite", stamps, ("table", table), distinct_names([n for n, _ in columns]))
        self._table, self._rows = table, last
        self._declared = [_declared_type(kind) for _, kind in columns]

    @property
    def size(self) -> int:
        return self._rows

    @property
    def _query(self) -> str:
        return f"SELECT * FROM {quoted(self._table)}"

    def blocks(self, job: Job) -> Generator[RowBlock, None, None]:
        """In one transaction, so that rows that others write meanwhile are not seen."""
        with (
            closing(_connect(self.path)) as connection,
            _as_file_problem(self.path),
        ):
            connection.set_progress_handler(lambda: job.cancelled, _STEPS)
            if self.remarks:
                connection.text_factory = _text_or_bytes
            connection.execute("BEGIN")
            connection.execute("SELECT 1 FROM sqlite_master").fetchone()
            refuse_changed(self.stamps)  # after the first read, which is when the transaction begins
            try:
                yield from self._cut(connection)
            except sqlite3.OperationalError:
                job.check()
                raise

    def _cut(self, connection: sqlite3.Connection) -> Iterator[RowBlock]:
        number = done = 0
        cursor = connection.execute(self._query)
        while True:
            try:
                for rows in _fetch(cursor, FIRST_ROWS if not number else ROWS_A_BLOCK):
                    yield RowBlock(number, rows, done + 1, done + len(rows))
                    number, done = number + 1, done + len(rows)
                break
            except sqlite3.OperationalError as error:
                if "decode" not in str(error) or self.remarks:
                    raise
            self.remarks = (BROKEN_TEXT,)
            connection.text_factory = _text_or_bytes
            cursor = connection.execute(f"{self._query} LIMIT -1 OFFSET {done}")
        if not number:
            yield RowBlock(0, [], 1, 0)

    def least(self, place: int, values: Values) -> pa.DataType:
        declared = self._declared[place]
        if declared is not None and self.array(place, values, declared) is not None:
            return pa.null() if all(value is None for value in values) else declared
        return least_type(values)

    def joined(self, place: int, a: pa.DataType, b: pa.DataType) -> pa.DataType:
        """Values of a declared type are stored as others: these are what both have in common."""
        if a.equals(b) or pa.types.is_null(a) or pa.types.is_null(b):
            return join_types(a, b)
        return join_types(_raw(a), _raw(b))

    def array(self, place: int, values: Values, kind: pa.DataType) -> pa.Array | None:
        types = set(map(type, values)) - {type(None)}
        if not types:
            return to_array(values, kind)
        if pa.types.is_boolean(kind):
            if types != {int} or not set(values) <= {0, 1, None}:
                return None
            return from_values([None if value is None else bool(value) for value in values], kind)
        if pa.types.is_decimal(kind):
            return _decimals(values, types, kind)
        if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
            return _dated(values, types, kind)
        return to_array(values, kind)


def _raw(kind: pa.DataType) -> pa.DataType:
    return pa.float64() if pa.types.is_decimal(kind) else _RAW.get(kind, kind)


def _declared_type(declared: str) -> pa.DataType | None:
    """The type that a declaration means which SQLite does not know itself."""
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


def _decimals(values: Values, types: set[type], kind: pa.Decimal128Type) -> pa.Array | None:
    if not types <= {int, float}:
        return None
    unit, most = Decimal(1).scaleb(-kind.scale), Decimal(10) ** (kind.precision - kind.scale)
    numbers = [None if value is None else Decimal(repr(value)) for value in values]
    for number in numbers:
        if number is not None and not (number.is_finite() and abs(number) < most and number % unit == 0):
            return None
    return from_values(numbers, pa.decimal128(38, kind.scale)).cast(kind)


def _dated(values: Values, types: set[type], kind: pa.DataType) -> pa.Array | None:
    """Texts as SQLite's own functions write them; what a date loses by its type is text."""
    if types != {str}:
        return None
    texts = from_values(values, pa.string())
    dates = read_as(texts, kind)
    return dates if dates is not None and dates.null_count == texts.null_count else None


def _fetch(cursor: sqlite3.Cursor, most: int) -> Iterator[list[tuple[Any, ...]]]:
    """Rows together as long as they are few and short; the first ones soon."""
    rows: list[tuple[Any, ...]] = []
    size, step = 0, FEWEST_FETCHED
    while some := cursor.fetchmany(min(step, most - len(rows))):
        rows += some
        long = sum(len(value) for row in some[::8] for value in row if type(value) in (str, bytes)) * 8
        step = min(MOST_FETCHED, 2 * step) if long < BYTES_A_BLOCK >> 4 else max(1, step // 2)
        size += long
        if len(rows) >= most or size >= BYTES_A_BLOCK:
            yield rows
            rows, size, most = [], 0, ROWS_A_BLOCK
    if rows:
        yield rows


def _text_or_bytes(data: bytes) -> str | bytes:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def _table_kinds(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """Names with what SQLite says they are; nothing before its version 3.37."""
    try:
        return [(row[1], row[2]) for row in connection.execute("PRAGMA table_list")]
    except sqlite3.OperationalError:
        return []


def _columns(connection: sqlite3.Connection, table: str) -> list[tuple[str, str]]:
    """Names and declared types, in the order of SELECT *."""
    described = connection.execute(f"PRAGMA table_xinfo({quoted(table)})").fetchall()
    return [(row[1], row[2] or "") for row in described if row[6] != 1]


def _column_count(connection: sqlite3.Connection, table: str) -> int | None:
    try:
        return len(_columns(connection, table))
    except sqlite3.OperationalError:  # a view over what is gone must not hide the other tables
        return None


def _row_count(connection: sqlite3.Connection, table: str) -> int | None:
    """How many rows there are, where that is known soon."""
    return _answer_soon(connection, f"SELECT count(*) FROM {quoted(table)}")


def _last_rowid(connection: sqlite3.Connection, table: str) -> int:
    """About how many rows there are; 0 where nothing says it soon."""
    return _answer_soon(connection, f"SELECT max(rowid) FROM {quoted(table)}") or 0


def _answer_soon(connection: sqlite3.Connection, query: str) -> int | None:
    until = time.monotonic() + COUNTING_SECONDS
    connection.set_progress_handler(lambda: time.monotonic() > until, _STEPS)
    try:
        answer = connection.execute(query).fetchone()[0]
    except sqlite3.Error:  # a view over what is gone says so when it is opened; some tables have no rowid
        return None
    finally:
        connection.set_progress_handler(None, 0)
    return answer if isinstance(answer, int) else None


def _connect(path: Path) -> sqlite3.Connection:
    """For reading alone. A database in WAL mode without a log is opened as one that nobody changes: SQLite
    would make files beside it."""
    with path.open("rb") as file:
        header = file.read(100)
    if header[68:72] == _OF_STORES:
        why, fix = "The rows of its tables are in the folders beside it", f"Open the folder {path.parent}"
        raise FileProblem(path, "is the catalog of a store", why, fix)
    _refuse_cut_off(path, header)
    log = path.with_name(f"{path.name}-wal")
    is_still = header[18:19] == bytes([_WAL_MODE]) and stamp_of(log)[1] <= 0
    how = "immutable=1" if is_still else "mode=ro"
    with _as_file_problem(path):
        return sqlite3.connect(
            f"{path.absolute().as_uri()}?{how}",
            uri=True,
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )


def _refuse_cut_off(path: Path, header: bytes) -> None:
    """SQLite may read what is missing at the end as nulls. The number of pages counts where it was written
    with the last change."""
    page, pages = int.from_bytes(header[16:18], "big"), int.from_bytes(header[28:32], "big")
    page = 1 << 16 if page == 1 else page
    if header[24:28] == header[92:96] and path.stat().st_size < page * pages:
        raise FileProblem(
            path,
            "is cut off",
            f"It is {path.stat().st_size:,} bytes long instead of {page * pages:,}",
            "Copy or fetch it again",
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
        "is no SQLite database that can be read",
        "It is encrypted or damaged",
        "Decrypt it with the program that made it, or fetch it again",
    ),
    (
        ("malformed", "corrupt", "disk I/O"),
        "is a damaged SQLite database",
        "Its pages do not fit together",
        "Fetch it again, or save what can be saved: sqlite3 FILE .recover",
    ),
    (
        ("unable to open", "readonly"),
        "could not be opened",
        "SQLite has to write beside it, to read its log",
        "Copy the database, with its -wal and -journal files, to where you may write",
    ),
)


def _problem(path: Path, error: sqlite3.DatabaseError) -> FileProblem:
    return known_problem(path, str(error), _PROBLEMS) or FileProblem(
        path, "could not be read by SQLite", str(error), "Look at that table with the sqlite3 shell"
    )
