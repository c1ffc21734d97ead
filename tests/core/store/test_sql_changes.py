"""What a change in SQL would do, and that it does exactly that."""

from __future__ import annotations

from pathlib import Path

import pytest

from lamella import Store
from lamella.core.errors import BadSql, UnknownColumn, VersionConflict
from lamella.core.jobs import Job
from lamella.core.query.sql.changes import change_statement
from lamella.core.store.sql_changes import change_by_sql, effect_of_sql


@pytest.fixture
def store(tmp_path: Path):
    with Store.open(tmp_path / "store") as made:
        made.create_table("t", {"a": [3, 1, 2, None], "b": ["x", "y", "z", "w"]})
        yield made


@pytest.mark.parametrize(
    ("text", "counts", "before", "after"),
    [
        ("update t set a = a * 2 where a > 1", (0, 2, 0), [{"a": 3}, {"a": 2}], [{"a": 6}, {"a": 4}]),
        ("update t set a = 3", (0, 4, 0), [{"a": 1}, {"a": 2}, {"a": None}], [{"a": 3}] * 3),
        ("delete from t where b = 'x'", (0, 0, 1), [{"a": 3, "b": "x"}], [{}]),
        ("insert into t values (9, 'q')", (1, 0, 0), [{}], [{"a": 9, "b": "q"}]),
        ("insert into T (b) select b from t where a is null", (1, 0, 0), [{}], [{"b": "w"}]),
    ],
)
def test_effect_of_sql_is_what_the_change_does(store, text, counts, before, after):
    statement = change_statement(text)
    effect, version = effect_of_sql(store, statement, store.sql, Job())
    assert (effect.inserted, effect.matching if effect.changed else 0, effect.deleted) == counts
    assert effect.preview.before.to_pylist() == before and effect.preview.after.to_pylist() == after
    assert store["t"].version == version == 1  # nothing has happened yet
    commit = change_by_sql(store, statement, store.sql, text, Job(), version)
    assert (commit.inserted, commit.updated, commit.deleted) == counts and commit.message == text
    store["t"].history.undo()
    assert store["t"].read(["a"])["a"].to_pylist() == [3, 1, 2, None]


def test_effect_of_sql_tells_types_that_widen(store):
    effect, _ = effect_of_sql(store, change_statement("update t set a = 1.5"), store.sql, Job())
    assert str(effect.types["a"][1]).startswith("decimal128")


def test_change_by_sql_refuses_a_table_that_has_moved_on(store):
    statement = change_statement("delete from t where a = 1")
    _, version = effect_of_sql(store, statement, store.sql, Job())
    store["t"].insert([{"a": 1, "b": "new"}])
    with pytest.raises(VersionConflict, match="has changed since this was counted"):
        change_by_sql(store, statement, store.sql, "delete", Job(), version)
    assert store["t"].num_rows == 5


def test_create_table_counts_its_rows(store):
    statement = change_statement("create table u as select a from t where a > 1")
    effect, version = effect_of_sql(store, statement, store.sql, Job())
    assert (effect.inserted, version) == (2, None) and "u" not in store
    assert change_by_sql(store, statement, store.sql, "make u", Job()).inserted == 2
    with pytest.raises(BadSql, match="already"):
        effect_of_sql(store, statement, store.sql, Job())


def test_effect_of_sql_refuses_unknown_columns(store):
    with pytest.raises(UnknownColumn):
        effect_of_sql(store, change_statement("update t set zz = 1"), store.sql, Job())
