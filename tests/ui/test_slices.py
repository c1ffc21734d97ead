"""Work of the GUI thread in slices: nothing is left out or done twice, and the window goes on meanwhile."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QTimer
from pytestqt.qtbot import QtBot

from lamella.ui.slices import SLICE_SECONDS, Slices


def slow_steps(numbers: list[int], count: int) -> Iterator[None]:
    """Each takes a slice of its own."""
    for number in range(count):
        until = time.perf_counter() + SLICE_SECONDS
        while time.perf_counter() < until:
            pass
        numbers.append(number)
        yield


def test_long_work_leaves_room_for_the_rest_of_the_window(qtbot: QtBot) -> None:
    slices, numbers, between = Slices(), list[int](), list[int]()
    QTimer.singleShot(0, slices, lambda: between.append(len(numbers)))
    with qtbot.waitSignal(slices.finished):
        slices.start(slow_steps(numbers, 5))
        assert numbers == [0] and slices.running
    assert numbers == [0, 1, 2, 3, 4] and not slices.running
    assert between[0] < 5


def test_work_can_be_finished_at_once_or_given_up(qtbot: QtBot) -> None:
    slices, numbers, ends = Slices(), list[int](), list[bool]()
    slices.finished.connect(lambda: ends.append(slices.running))
    slices.start(slow_steps(numbers, 3))
    slices.finish()
    assert numbers == [0, 1, 2] and ends == [False]
    slices.finish()  # nothing is left
    slices.start(slow_steps(numbers, 3))
    slices.start(iter(()))  # gives up the one before
    assert numbers == [0, 1, 2, 0] and ends == [False, False]
    slices.start(slow_steps(numbers, 3))
    slices.stop()
    assert not slices.running and len(ends) == 2


def test_a_step_that_fails_ends_the_work(qtbot: QtBot) -> None:
    def steps() -> Iterator[None]:
        yield
        raise ZeroDivisionError

    slices = Slices()
    with pytest.raises(ZeroDivisionError):
        slices.start(steps())
    assert not slices.running
