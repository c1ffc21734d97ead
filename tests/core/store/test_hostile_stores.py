"""Catalogs with malicious texts and numbers: every operation on the store returns or raises an error of
ours, and nothing outside its folder is read, created or removed.

LAMELLA_LONG_RUNS=400 changes every column to every odd value; without it, each text and some of the numbers
get one.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import apsw
import pytest

from lamella import Store, col
from lamella.core.bridge import connect
from lamella.core.errors import DamagedStore, LamellaError
from lamella.core.store.catalog.schema import LARGEST_NUMBER, NUMBERED_TABLES, TABLES
from lamella.core.store.table import Table

ROUNDS = int(os.environ.get("LAMELLA_LONG_RUNS", "1"))
ROWS = 2_500
SECRET = 987_654_321
"""A text that occurs only in the sentinels."""

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


NUMBERS = [
    (table, column)
    for table, columns in {
        "tables": ("table_id", "version", "generation", "next_id", "next_column"),
        "commits": (
            *("table_id", "version", "at", "restores", "inserted", "updated", "deleted", "seconds"),
            "transaction_id",
        ),
        "columns": ("entry", "table_id", "column_id", "place", "from_version", "to_version"),
        "data_files": (
            *("entry", "table_id", "rows", "first_id", "last_id", "bytes", "made"),
            *("from_version", "to_version"),
        ),
        "change_files": (
            *("entry", "table_id", "made", "rows", "first_id", "last_id", "bytes"),
            *("from_version", "to_version"),
        ),
        "removed_files": ("number", "bytes", "table_id", "first_version", "last_version"),
        "metadata": ("entry", "table_id", "column_id", "from_version", "to_version"),
        "deletions": ("entry", "table_id", "from_version", "to_version"),
        "pending_rows": ("entry", "table_id", "first_id", "rows", "from_version", "to_version"),
        "pending_cells": ("entry", "table_id", "made", "from_version", "to_version"),
        "ids_under_way": ("table_id", "first_id", "last_id"),
        "transactions": ("transaction_id", "at"),
        "indexes": ("index_id", "table_id"),
        "relations": ("relation_id", "from_table_id", "to_table_id"),
        "sqlite_sequence": ("seq",),
    }.items()
    for column in columns
]
ODD_NUMBERS: dict[str, object] = {
    "largest": 2**63 - 1,
    "smallest": -(2**63),
    "no version is as large": 2**62,
    "large": 2**40,
    "zero": 0,
    "negative": -1,
    "other": 77,
    "fraction": 0.5,
    "huge fraction": 1e300,
    "hugely negative": -1e300,
    "infinite": float("inf"),
    "null": None,
    "text": "abc",
    "digits": "7",
    "bytes": b"\0\1",
}
SOME_NUMBERS = random.Random(3).sample(NUMBERS, 6)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that has at least one row in every table of its catalog."""
    path = tmp_path_factory.mktemp("whole") / "s"
    with Store.open(path) as store:
        table = store.create_table("t", {"n": list(range(ROWS)), "text": ["red fox"] * ROWS})
        table.update([{"_id": i, "n": -i} for i in range(2_000)])
        table.maintenance.flush()
        table.indexes.create("n")
        table.indexes.create("text", kind="fulltext")
        table.set_metadata({"source": "a book"})
        store.create_table("u", [{"n": 5, "text": "five"}])
        store.relations.declare("t.n", "u.n", "of")
        table.history.name_version("named")
        table.insert([{"n": ROWS, "text": "grey wolf"}])
        table.update([{"_id": 7, "text": "seven"}])
        table.delete(ids=[9])
        with store.transaction():
            store["u"].insert([{"n": 6, "text": "six"}])
            table.insert([{"n": 6, "text": "bear"}])
    with closing(sqlite3.connect(path / "catalog.sqlite", isolation_level=None)) as catalog:
        catalog.execute("INSERT INTO ids_under_way VALUES ('0123', 2, 100, 200)")
        catalog.execute(
            "INSERT INTO removed_files (path, bytes, table_id, first_version, last_version)"
            f" VALUES ('gone-00000000/{'0' * 32}.parquet', 1, 7, 0, 1)"
        )
        for table_name, _ in [*TEXTS, *NUMBERS]:
            assert catalog.execute(f"SELECT count(*) FROM {table_name}").fetchone()[0], table_name
    return path


