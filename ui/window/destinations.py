"""What can be found by name in a window: its commands, and everything it can show."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from PySide6.QtWidgets import QWidget

from lamella.core.arrow.types import type_text
from lamella.core.query.steps import Compute, Group, Join, Select, Where
from lamella.core.remote.spark_connect import listed_name
from lamella.ui.dialogs.command_palette import CommandPalette, Offer, command_offers
from lamella.ui.grid.columns import icon_name
from lamella.ui.steps.kinds import KINDS
from lamella.ui.widgets.hosts import widget_of
from lamella.ui.widgets.sidebar import Entry
from lamella.ui.window.dataset_tab import DatasetTab
from lamella.ui.window.file_watch import icon_of

if TYPE_CHECKING:
    from lamella.ui.window.window import Window

LONGEST_TYPE = 40
HIDDEN_LABEL = "hidden"
WITH_COMMANDS = (Where, Compute, Select, Group, Join)


def palette(window: Window) -> CommandPalette:
    """The palette of everything in the window that has a name."""
    tab = window.tabs.dataset_tab
    offers = command_offers(window.commands.actions())
    offers += [*_step_offers(tab), *column_offers(tab)] if tab is not None else []
    offers += _entry_offers(window, "table", "Tables")
    offers += _entry_offers(window, "view", "Views")
    offers += [
        Offer(
            widget.property("title"),
            partial(window.tabs.show_tab, widget),
            "Open tabs",
            widget.property("icon"),
        )
        for widget in window.tabs.widgets
        if widget is not window.tabs.current
    ]
    offers += [
        Offer(listed_name(path), partial(window.open_paths, [path]), "Recent files", icon_of((str(path),)),
              str(path.parent))
        for path in window.memory.recent
    ]  # fmt: skip
    return _over(CommandPalette(offers, widget_of(window)), *window.tabs.widgets)


def column_finder(tab: DatasetTab, parent: QWidget) -> CommandPalette:
    """The palette of a tab's columns, starting at the current one."""
    offers, grid = column_offers(tab), tab.grid
    current = grid.selection.current
    begin_at = grid.column_at(current[1]) if current is not None else 0
    finder = CommandPalette(offers, parent, "Columns", f"Find one of {len(offers):,} columns", begin_at)
    return _over(finder, tab)


def _over(palette: CommandPalette, *tabs: QWidget) -> CommandPalette:
    """Close the palette with the first of the tabs that it leads to, for example when a table is dropped."""
    for tab in tabs:
        tab.destroyed.connect(palette.reject)
    return palette


def column_offers(tab: DatasetTab) -> list[Offer]:
    """Offers that go to a column and show it if it is hidden."""
    grid = tab.grid
    header, schema = grid.horizontalHeader(), grid.grid_model.schema
    looks: dict[pa.DataType, tuple[str, str]] = {}
    offers = []
    for column, (name, kind) in enumerate(zip(grid.grid_model.names, schema.types, strict=True)):
        if kind not in looks:
            looks[kind] = icon_name(kind), type_text(kind)[:LONGEST_TYPE]
        icon, detail = looks[kind]
        if header.isSectionHidden(column):
            icon, detail = "eye-off", f"{detail} · {HIDDEN_LABEL}"
        offers.append(Offer(name, partial(_go_to_column, tab, column, name), "Columns", icon, detail))
    return offers


def _go_to_column(tab: DatasetTab, column: int, name: str) -> None:
    """Go to a column, unless the columns changed while it was being chosen."""
    if tab.grid.grid_model.names[column : column + 1] == [name]:
        tab.grid.go_to_column(column)
        tab.changed.emit()


def _step_offers(tab: DatasetTab) -> list[Offer]:
    """Offers that add a step of a kind that has no command."""
    return [
        Offer(kind.title, partial(tab.steps.add, step), "Steps", kind.icon, kind.about)
        for step, kind in KINDS.items()
        if step not in WITH_COMMANDS
    ]


def _entry_offers(window: Window, kind: str, group: str) -> list[Offer]:
    """Offers of what the sidebar lists."""

    def place(entry: Entry) -> str:
        return " / ".join([Path(entry.key[0]).name, *entry.key[1:-1]])

    icon = {"table": "table", "view": "bookmark"}[kind]
    return [
        Offer(entry.text, partial(window.opening.open_entry, entry), group, icon, place(entry))
        for entry in window.sidebar.entries(kind)
    ]
