"""SQLite with entities, objects, documents and trips: lists and nested objects are JSON text."""

from __future__ import annotations

import csv
import gzip
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from lamella.core.bench.systems.base import (
    FIELDS,
    CatalogSystem,
    Entity,
    Questions,
    QuestionSystem,
)
from lamella.core.bench.systems.sql import (
    COUNT_ITEMS,
    SHARED_CONDITIONS,
    RelationQuestions,
    SQLEntities,
    SQLEntityQueries,
    sql_questions,
)
from lamella.core.bench.systems.sqlite import DeployedSettings, PublishedSettings, SQLiteFile
from lamella.core.bench.workloads import entity_text
from lamella.core.bench.workloads.entities import SCHEMA, entities
from lamella.core.bench.workloads.entity_indexes import ITEM_TYPES, items
from lamella.core.bench.workloads.entity_memory import PAYLOAD_SCHEMA, EntityMemory
from lamella.core.bench.workloads.entity_relations import RELATED_TYPES, tables
from lamella.core.bench.workloads.entity_storage import EntityStorage
from lamella.core.bench.workloads.taxi import SQLITE_QUERIES, TRIP_SCHEMA, TaxiSystem
from lamella.core.bench.workloads.transfer import COLUMN_DECLARATIONS, NAME, TransferSystem
from lamella.core.bench.workloads.transfer import SCHEMA as RECORDS

INSERT_ENTITY = f"INSERT INTO entities ({', '.join(FIELDS)}) VALUES ({', '.join('?' for _ in FIELDS)})"
SELECT_ENTITIES = f"SELECT {', '.join(FIELDS)} FROM entities"
ENTITY_TYPES = dict(zip(FIELDS, ("TEXT", "TEXT", "INTEGER", "REAL", "TEXT", "TEXT", "TEXT"), strict=True))
DECLARED_FIELDS = ", ".join(f"{name} {kind}" for name, kind in ENTITY_TYPES.items())
ENTITY_TABLE = f"CREATE TABLE entities (id INTEGER PRIMARY KEY, {DECLARED_FIELDS})"


class SQLiteEntitiesFile(SQLiteFile, SQLEntities):
    append_sql = "json_insert(%s, '$[#]', ?)"
    lacking = "NOT EXISTS (SELECT 1 FROM json_each(%s) WHERE value = ?)"
    pull_sql = "(SELECT json_group_array(value) FROM json_each(%s) WHERE value <> ?)"

    def fill(self, entities: list[Entity]) -> None:
        self._connection.execute(ENTITY_TABLE)
        self.create(entities)

    def ids(self) -> list[int]:
        return [row[0] for row in self._connection.execute("SELECT id FROM entities ORDER BY id")]

    def get(self, row_id: int) -> Entity:
        row = self._connection.execute(f"{SELECT_ENTITIES} WHERE id = ?", (row_id,)).fetchone()
        return _entity(row)

    def as_entity(self, answer: Entity) -> Entity:
        return answer

    def create(self, entities: list[Entity]) -> None:
        self._connection.executemany(INSERT_ENTITY, map(as_row, entities))
        self._connection.commit()

    def delete(self, row_ids: Sequence[int]) -> None:
        numbers = [(row_id,) for row_id in row_ids]
        self._connection.executemany("DELETE FROM entities WHERE id = ?", numbers)
        self._connection.commit()

    def contents(self) -> Iterator[Entity]:
        yield from as_entities(self._connection.execute(SELECT_ENTITIES))

    def change(self, statement: str, values: Sequence[Any]) -> None:
        self._connection.execute(statement, values)
        self._connection.commit()


class SQLiteEntities(PublishedSettings, SQLiteEntitiesFile): ...


class SQLiteWalEntities(DeployedSettings, SQLiteEntitiesFile): ...


