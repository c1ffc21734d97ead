"""Spark Connect servers: addresses, answers, cancelling, and servers that are gone, slow or say no."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella.core.errors import BadData, Cancelled
from lamella.core.jobs import Job
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
from tests import spark_servers

ENDLESS = "SELECT sum(a.id * b.id) AS n FROM range(10000000) AS a, range(10000000) AS b"


@pytest.fixture
def server(spark_address: str) -> Iterator[SparkServer]:
    made = SparkServer(parse_address(spark_address)[0])
    yield made
    made.close()


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


def test_parse_address_refuses_a_token_and_does_not_repeat_it() -> None:
    with pytest.raises(BadData, match="holds a secret") as caught:
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


def test_cancel_ends_the_wait_at_once(server: SparkServer) -> None:
    server.read("SELECT 1")
    job = Job()
    threading.Timer(0.2, job.cancel).start()
    with pytest.raises(Cancelled):
        server.read(ENDLESS, job)


def test_statements_run_side_by_side(server: SparkServer) -> None:
    job, slow = Job(), list[type[BaseException]]()

    def ask() -> None:
        try:
            server.read(ENDLESS, job)
        except BaseException as error:  # noqa: BLE001 -- it is looked at below
            slow.append(type(error))

    thread = threading.Thread(target=ask)
    thread.start()
    assert server.read("SELECT 2 AS n").column(0)[0].as_py() == 2
    job.cancel()
    thread.join()
    assert slow == [Cancelled]


def test_a_port_where_nothing_listens() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(ServerProblem, match="does not answer"):
            SparkServer(ServerAddress("127.0.0.1", taken.getsockname()[1])).read("SELECT 1")


def test_a_server_that_is_killed_under_a_query() -> None:
    with spark_servers.sail() as running:
        server = SparkServer(parse_address(running.address)[0])
        server.read("SELECT 1")
        threading.Timer(0.3, running.kill).start()
        began = time.monotonic()
        with pytest.raises(ServerProblem, match="does not answer"):
            server.read(ENDLESS)
        assert time.monotonic() - began < 0.3 + 5, "the promise of five seconds"


def test_a_server_that_vanishes_without_a_word() -> None:
    """Something takes the connection and never answers; then nothing listens there any more."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(16)
    held: list[socket.socket] = []

    def hold() -> None:
        while True:
            try:
                held.append(listener.accept()[0])
            except OSError:
                return

    threading.Thread(target=hold, daemon=True).start()
    server = SparkServer(ServerAddress("127.0.0.1", listener.getsockname()[1]))
    threading.Timer(0.3, lambda: (listener.shutdown(socket.SHUT_RDWR), listener.close())).start()
    with pytest.raises(ServerProblem, match="does not answer"):
        server.read("SELECT 1")
    for one in held:
        one.close()


def test_a_slow_server_is_waited_for_until_somebody_stops() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(16)
        job = Job()
        threading.Timer(
            1.5, job.cancel
        ).start()  # longer than a silence that makes it look whether it is there
        with pytest.raises(Cancelled):
            SparkServer(ServerAddress("127.0.0.1", listener.getsockname()[1])).read("SELECT 1", job)


def test_listing(server: SparkServer, tmp_path: Path) -> None:
    pq.write_table(pa.table({"n": [1]}), tmp_path / "listed.parquet")
    server.read("CREATE OR REPLACE TEMPORARY VIEW passing AS SELECT 1 AS n")
    server.read("CREATE DATABASE IF NOT EXISTS sales")
    server.read(f"CREATE TABLE sales.`a.b` USING parquet LOCATION '{tmp_path / 'listed.parquet'}'")
    (catalog,) = [one for one in server.catalogs() if "sales" in server.databases(one)]
    assert server.tables((catalog, "sales")) == [ServerTable((catalog, "sales", "a.b"))]
    assert server.tables(("sales",)) == [ServerTable(("sales", "a.b"))]
    server.read("DROP TABLE sales.`a.b`")


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
