"""One instance of the program per user: a second launch hands its files to the window that is open.

They talk through a local socket. The open window sends a greeting, the launch sends absolute paths, and the
window confirms. A launch that gets no greeting or confirmation in time opens a window of its own.
"""

from __future__ import annotations

import hashlib
import logging
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QEvent, QLockFile, QObject, Qt, QTimer
from PySide6.QtGui import QFileOpenEvent
from PySide6.QtNetwork import QLocalServer, QLocalSocket
from PySide6.QtWidgets import QApplication, QWidget

from lamella.core.errors import LamellaError
from lamella.core.remote.paths import path_or_address

VERSION = 1
GREETING = b"lamella launch %d\n" % VERSION
CONFIRMATION = b"opened\n"
END = b"\0\0"
"""The end of a message. The paths come before it, each after a null byte, which no path contains."""
MOST_BYTES = 4 << 20
"""The maximum length of a message: more than a command line can hold on Linux."""
MOST_CONNECTIONS = 16
PATIENCE_MS = 3_000
"""How long launch and window wait for each other at each step, in case one of them hangs."""

OpenFiles = Callable[[Sequence[Path]], object]
log = logging.getLogger(__name__)


def encode(files: Sequence[Path]) -> bytes:
    """A message with these paths as bytes, since file names on Linux need not be valid text. Raises OSError
    if the current folder is gone."""
    return b"".join(b"\0" + os.fsencode(str(file.absolute())) for file in files) + END


def decode(message: bytes) -> list[Path] | None:
    """The paths of a message, or None if it is not a message of absolute paths."""
    body, end, tail = message.partition(END)
    if not end or tail or (body and not body.startswith(b"\0")):
        return None
    try:
        files = [path_or_address(os.fsdecode(name)) for name in body.split(b"\0")[1:]]
    except (UnicodeDecodeError, LamellaError):  # Windows: file names are text there
        return None
    return files if all(file.is_absolute() for file in files) else None


def address() -> str:
    """The socket of this user and this LAMELLA_HOME. Raises OSError if no folder is private to the user."""
    home = os.environ.get("LAMELLA_HOME")
    place = Path(home).absolute() if home else Path.home()
    key = hashlib.sha256(os.fsencode(place)).hexdigest()[:16]
    if sys.platform == "win32":
        return f"lamella-{os.environ.get('USERNAME', '')}-{key}"
    return str(_private_folder() / key)


