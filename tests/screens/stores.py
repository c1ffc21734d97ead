"""Screens of stores and of what is inside a table: store page and dialogs, inspector, history, comparison."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from lamella import resources
from lamella.app.tour import Tour, dialog_of, loaded_tab
from lamella.core.query.expressions import col
from lamella.core.store.table import Table
from lamella.ui.comparison.dialog import CompareDialog
from lamella.ui.comparison.view import ComparisonView
from lamella.ui.indexes.manager import IndexesDialog
from lamella.ui.stores.store_page import StorePage
from tests.screens.stage import (
    Screen,
    after,
    close_tab,
    command,
    go_to,
    nothing,
    opened,
    plain,
    quiet,
    settled_after_pause,
)

# -------------------------------------------------------------------- the store itself


def planes(tour: Tour) -> Table:
    """A table with a few commits."""
    plain(tour)
    table: Table = tour.window.library.stores[-1]["planes"]
    if not table.history.undoable():
        table.update_where(col("manufacturer") == "AIRBUS INDUSTRIE", {"$set": {"manufacturer": "AIRBUS"}})
        table.delete(ids=[17, 18])
        table.history.name_version("before the merger", 1)
    return table


def store_page(tour: Tour) -> StorePage:
    plain(tour)
    planes(tour)
    tour.window.commands["store_page"].trigger()
    tour.wait("the page is there", lambda: tour.window.store_actions.current_page is not None)
    page = tour.window.store_actions.current_page
    assert page is not None
    page.measure()
    tour.wait("the store is measured", lambda: page.sizes is not None and not page.is_busy)
    return page


def store(tour: Tour) -> None:
    """A table with its columns and versions."""
    page = store_page(tour)
    top = next(
        page.tree.topLevelItem(n)
        for n in range(page.tree.topLevelItemCount())
        if page.tree.topLevelItem(n).text(0) == "planes"
    )
    top.setExpanded(True)
    for number in range(top.childCount()):
        top.child(number).setExpanded(True)


def store_act(act: str) -> Screen:
    """The dialog of one of the acts of a store."""

    def show(tour: Tour) -> None:
        page = store_page(tour)
        tour.window.store_actions.act(page.store, act, "planes" if act == "expire" else "")
        quiet(tour)

    return Screen(f"store-{act}", show, close_tab)


def verify(tour: Tour, page: StorePage) -> None:
    dialog = tour.window.store_actions.act(page.store, "verify")
    assert dialog is not None
    quiet(tour)
    dialog.accept_button.click()
    tour.wait("the store is verified", lambda: not dialog.is_working)
    quiet(tour)


def store_verified(tour: Tour) -> None:
    verify(tour, store_page(tour))


def store_damaged(tour: Tour) -> None:
    """The result of verifying a store with a damaged file."""
    page = store_page(tour)
    path = max((page.store.path / "data").rglob("*.parquet"), key=lambda file: file.stat().st_size)
    whole = path.read_bytes()
    path.write_bytes(whole[:1000] + b"\0" * 100 + whole[1100:])
    try:
        verify(tour, page)
    finally:
        path.write_bytes(whole)


def restore(tour: Tour) -> None:
    plain(tour)
    tour.window.store_actions.restore()
    quiet(tour)


# ------------------------------------------------------------------------------ indexes


def indexes(tour: Tour) -> None:
    table = planes(tour)
    if not len(table.indexes):
        table.indexes.create("tailnum")
        table.indexes.create(["manufacturer", "model"], kind="fulltext")
    command(tour, "indexes", "tailnum", "planes")


def new_index(kind: str, column: str) -> Screen:
    def show(tour: Tour) -> None:
        command(tour, "indexes", column)
        dialog_of(tour, IndexesDialog).begin_new(kind, column)
        quiet(tour)

    return Screen(f"index-{kind}", show)


# ---------------------------------------------------------------------------- inspector


def inspector(page: str, table: str = "flights", column: str = "dep_delay") -> Screen:
    def show(tour: Tour) -> None:
        tab = plain(tour, table)
        go_to(tab, column, 4)
        tab.inspector.show_page(page)
        quiet(tour)

    return Screen(f"inspector-{page}", show)


def skipped(tour: Tour) -> None:
    """Row groups that the filter skips."""
    tab = plain(tour)
    tab.set_filter(col("month") >= 10)
    loaded_tab(tour)
    tab.inspector.show_page("table")
    tour.wait("the table is described", lambda: tab.inspector.table_page.is_settled)
    settled_after_pause(tour)


def of_nothing(tour: Tour) -> None:
    """The column's page where the filter leaves no row."""
    tab = plain(tour)
    go_to(tab, "dep_delay")
    tab.set_filter(col("dep_delay") > 100_000)
    loaded_tab(tour)
    tab.inspector.show_page("column")
    quiet(tour)


def history(tour: Tour) -> None:
    """Show the changes since the first version, beside the commits."""
    planes(tour)
    tab = plain(tour, "planes")
    tour.window.commands["history"].trigger()
    page = tab.inspector.history_page
    tour.wait("the commits are listed", lambda: page.is_settled and page.model.total > 2)
    page.select(1)
    quiet(tour)


