"""Ranges, pivots and facets: of every type, within each other, and however many there are."""

from __future__ import annotations

import pytest

from core import Store, agg


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "s") as store:
        yield store


@pytest.fixture
def flights(store):
    return store.create_table("f", {"carrier": ["A", "B", "A"], "d": [10, 20, 30], "month": [1, 2, 1]})


def test_facets_hold_whatever_is_looked_up_first(flights):
    found = flights.facets(
        ranges=lambda rows: rows.buckets("d", 2),
        across=lambda rows: rows.pivot("carrier", "month", n=agg.count()),
        within=lambda rows: rows.facets(ranges=lambda inner: inner.buckets("d", 1)),
    ).tables()
    assert found["ranges"].to_pydict() == flights.buckets("d", 2).read().to_pydict()
    assert found["across"].to_pydict() == {"carrier": ["A", "B"], "1": [2, 0], "2": [0, 1]}
    assert found["within"].to_pylist() == [{"ranges": flights.buckets("d", 1).read().to_pylist()}]


def test_facets_are_one_row_to_what_follows(flights):
    facets = flights.facets(carrier="carrier", month="month")
    assert facets.count() == 1
    assert facets.agg(n=agg.count()).read().to_pydict() == {"n": [1]}
    assert facets.select("month").unwind("month").read().num_rows == 2
