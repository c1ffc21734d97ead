"""The first rows of a sort that is asked for again and again come from an order that is kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lamella import Store, col
from lamella.core.query import find as orders
from lamella.core.store import Table

N = [5, None, 3, 9, 3, 1, 7]
DESCENDING = [9, 7, 5, 3, 3, 1, None]


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    with Store.open(tmp_path / "s") as store:
        yield store.create_table("t", {"n": N})


def _pages(table: Table) -> list[int | None]:
    pages = (table.read(["n"], sort=["-n"], limit=2, offset=first) for first in range(0, 8, 2))
    return [n for page in pages for n in page["n"].to_pylist()]


def test_each_page_is_a_part_of_the_same_order(table: Table) -> None:
    for _ in range(3):
        assert _pages(table) == DESCENDING


def test_the_order_is_kept_from_the_second_page_on(table: Table) -> None:
    key = orders.order_key(table.snapshot(), None, _keys(table))
    table.read(sort=["-n"], limit=2)
    assert orders.cached_order(key) is None
    table.read(sort=["-n"], limit=2, offset=2)
    cached = orders.cached_order(key)
    assert cached is not None and cached.tolist() == [3, 6, 0, 2, 4, 5, 1]


def test_what_was_asked_for_before_can_be_forgotten(table: Table) -> None:
    key = orders.order_key(table.snapshot(), None, _keys(table))
    assert _pages(table) == DESCENDING and orders.cached_order(key) is not None
    orders.forget()
    table.read(sort=["-n"], limit=2)
    assert orders.cached_order(key) is None


def _keys(table: Table) -> tuple[object, ...]:
    from lamella.core.query.scan_query import sort_keys

    return sort_keys(table.snapshot(), ["-n"])


def test_rows_that_change_are_in_their_new_place_at_once(table: Table) -> None:
    _pages(table)
    table.update([{"_id": table.read(["_id"])["_id"][5].as_py(), "n": 8}])
    assert _pages(table) == [9, 8, 7, 5, 3, 3, None]
    table.history.undo()
    assert _pages(table) == DESCENDING


def test_each_filter_has_an_order_of_its_own(table: Table) -> None:
    for least in (3, 5, 3, 5):
        rows = table.read(["n"], where=col("n") >= least, sort=["n"], limit=1)
        assert rows["n"].to_pylist() == [least]
