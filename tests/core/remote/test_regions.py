"""S3 buckets that are in another region than requested, and profiles without keys."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from lamella import FileProblem, open_dataset
from lamella.core.remote import listing
from lamella.core.remote.addresses import Address
from lamella.core.remote.connections import Connection, Connections
from lamella.core.remote.problems import AccessDenied
from lamella.core.remote.servers import servers
from tests.core.remote.conftest import KEYS

HOME = "eu-west-1"
LISTING = (
    "<ListBucketResult><Name>far</Name><IsTruncated>false</IsTruncated><Contents><Key>x.csv</Key><Size>4</Size>"
    '<LastModified>2026-11-28T10:00:00.000Z</LastModified><ETag>"1"</ETag></Contents></ListBucketResult>'
)


class Bucket(http.server.BaseHTTPRequestHandler):
    """Answers as S3 does for a bucket in `HOME`: with an error code, or for HEAD with only a header."""

    protocol_version = "HTTP/1.1"
    code, knows_home = "PermanentRedirect", True

    def do_GET(self) -> None:
        _, _, query = self.path.partition("?")
        if f"/{HOME}/s3/" not in self.headers.get("Authorization", ""):
            body = f"<Error><Code>{self.code}</Code></Error>".encode()
            self._answer(400 if self.code == "AuthorizationHeaderMalformed" else 301, body)
        elif query.startswith("list-type"):
            self._answer(200, LISTING.encode())
        elif "Range" in self.headers:
            self._answer(206, b"n\n7\n", ETag='"1"', **{"Content-Range": "bytes 0-3/4"})
        else:
            self._answer(200, b"n\n7\n", ETag='"1"')

    do_HEAD = do_GET  # noqa: N815

    def _answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        if self.knows_home:
            self.send_header("x-amz-bucket-region", HOME)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.send_header("Last-Modified", "Sat, 28 Nov 2026 10:00:00 GMT")
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture
def far(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A connection without a region, to a server whose bucket is not in the default region."""
    monkeypatch.setenv("TEST_ACCESS_KEY", "key")
    monkeypatch.setenv("TEST_SECRET_KEY", "secret")
    monkeypatch.delenv("AWS_REGION", raising=False)
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Bucket)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    endpoint = f"http://127.0.0.1:{server.server_address[1]}"
    Connections().save(Connection("far", "s3", endpoint=endpoint, secrets=KEYS))
    yield
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("code", ["PermanentRedirect", "AuthorizationHeaderMalformed"])
def test_the_region_of_a_bucket_is_found(far: None, monkeypatch: pytest.MonkeyPatch, code: str):
    monkeypatch.setattr(Bucket, "code", code)
    assert open_dataset("s3://far/x.csv").read()["n"].to_pylist() == [7]
    servers.forget()
    assert [e.address.key for page in listing.pages(Address.parse("s3://far")) for e in page] == ["x.csv"]


def test_a_region_that_nobody_says_is_asked_for(far: None, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Bucket, "knows_home", False)
    with pytest.raises(FileProblem, match="is in another region") as caught:
        open_dataset("s3://far/x.csv")
    assert "Set the region of the connection" in str(caught.value)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("sso_session = work", "signs in by browser"),
        ("role_arn = arn:aws:iam::1:role/reader", "assumes a role"),
        ("credential_process = find-keys", "gets its keys from a program"),
    ],
)
def test_a_profile_without_keys_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, line: str, words: str
):
    path = tmp_path / "config"
    path.write_text(f"[profile work]\nregion = eu-west-1\n{line}\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(path))
    Connections().save(Connection("work", "s3", profile="work"))
    with pytest.raises(AccessDenied, match=words) as caught:
        open_dataset("s3://far/x.csv")
    assert "aws configure export-credentials" in str(caught.value)
