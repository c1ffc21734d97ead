"""Spark Connect through pyspark's own client: a configured server, or Sail, started for the benchmark."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pyarrow as pa

from lamella.core.bench.systems.base import NotReady
from lamella.core.bench.systems.server_process import START_SECONDS, ServerProcess, await_listener, free_port
from lamella.core.bench.workloads.taxi import DUCKDB_QUERIES, TRIP_SCHEMA, TaxiSystem

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

ADDRESS_VARIABLE = "LAMELLA_SPARK_CONNECT"
"""The environment variable with the address of a server, sc://host:port."""
SERVER, DEFAULT_PORT = "Spark Connect server", 15002
SQL_TYPES = {
    pa.int64(): "BIGINT",
    pa.float64(): "DOUBLE",
    pa.string(): "STRING",
    pa.timestamp("ms"): "TIMESTAMP_NTZ",
}
_WAY_OUT = f"Set {ADDRESS_VARIABLE} to sc://host:port, or install a server: pip install pysail"
_servers: list[ServerProcess] = []
"""The server that this process started, if any."""


class SparkConnectTaxi(TaxiSystem):
    id = "spark-connect"
    description = (
        "through pyspark's client, answers as Arrow: the server imports the CSV files into Parquet files by "
        "write.parquet, not synced, and reads them in place; it has to see the folder of the benchmark"
    )

    @classmethod
    def version(cls) -> str:
        return f"pyspark-client {version('pyspark-client')}"

    @classmethod
    def answering_version(cls) -> str:
        address = os.environ.get(ADDRESS_VARIABLE)
        if address:
            await_listener(address, DEFAULT_PORT, SERVER, _WAY_OUT)
            session = _session(address)
            try:
                return f"Spark Connect {session.version} with {cls.version()}"
            finally:
                session.stop()
        if find_spec("pysail") is None:
            raise NotReady("No Spark Connect server is configured", fix=_WAY_OUT)
        return f"Sail {version('pysail')}, started for the benchmark over loopback, with {cls.version()}"

    @classmethod
    def stand_in(cls) -> str:
        """Return Sail, which is not Spark, if it is started here."""
        return "" if _start_if_needed() else f"Sail {version('pysail')}"

    def open(self, writing: bool) -> None:
        _start_if_needed()
        self._session = _session(os.environ[ADDRESS_VARIABLE])
        if not writing:
            self._session.read.parquet(self._parquet).createOrReplaceTempView("trips")

    def close(self) -> None:
        self._session.stop()

    def fill(self, rows: int) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.open(writing=True)
        types = ", ".join(f"{field.name} {SQL_TYPES[field.type]}" for field in TRIP_SCHEMA)
        files = [str(file) for file in self.files(rows)]
        trips = self._session.read.schema(types).option("header", True).csv(files)
        trips.write.mode("overwrite").parquet(self._parquet)
        self.close()

    def ask(self, query: str) -> pa.Table:
        """Run DuckDB's statements, which are valid in Spark, too."""
        return self._session.sql(DUCKDB_QUERIES[query]).toArrow()

    def whole_trips(self, ids: Sequence[int]) -> pa.Table:
        names, id_list = ", ".join(TRIP_SCHEMA.names), ", ".join(map(str, ids))
        rows = self._session.sql(f"SELECT {names} FROM trips WHERE trip_id IN ({id_list})").toArrow()
        return rows.cast(TRIP_SCHEMA)

    @property
    def _parquet(self) -> str:
        return str(self.folder / "trips.parquet")


@contextmanager
def session() -> Iterator[SparkSession]:
    """Open a session on the configured server, or on one that is started and ends with this process."""
    _start_if_needed()
    spark = _session(os.environ[ADDRESS_VARIABLE])
    try:
        yield spark
    finally:
        spark.stop()


def _session(address: str) -> SparkSession:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # about pandas 3, which is not used with Arrow
        from pyspark.sql.connect.session import SparkSession

        session: SparkSession = SparkSession.builder.remote(address).create()
    return session


def _start_if_needed() -> bool:
    """Start a server if no address is configured; it ends with this process. Return whether an address was
    configured. Raises `NotReady` if the server does not start."""
    if os.environ.get(ADDRESS_VARIABLE):
        return not _servers
    if find_spec("pysail") is None:
        raise NotReady("No Spark Connect server is configured", fix=_WAY_OUT)
    port = free_port()
    address = f"sc://127.0.0.1:{port}"
    server = ServerProcess([sys.executable, "-m", "pysail", "spark", "server", "--port", str(port)])
    try:
        await_listener(address, DEFAULT_PORT, SERVER, _WAY_OUT, server, START_SECONDS)
    except BaseException:
        server.end()
        raise
    _servers.append(server)
    os.environ[ADDRESS_VARIABLE] = address
    return False
