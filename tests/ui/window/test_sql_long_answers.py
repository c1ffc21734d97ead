"""Statements of a hundred million rows, or without end: looked at, stopped, closed, exported."""

from __future__ import annotations

import gc
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from lamella.core.datasets import sql_result
from lamella.core.scan.snapshot import FileSegment
from lamella.ui import tasks
from lamella.ui.dialogs.export_dialog import ExportDialog
from lamella.ui.sql.console import SqlConsole
from lamella.ui.sql.result_tab import ResultTab
from lamella.ui.window.loader import TabContent, status_text

CONTROL = Qt.KeyboardModifier.ControlModifier
LONG = "select a.range as n, f.carrier from range(100000000) a join flights f on f.delay = a.range % 500"
CROSS = "select a.note, b.carrier from flights a, flights b, flights c, flights d, flights e"
ENDLESS = "with recursive n(x) as (select 1::hugeint union all select x + 1 from n) select max(x) from n"


@pytest.fixture(autouse=True)
def parts_of_one_megabyte(monkeypatch):
    monkeypatch.setattr(sql_result, "IN_MEMORY", 1 << 20)
    monkeypatch.setattr(sql_result, "PART_BYTES", 1 << 20)


@pytest.fixture
def one_reader(monkeypatch):
    monkeypatch.setattr(tasks, "READERS", 1)


@pytest.fixture
def begin(qtbot, console: SqlConsole):
    """Type a statement, run it by the keys, and wait for `rows` of its answer."""

    def go(text: str, rows: int) -> ResultTab:
        console.editor.setPlainText(text)
        QTest.keyClick(console.editor, Qt.Key.Key_Return, CONTROL)
        qtbot.waitUntil(lambda: console.front_tab is not None and console.front_tab.dataset.num_rows > rows)
        qtbot.waitUntil(lambda: console.front_tab.content is not None)
        return console.front_tab

    return go


def text_at(tab: ResultTab, row: int) -> str:
    """The text of a cell on screen; empty before it is read."""
    return tab.grid.grid_model.index(row, tab.grid.place(0)).data() or ""


def end(qtbot, console: SqlConsole) -> None:
    """Stop the statement by the button."""
    console.bar.stop.click()
    qtbot.waitUntil(lambda: not console.runner.running and not console.tasks.running)


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("text", [LONG, CROSS], ids=["join", "cross join"])
def test_rows_are_paged_while_they_come_in_and_stay_when_it_is_stopped(qtbot, console, begin, text):
    tab = begin(text, 300_000)
    assert console.runner.running
    in_memory = [
        segment for segment in tab.dataset.snapshot().segments if not isinstance(segment, FileSegment)
    ]
    assert sum(part.rows.nbytes for part in in_memory) < 16 << 20  # a batch may be larger than a part
    tab.grid.go_to(200_000, tab.grid.place(0))
    qtbot.waitUntil(lambda: bool(text_at(tab, 200_000)))
    end(qtbot, console)
    qtbot.waitUntil(lambda: tab.messages.label.text().startswith("Stopped after"))
    assert tab.dataset.is_cut and tab.dataset.num_rows > 300_000
    qtbot.waitUntil(lambda: tab.view.num_rows == tab.dataset.num_rows)


def test_the_command_to_stop_ends_it_as_its_button_does(qtbot, window, console, begin):
    tab = begin(LONG, 300_000)
    window.commands["stop"].trigger()
    qtbot.waitUntil(lambda: not console.runner.running and not console.tasks.running)
    assert tab.messages.label.text().startswith("Stopped after")
    assert tab.dataset.is_cut and tab.view.num_rows == tab.dataset.num_rows
    assert "so far" not in tab.status and "under 1 ms" not in tab.status


def test_closing_its_tab_ends_the_statement_and_frees_the_disk(qtbot, window, console, begin):
    tab = begin(LONG, 300_000)
    folder = tab.dataset.snapshot().keeps.path
    assert folder.exists()
    del tab
    QTest.keyClick(window, Qt.Key.Key_W, CONTROL)
    assert window.consoles.consoles == []
    qtbot.waitUntil(lambda: not window.tasks.running)

    def is_gone() -> bool:
        gc.collect()
        return not folder.exists()

    qtbot.waitUntil(is_gone)


@pytest.mark.slow
def test_its_export_is_cancelled_and_leaves_no_file(qtbot, window, console, begin, tmp_path: Path):
    begin(LONG, 600_000)
    window.commands["export"].trigger()
    dialog = window.findChildren(ExportDialog)[-1]
    qtbot.waitUntil(lambda: dialog.is_settled)
    path = tmp_path / "out" / "long.csv"
    path.parent.mkdir()
    dialog.path_edit.setText(str(path))
    dialog.export_button.click()
    qtbot.waitUntil(lambda: "rows" in dialog.status.text())
    dialog.cancel_button.click()
    qtbot.waitUntil(lambda: not dialog.is_working)
    assert list(path.parent.iterdir()) == [] and dialog.isVisible()
    dialog.reject()
    assert console.runner.running  # the statement goes on
    end(qtbot, console)


def test_a_statement_without_end_is_stopped(qtbot, window, console):
    for _ in range(2):  # and another runs after it
        console.editor.setPlainText(ENDLESS)
        QTest.keyClick(console.editor, Qt.Key.Key_Return, CONTROL)
        qtbot.waitUntil(console.bar.stop.isVisible)
        end(qtbot, console)
        assert console.results.messages.label.text() == "Stopped." and not console.results.pages


@pytest.mark.slow
def test_other_tabs_are_read_while_a_statement_runs_without_end(one_reader, qtbot, window, console, table):
    console.editor.setPlainText(ENDLESS)
    QTest.keyClick(console.editor, Qt.Key.Key_Return, CONTROL)
    qtbot.waitUntil(console.bar.stop.isVisible)
    window.opening.open_key((str(table.store.path), table.name))
    qtbot.waitUntil(
        lambda: window.tabs.dataset_tab is not None and window.tabs.dataset_tab.content is not None
    )
    assert console.runner.running
    window.tabs.show_tab(console)
    end(qtbot, console)


def test_one_row_is_counted_in_the_singular():
    content = cast(TabContent, SimpleNamespace(total_rows=1, complete=True))
    assert status_text(content, counting=True) == "counting… of 1 row"


def test_rows_that_are_still_coming_are_those_so_far():
    content = cast(TabContent, SimpleNamespace(total_rows=276_727, complete=False))
    assert status_text(content, counting=True) == "counting… of 276,727 rows so far"
