"""Spark Connect servers: addresses, answers, cancelling, and servers that are gone, slow or refuse."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella.core.errors import BadData, Cancelled
from lamella.core.jobs import Job
from lamella.core.remote import spark_connect
from lamella.core.remote.connections import Connection, Connections
from lamella.core.remote.spark_connect import (
    ServerAddress,
    ServerProblem,
    ServerRefusal,
    ServerTable,
    SparkServer,
    parse_address,
    server_at,
)
from lamella.core.remote.trial import try_connection
from tests import spark_servers
from tests.conftest import PATIENCE_SECONDS
from tests.remote_servers import web_server
from tests.tls_servers import Authority, tls_server

ENDLESS = "SELECT sum(a.id * b.id) AS n FROM range(10000000) AS a, range(10000000) AS b"
ENDLESS_GROUPS = "SELECT id % 7 AS k, count(*) AS n FROM range(1000000000000) GROUP BY 1"
"""A server checks for an interrupt between two batches of rows, and a join can turn one batch into many."""


@pytest.fixture
def server(spark_address: str) -> Iterator[SparkServer]:
    connected = SparkServer(parse_address(spark_address)[0])
    yield connected
    connected.close()


def test_a_session_that_the_server_ended_begins_anew(server: SparkServer) -> None:
    assert server.read("SELECT 1 AS n").to_pylist() == [{"n": 1}]
    server._client.release_session()  # as a server does once it was idle for long
    assert server.read("SELECT 2 AS n").to_pylist() == [{"n": 2}]
    zone = server.read("SELECT current_timezone() AS zone").column("zone").to_pylist()
    assert zone == [spark_connect.ZONE], "what holds in a session holds in the new one"
    with pytest.raises(ServerRefusal):
        server.read("SELECT nothing FROM nowhere")


@pytest.mark.parametrize(
    ("text", "host", "port", "table", "sql"),
    [
        ("sc://spark/trips", "spark", 15002, ("trips",), "`trips`"),
        ("sc://spark:7/lake.sales.trips", "spark", 7, ("lake", "sales", "trips"), "`lake`.`sales`.`trips`"),
        ("sc://[::1]:7/`a.b`.`we``ird`", "[::1]", 7, ("a.b", "we`ird"), "`a.b`.`we``ird`"),
        ("sc://h/parquet:/data/a b/x.y", "h", 15002, (), "`parquet`.`/data/a b/x.y`"),
        ("sc://h/delta:s3://b/trips", "h", 15002, (), "`delta`.`s3://b/trips`"),
    ],
)
def test_parse_address_and_back(text: str, host: str, port: int, table: tuple[str, ...], sql: str) -> None:
    address, named = parse_address(text)
    assert (address.host, address.port) == (host, port)
    assert named is not None and named.parts == table and named.sql == sql
    assert parse_address(address.of(named)) == (address, named)


def test_parse_address_with_ssl_and_without_table() -> None:
    address, table = parse_address("sc://spark.example.org:443/;use_ssl=true")
    assert address == ServerAddress("spark.example.org", 443, use_ssl=True) and table is None
    assert parse_address(address.of(ServerTable(("t",))))[0] == address


@pytest.mark.parametrize("text", ["sc://", "sc://h:0/t", "http://h/t", "sc://h/`a", "sc://h/xlsx:/a"])
def test_parse_address_refuses(text: str) -> None:
    with pytest.raises(BadData):
        parse_address(text)


@pytest.mark.parametrize("login", ["me:hunter2", "me:hun/ter2", "hunter2"])
def test_parse_address_refuses_a_login_and_does_not_repeat_it(login: str) -> None:
    with pytest.raises(BadData, match="contains a secret") as caught:
        parse_address(f"sc://{login}@spark:15002/trips")
    assert "hun" not in str(caught.value)


def test_parse_address_refuses_a_token_and_does_not_repeat_it() -> None:
    with pytest.raises(BadData, match="contains a secret") as caught:
        parse_address("sc://h:443/;use_ssl=true;token=abc123xyz")
    assert "abc123xyz" not in str(caught.value)


def test_read_gives_arrow(server: SparkServer) -> None:
    table = server.read("SELECT 1L AS n, 'a' AS k, timestamp'2024-01-02 03:04:05' AS z")
    assert table.schema.field("z").type == pa.timestamp("us", "UTC")
    assert table.to_pylist()[0]["n"] == 1


def test_schema_without_rows(server: SparkServer) -> None:
    assert server.schema("SELECT 1L AS n, raise_error('it ran') AS e").names == ["n", "e"]


def test_read_says_what_the_server_refuses(server: SparkServer) -> None:
    with pytest.raises(ServerRefusal, match="nowhere"):
        server.read("SELECT * FROM nowhere")


def test_a_port_where_nothing_listens() -> None:
    with socket.socket() as busy_socket:
        busy_socket.bind(("127.0.0.1", 0))
        with pytest.raises(ServerProblem, match="does not answer"):
            SparkServer(ServerAddress("127.0.0.1", busy_socket.getsockname()[1])).read("SELECT 1")


def ask(server: SparkServer, sql: str, job: Job) -> Future[pa.Table]:
    """Ask on a separate thread."""
    pool = ThreadPoolExecutor(1)
    answer = pool.submit(server.read, sql, job)
    pool.shutdown(wait=False)
    return answer


@pytest.fixture
def own_server() -> Iterator[spark_servers.Server]:
    """A server for statements that continue after they were stopped, as with Sail: on the shared server, they
    would take the processor from other tests."""
    with spark_servers.sail() as running:
        yield running


def test_statements_run_side_by_side_until_one_is_cancelled(own_server: spark_servers.Server) -> None:
    server, job = SparkServer(parse_address(own_server.address)[0]), Job()
    server.read("SELECT 1")
    slow = ask(server, ENDLESS, job)
    assert server.read("SELECT 2 AS n").column(0)[0].as_py() == 2
    assert not slow.done()
    job.cancel()
    with pytest.raises(Cancelled):
        slow.result()
    server.close()


def wait_until_idle(server: spark_servers.Server) -> None:
    """Wait until the server computes nothing any more."""
    until = time.monotonic() + PATIENCE_SECONDS
    before = -1.0
    while (now := server.processor_seconds) > before + 0.1:
        assert time.monotonic() < until, "it computes on"
        before = now
        time.sleep(0.3)


def test_a_server_stops_computing_what_is_cancelled(
    own_server: spark_servers.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This also holds if the statement reaches the server after the first interrupt."""
    server, job = SparkServer(parse_address(own_server.address)[0]), Job()
    server.read("SELECT 1")
    begun = own_server.processor_seconds
    answer, interrupts = ask(server, ENDLESS_GROUPS, job), list[str]()
    until = time.monotonic() + PATIENCE_SECONDS
    while own_server.processor_seconds < begun + 0.5:
        assert time.monotonic() < until, "it has not begun"
        time.sleep(0.02)
    client = server._client
    interrupt_tag = client.interrupt_tag

    def interrupt(tag: str) -> list[str]:
        interrupts.append(tag)
        return interrupt_tag(tag) if len(interrupts) > 1 else []

    monkeypatch.setattr(client, "interrupt_tag", interrupt)
    job.cancel()
    with pytest.raises(Cancelled):
        answer.result()
    wait_until_idle(own_server)
    server.close()


