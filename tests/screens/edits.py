"""Screens of edits under review and of blocks that are pasted, of nested values, and of files that need a
decision: damaged lines, several tables, versions, encryption."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from lamella.app.tour import Tour, dialog_of
from lamella.ui.dialogs.delta_versions import VersionChoice
from lamella.ui.dialogs.error_dialog import ErrorDialog
from lamella.ui.dialogs.table_choice import TableChoice
from lamella.ui.window.dataset_tab import DatasetTab
from tests.screens.stage import Screen, close_tab, command, go_to, opened, plain, quiet

SIGNATURE_BYTES = 28
SHORT_LINES = "city,people\nBonn,335975\nUlm\nKöln,1084831\nAachen\n"


def folder(tour: Tour) -> Path:
    """The folder with the files of these screens."""
    path = Path(tour.window.library.stores[-1].path).parent / "files"
    path.mkdir(exist_ok=True)
    return path


# --------------------------------------------------------------------------- edits


def review(tour: Tour) -> DatasetTab:
    """Show the review with two cells edited and a row to be deleted."""
    tab = plain(tour, "planes")
    if not tab.review.on:
        tour.window.commands["review_edits"].trigger()
    for row, column, text in () if tab.review.count else ((1, "seats", "60"), (3, "model", "A320-200")):
        go_to(tab, column, row)
        QTest.keyClicks(tab.grid, text[0])
        assert tab.editing.editor is not None
        QTest.keyClicks(tab.editing.editor, text[1:])
        QTest.keyClick(tab.editing.editor, Qt.Key.Key_Return)
        quiet(tour)
    if tab.review.count < 3:
        go_to(tab, "year", 5)
        tour.window.commands["delete_rows"].trigger()
    tour.wait("three edits are staged", lambda: tab.review.count == 3)
    quiet(tour)
    return tab


def review_list(tour: Tour) -> None:
    tab = review(tour)
    tab.review.strip.show_all.click()
    tour.wait("the edits are listed", lambda: tab.review.dialog is not None)


def leave_review(tour: Tour) -> None:
    tab = plain(tour, "planes")
    tab.review.discard()
    tour.window.commands["review_edits"].trigger()
    quiet(tour)


def paste(tour: Tour) -> None:
    """A block with texts where numbers are expected."""
    tab = plain(tour, "planes")
    go_to(tab, "seats", 10)
    data = QMimeData()
    data.setText("150\nabout 80\n3\n99999999999999999999")
    QGuiApplication.clipboard().setMimeData(data)
    tour.window.commands["paste"].trigger()
    tour.wait("the problems are listed", lambda: tab.blocks.dialog is not None)
    quiet(tour)


def computed_cell(tour: Tour) -> None:
    """Why a value cannot be edited."""
    plain(tour)
    command(tour, "edit_cell", "_id")


def nested_value(tour: Tour) -> None:
    path = folder(tour) / "people.parquet"
    address = [{"street": f"Main {n}", "geo": {"lat": 50.7 + n / 8, "lon": None}} for n in range(9)]
    tags = [["regular", f"group {n}"] for n in range(9)]
    pq.write_table(pa.table({"id": range(9), "address": address, "tags": tags}), path)
    tab = opened(tour, path)
    go_to(tab, "address", 2)
    tour.window.commands["open_value"].trigger()
    tour.wait("the value is open", lambda: tab.nested_values.popup is not None)
    popup = tab.nested_values.popup
    assert popup is not None
    popup.tree.expandAll()
    quiet(tour)


# --------------------------------------------------------------------------- files


def damaged_lines(tour: Tour) -> DatasetTab:
    path = folder(tour) / "cities.csv"
    path.write_text(SHORT_LINES, encoding="utf-8")
    tab = opened(tour, path)
    tour.wait("the damaged lines are reported", tab.messages.isVisible)
    return tab


def list_of_damaged_lines(tour: Tour) -> None:
    damaged_lines(tour).messages.buttons[0].click()
    quiet(tour)


def tables_of_a_file(tour: Tour) -> None:
    plain(tour)
    path = folder(tour) / "shop.db"
    if not path.exists():
        connection = sqlite3.connect(path)
        connection.executescript(
            "CREATE TABLE customers (id INTEGER, name TEXT); CREATE TABLE orders (id INTEGER, total REAL);"
            "INSERT INTO customers VALUES (1, 'Ada'); INSERT INTO orders VALUES (1, 9.5), (2, 12);"
        )
        connection.close()
    tour.window.open_paths([path])
    dialog_of(tour, TableChoice)
    quiet(tour)


def delta_versions(tour: Tour) -> None:
    from deltalake import DeltaTable, write_deltalake

    path = folder(tour) / "trips"
    if not path.exists():
        plain(tour)
        write_deltalake(path, pa.table({"n": [1, 2, 3]}))
        write_deltalake(path, pa.table({"n": [4, 5]}), mode="append")
        DeltaTable(path).delete("n = 2")
    opened(tour, path)
    tour.window.commands["delta_versions"].trigger()
    dialog = dialog_of(tour, VersionChoice)
    tour.wait("the versions are listed", lambda: dialog.list.topLevelItemCount() == 3)


def encrypted_file(tour: Tour) -> None:
    """Its footer is signed, as it is where columns are encrypted."""
    plain(tour)
    path = folder(tour) / "secret.parquet"
    pq.write_table(pa.table({"n": [1]}), path)
    content = path.read_bytes()
    size = int.from_bytes(content[-8:-4], "little") + SIGNATURE_BYTES
    path.write_bytes(content[:-8] + bytes(SIGNATURE_BYTES) + size.to_bytes(4, "little") + b"PAR1")
    tour.window.open_paths([path])
    dialog_of(tour, ErrorDialog)
    quiet(tour)


def drop(tour: Tour) -> None:
    """Two files are dragged over the window."""
    plain(tour)
    paths = [folder(tour) / "one.parquet", folder(tour) / "two.parquet"]
    for path in paths:
        pq.write_table(pa.table({"n": [1]}), path)
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    event = QDragEnterEvent(
        QPointF(300, 300).toPoint(), Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )  # fmt: skip
    QApplication.sendEvent(tour.window, event)
    quiet(tour)


def leave_drop(tour: Tour) -> None:
    tour.window.overlay.hide()


SCREENS = (
    Screen("review", lambda tour: (review(tour), None)[1]),
    Screen("review-list", review_list, leave_review),
    Screen("paste-problems", paste),
    Screen("cell-read-only", computed_cell),
    Screen("value-nested", nested_value, close_tab),
    Screen("lines-damaged", lambda tour: (damaged_lines(tour), None)[1]),
    Screen("lines-damaged-list", list_of_damaged_lines, close_tab),
    Screen("file-tables", tables_of_a_file),
    Screen("file-encrypted", encrypted_file),
    Screen("delta-versions", delta_versions, close_tab),
    Screen("drop", drop, leave_drop),
)
