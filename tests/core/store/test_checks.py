"""Defaults and checks of columns: every change of a table obeys them, or changes nothing."""

from __future__ import annotations

import datetime as dt
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import Store, open_dataset
from lamella.core.errors import BadData, BrokenCheck, DamagedStore, UnknownColumn
from lamella.core.store.column_rules import Checks
from lamella.core.store.folder import CATALOG
from lamella.core.store.importing import import_into, plan_import
from lamella.core.store.table import Table

ROWS = [
    {"email": "a@x", "state": "new", "n": 1},
    {"email": "b@x", "state": "paid", "n": 2},
    {"email": "c@x", "state": None, "n": None},
]


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with Store.open(tmp_path / "s") as opened:
        yield opened


@pytest.fixture
def table(store: Store) -> Table:
    checked = store.create_table("t", ROWS)
    checked.columns.set_checks("email", required=True, unique=True)
    checked.columns.set_checks("state", one_of=["new", "paid"])
    checked.columns.set_default("state", "new")
    return checked


def emails(count: int, prefix: str = "m") -> list[str]:
    return [f"{prefix}{i}@x" for i in range(count)]


# ------------------------------------------------------------------------------- defaults


def test_default_fills_what_new_rows_leave_out(table: Table, store: Store) -> None:
    table.insert({"email": "d@x"})
    table.insert([{"email": "e@x"}, {"email": "f@x", "state": "paid"}, {"email": "g@x", "state": None}])
    table.insert(pa.table({"email": ["h@x"]}))
    table.insert(pd.DataFrame({"email": ["i@x"]}))
    table.upsert([{"email": "j@x"}, {"email": "a@x"}, {"email": "k@x", "state": "paid"}], on="email")
    table.edit(rows=pa.table({"email": ["l@x"]}))
    table.update_where("email = 'm@x'", {"$set": {"n": 9}}, upsert=True)
    store.sql("INSERT INTO t (email) VALUES ('n@x')", write=True)
    actual = {row["email"][0]: row["state"] for row in table.read(["email", "state"]).to_pylist()}
    new = dict.fromkeys("dehijlmn", "new")
    assert actual == {"a": "new", "b": "paid", "c": None, **new, "f": "paid", "g": None, "k": "paid"}


@pytest.mark.parametrize("rows", [3, 2_000, 30_000])
def test_default_fills_rows_however_many(table: Table, rows: int) -> None:
    table.insert(
        {"email": email, **({"state": "paid"} if i % 3 else {})} for i, email in enumerate(emails(rows))
    )
    actual = table.read(["state"], where="email starts with 'm'")["state"].to_pylist()
    assert actual == ["paid" if i % 3 else "new" for i in range(rows)]
    table.insert(pa.table({"email": emails(rows, "q")}))
    assert table.count("email starts with 'q' and state = 'new'") == rows


def test_default_stays_with_its_column(table: Table) -> None:
    table.columns.rename("state", "status")
    assert table.columns.default("status") == "new"
    table.insert({"email": "d@x"})
    assert table.get(3)["status"] == "new"
    table.columns.set_default("status", None)
    table.insert({"email": "e@x"})
    assert table.columns.default("status") is None and table.get(4)["status"] is None
    table.columns.drop("status")
    table.history.undo()
    assert table.columns.checks("status") == Checks(one_of=("new", "paid"))


