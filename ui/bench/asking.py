"""Asks the systems about themselves in another process, once for each family of workloads."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QObject, Signal

from lamella.core.bench.engine.child import Introduction, ask_introductions
from lamella.core.jobs import Job
from lamella.ui.tasks import Handle, Tasks


class Asking(QObject):
    """`heard` comes for one system after the other. A benchmark that begins ends it by `stop`."""

    heard = Signal(Introduction)
    failed = Signal(Exception)

    def __init__(self, tasks: Tasks, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._tasks = tasks
        self._families: tuple[str, ...] = ()
        self._asked: set[str] = set()
        self._handle: Handle | None = None

    @property
    def running(self) -> bool:
        return self._handle is not None

    def set_families(self, families: Iterable[str]) -> None:
        """Those to ask about from now on; nothing is asked yet."""
        self._families = tuple(dict.fromkeys(families))

    def ask(self) -> None:
        """Those that were not asked before; nothing happens while others are."""
        families = tuple(family for family in self._families if family not in self._asked)
        if self._handle is not None or not families:
            return
        self._asked.update(families)

        def work(job: Job) -> None:
            ask_introductions(families, self.heard.emit, job)

        handle = self._tasks.read(
            work,
            lambda _: self._over(handle),
            lambda error: self._over(handle, error),
            stopped=lambda: self._over(handle),
            owner=self,
            quiet=True,
        )
        self._handle = handle

    def ask_again(self) -> None:
        """As if nobody had been asked yet."""
        self.stop()
        self.ask()

    def stop(self) -> None:
        """What was asked and not told yet will be asked again."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        self._asked = set()

    def _over(self, handle: Handle, error: Exception | None = None) -> None:
        if self._handle is handle:
            self._handle = None
        if error is not None:
            self.failed.emit(error)
