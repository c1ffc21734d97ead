"""Opening: dialogs, drops and the sidebar lead to open tabs or to an import."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from PySide6.QtCore import QObject
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from lamella.core.datasets.formats import usual_suffixes
from lamella.core.datasets.text.html_tables import table_text
from lamella.core.errors import BadData
from lamella.core.remote.paths import RemotePath, path_or_address
from lamella.core.store.paths import is_store
from lamella.core.store.store import Store
from lamella.ui.dialogs.file_dialog import ask_files, ask_folder
from lamella.ui.dialogs.open_import import ImportDialog
from lamella.ui.tasks import Tasks
from lamella.ui.widgets.sidebar import Entry
from lamella.ui.window.dataset_tab import DatasetTab
from lamella.ui.window.failures import temporary_file_problem
from lamella.ui.window.file_watch import file_key, is_file, table_of_file
from lamella.ui.window.library import Library
from lamella.ui.window.memory import Memory
from lamella.ui.window.tab_set import TabSet

FILTERS = f"Data files ({' '.join(f'*.{suffix}' for suffix in usual_suffixes())});;All files (*)"
CLIPBOARD = "clipboard"
"""The name of the file into which the clipboard's text is written."""

TabWork = Callable[[DatasetTab], object]


def clipboard_file(text: str, page: str) -> TemporaryDirectory[str]:
    """Write the text of the clipboard, or the table of its web page, into a temporary folder. Blocks. Raises
    `BadData` if there is neither."""
    content = _table_of(text, page)
    try:
        folder = TemporaryDirectory(prefix="lamella-clipboard-", ignore_cleanup_errors=True)
        try:
            (Path(folder.name) / CLIPBOARD).write_text(content, "utf-8", newline="")
        except BaseException:
            folder.cleanup()
            raise
    except OSError as error:
        raise temporary_file_problem("the clipboard", error) from error
    return folder


def _table_of(text: str, page: str) -> str:
    if page and "\t" not in text:
        try:
            return table_text(page)
        except BadData:  # a page without a table may still hold CSV or JSON as its text
            pass
    if not text.strip():
        raise BadData(
            "the clipboard holds no table", "It has no text", "Copy cells of a spreadsheet, CSV or JSON"
        )
    return text


