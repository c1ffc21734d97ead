"""What a tab says when its rows could not be read, and the ways out it offers."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from lamella.core.datasets.text.delimited import RaggedRow
from lamella.core.errors import DamagedFile, FileProblem, LamellaError
from lamella.ui.dialogs.error_dialog import BUG_WHAT, ErrorDialog
from lamella.ui.widgets.message_bar import Choice

if TYPE_CHECKING:
    from lamella.ui.window.dataset_tab import DatasetTab

log = logging.getLogger(__name__)
PAD = "Open with short rows filled up"
LOOK_ANYWAY = "Open anyway"


class Failures(QObject):
    """Of one tab. A failure stays on show until rows are there again, or, as the file itself is not
    whole, until the file is opened again."""

    def __init__(self, tab: DatasetTab) -> None:
        super().__init__(tab)
        self._tab = tab
        self._text = ""

    def show(self, error: Exception) -> None:
        """That rows could not be read; the next ones that can be take the message away."""
        self._text = self._say(error)

    def show_lasting(self, error: Exception) -> None:
        """That the file cannot be read to its end."""
        self._say(error)
        self._text = ""

    def over(self) -> None:
        """Take the message away, unless it tells something else by now."""
        if self._text and self._tab.messages.label.text() == self._text:
            self._tab.messages.clear()
        self._text = ""

    def _say(self, error: Exception) -> str:
        text = sentence(error)
        self._tab.pane.set_busy("")
        self._tab.messages.say(text, *self._ways_out(error), kind="message-danger")
        self._tab.changed.emit()
        return text

    def _ways_out(self, error: Exception) -> list[Choice]:
        tab = self._tab
        if not isinstance(error, LamellaError):
            log.error("Unexpected error in %s", tab.name, exc_info=error)
            details = ("Details", lambda: ErrorDialog(error, tab.window()).open())
            return [("Try again", tab.reload), details]
        if isinstance(error, FileProblem) and tab.table is None:
            pad = [(PAD, lambda: tab.reopening.reopen("pad"))] if can_be_filled_up(error) else []
            if isinstance(error, DamagedFile) and error.readable_anyway:
                pad.append((LOOK_ANYWAY, lambda: tab.reopening.reopen(checksums="ignore")))
            return [*pad, ("Reload", tab.reopening.reopen)]
        return [("Try again", tab.reload)]


def can_be_filled_up(error: Exception) -> bool:
    """Whether the file opens once short rows are filled up."""
    return isinstance(error, RaggedRow) and error.paddable


def sentence(error: Exception) -> str:
    if isinstance(error, LamellaError):
        return str(error)
    return f"{BUG_WHAT}: {type(error).__name__}: {error}. Your data is as it was before."
