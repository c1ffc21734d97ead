"""A file that changes on disk while it is open, and errors that come and go."""

from __future__ import annotations

import logging
import os
import threading

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PySide6.QtCore import QFileSystemWatcher, Qt
from PySide6.QtWidgets import QApplication

from lamella.core.datasets.cache import CacheEntry
from lamella.core.jobs import Job
from lamella.core.query.expressions import col
from lamella.core.scan.snapshot import SortKey
from lamella.ui.dialogs.bad_lines import BadLinesDialog
from lamella.ui.dialogs.error_dialog import ErrorDialog
from lamella.ui.dialogs.file_import import ReadingDialog
from lamella.ui.window import file_filling
from lamella.ui.window.dataset_tab import DatasetTab
from lamella.ui.window.failures import PAD
from lamella.ui.window.loader import load

SHOW, DIFFERENTLY = "Show bad lines", "Read differently…"


def labels(tab) -> list[str]:
    return [button.text() for button in tab.messages.buttons]


def write(path, table) -> None:
    pq.write_table(table, path)
    later = path.stat().st_mtime_ns + 1_000_000_000
    os.utime(path, ns=(later, later))


@pytest.fixture
def longer(rows) -> pa.Table:
    return pa.concat_tables([rows, rows])


def test_refresh_shows_what_the_file_holds_now(window, file_tab, file, longer, settled) -> None:
    file_tab.set_sort([SortKey("delay", descending=True)])
    file_tab.set_filter(col("delay") > 0)
    file_tab.set_filter(col("delay") > 0)
    before = settled().view.num_rows
    write(file, longer)
    window.commands["refresh"].trigger()
    assert settled() is file_tab
    assert file_tab.view.num_rows == 2 * before
    assert file_tab.sort == (SortKey("delay", descending=True),)
    assert not file_tab.messages.isVisible()


@pytest.mark.slow
def test_refresh_keeps_the_place(window, file_tab, file, longer, settled) -> None:
    file_tab.grid.go_to(700)
    settled()
    top = file_tab.grid.top_row()
    write(file, longer)
    window.commands["refresh"].trigger()
    assert settled().status == "2,000 rows"
    assert file_tab.grid.top_row() == top and file_tab.grid.selection.current[0] == 700


@pytest.mark.slow
def test_conditions_of_columns_that_are_gone_are_taken_out(window, file_tab, file, rows, settled) -> None:
    where = (col("delay") > 0) & (col("carrier") == "AA")
    file_tab.set_filter(where)
    file_tab.set_filter(where)
    file_tab.set_sort([SortKey("carrier"), SortKey("note")])
    settled()
    write(file, rows.drop_columns(["carrier"]))
    window.commands["refresh"].trigger()
    assert settled().where == (col("delay") > 0) == file_tab.where
    assert file_tab.sort == (SortKey("note"),)
    assert "no longer exist were removed" in file_tab.messages.label.text()


@pytest.mark.slow
def test_opening_an_open_file_again_follows_its_change(window, file_tab, file, longer, qtbot) -> None:
    write(file, longer)
    window.open_paths([file])
    qtbot.waitUntil(lambda: file_tab.status == "2,000 rows")
    assert window.tabs.dataset_tab is file_tab


@pytest.mark.slow
def test_a_text_file_that_changed_is_read_to_its_new_end(window, tmp_path, settled, qtbot) -> None:
    path = tmp_path / "numbers.csv"
    path.write_text("n\n1\n2\n")
    window.open_paths([path])
    assert settled().status == "2 rows"
    path.write_text("n\n" + "".join(f"{i}\n" for i in range(300_000)))
    window.commands["refresh"].trigger()
    qtbot.waitUntil(lambda: window.tabs.dataset_tab.status == "300,000 rows", timeout=15_000)


