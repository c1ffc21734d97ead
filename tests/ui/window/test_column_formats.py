"""The formats of columns, from the menu of a header to saved views."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QGuiApplication, QHelpEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QToolTip

from lamella import Store, agg, col
from lamella.core.query.line import Line
from lamella.core.query.steps import Group, Select
from lamella.ui import theme
from lamella.ui.formats.format_form import FormatForm
from lamella.ui.formats.formats import Format
from lamella.ui.formats.shading import Rule, Shading
from lamella.ui.grid.texts import ROUNDED_MARK
from lamella.ui.window.copy_formats import BY_ID
from lamella.ui.window.dataset_tab import DatasetTab
from tests.ui.window.test_columns import choose, open_column_menu

CONTROL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def rows() -> pa.Table:
    return pa.table(
        {
            "fare": pa.array([1234.5678, -2.0, None, 0.001] * 250),
            "name": ["a", "b", "c", "d"] * 250,
            "size": pa.array([512, 2048, 3 * 1024**2, None] * 250, pa.int64()),
            "seen": pa.array([1_388_498_709_000_000] * 1000, pa.timestamp("us", "UTC")),
        }
    )


@pytest.fixture
def column_texts(settled):
    """The texts drawn for a column, once it was read."""

    def texts(name: str, rows: int = 4) -> list[str | None]:
        tab = settled()
        column = tab.grid.grid_model.names.index(name)
        return [tab.grid.grid_model.pages.shown_text(row, column) for row in range(rows)]

    return texts


def pick(box, label: str) -> None:
    """Choose from a box as the keyboard does."""
    assert box.findText(label) >= 0
    box.setFocus()
    while box.currentText() != label:
        down = box.findText(label) > box.currentIndex()
        QTest.keyClick(box, Qt.Key.Key_Down if down else Qt.Key.Key_Up)
    QApplication.processEvents()  # the fields of the chosen format appear


def type_in(field: QLineEdit, text: str) -> None:
    field.setFocus()
    field.selectAll()
    QTest.keyClicks(field, text)


@pytest.fixture
def ask(qtbot, settled):
    def open_form(tab: DatasetTab, name: str) -> FormatForm:
        form = tab.column_formats.ask(name)
        assert form is not None
        settled()
        qtbot.waitUntil(lambda: form.preview.rows[0][0].text() != "")
        return form

    return open_form


def test_a_number_gets_separators_digits_and_a_unit(file_tab, ask, column_texts, qtbot) -> None:
    form = ask(file_tab, "fare")
    pick(form.kind, "Number")
    pick(form.fields["separators"], "1,234.5")
    pick(form.fields["digits"].how, "Decimal places")
    type_in(form.fields["digits"].count, "1")
    type_in(form.fields["prefix"], "USD ")
    qtbot.waitUntil(lambda: file_tab.grid.formats.get("fare", Format()).prefix == "USD ")
    assert column_texts("fare") == ["USD 1,234.6", "-USD 2.0", None, f"{ROUNDED_MARK}USD 0.0"]
    assert [label.text() for label in form.preview.rows[0]] == ["1234.5678", "USD 1,234.6"]
    assert [label.text()[0] for label in form.preview.rows[1]] == ["−", "−"]  # as the grid draws them
    QTest.mouseClick(form.close_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: file_tab.column_formats.form is None)
    assert column_texts("fare")[0] == "USD 1,234.6"


def test_the_form_opens_by_a_key_and_escape_takes_everything_back(
    window, file_tab, column_texts, qtbot, go_to
) -> None:
    go_to(file_tab, 0, "size")
    qtbot.keyClick(file_tab.grid, Qt.Key.Key_1, CONTROL)
    form = file_tab.column_formats.form
    pick(form.kind, "Bytes")
    qtbot.waitUntil(lambda: "size" in file_tab.grid.formats)
    assert column_texts("size", 3) == ["512 B", "2.0 KiB", "3.0 MiB"]
    qtbot.keyClick(form.kind, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: file_tab.column_formats.form is None)
    assert file_tab.grid.formats == {} and column_texts("size", 2) == ["512", "2,048"]


def test_enter_in_a_field_takes_what_was_chosen(file_tab, ask, column_texts, qtbot) -> None:
    form = ask(file_tab, "size")
    pick(form.kind, "Number")
    type_in(form.fields["suffix"], " B")
    qtbot.keyClick(form.fields["suffix"], Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: file_tab.column_formats.form is None)
    assert column_texts("size", 2) == ["512 B", "2,048 B"]


def test_dates_and_zones(file_tab, ask, column_texts, qtbot) -> None:
    form = ask(file_tab, "seen")
    pick(form.kind, "Date and time")
    pick(form.fields["date"], "31 Dec 2013")
    pick(form.fields["time"], "14:05")
    pick(form.fields["zone"], "America/New_York")
    qtbot.waitUntil(lambda: file_tab.grid.formats.get("seen", Format()).zone == "America/New_York")
    assert column_texts("seen", 1) == ["31 Dec 2013 09:05-05:00"]
    form.plain.click()
    assert file_tab.grid.formats == {} and column_texts("seen", 1) == ["2013-12-31 14:05:09Z"]


@pytest.mark.slow
def test_a_zone_that_is_not_known_changes_nothing(file_tab, ask, column_texts) -> None:
    form = ask(file_tab, "seen")
    pick(form.kind, "Date and time")
    form.fields["zone"].setCurrentText("Nowhere/Town")
    assert column_texts("seen", 1) == ["2013-12-31 14:05:09Z"]
    form.done.emit()


def tip_of(tab: DatasetTab, row: int, name: str) -> str:
    grid = tab.grid
    point = grid.cell_rect((row, grid.place(grid.grid_model.names.index(name)))).center()
    event = QHelpEvent(QEvent.Type.ToolTip, point, grid.viewport().mapToGlobal(point))
    QApplication.sendEvent(grid.viewport(), event)
    return QToolTip.text()


def test_what_is_copied_filtered_edited_and_told_is_the_value(
    window, table_tab, column_texts, settled, go_to
) -> None:
    table_tab.grid.set_format("fare", Format("number", digits=0))
    assert column_texts("fare")[0] == "1235"
    go_to(table_tab, 0, "fare")
    window.commands["copy"].trigger()
    settled()
    assert QGuiApplication.clipboard().text() == "1234.5678"
    window.commands["edit_cell"].trigger()
    assert table_tab.editing.editor.text() == "1234.5678"
    table_tab.editing.dismiss()
    assert tip_of(table_tab, 0, "fare") == "1234.5678"
    window.commands["filter_equal"].trigger()
    assert settled().view.num_rows == 250


def test_copy_as_shown(file_tab, settled) -> None:
    file_tab.grid.set_format("fare", Format("number", separators="comma", digits=1))
    file_tab.grid.select_rows(0, extend=False)
    file_tab.grid.selection.extend(1, 1)
    file_tab.copying.copy_as(BY_ID["shown"])
    settled()
    assert QGuiApplication.clipboard().text() == "1,234.6\ta\n-2.0\tb"


@pytest.mark.slow
def test_a_format_stays_through_filters_steps_and_back(file_tab, settled, column_texts) -> None:
    file_tab.grid.set_format("fare", Format("percent"))
    file_tab.set_filter(col("name") == "a")
    assert column_texts("fare", 1) == ["123456.78 %"]
    file_tab.add_step(Select(("name", "fare")))
    assert column_texts("fare", 1) == ["123456.78 %"]
    file_tab.add_step(Select(("name",)))
    settled()
    file_tab.go_back()
    assert column_texts("fare", 1) == ["123456.78 %"]


@pytest.mark.slow
def test_rows_that_were_asked_for_in_another_format_are_read_again(file_tab, column_texts) -> None:
    file_tab.set_filter(col("name") == "a")
    file_tab.grid.set_format("fare", Format("number", digits=1))
    assert column_texts("fare", 1) == ["1234.6"]


@pytest.mark.slow
def test_a_column_grows_where_its_format_needs_room(file_tab, settled, qtbot) -> None:
    header = file_tab.grid.column_header
    header.resizeSection(3, 60)
    file_tab.grid.set_format("seen", Format("moment", date="day_name"))
    settled()
    qtbot.waitUntil(lambda: header.sectionSize(3) > 120)


@pytest.mark.slow
def test_values_scrolled_to_are_in_the_format_too(file_tab, settled) -> None:
    file_tab.grid.set_format("fare", Format("number", digits=1))
    settled()
    file_tab.grid.scroll_to_row(800)
    settled()
    assert file_tab.grid.grid_model.pages.shown_text(800, 0) == "1234.6"
    file_tab.grid.set_format("fare", None)
    settled()
    file_tab.grid.scroll_to_row(0)
    settled()
    assert file_tab.grid.grid_model.pages.shown_text(0, 0) == "1234.5678"


def cell_image(tab: DatasetTab, row: int, column: int):
    rect = tab.grid.cell_rect((row, tab.grid.place(column))).adjusted(0, 0, -1, -1)
    return tab.grid.viewport().grab(rect).toImage()


@pytest.mark.slow
def test_alignment_moves_the_text_to_the_other_side(file_tab, settled) -> None:
    before = cell_image(file_tab, 0, 1)
    file_tab.grid.set_format("name", Format(align="right"))
    settled()
    after = cell_image(file_tab, 0, 1)
    middle = before.width() // 2

    def is_drawn(image, left: int, right: int) -> bool:
        ground = image.pixelColor(middle, 3)
        return any(
            image.pixelColor(x, y) != ground for x in range(left, right) for y in range(image.height())
        )

    assert is_drawn(before, 4, middle) and not is_drawn(before, middle, before.width() - 4)
    assert is_drawn(after, middle, before.width() - 4) and not is_drawn(after, 4, middle)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["scale", "center", "bars"])
def test_colours_follow_the_values(file_tab, settled, kind) -> None:
    file_tab.grid.set_format("size", Format(shading=Shading(kind, 0, 3 * 1024**2, 1024.0)))
    settled()
    grounds = [cell_image(file_tab, row, 2).pixelColor(12, 4).name() for row in range(4)]
    assert grounds[2] != grounds[3] and (kind == "bars" or grounds[0] != grounds[2])


def test_without_ends_a_scale_reaches_over_what_was_read(file_tab, settled) -> None:
    file_tab.grid.set_format("fare", Format(shading=Shading("scale")))
    settled()
    assert file_tab.grid.grid_model.pages.extents[0] == (-2.0, 1234.5678)


def test_the_ends_of_a_scale_are_those_of_the_card(column_cards, file_tab, ask, qtbot) -> None:
    qtbot.waitUntil(lambda: file_tab.grid.cards.card_of(0) is not None)
    form = ask(file_tab, "fare")
    pick(form.shading.kind, "Scale from least to greatest")
    qtbot.waitUntil(lambda: "fare" in file_tab.grid.formats)
    assert file_tab.grid.formats["fare"].shading == Shading("scale", -2.0, 1234.5678)
    type_in(form.shading.ends["high"], "100")
    qtbot.waitUntil(lambda: file_tab.grid.formats["fare"].shading.high == 100)
    form.done.emit()


def test_rules_are_added_by_clicks_and_mark_values_in_bold(file_tab, ask, settled, qtbot) -> None:
    before = cell_image(file_tab, 1, 0)
    form = ask(file_tab, "fare")
    pick(form.shading.kind, "Rules")
    (rule,) = form.shading.rules
    type_in(rule.value, "0")
    qtbot.waitUntil(lambda: "fare" in file_tab.grid.formats)
    assert file_tab.grid.formats["fare"].shading.rules == (Rule("<", 0.0, "red"),)
    QTest.mouseClick(form.shading.add, Qt.MouseButton.LeftButton)
    second = form.shading.rules[1]
    pick(second.operator, ">")
    pick(second.color, "Blue")
    type_in(second.value, "1000")
    qtbot.waitUntil(lambda: len(file_tab.grid.formats["fare"].shading.rules) == 2)
    settled()
    assert cell_image(file_tab, 1, 0) != before
    second.removed.emit()
    qtbot.waitUntil(lambda: len(file_tab.grid.formats["fare"].shading.rules) == 1)
    form.done.emit()


@pytest.mark.slow
def test_a_value_that_is_no_number_makes_no_rule(file_tab, ask, settled) -> None:
    form = ask(file_tab, "fare")
    pick(form.shading.kind, "Rules")
    type_in(form.shading.rules[0].value, "many")
    settled()
    assert form.form.shading.rules == ()
    form.done.emit()


@pytest.mark.slow
def test_columns_of_text_have_no_colours_and_only_kinds_that_fit(file_tab, ask) -> None:
    form = ask(file_tab, "name")
    assert form.shading is None
    assert [form.kind.itemText(n) for n in range(form.kind.count())] == ["As it is"]
    form.done.emit()


@pytest.mark.slow
def test_the_form_says_what_its_fields_are(file_tab, ask) -> None:
    form = ask(file_tab, "fare")
    pick(form.kind, "Number")
    assert all(field.accessibleName() for field in form.findChildren(QLineEdit) if field.parent() is form)
    form.done.emit()


@pytest.mark.slow
def test_a_saved_view_keeps_formats_and_what_is_pinned(table_tab, store: Store, settled, qtbot) -> None:
    table_tab.set_filter(col("name") == "a")
    tab = settled()
    tab.grid.set_format("fare", Format("number", digits=1))
    tab.grid.pin_column(tab.grid.grid_model.names.index("size"))
    tab.line_actions.save("mine")
    qtbot.waitUntil(lambda: "mine" in store.views)
    assert store.views.layout("mine") == {
        "pinned": ["size"], "formats": {"fare": {"kind": "number", "digits": 1}},
    }  # fmt: skip
    tab.grid.set_format("fare", None)
    tab.grid.unpin_columns()
    tab.set_filter(None)
    settled()
    tab.line_actions.show_view("mine")
    qtbot.waitUntil(lambda: tab.grid.pinning.count == 1)
    assert tab.view.num_rows == 250 and tab.grid.formats == {"fare": Format("number", digits=1)}
    assert [tab.grid.grid_model.names[column] for column in tab.grid.pinning.columns] == ["size"]


@pytest.mark.slow
def test_a_layout_that_cannot_be_read_is_left_out(table_tab, store: Store, qtbot) -> None:
    query = store["flights"].where("name = 'a'")
    layout = {
        "pinned": ["gone", 3, "size"],
        "formats": {"fare": {"kind": "rainbow"}, "size": {"kind": "bytes"}},
    }
    store.views.save("odd", query, layout=layout)
    table_tab.line_actions.show_view("odd")
    qtbot.waitUntil(lambda: table_tab.grid.pinning.count == 1)
    assert table_tab.view.num_rows == 250 and table_tab.grid.formats == {"size": Format("bytes")}


@pytest.mark.slow
def test_the_tooltip_of_a_header_names_its_format(file_tab, settled) -> None:
    file_tab.grid.set_format("fare", Format("percent"))
    settled()
    tip = file_tab.grid.grid_model.headerData(0, Qt.Orientation.Horizontal, Qt.ItemDataRole.ToolTipRole)
    assert "Shown as percent" in tip


@pytest.mark.slow
def test_ten_thousand_columns_with_formats_read_what_is_on_screen(window, tmp_path: Path, settled) -> None:
    path = tmp_path / "wide.parquet"
    pq.write_table(pa.table({f"c{n}": [n / 7] for n in range(10_000)}), path)
    window.open_paths([path])
    tab = settled()
    for n in range(10_000):
        tab.grid.formats[f"c{n}"] = Format("number", digits=1)
    tab.grid.set_format("c0", Format("number", digits=2))
    assert settled().grid.grid_model.pages.shown_text(0, 0) == "0.00"
    tab.grid.go_to_column(9_000)
    assert settled().grid.grid_model.pages.shown_text(0, 9_000) == "1285.7"


@pytest.mark.slow
def test_a_format_can_be_clicked_for_a_pinned_column(window, file_tab, settled) -> None:
    file_tab.grid.pin_column(2)
    choose(open_column_menu(window, file_tab, "size"), "Format…")
    assert file_tab.column_formats.form is not None
    header = file_tab.grid.column_header
    popover = file_tab.column_formats.form.window()
    assert popover.x() >= header.mapToGlobal(QPoint(header.sectionSize(2), 0)).x()
    file_tab.column_formats.form.done.emit()


def test_totals_stand_in_the_format_and_below_pinned_columns(file_tab, settled, qtbot) -> None:
    figures = (("n", agg.count()), *((f"m{k}", agg.mean(col("fare"))) for k in range(12)))
    file_tab.apply(Line.of([Group(("name",), figures, totals=True)]))
    grid = settled().grid
    qtbot.waitUntil(lambda: bool(grid.totals.texts))
    before = grid.totals.grab().toImage()
    grid.set_format("m0", Format("number", digits=0, prefix="USD ", align="left"))
    grid.pin_column(grid.grid_model.names.index("m3"))
    settled()
    grid.horizontalScrollBar().setValue(grid.horizontalScrollBar().maximum())
    assert grid.horizontalScrollBar().maximum() > 0
    after = grid.totals.grab().toImage()
    gutter, width = grid.row_header.width(), grid.pinning.width
    assert before != after
    ground = theme.current().color("sunken")
    assert any(after.pixelColor(gutter + x, y) != ground for x in range(4, width - 4) for y in range(4, 20))


@pytest.mark.slow
def test_a_table_that_was_imported_shows_its_columns_as_the_file_did(file_tab, table_tab, qtbot) -> None:
    file_tab.grid.set_format("size", Format("bytes"))
    file_tab.grid.pin_column(1)
    table_tab.follow(file_tab, 3, "size")
    qtbot.waitUntil(lambda: table_tab.grid.pinning.count == 1)
    assert table_tab.grid.formats == {"size": Format("bytes")}
    assert table_tab.grid.current_name == "size" and table_tab.grid.selection.current[0] == 3
