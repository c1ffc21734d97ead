"""A table returns what was inserted, makes the requested changes, and can undo each of them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import Store, col
from lamella.core.errors import BadData, StoreProblem, TypeConflict, UnknownColumn, UnknownRow, UnknownTable
from lamella.core.query.scan_query import read_scan, scan_query_of
from lamella.core.scan.snapshot import FileSegment

PEOPLE = [{"name": "Ada", "age": 36}, {"name": "Grace", "age": None}, {"name": "", "age": 85}]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    with Store.open(tmp_path / "store") as opened:
        yield opened


def rows(table: object) -> list[dict]:
    return table.read().to_pylist()  # type: ignore[attr-defined]


def many(count: int) -> pa.Table:
    return pa.table({"n": pa.array(range(count)), "label": [f"row {i}" for i in range(count)]})


@pytest.mark.parametrize("size", [3, 1_500, 120_000])
def test_rows_come_back_in_the_order_they_were_given_with_ids(store: Store, size: int) -> None:
    table = store.create_table("t", many(size))
    back = table.read()
    assert back.drop_columns(["_id"]).equals(many(size))
    assert back.column("_id").to_pylist() == list(range(size))
    assert table.num_rows == size


def test_the_callers_rows_are_left_as_they_were(store: Store) -> None:
    people = [dict(row) for row in PEOPLE]
    store.create_table("people", people).update([{"_id": 0, "age": 37}])
    assert people == PEOPLE


def test_a_cell_can_be_set_to_null_and_null_stays_apart_from_empty_text(store: Store) -> None:
    table = store.create_table("people", PEOPLE)
    table.update([{"_id": 0, "name": None}])
    assert [r["name"] for r in rows(table)] == [None, "Grace", ""]


@pytest.mark.parametrize("size", [50, 120_000])
def test_an_update_by_key_changes_only_the_columns_given(store: Store, size: int) -> None:
    table = store.create_table("t", many(size))
    commit = table.update([{"n": 7, "label": "seven"}, {"n": 40, "label": "forty"}], on="n")
    assert commit.updated == 2
    changed = table.read(where=col("label").is_in(["seven", "forty"]))
    assert changed.column("n").to_pylist() == [7, 40]
    assert changed.column("_id").to_pylist() == [7, 40]


def test_an_update_of_every_row_replaces_the_files_and_is_undone_whole(store: Store) -> None:
    table = store.create_table("t", many(30_000))
    table.update_where(None, {"$set": {"label": "same"}})
    assert table.count(col("label") == "same") == 30_000
    table.history.undo()
    assert table.read().drop_columns(["_id"]).equals(many(30_000))


def test_setting_values_by_filter_changes_just_the_rows_that_meet_it(store: Store) -> None:
    table = store.create_table("t", many(5_000))
    commit = table.update_where(col("n") >= 4_990, {"$set": {"label": "last"}})
    assert (commit.updated, table.count(col("label") == "last")) == (10, 10)


def test_rows_that_hold_the_value_already_are_not_counted_as_changed(store: Store) -> None:
    table = store.create_table("t", [{"n": 1, "w": "a"}, {"n": 2, "w": None}, {"n": None, "w": "b"}])
    assert table.update_where(None, {"$set": {"n": 1}}).updated == 2
    assert table.update_where(None, {"$set": {"n": 1}}).updated == 0
    assert table.update_where(None, {"$set": {"n": 1, "w": None}}).updated == 2
    assert table.version == 3


def test_a_column_widens_only_when_a_value_asks_for_it(store: Store) -> None:
    table = store.create_table("t", pa.table({"n": pa.array([1], pa.int32())}))
    table.update([{"_id": 0, "n": 2}])
    table.insert([{"n": 3.0}])
    assert table.schema.field("n").type == pa.int32()
    table.insert([{"n": 2**40}])
    assert table.schema.field("n").type == pa.int64()
    assert table.read().column("n").to_pylist() == [2, 3, 2**40]
    table.history.undo()
    assert table.schema.field("n").type == pa.int32()
    assert table.read().column("n").to_pylist() == [2, 3]


def test_a_new_column_appears_and_is_null_elsewhere(store: Store) -> None:
    table = store.create_table("people", PEOPLE)
    table.update([{"_id": 1, "rank": "admiral"}])
    table.insert([{"name": "Edsger", "rank": "doctor", "born": 1930}])
    assert [r["rank"] for r in rows(table)] == [None, "admiral", None, "doctor"]
    assert [r["born"] for r in rows(table)] == [None, None, None, 1930]


def test_deleted_ids_are_never_given_again(store: Store) -> None:
    table = store.create_table("people", PEOPLE)
    table.delete(ids=[0, 1, 2])
    assert table.num_rows == 0
    table.insert(PEOPLE[:1])
    assert rows(table) == [{"_id": 3, "name": "Ada", "age": 36}]


def test_delete_with_no_ids_deletes_nothing_and_makes_no_version(store: Store) -> None:
    table = store.create_table("people", PEOPLE)
    assert table.delete(ids=[]).deleted == 0
    assert (table.num_rows, table.version) == (3, 1)


def test_undo_and_redo_walk_through_the_history_also_after_a_restart(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("people", PEOPLE)
        table.insert([{"name": "Edsger", "age": 72}])
        table.update([{"_id": 0, "age": 1}])
        table.delete(ids=[1])
    with Store.open(tmp_path / "s") as store:
        table = store["people"]
        states = [rows(table)]
        for _ in range(3):
            table.history.undo()
            states.append(rows(table))
        assert states[-1] == [{"_id": i, **row} for i, row in enumerate(PEOPLE)]
        for before in reversed(states[:-1]):
            table.history.redo()
            assert rows(table) == before
        with pytest.raises(StoreProblem, match="nothing to redo"):
            table.history.redo()


def test_a_new_change_ends_what_could_be_redone(store: Store) -> None:
    table = store.create_table("people", PEOPLE)
    table.delete(ids=[0])
    table.history.undo()
    table.update([{"_id": 0, "age": 5}])
    assert table.history.redoable() is None
    table.history.undo()
    assert [r["age"] for r in rows(table)] == [36, None, 85]
    with pytest.raises(StoreProblem, match="nothing to undo"):
        table.history.undo()


def test_history_says_what_each_commit_did(store: Store) -> None:
    table = store.create_table("people", PEOPLE)
    table.update_where(col("age") > 40, {"$set": {"age": 40}}, message="cap the ages")
    commits = [
        (c.version, c.kind, c.inserted, c.updated, c.deleted, c.message) for c in table.history.commits()
    ]
    assert commits == [(1, "create", 3, 0, 0, "create people"), (2, "change", 0, 1, 0, "cap the ages")]


def test_flushing_changes_files_and_nothing_else(store: Store) -> None:
    table = store.create_table("t", many(3_000))
    table.update([{"_id": 5, "label": "five"}])
    table.delete(ids=[6, 7])
    table.insert([{"n": -1, "label": "new"}])
    before, version = rows(table), table.version
    table.maintenance.flush()
    assert (rows(table), table.version) == (before, version)
    assert all(isinstance(segment, FileSegment) for segment in table.snapshot().segments)
    for _ in range(3):
        table.history.undo()
    assert table.read().drop_columns(["_id"]).equals(many(3_000))


def test_snapshots_stay_as_they_were_while_the_table_moves_on(store: Store) -> None:
    table = store.create_table("t", many(2_000))
    old = table.snapshot()
    table.update_where(None, {"$set": {"label": "gone"}})
    assert read_scan(old, scan_query_of(old)).drop_columns(["_id"]).equals(many(2_000))


def test_data_files_are_plain_parquet(store: Store) -> None:
    table = store.create_table("t", many(2_000))
    files = list((store.path / "data").rglob("*.parquet"))
    assert len(files) == 1
    assert pq.ParquetFile(files[0]).read().to_pylist() == rows(table)


def test_what_is_wrong_is_refused_by_name_and_changes_nothing(store: Store) -> None:
    table = store.create_table("people", PEOPLE)
    with pytest.raises(UnknownTable, match="Did you mean 'people'"):
        store["poeple"]
    with pytest.raises(UnknownColumn, match="Did you mean 'name'"):
        table.read(columns=["nmae"])
    with pytest.raises(UnknownRow, match="no row with _id 99"):
        table.update([{"_id": 99, "age": 1}])
    with pytest.raises(UnknownRow, match="name = 'Alan'"):
        table.update([{"name": "Alan", "age": 1}], on="name")
    with pytest.raises(TypeConflict, match="column 'age' is int64 and cannot take string"):
        table.insert([{"name": "Alan", "age": "old"}])
    with pytest.raises(BadData, match="Give each row once"):
        table.update([{"_id": 0, "age": 1}, {"_id": 0, "age": 2}])
    with pytest.raises(StoreProblem, match="already has a table"):
        store.create_table("people", PEOPLE)
    assert (table.version, len(rows(table))) == (1, 3)


def test_a_failing_import_leaves_no_table_and_no_file(store: Store) -> None:
    def breaking() -> object:
        yield from many(2_000).to_batches()
        raise RuntimeError("the source broke")

    reader = pa.RecordBatchReader.from_batches(many(1).schema, breaking())
    with pytest.raises(RuntimeError):
        store.create_table("half", reader)
    assert store.tables == []
    assert list((store.path / "data").iterdir()) == list((store.path / "tmp").iterdir()) == []


@pytest.mark.slow
def test_editing_does_not_import_pandas(tmp_path: Path) -> None:
    import subprocess

    script = """