@pytest.mark.slow
def test_rows_read_while_a_text_file_came_in_do_not_replace_all_of_them(
    window, tmp_path, settled, qtbot, monkeypatch
) -> None:
    was_read, may_answer = threading.Event(), threading.Event()
    finish, jobs = CacheEntry.finish, []

    def late_answer(*words):
        loaded = load(*words)
        jobs.extend(word for word in words if isinstance(word, Job))
        was_read.set()
        assert may_answer.wait(30)
        return loaded

    def late_end(entry, kept):
        assert was_read.wait(30)
        finish(entry, kept)

    monkeypatch.setattr(file_filling, "load", late_answer)
    monkeypatch.setattr(CacheEntry, "finish", late_end)
    (tmp_path / "numbers.csv").write_text("n\n" + "".join(f"{i}\n" for i in range(300_000)))
    window.open_paths([tmp_path / "numbers.csv"])
    tab = settled()
    qtbot.waitUntil(lambda: tab.status == "300,000 rows", timeout=15_000)
    with qtbot.waitSignal(window.tasks.finished, check_params_cb=lambda handle: handle.job in jobs):
        may_answer.set()
    assert tab.status == "300,000 rows"


@pytest.mark.slow
def test_an_error_of_a_changed_file_offers_to_reload_it(window, file_tab, file, longer, settled) -> None:
    write(file, longer)
    file_tab.set_sort([SortKey("note")])
    assert "changed on disk" in settled().messages.label.text()
    assert labels(file_tab) == ["Reload"]
    file_tab.messages.buttons[0].click()
    assert settled().status.startswith("2,000 rows")
    assert not file_tab.messages.isVisible()


def test_an_error_goes_when_rows_can_be_read_again(window, file_tab, file, longer, settled) -> None:
    before, status = file.read_bytes(), file.stat()
    write(file, longer)
    file_tab.set_sort([SortKey("note")])
    assert settled().messages.isVisible()
    file.write_bytes(before)
    os.utime(file, ns=(status.st_mtime_ns, status.st_mtime_ns))
    file_tab.set_sort([])
    assert not settled().messages.isVisible()


@pytest.mark.slow
def test_a_bug_is_logged_and_its_details_can_be_had(window, file_tab, monkeypatch, caplog, settled) -> None:
    def stumble() -> None:
        raise ZeroDivisionError("nothing to share")

    monkeypatch.setattr(file_tab.dataset, "snapshot", stumble)
    with caplog.at_level(logging.ERROR):
        file_tab.reload()
        assert "nothing to share" in settled().messages.label.text()
    assert any(r.exc_info and r.exc_info[0] is ZeroDivisionError for r in caplog.records)
    assert labels(file_tab) == ["Try again", "Details"]
    file_tab.messages.buttons[1].click()
    dialog = window.findChildren(ErrorDialog)[0]
    assert "Traceback" in dialog.details and "stumble" in dialog.details
    dialog.close()


@pytest.mark.slow
def test_short_rows_found_late_can_be_filled_up(window, tmp_path, settled, qtbot) -> None:
    path = tmp_path / "short.csv"
    path.write_text("a,b\n" + "".join(f"{i},row {i}\n" for i in range(400_000)) + "7\n")
    window.open_paths([path])
    qtbot.waitUntil(lambda: window.tabs.dataset_tab is not None)
    tab = window.tabs.dataset_tab
    qtbot.waitUntil(lambda: labels(tab) == [SHOW, PAD, DIFFERENTLY], timeout=15_000)
    assert tab.messages.label.text() == (
        "1 line that cannot be read is left out (line 400,002: it has 1 field instead of 2)."
    )
    assert tab.status == "400,000 rows"
    tab.messages.buttons[1].click()
    qtbot.waitUntil(lambda: tab.status == "400,001 rows", timeout=15_000)
    assert not settled().messages.isVisible()


def test_short_rows_found_at_once_can_be_filled_up(window, tmp_path, settled, qtbot) -> None:
    path = tmp_path / "short.csv"
    path.write_text("a,b\n1,one\n2\n3,three\n")
    window.open_paths([path])
    tab = settled()
    assert tab.status == "2 rows"
    assert "line 3" in tab.messages.label.text()
    tab.messages.buttons[0].click()
    (listed,) = window.findChildren(BadLinesDialog)
    assert listed.title.text() == "short.csv: 1 line left out"
    listed.close()
    next(button for button in tab.messages.buttons if button.text() == PAD).click()
    qtbot.waitUntil(lambda: tab.status == "3 rows")
    path.write_text("a,b\n1,one\n2\n3,three\n4\n")
    window.commands["refresh"].trigger()
    assert settled().status == "4 rows"


