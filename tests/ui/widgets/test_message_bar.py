from __future__ import annotations

import pytest
import shiboken6
from PySide6.QtWidgets import QScrollBar, QWidget

from lamella.ui.widgets.message_bar import MessageBar


@pytest.fixture
def host(qtbot):
    widget = QWidget()
    qtbot.addWidget(widget)
    widget.resize(600, 300)
    widget.show()
    return widget


@pytest.fixture
def bar(host):
    message_bar = MessageBar(host)
    message_bar.float_over(host)
    return message_bar


def test_a_floating_message_lies_over_the_bottom_edge(host, bar) -> None:
    bar.say("Copied 2 rows")
    assert bar.geometry().bottom() == host.rect().bottom()
    assert bar.width() == host.width()
    host.resize(500, 400)
    assert bar.geometry().bottom() == 399 and bar.width() == 500


def test_a_long_message_grows_upwards(host, bar) -> None:
    bar.say("Short")
    low = bar.height()
    bar.say("A sentence that goes on. " * 20)
    assert bar.height() > low and bar.geometry().bottom() == host.rect().bottom()
    assert bar.label.height() >= bar.label.heightForWidth(bar.label.width())


def test_a_floating_message_stays_above_a_scroll_bar(host) -> None:
    below = QWidget(host)
    below.setGeometry(0, 288, 600, 12)
    below.show()
    bar = MessageBar(host)
    bar.float_over(host, below)
    bar.say("Copied 2 rows")
    assert bar.geometry().bottom() == 287
    below.hide()
    assert bar.geometry().bottom() == 299


def test_buttons_are_below_a_text_that_needs_more_than_two_lines_beside_them(host, bar) -> None:
    choices = (("Show bad lines", lambda: None), ("Read differently…", lambda: None))
    bar.say("Copied 2 rows", *choices)
    first = bar.buttons[0]
    assert first.mapTo(bar, first.rect().topLeft()).x() > bar.label.geometry().right()
    bar.say("2 lines that cannot be read are left out (line 3: it has 1 field instead of 2). " * 2, *choices)
    first = bar.buttons[0]
    assert first.mapTo(bar, first.rect().topLeft()).y() > bar.label.geometry().bottom()
    assert bar.label.height() >= bar.label.heightForWidth(bar.label.width())
    host.resize(2400, 300)
    assert first.mapTo(bar, first.rect().topLeft()).x() > bar.label.geometry().right()


def test_a_message_outlives_the_scroll_bar_it_lies_above(host) -> None:
    scroll_bar, message_bar = QScrollBar(host), MessageBar(host)
    message_bar.float_over(host, scroll_bar)
    message_bar.say("Copied 2 rows")
    shiboken6.delete(scroll_bar)
    host.resize(500, 400)
    assert message_bar.geometry().bottom() == 399
