"""The catalog's tables. Rows with `from_version` and `to_version` are valid for versions [from, to).

Indexes and relations belong to a table, not to a version: they name columns by their permanent ids, as JSON
lists. Numbers are never reused, so what a process remembers of a dropped table is never mistaken for
another.

SQLite accepts any value in any column, and a catalog may come from anybody, so everything that is read
passes through `checked_rows`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lamella.core.arrow.types import type_from_bytes
from lamella.core.errors import DamagedStore

FORMAT_VERSION = 3
APPLICATION_ID = 0x4C414D45  # "LAME", so that `file` and other programs can tell the catalog apart
FOREVER = (1 << 62) - 1
LARGEST_NUMBER = 1 << 60
"""The largest number of rows, ids, versions and bytes, so that a sum of two fits into 64 bits."""

_SINCE_2 = """
CREATE TABLE transactions (transaction_id INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL);
CREATE TABLE change_files (
    entry INTEGER PRIMARY KEY AUTOINCREMENT,
    table_id INTEGER NOT NULL, path TEXT NOT NULL, made INTEGER NOT NULL, rows INTEGER NOT NULL,
    first_id INTEGER NOT NULL, last_id INTEGER NOT NULL, bytes INTEGER NOT NULL, names TEXT NOT NULL,
    checksum TEXT NOT NULL, from_version INTEGER NOT NULL, to_version INTEGER NOT NULL
);
CREATE TABLE metadata (
    entry INTEGER PRIMARY KEY AUTOINCREMENT,
    table_id INTEGER NOT NULL, column_id INTEGER NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL,
    from_version INTEGER NOT NULL, to_version INTEGER NOT NULL
);
CREATE TABLE ids_under_way (
    staging TEXT NOT NULL, table_id INTEGER NOT NULL, first_id INTEGER NOT NULL, last_id INTEGER NOT NULL
);
CREATE TABLE removed_files (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    path TEXT NOT NULL UNIQUE, bytes INTEGER NOT NULL, table_id INTEGER NOT NULL,
    first_version INTEGER NOT NULL, last_version INTEGER NOT NULL
);
CREATE INDEX change_files_by_table ON change_files (table_id, to_version);
CREATE INDEX metadata_by_table ON metadata (table_id, to_version);
"""

_SINCE_3 = """
CREATE TABLE indexes (
    index_id INTEGER PRIMARY KEY AUTOINCREMENT,
    table_id INTEGER NOT NULL, kind TEXT NOT NULL, column_ids TEXT NOT NULL, options TEXT NOT NULL,
    UNIQUE (table_id, kind, column_ids)
);
CREATE TABLE relations (
    relation_id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE,
    from_table_id INTEGER NOT NULL, from_column_ids TEXT NOT NULL,
    to_table_id INTEGER NOT NULL, to_column_ids TEXT NOT NULL, options TEXT NOT NULL
);
"""

TABLES = f"""
CREATE TABLE tables (
    table_id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, folder TEXT NOT NULL UNIQUE,
    version INTEGER NOT NULL, generation INTEGER NOT NULL,
    next_id INTEGER NOT NULL, next_column INTEGER NOT NULL
);
CREATE TABLE commits (
    table_id INTEGER NOT NULL, version INTEGER NOT NULL, at REAL NOT NULL, kind TEXT NOT NULL,
    restores INTEGER, inserted INTEGER NOT NULL, updated INTEGER NOT NULL, deleted INTEGER NOT NULL,
    seconds REAL NOT NULL, message TEXT NOT NULL, name TEXT NOT NULL, transaction_id INTEGER,
    PRIMARY KEY (table_id, version)
) WITHOUT ROWID;
CREATE TABLE columns (
    entry INTEGER PRIMARY KEY AUTOINCREMENT,
    table_id INTEGER NOT NULL, column_id INTEGER NOT NULL, name TEXT NOT NULL,
    type BLOB NOT NULL, place INTEGER NOT NULL, from_version INTEGER NOT NULL, to_version INTEGER NOT NULL
);
CREATE TABLE data_files (
    entry INTEGER PRIMARY KEY AUTOINCREMENT,
    table_id INTEGER NOT NULL, path TEXT NOT NULL, rows INTEGER NOT NULL,
    first_id INTEGER NOT NULL, last_id INTEGER NOT NULL, bytes INTEGER NOT NULL, names TEXT NOT NULL,
    checksum TEXT NOT NULL, made INTEGER NOT NULL,
    from_version INTEGER NOT NULL, to_version INTEGER NOT NULL
);
CREATE TABLE deletions (
    entry INTEGER PRIMARY KEY AUTOINCREMENT,
    table_id INTEGER NOT NULL, ids BLOB NOT NULL, checksum TEXT NOT NULL,
    from_version INTEGER NOT NULL, to_version INTEGER NOT NULL
);
CREATE TABLE pending_rows (
    entry INTEGER PRIMARY KEY AUTOINCREMENT,
    table_id INTEGER NOT NULL, first_id INTEGER NOT NULL, rows INTEGER NOT NULL,
    columns TEXT NOT NULL, batch BLOB NOT NULL, checksum TEXT NOT NULL,
    from_version INTEGER NOT NULL, to_version INTEGER NOT NULL
);
CREATE TABLE pending_cells (
    entry INTEGER PRIMARY KEY AUTOINCREMENT,
    table_id INTEGER NOT NULL, made INTEGER NOT NULL, ids BLOB NOT NULL,
    columns TEXT NOT NULL, batch BLOB NOT NULL, checksum TEXT NOT NULL,
    from_version INTEGER NOT NULL, to_version INTEGER NOT NULL
);
CREATE INDEX columns_by_table ON columns (table_id, to_version);
CREATE INDEX data_files_by_table ON data_files (table_id, to_version);
CREATE INDEX deletions_by_table ON deletions (table_id, to_version);
CREATE INDEX pending_rows_by_table ON pending_rows (table_id, to_version);
CREATE INDEX pending_cells_by_table ON pending_cells (table_id, to_version);
{_SINCE_2}
{_SINCE_3}"""

SAVED_VIEWS = """
CREATE TABLE IF NOT EXISTS saved_views (name TEXT PRIMARY KEY, query TEXT NOT NULL, at REAL NOT NULL)
"""
"""Created when the first view is saved. Stores without views stay readable by earlier versions of Lamella,
which ignore the table."""

MIGRATIONS = {
    1: f"""
