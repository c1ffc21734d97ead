"""Statements that change a table are commits like others, where they are allowed, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lamella import Store
from lamella.core.errors import (
    BadData,
    BadSql,
    LamellaError,
    ReadOnlyStore,
    StoreProblem,
    UnknownColumn,
    UnknownTable,
)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    with Store.open(tmp_path / "s") as opened:
        opened.create_table("t", [{"code": "a", "n": 1}, {"code": "b", "n": 2}, {"code": "c", "n": None}])
        opened.create_table("u", [{"code": "b", "more": 10}, {"code": "c", "more": 20}])
        yield opened


def test_go_ends_a_statement_as_a_semicolon_does(store: Store) -> None:
    assert store.sql("GO\nselect max(n) as n from t\nGO").to_pylist() == [{"n": 2}]
    store.sql("delete from t where n = 2\nGO\n", write=True)
    assert rows(store) == [("a", 1), ("c", None)]
    with pytest.raises(BadSql, match="there are 2 statements"):
        store.sql("delete from t\nGO\ndelete from u", write=True)


def rows(store: Store) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in store["t"].read(columns=["code", "n"]).to_pylist()]


CHANGES: list[tuple[str, Any, tuple[int, int, int], list[tuple[Any, ...]]]] = [
    ("insert into t values ('d', 4)", None, (1, 0, 0), [("a", 1), ("b", 2), ("c", None), ("d", 4)]),
    ("insert into T (N) values (4)", None, (1, 0, 0), [("a", 1), ("b", 2), ("c", None), (None, 4)]),
    ("insert into t by name select more as n, code from u where more > ?", [15], (1, 0, 0),
     [("a", 1), ("b", 2), ("c", None), ("c", 20)]),
    ("insert into t select code, n * 2 from t where n > 1", None, (1, 0, 0),
     [("a", 1), ("b", 2), ("c", None), ("b", 4)]),
    ("with q as (select code, more from u) insert into t select * from q where more = 10", None, (1, 0, 0),
     [("a", 1), ("b", 2), ("c", None), ("b", 10)]),
    ("update t set n = coalesce(n, 0) + 1", None, (0, 3, 0), [("a", 2), ("b", 3), ("c", 1)]),
    ("update t set n = n + $by, code = upper(code) where code = $code", {"by": 5, "code": "b"}, (0, 1, 0),
     [("a", 1), ("B", 7), ("c", None)]),
    ("update t set n = null where code in ('a', 'b')", None, (0, 2, 0),
     [("a", None), ("b", None), ("c", None)]),
    ("update t as x set n = u.more from u where u.code = x.code", None, (0, 2, 0),
     [("a", 1), ("b", 10), ("c", 20)]),
    ("update t set n = (select max(more) from u) where n is null", None, (0, 1, 0),
     [("a", 1), ("b", 2), ("c", 20)]),
    ("delete from t where n is null or code = ?", ["a"], (0, 0, 2), [("b", 2)]),
    ("delete from t using u where u.code = t.code", None, (0, 0, 2), [("a", 1)]),
    ("delete from t", None, (0, 0, 3), []),
]  # fmt: skip


@pytest.mark.slow(after=2)
@pytest.mark.parametrize(("text", "parameters", "counts", "left"), CHANGES)
def test_a_change_is_a_commit(store: Store, text: str, parameters: Any, counts: Any, left: Any) -> None:
    before = rows(store)
    (commit,) = store.sql(text, parameters, write=True).to_pylist()
    assert (commit["inserted"], commit["updated"], commit["deleted"]) == counts
    assert rows(store) == left
    assert (commit["table"], commit["version"]) == ("t", store["t"].version)
    assert store["t"].history.commits()[-1].message == text
    store["t"].history.undo()
    assert rows(store) == before


def test_types_of_columns_stay_as_they_are(store: Store) -> None:
    schema = store["t"].schema
    store.sql("insert into t select null, 7::tinyint", write=True)
    store.sql("update t set n = n * 2, code = null where n = 7", write=True)
    assert store["t"].schema == schema


def test_a_table_is_made_of_a_question(store: Store) -> None:
    text = "create table sums as select code, sum(n) total from t where n > 0 group by code order by code"
    (commit,) = store.sql(text, write=True).to_pylist()
    assert (commit["table"], commit["inserted"]) == ("sums", 2)
    assert store["sums"].read(columns=["code", "total"]).to_pylist() == [
        {"code": "a", "total": 1}, {"code": "b", "total": 2}
    ]  # fmt: skip


def test_a_question_may_be_asked_where_changes_are_allowed(store: Store) -> None:
    assert store.sql("select count(*) c from t at (version => 1)", write=True).to_pylist() == [{"c": 3}]


REFUSED: list[tuple[str, type[LamellaError], str]] = [
    ("update t set n = u.more from u", BadSql, "row 0 would be set more than once"),
    ("update t set m = 1", UnknownColumn, "no column 'm'"),
    ("update t set _id = 1", BadSql, "_id cannot be set"),
    ("update t set n = 1, N = 2", BadSql, "named twice"),
    ("update s.t set n = 1", BadSql, "Choose s as the store, and write t"),
    ("update t set n = 1 returning n", BadSql, "RETURNING"),
    ("update t set n = nn + 1", BadSql, "nn"),
    ("update tt set n = 1", UnknownTable, "Did you mean 't'"),
    ("insert into t select * from t", BadSql, r"3 values were given for 2 columns.*EXCLUDE \(_id\)"),
    ("insert into t (code, n, x) values (1, 2, 3)", UnknownColumn, "no column 'x'"),
    ("insert into t values ('a', 1) on conflict do nothing", BadSql, "upsert"),
    ("insert or replace into t values ('a', 1)", BadSql, "upsert"),
    ("insert into t values ('a', 'many')", LamellaError, "column 'n'"),
    ("create table t as select 1 as x", StoreProblem, "t"),
    ("create or replace table t as select 1 as x", BadSql, "drop_table"),
    ("create table x (a int)", BadSql, "create_table|column names"),
    ("create view v as select 1", BadSql, "CREATE"),
    ("drop table t", BadSql, "DROP is not supported in SQL here"),
    ("alter table t add column x int", BadSql, "ALTER"),
    ("truncate t", BadSql, "TRUNCATE"),
    ("merge into t using u on (t.code = u.code) when matched then delete", BadSql, "MERGE"),
    ("copy t to 'out.csv'", BadSql, "COPY"),
    ("attach 'x.db'", BadSql, "ATTACH"),
    ("insert into t values ('d', 4); delete from t", BadSql, "2 statements"),
    ("insert into t select * from read_csv('x.csv')", BadSql, "may not read"),
    ("update t set n = ", BadSql, "cannot be read"),
    ("delete from t order by n limit 1", BadSql, "DELETE with ORDER"),
    ("update t set n = 0 order by n limit 1", BadSql, "UPDATE with ORDER"),
    ("update t set n = 0 limit 1", BadSql, "LIMIT 1"),
    ("delete from t tablesample 1 rows", BadSql, "DELETE with SAMPLE"),
    ("delete from t at (version => 1)", BadSql, "DELETE with WHEN"),
    ("delete from t, u", BadSql, "DELETE with JOINS"),
    ("delete x from t as x", BadSql, "DELETE with TABLES"),
    ("update t as x(a, b, c) set n = 0 where a = 1", BadSql, "columns"),
    ("insert overwrite t select code, n from t", BadSql, "INSERT with OVERWRITE"),
    ("insert into t replace where n = 1 select code, n from t", BadSql, "INSERT with WHERE"),
    ("create temp table made as select 1 as a", BadSql, "with TEMP or other properties"),
    ("copy (pivot t on n) to 'x.csv'", BadSql, "COPY"),
    ("-- nothing else", BadSql, "no statements"),
]


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize(("text", "error", "reason"), REFUSED)
def test_what_is_refused_changes_nothing(
    store: Store, text: str, error: type[LamellaError], reason: str
) -> None:
    versions, before = {name: store[name].version for name in store.tables}, rows(store)
    with pytest.raises(error, match=reason):
        store.sql(text, write=True)
    assert {name: store[name].version for name in store.tables} == versions
    assert rows(store) == before


def test_nothing_is_written_without_leave(store: Store) -> None:
    with pytest.raises(BadSql, match="write=True"):
        store.sql("delete from t")
    with pytest.raises(BadData, match="as_of"):
        store.sql("delete from t", write=True, as_of=1)
    store.close()
    with Store.open(store.path, read_only=True) as opened, pytest.raises(ReadOnlyStore):
        opened.sql("delete from t", write=True)
