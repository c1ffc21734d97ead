"""Files of web servers are read by ranges if the server supports them, and every fault is described."""

from __future__ import annotations

import gzip
import io
import logging
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import FileProblem, LamellaError, export, open_dataset
from lamella.app import crash
from lamella.app.cli import main
from lamella.core.datasets.locate import is_changed_on_disk
from lamella.core.remote import files as remote_files
from lamella.core.remote.addresses import Address
from lamella.core.remote.cache import RangeCache
from lamella.core.remote.connections import Connection, Connections
from lamella.core.remote.files import files
from lamella.core.remote.paths import RemotePath
from lamella.core.remote.problems import AccessDenied, MissingFile, Unreachable
from tests.remote_servers import WebServer

ROWS = 100_000


@pytest.fixture(scope="module")
def parquet() -> bytes:
    sink = io.BytesIO()
    values = np.random.default_rng(2).random(ROWS)
    pq.write_table(pa.table({"n": np.arange(ROWS), "x": values}), sink, row_group_size=ROWS // 4)
    return sink.getvalue()


def test_parquet_is_read_by_ranges(web: WebServer, parquet: bytes):
    web.files["/data/my trips.parquet"] = parquet
    dataset = open_dataset(f"{web.url}/data/my%20trips.parquet?v=1")
    assert dataset.name == "my trips"
    assert dataset.read(columns=["n"], limit=5)["n"].to_pylist() == [0, 1, 2, 3, 4]
    assert web.sent_bytes < len(parquet) // 2
    assert dataset.where("x > 0.5").count() == dataset.where("x > 0.5").read().num_rows


def test_text_comes_in_order(web: WebServer):
    web.files["/rows.csv"] = b"n,word\n" + b"".join(b"%d,w%d\n" % (i, i) for i in range(50_000))
    rows = open_dataset(f"{web.url}/rows.csv").read()
    assert rows["n"].to_pylist() == list(range(50_000))


@pytest.mark.parametrize("answers_head", [True, False])
def test_a_server_without_ranges_sends_the_whole_once(web: WebServer, parquet: bytes, answers_head: bool):
    web.has_ranges, web.answers_head = False, answers_head
    web.files["/trips.parquet"] = parquet
    assert open_dataset(f"{web.url}/trips.parquet").read()["n"].to_pylist() == list(range(ROWS))
    assert web.sent_bytes <= 3 * len(parquet)


def test_a_throttling_server_is_asked_again(web: WebServer, parquet: bytes):
    web.files["/trips.parquet"], web.throttles = parquet, 2
    assert open_dataset(f"{web.url}/trips.parquet").num_rows == ROWS
    assert web.throttles == 0


def test_a_slow_server_is_waited_for(web: WebServer):
    web.files["/rows.csv"] = b"n\n" + b"1234567\n" * 40_000
    web.seconds_a_piece = 0.05
    assert open_dataset(f"{web.url}/rows.csv").read().num_rows == 40_000


def test_a_file_that_changes_between_ranges_is_refused(web: WebServer, parquet: bytes):
    """Only the etag shows the change: size and time are the same."""
    web.files["/trips.parquet"] = parquet
    dataset = open_dataset(f"{web.url}/trips.parquet")
    web.etags["/trips.parquet"] = '"another"'
    with pytest.raises(FileProblem) as caught:
        dataset.read()
    assert is_changed_on_disk(caught.value)
    assert open_dataset(f"{web.url}/trips.parquet").read().num_rows == ROWS


def test_a_file_that_shrinks_between_ranges_is_refused(web: WebServer, parquet: bytes):
    """Only the ranges beyond its end show the change: the server sends no etag or time."""
    web.etags["/trips.parquet"] = '"same"'
    for length in (len(parquet) // 2, 10):
        web.files["/trips.parquet"] = parquet
        files.forget_all()
        dataset = open_dataset(f"{web.url}/trips.parquet")
        web.files["/trips.parquet"] = parquet[:length]
        with pytest.raises(FileProblem) as caught:
            dataset.read()
        assert is_changed_on_disk(caught.value)


def test_text_that_is_sent_compressed_opens(web: WebServer):
    """It is compressed although that was not requested: it is stored compressed, and ranges are of these
    bytes."""
    web.files["/rows.csv"] = gzip.compress(b"n\n" + b"12345\n" * 50_000)
    web.headers["Content-Encoding"] = "gzip"
    for web.has_ranges in (True, False):
        assert open_dataset(f"{web.url}/rows.csv").read().num_rows == 50_000
        files.forget_all()


def test_ranges_of_another_place_are_not_believed(web: WebServer, parquet: bytes):
    web.files["/trips.parquet"], web.ranges_begin_late = parquet, 3
    assert open_dataset(f"{web.url}/trips.parquet").read()["n"].to_pylist() == list(range(ROWS))


@pytest.mark.parametrize("address", ["http://127.0.0.1:99999/trips.csv", "http://[::1/trips.csv"])
def test_an_address_that_is_none_is_not_called_a_redirect(address: str):
    with pytest.raises(Unreachable, match="is not valid"):
        open_dataset(address)


def test_redirects_are_followed_and_circles_are_told(web: WebServer, parquet: bytes):
    web.files["/trips.parquet"] = parquet
    web.redirects = {"/latest": "/newest", "/newest": "/trips.parquet", "/a": "/b", "/b": "/a"}
    assert open_dataset(f"{web.url}/latest").num_rows == ROWS
    with pytest.raises(Unreachable, match="redirects in a circle"):
        open_dataset(f"{web.url}/a")
    assert len([line for line in web.log if line.startswith("HEAD /a")]) <= 4


def test_what_the_cache_has_no_room_for_is_fetched_once(web: WebServer, monkeypatch: pytest.MonkeyPatch):
    web.files["/rows.sqlite"] = b"x" * 5000
    monkeypatch.setattr(remote_files, "cache", RangeCache(most_bytes=0))
    path = RemotePath(f"{web.url}/rows.sqlite")
    copy = files.local_copy(path)
    assert copy.read_bytes() == b"x" * 5000
    assert files.local_copy(path) == copy
    remote_files.remove_temporary_copies()
    assert not copy.parent.exists()
    assert files.local_copy(path).read_bytes() == b"x" * 5000


def test_an_answer_that_is_cut_off_is_an_error(web: WebServer, parquet: bytes):
    web.files["/trips.parquet"] = parquet
    dataset = open_dataset(f"{web.url}/trips.parquet")
    web.cuts_to = 1000
    with pytest.raises(Unreachable, match="broke off"):
        dataset.read(columns=["x"])
    web.cuts_to = None
    assert dataset.read(columns=["x"]).num_rows == ROWS


def test_half_a_file_is_no_parquet(web: WebServer, parquet: bytes):
    web.files["/trips.parquet"] = parquet[: len(parquet) // 2]
    with pytest.raises(FileProblem, match=r"trips\.parquet"):
        open_dataset(f"{web.url}/trips.parquet")


def test_missing_and_forbidden(web: WebServer, parquet: bytes, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(MissingFile, match="is not there"):
        open_dataset(f"{web.url}/none.parquet")
    web.files["/trips.parquet"], web.login = parquet, "Basic YW5uOnNlY3JldA=="
    with pytest.raises(AccessDenied, match="credentials"):
        open_dataset(f"{web.url}/trips.parquet")
    monkeypatch.setenv("WEB_PASSWORD", "secret")
    host = web.url.removeprefix("http://")
    Connections().save(
        Connection("web", "http", account="ann", places=(host,), secrets={"password": "env:WEB_PASSWORD"})
    )
    assert open_dataset(f"{web.url}/trips.parquet").num_rows == ROWS


@pytest.mark.parametrize(
    "path", ["/o/a%2Fb.csv", "/o/100%25.csv", "/v;1/a,b=c@d%3Be.csv", "/r%C3%BCck%20seite.csv", "/%FC.csv"]
)
def test_an_address_is_asked_for_as_it_is_written(path: str):
    """Signs that are escaped mean something else: in one name, `%2F` is no folder."""
    address = Address.parse(f"https://host{path}?v=1")
    assert address.url == f"https://host{path}?v=1"
    assert Address.parse(str(address)) == address


def test_names_of_web_files_are_those_that_people_read(web: WebServer):
    web.files["/o/deep/my rows.csv"] = b"n\n1\n"
    dataset = open_dataset(f"{web.url}/o/deep%2Fmy%20rows.csv?alt=media")
    assert (dataset.name, dataset.num_rows) == ("my rows", 1)
    assert "GET /o/deep%2Fmy%20rows.csv?alt=media" in " ".join(web.log)


def test_the_proxy_of_the_environment_is_asked(web: WebServer, monkeypatch: pytest.MonkeyPatch):
    """Requests carry the login of its address, and skip the hosts in `NO_PROXY`."""
    web.files["http://data.example/rows.csv"] = web.files["/rows.csv"] = b"n\n1\n"
    monkeypatch.setenv("http_proxy", f"ann:hunter2@{web.url[7:]}")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert open_dataset(f"{web.url}/rows.csv").num_rows == 1
    assert open_dataset("http://data.example/rows.csv").num_rows == 1
    assert "GET http://data.example/rows.csv" in " ".join(web.log)
    for proxy, why in (
        ("127.0.0.1:9", "proxy does not answer"),
        ("socks5://127.0.0.1:9", "Only http and https"),
    ):
        monkeypatch.setenv("http_proxy", proxy)
        with pytest.raises(Unreachable, match=why):
            open_dataset("http://data.example/other.csv")


def test_secrets_in_addresses_are_not_shown(web: WebServer, parquet: bytes):
    web.files["/trips.parquet"] = parquet
    dataset = open_dataset(f"{web.url}/trips.parquet?X-Amz-Signature=abc123&v=2")
    assert dataset.num_rows == ROWS
    assert "GET /trips.parquet?X-Amz-Signature=abc123&v=2" in " ".join(web.log)
    path_text = str(dataset.paths[0])
    assert "abc123" not in path_text
    assert path_text.endswith("?X-Amz-Signature=…&v=2")
    with pytest.raises(FileProblem, match="password") as caught:
        open_dataset(f"http://ann:hunter2@{web.url[7:]}/trips.parquet")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "address",
    [
        "https://hunter2@127.0.0.1:9/trips.csv",
        "https://ann:hunter2@127.0.0.1:9/trips.csv",
        "https://hunter2@/trips.csv",
        "https://ann:hunter2@127.0.0.1:9/a\nb.csv",
        "az://container/trips.csv?sv=2024&sig=hunter2",
        "s3://ann:hunter2@bucket/trips.csv",
        "s3://ann:hun/ter2hunter2@bucket/trips.csv",
        "http://127.0.0.1:9/trips.csv?token=hunter2",
    ],
)
def test_a_secret_in_an_address_is_nowhere_to_be_seen(
    address: str, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture, lamella_home: Path
):
    """It appears neither in a command's output nor in logs, files in the user's folder, or a crash report."""
    with caplog.at_level(logging.DEBUG):
        assert main(["query", address, "--limit", "1"]) == 2
    with pytest.raises(LamellaError) as caught:
        open_dataset(address)
    texts = f"{capsys.readouterr()} {caplog.text} {caught.value!r} {crash.report_text(caught.value)}"
    assert "hunter2" not in texts
    for path in lamella_home.rglob("*"):
        assert not path.is_file() or b"hunter2" not in path.read_bytes()


def test_a_web_address_may_name_a_connection(web: WebServer, parquet: bytes):
    web.files["/trips.parquet"] = parquet
    Connections().save(Connection("ours", "http"))
    assert open_dataset(f"http://ours@{web.url[7:]}/trips.parquet").num_rows == ROWS


@pytest.mark.parametrize(
    "name",
    ["client_secret", "access-token", "apikey", "auth", "pwd", "Key-Pair-Id", "Policy", "X-Goog-Signature"],
)
def test_parameters_that_may_be_secret_are_hidden(name: str):
    address_text = str(Address.parse(f"https://host/x.csv?page=2&{name}=abc123"))
    assert address_text == f"https://host/x.csv?page=2&{name}=…"


def test_a_server_that_is_gone_is_an_error_and_writing_is_refused(web: WebServer, parquet: bytes):
    web.files["/trips.parquet"] = parquet
    dataset = open_dataset(f"{web.url}/trips.parquet")
    with pytest.raises(FileProblem, match="Web servers can only be read"):
        export(dataset, f"{web.url}/copy.csv")
    web.leave()
    with pytest.raises(Unreachable, match="could not be reached"):
        dataset.read()
