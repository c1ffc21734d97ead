"""Long and deeply nested queries are answered, or refused before anything breaks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lamella import Store, col
from lamella.core.errors import BadQuery
from lamella.core.query.expressions import DEEPEST


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    with Store.open(tmp_path_factory.mktemp("deep") / "s") as store:
        yield store.create_table("t", {"a": [1, 2, 3]})


@pytest.mark.slow
def test_a_thousand_columns_are_computed_at_once(table):
    answer = table.compute(**{f"c{place}": col("a") + place for place in range(1000)}).read()
    assert answer.num_columns == 1002
    assert answer.column("c999").to_pylist() == [1000, 1001, 1002]


def test_values_of_one_compute_may_use_those_before_them(table):
    answer = table.compute(b=col("a") + 1, c=col("b") * 10, a=col("a") * 100, d=col("a") + col("c")).read()
    assert answer.to_pylist()[0] == {"_id": 0, "a": 100, "b": 2, "c": 20, "d": 120}


@pytest.mark.slow
def test_conditions_behind_each_other_are_as_many_as_anyone_asks(table):
    rows = table.compute(z=col("a"))
    for least in range(1000):
        rows = rows.where(col("z") > least - 998)
    assert rows.read().column("z").to_pylist() == [2, 3]


def test_expressions_nest_as_deep_as_promised_and_no_deeper(table):
    assert table.compute(x=summed(200)).read().column("x").to_pylist() == [201, 402, 603]
    with pytest.raises(BadQuery, match="nests calls more than 200 deep"):
        table.compute(x=summed(201)).read()


def test_steps_build_on_each_other_up_to_a_limit(table):
    assert steps(table, 99).read().column("a").to_pylist() == [100, 101, 102]
    with pytest.raises(BadQuery, match="more than 200 steps build on each other"):
        steps(table, 100).read()


def test_a_caller_deep_in_calls_is_told_so(table):
    query = steps(table, 90)
    assert calls_away(300, query.count) == 3
    with pytest.raises(BadQuery, match="deep in nested calls"):
        calls_away(700, query.count)


def test_the_limits_of_nesting_are_those_that_the_page_of_queries_tells():
    page = (Path(__file__).parents[3] / "docs" / "queries.md").read_text(encoding="utf-8")
    assert f"Calls can be nested {DEEPEST} deep, and {DEEPEST} steps can build on each other" in page


def summed(times: int) -> Any:
    total: Any = col("a")
    for _ in range(times):
        total = total + col("a")
    return total


def steps(table: Any, pairs: int) -> Any:
    rows = table.query()
    for _ in range(pairs):
        rows = rows.compute(a=col("a") + 1).where(col("a") > 0)
    return rows


def calls_away(depth: int, ask: Callable[[], Any]) -> Any:
    return ask() if depth == 0 else calls_away(depth - 1, ask)
