"""A block of random texts is pasted over a random selection, of a view in a random order, against lists."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamella import Store, col
from lamella.core.errors import BadData
from lamella.core.filters.cells import parse_cell
from lamella.core.jobs import Job
from lamella.core.query.scan_query import ScanQuery
from lamella.core.query.view import View
from lamella.core.scan.snapshot import SortKey
from lamella.ui.editing.pasted_block import area_of, clipboard_lines, read_block, read_paste
from lamella.ui.grid.selection import CellRange
from lamella.ui.window.block_editing import BlockEdit
from tests.slow_tests import examples

RUNS = examples(30)
SCHEMA = pa.schema([("n", pa.int16()), ("text", pa.string()), ("x", pa.float64()), ("day", pa.date32())])
NAMES = SCHEMA.names
ROWS = 12
TEXTS = st.sampled_from(
    [None, "", "7", "-3", "70000", "1.5", "2013-01-31", "word", "two\nlines", 'a "b"', "\t"]
)
BLOCKS = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.lists(TEXTS, min_size=width, max_size=width), min_size=1, max_size=5)
)
CORNERS = st.tuples(st.integers(0, ROWS - 1), st.integers(0, 3), st.integers(0, 5), st.integers(0, 3))
VIEWS = st.sampled_from([None, "sorted", "filtered"])


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Iterator[Store]:
    with Store.open(tmp_path_factory.mktemp("paste") / "store") as store_:
        yield store_


def first_rows() -> pa.Table:
    numbers = [(i * 5) % ROWS for i in range(ROWS)]
    days = pa.array([None] * ROWS, pa.date32())
    columns = [pa.array(numbers, pa.int16()), pa.array([f"row {i}" for i in range(ROWS)])]
    return pa.table([*columns, pa.array([i / 2 for i in range(ROWS)]), days], schema=SCHEMA)


def pasted(rows: list[dict], block: list[list[str | None]], selected: CellRange) -> tuple[list[dict], int]:
    """The expected cells, and how many cells cannot be read."""
    height, width = len(block), len(block[0])
    wide, high = selected.right - selected.left + 1, selected.num_rows
    high = high if high % height == 0 else height
    wide = wide if wide % width == 0 else width
    after, unread = [dict(row) for row in rows], 0
    for down in range(high):
        if selected.top + down >= len(after):
            after.append(dict.fromkeys(NAMES))
        for right, name in enumerate(NAMES[selected.left : selected.left + wide]):
            text = block[down % height][right % width]
            try:
                value = None if text is None else parse_cell(text, SCHEMA.field(name).type)
            except BadData:
                unread += 1
                continue
            after[selected.top + down][name] = value
    return after, unread


@settings(max_examples=RUNS, deadline=None)
@given(block=BLOCKS, corner=CORNERS, kind=VIEWS)
def test_paste_is_what_it_would_be_cell_by_cell(store, block, corner, kind) -> None:
    top, left, down, right = corner
    table = store.create_table("t", first_rows())
    try:
        query = {
            None: ScanQuery(),
            "sorted": ScanQuery(sort=(SortKey("n", descending=True),)),
            "filtered": ScanQuery(where=col("n") > 3),
        }[kind]
        view = View(table.snapshot(), query)
        rows = view.page(0, view.num_rows, NAMES).to_pylist()
        top = min(top, len(rows) - 1)
        selected = CellRange(top, left, min(top + down, len(rows) - 1), min(left + right, 3))
        expected, unread = pasted(rows, block, selected)

        block_read = read_block("\n".join(clipboard_lines(block)) + "\n")
        assert block_read.rows == block
        paste = read_paste(block_read, area_of(block_read, selected, NAMES[left:]), SCHEMA, Job())
        commit = BlockEdit(view, [paste], add_rows=True).commit(table, Job(), "paste")

        after = view.follow(table.snapshot(), commit.inserted)
        assert after.page(0, after.num_rows, NAMES).to_pylist() == expected
        assert bool(paste.problems) == bool(unread)
        if commit.time is not None:
            table.history.undo()
        assert table.read(NAMES).equals(first_rows())
    finally:
        store.drop_table("t")
