"""Indexes of a table are seen, built, dropped and built again through the window."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QMessageBox

from lamella import Store, col
from lamella.core.store.table import Table
from lamella.ui.indexes.form import FEW_VALUES, SAME_WEIGHTS
from lamella.ui.indexes.manager import IndexesDialog, ago_text
from lamella.ui.widgets.controls import DecimalBox


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    with Store.open(tmp_path / "store") as store:
        rows = {
            "n": list(range(500)),
            "title": [f"Fox {i}" for i in range(500)],
            "body": [f"lazy dog {i % 7}" for i in range(500)],
            "tags": [[i] for i in range(500)],
        }
        books = store.create_table("books", pa.table(rows))
        books.maintenance.flush()
        yield books


@pytest.fixture
def dialog(qtbot, table, tasks) -> IndexesDialog:
    indexes_dialog = IndexesDialog(table, "books", tasks)
    qtbot.addWidget(indexes_dialog)
    indexes_dialog.show()
    return indexes_dialog


@pytest.fixture
def wait_for_list(qtbot, dialog) -> Callable[[int], list[list[str]]]:
    """The texts of the list, once it has so many rows."""

    def listed(count: int) -> list[list[str]]:
        qtbot.waitUntil(lambda: len(dialog.statuses) == count and not dialog.cancel.isVisible())
        return [[dialog.list.item(r, c).text() for c in range(7)] for r in range(dialog.list.rowCount())]

    return listed


def click(button) -> None:
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)


def test_indexes_are_built_and_used_and_listed(dialog, table, wait_for_list) -> None:
    assert wait_for_list(0) == [] and dialog.nothing.isVisible()
    click(dialog.new)
    dialog.form.column.setCurrentText("n")
    QTest.keyClick(dialog.form.column, Qt.Key.Key_Return)
    (line,) = wait_for_list(1)
    assert line[:3] == ["n", "Sorted", ""] and line[4:] == ["500", "Never", "Ready"] and "B" in line[3]
    click(dialog.new)
    dialog.form.kind.setCurrentIndex(1)
    dialog.form.texts.choose(["title", "body"])
    dialog.form.language.setCurrentText("German")
    weights = dialog.form.weights.findChildren(type(dialog.form.weights))
    assert weights and not dialog.form.column.isVisible()
    box = next(child for child in dialog.form.weights.children() if child.property("value") is not None)
    box.setValue(2.5)
    click(dialog.form.build)
    assert wait_for_list(2)[1][:3] == ["title × 2.5, body", "Full text", "German"]
    for column in range(dialog.list.columnCount()):
        title = dialog.list.horizontalHeaderItem(column).textAlignment() & Qt.AlignmentFlag.AlignRight
        assert title == dialog.list.item(1, column).textAlignment() & Qt.AlignmentFlag.AlignRight
    assert table.search("fox", limit=1).num_rows == 1 and table.count(col("n") == 3) == 1
    dialog.refresh()
    table.insert([{"n": 9, "title": "x", "body": "y", "tags": []}])


def test_weights_of_many_columns_leave_the_dialog_its_width(qtbot, tmp_path, tasks) -> None:
    names = [f"a text column with number {number}" for number in range(13)]
    with Store.open(tmp_path / "wide") as store:
        wide = store.create_table("wide", pa.table({name: ["x"] for name in names}))
        dialog = IndexesDialog(wide, "wide", tasks)
        qtbot.addWidget(dialog)
        dialog.show()
        dialog.begin_new("fulltext")
        form, width = dialog.form, dialog.width()
        form.texts.choose(names[:12])
        boxes = form.weights.findChildren(DecimalBox)
        assert [box.accessibleName() for box in boxes[-12:]] == [f"Weight of {name}" for name in names[:12]]
        boxes[-1].setValue(2)
        assert form.index.options["weights"][names[11]] == 2
        form.texts.choose(names)
        label = next(each for each in form.weights.findChildren(QLabel) if each.text() == SAME_WEIGHTS)
        assert (
            form.weights.isVisible()
            and label.parent() is form.weights
            and "weights" not in form.index.options
        )
        assert dialog.width() == width


def test_enter_after_building_neither_drops_nor_stops(dialog, table, wait_for_list, qtbot) -> None:
    wait_for_list(0)
    dialog.activateWindow()
    qtbot.waitUntil(dialog.isActiveWindow)
    for column, number in (("n", 1), ("title", 2)):
        click(dialog.new)
        dialog.form.column.setCurrentText(column)
        QTest.keyClick(dialog.form.column, Qt.Key.Key_Return)
        assert dialog.focusWidget() not in (dialog.drop, dialog.cancel)
        wait_for_list(number)
        assert dialog.focusWidget() is dialog.list
        QTest.keyClick(dialog.focusWidget(), Qt.Key.Key_Return)
        assert dialog.findChild(QMessageBox) is None and dialog.isVisible() and len(table.indexes) == number


def test_an_index_is_refused_where_there_is_one_and_columns_must_fit(dialog, table, wait_for_list) -> None:
    table.indexes.create("n")
    dialog.refresh()
    wait_for_list(1)
    click(dialog.new)
    form = dialog.form
    form.column.setCurrentText("n")
    assert form.news.text() == "This index already exists" and not form.build.isEnabled()
    assert form.column.findText("tags") < 0 and form.column.findText("_id") < 0
    form.kind.setCurrentIndex(1)
    form.texts.choose([])
    assert form.news.text() == "Choose a column" and not form.build.isEnabled()
    click(form.cancel)
    assert not form.isVisible() and dialog.new.isEnabled()


def test_a_new_index_starts_with_a_column_that_has_none_and_is_selected_when_it_is_built(
    dialog, table, wait_for_list
) -> None:
    table.indexes.create("n")
    dialog.refresh()
    wait_for_list(1)
    dialog.column = "n"
    click(dialog.new)
    assert dialog.form.column.currentText() == "title" and dialog.form.build.isEnabled()
    click(dialog.form.build)
    wait_for_list(2)
    assert dialog.list.currentRow() == 1


def test_a_column_of_few_values_says_that_its_index_would_not_be_used(qtbot, tmp_path, tasks) -> None:
    rows = 4_000
    with Store.open(tmp_path / "few") as store:
        columns = {
            "id": range(rows),
            "quarter": [n % 4 for n in range(rows)],
            "rare": [n % 50 == 0 for n in range(rows)],
        }
        few = store.create_table("few", pa.table({name: list(values) for name, values in columns.items()}))
        dialog = IndexesDialog(few, "few", tasks)
        qtbot.addWidget(dialog)
        dialog.show()
        dialog.begin_new(column="quarter")
        qtbot.waitUntil(lambda: dialog.form.news.text() == FEW_VALUES)
        assert dialog.form.build.isEnabled(), "it may still sort"
        for column in ("id", "rare"):
            with qtbot.waitSignal(tasks.finished):
                dialog.form.column.setCurrentText(column)
            assert dialog.form.news.text() == ""


def test_drop_asks_and_offers_to_build_it_again(dialog, table, wait_for_list, qtbot) -> None:
    table.indexes.create(["title"], kind="fulltext", weights={"title": 3}, language=None)
    dialog.refresh()
    wait_for_list(1)
    click(dialog.drop)
    box = dialog.findChild(QMessageBox)
    assert "full-text index of title" in box.text() and "built again" in box.informativeText()
    box.reject()
    assert len(table.indexes) == 1
    dialog.activateWindow()
    dialog.list.setFocus()
    qtbot.waitUntil(dialog.list.hasFocus)
    QTest.keyClick(dialog.list, Qt.Key.Key_Delete)
    box = next(each for each in dialog.findChildren(QMessageBox) if each.isVisible())
    click(next(button for button in box.buttons() if button.text() == "Drop"))
    wait_for_list(0)
    assert not table.indexes
    dialog.layout().activate()
    assert dialog.messages.height() < 2 * dialog.messages.buttons[0].height()
    (again,) = dialog.messages.buttons
    click(again)
    assert wait_for_list(1)[0][:3] == ["title × 3", "Full text", "None: words as written"]


def test_an_index_is_right_when_the_table_changes_while_it_is_built(
    dialog, table, wait_for_list, qtbot, slow_build
) -> None:
    begun, may_go_on = slow_build
    click(dialog.new)
    click(dialog.form.build)
    qtbot.waitUntil(begun.is_set)
    assert dialog.progress.isVisible() and not dialog.new.isEnabled()
    table.insert({"n": [7, 7], "title": ["a", "b"], "body": ["", ""], "tags": [[], []]})
    table.update_where("n = 8", {"$set": {"n": 7}})
    table.delete(where=col("n") == 9)
    may_go_on.set()
    wait_for_list(1)
    assert table.explain(where=col("n") == 7).index == "sorted index on n"
    assert table.count(col("n") == 7) == 4 and table.count(col("n").is_in([8, 9])) == 0


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize(
    ("change", "column", "says"),
    [
        (lambda store: store["books"].insert({"n": [7777], "title": ["zebra"]}), "n", ""),
        (lambda store: store["books"].update_where("n = 8", {"$set": {"n": 7777}}), "n", ""),
        (lambda store: store["books"].columns.rename("n", "number"), "number", ""),
        (lambda store: store.rename_table("books", "magazines"), "n", ""),
        (lambda store: store["books"].columns.cast("n", "string"), "n", ""),
        (lambda store: store["books"].columns.drop("n"), "", "has no column 'n'"),
        (lambda store: store.drop_table("books"), "", "the table is gone"),
    ],
    ids=["insert", "update", "rename column", "rename table", "cast", "drop column", "drop table"],
)
def test_an_index_ends_right_or_says_why_when_another_window_changes_its_table(
    dialog, table, wait_for_list, qtbot, slow_build, change, column: str, says: str
) -> None:
    begun, may_go_on = slow_build
    click(dialog.new)
    dialog.form.column.setCurrentText("n")
    click(dialog.form.build)
    qtbot.waitUntil(begun.is_set)
    with Store.open(table.store.path) as store:
        change(store)
        may_go_on.set()
        if says:
            qtbot.waitUntil(lambda: not dialog.cancel.isVisible())
            assert says in dialog.messages.label.text()
            assert not list((store.path / "index").rglob("*.*")), "nothing is left of it"
            return
        assert wait_for_list(1)[0][:2] == [column, "Sorted"]
        now = store[store.tables[0]]
        value = "7777" if now.schema.field(column).type == pa.string() else 7777
        now.insert({column: [value]})
        matches = now.read(where=col(column) == value)
        assert matches.num_rows in (1, 2) and store.maintenance.verify().problems == ()


def test_a_build_that_is_cancelled_leaves_nothing(dialog, table, wait_for_list, qtbot, slow_build) -> None:
    begun, _ = slow_build
    click(dialog.new)
    click(dialog.form.build)
    qtbot.waitUntil(begun.is_set)
    click(dialog.cancel)
    qtbot.waitUntil(lambda: "Stopped" in dialog.messages.label.text())
    assert not table.indexes and dialog.new.isEnabled() and not dialog.progress.isVisible()


def test_a_table_that_is_dropped_meanwhile_says_so(dialog, table, wait_for_list, qtbot) -> None:
    wait_for_list(0)
    table.store.drop_table("books")
    click(dialog.new)
    click(dialog.form.build)
    qtbot.waitUntil(dialog.messages.isVisible)
    assert "books" in dialog.messages.label.text()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(3, "Just now"), (60, "1 minute ago"), (7300, "2 hours ago"), (86_400 * 40, "40 days ago")],
)
def test_times_of_use_are_told_as_people_tell_them(seconds, text) -> None:
    now = dt.datetime(2026, 1, 2, tzinfo=dt.UTC)
    assert ago_text(now - dt.timedelta(seconds=seconds), now) == text
    assert ago_text(None, now) == "Never"
