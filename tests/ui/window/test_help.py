"""F1 in the window and its dialogs, and the viewer: pages, search, links, keys."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QDesktopServices, QTextTable
from PySide6.QtWidgets import QApplication, QDialog

from lamella.ui import theme
from lamella.ui.help.viewer import ADDRESS, HelpViewer
from lamella.ui.window.help import page_of


@pytest.fixture
def viewer(qtbot, window) -> HelpViewer:
    window.commands["help"].trigger()
    qtbot.waitUntil(lambda: window.help.viewer is not None)
    return window.help.viewer


def listed(viewer: HelpViewer) -> list[str]:
    return [viewer.list.item(row).text() for row in range(viewer.list.count())]


def test_help_opens_at_the_page_on_what_has_the_keyboard_or_at_the_guide(qtbot, window, file_tab, viewer):
    assert viewer.isVisible() and viewer.address == "window.md#the-grid"
    assert page_of(None) == page_of(window.sidebar) == "guide.md"
    window.commands["filter"].trigger()
    qtbot.waitUntil(lambda: file_tab.steps.editor is not None)
    assert page_of(file_tab.steps.editor.builder) == "filters.md"
    window.help.show(page_of(file_tab.steps.editor.builder))
    assert viewer.address == "filters.md" and window.help.viewer is viewer


def test_help_is_about_the_grid_the_history_or_the_chart_with_the_keyboard(qtbot, window, table, settled):
    window.opening.open_key((str(table.store.path), table.name))
    tab = settled()
    assert page_of(tab.grid) == "window.md#the-grid"
    window.commands["history"].trigger()
    page = tab.inspector.history_page
    qtbot.waitUntil(page.list.hasFocus)
    assert page_of(QApplication.focusWidget()) == "compare.md#the-history-in-the-window"
    window.commands["chart"].trigger()
    qtbot.waitUntil(lambda: tab.charting.view is not None)
    assert page_of(tab.charting.view.form.boxes["x"]) == "charts.md#types"


@pytest.mark.slow
def test_dialog_has_the_key_too(qtbot, window, file_tab):
    window.commands["export"].trigger()
    qtbot.waitUntil(lambda: any(d.isVisible() for d in window.findChildren(QDialog)))
    dialog = next(d for d in window.findChildren(QDialog) if d.isVisible())
    qtbot.waitUntil(
        lambda: QApplication.focusWidget() is not None and QApplication.focusWidget().window() is dialog
    )
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_F1)
    qtbot.waitUntil(lambda: window.help.viewer is not None and window.help.viewer.address == "export.md")
    dialog.close()


def test_search_lists_sections_and_opens_one_at_its_heading(qtbot, viewer):
    pages = viewer.list.count()
    qtbot.keyClicks(viewer.search, "restore_workspace")
    assert 0 < viewer.list.count() < pages and any("Settings" in text for text in listed(viewer))
    row = next(row for row, text in enumerate(listed(viewer)) if "Settings" in text.split("\n")[0])
    qtbot.mouseClick(
        viewer.list.viewport(),
        Qt.MouseButton.LeftButton,
        pos=viewer.list.visualItemRect(viewer.list.item(row)).center(),
    )
    assert viewer.address == "command-line.md#settings"
    assert viewer.view.verticalScrollBar().value() > 0
    viewer.search.clear()
    assert viewer.list.count() == pages and viewer.list.currentItem() is not None


def test_words_of_the_search_are_marked_and_scrolled_to(qtbot, viewer):
    viewer.search.setText("REGEX flags")
    viewer.list.setCurrentRow(0)
    marks = viewer.view.extraSelections()
    assert {mark.cursor.selectedText().lower() for mark in marks} == {"regex", "flags"}
    tops = [viewer.view.cursorRect(mark.cursor).top() for mark in marks]
    assert any(0 <= top < viewer.view.viewport().height() for top in tops)
    qtbot.keyClick(viewer.search, Qt.Key.Key_Escape)
    assert viewer.isVisible() and not viewer.search.text() and not viewer.view.extraSelections()
    qtbot.keyClick(viewer.search, Qt.Key.Key_Escape)
    assert not viewer.isVisible()


def test_help_opens_without_an_earlier_search(qtbot, window, viewer):
    viewer.search.setText("zzzz")
    viewer.close()
    window.help.show("charts.md")
    assert viewer.isVisible() and not viewer.search.text() and "Charts" in listed(viewer)


@pytest.mark.slow
def test_search_that_finds_nothing_says_so(qtbot, viewer):
    qtbot.keyClicks(viewer.search, "zzzz qqqq")
    assert listed(viewer) == ["No page matches all these words."] and viewer.address == "guide.md"


def test_links_lead_to_pages_and_back_and_to_the_browser(qtbot, viewer, monkeypatch):
    opened: list[str] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url.toString()))
    viewer.view.followed.emit("filters.md")
    viewer.view.followed.emit("https://example.com/x")
    assert viewer.address == "filters.md" and opened == ["https://example.com/x"]
    qtbot.mouseClick(viewer.back, Qt.MouseButton.LeftButton)
    assert viewer.address == "guide.md" and not viewer.back.isEnabled()
    qtbot.mouseClick(viewer.forward, Qt.MouseButton.LeftButton)
    assert viewer.address == "filters.md"


@pytest.mark.slow
def test_shortcuts_are_a_page_with_tables_in_the_colours_of_the_window(qtbot, window):
    window.commands["shortcuts"].trigger()
    qtbot.waitUntil(lambda: window.help.viewer is not None)
    view = window.help.viewer.view
    assert "Ctrl+Shift+F" in view.toPlainText()

    def header() -> str:
        frames = view.document().rootFrame().childFrames()
        table = next(frame for frame in frames if isinstance(frame, QTextTable))
        return table.cellAt(0, 0).format().background().color().name()

    theme.current().set_mode("light")
    light = header()
    theme.current().set_mode("dark")
    assert header() == theme.current().color("sunken").name() != light


def test_viewer_closes_with_escape_and_with_the_window(qtbot, window, viewer):
    qtbot.keyClick(viewer, Qt.Key.Key_Escape)
    assert not viewer.isVisible()
    window.commands["help"].trigger()
    assert viewer.isVisible() and viewer.list.item(0).data(ADDRESS) == "guide.md"
    window.close()
    assert window.help.viewer is None
