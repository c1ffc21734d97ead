"""Executions on a Spark Connect server, each followed to its end, so that no answer loses rows unnoticed.

A server need not report that a query was ended early, as another client can ask: Sail closes the stream of
responses as if the answer were complete. In the protocol only a reattachable execution marks its end, with
`ResultComplete`. Apache Spark also closes the stream of such an execution after two minutes or a gigabyte,
and expects the client to fetch the rest. `pyspark` can do this too, but it sends a release request for each
response: with Sail, whose batches are small, that took twice as long.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import grpc  # type: ignore[import-untyped]

from lamella.core.libraries import main_module_as_file

with main_module_as_file():
    from pyspark.sql.connect import proto
    from pyspark.sql.connect.client import DefaultChannelBuilder
    from pyspark.sql.connect.proto import base_pb2_grpc

RELEASE_BYTES = 8 << 20
"""Bytes of responses after which the server is told to release them."""
_EMPTY_SECONDS = 0.05
"""A reattached stream that ends sooner than this without a response is not reattached again."""
_UNKNOWN = re.compile(r"operation not found|OPERATION_(NOT_FOUND|ABANDONED)", re.I)
"""The message for an unknown execution, from Sail and from Apache Spark."""


class ReattachingBuilder(DefaultChannelBuilder):
    """Builds a channel on which an answer raises `EOFError` if it ends before it is complete."""

    def toChannel(self) -> grpc.Channel:  # noqa: N802 -- the library's name
        channel = super().toChannel()
        stub = base_pb2_grpc.SparkConnectServiceStub(channel)  # type: ignore[no-untyped-call]
        return grpc.intercept_channel(channel, _Reattachment(stub))


class _Reattachment(grpc.UnaryStreamClientInterceptor):  # type: ignore[misc]
    """Makes each execution reattachable."""

    def __init__(self, stub: Any) -> None:
        self._stub = stub
        self._releases: set[Any] = set()

    def intercept_unary_stream(
        self, continuation: Callable[[Any, Any], Any], client_call_details: Any, request: Any
    ) -> Iterator[Any]:
        if not isinstance(request, proto.ExecutePlanRequest):
            return iter(continuation(client_call_details, request))
        request.operation_id = request.operation_id or str(uuid.uuid4())
        request.request_options.add().reattach_options.reattachable = True
        execution = _Execution(self._stub, request, client_call_details.metadata, self._releases)
        return execution.responses(continuation(client_call_details, request))


class _Execution:
    """One query on the server, which buffers its answer until the client releases it."""

    def __init__(self, stub: Any, request: Any, metadata: Any, releases: set[Any]) -> None:
        """`releases` keeps the pending release requests alive: gRPC cancels a request without references."""
        self._stub, self._request, self._metadata, self._releases = stub, request, metadata, releases
        self._last_id, self._is_reattached = "", False

    def responses(self, stream: Any) -> Iterator[Any]:
        """Yield the responses, up to and including `ResultComplete`. Servers without reattachable executions,
        such as Apache Spark before 3.5, do not send one. Raises `EOFError` if the server forgets the
        execution before that, and `RpcError`."""
        unreleased = 0
        try:
            while True:
                began_at, is_empty = time.monotonic(), True
                for response in stream:
                    is_empty, self._last_id = False, response.response_id
                    yield response
                    if response.HasField("result_complete"):
                        return
                    unreleased += response.ByteSize()
                    if unreleased >= RELEASE_BYTES:
                        self._release(self._last_id)
                        unreleased = 0
                if is_empty and time.monotonic() - began_at < _EMPTY_SECONDS:
                    raise EOFError("The server has no more of it")
                stream = self._remaining_responses()
        except grpc.RpcError as error:
            if self._is_reattached and _UNKNOWN.search(error.details() or ""):
                raise EOFError("The server ended the query before it was complete") from None
            if not self._is_reattached or error.code() is not grpc.StatusCode.UNIMPLEMENTED:
                raise
        finally:
            stream.cancel()
            self._release()

    def _remaining_responses(self) -> Any:
        """Return the stream of responses after the last one."""
        self._is_reattached = True
        request = self._about(proto.ReattachExecuteRequest)
        if self._last_id:
            request.last_response_id = self._last_id
        return self._stub.ReattachExecute(request, metadata=self._metadata)

    def _release(self, last_id: str = "") -> None:
        """Release the responses up to one; by default all, and the execution itself. Does not wait."""
        request = self._about(proto.ReleaseExecuteRequest)
        if last_id:
            request.release_until.response_id = last_id
        else:
            request.release_all.SetInParent()
        with suppress(ValueError):  # the channel was closed
            release = self._stub.ReleaseExecute.future(request, metadata=self._metadata)
            self._releases.add(release)
            release.add_done_callback(self._releases.discard)

    def _about(self, kind: Any) -> Any:
        ours = self._request
        return kind(
            session_id=ours.session_id,
            user_context=ours.user_context,
            client_type=ours.client_type,
            operation_id=ours.operation_id,
        )
