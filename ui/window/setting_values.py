"""Opens the update dialog on what a tab shows and has selected."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from lamella.core.arrow.types import ID
from lamella.core.jobs import Job
from lamella.ui.editing.update_dialog import UpdateDialog
from lamella.ui.editing.update_plan import SelectedRows
from lamella.ui.window.dataset_tab import DatasetTab
from lamella.ui.window.finding import row_ids
from lamella.ui.window.situation import current_column


def ask_values(tab: DatasetTab, window: QWidget) -> UpdateDialog | None:
    """None when the tab's rows cannot be changed."""
    if tab.table is None or tab.view is None:
        return None
    column = current_column(tab)
    dialog = UpdateDialog(
        tab.table,
        tab.name,
        tab.view.snapshot,
        tab.tasks,
        "" if column == ID else column,
        tab.where,
        selected_rows(tab),
        window,
    )
    dialog.committed.connect(lambda commit: tab.commits.committed.emit(tab.table, commit))
    dialog.finished.connect(dialog.deleteLater)
    dialog.open()
    return dialog


def selected_rows(tab: DatasetTab) -> SelectedRows | None:
    """The rows of the selection when it is more than the one current cell."""
    view, blocks = tab.view, list(tab.grid.selection.blocks)
    count = sum(block.num_rows for block in blocks)
    if view is None or count < 2:
        return None

    def ids(job: Job) -> list[int]:
        return list(dict.fromkeys(row_id for block in blocks for row_id in row_ids(view, block)))

    return SelectedRows(count, ids)
