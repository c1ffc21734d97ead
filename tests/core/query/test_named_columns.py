"""Statements bind the columns they name, and answer as if they bound all."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lamella import Store
from lamella.core.errors import BadSql
from lamella.core.query.engine import cursor
from lamella.core.query.sql.statement import parse_statement

X = [{"b": "x", "t": 20}]
WIDE = {"a": [3, 1, 2], "b": ["x", "y", "x"], "t": [7, 8, 9], "s": [{"f": 1}, {"f": 2}, None], "Ö": [1, 2, 3]}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with Store.open(tmp_path_factory.mktemp("named") / "s") as opened:
        opened.create_table("t", pa.table(WIDE))
        opened.create_table("u", pa.table({"b": ["x", "y"], "k": [10, 20]}))
        yield opened


def named(text: str) -> set[str] | None:
    with cursor() as own:
        names = parse_statement(text, ["t", "u"], own).columns
    return None if names is None else set(names)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("SELECT count(*) FROM t", set()),
        ("SELECT A FROM t WHERE b = 'x' ORDER BY a LIMIT 1", {"a", "b"}),
        ("SELECT b, count(*) AS t FROM t GROUP BY b ORDER BY t DESC", {"b"}),
        ("SELECT t.a FROM t JOIN u USING (b)", {"a", "b", "t"}),
        ("SELECT s.f FROM t", {"s", "f"}),
        ("SELECT b, list(a ORDER BY a) FROM t GROUP BY ALL", {"a", "b"}),
        ("EXPLAIN SELECT a FROM t", {"a"}),
    ],
)
def test_what_is_named_is_known(text: str, columns: set[str]) -> None:
    assert named(text) == columns


@pytest.mark.parametrize(
    "text",
    [
        "FROM t",
        "SELECT * EXCLUDE (a) FROM t",
        "SELECT t FROM t",
        "SELECT x FROM t AS x",
        "SELECT a FROM t NATURAL JOIN u",
        "SELECT p FROM t AS r(p)",
        "SELECT #1 FROM t",
        "SELECT COLUMNS('a|b') FROM t",
        "SUMMARIZE t",
        "DESCRIBE t",
        "SELECT count(*) AS t, t FROM t",
        "SELECT 1 AS t FROM t ORDER BY t + 1",
        "PIVOT t ON b IN ('x', 'y') USING sum(a)",
        "SELECT a FROM t WHERE EXISTS (SELECT * FROM u WHERE u.b = t.b)",
    ],
)
def test_where_any_column_may_be_meant_all_are_bound(text: str) -> None:
    assert named(text) is None


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("SELECT count(*) AS n FROM t", [{"n": 3}]),
        ("SELECT 1 AS one FROM t LIMIT 1", [{"one": 1}]),
        ('SELECT sum("ö") AS n FROM t', None),
        ('SELECT sum("Ö") AS n FROM t', [{"n": 6}]),
        ("SELECT b, sum(k) AS t FROM t JOIN u USING (b) GROUP BY b ORDER BY t, b LIMIT 1", X),
        ("SELECT s.f FROM t WHERE t.t = 8", [{"f": 2}]),
        ("SELECT t FROM (SELECT a AS t FROM t) ORDER BY 1 LIMIT 1", [{"t": 1}]),
        ("WITH t AS (SELECT k FROM u) SELECT max(k) AS k FROM t", [{"k": 20}]),
        ("SELECT max(t) AS t FROM t", [{"t": 9}]),
    ],
)
def test_answers_are_those_of_the_whole_table(store: Store, text: str, rows: list[dict] | None) -> None:
    if rows is None:
        with pytest.raises(BadSql, match="Ö"):
            store.sql(text)
    else:
        assert store.sql(text).to_pylist() == rows


def test_a_misspelt_column_is_told_with_the_columns_there_are(store: Store) -> None:
    with pytest.raises(BadSql, match=r"Candidate bindings: .*b"):
        store.sql("SELECT bb FROM t")
