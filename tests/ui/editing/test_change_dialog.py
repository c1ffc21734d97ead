"""The Change dialog: seen beforehand, refused at the field, one commit at the end."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from lamella import Store, col
from lamella.core.errors import UnknownRow
from lamella.core.jobs import Job
from lamella.core.store.acts import KINDS
from lamella.core.store.table import Table
from lamella.ui import theme
from lamella.ui.dialogs.file_import import ReadingDialog
from lamella.ui.editing.change_dialog import HINT, ChangeContext, ChangeDialog, SelectedRows
from lamella.ui.tasks import Tasks
from tests.ui.editing.change_acts import cells, field, headers, press, said, settled

ROWS = 300
LATE = col("dep_delay") > 60


@pytest.fixture
def flights(tmp_path: Path) -> Iterator[Table]:
    data = pa.table(
        {
            "dep_delay": pa.array([None if n % 50 == 0 else n % 120 for n in range(ROWS)], pa.int16()),
            "carrier": pa.array([["AA", "UA", "DL"][n % 3] for n in range(ROWS)]),
            "stops": pa.array([["JFK"] for _ in range(ROWS)], pa.list_(pa.string())),
        }
    )
    with Store.open(tmp_path / "store") as store:
        yield store.create_table("flights", data)


@pytest.fixture
def open_dialog(qtbot: QtBot, tasks: Tasks) -> Callable[..., ChangeDialog]:
    def opened(table: Table, kind: str = "update", **context: Any) -> ChangeDialog:
        dialog = ChangeDialog(table, table.name, table.snapshot(), tasks, ChangeContext(**context))
        qtbot.addWidget(dialog)
        if kind != "update":
            dialog.kind_box.setCurrentText(
                next(change_kind.label for change_kind in KINDS if change_kind.id == kind)
            )
        dialog.show()
        qtbot.waitExposed(dialog)
        return dialog

    return opened


Opened = Callable[..., ChangeDialog]
WRONG = (("dep_dela * 2", "no column 'dep_dela'"), ("upper(dep_delay)", "'upper' does not fit"))


def test_rows_that_meet_the_filter_change_in_one_commit(
    qtbot: QtBot, flights: Table, open_dialog: Opened
) -> None:
    late, before = flights.count(LATE), flights.version
    dialog = open_dialog(flights, column="dep_delay", filter=LATE)
    assert dialog.news.text() == HINT and not dialog.apply.isEnabled()
    QTest.keyClicks(field(dialog, "New value"), "61")
    settled(qtbot, dialog)
    same = flights.count(col("dep_delay") == 61)
    assert dialog.apply.text() == f"Change {late - same} rows"
    assert f"{late - same} of {late} rows change. {same} already have this value." in said(dialog)
    assert [b.text() for b in dialog.rows.buttons()] == [f"Filter · {late}", f"All · {ROWS}"]
    assert headers(dialog)[-2:] == ["dep_delay", "dep_delay after"] and len(cells(dialog)) == 20
    assert cells(dialog)[0][-2:] == ["62", "61"]
    commit = press(qtbot, dialog)
    assert (commit.version, commit.updated) == (before + 1, late - same)
    assert flights.count(col("dep_delay") == 61) == late
    assert flights.schema.field("dep_delay").type == pa.int16()


def test_an_expression_is_completed_previewed_and_undone(
    qtbot: QtBot, flights: Table, open_dialog: Opened
) -> None:
    before = flights.read(["dep_delay"])
    dialog = open_dialog(flights, column="dep_delay")
    line = dialog.form.lines[0]
    line.assignment_box.setFocus()
    QTest.keyClick(line.assignment_box, Qt.Key.Key_Down)
    assert line.assignment_box.currentText() == "= expression"
    edit = field(dialog, "Expression")
    edit.setFocus()
    QTest.keyClicks(edit, "great")
    popup = edit.completions.popup()
    qtbot.waitUntil(popup.isVisible)
    QTest.keyClick(popup, Qt.Key.Key_Down)
    QTest.keyClick(popup, Qt.Key.Key_Return)
    assert edit.text() == "greatest()"
    QTest.keyClicks(edit, "dep_")
    qtbot.waitUntil(popup.isVisible)
    QTest.keyClick(popup, Qt.Key.Key_Down)
    QTest.keyClick(popup, Qt.Key.Key_Return)
    QTest.keyClicks(edit, " - 15, 0")
    assert edit.text() == "greatest(dep_delay - 15, 0)"
    settled(qtbot, dialog)
    assert "298 of 300 rows change" in said(dialog) and cells(dialog)[1][-2:] == ["1", "0"]
    press(qtbot, dialog)
    assert flights.read(["dep_delay"]).column(0).to_pylist()[:3] == [0, 0, 0]
    flights.history.undo()
    assert flights.read(["dep_delay"]).equals(before)


def test_what_is_wrong_with_an_expression_stands_beside_it(
    qtbot: QtBot, flights: Table, open_dialog: Opened
) -> None:
    dialog = open_dialog(flights, column="dep_delay")
    dialog.form.lines[0].choose("compute")
    edit = field(dialog, "Expression")
    for text, reason in (
        ("dep_dela * 2", "no column 'dep_dela'"),
        ("upper(dep_delay)", "'upper' does not fit"),
    ):
        edit.clear()
        QTest.keyClicks(edit, text)
        assert reason in said(dialog) and edit.property("variant") == "invalid"
        assert not dialog.apply.isEnabled()
    edit.clear()
    QTest.keyClicks(edit, "upper(carrier)")
    settled(qtbot, dialog)
    assert "dep_delay' is int16 and cannot take string" in said(dialog) and not dialog.apply.isEnabled()


def test_several_columns_change_at_once(qtbot: QtBot, flights: Table, open_dialog: Opened) -> None:
    dialog = open_dialog(flights, column="dep_delay")
    first = dialog.form.lines[0]
    first.choose("fill_from")
    qtbot.mouseClick(dialog.form.add, Qt.MouseButton.LeftButton)
    second = dialog.form.lines[1]
    QApplication.processEvents()
    QTest.keyClicks(second.column, "carr")
    names = second.column.completer().popup()
    qtbot.waitUntil(names.isVisible)
    QTest.keyClick(names, Qt.Key.Key_Down)
    QTest.keyClick(names, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: second.column.text() == "carrier")
    second.choose("case")
    pick_of = second.field.choice
    assert pick_of is not None
    pick_of.setCurrentText("lower")
    settled(qtbot, dialog)
    assert dialog.apply.text() == "Change 300 rows"
    commit = press(qtbot, dialog)
    assert (commit.updated, commit.message) == (300, "fill dep_delay, change the case of carrier")
    assert flights.count(col("dep_delay").is_null()) == 1 and flights.count(col("carrier") == "aa") == 100


@pytest.mark.slow
def test_fields_inside_a_struct_are_chosen_and_changed(
    qtbot: QtBot, flights: Table, open_dialog: Opened
) -> None:
    people = flights.store.create_table(
        "people",
        [
            {"n": 1, "address": {"city": " Bern ", "zip": 3000}},
            {"n": 2, "address": {"city": None, "zip": 8000}},
            {"n": 3, "address": None},
        ],
    )
    dialog = open_dialog(people, column="address")
    line = dialog.form.lines[0]
    line.column.clear()
    QTest.keyClicks(line.column, "city")
    names = line.column.completer().popup()
    qtbot.waitUntil(names.isVisible)
    QTest.keyClick(names, Qt.Key.Key_Down)
    QTest.keyClick(names, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: line.column.text() == "address.city")
    assert "fill nulls from" not in [
        line.assignment_box.itemText(n) for n in range(line.assignment_box.count())
    ]
    line.choose("trim")
    second = dialog.form.add_line("address.zip")
    second.choose("compute")
    edit = field(dialog, "Expression")
    assert "address.city" in edit.completions.model().stringList()
    QTest.keyClicks(edit, "coalesce(address.zip, 0) + n")
    settled(qtbot, dialog)
    assert headers(dialog)[-4:] == ["address.city", "address.zip", "address.city after", "address.zip after"]
    assert [row[-4:] for row in cells(dialog)] == [
        [" Bern ", "3000", "Bern", "3001"],
        ["NULL", "8000", "NULL", "8002"],
        ["NULL", "NULL", "NULL", "3"],
    ]
    commit = press(qtbot, dialog)
    assert commit.message == "trim address.city, compute address.zip"
    assert people.read(["address"]).column(0).to_pylist() == [
        {"city": "Bern", "zip": 3001}, {"city": None, "zip": 8002}, {"city": None, "zip": 3}
    ]  # fmt: skip


def test_a_column_twice_is_refused_and_a_line_can_go(
    qtbot: QtBot, flights: Table, open_dialog: Opened
) -> None:
    dialog = open_dialog(flights, column="carrier")
    QTest.keyClicks(field(dialog, "New value"), "B6")
    second_line = dialog.form.add_line("carrier")
    second_line.choose("trim")
    assert "changed twice" in said(dialog) and not dialog.apply.isEnabled()
    qtbot.mouseClick(second_line.remove, Qt.MouseButton.LeftButton)
    assert "changed twice" not in said(dialog)
    settled(qtbot, dialog)
    assert dialog.apply.isEnabled()


def test_selected_rows_come_first_and_only_they_change(
    qtbot: QtBot, flights: Table, open_dialog: Opened
) -> None:
    ids = flights.read(["_id"]).column(0).to_pylist()[10:13]
    dialog = open_dialog(flights, column="carrier", filter=LATE, rows=SelectedRows(3, lambda job: ids))
    assert [b.text() for b in dialog.rows.buttons()] == ["Selection · 3", "Filter", "All · 300"]
    QTest.keyClicks(field(dialog, "New value"), "B6")
    settled(qtbot, dialog)
    labels = [dialog.preview.verticalHeaderItem(row).text() for row in range(dialog.preview.rowCount())]
    assert labels == [str(n) for n in ids]
    press(qtbot, dialog)
    assert flights.read(["_id"], where=col("carrier") == "B6").column(0).to_pylist() == ids


@pytest.mark.parametrize(
    ("text", "reason"), [("soon", "not a number"), ("40000", "-32,768 to 32,767"), ("1.5", "whole")]
)
def test_a_value_that_does_not_fit_is_refused_at_the_field(
    flights: Table, open_dialog: Opened, text: str, reason: str
) -> None:
    dialog = open_dialog(flights, column="dep_delay")
    QTest.keyClicks(field(dialog, "New value"), text)
    assert field(dialog, "New value").property("variant") == "invalid"
    assert reason in said(dialog) and not dialog.apply.isEnabled()


def test_find_and_replace_takes_regular_expressions(
    qtbot: QtBot, flights: Table, open_dialog: Opened
) -> None:
    dialog = open_dialog(flights, column="carrier")
    line = dialog.form.lines[0]
    line.choose("replace")
    line.field.flags["regex"].click()
    QTest.keyClicks(field(dialog, "Find"), "^(A")
    assert "unclosed bracket (" in said(dialog)
    QTest.keyClicks(field(dialog, "Find"), ")")
    QTest.keyClicks(field(dialog, "Replace with"), r"\1-")
    settled(qtbot, dialog)
    assert dialog.apply.text() == "Change 100 rows" and cells(dialog)[0][-2:] == ["AA", "A-A"]


@pytest.mark.slow
def test_lists_are_typed_as_json_and_items_in_their_type(
    qtbot: QtBot, flights: Table, open_dialog: Opened
) -> None:
    dialog = open_dialog(flights, column="stops")
    line = dialog.form.lines[0]
    assert "= now" not in [line.assignment_box.itemText(n) for n in range(line.assignment_box.count())]
    line.choose("push")
    QTest.keyClicks(field(dialog, "New value"), "EWR")
    settled(qtbot, dialog)
    assert cells(dialog)[0][-1] == '["JFK", "EWR"]'
    line.choose("pull_all")
    field(dialog, "New value").clear()
    QTest.keyClicks(field(dialog, "New value"), "[JFK]")
    assert "not JSON" in said(dialog)
    dialog.set_value("[" * 100_000)
    assert "not JSON" in said(dialog) and dialog.form.act() is None
    field(dialog, "New value").clear()
    QTest.keyClicks(field(dialog, "New value"), '["JFK"]')
    press(qtbot, dialog)
    assert flights.read(["stops"], limit=1).to_pylist() == [{"stops": []}]


def test_a_cast_lists_what_would_be_lost(qtbot: QtBot, flights: Table, open_dialog: Opened) -> None:
    flights.update_where(None, {"$set": {"price": "1,5"}})
    flights.update_where([3, 4], {"$set": {"price": "soon"}})
    dialog = open_dialog(flights, "cast", column="price")
    assert not dialog.rows_row.isVisible()
    form = dialog.form
    form.type.setCurrentText("float64")
    form.signs["decimal"].setCurrentText(",")
    settled(qtbot, dialog)
    assert "2 values cannot be read as float64" in said(dialog) and not dialog.apply.isEnabled()
    assert [row[-3:-1] for row in cells(dialog)] == [["soon", "NULL"]] * 2
    assert headers(dialog)[-1] == "Why"
    form.on_error.setCurrentIndex(1)
    settled(qtbot, dialog)
    assert "300 values, 2 of them become null. 'price' becomes float64." in said(dialog)
    press(qtbot, dialog)
    assert flights.count(col("price") == 1.5) == 298
    assert flights.schema.field("price").type == pa.float64()


@pytest.mark.slow
def test_split_merge_and_rename(qtbot: QtBot, flights: Table, open_dialog: Opened) -> None:
    flights.update_where(None, {"$set": {"route": "JFK-LAX-SFO"}})
    dialog = open_dialog(flights, "split", column="route")
    dialog.form.by.setText("-")
    QTest.keyClicks(dialog.form.into, "from")
    assert "Name at least two columns" in said(dialog)
    QTest.keyClicks(dialog.form.into, ", to")
    settled(qtbot, dialog)
    assert cells(dialog)[0][-3:] == ["JFK-LAX-SFO", "JFK", "LAX-SFO"]
    assert dialog.apply.text() == "Split 300 rows"
    press(qtbot, dialog)
    dialog = open_dialog(flights, "merge", columns=["carrier", "to"])
    QTest.keyClicks(dialog.form.into, "to")
    settled(qtbot, dialog)
    assert "already has a column 'to'" in said(dialog) and not dialog.apply.isEnabled()
    QTest.keyClicks(dialog.form.into, "_by")
    press(qtbot, dialog)
    assert flights.get(0)["to_by"] == "AA LAX-SFO"
    dialog = open_dialog(flights, "rename", column="to")
    QTest.keyClicks(dialog.form.lines[0].name, "goes to")
    settled(qtbot, dialog)
    assert dialog.apply.text() == "Rename 1 column"
    press(qtbot, dialog)
    assert "goes to" in flights.columns


def test_names_that_cannot_be_given_are_refused_while_they_are_typed(
    qtbot: QtBot, flights: Table, open_dialog: Opened
) -> None:
    dialog = open_dialog(flights, "rename", column="carrier")
    dialog.form.add_line("stops")
    for line, name in zip(dialog.form.lines, ("x", "x"), strict=True):
        QTest.keyClicks(line.name, name)
    settled(qtbot, dialog)
    assert "'x'" in said(dialog) and not dialog.apply.isEnabled()
    dialog.form.lines[1].column.setText("carrier")
    dialog.form.lines[1].name.setText("y")
    dialog.form.changed.emit()
    assert "'carrier' is renamed twice" in said(dialog)
    assert dialog.form.act() is None


@pytest.mark.slow
@pytest.mark.parametrize("size", [(1280, 800), (1000, 700)])
def test_the_dialog_fits_into_its_window_with_large_text(
    qtbot: QtBot, flights: Table, tasks: Tasks, size: tuple[int, int]
) -> None:
    theme.current().set_text_scale(1.5)
    try:
        window = QWidget()
        qtbot.addWidget(window)
        window.resize(*size)
        dialog = ChangeDialog(flights, flights.name, flights.snapshot(), tasks, ChangeContext(), window)
        assert dialog.width() < window.width() and dialog.height() < window.height()
    finally:
        theme.current().set_text_scale(1.0)


def test_a_table_without_duplicates_is_said_to_be_one(
    qtbot: QtBot, flights: Table, open_dialog: Opened
) -> None:
    flights.drop_duplicates("carrier")
    dialog = settled(qtbot, open_dialog(flights, "drop_duplicates", columns=["carrier"]))
    assert "0 of 3 rows are deleted." in said(dialog) and "already" not in said(dialog)


@pytest.mark.slow
def test_what_comes_after_is_not_cut_where_columns_are_many(
    qtbot: QtBot, flights: Table, open_dialog: Opened
) -> None:
    """The dialog scrolls, and uses all the room there is."""
    flights.columns.add("a rather long name of a column", "string", "a rather long text in every row")
    flights.columns.add("text", "string", "this is not a number at all")
    dialog = settled(qtbot, open_dialog(flights, "cast", column="text"))
    dialog.form.type.setCurrentText("int64")
    settled(qtbot, dialog)
    preview = dialog.preview
    last = preview.columnCount() - 1
    expected = preview.fontMetrics().horizontalAdvance(preview.item(0, last).text())
    assert headers(dialog)[-1] == "Why" and preview.columnWidth(last) >= min(expected, 200)
    dialog.resize(1600, 600)
    qtbot.waitUntil(lambda: preview.horizontalHeader().length() == preview.viewport().width())


def test_a_number_without_an_end_is_refused(qtbot: QtBot, flights: Table, open_dialog: Opened) -> None:
    flights.columns.add("price", "double", 1.0)
    dialog = open_dialog(flights, column="price")
    dialog.form.lines[0].choose("multiply")
    dialog.set_value("1.5e400")
    assert "too large" in said(dialog) and dialog.form.act() is None


@pytest.mark.slow
def test_duplicates_and_rows_are_deleted(qtbot: QtBot, flights: Table, open_dialog: Opened) -> None:
    dialog = open_dialog(flights, "drop_duplicates", columns=["carrier"], filter=col("carrier") != "DL")
    settled(qtbot, dialog)
    assert dialog.apply.text() == "Delete 198 rows"
    assert "198 of 200 rows are deleted" in said(dialog)
    press(qtbot, dialog)
    assert flights.num_rows == 102
    dialog = open_dialog(flights, "delete", filter=col("carrier") == "DL")
    settled(qtbot, dialog)
    assert dialog.apply.text() == "Delete 100 rows"
    qtbot.mouseClick(dialog.rows.buttons()[-1], Qt.MouseButton.LeftButton)
    settled(qtbot, dialog)
    assert dialog.apply.text() == "Delete 102 rows"
    press(qtbot, dialog)
    assert flights.num_rows == 0


def test_an_upsert_of_a_file_or_table_by_key(
    qtbot: QtBot, flights: Table, open_dialog: Opened, tmp_path: Path
) -> None:
    flights.drop_duplicates("carrier")
    path = tmp_path / "new.csv"
    path.write_text("carrier,dep_delay\nAA,5\nAA,6\nB6,7\nUA,1\n")
    dialog = open_dialog(flights, "upsert")
    dialog.form.use_file(path)
    assert "Choose the key columns that identify rows" in said(dialog)
    dialog.form.columns.choose(["carrier"])
    settled(qtbot, dialog)
    assert "2 rows have the same key as another row, but other values" in said(dialog)
    assert not dialog.apply.isEnabled()
    words = [dialog.preview.verticalHeaderItem(row).text() for row in range(3)]
    assert words == ["conflict", "conflict", "new"]
    dialog.form.keep.setCurrentIndex(2)
    settled(qtbot, dialog)
    assert dialog.apply.text() == "Add 1, change 1 row"
    assert "1 new, 1 changed, 1 the same, 0 conflicting." in said(dialog)
    commit = press(qtbot, dialog)
    assert commit.inserted == 1
    assert flights.read(["dep_delay"], where=col("carrier") == "AA").column(0).to_pylist() == [6]
    flights.store.create_table("more", [{"carrier": "ZZ", "dep_delay": 1}])
    dialog = open_dialog(flights, "upsert", tables=["more"])
    dialog.form.source.setCurrentText("more")
    dialog.form.columns.choose(["carrier"])
    settled(qtbot, dialog)
    assert dialog.apply.text() == "Add 1, change 0 rows"


@pytest.mark.slow
def test_it_is_chosen_how_the_file_of_an_upsert_is_read(
    qtbot: QtBot, flights: Table, open_dialog: Opened, tmp_path: Path
) -> None:
    flights.drop_duplicates("carrier")
    path = tmp_path / "new.csv"
    path.write_text("carrier;delay;when\nAA;1500;01/02/2025\nB6;x;03/04/2025\nUA;1;05/06/2025;more\n")
    dialog = open_dialog(flights, "upsert")
    options = dialog.form.options
    assert not options.isEnabled()
    dialog.form.use_file(path)
    dialog.form.columns.choose(["carrier"])
    settled(qtbot, dialog)
    assert "line 4" in said(dialog) and not dialog.apply.isEnabled()
    qtbot.mouseClick(options, Qt.MouseButton.LeftButton)
    (reading,) = dialog.findChildren(ReadingDialog)
    qtbot.waitUntil(reading.read_button.isEnabled)
    reading.form.boxes["dates"].setCurrentText("day first · 31.01.2025")
    reading.form.boxes["dates"].activated.emit(reading.form.boxes["dates"].currentIndex())
    qtbot.waitUntil(lambda: reading.form.ready)
    reading.form.columns.name_edit(1).setText("dep_delay")
    reading.form.columns.type_chosen.emit("delay", "int64")
    qtbot.waitUntil(lambda: reading.form.ready and reading.read_button.isEnabled())
    qtbot.mouseClick(reading.read_button, Qt.MouseButton.LeftButton)
    settled(qtbot, dialog)
    assert "In the file: 1 line left out, 1 value read as null." in said(dialog)
    press(qtbot, dialog)
    rows = flights.read(["carrier", "dep_delay", "when"], sort=["carrier"]).to_pylist()
    assert rows[:2] == [
        {"carrier": "AA", "dep_delay": 1500, "when": dt.date(2025, 2, 1)},
        {"carrier": "B6", "dep_delay": None, "when": dt.date(2025, 4, 3)},
    ]
    dialog = open_dialog(flights, "upsert", tables=["more"])
    dialog.form.use_file(path)
    dialog.form.source.setCurrentText("more")
    assert not dialog.form.options.isEnabled()


@pytest.mark.slow
def test_a_file_that_cannot_be_opened_is_told(
    qtbot: QtBot, flights: Table, open_dialog: Opened, tmp_path: Path
) -> None:
    dialog = open_dialog(flights, "upsert")
    dialog.form.use_file(tmp_path / "gone.csv")
    dialog.form.columns.choose(["carrier"])
    settled(qtbot, dialog)
    assert "gone.csv" in said(dialog) and not dialog.apply.isEnabled()


def test_nothing_to_change_cannot_be_applied(qtbot: QtBot, flights: Table, open_dialog: Opened) -> None:
    dialog = open_dialog(flights, column="carrier", filter=col("carrier") == "AA")
    QTest.keyClicks(field(dialog, "New value"), "AA")
    settled(qtbot, dialog)
    assert "0 of 100 rows change. 100 already have this value." in said(dialog)
    assert not dialog.apply.isEnabled()


def test_a_change_that_fails_is_told_in_the_dialog_and_can_be_tried_again(
    qtbot: QtBot, flights: Table, open_dialog: Opened
) -> None:
    gone = flights.read(["_id"], limit=1).column(0).to_pylist()
    dialog = open_dialog(flights, column="carrier", rows=SelectedRows(1, lambda job: gone))
    QTest.keyClicks(field(dialog, "New value"), "B6")
    qtbot.waitUntil(dialog.apply.isEnabled)
    flights.delete(ids=gone)
    qtbot.mouseClick(dialog.apply, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: "may have been deleted" in said(dialog))
    assert dialog.isVisible() and dialog.apply.isEnabled()
    assert flights.count(col("carrier") == "B6") == 0


def test_stopping_before_its_turn_changes_nothing(
    qtbot: QtBot, flights: Table, tasks: Tasks, open_dialog: Opened
) -> None:
    dialog = open_dialog(flights, column="carrier")
    QTest.keyClicks(field(dialog, "New value"), "B6")
    qtbot.waitUntil(dialog.apply.isEnabled)
    before, gate = flights.version, threading.Event()
    tasks.write(lambda job: gate.wait())
    qtbot.mouseClick(dialog.apply, Qt.MouseButton.LeftButton)
    assert dialog.cancel_button.text() == "Stop"
    qtbot.mouseClick(dialog.cancel_button, Qt.MouseButton.LeftButton)
    gate.set()
    qtbot.waitUntil(lambda: "Stopped; nothing was changed." in said(dialog))
    assert flights.version == before and dialog.apply.isEnabled() and dialog.isVisible()


def test_what_was_not_seen_beforehand_cannot_be_applied(
    qtbot: QtBot, flights: Table, open_dialog: Opened
) -> None:
    def broken(job: Job) -> list[int]:
        raise UnknownRow("Row 7 is gone", "Somebody deleted it", "Choose again")

    dialog = open_dialog(flights, column="carrier", rows=SelectedRows(2, broken))
    QTest.keyClicks(field(dialog, "New value"), "B6")
    qtbot.waitUntil(lambda: "Somebody deleted it. Choose again." in said(dialog))
    assert not dialog.apply.isEnabled()
    qtbot.mouseClick(dialog.rows.buttons()[-1], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(dialog.apply.isEnabled)


def test_every_kind_of_act_has_a_form(flights: Table, open_dialog: Opened) -> None:
    dialog = open_dialog(flights, column="carrier")
    for kind in KINDS:
        assert dialog.choose_kind(kind.id) is dialog.form
        QApplication.processEvents()
        assert dialog.form.isVisible()


def test_the_order_of_dates_is_that_of_the_values_or_asked_for(
    qtbot: QtBot, tmp_path: Path, open_dialog: Opened
) -> None:
    with Store.open(tmp_path / "days") as store:
        table = store.create_table("days", {"sure": ["1/2/12", "10/22/12"], "open": ["1/2/12", "3/4/12"]})
        for column, is_sure in (("open", False), ("sure", True)):
            dialog = open_dialog(table, "cast", column=column)
            dialog.form.type.setCurrentText("date")
            settled(qtbot, dialog)
            assert dialog.apply.isEnabled() == is_sure
            assert ("2012-02-01 with the day first, 2012-01-02 with" in said(dialog)) != is_sure
            dialog.form.signs["dates"].setCurrentText("month first")
            settled(qtbot, dialog)
            assert cells(dialog)[0][-1] == "2012-01-02"
        press(qtbot, dialog)
        assert [row["sure"].day for row in table.read(["sure"]).to_pylist()] == [2, 22]
