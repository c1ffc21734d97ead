"""Struct and list cells that are opened in place, and fields as columns."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest

from lamella.core.query.steps import Compute
from lamella.ui.grid.value_popup import ValuePopup
from lamella.ui.window.dataset_tab import DatasetTab
from lamella.ui.window.nested_values import column_names
from tests.ui.window.test_columns import choose, open_column_menu

ALT = Qt.KeyboardModifier.AltModifier


@pytest.fixture
def rows() -> pa.Table:
    address = [{"street": f"S{n % 3}", "geo": {"lat": n / 2, "lon": None}} if n else None for n in range(9)]
    return pa.table(
        {
            "id": list(range(9)),
            "address": pa.array(address),
            "tags": pa.array([["a", f"t{n}"] for n in range(9)]),
            "stops": pa.array([[{"no": n}, {"no": n + 1}] for n in range(9)]),
        }
    )


@pytest.fixture
def tab(file_tab) -> DatasetTab:
    return file_tab


@pytest.fixture
def open_value(tab, go_to, qtbot):
    def opened(row: int, name: str, *path: str) -> ValuePopup:
        go_to(tab, row, name)
        qtbot.keyClick(tab.grid, Qt.Key.Key_Return)
        qtbot.waitUntil(lambda: tab.nested_values.popup is not None)
        popup = tab.nested_values.popup
        item = popup.tree.topLevelItem(0)
        for step in path:
            item.setExpanded(True)
            item = next(item.child(n) for n in range(item.childCount()) if item.child(n).text(0) == step)
        popup.tree.setCurrentItem(item)
        return popup

    return opened


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(("key", "modifier"), [
    (Qt.Key.Key_Return, Qt.KeyboardModifier.NoModifier), (Qt.Key.Key_Down, ALT),
])  # fmt: skip
def test_a_nested_cell_is_opened_by_keys_and_closed_by_escape(tab, go_to, qtbot, key, modifier) -> None:
    go_to(tab, 2, "address")
    qtbot.keyClick(tab.grid, key, modifier)
    qtbot.waitUntil(lambda: tab.nested_values.popup is not None)
    popup = tab.nested_values.popup
    assert tab.grid.selection.current[0] == 2 and popup.tree.node.name == "street"
    qtbot.keyClick(popup.tree, Qt.Key.Key_Escape)
    assert tab.nested_values.popup is None


@pytest.mark.slow
def test_a_double_click_opens_a_nested_cell_and_edits_another(tab, qtbot) -> None:
    for column in (2, 0):
        rect = tab.grid.cell_rect((3, column))
        QTest.mouseClick(tab.grid.viewport(), Qt.MouseButton.LeftButton, pos=rect.center())
        QTest.mouseDClick(tab.grid.viewport(), Qt.MouseButton.LeftButton, pos=rect.center())
        if column == 2:
            qtbot.waitUntil(lambda: tab.nested_values.popup is not None)
            assert tab.editing.editor is None
            tab.nested_values.popup.close()
    assert tab.editing.editor is not None
    tab.editing.dismiss()


@pytest.mark.slow
def test_enter_still_goes_down_in_other_columns(tab, go_to, qtbot) -> None:
    go_to(tab, 2, "id")
    qtbot.keyClick(tab.grid, Qt.Key.Key_Return)
    assert tab.grid.selection.current == (3, 0) and tab.nested_values.popup is None


@pytest.mark.slow
def test_null_says_that_it_holds_nothing(tab, go_to, qtbot) -> None:
    go_to(tab, 0, "address")
    qtbot.keyClick(tab.grid, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: "null" in tab.messages.label.text())
    assert tab.nested_values.popup is None


def test_a_value_inside_is_copied_in_full(open_value, qtbot) -> None:
    popup = open_value(2, "address", "geo")
    QGuiApplication.clipboard().clear()
    QTest.mouseClick(popup.copy, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: QGuiApplication.clipboard().text() == '{"lat": 1.0, "lon": null}')
    popup.close()


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(
    ("name", "path", "matching"),
    [
        ("address", ("street",), 3),
        ("address", ("geo", "lat"), 1),
        ("address", ("geo", "lon"), 9),
        ("tags", ("1",), 1),
        ("tags", ("0",), 9),
        ("stops", ("0", "no"), 1),
    ],
)
def test_rows_are_filtered_by_a_value_inside(tab, open_value, settled, name, path, matching) -> None:
    popup = open_value(4, name, *path)
    QTest.mouseClick(popup.filter, Qt.MouseButton.LeftButton)
    assert settled().view.num_rows == matching and len(tab.line.steps) == 1


def test_a_field_becomes_a_column(tab, open_value, settled, cell_text) -> None:
    popup = open_value(4, "address", "geo", "lat")
    QTest.mouseClick(popup.column, Qt.MouseButton.LeftButton)
    assert settled().grid.grid_model.names[-1] == "lat"
    assert cell_text(tab, 4, "lat") == "2" and cell_text(tab, 0, "lat") is None
    assert tab.grid.current_name == "lat"


def test_fields_of_a_struct_become_columns_from_its_header(window, tab, settled, cell_text, qtbot) -> None:
    menu = open_column_menu(window, tab, "address")
    assert next(a for a in menu.actions() if a.text() == "Fields as columns…").isEnabled()
    menu.close()
    form = tab.nested_values.ask_fields("address")
    assert [form.list.item(row).text() for row in range(form.list.count())] == [
        "street", "geo", "geo.lat", "geo.lon (null in every row)",
    ]  # fmt: skip
    assert form.paths == ["address.street", "address.geo.lat"]
    assert form.add.text() == "Add 2 columns"
    form.list.setCurrentRow(1)
    qtbot.keyClick(form.list, Qt.Key.Key_Space)
    assert form.paths == ["address.street", "address.geo", "address.geo.lat"]
    qtbot.keyClick(form.list, Qt.Key.Key_Space)
    QTest.mouseClick(form.add, Qt.MouseButton.LeftButton)
    assert settled().grid.grid_model.names[-2:] == ["street", "lat"]
    assert cell_text(tab, 1, "street") == "S1"
    step = tab.line.steps[0].step
    assert isinstance(step, Compute) and [name for name, _ in step.values] == ["street", "lat"]


@pytest.mark.parametrize("focus", ["list", "add"])
def test_enter_adds_the_checked_fields(tab, settled, qtbot, focus: str) -> None:
    settled()
    form = tab.nested_values.ask_fields("address")
    qtbot.keyClick(getattr(form, focus), Qt.Key.Key_Return)
    assert settled().grid.grid_model.names[-2:] == ["street", "lat"]


@pytest.mark.slow
def test_other_columns_offer_no_fields(window, tab) -> None:
    menu = open_column_menu(window, tab, "tags")
    assert not next(a for a in menu.actions() if a.text() == "Fields as columns…").isEnabled()
    menu.close()
    assert tab.nested_values.ask_fields("tags") is None and tab.nested_values.ask_fields("gone") is None


@pytest.mark.slow
def test_the_menu_of_a_header_opens_the_fields(window, tab) -> None:
    choose(open_column_menu(window, tab, "address"), "Fields as columns…")
    assert tab.line.steps == ()


def test_a_path_that_is_the_name_of_a_column_too_is_not_filtered_by(
    window, tmp_path: Path, settled, go_to, qtbot
) -> None:
    path = tmp_path / "alike.parquet"
    pq.write_table(pa.table({"a": pa.array([{"b": 1}]), "a.b": [2]}), path)
    window.open_paths([path])
    tab = settled()
    go_to(tab, 0, "a")
    qtbot.keyClick(tab.grid, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: tab.nested_values.popup is not None)
    tab.nested_values.popup.filter.click()
    assert "another column" in tab.messages.label.text() and tab.line.steps == ()


@pytest.mark.parametrize(
    ("paths", "names_in_use", "names"),
    [
        (["a.b", "a.c"], ["a"], ["b", "c"]),
        (["a.b"], ["a", "b"], ["a_b"]),
        (["a.x.b", "a.y.b", "a.z.b"], ["a"], ["b", "y_b", "z_b"]),
        (["a.b"], ["a", "b", "a_b", "a_b_2"], ["a_b_3"]),
    ],
)
def test_names_of_new_columns_are_free(paths, names_in_use, names) -> None:
    assert column_names(paths, names_in_use) == names


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("by", ["click", "key"])
def test_a_nested_value_of_a_table_is_edited_from_what_is_open(table_tab, go_to, qtbot, by) -> None:
    go_to(table_tab, 2, "tags")
    qtbot.keyClick(table_tab.grid, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: table_tab.nested_values.popup is not None)
    popup = table_tab.nested_values.popup
    if by == "click":
        QTest.mouseClick(popup.edit, Qt.MouseButton.LeftButton)
    else:
        qtbot.keyClick(popup.tree, Qt.Key.Key_F2)
    qtbot.waitUntil(lambda: table_tab.editing.editor is not None)
    assert json.loads(table_tab.editing.editor.toPlainText()) == ["a", "t2"]
    table_tab.editing.dismiss()


@pytest.mark.slow
def test_a_value_of_a_read_only_file_is_not_offered_for_editing(tab, settled, open_value) -> None:
    Path(tab.key[0]).chmod(0o444)
    tab.reload()
    settled()
    popup = open_value(2, "tags")
    assert popup.edit.isHidden()
    popup.close()
