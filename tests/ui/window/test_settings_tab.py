"""The settings page by clicks and keys: what it changes, what it refuses, and where values come from."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QScrollArea

from lamella.core.settings import SETTINGS, Origin
from lamella.ui import theme
from lamella.ui.settings.page import SettingsPage


@pytest.fixture
def page(window) -> SettingsPage:
    window.commands["settings"].trigger()
    assert isinstance(window.tabs.current, SettingsPage)
    return window.tabs.current


def test_every_setting_has_a_row_with_a_name_for_screen_readers(page):
    assert set(page.rows) == {setting.name for setting in SETTINGS}
    for row in page.rows.values():
        assert row.editor.accessibleName() and row.editor.accessibleDescription()
        assert row.setting.name in row.origin.text()


def test_settings_are_opened_once(window, page):
    window.commands["settings"].trigger()
    assert window.tabs.tabs.count() == 1


def test_search_leaves_rows_and_groups_that_have_the_words(qtbot, page):
    qtbot.keyClicks(page.search, "memory query")
    assert [name for name, row in page.rows.items() if row.isVisible()] == ["query_memory_mb"]
    qtbot.keyClicks(page.search, " nothing")
    assert page.nothing.isVisible() and not any(row.isVisible() for row in page.rows.values())
    page.search.clear()
    qtbot.keyClicks(page.search, "font")
    assert [name for name, row in page.rows.items() if row.isVisible()] == ["text_scale"]


def test_the_scroll_bar_has_a_handle_while_there_is_something_to_scroll(qtbot, window, page):
    (area,) = page.findChildren(QScrollArea)
    bar = area.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() > 0 and bar.isEnabled())
    qtbot.keyClicks(page.search, "memory query")
    qtbot.waitUntil(lambda: bar.maximum() == 0 and not bar.isEnabled())


def test_choice_is_applied_at_once_saved_and_reset(qtbot, window, page, memory):
    row = page.rows["theme"]
    row.editor.box.setFocus()
    row.editor.box.setCurrentIndex(2)
    row.editor.box.activated.emit(2)
    assert theme.current().dark and memory.settings["theme"] == "dark"
    assert row.origin.text().startswith("From the settings file") and row.reset.isVisible()
    qtbot.mouseClick(row.reset, Qt.MouseButton.LeftButton)
    assert memory.settings["theme"] == "system" and row.origin.text().startswith("Default")
    assert not row.reset.isVisible()


@pytest.mark.slow
def test_numbers_have_units_and_zero_says_what_it_stands_for(qtbot, page, memory):
    box = page.rows["query_memory_mb"].editor.box
    assert box.text() == "Automatic"
    box.selectAll()
    qtbot.keyClicks(box, "512")
    qtbot.keyClick(box, Qt.Key.Key_Return)
    assert box.text() == "512 MB" and memory.settings["query_memory_mb"] == 512
    assert page.rows["default_store"].editor.box.placeholderText() == "My tables"


@pytest.mark.slow
def test_number_is_applied_when_it_was_typed(qtbot, page, memory):
    box = page.rows["text_scale"].editor.box
    box.selectAll()
    qtbot.keyClicks(box, "1.5")
    assert memory.settings["text_scale"] == 1.0
    qtbot.keyClick(box, Qt.Key.Key_Return)
    assert memory.settings["text_scale"] == 1.5 == theme.current().text_scale


def test_text_that_cannot_be_is_said_at_once_and_changes_nothing(qtbot, page, memory):
    row = page.rows["mongodb_uri"]
    before = memory.settings["mongodb_uri"]
    row.editor.box.selectAll()
    qtbot.keyClicks(row.editor.box, "localhost")
    assert "mongodb://" in row.reason.text() and row.reason.isVisible()
    qtbot.keyClick(row.editor.box, Qt.Key.Key_Return)
    assert memory.settings["mongodb_uri"] == before
    row.editor.box.selectAll()
    qtbot.keyClicks(row.editor.box, "mongodb://other:1")
    qtbot.keyClick(row.editor.box, Qt.Key.Key_Return)
    assert memory.settings["mongodb_uri"] == "mongodb://other:1" and not row.reason.isVisible()


def test_the_reason_goes_when_the_saved_text_comes_back(qtbot, page):
    row = page.rows["mongodb_uri"]
    before = row.editor.box.text()
    row.editor.box.selectAll()
    qtbot.keyClicks(row.editor.box, "localhost")
    assert row.reason.isVisible() and row.editor.box.property("variant") == "invalid"
    page.refresh()
    assert row.editor.box.text() == before
    assert not row.reason.isVisible() and row.editor.box.property("variant") == ""


@pytest.mark.parametrize("kind", ["no folder", "no store", "not the whole path"])
def test_folder_without_a_store_is_refused_beside_its_field(qtbot, page, memory, tmp_path, kind):
    folder = {"no folder": tmp_path / "nowhere", "no store": tmp_path, "not the whole path": Path("here")}[
        kind
    ]
    row = page.rows["default_store"]
    row.editor.box.setText(str(folder))
    qtbot.keyClick(row.editor.box, Qt.Key.Key_Return)
    qtbot.waitUntil(row.reason.isVisible)
    said = row.reason.text().replace("\u200b", "")
    assert str(folder) in said and "New store…" in said
    assert memory.settings["default_store"] == "" and row.editor.box.text() == str(folder)


def test_folder_of_a_store_is_taken(qtbot, page, memory, tmp_path, store):
    row = page.rows["default_store"]
    row.editor.box.setText(str(tmp_path / "nowhere"))
    qtbot.keyClick(row.editor.box, Qt.Key.Key_Return)
    qtbot.waitUntil(row.reason.isVisible)
    row.editor.box.setText(str(store.path))
    qtbot.keyClick(row.editor.box, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: memory.settings["default_store"] == str(store.path))
    assert not row.reason.isVisible()
    row.editor.box.clear()
    qtbot.keyClick(row.editor.box, Qt.Key.Key_Return)
    assert memory.settings["default_store"] == ""


def test_switch_turns_the_workspace_off_and_on(qtbot, window, page):
    box = page.rows["restore_workspace"].editor.box
    box.click()
    assert not window.workspace.is_on
    box.click()
    assert window.workspace.is_on


@pytest.mark.slow
def test_setting_that_needs_a_restart_says_so(page):
    said = {name: row.origin.text() for name, row in page.rows.items()}
    assert [name for name, text in said.items() if "next start" in text] == [
        s.name for s in SETTINGS if s.restart
    ]


@pytest.mark.parametrize("origin", [Origin.ENVIRONMENT, Origin.COMMAND_LINE])
def test_value_of_this_run_is_shown_with_its_origin_and_cannot_be_changed(window, memory, origin):
    memory.settings.override(origin, "text_scale", "1.3")
    window.commands["settings"].trigger()
    row = window.tabs.current.rows["text_scale"]
    assert row.editor.box.value() == 1.3 and not row.editor.isEnabled()
    assert ("LAMELLA_TEXT_SCALE" if origin is Origin.ENVIRONMENT else "command line") in row.origin.text()


@pytest.mark.slow
def test_page_follows_what_is_changed_elsewhere(window, page, memory):
    memory.settings["theme"] = "dark"
    theme.current().set_mode("dark")
    assert page.rows["theme"].editor.box.currentData() == "dark"