import sys
from lamella import Store, col, open_dataset
from lamella.core.store.importing import plan_import
store = Store.open(sys.argv[1])
table = store.create_table("t", {"n": __import__("numpy").arange(5000)})
table.read(where=col("n") > 10)
table.read(where=col("n") < 0)
table.get(3)
table.insert([{"n": 1, "word": "x"}])
table.update([{"_id": 1, "word": "y"}])
table.update([{"_id": 3, "n": 4}])
table.update_where(col("n") > 4000, {"$set": {"word": "z", "n": 7}})
table.update_where(None, {"$replace": {"word": {"find": "z", "with": "1,5 2,5"}}, "$round": {"n": -20}})
table.update_where(None, {"$fill": {"word": {"from": "greatest"}}})
table.columns.split("word", ["first", "second"])
table.columns.cast("second", "float64", decimal=",")
table.columns.set_checks("n", one_of=[0, 0, 1])
path = sys.argv[1] + ".csv"
open(path, "w").write("n,word\\n1,x\\n")
dataset = open_dataset(path, cache_dir=sys.argv[1] + "cache")
assert plan_import(dataset, table, "upsert", ["n"]).new_rows == 1
assert "pandas" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "s")], check=True)


@pytest.mark.parametrize("count", [3, 2_500])
def test_rows_without_values_are_kept_as_rows(store: Store, count: int) -> None:
    table = store.create_table("t", [{}] * count)
    assert table.insert([{}] * count).inserted == count
    table.maintenance.flush()
    table.insert([{"a": 1}, *[{}] * count])
    ids = list(range(2 * count + 1 + count))
    assert table.num_rows == len(ids)
    assert rows(table) == [{"_id": i, "a": 1 if i == 2 * count else None} for i in ids]
    table.maintenance.compact()
    assert table.read(columns=["_id"]).column("_id").to_pylist() == ids
    assert store.maintenance.verify().problems == ()


