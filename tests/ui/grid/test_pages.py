from __future__ import annotations

import threading

import pyarrow as pa
import pytest

from lamella.ui.grid.columns import GridColumns
from lamella.ui.grid.model import PAGE_ROWS, Pages
from lamella.ui.tasks import Handle
from tests.ui.grid.fake_rows import FakeRows


@pytest.fixture
def pages(tasks) -> Pages:
    return Pages(tasks)


def shown(pages: Pages, rows: FakeRows) -> None:
    pages.show(rows, GridColumns.of(rows.schema))


def test_only_the_wanted_pages_and_columns_are_read_and_elsewhere(pages, qtbot) -> None:
    rows = FakeRows(100_000)
    shown(pages, rows)
    with pytest.raises(KeyError):
        pages.text(1000, 0)
    pages.want(1000, 1040, [0, 2])
    qtbot.waitUntil(lambda: pages.is_settled)
    assert pages.text(1000, 0) == "10000" and pages.text(1040, 2) == "10402"
    offset, count, names = rows.asked[0]
    assert offset <= 1000 and offset + count > 1040 and count < 41 + 2 * PAGE_ROWS
    assert names == ("c0", "c2")
    assert threading.get_ident() not in rows.threads


def test_the_page_ahead_is_read_before_it_is_needed(pages, qtbot) -> None:
    rows = FakeRows(100_000)
    shown(pages, rows)
    pages.want(10 * PAGE_ROWS, 10 * PAGE_ROWS + 5, [0])
    qtbot.waitUntil(lambda: pages.column(11, 0) is not None)
    pages.want(10 * PAGE_ROWS, 10 * PAGE_ROWS + 5, [0], downwards=False)
    qtbot.waitUntil(lambda: pages.column(9, 0) is not None)


def test_what_was_read_is_not_read_again(pages, qtbot) -> None:
    rows = FakeRows(PAGE_ROWS)
    shown(pages, rows)
    pages.want(0, 10, [0])
    qtbot.waitUntil(lambda: pages.is_settled)
    pages.want(0, PAGE_ROWS - 1, [0])
    assert pages.is_settled and len(rows.asked) == 1


def test_wishes_passed_over_are_never_read(pages, qtbot) -> None:
    rows = FakeRows(10_000_000)
    rows.gate = threading.Event()
    shown(pages, rows)
    for row in range(0, 5_000_000, 100_000):
        pages.want(row, row, [0])
    rows.gate.set()
    qtbot.waitUntil(lambda: pages.is_settled)
    assert pages.text(4_900_000, 0) == "49000000"
    assert len(rows.asked) <= 5


def test_a_late_answer_of_the_view_before_is_dropped(pages, qtbot) -> None:
    old, new = FakeRows(1000), FakeRows(1000, columns=1)
    old.gate = threading.Event()
    shown(pages, old)
    pages.want(0, 10, [0])
    qtbot.waitUntil(lambda: len(old.asked) == 1)
    shown(pages, new)
    with qtbot.waitSignal(pages.arrived):
        pages.want(0, 10, [0])
        old.gate.set()
    qtbot.waitUntil(lambda: pages.is_settled)
    assert all(names == ("c0",) for _, _, names in new.asked)


def test_a_failed_read_is_told_once_and_not_repeated(pages, qtbot) -> None:
    class Broken(FakeRows):
        def page(self, offset: int, count: int, columns: list[str] | None = None) -> pa.Table:
            raise OSError("the disk is gone")

    shown(pages, Broken(1000))
    errors: list[Exception] = []
    pages.failed.connect(errors.append)
    pages.want(0, 10, [0])
    qtbot.waitUntil(lambda: len(errors) == 1)
    pages.want(0, 10, [0])
    pages.want(500, 510, [0])
    assert pages.is_settled and len(errors) == 1


def test_grown_rows_keep_what_was_read_but_the_last_page(pages, qtbot) -> None:
    rows = FakeRows(PAGE_ROWS + 10)
    shown(pages, rows)
    pages.want(0, PAGE_ROWS + 9, [0])
    qtbot.waitUntil(lambda: pages.is_settled)
    pages.grow(FakeRows(10 * PAGE_ROWS))
    assert pages.text(0, 0) == "0"
    with pytest.raises(KeyError):
        pages.text(PAGE_ROWS, 0)
    pages.want(PAGE_ROWS, PAGE_ROWS + 20, [0])
    qtbot.waitUntil(lambda: pages.is_settled)
    assert pages.text(PAGE_ROWS + 20, 0) == str((PAGE_ROWS + 20) * 10)


def test_the_cache_stays_bounded(pages, qtbot, monkeypatch) -> None:
    monkeypatch.setattr("lamella.ui.grid.model.MOST_CELLS", 10 * PAGE_ROWS)
    rows = FakeRows(100 * PAGE_ROWS)
    shown(pages, rows)
    for page in range(50):
        pages.want(page * PAGE_ROWS, page * PAGE_ROWS + 1, [0])
        qtbot.waitUntil(lambda: pages.is_settled)
    assert len(pages._pages) <= 11
    assert pages.text(49 * PAGE_ROWS, 0) == str(49 * PAGE_ROWS * 10)


def test_columns_read_again_do_not_shrink_the_cache(pages, qtbot, monkeypatch) -> None:
    """Two pages a turn, five columns each; the first column of one of them is read twice. Whole numbers count
    twice, with separators and without."""
    turns, columns = 20, [0, 1, 2, 3, 4]
    monkeypatch.setattr("lamella.ui.grid.model.MOST_CELLS", 2 * (2 * turns * len(columns) + 10) * PAGE_ROWS)
    shown(pages, FakeRows(2 * turns * PAGE_ROWS))
    for page in range(0, 2 * turns, 2):
        for last, expected in ((page, [0]), (page + 1, columns)):
            pages.want(page * PAGE_ROWS, last * PAGE_ROWS, expected, downwards=False)
            qtbot.waitUntil(lambda: pages.is_settled)
    assert [page for page in range(2 * turns) if pages.column(page, 4) is None] == []


def test_reads_of_a_view_that_is_gone_are_cancelled(pages, tasks, qtbot) -> None:
    begun: list[Handle] = []
    tasks.started.connect(begun.append)
    old = FakeRows(1000)
    old.gate = threading.Event()
    shown(pages, old)
    pages.want(0, 10, [0])
    shown(pages, FakeRows(1000, columns=1))
    assert [handle.job.cancelled for handle in begun] == [True]
    pages.want(0, 10, [0])
    pages.grow(FakeRows(2000, columns=1))
    assert [handle.job.cancelled for handle in begun] == [True, True]
    old.gate.set()
    qtbot.waitUntil(lambda: not any(handle.running for handle in begun))
