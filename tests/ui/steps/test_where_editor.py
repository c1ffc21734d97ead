"""The form of a filter: conditions, groups and counts, on a real table."""

from __future__ import annotations

import math
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
from lamella.core.filters import Filter, any_of
from lamella.core.query.steps import Where
from lamella.core.store.table import Table
from lamella.ui.filters.condition_row import ConditionRow
from lamella.ui.filters.live_count import LiveCount
from lamella.ui.filters.tree import from_filter, from_json, to_json
from lamella.ui.filters.value_fields import ColumnBox, ValueFields
from lamella.ui.steps.editors import StepContext
from lamella.ui.steps.filter_texts import WrittenFilter
from lamella.ui.steps.where_editor import WhereEditor, with_condition
from lamella.ui.tasks import Tasks

# What a completer's popup asks of a screen that is not there.
pytestmark = pytest.mark.qt_log_ignore("does not support (raise|grabbing|propagateSizeHints)", extend=True)
ROWS = 1000
NAN = math.nan
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
def editor(qtbot: QtBot, flights: Table, tasks: Tasks) -> WhereEditor:
    editor = WhereEditor(StepContext(flights.schema, tasks, flights), None)
    qtbot.addWidget(editor)
    editor.resize(1000, 400)
    editor.show()
    qtbot.waitExposed(editor)
    return editor


@pytest.fixture
def tasks(qtbot: QtBot) -> Iterator[Tasks]:
    tasks = Tasks()
    yield tasks
    tasks.shutdown()


def rows_of(editor: WhereEditor) -> list[ConditionRow]:
    return [row for row in editor.builder.findChildren(ConditionRow) if row.isVisible()]


def named(parent: QWidget, kind: type[W], name: str) -> W:
    widgets = [w for w in parent.findChildren(kind) if w.accessibleName().startswith(name) and w.isVisible()]
    assert widgets, f"no {kind.__name__} called {name!r}"
    return widgets[0]


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


def test_a_value_that_does_not_fit_is_marked_and_left_out(qtbot: QtBot, editor: WhereEditor) -> None:
    editor.show_filter((col("dep_delay") > 60) & (col("carrier") == "AA"))
    row = rows_of(editor)[0]
    with qtbot.waitSignal(editor.changed):
        field = type_value(qtbot, row, "soon")
    assert editor.filter() == (col("carrier") == "AA")
    assert field.property("variant") == "invalid"
    assert "'soon' is not a number." in [label.text() for label in row.findChildren(QLabel)]
    type_value(qtbot, row, "7")
    assert field.property("variant") == ""


def test_a_misspelt_column_is_marked_with_the_one_meant(qtbot: QtBot, editor: WhereEditor) -> None:
    editor.show_filter(col("carrier") == "AA")
    (row,) = rows_of(editor)
    choose_column(qtbot, row, "carier")
    assert any("Did you mean 'carrier'" in label.text() for label in row.findChildren(QLabel))
    assert editor.filter() is None


def test_only_operators_that_fit_are_offered(qtbot: QtBot, editor: WhereEditor) -> None:
    editor.show_filter(col("carrier").contains("A"))
    (row,) = rows_of(editor)
    choose_column(qtbot, row, "late")
    box = named(row, QComboBox, "Operator")
    offered = [box.itemText(n) for n in range(box.count())]
    assert offered == ["is", "is not", "is true", "is false", "is null", "is not null"]
    assert row.findChild(ValueFields).findChild(QComboBox) is not None


def test_groups_nest_and_join_as_chosen(qtbot: QtBot, editor: WhereEditor) -> None:
    editor.show_filter((col("dep_delay") > 60) & (col("carrier") == "AA"))
    qtbot.mouseClick(named(editor.builder, QAbstractButton, "Add a group"), Qt.MouseButton.LeftButton)
    added = rows_of(editor)[-1]
    choose_column(qtbot, added, "late")
    with qtbot.waitSignal(editor.changed):
        choose_operator(added, "is true")
    joins = [b for b in editor.builder.findChildren(QComboBox) if b.accessibleName().startswith("How")]
    inner = joins[-1]
    inner.setCurrentIndex(inner.findText("none of these"))
    with qtbot.waitSignal(editor.changed):
        inner.activated.emit(inner.currentIndex())
    assert editor.filter() == ((col("dep_delay") > 60) & (col("carrier") == "AA") & ~col("late").is_true())
    spoken = named(editor, QLabel, "The filter in plain words").text()
    assert spoken == "Shows rows where dep_delay is more than 60 and carrier is AA and not (late is true)."


