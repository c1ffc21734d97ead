"""Columns changed from the menu of their headers, and tables made anew or of what is shown."""

from __future__ import annotations

import pyarrow as pa
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QMenu

from lamella import col
from lamella.core.query.line import Line
from lamella.core.query.steps import Group
from lamella.ui.dialogs.new_table import NewTableDialog
from lamella.ui.editing.change_dialog import ChangeDialog
from lamella.ui.window.table_columns import ColumnForm


@pytest.fixture
def form(window, qtbot):
    """The form that a command opens."""

    def form(command: str) -> ColumnForm:
        window.commands[command].trigger()
        qtbot.waitUntil(lambda: bool(_forms()), timeout=5_000)
        return _forms()[-1]

    return form


def _forms() -> list[ColumnForm]:
    popups = [w for w in QApplication.topLevelWidgets() if w.isVisible()]
    return [form for popup in popups for form in popup.findChildren(ColumnForm)]


@pytest.mark.slow
def test_the_menu_of_a_header_changes_columns(window, table_tab, go_to, qtbot) -> None:
    go_to(table_tab, 0, "note")
    table_tab.grid.column_header.menu_requested.emit(2, table_tab.mapToGlobal(table_tab.rect().center()))
    menus = [w for w in QApplication.topLevelWidgets() if isinstance(w, QMenu) and w.isVisible()]
    inside = next(a.menu() for a in menus[0].actions() if a.text() == "Change columns")
    texts = [action.text() for action in inside.actions()]
    assert texts[:4] == ["Add a column…", "Rename…", "Change the type…", "Describe…"]
    assert "Change…" in [action.text() for action in menus[0].actions()]
    menus[0].close()


def test_a_column_is_added_renamed_and_dropped(window, table_tab, table, go_to, form, settled) -> None:
    go_to(table_tab, 0, "delay")
    column_form = form("add_column")
    QTest.keyClicks(column_form.fields["name"], "note")
    assert (
        "A column 'note' already exists." in column_form.reason.text() and not column_form.accept.isEnabled()
    )
    QTest.keyClicks(column_form.fields["name"], "s")
    column_form.fields["type"].setCurrentText("int6")
    assert column_form.reason.text() and not column_form.accept.isEnabled()
    column_form.fields["type"].setCurrentText("int64")
    QTest.keyClicks(column_form.fields["default"], "x")
    assert "not a number" in column_form.reason.text()
    column_form.fields["default"].clear()
    QTest.keyClicks(column_form.fields["default"], "7")
    QTest.keyClick(column_form.fields["name"], Qt.Key.Key_Return)
    tab = settled()
    assert list(table.columns) == ["delay", "notes", "carrier", "note"] and table.get(5)["notes"] == 7
    go_to(tab, 0, "notes")
    column_form = form("rename_column")
    QTest.keyClicks(column_form.fields["name"], "_id")
    assert "is reserved for row ids" in column_form.reason.text()
    column_form.fields["name"].clear()
    QTest.keyClicks(column_form.fields["name"], "seven")
    column_form.accept.click()
    tab = settled()
    assert list(table.columns)[1] == "seven" and tab.grid.grid_model.names[2] in ("seven", "carrier")
    go_to(tab, 0, "seven")
    window.commands["drop_column"].trigger()
    settled()
    assert "seven" not in table.columns
    window.commands["undo"].trigger()
    settled()
    assert "seven" in table.columns


def test_columns_are_moved_and_described(window, table_tab, table, go_to, form, settled, qtbot) -> None:
    go_to(table_tab, 0, "carrier")
    window.commands["move_left"].trigger()
    tab = settled()
    assert list(table.columns) == ["carrier", "delay", "note"]
    go_to(tab, 0, "carrier")
    window.commands["move_right"].trigger()
    tab = settled()
    assert list(table.columns) == ["delay", "carrier", "note"]
    header, names = tab.grid.horizontalHeader(), tab.grid.grid_model.names
    header.moveSection(header.visualIndex(names.index("note")), header.visualIndex(names.index("delay")))
    go_to(tab, 0, "note")
    window.commands["keep_order"].trigger()
    tab = settled()
    assert list(table.columns) == ["note", "delay", "carrier"]
    go_to(tab, 0, "delay")
    column_form = form("describe_column")
    QTest.keyClicks(column_form.fields["text"], "in minutes")
    column_form.accept.click()
    tab = settled()
    assert table.columns.metadata("delay") == {"description": "in minutes"}
    model = tab.grid.grid_model
    tip = Qt.ItemDataRole.ToolTipRole
    place = model.names.index("delay")
    assert "in minutes" in model.headerData(place, Qt.Orientation.Horizontal, tip).split("\n")
    assert form("describe_column").fields["text"].text() == "in minutes"