def as_row(entity: Entity) -> tuple[Any, ...]:
    tags, profile = json.dumps(entity["tags"]), json.dumps(entity["profile"])
    plain = [entity[name] for name in ("name", "status", "views", "rating")]
    return (*plain, tags, profile, entity["about"])


def as_entities(rows: Iterable[tuple[Any, ...]]) -> list[Entity]:
    return [_entity(row) for row in rows]


def _entity(row: tuple[Any, ...]) -> Entity:
    entity = dict(zip(FIELDS, row, strict=True))
    return entity | {"tags": json.loads(entity["tags"]), "profile": json.loads(entity["profile"])}


_OBJECTS = "CREATE TABLE objects (key TEXT PRIMARY KEY, body BLOB NOT NULL)"

_CATALOG_COLUMNS = (
    "SELECT t.name, c.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c "
    "WHERE t.type = 'table' AND c.name <> 'id'"
)


class SQLiteCatalogFile(SQLiteEntitiesFile, CatalogSystem):
    cannot = {"commit_and_put": "a file has one writer at a time: the commit and the put would take turns"}  # noqa: RUF012

    def fill(self, entities: list[Entity]) -> None:
        self._connection.execute(_OBJECTS)
        super().fill(entities)

    def tables(self) -> Mapping[str, Sequence[str]]:
        columns = defaultdict[str, list[str]](list)
        for table, column in self._connection.execute(_CATALOG_COLUMNS):
            columns[table].append(column)
        return columns

    def create_one(self, entity: Entity) -> int:
        cursor = self._connection.execute(INSERT_ENTITY, as_row(entity))
        self._connection.commit()
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def names_with_rating(self, rating: float, limit: int) -> Sequence[str]:
        sql = "SELECT name FROM entities WHERE rating = ? ORDER BY id LIMIT ?"
        return [name for (name,) in self._connection.execute(sql, (rating, limit))]

    def put_object(self, key: str, body: bytes) -> None:
        self._connection.execute("INSERT OR REPLACE INTO objects VALUES (?, ?)", (key, body))
        self._connection.commit()

    def get_object(self, key: str) -> bytes:
        sql = "SELECT body FROM objects WHERE key = ?"
        body: bytes = self._connection.execute(sql, (key,)).fetchone()[0]
        return body

    def head_object(self, key: str) -> int:
        sql = "SELECT length(body) FROM objects WHERE key = ?"
        size: int = self._connection.execute(sql, (key,)).fetchone()[0]
        return size

    def list_objects(self, prefix: str) -> Sequence[str]:
        sql = "SELECT key FROM objects WHERE key > ? AND key < ? ORDER BY key"
        return [key for (key,) in self._connection.execute(sql, (f"{prefix}/", f"{prefix}0"))]


class SQLiteCatalog(PublishedSettings, SQLiteCatalogFile): ...


class SQLiteWalCatalog(DeployedSettings, SQLiteCatalogFile): ...


class SQLiteQuestions(PublishedSettings, QuestionSystem):
    def open(self, writing: bool) -> None:
        """Always open for writing: some questions create an index, or commit before they are timed."""
        super().open(writing=True)

    def ask(self, sql: str, *values: Any) -> list[Any]:
        return self._connection.execute(sql, values).fetchall()

    def add_table(self, name: str, types: Mapping[str, str], columns: Mapping[str, Sequence[Any]]) -> None:
        """Create a table with an integer primary key that numbers the rows from 0. Columns have declared
        types: without them, SQLite does not use an index for comparisons with integers."""
        declared = ", ".join(f"{column} {kind}" for column, kind in types.items())
        self._connection.execute(f'CREATE TABLE "{name}" (_id INTEGER PRIMARY KEY, {declared})')
        marks = ", ".join("?" * (1 + len(types)))
        rows = enumerate(zip(*(columns[column] for column in types), strict=True))
        values = ((number, *row) for number, row in rows)
        self._connection.executemany(f'INSERT INTO "{name}" VALUES ({marks})', values)
        self._connection.commit()


