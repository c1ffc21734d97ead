"""Previews of changes in SQL, and that the changes match them."""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from lamella import Store
from lamella.core.errors import BadSql, TypeConflict, UnknownColumn, VersionConflict
from lamella.core.jobs import Job
from lamella.core.query.sql.changes import change_statement
from lamella.core.store.sql_changes import change_by_sql, effect_of_sql


@pytest.fixture
def store(tmp_path: Path):
    with Store.open(tmp_path / "store") as store_:
        store_.create_table("t", {"a": [3, 1, 2, None], "b": ["x", "y", "z", "w"]})
        yield store_


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
    assert store["t"].version == version == 1  # nothing has changed yet
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
    with pytest.raises(VersionConflict, match="has changed since the preview"):
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


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize(
    ("assignment", "column", "value"),
    [
        ("f = 2.5", "f", 2.5),
        ("f = '2.5'", "f", 2.5),
        ("c = c * cast(3 as double)", "c", Decimal("2.97")),  # 2.9699999999999998
        ("i = 2.0", "i", 2),
        ("i = round(f * 3)", "i", 3),
        ("d = '2024-01-31'", "d", date(2024, 1, 31)),
        ("at = '2024-01-31 10:30'", "at", datetime(2024, 1, 31, 10, 30)),
        ("t = '10:30'", "t", time(10, 30)),
        ("l = [0.5]", "l", [0.5]),
        ("s = {'k': 0.5}", "s", {"k": 0.5}),
    ],
)
def test_an_update_takes_numbers_and_dates_as_sql_writes_them(store, assignment, column, value):
    floats, first = pa.float64(), datetime(2020, 1, 1)
    kinds = {"f": floats, "i": pa.int64(), "d": pa.date32(), "at": pa.timestamp("us"), "t": pa.time64("us")}
    kinds |= {"c": pa.decimal128(10, 2), "l": pa.list_(floats), "s": pa.struct({"k": floats})}
    row = {"f": 1.0, "i": 1, "d": first.date(), "at": first, "t": first.time(), "l": [1.0], "s": {"k": 1.0}}
    row["c"] = Decimal("0.99")
    store.create_table("typed", pa.Table.from_pylist([row], pa.schema(kinds)))
    store.sql(f"update typed set {assignment}", write=True)
    rows = store["typed"].read([column])
    assert rows.schema.field(column).type == kinds[column] and rows[column].to_pylist() == [value]


def test_a_float_whose_digits_a_column_of_decimals_cannot_hold_changes_nothing(store):
    store.create_table("prices", pa.table({"c": pa.array([Decimal("0.99")], pa.decimal128(10, 2))}))
    with pytest.raises(TypeConflict, match="cannot take double values such as"):
        store.sql("update prices set c = c / 7", write=True)
    assert store["prices"].version == 1


def test_text_that_is_no_value_of_the_column_changes_nothing(store):
    with pytest.raises(TypeConflict, match="cannot take string values such as 'x'"):
        store.sql("update t set a = b", write=True)
    assert store["t"].version == 1


def test_a_star_gives_more_values_than_columns(store):
    with pytest.raises(BadSql, match="2 values were given for 1 columns"):
        store.sql("update t set a = columns('a|b')", write=True)


@pytest.mark.parametrize("text", ["delete t where a = 1", "update", "insert into t vlaues (1)"])
def test_a_change_that_cannot_be_read_is_refused_in_the_words_of_the_engine(store, text):
    with pytest.raises(BadSql, match="syntax error at or near"):
        store.sql(text, write=True)