def test_every_column_of_the_catalog_is_among_them() -> None:
    with closing(sqlite3.connect(":memory:")) as catalog:
        catalog.executescript(TABLES)
        tables = [row[0] for row in catalog.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        kinds = {
            (table, name): kind
            for table in tables
            for name, kind in catalog.execute("SELECT name, type FROM pragma_table_info(?)", (table,))
            if table != "sqlite_sequence"
        }
    assert {column for column, kind in kinds.items() if kind in ("TEXT", "BLOB")} == set(TEXTS)
    numbers = {column for column, kind in kinds.items() if kind in ("INTEGER", "REAL")}
    assert numbers | {("sqlite_sequence", "seq")} == set(NUMBERS)
    assert len(kinds) + 1 == len(TEXTS) + len(NUMBERS)


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Path]:
    """A folder of sentinels: a table's folder of another store, and a letter. Nothing may read them, create
    files beside them, or remove them."""
    folder = tmp_path / "outside"
    with Store.open(folder) as store:
        store.create_table("t", {"n": [SECRET] * ROWS, "text": ["secret"] * ROWS})
    (folder / "letter.txt").write_text("dear")
    yield folder


def looks(folder: Path) -> dict[Path, tuple[int, ...]]:
    """The status of each file, which shows changes, and reads if the file system records them."""
    looked = {}
    for path in (folder, *folder.rglob("*")):
        status = path.lstat()
        looked[path] = (status.st_size, status.st_mtime_ns, status.st_nlink)
        if not path.is_dir():
            looked[path] += (status.st_atime_ns,)
    return looked


def not_read_yet(folder: Path) -> None:
    """Reset access times, so that the file system records the next read, if it records any."""
    for path in folder.rglob("*"):
        if path.is_file():
            os.utime(path, ns=(0, path.stat().st_mtime_ns))


def odd_values(store: Path, outside: Path) -> dict[str, object]:
    """Odd values for texts of the catalog of `store`, by name."""
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
    """Change a column as an attacker could: without the catalog's constraints on types and nulls, in one row
    of `tables`, and in other tables in every row that a key permits."""
    with closing(sqlite3.connect(store / "catalog.sqlite", isolation_level=None)) as catalog:
        catalog.execute("PRAGMA writable_schema = ON")
        (sql,) = catalog.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).fetchone()
        untyped = re.sub(r" (TEXT|REAL|INTEGER|BLOB)(?! PRIMARY KEY)( NOT NULL)?", " BLOB", sql)
        if not table.startswith("sqlite_"):
            catalog.execute("UPDATE sqlite_master SET sql = ? WHERE name = ?", (untyped, table))
        catalog.execute("PRAGMA writable_schema = RESET")
    with closing(sqlite3.connect(store / "catalog.sqlite", isolation_level=None)) as catalog:
        rows = "rowid = (SELECT min(rowid) FROM tables)" if table == "tables" else "1"
        with suppress(sqlite3.IntegrityError):  # a key accepts only whole numbers
            catalog.execute(f"UPDATE OR IGNORE {table} SET {column} = ? WHERE {rows}", (value,))


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
    lambda table: list(table.indexes),
    lambda table: table.history.commits(),
    lambda table: table.maintenance.summary(),
    lambda table: table.schema,
    lambda table: table.metadata,
    lambda table: table.as_of(1).read(),
    lambda table: table.as_of("named").read(),
    lambda table: table.history.diff(1).summary(),
    lambda table: table.relations.rows(5, "u"),
    lambda table: table.maintenance.verify(),
    lambda table: table.insert([{"n": 1}]),
    lambda table: table.insert({"n": list(range(3_000))}),
    lambda table: table.update([{"_id": 3, "n": 4}]),
    lambda table: table.update_where("n > 100", {"$inc": {"n": 1}}),
    lambda table: table.delete(ids=[1]),
    lambda table: table.history.undo(),
    lambda table: table.maintenance.flush(),
    lambda table: table.indexes.drop("n"),
    lambda table: table.indexes.create("n"),
    lambda table: table.columns.rename("n", "m"),
    lambda table: table.maintenance.compact(),
    lambda table: table.history.restore(1),
    lambda table: table.maintenance.expire(keep_versions=1),
]

