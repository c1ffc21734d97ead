"""Lamella's own store, through its public interface."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lamella.core.arrow.types import ID
from lamella.core.bench.systems.base import CatalogSystem, Entity, OperatorEntities, Rows, System
from lamella.core.bench.systems.folder import Files, ObjectFiles
from lamella.core.bench.systems.rows import ArrowTable, to_batches
from lamella.core.bench.workloads.entities import entities
from lamella.core.bench.workloads.entity_memory import EntityMemory
from lamella.core.bench.workloads.entity_queries import COLUMNS, PAGE, PAGE_ORDER, EntityQueries
from lamella.core.bench.workloads.entity_storage import EntityStorage
from lamella.core.bench.workloads.model import Columns, Workload
from lamella.core.bench.workloads.table_rows import Numbers, Row
from lamella.core.bench.workloads.taxi import DUCKDB_QUERIES, TRIP_SCHEMA, TaxiSystem
from lamella.core.bench.workloads.transfer import EXCEL_ROWS, TransferSystem
from lamella.core.bench.workloads.user_table import UserTableSystem
from lamella.core.filters import Filter, Predicate, all_of
from lamella.core.jobs import Job
from lamella.core.query import find
from lamella.core.query.agg import count, mean
from lamella.core.query.expressions import col
from lamella.core.scan import cache as caches
from lamella.core.store import Table
from lamella.core.store.operators import Operators
from lamella.core.store.store import Store

NAME = "benchmark"


class LamellaStore(System):
    """The base of Lamella's systems: one table in one store."""

    id = "lamella"
    description = "as installed: every commit is durable (files synced, catalog in WAL with synchronous=FULL)"

    @classmethod
    def version(cls) -> str:
        try:
            return version("lamella")
        except PackageNotFoundError:
            return "from source"

    def open(self, writing: bool) -> None:
        self._store = Store.open(self.folder)

    def close(self) -> None:
        """Close the store, and clear the process's caches, so that the next opening finds nothing in memory,
        as with systems that free their memory with the connection."""
        self._store.close()
        forget()

    def vacuum(self) -> bool:
        """Remove all versions but the newest, and so undo."""
        table = self._store[NAME]
        table.maintenance.compact()
        table.maintenance.expire(keep_versions=1)
        self._store.maintenance.vacuum()
        return True

    def ids_at(self, numbers: Numbers) -> list[int]:
        """Return the ids of rows by number; rows are in the order of their ids."""
        ids = self._store[NAME].read(columns=["_id"])["_id"].combine_chunks()
        row_ids: list[int] = np.asarray(ids)[numbers].tolist()
        return row_ids


def forget() -> None:
    """Clear the caches of decoded and sorted columns."""
    caches.limit(0)
    caches.limit(caches.DEFAULT_CACHE_BYTES)
    find.forget()


class Lamella(LamellaStore, ArrowTable):
    @property
    def columns(self) -> int:
        return len(self.workload.data_columns) + (self.workload.key is not None)

    def create(self, prepared: Rows) -> None:
        self._store.create_table(NAME, prepared)

    def fill(self, blocks: Iterable[Columns]) -> None:
        self._store.create_table(NAME, to_batches(blocks))

    def read(self) -> pa.Table:
        return self._store[NAME].read()

    def query(self) -> pa.Table:
        return self._store[NAME].read(where=(col("col1") > 100) & (col("col97") < 1000))

    def index(self, column: str) -> bool:
        """Create an index, except with a key: updates find rows by key without an index."""
        if self.workload.key is not None:
            return False
        self._store[NAME].indexes.create(column)
        return True

    def find(self) -> pa.Table:
        return self._store[NAME].read(columns=["col0"], where=col("col0") == -1)

    def row_ids(self, numbers: Numbers) -> list[int]:
        return self.ids_at(numbers)

    def get(self, row_id: int) -> dict[str, Any] | None:
        return self._store[NAME].get(row_id)

    def as_row(self, answer: dict[str, Any]) -> Row:
        return answer

    def update(self, prepared: Rows) -> None:
        self._store[NAME].update(prepared, on=self.workload.key or "_id")

    def prepare_update_by_row_id(self, row_ids: Sequence[int], rows: Rows) -> Rows:
        return [{"_id": row_id} | row for row_id, row in zip(row_ids, rows, strict=True)]

    def update_by_row_id(self, prepared: Rows) -> None:
        self._store[NAME].update(prepared)

    def delete(self, row_ids: Sequence[int]) -> None:
        self._store[NAME].delete(ids=row_ids)


