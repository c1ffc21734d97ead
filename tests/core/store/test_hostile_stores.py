"""Catalogs in which a text holds what nobody enters: whatever is done with the store is an answer or an error
of ours, and nothing outside its folder is read, made or removed.

LAMELLA_LONG_RUNS=400 changes every text to every odd value; without it, each text gets one.
"""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import apsw
import pytest

from lamella import Store, col
from lamella.core.bridge import connect
from lamella.core.errors import LamellaError
from lamella.core.store.catalog.schema import TABLES
from lamella.core.store.table import Table

ROUNDS = int(os.environ.get("LAMELLA_LONG_RUNS", "1"))
ROWS = 2_500
SECRET = 987_654_321
"""Stands in the sentinels alone."""

TEXTS = [
    (table, column)
    for table, columns in {
        "tables": ("name", "folder"),
        "commits": ("kind", "message", "name"),
        "columns": ("name", "type"),
        "data_files": ("path", "names", "checksum"),
        "change_files": ("path", "names", "checksum"),
        "removed_files": ("path",),
        "metadata": ("key", "value"),
        "deletions": ("ids", "checksum"),
        "pending_rows": ("columns", "batch", "checksum"),
        "pending_cells": ("ids", "columns", "batch", "checksum"),
        "ids_under_way": ("staging",),
        "indexes": ("kind", "column_ids", "options"),
        "relations": ("name", "from_column_ids", "to_column_ids", "options"),
    }.items()
    for column in columns
]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that has at least one row in every table of its catalog."""
    path = tmp_path_factory.mktemp("whole") / "s"
    with Store.open(path) as store:
        table = store.create_table("t", {"n": list(range(ROWS)), "text": ["red fox"] * ROWS})
        table.update([{"_id": i, "n": -i} for i in range(2_000)])
        table.flush()
        table.create_index("n")
        table.create_index("text", kind="fulltext")
        table.set_metadata({"source": "a book"})
        store.create_table("u", [{"n": 5, "text": "five"}])
        store.relate("t.n", "u.n", "of")
        table.name_version("named")
        table.insert([{"n": ROWS, "text": "grey wolf"}])
        table.update([{"_id": 7, "text": "seven"}])
        table.delete(ids=[9])
    with closing(sqlite3.connect(path / "catalog.sqlite", isolation_level=None)) as catalog:
        catalog.execute("INSERT INTO ids_under_way VALUES ('0123', 2, 100, 200)")
        catalog.execute(
            "INSERT INTO removed_files (path, bytes, table_id, first_version, last_version)"
            f" VALUES ('gone-00000000/{'0' * 32}.parquet', 1, 7, 0, 1)"
        )
        for table_name, _ in TEXTS:
            assert catalog.execute(f"SELECT count(*) FROM {table_name}").fetchone()[0], table_name
    return path


def test_every_text_of_the_catalog_is_among_them() -> None:
    with closing(sqlite3.connect(":memory:")) as catalog:
        catalog.executescript(TABLES)
        tables = [row[0] for row in catalog.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        texts = {
            (table, name)
            for table in tables
            for name, kind in catalog.execute("SELECT name, type FROM pragma_table_info(?)", (table,))
            if kind in ("TEXT", "BLOB")
        }
    assert texts == set(TEXTS)


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Path]:
    """A folder of sentinels: a table's folder of another store, and a letter. Nothing may read them, make
    something beside them, or remove them."""
    folder = tmp_path / "outside"
    with Store.open(folder) as store:
        store.create_table("t", {"n": [SECRET] * ROWS, "text": ["secret"] * ROWS})
    (folder / "letter.txt").write_text("dear")
    yield folder


def looks(folder: Path) -> dict[Path, tuple[int, ...]]:
    """What tells whether something was read, where the file system notes it, or changed."""
    looked = {}
    for path in (folder, *folder.rglob("*")):
        status = path.lstat()
        looked[path] = (status.st_size, status.st_mtime_ns, status.st_nlink)
        if not path.is_dir():
            looked[path] += (status.st_atime_ns,)
    return looked


def not_read_yet(folder: Path) -> None:
    """The next time that a file is read is noted, unless the file system never does."""
    for path in folder.rglob("*"):
        if path.is_file():
            os.utime(path, ns=(0, path.stat().st_mtime_ns))


def odd_values(store: Path, outside: Path) -> dict[str, object]:
    """What a text of the catalog of `store` is changed to."""
    file = next((outside / "data").rglob("*.parquet"))
    table = next(path for path in (store / "data").iterdir())
    relative = os.path.relpath(file, store / "data")
    values: dict[str, object] = {
        "absolute": str(file),
        "absolute folder": str(outside),
        "letter": str(outside / "letter.txt"),
        "relative": relative,
        "relative from a table": f"{table.name}/../{relative}",
        "parent": "..",
        "two up": "../../outside",
        "listed": f'["{relative}"]',
        "listed up": '["../../../outside/letter"]',
        "named": f'{{"{relative}": "{file}"}}',
        "other column": '{"1": "text", "2": "n"}',
        "wrong numbers": "[77, -1, 0]",
        "null": None,
        "empty": "",
        "huge": "x/" * 500_000,
        "deep": "[" * 5_000,
        "bytes": os.fsencode(relative),
        "junk": bytes(range(256)) * 3,
        "number": 7,
        "fraction": 0.5,
        "huge number": 2**62,
        "null character": "t\0/x",
        "line ends": "\n\r",
        "SQL": "'; DROP TABLE tables; --",
    }
    if sys.platform != "win32":
        link, linked_file = store / "data" / "link-00000000", table / f"{'1' * 32}.parquet"
        if not link.exists():
            link.symlink_to(file.parent)
            linked_file.symlink_to(file)
        values |= {
            "link": f"{link.name}/{file.name}",
            "linked folder": link.name,
            "linked file": f"{table.name}/{linked_file.name}",
        }
    return values


def change(store: Path, table: str, column: str, value: object) -> None:
    """As whoever hands a store on may do it: without the catalog's own constraints of types and nulls."""
    with closing(sqlite3.connect(store / "catalog.sqlite", isolation_level=None)) as catalog:
        catalog.execute("PRAGMA writable_schema = ON")
        catalog.execute(
            "UPDATE sqlite_master SET sql = replace(replace(sql, ' NOT NULL', ''), ' TEXT', ' BLOB')"
            " WHERE type = 'table' AND name = ?",
            (table,),
        )
        catalog.execute("PRAGMA writable_schema = RESET")
    with closing(sqlite3.connect(store / "catalog.sqlite", isolation_level=None)) as catalog:
        unique = (table, column) in (("tables", "name"), ("tables", "folder"), ("indexes", "kind"))
        rows = f"rowid = (SELECT min(rowid) FROM {table})" if unique else "1"
        catalog.execute(f"UPDATE {table} SET {column} = ? WHERE {rows}", (value,))


