"""Checks during an upload whether the server is still there.

The server answers when a whole part of the upload has arrived, which can take minutes on a slow network. The
timeout of other requests would end such uploads, and with a longer one, users would wait for a server that is
gone.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Self

from lamella.core.remote.addresses import Address
from lamella.core.remote.problems import RemoteProblem, Unreachable

QUIET_SECONDS = 1.5
"""After this long without progress, the server is probed."""
PROBE_SECONDS = 1.5
"""How long to wait for the answer to a probe before the next one."""
PROBES = 2
"""Probes without an answer before the upload is given up."""
SLOWER_FACTOR = 2.0
"""The timeout of a probe, in multiples of the slowest answer: answers are slow while the upload fills the
network."""


class Silent(Unreachable):
    """The server stopped answering during an upload."""

    def __init__(self, address: Address) -> None:
        super().__init__(
            address,
            "could not be reached",
            "It stopped answering, and did not answer further requests",
            "Check the network and the connection's endpoint, and try again",
        )


class Watchdog:
    """A context manager that probes the server of an upload while there is no progress.

    `ask` sends a small request on a separate connection; it is called on any thread. It raises `Unreachable`
    if there is no answer; every other problem is an answer, such as a missing file or a throttled request.
    `give_up` is called once, on the watchdog's thread, when the server is silent. A late answer counts too,
    and makes the watchdog more patient.
    """

    def __init__(self, ask: Callable[[], object], give_up: Callable[[], None]) -> None:
        self._ask, self._give_up = ask, give_up
        self._condition = threading.Condition()
        self._last_sign = time.monotonic()
        self._patience = PROBE_SECONDS
        self._is_over = False
        self.has_given_up = False

    def __enter__(self) -> Self:
        threading.Thread(target=self._watch, name="upload watchdog", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._condition:
            self._is_over = True
            self._condition.notify_all()

    def note_progress(self) -> None:
        """Record that the upload progressed. Any thread; returns at once."""
        self._last_sign = time.monotonic()

    def _watch(self) -> None:
        with self._condition:
            while not self._is_over:
                seconds = self._last_sign + QUIET_SECONDS - time.monotonic()
                if seconds > 0:
                    self._condition.wait(seconds)
                elif not self._has_answer():
                    self.has_given_up = True
                    break
            else:
                return
        self._give_up()

    def _has_answer(self) -> bool:
        """Whether a probe is answered, or the upload progressed or ended meanwhile."""
        asked_at = time.monotonic()
        for _ in range(PROBES):
            threading.Thread(target=self._probe, name="upload probe", daemon=True).start()
            if self._condition.wait_for(lambda: self._is_over or self._last_sign > asked_at, self._patience):
                return True
        return False

    def _probe(self) -> None:
        asked_at = time.monotonic()
        try:
            self._ask()
        except Unreachable:
            return
        except RemoteProblem:
            pass
        with self._condition:
            self._last_sign = time.monotonic()
            self._patience = max(self._patience, SLOWER_FACTOR * (self._last_sign - asked_at))
            self._condition.notify_all()
