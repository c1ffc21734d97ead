"""Files on servers: browsing, opening and importing them, and the connections to the servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from lamella.core.jobs import Job
from lamella.core.remote.connections import Connection, Connections
from lamella.core.remote.paths import path_or_address
from lamella.ui.tasks import Tasks
from lamella.ui.window.opening import Opening

if TYPE_CHECKING:
    from lamella.ui.remote.connections_dialog import ConnectionsDialog
    from lamella.ui.remote.server_browser import ServerBrowser


class ServerFiles(QObject):
    def __init__(self, opening: Opening, tasks: Tasks, window: QWidget) -> None:
        super().__init__(window)
        self._opening, self._tasks, self._window = opening, tasks, window

    def ask_address(self, address: str = "") -> ServerBrowser:
        """Open the browser at an address, or at one that the user types."""
        from lamella.ui.remote.server_browser import ServerBrowser

        browser = ServerBrowser(Connections(), self._tasks, address, self._window)
        browser.open_requested.connect(self._open)
        browser.import_requested.connect(self._import)
        browser.connections_requested.connect(
            lambda: self.ask_connections().saved.connect(browser.read_connections)
        )
        browser.show()
        return browser

    def ask_connections(self) -> ConnectionsDialog:
        from lamella.ui.remote.connections_dialog import ConnectionsDialog

        dialog = ConnectionsDialog(Connections(), probe, self._tasks, self._window)
        dialog.saved.connect(_forget_servers)
        dialog.show()
        return dialog

    def _open(self, addresses: list[str]) -> None:
        self._opening.open_paths([path_or_address(address) for address in addresses])

    def _import(self, addresses: list[str]) -> None:
        self._opening.import_paths([path_or_address(address) for address in addresses])


def probe(connection: Connection, job: Job) -> str:
    """Try a connection and describe the server's answer in a sentence. Blocks; raises `LamellaError`."""
    from lamella.core.remote.trial import try_connection

    return try_connection(connection, job=job).sentence


def _forget_servers() -> None:
    """Make the next request use the current connections."""
    from lamella.core.remote.servers import servers

    servers.forget()
