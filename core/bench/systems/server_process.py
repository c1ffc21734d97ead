"""Starts servers on the loopback interface for a benchmark, and checks whether one listens at an address."""

from __future__ import annotations

import atexit
import shutil
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path
from time import monotonic, sleep
from typing import IO
from urllib.parse import urlsplit

from lamella.core.bench.systems.base import NotReady

START_SECONDS, END_SECONDS, POLL_SECONDS, ANSWER_SECONDS = 60.0, 10.0, 0.05, 2.0


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class ServerProcess:
    """A server that ends with this process. If this process is killed, its standard input is closed, which
    ends a server that reads it. `folder` is removed at the end. Raises `OSError` if the program cannot be
    started."""

    def __init__(
        self, words: Sequence[str], output: IO[bytes] | int = subprocess.DEVNULL, folder: Path | None = None
    ) -> None:
        self.process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT if folder else output
        )
        self._folder = folder
        atexit.register(self.end)

    @property
    def status(self) -> int | None:
        """The exit status; None while it runs."""
        return self.process.poll()

    def end(self) -> None:
        atexit.unregister(self.end)
        self.process.terminate()
        try:
            self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stdin is not None:
            self.process.stdin.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def await_listener(
    address: str,
    default_port: int,
    what: str,
    fix: str,
    server: ServerProcess | None = None,
    seconds: float = ANSWER_SECONDS,
) -> None:
    """Wait until a server listens at an address such as `sc://host:port`. Raise `NotReady` if none does in
    time, or if the process `server` has ended."""
    parts = urlsplit(address.partition(";")[0])
    host, port = parts.hostname or "", parts.port or default_port
    end, problem = monotonic() + seconds, "It does not answer in time"
    while monotonic() < end:
        if server is not None and server.status is not None:
            problem = f"It ended with status {server.status}"
            break
        try:
            socket.create_connection((host, port), ANSWER_SECONDS).close()
            return
        except (OSError, ValueError) as error:
            problem = str(error)
            sleep(POLL_SECONDS)
    raise NotReady(f"No {what} answers at {parts.netloc.rpartition('@')[2]}", problem, fix)
