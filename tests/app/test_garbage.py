"""Garbage is collected on the GUI thread alone."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator

import pytest
from pytestqt.qtbot import QtBot

from lamella.app.garbage import GarbageCollector


class Node:
    """Part of a circle, which only the collector destroys."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def collector(qtbot: QtBot) -> Iterator[GarbageCollector]:
    collector = GarbageCollector()
    yield collector
    collector.stop()
    assert gc.isenabled() and gc.get_freeze_count() == 0
    gc.freeze()  # other tests skip modules, too


def allocate() -> list[list[int]]:
    return [[number] for number in range(100_000)]


def test_garbage_of_another_thread_is_collected_on_the_gui_thread(
    qtbot: QtBot, collector: GarbageCollector
) -> None:
    destroyed_on: list[threading.Thread] = []

    def work() -> None:
        weakref.finalize(Node(), lambda: destroyed_on.append(threading.current_thread()))
        allocate()

    worker = threading.Thread(target=work)
    worker.start()
    worker.join()
    assert destroyed_on == []
    kept = allocate()
    qtbot.waitUntil(lambda: bool(destroyed_on))
    assert destroyed_on == [threading.main_thread()] and kept


def test_what_exists_after_the_start_is_skipped_and_what_comes_later_is_not(
    collector: GarbageCollector,
) -> None:
    destroyed: list[str] = []
    weakref.finalize(Node(), destroyed.append, "earlier")
    collector.skip_existing()
    weakref.finalize(Node(), destroyed.append, "later")
    kept = allocate()
    collector.collect()
    assert destroyed == ["later"] and kept


def test_little_garbage_is_left_for_later(collector: GarbageCollector) -> None:
    destroyed: list[str] = []
    gc.collect()
    weakref.finalize(Node(), destroyed.append, "destroyed")
    collector.collect()
    assert destroyed == []
