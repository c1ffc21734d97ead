"""A store: a folder of tables that stay plain Parquet, with a SQLite catalog that says what they are."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa

from core.arrays import from_numpy
from core.errors import BadData, ReadOnlyStore, StoreProblem, UnknownTable
from core.jobs import Job
from core.rows import aligned, fitted
from core.scan.snapshot import Column
from core.schema import ID, stored_type
from core.store.catalog import NAME, Catalog
from core.store.cells import to_batch
from core.store.commit import Change
from core.store.evolution import ColumnPlan
from core.store.ids import ID_COLUMN
from core.store.layout import Layout, Staging, new_folder_name
from core.store.publish import Publication, commit_row
from core.store.reader import Reader
from core.store.table import Table
from core.store.writer import WrittenFile, write_files
from core.store.writing import SMALL_INSERT, TableWriter


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
            store._layout.sweep(store.catalog.paths())
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
        self._refuse_name(name)
        started = time.perf_counter()
        schema, tables = aligned(data)
        _refuse_schema(name, schema)
        columns = tuple(Column(f.name, stored_type(f.type), 1 + i) for i, f in enumerate(schema))
        plan = ColumnPlan(columns, columns, ())
        with self._layout.stage() as staging:
            change = _staged(plan, tables, staging, job or Job(), message or f"create {name}")
            return self._table(self._entered(name, change, staging, started))

    def drop_table(self, name: str) -> None:
        """Remove a table with its history; this cannot be undone."""
        table_id = self[name].table_id
        with self.catalog.transaction() as transaction:
            transaction.drop_table(table_id)
        self._open.pop(table_id, None)
        self._layout.sweep(self.catalog.paths())

    def rename_table(self, old: str, new: str) -> None:
        table_id = self[old].table_id
        self._refuse_name(new)
        with self.catalog.transaction() as transaction:
            transaction.rename_table(table_id, new)

    def sql(self, text: str, job: Job | None = None) -> pa.Table:
        """The answer of one SELECT (DuckDB's dialect) over the tables of the store."""
        from core.query.sql import run_sql

        return run_sql(text, f"store {self.name}", self.tables, self.__getitem__, job)

    def _entered(self, name: str, change: Change, staging: Staging, started: float) -> int:
        folder = new_folder_name(name)
        paths = staging.publish([f.path for f in change.files], folder) if change.files else []
        try:
            with self.catalog.transaction() as transaction:
                if name in transaction.table_names():
                    raise _taken(self.name, name)
                table_id = transaction.add_table(name, folder)
                transaction.take_column_ids(table_id, len(change.columns))
                publication = Publication(transaction, table_id, 1)
                entries = publication.columns(None, change)
                _enter_rows(publication, change, entries, paths)
                if change.files:
                    transaction.take_ids(table_id, change.inserted)
                row = commit_row(1, "create", None, (change.inserted, 0, 0), started, change.message)
                transaction.move_on(table_id, row)
        except BaseException:
            staging.withdraw()
            raise
        return table_id

    def _table(self, table_id: int) -> Table:
        if table_id not in self._open:
            reader = Reader(self.catalog, table_id, self._layout.data)
            writer = TableWriter(self.catalog, self._layout, table_id, reader)
            self._open[table_id] = Table(self, table_id, reader, writer)
        return self._open[table_id]

    def _refuse_name(self, name: str) -> None:
        if not name.strip():
            raise StoreProblem(f"store {self.name}: a table needs a name", fix="Give it one")
        if name in self.tables:
            raise _taken(self.name, name)


def _staged(plan: ColumnPlan, tables: Iterator[pa.Table], staging: Staging, job: Job, message: str) -> Change:
    """The first rows tell whether they all go into the catalog or into files."""
    head: list[pa.Table] = []
    while sum(t.num_rows for t in head) <= SMALL_INSERT and (table := next(tables, None)) is not None:
        head.append(table)
    count = sum(t.num_rows for t in head)
    if count <= SMALL_INSERT:
        whole = pa.concat_tables(
            [pa.Table.from_batches([], plan.schema()), *(fitted(t, plan.schema()) for t in head)]
        )
        values = {c.key: whole.column(i).combine_chunks() for i, c in enumerate(plan.columns)}
        return Change(message, plan.columns, plan.added, rows=(values, count), inserted=count)
    numbered = _numbered(itertools.chain(head, tables), plan, job)
    files: tuple[WrittenFile, ...] = tuple(write_files(numbered, (ID_COLUMN, *plan.columns), staging))
    count = sum(f.rows for f in files)
    return Change(message, plan.columns, plan.added, files=files, inserted=count)


def _numbered(tables: Iterator[pa.Table], plan: ColumnPlan, job: Job) -> Iterator[pa.Table]:
    done = 0
    for table in tables:
        job.report(done, text=f"{done:,} rows written")
        ids = from_numpy(np.arange(done, done + table.num_rows, dtype=np.int64))
        done += table.num_rows
        yield fitted(table, plan.schema()).add_column(0, pa.field(ID, pa.int64()), ids)


def _enter_rows(publication: Publication, change: Change, entries: dict[int, int], paths: list[str]) -> None:
    publication.files(change.files, paths)
    if change.rows is not None and change.inserted:
        columns, batch = to_batch(change.rows[0], entries)
        publication.rows(batch, change.inserted, columns)


def _refuse_schema(table: str, schema: pa.Schema) -> None:
    if ID in schema.names:
        raise BadData(
            f"{table}: the rows bring their own {ID}", "ids are given by the table", "Rename that column"
        )
    twice = (
        [n for n in schema.names if schema.names.count(n) > 1] if len(set(schema.names)) < len(schema) else []
    )
    if twice:
        raise BadData(
            f"{table}: two columns are called '{twice[0]}'", fix="Give each column a name of its own"
        )


def _refuse_folder(folder: Path, read_only: bool) -> None:
    if read_only:
        raise StoreProblem(f"{folder}: there is no store here", fix="Check the path")
    if folder.is_file():
        raise StoreProblem(f"{folder}: a store is a folder, this is a file", fix="Choose another place")
    if folder.is_dir() and any(folder.iterdir()):
        raise StoreProblem(
            f"{folder}: the folder holds other things and no store",
            fix="Choose an empty folder, or a new name",
        )


def _taken(store: str, name: str) -> StoreProblem:
    return StoreProblem(
        f"store {store} already has a table '{name}'", fix="Choose another name, or drop that one"
    )
