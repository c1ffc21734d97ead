"""Names with control characters: new ones are refused with the reason, existing data stays readable."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import Store, col
from lamella.core.datasets.formats import open_dataset
from lamella.core.errors import BadData, StoreProblem
from lamella.core.store import evolution
from lamella.core.store.importing import import_dataset
from tests.earlier_names import name_as_earlier_versions_could

CONTROLS = {
    "\0": "a null character",
    "\n": "a line break",
    "\t": "a tab",
    "\x1b": "the control character U+001B",
    "\x7f": "the control character U+007F",
    "\x85": "the control character U+0085",
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "shop") as store:
        store.create_table("t", {"n": [1, 2], "m": [3, 4]})
        yield store


@pytest.mark.parametrize("control", CONTROLS)
def test_a_table_with_a_control_character_in_its_name_is_refused(store: Store, control: str) -> None:
    name = f"a{control}b"
    for act in (
        lambda: store.create_table(name, [{"n": 1}]),
        lambda: store.rename_table("t", name),
        lambda: store.copy_table("t", name),
    ):
        with pytest.raises(BadData, match=re.escape(f"holds {CONTROLS[control]}")):
            act()
    assert store.tables == ["t"]


@pytest.mark.parametrize("name", ["two words", "Größe", "a.b", "👩\u200d🔬", "\u202eright", "a\u00a0b"])
def test_other_names_are_taken(store: Store, name: str) -> None:
    store.rename_table("t", name)
    assert store.tables == [name]


def test_a_table_that_an_earlier_version_named_is_read_changed_and_renamed(store: Store) -> None:
    name_as_earlier_versions_could(store, "t", "a\0\nb")
    table = store["a\0\nb"]
    table.update([{"_id": 0, "n": 5}])
    assert table.read(where=col("n") == 5)["n"].to_pylist() == [5]
    assert not store.maintenance.verify().problems
    store.rename_table("a\0\nb", "b")
    assert store["b"].num_rows == 2


def test_relations_and_versions_have_names_of_one_line(store: Store) -> None:
    with pytest.raises(BadData, match=r"the relation's name .* holds a line break"):
        store.relations.declare("t.n", "t.m", name="a\nb")
    relation = store.relations.declare("t.n", "t.m")
    with pytest.raises(BadData, match=r"the relation's name .* holds a tab"):
        store.relations.rename(relation.name, "a\tb")
    with pytest.raises(BadData, match=r"the version name .* holds a null character"):
        store["t"].history.name_version("a\0b")


def test_a_column_may_have_a_line_break_but_no_null_character(store: Store) -> None:
    table = store["t"]
    for act in (
        lambda: store.create_table("u", {"a\0b": [1]}),
        lambda: table.insert([{"n": 1, "a\0b": 2}]),
        lambda: table.columns.add("a\0b", int),
        lambda: table.columns.rename("n", "a\0b"),
    ):
        with pytest.raises(BadData, match=r"the column name .* holds a null character"):
            act()
    table.columns.rename("n", "unit\nprice")
    assert list(table.columns) == ["unit\nprice", "m"] and store.tables == ["t"]


def test_a_column_that_an_earlier_version_named_is_read_changed_and_renamed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr(evolution, "refuse_null_character", lambda table, column: None)
        table = store.create_table("u", {"a\0b": [1, 2]})
    table.update([{"_id": 0, "a\0b": 5}])
    table.insert([{"a\0b": 7}])
    assert table.read(where=col("a\0b") > 2)["a\0b"].to_pylist() == [5, 7]
    table.columns.rename("a\0b", "b")
    assert table.read()["b"].to_pylist() == [5, 2, 7]


@pytest.mark.skipif(sys.platform == "win32", reason="no such names of files")
def test_an_imported_file_gets_names_without_them(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "two\nlines.parquet"
    pq.write_table(pa.table({"a\0b": [1], "ab": [2], "c\0": [3], "\0": [4], "d\ne": [5]}), path)
    dataset = open_dataset(path)
    table = import_dataset(dataset, store)
    assert table.name == "two lines"
    assert list(table.columns) == ["ab_2", "ab", "c", "column", "d\ne"]
    with pytest.raises(BadData, match="holds a line break"):
        import_dataset(dataset, store, "two\nlines")


@pytest.mark.parametrize(
    "act",
    [
        lambda store, path: Store.open(path),
        lambda store, path: (
            store.backup(path.with_name("safe")) and Store.restore_backup(path.with_name("safe"), path)
        ),
        lambda store, path: Store.move(store.path, path),
    ],
    ids=["new", "restore", "move"],
)
def test_a_new_store_has_a_name_of_one_line(
    store: Store, tmp_path: Path, act: Callable[[Store, Path], object]
) -> None:
    with pytest.raises(StoreProblem, match="the name of a store cannot contain a line break"):
        act(store, tmp_path / "two\nlines")
    assert not (tmp_path / "two\nlines").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="no such names of folders")
def test_a_store_in_a_folder_that_an_earlier_version_named_opens(tmp_path: Path) -> None:
    with Store.open(tmp_path / "plain") as store:
        store.create_table("t", [{"n": 1}])
    (tmp_path / "plain").rename(tmp_path / "two\nlines")
    with Store.open(tmp_path / "two\nlines") as store:
        assert store["t"].num_rows == 1
