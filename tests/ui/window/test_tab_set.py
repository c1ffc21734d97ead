from __future__ import annotations

import pytest
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QToolButton, QWidget

from lamella.ui import theme
from lamella.ui.window.tab_set import TabSet
from tests.ui.test_theme import contrast


@pytest.fixture
def many_tabs(qtbot):
    tabs = TabSet(QWidget())
    qtbot.addWidget(tabs)
    tabs.resize(500, 200)
    tabs.show()
    for number in range(12):
        tabs.add(QWidget(), f"another file {number}.parquet", "file", "")
    yield tabs
    theme.current().set_mode("system")


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_arrows_of_tabs_that_overflow_are_seen(many_tabs, mode) -> None:
    theme.current().set_mode(mode)
    arrows = [arrow for arrow in many_tabs.tabs.tabBar().findChildren(QToolButton) if arrow.isVisible()]
    assert len(arrows) == 2
    for arrow in arrows:
        assert arrow.width() >= 24
        if arrow.isEnabled():
            image = arrow.grab().toImage()
            inside = [image.pixelColor(x, y) for x in range(4, image.width() - 4) for y in range(8, 28)]
            ground = QColor(theme.current().colors.surface).name()
            assert max(contrast(pixel.name(), ground) for pixel in inside) > 4.5
