"""DuckDB with its own database file; rows are passed in and out as Arrow tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import duckdb
import pyarrow as pa

from lamella.core.bench.systems.base import (
    FIELDS,
    Entity,
    FileBasedSystem,
    Question,
    Questions,
    QuestionSystem,
    Rows,
)
from lamella.core.bench.systems.rows import ArrowTable, names_of, to_batches
from lamella.core.bench.systems.sql import (
    COUNT_ITEMS,
    SHARED_CONDITIONS,
    RelationQuestions,
    SQLEntities,
    SQLEntityQueries,
    sql_questions,
)
from lamella.core.bench.workloads.bridge import COLUMN_COUNT, GROUP, means_to_sums, statements, trips, zones
from lamella.core.bench.workloads.entities import SCHEMA
from lamella.core.bench.workloads.entity_indexes import ITEM_TYPES, items
from lamella.core.bench.workloads.entity_memory import EntityMemory
from lamella.core.bench.workloads.entity_queries import COLUMNS, arrow
from lamella.core.bench.workloads.entity_relations import RELATED_TYPES, tables
from lamella.core.bench.workloads.entity_storage import EntityStorage
from lamella.core.bench.workloads.model import Columns, Workload
from lamella.core.bench.workloads.table_rows import Numbers, Row
from lamella.core.bench.workloads.taxi import DUCKDB_QUERIES, TRIP_SCHEMA, TaxiSystem
from lamella.core.bench.workloads.transfer import (
    NAME,
    NO_EXCEL_EXTENSION,
    NO_SQLITE_EXTENSION,
    TransferSystem,
)
from lamella.core.bench.workloads.user_table import UserTableSystem, change_to_sql, condition_to_sql


class DuckDBFile(FileBasedSystem):
    """A DuckDB database file, with one connection while it is open."""

    id = "duckdb"
    file_name = "benchmark.duckdb"

    @classmethod
    def version(cls) -> str:
        return duckdb.__version__

    def open(self, writing: bool) -> None:
        super().open(writing)
        self._connection = duckdb.connect(self.path)

    def close(self) -> None:
        self._connection.close()


ROW_ID = "row_id"


class DuckDB(DuckDBFile, ArrowTable):
    """DuckDB's own row ids change when rows are rewritten, so a column `row_id` numbers the rows, unless the
    workload has a key."""

    file_name = "data.duckdb"
    description = (
        "as installed: every commit is durable (write-ahead log, worked into the file when large and on "
        "closing); rows enter as a registered Arrow table, answers are Arrow tables; many whole rows "
        "are changed by DELETE and INSERT in one transaction, which is quicker there than UPDATE"
    )

    def __init__(self, folder: Path, workload: Workload) -> None:
        super().__init__(folder, workload)
        import pandas  # noqa: F401 -- converting rows to Arrow tables imports it: must not be timed

        self._names = names_of(workload)
        self._key = workload.key or ROW_ID
        self._all_columns = "*" if workload.key else f"* EXCLUDE ({ROW_ID})"

    @property
    def columns(self) -> int:
        return len(self._names) + (self.workload.key is None)

    def create(self, prepared: Rows) -> None:
        self._create(pa.Table.from_pylist(prepared))

    def fill(self, blocks: Iterable[Columns]) -> None:
        self._create(to_batches(blocks))

    def read(self) -> pa.Table:
        return self._answer(f"SELECT {self._all_columns} FROM benchmark")

    def query(self) -> pa.Table:
        return self._answer(f"SELECT {self._all_columns} FROM benchmark WHERE col1 > 100 AND col97 < 1000")

    def find(self) -> pa.Table:
        return self._answer("SELECT col0 FROM benchmark WHERE col0 = -1")

    def row_ids(self, numbers: Numbers) -> list[int]:
        ordered = f"SELECT {self._key} FROM benchmark ORDER BY {self._key}"
        ids: list[int] = self._connection.execute(ordered).fetchnumpy()[self._key][numbers].tolist()
        return ids

    def get(self, row_id: int) -> tuple[Any, ...]:
        sql = f"SELECT {self._all_columns} FROM benchmark WHERE {self._key} = ?"
        row = self._connection.execute(sql, [row_id]).fetchone()
        assert row is not None
        return row

    def as_row(self, answer: tuple[Any, ...]) -> Row:
        return dict(zip(self._names, answer, strict=True))

    def index(self, column: str) -> bool:
        """DuckDB's indexes are used to find single values, but not for updates by key, which are joins."""
        if self.workload.key is not None:
            return False
        self._connection.execute(f"CREATE INDEX benchmark_{column} ON benchmark ({column})")
        return True

    def update(self, prepared: Rows) -> None:
        if len(prepared[0]) == self.columns:
            self._replace(prepared)
        else:
            self._update(prepared)

    def prepare_update_by_row_id(self, row_ids: Sequence[int], rows: Rows) -> Rows:
        return [{self._key: row_id} | row for row_id, row in zip(row_ids, rows, strict=True)]

    def update_by_row_id(self, prepared: Rows) -> None:
        if len(prepared) == 1:
            self._update_one(prepared[0])
        else:
            self.update(prepared)

    def delete(self, row_ids: Sequence[int]) -> None:
        self._connection.execute(
            f"DELETE FROM benchmark WHERE {self._key} IN (SELECT unnest(?::BIGINT[]))", [list(row_ids)]
        )

    def vacuum(self) -> bool:
        """Copy the database: according to DuckDB's documentation, VACUUM does not free space."""
        fresh = self.path.with_name("fresh.duckdb")
        self._connection.execute(f"ATTACH '{fresh}' AS fresh")
        self._connection.execute("COPY FROM DATABASE data TO fresh")
        self._connection.execute("DETACH fresh")
        self.close()
        fresh.replace(self.path)
        self.open(writing=True)
        return True

    def _create(self, rows: pa.Table | pa.RecordBatchReader) -> None:
        numbering = "" if self.workload.key else f"row_number() OVER () - 1 AS {ROW_ID}, "
        self._connection.register("made", rows)
        self._connection.execute(f"CREATE TABLE benchmark AS SELECT {numbering}* FROM made")
        self._connection.unregister("made")

    def _answer(self, statement: str) -> pa.Table:
        return self._connection.sql(statement).to_arrow_table()

    def _replace(self, changes: Rows) -> None:
        """Replace whole rows, all at once."""
        self._connection.register("changed", pa.Table.from_pylist(changes))
        self._connection.begin()
        self._connection.execute(
            f"DELETE FROM benchmark WHERE {self._key} IN (SELECT {self._key} FROM changed)"
        )
        self._connection.execute("INSERT INTO benchmark BY NAME SELECT * FROM changed")
        self._connection.commit()
        self._connection.unregister("changed")

    def _update(self, changes: Rows) -> None:
        """Update some columns of rows."""
        key = self._key
        settings = ", ".join(f"{name} = changed.{name}" for name in changes[0] if name != key)
        # if the rows are not in the table's order, this takes thirty times as long
        self._connection.register("changed", pa.Table.from_pylist(changes).sort_by(key))
        self._connection.execute(
            f"UPDATE benchmark SET {settings} FROM changed WHERE benchmark.{key} = changed.{key}"
        )
        self._connection.unregister("changed")

    def _update_one(self, change: Row) -> None:
        values = {name: value for name, value in change.items() if name != self._key}
        settings = ", ".join(f"{name} = ?" for name in values)
        self._connection.execute(
            f"UPDATE benchmark SET {settings} WHERE {self._key} = ?", [*values.values(), change[self._key]]
        )


