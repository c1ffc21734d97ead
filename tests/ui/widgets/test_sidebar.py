from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication, QTreeWidgetItem

from lamella.ui import theme
from lamella.ui.widgets.sidebar import Sidebar, StoreEntry


@pytest.fixture
def sidebar(qtbot) -> Iterator[Sidebar]:
    made = Sidebar()
    qtbot.addWidget(made)
    made.show_stores([StoreEntry(Path("/data/sample"), "sample", ("airlines", "flights"))])
    made.resize(216, 300)
    made.show()
    yield made
    theme.current().set_mode("system")


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_the_highlight_of_a_row_is_one_piece(sidebar, mode) -> None:
    theme.current().set_mode(mode)
    sidebar.mark(("/data/sample", "flights"))
    QApplication.processEvents()
    row = sidebar.visualItemRect(sidebar.currentItem())
    image = sidebar.grab().toImage()
    colors = set()
    for edge in (row.top(), row.bottom()):
        y = sidebar.viewport().mapTo(sidebar, QPoint(0, edge)).y()
        colors |= {image.pixelColor(x, y).name() for x in range(image.width())}
    assert colors == {theme.current().color("accent_soft").name()}


def items_in_memory() -> int:
    gc.collect()
    return sum(isinstance(found, QTreeWidgetItem) for found in gc.get_objects())


def test_entries_that_are_gone_are_let_go_of(sidebar) -> None:
    def fill(turn: int) -> int:
        sidebar.show_files([Path(f"/data/{turn}-{place}.csv") for place in range(8)])
        sidebar.show_recent([Path(f"/data/recent-{turn}.csv")])
        sidebar.show_stores([StoreEntry(Path(f"/data/{turn}"), "sample", ("airlines", "flights"))])
        return items_in_memory()

    first = fill(0)
    assert {fill(turn) for turn in range(1, 6)} == {first}


def test_a_clicked_entry_may_change_the_entries(sidebar, qtbot) -> None:
    sidebar.show_files([Path("/data/a.csv"), Path("/data/b.csv")])
    sidebar.opened.connect(lambda entry: sidebar.show_files([Path(entry.key[0])]))
    item = sidebar.findItems("b.csv", Qt.MatchFlag.MatchRecursive)[0]
    point = sidebar.visualItemRect(item).center()
    qtbot.mouseClick(sidebar.viewport(), Qt.MouseButton.LeftButton, pos=point)
    assert [entry.text for entry in sidebar.entries("file")] == ["b.csv"]