@pytest.mark.slow
def test_conditions_on_other_columns_and_lists_are_shown_and_kept(qtbot: QtBot, editor: WhereEditor) -> None:
    where = (
        (col("dep_delay") < col("year"))
        & col("stops").has("JFK")
        & col("stops").elem_match(col("item") > "A")
    )
    editor.show_filter(where)
    spoken = named(editor, QLabel, "The filter in plain words").text()
    assert spoken == (
        "Shows rows where dep_delay is less than year and stops has the item JFK "
        "and stops has an item where (item comes after A)."
    )
    row = rows_of(editor)[1]
    box = named(row, QComboBox, "Operator")
    assert [box.itemText(n) for n in range(box.count())][:4] == [
        "has the item",
        "has any of",
        "has all of",
        "has the size",
    ]
    assert editor.filter() == where


def test_a_condition_moves_into_a_group_and_out_again(qtbot: QtBot, editor: WhereEditor) -> None:
    editor.show_filter((col("dep_delay") > 60) & (col("carrier") == "AA"))
    condition = rows_of(editor)[1].condition
    rows_of(editor)[1].move_requested.emit("wrap")
    assert condition not in editor.builder.tree.children
    moved = next(row for row in rows_of(editor) if row.condition is condition)
    moved.move_requested.emit("unwrap")
    assert condition in editor.builder.tree.children
    assert editor.filter() == (col("dep_delay") > 60) & (col("carrier") == "AA")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "filter"),
    [
        (">=60", col("dep_delay") >= 60),
        ("1~9", col("dep_delay").between(1, 9)),
        ("=null", col("dep_delay").is_null()),
    ],
)
def test_quick_operators_in_the_value_field(
    qtbot: QtBot, editor: WhereEditor, typed: str, filter: Filter
) -> None:
    editor.show_filter(col("dep_delay") == 1)
    field = type_value(qtbot, rows_of(editor)[0], typed)
    with qtbot.waitSignal(editor.changed):
        qtbot.keyClick(field, Qt.Key.Key_Return)
    assert editor.filter() == (filter)


@pytest.mark.slow
def test_ten_thousand_conditions_are_kept_though_not_shown_one_by_one(editor: WhereEditor) -> None:
    filter = any_of(col("dep_delay") == n for n in range(10_000))
    editor.show_filter(filter)
    assert rows_of(editor) == []
    assert any("10,000 conditions" in label.text() for label in editor.builder.findChildren(QLabel))
    assert editor.filter() == filter


def counting(editor: WhereEditor, tasks: Tasks) -> LiveCount:
    counts = LiveCount(tasks, editor)
    editor.wants_counts.connect(counts.restart)
    counts.edit(editor)
    return counts


def test_counts_follow_the_conditions(
    qtbot: QtBot, editor: WhereEditor, flights: Table, tasks: Tasks
) -> None:
    editor.show_filter((col("dep_delay") > 60) & (col("carrier") == "AA"))
    counts = counting(editor, tasks)
    counts.set_rows(flights.snapshot())
    each = [flights.count(col("dep_delay") > 60), flights.count(col("carrier") == "AA")]
    qtbot.waitUntil(lambda: shown_counts(editor) == [f"{n:,}" for n in each])
    flights.update_where(col("carrier") == "UA", {"$set": {"carrier": "AA"}})
    counts.set_rows(flights.snapshot())
    more = flights.count(col("carrier") == "AA")
    qtbot.waitUntil(lambda: shown_counts(editor) == [f"{each[0]:,}", f"{more:,}"])