def test_default_follows_the_type_of_its_column(store: Store) -> None:
    table = store.create_table("t", pa.table({"n": pa.array([1, 2], pa.int8()), "at": ["x", "y"]}))
    table.columns.set_default("n", 7)
    table.insert({"n": 1000})
    table.insert({"at": "z"})
    table.columns.cast("n", "string")
    table.insert({"at": "z"})
    assert table.read(["n"])["n"].to_pylist() == ["1", "2", "1000", "7", "7"]
    table.columns.set_default("n", "many")
    with pytest.raises(BadData, match="the default of column 'n' is 'many', which is not of type int64"):
        table.columns.cast("n", "int64")


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (pa.decimal128(9, 2), Decimal("1.50")),
        (pa.date32(), dt.date(2020, 1, 2)),
        (pa.timestamp("us", "Europe/Berlin"), dt.datetime(2020, 1, 2, tzinfo=dt.UTC)),
        (pa.list_(pa.int64()), [1, 2]),
        (pa.struct([("x", pa.int64())]), {"x": 1}),
        (pa.dictionary(pa.int32(), pa.string()), "word"),
        (pa.binary(), b"\0"),
        (pa.float32(), 0.5),
    ],
)
def test_default_may_be_of_any_type(store: Store, kind: pa.DataType, value: Any) -> None:
    table = store.create_table("t", pa.table({"x": pa.nulls(1, kind), "n": [1]}))
    table.columns.set_default("x", value)
    table.insert([{"n": 2}])
    table.insert(pa.table({"n": np.arange(3000)}))
    actual = table.read(["x"])
    assert actual.schema.field("x").type == kind
    assert actual["x"].to_pylist() == [None] + 3001 * [value]
    assert table.columns.default("x") == value


def test_default_of_a_struct_leaves_alone_what_is_given_in_part(store: Store) -> None:
    table = store.create_table("t", [{"at": {"city": "Oslo", "zip": "1"}, "n": 1}])
    table.columns.set_default("at", {"city": "Rome", "zip": "2"})
    table.insert([{"at.city": "Bergen", "n": 2}])
    table.insert({"n": 3})
    assert table.read(["at"])["at"].to_pylist()[1:] == [
        {"city": "Bergen", "zip": None},
        {"city": "Rome", "zip": "2"},
    ]


# --------------------------------------------------------------------------------- checks

BREAKING: dict[str, tuple[Callable[[Table], Any], str]] = {
    "insert a double": (lambda t: t.insert({"email": "a@x"}), "row 0 of those given repeats 'a@x'"),
    "insert null": (lambda t: t.insert([{"email": "d@x"}, {"email": None}]), "row 1 of those given"),
    "insert without it": (lambda t: t.insert({"n": 1}), "'email' is required"),
    "insert doubles": (lambda t: t.insert(2 * [{"email": "d@x"}]), "Row 0 of those given already has it"),
    "insert another value": (lambda t: t.insert({"email": "d@x", "state": "lost"}), "takes no 'lost'"),
    "insert many": (
        lambda t: t.insert({"email": [*emails(20_000), "b@x"]}),
        "row 20000 of those .*_id 1 already has",
    ),
    "insert many nulls": (lambda t: t.insert({"email": [*emails(5000), None]}), "row 5000 of those given"),
    "insert many without it": (lambda t: t.insert({"n": range(5000)}), "'email' is required"),
    "update to a double": (
        lambda t: t.update([{"_id": 2, "email": "a@x"}]),
        "_id 2 repeats 'a@x'.*_id 0 already has it",
    ),
    "update to null": (lambda t: t.update([{"_id": 2, "email": None}]), "the row with _id 2 has no value"),
    "update all": (lambda t: t.update({"email": "z"}, where="n > 0"), "must be unique"),
    "update by key": (lambda t: t.update([{"n": 2, "state": "x"}], on="n"), "takes no 'x'.*row with _id 1"),
    "operators": (lambda t: t.update_where([0], {"$set": {"state": "x"}}), "It takes 'new', 'paid'"),
    "upsert update": (lambda t: t.upsert([{"email": "a@x", "state": "x"}], on="email"), "_id 0"),
    "upsert insert": (lambda t: t.upsert([{"n": 8, "email": "a@x"}], on="n"), "row 0 of those given"),
    "upsert one": (lambda t: t.update_where("n = 9", {"$set": {"n": 9}}, upsert=True), "required"),
    "transform": (lambda t: t.transform(lambda r: {"email": ["z"] * r.num_rows}), "must be unique"),
    "edit cells": (lambda t: t.edit([pa.table({"_id": [1], "email": ["a@x"]})]), "_id 1 repeats 'a@x'"),
    "edit new rows": (lambda t: t.edit(rows=pa.table({"n": [1]})), "'email' is required"),
    "SQL insert": (
        lambda t: t.store.sql("INSERT INTO t (email) VALUES ('b@x')", write=True),
        "_id 1 already has it",
    ),
    "SQL update": (lambda t: t.store.sql("UPDATE t SET state = 'x'", write=True), "takes no 'x'"),
    "a cast with null": (lambda t: t.columns.cast("email", "int64", on_error="null"), "_id 0 has no value"),
    "update by all ids": (
        lambda t: t.update([{"_id": i, "email": "z", "state": "new", "n": i} for i in range(3)]),
        "must be unique",
    ),
}


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize("name", BREAKING)
def test_broken_check_refuses_the_whole_change(table: Table, name: str) -> None:
    change, said = BREAKING[name]
    version, rows = table.version, table.read()
    files = sorted(path for path in Path(table.store.path).rglob("*.parquet"))
    with pytest.raises(BrokenCheck, match=said):
        change(table)
    assert (table.version, table.read()) == (version, rows)
    assert sorted(path for path in Path(table.store.path).rglob("*.parquet")) == files