@pytest.mark.slow
def test_a_file_is_read_differently_and_so_again_the_next_time(window, tmp_path, settled, qtbot) -> None:
    path = tmp_path / "dates.csv"
    path.write_text("d;n\n01/02/2025;1,234\n")
    window.open_paths([path])
    tab = settled()
    assert [str(kind) for kind in tab.view.schema.types] == ["string", "string"]
    window.commands["read_differently"].trigger()
    (dialog,) = window.findChildren(ReadingDialog)
    qtbot.waitUntil(dialog.read_button.isEnabled)
    dialog.form.boxes["dates"].setCurrentIndex(1)
    dialog.form.boxes["dates"].activated.emit(1)
    qtbot.waitUntil(lambda: dialog.form.columns.type_box(0).currentText() == "date")
    dialog.read_button.click()
    qtbot.waitUntil(lambda: str(tab.view.schema.types[0]) == "date32[day]")
    window.commands["close_tab"].trigger()
    window.open_paths([path])
    assert str(settled().view.schema.types[0]) == "date32[day]"
    path.write_text("other;n\n1;2\n")
    window.commands["refresh"].trigger()
    qtbot.waitUntil(lambda: window.tabs.dataset_tab.view.schema.names == ["other", "n"])


@pytest.fixture
def noticed_at_once(monkeypatch) -> None:
    """Name it before the tab."""
    monkeypatch.setattr("lamella.ui.window.file_watch.LOOK_AFTER_MS", 20)


@pytest.fixture
def watched_tab(noticed_at_once, column_cards, window, file_tab, qtbot) -> DatasetTab:
    """One that reads no more of its file, also none of its cards, which would fail first."""
    cards = file_tab.grid.cards

    def is_quiet() -> bool:
        return all(cards.card_of(column) for column in range(3)) and not window.tasks.running

    qtbot.waitUntil(is_quiet, timeout=15_000)
    return file_tab


@pytest.mark.slow
def test_a_file_that_changes_on_disk_is_offered_again(watched_tab, file, longer, settled, qtbot) -> None:
    write(file, longer)
    qtbot.waitUntil(watched_tab.messages.isVisible)
    assert watched_tab.messages.label.text() == (
        "flights.parquet has changed on disk. The rows shown are from before the change."
    )
    qtbot.mouseClick(watched_tab.messages.buttons[0], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: watched_tab.status == "2,000 rows")
    assert not watched_tab.messages.isVisible()


@pytest.mark.slow
def test_a_file_put_in_the_place_of_another_is_noticed_each_time(
    watched_tab, file, longer, rows, settled, qtbot
) -> None:
    for table in (longer, rows.slice(0, 10)):
        write(file.with_name("next"), table)
        file.with_name("next").replace(file)
        qtbot.waitUntil(lambda: "has changed on disk" in watched_tab.messages.label.text())
        qtbot.waitUntil(watched_tab.messages.isVisible)
        qtbot.mouseClick(watched_tab.messages.buttons[0], Qt.MouseButton.LeftButton)
        qtbot.waitUntil(lambda count=table.num_rows: watched_tab.grid.grid_model.num_rows == count)
        settled()


def test_a_file_that_is_deleted_or_cut_off_is_told(watched_tab, file, qtbot) -> None:
    os.truncate(file, 100)
    qtbot.waitUntil(lambda: "cut off" in watched_tab.messages.label.text())
    file.unlink()
    assert watched_tab.view.num_rows == 1000


@pytest.mark.slow
def test_a_file_that_is_only_touched_is_not_offered(watched_tab, file, rows, qtbot, monkeypatch) -> None:
    looks = []
    monkeypatch.setattr("lamella.ui.window.file_watch.same_files", lambda *files: looks.append(files) or True)
    os.utime(file)
    qtbot.waitUntil(lambda: bool(looks))
    assert not watched_tab.messages.isVisible()


@pytest.mark.slow
def test_files_of_closed_tabs_are_not_watched(window, file_tab, file) -> None:
    watcher = QApplication.instance().findChild(QFileSystemWatcher)
    assert str(file) in watcher.files()
    window.commands["close_tab"].trigger()
    assert str(file) not in watcher.files()
