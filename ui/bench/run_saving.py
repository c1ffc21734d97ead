"""Keeps every benchmark that ended, and gives the costs of earlier ones."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from lamella.core.bench.engine.costs import Costs, shipped_costs
from lamella.core.bench.results.run import Recording
from lamella.core.bench.results.store import SavedRuns
from lamella.core.errors import FileProblem
from lamella.core.jobs import Job
from lamella.ui.tasks import Tasks


class RunSaving(QObject):
    """`saved` has the number of the run. Without a file nothing is kept."""

    saved = Signal(int)
    failed = Signal(Exception)

    def __init__(self, tasks: Tasks, kept: SavedRuns | None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._tasks, self._kept = tasks, kept
        self._saved: tuple[Recording, int] | None = None

    def save(self, recording: Recording) -> None:
        """A benchmark that measured something; one that grew takes the place of what was saved of it
        before."""
        kept, saved = self._kept, self._saved
        if kept is None or not (recording.records or recording.failures):
            return
        run = recording.run()
        before = [saved[1]] if saved and saved[0] is recording else []

        def work(job: Job) -> int:
            number = kept.save(run)
            kept.delete(before)
            return number

        def done(number: int) -> None:
            self._saved = (recording, number)
            self.saved.emit(number)

        self._tasks.write(work, done, self.failed.emit, owner=self, text="Saving the run")

    def costs(self) -> Costs:
        """Blocks. Of the runs that were saved, or as shipped where these cannot be read."""
        try:
            return self._kept.costs() if self._kept else shipped_costs()
        except FileProblem:
            return shipped_costs()  # that the file is damaged is said where runs are kept and shown
