"""The actions on whole stores: from the sidebar, the menu File, the palette and a store's page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import shiboken6
from PySide6.QtCore import QObject, Signal

from lamella.core.errors import FileProblem, StoreProblem, visible
from lamella.core.jobs import Job
from lamella.core.phrases import quantity
from lamella.core.store.moving import Move
from lamella.core.store.paths import is_store
from lamella.core.store.store import Store
from lamella.ui.dialogs.file_dialog import ask_folder
from lamella.ui.widgets.hosts import widget_of
from lamella.ui.window.commits import Commits, commit_text
from lamella.ui.window.store_following import (
    StoreWatch,
    Tables,
    follow,
    joined_names,
    move_records,
    read_tables,
    tabs_of,
)

if TYPE_CHECKING:
    from lamella.core.store.backup import Backup
    from lamella.core.store.table import Table
    from lamella.core.store.verify import Report
    from lamella.ui.relations.relations_tab import RelationsTab
    from lamella.ui.stores.store_dialogs import BackupDialog, StoreDialog
    from lamella.ui.stores.store_page import StorePage
    from lamella.ui.tasks import Tasks
    from lamella.ui.widgets.sidebar import Sidebar
    from lamella.ui.window.dataset_tab import DatasetTab
    from lamella.ui.window.diagrams import Diagrams
    from lamella.ui.window.library import Library
    from lamella.ui.window.memory import Memory
    from lamella.ui.window.opening import Opening
    from lamella.ui.window.tab_set import TabSet

MOST_COMMITS = 100
"""More commits of another program are not counted."""

BACKUP_RUNS = "Wait for the backup, or stop it first."

Act = Callable[[], object]
Choice = tuple[str, str, Act]


class StoreWindow(Protocol):
    """The window, as far as its stores need to know it. It is also the widget that is the parent of
    dialogs."""

    tabs: TabSet
    tasks: Tasks
    commits: Commits
    opening: Opening
    library: Library
    memory: Memory
    sidebar: Sidebar
    diagrams: Diagrams
    store_actions: StoreActions
    other_windows: Callable[[], Sequence[Any]]

    def show_error(self, error: Exception) -> None: ...

    def update_state(self) -> None: ...


@dataclass(frozen=True)
class StoreInWindow:
    """A store to be moved, in one of the windows that have it open; `names` are its tables that are shown or
    joined there."""

    actions: StoreActions
    store: Store
    names: list[str]


@dataclass(frozen=True)
class StoreMove:
    """A store that was moved and reopened: for each window, the new store with its tables."""

    move: Move
    stores: tuple[tuple[StoreInWindow, Store, Tables], ...]

    def __str__(self) -> str:
        return f"{str(self.move)[:1].upper()}{str(self.move)[1:]}. Open tabs are there as well."


class StoreActions(QObject):
    """`moved` carries the old and the new folder of a store that was moved or renamed."""

    moved = Signal(object, object)

    def __init__(self, window: StoreWindow) -> None:
        super().__init__(widget_of(window))
        self._window = window
        self._pages: list[StorePage] = []
        self._reopened_store: Store | None = None
        """A store that could not be moved, reopened in its old place."""
        self.watch = StoreWatch(window.library, window.tasks, self)
        self.watch.lost.connect(self._report_missing_store)
        self.watch.reopened.connect(lambda old, new: self._come_back(old, new, f"{new.name} is back"))
        self.watch.committed.connect(self._follow_commits)
        window.commits.committed.connect(lambda table, commit: self.watch.expect(table.store, commit))
        window.library.counted.connect(self._measure_counted)

    # --------------------------------------------------------------------- choices

    def choices(self, path: Path) -> list[Choice]:
        """The menu of a store: icon, text and function of each entry; an empty text stands for a
        separator."""
        store = self.of(path)
        line: Choice = ("", "", lambda: None)
        if store is None:
            return []
        act = partial(self.act, store)
        own: list[Choice] = [
            ("info", "Properties", partial(self.show_page, path)),
            ("relation", "Relations diagram", partial(self._window.diagrams.show, path)),
            line,
            ("", "Verify…", partial(act, "verify")),
            ("save", "Back up…", partial(act, "backup")),
        ]
        if not store.read_only:
            own += [
                ("", "Compact…", partial(act, "compact")),
                ("", "Vacuum…", partial(act, "vacuum")),
                line,
                ("edit", "Rename…", partial(act, "rename")),
                ("folder", "Move…", partial(act, "move")),
            ]
        if store is not self._window.library.home or self._window.library.no_home is not None:
            own += [line, ("close", "Close the store", partial(self.close, store))]
        return own

    def of(self, path: Path | None = None) -> Store | None:
        """The store of a folder; by default the current tab's store, or the one that imports go to."""
        window, tab = self._window, self._window.tabs.dataset_tab
        front = window.diagrams.current or self.current_page
        if path is None and front is not None:
            path = front.store.path
        stores = window.library.stores
        if path is None and tab is not None and Path(tab.key[0]) in [store.path for store in stores]:
            path = Path(tab.key[0])
        return next((store for store in stores if path in (store.path, None)), None)

    def front_first(self) -> list[Store]:
        """The open stores to import into: that of the tab in front is the first, unless it is read-only."""
        front = self.of()
        return sorted(
            self._window.library.stores,
            key=lambda store: front is None or store is not front or store.read_only,
        )

    def act(self, store: Store | None, act: str, table: str = "") -> StoreDialog | None:
        """Open the dialog of one of `store_page.ACTS`, or that of "expire" for a table."""
        from lamella.ui.stores import upkeep_dialogs as upkeep

        window = self._window
        if store is None:
            window.show_error(StoreProblem("No store is open", fix="Open one, or import a file"))
            return None
        if act == "relations":
            window.diagrams.show(store.path)
            return None
        if act in ("rename", "move"):
            return self._ask_move(store, act == "rename")
        if act == "backup":
            return self._ask_backup(store)
        dialog: StoreDialog
        if act == "verify":
            verify = upkeep.VerifyDialog(store, window.tasks, widget_of(window))
            verify.vacuum_requested.connect(partial(self.act, store, "vacuum"))
            verify.restore_requested.connect(self.restore)
            verify.salvage_requested.connect(partial(self._salvage, store))
            verify.finished_work.connect(partial(self._record_report, store))
            dialog = verify
        elif act == "compact":
            dialog = upkeep.CompactDialog(store, table, window.tasks, widget_of(window))
        elif act == "vacuum":
            dialog = upkeep.VacuumDialog(store, window.tasks, widget_of(window))
        else:
            page = self.page_of(store)
            sizes = page.sizes if page is not None else None
            measured = [each for each in sizes.tables if each.name == table] if sizes is not None else []
            count = len(measured[0].versions) if measured else 1_000_000
            dialog = upkeep.ExpireDialog(store, table, count, window.tasks, widget_of(window))
        if act in ("compact", "vacuum", "expire"):
            dialog.finished_work.connect(lambda _: self._measure(store))
            dialog.stopped_work.connect(partial(self._measure, store))
        dialog.open()
        return dialog

    def _ask_backup(self, store: Store) -> StoreDialog | None:
        """Open the dialog of a backup; one that runs comes forward."""
        from lamella.ui.stores.store_dialogs import BackupDialog

        if self._waits_for_backup(store, ""):
            return self._backup_of(store)
        dialog = BackupDialog(store, self._window.tasks, widget_of(self._window))
        dialog.show()
        return dialog

    def _backup_of(self, store: Store) -> BackupDialog | None:
        """The open dialog of a backup of this store."""
        from lamella.ui.stores.store_dialogs import BackupDialog

        dialogs = widget_of(self._window).findChildren(BackupDialog)
        return next((dialog for dialog in dialogs if dialog.is_of(store) and dialog.isVisible()), None)

    def _waits_for_backup(self, store: Store, says: str = BACKUP_RUNS) -> bool:
        """Whether the store must stay open for a backup, whose dialog then says so. One that does not run is
        closed."""
        dialog = self._backup_of(store)
        if dialog is None:
            return False
        if dialog.is_working:
            dialog.come_forward(says)
            return True
        dialog.reject()
        return False

    def _salvage(self, store: Store, tables: Sequence[str]) -> None:
        from lamella.ui.stores.upkeep_dialogs import SalvageDialog

        window = self._window
        dialog = SalvageDialog(store, tables, window.tasks, widget_of(window))

        def show_copies(copies: list[tuple[Table, int]]) -> None:
            window.library.show_imports([table for table, _ in copies])
            self._measure(store)

        dialog.finished_work.connect(show_copies)
        dialog.open()

    # ------------------------------------------------------------------------ page

    @property
    def pages(self) -> list[StorePage]:
        widgets = self._window.tabs.widgets
        self._pages = [page for page in self._pages if shiboken6.isValid(page)]
        return [page for page in self._pages if page in widgets]

    @property
    def current_page(self) -> StorePage | None:
        return next((page for page in self.pages if page is self._window.tabs.current), None)

    def page_of(self, store: Store) -> StorePage | None:
        return next((page for page in self.pages if page.store is store), None)

    def show_page(self, path: Path | None = None) -> None:
        self._window.library.when_ready(partial(self._show_page, path))

    def _show_page(self, path: Path | None) -> None:
        window, store = self._window, self.of(path)
        if store is None:
            window.show_error(StoreProblem("No store is open", fix="Open one, or import a file"))
            return
        open_page = self.page_of(store)
        if open_page is not None:
            window.tabs.show_tab(open_page)
            open_page.measure()
            return
        pending = window.tabs.pending_of("store", store.path)
        if pending is not None:
            window.tabs.show_tab(pending)
            pending.retry()
            return
        page = self.make_page(store)
        window.tabs.add(page, store.name, "database", f"Properties of {store.path}")

    def make_page(self, store: Store) -> StorePage:
        """Make the page of a store; it is not shown yet."""
        from lamella.ui.stores.store_page import StorePage

        window = self._window
        page = StorePage(store, window.tasks, window.memory, self._count_tabs)
        page.table_requested.connect(lambda name: window.opening.open_key((str(page.store.path), name)))
        page.act_requested.connect(lambda act, table: self.act(page.store, act, table))
        page.status_changed.connect(window.update_state)
        self._pages.append(page)
        return page

    def _count_tabs(self, path: Path) -> int:
        """How many tabs show tables of a store, opened or pending."""
        tabs = self._window.tabs
        return len(tabs_of(tabs, path)) + sum(
            tab.key is not None and tab.is_of_store(path) for tab in tabs.pending_tabs
        )

    def _measure_counted(self, counts: Mapping[tuple[str, ...], int]) -> None:
        """Measure the page in front again after a change of its tables; others do so when they are shown."""
        page = self.current_page
        if page is not None and any(path == str(page.store.path) for path, *_ in counts):
            page.measure()

    def _measure(self, store: Store) -> None:
        page = self.page_of(store)
        if page is not None:
            page.measure()

    def _record_report(self, store: Store, report: Report) -> None:
        from lamella.ui.stores.store_page import record_of

        self._window.memory.save_layout(("store", str(store.path)), record_of(report))
        page = self.page_of(store)
        if page is not None:
            page.say_facts()

    # ------------------------------------------------------------ new, open, close

    def ask_new(self) -> StoreDialog:
        """Ask where to create an empty store; it is listed and shown."""
        from lamella.ui.stores.new_store import NewStoreDialog

        window = self._window
        dialog = NewStoreDialog(window.tasks, widget_of(window), self._near())
        dialog.finished_work.connect(self.open)
        dialog.open()
        return dialog

    def ask_open(self) -> None:
        ask_folder(widget_of(self._window), "Open a store", self.open, self._near())

    def open(self, path: Path) -> None:
        """Open the store of a folder; if it is open already, show it."""
        if self.of(path) is not None:
            self.show_page(path)
            return

        def work(job: Job) -> Store:
            if not is_store(path):
                raise StoreProblem(
                    f"{path} does not hold a store", fix="Choose the folder that contains catalog.sqlite"
                )
            return Store.open(path)

        self._open(work, f"Opening {path.name}")

    def _open(self, work: Callable[[Job], Store], text: str) -> None:
        def show(store: Store) -> None:
            path = store.path
            self._window.library.add_store(store)
            self._show_page(path)

        self._window.tasks.read(
            work, show, self._window.show_error, discard=Store.close, owner=self, text=text
        )

    def close(self, store: Store) -> None:
        """Close a store with its tabs. A tab with unsaved edits asks first; if it stays open, so does the
        store."""
        if self._waits_for_backup(store):
            return
        window = self._window
        pending_tabs = [tab for tab in window.tabs.pending_tabs if tab.is_of_store(store.path)]
        # Pending tabs first: they would open when those beside them close.
        widgets = [*pending_tabs, *tabs_of(window.tabs, store.path), *self._other_tabs(store)]
        for widget in widgets:
            place = window.tabs.tabs.indexOf(widget)
            if place >= 0:
                window.tabs.close_at(place)
        if tabs_of(window.tabs, store.path):
            return
        self.watch.forget(store)
        window.library.remove_store(store)

    def restore(self) -> StoreDialog:
        """Ask for a backup and where to restore it; the restored store is opened."""
        from lamella.ui.stores.store_dialogs import RestoreDialog

        window = self._window
        dialog = RestoreDialog(window.tasks, widget_of(window), near=self._near())

        def open_backup(backup: Backup) -> None:
            self.open(backup.path)

        dialog.finished_work.connect(open_backup)
        dialog.open()
        return dialog

    def _near(self) -> Path:
        stores = self._window.library.stores
        return stores[0].path.parent if stores else Path.home()

    def _other_tabs(self, store: Store) -> list[StorePage | RelationsTab]:
        """The page and the diagram of a store."""
        diagram = self._window.diagrams.of(store.path)
        pages = [page for page in self.pages if page.store is store]
        return [*pages, diagram] if diagram is not None else [*pages]

    # ---------------------------------------------------------------------- moving

    def _ask_move(self, store: Store, renames: bool) -> StoreDialog | None:
        from lamella.ui.stores.store_dialogs import MoveDialog

        window, everywhere = self._window, self._open_everywhere(store.path)
        for store_window in everywhere:
            if store_window.actions._waits_for_backup(store_window.store):
                return None
            its_window = store_window.actions._window
            unsaved = [tab for tab in tabs_of(its_window.tabs, store.path) if tab.review.is_unsaved]
            if unsaved:
                its_window.tabs.show_tab(unsaved[0])
                unsaved[0].messages.say("Save or discard these edits before the store is moved", stays=True)
                unsaved[0].window().activateWindow()
                return None

        def move(target: Path, job: Job) -> StoreMove:
            return _move(everywhere, target, job)

        def let_go() -> None:
            for store_window in _still_there(everywhere):
                store_window.actions._let_go(store_window.store)

        def take_up() -> None:
            for store_window in _still_there(everywhere):
                store_window.actions._take_up(store_window.store)

        dialog = MoveDialog(store, renames, move, window.tasks, widget_of(window))
        dialog.accept_button.clicked.connect(let_go)
        dialog.finished_work.connect(self._follow)
        dialog.finished.connect(take_up)
        dialog.open()
        return dialog

    def _open_everywhere(self, path: Path) -> list[StoreInWindow]:
        """A store as it is open in this window and in the others of this program."""
        return [
            StoreInWindow(window.store_actions, store, joined_names(window.tabs, store))
            for window in (self._window, *self._window.other_windows())
            for store in window.library.stores
            if store.path == path
        ]

    def _let_go(self, store: Store) -> None:
        """Stop all reading of the store."""
        self.watch.pause(store)
        for tab in tabs_of(self._window.tabs, store.path):
            tab.stop()

    def _take_up(self, store: Store) -> None:
        """Let tabs read again from a store that was not moved."""
        reopened, self._reopened_store = self._reopened_store, None
        if reopened is not None:
            self._come_back(store, reopened, "")
        elif store in self._window.library.stores:
            self.watch.forget(store)
            for tab in tabs_of(self._window.tabs, store.path):
                tab.reload()

    def close_for_move(self, store: Store) -> None:
        """Close the store so that it can be moved. Blocks."""
        (self._reopened_store or store).close()
        self._reopened_store = None

    def open_again(self, path: Path) -> None:
        """Reopen a store that was not moved, so that its tabs can read again. Blocks."""
        self._reopened_store = Store.open(path)

    def _follow(self, moved: StoreMove) -> None:
        window, new_path = self._window, moved.move.path
        for store_window, store, tables in moved.stores:
            if store_window not in _still_there([store_window]):
                store.close()
                continue
            old = store_window.store
            move_records(window.memory, old.path, new_path, list(tables))
            if store_window.actions is self and old is window.library.home and window.library.no_home is None:
                window.memory.default_store = str(new_path)
            store_window.actions._replace(old, store, tables)

    def _replace(self, old: Store, new: Store, tables: Tables) -> None:
        """Let everything that shows the old store show the new one."""
        window = self._window
        diagram = window.diagrams.of(old.path)
        page = self.page_of(old)
        window.library.replace_store(old, new)
        self.watch.forget(old)
        follow(window.tabs, old, new, tables)
        if diagram is not None:
            diagram.use_store(new)
            window.tabs.rename(diagram, f"{new.name} relations", f"Relations of {new.path}")
        if page is not None:
            page.use_store(new)
            window.tabs.rename(page, new.name, f"Properties of {new.path}")
        if new.path != old.path:
            self.moved.emit(old.path, new.path)
        window.update_state()

    # ----------------------------------------------------------- other programs

    def _follow_commits(self, store: Store, name: str, version: int) -> None:
        """Reload a table that another program changed after the `version` version, and say what changed."""
        window = self._window

        def work(job: Job) -> tuple[Table, str]:
            table = store[name]
            commits = [
                commit for commit in table.history.newest_commits(MOST_COMMITS) if commit.version > version
            ]
            many = f"{len(commits):,} changes" if len(commits) < MOST_COMMITS else "many changes"
            return table, commit_text(commits[0]) if len(commits) == 1 else many

        def show(table_and_text: tuple[Table, str]) -> None:
            table, text = table_and_text
            window.library.count(table)
            for tab in tabs_of(window.tabs, store.path):
                if tab.table is table:
                    tab.follow_commit(f"In another program: {text}")

        window.tasks.read(work, show, window.show_error, owner=self, quiet=True)

    # --------------------------------------------------------------- missing disks

    def _report_missing_store(self, store: Store) -> None:
        text = (
            f"{visible(store.name)} is no longer at {visible(str(store.path))}: its disk was removed, or its"
            " folder moved. What is on screen stays, and everything resumes when the store is back."
        )
        window = self._window
        window.sidebar.mark_missing(store.path, text)
        look = ("Look again", self.watch.look)
        for tab in tabs_of(window.tabs, store.path):
            tab.failures.report_missing_store(text, look)
        for place in self._other_tabs(store):
            place.messages.say(text, look, kind="message-danger", stays=True)

    def is_explained(self, error: Exception) -> bool:
        """Whether an error is about a file of a missing store, as the tab in front says again."""
        tab = self._window.tabs.dataset_tab
        return (
            tab is not None
            and isinstance(error, FileProblem)
            and any(
                error.path.is_relative_to(store.path) and tab in tabs_of(self._window.tabs, store.path)
                for store in self.watch.missing
            )
            and tab.failures.repeat_missing_store(error)
        )

    def _come_back(self, old: Store, new: Store, says: str) -> None:
        """Replace `old` by `new`, the same store reopened in the same place."""
        window = self._window
        names = joined_names(window.tabs, old)

        def show(tables: Tables) -> None:
            self._replace(old, new, tables)
            window.sidebar.mark_missing(new.path, "")
            for tab in tabs_of(window.tabs, new.path):
                tab.failures.clear_missing_store()
                if says:
                    tab.when_shown(partial(_say_back, tab, says))

        window.tasks.read(
            lambda job: read_tables(new, names), show, window.show_error, owner=self, quiet=True
        )