ENTITY_NAMES = ", ".join(FIELDS)

CREATE_ENTITIES = (
    "CREATE SEQUENCE ids; CREATE TABLE entities (id BIGINT PRIMARY KEY DEFAULT nextval('ids'), name VARCHAR,"
    " status VARCHAR, views BIGINT, rating DOUBLE, tags VARCHAR[],"
    " profile STRUCT(city VARCHAR, age BIGINT), about VARCHAR)"
)

INSERT_ONE_ENTITY = f"INSERT INTO entities ({ENTITY_NAMES}) VALUES ({', '.join('?' for _ in FIELDS)})"
INSERT_ENTITIES = f"INSERT INTO entities ({ENTITY_NAMES}) SELECT {ENTITY_NAMES} FROM given"


class DuckDBEntities(DuckDBFile, SQLEntities):
    append_sql = "list_append(%s, ?)"
    lacking = "NOT list_contains(%s, ?)"
    pull_sql = "list_filter(%s, lambda item: item <> ?)"
    description = "its own file with a primary key; every commit is durable (write-ahead log, synced)"

    def fill(self, entities: list[Entity]) -> None:
        self._connection.execute(CREATE_ENTITIES)
        self.create(entities)

    def ids(self) -> list[int]:
        return [row[0] for row in self._connection.execute("SELECT id FROM entities ORDER BY id").fetchall()]

    def get(self, row_id: int) -> tuple[Any, ...] | None:
        sql = f"SELECT {ENTITY_NAMES} FROM entities WHERE id = ?"
        row: tuple[Any, ...] | None = self._connection.execute(sql, [row_id]).fetchone()
        return row

    def as_entity(self, answer: tuple[Any, ...]) -> Entity:
        return dict(zip(FIELDS, answer, strict=True))

    def create(self, entities: list[Entity]) -> None:
        """Insert many entities as an Arrow table, as DuckDB's documentation recommends."""
        if len(entities) == 1:
            self._connection.execute(INSERT_ONE_ENTITY, list(entities[0].values()))
        else:
            self._connection.register("given", pa.Table.from_pylist(entities, SCHEMA))
            self._connection.execute(INSERT_ENTITIES)
            self._connection.unregister("given")

    def delete(self, row_ids: Sequence[int]) -> None:
        holders = ", ".join("?" for _ in row_ids)
        self._connection.execute(f"DELETE FROM entities WHERE id IN ({holders})", list(row_ids))

    def contents(self) -> Iterator[Entity]:
        yield from map(
            self.as_entity, self._connection.execute(f"SELECT {ENTITY_NAMES} FROM entities").fetchall()
        )

    def change(self, statement: str, values: Sequence[Any]) -> None:
        self._connection.execute(statement, list(values))


