"""The history of a table in the inspector: its commits, a version compared, opened, restored and named."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest
from PySide6.QtCore import QItemSelectionModel, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton

from lamella.core.store.commit import Commit
from lamella.ui import theme
from lamella.ui.dialogs.file_import import FileImportDialog
from lamella.ui.inspector.commit_list import COMMIT, time_text
from lamella.ui.inspector.history_page import PAGE
from lamella.ui.stores.upkeep_dialogs import ExpireDialog


@pytest.fixture
def history(qtbot, window, table, settled):
    """The history page of a table with four versions, once it is read."""
    table.insert([{"note": "new"}], message="append one row")
    table.edit([pa.table({"_id": [3], "note": ["three"]})], message="fix a note")
    table.delete(ids=[5, 6], message="clean up")
    window.opening.open_key((str(table.store.path), table.name))
    tab = settled()
    window.commands["history"].trigger()
    page = tab.inspector.history_page
    qtbot.waitUntil(lambda: page.is_settled and page.model.total == 4)
    return page


def compared(qtbot, window):
    view = window.tabs.dataset_tab.comparing.view
    qtbot.waitUntil(lambda: view.is_settled)
    return view


def test_commits_are_listed_with_their_counts(window, history):
    assert window.tabs.dataset_tab.inspector.page == "history" and history.title.text() == "flights"
    assert history.figures.text().startswith("4 versions · ")
    said = [history.model.data(history.model.index(row)) for row in range(4)]
    assert said[0].startswith("Clean up, version 4 · today ") and said[0].endswith("2 removed")
    assert said[1].endswith("1 changed") and said[2].endswith("1 added") and said[3].endswith("1,000 added")
    assert [commit.version for commit in history.selected_commits] == [4]
    assert not history.restore.isEnabled() and history.changes_button.isEnabled()
    history.select(1)
    assert history.restore.isEnabled() and not history.changes_button.isEnabled()
    history.grab()


@pytest.mark.slow
def test_the_version_that_has_the_focus_is_legible(window, history):
    history.list.setFocus()
    QTest.keyClick(history.list, Qt.Key.Key_Down)
    row = history.list.visualRect(history.list.currentIndex())
    picture = history.list.viewport().grab(row).toImage()
    inside = [picture.pixelColor(x, 3) for x in range(picture.width() // 2, picture.width() - 3)]
    assert {color.name() for color in inside} == {theme.current().color("accent_soft").name()}


@pytest.mark.slow
def test_what_a_commit_changed_and_two_versions_are_compared(qtbot, window, history):
    history.select(3)
    history.list.setFocus()
    QTest.keyClick(history.list, Qt.Key.Key_Return)
    view = compared(qtbot, window)
    assert view.comparison.titles == ("version 2", "version 3") and view.comparison.num_rows == 1
    both = QItemSelectionModel.SelectionFlag.Select
    history.list.selectionModel().select(history.model.index(history.model.place_of(1)), both)
    assert history.compare_button.text() == "Compare 1 with 3" and history.open.isHidden()
    assert history.commit_label.text() == "Versions 1 and 3"
    history.compare_button.click()
    qtbot.waitUntil(lambda: view.is_settled and view.comparison.titles == ("version 1", "version 3"))
    assert view.comparison.counts_text == "1 added, 1 changed"
    history.select(2)
    history.compare_now_button.click()
    qtbot.waitUntil(lambda: view.is_settled and view.comparison.titles[1] == "version 4, now")
    assert view.comparison.counts_text == "2 removed, 1 changed"


def test_a_version_is_restored_undone_to_and_the_list_follows(qtbot, window, table, history):
    history.select(2)
    history.restore.click()
    qtbot.waitUntil(lambda: history.model.total == 5 and history.is_settled)
    assert not table.history.compare(2).num_rows
    newest = history.model.index(0).data(COMMIT)
    assert (newest.kind, newest.message, newest.restores) == ("restore", "restore version 2", 2)
    history.select(3)
    history.undo.click()
    qtbot.waitUntil(lambda: history.model.total == 6 and history.is_settled)
    assert not table.history.compare(3).num_rows
    window.commands["redo"].trigger()
    qtbot.waitUntil(lambda: history.model.total == 7 and history.is_settled)
    assert not table.history.compare(5).num_rows


def test_undoing_says_where_it_does_not_lead(qtbot, window, table, history):
    tab = window.tabs.dataset_tab
    table.history.undo()
    tab.versions.undo_to(4)
    qtbot.waitUntil(lambda: "does not lead to version 4" in tab.messages.label.text())


@pytest.mark.slow
def test_a_version_gets_a_name_and_loses_it(qtbot, window, table, history):
    history.select(2)
    dialog = history.ask_name()
    dialog.setTextValue("before the clean-up")
    dialog.accept()
    qtbot.waitUntil(lambda: history.is_settled and history.model.commits[2].name == "before the clean-up")
    assert "called 'before the clean-up'" in history.commit_label.text()
    tab = window.tabs.dataset_tab
    tab.versions.rename(3, "", "before the clean-up")
    qtbot.waitUntil(lambda: "is already named 'before the clean-up'" in tab.messages.label.text())
    tab.versions.rename(2, "before the clean-up", "")
    qtbot.waitUntil(lambda: history.is_settled and not history.model.commits[2].name)


def test_a_long_name_leaves_every_button_in_sight(qtbot, window, table, history):
    table.history.name_version("x" * 200, 2)
    history.refresh()
    qtbot.waitUntil(lambda: history.is_settled and bool(history.model.commits[2].name))
    history.select(2)
    buttons = [each for each in history.choices.findChildren(QPushButton) if not each.isHidden()]
    QApplication.processEvents()  # lays out
    assert len(buttons) == 6
    assert all(button.visibleRegion().boundingRect() == button.rect() for button in buttons)


def test_old_versions_expire_after_a_preview(qtbot, window, table, history):
    history.expire_action.trigger()
    qtbot.waitUntil(lambda: bool(window.findChildren(ExpireDialog)))
    dialog = window.findChildren(ExpireDialog)[-1]
    dialog.keep.setValue(4)
    qtbot.waitUntil(lambda: "there are no more than 4 versions" in dialog.about.text())
    dialog.keep.setValue(2)
    qtbot.waitUntil(lambda: dialog.accept_button.text() == "Expire 2 versions")
    assert dialog.about.text().startswith("Removes 2 versions")
    dialog.accept_button.click()
    qtbot.waitUntil(lambda: history.is_settled and history.model.total == 2)
    dialog.close()


def test_what_changed_is_not_offered_where_only_an_older_version_is_left(qtbot, window, table, history):
    table.history.name_version("first", 1)
    table.maintenance.expire(keep_versions=2)
    history.refresh()
    qtbot.waitUntil(lambda: [commit.version for commit in history.model.commits] == [4, 3, 1])
    for place, offered in enumerate([True, False, False]):
        history.list.setCurrentIndex(history.model.index(place))
        assert history.changes_button.isEnabled() is offered
    assert history.compare_now_button.isEnabled()


@pytest.mark.slow
def test_a_long_history_is_read_a_page_at_a_time(qtbot, window, store, settled):
    table = store.create_table("long", {"n": [1]})
    for number in range(PAGE + 20):
        table.update([{"_id": 0, "n": number}])
    window.opening.open_key((str(store.path), "long"))
    tab = settled()
    tab.inspector.show_page("history")
    model = tab.inspector.history_page.model
    qtbot.waitUntil(lambda: model.total == PAGE + 21)
    assert len(model.commits) == PAGE
    tab.inspector.history_page.list.scrollToBottom()
    model.fetchMore(tab.inspector.history_page.list.rootIndex())
    qtbot.waitUntil(lambda: len(model.commits) == model.total)
    assert [commit.version for commit in model.commits] == list(range(PAGE + 21, 0, -1))


@pytest.mark.slow
def test_a_file_says_why_it_has_none_and_is_imported(qtbot, window, file_tab):
    window.commands["history"].trigger()
    page = file_tab.inspector.history_page
    qtbot.waitUntil(lambda: page.title.text() == "No history")
    assert "Import it into a store" in page.nothing.text() and not page.list.isVisible()
    qtbot.mouseClick(page.import_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: bool(window.findChildren(FileImportDialog)))
    window.findChildren(FileImportDialog)[0].reject()


def test_times_are_said_as_people_say_them():
    now = dt.datetime(2026, 3, 5, 12, 0, tzinfo=dt.UTC)  # a Thursday

    def said(*date: int) -> str:
        return time_text(dt.datetime(*date, tzinfo=dt.UTC), now)

    assert said(2026, 3, 5, 11, 20) == "today 11:20" and said(2026, 3, 4, 17, 5) == "yesterday 17:05"
    assert said(2026, 3, 2, 9, 14) == "Mon 9:14" and said(2026, 1, 12) == "12 Jan"
    assert said(2024, 5, 12) == "12 May 2024" and time_text(Commit("t", 1).time, now) == ""
