"""How a statement at work hears that it should stop."""

from __future__ import annotations

import threading

import duckdb

INTERRUPT_EVERY_SECONDS = 0.02


class Stop:
    """Interrupts a connection, from when it is asked to until it is ended, and never after that.

    Once is not enough: DuckDB forgets an interrupt that comes while no statement runs.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._lock = threading.RLock()
        self._asked = False
        self._ended = threading.Event()

    def ask(self) -> None:
        """Any thread, also a signal handler; returns at once."""
        with self._lock:
            if not self._asked and self._interrupted():
                self._asked = True
                threading.Thread(target=self._again, name="stop query", daemon=True).start()

    def end(self) -> None:
        """The connection serves another question from then on, or is closed."""
        with self._lock:
            self._ended.set()

    def _again(self) -> None:
        while not self._ended.wait(INTERRUPT_EVERY_SECONDS) and self._interrupted():
            pass

    def _interrupted(self) -> bool:
        with self._lock:
            if not self._ended.is_set():
                self._connection.interrupt()
            return not self._ended.is_set()
