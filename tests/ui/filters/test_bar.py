"""Chips, builder and counts, on a real table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QScrollArea,
    QWidget,
)
from pytestqt.qtbot import QtBot

from lamella import Store, col
from lamella.core.filters import Filter, all_of, any_of
from lamella.core.store.table import Table
from lamella.ui.filters.bar import Chip, ChipArea, FilterBar
from lamella.ui.filters.builder import ConditionRow
from lamella.ui.filters.live_count import LiveCount
from lamella.ui.filters.value_fields import ColumnBox, ValueFields
from lamella.ui.tasks import Tasks

# What a completer's popup asks of a screen that is not there.
pytestmark = pytest.mark.qt_log_ignore("does not support (raise|grabbing|propagateSizeHints)", extend=True)
ROWS = 1000
W = TypeVar("W", bound=QWidget)


@pytest.fixture
def flights(tmp_path: Path) -> Iterator[Table]:
    data = pa.table(
        {
            "year": pa.array([2013] * ROWS, pa.int16()),
            "dep_delay": pa.array([None if n % 50 == 0 else n % 120 for n in range(ROWS)], pa.int16()),
            "carrier": pa.array([["AA", "UA", "DL"][n % 3] for n in range(ROWS)]),
            "late": pa.array([n % 2 == 0 for n in range(ROWS)]),
            "day": pa.array(range(ROWS), pa.int32()).cast(pa.date32()),
            "stops": pa.array([["JFK"]] * ROWS),
        }
    )
    with Store.open(tmp_path / "store") as store:
        yield store.create_table("flights", data)


@pytest.fixture
def bar(qtbot: QtBot, flights: Table) -> FilterBar:
    bar = FilterBar()
    qtbot.addWidget(bar)
    bar.set_schema(flights.schema)
    bar.resize(1000, 400)
    bar.show()
    qtbot.waitExposed(bar)
    return bar


@pytest.fixture
def tasks(qtbot: QtBot) -> Iterator[Tasks]:
    tasks = Tasks()
    yield tasks
    tasks.shutdown()


def rows_of(bar: FilterBar) -> list[ConditionRow]:
    return [row for row in bar.builder.findChildren(ConditionRow) if row.isVisible()]


def chips_of(bar: FilterBar) -> list[Chip]:
    QApplication.processEvents()
    return [chip for chip in bar.findChildren(Chip) if chip.isVisible()]


def named(parent: QWidget, kind: type[W], name: str) -> W:
    found = [w for w in parent.findChildren(kind) if w.accessibleName().startswith(name) and w.isVisible()]
    assert found, f"no {kind.__name__} called {name!r}"
    return found[0]


def choose_operator(row: ConditionRow, label: str) -> None:
    box = named(row, QComboBox, "Operator")
    place = box.findText(label)
    assert place >= 0, [box.itemText(n) for n in range(box.count())]
    box.setCurrentIndex(place)
    box.activated.emit(place)


def choose_column(qtbot: QtBot, row: ConditionRow, name: str) -> None:
    edit = row.findChild(ColumnBox)
    edit.setFocus()
    edit.selectAll()
    qtbot.keyClicks(edit, name)
    qtbot.keyClick(edit, Qt.Key.Key_Return)


def type_value(qtbot: QtBot, row: ConditionRow, text: str, name: str = "Value") -> QLineEdit:
    field = named(row, QLineEdit, name)
    field.setFocus()
    field.selectAll()
    qtbot.keyClicks(field, text)
    return field


def test_a_condition_made_with_the_keyboard_is_told_once_it_is_finished(qtbot: QtBot, bar: FilterBar) -> None:
    told: list[Filter | None] = []
    bar.changed.connect(told.append)
    qtbot.mouseClick(named(bar, QAbstractButton, "Add a condition"), Qt.MouseButton.LeftButton)
    (row,) = rows_of(bar)
    choose_column(qtbot, row, "dep_delay")
    choose_operator(row, "is more than")
    with qtbot.waitSignal(bar.changed):
        type_value(qtbot, row, "60")
    assert told == [col("dep_delay") > 60]
    assert [chip.findChildren(QAbstractButton)[1].text() for chip in chips_of(bar)] == [
        "dep_delay is more than 60"
    ]


def test_a_value_that_does_not_fit_is_marked_and_left_out(qtbot: QtBot, bar: FilterBar) -> None:
    bar.set_filter((col("dep_delay") > 60) & (col("carrier") == "AA"))
    bar.open_builder()
    row = rows_of(bar)[0]
    with qtbot.waitSignal(bar.changed) as caught:
        field = type_value(qtbot, row, "soon")
    assert caught.args == [col("carrier") == "AA"]
    assert field.property("variant") == "invalid"
    assert "'soon' is not a number." in [label.text() for label in row.findChildren(QLabel)]
    type_value(qtbot, row, "7")
    assert field.property("variant") == ""


def test_a_misspelt_column_is_marked_with_the_one_meant(qtbot: QtBot, bar: FilterBar) -> None:
    bar.set_filter(col("carrier") == "AA")
    bar.open_builder()
    (row,) = rows_of(bar)
    choose_column(qtbot, row, "carier")
    assert any("Did you mean 'carrier'" in label.text() for label in row.findChildren(QLabel))
    assert bar.filter() is None


def test_only_operators_that_fit_are_offered(qtbot: QtBot, bar: FilterBar) -> None:
    bar.set_filter(col("carrier").contains("A"))
    bar.open_builder()
    (row,) = rows_of(bar)
    choose_column(qtbot, row, "late")
    box = named(row, QComboBox, "Operator")
    offered = [box.itemText(n) for n in range(box.count())]
    assert offered == ["is", "is not", "is true", "is false", "is null", "is not null"]
    assert row.findChild(ValueFields).findChild(QComboBox) is not None


def test_a_switch_keeps_the_condition_for_later(qtbot: QtBot, bar: FilterBar) -> None:
    both = (col("dep_delay") > 60) & (col("carrier") == "AA")
    bar.set_filter(both)
    with qtbot.waitSignal(bar.changed) as off:
        qtbot.mouseClick(named(chips_of(bar)[0], QAbstractButton, "Switch off"), Qt.MouseButton.LeftButton)
    assert off.args == [col("carrier") == "AA"]
    with qtbot.waitSignal(bar.changed) as on:
        qtbot.mouseClick(named(chips_of(bar)[0], QAbstractButton, "Switch on"), Qt.MouseButton.LeftButton)
    assert on.args == [both]


def test_a_chip_is_removed_with_its_button_or_the_delete_key(qtbot: QtBot, bar: FilterBar) -> None:
    bar.set_filter((col("dep_delay") > 60) & (col("carrier") == "AA"))
    with qtbot.waitSignal(bar.changed) as removed:
        qtbot.mouseClick(named(chips_of(bar)[0], QAbstractButton, "Remove"), Qt.MouseButton.LeftButton)
    assert removed.args == [col("carrier") == "AA"]
    with qtbot.waitSignal(bar.changed) as emptied:
        qtbot.keyClick(named(chips_of(bar)[0], QAbstractButton, "Edit"), Qt.Key.Key_Delete)
    assert emptied.args == [None]
    assert chips_of(bar) == []


def test_a_chip_unfolds_the_builder_at_its_condition(qtbot: QtBot, bar: FilterBar) -> None:
    bar.set_filter((col("dep_delay") > 60) & (col("carrier") == "AA"))
    bar.activateWindow()
    qtbot.mouseClick(named(chips_of(bar)[1], QAbstractButton, "Edit"), Qt.MouseButton.LeftButton)
    assert bar.builder_open
    qtbot.waitUntil(lambda: rows_of(bar)[1].isAncestorOf(bar.window().focusWidget()))
    qtbot.keyClick(bar.window().focusWidget(), Qt.Key.Key_Escape)
    assert not bar.builder_open


def test_groups_nest_and_join_as_chosen(qtbot: QtBot, bar: FilterBar) -> None:
    bar.set_filter((col("dep_delay") > 60) & (col("carrier") == "AA"))
    bar.open_builder()
    qtbot.mouseClick(named(bar.builder, QAbstractButton, "Add a group"), Qt.MouseButton.LeftButton)
    added = rows_of(bar)[-1]
    choose_column(qtbot, added, "late")
    with qtbot.waitSignal(bar.changed):
        choose_operator(added, "is true")
    joins = [b for b in bar.builder.findChildren(QComboBox) if b.accessibleName().startswith("How")]
    inner = joins[-1]
    inner.setCurrentIndex(inner.findText("none of these"))
    with qtbot.waitSignal(bar.changed) as caught:
        inner.activated.emit(inner.currentIndex())
    assert caught.args == [(col("dep_delay") > 60) & (col("carrier") == "AA") & ~col("late").is_true()]
    spoken = named(bar, QLabel, "The filter in plain words").text()
    assert spoken == "Shows rows where dep_delay is more than 60 and carrier is AA and not (late is true)."


def test_conditions_on_other_columns_and_lists_are_shown_and_kept(qtbot: QtBot, bar: FilterBar) -> None:
    where = (
        (col("dep_delay") < col("year"))
        & col("stops").has("JFK")
        & col("stops").elem_match(col("item") > "A")
    )
    bar.set_filter(where)
    bar.open_builder()
    spoken = named(bar, QLabel, "The filter in plain words").text()
    assert spoken == (
        "Shows rows where dep_delay is less than year and stops has the item JFK "
        "and stops has an item where (item comes after A)."
    )
    row = rows_of(bar)[1]
    box = named(row, QComboBox, "Operator")
    assert [box.itemText(n) for n in range(box.count())][:4] == [
        "has the item",
        "has any of",
        "has all of",
        "has the size",
    ]
    assert bar.filter() == where


def test_a_condition_moves_into_a_group_and_out_again(qtbot: QtBot, bar: FilterBar) -> None:
    bar.set_filter((col("dep_delay") > 60) & (col("carrier") == "AA"))
    bar.open_builder()
    condition = rows_of(bar)[1].condition
    rows_of(bar)[1].move_requested.emit("wrap")
    assert condition not in bar.builder.tree.children
    moved = next(row for row in rows_of(bar) if row.condition is condition)
    moved.move_requested.emit("unwrap")
    assert condition in bar.builder.tree.children
    assert bar.filter() == (col("dep_delay") > 60) & (col("carrier") == "AA")


@pytest.mark.parametrize(
    ("typed", "filter"),
    [
        (">=60", col("dep_delay") >= 60),
        ("1~9", col("dep_delay").between(1, 9)),
        ("=null", col("dep_delay").is_null()),
    ],
)
def test_quick_operators_in_the_value_field(qtbot: QtBot, bar: FilterBar, typed: str, filter: Filter) -> None:
    bar.set_filter(col("dep_delay") == 1)
    bar.open_builder()
    field = type_value(qtbot, rows_of(bar)[0], typed)
    with qtbot.waitSignal(bar.changed) as caught:
        qtbot.keyClick(field, Qt.Key.Key_Return)
    assert caught.args == [filter]


def test_the_filter_with_what_is_off_survives_json(qtbot: QtBot, bar: FilterBar) -> None:
    bar.set_filter((col("dep_delay") > 60) & (col("carrier") == "AA"))
    qtbot.mouseClick(named(chips_of(bar)[0], QAbstractButton, "Switch off"), Qt.MouseButton.LeftButton)
    saved = bar.tree_json()
    bar.clear()
    assert bar.filter() is None
    bar.set_tree_json(saved)
    assert bar.filter() == (col("carrier") == "AA")
    assert len(chips_of(bar)) == 2


def test_adding_a_filter_keeps_the_one_there_is(bar: FilterBar) -> None:
    bar.set_filter(any_of([col("dep_delay") > 60, col("carrier") == "AA"]))
    bar.add_filter(col("late").is_true())
    assert bar.filter() == any_of([col("dep_delay") > 60, col("carrier") == "AA"]) & col("late").is_true()


def test_ten_thousand_conditions_are_kept_though_not_shown_one_by_one(bar: FilterBar) -> None:
    filter = any_of(col("dep_delay") == n for n in range(10_000))
    bar.set_filter(filter)
    bar.open_builder()
    assert rows_of(bar) == []
    assert any("10,000 conditions" in label.text() for label in bar.builder.findChildren(QLabel))
    assert bar.filter() == filter


def test_counts_follow_the_filter(qtbot: QtBot, bar: FilterBar, flights: Table, tasks: Tasks) -> None:
    counts = LiveCount(bar, tasks)
    counts.set_rows(flights.snapshot())
    both = (col("dep_delay") > 60) & (col("carrier") == "AA")
    bar.set_filter(both)
    bar.open_builder()
    total = named(bar, QLabel, "Rows that meet the filter")
    assert total.text() == "counting…"
    whole = flights.count(both)
    counts.set_rows(flights.snapshot(), both, whole)
    each = [flights.count(col("dep_delay") > 60), flights.count(col("carrier") == "AA")]
    assert total.text() == f"{whole:,} of 1,000 rows"
    qtbot.waitUntil(lambda: shown_counts(bar) == [f"{n:,}" for n in each])
    flights.update_where(col("carrier") == "UA", {"$set": {"carrier": "AA"}})
    counts.set_rows(flights.snapshot())
    more = flights.count(col("carrier") == "AA")
    qtbot.waitUntil(lambda: shown_counts(bar) == [f"{each[0]:,}", f"{more:,}"])


def shown_counts(bar: FilterBar) -> list[str]:
    return [named(row, QLabel, "Rows that meet this condition").text() for row in rows_of(bar)]


def test_a_new_filter_cancels_the_counts_of_the_one_before(
    qtbot: QtBot, bar: FilterBar, flights: Table, tasks: Tasks
) -> None:
    started = []
    tasks.started.connect(started.append)
    counts = LiveCount(bar, tasks)
    counts.set_rows(flights.snapshot())
    bar.open_builder()
    late = col("carrier") == "AA"
    bar.set_filter((col("dep_delay") > 60) & late)
    bar.set_filter((col("dep_delay") > 61) & late)
    assert started[0].job.cancelled
    wanted = [flights.count(col("dep_delay") > 61), flights.count(late)]
    qtbot.waitUntil(lambda: shown_counts(bar) == [f"{n:,}" for n in wanted])


def test_a_condition_that_is_the_whole_filter_is_left_to_the_grid(
    bar: FilterBar, flights: Table, tasks: Tasks
) -> None:
    started = []
    tasks.started.connect(started.append)
    counts = LiveCount(bar, tasks)
    counts.set_rows(flights.snapshot())
    bar.open_builder()
    bar.set_filter(col("dep_delay") > 60)
    assert started == []
    counts.set_rows(flights.snapshot(), col("dep_delay") > 60, 17)
    assert shown_counts(bar) == ["17"] and started == []


def test_a_search_that_ends_without_rows_counts_no_longer(
    bar: FilterBar, flights: Table, tasks: Tasks
) -> None:
    counts = LiveCount(bar, tasks)
    counts.set_rows(flights.snapshot())
    bar.set_filter(col("dep_delay") > 60)
    total = named(bar, QLabel, "Rows that meet the filter")
    assert total.text() == "counting…"
    counts.show_none()
    bar.open_builder()
    assert total.text() == ""


def test_everything_that_takes_the_keyboard_has_a_name(bar: FilterBar) -> None:
    bar.set_filter(
        (col("dep_delay").between(1, 9))
        & any_of([col("carrier") == "AA", col("late") == True, col("day") > "1970"])  # noqa: E712
    )
    bar.open_builder()
    nameless = [
        w
        for w in bar.findChildren(QWidget)
        if w.isVisible()
        and w.focusPolicy() & Qt.FocusPolicy.TabFocus
        and isinstance(w, QAbstractButton | QComboBox | QLineEdit)
        and not (w.accessibleName() or getattr(w, "text", lambda: "")())
    ]
    assert nameless == []


def test_a_column_is_found_by_part_of_its_name(qtbot: QtBot, bar: FilterBar) -> None:
    bar.set_filter(col("carrier") == "AA")
    bar.open_builder()
    (row,) = rows_of(bar)
    box = row.findChild(ColumnBox)
    box.setFocus()
    box.selectAll()
    qtbot.keyClicks(box, "delay")
    qtbot.waitUntil(lambda: box.completer().popup().isVisible())
    qtbot.keyClick(box.completer().popup(), Qt.Key.Key_Down)
    qtbot.keyClick(box.completer().popup(), Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: row.condition.column == "dep_delay")


def test_the_whole_list_of_columns_opens_at_the_one_there_is(qtbot: QtBot, bar: FilterBar) -> None:
    bar.set_filter(col("carrier") == "AA")
    bar.open_builder()
    box = rows_of(bar)[0].findChild(ColumnBox)
    qtbot.keyClick(box, Qt.Key.Key_Down)
    popup = box.completer().popup()
    qtbot.waitUntil(popup.isVisible)
    assert popup.model().rowCount() == 6
    assert popup.currentIndex().data() == "carrier"
    popup.hide()


def test_an_operator_that_does_not_fit_is_marked_and_never_changed(qtbot: QtBot, bar: FilterBar) -> None:
    bar.set_filter((col("dep_delay") > 60) & col("stops").contains("JFK"))
    bar.open_builder()
    row = rows_of(bar)[1]
    assert bar.filter() == (col("dep_delay") > 60)
    assert row.condition.operator == "contains"
    box = named(row, QComboBox, "Operator")
    assert (box.currentText(), box.property("variant")) == ("contains", "invalid")
    assert any("'contains' cannot be asked of lists" in label.text() for label in row.findChildren(QLabel))
    choose_operator(row, "is not null")
    assert box.property("variant") == "" and box.findText("contains") < 0
    assert bar.filter() == (col("dep_delay") > 60) & col("stops").not_null()


def test_a_comparison_with_a_whole_list_stays_as_it_is(bar: FilterBar) -> None:
    where = (col("dep_delay") > 60) & (col("stops") == ["JFK"]) & (col("stops.0") != "LGA")
    bar.set_filter(where)
    bar.open_builder()
    assert bar.filter() == where


def test_choosing_a_column_never_asks_anything_at_once(qtbot: QtBot, bar: FilterBar) -> None:
    bar.set_filter(col("carrier").contains("A"))
    bar.open_builder()
    (row,) = rows_of(bar)
    choose_column(qtbot, row, "stops")
    assert (row.condition.operator, bar.filter()) == ("has", None)


def test_a_value_without_spaces_wraps_instead_of_widening_the_window(bar: FilterBar) -> None:
    bar.open_builder()
    before = bar.minimumSizeHint().width()
    bar.set_filter(col("carrier") == "x" * 500)
    QApplication.processEvents()
    label = named(bar, QLabel, "The filter in plain words")
    assert bar.minimumSizeHint().width() < max(before, 700)
    assert label.text().replace("\u200b", "").startswith("Shows rows where carrier is xxx")
    assert label.height() > 2 * label.fontMetrics().height()


def test_many_chips_scroll_rather_than_cover_the_grid(qtbot: QtBot, bar: FilterBar) -> None:
    bar.set_filter(col("dep_delay") > 0)
    QApplication.processEvents()
    line = bar.heightForWidth(bar.width())
    bar.set_filter(all_of(col("carrier") != f"carrier {n}" for n in range(25)))
    qtbot.waitUntil(lambda: bar.findChild(ChipArea).verticalScrollBar().isVisible())
    assert line * 2 < bar.heightForWidth(bar.width()) < line * 4
    before, last = [c for c in bar.findChild(ChipArea).findChildren(Chip) if not c.isHidden()][-2:]
    assert last.visibleRegion().isEmpty()
    bar.activateWindow()
    before.findChildren(QAbstractButton)[-1].setFocus()
    qtbot.waitUntil(lambda: bar.window().focusWidget() is before.findChildren(QAbstractButton)[-1])
    qtbot.keyClick(bar.window().focusWidget(), Qt.Key.Key_Tab)
    assert last.isAncestorOf(bar.window().focusWidget())
    assert not last.visibleRegion().isEmpty()


def test_a_narrow_builder_leaves_room_for_its_scroll_bar(qtbot: QtBot, bar: FilterBar) -> None:
    bar.set_filter(col("carrier") == "AA")
    bar.open_builder()
    bar.resize(420, 400)
    scroll = bar.builder.findChild(QScrollArea)
    qtbot.waitUntil(lambda: scroll.horizontalScrollBar().isVisible())
    qtbot.waitUntil(lambda: scroll.viewport().height() >= scroll.widget().sizeHint().height())
    assert not scroll.verticalScrollBar().isVisible()


def test_one_more_condition_leaves_the_rows_there_are(qtbot: QtBot, bar: FilterBar) -> None:
    bar.set_filter((col("dep_delay") > 60) & any_of([col("carrier") == "AA", col("late").is_true()]))
    bar.open_builder()
    before = rows_of(bar)
    added = bar.builder.add_condition()
    assert [row.condition for row in rows_of(bar)] == list(bar.builder.tree.conditions())
    assert rows_of(bar)[:-1] == before and rows_of(bar)[-1].condition is added
    qtbot.waitUntil(lambda: rows_of(bar)[-1].isAncestorOf(bar.window().focusWidget()))
    inside = bar.builder.tree.children[1]
    inner = bar.builder.add_condition(inside)
    shown = sorted(rows_of(bar), key=lambda row: row.mapTo(bar, QPoint()).y())
    assert [row.condition for row in shown][3:] == [inner, added]