class DuckDBQuestions(DuckDBFile, QuestionSystem):
    description = "its own file, every commit durable; default memory and threads"

    def ask(self, sql: str, *values: Any) -> pa.Table | None:
        """Return the answer in Arrow, which is fastest for many rows."""
        return self._connection.sql(sql, params=values).to_arrow_table()

    def fetch(self, sql: str, *values: Any) -> list[Any]:
        """Return the answer as Python tuples, which is fastest for few rows."""
        return self._connection.execute(sql, values).fetchall()

    def run(self, sql: str) -> None:
        """Execute a statement without an answer."""
        self._connection.execute(sql)

    def add_table(self, name: str, columns: Mapping[str, Sequence[Any]]) -> None:
        """Create a table with a primary key that numbers the rows from 0."""
        count = len(next(iter(columns.values())))
        self.create(name, pa.table({"_id": range(count), **columns}))
        self.run(f'ALTER TABLE "{name}" ADD PRIMARY KEY (_id)')

    def create(self, name: str, rows: pa.Table) -> None:
        self._connection.register("given", rows)
        self.run(f'CREATE TABLE "{name}" AS SELECT * FROM given')
        self._connection.unregister("given")


NO_ORDER = {"sort_indexed": "DuckDB uses indexes for lookups and ranges, but never for sorting"}


