"""Known faults of other stores of this kind, each with a test that this store does not have it."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from lamella import Store, col
from lamella.core.errors import BadData, UnknownColumn
from lamella.core.store.table import Table

ROWS = 2_500


@pytest.fixture
def store(tmp_path: Path) -> Store:
    with Store.open(tmp_path / "s") as opened:
        yield opened


@pytest.fixture
def table(store: Store) -> Table:
    return store.create_table("t", {"n": list(range(ROWS)), "word": [f"w{i}" for i in range(ROWS)]})


def column(table: Table, name: str) -> list:
    return table.read(columns=[name]).column(0).to_pylist()


def test_an_error_in_the_middle_of_a_rewrite_leaves_the_data_readable(table: Table) -> None:
    def breaks(rows: pa.Table) -> pa.Table:
        raise ZeroDivisionError("in the middle")

    before, files = table.read(), sorted(table.store.path.rglob("*"))
    with pytest.raises(Exception, match="in the middle"):
        table.transform(breaks)
    assert table.read().equals(before) and sorted(table.store.path.rglob("*")) == files


def test_deleting_every_row_keeps_the_columns_and_what_is_inserted_next(store: Store, table: Table) -> None:
    table.delete(ids=range(ROWS))
    assert table.num_rows == 0 and table.schema.names == ["_id", "n", "word"]
    table.insert([{"n": 1, "word": "new"}])
    store.close()
    with Store.open(store.path) as again:
        assert again["t"].read().to_pylist() == [{"_id": ROWS, "n": 1, "word": "new"}]


def test_ids_are_never_given_twice(table: Table) -> None:
    table.delete(ids=[ROWS - 1])
    table.insert([{"n": 1}])
    table.history.undo()
    table.insert([{"n": 2}])
    assert column(table, "_id")[-1] == ROWS + 1


def test_a_misspelt_column_is_an_error_with_the_right_name(table: Table) -> None:
    for ask in (
        lambda: table.read(columns=["wrod"]),
        lambda: table.read(where=col("wrod") == "w1"),
        lambda: table.read(sort=["wrod"]),
        lambda: table.count(col("wrod") == "w1"),
        lambda: table.columns.drop("wrod"),
    ):
        with pytest.raises(UnknownColumn, match="Did you mean 'word'"):
            ask()


def test_no_ids_are_no_rows(table: Table) -> None:
    assert table.read(ids=[]).num_rows == 0
    assert table.delete(ids=[]).deleted == 0 and table.update_where([], {"$set": {"n": 0}}).updated == 0
    assert table.num_rows == ROWS


def test_a_column_can_be_set_to_null(table: Table) -> None:
    table.update_where(None, {"$set": {"word": None}})
    assert column(table, "word") == [None] * ROWS


def test_an_integer_column_takes_floats_where_all_stay_exact(table: Table) -> None:
    table.insert([{"n": 1.5}])
    assert column(table, "n") == [*map(float, range(ROWS)), 1.5]
    table.history.undo()
    table.insert([{"n": 2**53 + 1}])
    before = table.read()
    with pytest.raises(BadData, match=r"'n'.*decimal"):
        table.insert([{"n": 1.5}])
    assert table.read().equals(before)


def test_ragged_lists_with_a_lucky_total_length_stay_ragged(store: Store) -> None:
    ragged = [[1, 2, 3], [4], [5, 6]]
    for data in ([{"v": v} for v in ragged], {"v": ragged}, [{"v": np.array(v)} for v in ragged]):
        assert column(store.create_table("ragged", data), "v") == ragged
        store.drop_table("ragged")


def test_renaming_a_column_leaves_no_old_one(table: Table) -> None:
    table.columns.rename("word", "text")
    assert table.schema.names == ["_id", "n", "text"] and column(table, "text")[7] == "w7"


def test_a_copy_opens(store: Store, table: Table) -> None:
    store.copy_table("t", "copy")
    table.delete(where=col("n") > 3)
    store.close()
    with Store.open(store.path) as again:
        assert column(again["copy"], "n") == list(range(ROWS))


def test_what_was_exported_can_be_imported(store: Store, table: Table, tmp_path: Path) -> None:
    from lamella import open_dataset

    table.export(tmp_path / "out.parquet")
    back = open_dataset(tmp_path / "out.parquet").read()
    assert store.create_table("again", back).read().equals(table.read())


def test_a_nested_value_is_read_as_it_is_now(store: Store) -> None:
    people = store.create_table("people", [{"at": {"city": "Oslo", "zip": i}} for i in range(1_500)])
    assert people.read(columns=["at.city"]).column(0)[3].as_py() == "Oslo"
    people.update_where([3], {"$set": {"at.city": "Rome"}})
    assert people.read(columns=["at.city"]).column(0)[3].as_py() == "Rome"
    people.maintenance.flush()
    assert people.get(3) == {"_id": 3, "at": {"city": "Rome", "zip": 3}}


def test_one_changed_cell_writes_neither_a_file_nor_a_row(table: Table) -> None:
    def on_disk() -> dict[Path, int]:
        return {p: p.stat().st_mtime_ns for p in (table.store.path / "data").rglob("*") if p.is_file()}

    before = on_disk()
    table.update([{"_id": 5, "word": "five"}])
    assert on_disk() == before


def test_what_the_caller_gave_is_left_alone(store: Store) -> None:
    rows = [{"n": 1, "tags": [{"deep": [1]}]}, {"n": 2.5}]
    columns = {"n": [1, None], "tags": [["a"], []], "v": np.arange(2)}
    for data in (rows, columns):
        copy_of_data = copy.deepcopy(data)
        store.create_table("given", data)
        store["given"].insert(data)
        assert str(data) == str(copy_of_data)
        store.drop_table("given")
