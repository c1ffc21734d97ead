from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lamella.ui.grid.selection import CellRange, Selection

CELLS = st.tuples(st.integers(0, 7), st.integers(0, 7))
STEPS = st.lists(st.tuples(st.sampled_from(["select", "add", "extend"]), CELLS), min_size=1, max_size=20)


@given(STEPS)
def test_selecting_adding_and_extending_match_sets_of_cells(steps) -> None:
    selection, blocks, anchor = Selection(), [], None
    for what, (row, column) in steps:
        getattr(selection, what)(row, column)
        if what == "select":
            blocks, anchor = [{(row, column)}], (row, column)
        elif what == "add":
            blocks, anchor = [b for b in blocks if b != {(row, column)}] + [{(row, column)}], (row, column)
        else:
            anchor = anchor or (row, column)
            rows = range(min(anchor[0], row), max(anchor[0], row) + 1)
            columns = range(min(anchor[1], column), max(anchor[1], column) + 1)
            blocks = [*blocks[:-1], {(r, c) for r in rows for c in columns}]
        expected = set().union(*blocks)
        assert {(r, c) for r in range(8) for c in range(8) if (r, c) in selection} == expected
        assert selection.current == (row, column)


def test_a_billion_rows_are_one_block() -> None:
    selection = Selection()
    selection.select_block(CellRange(0, 0, 10**9, 9_999))
    assert len(selection.blocks) == 1
    assert selection.num_cells == (10**9 + 1) * 10_000


def test_a_smaller_view_cuts_the_selection_off() -> None:
    selection = Selection()
    selection.select_block(CellRange(2, 1, 90, 5), current=(80, 4))
    selection.clamp(10, 3)
    assert selection.blocks == [CellRange(2, 1, 9, 2)]
    assert selection.current == (9, 2)
    selection.clamp(0, 3)
    assert selection.blocks == [] and selection.current is None