JSON = ("tags", "profile")


class SQLiteEntityQueries(SQLiteQuestions, SQLEntityQueries):
    conditions = SHARED_CONDITIONS | {
        "nested": "profile ->> '$.city' = 'Lagos' AND (profile ->> '$.age' < 30 OR rating > 4.0)",
        "regex": "name REGEXP '^amber .*7$'",
    }

    @classmethod
    def describe(cls) -> str:
        return f"{super().describe()}; lists and nested objects as JSON, REGEXP by Python, answers in tuples"

    def open(self, writing: bool) -> None:
        super().open(writing)
        self._connection.create_function("regexp", 2, _matches, deterministic=True)

    def fill(self, rows: int) -> None:
        self.open(writing=True)
        columns = zip(*map(as_row, entities(0, rows)), strict=True)
        self.add_table("entities", ENTITY_TYPES, dict(zip(ENTITY_TYPES, columns, strict=True)))
        self.close()

    def ask_row(self, sql: str) -> tuple[Any, ...]:
        (row,) = self.ask(sql)
        return tuple(row)

    def index_views(self) -> None:
        self._connection.execute("CREATE INDEX IF NOT EXISTS by_views ON entities (views)")
        self._connection.commit()

    def as_table(self, answer: list[tuple[Any, ...]], names: Sequence[str]) -> pa.Table:
        columns = list(zip(*answer, strict=True)) or [()] * len(names)
        by_name = dict(zip(names, columns, strict=True))
        return pa.table({name: _read(name, by_name[name]) for name in names if name in SCHEMA.names})


def _matches(pattern: str, text: str) -> bool:
    return re.search(pattern, text) is not None


def _read(name: str, values: Sequence[Any]) -> pa.Array:
    return pa.array(map(json.loads, values) if name in JSON else values, SCHEMA.field(name).type)


PAYLOAD_NAMES = ", ".join(PAYLOAD_SCHEMA.names)


class SQLiteMemory(PublishedSettings, EntityMemory):
    @classmethod
    def describe(cls) -> str:
        return f"{super().describe()}; answers in tuples"

    def fill(self, table: str, batches: pa.RecordBatchReader) -> None:
        marks = ", ".join("?" for _ in PAYLOAD_SCHEMA.names)
        self._connection.execute(
            f"CREATE TABLE {table} (number INTEGER PRIMARY KEY, grp INTEGER, name TEXT, payload TEXT)"
        )
        for batch in batches:
            rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
            self._connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
        self._connection.commit()

    def result(self, table: str) -> list[tuple[Any, ...]]:
        return self._connection.execute(f"SELECT {PAYLOAD_NAMES} FROM {table} WHERE grp = 1").fetchall()

    def hold(self, table: str) -> list[tuple[Any, ...]]:
        return self._connection.execute(f"SELECT {PAYLOAD_NAMES} FROM {table}").fetchall()

    def numbers(self, answer: list[tuple[Any, ...]]) -> list[int]:
        return [row[0] for row in answer]


class SQLiteStorage(PublishedSettings, EntityStorage):
    @classmethod
    def describe(cls) -> str:
        return f"{super().describe()}; lists and nested objects as JSON text, answers in tuples"

    def prepare(self, entities: list[Entity]) -> list[tuple[Any, ...]]:
        return list(map(as_row, entities))

    def write(self, prepared: Sequence[tuple[Any, ...]]) -> None:
        self._connection.execute(ENTITY_TABLE)
        self._connection.executemany(INSERT_ENTITY, prepared)
        self._connection.commit()

    def read(self) -> list[tuple[Any, ...]]:
        return self._connection.execute(SELECT_ENTITIES).fetchall()

    def as_table(self, answer: list[tuple[Any, ...]]) -> pa.Table:
        return pa.Table.from_pylist(as_entities(answer), SCHEMA)


