from __future__ import annotations

import threading

import pyarrow as pa
import pytest
from PySide6.QtCore import QEvent, Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMessageBox

from lamella import col
from lamella.core.errors import BadData
from lamella.core.jobs import Job
from lamella.core.scan.parallel import run_tasks
from lamella.core.store.store import StoreMaintenance
from lamella.ui.editing.change_dialog import ChangeDialog


def type_into(tab, text: str, end: Qt.Key = Qt.Key.Key_Return) -> None:
    QTest.keyClicks(tab.grid, text[0])
    QTest.keyClicks(tab.editing.editor, text[1:])
    QTest.keyClick(tab.editing.editor, end)


def test_typing_a_value_commits_it_and_moves_down(
    table_tab, table, go_to, settled, cell_text, window
) -> None:
    go_to(table_tab, 3, "delay")
    type_into(table_tab, "777")
    tab = settled()
    assert cell_text(tab, 3, "delay") == "777"
    assert tab.grid.selection.current[0] == 4
    assert table.get(3)["delay"] == 777
    assert "delay" in window.commands["undo"].toolTip()
    assert not tab.grid.marks


@pytest.mark.slow
def test_a_cell_is_shown_as_pending_until_it_is_committed(table_tab, go_to, settled) -> None:
    go_to(table_tab, 0, "delay")
    type_into(table_tab, "12")
    cell = (0, table_tab.grid.grid_model.names.index("delay"))
    assert table_tab.grid.marks[cell].text == "12"
    settled()
    assert cell not in table_tab.grid.marks


def test_several_edits_in_a_row_all_arrive(table_tab, table, go_to, settled) -> None:
    go_to(table_tab, 0, "delay")
    for value in ("101", "102", "103", "104"):
        type_into(table_tab, value)
    settled()
    assert [table.get(i)["delay"] for i in range(4)] == [101, 102, 103, 104]


def test_undo_and_redo_go_by_message_and_actions(window, table_tab, go_to, settled, cell_text) -> None:
    go_to(table_tab, 0, "note")
    type_into(table_tab, "changed")
    tab = settled()
    tab.messages.buttons[0].click()
    assert cell_text(settled(), 0, "note") == "row 0"
    window.commands["redo"].trigger()
    assert cell_text(settled(), 0, "note") == "changed"
    window.commands["undo"].trigger()
    assert cell_text(settled(), 0, "note") == "row 0"
    assert not window.commands["undo"].isEnabled()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "undone"),
    [
        (lambda table: table.insert([{"note": "a"}, {"note": "b"}]), "insert of 2 rows"),
        (lambda table: table.delete(ids=[7]), "delete of 1 row"),
        (lambda table: table.update([{"_id": 1, "note": "x"}], message="set note"), "set note in 1 row"),
    ],
)
def test_undo_says_what_was_taken_back_and_redo_what_came_back(
    window, table_tab, table, settled, qtbot, change, undone
) -> None:
    change(table)
    window.commands["refresh"].trigger()
    settled()
    window.commands["undo"].trigger()
    qtbot.waitUntil(lambda: table_tab.messages.label.text() == f"Undone: {undone}")
    settled()
    window.commands["redo"].trigger()
    qtbot.waitUntil(lambda: table_tab.messages.label.text() == f"Redone: {undone}")


@pytest.mark.qt_log_ignore(r"does not support (raise|propagateSizeHints)\(\)")
def test_what_does_not_fit_stays_with_its_reason(table_tab, table, go_to) -> None:
    go_to(table_tab, 0, "delay")
    type_into(table_tab, "twelve")
    editor = table_tab.editing.editor
    assert editor is not None and editor.text() == "twelve" and editor.toolTip()
    QTest.keyClick(editor, Qt.Key.Key_Escape)
    assert table_tab.editing.editor is None
    assert table.version == 1


@pytest.mark.slow
def test_esc_and_an_unchanged_value_make_no_commit(table_tab, table, go_to) -> None:
    go_to(table_tab, 0, "note")
    QTest.keyClick(table_tab.grid, Qt.Key.Key_F2)
    QTest.keyClick(table_tab.editing.editor, Qt.Key.Key_Return)
    QTest.keyClicks(table_tab.grid, "x")
    QTest.keyClick(table_tab.editing.editor, Qt.Key.Key_Escape)
    assert table_tab.editing.editor is None and not table_tab.grid.marks
    assert table.version == 1


def test_a_commit_that_fails_keeps_what_was_typed(table_tab, table, go_to, qtbot, settled) -> None:
    go_to(table_tab, 5, "delay")
    table.delete(ids=[5])
    type_into(table_tab, "321")
    cell = (5, table_tab.grid.grid_model.names.index("delay"))
    qtbot.waitUntil(lambda: bool(table_tab.grid.marks.get(cell) and table_tab.grid.marks[cell].error))
    assert table_tab.grid.marks[cell].text == "321"
    table_tab.messages.buttons[0].click()
    assert table_tab.editing.editor.text() == "321"
    QTest.keyClick(table_tab.editing.editor, Qt.Key.Key_Escape)
    assert cell not in table_tab.grid.marks


