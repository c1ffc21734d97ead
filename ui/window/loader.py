"""Gets the rows to show: runs the query of a tab off the GUI thread, the newest wish only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal

from lamella.core.datasets.base import Dataset
from lamella.core.filters.expr import Filter
from lamella.core.jobs import Job
from lamella.core.query.query import Query
from lamella.core.query.view import View
from lamella.core.scan.snapshot import SortKey
from lamella.core.store.table import Table
from lamella.ui.grid.pages import PageTexts, Request, read_pages
from lamella.ui.tasks import Handle, Tasks

Place = Callable[[], tuple[int, int, Sequence[str]]]  # first page, last page and columns on screen


@dataclass(frozen=True)
class Loaded:
    """A view ready to be shown, `ready` being what is on screen of it."""

    view: View
    ready: PageTexts
    total_rows: int
    complete: bool
    where: Filter | None
    sort: tuple[SortKey, ...]
    undo: str = ""
    redo: str = ""


class Loader(QObject):
    """`loaded` has other rows, or the same ones changed. `failed` leaves what is shown as it is."""

    started = Signal()
    loaded = Signal(Loaded)
    failed = Signal(Exception)
    stopped = Signal()

    def __init__(self, dataset: Dataset, name: str, tasks: Tasks, place: Place, parent: QObject) -> None:
        super().__init__(parent)
        self.dataset, self._name = dataset, name
        self._tasks, self._place = tasks, place
        self._handle: Handle | None = None

    @property
    def running(self) -> bool:
        return self._handle is not None

    def load(self, where: Filter | None, sort: tuple[SortKey, ...], from_top: bool) -> None:
        """Ask for these rows; whatever was asked before and is not there yet is dropped."""
        self.cancel()
        first, last, names = self._place()
        if from_top:
            first, last = 0, last - first

        def work(job: Job) -> Loaded:
            return load(self.dataset, where, sort, (first, last, names), job)

        self._handle = self._tasks.read(
            work, self._done, self._fail, stopped=self._stop, owner=self, text=f"Reading {self._name}"
        )
        self.started.emit()

    def cancel(self) -> None:
        if self._handle is not None:
            handle, self._handle = self._handle, None
            handle.cancel()

    def _done(self, loaded: Loaded) -> None:
        self._handle = None
        self.loaded.emit(loaded)

    def _fail(self, error: Exception) -> None:
        self._handle = None
        self.failed.emit(error)

    def _stop(self) -> None:
        """Told by the Stop button; a wish that replaced this one is still on its way."""
        if self._handle is not None and not self._handle.running:
            self._handle = None
            self.stopped.emit()


def load(
    dataset: Dataset,
    where: Filter | None,
    sort: tuple[SortKey, ...],
    place: tuple[int, int, Sequence[str]],
    job: Job,
) -> Loaded:
    """Blocks: runs the query and reads what is on screen."""
    snapshot = dataset.snapshot()
    view = View(snapshot, Query(where=where, sort=sort), job)
    job.check()
    undo, redo = told(dataset)
    ready = _first_pages(view, place, job)
    return Loaded(view, ready, snapshot.num_rows, snapshot.complete, where, sort, undo, redo)


def told(dataset: Dataset) -> tuple[str, str]:
    """What an undo and a redo of a table would take back and bring back."""
    if not isinstance(dataset, Table):
        return "", ""
    undo, redo = dataset.undoable(), dataset.redoable()
    return (undo.message if undo else ""), (redo.message if redo else "")


def _first_pages(view: View, place: tuple[int, int, Sequence[str]], job: Job) -> PageTexts:
    first, last, shown = place
    names = view.schema.names
    columns = tuple(i for i, name in enumerate(names) if name in set(shown)) or tuple(
        range(min(len(names), 16))
    )
    if view.num_rows == 0 or not columns:
        return {}
    return read_pages(view, Request(first, last, columns), names, job)