def test_broken_check_tells_column_and_row(table: Table) -> None:
    with pytest.raises(BrokenCheck) as refusal:
        table.update([{"_id": 2, "email": "b@x"}])
    assert (refusal.value.column, refusal.value.row_id) == ("email", 2)
    with pytest.raises(BrokenCheck) as refusal:
        table.insert({"email": "b@x"})
    assert (refusal.value.column, refusal.value.row_id) == ("email", None)


def test_values_may_move_between_rows_in_one_change(table: Table) -> None:
    table.update([{"_id": 0, "email": "b@x"}, {"_id": 1, "email": "a@x"}])
    table.edit([pa.table({"_id": [2], "email": ["b@x"]})], delete=np.array([0]))
    table.edit(rows=pa.table({"email": ["a@x"]}), delete=np.array([1]))
    assert table.read(["email"])["email"].to_pylist() == ["b@x", "a@x"]


def test_null_is_no_double_and_one_of_any_values(store: Store) -> None:
    table = store.create_table("t", [{"n": 1, "x": 0.0}, {"n": None, "x": None}, {"n": None, "x": None}])
    table.columns.set_checks("n", unique=True, one_of=[1, 2, 3])
    table.columns.set_checks("x", unique=True)
    table.insert([{"n": None, "x": float("nan")}, {"n": 2, "x": None}])
    for equal in (-0.0, float("nan")):
        with pytest.raises(BrokenCheck):
            table.insert({"n": 3, "x": equal})


@pytest.mark.parametrize("indexed", [False, True])
def test_unique_holds_among_many_rows(store: Store, indexed: bool) -> None:
    table = store.create_table("t", {"email": emails(30_000)})
    if indexed:
        table.indexes.create(["email"])
    table.columns.set_checks("email", unique=True)
    table.insert({"email": "new"})
    for known in ("new", "m17@x", "m29999@x"):
        with pytest.raises(BrokenCheck, match=f"repeats '{known}'"):
            table.insert({"email": known})
    table.delete(where="email = 'm17@x'")
    table.insert({"email": "m17@x"})
    table.update([{"_id": i, "email": f"p{i}"} for i in range(20_000) if i != 17])
    table.maintenance.compact()
    with pytest.raises(BrokenCheck):
        table.update({"email": "p5"}, where="email = 'm25000@x'")


def test_set_checks_is_refused_where_rows_break_it(store: Store) -> None:
    table = store.create_table("t", [*ROWS, {"email": "a@x", "state": "lost"}, {"email": None}])
    version = table.version
    for checks, said in (
        ({"required": True}, "'email' cannot be required: 1 row has null. It is _id 4"),
        ({"unique": True}, r"cannot be unique: .*'a@x' \(_id 0 and 3\). Change these rows first"),
    ):
        with pytest.raises(BrokenCheck, match=said):
            table.columns.set_checks("email", **checks)
    said = r"one of 'new': 2 rows have other values. They are 'paid' \(_id 1\), 'lost' \(_id 3\)"
    with pytest.raises(BrokenCheck, match=said):
        table.columns.set_checks("state", one_of=["new"])
    table.columns.add("unknown", int)
    with pytest.raises(BrokenCheck, match=r"5 rows have null\. They are _id 0, _id 1, _id 2"):
        table.columns.set_checks("unknown", required=True)
    assert table.version == version + 1 and not table.columns.checks("email")


