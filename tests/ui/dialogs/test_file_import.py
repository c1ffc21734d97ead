"""One file into a store, by clicks and keys: how it is read, which columns, into which table."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QComboBox

from lamella.core.jobs import Job
from lamella.core.store.store import Store
from lamella.ui import theme
from lamella.ui.dialogs.bad_lines import BadLinesDialog
from lamella.ui.dialogs.file_import import FileImportDialog, ReadingDialog
from lamella.ui.dialogs.reading_columns import FirstRows
from lamella.ui.tasks import Tasks
from lamella.ui.widgets.popover import ColumnsChoice
from lamella.ui.window.file_readings import FileReading, FileReadings
from tests.core.datasets.workbooks import workbook

SALES = "Auftrag;PLZ;Datum;Betrag;Bezahlt\nA1;01067;03.01.2025;1.234,50;ja\nA2;80331;31.02.2025;89,90;nein\n"


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[list[Store]]:
    both = [Store.open(tmp_path / name) for name in ("first", "second")]
    both[0].create_table("stock", {"id": [1, 2], "n": [10, 20]})
    yield both
    for store in both:
        store.close()


@pytest.fixture
def show(qtbot, tmp_path: Path, stores: list[Store], tasks: Tasks):
    def shown(content: str | bytes, name: str = "sales.csv", **options: Any) -> FileImportDialog:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        dialog = FileImportDialog(path, stores, tasks, **options)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
        qtbot.addWidget(dialog)
        dialog.show()
        qtbot.waitUntil(lambda: dialog.form.preview is not None and dialog.table_box.count() > 0)
        return dialog

    return shown


def choose(qtbot, box: QComboBox, text: str) -> None:
    """Choose a text with the keyboard, as users do."""
    box.setFocus()
    for _ in range(box.count() + 1):
        if box.currentText() == text:
            break
        qtbot.keyClick(box, Qt.Key.Key_Home)
        for _ in range(box.findText(text)):
            qtbot.keyClick(box, Qt.Key.Key_Down)
    assert box.currentText() == text


def settled(qtbot, dialog: FileImportDialog) -> FileImportDialog:
    qtbot.waitUntil(lambda: not dialog.form.busy and dialog.form.preview.is_counted)
    return dialog


def cells(dialog: FileImportDialog, column: int) -> list[str]:
    table = dialog.form.columns
    return [table.item(row, column).text() for row in range(table.rowCount())]


def imported(qtbot, dialog: FileImportDialog) -> Any:
    qtbot.waitUntil(dialog.import_button.isEnabled)
    with qtbot.waitSignal(dialog.imported) as signal:
        qtbot.mouseClick(dialog.import_button, Qt.MouseButton.LeftButton)
    return signal.args[0][0]


def test_the_first_rows_are_written_as_the_table_will_show_them(qtbot) -> None:
    table = FirstRows("First rows")
    qtbot.addWidget(table)
    table.show_rows(pa.table({"n": [-5, None], "word": ["-5", "a"]}))
    texts = [[table.item(row, place).text() for place in range(2)] for row in range(2)]
    assert texts == [["−5", "-5"], ["NULL", "a"]]


@pytest.mark.slow
def test_what_was_found_is_shown_before_anything_is_imported(qtbot, show, stores: list[Store]) -> None:
    dialog = settled(qtbot, show(SALES.encode("cp1252")))
    boxes = {name: box.currentText() for name, box in dialog.form.boxes.items()}
    assert boxes["delimiter"] == "; semicolon"
    assert boxes["decimal"] == "1.234,50"
    assert boxes["header"] == "names"
    assert dialog.form.detect_button.text() == "All detected"
    look = theme.current()
    check = look.icon("check", "success").pixmap(16).toImage()
    assert dialog.form.detect_button.icon().pixmap(16, QIcon.Mode.Disabled).toImage() == check
    assert cells(dialog, 0) == ["Auftrag", "PLZ", "Datum", "Betrag", "Bezahlt"]
    assert cells(dialog, 3) == ["A1", "01067", "03.01.2025", "1.234,50", "ja"]
    assert cells(dialog, 6)[1] == "leading zeros kept"
    assert dialog.form.columns.type_box(3).currentText() == "float64"
    assert dialog.about.text().endswith("2 rows")
    assert dialog.import_button.text() == "Import 2 rows"
    assert stores[0].tables == ["stock"]


def test_types_and_names_are_corrected_and_columns_left_out(qtbot, show, stores: list[Store]) -> None:
    dialog = show(SALES)
    columns = dialog.form.columns
    choose(qtbot, columns.type_box(2), "date")
    qtbot.waitUntil(lambda: cells(dialog, 6)[2] == "1 is not a date")
    assert dialog.form.problem.text() == "Datum: 31.02.2025 in line 3 is not a date. It becomes"
    choose(qtbot, columns.type_box(4), "bool")
    edit = columns.name_edit(3)
    edit.selectAll()
    qtbot.keyClicks(edit, "amount")
    settled(qtbot, dialog)
    assert edit.text() == "amount"
    columns.item(0, 0).setCheckState(Qt.CheckState.Unchecked)
    assert not columns.name_edit(0).isEnabled()
    table = imported(qtbot, dialog)
    rows = table.read(["PLZ", "Datum", "amount", "Bezahlt"]).to_pylist()
    assert [(r["PLZ"], str(r["Datum"]), r["amount"], r["Bezahlt"]) for r in rows] == [
        ("01067", "2025-01-03", 1234.5, True),
        ("80331", "None", 89.9, False),
    ]
    assert stores[0].tables == ["sales", "sales_bad_lines", "stock"]


@pytest.mark.slow
def test_values_that_do_not_fit_are_shown_or_make_the_column_text(qtbot, show) -> None:
    dialog = show(SALES)
    choose(qtbot, dialog.form.columns.type_box(2), "date")
    qtbot.waitUntil(dialog.form.problem_row.isVisible)
    qtbot.mouseClick(dialog.form.show_rows, Qt.MouseButton.LeftButton)
    (listed,) = dialog.form.findChildren(BadLinesDialog)
    assert listed.title.text() == "sales.csv: 1 value read as null"
    assert [listed.list.topLevelItem(0).text(at) for at in range(4)] == [
        "3", "Datum", "31.02.2025", "It is not a date",
    ]  # fmt: skip
    listed.close()
    qtbot.keyClick(dialog.form.becomes, Qt.Key.Key_Down)
    qtbot.waitUntil(lambda: not dialog.form.problem_row.isVisible())
    assert dialog.form.columns.type_box(2).currentText() == "string"
    qtbot.mouseClick(dialog.form.detect_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: dialog.form.detect_button.text() == "All detected")


@pytest.mark.slow
def test_the_dialect_is_corrected_by_a_choice(qtbot, show) -> None:
    dialog = show("a;b\n1,5;2\n", "x.csv")
    choose(qtbot, dialog.form.boxes["header"], "values")
    qtbot.waitUntil(lambda: cells(dialog, 0) == ["column_1", "column_2"])
    choose(qtbot, dialog.form.boxes["delimiter"], ", comma")
    qtbot.waitUntil(lambda: dialog.form.columns.rowCount() != 2 or cells(dialog, 3)[0] == "a;b")
    assert dialog.form.detect_button.text() == "Detect again"
    qtbot.mouseClick(dialog.form.detect_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: cells(dialog, 0) == ["a", "b"])


def test_null_words_thousands_and_lines_to_skip_are_among_more(qtbot, show) -> None:
    dialog = show("report\nid,n\n1,k. A.\n2,5\n", "x.csv")
    dialog.form.skip.setValue(1)
    dialog.form.skip.editingFinished.emit()
    qtbot.waitUntil(lambda: cells(dialog, 0) == ["id", "n"])
    dialog.form.nulls.setText("k. A., -")
    dialog.form.nulls.editingFinished.emit()
    qtbot.waitUntil(lambda: dialog.form.columns.type_box(1).currentText() == "int64")
    dialog.form.zone.setText("Nowhere")
    dialog.form.zone.editingFinished.emit()
    assert "zone cannot be 'Nowhere'" in dialog.message.label.text()


@pytest.mark.slow
def test_words_for_yes_and_no_are_offered_and_typed(qtbot, show, stores: list[Store]) -> None:
    dialog = show("id;paid;sent\n1;ja;an\n2;nein;aus\n", "x.csv")
    form, columns = dialog.form, dialog.form.columns
    assert form.yes_no_row.isVisible()
    assert form.yes_no_words.text() == "Columns that hold only ja/nein are text."
    assert cells(dialog, 6)[1].startswith("ja and nein may mean yes and no")
    qtbot.mouseClick(form.read_yes_no, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: columns.type_box(1).currentText() == "bool")
    assert not form.yes_no_row.isVisible()
    assert form.booleans.text() == "ja/nein"
    form.booleans.setText("ja/nein, an")
    form.booleans.editingFinished.emit()
    assert "booleans cannot be 'an'" in dialog.message.label.text()
    form.booleans.setText("ja/nein, an/aus")
    form.booleans.editingFinished.emit()
    qtbot.waitUntil(lambda: columns.type_box(2).currentText() == "bool")
    settled(qtbot, dialog)
    table = imported(qtbot, dialog)
    assert table.read(["paid", "sent"]).to_pylist() == [
        {"paid": True, "sent": True},
        {"paid": False, "sent": False},
    ]


def test_bad_lines_are_counted_and_do_not_block(qtbot, show, stores: list[Store]) -> None:
    dialog = settled(qtbot, show("a,b\n1,2\n3\n4,5\n", "x.csv"))
    assert dialog.form.problem.text() == "1 line that cannot be read is left out, line 3 first."
    assert dialog.import_button.text() == "Import 2 rows"
    assert imported(qtbot, dialog).num_rows == 2
    assert stores[0]["x_bad_lines"].read(["line", "text"]).to_pylist() == [{"line": 3, "text": "3"}]


def test_broken_bytes_are_read_as_replacement_characters(qtbot, show, stores: list[Store]) -> None:
    content = "city,n\nMálaga,1\nÉvora,2\n".encode() + b"M\xe1laga,3\n"
    dialog = settled(qtbot, show(content, "x.csv"))
    form = dialog.form
    assert form.problem.text() == "1 line that cannot be read is left out, line 4 first."
    qtbot.mouseClick(form.replace_bytes, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: form.ready and not form.problem_row.isVisible())
    assert form.broken_bytes.currentText() == "read as \ufffd"
    assert imported(qtbot, dialog).read(["city"])["city"].to_pylist() == ["Málaga", "Évora", "M\ufffdlaga"]


@pytest.mark.slow
def test_problems_far_in_the_file_are_counted(qtbot, show) -> None:
    lines = [f"{n},{n}" for n in range(120_000)]
    lines[110_000] = "x"
    dialog = show("a,b\n" + "\n".join(lines) + "\n", "x.csv")
    assert dialog.about.text().endswith("rows")
    settled(qtbot, dialog)
    assert dialog.import_button.text() == "Import 119,999 rows"
    assert dialog.form.problem.text() == "1 line that cannot be read is left out, line 110,002 first."


@pytest.mark.slow
def test_two_columns_cannot_have_one_name(qtbot, show) -> None:
    dialog = settled(qtbot, show(SALES))
    qtbot.waitUntil(dialog.import_button.isEnabled)
    dialog.form.columns.name_edit(0).setText("plz")
    assert not dialog.import_button.isEnabled()
    dialog.form.columns.name_edit(0).setText("")
    assert not dialog.import_button.isEnabled()
    dialog.form.columns.name_edit(0).setText("order")
    assert dialog.import_button.isEnabled()


def test_rows_are_added_to_a_table_that_is_there(qtbot, show, stores: list[Store]) -> None:
    dialog = settled(qtbot, show("id,n\n3,30\n", "new.csv"))
    choose(qtbot, dialog.mode_box, "added to")
    qtbot.waitUntil(lambda: dialog.plan.text() == "Adds 1 row to the existing 2.")
    imported(qtbot, dialog)
    assert stores[0]["stock"].num_rows == 3


def test_rows_are_replaced_and_the_button_says_so(qtbot, show, stores: list[Store]) -> None:
    dialog = settled(qtbot, show("id,n\n3,30\n", "new.csv"))
    choose(qtbot, dialog.mode_box, "in place of the rows of")
    qtbot.waitUntil(dialog.import_button.isEnabled)
    assert dialog.plan.text() == "Deletes all 2 rows and adds 1; undo brings them back."
    assert dialog.import_button.text() == "Replace 2 rows"
    imported(qtbot, dialog)
    assert stores[0]["stock"].read(["id"])["id"].to_pylist() == [3]


def test_an_upsert_says_what_changes_once_its_key_is_chosen(qtbot, show, stores: list[Store]) -> None:
    dialog = settled(qtbot, show("id,n\n2,22\n3,30\n", "new.csv"))
    choose(qtbot, dialog.mode_box, "by key into")
    qtbot.waitUntil(lambda: dialog.plan.text() == "Choose the columns that identify rows.")
    assert not dialog.import_button.isEnabled()
    assert isinstance(dialog.key, ColumnsChoice)
    dialog.key.choose(["id"])
    qtbot.waitUntil(lambda: dialog.plan.text() == "Changes 1 row and adds 1; the others stay as they are.")
    imported(qtbot, dialog)
    assert stores[0]["stock"].read(["id", "n"], sort=["id"])["n"].to_pylist() == [10, 22, 30]


def test_a_parquet_file_keeps_its_types_and_may_be_renamed(qtbot, show, tmp_path: Path) -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"city": ["A", "B"], "_id": [7, 8]}), sink)
    dialog = settled(qtbot, show(sink.getvalue().to_pybytes(), "trips.parquet"))
    assert not dialog.form.options_row.isVisible()
    assert [dialog.form.columns.name_edit(row).text() for row in range(2)] == ["city", "_id_2"]
    assert cells(dialog, 2) == ["string", "int64"]
    assert imported(qtbot, dialog).read(["city"])["city"].to_pylist() == ["A", "B"]


def test_what_cannot_be_opened_is_handed_on_and_the_dialog_gone(qtbot, tmp_path: Path, stores, tasks) -> None:
    (tmp_path / "bad.parquet").write_bytes(b"PAR1\0")
    dialog = FileImportDialog(tmp_path / "bad.parquet", stores, tasks)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(dialog)
    with qtbot.waitSignal(dialog.failed), qtbot.waitSignal(dialog.finished):
        dialog.show()


def test_a_file_is_read_in_place_in_another_way(qtbot, tmp_path: Path, tasks: Tasks) -> None:
    path = tmp_path / "x.csv"
    path.write_text("d;n\n01/02/2025;1,234\n")
    dialog = ReadingDialog(path, None, FileReading(), tasks)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(dialog)
    dialog.show()
    qtbot.waitUntil(dialog.read_button.isEnabled)
    choose(qtbot, dialog.form.boxes["dates"], "day first · 31.01.2025")
    qtbot.waitUntil(lambda: dialog.form.columns.type_box(0).currentText() == "date")
    choose(qtbot, dialog.form.boxes["decimal"], "1.234,50")
    qtbot.waitUntil(lambda: dialog.form.columns.type_box(1).currentText() == "float64")
    edit = dialog.form.columns.name_edit(0)
    edit.setFocus()
    edit.selectAll()
    qtbot.keyClicks(edit, "day")
    assert edit.text() == "day"
    with qtbot.waitSignal(dialog.chosen) as signal:
        qtbot.mouseClick(dialog.read_button, Qt.MouseButton.LeftButton)
    assert signal.args[0].options == {"dates": "day-first", "decimal": ",", "names": (("d", "day"),)}


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("name", ["shop.xlsx", "shop.db", "shop"])
def test_types_of_sheets_databases_and_folders_are_corrected(
    qtbot, tmp_path: Path, tasks: Tasks, name: str
) -> None:
    path = tmp_path / name
    rows = [("d", "n"), ("01.02.2025", "007"), ("soon", "8")]
    if name == "shop.xlsx":
        workbook(path, {"s": rows})
    elif name == "shop.db":
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("CREATE TABLE t (d, n)")
            connection.executemany("INSERT INTO t VALUES (?, ?)", rows[1:])
    else:
        path.mkdir()
        for number, row in enumerate(rows[1:]):
            (path / f"{number}.csv").write_text(f"d;n\n{row[0]};{row[1]}\n")
    dialog = ReadingDialog(path, None, FileReading(), tasks)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(dialog)
    dialog.show()
    qtbot.waitUntil(dialog.read_button.isEnabled)
    form = dialog.form
    assert [form.columns.type_box(row).currentText() for row in range(2)] == ["string", "string"]
    choose(qtbot, form.columns.type_box(0), "date")
    qtbot.waitUntil(lambda: form.preview.columns[0].misfits == 1 and not form.busy)
    choose(qtbot, form.columns.type_box(1), "int64")
    qtbot.waitUntil(
        lambda: [str(kind) for kind in form.preview.head.schema.types] == ["date32[day]", "int64"]
    )
    place = {"shop.xlsx": "row 3", "shop.db": "row 2", "shop": "line 2 of 1.csv"}[name]
    assert form.problem.text() == f"d: soon in {place} is not a date. It becomes"
    qtbot.mouseClick(form.show_rows, Qt.MouseButton.LeftButton)
    (listed,) = form.findChildren(BadLinesDialog)
    place = ["1.csv", "2"] if name == "shop" else [place.removeprefix("row ")]
    assert [listed.list.topLevelItem(0).text(column) for column in range(len(place))] == place
    with qtbot.waitSignal(dialog.chosen) as signal:
        qtbot.mouseClick(dialog.read_button, Qt.MouseButton.LeftButton)
    assert signal.args[0].options == {"types": (("d", "date"), ("n", "int64"))}


@pytest.mark.slow
def test_nothing_is_imported_as_it_was_read_before_a_choice(qtbot, show) -> None:
    dialog = settled(qtbot, show("a;b\n1.234;x\n"))
    assert dialog.import_button.isEnabled()
    dialog.form.boxes["decimal"].setCurrentIndex(dialog.form.boxes["decimal"].findData(","))
    dialog.form.boxes["decimal"].activated.emit(dialog.form.boxes["decimal"].currentIndex())
    assert not dialog.import_button.isEnabled()
    assert imported(qtbot, dialog).read(["a"])["a"].to_pylist() == [1234]


def test_nothing_is_imported_by_choices_that_cannot_be_read(qtbot, show, tmp_path: Path) -> None:
    dialog = settled(qtbot, show("a;b\n1.234;x\n"))
    (tmp_path / "sales.csv").unlink()
    box = dialog.form.boxes["decimal"]
    box.setCurrentIndex(box.findData(","))
    with qtbot.waitSignal(dialog.form.failed):
        box.activated.emit(box.currentIndex())
    assert not dialog.import_button.isEnabled()
    assert "is not there" in dialog.message.label.text()


@pytest.mark.slow
def test_a_range_of_a_sheet_is_imported(qtbot, show, tmp_path: Path) -> None:
    rows = [["Report", None], [None, None], ["id", "n"], [1, 2], [3, 4], ["total", 6]]
    content = workbook(tmp_path / "a.xlsx", {"s": rows}).read_bytes()
    dialog = settled(qtbot, show(content, "shop.xlsx"))
    assert not dialog.form.options_row.isVisible()
    assert dialog.form.sheet_row.isVisible()
    dialog.form.cells.setText("A3:B5")
    dialog.form.cells.editingFinished.emit()
    qtbot.waitUntil(
        lambda: [dialog.form.columns.type_box(row).currentText() for row in range(2)] == ["int64"] * 2
    )
    assert imported(qtbot, dialog).read(["id", "n"]).to_pylist() == [{"id": 1, "n": 2}, {"id": 3, "n": 4}]


def test_choices_for_columns_that_are_there_stay_where_another_is_gone(tmp_path: Path, caplog) -> None:
    path = tmp_path / "x.csv"
    path.write_text("plz;n;a\n80331;1.000;5\n")
    chosen = {
        "text_columns": ("plz", "plz2"), "types": (("nn", "int64"), ("n", "int64")), "decimal": ",",
        "names": (("a", "b"), ("gone", "c")), "nulls": ("gone",),
    }  # fmt: skip
    dataset = FileReading(options=chosen).open(str(path), None, Job())
    assert dataset.read().to_pylist() == [{"plz": "80331", "n": 1000, "b": 5}]
    assert len(caplog.records) == 3


def test_choices_that_cannot_be_kept_are_logged(tmp_path: Path, caplog) -> None:
    (tmp_path / "a file").touch()
    readings = FileReadings(tmp_path / "a file" / "readings.json")
    readings.put(("/x.csv",), FileReading(options={"decimal": ","}))
    assert readings.of(("/x.csv",)).options == {"decimal": ","}
    assert "could not be saved" in caplog.text


def test_choices_are_remembered_and_damage_of_their_file_counts_for_nothing(tmp_path: Path, caplog) -> None:
    path = tmp_path / "readings.json"
    readings = FileReadings(path)
    reading = FileReading(options={"decimal": ",", "types": (("a", "date32[day]"),), "nulls": ("-",)})
    readings.put(("/x.csv",), reading)
    readings.put(("/y.xlsx", "", "2024"), FileReading(options={"cells": "B2:C3"}))
    again = FileReadings(path)
    assert again.of(("/x.csv",)) == reading
    assert again.of(("/y.xlsx", "", "2024")).options == {"cells": "B2:C3"}
    again.put(("/x.csv",), FileReading())
    assert FileReadings(path).of(("/x.csv",)) == FileReading()
    for damage in ("[", "[]", '{"/x.csv": {"decimal": "x"}}', '{"/x.csv": 3}', '{"/x.csv": {"later": 1}}'):
        path.write_text(damage)
        assert FileReadings(path).of(("/x.csv",)) == FileReading()
    assert len(caplog.records) == 4  # "[]" remembers nothing, and is whole
