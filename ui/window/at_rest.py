"""What is done to the stores while nobody changes anything."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, QTimer

from lamella.core.jobs import Job
from lamella.core.store.store import Store
from lamella.ui.tasks import Tasks
from lamella.ui.window.commits import Commits

REST_SECONDS = 20


class AtRest(QObject):
    """Some time after the last commit pending changes are flushed, through the queue of writes."""

    def __init__(self, tasks: Tasks, commits: Commits, stores: Callable[[], Sequence[Store]]) -> None:
        super().__init__(commits)
        self._tasks, self._stores = tasks, stores
        self.timer = QTimer(self, interval=REST_SECONDS * 1000, singleShot=True)
        self.timer.timeout.connect(self._flush)
        commits.committed.connect(lambda *_: self.timer.start())

    def _flush(self) -> None:
        stores = list(self._stores())

        def work(job: Job) -> None:
            for store in stores:
                store.flush_at_rest(job)

        self._tasks.write(work, owner=self, text="Flushing what is pending")