@pytest.mark.slow(except_every=4)
@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("cast_column", "cast"),
        ("split_column", "split"),
        ("merge_columns", "merge"),
        ("drop_duplicates", "drop_duplicates"),
    ],
)
def test_other_changes_open_the_dialog_with_their_form(
    window, table_tab, go_to, qtbot, command: str, kind: str
) -> None:
    go_to(table_tab, 0, "note")
    window.commands[command].trigger()
    dialog = window.findChild(ChangeDialog)
    assert dialog.kind.id == kind
    dialog.reject()


@pytest.mark.slow
def test_files_say_how_they_can_be_changed(window, file_tab, go_to, settled, qtbot) -> None:
    go_to(file_tab, 3, "note")
    window.commands["drop_column"].trigger()
    assert "is a file: this changes tables" in file_tab.messages.label.text()
    file_tab.messages.buttons[0].click()
    qtbot.waitUntil(lambda: window.tabs.dataset_tab is not file_tab, timeout=15_000)
    qtbot.waitUntil(lambda: "note" not in list(window.tabs.dataset_tab.table.columns), timeout=15_000)


def test_computed_rows_say_why_they_are_not_changed(window, table_tab, settled, go_to) -> None:
    table_tab.apply(Line.of([Group(("carrier",), ())]))
    tab = settled()
    go_to(tab, 0, "carrier")
    window.commands["change"].setEnabled(True)
    window.commands["change"].trigger()
    assert "These rows are computed" in tab.messages.label.text()
    assert window.findChild(ChangeDialog) is None


def new_table(window) -> NewTableDialog:
    return window.findChildren(NewTableDialog)[-1]


def test_an_empty_table_is_made(window, store, qtbot, settled) -> None:
    qtbot.waitUntil(window.commands["new_table"].isEnabled)
    window.commands["new_table"].trigger()
    dialog = new_table(window)
    assert not dialog.create_button.isEnabled()
    QTest.keyClicks(dialog.name, "people")
    dialog.columns[1].name.clear()
    QTest.keyClicks(dialog.columns[1].name, "name")
    assert "Two columns are named 'name'" in dialog.reason.text() and not dialog.create_button.isEnabled()
    dialog.columns[1].name.setText("born")
    dialog.columns[1].type.setCurrentText("dat")
    assert not dialog.create_button.isEnabled()
    dialog.columns[1].type.setCurrentText("date")
    qtbot.mouseClick(dialog.add, Qt.MouseButton.LeftButton)
    QTest.keyClicks(dialog.columns[2].name, "_id")
    assert "row ids" in dialog.reason.text()
    dialog.columns[2].name.setText("height")
    with qtbot.waitSignal(dialog.created):
        QTest.keyClick(dialog.name, Qt.Key.Key_Return)
    tab = settled()
    assert tab.name == "people" and tab.view.num_rows == 0
    schema = store["people"].schema
    assert schema.names == ["_id", "name", "born", "height"]
    assert schema.types[1:] == [pa.string(), pa.date32(), pa.string()]


@pytest.mark.slow
def test_a_table_is_made_of_what_is_shown(window, store, table_tab, table, settled, qtbot) -> None:
    table_tab.set_filter(col("delay") > 400)
    tab = settled()
    count = tab.view.num_rows
    window.commands["make_table"].trigger()
    dialog = new_table(window)
    assert f"{count} rows, 3 columns" in [label.text() for label in dialog.findChildren(QLabel)]
    dialog.name.setText("flights")
    dialog.create_button.click()
    qtbot.waitUntil(lambda: "flights" in dialog.reason.text())
    assert store.tables == ["flights"] and dialog.isVisible()
    dialog.name.setText("late")
    with qtbot.waitSignal(dialog.created):
        dialog.create_button.click()
    tab = settled()
    assert tab.name == "late" and store["late"].num_rows == count
    expected = table.read(["delay", "carrier", "note"], where="delay > 400")
    assert store["late"].read(["delay", "carrier", "note"]).equals(expected)