def test_checks_are_taken_away_one_by_one(table: Table) -> None:
    columns = table.columns
    assert columns.checks("email") == Checks(required=True, unique=True)
    assert not columns.checks("n") and table.schema.field("email").nullable is False
    columns.set_checks("email", required=False)
    assert columns.checks("email") == Checks(unique=True) and table.schema.field("email").nullable
    columns.set_checks("email", unique=False)
    columns.set_checks("state", one_of=[])
    table.insert([{"email": "a@x", "state": "lost"}, {"email": None}])
    assert not columns.checks("email") and columns.set_checks("email").version == table.version


def test_checks_belong_to_versions(table: Table, store: Store) -> None:
    checked = table.version
    table.columns.set_checks("email", required=False, unique=False)
    table.insert({"email": "a@x"})
    table.history.undo()
    table.history.undo()
    with pytest.raises(BrokenCheck):
        table.insert({"email": "a@x"})
    table.history.redo()
    table.history.redo()
    assert not table.columns.checks("email")
    table.history.restore(checked)
    with pytest.raises(BrokenCheck):
        table.insert({"email": "a@x"})
    copy = store.copy_table("t", "copy")
    with pytest.raises(BrokenCheck):
        copy.insert({"email": "a@x"})


def test_checks_stay_when_the_store_is_opened_again(table: Table, store: Store) -> None:
    table.maintenance.flush()
    store.close()
    with Store.open(store.path) as again:
        assert again["t"].columns.checks("state").one_of == ("new", "paid")
        with pytest.raises(BrokenCheck):
            again["t"].insert({"email": "a@x"})


def test_checks_hold_inside_a_transaction(table: Table, store: Store) -> None:
    rows = table.read()
    with pytest.raises(BrokenCheck), store.transaction():
        table.insert({"email": "d@x"})
        table.insert({"email": "d@x"})
    assert table.read() == rows


def test_checks_follow_a_cast(store: Store) -> None:
    table = store.create_table("t", {"n": ["1", "2"], "x": [1.25, 1.5]})
    table.columns.set_checks("n", required=True, one_of=["1", "2", "3"])
    table.columns.set_checks("x", unique=True)
    table.columns.cast("n", "int64")
    assert table.columns.checks("n") == Checks(required=True, one_of=(1, 2, 3))
    with pytest.raises(BrokenCheck, match="takes no 4"):
        table.insert({"n": 4})
    with pytest.raises(BrokenCheck, match="repeats 1"):
        table.columns.cast("x", "int64", lossy=True)


def test_metadata_does_not_reach_the_rules(table: Table, store: Store, tmp_path: Path) -> None:
    assert table.columns.metadata("email") == {} and not table.schema.field("state").metadata
    with pytest.raises(BadData, match="is a reserved key"):
        table.columns.set_metadata("email", {b"lamella.checks": "x"})
    field = pa.field(
        "a", pa.int64(), metadata={b"lamella.checks": b"x", b"lamella.cast_from": b"y", b"unit": b"m"}
    )
    pq.write_table(pa.table([[1]], schema=pa.schema([field])), tmp_path / "a.parquet")
    imported = store.create_table("other", pq.read_table(tmp_path / "a.parquet"))
    assert imported.columns.metadata("a") == {"unit": "m"} and not imported.columns.checks("a")


@pytest.mark.parametrize("key", [b"lamella.checks", b"lamella.one_of", b"lamella.default"])
@pytest.mark.parametrize(
    "value", [b"", b"5", b'["none"]', b"\xff\xff\xff\xff0000"], ids=["nothing", "number", "name", "noise"]
)
def test_rules_that_cannot_be_read_are_damage(table: Table, store: Store, key: bytes, value: bytes) -> None:
    store.close()
    with closing(sqlite3.connect(store.path / CATALOG)) as catalog:
        catalog.execute("UPDATE metadata SET value = ? WHERE key = ?", (value, key))
        catalog.commit()
    with Store.open(store.path) as again, pytest.raises(DamagedStore, match="checks of column"):
        again["t"].insert({"email": "z"})