@pytest.mark.slow
def test_another_condition_cancels_the_counts_of_the_one_before(
    qtbot: QtBot, editor: WhereEditor, flights: Table, tasks: Tasks
) -> None:
    started = []
    tasks.started.connect(started.append)
    late = col("carrier") == "AA"
    editor.show_filter((col("dep_delay") > 60) & late)
    counts = counting(editor, tasks)
    counts.set_rows(flights.snapshot())
    editor.show_filter((col("dep_delay") > 61) & late)
    counts.restart()
    assert started[0].job.cancelled
    expected = [flights.count(col("dep_delay") > 61), flights.count(late)]
    qtbot.waitUntil(lambda: shown_counts(editor) == [f"{n:,}" for n in expected])


def test_a_condition_that_is_the_whole_filter_is_left_to_the_grid(
    editor: WhereEditor, flights: Table, tasks: Tasks
) -> None:
    started = []
    tasks.started.connect(started.append)
    editor.show_filter(col("dep_delay") > 60)
    counts = counting(editor, tasks)
    counts.set_rows(flights.snapshot())
    assert started == []
    counts.set_rows(flights.snapshot(), col("dep_delay") > 60, 17)
    assert shown_counts(editor) == ["17"] and started == []


def test_what_is_off_is_in_the_draft(editor: WhereEditor) -> None:
    editor.show_filter((col("dep_delay") > 60) & (col("carrier") == "AA"))
    editor.builder.tree.children[0].on = False
    draft = editor.draft()
    editor.show_filter(None)
    assert editor.step() is None and editor.draft() is None
    editor.show_filter(None, draft)
    assert editor.step() == Where(col("carrier") == "AA")
    assert len(editor.builder.tree.children) == 2


def test_one_more_condition_leaves_what_is_off_in_the_draft() -> None:
    either = any_of([col("dep_delay") > 60, col("carrier") == "AA"])
    step, draft = with_condition(Where(either), None, col("late").is_true())
    assert step == Where(either & col("late").is_true()) and draft is None
    tree = from_filter(col("dep_delay") > 60)
    tree.children[0].on = False
    step, draft = with_condition(None, to_json(tree), col("late").is_true())
    assert step == Where(col("late").is_true())
    assert [child.on for child in from_json(draft).children] == [False, True]


def shown_counts(editor: WhereEditor) -> list[str]:
    return [named(row, QLabel, "Rows that meet this condition").text() for row in rows_of(editor)]


def test_everything_that_takes_the_keyboard_has_a_name(editor: WhereEditor) -> None:
    editor.show_filter(
        (col("dep_delay").between(1, 9))
        & any_of([col("carrier") == "AA", col("late") == True, col("day") > "1970"])  # noqa: E712
    )
    nameless = [
        w
        for w in editor.findChildren(QWidget)
        if w.isVisible()
        and w.focusPolicy() & Qt.FocusPolicy.TabFocus
        and isinstance(w, QAbstractButton | QComboBox | QLineEdit)
        and not (w.accessibleName() or getattr(w, "text", lambda: "")())
    ]
    assert nameless == []


@pytest.mark.slow
def test_a_column_is_found_by_part_of_its_name(qtbot: QtBot, editor: WhereEditor) -> None:
    editor.show_filter(col("carrier") == "AA")
    (row,) = rows_of(editor)
    box = row.findChild(ColumnBox)
    box.setFocus()
    box.selectAll()
    qtbot.keyClicks(box, "delay")
    qtbot.waitUntil(lambda: box.completer().popup().isVisible())
    qtbot.keyClick(box.completer().popup(), Qt.Key.Key_Down)
    qtbot.keyClick(box.completer().popup(), Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: row.condition.column == "dep_delay")


def test_the_whole_list_of_columns_opens_at_the_one_there_is(qtbot: QtBot, editor: WhereEditor) -> None:
    editor.show_filter(col("carrier") == "AA")
    box = rows_of(editor)[0].findChild(ColumnBox)
    qtbot.keyClick(box, Qt.Key.Key_Down)
    popup = box.completer().popup()
    qtbot.waitUntil(popup.isVisible)
    assert popup.model().rowCount() == 6
    assert popup.currentIndex().data() == "carrier"
    popup.hide()


