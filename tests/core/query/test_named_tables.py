"""Tables in joins and facets: given by their names, and told apart where one is read twice."""

from __future__ import annotations

import pytest

from lamella import Store, agg
from lamella.core.errors import BadQuery, UnknownTable


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "s") as opened:
        opened.create_table("f", {"n": [1, 2, 2], "k": ["a", "b", "c"]})
        opened.create_table("g", {"n": [2], "w": [0.5]})
        yield opened


def test_a_table_is_joined_by_its_name(store):
    joined = store["f"].join("g", on="n").select("k", "w").read().to_pylist()
    assert joined == [{"k": "b", "w": 0.5}, {"k": "c", "w": 0.5}]


def test_what_is_no_table_is_not_joined(store):
    with pytest.raises(UnknownTable, match="gg"):
        store["f"].join("gg", on="n")
    with pytest.raises(BadQuery, match=r"f: 7 cannot be joined"):
        store["f"].join(7, on="n")


def test_a_table_that_is_read_twice_is_told_apart(store):
    table = store["f"]
    explanation = table.join(table, on="n").agg(n=agg.count()).explain()
    assert set(explanation.columns_read) == {"f.n", "f#2.n"}


def test_a_facet_of_a_column_called_as_its_count_is_refused(store):
    with pytest.raises(BadQuery, match="a facet names its count 'n'"):
        store["f"].query().facets(n="n")
