"""The input of a child process: a spec from its runner, then the permission to begin each step.

Uses the standard library only, for any Python.
"""

from __future__ import annotations

import os
import signal
import threading
from typing import NoReturn, TextIO


class StepGate:
    """Takes over standard input: anything else that reads from it, such as a system's own programs, finds it
    empty.

    When the input ends, the runner is gone, and this process ends at once, together with its children.
    """

    def __init__(self) -> None:
        self._lines = _own_input()
        self._leave = threading.Semaphore(0)
        self.spec = self._lines.readline()
        threading.Thread(target=self._listen, name="orders of the runner", daemon=True).start()

    def wait(self) -> None:
        """Block until the runner allows the next step to begin."""
        self._leave.acquire()

    def _listen(self) -> None:
        for _ in self._lines:
            self._leave.release()
        _end_with_children()


def _own_input() -> TextIO:
    lines = os.fdopen(os.dup(0), encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return lines


def _end_with_children() -> NoReturn:
    """End this process, and its process group if the runner gave it one of its own."""
    if hasattr(os, "getpgrp") and os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)