class SQLiteIndexes(SQLiteQuestions):
    columns = len(ITEM_TYPES)

    def fill(self, rows: int) -> None:
        self.open(writing=True)
        self.add_table("items", ITEM_TYPES, items(rows))
        self.close()

    def questions(self) -> Questions:
        return sql_questions(self.ask(COUNT_ITEMS)[0][0], self.ask, self.ask)


class SQLiteRelations(SQLiteQuestions):
    columns = sum(map(len, RELATED_TYPES.values()))

    def fill(self, rows: int) -> None:
        self.open(writing=True)
        for name, columns in tables(rows).items():
            self.add_table(name, RELATED_TYPES[name], columns)
        self.close()

    def questions(self) -> Questions:
        return RelationQuestions(self.ask, self.ask).questions()


IDS = "SELECT rowid, rank FROM docs_words WHERE docs_words MATCH ?"
ALL_MATCHES = (
    "SELECT docs.*, rank FROM docs_words JOIN docs ON _id = docs_words.rowid WHERE docs_words MATCH ?"
)
WITHIN = f"{ALL_MATCHES} AND year BETWEEN {entity_text.FROM} AND {entity_text.TO}"
CHANGING = ALL_MATCHES.replace("docs", "changing")

KEEP_UP = """
CREATE TRIGGER changed AFTER UPDATE ON changing BEGIN
  INSERT INTO changing_words (changing_words, rowid, text) VALUES ('delete', old._id, old.text);
  INSERT INTO changing_words (rowid, text) VALUES (new._id, new.text);
END
"""

SELECTS = {
    entity_text.ROWS: ALL_MATCHES,
    entity_text.FILTERED: WITHIN,
    entity_text.AFTER_COMMIT: CHANGING,
}
"""Statements of searches that return whole rows."""


class FTS5Text(SQLiteQuestions, entity_text.TextSystem):
    """A full-text index with external content, as SQLite's documentation calls it."""

    id = "sqlite-fts5"
    syntax = "fts5"
    tokenizers = {entity_text.STEMS: "porter unicode61", entity_text.WORDS: "unicode61"}  # noqa: RUF012

    def fill(self, rows: int) -> None:
        """Fill the tables; `changing` is the one that small commits change."""
        self.open(writing=True)
        documents = entity_text.documents(rows)
        for name in ("docs", "changing"):
            self.add_table(name, {"text": "TEXT", "year": "INTEGER"}, documents)
        self._index("changing", self.tokenizers[entity_text.WORDS])
        self.ask(KEEP_UP)
        self.close()

    def best(self, asks: str, text: str) -> list[Any]:
        return self.ask(f"{SELECTS.get(asks, IDS)} ORDER BY rank LIMIT {entity_text.BEST}", text)

    def matching(self, asks: str, text: str) -> list[int]:
        return self.ids(self.ask(SELECTS.get(asks, IDS), text))

    def ids(self, answer: list[Any]) -> list[int]:
        return [row[0] for row in answer]

    def build(self, tokenizer: str) -> None:
        self._index("docs", tokenizer)

    def drop(self) -> None:
        self.ask("DROP TABLE IF EXISTS docs_words")

    def changing(self) -> int:
        ((rows,),) = self.ask("SELECT max(_id) + 1 FROM changing")
        return int(rows)

    def change(self, number: int) -> None:
        self.ask(
            "UPDATE changing SET text = ? WHERE _id = ?", entity_text.CHANGED_TEXT.format(number), number
        )
        self._connection.commit()

    def _index(self, name: str, tokenizer: str) -> None:
        self.ask(
            f"CREATE VIRTUAL TABLE {name}_words"
            f" USING fts5(text, content='{name}', content_rowid='_id', tokenize='{tokenizer}')"
        )
        self.ask(f"INSERT INTO {name}_words ({name}_words) VALUES ('rebuild')")
        self._connection.commit()


