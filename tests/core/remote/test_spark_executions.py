"""Answers of Spark Connect servers that end too early, against Sail and a server that speaks the protocol."""

# ruff: noqa: E402 -- pyspark is imported as the product imports it

from __future__ import annotations

import io
import queue
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark", reason="Spark Connect needs pyspark-client: pip install 'lamella[remote]'")

from lamella.core.jobs import Job
from lamella.core.remote import spark_connect
from lamella.core.remote.spark_connect import ServerProblem, ServerRefusal, SparkServer, parse_address

spark_connect._library()
import grpc
from pyspark.sql.connect import proto
from pyspark.sql.connect.proto import base_pb2_grpc

from lamella.core.remote import spark_executions
from tests.conftest import PATIENCE_SECONDS

BATCHES = [[1, 2], [3], [4, 5, 6]]
NOT_FOUND = "[INVALID_HANDLE.OPERATION_NOT_FOUND] The handle is invalid."


class ConnectServer(base_pb2_grpc.SparkConnectServiceServicer):
    """Answers every query with `BATCHES`, `a_stream` of them in each stream of responses. Asked for the rest,
    it has forgotten the execution if it `forgets`, or does not support this if it `knows_no_reattaching`."""

    def __init__(self) -> None:
        self.a_stream, self.forgets, self.knows_no_reattaching = len(BATCHES), "", False
        self.released: queue.SimpleQueue[str] = queue.SimpleQueue()

    def Config(self, request: Any, context: Any) -> Any:
        return proto.ConfigResponse(session_id=request.session_id)

    def ExecutePlan(self, request: Any, context: Any) -> Iterator[Any]:
        reattachable = any(option.reattach_options.reattachable for option in request.request_options)
        assert reattachable and request.operation_id
        yield from self._responses(request, 0)

    def ReattachExecute(self, request: Any, context: Any) -> Iterator[Any]:
        if self.knows_no_reattaching:
            context.abort(grpc.StatusCode.UNIMPLEMENTED, "")
        if self.forgets:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, self.forgets)
        yield from self._responses(request, int(request.last_response_id) + 1)

    def ReleaseExecute(self, request: Any, context: Any) -> Any:
        self.released.put(request.release_until.response_id or "all")
        return proto.ReleaseExecuteResponse(session_id=request.session_id)

    def _responses(self, request: Any, first: int) -> Iterator[Any]:
        common = {"session_id": request.session_id, "operation_id": request.operation_id}
        for number in range(first, min(len(BATCHES), first + self.a_stream)):
            batch = proto.ExecutePlanResponse.ArrowBatch(
                row_count=len(BATCHES[number]), data=stream_of(BATCHES[number])
            )
            yield proto.ExecutePlanResponse(**common, response_id=str(number), arrow_batch=batch)
        if first + self.a_stream >= len(BATCHES) and not self.knows_no_reattaching:
            end = proto.ExecutePlanResponse.ResultComplete()
            yield proto.ExecutePlanResponse(**common, response_id="end", result_complete=end)


def stream_of(values: list[int]) -> bytes:
    table, sink = pa.table({"n": values}), io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


@contextmanager
def running(servicer: ConnectServer) -> Iterator[SparkServer]:
    with ThreadPoolExecutor(4) as pool:
        server = grpc.server(pool)
        base_pb2_grpc.add_SparkConnectServiceServicer_to_server(servicer, server)
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        spark = SparkServer(parse_address(f"sc://127.0.0.1:{port}")[0])
        yield spark
        spark.close()
        server.stop(None).wait()


@pytest.fixture
def servicer() -> ConnectServer:
    return ConnectServer()


@pytest.fixture
def server(servicer: ConnectServer) -> Iterator[SparkServer]:
    with running(servicer) as server:
        yield server


def values(server: SparkServer) -> list[int]:
    return [value for piece in server.stream("SELECT n", Job()) for value in piece["n"].to_pylist()]


@pytest.mark.parametrize("a_stream", [1, 2, 3])
def test_an_answer_in_several_streams_is_read_whole(
    server: SparkServer, servicer: ConnectServer, a_stream: int
):
    servicer.a_stream = a_stream
    assert values(server) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("words", ["operation not found: 5", NOT_FOUND])
def test_an_answer_without_its_end_is_an_error(server: SparkServer, servicer: ConnectServer, words: str):
    """It is an error although the stream ends like a complete one."""
    servicer.a_stream, servicer.forgets = 2, words
    with pytest.raises(ServerProblem, match=r"the answer is incomplete.*Run the query again"):
        values(server)


def test_a_stream_that_stays_empty_is_not_asked_for_without_end(server: SparkServer, servicer: ConnectServer):
    servicer.a_stream = 0
    with pytest.raises(ServerProblem, match="the answer is incomplete"):
        values(server)


def test_what_the_server_says_of_a_query_that_failed_meanwhile(server: SparkServer, servicer: ConnectServer):
    servicer.a_stream, servicer.forgets = 2, "[DIVIDE_BY_ZERO] Division by zero."
    with pytest.raises(ServerRefusal, match="Division by zero"):
        values(server)


def test_a_server_that_knows_no_reattaching_is_believed(server: SparkServer, servicer: ConnectServer):
    """Such a server is older than Apache Spark 3.5; all versions of Apache Spark report stopped queries."""
    servicer.knows_no_reattaching = True
    assert values(server) == [1, 2, 3, 4, 5, 6]


def test_the_server_need_not_keep_what_has_arrived(servicer: ConnectServer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(spark_executions, "RELEASE_BYTES", 1)
    with running(servicer) as server:
        assert values(server) == [1, 2, 3, 4, 5, 6]
        released = {servicer.released.get(timeout=PATIENCE_SECONDS) for _ in range(len(BATCHES) + 1)}
    assert released == {"0", "1", "2", "all"}


def test_sail_does_not_say_that_somebody_stopped_a_query(spark_address: str):
    """Still, the rows that it had sent by then are not taken for the whole answer."""
    server = SparkServer(parse_address(spark_address)[0])
    pieces = server.stream("SELECT id FROM range(1000000000000)", Job())
    assert next(pieces).num_rows
    server._client.interrupt_all()
    with pytest.raises((ServerProblem, ServerRefusal), match=r"incomplete|OPERATION_CANCELED"):
        for _ in pieces:
            pass
    server.close()
