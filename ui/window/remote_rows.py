"""Fetching further rows of a server's answer: a bar below the grid that says how many rows are here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QWidget

from lamella.core.errors import LamellaError, visible
from lamella.core.query.source import Remote
from lamella.core.query.spark.spill import most_rows
from lamella.ui import theme
from lamella.ui.tasks import Handle
from lamella.ui.widgets.hosts import widget_of
from lamella.ui.window.file_readings import FileReading, with_options
from lamella.ui.window.loader import Tab, TabContent

if TYPE_CHECKING:
    from lamella.core.datasets.spark import SparkTable

AGAIN = "Fetches all rows again from the first: without a key, the server cannot continue after the last row"
BEHIND = "Fetches the rows that follow the last one here, in the order of the key"


class Reopener(Protocol):
    reading: FileReading

    def reopen(self, reading: FileReading | None = None) -> None: ...


class RemoteTab(Tab, Protocol):
    @property
    def reopening(self) -> Reopener: ...

    def reload(self, from_top: bool = False) -> None: ...

    def window(self) -> QWidget: ...


class RemoteRowsBar(QFrame):
    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        theme.variant(self, "difference")
        self.label = QLabel()
        self.more_button, self.key_button = QPushButton("Fetch more"), QPushButton("Key of the rows…")
        line = QHBoxLayout(self)
        line.setContentsMargins(theme.M, theme.XS, theme.S, theme.XS)
        line.setSpacing(theme.XS)
        line.addWidget(self.label)
        line.addStretch(1)
        for button in (self.more_button, self.key_button):
            theme.variant(button, "ghost")
            line.addWidget(button)
        self.hide()

    def show_text(self, text: str) -> None:
        self.label.setText(text)
        self.setAccessibleName(text)


class RemoteRows(QObject):
    def __init__(self, tab: RemoteTab) -> None:
        super().__init__(widget_of(tab))
        self._tab = tab
        self._handle: Handle | None = None
        self.bar = RemoteRowsBar()
        self.bar.more_button.clicked.connect(self.fetch_more)
        self.bar.key_button.clicked.connect(self.ask_key)
        tab.loader.loaded.connect(self._follow)

    @property
    def _table(self) -> SparkTable | None:
        """The tab's table if a server holds it; the code for such tables is imported only for them."""
        dataset = self._tab.dataset
        if not isinstance(dataset, Remote):
            return None
        from lamella.core.datasets.spark import SparkTable

        return dataset if isinstance(dataset, SparkTable) else None

    @property
    def _key(self) -> Sequence[str]:
        return () if self._table is None else self._table.key

    def fetch_more(self) -> None:
        """Fetch further rows of the answer; the position in the grid stays."""
        tab, content = self._tab, self._tab.content
        if self._handle is not None or content is None or content.lines.fetched_rows is None:
            return
        lines, answers = content.lines, tab.loader.answers

        def end() -> None:
            self._handle = None
            self.bar.more_button.setEnabled(True)

        def show_rows(_: None) -> None:
            end()
            tab.reload()

        def show_failure(error: Exception) -> None:
            end()
            if isinstance(error, LamellaError):
                tab.messages.say(str(error), kind="message-danger")
            else:
                tab.failures.show(error)

        self.bar.more_button.setEnabled(False)
        self._handle = tab.tasks.read(
            lambda job: answers.fetch_more(lines, job), show_rows, show_failure, on_cancel=end, owner=self,
            text=f"Fetching rows of {tab.name}",
        )  # fmt: skip

    def ask_key(self) -> None:
        """Ask which columns identify a row."""
        from lamella.ui.dialogs.row_key import RowKeyDialog

        if self._table is not None:
            dialog = RowKeyDialog(self._table, self._tab.tasks, self._tab.window())
            dialog.chosen.connect(self.use_key)
            dialog.open()

    def use_key(self, key: Sequence[str]) -> None:
        """Read the table by this key, which is remembered with it."""
        reading = self._tab.reopening.reading
        options = {name: value for name, value in reading.options.items() if name != "row_key"}
        new_options = {**options, "row_key": tuple(key)} if key else options
        self._tab.reopening.reopen(with_options(reading, new_options))

    def _follow(self, content: TabContent) -> None:
        fetched = content.lines.fetched_rows
        self.bar.setVisible(fetched is not None and not fetched.is_whole)
        if fetched is None or fetched.is_whole:
            return
        count, more = fetched.snapshot.num_rows, min(most_rows(), fetched.total - fetched.snapshot.num_rows)
        noun = "groups" if content.line.grouping is not None else "rows"
        by = f", by {', '.join(map(visible, self._key))}" if self._key and not content.line.sort else ""
        which = "The first " if by or content.line.sort else ""
        order = "" if by or content.line.sort or noun == "groups" else ", unsorted"
        self.bar.show_text(
            f"{which}{count:,} of {fetched.total:,} {noun}{by}{order}. Charts and figures cover all of them."
        )
        self.bar.more_button.setText(f"Fetch {more:,} more")
        self.bar.more_button.setToolTip(BEHIND if self._key else AGAIN)