ALTER TABLE commits ADD COLUMN name TEXT NOT NULL DEFAULT '';
ALTER TABLE commits ADD COLUMN transaction_id INTEGER;
ALTER TABLE data_files ADD COLUMN checksum TEXT NOT NULL DEFAULT '';
ALTER TABLE data_files ADD COLUMN made INTEGER NOT NULL DEFAULT 0;
ALTER TABLE deletions ADD COLUMN checksum TEXT NOT NULL DEFAULT '';
ALTER TABLE pending_rows ADD COLUMN checksum TEXT NOT NULL DEFAULT '';
ALTER TABLE pending_cells ADD COLUMN checksum TEXT NOT NULL DEFAULT '';
{_SINCE_2}""",
    2: _SINCE_3,
}
"""The statements that migrate a catalog of each format to the next."""

NUMBERED_TABLES = dict(re.findall(r"CREATE TABLE (\w+) \(\s*(\w+) INTEGER PRIMARY KEY AUTOINCREMENT", TABLES))
"""The tables whose entries SQLite numbers, and the column with the number."""
LAST_NUMBER = (1 << 63) - 1
"""The last number that SQLite can assign."""

VERSIONED_TABLES = {
    "columns": ("column_id", "name", "type", "place"),
    "data_files": ("path", "rows", "first_id", "last_id", "bytes", "names", "checksum", "made"),
    "change_files": ("path", "made", "rows", "first_id", "last_id", "bytes", "names", "checksum"),
    "metadata": ("column_id", "key", "value"),
    "deletions": ("ids", "checksum"),
    "pending_rows": ("first_id", "rows", "columns", "batch", "checksum"),
    "pending_cells": ("made", "ids", "columns", "batch", "checksum"),
}

_TEXTS = frozenset(
    {
        "name",
        "folder",
        "kind",
        "message",
        "path",
        "names",
        "checksum",
        "columns",
        "column_ids",
        "options",
        "query",
    }
    | {"from_column_ids", "to_column_ids", "staging"}
)
_BYTES = frozenset({"type", "key", "value", "ids", "batch"})
_MAY_BE_NULL = frozenset({"restores", "transaction_id"})
_LONGEST_SHOWN = 60
_KEYS = frozenset(
    {"table_id", "entry", "number", "from_table_id", "to_table_id", "transaction_id", "index_id"}
    | {"relation_id"}
)
"""Numbers that are only compared, never used in arithmetic."""
_ENDS = frozenset({"from_version", "to_version", "first_version", "last_version"})
_FIRST_TIME, _LAST_TIME = -62_135_596_800.0, 253_402_300_799.0
"""The years 1 to 9999, in seconds since 1970."""
_LONGEST_SECONDS = 1e12
_FEW_ROWS = 8
"""With more rows, values are checked by column."""


@dataclass(frozen=True)
class _Domain:
    """The values allowed in a column of the catalog: of these types, and numbers from `least` to `most`."""

    types: frozenset[type]
    least: float | None = None
    most: float = 0

    def holds(self, values: Iterable[Any]) -> bool:
        if not self.types.issuperset(map(type, values)):
            return False
        if self.least is None:
            return True
        numbers = [value for value in values if value is not None]
        return not numbers or (self.least <= min(numbers) and max(numbers) <= self.most)

    def contains(self, value: Any) -> bool:
        if type(value) not in self.types:
            return False
        return self.least is None or value is None or self.least <= value <= self.most


CHECKSUMMED_COLUMNS = {"deletions": ("ids",), "pending_rows": ("batch",), "pending_cells": ("ids", "batch")}
"""The columns that the checksum of a pending entry covers; it is empty in entries of an earlier format."""


def checked_rows(
    catalog: Path, kind: str, columns: Sequence[str], rows: Iterable[tuple[Any, ...]]
) -> list[tuple[Any, ...]]:
    """Return the rows if their values have the types of their columns in the catalog's table `kind`, and
    their numbers are within range; raise `DamagedStore` otherwise."""
    all_rows = list(rows)
    if not all_rows:
        return all_rows
    rules = _domains(tuple(columns))
    if len(all_rows) <= _FEW_ROWS:
        for row in all_rows:
            for value, allowed in zip(row, rules, strict=True):
                if not allowed.contains(value):
                    _refuse(catalog, kind, columns, all_rows)
    elif not all(map(_Domain.holds, rules, zip(*all_rows, strict=True))):
        _refuse(catalog, kind, columns, all_rows)
    return all_rows


def _refuse(catalog: Path, kind: str, columns: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> None:
    """Raise `DamagedStore` for the first invalid value."""
    for row in rows:
        for column, value, allowed in zip(columns, row, _domains(tuple(columns)), strict=True):
            if not allowed.contains(value):
                why = "A value of this type" if type(value) not in allowed.types else "This number"
                raise damaged_entry(catalog, kind, column, value, f"{why} is not valid there")


def whole_numbers(catalog: Path, kind: str, column: str, text: str) -> tuple[int, ...]:
    """Parse a JSON list of whole numbers; raise `DamagedStore` for anything else."""
    numbers = _parse_json(catalog, kind, column, text)
    if not isinstance(numbers, list) or not all(type(number) is int for number in numbers):
        raise damaged_entry(catalog, kind, column, text, "It is not a list of whole numbers")
    return tuple(numbers)


def names_by_key(catalog: Path, kind: str, text: str) -> dict[int, str]:
    """Parse the names of columns in a file, by the columns' permanent ids; raise `DamagedStore` for anything
    else."""
    names = _parse_json(catalog, kind, "names", text)
    fits = isinstance(names, dict) and all(key.isdecimal() and isinstance(names[key], str) for key in names)
    if not fits:
        raise damaged_entry(catalog, kind, "names", text, "It does not give the names of the columns")
    return {int(key): name for key, name in names.items()}


def row_ids(catalog: Path, kind: str, ids: bytes) -> np.ndarray:
    """Parse the `_id`s of an entry; raise `DamagedStore` for an invalid length."""
    if len(ids) % 8:
        raise damaged_entry(catalog, kind, "ids", ids, "Each id takes 8 bytes")
    return np.frombuffer(ids, "<i8")


def column_type(catalog: Path, stored: bytes) -> pa.DataType:
    """Parse a stored type; raise `DamagedStore` for anything else."""
    try:
        return type_from_bytes(stored)
    except (pa.ArrowException, OSError, EOFError, ValueError, LookupError) as error:
        raise damaged_entry(catalog, "columns", "type", stored, str(error)) from error


def damaged_entry(catalog: Path, kind: str, column: str, value: object, why: str) -> DamagedStore:
    text = repr(value)
    text = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
    what = f"{catalog}: the catalog's table {kind} holds {text} as {column}"
    return DamagedStore(what, why, "Verify the store to see what else is damaged, and restore a backup")


@lru_cache(64)
def _domains(columns: tuple[str, ...]) -> tuple[_Domain, ...]:
    return tuple(map(_domain_of, columns))


def _domain_of(column: str) -> _Domain:
    if column in _TEXTS:
        return _Domain(frozenset({str}))
    if column in _BYTES:
        return _Domain(frozenset({bytes}))
    if column == "at":
        return _Domain(frozenset({float}), _FIRST_TIME, _LAST_TIME)
    if column == "seconds":
        return _Domain(frozenset({float}), 0, _LONGEST_SECONDS)
    types = frozenset({int, type(None)}) if column in _MAY_BE_NULL else frozenset({int})
    if column in _KEYS:
        return _Domain(types)
    return _Domain(types, 0, FOREVER if column in _ENDS else LARGEST_NUMBER)


def _parse_json(catalog: Path, kind: str, column: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise damaged_entry(catalog, kind, column, text, str(error)) from error
