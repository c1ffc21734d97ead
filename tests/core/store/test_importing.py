"""Imports of a file's rows into a new or an existing table, and their previews."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lamella.core.datasets import open_dataset
from lamella.core.datasets.text import dataset as text_dataset
from lamella.core.datasets.text import files as text_files
from lamella.core.errors import (
    BadData,
    BrokenCheck,
    LamellaError,
    StoreProblem,
    TypeConflict,
    UnknownColumn,
)
from lamella.core.store import importing
from lamella.core.store.importing import import_dataset, import_into, plan_import
from lamella.core.store.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store") as store:
        store.create_table("stock", {"id": [1, 2, 3], "name": ["a", "b", "c"], "n": [10, 20, 30]})
        yield store


@pytest.fixture
def open_text(tmp_path: Path):
    def make(text: str, **options: Any):
        (tmp_path / "new.csv").write_text(text)
        return open_dataset(tmp_path / "new.csv", cache_dir=tmp_path / "cache", **options)

    return make


def rows(store: Store) -> list[tuple[Any, ...]]:
    names = [name for name in store["stock"].schema.names if name != "_id"]
    return [tuple(row.values()) for row in store["stock"].read(names, sort=["id"]).to_pylist()]


def test_columns_are_chosen_and_named(store: Store, open_text) -> None:
    table = import_dataset(open_text("a,b,c\n1,2,3\n"), store, "t", columns={"c": "last", "a": "first"})
    assert table.read(["first", "last"]).to_pylist() == [{"first": 1, "last": 3}]
    assert "b" not in table.schema.names
    with pytest.raises(UnknownColumn):
        import_dataset(open_text("a\n1\n"), store, "u", columns={"x": "y"})


def test_append(store: Store, open_text) -> None:
    new = open_text("id,n,colour\n4,40,red\n")
    plan = plan_import(new, store["stock"], "append")
    assert str(plan) == (
        "Adds 1 row to the existing 3. New: column colour, null in existing rows."
        " Null in new rows: column name."
    )
    assert rows(store)[-1] == (3, "c", 30)
    commit = import_into(new, store["stock"])
    assert (commit.inserted, rows(store)[-1]) == (1, (4, None, 40, "red"))


def test_replace_can_be_undone(store: Store, open_text) -> None:
    new = open_text("id,name,n\n7,z,70\n")
    assert str(plan_import(new, store["stock"], "replace")) == (
        "Deletes all 3 rows and adds 1; undo brings them back."
    )
    import_into(new, store["stock"], "replace")
    assert rows(store) == [(7, "z", 70)]
    store["stock"].history.undo()
    assert rows(store) == [(1, "a", 10), (2, "b", 20), (3, "c", 30)]


def test_upsert_by_a_key(store: Store, open_text) -> None:
    new = open_text("id,n\n2,22\n3,33\n9,99\n")
    plan = plan_import(new, store["stock"], "upsert", ["id"])
    assert (plan.num_matched, plan.new_rows, plan.twice) == (2, 1, 0)
    assert str(plan) == "Changes 2 rows and adds 1; the others stay as they are."
    commit = import_into(new, store["stock"], "upsert", ["id"])
    assert (commit.updated, commit.inserted) == (2, 1)
    assert rows(store) == [(1, "a", 10), (2, "b", 22), (3, "c", 33), (9, None, 99)]


@pytest.mark.parametrize(
    ("ids", "text", "changes", "adds"),
    [
        ([1, None, 3], "id,n\n1,5\n,6\n4,7\n", 2, 1),  # null equals null here
        ([1, 2, 3], "id,n\n2.0,5\n2.5,6\n", 1, 1),
        ([1.5, 2.0, 3.0], "id,n\n2,5\n4,6\n", 1, 1),
        ([1, 1, 2], "id,n\n1,5\n", 2, 0),
    ],
)
def test_the_plan_of_an_upsert_counts_as_the_upsert_does(
    store: Store, open_text, ids: list[Any], text: str, changes: int, adds: int
) -> None:
    table, new = store.create_table("t", {"id": ids, "n": [1, 2, 3]}), open_text(text)
    plan = plan_import(new, table, "upsert", ["id"])
    assert (plan.num_matched, plan.new_rows) == (changes, adds)
    commit = import_into(new, table, "upsert", ["id"])
    assert (commit.updated, commit.inserted) == (changes, adds)


@pytest.mark.parametrize(("mode", "key"), [("append", []), ("replace", []), ("upsert", ["plz"])])
def test_a_column_of_another_kind_is_refused_in_the_plan(
    store: Store, open_text, mode: Any, key: list[str]
) -> None:
    """Postcodes without leading zeros are numbers in this month's file."""
    table = store.create_table("shops", {"plz": ["01067"], "n": [1]})
    with pytest.raises(TypeConflict, match="Read 'PLZ' as string, or leave it out"):
        plan_import(open_text("PLZ,n\n80331,2\n"), table, mode, key, columns={"PLZ": "plz", "n": "n"})
    assert plan_import(open_text("plz,n\n80331,2\n", text_columns=["plz"]), table, mode, key).coming == 1


