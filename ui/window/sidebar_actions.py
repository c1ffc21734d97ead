"""The actions on an entry of the sidebar, and the list of views of files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPoint, Qt, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QInputDialog, QMenu, QMessageBox

from lamella.core.errors import StoreProblem, visible
from lamella.core.jobs import Job
from lamella.core.remote.paths import RemotePath, path_or_address
from lamella.core.remote.spark_catalog import CatalogFolder
from lamella.core.remote.spark_connect import is_server_address
from lamella.core.store.store import Store
from lamella.ui import theme
from lamella.ui.widgets.hosts import widget_of
from lamella.ui.widgets.name_form import ask_name
from lamella.ui.widgets.sidebar import Entry
from lamella.ui.window.benchmarking import benchmark_table
from lamella.ui.window.dataset_tab import DatasetTab
from lamella.ui.window.file_watch import entry_key, is_file
from lamella.ui.window.pending_tab import PendingTab

if TYPE_CHECKING:
    from lamella.core.store.views import FileViews
    from lamella.ui.window.window import Window

Act = Callable[[], object]
Choice = tuple[str, str, Act]
"""Icon, text and function of a menu entry; an empty text stands for a separator."""
LINE: Choice = ("", "", lambda: None)


class SidebarActions(QObject):
    def __init__(self, window: Window) -> None:
        super().__init__(widget_of(window))
        self._window = window
        self._files: list[Path] = []
        self._problem = ""

    # ------------------------------------------------------------------- menus

    def open_menu(self, entry: Entry, point: QPoint) -> None:
        menu = QMenu(widget_of(self._window))
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for icon, text, act in self.choices(entry):
            if not text:
                menu.addSeparator()
                continue
            action = menu.addAction(text, act)
            if icon:
                action.setIcon(theme.current().icon(icon))
        menu.popup(point)

    def choices(self, entry: Entry) -> list[Choice]:
        window, path = self._window, path_or_address(entry.key[0])
        show: Choice = ("open", "Open", partial(window.opening.open_entry, entry))
        copy_name: Choice = ("copy", "Copy name", partial(_copy, entry.text))
        in_folder = self._folder_choices(path)
        compare: Choice = ("compare", "Compare with…", partial(window.opening.open_key, entry.key, _compare))
        if entry.kind == "store":
            return [*window.store_actions.choices(path), LINE, *in_folder]
        if entry.kind == "table":
            measure = partial(window.opening.open_key, entry.key, partial(benchmark_table, window))
            store_diagram: Choice = ("relation", "Relations diagram", partial(window.diagrams.show, path))
            indexes = partial(window.opening.open_key, entry.key, lambda tab: tab.finding.show_indexes())
            return [
                show,
                compare,
                store_diagram,
                ("search", "Indexes…", indexes),
                ("benchmark", "Benchmark this table…", measure),
                LINE,
                copy_name,
            ]
        if entry.kind == "view":
            rename: Choice = ("edit", "Rename…", partial(self.ask_new_name, entry))
            delete: Choice = ("trash", "Delete…", partial(self.ask_delete, entry))
            return [show, LINE, rename, delete, LINE, copy_name]
        if entry.kind == "file":
            return [show, compare, ("close", "Close", partial(self._close, entry)), LINE, *in_folder]
        return [
            show,
            compare,
            ("minus", "Remove from the list", partial(self.forget, path)),
            LINE,
            *in_folder,
        ]

    def _folder_choices(self, path: Path) -> list[Choice]:
        """What can be done with the place of a file, here or on a server."""
        copy = partial(_copy, str(path))
        if not isinstance(path, RemotePath):
            in_folder = partial(show_in_folder, path)
            return [("copy", "Copy path", copy), ("folder", "Show in folder", in_folder)]
        is_table = is_server_address(str(path))
        folder = str(CatalogFolder.holding(str(path)) if is_table else path.parent)
        text = f"Show the {'database' if is_table else 'folder'} on the server…"
        on_server = partial(self._window.servers.ask_address, folder)
        return [("copy", "Copy address", copy), ("folder", text, on_server)]

    def forget(self, path: Path) -> None:
        self._window.memory.forget(path)
        self._window.show_files()

    def _close(self, entry: Entry) -> None:
        """Close all tabs of a file."""
        tabs = self._window.tabs
        open_tabs: Sequence[DatasetTab | PendingTab] = (*tabs.dataset_tabs, *tabs.pending_tabs)
        for tab in open_tabs:
            if tab.key is not None and is_file(tab.key) and tab.key[:1] == entry.key:
                tabs.close_at(tabs.widgets.index(tab))

    # ------------------------------------------------------------------- views

    def ask_new_name(self, entry: Entry) -> QInputDialog:
        parent = widget_of(self._window)
        return ask_name(
            parent, "Rename the view", "Name of the view", entry.text, partial(self._rename, entry)
        )

    def ask_delete(self, entry: Entry) -> QMessageBox:
        """Ask before a view is deleted, since that cannot be undone."""
        box = QMessageBox(
            QMessageBox.Icon.Question, "Lamella", f"Delete the view '{visible(entry.text)}'?",
            parent=widget_of(self._window),
        )  # fmt: skip
        box.setInformativeText("No rows are deleted. This cannot be undone.")
        delete = box.addButton("Delete", QMessageBox.ButtonRole.AcceptRole)
        box.addButton(QMessageBox.StandardButton.Cancel)
        box.setDefaultButton(QMessageBox.StandardButton.Cancel)
        delete.clicked.connect(lambda: self._delete(entry))
        box.finished.connect(box.deleteLater)
        box.open()
        return box

    def _rename(self, entry: Entry, name: str) -> None:
        name = name.strip()
        if not name or name == entry.text:
            return

        def rename_file_view() -> None:
            self._file_views().rename(entry.text, name, [path_or_address(entry.key[0])])

        self._change(entry, lambda store: store.views.rename(entry.text, name), rename_file_view)

    def _delete(self, entry: Entry) -> None:
        def delete_file_view() -> None:
            self._file_views().delete(entry.text, [path_or_address(entry.key[0])])

        self._change(entry, lambda store: store.views.delete(entry.text), delete_file_view)

    def _change(self, entry: Entry, of_store: Callable[[Store], object], of_file: Act) -> None:
        window = self._window
        is_of_file = len(entry.key) == 2
        stores = [store for store in window.library.stores if str(store.path) == entry.key[0]]

        def work(job: Job) -> None:
            if is_of_file:
                of_file()
            elif stores:
                of_store(stores[0])
            else:
                raise StoreProblem(f"The view '{visible(entry.text)}' was not changed", "Its store is closed")

        window.tasks.read(work, lambda _: self.list_views(), window.show_error, owner=self, quiet=True)

    # ----------------------------------------------------------- views of files

    def follow_files(self, files: Sequence[Path]) -> None:
        """List the views of the open files."""
        if files != self._files:
            self._files = list(files)
            self._list_file_views()

    def list_views(self) -> None:
        """List the views again after one was saved, renamed or deleted."""
        self._window.library.refresh()
        self._list_file_views()

    def _list_file_views(self) -> None:
        files, window = list(self._files), self._window

        def work(job: Job) -> dict[str, tuple[str, ...]]:
            views = self._file_views()
            return {str(path): tuple(views.names([path])) for path in files}

        def show(views: dict[str, tuple[str, ...]]) -> None:
            if files == self._files:
                window.sidebar.show_files(files, views)
                window.sidebar.mark(
                    entry_key(window.tabs.dataset_tab.key) if window.tabs.dataset_tab else None
                )

        if files:
            window.tasks.read(work, show, self._say_once, owner=self, quiet=True)

    def _say_once(self, error: Exception) -> None:
        """Show an error once, not again for each file that is opened."""
        if str(error) != self._problem:
            self._problem = str(error)
            self._window.show_error(error)

    def _file_views(self) -> FileViews:
        from lamella.core.store.views import FileViews

        return FileViews(self._window.memory.saved_views)


def show_in_folder(path: Path) -> None:
    """Open the folder in the desktop's file manager; not every one can select a file in it."""
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(path.parent)))


def _compare(tab: DatasetTab) -> None:
    tab.comparing.ask(tab.steps.other_sources())


def _copy(text: str) -> None:
    QGuiApplication.clipboard().setText(text)