REFUSED: list[tuple[str, Callable[[Any], Any]]] = [
    ("no column 'stat'", lambda c: c.set_default("stat", 1)),
    ("no column 'stat'", lambda c: c.checks("stat")),
    ("5 does not fit column 'state'", lambda c: c.set_default("state", 5)),
    ("'lost' cannot be the default of column 'state'", lambda c: c.set_default("state", "lost")),
    ("'new' cannot be the default", lambda c: c.set_checks("state", one_of=["paid"])),
    ("None is among the values", lambda c: c.set_checks("state", one_of=["new", None])),
    ("one_of takes a list of values, not 'new'", lambda c: c.set_checks("state", one_of="new")),
    ("one_of takes a list", lambda c: c.set_checks("state", one_of=5)),
    ("required is 'yes'. Say True or False", lambda c: c.set_checks("state", required="yes")),
    ("does not fit column 'n'", lambda c: c.set_checks("n", one_of=[1, "x"])),
    ("_id belongs to the table", lambda c: c.set_checks("_id", unique=True)),
]


@pytest.mark.parametrize(("said", "ask"), REFUSED)
def test_odd_rules_are_refused(table: Table, said: str, ask: Callable[[Any], Any]) -> None:
    version = table.version
    with pytest.raises((BadData, UnknownColumn), match=said):
        ask(table.columns)
    assert table.version == version


def test_nested_columns_can_be_required_alone(store: Store) -> None:
    table = store.create_table("t", [{"at": {"x": 1}, "tags": [1]}])
    table.columns.set_checks("at", required=True)
    with pytest.raises(BadData, match="column 'tags' holds nested values"):
        table.columns.set_checks("tags", unique=True)
    with pytest.raises(BrokenCheck):
        table.insert([{"tags": [2]}])


WRITER = """
import sys
from lamella import Store, open_dataset
from lamella.core.errors import BrokenCheck
table = Store.open(sys.argv[1])["t"]
won = []
for n in range(40):
    try:
        table.insert({"email": f"{n}@x", "who": sys.argv[2]})
        won.append(n)
    except BrokenCheck as refusal:
        assert refusal.column == "email"
print(*won)
"""


def test_one_of_two_processes_is_refused_the_same_value(table: Table, store: Store) -> None:
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(store.path), who], stdout=subprocess.PIPE, text=True
        )
        for who in ("one", "other")
    ]
    answers = [writer.communicate(timeout=60)[0].split() for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0]
    assert sorted(int(n) for won in answers for n in won) == list(range(40))
    actual = table.read(["email"])["email"].to_pylist()
    assert len(actual) == len(set(actual)) == 43


def test_a_plan_of_an_import_knows_defaults(table: Table, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("email\nd@x\n")
    plan = plan_import(open_dataset(tmp_path / "new.csv"), table, "append")
    assert plan.missing_columns == ("n",)


@pytest.mark.parametrize("mode", ["append", "replace", "upsert"])
def test_files_brought_into_a_table_meet_its_checks(table: Table, tmp_path: Path, mode: Any) -> None:
    rows = table.read()
    (tmp_path / "bad.csv").write_text("email,n\nd@x,1\nd@x,2\n" if mode != "upsert" else "email,n\n,1\n")
    with pytest.raises(BrokenCheck, match="email"):
        import_into(open_dataset(tmp_path / "bad.csv"), table, mode, key=["n"] if mode == "upsert" else ())
    assert table.read() == rows
    (tmp_path / "good.csv").write_text("email,n\nd@x,8\na@x,9\n" if mode == "replace" else "email,n\nd@x,8\n")
    import_into(open_dataset(tmp_path / "good.csv"), table, mode, key=["email"] if mode == "upsert" else ())
    assert table.read(["state"], where="email = 'd@x'")["state"].to_pylist() == ["new"]