@pytest.mark.parametrize(
    ("text", "mode", "key", "error"),
    [
        ("id,n\n2,22\n2,33\n", "upsert", ["id"], BadData),
        ("id,n\n2,22\n", "upsert", [], BadData),
        ("id,n\n2,22\n", "upsert", ["name"], UnknownColumn),
        ("id,n\n2,22\n", "upsert", ["nowhere"], UnknownColumn),
        ("id,n\n2,22\n", "merge", [], BadData),
        ("id,n\n2,x\n", "append", [], LamellaError),
    ],
)
def test_what_cannot_be_changes_nothing(
    store: Store, open_text, text: str, mode: Any, key: list[str], error
) -> None:
    before = rows(store)
    with pytest.raises(error):
        import_into(open_text(text), store["stock"], mode, key)
    assert rows(store) == before


MODES = pytest.mark.parametrize(("mode", "key"), [("append", []), ("replace", []), ("upsert", ["id"])])


@MODES
def test_where_bad_lines_have_no_place_nothing_is_imported(
    store: Store, open_text, monkeypatch: pytest.MonkeyPatch, mode: Any, key: list[str]
) -> None:
    def fail(*_: Any) -> None:
        raise StoreProblem("the disk is full")

    monkeypatch.setattr(importing, "keep_bad_lines", fail)
    before = rows(store)
    with pytest.raises(StoreProblem, match="full"):
        import_into(open_text("id,n\n7,70\n8\n", bad_lines="set-aside"), store["stock"], mode, key)
    assert (rows(store), store["stock"].version, store.tables) == (before, 1, ["stock"])


@MODES
def test_bad_lines_of_an_import_that_fails_do_not_stay(
    store: Store, open_text, mode: Any, key: list[str]
) -> None:
    store["stock"].columns.set_checks("name", required=True)
    before, version = rows(store), store["stock"].version
    with pytest.raises(BrokenCheck):
        import_into(open_text("id,n\n7,70\n8\n", bad_lines="set-aside"), store["stock"], mode, key)
    assert (rows(store), store["stock"].version, store.tables) == (before, version, ["stock"])


@pytest.mark.slow(after=1)
@MODES
@pytest.mark.parametrize("count", [1, 30_000])
def test_an_import_is_undone_without_the_table_of_its_bad_lines(
    store: Store, open_text, mode: Any, key: list[str], count: int
) -> None:
    before = rows(store)
    lines = "".join(f"{i + 7},z,70\n" for i in range(count))
    import_into(open_text(f"id,name,n\n{lines}8\n", bad_lines="set-aside"), store["stock"], mode, key)
    assert store["stock_bad_lines"].read(["text"])["text"].to_pylist() == ["8"]
    assert store["stock"].num_rows == count + (0 if mode == "replace" else len(before))
    store.drop_table("stock_bad_lines")
    store["stock"].history.undo()
    assert rows(store) == before


@MODES
def test_no_column_becomes_the_ids_of_a_table(store: Store, open_text, mode: Any, key: list[str]) -> None:
    new = open_text("a,id\n1,2\n")
    for act in (plan_import, import_into):
        with pytest.raises(BadData, match="bring their own _id"):
            act(new, store["stock"], mode, key, columns={"a": "_id", "id": "id"})
        with pytest.raises(BadData, match="named twice"):
            act(new, store["stock"], "upsert", ["id", "id"])
    assert store["stock"].version == 1


def test_keys_that_several_new_rows_have_are_said_before(store: Store, open_text) -> None:
    plan = plan_import(open_text("id,n\n2,22\n2,33\n"), store["stock"], "upsert", ["id"])
    assert plan.twice == 1
    assert "choose another" in str(plan)


@pytest.mark.slow
@pytest.mark.parametrize("columns", [None, {"a": "_a"}])
def test_members_that_appear_late_in_a_file_are_imported(
    tmp_path: Path, store: Store, columns: dict[str, str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This is beyond the first blocks, from which the columns are inferred."""
    monkeypatch.setattr(text_dataset, "FIRST_BYTES", 64 << 10)
    monkeypatch.setattr(text_dataset, "SMALLEST_BLOCK", 128 << 10)
    monkeypatch.setattr(text_files, "BYTES_A_BLOCK", 128 << 10)
    path = tmp_path / "late.jsonl"
    lines = ['{"a": 1}'] * 60_000 + ['{"a": 2, "b": "late", "_a": 3}']
    path.write_text("\n".join(lines))
    dataset = open_dataset(path, cache_dir=tmp_path / "cache")
    assert dataset.schema.names == ["a"]
    table = import_dataset(dataset, store, columns=columns)
    last = table.read(ids=[60_000]).to_pylist()[0]
    first, third = ("_a", "_a_2") if columns else ("a", "_a")
    assert last == {"_id": 60_000, first: 2, "b": "late", third: 3}
