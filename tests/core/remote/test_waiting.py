"""Waiting for a server can be cancelled at once, whatever the server does, and throttling is reported."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import Cancelled, agg, open_dataset
from lamella.core.jobs import Job, Progress, on_behalf_of
from lamella.core.remote import http, listing, object_store, requests, server
from lamella.core.remote.addresses import Address
from lamella.core.remote.connections import Connection, Connections
from lamella.core.remote.files import files
from lamella.core.remote.paths import RemotePath
from lamella.core.remote.problems import Throttled
from tests.conftest import PATIENCE_SECONDS
from tests.remote_servers import WebServer, listing_server


@pytest.fixture
def job(monkeypatch: pytest.MonkeyPatch) -> Job:
    """A job for waits that the cancel ends before any timeout."""
    monkeypatch.setattr(http, "SILENT_SECONDS", PATIENCE_SECONDS)
    monkeypatch.setattr(object_store, "SILENT_SECONDS", PATIENCE_SECONDS)
    return Job()


@pytest.fixture
def trips(web: WebServer) -> str:
    sink = io.BytesIO()
    pq.write_table(pa.table({"n": range(50_000), "x": np.random.default_rng(4).random(50_000)}), sink)
    web.files["/trips.parquet"] = sink.getvalue()
    return f"{web.url}/trips.parquet"


@pytest.fixture
def cancels_and_is_silent(job: Job) -> Iterator[Callable[[], object]]:
    """Cancel the job on a request, and do not answer it before the test is over."""
    over = threading.Event()

    def silence() -> None:
        job.cancel()
        over.wait(PATIENCE_SECONDS)

    yield silence
    over.set()


def test_a_read_of_arrow_is_cancelled(
    web: WebServer,
    trips: str,
    job: Job,
    cancels_and_is_silent: Callable[[], object],
):
    dataset = open_dataset(trips)
    web.before_answer = cancels_and_is_silent
    with pytest.raises(Cancelled):
        dataset.read(columns=["x"], job=job)


def test_a_query_of_duckdb_is_cancelled(
    web: WebServer,
    trips: str,
    job: Job,
    cancels_and_is_silent: Callable[[], object],
):
    """This also holds if a thread of DuckDB is waiting."""
    grouped = open_dataset(trips).group_by("x").agg(n=agg.count())
    web.before_answer = cancels_and_is_silent
    with pytest.raises(Cancelled):
        grouped.read(job=job)


def test_opening_and_fetching_a_whole_copy_are_cancelled(
    web: WebServer, job: Job, cancels_and_is_silent: Callable[[], object]
):
    web.files["/rows.sqlite"] = b"x" * 1000
    path = RemotePath(f"{web.url}/rows.sqlite")
    path.stat()
    web.before_answer = cancels_and_is_silent
    with pytest.raises(Cancelled):
        files.local_copy(path, job)
    files.forget_all()
    with pytest.raises(Cancelled):
        open_dataset(f"{web.url}/rows.sqlite", job=job)


def test_a_listing_is_cancelled_in_the_middle_of_a_page(
    job: Job, cancels_and_is_silent: Callable[[], object]
):
    with listing_server() as large:
        Connections().save(Connection("large", "s3", endpoint=large.endpoint, anonymous=True))
        pages = listing.pages(Address.parse("s3://large/flat"), job=job)
        next(pages)
        large.before_answer = cancels_and_is_silent
        with pytest.raises(Cancelled):
            for _ in pages:
                pass
        large.before_answer = bool


def test_who_throttles_is_said_and_the_text_of_the_job_comes_back(web: WebServer):
    web.files["/rows.csv"], web.throttles = b"n\n1\n", 1
    texts: list[str] = []
    job = Job(lambda progress: texts.append(progress.text))
    job.report(1, 1, "Counting")
    with on_behalf_of(job):
        assert RemotePath(f"{web.url}/rows.csv").stat().st_size == 4
    host = web.url.removeprefix("http://")
    assert texts == ["Counting", f"{host} asks for fewer requests: trying again", "Counting"]
    assert job.progress == Progress(1, 1, "Counting")


def test_a_throttled_wait_is_cancelled(web: WebServer):
    web.files["/rows.csv"], web.throttles, web.retry_after = b"n\n1\n", 1, "20"
    job = Job(lambda progress: job.cancel())
    with pytest.raises(Cancelled), on_behalf_of(job):
        RemotePath(f"{web.url}/rows.csv").stat()


def test_a_server_that_throttles_for_longer_than_half_a_minute_is_not_waited_for(web: WebServer):
    web.files["/rows.csv"], web.throttles, web.retry_after = b"n\n1\n", 9, "3600"
    with pytest.raises(Throttled, match="to wait 3,600 s"):
        RemotePath(f"{web.url}/rows.csv").stat()
    assert web.throttles == 8


def test_one_wait_at_most_is_shorter_than_five_seconds():
    """As docs/remote.md promises, a wait that timed out is not repeated."""
    limits = server.CONNECT_SECONDS, server.SILENT_SECONDS
    assert max(limits) < 5
    assert object_store.RETRIES["retry_timeout"].total_seconds() <= min(limits)
    assert requests.LONGEST_THROTTLE_SECONDS == 30