WORKS: list[Work] = [
    lambda store, _: store.tables,
    lambda store, _: store.sql("select count(*), max(n) from t join u using (n)"),
    lambda store, _: list(store.relations),
    lambda store, _: store.relations.check(),
    lambda store, _: store.relations.suggest(),
    lambda store, _: store.maintenance.summary(),
    lambda store, _: asked_in_sqlite(store),
    lambda store, _: store.maintenance.verify(),
    lambda store, _: store.copy_table("t", "copy"),
    lambda store, _: changed_together(store),
    lambda store, place: store.backup(place / "backup"),
    lambda store, _: store.maintenance.compact(),
    lambda store, _: store.maintenance.vacuum(),
    lambda store, _: store.relations.drop("of"),
    lambda store, _: store.rename_table("u", "v"),
    lambda store, _: store.create_table("more", {"n": list(range(3_000))}),
    lambda store, _: [store.drop_table(name) for name in store.tables],
    lambda store, _: store.maintenance.vacuum(),
]


def changed_together(store: Store) -> None:
    with store.transaction():
        store["u"].insert([{"n": 7}])
        store["t"].delete(ids=[5])


def asked_in_sqlite(store: Store) -> None:
    """SQLite reports that a table or column has another name."""
    with closing(connect(store)) as connection, suppress(apsw.SQLError):
        connection.execute("select max(n) from t").fetchall()


def worked_on(path: Path, place: Path) -> None:
    """Use a store in every way; each operation returns or raises an error of ours."""
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


def contents(store: Path) -> dict[str, list[tuple[object, ...]]]:
    """All rows of a catalog, by table."""
    with closing(sqlite3.connect(store / "catalog.sqlite")) as catalog:
        tables = [name for (name,) in catalog.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {table: catalog.execute(f"SELECT * FROM {table}").fetchall() for table in tables}


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("commits", "at", 1e300),
        ("commits", "at", "abc"),
        ("commits", "at", float("inf")),
        ("tables", "version", 2**63 - 1),
        ("tables", "version", -1),
        ("tables", "generation", 0.5),
        ("tables", "next_id", 2**63 - 1),
        ("tables", "next_id", -1),
        ("tables", "next_id", 0),
    ],
)
def test_an_impossible_number_is_refused_before_anything_is_written(
    whole: Path, tmp_path: Path, table: str, column: str, value: object
) -> None:
    path = tmp_path / "s"
    shutil.copytree(whole, path)
    change(path, table, column, value)
    if table == "commits":
        with closing(sqlite3.connect(path / "catalog.sqlite", isolation_level=None)) as catalog:
            catalog.execute("UPDATE commits SET at = 1e9 WHERE table_id = 2")
    with Store.open(path) as store:
        before = contents(path)
        with pytest.raises(LamellaError) as refused:
            store["t"].insert([{"n": 1}])
        assert str(path / "catalog.sqlite") in str(refused.value)
        assert f"{table} holds" in str(refused.value) or "the next id is 0" in str(refused.value)
        assert column in str(refused.value) or value == 0
        assert contents(path) == before
        assert store.tables == ["t", "u"]
        store["u"].insert([{"n": 6, "text": "six"}])
        assert [row["n"] for row in store["u"].read().to_pylist()] == [5, 6, 6]
        assert any("t: " in problem for problem in store.maintenance.verify().problems)
        if table == "tables":
            store.drop_table("t")
            assert store.tables == ["u"]


@pytest.mark.parametrize(
    ("table", "column", "last"),
    [
        ("tables", "version", LARGEST_NUMBER),
        ("tables", "next_id", LARGEST_NUMBER),
        ("tables", "next_column", LARGEST_NUMBER),
    ],
)
def test_nothing_is_written_that_could_not_be_read_again(
    whole: Path, tmp_path: Path, table: str, column: str, last: object
) -> None:
    shutil.copytree(whole, tmp_path / "s")
    change(tmp_path / "s", table, column, last)
    with Store.open(tmp_path / "s") as store:
        before = contents(tmp_path / "s")
        with pytest.raises(
            DamagedStore, match=rf"catalog\.sqlite: the catalog's table \w+ holds \d+.* as {column}"
        ):
            store["t"].insert([{"n": 1} | ({"new": 1} if column == "next_column" else {})])
        assert contents(tmp_path / "s") == before


