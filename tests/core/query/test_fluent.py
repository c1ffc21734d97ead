"""Steps take names of any kind and lists of columns, and refuse anything else."""

from __future__ import annotations

import pytest

from lamella import Store, agg, col
from lamella.core.errors import BadQuery


@pytest.fixture
def table(tmp_path):
    with Store.open(tmp_path / "s") as store:
        yield store.create_table("t", {"k": ["a", "b", None, "a"], "K": [1, 2, 3, 4]})


def test_columns_may_have_the_names_of_arguments(tmp_path):
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", [{"k": "a", "n": 1}, {"k": "b", "n": 6}])
        assert table.compute(self=col("n") + 1).group_by(self=col("n")).agg(column=agg.count()).count() == 2
        assert table.agg(self=agg.sum("n")).read().to_pylist() == [{"self": 7}]
        assert table.query().facets(self="k").tables()["self"]["k"].to_pylist() == ["a", "b"]
        named = table.query().buckets("n", [0, 5, 9], column=agg.sum("n"), edges=agg.count()).read()
        assert named.to_pylist() == [
            {"low": 0, "high": 5, "column": 1, "edges": 1},
            {"low": 5, "high": 9, "column": 6, "edges": 1},
        ]
        assert table.query().pivot("n", "k", values=agg.sum("n"), column=agg.count()).read().column_names == [
            "n", "a_values", "a_column", "b_values", "b_column",
        ]  # fmt: skip


def test_columns_may_be_given_as_a_list(table):
    assert table.sort(["-K"]).read().equals(table.read(sort=["-K"]))
    assert table.select(["K", "k"]).read().column_names == ["K", "k"]
    assert table.group_by(["k"]).agg(n=agg.count()).read()["k"].to_pylist() == ["a", "b", None]


def test_cells_changed_in_other_rows_of_each_column_stay_with_their_rows(table):
    table.update([{"_id": 0, "k": "c"}, {"_id": 1, "k": "d"}])
    table.update([{"_id": 1, "K": 20}, {"_id": 2, "K": 30}])
    table.delete(ids=[1])
    expected = [{"k": "a", "K": 4}, {"k": "c", "K": 1}, {"k": None, "K": 30}]
    assert table.group_by("k").agg(K=agg.max("K")).read().to_pylist() == expected
    assert table.sort("k").select("k", "K").read().to_pylist() == expected


@pytest.mark.parametrize("ask", [lambda t: t.agg(), lambda t: t.group_by().agg(), lambda t: t.select()])
def test_an_answer_without_columns_is_refused_in_words(table, ask):
    with pytest.raises(BadQuery, match=r"Give one: agg\(n=agg\.count\(\)\)|Name at least one: select\('a'\)"):
        ask(table)
