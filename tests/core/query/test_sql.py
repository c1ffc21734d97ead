"""SQL over the tables of a store: it only reads, and says what is wrong."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import Store, open_dataset, sql
from lamella.core.datasets.base import Dataset
from lamella.core.errors import BadSql, UnknownTable
from lamella.core.query import duckdb_source as source
from lamella.core.store import evolution


@pytest.fixture
def store(tmp_path: Path) -> Store:
    with Store.open(tmp_path / "s") as opened:
        opened.create_table("flights", [{"carrier": "AA", "delay": 5}, {"carrier": "UA", "delay": 7}])
        opened.create_table("air lines", [{"carrier": "AA", "name": "American"}])
        yield opened


def test_a_join_sees_what_is_pending(store: Store) -> None:
    store["flights"].update([{"_id": 0, "delay": 50}])
    actual = store.sql('select name, delay from flights join "air lines" using (carrier)')
    assert actual.to_pylist() == [{"name": "American", "delay": 50}]


def test_a_common_table_expression_may_hide_a_table(store: Store) -> None:
    assert store.sql("with flights as (select 1 as one) select * from flights").to_pylist() == [{"one": 1}]


@pytest.mark.parametrize(
    "text", ["drop table flights", "delete from flights", "select 1; select 2", "selec", ""]
)
def test_anything_but_one_question_is_refused(store: Store, text: str) -> None:
    with pytest.raises(BadSql):
        store.sql(text)
    assert store["flights"].num_rows == 2


def test_an_unknown_table_is_named_with_the_nearest(store: Store) -> None:
    with pytest.raises(UnknownTable, match="Did you mean 'flights'"):
        store.sql("select * from flihgts")


def test_an_unknown_column_is_told(store: Store) -> None:
    with pytest.raises(BadSql, match="dela"):
        store.sql("select dela from flights")


@pytest.mark.parametrize("name", ["rows_0", "gone_1", "rows", "base", "f"])
def test_tables_may_be_called_what_they_like(
    store: Store, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = store.create_table(name, [{"x": 7}, {"x": 8}])
    table.delete(ids=[1])
    monkeypatch.setattr(source, "_numbers", itertools.count())
    assert store.sql(f"select x from {name}").to_pylist() == [{"x": 7}]


@pytest.fixture
def lookalikes(tmp_path: Path) -> dict[str, Dataset]:
    datasets = {}
    for name in ("A", "a"):
        path = tmp_path / f"{ord(name)}.parquet"
        pq.write_table(pa.table({"x": [name]}), path)
        datasets[name] = open_dataset(path)
    return datasets


@pytest.mark.parametrize("name", ["A", "a"])
def test_a_name_in_its_own_case_goes_before_others(lookalikes: dict[str, Dataset], name: str) -> None:
    actual = sql(f'select * from "{name}"', lookalikes)
    assert actual.to_pylist() == [{"x": name}]


def test_names_that_differ_in_case_alone_are_not_mixed_up(lookalikes: dict[str, Dataset]) -> None:
    with pytest.raises(BadSql, match="'A' and 'a' cannot be read in one statement"):
        sql("select * from A, a", lookalikes)
    assert sql("select * from B", {"b": lookalikes["a"]}).num_rows == 1


@pytest.mark.parametrize(
    ("row", "named"),
    [
        ({"Name": "Ann", "name": "bob"}, "'Name' and 'name'.*Rename one of them"),
        ({"": 1, "x": 2}, "no name for its column ''.*Rename the column"),
        ({"x\0y": 1, "x": 2}, r"no name for its column 'x\\x00y'.*Rename the column"),
    ],
)
def test_columns_that_sql_would_mix_up_are_refused(
    store: Store, row: dict, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # an earlier version took null characters in names
    monkeypatch.setattr(evolution, "refuse_null_character", lambda table, column: None)
    store.create_table("odd", [row])
    with pytest.raises(BadSql, match=f"table 'odd' cannot be read in SQL.*{named}"):
        store.sql("select * from odd")
    assert store.sql("select count(*) n from flights").to_pylist() == [{"n": 2}]


def test_letters_that_sql_tells_apart_are_two_columns(store: Store) -> None:
    store.create_table("words", [{"Ä": 1, "ä": 2, "ß": 3, "ss": 4}])
    assert store.sql('select "ä", "Ä", ss, "ß" from words').to_pylist() == [{"ä": 2, "Ä": 1, "ss": 4, "ß": 3}]


ONE_AND_NULL: dict[str, tuple[pa.DataType, Any]] = {
    "text": (pa.string(), "x" * 40),
    "long text": (pa.large_string(), ""),
    "bytes": (pa.binary(), b"x"),
    "fixed bytes": (pa.binary(3), b"abc"),
}


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("kind", ONE_AND_NULL)
def test_one_value_among_nulls_is_no_null(store: Store, tmp_path: Path, kind: str, stored: bool) -> None:
    type_, value = ONE_AND_NULL[kind]
    rows = pa.table({"x": pa.array([value, None, None], type_)})
    path = tmp_path / "t.parquet"
    if stored:
        store.create_table("t", rows).maintenance.flush()
    else:
        pq.write_table(rows, path, use_dictionary=False)
    text = (
        "select count(*) filter (where x is null) a, count(x) b, "
        "(select count(*) from t where x is null) c, (select count(*) from t where x is not null) d, "
        "(select count(*) from t where x is not distinct from null) e from t"
    )
    dataset = store["t"] if stored else open_dataset(path)
    actual = sql(text, {"t": dataset})
    assert actual.to_pylist() == [{"a": 2, "b": 1, "c": 2, "d": 1, "e": 2}]


def test_a_field_of_one_text_among_nulls_is_no_null(tmp_path: Path) -> None:
    rows = pa.table({"x": pa.array([{"a": "x"}, {"a": None}, None, {"a": "x"}])})
    pq.write_table(rows, tmp_path / "t.parquet", use_dictionary=False)
    dataset = open_dataset(tmp_path / "t.parquet")
    actual = sql("select count(*) n from t where x.a is null", {"t": dataset})
    assert actual.to_pylist() == [{"n": 2}]