class DuckDBEntityQueries(DuckDBQuestions, SQLEntityQueries):
    cannot = NO_ORDER
    conditions = SHARED_CONDITIONS | {
        "nested": "profile.city = 'Lagos' AND (profile.age < 30 OR rating > 4.0)",
        "regex": "regexp_matches(name, '^amber .*7$')",
    }

    @classmethod
    def describe(cls) -> str:
        return f"{super().describe()}; answers in Arrow, or as tuples for few rows"

    def ask_small(self, sql: str, *values: Any) -> list[Any]:
        return self.fetch(sql, *values)

    def fill(self, rows: int) -> None:
        self.open(writing=True)
        table = arrow(rows)
        self.add_table("entities", {name: table[name] for name in COLUMNS[1:]})
        self.close()

    def ask_row(self, sql: str) -> tuple[Any, ...]:
        (row,) = self._connection.execute(sql).fetchall()
        return tuple(row)

    def index_views(self) -> None:
        raise AssertionError(self.cannot["sort_indexed"])

    def as_table(self, answer: pa.Table | list[Any], names: Sequence[str]) -> pa.Table:
        if isinstance(answer, pa.Table):
            return answer
        return pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in answer], SCHEMA)


class DuckDBMemory(DuckDBFile, EntityMemory):
    description = "its own file, every commit durable; default memory and threads; answers in Arrow"

    def fill(self, table: str, batches: pa.RecordBatchReader) -> None:
        self._connection.register("given", batches)
        self._connection.execute(f"CREATE TABLE {table} AS SELECT * FROM given")
        self._connection.unregister("given")

    def result(self, table: str) -> pa.Table:
        return self._connection.sql(f"SELECT * FROM {table} WHERE grp = 1").to_arrow_table()

    def hold(self, table: str) -> pa.Table:
        return self._connection.sql(f"SELECT * FROM {table}").to_arrow_table()


class DuckDBStorage(DuckDBFile, EntityStorage):
    description = "its own file, every commit durable, default compression; answers in Arrow"

    def write(self, prepared: pa.Table) -> None:
        self._connection.register("given", prepared)
        self._connection.execute("CREATE TABLE entities AS SELECT * FROM given")
        self._connection.unregister("given")

    def read(self) -> pa.Table:
        return self._connection.sql("SELECT * FROM entities").to_arrow_table()


class DuckDBIndexes(DuckDBQuestions):
    columns = len(ITEM_TYPES)

    def fill(self, rows: int) -> None:
        self.open(writing=True)
        self.add_table("items", items(rows))
        self.close()

    def questions(self) -> Questions:
        return sql_questions(self.fetch(COUNT_ITEMS)[0][0], self.fetch, self.run)


class DuckDBRelations(DuckDBQuestions):
    columns = sum(map(len, RELATED_TYPES.values()))

    def fill(self, rows: int) -> None:
        self.open(writing=True)
        for name, columns in tables(rows).items():
            self.add_table(name, columns)
        self.close()

    def questions(self) -> Questions:
        return RelationQuestions(self.fetch, self.run).questions()


class DuckDBTable(DuckDBQuestions):
    columns = COLUMN_COUNT

    def fill(self, rows: int) -> None:
        self.open(writing=True)
        names, boroughs = zip(*zones(), strict=True)
        self.create("trips", trips(rows))
        self.create("zones", pa.table({"zone": names, "borough": boroughs}))
        self.close()

    def questions(self) -> Questions:
        ((rows,),) = self.fetch("SELECT count(*) FROM trips")
        texts = statements(rows, rowid="rowid + 1")
        return {
            name: Question(
                partial(self.fetch, text), comparable=means_to_sums if name == GROUP else _as_in_sqlite
            )
            for name, text in texts
        }


def _as_in_sqlite(rows: list[Any]) -> list[tuple[Any, ...]]:
    """Convert timestamps to text as SQLite has them, without a fraction if that is zero."""
    return [tuple(str(value) if isinstance(value, datetime) else value for value in row) for row in rows]


_TRIP_SQL_TYPES = {
    pa.int64(): "BIGINT",
    pa.float64(): "DOUBLE",
    pa.string(): "VARCHAR",
    pa.timestamp("ms"): "TIMESTAMP",
}


