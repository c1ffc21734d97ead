"""Whether the server of an upload is still there, while nothing else tells.

The answer to a part of an upload comes when all of the part has arrived, which takes minutes on a slow
line. The time of silence that ends other requests would end such uploads, and a longer one would leave people
waiting for a server that is gone.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Self

from lamella.core.remote.addresses import Address
from lamella.core.remote.problems import RemoteProblem, Unreachable

QUIET_SECONDS = 1.5
"""An upload that has not moved for so long has its server asked."""
PROBE_SECONDS = 1.5
"""The time that an answer has before the server is asked again."""
PROBES = 2
"""Without any answer, before the server is given up."""
SLOWER_FACTOR = 2.0
"""How much longer than its slowest answer a server may take: answers queue on a line that an upload fills."""


class Silent(Unreachable):
    """A server that stopped answering in the middle of an upload."""

    def __init__(self, address: Address) -> None:
        super().__init__(
            address,
            "could not be reached",
            "It did not answer in time, nor when it was asked whether it is there",
            "Check the network and the endpoint of the connection, and write it again",
        )


class Watchdog:
    """Asks a server something small while an upload to it does not move; a context.

    `ask` does that on a connection of its own, on any thread. It raises `Unreachable` where no answer comes;
    every other problem is an answer: a refusal, a missing file, a request to ask less often. `give_up` is
    called once, on the watchdog's thread, when the server is silent. An answer that comes late counts too,
    and makes the watchdog more patient.
    """

    def __init__(self, ask: Callable[[], object], give_up: Callable[[], None]) -> None:
        self._ask, self._give_up = ask, give_up
        self._changed = threading.Condition()
        self._heard_at = time.monotonic()
        self._patience = PROBE_SECONDS
        self._is_over = False
        self.has_given_up = False

    def __enter__(self) -> Self:
        threading.Thread(target=self._watch, name="upload watchdog", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def note_progress(self) -> None:
        """The upload moved. Any thread, at once."""
        self._heard_at = time.monotonic()

    def _watch(self) -> None:
        with self._changed:
            while not self._is_over:
                left = self._heard_at + QUIET_SECONDS - time.monotonic()
                if left > 0:
                    self._changed.wait(left)
                elif not self._has_answer():
                    self.has_given_up = True
                    break
            else:
                return
        self._give_up()

    def _has_answer(self) -> bool:
        """Also where the upload has moved or ended meanwhile."""
        asked_at = time.monotonic()
        for _ in range(PROBES):
            threading.Thread(target=self._probe, name="upload probe", daemon=True).start()
            if self._changed.wait_for(lambda: self._is_over or self._heard_at > asked_at, self._patience):
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
        with self._changed:
            self._heard_at = time.monotonic()
            self._patience = max(self._patience, SLOWER_FACTOR * (self._heard_at - asked_at))
            self._changed.notify_all()