Work = Callable[[Store, Path], object]

TABLE_WORKS: list[Callable[[Table], object]] = [
    lambda table: table.read(),
    lambda table: table.read(where=col("n") == 77),
    lambda table: table.get(3),
    lambda table: table.page(5),
    lambda table: table.count(),
    lambda table: table.where("n > 5").group_by("text").agg().read(),
    lambda table: table.search("fox"),
    lambda table: table.profile("n"),
    lambda table: table.indexes,
    lambda table: table.history(),
    lambda table: table.summary(),
    lambda table: table.schema,
    lambda table: table.metadata,
    lambda table: table.as_of(1).read(),
    lambda table: table.as_of("named").read(),
    lambda table: table.diff(1).summary(),
    lambda table: table.related(5, "u"),
    lambda table: table.verify(),
    lambda table: table.insert([{"n": 1}]),
    lambda table: table.insert({"n": list(range(3_000))}),
    lambda table: table.update([{"_id": 3, "n": 4}]),
    lambda table: table.update_where("n > 100", {"$inc": {"n": 1}}),
    lambda table: table.delete(ids=[1]),
    lambda table: table.undo(),
    lambda table: table.flush(),
    lambda table: table.drop_index("n"),
    lambda table: table.create_index("n"),
    lambda table: table.rename_column("n", "m"),
    lambda table: table.compact(),
    lambda table: table.restore(1),
    lambda table: table.expire(keep_versions=1),
]

WORKS: list[Work] = [
    lambda store, _: store.tables,
    lambda store, _: store.sql("select count(*), max(n) from t join u using (n)"),
    lambda store, _: store.relations,
    lambda store, _: store.check_relations(),
    lambda store, _: store.suggest_relations(),
    lambda store, _: store.summary(),
    lambda store, _: asked_in_sqlite(store),
    lambda store, _: store.verify(),
    lambda store, _: store.copy_table("t", "copy"),
    lambda store, place: store.backup(place / "backup"),
    lambda store, _: store.compact(),
    lambda store, _: store.vacuum(),
    lambda store, _: store.unrelate("of"),
    lambda store, _: store.rename_table("u", "v"),
    lambda store, _: store.create_table("more", {"n": list(range(3_000))}),
    lambda store, _: [store.drop_table(name) for name in store.tables],
    lambda store, _: store.vacuum(),
]


def asked_in_sqlite(store: Store) -> None:
    """SQLite's own errors say that a table or column is called otherwise."""
    with closing(connect(store)) as connection, suppress(apsw.SQLError):
        connection.execute("select max(n) from t").fetchall()


def worked_on(path: Path, place: Path) -> None:
    """All that is done with a store; each thing answers or raises an error of ours."""
    with suppress(LamellaError), Store.open(path, read_only=True) as store:
        for name in ("t", "u"):
            with suppress(LamellaError):
                assert str(SECRET) not in str(store[name].read().to_pydict())
    with suppress(LamellaError):
        Store.restore_backup(path, place / "restored").close()
    with suppress(LamellaError), Store.open(path) as store:
        for table_work in TABLE_WORKS:
            with suppress(LamellaError):
                table_work(store["t"])
        for work in WORKS:
            with suppress(LamellaError):
                work(store, place)
    with suppress(LamellaError):
        Store.open(path).close()


@pytest.mark.parametrize(("table", "column"), TEXTS, ids=[".".join(text) for text in TEXTS])
def test_a_hostile_text_of_the_catalog_does_no_harm(
    whole: Path, outside: Path, tmp_path: Path, table: str, column: str
) -> None:
    shutil.copytree(whole, tmp_path / "0" / "s")
    values = odd_values(tmp_path / "0" / "s", outside)
    chosen = random.Random(f"{table}.{column}").sample(sorted(values), min(ROUNDS, len(values)))
    not_read_yet(outside)
    before = looks(outside)
    for number, name in enumerate(chosen, 1):
        place = tmp_path / str(number)
        shutil.copytree(whole, place / "s")
        value = odd_values(place / "s", outside)[name]
        change(place / "s", table, column, value)
        not_read_yet(outside)
        worked_on(place / "s", place)
        assert looks(outside) == before, name
        assert {path.name for path in tmp_path.iterdir()} == {"0", "outside", *map(str, range(1, number + 1))}
        assert {path.name for path in place.iterdir()} <= {"s", "backup", "restored"}, name
        shutil.rmtree(place)
        place.mkdir()
