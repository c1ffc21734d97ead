"""A job that is told to stop stops, whenever it was told."""

from __future__ import annotations

import threading

import pytest

from lamella.core.errors import Cancelled
from lamella.core.jobs import Job, Part


def test_a_cancel_during_registration_is_not_lost() -> None:
    class CancelledJustNow(Job):
        def check(self) -> None:
            super().check()
            self.cancel()

    heard: list[str] = []
    with CancelledJustNow().interrupted_by(lambda: heard.append("stop")):
        assert heard, "the block runs and nobody tells it to stop"


def test_interrupts_are_called_while_their_block_runs_and_not_after() -> None:
    job, heard = Job(), []
    with job.interrupted_by(lambda: heard.append("first")):
        pass
    with job.interrupted_by(lambda: heard.append("second")):
        teller = threading.Thread(target=job.cancel)
        teller.start()
        teller.join()
    assert heard == ["second"]
    with pytest.raises(Cancelled), job.interrupted_by(lambda: heard.append("third")):
        heard.append("ran")
    assert heard == ["second"]


def test_a_part_moves_the_progress_of_the_whole_job() -> None:
    job = Job()
    part = Part(job, 100, 50, 200, "second of two")
    part.report(0, 10, "its own text")
    assert (job.progress.done, job.progress.total, job.progress.text) == (100, 200, "second of two")
    part.report(5, 10)
    assert job.progress.done == 125
    part.report(10, 10)
    assert job.progress.done == 150
    job.cancel()
    with pytest.raises(Cancelled):
        part.report(10)