class DuckDBTrips(DuckDBFile, TaxiSystem):
    def ask(self, query: str) -> pa.Table:
        return self._connection.sql(DUCKDB_QUERIES[query]).to_arrow_table()

    def whole_trips(self, ids: Sequence[int]) -> pa.Table:
        sql = (
            f"SELECT {', '.join(TRIP_SCHEMA.names)} FROM trips WHERE trip_id IN (SELECT unnest(?::BIGINT[]))"
        )
        return self._connection.sql(sql, params=[list(ids)]).to_arrow_table()

    def _csv_source(self, rows: int) -> str:
        """Return the FROM source that reads the CSV files."""
        files = ", ".join(map(_quote, map(str, self.files(rows))))
        columns = ", ".join(
            f"{_quote(field.name)}: {_quote(_TRIP_SQL_TYPES[field.type])}" for field in TRIP_SCHEMA
        )
        return f"read_csv([{files}], header = true, columns = {{{columns}}})"


class DuckDBTaxi(DuckDBTrips):
    file_name = "trips.duckdb"
    description = "its own file, by CREATE TABLE … AS FROM read_csv: durable, like every commit"

    def fill(self, rows: int) -> None:
        self.open(writing=True)
        self._connection.execute(f"CREATE TABLE trips AS FROM {self._csv_source(rows)}")
        self.close()

    def open(self, writing: bool) -> None:
        self._connection = duckdb.connect(self.path, read_only=not writing)


class DuckDBParquetTaxi(DuckDBTrips):
    id = "duckdb-parquet"
    description = "one Parquet file, written by COPY … TO: not synced, so not durable"

    @property
    def _parquet(self) -> str:
        return _quote(str(self.folder / "trips.parquet"))

    def fill(self, rows: int) -> None:
        with duckdb.connect() as connection:
            connection.execute(f"COPY (FROM {self._csv_source(rows)}) TO {self._parquet} (FORMAT parquet)")

    def open(self, writing: bool) -> None:
        self._connection = duckdb.connect()
        self._connection.execute(f"CREATE VIEW trips AS FROM read_parquet({self._parquet})")


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


class DuckDBTransfer(DuckDBFile, TransferSystem):
    description = "a table in its own file, by CREATE TABLE … AS FROM read_csv; files by COPY, not synced"
    cannot: ClassVar[Mapping[str, str]] = {
        "import_sqlite": NO_SQLITE_EXTENSION,
        "export_sqlite": NO_SQLITE_EXTENSION,
        "export_excel": NO_EXCEL_EXTENSION,
    }

    def import_csv(self, source: Path) -> None:
        self._connection.execute(f"CREATE TABLE {NAME} AS FROM read_csv({_quote(str(source))})")

    def import_sqlite(self, source: Path) -> None:
        raise NotImplementedError

    def imported_rows(self, operation: str) -> pa.Table:
        return self._connection.sql(f"FROM {NAME}").to_arrow_table()

    def export_parquet(self, target: Path) -> None:
        self._copy(target, "(FORMAT parquet, CODEC 'zstd')")

    def export_csv(self, target: Path) -> None:
        self._copy(target, "(HEADER)")

    def _copy(self, target: Path, how: str) -> None:
        self._connection.execute(f"COPY {NAME} TO {_quote(str(target))} {how}")


class DuckDBUserTable(DuckDBFile, UserTableSystem):
    description = "a database file, as installed: every commit is durable (write-ahead log); read as Arrow"

    def load(self, rows: int) -> None:
        """Load the rows with DuckDB's own Parquet reader. Columns are named by position, because SQL ignores
        the case of names."""
        columns = ", ".join(f"c{place}" for place in range(len(self.table_copy.schema)))
        path = str(self.table_copy.path).replace("'", "''")
        self._connection.execute(
            f"create table mine as select * from read_parquet('{path}') as copied({columns}) limit {rows}"
        )

    def read(self) -> pa.Table:
        return self._connection.sql("select * from mine").to_arrow_table()

    def filter(self) -> pa.Table:
        return self._connection.sql(f"select * from mine where {self.condition()}").to_arrow_table()

    def update(self) -> None:
        assert self.table_copy.change is not None
        column, value = change_to_sql(self.table_copy.change, self.table_copy.schema)
        self._connection.execute(f"update mine set {column} = {value} where {self.condition()}")

    def as_table(self, answer: pa.Table) -> pa.Table:
        return answer

    def condition(self) -> str:
        return condition_to_sql(self.table_copy.where, self.table_copy.schema)
