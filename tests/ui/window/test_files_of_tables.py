"""Files of several tables in the window: the choice, a tab for each, and the ways back to them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from lamella import Store
from lamella.core.datasets.tables import TableEntry
from lamella.core.store.paths import CATALOG
from lamella.ui.dialogs.open_import import ImportDialog
from lamella.ui.dialogs.table_choice import MOST_CHECKED_TABLES, NAME, TableChoice
from tests.core.datasets.workbooks import shop_database, workbook


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return shop_database(tmp_path)


def choice(qtbot, window) -> TableChoice:
    qtbot.waitUntil(lambda: window.findChild(TableChoice) is not None)
    return window.findChild(TableChoice)


def test_a_file_of_several_tables_asks_which(qtbot, window, shop: Path) -> None:
    window.open_paths([shop])
    dialog = choice(qtbot, window)
    items = [dialog.list.topLevelItem(place) for place in range(2)]
    assert [[item.text(column) for column in range(3)] for item in items] == [
        ["customers", "2", "2"],
        ["orders", "3", "2"],
    ]
    assert dialog.open_button.text() == "Open 2 tables"
    dialog.open_button.click()
    qtbot.waitUntil(lambda: len(window.tabs.dataset_tabs) == 2)
    qtbot.waitUntil(lambda: all(tab.content for tab in window.tabs.dataset_tabs))
    assert [(tab.name, tab.status) for tab in window.tabs.dataset_tabs] == [
        ("shop.db · customers", "2 rows"),
        ("shop.db · orders", "3 rows"),
    ]
    assert [entry.key for entry in window.sidebar.entries("file")] == [(str(shop),)]
    window.sidebar_actions.list_views()
    qtbot.waitUntil(lambda: not window.tasks.running)
    assert window.sidebar.tree.currentItem().text(0) == "shop.db"
    assert window.memory.recent == [shop]


def test_only_what_is_checked_is_opened(qtbot, window, shop: Path) -> None:
    window.open_paths([shop])
    dialog = choice(qtbot, window)
    dialog.all_button.click()
    assert not dialog.open_button.isEnabled() or dialog.checked_names == []
    dialog.list.topLevelItem(1).setCheckState(NAME, Qt.CheckState.Checked)
    dialog.open_button.click()
    qtbot.waitUntil(lambda: len(window.tabs.dataset_tabs) == 1)
    tab = window.tabs.dataset_tab
    qtbot.waitUntil(lambda: tab.content is not None)
    assert tab.key == (str(shop), "", "orders")
    tab.line_actions.copy("python")
    qtbot.waitUntil(lambda: f"open_dataset({str(shop)!r}, table='orders')" in QApplication.clipboard().text())


@pytest.mark.slow
def test_a_closed_table_of_a_file_is_opened_again(qtbot, window, shop: Path) -> None:
    window.opening.open_key((str(shop), "", "orders"))
    qtbot.waitUntil(lambda: len(window.tabs.dataset_tabs) == 1)
    window.tabs.close_at(0)
    window.commands["reopen_tab"].trigger()
    qtbot.waitUntil(lambda: len(window.tabs.dataset_tabs) == 1)
    assert window.tabs.dataset_tab.name == "shop.db · orders"


@pytest.mark.slow
def test_a_table_follows_its_database(qtbot, window, shop: Path) -> None:
    window.opening.open_key((str(shop), "", "orders"))
    qtbot.waitUntil(
        lambda: window.tabs.dataset_tab is not None and window.tabs.dataset_tab.status == "3 rows"
    )
    with closing(sqlite3.connect(shop)) as connection, connection:
        connection.execute("INSERT INTO orders VALUES (2, 9)")
    window.commands["refresh"].trigger()
    qtbot.waitUntil(lambda: window.tabs.dataset_tab.status == "4 rows")


@pytest.mark.slow
def test_remarks_about_a_sheet_are_shown(qtbot, window, tmp_path: Path) -> None:
    window.open_paths([workbook(tmp_path / "a.xlsx", {"a": [["Title"], ["n", "m"], [1, 2]]})])
    qtbot.waitUntil(
        lambda: window.tabs.dataset_tab is not None and window.tabs.dataset_tab.content is not None
    )
    messages = window.tabs.dataset_tab.messages
    assert messages.isVisible() and "left out: Title." in messages.label.text()


def test_an_import_lists_every_table(qtbot, window, shop: Path) -> None:
    window.opening.import_paths([shop])
    qtbot.waitUntil(lambda: window.findChild(ImportDialog) is not None)
    dialog = window.findChild(ImportDialog)
    qtbot.waitUntil(dialog.import_button.isEnabled)
    assert dialog.title.text() == "Import 2 tables"
    dialog.import_button.click()
    qtbot.waitUntil(lambda: sorted(window.library.home.tables) == ["customers", "orders"])
    qtbot.waitUntil(lambda: len(window.tabs.dataset_tabs) == 2)


def test_the_catalog_of_a_store_opens_the_store(qtbot, window, tmp_path: Path) -> None:
    Store.open(tmp_path / "other").close()
    window.open_paths([tmp_path / "other" / CATALOG])
    qtbot.waitUntil(lambda: tmp_path / "other" in [store.path for store in window.library.stores])


def test_of_very_many_tables_the_first_is_checked(qtbot) -> None:
    dialog = TableChoice("a.db", [TableEntry(f"t{n}", rows=n) for n in range(MOST_CHECKED_TABLES + 1)])
    qtbot.addWidget(dialog)
    assert dialog.checked_names == ["t0"]
    dialog.all_button.click()
    assert len(dialog.checked_names) == MOST_CHECKED_TABLES + 1


def test_hidden_sheets_are_listed_unchecked(qtbot) -> None:
    tables = [TableEntry("a", "sheet"), TableEntry("b", "hidden sheet", 5, 2, is_offered=False)]
    dialog = TableChoice("a.xlsx", tables)
    qtbot.addWidget(dialog)
    assert dialog.title.text() == "a.xlsx holds 2 sheets" and dialog.open_button.text() == "Open 1 sheet"
    assert dialog.checked_names == ["a"] and dialog.list.topLevelItem(1).text(NAME) == "b (hidden sheet)"
