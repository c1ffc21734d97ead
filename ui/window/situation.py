"""What the current tab allows, for the action table."""

from __future__ import annotations

from lamella.core.errors import LamellaError
from lamella.ui.actions import Situation
from lamella.ui.window.dataset_tab import DatasetTab
from lamella.ui.window.tab_set import TabSet


def situation(tabs: TabSet, busy: bool, no_home: LamellaError | None = None) -> Situation:
    tab = tabs.dataset_tab
    around = Situation(
        tab=tabs.current is not None,
        closed_tabs=bool(tabs.closed),
        busy=busy,
        no_import=str(no_home or ""),
    )
    if tab is None:
        return around
    shown = tab.shown
    return Situation(
        dataset=True,
        table=tab.table is not None,
        cell=tab.grid.selection.current is not None,
        selection=bool(tab.grid.selection.blocks),
        filtered=tab.where is not None,
        sorted=bool(tab.sort),
        hidden_columns=tab.grid.horizontalHeader().hiddenSectionCount() > 0,
        undo=shown.undo if shown else "",
        redo=shown.redo if shown else "",
        closed_tabs=around.closed_tabs,
        tab=True,
        busy=busy,
        no_import=around.no_import,
    )


def current_column(tab: DatasetTab) -> str:
    """The name of the column of the current cell; empty when there is none."""
    current = tab.grid.selection.current
    return "" if current is None else tab.grid.grid_model.names[tab.grid.column_at(current[1])]
