"""A table can be copied and renamed, and has a summary that fits on one screen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lamella import Store
from lamella.core.errors import ReadOnlyStore, StoreProblem, UnknownTable


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with Store.open(tmp_path / "store") as opened:
        yield opened


@pytest.fixture
def table(store: Store) -> Any:
    """A table with every feature that a table can have."""
    table_ = store.create_table(
        "t", pa.table({"n": pa.array(range(30_000), pa.int32()), "word": ["w"] * 30_000})
    )
    table_.insert([{"n": -1, "word": None}])
    table_.columns.cast("n", "int64")
    table_.update([{"_id": i, "n": 2**40} for i in range(0, 30_000, 2)])
    table_.update([{"_id": 1, "word": "pending"}])
    table_.delete(ids=[2, 3])
    table_.columns.drop("word")
    table_.history.undo()
    table_.set_metadata({"source": "here"})
    table_.columns.set_metadata("n", {"unit": "km"})
    return table_


def test_a_copy_is_the_same_table_and_goes_its_own_way(store: Store, table: Any) -> None:
    rows, last = table.read(), table.history.commits()[-1].version
    copy = store.copy_table("t", "copy")
    assert store.tables == ["copy", "t"]
    assert copy.read().equals(rows)
    assert copy.schema.equals(table.schema, check_metadata=True)
    assert [c.message for c in copy.history.commits()] == ["copy of t"]
    assert copy.history.undoable() is None
    copy.update([{"_id": 1, "n": 5}])
    ids = copy.insert([{"n": 1}]) and copy.read()["_id"].to_pylist()[-1]
    assert ids > rows["_id"].to_pylist()[-1]
    assert copy.columns.add("more", int)
    assert table.read().equals(rows)
    assert table.history.commits()[-1].version == last
    for _ in range(3):
        copy.history.undo()
    assert copy.read().equals(rows)
    assert store.maintenance.verify().problems == ()


def test_a_copy_outlives_the_original_and_a_restart(store: Store, table: Any) -> None:
    rows = table.read()
    store.copy_table("t", "copy")
    store.drop_table("t")
    store.maintenance.vacuum()
    store.close()
    with Store.open(store.path) as again:
        assert again["copy"].read().equals(rows)
        again["copy"].maintenance.compact()
        again.maintenance.vacuum()
        assert again["copy"].read().equals(rows)
        assert again.maintenance.verify().problems == ()


def test_copying_refuses_names_that_are_taken_or_unknown(store: Store, table: Any) -> None:
    with pytest.raises(StoreProblem, match="already has a table 't'"):
        store.copy_table("t", "T")
    with pytest.raises(UnknownTable, match="Did you mean"):
        store.copy_table("tt", "copy")
    store.close()
    with Store.open(store.path, read_only=True) as read_only, pytest.raises(ReadOnlyStore):
        read_only.copy_table("t", "copy")


def test_a_renamed_table_is_the_same_for_whoever_has_it_open(store: Store, table: Any) -> None:
    rows = table.read()
    with Store.open(store.path) as elsewhere:
        table_elsewhere = elsewhere["t"]
        store.rename_table("t", "flights")
        assert (table.name, table_elsewhere.name, table_elsewhere.snapshot().name) == (
            "flights",
            "flights",
            "flights",
        )
        assert table_elsewhere.read().equals(rows)
        table_elsewhere.insert([{"n": 1}])
        assert elsewhere.tables == ["flights"]
    assert table.num_rows == len(rows) + 1
    assert store.sql("select count(*) n from flights").to_pylist() == [{"n": len(rows) + 1}]
    with pytest.raises(StoreProblem, match="already has a table"):
        store.create_table("Flights", [{"n": 1}])


def test_the_summary_of_a_table_fits_a_screen_and_tells_what_it_takes(store: Store, table: Any) -> None:
    text = table.maintenance.summary()
    assert text.startswith("t: 29,999 rows, 2 columns\n")
    lines = {words[0]: words for words in map(str.split, text.splitlines()) if words}
    assert lines["versions"][1:] == [
        f"{len(table.history.commits())},",
        "the",
        "newest",
        "is",
        str(table.version),
    ]
    assert lines["pending"][-3:] == ["2", "deleted", "rows"]
    assert lines["metadata"] == ["metadata", "source"]
    assert lines["n"][1] == "int64"
    assert "delta_binary_packed" in lines["n"]
    assert int(lines["n"][-1].replace(",", "")) > 0
    table.maintenance.compact()
    assert " 0 rows, 0 changed cells, 0 deleted rows" in table.maintenance.summary()
    store.create_table("wide", [{f"c{i}": i for i in range(100)}])
    assert len(store["wide"].maintenance.summary().splitlines()) < 50
    assert "… and 61 more columns" in store["wide"].maintenance.summary()
    assert "t: 29,999 rows" in store.maintenance.summary()
    assert "wide: 1 row," in store.maintenance.summary()


def test_a_summary_knows_the_parts_of_nested_columns(store: Store) -> None:
    rows = [{"a": {"b": i, "c": [str(i)]}, "a.b": 1} for i in range(1_500)]
    lines = store.create_table("nested", rows).maintenance.summary().splitlines()
    assert sum(line.strip().startswith("a ") for line in lines) == 1
    sizes = [
        int(line.split()[-1].replace(",", "")) for line in lines if line.strip().startswith(("a ", "a.b "))
    ]
    assert all(size > 0 for size in sizes)
