"""The versions of a tab's table: opened read-only, restored, named and expired; and the banner above the rows
of an earlier version."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from lamella.core.errors import LamellaError, visible
from lamella.core.jobs import Job
from lamella.core.store.commit import Commit
from lamella.core.store.rows import OldVersion
from lamella.core.store.store import Store
from lamella.core.store.table import Table
from lamella.ui import theme
from lamella.ui.dialogs.error_dialog import message
from lamella.ui.widgets.hosts import widget_of
from lamella.ui.window.comparing import Comparing
from lamella.ui.window.loader import Tab

if TYPE_CHECKING:
    from lamella.ui.inspector.inspector import Inspector
    from lamella.ui.stores.upkeep_dialogs import ExpireDialog


class VersionedTab(Tab, Protocol):
    changed: Any
    comparing: Comparing

    def window(self) -> QWidget: ...


class Versions(QObject):
    """The versions of one tab's table. `open_requested` carries the number of a version to show in a tab of
    its own, `now_requested` a function to call with the tab of the newest version. `changed` is emitted after
    a version was named or expired, which no commit reports."""

    open_requested = Signal(int)
    now_requested = Signal(object)
    changed = Signal()

    def __init__(self, tab: VersionedTab) -> None:
        super().__init__(widget_of(tab))
        self._tab = tab
        self.banner: VersionBanner | None = None

    @property
    def pinned_version(self) -> int | None:
        """The version at which the tab stays; None if it shows the newest, or a file."""
        dataset = self._tab.dataset
        return dataset.version if isinstance(dataset, OldVersion) else None

    def put_banner(self, layout: QVBoxLayout) -> None:
        """Put the banner above the rows of an earlier version."""
        version = self.pinned_version
        if version is None:
            return
        self.banner = VersionBanner(version)
        self.banner.back_button.clicked.connect(lambda: self.now_requested.emit(None))
        self.banner.compare_button.clicked.connect(
            lambda: self.now_requested.emit(lambda tab: tab.comparing.compare_versions(version))
        )
        self.banner.restore_button.clicked.connect(
            lambda: self.now_requested.emit(lambda tab: tab.versions.restore(version))
        )
        layout.addWidget(self.banner)

    def attach(self, inspector: Inspector) -> None:
        """Connect the requests of the inspector's history page."""
        page, compare = inspector.history_page, self._tab.comparing.compare_versions
        page.compare_requested.connect(compare)
        page.open_requested.connect(self.open_requested)
        page.restore_requested.connect(self.restore)
        page.undo_requested.connect(self.undo_to)
        page.name_requested.connect(self.rename)
        page.expire_requested.connect(self.ask_expire)
        self.changed.connect(page.refresh)

    # ------------------------------------------------------------------- commits

    def restore(self, version: int) -> None:
        """Make the content of a version the newest again, as a commit."""

        def change(table: Table, job: Job) -> Commit:
            return table.history.restore(version, f"restore version {version}", job)

        self._commit(change, f"Restoring version {version}")

    def undo_to(self, version: int) -> None:
        """Undo all commits after a version, as one commit that can be redone."""

        def undone(table: Table, job: Job) -> Commit:
            return table.history.undo_to(version, job)

        self._commit(undone, f"Undoing to version {version}")

    def _commit(self, change: Callable[[Table, Job], Commit], text: str) -> None:
        table = self._tab.table
        if table is not None:
            self._tab.commits.run(table, change, text, asker=self)

    # ------------------------------------------------------------------- names and expiry

    def rename(self, version: int, before: str, name: str) -> None:
        """Rename a version; an empty name removes the one it has."""
        name = name.strip()
        if name == before:
            return

        def work(table: Table, job: Job) -> str:
            if before:
                table.history.unname_version(before)
            if name:
                try:
                    table.history.name_version(name, version)
                except LamellaError:
                    if before:
                        table.history.name_version(before, version)
                    raise
            return (
                f"Version {version} is now named '{name}'" if name else f"Version {version} has no name now"
            )

        self._write(work, f"Naming version {version}")

    def ask_expire(self, versions: int) -> ExpireDialog | None:
        """Ask how many of the versions to keep; the dialog says first what would be removed."""
        from lamella.ui.stores.upkeep_dialogs import ExpireDialog

        table, tab = self._tab.table, self._tab
        if table is None:
            return None
        assert isinstance(table.store, Store)
        dialog = ExpireDialog(table.store, tab.name, versions, tab.tasks, tab.window())
        dialog.finished_work.connect(lambda _: self.changed.emit())
        dialog.open()
        return dialog

    def _write(self, work: Callable[[Table, Job], str], text: str) -> None:
        table, tab = self._tab.table, self._tab
        if table is None:
            return

        def report_success(done_text: str) -> None:
            tab.messages.say(visible(done_text), kind="message-success")
            self.changed.emit()

        def show_failure(error: Exception) -> None:
            if isinstance(error, LamellaError):
                tab.messages.say(message(error), kind="message-danger")
            else:
                tab.tasks.failed.emit(error)
            self.changed.emit()

        tab.tasks.write(lambda job: work(table, job), report_success, show_failure, owner=self, text=text)


class VersionBanner(QFrame):
    """Says which version is shown, with a button that goes to the newest."""

    def __init__(self, version: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        theme.variant(self, "difference")
        self.label = QLabel(f"Version {version}, read-only")
        self.back_button = QPushButton("Back to now")
        self.compare_button = QPushButton("Compare with now")
        self.restore_button = QPushButton("Restore this version")
        line = QHBoxLayout(self)
        line.setContentsMargins(theme.M, theme.XS, theme.S, theme.XS)
        line.setSpacing(theme.XS)
        line.addWidget(self.label)
        line.addStretch(1)
        for button in (self.compare_button, self.restore_button, self.back_button):
            theme.variant(button, "ghost")
            line.addWidget(button)
        self.setAccessibleName(self.label.text())