def test_an_operator_that_does_not_fit_is_marked_and_never_changed(qtbot: QtBot, editor: WhereEditor) -> None:
    editor.show_filter((col("dep_delay") > 60) & col("stops").contains("JFK"))
    row = rows_of(editor)[1]
    assert editor.filter() == (col("dep_delay") > 60)
    assert row.condition.operator == "contains"
    box = named(row, QComboBox, "Operator")
    assert (box.currentText(), box.property("variant")) == ("contains", "invalid")
    assert any("'contains' does not apply to lists" in label.text() for label in row.findChildren(QLabel))
    choose_operator(row, "is not null")
    assert box.property("variant") == "" and box.findText("contains") < 0
    assert editor.filter() == (col("dep_delay") > 60) & col("stops").not_null()


def test_a_comparison_with_a_whole_list_stays_as_it_is(editor: WhereEditor) -> None:
    where = (col("dep_delay") > 60) & (col("stops") == ["JFK"]) & (col("stops.0") != "LGA")
    editor.show_filter(where)
    assert editor.filter() == where


def test_choosing_a_column_never_asks_anything_at_once(qtbot: QtBot, editor: WhereEditor) -> None:
    editor.show_filter(col("carrier").contains("A"))
    (row,) = rows_of(editor)
    choose_column(qtbot, row, "stops")
    assert (row.condition.operator, editor.filter()) == ("has", None)


@pytest.mark.slow
def test_a_value_without_spaces_wraps_instead_of_widening_the_window(editor: WhereEditor) -> None:
    before = editor.minimumSizeHint().width()
    editor.show_filter(col("carrier") == "x" * 500)
    QApplication.processEvents()
    label = named(editor, QLabel, "The filter in plain words")
    assert editor.minimumSizeHint().width() < max(before, 700)
    assert label.text().replace("\u200b", "").startswith("Shows rows where carrier is xxx")
    assert label.height() > 2 * label.fontMetrics().height()


def test_a_narrow_builder_leaves_room_for_its_scroll_bar(qtbot: QtBot, editor: WhereEditor) -> None:
    editor.show_filter(col("carrier") == "AA")
    editor.resize(300, 400)
    scroll = editor.builder.findChild(QScrollArea)
    qtbot.waitUntil(lambda: scroll.horizontalScrollBar().isVisible())
    qtbot.waitUntil(lambda: scroll.viewport().height() >= scroll.widget().sizeHint().height())
    assert not scroll.verticalScrollBar().isVisible()


@pytest.mark.slow
def test_one_more_condition_leaves_the_rows_there_are(qtbot: QtBot, editor: WhereEditor) -> None:
    editor.show_filter((col("dep_delay") > 60) & any_of([col("carrier") == "AA", col("late").is_true()]))
    before = rows_of(editor)
    added = editor.builder.add_condition()
    assert [row.condition for row in rows_of(editor)] == list(editor.builder.tree.conditions())
    assert rows_of(editor)[:-1] == before and rows_of(editor)[-1].condition is added
    qtbot.waitUntil(lambda: rows_of(editor)[-1].isAncestorOf(editor.window().focusWidget()))
    inside = editor.builder.tree.children[1]
    inner = editor.builder.add_condition(inside)
    visible_rows = sorted(rows_of(editor), key=lambda row: row.mapTo(editor, QPoint()).y())
    assert [row.condition for row in visible_rows][3:] == [inner, added]


def show_page(qtbot: QtBot, editor: WhereEditor, name: str) -> None:
    button = next(
        candidate for candidate in editor.texts.findChildren(QAbstractButton) if candidate.text() == name
    )
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def rewrite(qtbot: QtBot, page: WrittenFilter, text: str) -> None:
    """Replace the whole text, as users do."""
    page.edit.setFocus()
    page.edit.selectAll()
    qtbot.keyClicks(page.edit, text)


