"""The main window: how it is laid out, and which parts talk to which."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

import shiboken6
from PySide6.QtCore import QPoint, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QMainWindow, QMenu, QMessageBox, QWidget

from lamella.core.datasets.base import Dataset
from lamella.core.errors import Cancelled
from lamella.core.query.line import Line
from lamella.core.remote.addresses import is_address
from lamella.core.remote.paths import path_or_address
from lamella.core.scan.parallel import end_threads
from lamella.core.store.commit import Commit
from lamella.core.store.table import Table
from lamella.ui import theme
from lamella.ui.actions import ACTIONS, MENUS
from lamella.ui.dialogs.error_dialog import ErrorDialog, message
from lamella.ui.tasks import Handle, Tasks
from lamella.ui.widgets.drop_overlay import DropOverlay
from lamella.ui.widgets.sidebar import Entry, Sidebar, SidebarSplitter
from lamella.ui.widgets.start_page import StartPage
from lamella.ui.widgets.status_bar import StatusBar
from lamella.ui.window.action_handlers import ask_change, handlers, try_out
from lamella.ui.window.action_state import ActionBar, ActionSet, AltKey, current_column, situation
from lamella.ui.window.benchmarking import ask_benchmark_file, benchmark_open_table, show_saved_runs
from lamella.ui.window.commits import Commits, commit_text, is_version
from lamella.ui.window.dataset_tab import DatasetTab
from lamella.ui.window.diagrams import Diagrams
from lamella.ui.window.drag_source import file_data, remove_dragged_files, run_drag
from lamella.ui.window.file_readings import FileReadings
from lamella.ui.window.file_watch import Key, entry_key, icon_of, is_file
from lamella.ui.window.help import Help
from lamella.ui.window.library import IdleFlush, Library, ask_fill_up, ask_open_anyway, ask_tables
from lamella.ui.window.memory import Memory, WindowEntry
from lamella.ui.window.open_files import joinable
from lamella.ui.window.opening import Opening
from lamella.ui.window.searches import Searches
from lamella.ui.window.servers import ServerFiles
from lamella.ui.window.sidebar_actions import SidebarActions
from lamella.ui.window.sql_consoles import SqlConsoles
from lamella.ui.window.store_actions import StoreActions
from lamella.ui.window.tab_drag import TabDrag
from lamella.ui.window.tab_set import TabSet
from lamella.ui.window.trail import Trail, place_text
from lamella.ui.window.window_settings import Appearance
from lamella.ui.window.workspace import Workspace, open_keys

if TYPE_CHECKING:
    from lamella.core.bench.results.store import SavedRuns
    from lamella.ui.bench.benchmark_panel import BenchmarkPanel

CLOSE_QUESTION = "{} is not done yet. Stop it and close?"
WORK_END = -1
"""The result of a question about work that has ended."""
FIRST_SIZE = QSize(1280, 800)
FRAME = QSize(8, 40)
"""The approximate size of the desktop's window frame; title bar and status bar must both fit on the
screen."""
SIDEBAR_WIDTH = 216
FirstEdit = str | Callable[[DatasetTab], object] | None


class MainWindow(QMainWindow):
    """Shows the stores of its `library`, empty at first. Closing it ends `tasks` and closes the stores.

    `sample_requested` carries a function to call with the tab of the sample's flights, or None. `entry` is
    where the workspace is saved; without one, a new entry is added.
    """

    sample_requested = Signal(object)
    window_requested = Signal(object, object)
    closed = Signal()

    def __init__(
        self,
        tasks: Tasks,
        memory: Memory,
        entry: WindowEntry | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.tasks, self.memory = tasks, memory
        self.library = Library(tasks, FileReadings(memory.saved_views.with_name("readings.json")), self)
        self.commits = Commits(tasks, self)
        self.idle_flush = IdleFlush(tasks, self.commits, lambda: self.library.stores)
        self.appearance = Appearance(memory, self)
        self.help = Help(tasks, self)
        self._splitter = SidebarSplitter(self)
        self.sidebar = Sidebar(self._splitter)  # given another parent later, Qt would style all of it again
        self.status = StatusBar(tasks, self)
        self.benchmark: BenchmarkPanel | None = None
        self.before_benchmark: Callable[[], None] = lambda: None
        """Called before any part of the benchmark is loaded; may register further systems or workloads."""
        self.other_windows: Callable[[], Sequence[MainWindow]] = list
        """The other windows of this process."""
        self.is_quitting = False
        self._make_tabs()
        self._lay_out()
        self.workspace = Workspace(self, self._splitter, entry or memory.add_window())
        self.tabs.item_of = self.workspace.item_of
        self._connect()
        self._remember_geometry()
        self.show_files()

    # --------------------------------------------------------------- opening

    def open_paths(self, paths: Sequence[Path]) -> None:
        self.opening.open_paths(paths)

    def _show_dataset(self, dataset: Dataset, key: Key) -> None:
        open_tab = self.tabs.with_key(key)
        if open_tab is not None:
            self.tabs.show_tab(open_tab)
            return
        tab = self.make_tab(dataset, key)
        icon, tip = icon_of(key), " / ".join(part for part in key if part)
        if is_file(key):
            self.memory.remember(path_or_address(key[0]))
        later = self.opening.later_tab(key)
        self.tabs.add(tab, tab.name, icon, tip, later)
        self.opening.do_pending_work()
        if later is not None:  # otherwise the tab came to the front, and the files are listed
            self.show_files()

    def make_tab(self, dataset: Dataset, key: Key, line: Line | None = None) -> DatasetTab:
        """Make the tab of a dataset and connect its signals; it is not shown yet."""
        tab = DatasetTab(
            dataset, key, self.tasks, self.commits, self.memory.saved_views, line, self.tabs.pages
        )
        tab.column_layout.remember(self.memory)
        tab.line_actions.views_changed.connect(self.sidebar_actions.list_views)
        tab.steps.import_requested.connect(self.opening.import_current)
        tab.reopening.reading = self.library.readings.of(key)
        tab.reopening.chosen.connect(partial(self.library.readings.put, key))
        tab.versions.open_requested.connect(lambda n: self.opening.open_key((*key[:2], str(n))))
        tab.versions.now_requested.connect(partial(self.opening.open_key, key[:2]))
        tab.differently_requested.connect(partial(self.opening.read_differently, tab))
        self._attach(tab)
        tab.relations.followed.connect(partial(self.trail.follow, tab))
        tab.relations.back_requested.connect(partial(self.trail.go_back, tab))
        return tab

    def _attach(self, tab: DatasetTab) -> None:
        """Give a grid what it needs from the window: menus, actions, and other data to join with."""
        tab.steps.other_sources = partial(joinable, self, tab)
        tab.changed.connect(self.update_state)
        tab.grid.menu_requested.connect(self._cell_menu)
        tab.grid.row_menu_requested.connect(lambda point: self._menu_of("row").popup(point))
        tab.grid.column_header.menu_requested.connect(self._column_menu)
        tab.grid.totals.menu_requested.connect(self._totals_menu)
        tab.editing.import_requested.connect(self._offer_import)
        tab.blocks.import_requested.connect(self._offer_import)
        self.commands.attach(tab.grid)

    @cached_property
    def saved_runs(self) -> SavedRuns:
        """The saved runs; what they need is imported on first use."""
        self.before_benchmark()
        from lamella.core.bench.results.store import SavedRuns

        return SavedRuns(self.memory.saved_runs)

    def show_benchmark(self) -> None:
        pending = [tab for tab in self.tabs.pending_tabs if tab.workspace_kind == "benchmark"]
        if pending:
            pending[0].open()
        if self.benchmark is None:
            panel = self.make_benchmark()
            self.tabs.add(panel, "Benchmark", "benchmark", "Measure systems against each other")
        else:
            self.tabs.show_tab(self.benchmark)

    def make_benchmark(self) -> BenchmarkPanel:
        """Make this window's benchmark panel; it is not shown yet."""
        self.before_benchmark()
        from lamella.ui.bench.benchmark_panel import BenchmarkPanel

        self.benchmark = BenchmarkPanel(self.tasks, saved_runs=self.saved_runs)
        self.benchmark.use_server(self.memory.mongodb_uri, self._take_server)
        self.benchmark.saved_runs_requested.connect(lambda: show_saved_runs(self))
        self.benchmark.file_requested.connect(lambda: ask_benchmark_file(self))
        self.benchmark.table_requested.connect(lambda: benchmark_open_table(self))
        self.benchmark.status_changed.connect(self.update_state)
        self.benchmark.destroyed.connect(self._forget_benchmark)
        return self.benchmark

    def save_workspace(self, on: bool) -> None:
        """Turn saving of the workspace on or off."""
        self.workspace.turn(on)

    def reopen_tab(self) -> None:
        if self.tabs.closed_tabs:
            closed = self.tabs.closed_tabs.pop()
            if isinstance(closed, Mapping):
                self.workspace.reopen(closed)
            elif not self.consoles.reopen(closed):
                self.opening.open_key(closed)

    # --------------------------------------------------------------- changing

    def change(self) -> None:
        tab = self.tabs.dataset_tab
        if tab is None:
            return
        if tab.versions.pinned_version is not None:
            tab.messages.say(tab.standing.not_now)
        elif tab.table is None:
            self._offer_import(0, "", None)
        else:
            ask_change(tab, self)

    def offer_import(self, column: str, then: Callable[[DatasetTab], object]) -> None:
        """Say that a file is read-only, and run `then` in the tab of an editable copy once there is one."""
        self._offer_import(0, column, then)

    def _follow_commit(self, table: Table, commit: Commit) -> None:
        """Reload the tabs that show the table, and say what was committed."""
        self.library.count(table)
        for tab in self.tabs.dataset_tabs:
            if tab.table is table:
                tab.reload()
                undo = ("Undo", partial(self.commits.undo, table, tab.name))
                new = is_version(commit)
                choices = [undo] if new and commit.kind not in ("undo", "redo") else []
                kind = "message-success" if new else "message"
                tab.messages.say(commit_text(commit), *choices, kind=kind)

    def follow_commit(self, key: Key, commit: Commit) -> None:
        """Reload a table that was changed in another window, and say what was committed."""
        store = self.store_actions.of(Path(key[0]))
        if store is not None:
            self.store_actions.watch.expect(store, commit)
        for tab in self.tabs.dataset_tabs:
            if tab.key == key and tab.table is not None:
                self.library.count(tab.table)
                tab.follow_commit(f"In another window: {commit_text(commit)}")

    def move_tab(self, target: MainWindow | None = None, place: QPoint | None = None) -> None:
        """Move the current tab as it is to another window, or to a new one at `place`."""
        tab = self.tabs.current
        item = None if tab is None else self.workspace.item_of(tab)
        if tab is None or item is None or not self._may_close(tab):
            return
        self.tabs.close_at(self.tabs.tabs.indexOf(tab))
        if target is None:
            self.window_requested.emit(item, place)
        else:
            target.workspace.reopen(item)
            target.activateWindow()

    def quit(self) -> None:
        """Close all windows, or none if one refuses to close. Edits that are to be saved are saved first."""
        windows = [*self.other_windows(), self]
        if all(window.may_end(self.quit) for window in windows):
            for window in windows:
                window.is_quitting = True
            for window in windows:
                window.close()

    def _withdraw(self, path: Path) -> None:
        """Reload the tabs that read a file which has since turned out to be damaged."""
        for tab in self.tabs.dataset_tabs:
            if tab.reads(path):
                tab.reload()

    def _offer_import(self, row: int, column: str, typed: FirstEdit) -> None:
        """Offer to import a file in place, then edit the same cell of the new table or call `typed` with its
        tab."""
        tab = self.tabs.dataset_tab
        if tab is not None:
            self.library.when_home(lambda: self._offer_import_of(tab, row, column, typed))

    def _offer_import_of(self, tab: DatasetTab, row: int, column: str, typed: FirstEdit) -> None:
        home, name = self.library.home.name, tab.dataset.name

        def go_on() -> None:
            self.library.import_dataset(
                tab.dataset,
                lambda key: self._go_on(tab, key, row, column, typed),
                lambda: offer(f"Import of {name} was stopped; nothing was kept"),
            )

        def offer(text: str) -> None:
            if shiboken6.isValid(tab):
                tab.messages.say(text, (f"Import into {home} and edit", go_on), stays=True)

        problem = None if tab.content is None else tab.content.edit_problem
        if problem is None:
            why = f"{name} is a file: this changes tables. A copy in {home} can be changed, with undo."
        else:
            reason = f" ({problem.why[:1].lower()}{problem.why[1:]})" if problem.why else ""
            why = f"{problem.headline}{reason}. A copy in {home} can be edited, with undo."
        offer(why)

    def _go_on(self, old: DatasetTab, key: Key, row: int, column: str, typed: FirstEdit) -> None:
        tab = self.tabs.find_dataset(key)
        if tab is None or not shiboken6.isValid(old):  # closed while its rows were imported
            return
        tab.follow(old, row, column)
        if callable(typed):
            tab.when_shown(partial(typed, tab))
        elif column:
            tab.when_shown(lambda: tab.editing.begin(typed))
        else:
            tab.when_shown(self.change)

    # --------------------------------------------------------------- messages

    def show_error(self, error: Exception) -> None:
        """Show an error that nothing else has shown."""
        if not isinstance(error, Cancelled) and not self.store_actions.is_explained(error):
            ErrorDialog(error, self).open()

    def _report_write_failure(self, table: Table, error: Exception) -> None:
        table_tabs = [tab for tab in self.tabs.dataset_tabs if tab.table is table]
        if not table_tabs:
            self.show_error(error)
        for tab in table_tabs:
            if not tab.failures.repeat_missing_store(error):
                tab.messages.say(message(error), kind="message-danger")

    def _report_write_stop(self, table: Table) -> None:
        for tab in self.tabs.dataset_tabs:
            if tab.table is table:
                tab.messages.say("Stopped; nothing was changed.")

    def update_state(self) -> None:
        """Update actions and status bar to the current tab."""
        tab = self.tabs.dataset_tab
        origin = self.trail.origin(tab) if tab is not None else None
        self.commands.update(situation(self.tabs, bool(self.tasks.running), self.library.no_home, origin))
        if tab is not None and tab.is_inspector_open:
            tab.inspector.row_page.show_way_back(place_text(origin) if origin is not None else "")
        self.commands["sidebar"].setChecked(self.sidebar.isVisibleTo(self))
        group = tab.groups.step if tab else None
        self.commands["review_edits"].setChecked(tab is not None and tab.review.on)
        self.commands["chart"].setChecked(tab is not None and tab.charting.is_shown)
        self.commands["all_columns"].setChecked(tab is not None and tab.profiling.is_shown)
        self.commands["totals_row"].setChecked(group is not None and group.totals)
        self.commands["subtotals"].setChecked(group is not None and group.subtotals)
        console = self.consoles.current
        self.commands["sql"].setChecked(console is not None)
        self.appearance.mark(self.commands)
        page = console or tab or self.tabs.current
        self.status.show_standing(tab.standing.text if tab else "", tab.standing.tip if tab else "")
        self.status.show_text(getattr(page, "status", ""))
        figures = tab.figures.text if tab else ""
        self.status.show_figures(console.place if console and not figures else figures)
        self.sidebar.mark(entry_key(tab.key) if tab else None)
        name = self.tabs.title
        unsaved = " (unsaved edits)" if tab is not None and tab.review.count else ""
        self.setWindowTitle(f"{name}{unsaved} · Lamella" if name else "Lamella")
        for each in self.tabs.dataset_tabs:
            self.tabs.mark(each, each.review.summary if each.review.count else "")

    def show_files(self) -> None:
        """List the files in the sidebar, open and recent, as they are now."""
        keys = (key for key in open_keys(self.tabs.widgets) if is_file(key))
        files = list(dict.fromkeys(path_or_address(key[0]) for key in keys))
        self.sidebar.show_files(files)
        self.sidebar.show_recent([path for path in self.memory.recent if path not in files])
        self.sidebar_actions.follow_files(files)
        self.start.show_recent(self.memory.recent)
        self.update_state()

    def _cell_menu(self, point: QPoint) -> None:
        menu, tab = self._menu_of("cell"), self.tabs.dataset_tab
        if tab is not None:
            tab.relations.add_to(menu, current_column(tab))
        menu.popup(point)

    def _totals_menu(self, point: QPoint) -> None:
        self.commands.context_menu("group", self).popup(point)

    def _menu_of(self, name: str) -> QMenu:
        tab = self.tabs.dataset_tab
        of_groups = ["group"] if tab is not None and tab.groups.step is not None else []
        return self.commands.context_menu(name, self, *of_groups)

    def _column_menu(self, column: int, point: QPoint) -> None:
        tab = self.tabs.dataset_tab
        if tab is not None:
            current = tab.grid.selection.current
            tab.grid.go_to(current[0] if current else tab.grid.top_row(), tab.grid.place(column))
        menu = self._menu_of("column")
        if tab is not None:
            tab.conversions.add_to(menu, current_column(tab))
        menu.popup(point)

    def _drag_entry(self, entry: Entry) -> None:
        if entry.kind in ("file", "recent") and not is_address(entry.key[0]):
            run_drag(self.sidebar, file_data([Path(entry.key[0])]))

    def _take_server(self, uri: str) -> None:
        self.memory.mongodb_uri = uri

    def _forget_benchmark(self) -> None:
        self.benchmark = None

    # ----------------------------------------------------------------- set-up

    def _make_tabs(self) -> None:
        self.tabs = TabSet(self._splitter)
        self.tabs.may_close = self._may_close
        self.opening = Opening(self.library, self.tabs, self.tasks, self.memory, self)
        self.servers = ServerFiles(self.opening, self.tasks, self)
        self.sidebar_actions = SidebarActions(self)
        self.trail = Trail(self.opening)
        self.trail.changed.connect(self.update_state)
        self.diagrams, self.searches = Diagrams(self), Searches(self)
        self.store_actions = StoreActions(self)
        self.opening.proposed_stores = self.store_actions.front_first
        self.consoles = SqlConsoles(self, self._attach, self)
        self.commands = ActionSet(self, handlers(self))
        ways_in = [self.commands["open"], self.commands["open_folder"]]
        self.start = StartPage(self.tasks, ways_in, self.commands["open_sample"], self.tabs)
        self.start.file_chosen.connect(lambda path: self.open_paths([path]))
        self.start.try_chosen.connect(partial(try_out, self))
        self.tabs.set_empty_page(self.start)

    def _lay_out(self) -> None:
        splitter = self._splitter
        splitter.setStretchFactor(1, 1)
        width = theme.current().px(SIDEBAR_WIDTH)
        splitter.setSizes([width, FIRST_SIZE.width() - width])
        splitter.setCollapsible(1, False)
        splitter.setHandleWidth(1)
        self.setCentralWidget(splitter)
        self.setStatusBar(self.status)
        self.action_bar = ActionBar(self.commands, self)
        self._make_menus()
        self.addToolBar(self.action_bar)
        self.overlay = DropOverlay(self, self.tasks)
        self.library.when_ready(lambda: self.tabs.current_changed.connect(self._name_import))
        self.library.when_ready(self._name_import)
        self.start.setFocus()

    def _name_import(self) -> None:
        if self.library.no_home is None:
            self.overlay.set_store_name(self.store_actions.front_first()[0].name)
        else:
            self.overlay.refuse_import(str(self.library.no_home))
            self.sidebar.show_problem(str(self.library.no_home))

    def _show_import_problem(self) -> None:
        if self.library.no_home is not None:
            self.show_error(self.library.no_home)

    def _make_menus(self) -> None:
        """Put the menus behind a button of the toolbar; Alt shows them as a bar. macOS has a bar of its
        own."""
        bar, by_menu = self.menuBar(), {name: [act for act in ACTIONS if act.menu == name] for name in MENUS}
        menus = [self.commands.fill(bar.addMenu(name), actions) for name, actions in by_menu.items()]
        folds = not bar.isNativeMenuBar()
        self.action_bar.show_menus(menus if folds else [])
        bar.setVisible(not folds)
        if folds:
            AltKey(self).alone.connect(lambda: bar.setVisible(not bar.isVisible()))

    def _connect(self) -> None:
        self.library.opened.connect(self._show_dataset)
        self.store_actions.moved.connect(self.workspace.follow_store)
        self.library.failed.connect(self.show_error)
        self.library.several.connect(
            lambda error, key: ask_tables(error, key, self.opening.open_tables_of_file, self)
        )
        self.library.fillable.connect(lambda error, key: ask_fill_up(error, key, self.library, self))
        self.library.doubtful.connect(lambda error, key: ask_open_anyway(error, key, self.library, self))
        self.library.damage_found.connect(self._withdraw)
        self.library.stores_changed.connect(self.sidebar.show_stores)
        self.library.stores_changed.connect(lambda _: self.consoles.follow_changes())
        self.library.stores_changed.connect(lambda _: self.update_state())
        self.library.counted.connect(self.sidebar.show_rows)
        self.tasks.failed.connect(self.show_error)
        self.tasks.busy_changed.connect(self.update_state)
        self.commits.committed.connect(self._follow_commit)
        self.commits.failed.connect(self._report_write_failure)
        self.commits.stopped.connect(self._report_write_stop)
        self.sidebar.opened.connect(self.opening.open_entry)
        self.sidebar.menu_requested.connect(self.sidebar_actions.open_menu)
        self.sidebar.problem_opened.connect(self._show_import_problem)
        self.tabs.current_changed.connect(self.show_files)
        TabDrag(self)
        self.sidebar.dragged.connect(self._drag_entry)
        self.status.theme_requested.connect(self.appearance.toggle)
        for where in (self.start, self.sidebar):
            paste = QShortcut(QKeySequence.StandardKey.Paste, where)
            paste.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            paste.activated.connect(self.commands["paste_table"].trigger)
        self.overlay.open_requested.connect(self.opening.open_paths)
        self.overlay.import_requested.connect(self.opening.import_paths)
        theme.current().changed.connect(self.update_state)

    def _remember_geometry(self) -> None:
        self.resize(FIRST_SIZE.boundedTo(self.screen().availableSize() - FRAME))
        if self.memory.geometry:
            self.restoreGeometry(self.memory.geometry)

    def closeEvent(self, event: QCloseEvent) -> None:
        if not self.is_quitting and not self.may_end(self.close):
            event.ignore()
            return
        for tab in self.tabs.dataset_tabs:
            tab.column_layout.save()
        for console in self.consoles.consoles:
            console.keep_draft()
        self.memory.save_geometry(bytes(self.saveGeometry().data()))
        is_last = not self.other_windows()
        self.workspace.close(is_restored=is_last or self.is_quitting)
        self.help.close()
        self.tasks.shutdown()
        self.library.close()
        if is_last:
            remove_dragged_files()
            end_threads()
        event.accept()
        self.closed.emit()

    def may_end(self, again: Callable[[], object]) -> bool:
        """Whether the window may close: ask before running work is stopped or unsaved edits are dropped.
        `again` closes it once edits are saved."""
        if not all(tab.editing.settle() for tab in self.tabs.dataset_tabs):
            return False
        if self._write_name() and not self._may_stop(self._write_name):
            return False
        if self.benchmark is not None and not self._may_close(self.benchmark):
            return False
        return all(self._may_close(tab, again) for tab in self.tabs.dataset_tabs)

    def _may_close(self, widget: QWidget, again: Callable[[], object] | None = None) -> bool:
        """Whether a tab may close: ask before a benchmark ends with it or unsaved edits are dropped. `again`
        closes it once the edits are saved."""
        if isinstance(widget, DatasetTab) and not widget.editing.settle():
            return False
        if isinstance(widget, DatasetTab) and widget.review.is_unsaved:
            return self._may_drop(widget, again or partial(self._close_tab, widget))
        if widget is not self.benchmark or not self.benchmark.running:
            return True
        running = self.benchmark
        return self._may_stop(lambda: "The benchmark" if running.running else self._write_name())

    def _write_name(self) -> str:
        """The name of the change or copy that runs; empty if none does."""
        unfinished = [*self.tasks.writing, *self.tasks.copying]
        return next((h.text or "A change" for h in unfinished if not h.quiet), "")

    def _close_tab(self, widget: QWidget) -> None:
        self.tabs.close_at(self.tabs.tabs.indexOf(widget))

    def _may_drop(self, tab: DatasetTab, close: Callable[[], object]) -> bool:
        """Ask before unsaved edits are dropped. If the answer is to save them, `close` is called once they
        are saved, and everything that follows the commit is done, as it still needs the store."""
        if tab.review.is_saving:
            tab.messages.say("The edits are being saved: close it in a moment")
            return False
        buttons = QMessageBox.StandardButton
        answer = QMessageBox.question(
            self, "Lamella", f"{tab.name}: {tab.review.summary}, not saved yet. Save before closing?",
            buttons.Save | buttons.Discard | buttons.Cancel, buttons.Save,
        )  # fmt: skip
        if answer == buttons.Save:
            tab.review.save(lambda: QTimer.singleShot(0, self, close))
        return answer == buttons.Discard

    def _may_stop(self, work_name: Callable[[], str]) -> bool:
        """Ask before running work is stopped. `work_name` is empty once it has ended: then there is nothing
        to stop, and the question closes. If it failed, the window stays open to show why."""
        failures: list[Handle] = []

        def follow(handle: Handle) -> None:
            if handle.write and not handle.quiet and handle.error is not None:
                failures.append(handle)
            QTimer.singleShot(0, box, look_again)  # when its answer has been taken

        def look_again() -> None:
            if name := work_name():
                box.setText(CLOSE_QUESTION.format(name))
            else:
                box.done(WORK_END)

        box = QMessageBox(
            QMessageBox.Icon.Question, "Lamella", CLOSE_QUESTION.format(work_name()), parent=self
        )
        stop = box.addButton("Stop and close", QMessageBox.ButtonRole.AcceptRole)
        box.addButton(QMessageBox.StandardButton.Cancel)
        box.setDefaultButton(QMessageBox.StandardButton.Cancel)
        connection = self.tasks.finished.connect(follow)
        has_ended = box.exec() == WORK_END
        self.tasks.finished.disconnect(connection)
        is_stopped = box.clickedButton() is stop
        box.deleteLater()
        return is_stopped or (has_ended and not failures)
