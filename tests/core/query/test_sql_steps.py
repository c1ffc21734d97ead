"""A SELECT as a step: what it reads, what becomes of it, and what it may not do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from lamella import Store, agg, open_dataset
from lamella.core.errors import BadQuery, BadSql, LamellaError, UnknownTable
from lamella.core.jobs import Job
from lamella.core.query.builder import Query
from lamella.core.query.sql_reader import from_sql
from lamella.core.query.steps import Sql
from lamella.core.store.table import Table


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "air") as opened:
        opened.create_table(
            "flights",
            [
                {"carrier": "UA", "delay": 12.0, "tags": ["a", "b"]},
                {"carrier": "AA", "delay": 65.5, "tags": []},
                {"carrier": "UA", "delay": None, "tags": None},
            ],
        )
        opened.create_table("airlines", [{"carrier": "AA", "name": "American"}])
        yield opened


@pytest.fixture
def flights(store: Store) -> Table:
    return store["flights"]


def test_a_statement_reads_the_rows_before_it(flights: Table) -> None:
    rows = flights.where("delay is not null").sql(
        "SELECT carrier AS c, delay * 2 AS twice FROM flights ORDER BY c"
    )
    assert rows.schema.names == ["c", "twice"]
    assert rows.read().to_pylist() == [{"c": "AA", "twice": 131.0}, {"c": "UA", "twice": 24.0}]
    assert rows.where("twice > 100").select("c").read().to_pylist() == [{"c": "AA"}]
    assert rows.count() == 2


def test_it_goes_on_in_later_steps_and_in_other_queries(flights: Table, store: Store) -> None:
    counts = flights.query().sql("SELECT carrier, count(*) AS n FROM Flights GROUP BY ALL ORDER BY n DESC")
    assert counts.group_by("n").agg(c=agg.count()).read().to_pydict() == {"n": [1, 2], "c": [1, 1]}
    joined = store["airlines"].join(counts, on="carrier", how="left")
    assert joined.read().to_pylist()[0]["n"] == 1
    assert counts.page(1).rows.to_pylist() == [{"carrier": "UA", "n": 2}]
    assert counts.explain().rows == 2


def test_it_reads_other_tables_of_its_store(flights: Table, store: Store) -> None:
    query = flights.query().sql("SELECT name FROM flights JOIN airlines USING (carrier)")
    assert query.pipeline.steps == (
        Sql("SELECT name FROM flights JOIN airlines USING (carrier)", "flights", (("airlines", "airlines"),)),
    )
    assert query.read().to_pydict() == {"name": ["American"]}
    again = Query.of(json.loads(json.dumps(query.to_json())), store.__getitem__)
    assert again == query
    assert again.read().equals(query.read())


def test_columns_keep_their_types(flights: Table) -> None:
    tagged = flights.query().sql("SELECT * FROM flights WHERE delay > 20")
    assert tagged.schema.field("tags").type == flights.schema.field("tags").type


def test_a_schema_reads_no_rows(flights: Table) -> None:
    failing = flights.query().sql("SELECT CAST(carrier AS INTEGER) AS n FROM flights")
    assert failing.schema.names == ["n"]
    with pytest.raises(BadSql, match="Could not convert"):
        failing.read()


@pytest.mark.parametrize(
    "text",
    [
        "WITH RECURSIVE x AS (SELECT 1 AS a UNION ALL SELECT a FROM x) SELECT max(a) AS m FROM x, flights",
        "SELECT count(*) AS m FROM range(1000000000000), range(1000000000000), flights",
        "SELECT error('it ran') AS m FROM range(3) AS r LEFT JOIN flights ON true",
    ],
)
def test_a_statement_that_never_ends_is_a_step_at_once(flights: Table, text: str) -> None:
    """It is only parsed for its columns, and runs when somebody reads it."""
    assert flights.query().sql(text).schema.names == ["m"]
    assert from_sql(text, {"flights": flights}.__getitem__).schema.names == ["m"]


def test_its_columns_may_not_depend_on_the_rows(flights: Table) -> None:
    with pytest.raises(LamellaError):
        flights.query().sql("PIVOT flights ON carrier USING count(*)")
    with pytest.raises(BadQuery, match="two columns would be called 'a'"):
        assert flights.query().sql("SELECT 1 AS a, 2 AS a").schema


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO flights VALUES (1)",
        "DELETE FROM flights",
        "DROP TABLE flights",
        "PRAGMA database_list",
        "ATTACH 'x.db'",
        "COPY flights TO 'x.csv'",
        "SELECT 1; SELECT 2",
        "EXPLAIN SELECT * FROM flights",
        "DESCRIBE flights",
        "SHOW TABLES",
        "SET memory_limit = '1GB'",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM glob('/*')",
        "SELECT * FROM query('SELECT 1')",
        "SELECT (SELECT content FROM read_text('/etc/passwd')) FROM flights",
        "WITH x AS (SELECT * FROM parquet_scan('x.parquet')) SELECT * FROM x",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM flights AT (VERSION => 1)",
        "__import__('os').system('touch x')",
        "import os",
        "",
        "lambda: 0",
    ],
)
def test_anything_else_is_refused_and_runs_nothing(flights: Table, text: str, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    with pytest.raises((BadSql, UnknownTable)):
        flights.query().sql(text)
    step = flights.query().then(Sql(text, "flights"))
    with pytest.raises((BadSql, UnknownTable)):
        step.read(Job())
    assert sorted(tmp_path.iterdir()) == before
    assert flights.count() == 3


def test_a_file_is_known_by_its_name_alone(tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_text("a\n1\n2\n")
    rows = open_dataset(tmp_path / "n.csv").query().sql("SELECT a + 1 AS b FROM n")
    assert rows.read().to_pydict() == {"b": [2, 3]}
    with pytest.raises(UnknownTable):
        open_dataset(tmp_path / "n.csv").query().sql("SELECT * FROM m")
