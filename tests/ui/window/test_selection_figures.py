from __future__ import annotations

import datetime as dt
import threading
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from lamella import col
from lamella.core.jobs import Job
from lamella.core.query.view import View
from lamella.core.scan.snapshot import SortKey
from lamella.ui.grid.selection import CellRange
from lamella.ui.window.selection_figures import Figures, disjoint_parts, figure_text, read_figures
from tests.ui.grid.fake_rows import TableRows


def figures(*columns: pa.Array) -> str:
    totals = Figures()
    for column in columns:
        totals.add(pa.chunked_array([column]))
    return str(totals)


@pytest.mark.parametrize(
    ("values", "type_", "text"),
    [
        ([1, 2, None, 6], pa.int32(), "Σ 9   mean 3   min 1   max 6   n 3   NULL 1"),
        (
            [-1.5, 0.25, float("nan")],
            pa.float64(),
            "Σ −1.25   mean −0.625   min −1.5   max 0.25   n 3   NaN 1",
        ),
        ([2**62] * 4, pa.int64(), f"Σ {2**64:,}   mean {2.0**62:.6g}   min {2**62:,}   max {2**62:,}   n 4"),
        (
            [Decimal("0.10"), Decimal("0.20")],
            pa.decimal128(4, 2),
            "Σ 0.3   mean 0.15   min 0.1   max 0.2   n 2",
        ),
        ([float("inf"), 1.0], pa.float32(), "Σ ∞   mean ∞   min 1   max ∞   n 2"),
        (["a", "", None], pa.string(), "n 2   NULL 1"),
        ([True, False], pa.bool_(), "n 2"),
        ([dt.date(2020, 1, 2), dt.date(2020, 1, 1)], pa.date32(), "first 2020-01-01   last 2020-01-02   n 2"),
        ([None, None], pa.int8(), "n 0   NULL 2"),
        ([], pa.float64(), "n 0"),
    ],
)
def test_figures_of_a_column(values, type_, text) -> None:
    assert figures(pa.array(values, type_)) == text


def test_numbers_beside_text_are_summed_up() -> None:
    assert figures(pa.array([1, 2]), pa.array(["a", None])) == (
        "Σ 3   mean 1.5   min 1   max 2   n 3   NULL 1"
    )


def test_dictionary_values_count_like_what_they_stand_for() -> None:
    assert figures(pa.array([5, 5, 7]).dictionary_encode()).startswith("Σ 17 ")


@pytest.mark.parametrize(
    ("value", "text"),
    [(1234567, "1,234,567"), (-0.5, "−0.5"), (1234.56789, "1,234.5679"), (1e-9, "1e−09"), (0.0, "0")],
)
def test_numbers_are_written_to_be_read(value, text) -> None:
    assert figure_text(value) == text


@pytest.mark.slow
@given(st.lists(st.tuples(*[st.integers(0, 6)] * 4), min_size=1, max_size=5))
def test_cells_that_blocks_share_count_once(corners) -> None:
    blocks = [CellRange.between((a, b), (c, d)) for a, b, c, d in corners]
    named = [(block, [str(place) for place in range(block.left, block.right + 1)]) for block in blocks]
    cells = {(row, str(place)) for row in range(7) for place in range(7)
             if any((row, place) in block for block in blocks)}  # fmt: skip
    cells_read = [
        (row, name)
        for top, bottom, names in disjoint_parts(named)
        for row in range(top, bottom + 1)
        for name in names
    ]
    assert sorted(cells_read) == sorted(cells)


def test_a_whole_column_is_read_in_pieces(monkeypatch) -> None:
    monkeypatch.setattr("lamella.ui.window.selection_figures.CHUNK_CELLS", 7)
    rows = TableRows(pa.table({"a": range(100), "b": range(100)}))
    totals = read_figures(rows, [(0, 99, ("a", "b"))], Job())
    assert (totals.cells, totals.total) == (200, 2 * sum(range(100)))


def figures_of(window) -> str:
    return window.status.figures.text()


def test_the_status_bar_says_what_is_selected(window, file_tab, rows, go_to, qtbot) -> None:
    go_to(file_tab, 0, "delay")
    assert figures_of(window) == ""
    for _ in range(2):
        QTest.keyClick(file_tab.grid, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    qtbot.waitUntil(lambda: figures_of(window) == "Σ −39   mean −13   min −50   max 24   n 3")
    QTest.keyClick(file_tab.grid, Qt.Key.Key_Right)
    assert figures_of(window) == ""


@pytest.mark.slow
@pytest.mark.parametrize("sorted_", [False, True])
def test_a_whole_filtered_column_is_summed_up(window, file_tab, rows, settled, qtbot, sorted_) -> None:
    file_tab.set_filter(col("delay") > 100)
    settled()
    if sorted_:
        file_tab.set_sort([SortKey("note")])
        settled()
    late = [delay for delay in rows["delay"].to_pylist() if delay > 100]
    file_tab.grid.go_to(3, 0)
    window.commands["select_column"].trigger()
    qtbot.waitUntil(lambda: figures_of(window).startswith(f"Σ {sum(late):,} "))
    assert figures_of(window).endswith(f"n {len(late):,}")
    file_tab.set_filter(col("delay") > 400)
    settled()
    later = [delay for delay in late if delay > 400]
    window.commands["select_column"].trigger()
    qtbot.waitUntil(lambda: figures_of(window).startswith(f"Σ {sum(later):,} "))


@pytest.mark.slow
def test_another_selection_ends_what_is_being_read(window, file_tab, monkeypatch, qtbot) -> None:
    begun, go_on, ended = threading.Event(), threading.Event(), threading.Event()

    def slow(rows, parts, job: Job) -> Figures:
        if parts[0][1] == 999:
            begun.set()
            go_on.wait(60)
            try:
                job.check()
            finally:
                ended.set()
        return read_figures(rows, parts, job)

    monkeypatch.setattr("lamella.ui.window.selection_figures.read_figures", slow)
    file_tab.grid.go_to(0, 0)
    window.commands["select_column"].trigger()
    qtbot.waitUntil(begun.is_set)
    file_tab.grid.selection.select_block(CellRange(0, 0, 1, 0))
    go_on.set()
    qtbot.waitUntil(lambda: figures_of(window).endswith("n 2"))
    assert ended.is_set()


@pytest.mark.slow
def test_each_tab_has_its_own_figures(window, file_tab, tmp_path, settled, qtbot) -> None:
    file_tab.grid.select_all()
    qtbot.waitUntil(lambda: figures_of(window).startswith("Σ"))
    before = figures_of(window)
    pq.write_table(pa.table({"a": [1]}), tmp_path / "one.parquet")
    window.open_paths([tmp_path / "one.parquet"])
    qtbot.waitUntil(lambda: window.tabs.dataset_tab is not file_tab)
    assert figures_of(window) == ""
    window.tabs.show_tab(file_tab)
    assert figures_of(window) == before


@pytest.mark.slow
def test_a_sorted_view_is_added_up_in_the_order_of_its_file(file_tab, settled) -> None:
    file_tab.set_sort([SortKey("note")])
    view = settled().view
    assert isinstance(view, View)
    assert read_figures(view, [(0, view.num_rows - 1, ("delay",))], Job()).values == 1000
