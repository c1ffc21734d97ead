"""Reading the rest of a file with a cache while its first rows are shown; the grid grows meanwhile."""

from __future__ import annotations

from typing import Protocol

from PySide6.QtCore import QObject, QTimer, SignalInstance

from lamella.core.errors import visible
from lamella.core.jobs import Job, Progress
from lamella.core.query.line import Line
from lamella.core.query.source import Fillable
from lamella.ui.grid.pane import GridPane
from lamella.ui.tasks import Handle
from lamella.ui.widgets.hosts import widget_of
from lamella.ui.window.failures import Failures
from lamella.ui.window.loader import Tab, TabContent, load

GROW_EVERY_MS = 200


class FilledTab(Tab, Protocol):
    """A tab that shows the rows of a file that have been read so far."""

    statement: str
    changed: SignalInstance
    pane: GridPane

    @property
    def failures(self) -> Failures: ...

    def reload(self, from_top: bool = False) -> None: ...

    def why_empty(self, content: TabContent) -> str: ...


class FileFilling(QObject):
    """Fills the file of one tab: reads on until all rows are cached or the user stops it."""

    def __init__(self, tab: FilledTab) -> None:
        super().__init__(widget_of(tab))
        self._tab = tab
        self._is_due = True
        self._reading: Handle | None = None
        self._growth: Handle | None = None
        self._pause = QTimer(self, singleShot=True, interval=GROW_EVERY_MS)

    def begin(self, content: TabContent) -> None:
        """Start reading on if rows are missing; at most once per content of the file."""
        if self._is_due:
            self._is_due = False
            if not content.complete:
                self._read_on()

    def begin_anew(self) -> None:
        """Start over, because the file's content has changed."""
        self.stop()
        self._is_due = True

    def stop(self) -> None:
        if self._reading is not None:
            reading, self._reading = self._reading, None
            reading.cancel()
        self.stop_growing()

    def stop_growing(self) -> None:
        """Cancel showing more rows, because newer ones are about to be read."""
        if self._growth is not None:
            self._growth.cancel()
            self._growth = None

    def _read_on(self) -> None:
        tab = self._tab
        assert isinstance(tab.dataset, Fillable)
        self._reading = tab.tasks.read(
            tab.dataset.fill,
            lambda _: tab.reload(),
            tab.failures.show_lasting,
            on_progress=self._grow,
            on_cancel=self._offer_rest,
            owner=self,
            text=f"Reading {tab.name}",
        )

    def _offer_rest(self) -> None:
        if self._tab.statement:  # it was stopped, too, and the rows that have arrived stay
            if self._reading is not None:
                self._read_on()
            return
        self._tab.messages.say(
            f"Reading {visible(self._tab.name)} was stopped: only its first rows are shown",
            ("Go on", self._read_on),
        )

    def _grow(self, progress: Progress) -> None:
        tab = self._tab
        waits = self._growth is not None or self._pause.isActive() or tab.loader.running
        if not tab.line.active and not waits:
            self._growth = tab.tasks.read(
                self._longer, self._show_growth, self._not_longer, owner=self, quiet=True
            )

    def _longer(self, job: Job) -> TabContent:
        return load(self._tab.dataset, Line(), (0, -1, ()), job, self._tab.loader.answers)

    def _show_growth(self, content: TabContent) -> None:
        tab = self._tab
        self._growth = None
        self._pause.start()
        same = tab.content is not None and content.view.schema.equals(tab.content.view.schema)
        if same and not tab.line.active and not tab.loader.running:
            tab.content = content
            tab.failures.over()
            tab.grid.grow(content.view)
            tab.pane.set_nothing(tab.why_empty(content))
            tab.changed.emit()

    def _not_longer(self, error: Exception) -> None:
        self._growth = None
        self._pause.start()
        self._tab.failures.show(error)
