"""The names in the SQL console: what is open, how it is told apart and listed, and what is not read."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella.core.store.store import Store
from lamella.ui.window.file_watch import file_key
from tests.ui.window.console_acts import message, rows


@pytest.mark.slow
def test_what_is_not_open_is_not_read(run, tmp_path):
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n")
    console = run(f"select * from read_csv('{secret}')")
    assert "may not read that file" in message(console) and not console.results.pages
    assert "may not be read" in message(run(f"select * from '{secret}'"))
    assert "is not supported in SQL here" in message(run("copy flights to 'x.csv'"))


def chinook(folder: Path) -> Path:
    path = folder / "music.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("create table Album(AlbumId integer primary key, Title text)")
        connection.execute("create table Track(TrackId integer primary key, Name text, AlbumId integer)")
        connection.execute("insert into Album values (1, 'Blue')")
        connection.executemany("insert into Track values (?, ?, 1)", [(1, "a"), (2, "b"), (3, "c")])
    connection.close()
    return path


def open_tables(window, settled, path: Path, *tables: str) -> None:
    for table in tables:
        window.library.open_key(file_key(path, table))
        settled()


def test_the_tables_of_a_file_are_told_apart(window, run, settled, tmp_path):
    open_tables(window, settled, chinook(tmp_path), "Album", "Track")
    window.consoles.open()
    fresh = window.consoles.current
    assert fresh.text.startswith("select *\nfrom Track\n")  # the tab that was in front
    fresh.run()
    window.tabs.show_tab(window.consoles.consoles[0])
    joined = "select count(*) as n from Album join music.track using (AlbumId)"
    assert rows(run(joined)) == [{"n": 3}]
    assert rows(run('select count(*) as n from "music.sqlite · Album"')) == [{"n": 1}]


def test_files_of_one_name_are_told_apart(window, run, settled, tmp_path):
    for folder, value in (("old", 1), ("new", 2)):
        (tmp_path / folder).mkdir()
        pq.write_table(pa.table({"n": [value]}), tmp_path / folder / "flights.parquet")
        window.open_paths([tmp_path / folder / "flights.parquet"])
        settled()
    window.consoles.open()
    assert window.consoles.current.text.startswith("select *\nfrom flights_parquet_2\n")
    window.tabs.show_tab(window.consoles.consoles[0])
    assert rows(run("select n from flights_parquet")) == [{"n": 1}]
    assert rows(run("select n from flights_parquet_2")) == [{"n": 2}]
    assert rows(run("select count(*) as n from flights")) == [{"n": 1000}]  # the table of the store


def test_files_whose_tabs_were_not_looked_at_yet_are_read(qtbot, window, run, settled, tmp_path):
    open_tables(window, settled, chinook(tmp_path), "Track")
    tab = window.tabs.dataset_tab
    item = window.workspace.item_of(tab)
    window.tabs.close_at(window.tabs.tabs.indexOf(tab))
    pending = window.workspace.add_pending(item)
    assert pending is not None and not window.tabs.dataset_tabs
    window.tabs.show_tab(window.consoles.consoles[0])
    assert "Track" in window.consoles.current.names.names().tables
    assert "Track" not in window.consoles.current.names.at_hand()  # it is not opened ahead
    assert rows(run("select count(*) as n from Track")) == [{"n": 3}]
    assert not pending.is_opening


@pytest.mark.slow
def test_files_are_named_by_their_titles_and_other_stores_by_prefix(qtbot, window, run, settled, tmp_path):
    path = tmp_path / "trips 2024.parquet"
    pq.write_table(pa.table({"fare": [1.5, 2.5]}), path)
    console = window.consoles.current
    window.open_paths([path])
    settled()
    window.tabs.show_tab(console)
    both = 'select (select sum(fare) from trips_2024) + (select count(*) from "trips 2024.parquet") as x'
    assert rows(run(both)) == [{"x": 6.0}]
    assert rows(run('select count(*) as n from "My tables".flights')) == [{"n": 1000}]


def test_what_is_open_is_listed_once_under_names_without_a_store(qtbot, window, run, settled, tmp_path):
    pq.write_table(pa.table({"n": [1]}), tmp_path / "my trips.parquet")
    console = window.consoles.current
    with Store.open(tmp_path / "other") as other:
        other.create_table("trips", [{"n": 1}])
        window.library.add_store(other)
        window.open_paths([tmp_path / "my trips.parquet"])
        settled()
        window.tabs.show_tab(console)
        names = [row["name"] for row in rows(run("show tables"))]
        assert names == ["flights", "my_trips", "other.trips"]
        for name in names:
            described = {row["column_name"] for row in rows(run(f"show columns from {name}"))}
            assert described & {"n", "carrier"}, name
        schemas = rows(run("select table_schema, name from information_schema.tables order by name"))
        assert [row["table_schema"] for row in schemas] == ["My tables", "main", "other"]
        window.library.remove_store(other)
