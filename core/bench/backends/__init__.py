"""The systems under test. One table; a system's module is imported only when it is asked for."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from importlib.util import find_spec

from lamella.core.bench.backends.base import Backend
from lamella.core.bench.families import FAMILIES, loaded
from lamella.core.errors import LamellaError, UnknownName


class UnknownBackend(UnknownName):
    kind = "backend"


class MissingBackend(LamellaError):
    """A backend whose package is not installed here, or that has no part in a workload."""


@dataclass(frozen=True)
class Entry:
    """A system by its name. `requires` maps the modules it cannot do without to what pip calls them; a system
    with a `server` is ready only while that answers."""

    id: str
    title: str
    requires: tuple[tuple[str, str], ...] = ()
    server: bool = False

    @property
    def missing(self) -> str:
        """Why it cannot run here and the command that mends it; empty when it can."""
        lacking = [package for module, package in self.requires if find_spec(module) is None]
        if not lacking:
            return ""
        return f"{' and '.join(lacking)} must be installed first. {install_command(lacking)}"

    def place(self, family: str) -> str:
        """Of its class for a family of workloads; empty where it has no part in it."""
        return self.id if ":" in self.id else FAMILIES[family].places.get(self.id, "")

    def takes(self, family: str) -> bool:
        return bool(self.place(family))


def install_command(packages: list[str]) -> str:
    """What to type so that these packages are there."""
    if getattr(sys, "frozen", False):
        return "Packages cannot be added to the installed program: run it from its sources for this"
    return f"Run: {shlex.join([sys.executable, '-m', 'pip', 'install', *packages])}"


_SQLALCHEMY = (("sqlalchemy", "SQLAlchemy"),)

ENTRIES = {
    entry.id: entry
    for entry in (
        Entry("lamella", "Lamella"),
        Entry("sqlite", "SQLite (synchronous off)"),
        Entry("sqlite-wal", "SQLite (WAL, synchronous full)"),
        Entry("sqlite-obj", "SQLite to objects"),
        Entry("sqlalchemy-core", "SQLAlchemy Core", _SQLALCHEMY),
        Entry("sqlalchemy-orm", "SQLAlchemy ORM", _SQLALCHEMY),
        Entry("sqlite-parquet", "SQLite over Parquet", (("apsw", "apsw"),)),
        Entry("sqlite-parquet-one-table", "SQLite over Parquet, one table", (("apsw", "apsw"),)),
        Entry("sqlite-fts5", "SQLite FTS5"),
        Entry("tantivy", "tantivy"),
        Entry("mongodb", "MongoDB", (("pymongo", "pymongo"),), server=True),
        Entry("parquetdb", "ParquetDB", (("parquetdb", "parquetdb"),)),
        Entry("pyarrow", "PyArrow (recipe)"),
        Entry("pyarrow-tuned", "PyArrow (tuned)"),
        Entry("duckdb", "DuckDB"),
        Entry("duckdb-parquet", "DuckDB over Parquet"),
        Entry("polars", "Polars", (("polars", "polars"),)),
        Entry("pandas", "pandas"),
        Entry("deltalake", "Delta Lake", (("deltalake", "deltalake"),)),
        Entry("folder", "Folder of files"),
        Entry("csv", "CSV"),
        Entry("csv-numpy", "CSV by NumPy"),
        Entry("jsonl", "JSON lines"),
        Entry("jsonl-gzip", "JSON lines, gzip"),
        Entry("parquet-none", "Parquet, no codec"),
        Entry("parquet-snappy", "Parquet, snappy"),
        Entry("parquet-gzip", "Parquet, gzip"),
        Entry("parquet-lz4", "Parquet, LZ4"),
        Entry("parquet-zstd", "Parquet, zstd"),
        Entry("pickle", "pickle"),
        Entry("pickle-obj", "pickle of objects"),
        Entry("zodb", "ZODB", (("ZODB", "ZODB"), ("BTrees", "BTrees"))),
        Entry("pytables", "PyTables", (("tables", "tables"),)),
        Entry("h5py", "h5py", (("h5py", "h5py"),)),
    )
}


def entry_named(name: str) -> Entry:
    """One of the table, or `package.module:Class` for a backend of somebody's own.

    Raises UnknownBackend, with the nearest name, for anything else.
    """
    if name in ENTRIES:
        return ENTRIES[name]
    if ":" in name:
        return Entry(name, name.rpartition(":")[2])
    raise UnknownBackend(name, "The benchmark", ENTRIES)


def unready() -> dict[str, str]:
    """Why systems cannot be measured here now, by their ids: what is missing, or that no server answers.

    Blocks for seconds where one does not.
    """
    reasons = {entry.id: entry.missing or _silent_server(entry) for entry in ENTRIES.values()}
    return {name: reason for name, reason in reasons.items() if reason}


def _silent_server(entry: Entry) -> str:
    if entry.server:
        try:
            load(entry.id, next(filter(entry.takes, FAMILIES))).answering_version()
        except LamellaError as error:
            return str(error)
    return ""


def load(name: str, family: str = "table") -> type[Backend]:
    """The backend's class. Raises UnknownBackend, or MissingBackend naming what to install."""
    entry = entry_named(name)
    if entry.missing:
        raise MissingBackend(f"{entry.title} cannot take part", entry.missing)
    if not entry.takes(family):
        raise MissingBackend(f"{entry.title} takes no part in workloads of the kind '{family}'")
    try:
        backend: type[Backend] = loaded(entry.place(family))
    except (ImportError, AttributeError) as error:
        raise MissingBackend(f"The backend {name} cannot be loaded", str(error)) from error
    return backend


__all__ = [
    "ENTRIES",
    "Backend",
    "Entry",
    "MissingBackend",
    "UnknownBackend",
    "entry_named",
    "load",
    "unready",
]
