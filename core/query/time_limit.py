"""A job that ends when its time is up."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from lamella.core.errors import BadData, Cancelled, TookTooLong, shown
from lamella.core.jobs import Job


@contextmanager
def limited(job: Job, seconds: float | None, what: str) -> Iterator[Job]:
    """A job for the block that is cancelled with `job`, and when the seconds are over.

    The latter leaves the block as `TookTooLong`, naming `what`; the former as `Cancelled`, as ever.
    """
    if seconds is None:
        yield job
        return
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds < _MOST_SECONDS:
        raise BadData(f"{what}: seconds={shown(seconds)} is no time limit", fix="Give a number above 0")
    inner = Job(lambda told: job.report(told.done, told.total, told.text))
    timer = threading.Timer(seconds, inner.cancel)
    timer.start()
    try:
        with job.interrupted_by(inner.cancel):
            yield inner
    except Cancelled as error:
        if job.cancelled:
            raise
        raise TookTooLong(
            f"{what}: it took more than the {seconds:g} seconds it was given",
            fix="Ask for less, or give it more time: seconds=",
        ) from error
    finally:
        timer.cancel()
        timer.join()


_MOST_SECONDS = threading.TIMEOUT_MAX
