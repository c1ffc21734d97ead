"""Uploads in parts to Google Cloud Storage, against a server that enforces Google's documentation."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import Cancelled, export, open_dataset
from lamella.core.jobs import Job
from lamella.core.remote import object_store, object_uploads, watchdog
from lamella.core.remote.connections import Connection, Connections
from lamella.core.remote.paths import RemotePath
from lamella.core.remote.problems import AccessDenied, RemoteProblem, Throttled
from lamella.core.remote.servers import servers
from lamella.core.transfer import uploads
from tests.cloud_servers import TOKEN, GoogleServer, google_server
from tests.remote_servers import PATIENCE_SECONDS

TARGET = "gs://trips/large file.bin"
PLACE = "/trips/large file.bin"


@pytest.fixture
def google(monkeypatch: pytest.MonkeyPatch) -> Iterator[GoogleServer]:
    """The server, with a saved connection that refers to the environment for its secret."""
    monkeypatch.setenv("TEST_GOOGLE_TOKEN", TOKEN)
    with google_server() as server:
        secrets = {"token": "env:TEST_GOOGLE_TOKEN"}
        Connections().save(Connection("google", "gs", endpoint=server.endpoint, secrets=secrets))
        yield server


@pytest.fixture
def draft(tmp_path: Path) -> Path:
    """A file of three parts."""
    path = tmp_path / "large.bin"
    path.write_bytes(np.random.default_rng(1).bytes(20 << 20))
    return path


@pytest.fixture
def short_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "QUIET_SECONDS", 0.1)
    monkeypatch.setattr(watchdog, "PROBE_SECONDS", 0.15)


def send(draft: Path, job: Job | None = None) -> None:
    uploads.send(draft, RemotePath(TARGET).address, job or Job(), is_new=True)


def parts(google: GoogleServer) -> list[str]:
    """Return the numbers of the parts that were sent, including repeated ones."""
    return sorted(line.split()[1].removeprefix("partNumber=") for line in google.log if "partNumber=" in line)


def test_an_export_arrives_whole(google: GoogleServer, tmp_path: Path):
    rows = pa.table({"n": np.random.default_rng(1).integers(-(1 << 63), 1 << 63, 1_600_000, endpoint=False)})
    pq.write_table(rows, tmp_path / "rows.parquet", use_dictionary=False)
    export(open_dataset(tmp_path / "rows.parquet"), "gs://trips/out/rows.parquet")
    assert parts(google) == ["1", "2"]
    assert google.uploads == {}
    assert len(google.objects["/trips/out/rows.parquet"]) > 12_000_000
    assert open_dataset("gs://trips/out/rows.parquet").read().equals(rows)


class CancelledOnceAPartIsThere(Job):
    def __init__(self, has_part: threading.Event) -> None:
        super().__init__()
        self._has_part = has_part

    def report(self, position: int, total: int | None = None, text: str = "") -> None:
        super().report(position, total, text)
        if position > 16 << 20 and not self.cancelled:
            assert self._has_part.wait(PATIENCE_SECONDS)
            self.cancel()


def test_a_cancel_in_the_middle_leaves_no_part_and_no_object(google: GoogleServer, draft: Path):
    with pytest.raises(Cancelled):
        send(draft, CancelledOnceAPartIsThere(google.has_part))
    draft.write_bytes(b"another")
    send(draft)  # waits until the first has ended
    assert google.uploads == {}
    assert google.objects == {PLACE: b"another"}
    assert any(line.startswith("DELETE uploadId=") for line in google.log)


def test_a_part_that_the_server_refuses_is_sent_again_and_no_other(google: GoogleServer, draft: Path):
    google.refusals[2] = 2
    send(draft)
    assert parts(google) == ["1", "2", "2", "2", "3"]
    assert google.objects[PLACE] == draft.read_bytes()


@pytest.mark.slow
def test_an_upload_that_the_server_goes_on_to_refuse_begins_anew(
    google: GoogleServer, draft: Path, monkeypatch: pytest.MonkeyPatch
):
    """After a pause, like other requests; the parts of the first upload are removed."""
    monkeypatch.setattr(object_uploads, "UPLOAD_RETRIES", object_uploads.UPLOAD_RETRIES | {"max_retries": 0})
    google.refusals[3] = 1
    send(draft)
    assert google.objects[PLACE] == draft.read_bytes()
    assert google.uploads == {}
    google.refusals[3] = 1
    address = RemotePath(TARGET).address
    with pytest.raises(Throttled):
        servers.server(address).upload(address, draft, Job())
    assert google.uploads == {}


def test_a_slow_line_and_a_slow_server_are_waited_for(
    google: GoogleServer, draft: Path, monkeypatch: pytest.MonkeyPatch
):
    """The answer to a part arrives when all of it is sent, which takes longer than a silent server is
    given."""
    monkeypatch.setattr(object_store, "SILENT_SECONDS", 0.1)
    google.seconds_a_part = google.seconds_to_complete = 0.15
    send(draft)
    assert google.objects[PLACE] == draft.read_bytes()
    assert parts(google) == ["1", "2", "3"]


def test_a_file_of_more_parts_than_a_server_takes_has_larger_ones(
    google: GoogleServer, draft: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(object_uploads, "MOST_PARTS", 2)
    send(draft)
    assert parts(google) == ["1", "2"]
    assert google.objects[PLACE] == draft.read_bytes()


def test_an_upload_that_is_not_allowed_says_so(
    google: GoogleServer, draft: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TEST_GOOGLE_TOKEN", "another")
    with pytest.raises(AccessDenied, match="may not be written"):
        send(draft)
    assert google.objects == {}


def test_a_lost_answer_to_the_end_of_an_upload_is_no_error(google: GoogleServer, draft: Path):
    """The request is repeated, but the server no longer knows the upload, which it has completed."""
    google.loses_answer_to_end = True
    send(draft)
    assert google.objects[PLACE] == draft.read_bytes()
    assert google.uploads == {}


def test_an_upload_that_does_not_come_to_its_end_says_so(
    google: GoogleServer, draft: Path, monkeypatch: pytest.MonkeyPatch
):
    """This also holds if a file of the same size exists, which stays."""
    monkeypatch.setattr(object_uploads, "UPLOAD_RETRIES", object_uploads.UPLOAD_RETRIES | {"max_retries": 0})
    earlier = bytes(20 << 20)
    google.objects[PLACE] = earlier
    google.refuses_end = True
    with pytest.raises(RemoteProblem, match="500"):
        send(draft)
    assert google.objects[PLACE] == earlier
    assert google.uploads == {}


def test_an_upload_that_the_server_forgot_does_not_say_that_the_file_is_missing(
    google: GoogleServer, draft: Path
):
    google.forgets_upload = True
    with pytest.raises(RemoteProblem, match=r"could not be written.*no longer knows the upload"):
        send(draft)
    assert google.objects == {}


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("moment", ["part", "end"])
def test_a_server_that_falls_silent_in_an_upload_is_given_up(
    google: GoogleServer, draft: Path, moment: str, short_patience: None
):
    google.falls_silent_at = moment
    with pytest.raises(watchdog.Silent, match="stopped answering"):
        send(draft)
    assert PLACE not in google.objects


@pytest.mark.slow
def test_a_slow_server_that_answers_is_waited_for(google: GoogleServer, draft: Path, short_patience: None):
    """An answer with an error is a sign of life, too."""
    google.seconds_a_part = 1.0
    google.refusal_of_probes = 503
    send(draft)
    assert google.objects[PLACE] == draft.read_bytes()
    assert parts(google) == ["1", "2", "3"]
    assert sum(line.startswith("HEAD") for line in google.log) > watchdog.PROBES