@pytest.mark.slow
def test_the_selection_is_set_to_null_in_one_commit(
    window, table_tab, table, go_to, settled, cell_text
) -> None:
    go_to(table_tab, 0, "delay")
    QTest.keyClick(table_tab.grid, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClick(table_tab.grid, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    window.commands["set_null"].trigger()
    tab = settled()
    assert [cell_text(tab, row, name) for row in (0, 1) for name in ("delay", "carrier")] == [None] * 4
    assert table.version == 2


def test_an_edit_on_a_sorted_filtered_view_reaches_the_row_that_is_seen(
    table_tab, table, go_to, settled, cell_text
) -> None:
    table_tab.set_filter(col("carrier") == "UA")
    settled()
    table_tab.toggle_sort(table_tab.grid.grid_model.names.index("delay"), add=False)
    tab = settled()
    note = cell_text(tab, 2, "note")
    go_to(tab, 2, "note")
    type_into(tab, "mine")
    tab = settled()
    assert cell_text(tab, 2, "note") == "mine"
    assert table.get(int(note.split()[1]))["note"] == "mine"


@pytest.mark.slow
def test_a_read_only_file_is_imported_with_one_click_and_the_edit_goes_on(
    window, locked_tab, store, go_to, settled, qtbot, cell_text
) -> None:
    locked_tab.set_filter(col("delay") > 300)
    tab = settled()
    note = cell_text(tab, 4, "note")
    go_to(tab, 4, "note")
    QTest.keyClicks(tab.grid, "n")
    assert tab.editing.editor is None and "read-only" in tab.messages.label.text()
    tab.messages.buttons[0].click()
    qtbot.waitUntil(
        lambda: window.tabs.dataset_tab is not tab and window.tabs.dataset_tab.editing.editor is not None,
        timeout=10_000,
    )
    new = window.tabs.dataset_tab
    assert new.table.store is store and new.where == (col("delay") > 300)
    assert new.editing.editor.text() == "n"
    QTest.keyClicks(new.editing.editor, "ew")
    QTest.keyClick(new.editing.editor, Qt.Key.Key_Return)
    new = settled()
    assert cell_text(new, 4, "note") == "new"
    assert new.table.get(int(note.split()[1]))["note"] == "new"


@pytest.mark.slow
def test_a_file_may_be_closed_while_it_is_imported(window, locked_tab, store, go_to, settled, qtbot) -> None:
    go_to(locked_tab, 4, "note")
    QTest.keyClicks(locked_tab.grid, "n")
    locked_tab.messages.buttons[0].click()
    window.tabs.close_at(0)
    qtbot.waitUntil(lambda: [tab.table is not None for tab in window.tabs.dataset_tabs] == [True])
    assert settled().view.num_rows == store["flights"].num_rows == 1000


@pytest.mark.slow
def test_a_tab_that_another_follows_may_be_closed_before_the_rows_are_there(
    window, table_tab, file_tab, settled
) -> None:
    file_tab.set_filter(col("delay") > 300)
    settled().grid.column_header.set_width("note", 321)
    table_tab.follow(file_tab, 4, "note")
    window.tabs.close_at(window.tabs.widgets.index(file_tab))
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    tab = settled()
    assert tab is table_tab and tab.where == (col("delay") > 300)
    assert tab.grid.selection.current == (4, 3) and tab.grid.column_header.widths == {"note": 321}


@pytest.mark.slow
def test_setting_values_shows_what_changed_in_every_tab_of_the_table(
    window, table_tab, table, settled, qtbot, go_to
) -> None:
    table_tab.set_filter(col("delay") > 400)
    tab = settled()
    matching = tab.view.num_rows
    go_to(tab, 0, "note")
    window.commands["change"].trigger()
    dialog = window.findChild(ChangeDialog)
    dialog.set_value("late")
    apply = dialog.apply
    qtbot.waitUntil(apply.isEnabled)
    apply.click()
    qtbot.waitUntil(lambda: f"{matching:,} rows" in tab.messages.label.text())
    settled()
    assert table.count(col("note") == "late") == matching
    assert "note" in window.commands["undo"].toolTip()


def answer_by(act, questions: list[str]) -> None:
    """Answer the question on closing that comes next."""

    def answer() -> None:
        box = next(w for w in QApplication.topLevelWidgets() if isinstance(w, QMessageBox))
        questions.append(box.text())
        act(box, {button.text().replace("&", ""): button for button in box.buttons()})

    QTimer.singleShot(0, answer)


@pytest.mark.parametrize("key", [Qt.Key.Key_Escape, Qt.Key.Key_Return])
def test_closing_while_a_change_runs_asks_and_stays_open_unless_it_is_to_stop(window, qtbot, key) -> None:
    go_on = threading.Event()
    window.tasks.write(lambda job: go_on.wait(60), text="Importing trips")
    questions: list[str] = []
    answer_by(lambda box, buttons: QTest.keyClick(box, key), questions)
    assert not window.close()
    assert "Importing trips" in questions[0] and window.isVisible()
    go_on.set()
    qtbot.waitUntil(lambda: not window.tasks.running)


def test_closing_while_a_change_runs_stops_it_by_a_button_that_accepts(window) -> None:
    ended, roles = threading.Event(), QMessageBox.ButtonRole

    def work(job: Job) -> None:
        with job.interrupted_by(ended.set):
            assert ended.wait(60)

    def stop(box, buttons) -> None:
        found = {text: box.buttonRole(button) for text, button in buttons.items()}
        buttons["Stop and close"].click()
        assert found == {"Stop and close": roles.AcceptRole, "Cancel": roles.RejectRole}

    window.tasks.write(work, text="Importing trips")
    answer_by(stop, [])
    assert window.close() and ended.is_set()


@pytest.mark.parametrize("fails", [False, True])
def test_the_question_on_closing_goes_with_its_work(window, qtbot, fails) -> None:
    """The window goes on closing once all changes are made, and stays open to say what failed."""
    end_of_first, end_of_second = threading.Event(), threading.Event()

    def second(job: Job) -> None:
        assert end_of_second.wait(60)
        if fails:
            raise BadData("The disk is full")

    requests: list[str] = []
    errors: list[Exception] = []
    window.tasks.write(lambda job: end_of_first.wait(60), text="Importing trips")
    window.tasks.write(second, on_error=errors.append, text="Saving fares")

    def end_both(box, buttons) -> None:
        try:
            end_of_first.set()
            qtbot.waitUntil(lambda: "Saving fares is not done yet" in box.text())
            end_of_second.set()
            qtbot.waitUntil(lambda: not box.isVisible())
        finally:
            if box.isVisible():
                box.reject()

    answer_by(end_both, requests)
    assert window.close() is not fails and window.isVisible() is fails
    assert requests == ["Importing trips is not done yet. Stop it and close?"] and len(errors) == fails


def test_closing_while_the_store_is_flushed_asks_nothing(window, table, monkeypatch) -> None:
    begun, ended = threading.Event(), threading.Event()

    def flush(maintenance: StoreMaintenance, job: Job | None = None) -> None:
        if job is None:  # closing a store flushes, too
            return
        with job.interrupted_by(ended.set):
            begun.set()
            assert ended.wait(60)

    monkeypatch.setattr(StoreMaintenance, "flush_idle", flush)
    monkeypatch.setattr(QMessageBox, "exec", lambda box: pytest.fail(box.text()))
    window.idle_flush.timer.timeout.emit()
    assert begun.wait(60)
    assert window.close()


@pytest.mark.slow
def test_closing_ends_the_threads_that_decode(window, qtbot, monkeypatch) -> None:
    def decoders() -> list[str]:
        return [thread.name for thread in threading.enumerate() if thread.name == "decode"]

    monkeypatch.setattr(pa, "cpu_count", lambda: 2)
    window.tasks.read(lambda job: run_tasks(lambda task, file: task, range(200)))
    qtbot.waitUntil(lambda: not window.tasks.running)
    assert decoders()
    assert window.close()
    assert decoders() == []


@pytest.mark.slow
def test_closing_saves_the_geometry(window, memory) -> None:
    assert window.close()
    assert memory.geometry


def test_a_float_is_edited_in_full(window, store, settled, go_to, qtbot, cell_text) -> None:
    table = store.create_table("speeds", {"speed": [10.357019999999999]})
    window.opening.open_key((str(store.path), table.name))
    tab = settled()
    assert cell_text(tab, 0, "speed") == "≈10.35702"
    go_to(tab, 0, "speed")
    QTest.keyClick(tab.grid, Qt.Key.Key_F2)
    qtbot.waitUntil(lambda: tab.editing.editor is not None)
    assert tab.editing.editor.text() == "10.357019999999999"
    QTest.keyClick(tab.editing.editor, Qt.Key.Key_Return)
    assert table.version == 1


def test_left_alone_after_many_changes_the_store_flushes_them(window, table, qtbot) -> None:
    def change(changed, job):
        return changed.insert([{"delay": number} for number in range(1_500)])

    with qtbot.waitSignal(window.commits.committed):
        window.commits.run(table, change, "Adding")
    assert window.idle_flush.timer.isActive()
    data = table.store.path / "data"  # folders of drafts, beside it, go while one looks
    files = len(list(data.rglob("*.parquet")))
    window.idle_flush.timer.start(0)
    qtbot.waitUntil(lambda: len(list(data.rglob("*.parquet"))) > files)
    assert not window.idle_flush.timer.isActive()
