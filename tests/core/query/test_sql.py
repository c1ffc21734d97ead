"""SQL over the tables of a store: it only reads, and says what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from core import Store
from core.errors import UnknownTable
from core.query.sql import BadSql


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
