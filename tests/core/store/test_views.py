"""Views: queries saved under names, in a store's catalog and for files."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from lamella import Store, agg, open_dataset
from lamella.core.errors import (
    BadData,
    DamagedStore,
    FileProblem,
    ReadOnlyStore,
    StoreProblem,
    UnknownColumn,
    UnknownView,
)
from lamella.core.store.views import FileViews


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with Store.open(tmp_path / "air") as store:
        store.create_table("flights", [{"carrier": "UA", "delay": 12.0}, {"carrier": "AA", "delay": 65.5}])
        store.create_table("airlines", [{"carrier": "AA", "name": "American"}])
    return tmp_path / "air"


@pytest.fixture
def store(folder: Path) -> Iterator[Store]:
    with Store.open(folder) as opened:
        yield opened


def test_a_view_is_saved_read_renamed_and_deleted(store: Store, folder: Path) -> None:
    assert dict(store.views) == {}
    late = store["flights"].where("delay > 60").select("carrier")
    store.views.save("late", late)
    assert store.views["late"] == store.views.get("late") == late
    assert "late" in store.views and "lat" not in store.views and store.views.get("lat") is None
    store.views.save("by carrier", store["flights"].group_by("carrier").agg(n=agg.count()))
    with Store.open(folder, read_only=True) as elsewhere:
        assert list(elsewhere.views) == ["by carrier", "late"]
        assert elsewhere.views["late"].read().to_pylist() == [{"carrier": "AA"}]
        with pytest.raises(ReadOnlyStore):
            elsewhere.views.delete("late")
    store.views.rename("late", "very late")
    store.views.delete("by carrier")
    assert list(store.views) == ["very late"]
    assert store.views.of("flights") == ["very late"]
    assert store.views.of("airlines") == []
    assert store.maintenance.verify().problems == ()


def test_a_view_reads_what_is_there_now(store: Store) -> None:
    store.views.save("late", store["flights"].where("delay > 60"))
    store["flights"].insert([{"carrier": "B6", "delay": 90.0}])
    assert store.views["late"].count() == 2
    store.views.save("then", store["flights"].as_of(1).agg(n=agg.count()))
    assert store.views["then"].read()["n"].to_pylist() == [2]


def test_a_name_is_taken_once_and_must_be_one(store: Store) -> None:
    flights = store["flights"].query()
    store.views.save("late", flights)
    with pytest.raises(BadData, match="already has a view 'late'"):
        store.views.save("late", flights)
    store.views.save("late", flights.limit(1), replace=True)
    assert store.views["late"].count() == 1
    store.views.save("other", flights)
    with pytest.raises(BadData, match="already has a view 'other'"):
        store.views.rename("late", "other")
    for odd in ("", "  ", "a\nb", "x" * 201):
        with pytest.raises(BadData):
            store.views.save(odd, flights)
    for act in (store.views.__getitem__, store.views.delete, lambda name: store.views.rename(name, "x")):
        with pytest.raises(UnknownView, match="Did you mean 'late'"):
            act("lat")


def test_a_view_of_a_table_or_column_that_is_gone_says_so(store: Store) -> None:
    store.views.save("late", store["flights"].where("delay > 60"))
    store.views.save("named", store["flights"].join("airlines", on="carrier"))
    store["flights"].columns.drop("delay")
    with pytest.raises(UnknownColumn, match="flights has no column 'delay'"):
        store.views["late"].read()
    store.drop_table("airlines")
    with pytest.raises(StoreProblem, match=r"view 'named' cannot be run.*no table 'airlines'"):
        store.views["named"]
    assert store.views.of("flights") == ["late", "named"]


def test_a_view_follows_the_names_of_tables(store: Store) -> None:
    store.views.save("named", store["flights"].join("airlines", on="carrier"))
    store.views.save("then", store["flights"].as_of(1).limit(1))
    before = store.views["named"].read().num_rows
    store.rename_table("flights", "trips")
    store.rename_table("airlines", "lines")
    assert store.views.of("trips") == ["named", "then"]
    assert store.views["named"].read().num_rows == before
    assert store.views["then"].read().num_rows == 1


def test_a_view_is_of_the_stores_own_tables(store: Store, tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_text("a\n1\n")
    with pytest.raises(BadData, match="not one of its tables"):
        store.views.save("odd", open_dataset(tmp_path / "n.csv").query())
    with Store.open(tmp_path / "other") as second_store:
        table = second_store.create_table("flights", [{"carrier": "X"}])
        with pytest.raises(BadData, match="not one of its tables"):
            store.views.save("odd", table.query())


def test_views_come_with_a_backup_and_go_with_a_transaction(store: Store, tmp_path: Path) -> None:
    store.views.save("late", store["flights"].where("delay > 60"))
    store.backup(tmp_path / "copy")
    with Store.open(tmp_path / "copy") as copy:
        assert copy.views["late"].count() == 1
    with pytest.raises(ZeroDivisionError), store.transaction():
        store.views.delete("late")
        raise ZeroDivisionError
    assert list(store.views) == ["late"]


def test_a_catalog_without_views_is_as_it_was(folder: Path, store: Store) -> None:
    catalog = sqlite3.connect(folder / "catalog.sqlite")
    tables = "SELECT name FROM sqlite_master WHERE name = 'saved_views'"
    assert catalog.execute(tables).fetchall() == []
    store.views.save("late", store["flights"].where("delay > 60"))
    assert catalog.execute(tables).fetchall() == [("saved_views",)]
    catalog.close()


@pytest.mark.parametrize("damage", ["x", "[]", '{"source": 1}', b"\x00"])
def test_damaged_views_are_refused(folder: Path, store: Store, damage: object) -> None:
    store.views.save("late", store["flights"].where("delay > 60"))
    catalog = sqlite3.connect(folder / "catalog.sqlite")
    catalog.execute("UPDATE saved_views SET query = ?", (damage,))
    catalog.commit()
    catalog.close()
    with pytest.raises(DamagedStore):
        store.views["late"]
    assert store["flights"].count() == 2


def test_a_view_of_sqlite_in_the_place_of_ours_is_refused(folder: Path) -> None:
    catalog = sqlite3.connect(folder / "catalog.sqlite")
    catalog.execute("CREATE VIEW saved_views AS SELECT 'a' AS name, 'b' AS query")
    catalog.close()
    with pytest.raises(DamagedStore, match="has a view 'saved_views'"):
        Store.open(folder, read_only=True)


def test_views_of_files_are_in_a_file_of_the_users(tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_text("a\n1\n2\n")
    data, views = open_dataset(tmp_path / "n.csv"), FileViews(tmp_path / "views.json")
    assert views.names(data.paths) == []
    views.save("big", data.where("a > 1"), data.paths)
    with pytest.raises(BadData, match="already has a view 'big'"):
        views.save("big", data.query(), data.paths)
    views.rename("big", "large", data.paths)
    again = FileViews(tmp_path / "views.json")
    assert again.names(data.paths) == ["large"]
    assert again.names([tmp_path / "m.csv"]) == []
    assert again.query("large", data.paths, lambda _name: data).read()["a"].to_pylist() == [2]
    with pytest.raises(UnknownView, match="Did you mean 'large'"):
        again.query("larg", data.paths, lambda _name: data)
    again.delete("large", data.paths)
    assert json.loads((tmp_path / "views.json").read_text()) == {}
    (tmp_path / "views.json").write_text("nothing")
    with pytest.raises(FileProblem, match="cannot be read"):
        views.names(data.paths)


LAYOUT = {"pinned": ["carrier"], "formats": {"delay": {"kind": "number", "digits": 1}}}


def test_a_view_keeps_how_its_columns_are_shown(store: Store, folder: Path) -> None:
    query = store["flights"].where("delay > 60")
    store.views.save("late", query, layout=LAYOUT)
    store.views.save("plain", query)
    store.rename_table("flights", "trips")
    with Store.open(folder) as again:
        assert again.views.layout("late") == LAYOUT and again.views.layout("plain") == {}
        assert again.views["late"].count() == 1
        with pytest.raises(UnknownView):
            again.views.layout("gone")


def test_a_view_of_a_file_keeps_how_its_columns_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "trips.csv"
    path.write_text("carrier,delay\nUA,12\nAA,65\n")
    views, rows = FileViews(tmp_path / "views.json"), open_dataset(path)
    views.save("late", rows.where("delay > 60"), [path], layout=LAYOUT)
    views.rename("late", "later", [path])
    assert views.layout("later", [path]) == LAYOUT
    assert views.query("later", [path], lambda _: rows).count() == 1
    with pytest.raises(UnknownView):
        views.layout("late", [path])
