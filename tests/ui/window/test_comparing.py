"""A comparison in place of a tab's grid, of versions, tables and files; exported and applied."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDialog, QMenu

from lamella.core.query.comparison import RowChange
from lamella.ui import theme
from lamella.ui.comparison.apply_dialog import ApplyDialog
from lamella.ui.comparison.dialog import A_FILE, CompareDialog
from lamella.ui.dialogs.export_dialog import ExportDialog
from lamella.ui.dialogs.file_dialog import FileDialog
from lamella.ui.grid.comparison_grid import ComparedModel
from lamella.ui.widgets.sidebar import Entry


@pytest.fixture
def changed_table(table):
    """Version 2: two cells and a row changed, a row deleted, one added."""
    cells = pa.table({"_id": [3, 5], "note": ["three", None]})
    table.edit([cells], rows=pa.table({"note": ["new"]}), delete=np.array([4]), message="save edits")
    return table


@pytest.fixture
def compared(qtbot, window, changed_table, settled):
    """Versions 1 and 2 of the flights, compared."""
    window.opening.open_key((str(changed_table.store.path), changed_table.name))
    tab = settled()
    tab.comparing.compare_versions(1)
    return settled_view(qtbot, tab)


def settled_view(qtbot, tab):
    qtbot.waitUntil(lambda: tab.comparing.view is not None and tab.comparing.view.is_settled)
    return tab.comparing.view


def dialog_of(qtbot, window, kind: type[QDialog]):
    qtbot.waitUntil(lambda: bool(window.findChildren(kind)))
    return window.findChildren(kind)[-1]


def kinds(view) -> list[str]:
    return [RowChange(kind).word for kind in view.rows.kinds(0, view.rows.num_rows)]


def test_versions_are_compared_in_place_of_the_rows(qtbot, window, compared):
    tab, view = window.tabs.dataset_tab, compared
    assert [button.text() for button in view.kinds.values()] == ["+ 1 added", "− 1 removed", "± 2 changed"]
    assert not tab.pane.isVisible() and tab.comparing.chip.text().strip() == "version 1 against now"
    assert "1,000 rows in version 2, now · 4 rows differ" in window.status.text.text()
    assert kinds(view)[:6] == ["same", "same", "same", "changed", "removed", "changed"]
    assert view.place.text() == "1 of 4" and view.grid.selection.current[0] == 3
    header = view.grid.row_header
    assert [header.sign_of(row) for row in (0, 3, 4)] == [None, ("±", "warning"), ("−", "danger")]
    model = view.grid.grid_model
    note = model.names.index("note")
    said = [model.data(model.index(row, note), Qt.ItemDataRole.AccessibleTextRole) for row in (3, 4, 5)]
    assert said == ["three, was row 3", "row 4, row removed", "NULL, was row 5"]
    window.grab()
    tab.comparing.chip.click()
    assert tab.pane.isVisible() and not view.isVisible() and not tab.comparing.chip.isVisible()


def test_a_long_name_of_a_comparison_takes_no_room_from_the_sidebar(qtbot, window, compared):
    """It is cut off in its middle where the window is small and the text is large."""
    theme.current().set_text_scale(1.5)
    window.resize(1000, 700)
    chip, widths = window.tabs.dataset_tab.comparing.chip, []
    for text in (
        "a against b",
        "airports of 2013, all.parquet against airports of 2014, all.parquet",
    ):
        chip.say(text)
        qtbot.waitUntil(lambda text=text: chip.text().strip()[:4] == text[:4])
        widths.append(window.sidebar.width())
    assert widths[0] == widths[1] and window.width() == 1000
    assert "…" in chip.text() and chip.text().endswith("parquet")


def test_keys_go_from_difference_to_difference(qtbot, window, compared):
    grid = compared.grid
    grid.setFocus()
    rows = []
    for _ in range(4):
        rows.append(grid.selection.current[0])
        window.commands["next_difference"].trigger()
    assert rows == [3, 4, 5, 1000] and not compared.next.isEnabled()
    window.commands["previous_difference"].trigger()
    assert grid.selection.current[0] == 5 and compared.place.text() == "3 of 4"
    compared.previous.click()
    assert grid.selection.current[0] == 4
    QTest.keyClick(compared, Qt.Key.Key_Escape)
    assert not compared.isVisible()
    assert not window.commands["next_difference"].isEnabled()


def test_the_inspector_shows_the_current_row_of_the_comparison(qtbot, window, compared):
    tab = window.tabs.dataset_tab
    tab.inspector.show_page("row")
    page = tab.inspector.row_page

    def note() -> tuple[str, str | None]:
        items = [page.tree.topLevelItem(n) for n in range(page.tree.topLevelItemCount())]
        return page.title.text(), {item.text(0): item.text(1) for item in items}.get("note")

    qtbot.waitUntil(lambda: note() == ("Row 4", "three"))
    window.commands["next_difference"].trigger()  # a row that only the earlier version has
    qtbot.waitUntil(lambda: note() == ("Row 5", "row 4"))
    tab.comparing.hide()
    qtbot.waitUntil(lambda: page.title.text() == "Select a cell to see its row")


def test_rows_are_chosen_by_kind_and_by_column(qtbot, compared):
    compared.only.click()
    assert compared.rows.num_rows == 4
    compared.kinds[RowChange.ADDED].click()
    compared.kinds[RowChange.REMOVED].click()
    assert kinds(compared) == ["changed", "changed"]
    compared.by_column.click()
    assert compared.summary.isVisible()
    item = compared.summary.topLevelItem(0)
    assert (item.text(0), item.text(1), item.childCount()) == ("note", "2", 2)
    assert item.child(0).text(0) == "row 4: row 3 → three"
    compared.summary.setCurrentItem(item)
    QTest.keyClick(compared.summary, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: not compared.running)
    assert compared.columns.currentData() == "note" and compared.rows.num_rows == 2
    assert compared.grid.current_name == "note"


@pytest.mark.slow
def test_the_next_difference_is_the_cell_that_differs(qtbot, window, compared):
    qtbot.waitUntil(lambda: compared.grid.current_name == "note")
    compared.grid.go_to(0, 0)
    window.commands["next_difference"].trigger()
    qtbot.waitUntil(lambda: compared.grid.selection.current[0] == 3 and compared.grid.current_name == "note")


@pytest.mark.slow
def test_columns_that_are_equal_are_left_out(qtbot, compared):
    QTest.keyClick(compared.columns, Qt.Key.Key_Down)
    assert compared.columns.currentText() == "Columns that differ (1)" and compared.column is None
    names = compared.grid.grid_model.names
    visible = [name for place, name in enumerate(names) if not compared.grid.isColumnHidden(place)]
    assert visible == ["note"] and compared.rows.num_rows == 1001
    rows = compared.rows
    QTest.keyClick(compared.columns, Qt.Key.Key_Up)
    assert not any(compared.grid.isColumnHidden(place) for place in range(len(names)))
    assert compared.rows is rows  # the same object: the comparison was not computed again


@pytest.mark.slow
def test_what_is_selected_is_copied(qtbot, window, compared):
    compared.grid.go_to(4, compared.grid.place(compared.grid.grid_model.names.index("note")))
    window.commands["copy"].trigger()
    qtbot.waitUntil(lambda: QGuiApplication.clipboard().text() == "row 4")


def test_what_is_selected_is_copied_in_a_chosen_format(qtbot, window, compared):
    compared.grid.go_to(4, compared.grid.place(compared.grid.grid_model.names.index("note")))
    window.commands["copy_as"].trigger()
    menu = next(menu for menu in compared.findChildren(QMenu) if menu.isVisible())
    next(action for action in menu.actions() if action.text() == "JSON").trigger()
    menu.close()
    tab = window.tabs.dataset_tab
    qtbot.waitUntil(lambda: tab.messages.label.text() == "Copied 1 row as JSON")
    assert json.loads(QGuiApplication.clipboard().text()) == [{"note": "row 4"}]


@pytest.mark.slow
def test_a_commit_is_compared_at_once(qtbot, window, changed_table, compared):
    tab = window.tabs.dataset_tab
    tab.commits.run(changed_table, lambda t, job: t.delete(ids=[10], job=job), "Deleting")
    qtbot.waitUntil(lambda: compared.kinds[RowChange.REMOVED].text() == "− 2 removed")


def test_a_file_is_compared_by_a_key_and_its_differences_applied(
    qtbot, window, table, table_tab, rows, tmp_path: Path, settled
):
    path = tmp_path / "later.parquet"
    note = rows.column("note").combine_chunks().to_pylist()
    later = rows.set_column(2, "note", [[*note[:-1], "row new"]])
    delay = later.column("delay").combine_chunks().to_pylist()
    pq.write_table(later.set_column(0, "delay", [pa.array([9999, *delay[1:]], pa.int32())]), path)
    window.commands["compare"].trigger()
    dialog = dialog_of(qtbot, window, CompareDialog)
    assert dialog.other_box.itemText(dialog.other_box.count() - 1) == A_FILE
    dialog.add_file(path)
    qtbot.waitUntil(lambda: dialog.is_settled)
    assert dialog.chosen_key == ("note",) and "note identifies the rows of both" in dialog.hint.text()
    dialog.tolerance.setText("-1")
    assert not dialog.compare_button.isEnabled() and "tolerance" in dialog.reason.text()
    dialog.tolerance.setText("")
    dialog.compare_button.click()
    view = settled_view(qtbot, table_tab)
    assert [len(view.comparison.added), len(view.comparison.removed), len(view.comparison.changed)] == [
        1,
        1,
        1,
    ]
    view.apply_action.trigger()
    ask = dialog_of(qtbot, window, ApplyDialog)
    assert ask.apply_button.text() == "Apply to 2 rows" and not ask.removed_box.isChecked()
    ask.removed_box.click()
    assert ask.apply_button.text() == "Apply to 3 rows"
    ask.apply_button.click()
    qtbot.waitUntil(lambda: view.comparison.num_rows == 0 and view.is_settled)
    assert view.pane.nothing.text() == "" and view.status.endswith("ms")
    assert table.version == 2 and table.num_rows == 1000
    window.commands["undo"].trigger()
    qtbot.waitUntil(lambda: view.comparison.num_rows == 3)


def test_a_file_says_why_differences_are_not_applied_to_it(qtbot, window, store, rows, file_tab):
    store.create_table("shorter", rows.slice(0, 990))
    window.library.refresh()
    qtbot.waitUntil(lambda: len(window.sidebar.entries("table")) == 1)
    window.commands["compare"].trigger()
    dialog = dialog_of(qtbot, window, CompareDialog)
    dialog.other_box.activated.emit(dialog.other_box.findText(A_FILE))
    files = dialog_of(qtbot, dialog, FileDialog)
    assert Path(files.directory().path()) == Path(file_tab.key[0]).parent, "the other file is often beside"
    files.reject()
    dialog.choose("shorter")
    qtbot.waitUntil(lambda: dialog.is_settled)
    dialog.by_order.click()
    dialog.compare_button.click()
    view = settled_view(qtbot, file_tab)
    assert view.apply_action.text() == "Apply the differences… (only to a table: import the file first)"
    assert not view.apply_action.isEnabled()


@pytest.mark.slow
def test_the_other_way_round_and_by_order(qtbot, window, table, table_tab, store, rows):
    store.create_table("shorter", rows.slice(0, 990))
    window.library.refresh()
    qtbot.waitUntil(lambda: len(window.sidebar.entries("table")) == 2)
    window.commands["compare"].trigger()
    dialog = dialog_of(qtbot, window, CompareDialog)
    dialog.choose("shorter")
    qtbot.waitUntil(lambda: dialog.is_settled)
    assert "the first row with the first" in dialog.by_order.text()
    dialog.by_order.click()
    assert not dialog.key.isEnabled()
    dialog.compare_button.click()
    view = settled_view(qtbot, table_tab)
    assert view.comparison.key == () and len(view.comparison.removed) == 10
    view.swap_action.trigger()
    qtbot.waitUntil(lambda: not view.running and len(view.comparison.added) == 10)
    assert view.apply_action.text() == "Apply the differences… (swap the sides back first)"
    assert not view.apply_action.isEnabled()
    view.options_action.trigger()
    again = dialog_of(qtbot, window, CompareDialog)
    assert again.by_order.isChecked() and again.other_side.title == "shorter"
    again.reject()


def test_the_differences_are_exported(qtbot, window, compared, tmp_path: Path):
    window.commands["export"].trigger()
    dialog = dialog_of(qtbot, window, ExportDialog)
    assert re.fullmatch(r"The rows that differ: \d+ rows × \d+ columns", dialog.rows_box.currentText())
    dialog.path_edit.setText(str(tmp_path / "out.csv"))
    qtbot.waitUntil(lambda: dialog.is_settled)
    dialog.start()
    qtbot.waitUntil((tmp_path / "out.csv").exists)
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines[0] == '"_change","_columns","delay","carrier","note","note_before"' and len(lines) == 5


def test_what_cannot_be_compared_says_why_and_leaves_the_rows(qtbot, window, table_tab, tmp_path: Path):
    pq.write_table(pa.table({"other": [1]}), tmp_path / "other.parquet")
    window.commands["compare"].trigger()
    dialog = dialog_of(qtbot, window, CompareDialog)
    dialog.add_file(tmp_path / "other.parquet")
    qtbot.waitUntil(lambda: "no column name in common" in dialog.reason.text())
    dialog.by_order.click()
    assert "no column name in common" in dialog.reason.text() and not dialog.compare_button.isEnabled()
    dialog.reject()
    table_tab.comparing.compare_versions(7)
    qtbot.waitUntil(lambda: "no version 7" in table_tab.messages.label.text())
    assert table_tab.pane.isVisible() and not table_tab.comparing.is_shown


def test_the_sidebar_leads_to_a_comparison(qtbot, window, table_tab, table):
    (compare,) = (
        act
        for _, text, act in window.sidebar_actions.choices(Entry("table", table_tab.key, table.name))
        if text == "Compare with…"
    )
    compare()
    dialog = dialog_of(qtbot, window, CompareDialog)
    assert dialog.title.text() == "Compare flights with" and dialog.hint.text().startswith("Choose a table")
    assert [dialog.other_box.itemText(n) for n in range(dialog.other_box.count())] == [A_FILE], (
        "not with itself"
    )
    assert dialog.other_box.currentIndex() == -1 and not dialog.compare_button.isEnabled()


def test_an_earlier_version_is_shown_read_only_in_a_tab(qtbot, window, changed_table, settled, go_to):
    window.opening.open_key((str(changed_table.store.path), changed_table.name))
    settled().versions.open_requested.emit(1)
    qtbot.waitUntil(lambda: len(window.tabs.dataset_tabs) == 2)
    tab = settled()
    assert tab.name == "flights · version 1" and tab.versions.banner.label.text() == "Version 1, read-only"
    assert window.status.standing.text() == "Version 1, read-only"
    go_to(tab, 3, "note")
    QTest.keyClick(tab.grid, Qt.Key.Key_F2)
    tab.editing.begin("x")
    assert "Version 1 is read-only" in tab.messages.label.text()
    window.commands["refresh"].trigger()
    assert settled() is tab
    window.commands["close_tab"].trigger()
    window.commands["reopen_tab"].trigger()
    qtbot.waitUntil(lambda: len(window.tabs.dataset_tabs) == 2)
    tab = settled()
    tab.versions.banner.compare_button.click()
    now = window.tabs.dataset_tab
    assert now.name == "flights"
    assert settled_view(qtbot, now).comparison.num_rows == 4
    window.tabs.show_tab(tab)
    tab.versions.banner.restore_button.click()
    qtbot.waitUntil(lambda: changed_table.version == 3)
    assert not changed_table.history.compare(1, 3).num_rows
    assert isinstance(settled_view(qtbot, now).grid.grid_model, ComparedModel)


def test_columns_have_room_for_old_and_new_values_that_are_not_on_screen_yet(qtbot, window, table, settled):
    table.update([{"_id": row, "note": f"another note of row {row}"} for row in range(900, 905)])
    window.opening.open_key((str(table.store.path), table.name))
    tab = settled()
    tab.comparing.compare_versions(1)
    view = settled_view(qtbot, tab)
    view.kinds[RowChange.CHANGED].click()
    view.only.setChecked(False)
    grid, note = view.grid, view.grid.grid_model.names.index("note")
    assert view.is_settled
    needed = grid.fontMetrics().horizontalAdvance("row 900 another note of row 900")
    assert grid.horizontalHeader().sectionSize(note) >= needed


def test_columns_are_fitted_to_the_changes_of_each_comparison(qtbot, window, table, settled):
    table.update([{"_id": 1, "note": "a much longer note than any before"}])
    table.update([{"_id": 1, "note": "short"}])
    window.opening.open_key((str(table.store.path), table.name))
    tab = settled()

    def width_of_note() -> int:
        view = settled_view(qtbot, tab)
        qtbot.waitUntil(lambda: view.grid.grid_model.pages.is_settled)
        return view.grid.horizontalHeader().sectionSize(view.grid.grid_model.names.index("note"))

    tab.comparing.compare_versions(1)
    narrow = width_of_note()
    tab.comparing.compare_versions(2)
    qtbot.waitUntil(lambda: width_of_note() > narrow)
