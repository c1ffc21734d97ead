"""Executions on a Spark Connect server, each followed to its end, so that no answer loses rows unnoticed.

A server that ends a query, as somebody else can ask it to, need not say so: Sail ends the stream of
responses as if it were whole. Only a reattachable execution has an end of its own in the protocol,
`ResultComplete`. Apache Spark moreover ends the stream of such an execution after two minutes, or a gigabyte,
and expects the client to ask for the rest. `pyspark` can do all this too, but it has the server release each
response by a request of its own: with Sail, which answers in small batches, that took twice as long.
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
"""Of responses that have arrived, until the server is told that it need not keep them."""
_EMPTY_SECONDS = 0.05
"""A stream without a response that ends sooner would be asked for without end."""
_UNKNOWN = re.compile(r"operation not found|OPERATION_(NOT_FOUND|ABANDONED)", re.I)
"""As Sail says it, and Apache Spark."""


class ReattachingBuilder(DefaultChannelBuilder):
    """Builds a channel on which the answer to a query raises `EOFError` where it ends before it is whole."""

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
    """One query on the server, which keeps its answer until it is released."""

    def __init__(self, stub: Any, request: Any, metadata: Any, releases: set[Any]) -> None:
        """`releases` holds the requests on their way: one that nobody holds is cancelled."""
        self._stub, self._request, self._metadata, self._releases = stub, request, metadata, releases
        self._last_id, self._is_reattached = "", False

    def responses(self, stream: Any) -> Iterator[Any]:
        """Up to and with the `ResultComplete`, which servers that know no reattachable executions, such as
        Apache Spark before 3.5, do not send. Raises `EOFError` where the server no longer knows the
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
                stream = self._rest()
        except grpc.RpcError as error:
            if self._is_reattached and _UNKNOWN.search(error.details() or ""):
                raise EOFError("The server ended the query before its end") from None
            if not self._is_reattached or error.code() is not grpc.StatusCode.UNIMPLEMENTED:
                raise
        finally:
            stream.cancel()
            self._release()

    def _rest(self) -> Any:
        """The stream of what follows the last response."""
        self._is_reattached = True
        request = self._about(proto.ReattachExecuteRequest)
        if self._last_id:
            request.last_response_id = self._last_id
        return self._stub.ReattachExecute(request, metadata=self._metadata)

    def _release(self, last_id: str = "") -> None:
        """The responses up to one; all of them, and the execution itself, by default. Does not wait."""
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
