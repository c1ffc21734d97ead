from __future__ import annotations

import pytest

from lamella.core.scan.snapshot import SortKey
from tests.ui.grid.fake_rows import FakeRows


@pytest.fixture
def header(grid, settle):
    grid.show_rows(FakeRows(1000, columns=8))
    settle(grid)
    grid.fit_columns()
    return grid.column_header


def shown_names(header) -> list[str]:
    return [header.shown_name(column) for column in range(header.count())]


@pytest.mark.parametrize("keys", [1, 2, 3, 8])
def test_sorted_and_filtered_columns_keep_their_names(header, keys) -> None:
    header.set_sort([SortKey(f"c{column}", descending=column % 2 == 0) for column in range(keys)])
    header.set_filtered(frozenset({"c0", "c2"}))
    assert shown_names(header) == [f"c{column}" for column in range(8)]


def test_a_second_key_makes_room_for_the_rank_of_the_first(header) -> None:
    header.set_sort([SortKey("c1")])
    header.set_sort([SortKey("c1"), SortKey("c2")])
    assert shown_names(header)[1:3] == ["c1", "c2"]


def test_a_name_is_cut_where_somebody_made_the_column_narrow(header) -> None:
    header.set_sort([SortKey("c1"), SortKey("c2")])
    header.resizeSection(1, 50)
    assert header.shown_name(1) != "c1"
