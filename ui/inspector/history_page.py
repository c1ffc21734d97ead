"""The history of a table: its commits, and the actions on a version."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QInputDialog,
    QLabel,
    QListView,
    QMenu,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from lamella.core.errors import visible, visible_name
from lamella.core.jobs import Job
from lamella.core.phrases import quantity, size_text
from lamella.core.store.commit import Commit
from lamella.core.store.table import Table
from lamella.ui import theme
from lamella.ui.inspector.commit_list import COMMIT, CommitModel, CommitPainter
from lamella.ui.tasks import Handle, Tasks
from lamella.ui.widgets.controls import ElidedLabel, FlowLayout, breakable
from lamella.ui.widgets.name_form import ask_name

PAGE = 200
"""The number of commits read at a time."""
MOST_REFRESHED_COMMITS = 2_000
"""How many of the commits that were scrolled to are read again when the history changes."""


@dataclass(frozen=True)
class FirstCommits:
    """The newest commits, the total number of commits, and the size of the files of all versions in bytes."""

    name: str
    commits: tuple[Commit, ...]
    total: int
    bytes: int


def read_first(table: Table, count: int, job: Job) -> FirstCommits:
    """Blocks."""
    history = table.history
    return FirstCommits(
        table.name, tuple(history.newest_commits(count)), history.num_versions(), history.file_bytes()
    )


class HistoryPage(QWidget):
    """`compare_requested` has two versions, the later one None for the newest; the other signals have one
    version. `name_requested` also has its previous and new name."""

    compare_requested = Signal(int, object)
    open_requested = Signal(int)
    restore_requested = Signal(int)
    undo_requested = Signal(int)
    import_requested = Signal()
    name_requested = Signal(int, str, str)
    expire_requested = Signal(int)

    def __init__(
        self,
        table: Callable[[], Table | None],
        why_none: Callable[[], str],
        can_import: Callable[[], bool],
        tasks: Tasks,
        parent: QWidget | None = None,
    ) -> None:
        """`why_none` says why there is no table, `can_import` whether the rows could be imported into one."""
        super().__init__(parent)
        self._table, self._reason_for_none, self._tasks = table, why_none, tasks
        self._can_import = can_import
        self._handle: Handle | None = None
        self._shown_key: object = None
        self.title, self.figures = ElidedLabel(), QLabel()
        self.more_button = QToolButton(text="⋯", accessibleName="More about the history")
        self.model = CommitModel(self)
        self.list = QListView()
        self.nothing = QLabel(wordWrap=True)
        self.import_button = QPushButton("Import…")
        self.commit_label = QLabel(wordWrap=True, textFormat=Qt.TextFormat.PlainText)
        self.changes_button = QPushButton("What changed")
        self.compare_now_button = QPushButton("Compare with now")
        self.open, self.restore = QPushButton("Open"), QPushButton("Restore")
        self.undo, self.name = QPushButton("Undo to here"), QPushButton("Name…")
        self.compare_button = QPushButton()
        self._lay_out()
        self._connect()
        self._follow()

    @property
    def selected_commits(self) -> list[Commit]:
        """The selected commits, newest first."""
        commits = [index.data(COMMIT) for index in self.list.selectionModel().selectedIndexes()]
        return sorted(commits, key=lambda commit: -commit.version)

    @property
    def is_settled(self) -> bool:
        return self._handle is None

    def follow(self, subject: object) -> None:
        """Read the commits again if `subject`, the rows on screen, have changed."""
        if subject is not self._shown_key or subject is None:
            self._shown_key = subject
            self.refresh()

    def refresh(self) -> None:
        self.stop()
        table = self._table()
        for widget in (self.list, self.commit_label, self.choices, self.more_button):
            widget.setVisible(table is not None)
        self.nothing.setVisible(table is None)
        self.import_button.setVisible(table is None and self._can_import())
        if table is None:
            self.title.say("No history")
            self.nothing.setText(self._reason_for_none())
            self.figures.clear()
            return
        count = min(max(PAGE, len(self.model.commits)), MOST_REFRESHED_COMMITS)
        self._handle = self._tasks.read(
            lambda job: read_first(table, count, job), self._show, self._fail, owner=self, quiet=True
        )

    def stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def select(self, version: int) -> None:
        place = self.model.place_of(version)
        if place >= 0:
            self.list.setCurrentIndex(self.model.index(place))

    def _show(self, first: FirstCommits) -> None:
        self._handle = None
        before = [commit.version for commit in self.selected_commits]
        self.model.show(first.commits, first.total)
        self.title.say(visible_name(first.name))
        versions = quantity(first.total, "version")
        self.figures.setText(f"{versions} · {size_text(first.bytes)}")
        self.select(before[0] if before and self.model.place_of(before[0]) >= 0 else first.commits[0].version)
        self._follow()

    def _append_commits(self, commits: list[Commit]) -> None:
        self._handle = None
        self.model.append(commits)
        self._follow()

    def _read_further(self, before: int) -> None:
        table = self._table()
        if table is not None:
            self.stop()
            self._handle = self._tasks.read(
                lambda job: table.history.newest_commits(PAGE, before),
                self._append_commits, self._fail, owner=self, quiet=True,
            )  # fmt: skip

    def _fail(self, error: Exception) -> None:
        self._handle = None
        self._tasks.failed.emit(error)

    # ------------------------------------------------------------------- what can be done

    def _follow(self) -> None:
        """Enable the actions that the selected versions allow."""
        commits = self.selected_commits
        commit = commits[0] if len(commits) == 1 else None
        newest = self.model.commits[0].version if self.model.commits else 0
        self.compare_button.setVisible(len(commits) == 2)
        if len(commits) == 2:
            self.compare_button.setText(f"Compare {commits[1].version:,} with {commits[0].version:,}")
        of_one = (self.compare_now_button, self.open, self.restore, self.undo)
        for button in (self.changes_button, *of_one, self.name):
            button.setVisible(len(commits) != 2)
        earlier = commit is not None and commit.version < newest
        for button in of_one:
            button.setEnabled(earlier)
        self.changes_button.setEnabled(commit is not None and self._before(commit) is not None)
        self.name.setEnabled(commit is not None)
        if commit is not None:
            self.commit_label.setText(_sentence(commit))
        elif len(commits) == 2:
            self.commit_label.setText(f"Versions {commits[1].version:,} and {commits[0].version:,}")
        else:
            self.commit_label.setText("Select one version, or two to compare them")

    def _before(self, commit: Commit) -> int | None:
        """The version before a commit, if it has not expired. Older ones that have names may be left."""
        before = commit.version - 1
        return before if self.model.place_of(before) >= 0 else None

    def show_change(self) -> None:
        """Show what the selected commit changed."""
        commits = self.selected_commits
        if len(commits) == 2:
            self.compare_requested.emit(commits[1].version, commits[0].version)
        elif len(commits) == 1 and (before := self._before(commits[0])) is not None:
            self.compare_requested.emit(before, commits[0].version)

    def ask_name(self) -> QInputDialog | None:
        if len(self.selected_commits) != 1:
            return None
        commit = self.selected_commits[0]
        label = f"Name of version {commit.version}. A named version does not expire"

        def name_version(name: str) -> None:
            self.name_requested.emit(commit.version, commit.name, name)

        return ask_name(self, "Name the version", label, commit.name, name_version)

    def _emit(self, signal: Callable[[int], object]) -> None:
        if len(self.selected_commits) == 1:
            signal(self.selected_commits[0].version)

    def _open_menu(self, point: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for button in self._buttons:
            if not button.isHidden():
                action = menu.addAction(button.text(), button.click)
                action.setEnabled(button.isEnabled())
        menu.popup(self.list.viewport().mapToGlobal(point))

    # ------------------------------------------------------------------- set-up

    def _lay_out(self) -> None:
        self._prepare_list()
        self._prepare_buttons()
        theme.variant(self.title, "title")
        theme.variant(self.figures, "caption")
        theme.variant(self.commit_label, "caption")
        theme.variant(self.nothing, "muted")
        self.nothing.setAlignment(Qt.AlignmentFlag.AlignTop)
        head = QHBoxLayout()
        head.setSpacing(theme.S)
        head.addWidget(self.title, 1)
        head.addWidget(self.figures)
        head.addWidget(self.more_button)
        below = QVBoxLayout()
        below.setContentsMargins(0, 0, theme.S, 0)
        below.setSpacing(theme.S)
        below.addWidget(self.nothing)
        below.addWidget(self.import_button, 0, Qt.AlignmentFlag.AlignLeft)
        below.addWidget(self.commit_label)
        below.addWidget(self.choices)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.M, theme.S, 0, theme.S)
        layout.setSpacing(theme.S)
        layout.addLayout(head)
        layout.addWidget(self.list, 1)
        layout.addLayout(below)
        layout.addStretch()

    def _prepare_list(self) -> None:
        self.list.setModel(self.model)
        self.list.setItemDelegate(CommitPainter(self.list))
        self.list.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.list.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.list.setUniformItemSizes(True)
        self.list.setMouseTracking(True)
        self.list.setAccessibleName("Versions")
        self.list.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        theme.variant(self.list, "plain")

    def _prepare_buttons(self) -> None:
        menu = QMenu(self.more_button)
        self.expire_action = menu.addAction(
            "Expire versions…", lambda: self.expire_requested.emit(self.model.total)
        )
        self.more_button.setMenu(menu)
        self.more_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._buttons = (
            self.compare_button, self.changes_button, self.compare_now_button, self.open, self.restore,
            self.undo, self.name,
        )  # fmt: skip
        self.choices = QWidget()
        flow = FlowLayout(theme.XS, self.choices)
        for button in self._buttons:
            flow.addWidget(button)
        tips = {
            self.changes_button: "Compare with the version before it (Enter)",
            self.open: "Open read-only in a new tab",
            self.restore: "Make its rows the current ones again, as one commit",
            self.undo: "Undo every commit after it at once; Redo brings them back",
            self.name: "A named version does not expire",
        }
        for button, tip in tips.items():
            button.setToolTip(tip)

    def _connect(self) -> None:
        self.model.more_requested.connect(self._read_further)
        self.list.selectionModel().selectionChanged.connect(lambda *_: self._follow())
        self.list.activated.connect(lambda _: self.show_change())
        self.list.customContextMenuRequested.connect(self._open_menu)
        self.compare_button.clicked.connect(self.show_change)
        self.changes_button.clicked.connect(self.show_change)
        self.compare_now_button.clicked.connect(
            lambda: self._emit(lambda version: self.compare_requested.emit(version, None))
        )
        self.open.clicked.connect(lambda: self._emit(self.open_requested.emit))
        self.restore.clicked.connect(lambda: self._emit(self.restore_requested.emit))
        self.import_button.clicked.connect(self.import_requested)
        self.undo.clicked.connect(lambda: self._emit(self.undo_requested.emit))
        self.name.clicked.connect(self.ask_name)
        theme.current().changed.connect(self.list.scheduleDelayedItemsLayout)


def _sentence(commit: Commit) -> str:
    at = "" if commit.time is None else f", {commit.time.astimezone():%Y-%m-%d\u00a0%H:%M:%S}"
    name = f", called '{breakable(visible(commit.name))}'" if commit.name else ""
    return f"Version {commit.version:,}{name}{at}"