class LamellaEntities(LamellaStore, OperatorEntities):
    unset_to = True

    def fill(self, entities: list[Entity]) -> None:
        self._store.create_table(NAME, entities)

    def ids(self) -> list[int]:
        row_ids: list[int] = self._store[NAME].read(columns=["_id"])["_id"].to_pylist()
        return row_ids

    def get(self, row_id: int) -> dict[str, Any] | None:
        return self._store[NAME].get(row_id)

    def as_entity(self, answer: dict[str, Any]) -> Entity:
        return {name: value for name, value in answer.items() if name != "_id"}

    def create(self, entities: list[Entity]) -> None:
        self._store[NAME].insert(entities)

    def delete(self, row_ids: Sequence[int]) -> None:
        self._store[NAME].delete(ids=row_ids)

    def contents(self) -> Iterator[Entity]:
        for row in self._store[NAME].read().to_pylist():
            yield self.as_entity(row)

    def operate(self, row_id: int, operators: Operators) -> None:
        self._store[NAME].update_where([row_id], operators)


class LamellaCatalog(LamellaEntities, ObjectFiles, CatalogSystem):
    @classmethod
    def describe(cls) -> str:
        return f"{super().describe()}; objects are files in its folder, each synced and renamed into place"

    def open(self, writing: bool) -> None:
        super().open(writing)
        self._files = Files(self.folder / "objects")

    def tables(self) -> Mapping[str, Sequence[str]]:
        columns = {name: self._store[name].schema.names for name in self._store.tables}
        return {table: [name for name in names if name != ID] for table, names in columns.items()}

    def create_one(self, entity: Entity) -> int:
        return int(self._store[NAME].insert([entity]).inserted_ids[0])

    def names_with_rating(self, rating: float, limit: int) -> Sequence[str]:
        rated = self._store[NAME].read(columns=["name"], where=col("rating") == rating, limit=limit)
        names: list[str] = rated["name"].to_pylist()
        return names


ENTITY_CONDITIONS: dict[str, Filter] = {
    "equality": col("status") == "draft",
    "range": (col("views") > 1_000) & (col("views") < 5_000),
    "in": col("status").is_in(["draft", "review"]),
    "and": (col("status") == "draft") & (col("views") > 90_000),
    "or": (col("views") < 1_000) | (col("rating") == 5.0),
    "nested": (col("profile.city") == "Lagos") & ((col("profile.age") < 30) | (col("rating") > 4.0)),
    "regex": col("name").matches("^amber .*7$"),
}


class LamellaEntityQueries(LamellaStore, EntityQueries):
    @classmethod
    def describe(cls) -> str:
        return (
            f"{super().describe()}; answers in Arrow; decoded data, and a sort order that was used twice, "
            "stay in memory until the store is closed"
        )

    def fill(self, rows: int) -> None:
        self.open(writing=True)
        self._store.create_table(NAME, entities(0, rows))
        self.close()

    def open(self, writing: bool) -> None:
        super().open(writing)
        self._table: Table | None = None

    @property
    def table(self) -> Table:
        if self._table is None:
            self._table = self._store[NAME]
        return self._table

    def count(self) -> int:
        return self.table.count()

    def find_all(self) -> pa.Table:
        return self.table.read()

    def matching(self, name: str) -> pa.Table:
        return self.table.read(where=ENTITY_CONDITIONS[name])

    def find_by_name(self, name: str) -> pa.Table:
        return self.table.read(where=col("name") == name)

    def page(self, keys: Sequence[str], start: int = 0) -> pa.Table:
        return self.table.read(sort=list(keys), limit=PAGE, offset=start)

    def place_before(self, start: int) -> str | None:
        return self.table.page(start, columns=["_id"], sort=list(PAGE_ORDER)).next

    def page_after(self, place: str | None) -> pa.Table:
        return self.table.page(PAGE, place, sort=list(PAGE_ORDER)).rows

    def groups(self) -> pa.Table:
        return self.table.group_by("status").agg(n=count(), views=mean("views")).read()

    def project(self, names: Sequence[str]) -> pa.Table:
        return self.table.read(None if names == COLUMNS else list(names))

    def index_views(self) -> None:
        if not self.table.indexes:
            self.table.indexes.create("views")

    def as_table(self, answer: pa.Table, names: Sequence[str]) -> pa.Table:
        return answer


class LamellaMemory(LamellaStore, EntityMemory):
    def fill(self, table: str, batches: pa.RecordBatchReader) -> None:
        self._store.create_table(table, batches)

    def result(self, table: str) -> pa.Table:
        return self._store[table].read(where=col("grp") == 1)

    def hold(self, table: str) -> pa.Table:
        return self._store[table].read()


