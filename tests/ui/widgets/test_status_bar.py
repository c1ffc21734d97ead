"""The status bar shows what runs, unless something else on screen does."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
from PySide6.QtWidgets import QWidget

from lamella.core.jobs import Job
from lamella.ui.widgets.status_bar import StatusBar


@pytest.fixture
def status(qtbot, tasks) -> StatusBar:
    bar = StatusBar(tasks)
    qtbot.addWidget(bar)
    bar.show()
    return bar


@pytest.fixture
def running(tasks) -> Iterator[Callable[..., object]]:
    """Work that goes on until the test is over, and reports now and then."""
    over = threading.Event()

    def start(shown_by: QWidget | None = None) -> None:
        def work(job: Job) -> None:
            while not over.wait(0.06):
                job.report(1, 2, "rows")

        tasks.read(work, text="Working hard").progress_widget = shown_by

    yield start
    over.set()


def test_what_runs_can_be_stopped(qtbot, status, running) -> None:
    running()
    qtbot.waitUntil(status.stop.isVisible)
    assert status.doing.text().startswith("Working hard")


@pytest.mark.slow
def test_what_is_shown_elsewhere_is_not_shown_twice(qtbot, status, running, tasks) -> None:
    elsewhere = QWidget()
    qtbot.addWidget(elsewhere)
    elsewhere.show()
    running(elsewhere)
    with qtbot.waitSignals([tasks.progressed] * 8):
        pass
    assert not status.stop.isVisible() and not status.progress.isVisible()


@pytest.mark.slow
def test_it_takes_over_while_the_other_place_is_hidden(qtbot, status, running) -> None:
    elsewhere = QWidget()
    qtbot.addWidget(elsewhere)
    elsewhere.show()
    running(elsewhere)
    elsewhere.hide()
    qtbot.waitUntil(status.stop.isVisible)
    elsewhere.show()
    qtbot.waitUntil(lambda: not status.stop.isVisible())


@pytest.mark.slow
def test_other_work_is_shown_beside_it(qtbot, status, running) -> None:
    elsewhere = QWidget()
    qtbot.addWidget(elsewhere)
    elsewhere.show()
    running(elsewhere)
    running()
    qtbot.waitUntil(status.stop.isVisible)


def test_a_long_text_leaves_room_for_the_figures(qtbot, status) -> None:
    status.resize(400, status.height())
    status.show_text("8 operators · " + "what each of them did " * 10)
    status.show_figures("Ln 12, Col 34")
    qtbot.waitUntil(lambda: status.figures.width() >= status.figures.sizeHint().width())
    assert status.text.text().endswith("…") and "what each" in status.text.toolTip()


def test_its_texts_stand_on_one_line(qtbot, status) -> None:
    status.resize(800, 33)
    status.show_standing("Table in sample")
    status.show_text("336,776 rows")
    qtbot.waitUntil(lambda: status.text.width() > 100)
    assert status.standing.geometry().center().y() == status.text.geometry().center().y()
    assert status.standing.height() == status.text.height()


def test_what_is_stopped_says_so_and_what_does_not_answer(qtbot, status, tasks, monkeypatch) -> None:
    monkeypatch.setattr("lamella.ui.tasks.GRACE_MS", 500)
    answer = threading.Event()
    tasks.read(lambda job: answer.wait(60), text="Opening trips.csv")
    qtbot.waitUntil(status.stop.isVisible)
    status.stop.click()
    assert status.doing.text() == "Stopping: Opening trips.csv" and not status.stop.isEnabled()
    qtbot.waitUntil(lambda: not status.stop.isVisible())
    assert status.doing.isVisible() and status.doing.text() == "No answer: Opening trips.csv"
    assert "does not answer" in status.doing.toolTip()
    tasks.write(lambda job: answer.wait(60), text="Importing")
    qtbot.waitUntil(status.stop.isVisible)
    assert status.doing.text() == "Importing" and status.stop.isEnabled()
    answer.set()
    qtbot.waitUntil(lambda: not status.doing.isVisible())