def _private_folder() -> Path:
    """The folder of the socket. In a folder that everybody may write to, another user could listen in."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and os.access(runtime, os.W_OK):
        folder = Path(runtime) / "lamella"
    else:
        folder = Path(tempfile.gettempdir()) / f"lamella-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if folder.is_symlink() or status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise PermissionError(f"{folder} is not private to this user")
    return folder


def hand_over(files: Sequence[Path], server: LaunchServer) -> bool:
    """Whether an open window took the files; if not, `server` starts to listen. Blocks for a limited time."""
    try:
        where, message = address(), encode(files)
    except OSError as error:
        log.warning("Cannot receive files from other launches: %s", error)
        return False
    if len(message) > MOST_BYTES:
        return False
    lock = _launch_lock(where)
    locked = lock.tryLock(2 * PATIENCE_MS)
    try:
        if _send(message, where):
            return True
        if locked:
            server.listen(where)
        return False
    finally:
        lock.unlock()


def listen_if_first(server: LaunchServer) -> None:
    """Let `server` listen for later launches, unless an open window does. Blocks for a limited time."""
    try:
        where = address()
    except OSError as error:
        log.warning("Cannot receive files from other launches: %s", error)
        return
    lock = _launch_lock(where)
    try:
        if lock.tryLock(2 * PATIENCE_MS) and not _answers(where):
            server.listen(where)
    finally:
        lock.unlock()


def _launch_lock(where: str) -> QLockFile:
    """Of two simultaneous launches, one listens."""
    folder = tempfile.gettempdir() if sys.platform == "win32" else ""
    return QLockFile(str(Path(folder) / f"{where}.lock"))


def _answers(where: str) -> bool:
    socket = QLocalSocket()
    socket.connectToServer(where)
    try:
        return socket.waitForConnected(PATIENCE_MS)
    finally:
        socket.abort()


def _send(message: bytes, where: str) -> bool:
    socket = QLocalSocket()
    socket.connectToServer(where)
    if not socket.waitForConnected(PATIENCE_MS):
        return False
    try:
        if _line(socket) != GREETING:
            log.warning("The window that listens at %s does not respond, or has another version", where)
            return False
        socket.write(message)
        return _line(socket) == CONFIRMATION
    finally:
        socket.abort()


def _line(socket: QLocalSocket) -> bytes:
    while not socket.canReadLine():
        if not socket.waitForReadyRead(PATIENCE_MS) or socket.bytesAvailable() > len(GREETING):
            break
    return bytes(socket.readLine(len(GREETING) + 1).data())


class LaunchServer(QObject):
    """Accepts connections of later launches after `listen`, and answers them after `serve`."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._connections: dict[QLocalSocket, bytearray] = {}
        self._open_files: OpenFiles | None = None

    def listen(self, where: str) -> None:
        """Listen at `where`, replacing a socket left by a crash or by a window that hangs."""
        if not self._server.listen(where):
            QLocalServer.removeServer(where)
            if not self._server.listen(where):
                log.warning("Cannot receive files from other launches: %s", self._server.errorString())

    def serve(self, open_files: OpenFiles) -> None:
        """Call `open_files` with the files of each launch; without files, a launch only wants the window."""
        self._open_files = open_files
        self._server.newConnection.connect(self._accept)
        self._accept()

    def close(self) -> None:
        self._server.close()
        for connection in list(self._connections):
            self._drop(connection)

    def _accept(self) -> None:
        while self._server.hasPendingConnections():
            connection = self._server.nextPendingConnection()
            self._connections[connection] = bytearray()
            if len(self._connections) > MOST_CONNECTIONS:
                self._drop(connection)
                continue
            connection.readyRead.connect(partial(self._read, connection))
            connection.disconnected.connect(partial(self._drop, connection))
            QTimer.singleShot(PATIENCE_MS, connection, partial(self._drop, connection))
            connection.write(GREETING)

    def _read(self, connection: QLocalSocket) -> None:
        message = self._connections.get(connection)
        if message is None:
            return
        message += connection.read(MOST_BYTES + 1).data()
        if END not in message and len(message) <= MOST_BYTES:
            return
        files = decode(bytes(message)) if len(message) <= MOST_BYTES else None
        if files is None:
            log.warning("A launch sent an invalid message; it is ignored")
        else:
            connection.write(CONFIRMATION)
            connection.flush()
        self._drop(connection)
        if files is not None and self._open_files is not None:
            self._open_files(files)

    def _drop(self, connection: QLocalSocket) -> None:
        if self._connections.pop(connection, None) is not None:
            connection.disconnectFromServer()
            connection.deleteLater()


class FileOpenEvents(QObject):
    """Receives the files that macOS asks the application to open: double-clicked, or dropped on the icon."""

    def __init__(self, application: QApplication) -> None:
        super().__init__(application)
        self._waiting: list[Path] = []
        self._open_files: OpenFiles | None = None
        application.installEventFilter(self)

    def serve(self, open_files: OpenFiles) -> None:
        """Call `open_files` with each file, also with those that have arrived already."""
        self._open_files = open_files
        if self._waiting:
            open_files(self._waiting)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        if event.type() != QEvent.Type.FileOpen or not isinstance(event, QFileOpenEvent) or not event.file():
            return False
        if self._open_files is None:
            self._waiting.append(Path(event.file()))
        else:
            self._open_files([Path(event.file())])
        return True


def raise_window(window: QWidget) -> None:
    """Bring the window to the front, or let it demand attention where the desktop does not allow that."""
    window.setWindowState(window.windowState() & ~Qt.WindowState.WindowMinimized)
    window.show()
    window.raise_()
    window.activateWindow()
    QApplication.alert(window)