@pytest.mark.slow(except_every=4)
@pytest.mark.parametrize(("by", "column"), [("sqlite_sequence", "seq"), ("", "the number itself")])
@pytest.mark.parametrize(
    ("kind", "work"),
    [
        ("pending_rows", lambda store: store["t"].insert([{"n": 1}])),
        ("data_files", lambda store: store["t"].insert({"n": list(range(ROWS))})),
        ("columns", lambda store: store["t"].insert([{"other": 1}])),
        ("tables", lambda store: store.create_table("more", [{"n": 1}])),
        ("transactions", lambda store: changed_together(store)),  # noqa: PLW0108 -- is defined below
        ("relations", lambda store: store.relations.declare("u.n", "t.n", "back")),
        ("indexes", lambda store: store["u"].indexes.create("n")),
        ("pending_cells", lambda store: store["t"].update([{"_id": 3, "n": 4}])),
        ("deletions", lambda store: store["t"].delete(ids=[1])),
        ("metadata", lambda store: store["t"].set_metadata({"a": "b"})),
    ],
)
def test_numbers_that_are_used_up_are_named_and_not_the_disk(
    whole: Path, tmp_path: Path, kind: str, work: Callable[[Store], object], by: str, column: str
) -> None:
    """SQLite reports a full disk for these."""
    shutil.copytree(whole, tmp_path / "s")
    with closing(sqlite3.connect(tmp_path / "s" / "catalog.sqlite", isolation_level=None)) as catalog:
        if by:
            catalog.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = ?", (2**63 - 1, kind))
        else:
            catalog.execute(
                f"UPDATE {kind} SET {NUMBERED_TABLES[kind]} = ? "
                f"WHERE rowid = (SELECT max(rowid) FROM {kind})",
                (2**63 - 1,),
            )
    with Store.open(tmp_path / "s") as store:
        before = contents(tmp_path / "s")
        with pytest.raises(DamagedStore, match=rf"catalog\.sqlite: the catalog's table {kind} holds \d+ as"):
            work(store)
        entered, now = before.keys() - {"tables"}, contents(tmp_path / "s")
        assert [kind for kind in entered if now[kind] != before[kind]] == []  # only ids were allocated
        assert store["t"].version == 7
        assert any(f"table {kind} holds" in problem for problem in store.maintenance.verify().problems)


@pytest.mark.slow(after=2)
@pytest.mark.parametrize("name", [7, 0.5, b"t", None])
def test_a_table_whose_name_is_no_text_leaves_the_others_readable(
    whole: Path, tmp_path: Path, name: object
) -> None:
    shutil.copytree(whole, tmp_path / "s")
    change(tmp_path / "s", "tables", "name", name)
    with closing(sqlite3.connect(tmp_path / "s" / "catalog.sqlite", isolation_level=None)) as catalog:
        catalog.execute("UPDATE tables SET name = 'table 1' WHERE name = 'u'")
    with Store.open(tmp_path / "s") as store:
        assert sorted(store.tables) == ["table 1", "table 1?"]
        assert store["table 1"].count() == 2
        assert store.sql('select count(*) as n from "table 1"')["n"].to_pylist() == [2]
        with pytest.raises(
            DamagedStore, match=r"catalog\.sqlite: the catalog's table tables holds .* as name"
        ):
            store["table 1?"].count()
        assert any("table 1?" in problem for problem in store.maintenance.verify().problems)
        store.drop_table("table 1?")
        assert store.tables == ["table 1"]


@pytest.mark.parametrize(
    ("kind", "column", "value"),
    [
        ("data_files", "names", "[]"),
        ("deletions", "ids", b"123"),
        ("columns", "type", b"none"),
        ("pending_rows", "columns", "{}"),
        ("indexes", "column_ids", "7"),
        ("relations", "from_column_ids", "x"),
    ],
)
def test_what_is_said_of_a_text_of_the_catalog_names_its_file(
    whole: Path, tmp_path: Path, kind: str, column: str, value: object
) -> None:
    path = tmp_path / "s"
    shutil.copytree(whole, path)
    change(path, kind, column, value)
    if column == "ids":
        with closing(sqlite3.connect(path / "catalog.sqlite", isolation_level=None)) as catalog:
            catalog.execute("UPDATE deletions SET checksum = ''")
    with Store.open(path) as store:
        with pytest.raises(LamellaError) as refused:
            list(store.relations) if kind == "relations" else store["t"].read()
        assert str(path / "catalog.sqlite") in str(refused.value)


