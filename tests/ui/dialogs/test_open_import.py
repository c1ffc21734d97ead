"""The import dialog, with real stores and files."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from lamella.core.datasets.text import dataset as text_dataset
from lamella.core.errors import FileProblem
from lamella.core.store.store import Store
from lamella.ui import theme
from lamella.ui.dialogs.open_import import ImportDialog
from lamella.ui.dialogs.work_dialog import time_left
from lamella.ui.tasks import Tasks


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[list[Store]]:
    both = [Store.open(tmp_path / name) for name in ("first", "second")]
    yield both
    for store in both:
        store.close()


@pytest.fixture
def trips(tmp_path: Path) -> Path:
    path = tmp_path / "trips.parquet"
    pq.write_table(pa.table({"city": ["A", "B"], "n": [1, 2], "_id": [7, 8]}), path)
    return path


@pytest.fixture
def show(qtbot, stores: list[Store], tasks: Tasks):
    def shown(*paths: Path) -> ImportDialog:
        dialog = ImportDialog(list(paths), stores, tasks)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)  # the test looks at it afterwards
        qtbot.addWidget(dialog)
        dialog.show()
        return dialog

    return shown


def ready(qtbot, dialog: ImportDialog) -> ImportDialog:
    qtbot.waitUntil(dialog.import_button.isEnabled)
    return dialog


def test_it_shows_columns_and_types_before_anything_is_read(
    qtbot, show, trips: Path, stores: list[Store]
) -> None:
    dialog = ready(qtbot, show(trips))
    item = dialog.sources.topLevelItem(0)
    columns = [(item.child(i).text(0), item.child(i).text(1)) for i in range(item.childCount())]
    assert item.text(0) == "trips.parquet"
    assert columns == [("city", "string"), ("n", "int64"), ("_id_2", "int64")]
    assert stores[0].tables == []


@pytest.mark.parametrize("scale", [1.0, 1.5])
def test_names_are_within_their_rows(qtbot, show, trips: Path, scale: float) -> None:
    look = theme.current()
    look.set_text_scale(scale)
    try:
        sources = ready(qtbot, show(trips)).sources
        row, edit = sources.visualItemRect(sources.topLevelItem(0)), sources.name_edit(0)
        top = edit.mapTo(sources.viewport(), QPoint()).y()
        assert row.top() <= top and top + edit.height() <= row.bottom() + 1
        assert edit.height() == edit.sizeHint().height(), "as high as other fields"
    finally:
        look.set_text_scale(1.0)


def test_the_rows_become_a_table_of_the_chosen_store_and_name(
    qtbot, show, trips: Path, stores: list[Store]
) -> None:
    dialog = ready(qtbot, show(trips))
    dialog.store_box.setCurrentIndex(1)
    edit = dialog.sources.name_edit(0)
    edit.selectAll()
    qtbot.keyClicks(edit, "my trips")
    with qtbot.waitSignal(dialog.imported) as signal:
        dialog.import_button.click()
    (table,) = signal.args[0]
    assert (table.name, table.num_rows, stores[0].tables, stores[1].tables) == (
        "my trips",
        2,
        [],
        ["my trips"],
    )


def test_a_free_name_is_suggested(qtbot, show, trips: Path, stores: list[Store]) -> None:
    stores[0].create_table("trips", {"a": [1]})
    dialog = show(trips, trips)
    qtbot.waitUntil(
        lambda: dialog.sources.topLevelItemCount() == 2 and dialog.sources.name_edit(0).text() == "trips_2"
    )
    assert dialog.sources.name_edit(1).text() == "trips_3"


def test_two_files_cannot_become_one_table(qtbot, show, trips: Path) -> None:
    dialog = ready(qtbot, show(trips, trips))
    dialog.sources.name_edit(1).setText(dialog.sources.name_edit(0).text().upper())
    assert not dialog.import_button.isEnabled()
    dialog.sources.name_edit(1).setText("")
    assert not dialog.import_button.isEnabled()
    dialog.sources.name_edit(1).setText("other")
    assert dialog.import_button.isEnabled()


def test_what_cannot_be_opened_is_handed_on_and_the_dialog_gone(qtbot, show, tmp_path: Path) -> None:
    bad = tmp_path / "bad.parquet"
    bad.write_bytes(b"PAR1\0")
    dialog = show(bad)
    failures: list[Exception] = []
    dialog.failed.connect(failures.append)
    qtbot.waitUntil(lambda: not dialog.isVisible())
    assert [type(failure) for failure in failures] == [FileProblem]


def test_a_bad_file_among_good_ones_is_left_out(
    qtbot, show, tmp_path: Path, trips: Path, stores: list[Store]
) -> None:
    (tmp_path / "notes").write_bytes(b"%PDF-1.7\n\xff")
    dialog = ready(qtbot, show(tmp_path / "notes", trips))
    assert dialog.message.label.text() == "notes is a PDF document, so it is not imported"
    with qtbot.waitSignal(dialog.imported):
        dialog.import_button.click()
    assert stores[0].tables == ["trips"]


def test_bad_lines_go_to_tables_beside_the_others(
    qtbot, show, tmp_path: Path, trips: Path, stores: list[Store]
) -> None:
    path = tmp_path / "short.csv"
    path.write_text("a,b\n1,2\n3\n")
    dialog = ready(qtbot, show(path, trips))
    with qtbot.waitSignal(dialog.imported):
        dialog.import_button.click()
    assert stores[0].tables == ["short", "short_bad_lines", "trips"]
    assert stores[0]["short"].num_rows == 1


CLOSE: dict[str, Callable[[ImportDialog], object]] = {
    "button": lambda dialog: dialog.cancel_button.click(),
    "escape": lambda dialog: QTest.keyClick(dialog, Qt.Key.Key_Escape),
    "frame": lambda dialog: dialog.close(),
}


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("close", CLOSE.values(), ids=CLOSE)
def test_closing_stops_the_import_and_leaves_nothing(
    qtbot, show, tmp_path: Path, stores: list[Store], monkeypatch: pytest.MonkeyPatch, close
) -> None:
    monkeypatch.setattr(text_dataset, "SMALLEST_BLOCK", 64 << 10)
    path = tmp_path / "big.csv"
    path.write_text("n,city\n" + "".join(f"{n},Oslo\n" for n in range(400_000)))
    dialog = ready(qtbot, show(path))
    dialog.import_button.click()
    qtbot.waitUntil(lambda: dialog.progress.value() > 0)
    assert "rows/s" in dialog.status.text()
    assert not dialog.import_button.isEnabled()
    with qtbot.waitSignal(dialog.finished), qtbot.assertNotEmitted(dialog.imported):
        close(dialog)
    assert stores[0].tables == []
    assert not list(stores[0].path.rglob("*.parquet"))


@pytest.mark.parametrize(
    ("fraction", "seconds", "text"),
    [
        (None, 5, ""),
        (0.0, 5, ""),
        (0.5, 0.5, ""),
        (0.5, 30, "30 s left"),
        (0.1, 60, "9 min left"),
        (0.99, 10, "almost done"),
    ],
)
def test_time_left(fraction: float | None, seconds: float, text: str) -> None:
    assert time_left(fraction, seconds) == text


def test_every_file_that_is_left_out_is_listed_with_its_reason(
    qtbot, show, tmp_path: Path, trips: Path, stores: list[Store]
) -> None:
    (tmp_path / "notes").write_bytes(b"%PDF-1.7\n\xff")
    (tmp_path / "picture").write_bytes(b"\x89PNG\r\n\x1a\n")
    dialog = ready(qtbot, show(tmp_path / "notes", tmp_path / "picture", trips))
    assert dialog.title.text() == "Import trips.parquet"
    assert dialog.message.label.text().splitlines() == [
        "2 files are not imported:",
        "notes is a PDF document",
        "picture is a PNG picture",
    ]
    with qtbot.waitSignal(dialog.imported):
        dialog.import_button.click()
    assert stores[0].tables == ["trips"]


def test_when_no_file_can_be_opened_each_is_told(qtbot, show, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).write_bytes(b"%PDF-1.7\n\xff")
    dialog = show(tmp_path / "one", tmp_path / "two")
    failures: list[Exception] = []
    dialog.failed.connect(failures.append)
    qtbot.waitUntil(lambda: not dialog.isVisible())
    sentence = "None of the 2 files can be imported. Each was refused:"
    sentence = f"{sentence} one is a PDF document; two is a PDF document."
    assert [str(failure) for failure in failures] == [f"{sentence} Choose other files."]


def test_several_files_become_one_table_and_what_differs_is_shown(
    qtbot, show, tmp_path: Path, stores: list[Store]
) -> None:
    paths = [tmp_path / f"sales_{month}.csv" for month in ("01", "02", "03")]
    for path in paths:
        path.write_text("day,n\n2025-01-01,1\n")
    paths[2].write_text("day,n,shop\n2025-03-01,3,Rome\n")
    dialog = ready(qtbot, show(*paths))
    assert dialog.sources.topLevelItemCount() == 3
    qtbot.mouseClick(
        dialog.one_table_box, Qt.MouseButton.LeftButton, pos=dialog.one_table_box.rect().center()
    )
    if not dialog.one_table_box.isChecked():
        dialog.one_table_box.click()
    qtbot.waitUntil(lambda: dialog.sources.topLevelItemCount() == 1 and dialog.import_button.isEnabled())
    assert dialog.differences.text() == (
        "Column 'shop' is missing in sales_01.csv, sales_02.csv, and null there."
    )
    with qtbot.waitSignal(dialog.imported):
        dialog.import_button.click()
    assert stores[0].tables == ["sales"]
    assert stores[0]["sales"].num_rows == 3


def test_all_tables_of_a_database_come_with_its_relations(
    qtbot, show, tmp_path: Path, stores: list[Store]
) -> None:
    path = tmp_path / "shop.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(
            "CREATE TABLE a (id INTEGER PRIMARY KEY); CREATE TABLE b (a_id INTEGER REFERENCES a);"
            "INSERT INTO a VALUES (1); INSERT INTO b VALUES (1)"
        )
    dialog = ready(qtbot, show(path))
    dialog.sources.name_edit(1).setText("pointing")
    with qtbot.waitSignal(dialog.imported):
        dialog.import_button.click()
    (relation,) = stores[0].relations
    assert (relation.from_table, relation.to_table) == ("pointing", "a")


def test_foreign_keys_that_are_no_relations_are_said(
    qtbot, show, tmp_path: Path, stores: list[Store]
) -> None:
    path = tmp_path / "shop.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(
            "CREATE TABLE a (id TEXT PRIMARY KEY); CREATE TABLE b (a_id INTEGER REFERENCES a);"
            "INSERT INTO a VALUES ('x'); INSERT INTO b VALUES (1)"
        )
    dialog = ready(qtbot, show(path))
    failures: list[Exception] = []
    dialog.failed.connect(failures.append)
    with qtbot.waitSignal(dialog.finished):
        dialog.import_button.click()
    assert stores[0].tables == ["a", "b"]
    assert "imported without a foreign key" in str(failures[0])
    assert "b.a_id → a.id cannot be a relation" in str(failures[0])


def test_lines_that_are_left_out_are_said(qtbot, show, tmp_path: Path, stores: list[Store]) -> None:
    paths = [tmp_path / f"{name}.csv" for name in ("one", "two")]
    for path in paths:
        path.write_text("a,b\n1,2\n3\n")
    dialog = ready(qtbot, show(*paths))
    failures: list[Exception] = []
    dialog.failed.connect(failures.append)
    with qtbot.waitSignal(dialog.finished):
        dialog.import_button.click()
    assert stores[0].tables == ["one", "one_bad_lines", "two", "two_bad_lines"]
    assert str(failures[0]).startswith("2 lines are left out")
    assert "one: 1; two: 1" in str(failures[0])


def test_it_does_not_grow_when_files_are_read(qtbot, show, trips: Path) -> None:
    other = trips.with_name("fares.parquet")
    other.write_bytes(trips.read_bytes())
    dialog = show(trips, other)
    assert dialog.waiting.isVisible()
    size = dialog.size()
    ready(qtbot, dialog)
    assert dialog.one_table_box.isVisible() and dialog.size() == size