def test_a_store_iterates_over_the_names_of_its_tables(store: Store) -> None:
    for name in ("b", "a"):
        store.create_table(name, [{"n": 1}])
    assert list(store) == store.tables and "a" in store and "c" not in store
    assert {name: store[name].num_rows for name in store} == {"a": 1, "b": 1}


@pytest.mark.parametrize(
    "shape", [lambda t: t, lambda t: t.to_pandas(), lambda t: t.to_pylist(), lambda t: t.to_pydict()]
)
def test_create_table_gives_new_ids_to_rows_of_another_table(
    store: Store, shape: Callable[[pa.Table], Any]
) -> None:
    first = store.create_table("first", {"n": range(10)})
    first.delete(ids=[0, 3])
    second = store.create_table("second", shape(first.read(sort="-n")))
    assert second.read().to_pydict() == {"_id": list(range(8)), "n": [9, 8, 7, 6, 5, 4, 2, 1]}
    assert store.create_table("ids", shape(first.read(columns=["_id"]))).read()["_id"].to_pylist() == list(
        range(8)
    )


def test_create_table_gives_new_ids_to_many_rows(store: Store) -> None:
    first = store.create_table("first", {"n": range(30_000)})
    first.delete(where="n < 10")
    second = store.create_table("second", first.read())
    assert second.read(limit=1).to_pylist() == [{"_id": 0, "n": 10}] and second.num_rows == 29_990