def against_now(tour: Tour) -> None:
    history(tour)
    tab = tour.window.tabs.dataset_tab
    assert tab is not None
    tab.inspector.history_page.compare_button.click()
    view = tab.comparing.view
    tour.wait("the versions are compared", lambda: view is not None and view.is_settled)
    quiet(tour)


# --------------------------------------------------------------------------- comparison


def pair(tour: Tour) -> tuple[Path, Path]:
    """Two versions of a list as files, the second with rows that are new, gone and changed."""
    plain(tour)
    folder = Path(tour.window.library.stores[-1].path).parent / "lists"
    before, later = folder / "airports-2013.parquet", folder / "airports-2014.parquet"
    if not later.exists():
        folder.mkdir()
        table = pq.read_table(resources.sample("airports")).slice(0, 400)
        pq.write_table(table, before)
        names = table["name"].to_pylist()
        names[3], names[10], names[150] = "Randall County Airport", None, f"{names[150]} (closed)"
        alt = [a + 10 if n % 40 == 0 else a for n, a in enumerate(table["alt"].to_pylist())]
        table = table.set_column(table.column_names.index("name"), "name", pa.array(names))
        table = table.set_column(table.column_names.index("alt"), "alt", pa.array(alt, table["alt"].type))
        pq.write_table(pa.concat_tables([table.slice(0, 200), table.slice(205)]), later)
    return before, later


def compare(tour: Tour) -> CompareDialog:
    before, later = pair(tour)
    opened(tour, later)
    tour.window.commands["compare"].trigger()
    dialog = dialog_of(tour, CompareDialog)
    dialog.add_file(before)
    tour.wait("keys are looked for", lambda: dialog.is_settled and dialog.key.count() > 0)
    quiet(tour)
    return dialog


def compared(tour: Tour) -> ComparisonView:
    compare(tour).compare_button.click()
    tab = tour.window.tabs.dataset_tab
    assert tab is not None
    tour.wait("they are compared", lambda: tab.comparing.view is not None and tab.comparing.view.is_settled)
    view = tab.comparing.view
    assert view is not None
    if view.by_column.isChecked():
        view.by_column.click()
    quiet(tour)
    return view


def compared_summary(tour: Tour) -> None:
    compared(tour).by_column.click()
    quiet(tour)


def compared_export(tour: Tour) -> None:
    compared(tour).export_requested.emit()
    quiet(tour)


def apply_difference(tour: Tour) -> None:
    """The rows of a file into a table."""
    plain(tour, "planes")
    later = Path(tour.window.library.stores[-1].path).parent / "planes-2014.parquet"
    rows = pq.read_table(resources.sample("planes"))
    seats = [n + 2 if n == 182 else n for n in rows["seats"].to_pylist()]
    place = rows.column_names.index("seats")
    pq.write_table(rows.set_column(place, "seats", pa.array(seats, rows["seats"].type)).slice(5), later)
    tour.window.commands["compare"].trigger()
    dialog = dialog_of(tour, CompareDialog)
    dialog.add_file(later)
    tour.wait("keys are looked for", lambda: dialog.is_settled and dialog.key.count() > 0)
    dialog.compare_button.click()
    tab = tour.window.tabs.dataset_tab
    assert tab is not None
    tour.wait("they are compared", lambda: tab.comparing.view is not None and tab.comparing.view.is_settled)
    assert tab.comparing.view is not None
    tab.comparing.view.apply_requested.emit()
    quiet(tour)


# --------------------------------------------------------------------------- all columns


def all_columns(tour: Tour) -> None:
    tab = plain(tour)
    tab.profiling.show()
    loader = tab.profiling.view.loader if tab.profiling.view is not None else None
    tour.wait("figures are there", lambda: loader is not None and loader.num_known > 15 and not loader.busy)


def hide_columns(tour: Tour) -> None:
    plain(tour).profiling.hide()


def table_from_nothing(tour: Tour) -> None:
    command(tour, "new_table")


def save_view(tour: Tour) -> None:
    tab = plain(tour)
    tab.set_filter(col("dep_delay") > 60)
    loaded_tab(tour)
    tour.window.commands["save_view"].trigger()
    quiet(tour)


SCREENS = (
    Screen("store", store, close_tab),
    *map(store_act, ("verify", "backup", "compact", "vacuum", "expire", "rename", "move")),
    Screen("store-verified", store_verified, close_tab),
    Screen("store-damaged", store_damaged, close_tab),
    Screen("store-restore", restore),
    Screen("indexes", indexes),
    new_index("sorted", "tailnum"),
    new_index("fulltext", "tailnum"),
    inspector("row"),
    inspector("column"),
    inspector("table"),
    Screen("inspector-skipped", skipped),
    Screen("inspector-empty", of_nothing),
    Screen("history", history),
    Screen("history-against-now", against_now),
    Screen("compare", lambda tour: (compare(tour), None)[1]),
    Screen("compare-grid", lambda tour: (compared(tour), None)[1]),
    Screen("compare-summary", compared_summary),
    Screen("compare-export", compared_export),
    Screen("compare-apply", apply_difference),
    Screen("all-columns", all_columns, hide_columns),
    Screen("table-new", table_from_nothing, nothing),
    Screen("table-make", after("make_table")),
    Screen("view-save", save_view),
)
