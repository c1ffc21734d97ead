"""Messages for when a tab's rows cannot be read, and opening its file again."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from PySide6.QtCore import QObject, Signal, SignalInstance
from PySide6.QtWidgets import QWidget

from lamella.core.datasets.base import Dataset
from lamella.core.datasets.delta import DeltaDataset
from lamella.core.datasets.text.delimited import RaggedRow
from lamella.core.errors import BadSearch, DamagedFile, FileProblem, LamellaError
from lamella.core.jobs import Job
from lamella.core.query.source import whole_snapshot
from lamella.ui.dialogs.error_dialog import BUG_WHAT, ErrorDialog, message
from lamella.ui.grid.pane import GridPane
from lamella.ui.steps.step_line import StepLine
from lamella.ui.widgets.hosts import widget_of
from lamella.ui.widgets.message_bar import Choice
from lamella.ui.window.file_readings import FileReading, with_options
from lamella.ui.window.file_watch import FileWatch, is_file, open_file, same_files
from lamella.ui.window.loader import Tab
from lamella.ui.window.review import Review

log = logging.getLogger(__name__)
PAD = "Open with short rows filled up"
OPEN_ANYWAY = "Open anyway"


class OpenedTab(Tab, Protocol):
    changed: SignalInstance
    pane: GridPane
    steps: StepLine
    reopening: Reopening
    file_watch: FileWatch
    review: Review

    def reload(self) -> None: ...

    def show_dataset(self, dataset: Dataset) -> None: ...

    def window(self) -> QWidget: ...


class Failures(QObject):
    """The failures of one tab, as messages. A message stays until rows can be read again or, if the file
    itself is damaged or incomplete, until the file is opened again."""

    def __init__(self, tab: OpenedTab) -> None:
        super().__init__(widget_of(tab))
        self._tab = tab
        self._text = ""
        self._missing_store: tuple[str, Choice] | None = None

    def report_missing_store(self, text: str, choice: Choice) -> None:
        """Say that the store is missing, also whenever rows cannot be read until it is back: messages about
        these would only name a file of it."""
        self._missing_store = (text, choice)
        self._show_missing_store(text, choice)

    def clear_missing_store(self) -> None:
        self._missing_store = None

    def repeat_missing_store(self, error: Exception) -> bool:
        """If the store is missing, say so again instead of an error that this explains; return whether it
        is."""
        if self._missing_store is None or not isinstance(error, LamellaError):
            return False
        self._show_missing_store(*self._missing_store)
        return True

    def _show_missing_store(self, text: str, choice: Choice) -> None:
        self._tab.messages.say(text, choice, kind="message-danger", stays=True)

    def show(self, error: Exception) -> None:
        """Say that rows could not be read; the message goes when rows can be read again."""
        self._text = self._say(error)

    def show_lasting(self, error: Exception) -> None:
        """Say that the file cannot be read to its end."""
        self._say(error)
        self._text = ""

    def over(self) -> None:
        """Remove the message, unless another one has replaced it."""
        if self._text and self._tab.messages.label.text() == self._text:
            self._tab.messages.clear()
        self._text = ""

    def _say(self, error: Exception) -> str:
        text = sentence(error)
        self._tab.pane.set_busy("")
        if not self.repeat_missing_store(error):
            self._tab.messages.say(text, *self._ways_out(error), kind="message-danger")
        self._tab.changed.emit()
        return text

    def _ways_out(self, error: Exception) -> list[Choice]:
        tab = self._tab
        if not isinstance(error, LamellaError):
            log.error("Unexpected error in %s", tab.name, exc_info=error)
            details = ("Details", lambda: ErrorDialog(error, tab.window()).open())
            return [("Try again", tab.reload), details]
        if isinstance(error, FileProblem) and is_file(tab.key):
            pad = [(PAD, tab.reopening.fill_up)] if can_be_filled_up(error) else []
            if isinstance(error, DamagedFile) and error.readable_anyway:
                pad.append((OPEN_ANYWAY, tab.reopening.ignore_checksums))
            return [*pad, ("Reload", tab.reopening.reopen)]
        edit = [("Edit the filter", tab.steps.edit_filter)] if isinstance(error, BadSearch) else []
        return [*edit, ("Try again", tab.reload)]


def can_be_filled_up(error: Exception) -> bool:
    """Whether the file can be opened by filling up its short rows."""
    return isinstance(error, RaggedRow) and error.paddable


def sentence(error: Exception) -> str:
    if isinstance(error, LamellaError):
        return message(error)
    return f"{BUG_WHAT}: {type(error).__name__}: {error}. Your data is unchanged."


def temporary_file_problem(what: str, error: OSError) -> FileProblem:
    """The problem of a temporary file that could not be written."""
    return FileProblem(
        tempfile.tempdir or "temporary files",
        f"{what} could not be written to a temporary file",
        error.strerror or str(error),
        "Check the permissions of its folder and the free space on the disk",
    )


class Reopening(QObject):
    """Opens the file of one tab again, as it was read before or with the reading that was `chosen`. Tables
    are never opened again: their store knows what changed."""

    chosen = Signal(FileReading)

    def __init__(self, tab: OpenedTab) -> None:
        super().__init__(widget_of(tab))
        self.reading = FileReading()
        self._tab = tab

    def refresh(self) -> None:
        """Read the rows again, from the file as it is now."""
        self._tab.loader.kept_rows = None
        self._tab.loader.answers.forget()
        if not is_file(self._tab.key):
            self._tab.reload()
        else:
            self._open(False, self._tab.reload)

    def follow_file(self) -> None:
        """Open the file again if it has changed."""
        if is_file(self._tab.key):
            self._open(False, lambda: None)

    def reopen(self, reading: FileReading | None = None) -> None:
        """Open the file again, changed or not."""
        if reading is not None:
            self.reading = reading
            self.chosen.emit(reading)
        self._open(True, lambda: None)

    def fill_up(self) -> None:
        """Read the file with short rows filled up."""
        self.reopen(replace(self.reading, ragged="pad"))

    def ignore_checksums(self) -> None:
        self.reopen(replace(self.reading, checksums="ignore"))

    def ask_version(self) -> None:
        """Ask which version of a Delta table to show."""
        from lamella.ui.dialogs.delta_versions import VersionChoice

        tab = self._tab
        if isinstance(tab.dataset, DeltaDataset):
            dialog = VersionChoice(tab.dataset, tab.tasks, tab.window())
            dialog.chosen.connect(self.show_version)
            dialog.open()

    def show_version(self, version: int | None) -> None:
        """Show a version of a Delta table; None for the newest at the time of reading."""
        options = {name: value for name, value in self.reading.options.items() if name != "version"}
        new_options = options if version is None else {**options, "version": version}
        self.reopen(with_options(self.reading, new_options))

    def ways_to_versions(self) -> list[Choice]:
        """Ways back to the newest version of a Delta table, while an earlier one is shown."""
        dataset = self._tab.dataset
        if not isinstance(dataset, DeltaDataset) or dataset.version == dataset.newest:
            return []
        return [("Show the newest", lambda: self.show_version(None)), ("Versions…", self.ask_version)]

    def reload_saved_file(self) -> None:
        """Show the file as it was just saved. All of its rows are read first, so the scroll position is
        kept."""
        self._open(True, lambda: None, whole=True)

    def _open(self, anyway: bool, unchanged: Callable[[], object], whole: bool = False) -> None:
        tab, reading = self._tab, self.reading
        before = tab.dataset

        def work(job: Job) -> Dataset | None:
            fresh = open_file(tab.key, reading, job)
            if whole:
                whole_snapshot(fresh, job)
            return fresh if anyway or not same_files(before, fresh) else None

        def finish(fresh: Dataset | None) -> None:
            if fresh is None:
                unchanged()
            elif tab.review.holds_edits and not same_files(before, fresh):
                tab.file_watch.report_change()
            else:
                tab.show_dataset(fresh)

        def show_failure(error: Exception) -> None:
            tab.review.stop_waiting()
            tab.failures.show(error)

        tab.tasks.read(
            work,
            finish,
            show_failure,
            on_cancel=tab.review.stop_waiting,
            owner=self,
            text=f"Opening {tab.name}",
        )
