"""A saved query that was changed by hand, or by somebody else, is read as data: never as SQL."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lamella import Store, agg, col
from lamella.core.errors import LamellaError
from lamella.core.query.builder import Query

Json = dict[str, Any]
ODD = (
    None, True, -3, 5, -0.9, float("nan"), 10**30, "zz", "half a character \ud800", "0.5) + (select 1",
    [], [1], ["\ud800"], {}, {"a": 1}, {"value": "\ud800"}, {"decimal": "x"},
)  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "s") as opened:
        opened.create_table("t", {"i": [1, 2, 3], "k": ["a", "b", "c"]})
        yield opened


def quantile(parameter: Any, function: str = "quantile") -> Json:
    aggregate = {"name": "x", "aggregate": function, "of": {"column": "i"}, "parameter": parameter}
    return {"source": "t", "steps": [{"group": {"keys": [], "aggregates": [aggregate]}}]}


def test_a_quantile_takes_a_number_and_nothing_that_is_pasted_into_sql(store: Store, tmp_path: Path) -> None:
    assert Query.of(quantile(0.5), store.__getitem__).read()["x"].to_pylist() == [2.0]
    out = tmp_path / "out.csv"
    for parameter in (f"0.5) as x; copy (select 1) to '{out}'; select 1 --", float("nan"), True, 1.5, [0.5]):
        with pytest.raises(LamellaError, match="0 to 1"):
            Query.of(quantile(parameter), store.__getitem__)
    assert not out.exists()
    with pytest.raises(LamellaError, match="'sum' takes no parameter"):
        Query.of(quantile(0.5, "sum"), store.__getitem__)


@pytest.mark.parametrize(
    "step",
    [
        {"limit": {"count": -5, "offset": 0}},
        {"limit": {"count": 5, "offset": -1}},
        {"sample": {"count": -1, "seed": 0}},
        {"group": {"keys": "k", "aggregates": []}},
        {"select": {"columns": "k"}},
    ],
)
def test_numbers_of_rows_and_lists_of_names_are_what_they_have_to_be(store: Store, step: Json) -> None:
    with pytest.raises(LamellaError, match="the saved query cannot be read"):
        Query.of({"source": "t", "steps": [step]}, store.__getitem__)


@pytest.mark.slow
def test_whatever_stands_in_its_place_a_query_is_answered_or_refused(store: Store) -> None:
    t, grouped = store["t"], [agg.quantile("i", 0.5), agg.first("k", where="i > 1")]
    for query in (
        t.group_by("k").agg(q=grouped[0], f=grouped[1]).having("q > 0").sort("-k").limit(2),
        t.group_by("k", "i").agg(q=grouped[0]).with_totals(subtotals=True).limit(3),
        t.where("i > 1").compute(z=col("i") * 2).select("z").sample(2),
        t.query().pivot("k", "i", values=[1, 2], n=agg.count()),
    ):
        for changed in variants(query.to_json()):
            try:
                assert Query.of(changed, store.__getitem__).read().num_rows <= 3
            except LamellaError as error:
                assert str(error)


def variants(document: Json) -> Iterator[Json]:
    """The document with each part replaced by each value that does not belong there."""
    for path in paths(document):
        for odd in ODD:
            changed = inside = copy.deepcopy(document)
            for name in path[:-1]:
                inside = inside[name]
            inside[path[-1]] = odd
            yield changed


def paths(part: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    inside = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    for name, value in inside:
        yield from paths(value, (*path, name))
