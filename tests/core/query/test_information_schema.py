"""SQL lists the tables and columns that a statement can name, in the words of many databases, and nothing
else."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from lamella import Store, sql
from lamella.core.errors import BadSql, FileProblem, UnknownTable
from lamella.core.query.source import SnapshotSource, Source, VersionOrTime
from lamella.core.query.sql import Sources, run_sql
from lamella.core.query.sql.changes import change_statement
from lamella.core.query.sql.information_schema import ListedTable
from lamella.core.query.sql.problems import syntax_problem
from lamella.core.scan.snapshot import snapshot_of_rows

TABLES = {
    "flights": pa.table({"delay": [5.0], "day": pa.array([0], pa.date32()), "stops": [["a"]]}),
    "it's a table": pa.table({"y": [1]}),
    "other.trips": pa.table({"x": [1]}),
}


def find(name: str, _when: VersionOrTime | None) -> Source:
    if name == "damaged":
        raise FileProblem(Path("damaged.csv"), "cannot be read")
    return SnapshotSource(snapshot_of_rows(TABLES[name], name))


LISTED = [ListedTable("flights", "sample"), ListedTable("it's a table"), ListedTable("other.trips", "other")]
SOURCES = Sources("what is open", [*TABLES, "sample.flights"], find, listing=LISTED)


def answer(text: str, sources: Sources = SOURCES) -> list[tuple[object, ...]]:
    assert change_statement(text) is None and syntax_problem(text) is None, text
    return [tuple(row.values()) for row in run_sql(text, sources).to_pylist()]


@pytest.mark.parametrize(
    "text",
    ["SHOW TABLES", "show full tables;", "pragma show_tables", ".tables", "\\dt", "-- all\nshow tables"],
)
def test_tables_are_listed_once_as_statements_name_them(text: str) -> None:
    assert answer(text) == [("flights",), ("it's a table",), ("other.trips",)]


def test_tables_of_a_store_or_with_a_pattern() -> None:
    assert answer("show tables from other") == [("other.trips",)]
    assert answer("show tables like 'F%'") == [("flights",)]


@pytest.mark.parametrize(
    "text",
    [
        "describe flights", "desc flights", "show columns from flights", "SHOW FULL COLUMNS IN flights",
        "pragma table_info(flights)", "pragma table_info('flights')", "\\d flights", ".schema flights",
    ],
)  # fmt: skip
def test_columns_of_a_table(text: str) -> None:
    expected = [("delay", "DOUBLE"), ("day", "DATE"), ("stops", "VARCHAR[]")]
    assert [row[:2] for row in answer(text)] == expected


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("describe other.trips", "x"),
        ("desc table other.trips", "x"),
        ('show columns from "it\'s a table"', "y"),
        ("pragma table_info('it''s a table')", "y"),
    ],
)
def test_columns_of_a_table_whose_name_is_no_word(text: str, column: str) -> None:
    assert [row[0] for row in answer(text)] == [column]


def test_information_schema_can_be_queried_like_tables() -> None:
    assert answer("select table_schema, table_name, name from information_schema.tables order by name") == [
        ("sample", "flights", "flights"),
        ("main", "it's a table", "it's a table"),
        ("other", "trips", "other.trips"),
    ]
    joined = """
        select t.name, count(*), max(c.data_type) from INFORMATION_SCHEMA.TABLES t
        join information_schema.columns c using (table_schema, table_name) group by 1 order by 1"""
    assert answer(joined) == [
        ("flights", 3, "VARCHAR[]"),
        ("it's a table", 1, "BIGINT"),
        ("other.trips", 1, "BIGINT"),
    ]
    assert [row[1] for row in answer("show all tables")] == [
        table.name for table in (LISTED[1], LISTED[2], LISTED[0])
    ]


def test_a_table_that_cannot_be_read_is_listed_without_columns() -> None:
    sources = Sources("what is open", ["flights", "damaged"], find)
    assert answer("show tables", sources) == [("damaged",), ("flights",)]
    assert answer("select distinct name from information_schema.columns", sources) == [("flights",)]


def test_tables_and_columns_of_a_store_are_those_of_now(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        store.create_table("t", [{"n": 1}])
        names = "select column_name from information_schema.columns where table_name = 't'"
        assert store.sql(names)["column_name"].to_pylist() == ["_id", "n"]
        store.create_table("u", [{"n": 1}])
        assert store.sql("show tables")["name"].to_pylist() == ["t", "u"]
        assert store.sql(names)["column_name"].to_pylist() == ["_id", "n"]
        columns = store.sql("describe t")["column_name"].to_pylist()
        assert (
            columns == store.sql("show columns from t", write=True)["column_name"].to_pylist() == ["_id", "n"]
        )


def test_datasets_given_to_a_statement_are_listed() -> None:
    assert sql("show tables", {"b": "b.csv", "a": "a.csv"})["name"].to_pylist() == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("show databases", "SHOW DATABASES is not supported here"),
        ("show create table flights", "cannot be read"),
        ("from (show tables)", "SHOW TABLES cannot be a part of a query"),
        ("from information_schema.views", "there is no information_schema.views here"),
        ("from pg_catalog.pg_tables", "there is no pg_catalog.pg_tables here"),
        ("from sqlite_master", "what is open has no table 'sqlite_master'"),
        ("from pragma_table_info('flights')", r"pragma_table_info\(\) is not supported here"),
        ("from information_schema.tables at (version => 1)", "information_schema.tables has no versions"),
    ],
)
def test_other_lists_are_refused_with_what_to_write(text: str, what: str) -> None:
    with pytest.raises(BadSql, match=what) as caught:
        run_sql(text, SOURCES)
    assert caught.value.fix


def test_a_name_in_quotes_is_no_list() -> None:
    with pytest.raises((BadSql, UnknownTable)):
        run_sql('from "information_schema.tables"', SOURCES)


def test_a_missing_table_has_its_place() -> None:
    text = "show columns from nope"
    with pytest.raises(UnknownTable) as caught:
        run_sql(text, SOURCES)
    assert caught.value.span is not None and text[slice(*caught.value.span)] == "nope"