class LamellaStorage(LamellaStore, EntityStorage):
    def write(self, prepared: pa.Table) -> None:
        self._store.create_table(NAME, prepared)

    def read(self) -> pa.Table:
        return self._store[NAME].read()


TRIPS = "trips"


class LamellaTaxi(LamellaStore, TaxiSystem):
    def __init__(self, folder: Path, workload: Workload) -> None:
        super().__init__(folder, workload)
        import lamella.core.datasets.text.files  # noqa: F401 -- for text files: must not be timed
        from lamella.core.store.importing import import_file

        self._import = import_file

    def fill(self, rows: int) -> None:
        """Import the first file as the table, which determines the types, and append the others."""
        with Store.open(self.folder) as store:
            first, *later_files = self.files(rows)
            table = self._import(first, store, TRIPS)
            for file in later_files:
                _insert(file, table)

    def ask(self, query: str) -> pa.Table:
        return self._store.sql(DUCKDB_QUERIES[query])

    def whole_trips(self, ids: Sequence[int]) -> pa.Table:
        trips = self._store[TRIPS].read(TRIP_SCHEMA.names, where=col("trip_id").is_in(list(ids)))
        return pa.table([_restore_texts(trips[field.name], field.type) for field in TRIP_SCHEMA], TRIP_SCHEMA)


def _restore_texts(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray | pa.Array:
    """Convert the labels of tracts back to text with two decimals: they look like numbers, so they were
    imported as numbers."""
    if pa.types.is_string(kind) and pa.types.is_floating(column.type):
        return pa.array([None if label is None else f"{label:.2f}" for label in column.to_pylist()])
    return column.cast(kind)


def _insert(file: Path, table: Table) -> None:
    """Insert all rows of a text file, read directly from it."""
    from lamella.core.datasets import open_dataset
    from lamella.core.datasets.blocks import TypesWidened
    from lamella.core.datasets.cached_dataset import CachedDataset

    dataset = open_dataset(file)
    assert isinstance(dataset, CachedDataset)
    while True:
        rows = dataset.rows_once(Job(), lambda rows, position: None)
        try:
            table.insert(pa.RecordBatchReader.from_batches(dataset.reading_schema, rows))
        except TypesWidened:  # because of later values: read the file again
            continue
        return


class LamellaTransfer(LamellaStore, TransferSystem):
    description = "tables of a store; every import and every written file is durable (synced)"

    def __init__(self, folder: Path, workload: Workload) -> None:
        super().__init__(folder, workload)
        import lamella.core.datasets.sqlite_file
        import lamella.core.datasets.text.files
        import lamella.core.transfer.exporting  # noqa: F401 -- must not be timed
        from lamella.core.store.importing import import_file

        self._import = import_file

    def import_csv(self, source: Path) -> None:
        self._import(source, self._store, "import_csv")

    def import_sqlite(self, source: Path) -> None:
        self._import(source, self._store, "import_sqlite")

    def imported_rows(self, operation: str) -> pa.Table:
        return self._store[operation].read()

    def export_parquet(self, target: Path) -> None:
        self._store["import_csv"].export(target, codec="zstd")

    def export_csv(self, target: Path) -> None:
        self._store["import_csv"].export(target)

    def export_sqlite(self, target: Path) -> None:
        self._store["import_csv"].export(target)

    def export_excel(self, target: Path) -> None:
        """Ids start at 0."""
        self._store["import_csv"].export(target, where=col(ID) < EXCEL_ROWS)


class LamellaUserTable(LamellaStore, UserTableSystem):
    def load(self, rows: int) -> None:
        self._store.create_table(NAME, self.table_copy.reader(rows))

    def read(self) -> pa.Table:
        return self._store[NAME].read()

    def condition(self) -> Filter | None:
        return self.table_copy.where

    def filter(self) -> pa.Table:
        return self._store[NAME].read(where=self.table_copy.where)

    def update(self) -> None:
        change = self.table_copy.change
        assert change is not None
        if change.add:
            self._store[NAME].update_where(
                self._known_rows(change.column), {"$inc": {change.column: change.add}}
            )
        else:
            self._store[NAME].update_where(self.table_copy.where, {"$set": {change.column: change.text}})

    def as_table(self, answer: pa.Table) -> pa.Table:
        return answer.select(self.table_copy.schema.names)

    def _known_rows(self, column: str) -> Filter:
        """Exclude nulls, which stay null in SQL; `$inc` would change them to numbers, as MongoDB does with
        missing fields."""
        is_known = Predicate(column, "not_null")
        return is_known if self.table_copy.where is None else all_of((self.table_copy.where, is_known))
