"""Faults of a bucket: each is reported in time, and without secrets."""

from __future__ import annotations

import io
import logging
import os
import re
from datetime import timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import Cancelled, FileProblem, agg, open_dataset
from lamella.app import crash
from lamella.core.jobs import Job
from lamella.core.remote import files as remote_files
from lamella.core.remote import listing, object_store
from lamella.core.remote.addresses import Address
from lamella.core.remote.cache import RangeCache
from lamella.core.remote.connections import Connection, Connections
from lamella.core.remote.files import files
from lamella.core.remote.paths import RemotePath
from lamella.core.remote.problems import AccessDenied, MissingFile, Unreachable, of_status
from lamella.core.remote.servers import servers
from lamella.core.remote.trial import try_connection
from tests.core.remote.conftest import s3_connection
from tests.remote_servers import Proxy, S3Server, listing_server

ROWS = 50_000


@pytest.fixture(scope="module")
def parquet() -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table({"n": range(ROWS), "x": np.random.default_rng(3).random(ROWS)}), sink)
    return sink.getvalue()


@pytest.fixture
def address(s3: S3Server, bucket: str, parquet: bytes) -> str:
    s3.put(bucket, "data/trips.parquet", parquet)
    return f"s3://{bucket}/data/trips.parquet"


def test_missing_files_and_buckets_are_told_apart(s3: S3Server, bucket: str, address: str):
    with pytest.raises(MissingFile, match=f"Did you mean '{address}'"):
        open_dataset(address.replace("trips", "tripz"))
    with pytest.raises(MissingFile, match=f"s3://{bucket}/dada is empty or missing"):
        open_dataset(f"s3://{bucket}/dada/trips.parquet")
    with pytest.raises(MissingFile, match="There is no bucket 'no-such-bucket'"):
        open_dataset("s3://no-such-bucket/trips.parquet")


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("TEST_SECRET_KEY", "wrongwrong", "The secret key does not match the access key"),
        ("TEST_ACCESS_KEY", "AKIAWRONGWRONGWRONG1", "The server does not know the access key"),
    ],
)
def test_wrong_credentials_are_named_but_not_shown(
    address: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    lamella_home: Path,
    name: str,
    value: str,
    words: str,
):
    """They appear neither in the error nor in logs, settings, the cache, or a crash report of the error."""
    secrets = [os.environ["TEST_ACCESS_KEY"], os.environ["TEST_SECRET_KEY"], value]
    monkeypatch.setenv(name, value)
    with caplog.at_level(logging.DEBUG), pytest.raises(AccessDenied, match=words) as caught:
        open_dataset(address)
    report = crash.report_text(caught.value)
    text = f"{caught.value!s} {caught.value!r} {caplog.text} {report}"
    written = b"".join(path.read_bytes() for path in lamella_home.rglob("*") if path.is_file())
    for secret in secrets:
        assert secret not in text
        assert secret.encode() not in written


def test_missing_credentials_say_where_they_may_be(
    s3: S3Server, address: str, monkeypatch: pytest.MonkeyPatch
):
    Connections().save(Connection("test", "s3", endpoint=s3.endpoint), replace=True)
    with pytest.raises(AccessDenied, match="cannot be opened without credentials") as caught:
        open_dataset(address)
    assert "AWS_ACCESS_KEY_ID" in str(caught.value)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", s3.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", s3.secret_key)
    servers.forget()
    assert open_dataset(address).num_rows == ROWS


def test_credentials_of_a_profile(
    s3: S3Server, address: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    path = tmp_path / "credentials"
    path.write_text(
        f"[work]\naws_access_key_id = {s3.access_key}\naws_secret_access_key = {s3.secret_key}\n"
        f"endpoint_url = {s3.endpoint}\n"
    )
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(path))
    Connections().save(Connection("test", "s3", profile="work"), replace=True)
    dataset = open_dataset(address)
    assert dataset.num_rows == ROWS
    servers.forget()
    right = path.read_text()
    path.write_text(right.replace(s3.access_key, "AKIAWRONGWRONGWRONG1"))
    with pytest.raises(AccessDenied):
        dataset.read()
    path.write_text(right)  # as a tool does that signs in anew
    assert dataset.read().num_rows == ROWS


@pytest.mark.parametrize(
    ("status", "code"), [(400, "ExpiredToken"), (403, "ExpiredToken"), (400, "InvalidToken")]
)
def test_a_session_that_has_ended_is_a_matter_of_credentials(status: int, code: str):
    """Amazon answers 400, and not 403."""
    problem = of_status(Address.parse("s3://bucket/x.csv"), status, code)
    assert isinstance(problem, AccessDenied) and "session" in str(problem)


