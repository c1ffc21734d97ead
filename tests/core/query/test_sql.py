"""SQL over the tables of a store: it only reads, and says what is wrong."""

from __future__ import annotations

import itertools
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core import Store, open_dataset
from core.dataset import Dataset
from core.errors import UnknownTable
from core.query import source
from core.query.sql import BadSql, run_sql


@pytest.fixture
def store(tmp_path: Path) -> Store:
    with Store.open(tmp_path / "s") as opened:
        opened.create_table("flights", [{"carrier": "AA", "delay": 5}, {"carrier": "UA", "delay": 7}])
        opened.create_table("air lines", [{"carrier": "AA", "name": "American"}])
        yield opened


def test_a_join_sees_what_is_pending(store: Store) -> None:
    store["flights"].update([{"_id": 0, "delay": 50}])
    found = store.sql('select name, delay from flights join "air lines" using (carrier)')
    assert found.to_pylist() == [{"name": "American", "delay": 50}]


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
    found = {}
    for name in ("A", "a"):
        path = tmp_path / f"{ord(name)}.parquet"
        pq.write_table(pa.table({"x": [name]}), path)
        found[name] = open_dataset(path)
    return found


@pytest.mark.parametrize("name", ["A", "a"])
def test_a_name_in_its_own_case_goes_before_others(lookalikes: dict[str, Dataset], name: str) -> None:
    found = run_sql(f'select * from "{name}"', "here", list(lookalikes), lookalikes.__getitem__)
    assert found.to_pylist() == [{"x": name}]


def test_names_that_differ_in_case_alone_are_not_mixed_up(lookalikes: dict[str, Dataset]) -> None:
    with pytest.raises(BadSql, match="'A' and 'a' cannot be read in one statement"):
        run_sql("select * from A, a", "here", list(lookalikes), lookalikes.__getitem__)
    assert run_sql("select * from B", "here", ["b"], lambda name: lookalikes["a"]).num_rows == 1