def test_the_filter_is_shown_as_text_and_follows_what_is_typed_there(
    qtbot: QtBot, editor: WhereEditor
) -> None:
    editor.show_filter((col("dep_delay") > 60) & (col("carrier") == "AA"))
    show_page(qtbot, editor, "Text")
    page = editor.texts.text
    qtbot.waitUntil(lambda: page.edit.toPlainText() == "dep_delay > 60 and carrier = 'AA'")
    with qtbot.waitSignal(editor.changed):
        rewrite(qtbot, page, "dep_delay<=60 or carrier in ('AA', 'UA')")
    condition = (col("dep_delay") <= 60) | col("carrier").is_in(["AA", "UA"])
    assert editor.filter() == condition and editor.step() == Where(condition)
    assert page.edit.toPlainText() == "dep_delay<=60 or carrier in ('AA', 'UA')"
    assert [row.condition.operator for row in rows_of(editor)] == ["lte", "in"]
    type_value(qtbot, rows_of(editor)[0], "7")
    qtbot.waitUntil(lambda: page.edit.toPlainText() == "dep_delay <= 7 or carrier in ('AA', 'UA')")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "place", "reason"),
    [
        ("dep_delay > soon", "soon", "soon"),
        ("dep_delay > 60 and", "d", "A condition is missing here"),
        ("carier = 'AA'", "carier", "carrier"),
    ],
)
def test_the_place_of_an_error_in_the_text_is_marked(
    qtbot: QtBot, editor: WhereEditor, typed: str, place: str, reason: str
) -> None:
    before = col("dep_delay") > 5
    editor.show_filter(before)
    show_page(qtbot, editor, "Text")
    page = editor.texts.text
    rewrite(qtbot, page, typed)
    qtbot.waitUntil(page.reason.isVisible)
    (mark,) = page.edit.extraSelections()
    assert mark.cursor.selectedText() == place
    assert reason in page.reason.text() and "^" not in page.reason.text()
    assert editor.filter() == before
    with qtbot.waitSignal(editor.changed):
        rewrite(qtbot, page, "dep_delay > 6")
    assert page.reason.isHidden() and not page.edit.extraSelections()


def test_an_error_behind_letters_outside_the_first_plane_is_marked_where_it_is(
    qtbot: QtBot, editor: WhereEditor
) -> None:
    show_page(qtbot, editor, "Text")
    page = editor.texts.text
    page.edit.setPlainText("carrier = '😀😀' and dep_delay > 'x'")
    qtbot.waitUntil(page.reason.isVisible)
    (mark,) = page.edit.extraSelections()
    assert mark.cursor.selectedText() == "'x'"


def test_an_empty_text_asks_nothing_and_what_is_off_stays(qtbot: QtBot, editor: WhereEditor) -> None:
    editor.show_filter((col("dep_delay") > 60) & (col("carrier") == "AA"))
    editor.builder.tree.children[1].on = False
    editor.builder.edited.emit()
    show_page(qtbot, editor, "Text")
    page = editor.texts.text
    qtbot.waitUntil(lambda: page.edit.toPlainText() == "dep_delay > 60")
    with qtbot.waitSignal(editor.changed):
        page.edit.selectAll()
        qtbot.keyClick(page.edit, Qt.Key.Key_Delete)
    assert editor.filter() is None and editor.step() is None
    assert [row.condition.on for row in rows_of(editor)] == [False]


def test_the_filter_is_shown_as_sql_which_is_copied_and_read_back(qtbot: QtBot, editor: WhereEditor) -> None:
    editor.show_filter((col("carrier").is_in(["AA", "UA"]) & (col("dep_delay") > 60)) | (col("year") == 2012))
    show_page(qtbot, editor, "SQL")
    page = editor.texts.sql
    sql = "(carrier IN ('AA', 'UA') AND dep_delay > 60) OR \"year\" = 2012"
    qtbot.waitUntil(lambda: page.edit.toPlainText().replace('"', "") == sql.replace('"', ""))
    qtbot.mouseClick(named(page, QAbstractButton, "Copy the filter as SQL"), Qt.MouseButton.LeftButton)
    assert QApplication.clipboard().text() == page.edit.toPlainText()
    with qtbot.waitSignal(editor.changed):
        rewrite(qtbot, page, "carrier LIKE 'A%' AND dep_delay BETWEEN 1 AND 9;")
    assert editor.filter() == col("carrier").like("A%") & col("dep_delay").between(1, 9)


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize(
    "typed",
    [
        "dep_delay > 5; DROP TABLE flights",
        "dep_delay > 5 LIMIT 3",
        "dep_delay > 5 UNION SELECT * FROM flights",
        "dep_delay > (SELECT max(x) FROM read_csv('/etc/passwd'))",
        "__import__('os').system('true')",
        "dep_delay >",
    ],
)
def test_other_sql_is_refused_and_nothing_of_it_runs(qtbot: QtBot, editor: WhereEditor, typed: str) -> None:
    before = col("dep_delay") > 60
    editor.show_filter(before)
    show_page(qtbot, editor, "SQL")
    page = editor.texts.sql
    rewrite(qtbot, page, typed)
    qtbot.waitUntil(page.reason.isVisible)
    assert "cannot be turned into a filter" in page.reason.text() and editor.filter() == before