def test_an_address_can_name_its_connection(s3: S3Server, address: str):
    """The named connection is used even if another one serves the bucket."""
    bucket = Address.parse(address).place
    Connections().save(s3_connection("http://127.0.0.1:9", "test"), replace=True)
    Connections().save(s3_connection(s3.endpoint, "other"))
    with pytest.raises(Unreachable):
        open_dataset(address)
    assert open_dataset(f"s3://other@{bucket}/data/trips.parquet").num_rows == ROWS


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("drops_after", "closed the connection|broke off"),
        ("stalls_after", "did not answer in time|broke off"),
    ],
)
def test_a_server_gone_in_the_middle_is_an_error(
    proxy: Proxy, address: str, monkeypatch: pytest.MonkeyPatch, fault: str, why: str
):
    """The timeout elapses only once: no request is repeated after it."""
    monkeypatch.setattr(object_store, "SILENT_SECONDS", 0.3)
    monkeypatch.setitem(object_store.RETRIES, "retry_timeout", timedelta(seconds=0.2))
    dataset = open_dataset(address)
    setattr(proxy, fault, proxy.sent_bytes + 3000)
    requests = proxy.requests
    with pytest.raises(Unreachable, match=f"could not be reached. It ({why})"):
        dataset.read()
    if fault == "stalls_after":
        assert proxy.requests == requests + 1
    setattr(proxy, fault, None)
    assert dataset.read().num_rows == ROWS


def test_duckdb_says_the_same_of_a_server_that_is_gone(proxy: Proxy, address: str):
    dataset = open_dataset(address)
    proxy.drops_after = proxy.sent_bytes + 100
    with pytest.raises(Unreachable, match="could not be reached"):
        dataset.group_by("x").agg(n=agg.count()).read()


@pytest.mark.slow
def test_a_listing_is_paged_and_cancelled_at_once(s3: S3Server, bucket: str):
    for number in range(25):
        s3.put(bucket, f"many/{number:04}/part.csv", b"n\n1\n")
    names = [e.address.name for page in listing.pages(Address.parse(f"s3://{bucket}/many")) for e in page]
    assert names == [f"{number:04}" for number in range(25)]
    job = Job()
    pages = listing.pages(Address.parse(f"s3://{bucket}/many"), True, job)
    next(pages)
    job.cancel()
    with pytest.raises(Cancelled):
        for _ in pages:
            pass
        job.check()


def test_a_listing_without_an_end_takes_no_memory_and_ends_when_it_is_cancelled():
    """Each page of the server says that there is another one; the contents of subfolders are skipped."""
    with listing_server() as server:
        Connections().save(Connection("large", "s3", endpoint=server.endpoint, anonymous=True))
        job = Job()
        pages = listing.pages(Address.parse("s3://large/flat"), job=job)
        lengths = [len(next(pages)) for _ in range(5)]
        assert lengths == [1000] * 5
        job.cancel()
        with pytest.raises(Cancelled):
            next(pages)
        pages.close()
        assert server.pages <= 7
        nested = listing.pages(Address.parse("s3://large/"))
        assert [entry.address.name for entry in next(nested)] == ["flat"]
        nested.close()


def test_a_cache_that_cannot_be_written_is_done_without(
    s3: S3Server, address: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setattr(remote_files, "cache", RangeCache(tmp_path / "file" / "remote"))
    assert open_dataset(address).read().num_rows == ROWS
    assert open_dataset(address).where("n < 10").count() == 10


def test_the_cache_keeps_within_its_limit(s3: S3Server, bucket: str, monkeypatch: pytest.MonkeyPatch):
    """The least recently used ranges are evicted, and damaged ones are fetched again."""
    cache = RangeCache(most_bytes=3 << 20)
    monkeypatch.setattr(remote_files, "cache", cache)
    for number in range(5):
        s3.put(bucket, f"{number}.bin", bytes([number]) * (1 << 20))
        assert RemotePath(f"s3://{bucket}/{number}.bin").read_bytes() == bytes([number]) * (1 << 20)
    assert 1 << 20 < cache.size() <= 3 << 20
    paths = [path for path in cache.folder.rglob("*") if path.is_file()]
    for path in paths:
        path.write_bytes(b"x" * path.stat().st_size)
    files.forget_all()
    assert RemotePath(f"s3://{bucket}/4.bin").read_bytes() == bytes([4]) * (1 << 20)
    cache.clear()
    assert cache.size() == 0


def test_a_connection_is_tried(s3: S3Server, bucket: str, address: str):
    connection = Connections()["test"]
    trial = try_connection(connection, f"s3://{bucket}/data")
    assert trial.names == ("trips.parquet",)
    assert "trips.parquet" in trial.sentence
    with pytest.raises(FileProblem, match="There is no bucket"):
        try_connection(connection, "s3://no-such-bucket/")
    with pytest.raises(FileProblem, match="could not be reached"):
        try_connection(s3_connection("http://127.0.0.1:9"), address)


def test_a_lost_answer_to_the_end_of_an_upload_is_no_error(
    s3: S3Server, proxy: Proxy, bucket: str, tmp_path: Path
):
    """The request is repeated, but the server no longer knows the upload, which it has completed."""
    draft = tmp_path / "large.bin"
    draft.write_bytes(np.random.default_rng(1).bytes(9 << 20))
    target = RemotePath(f"s3://{bucket}/large.bin")
    proxy.loses_answer_to = re.compile(rb"^POST \S*[?&]uploadId=")
    servers.server(target.address).upload(target.address, draft, Job())
    assert proxy.loses_answer_to is None, "no answer was lost"
    assert s3.client.get_object(Bucket=bucket, Key="large.bin")["Body"].read() == draft.read_bytes()
    assert "Uploads" not in s3.client.list_multipart_uploads(Bucket=bucket)
