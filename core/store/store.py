"""A store: a folder of tables that stay plain Parquet, with a SQLite catalog that says what they are."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa

from core.errors import ReadOnlyStore, StoreProblem, UnknownTable
from core.jobs import Job
from core.store import creating
from core.store.catalog import NAME, Catalog
from core.store.compact import Compaction
from core.store.layout import OWN_NAMES, Layout
from core.store.reader import Reader
from core.store.table import Table
from core.store.verify import Report, verify
from core.store.writing import TableWriter


class Store:
    """Use `Store.open`. Any thread may use it; several processes may have it open, one writes at a time."""

    def __init__(self, path: Path, catalog: Catalog) -> None:
        self.path, self.catalog = path, catalog
        self._layout = Layout(path)
        self._open: dict[int, Table] = {}

    @classmethod
    def open(cls, path: str | Path, *, read_only: bool = False) -> Store:
        """Open the store in this folder, made when missing; what a crash left behind is swept up.

        Raises `StoreTooNew`, or `StoreProblem` where the folder holds something else.
        """
        folder = Path(path).expanduser().absolute()
        exists = (folder / NAME).exists()
        if not exists:
            _refuse_folder(folder, read_only)
            Layout(folder).create()
        store = cls(folder, Catalog(folder, read_only))
        if not read_only:
            store._layout.create()
            store._layout.sweep(store.catalog.paths)
        return store

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def read_only(self) -> bool:
        return self.catalog.read_only

    @property
    def tables(self) -> list[str]:
        return [row.name for row in self.catalog.tables()]

    def __getitem__(self, name: str) -> Table:
        rows = {row.name: row for row in self.catalog.tables()}
        if name not in rows:
            raise UnknownTable(name, f"store {self.name}", list(rows))
        return self._table(rows[name].table_id)

    def __contains__(self, name: str) -> bool:
        return name in self.tables

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._open.clear()
        self.catalog.close()

    def create_table(self, name: str, data: Any, message: str = "", job: Job | None = None) -> Table:
        """A new table of these rows. It appears whole when all are written, or not at all."""
        if self.read_only:
            raise ReadOnlyStore(f"{self.path}: the store is open read-only", fix="Open it for writing")
        creating.refuse_name(self.catalog, name)
        said = message or f"create {name}"
        return self._table(creating.create(self.catalog, self._layout, name, data, said, job or Job()))

    def drop_table(self, name: str) -> None:
        """Remove a table with its history; this cannot be undone."""
        table_id = self[name].table_id
        with self.catalog.transaction() as transaction:
            transaction.drop_table(table_id)
        self._open.pop(table_id, None)
        self._layout.sweep(self.catalog.paths)

    def rename_table(self, old: str, new: str) -> None:
        table_id = self[old].table_id
        creating.refuse_name(self.catalog, new, besides=old)
        with self.catalog.transaction() as transaction:
            transaction.rename_table(table_id, new)

    def compact(self, job: Job | None = None) -> list[Compaction]:
        """Compact every table; see `Table.compact`."""
        return [self[name].compact(job=job) for name in self.tables]

    def verify(self, quick: bool = False, job: Job | None = None) -> Report:
        """Whether the catalog and every table are whole, and no file is left over; see `Table.verify`."""
        return verify(self.catalog, None, quick, job or Job())

    def sql(self, text: str, job: Job | None = None) -> pa.Table:
        """The answer of one SELECT (DuckDB's dialect) over the tables of the store."""
        from core.query.sql import run_sql

        return run_sql(text, f"store {self.name}", self.tables, self.__getitem__, job)

    def _table(self, table_id: int) -> Table:
        if table_id not in self._open:
            reader = Reader(self.catalog, table_id, self._layout.data)
            writer = TableWriter(self.catalog, self._layout, table_id, reader)
            self._open[table_id] = Table(self, table_id, reader, writer)
        return self._open[table_id]


def _refuse_folder(folder: Path, read_only: bool) -> None:
    if read_only:
        raise StoreProblem(f"{folder}: there is no store here", fix="Check the path")
    if folder.is_file():
        raise StoreProblem(f"{folder}: a store is a folder, this is a file", fix="Choose another place")
    if folder.is_dir() and any(not _own(entry.name) for entry in folder.iterdir()):
        raise StoreProblem(
            f"{folder}: the folder holds other things and no store",
            fix="Choose an empty folder, or a new name",
        )


def _own(name: str) -> bool:
    """What a store that was not made to its end may have left."""
    return name in OWN_NAMES or name.startswith(NAME)