def _say_back(tab: DatasetTab, text: str) -> None:
    """Say in a tab that its store is back, and offer to store what was typed meanwhile."""
    edits = tab.editing.edits
    if not (count := len(edits.failed_edits)):
        tab.messages.say(text, kind="message-success")
        return
    what = f"{quantity(count, 'edit')} {'was' if count == 1 else 'were'} not stored"
    tab.messages.say(f"{text}. {what}", ("Store now", edits.retry), stays=True)


def _still_there(stores: Sequence[StoreInWindow]) -> list[StoreInWindow]:
    """Those in windows that are still open."""
    return [store for store in stores if shiboken6.isValid(store.actions)]


def _move(stores: Sequence[StoreInWindow], target: Path, job: Job) -> StoreMove:
    """Move the store. If that fails, it is reopened in its old place in each window. Blocks."""
    old = stores[0].store.path
    for store_window in stores:
        store_window.actions.close_for_move(store_window.store)
    try:
        move = Store.move(old, target, job)
    except BaseException:
        for store_window in stores:
            store_window.actions.open_again(old)
        raise
    opened = [Store.open(move.path) for _ in stores]
    tables = [
        read_tables(store, store_window.names) for store_window, store in zip(stores, opened, strict=True)
    ]
    return StoreMove(move, tuple(zip(stores, opened, tables, strict=True)))