_SQL_TYPES = {pa.int64(): "INTEGER", pa.float64(): "REAL"}
_TRIP_COLUMNS = ", ".join(f"{field.name} {_SQL_TYPES.get(field.type, 'TEXT')}" for field in TRIP_SCHEMA)


def _as_it_is(cell: Any) -> Any:
    return cell


_READ_TRIP = [
    datetime.fromisoformat if pa.types.is_timestamp(field.type) else _as_it_is for field in TRIP_SCHEMA
]


class SQLiteTaxi(PublishedSettings, TaxiSystem):
    """Imports each file in one transaction, like `.import` of SQLite's shell. Empty cells stay empty text."""

    def fill(self, rows: int) -> None:
        self.open(writing=True)
        self._connection.execute(f"CREATE TABLE trips ({_TRIP_COLUMNS})")
        marks = ", ".join("?" for _ in TRIP_SCHEMA)
        for file in self.files(rows):
            with gzip.open(file, "rt", encoding="utf-8", newline="") as text:
                lines = csv.reader(text)
                next(lines)
                self._connection.executemany(f"INSERT INTO trips VALUES ({marks})", lines)
            self._connection.commit()
        self.close()

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        return self._connection.execute(SQLITE_QUERIES[query]).fetchall()

    def whole_trips(self, ids: Sequence[int]) -> list[Sequence[Any]]:
        """Convert the cells: SQLite has empty texts for missing values, and times as text."""
        marks = ", ".join("?" * len(ids))
        sql = f"SELECT {', '.join(TRIP_SCHEMA.names)} FROM trips WHERE trip_id IN ({marks})"
        return [
            [None if cell == "" else parse(cell) for parse, cell in zip(_READ_TRIP, row, strict=True)]
            for row in self._connection.execute(sql, list(ids))
        ]

    def rows_of(self, answer: list[tuple[Any, ...]]) -> Iterable[Sequence[Any]]:
        return answer


class SQLiteTransfer(PublishedSettings, TransferSystem):
    """Uses Python's modules for SQLite and CSV: rows pass through as Python tuples."""

    cannot: ClassVar[Mapping[str, str]] = {
        "export_parquet": "Neither SQLite nor Python's standard library writes Parquet",
        "export_excel": "Neither SQLite nor Python's standard library writes Excel workbooks",
    }

    def import_csv(self, source: Path) -> None:
        marks = ", ".join("NULLIF(?, '')" for _ in RECORDS)
        self._connection.execute(f"CREATE TABLE import_csv ({COLUMN_DECLARATIONS})")
        with source.open(encoding="utf-8", newline="") as file:
            rows = csv.reader(file)
            next(rows)
            self._connection.executemany(f"INSERT INTO import_csv VALUES ({marks})", rows)
        self._connection.commit()

    def import_sqlite(self, source: Path) -> None:
        self._copy(str(source), f"source.{NAME}", "main.import_sqlite")

    def imported_rows(self, operation: str) -> pa.Table:
        columns = zip(*self._connection.execute(f"SELECT * FROM {operation}"), strict=True)
        return pa.Table.from_arrays([pa.array(values) for values in columns], RECORDS.names)

    def export_csv(self, target: Path) -> None:
        with target.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(RECORDS.names)
            writer.writerows(self._connection.execute("SELECT * FROM import_csv"))

    def export_sqlite(self, target: Path) -> None:
        self._copy(str(target), "main.import_csv", f"source.{NAME}")

    def _copy(self, source_file: str, table: str, to: str) -> None:
        """Copy a table with its declared types from or to another file."""
        self._connection.execute("ATTACH ? AS source", [source_file])
        self._connection.execute("PRAGMA source.synchronous = OFF")
        self._connection.execute(f"CREATE TABLE {to} ({COLUMN_DECLARATIONS})")
        self._connection.execute(f"INSERT INTO {to} SELECT * FROM {table}")
        self._connection.commit()
        self._connection.execute("DETACH source")