def test_words_stand_beside_the_builder_where_there_is_room(qtbot: QtBot, editor: WhereEditor) -> None:
    editor.show_filter(col("carrier") == "AA")
    qtbot.waitUntil(lambda: editor.texts.x() > editor.builder.geometry().right())
    editor.resize(800, 400)
    qtbot.waitUntil(lambda: editor.texts.y() > editor.builder.geometry().bottom())


@pytest.fixture
def nan_editor(qtbot: QtBot, tmp_path: Path, tasks: Tasks) -> Iterator[tuple[WhereEditor, Table]]:
    """A filter of rows with NaN, counted while it is edited."""
    rows = pa.table({"far": [1.0, NAN, 9.0, None, NAN, 7.0], "n": [1, 2, 3, 4, 5, 6]})
    with Store.open(tmp_path / "measured") as store:
        table = store.create_table("rows", rows)
        editor = WhereEditor(StepContext(table.schema, tasks, table), None)
        qtbot.addWidget(editor)
        editor.resize(1000, 400)
        editor.show()
        qtbot.waitExposed(editor)
        counting(editor, tasks).set_rows(table.snapshot())
        yield editor, table


def notes_of_nan(editor: WhereEditor) -> list[str]:
    labels = [label for row in rows_of(editor) for label in row.findChildren(QLabel) if label.isVisible()]
    return [label.text().partition(" · ")[0] for label in labels if "NaN" in label.text()]


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(
    ("condition", "note"),
    [
        (col("far") > 5, ["2 of these are NaN"]),
        (col("far") != 5, ["2 of these are NaN"]),
        (col("far").not_in([1.0]), ["2 of these are NaN"]),
        (~col("far").between(1, 5), ["2 of these are NaN"]),
        ((col("far") > 5) & (col("n") != 2), ["2 of these are NaN"]),
        ((col("far") > 5) & (col("far") != NAN), []),
        (col("far") < 5, []),
        (col("far") == NAN, []),
        (col("n") > 2, []),
    ],
)
def test_nan_that_meets_a_condition_is_said(
    qtbot: QtBot, nan_editor: tuple[WhereEditor, Table], tasks: Tasks, condition: Filter, note: list[str]
) -> None:
    editor, _table = nan_editor
    editor.show_filter(condition)
    editor.wants_counts.emit()
    qtbot.waitUntil(lambda: not tasks.running and notes_of_nan(editor) == note)


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("joins_all", [True, False])
def test_excluding_nan_adds_a_condition(
    qtbot: QtBot, nan_editor: tuple[WhereEditor, Table], joins_all: bool
) -> None:
    editor, table = nan_editor
    far, n = col("far") > 5, col("n") == 1
    editor.show_filter(far & n if joins_all else far | n)
    editor.wants_counts.emit()
    qtbot.waitUntil(lambda: notes_of_nan(editor) == ["2 of these are NaN"])
    label = next(
        candidate for candidate in editor.builder.findChildren(QLabel) if "exclude" in candidate.text()
    )
    with qtbot.waitSignal(editor.changed):
        label.linkActivated.emit("exclude")
    no_nan = col("far") != NAN
    expected = far & no_nan & n if joins_all else (far & no_nan) | n
    assert editor.filter() == expected
    assert table.count(editor.filter()) == (0 if joins_all else 3)
    qtbot.waitUntil(lambda: notes_of_nan(editor) == [])
