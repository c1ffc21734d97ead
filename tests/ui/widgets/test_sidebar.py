from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QApplication

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