def test_what_is_cancelled_before_it_is_sent_never_runs(own_server: spark_servers.Server) -> None:
    server, job = SparkServer(parse_address(own_server.address)[0]), Job()
    set_up, stopped = server.set_up, threading.Event()

    def cancel_first(client: Any) -> None:
        set_up(client)
        job.cancel()
        assert stopped.wait(PATIENCE_SECONDS)

    server.set_up = cancel_first  # type: ignore[method-assign]
    with pytest.raises(Cancelled):
        server.read(ENDLESS, job)
    stopped.set()
    wait_until_idle(own_server)
    server.close()


def test_a_server_that_is_killed_under_a_query(own_server: spark_servers.Server) -> None:
    server = SparkServer(parse_address(own_server.address)[0])
    server.read("SELECT 1")
    answer = ask(server, ENDLESS, Job())
    own_server.kill()
    with pytest.raises(ServerProblem, match="does not answer"):
        answer.result()


def test_the_promise_of_five_seconds() -> None:
    """The silence before a probe, and the timeout of the probe, together stay below the promise."""
    assert spark_connect.SILENCE_SECONDS + spark_connect.PROBE_SECONDS < 5


def test_a_server_that_starts_again_answers_at_once_as_before() -> None:
    """Nothing is left of the session that it does not know, nor of the pauses between attempts to connect."""
    with spark_servers.sail() as first:
        server = SparkServer(parse_address(first.address)[0])
        server.read("SELECT 1")
        first.kill()
        for _ in range(3):
            with pytest.raises(ServerProblem, match="does not answer"):
                server.read("SELECT 1")
    with spark_servers.sail(first.port):
        zone = server.read("SELECT current_timezone() AS zone")["zone"].to_pylist()
    server.close()
    assert zone == [spark_connect.ZONE]