@pytest.mark.parametrize(
    "ids", [["abc", "b"], [1, None], [1, 1], [-1, 2], [1.0, 2.0], [0, 2**60], [0, 2**63 - 1]]
)
def test_create_table_refuses_ids_that_no_table_gave(store: Store, ids: list[Any]) -> None:
    with pytest.raises(BadData, match=r"bring their own _id.*or rename it to keep its values"):
        store.create_table("t", {"_id": ids, "n": [1, 2]})
    assert not store.tables


@pytest.mark.parametrize("argument", ["n > 5", {"n": 5}, col("n") > 5])
def test_delete_says_how_a_condition_is_given(store: Store, argument: Any) -> None:
    table = store.create_table("t", {"n": range(10)})
    with pytest.raises(BadData, match="Give a condition as where="):
        table.delete(argument)
    assert table.delete(where="n > 5").deleted == 4


def test_schema_keeps_that_a_field_is_required_until_a_null_comes(store: Store) -> None:
    schema = pa.schema([pa.field(name, pa.int64(), nullable=name == "c") for name in "abcd"])
    rows = pa.table({name: [1, 2] for name in "abcd"}, schema=schema)
    table = store.create_table("t", rows)

    def required() -> str:
        return "".join(field.name for field in table.schema if not field.nullable)

    assert required() == "abd" and table.columns.metadata("a") == {}
    table.insert(rows)
    table.update([{"_id": 0, "a": 5, "c": None}])
    table.update_where([1], {"$inc": {"b": 1}})
    assert required() == "abd"
    table.columns.rename("d", "e")
    table.update([{"_id": 0, "a": None}])
    assert required() == "be"
    table.columns.cast("b", pa.string())
    table.insert([{"b": "x"}])
    assert required() == "b"
    table.history.undo()
    assert required() == "be"
    table.insert({"a": range(3_000), "e": range(3_000)})
    assert required() == "e"
    table.insert(pa.table({"e": range(3_000)}))
    table.delete(ids=[0])
    table.columns.add("f", pa.int64())
    assert required() == "e"
    table.maintenance.compact()
    assert required() == "e" and store.copy_table("t", "copy").schema.field("e").nullable is False


def test_schema_keeps_that_a_field_of_many_rows_is_required(store: Store) -> None:
    schema = pa.schema([pa.field("a", pa.int64(), nullable=False), pa.field("b", pa.int64())])
    table = store.create_table("t", pa.table({"a": range(30_000), "b": range(30_000)}, schema=schema))
    assert [field.nullable for field in table.schema] == [True, False, True]
    table.update_where(None, {"$inc": {"a": 1}})
    assert not table.schema.field("a").nullable
    table.update_where("b > 20_000", {"$unset": {"a": ""}})
    assert table.schema.field("a").nullable