class Opening(QObject):
    def __init__(self, library: Library, tabs: TabSet, tasks: Tasks, memory: Memory, window: QWidget) -> None:
        super().__init__(window)
        self._library, self._tabs, self._tasks, self._memory, self._window = (
            library,
            tabs,
            tasks,
            memory,
            window,
        )
        self.proposed_stores: Callable[[], Sequence[Store]] = lambda: library.stores
        """The stores to import into, the one that is proposed first."""
        self._pending_work: tuple[tuple[str, ...], TabWork] | None = None
        self._requests, self._numbers = itertools.count(1), dict[tuple[str, ...], int]()
        """The number of the last request for each dataset: of several files, the smallest is loaded first."""

    def open_paths(self, paths: Sequence[Path]) -> None:
        """Open each path in a tab of its own; if it is already open, bring its tab to the front."""
        for path in paths:
            self.open_key((str(path.absolute()),))

    def open_table_of_store(self, path: Path, table: str) -> None:
        """Open a table of the store in this folder, which is listed if it is not yet."""
        number = next(self._requests)  # tabs are in the order in which they were requested
        self._library.with_store(
            path, lambda: self.open_key((str(path), table), number=number), self._library.failed.emit
        )

    def open_key(self, key: tuple[str, ...], then: TabWork | None = None, number: int | None = None) -> None:
        """Open the tab of a key. `then` is called with it once its rows are shown. `number` is that of the
        request, by default the next one."""
        if then is not None:
            self._pending_work = (key, then)
        tab, pending = self._tabs.find_dataset(key), self._tabs.find_pending(key)
        if pending is not None:
            pending.became.connect(self.do_pending_work)
            self._tabs.show_tab(pending)
            pending.retry()
        elif tab is None:
            self._numbers[key] = next(self._requests) if number is None else number
            self._library.open_key(key)
        else:
            self._tabs.show_tab(tab)
            tab.reopening.follow_file()
            self.do_pending_work()

    def later_tab(self, key: tuple[str, ...]) -> DatasetTab | None:
        """The first tab whose dataset was requested later, but opened earlier."""
        number = self._numbers.get(key, math.inf)
        return next((tab for tab in self._tabs.dataset_tabs if self._numbers.get(tab.key, 0) > number), None)

    def open_tables_of_file(self, keys: Sequence[tuple[str, ...]]) -> None:
        """Open each table in a tab of its own, in this order."""
        for key in keys:
            if self._tabs.find_dataset(key) is not None:
                self.open_key(key)
        self._library.open_tables_of_file([key for key in keys if self._tabs.find_dataset(key) is None])

    def open_entry(self, entry: Entry) -> None:
        if entry.kind == "view":
            *dataset, name = entry.key
            self.open_key(tuple(dataset), lambda tab: tab.line_actions.show_view(name))
        else:
            self.open_key(entry.key)

    def do_pending_work(self) -> None:
        """Call what was waiting for a tab, once the tab exists."""
        if self._pending_work is not None:
            key, then = self._pending_work
            tab = self._tabs.find_dataset(key)
            if tab is not None:
                self._pending_work = None
                tab.when_shown(lambda: then(tab))

    def import_paths(self, paths: Sequence[Path], table: str | None = None) -> None:
        """Ask where to import the rows; folders that are stores are opened instead. `table` is one of a file
        that holds several."""
        stores = [path for path in paths if is_store(path)]
        self.open_paths(stores)
        files = [path for path in paths if path not in stores]
        if files:
            self._library.when_home(lambda: self._ask_import(files, table))

    def _ask_import(self, paths: Sequence[Path], table: str | None) -> None:
        if len(paths) > 1:
            self._ask_several(paths, table)
            return
        from lamella.ui.dialogs.file_import import FileImportDialog

        reading = self._library.readings.of(file_key(paths[0], table))
        dialog = FileImportDialog(
            paths[0], self.proposed_stores(), self._tasks, self._window, table=table, reading=reading
        )
        dialog.imported.connect(self._library.show_imports)
        dialog.failed.connect(self._library.failed)
        dialog.several.connect(lambda _: self._ask_several(paths, None))
        dialog.open()

    def import_clipboard(self) -> None:
        """Import the clipboard: it becomes a file, which the import dialog reads like any other."""
        data = QGuiApplication.clipboard().mimeData()
        text = data.text() if data is not None and data.hasText() else ""
        page = data.html() if data is not None and data.hasHtml() else ""
        self._library.when_home(lambda: self._read_clipboard(text, page))

    def _read_clipboard(self, text: str, page: str) -> None:
        self._tasks.read(
            lambda job: clipboard_file(text, page),
            self._ask_clipboard,
            self._library.failed.emit,
            discard=TemporaryDirectory.cleanup,
            owner=self,
            text="Reading the clipboard",
        )

    def _ask_clipboard(self, folder: TemporaryDirectory[str]) -> None:
        from lamella.ui.dialogs.file_import import FileImportDialog

        path = Path(folder.name) / CLIPBOARD
        dialog = FileImportDialog(path, self.proposed_stores(), self._tasks, self._window, name="pasted")
        dialog.imported.connect(self._library.show_imports)
        dialog.failed.connect(self._library.failed)
        dialog.finished.connect(lambda _: folder.cleanup())
        dialog.open()

    def read_differently(self, tab: DatasetTab) -> None:
        """Ask how the file of a tab should be read."""
        from lamella.ui.dialogs.file_import import ReadingDialog

        path, table = path_or_address(tab.key[0]), table_of_file(tab.key)
        dialog = ReadingDialog(path, table, tab.reopening.reading, self._tasks, self._window)
        dialog.chosen.connect(tab.reopening.reopen)
        dialog.open()

    def _ask_several(self, paths: Sequence[Path], table: str | None) -> None:
        dialog = ImportDialog(paths, self.proposed_stores(), self._tasks, self._window, table)
        dialog.imported.connect(self._library.show_imports)
        dialog.failed.connect(self._library.failed)
        dialog.open()

    def import_current(self) -> None:
        """Import the file of the current tab, or one that the user chooses."""
        tab = self._tabs.dataset_tab
        if tab is not None and is_file(tab.key):
            self.import_paths([path_or_address(tab.key[0])], table_of_file(tab.key))
        else:
            self._ask("Import files", self.import_paths)

    def ask_files(self) -> None:
        self._ask("Open files", self.open_paths)

    def ask_folder(self) -> None:
        ask_folder(self._window, "Open a folder", lambda path: self.open_paths([path]), self._start_folder)

    def _ask(self, title: str, then: Callable[[list[Path]], object]) -> None:
        ask_files(self._window, title, then, self._start_folder, FILTERS)

    @property
    def _start_folder(self) -> Path | None:
        recent = [path for path in self._memory.recent if not isinstance(path, RemotePath)]
        return recent[0].parent if recent else None