def test_a_data_file_that_is_entered_twice_is_refused_when_the_table_is_read(
    whole: Path, tmp_path: Path
) -> None:
    shutil.copytree(whole, tmp_path / "s")
    with closing(sqlite3.connect(tmp_path / "s" / "catalog.sqlite", isolation_level=None)) as catalog:
        names = [name for _, name, *_ in catalog.execute("PRAGMA table_info(data_files)")][1:]
        columns = ", ".join(names)
        catalog.execute(f"INSERT INTO data_files ({columns}) SELECT {columns} FROM data_files")
    with Store.open(tmp_path / "s") as store:
        with pytest.raises(DamagedStore, match=r"t: the data file .* is part of it 2 times"):
            store["t"].count()
        assert store["u"].count() == 2


@pytest.mark.parametrize("first", [0, 1_000_000])
def test_data_files_that_share_ids_or_rows_are_refused_when_the_table_is_read(
    whole: Path, tmp_path: Path, first: int
) -> None:
    """A second entry, of another file with the same ids, or of the same file with others."""
    shutil.copytree(whole, tmp_path / "s")
    with closing(sqlite3.connect(tmp_path / "s" / "catalog.sqlite", isolation_level=None)) as catalog:
        names = [name for _, name, *_ in catalog.execute("PRAGMA table_info(data_files)")][1:]
        path_sql = f"substr(path, 1, length(path) - 40) || '{'0' * 32}.parquet'"
        altered = {"path": "path" if first else path_sql}
        altered |= {"first_id": f"first_id + {first}", "last_id": f"last_id + {first}"}
        columns = ", ".join(altered.get(name, name) for name in names)
        catalog.execute(f"INSERT INTO data_files ({', '.join(names)}) SELECT {columns} FROM data_files")
        catalog.execute("UPDATE tables SET next_id = 3000000")
    with Store.open(tmp_path / "s") as store:
        with pytest.raises(DamagedStore, match=r"is part of it 2 times|two parts of it hold the _ids"):
            store["t"].count()
        assert store["u"].count() == 2


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(("table", "column"), TEXTS, ids=[".".join(text) for text in TEXTS])
def test_a_hostile_text_of_the_catalog_does_no_harm(
    whole: Path, outside: Path, tmp_path: Path, table: str, column: str
) -> None:
    shutil.copytree(whole, tmp_path / "0" / "s")
    values = odd_values(tmp_path / "0" / "s", outside)
    assert_harmless(
        whole, outside, tmp_path, (table, column), lambda store: odd_values(store, outside), values
    )


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(
    ("table", "column"),
    NUMBERS if ROUNDS > 1 else SOME_NUMBERS,
    ids=lambda name: name,
)
def test_a_hostile_number_of_the_catalog_does_no_harm(
    whole: Path, outside: Path, tmp_path: Path, table: str, column: str
) -> None:
    assert_harmless(whole, outside, tmp_path, (table, column), lambda _: ODD_NUMBERS, ODD_NUMBERS)


def assert_harmless(
    whole: Path,
    outside: Path,
    tmp_path: Path,
    changed: tuple[str, str],
    values: Callable[[Path], dict[str, object]],
    names: Iterable[str],
) -> None:
    """Try some of the `names`, each in its own store, in which the column is changed to the value with that
    name."""
    names = sorted(names)
    chosen = random.Random(".".join(changed)).sample(names, min(ROUNDS, len(names)))
    not_read_yet(outside)
    before, beside = looks(outside), {path.name for path in tmp_path.iterdir()}
    for number, name in enumerate(chosen, 1):
        place = tmp_path / str(number)
        shutil.copytree(whole, place / "s")
        change(place / "s", *changed, values(place / "s")[name])
        not_read_yet(outside)
        worked_on(place / "s", place)
        assert looks(outside) == before, name
        assert {path.name for path in tmp_path.iterdir()} == {*beside, *map(str, range(1, number + 1))}
        assert {path.name for path in place.iterdir()} <= {"s", "backup", "restored"}, name
        shutil.rmtree(place)
        place.mkdir()
