"""Which systems stand together in the list, and which versions are installed here."""

from __future__ import annotations

import platform
import sqlite3
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

from lamella.core.bench.registry import ENTRIES, Entry

GROUPS = {
    "Stores": ("lamella", "parquetdb", "deltalake", "pytables", "h5py", "zodb"),
    "Databases": (
        *("sqlite", "sqlite-wal", "sqlite-obj", "sqlalchemy-core", "sqlalchemy-orm"),
        *("sqlite-parquet", "sqlite-parquet-one-table", "sqlite-fts5"),
        *("duckdb", "duckdb-parquet", "mongodb"),
    ),
    "Data frames": ("pyarrow", "pyarrow-tuned", "polars", "pandas"),
    "Files": ("csv", "csv-numpy", "jsonl", "pickle", "pickle-obj"),
}
OTHERS = "Others"

PACKAGES = {
    "lamella": "lamella",
    "duckdb": "duckdb",
    "duckdb-parquet": "duckdb",
    "pyarrow": "pyarrow",
    "pyarrow-tuned": "pyarrow",
    "pandas": "pandas",
    "csv-numpy": "numpy",
}
"""What pip calls a system that needs nothing besides what this program needs."""


def grouped() -> dict[str, list[Entry]]:
    """Every system of the table; those that no group names stand together at the end."""
    named = {name for names in GROUPS.values() for name in names}
    groups = {title: [ENTRIES[name] for name in names if name in ENTRIES] for title, names in GROUPS.items()}
    groups[OTHERS] = [entry for name, entry in ENTRIES.items() if name not in named]
    return {title: entries for title, entries in groups.items() if entries}


def installed_versions(entries: Sequence[Entry]) -> dict[str, str]:
    """By system; those without a package of their own have the version of SQLite or of Python.

    Reads files, and imports nothing.
    """
    return {entry.id: _installed(entry) for entry in entries}


def _installed(entry: Entry) -> str:
    package = entry.requires[0][1] if entry.requires else PACKAGES.get(entry.id, "")
    if package:
        try:
            return version(package)
        except PackageNotFoundError:
            return ""
    if entry.id.startswith("sqlite"):
        return sqlite3.sqlite_version
    return f"Python {platform.python_version()}" if entry.id in GROUPS["Files"] else ""
