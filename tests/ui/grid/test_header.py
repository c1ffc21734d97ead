from __future__ import annotations

import pytest

from lamella.core.scan.snapshot import SortKey
from lamella.ui import theme
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


@pytest.fixture
def large_text(qapp):
    yield lambda scale: theme.current().set_text_scale(scale)
    theme.current().set_text_scale(1.0)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1.5, 2.0])
def test_names_stay_whole_when_the_text_grows(header, large_text, scale) -> None:
    header.set_sort([SortKey("c1"), SortKey("c2")])
    header.set_filtered(frozenset({"c1"}))
    before = header.sectionSize(0)
    large_text(scale)
    assert shown_names(header) == [f"c{column}" for column in range(8)]
    assert header.sectionSize(0) == pytest.approx(before * scale, abs=1)


@pytest.mark.slow
def test_widths_come_back_with_the_usual_text(header, large_text) -> None:
    header.resizeSection(2, 200)
    before = [header.sectionSize(column) for column in range(header.count())]
    for scale in (1.5, 0.8, 1.0):
        large_text(scale)
    after = [header.sectionSize(column) for column in range(header.count())]
    assert all(abs(a - b) <= 2 for a, b in zip(before, after, strict=True))


@pytest.mark.slow
def test_ten_thousand_columns_grow_too(grid, settle, large_text) -> None:
    grid.show_rows(FakeRows(10, columns=10_000))
    settle(grid)
    header = grid.column_header
    header.setSectionHidden(7, True)
    header.resizeSection(5, 300)
    large_text(1.5)
    assert header.sectionSize(5) == 450 and header.isSectionHidden(7)
    assert header.sectionSize(9_999) == 195
