"""F1: opens the help at the page about the widget that has the keyboard, in the window and in its dialogs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import shiboken6
from PySide6.QtCore import QObject
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QApplication, QDialog, QWidget

from lamella import resources
from lamella.core.jobs import Job
from lamella.ui.help.pages import FIRST, Page, read_pages
from lamella.ui.tasks import Tasks

if TYPE_CHECKING:
    from lamella.ui.help.viewer import HelpViewer

PAGES = {
    "lamella.ui.steps.where_editor.WhereEditor": "filters.md",
    "lamella.ui.filters.filter_row.FilterRow": "filters.md",
    "lamella.ui.filters.value_picker.ValuePicker": "filters.md",
    "lamella.ui.steps.editors.StepEditor": "queries.md",
    "lamella.ui.steps.editors.SqlEditor": "sql.md",
    "lamella.ui.steps.join_editor.JoinEditor": "relations.md",
    "lamella.ui.charts.form.ChartForm": "charts.md#types",
    "lamella.ui.charts.view.ChartView": "charts.md",
    "lamella.ui.bench.benchmark_panel.BenchmarkPanel": "benchmark.md",
    "lamella.ui.bench.saved_runs.ResultsBrowser": "benchmark.md",
    "lamella.ui.editing.change_dialog.ChangeDialog": "changes.md",
    "lamella.ui.editing.replace_dialog.ReplaceDialog": "changes.md",
    "lamella.ui.dialogs.export_dialog.ExportDialog": "export.md",
    "lamella.ui.dialogs.file_import.FileImportDialog": "text-files.md",
    "lamella.ui.dialogs.file_import.ReadingDialog": "text-files.md",
    "lamella.ui.dialogs.open_import.ImportDialog": "files.md",
    "lamella.ui.sql.result_tab.ResultTab": "console.md#results",
    "lamella.ui.sql.results.ResultPages": "console.md#results",
    "lamella.ui.sql.console.SqlConsole": "console.md",
    "lamella.ui.relations.form.RelationForm": "relations.md#in-the-window",
    "lamella.ui.relations.relations_tab.RelationsTab": "relations.md#in-the-window",
    "lamella.ui.indexes.manager.IndexesDialog": "indexes.md#indexes-in-the-window",
    "lamella.ui.find.bar.FindBar": "search.md#find-in-the-window",
    "lamella.ui.find.word_search.WordSearchPanel": "search.md#words-in-the-window",
    "lamella.ui.find.everywhere.SearchEverywhere": "search.md#find-everywhere",
    "lamella.ui.comparison.dialog.CompareDialog": "compare.md#in-the-window",
    "lamella.ui.comparison.view.ComparisonView": "compare.md#in-the-window",
    "lamella.ui.inspector.history_page.HistoryPage": "compare.md#the-history-in-the-window",
    "lamella.ui.inspector.inspector.Inspector": "guide.md#inspect",
    "lamella.ui.stores.store_page.StorePage": "store.md#in-the-window",
    "lamella.ui.stores.store_dialogs.StoreDialog": "store.md#in-the-window",
    "lamella.ui.remote.connections_dialog.ConnectionsDialog": "remote.md#connections",
    "lamella.ui.remote.server_browser.ServerBrowser": "remote.md#in-the-window",
    "lamella.ui.profiles.view.ProfilesView": "window.md#all-columns",
    "lamella.ui.settings.page.SettingsPage": "command-line.md#settings",
    "lamella.ui.window.pending_tab.PendingTab": "window.md",
    "lamella.ui.window.dataset_tab.DatasetTab": "window.md#the-grid",
}
"""Pages by the widget that has the keyboard, or one that contains it; subclasses come before their bases."""


def page_of(widget: QWidget | None, otherwise: str = FIRST) -> str:
    """The page about a widget, or about the nearest widget around it that has one."""
    while widget is not None:
        for kind in type(widget).__mro__:
            if page := PAGES.get(f"{kind.__module__}.{kind.__qualname__}"):
                return page
        widget = widget.parentWidget()
    return otherwise


class Help(QObject):
    """The help of one window. Nothing is read before it is opened."""

    def __init__(self, tasks: Tasks, window: QWidget) -> None:
        super().__init__(window)
        self.viewer: HelpViewer | None = None
        self._tasks, self._requested_page = tasks, ""
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        app.focusChanged.connect(self._give_key)

    def show(self, page: str = "") -> None:
        """Show a page; without a name, the page about the widget that has the keyboard."""
        self._requested_page = page or page_of(QApplication.focusWidget())
        if self.viewer is not None and shiboken6.isValid(self.viewer):
            self._show(self.viewer)
            return

        def read(job: Job) -> Mapping[str, Page]:
            return read_pages(resources.docs())

        self._tasks.read(read, self._make, owner=self, quiet=True)

    def close(self) -> None:
        if self.viewer is not None and shiboken6.isValid(self.viewer):
            self.viewer.close()
            self.viewer.deleteLater()
        self.viewer = None

    def _make(self, pages: Mapping[str, Page]) -> None:
        from lamella.ui.help.viewer import HelpViewer

        if self.viewer is None:
            self.viewer = HelpViewer(pages, resources.docs())
        self._show(self.viewer)

    def _show(self, viewer: HelpViewer) -> None:
        viewer.search.clear()
        viewer.show_page(self._requested_page)
        viewer.show()
        viewer.raise_()
        viewer.activateWindow()
        viewer.view.setFocus()

    def _give_key(self, _before: QWidget | None, now: QWidget | None) -> None:
        """Add the shortcut to a dialog: the window's own does not work there."""
        dialog = now.window() if now is not None else None
        if not isinstance(dialog, QDialog) or dialog.findChild(QShortcut, "help"):
            return
        owner = dialog.parentWidget()
        if owner is not None and owner.window() is self.parent():
            key = QShortcut(QKeySequence(QKeySequence.StandardKey.HelpContents), dialog)
            key.setObjectName("help")
            key.activated.connect(self.show)
