"""The default and the checks of a column: set from the menu of its header, and applied to typed values."""

from __future__ import annotations

import pyarrow as pa
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from lamella.core.store.column_rules import Checks
from lamella.core.store.table import Table
from lamella.ui import theme
from lamella.ui.editing.column_rules import RulesForm
from lamella.ui.inspector.inspector import COLUMN
from lamella.ui.window.dataset_tab import DatasetTab
from tests.ui.window.test_columns import choose, open_column_menu
from tests.ui.window.test_editing import type_into

MENU = "Default and checks…"


@pytest.fixture
def ask(table_tab: DatasetTab, qtbot):
    def open_form(name: str) -> RulesForm:
        table_tab.column_rules.ask(name)
        form = table_tab.column_rules.form
        assert form is not None
        qtbot.waitUntil(form.apply_button.isEnabled)
        return form

    return open_form


def is_closed(tab: DatasetTab) -> bool:
    return tab.column_rules.form is None


def test_the_form_opens_from_the_menu_of_a_header(window, table_tab: DatasetTab) -> None:
    choose(open_column_menu(window, table_tab, "note"), MENU)
    form = table_tab.column_rules.form
    assert form is not None and not form.apply_button.isEnabled()
    form.done.emit()


def test_rules_are_set_and_taken_back_in_one_step(
    table: Table, table_tab: DatasetTab, ask, qtbot, settled
) -> None:
    form = ask("note")
    assert form.default.text() == "" and not form.required_box.isChecked()
    hint = form.default.fontMetrics().horizontalAdvance(form.default.placeholderText())
    assert form.default.width() >= hint + 2 * (theme.S + 1)  # within its border and padding
    qtbot.keyClicks(form.default, "none yet")
    QTest.mouseClick(form.required_box, Qt.MouseButton.LeftButton)
    form.unique.setChecked(True)
    QTest.mouseClick(form.apply_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: is_closed(table_tab))
    assert table.columns.default("note") == "none yet"
    assert table.columns.checks("note") == Checks(required=True, unique=True)
    settled()
    form = ask("note")
    assert form.default.text() == "none yet" and form.required_box.isChecked() and form.unique.isChecked()
    form.default.clear()
    form.apply()
    qtbot.waitUntil(lambda: is_closed(table_tab))
    assert table.columns.default("note") is None and table.columns.checks("note").unique
    table.history.undo()
    table.history.undo()
    assert not table.columns.checks("note") and table.columns.default("note") is None


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("default", ["", "two\nlines", "\x1b[0m"])
def test_rules_that_are_not_touched_stay_as_they_are(
    table: Table, table_tab: DatasetTab, ask, qtbot, default: str
) -> None:
    """A field cannot show any of these values unchanged."""
    table.update_where(None, {"$set": {"note": "x"}})
    table.columns.set_checks("note", one_of=["x", default])
    table.columns.set_default("note", default)
    form = ask("note")
    form.required_box.setChecked(True)
    form.apply()
    qtbot.waitUntil(lambda: is_closed(table_tab))
    assert table.columns.default("note") == default
    assert table.columns.checks("note") == Checks(required=True, one_of=("x", default))


@pytest.mark.slow
def test_default_and_values_can_change_together(table: Table, table_tab: DatasetTab, ask, qtbot) -> None:
    """The old default is not among the new values, nor the new one among the old values."""
    table.update_where(None, {"$unset": {"note": ""}})
    table.columns.set_checks("note", one_of=["a", "b"])
    table.columns.set_default("note", "a")
    version, form = table.version, ask("note")
    form.default.setText("c")
    form.allowed_values.setPlainText("c\nd")
    form.apply()
    qtbot.waitUntil(lambda: is_closed(table_tab))
    assert table.columns.default("note") == "c" and table.columns.checks("note").one_of == ("c", "d")
    table.history.undo()
    assert table.columns.default("note") == "a" and table.version > version


def test_checks_that_rows_break_are_refused_in_the_form(
    table: Table, table_tab: DatasetTab, ask, qtbot
) -> None:
    form = ask("carrier")
    form.required_box.setChecked(True)
    form.allowed_values.setPlainText("AA\nUA\n")
    form.apply()
    qtbot.waitUntil(form.reason.isVisible)
    assert "250 rows have null" in form.reason.text() and "_id 2" in form.reason.text()
    assert not table.columns.checks("carrier") and form.apply_button.isEnabled()
    form.required_box.setChecked(False)
    form.apply()
    qtbot.waitUntil(lambda: "other values" in form.reason.text())
    form.default.setText("7")
    form.allowed_values.clear()
    form.apply()
    qtbot.waitUntil(lambda: is_closed(table_tab))
    assert table.columns.default("carrier") == "7"


def test_values_that_do_not_fit_the_column_are_refused_as_they_are_typed(ask, qtbot, table: Table) -> None:
    form = ask("delay")
    form.default.setText("soon")
    form.apply()
    assert "'soon' does not fit a column of type int32" in form.reason.text()
    form.default.setText("")
    form.allowed_values.setPlainText("1\nx")
    form.apply()
    assert "'x' does not fit" in form.reason.text() and not table.columns.checks("delay")


@pytest.mark.slow
def test_a_typed_value_that_breaks_a_check_is_marked_in_its_cell(
    table: Table, table_tab: DatasetTab, qtbot, go_to, settled, cell_text
) -> None:
    table.columns.set_checks("note", unique=True)
    table_tab.reload()
    settled()
    go_to(table_tab, 5, "note")
    type_into(table_tab, "row 7")
    column = table_tab.grid.grid_model.names.index("note")
    qtbot.waitUntil(
        lambda: bool(table_tab.grid.marks.get((5, column)) and table_tab.grid.marks[5, column].error)
    )
    assert "The row with _id 7 already has it" in table_tab.grid.marks[5, column].error
    assert table.get(5)["note"] == "row 5"


@pytest.mark.slow
def test_inserted_rows_have_the_defaults(table: Table, table_tab: DatasetTab, window, qtbot, settled) -> None:
    table.columns.set_default("delay", 0)
    table.columns.set_default("note", "new")
    window.commands["insert_rows"].trigger()
    qtbot.waitUntil(lambda: table.num_rows == 1001)
    assert table.read(["delay", "carrier", "note"], where="_id >= 1000").to_pylist() == [
        {"delay": 0, "carrier": None, "note": "new"}
    ]
    settled()
    table.columns.set_default("carrier", "AA")
    window.commands["insert_rows"].trigger()
    qtbot.waitUntil(lambda: table.num_rows == 1002)
    assert table.count("carrier = 'AA' and note = 'new'") == 1


def test_the_inspector_shows_rules_and_opens_their_form(
    table: Table, table_tab: DatasetTab, qtbot, go_to, settled
) -> None:
    table.columns.set_checks("delay", required=True)
    table.columns.set_default("delay", 5)
    table_tab.reload()
    settled()
    go_to(table_tab, 0, "delay")
    table_tab.toggle_inspector()
    table_tab.inspector.show_page(COLUMN)
    page = table_tab.inspector.column_page
    qtbot.waitUntil(lambda: page.rules.text() == "Required · default 5")
    qtbot.mouseClick(page.rules, Qt.MouseButton.LeftButton)
    form = table_tab.column_rules.form
    assert form is not None
    qtbot.waitUntil(lambda: form.default.text() == "5")


@pytest.mark.slow
def test_files_have_no_rules(window, file_tab: DatasetTab, go_to) -> None:
    go_to(file_tab, 0, "note")
    assert not window.commands["column_rules"].isEnabled()
    assert pa.types.is_string(file_tab.view.schema.field("note").type)
