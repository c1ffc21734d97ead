"""Comparing a server's answer with a local one: runs the line of a remote table on an open dataset as
well."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QMenu

from lamella.core.errors import LamellaError, visible
from lamella.core.jobs import Job
from lamella.core.query.answer_comparison import Comparison, compare_line
from lamella.core.query.line import query_of_line
from lamella.core.query.source import Remote, Source
from lamella.ui.widgets.controls import without_mnemonic
from lamella.ui.widgets.hosts import widget_of
from lamella.ui.window.dataset_tab import DatasetTab
from lamella.ui.window.window import Window

NOTHING_TO_COMPARE = "Nothing is open to compare with. Open a file or table with the same rows first."


def compare_with_local(window: Window) -> None:
    """Ask in a menu which of the open tabs, and tables of the stores, has the same rows."""
    tab = window.tabs.dataset_tab
    if tab is None or not isinstance(tab.dataset, Remote):
        return
    local: list[tuple[str, Callable[[], Source]]] = [
        (open_tab.name, partial(getattr, open_tab, "dataset"))
        for open_tab in window.tabs.dataset_tabs
        if open_tab is not tab and not isinstance(open_tab.dataset, Remote)
    ]
    if not local:
        tab.messages.say(NOTHING_TO_COMPARE)
        return
    menu = QMenu(widget_of(window))
    for name, find in local:
        menu.addAction(without_mnemonic(visible(name)), partial(compare, tab, name, find))
    menu.aboutToHide.connect(menu.deleteLater)
    menu.popup(QCursor.pos())


def compare(tab: DatasetTab, name: str, find: Callable[[], Source]) -> None:
    """Run the line on both and show in a dialog where the answers differ."""
    dataset, content = tab.dataset, tab.content
    if content is None or not isinstance(dataset, Remote):
        return
    steps, engine, in_order = content.lines.runnable.steps, dataset.engine, bool(tab.sort)

    def work(job: Job) -> Comparison:
        own_query = query_of_line(tab.line, find(), steps)
        engine_query = query_of_line(tab.line, dataset, steps)
        return compare_line(own_query, engine_query, engine, in_order, job)

    def show(comparison: Comparison) -> None:
        from lamella.ui.dialogs.answer_comparison import AnswerComparison

        dialog = AnswerComparison(comparison, name, engine.title, tab.window())
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def fail(error: Exception) -> None:
        if not isinstance(error, LamellaError):
            tab.failures.show(error)
            return
        tab.messages.say(f"The answers cannot be compared. {error}", kind="message-danger")

    tab.tasks.read(work, show, fail, owner=tab, text="Comparing with local")