class SilentServer:
    """Accepts connections and never answers; `taken` counts them."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = ServerAddress("127.0.0.1", self._listener.getsockname()[1])
        self.taken = threading.Semaphore(0)
        self._held: list[socket.socket] = []
        threading.Thread(target=self._take, daemon=True).start()

    def _take(self) -> None:
        with suppress(OSError):
            while True:
                self._held.append(self._listener.accept()[0])
                self.taken.release()

    def wait_for(self, connections: int) -> None:
        for _ in range(connections):
            assert self.taken.acquire(timeout=30)

    def vanish(self) -> None:
        """Stop listening. Connections stay open, as with an unplugged cable."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def close(self) -> None:
        for connection in self._held:
            connection.close()


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[SilentServer]:
    monkeypatch.setattr(spark_connect, "SILENCE_SECONDS", 0.05)
    silent_server = SilentServer()
    yield silent_server
    with suppress(OSError):
        silent_server.vanish()
    silent_server.close()


LOOKS = 3
"""The number of connections: a probe, the client's connection, and another probe."""


def test_a_server_that_vanishes_without_a_word(silent: SilentServer) -> None:
    answer = ask(SparkServer(silent.address), "SELECT 1", Job())
    silent.wait_for(LOOKS)
    silent.vanish()
    with pytest.raises(ServerProblem, match="does not answer"):
        answer.result()


def test_a_slow_server_is_waited_for_until_somebody_stops(silent: SilentServer) -> None:
    job = Job()
    answer = ask(SparkServer(silent.address), "SELECT 1", job)
    silent.wait_for(LOOKS + 2)
    assert not answer.done(), "it was asked several times whether it is there"
    job.cancel()
    with pytest.raises(Cancelled):
        answer.result()


def test_tls_is_asked_of_a_server_without_it(spark_address: str) -> None:
    address = replace(parse_address(spark_address)[0], use_ssl=True)
    with pytest.raises(ServerProblem, match="does not speak TLS") as caught:
        SparkServer(address).read("SELECT 1")
    assert "use_ssl" in str(caught.value)


