"""The servers in use, one for each bucket or host, with the connection that serves it."""

from __future__ import annotations

import threading

from lamella.core.processes import call_after_fork
from lamella.core.remote.addresses import Address
from lamella.core.remote.connections import Connection, Connections
from lamella.core.remote.server import Server


class Servers:
    """The servers in use, with connections that stay open. A forked child makes its own. Any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._servers: dict[tuple[str, str, str, Connection | None], Server] = {}
        call_after_fork(self)

    def server(self, address: Address) -> Server:
        """Return the server of an address. Raises `FileProblem`, and what `Connections` raises."""
        connection = self.connection(address)
        key = (address.kind.name, address.scheme, f"{address.user}@{address.place}", connection)
        with self._lock:
            server = self._servers.get(key)
        if server is None:
            server = new_server(address, connection)
            with self._lock:
                server = self._servers.setdefault(key, server)
        return server

    def connection(self, address: Address) -> Connection | None:
        """Return the saved connection that the address names before an `@`, or the one that serves it."""
        saved = Connections()
        if address.user and address.user in saved:
            return saved[address.user]
        return saved.serving(str(address))

    def forget(self) -> None:
        """Read connections and credentials again at the next request, since they may have changed."""
        with self._lock:
            self._servers.clear()

    def reset_after_fork(self) -> None:
        self._lock = threading.Lock()
        self._servers = {}


def new_server(address: Address, connection: Connection | None) -> Server:
    """Create a server for a connection, which need not be saved."""
    kind = address.kind.name
    if kind == "http":
        from lamella.core.remote.web import WebServer

        return WebServer(connection)
    if kind == "hdfs":
        from lamella.core.remote import hdfs

        return hdfs.new_server(address, connection)
    from lamella.core.remote.object_store import ObjectStore

    return ObjectStore(address, connection)


servers = Servers()