@pytest.mark.parametrize(
    ("authority", "host", "days", "message"),
    [
        ("theirs", "localhost", 30, "certificate is not trusted on this machine"),
        ("ours", "localhost", -1, "certificate has expired"),
        ("ours", "spark.example.org", 30, "certificate is not for 'localhost'"),
    ],
)
def test_what_is_wrong_with_a_certificate_is_said(
    authority: str, host: str, days: int, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authorities = {name: Authority.make(tmp_path, name) for name in ("ours", "theirs")}
    trusting = partial(grpc.ssl_channel_credentials, authorities["ours"].path.read_bytes())
    monkeypatch.setattr(grpc, "ssl_channel_credentials", trusting)
    files = authorities[authority].issue(tmp_path, host, days)
    with tls_server(*files) as port, pytest.raises(ServerProblem, match=message) as caught:
        SparkServer(ServerAddress("localhost", port, use_ssl=True)).read("SELECT 1")
    assert caught.value.fix


def test_a_token_is_not_sent_in_the_clear(spark_address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_TOKEN", "geheim-4711")
    connection = Connection("c", "spark", endpoint=spark_address, secrets={"token": "env:SPARK_TOKEN"})
    with pytest.raises(ServerProblem, match="Tokens are only sent over TLS") as caught:
        SparkServer(parse_address(spark_address)[0], connection).read("SELECT 1")
    assert "geheim" not in str(caught.value)


class Refusing(grpc.GenericRpcHandler):
    """Denies access."""

    def service(self, call: Any) -> grpc.RpcMethodHandler:
        def refuse(request: bytes, context: grpc.ServicerContext) -> None:
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "Invalid token")

        return grpc.unary_unary_rpc_method_handler(refuse)


def test_a_wrong_token(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setenv("SPARK_TOKEN", "geheim-4711")
    refusing = grpc.server(ThreadPoolExecutor(2), handlers=(Refusing(),))
    credentials = grpc.local_server_credentials()  # what a client takes for TLS on this machine
    port = refusing.add_secure_port("localhost:0", credentials)
    refusing.start()
    connection = Connection("c", "spark", secrets={"token": "env:SPARK_TOKEN"}, endpoint="sc://localhost")
    with pytest.raises(ServerProblem, match="the server denies access") as caught:
        SparkServer(ServerAddress("localhost", port), connection).read("SELECT 1")
    refusing.stop(None).wait()
    assert "Invalid token" in str(caught.value) and "Check the token" in str(caught.value)
    assert "geheim" not in str(caught.value) + caplog.text


def test_listing(server: SparkServer, tmp_path: Path) -> None:
    pq.write_table(pa.table({"n": [1]}), tmp_path / "listed.parquet")
    server.read("CREATE OR REPLACE TEMPORARY VIEW passing AS SELECT 1 AS n")
    server.read("CREATE DATABASE IF NOT EXISTS sales")
    server.read(f"CREATE TABLE sales.`a.b` USING parquet LOCATION '{tmp_path / 'listed.parquet'}'")
    (catalog,) = [candidate for candidate in server.catalogs() if "sales" in server.databases(candidate)]
    assert server.tables((catalog, "sales")) == [ServerTable((catalog, "sales", "a.b"))]
    assert server.tables(("sales",)) == [ServerTable(("sales", "a.b"))]
    server.read("DROP TABLE sales.`a.b`")


def test_a_connection_is_tried_by_a_query(spark_address: str) -> None:
    """A server that only listens is not taken for a Spark server."""
    trial = try_connection(Connection("ours", "spark", endpoint=spark_address))
    assert trial.names and trial.names[0] in trial.sentence
    with web_server() as web, pytest.raises(ServerProblem, match="does not answer"):
        try_connection(Connection("other", "spark", endpoint=f"sc://{web.url[7:]}"))


def test_server_at_takes_the_account_and_token_of_a_saved_connection(
    spark_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = parse_address(spark_address)[0]
    Connections().save(
        Connection(
            "cluster", "spark", endpoint=spark_address, account="ada", secrets={"token": "env:NO_TOKEN"}
        )
    )
    monkeypatch.delenv("NO_TOKEN", raising=False)
    with pytest.raises(Exception, match="NO_TOKEN"):
        server_at(address).read("SELECT 1")
