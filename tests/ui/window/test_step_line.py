"""The line of steps in the window: chips, forms, and going back."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetrics, QIcon
from PySide6.QtWidgets import QAbstractButton, QCheckBox, QComboBox, QLineEdit, QScrollArea, QSpinBox
from pytestqt.qtbot import QtBot

from lamella import Store, agg, col
from lamella.core.query.line import Line
from lamella.core.query.steps import Aggregate, Compute, Group, Join, Limit, Pivot, Select, Sort, Step, Where
from lamella.core.scan.snapshot import SortKey
from lamella.core.store.table import Table
from lamella.ui import theme
from lamella.ui.main_window import MainWindow
from lamella.ui.steps.chips import StepChip
from lamella.ui.steps.grouping import GroupEditor
from lamella.ui.steps.join_editor import JoinEditor
from lamella.ui.steps.kinds import KINDS
from lamella.ui.window.dataset_tab import DatasetTab

Settled = Callable[[], DatasetTab]
pytestmark = pytest.mark.qt_log_ignore("does not support (raise|grabbing|propagateSizeHints)", extend=True)
BY_CARRIER = Group(("carrier",), (("n", agg.count()),))


def texts(tab: DatasetTab) -> list[str]:
    return [chip.state.text for chip in tab.steps.bar.chips]


def chip(tab: DatasetTab, start: str) -> StepChip:
    return next(chip for chip in tab.steps.bar.chips if chip.state.text.startswith(start))


def button(chip: StepChip, name: str) -> QAbstractButton:
    return next(b for b in chip.findChildren(QAbstractButton) if b.accessibleName().startswith(name))


def columns(tab: DatasetTab) -> list[str]:
    grid = tab.grid
    return [name for place, name in enumerate(grid.grid_model.names) if not grid.isColumnHidden(place)]


def add_step(qtbot: QtBot, tab: DatasetTab, name: str) -> None:
    """Add a step by typing its name into the menu."""
    tab.steps.bar.open_menu()
    menu = tab.steps.bar.menu
    qtbot.waitUntil(menu.isVisible)
    qtbot.keyClicks(menu.search, name)
    qtbot.keyClick(menu.search, Qt.Key.Key_Return)


def test_a_grouping_is_added_by_the_keyboard_and_shown_at_once(
    qtbot: QtBot, table_tab: DatasetTab, settled: Settled
) -> None:
    add_step(qtbot, table_tab, "gro")
    assert texts(table_tab) == ["Group …"] and isinstance(table_tab.steps.editor, GroupEditor)
    keys = table_tab.steps.editor.keys.add
    qtbot.waitUntil(keys.hasFocus)
    keys.setText("carrier")
    qtbot.keyClick(keys, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: texts(table_tab) == ["by carrier: n"])
    tab = settled()
    assert columns(tab) == ["carrier", "n"] and tab.view.num_rows == 4
    assert tab.status.startswith("4 groups of 1,000 rows")
    qtbot.keyClick(tab.steps, Qt.Key.Key_Escape)
    assert tab.steps.editor is None and texts(tab) == ["by carrier: n"]


@pytest.mark.slow
def test_groups_of_filtered_rows_are_not_said_to_be_of_all(table_tab: DatasetTab, settled: Settled) -> None:
    table_tab.apply(Line.of([Where(col("delay") > 0), BY_CARRIER]))
    assert settled().status.startswith("4 groups of the rows that meet the filter · ")


def test_a_form_that_was_never_finished_leaves_no_chip(qtbot: QtBot, table_tab: DatasetTab) -> None:
    add_step(qtbot, table_tab, "pivot")
    assert texts(table_tab) == ["Pivot …"]
    qtbot.keyClick(table_tab.steps, Qt.Key.Key_Escape)
    assert texts(table_tab) == [] and not table_tab.visits.can_go_back


@pytest.mark.slow
def test_the_cross_of_a_form_leads_to_its_chip_as_escape_does(
    qtbot: QtBot, table_tab: DatasetTab, settled: Settled
) -> None:
    table_tab.apply(Line.of([Where(col("delay") > 0), BY_CARRIER]))
    settled().steps.edit(1)
    cross = next(b for b in table_tab.steps.findChildren(QAbstractButton) if "close" in b.toolTip().lower())
    qtbot.mouseClick(cross, Qt.MouseButton.LeftButton)
    assert table_tab.steps.editor is None and chip(table_tab, "by carrier").hasFocus()


@pytest.mark.slow
def test_a_short_chip_keeps_its_words_beside_its_buttons(qtbot: QtBot, table_tab: DatasetTab) -> None:
    add_step(qtbot, table_tab, "pivot")
    pivot = chip(table_tab, "Pivot")
    pivot.setFocus(Qt.FocusReason.TabFocusReason)
    eye = button(pivot, "Switch off")
    words = QFontMetrics(theme.current().font()).horizontalAdvance("Pivot …")
    assert eye.isVisible() and eye.x() >= theme.S + theme.current().px(14) + theme.S + words


@pytest.mark.slow
def test_figures_are_chosen_named_and_checked(qtbot: QtBot, table_tab: DatasetTab, settled: Settled) -> None:
    table_tab.add_step(BY_CARRIER)
    settled()
    table_tab.steps.edit(0)
    editor = table_tab.steps.editor
    qtbot.mouseClick(editor.figures.add, Qt.MouseButton.LeftButton)
    row = editor.figures.rows[-1]
    assert row.name.text() == "mean(delay)"
    qtbot.waitUntil(lambda: columns(table_tab) == ["carrier", "n", "mean(delay)"])
    row.column.setText("note")
    row.column.chosen.emit("note")
    table_tab.steps.flush()
    assert "takes numbers" in editor.reason.text() and editor.step() is None
    row.function.setCurrentIndex(row.function.findData("max"))
    row.function.activated.emit(row.function.currentIndex())
    table_tab.steps.flush()
    assert editor.reason.text() == "" and row.name.text() == "max(note)"
    qtbot.waitUntil(lambda: columns(table_tab) == ["carrier", "n", "max(note)"])


@pytest.mark.slow
def test_a_function_that_needs_a_column_begins_with_one(qtbot: QtBot, table_tab: DatasetTab) -> None:
    table_tab.add_step(BY_CARRIER)
    table_tab.steps.edit(0)
    editor = table_tab.steps.editor
    row = editor.figures.rows[0]
    row.function.setFocus()
    for _ in range(2):  # sum, average
        qtbot.keyClick(row.function, Qt.Key.Key_Down)
    assert row.function.currentData() == "avg"
    assert row.column.text() == "delay" and row.name.text() == "mean(delay)" and not editor.reason.text()
    qtbot.waitUntil(lambda: columns(table_tab) == ["carrier", "mean(delay)"])


@pytest.mark.slow
def test_columns_of_other_figures_are_fitted_anew_and_chosen_widths_stay(
    table_tab: DatasetTab, settled: Settled
) -> None:
    def pivot(figure: Aggregate) -> list[int]:
        table_tab.apply(Line.of([Pivot(("delay",), "carrier", (("figure", figure),), ("AA", "UA"))]))
        tab = settled()
        assert columns(tab) == ["delay", "AA", "UA"]
        return [tab.grid.columnWidth(column) for column in (1, 2)]

    counts = pivot(agg.count())
    table_tab.grid.column_header.set_width("UA", 150)
    lists = pivot(agg.list(col("note")))
    assert lists[0] > counts[0] and lists[1] == 150
    assert pivot(agg.count()) == [counts[0], 150]


@pytest.mark.slow
def test_a_computed_column_is_typed(qtbot: QtBot, table_tab: DatasetTab, settled: Settled, cell_text) -> None:
    add_step(qtbot, table_tab, "comp")
    name, text = (
        box for box in table_tab.steps.editor.findChildren(QLineEdit) if box.accessibleName() != "Column"
    )
    qtbot.keyClicks(name, "hours")
    qtbot.keyClicks(text, "delay / 60")
    qtbot.waitUntil(lambda: "hours" in columns(table_tab))
    tab = settled()
    assert texts(tab) == ["hours = delay / 60"] and cell_text(tab, 2, "delay") == "24"
    assert cell_text(tab, 2, "hours") == "0.4"
    text.selectAll()
    qtbot.keyClicks(text, "dely / 60")
    tab.steps.flush()
    assert "delay" in tab.steps.editor.reason.text(), "did you mean"
    assert texts(tab) == ["hours = delay / 60"], "the last one that was whole stays"


@pytest.mark.slow
def test_the_form_of_an_unpivot_is_seen_whole(qtbot: QtBot, table_tab: DatasetTab) -> None:
    add_step(qtbot, table_tab, "unpivot")
    editor = table_tab.steps.editor
    area = editor.parentWidget().parentWidget()
    assert isinstance(area, QScrollArea)
    qtbot.waitUntil(lambda: editor.height() == area.viewport().height())
    assert not area.verticalScrollBar().isVisible()


@pytest.mark.slow
def test_columns_are_chosen(qtbot: QtBot, table_tab: DatasetTab, settled: Settled) -> None:
    add_step(qtbot, table_tab, "columns")
    choice = table_tab.steps.editor.list
    item = next(i for i in map(choice.list.item, range(choice.list.count())) if i.text() == "carrier")
    item.setCheckState(Qt.CheckState.Unchecked)
    qtbot.waitUntil(lambda: columns(table_tab) == ["delay", "note"])
    assert table_tab.editable is not None, "the table's own rows are shown"


def test_every_kind_of_step_has_a_form_that_makes_what_it_shows(
    table_tab: DatasetTab, settled: Settled, table: Table
) -> None:
    """A form returns the step that it was opened with."""
    names = table.store.create_table("names", {"carrier": ["AA", "UA"], "name": ["American", "United"]})
    steps = [
        Where(col("delay") > 60),
        Compute((("hours", col("delay") / 60),)),
        Select(("carrier", "delay")),
        BY_CARRIER,
        Sort((SortKey("delay", True),)),
        Limit(10, 5),
    ]
    for step in steps:
        table_tab.add_step(step)
        settled()
        table_tab.steps.edit(len(table_tab.line.steps) - 1)
        assert table_tab.steps.editor.step() == step, step
        table_tab.apply(type(table_tab.line)())
    assert set(KINDS) > {type(step) for step in steps} and names.num_rows == 2


def test_a_table_of_the_store_is_joined_by_the_column_of_the_same_name(
    qtbot: QtBot, window: MainWindow, table_tab: DatasetTab, table: Table, settled: Settled
) -> None:
    table.store.create_table("names", {"carrier": ["AA", "UA"], "name": ["American", "United"]})
    window.library.refresh()
    qtbot.waitUntil(lambda: any(e.text == "names" for e in window.sidebar.entries("table")))
    window.commands["join"].trigger()
    editor = table_tab.steps.editor
    assert isinstance(editor, JoinEditor)
    editor.other_box.setCurrentIndex(editor.other_box.findText("names"))
    editor.other_box.activated.emit(editor.other_box.currentIndex())
    qtbot.waitUntil(lambda: "name" in columns(table_tab))
    (step,) = table_tab.line.active
    assert isinstance(step, Join) and (step.left_on, step.how) == (("carrier",), "left")
    assert texts(table_tab) == ["left join names on carrier"]
    assert settled().view.num_rows == 1000


def test_the_eye_switches_a_step_and_the_cross_removes_it(
    qtbot: QtBot, table_tab: DatasetTab, settled: Settled
) -> None:
    table_tab.set_filter(col("delay") > 400)
    fewer = settled().view.num_rows
    step_chip = chip(table_tab, "delay")
    step_chip.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.mouseClick(button(step_chip, "Switch off"), Qt.MouseButton.LeftButton)
    assert settled().view.num_rows == 1000 and not table_tab.steps.bar.chips[0].state.on
    qtbot.keyClick(table_tab.steps.bar.chips[0], Qt.Key.Key_Space)
    assert settled().view.num_rows == fewer
    qtbot.keyClick(table_tab.steps.bar.chips[0], Qt.Key.Key_Delete)
    assert settled().view.num_rows == 1000 and texts(table_tab) == []


def test_chips_move_by_the_keyboard(qtbot: QtBot, table_tab: DatasetTab, settled: Settled) -> None:
    table_tab.add_step(BY_CARRIER)
    table_tab.add_filter(col("n") > 3)
    settled()
    qtbot.keyClick(chip(table_tab, "n is"), Qt.Key.Key_Left, Qt.KeyboardModifier.ControlModifier)
    tab = settled()
    assert (
        texts(tab) == ["n > 3", "by carrier: n"] and "no column 'n'" in tab.steps.bar.chips[0].state.problem
    )
    assert tab.view.num_rows == 4, "the rest stays usable"


def test_back_and_forward_go_through_what_was_shown(
    qtbot: QtBot, window: MainWindow, table_tab: DatasetTab, settled: Settled
) -> None:
    table_tab.set_filter(col("delay") > 400)
    settled()
    table_tab.add_step(BY_CARRIER)
    settled()
    table_tab.set_sort([SortKey("n", True)])
    settled()
    states = [texts(table_tab)]
    for _ in range(3):
        window.commands["back"].trigger()
        settled()
        states.append(texts(table_tab))
    assert [len(state) for state in states] == [3, 2, 1, 0]
    assert not window.commands["back"].isEnabled() and table_tab.view.num_rows == 1000
    window.commands["forward"].trigger()
    assert texts(settled()) == ["delay is more than 400"]


def test_undo_is_of_data_alone(
    qtbot: QtBot, window: MainWindow, table_tab: DatasetTab, table: Table, settled: Settled
) -> None:
    table_tab.set_filter(col("delay") > 400)
    settled()
    table.update_where(col("delay") > 400, {"$set": {"note": "late"}})
    table_tab.reload()
    settled()
    window.commands["undo"].trigger()
    qtbot.waitUntil(lambda: table.count(col("note") == "late") == 0)
    assert texts(settled()) == ["delay is more than 400"]


@pytest.mark.slow
def test_a_double_click_opens_a_group(
    qtbot: QtBot, table_tab: DatasetTab, settled: Settled, cell_text, go_to
) -> None:
    table_tab.add_step(BY_CARRIER)
    tab = settled()
    place = next(row for row in range(4) if cell_text(tab, row, "carrier") is None)
    go_to(tab, place, "n")
    qtbot.keyClick(tab.grid, Qt.Key.Key_F2)
    qtbot.waitUntil(lambda: texts(tab) == ["carrier is null"])
    assert settled().view.num_rows == 250
    tab.go_back()
    assert texts(settled()) == ["by carrier: n"]


def test_rows_that_are_computed_are_not_edited(
    qtbot: QtBot, window: MainWindow, table_tab: DatasetTab, settled: Settled, go_to
) -> None:
    table_tab.add_step(Compute((("hours", col("delay") / 60),)))
    tab = settled()
    go_to(tab, 0, "delay")
    qtbot.keyClicks(tab.grid, "7")
    assert "These rows are computed" in tab.messages.label.text() and tab.editing.editor is None
    assert not window.commands["change"].isEnabled() and not window.commands["set_null"].isEnabled()


@pytest.mark.slow
def test_columns_come_back_as_they_were(qtbot: QtBot, table_tab: DatasetTab, settled: Settled) -> None:
    tab = settled()
    column = tab.grid.grid_model.names.index("note")
    tab.grid.column_header.resizeSection(column, 333)
    tab.add_step(BY_CARRIER)
    assert columns(settled()) == ["carrier", "n"]
    tab.go_back()
    assert columns(settled()) == ["delay", "carrier", "note"]
    assert tab.grid.column_header.sectionSize(column) == 333


@pytest.mark.slow
def test_typing_in_a_filter_is_one_visit(qtbot: QtBot, table_tab: DatasetTab, settled: Settled) -> None:
    table_tab.set_filter(col("delay") > 1)
    settled()
    table_tab.steps.edit_filter()
    (box,) = (b for b in table_tab.steps.editor.findChildren(QLineEdit) if b.accessibleName() == "Value")
    for text in ("10", "100"):
        box.selectAll()
        qtbot.keyClicks(box, text)
        table_tab.steps.flush()
        settled()
    assert table_tab.where == (col("delay") > 100)
    table_tab.go_back()
    assert settled().where == (col("delay") > 1)
    assert table_tab.steps.editor is None, "it would show what is not there"


def test_what_comes_behind_a_step_is_switched_off_to_see_the_data_there(
    table_tab: DatasetTab, settled: Settled
) -> None:
    table_tab.set_filter(col("delay") > 400)
    table_tab.add_step(BY_CARRIER)
    settled()
    table_tab.steps.bar.up_to_requested.emit(0)
    assert [chip.state.on for chip in settled().steps.bar.chips] == [True, False]
    assert columns(table_tab) == ["delay", "carrier", "note"]


@pytest.mark.slow
def test_a_long_line_has_its_longest_chips_cut_and_scrolls(
    qtbot: QtBot, table_tab: DatasetTab, settled: Settled
) -> None:
    for number in range(12):
        table_tab.add_filter(col("note") != f"a rather long text that is number {number}")
        table_tab.add_step(Limit(900 - number))
    tab = settled()
    widths = [chip.width() for chip in tab.steps.bar.chips]
    assert min(widths) >= 48 and max(widths) < 420
    last = tab.steps.bar.chips[-1]
    last.setFocus()
    tab.steps.bar.focus_chip(len(widths) - 1)
    assert not last.visibleRegion().isEmpty()


@pytest.mark.slow
def test_controls_of_the_forms_have_names(table_tab: DatasetTab, settled: Settled) -> None:
    settled()
    for kind in KINDS:
        table_tab.steps.add(kind)
        kinds = (QAbstractButton, QComboBox, QLineEdit)
        controls = [w for each in kinds for w in table_tab.steps.editor.findChildren(each)]
        own = [w for w in controls if not isinstance(w.parent(), QLineEdit | QSpinBox)]
        named = [w for w in own if w.accessibleName() or (isinstance(w, QAbstractButton) and w.text())]
        assert named == own, kind
        table_tab.steps.close_editor()


@pytest.mark.slow
def test_a_computed_column_of_a_large_table_is_shown_sorted_and_exported(
    qtbot: QtBot,
    window: MainWindow,
    table_tab: DatasetTab,
    settled: Settled,
    cell_text,
    go_to,
    monkeypatch,
    tmp_path,
) -> None:
    """Its values are computed page by page."""
    monkeypatch.setattr("lamella.core.query.computed_view.MOST_COMPUTED_ROWS", 10)
    table_tab.add_step(Compute((("hours", col("delay") / 60),)))
    tab = settled()
    assert columns(tab) == ["delay", "carrier", "note", "hours"] and cell_text(tab, 2, "hours") == "0.4"
    go_to(tab, 0, "hours")
    tab.inspector.show_page("column")
    qtbot.waitUntil(lambda: "sort by it" in tab.inspector.column_page.kind.text())
    path = tmp_path / "rows.csv"
    tab.line_actions.export(path)
    qtbot.waitUntil(path.exists)
    assert path.read_text().splitlines()[0].replace('"', "") == "delay,carrier,note,hours"
    tab.set_sort([SortKey("hours", True)])
    assert cell_text(settled(), 0, "delay") == "449"


@pytest.mark.slow
def test_a_chip_is_moved_switched_and_removed_while_another_form_is_unfinished(
    qtbot: QtBot, table_tab: DatasetTab, settled: Settled
) -> None:
    """Closing the form removes its chip, and the chips after it move left by one."""
    left = {Qt.Key.Key_Left: Qt.KeyboardModifier.ControlModifier}
    for key, expected in (
        (Qt.Key.Key_Left, (["keep 10 rows", "delay > 5"], [True, True])),
        (Qt.Key.Key_Space, (["delay > 5", "keep 10 rows"], [True, False])),
        (Qt.Key.Key_Delete, (["delay > 5"], [True])),
    ):
        table_tab.apply(Line.of([Where(col("delay") > 5), Limit(10)]))
        settled()
        table_tab.steps.add(Pivot, 0)
        qtbot.keyClick(table_tab.steps.bar.chips[2], key, left.get(key, Qt.KeyboardModifier.NoModifier))
        settled()
        assert table_tab.line.steps == table_tab.steps.line.steps
        assert [step.on for step in table_tab.line.steps] == expected[1]
        assert [step.kind for step in table_tab.line.steps] == [
            Limit if text.startswith("keep") else Where for text in expected[0]
        ]


@pytest.mark.slow
def test_a_form_is_begun_in_place_of_another_that_was_never_finished(
    table_tab: DatasetTab, settled: Settled
) -> None:
    table_tab.apply(Line.of([Where(col("delay") > 5)]))
    settled()
    table_tab.steps.add(Pivot, 0)
    table_tab.steps.add(Limit, 2)
    assert [step.kind for step in table_tab.steps.line.steps] == [Where, Limit]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Pivot, Where])
def test_a_form_stays_while_the_rows_are_read_again(
    qtbot: QtBot, table_tab: DatasetTab, table: Table, settled: Settled, kind: type[Step]
) -> None:
    """For example, another program changed them, or they did not exist yet."""
    table_tab.apply(Line.of([Where(col("note") != "x"), BY_CARRIER]))
    settled()
    table_tab.steps.add(kind, 1)
    editor = table_tab.steps.editor
    table_tab.reload()
    settled()
    assert table_tab.steps.editor is editor and table_tab.steps.place == 1
    assert len(table_tab.steps.bar.chips) == 3 and len(table_tab.line.steps) == 2
    table_tab.apply(Line.of([Limit(3)]))
    assert table_tab.steps.editor is None and len(table_tab.steps.bar.chips) == 1


def values_of(tab: DatasetTab) -> list[QLineEdit]:
    return [b for b in tab.steps.editor.findChildren(QLineEdit) if b.accessibleName() == "Value"]


def test_a_condition_that_is_off_stays_when_its_form_is_closed(
    qtbot: QtBot, table_tab: DatasetTab, settled: Settled
) -> None:
    table_tab.steps.add(Where)
    qtbot.keyClicks(values_of(table_tab)[0], "7")
    (box,) = (b for b in table_tab.steps.editor.findChildren(QCheckBox) if b.isVisible() and b.isChecked())
    qtbot.mouseClick(box, Qt.MouseButton.LeftButton)
    qtbot.keyClick(table_tab.steps, Qt.Key.Key_Escape)
    table_tab.reload()
    settled()
    assert [step.kind for step in table_tab.line.steps] == [Where] and table_tab.line.active == ()
    assert texts(table_tab) == ["Filter …"]


@pytest.mark.slow
def test_a_filter_without_a_value_leaves_no_chip(
    qtbot: QtBot, table_tab: DatasetTab, settled: Settled
) -> None:
    table_tab.steps.edit_filter()
    qtbot.keyClick(table_tab.steps, Qt.Key.Key_Escape)
    assert texts(table_tab) == []
    table_tab.set_filter(col("delay") > 400)
    settled()
    table_tab.steps.edit_filter()
    box = values_of(table_tab)[0]
    box.selectAll()
    qtbot.keyClick(box, Qt.Key.Key_Delete)
    qtbot.keyClick(table_tab.steps, Qt.Key.Key_Escape)
    table_tab.reload()
    settled()
    assert texts(table_tab) == [] and table_tab.line.steps == ()


@pytest.mark.slow
@pytest.mark.parametrize("text_scale", [1.0, 1.5])
def test_the_steps_to_add_are_all_in_sight(qtbot: QtBot, table_tab: DatasetTab, text_scale: float) -> None:
    theme.current().set_text_scale(text_scale)
    table_tab.steps.bar.open_menu()
    menu = table_tab.steps.bar.menu
    qtbot.waitUntil(menu.isVisible)
    last = menu.list.item(menu.list.count() - 1)
    assert menu.list.viewport().rect().contains(menu.list.visualItemRect(last))


def test_arrow_keys_go_through_the_steps_that_are_found(qtbot: QtBot, table_tab: DatasetTab) -> None:
    table_tab.steps.bar.open_menu()
    menu = table_tab.steps.bar.menu
    first = menu.list.currentItem()
    for key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
        qtbot.keyClick(menu.search, key)
    assert menu.list.currentItem() is first
    qtbot.keyClicks(menu.search, "nothing is called so")
    for key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
        qtbot.keyClick(menu.search, key)
    assert menu.list.currentItem() is None


@pytest.mark.slow
def test_forms_are_not_cut_in_a_small_window_with_large_text(
    qtbot: QtBot, window: MainWindow, table_tab: DatasetTab, settled: Settled
) -> None:
    settled()
    while theme.current().text_scale < 1.5:
        window.commands["text_larger"].trigger()
    for kind in KINDS:
        table_tab.steps.add(kind)
        scroll = table_tab.steps.findChildren(QScrollArea)[-1]
        editor = table_tab.steps.editor
        assert editor.minimumSizeHint().width() <= scroll.viewport().width(), kind
        table_tab.steps.close_editor()
    window.commands["text_normal"].trigger()


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("name", ["n", "N"])
def test_a_column_that_is_called_as_the_count_is_grouped_by(
    qtbot: QtBot, window: MainWindow, store: Store, settled: Settled, go_to, name: str
) -> None:
    store.create_table("letters", {name: ["a", "b", "a"]})
    window.opening.open_key((str(store.path), "letters"))
    tab = settled()
    go_to(tab, 0, name)
    window.commands["group"].trigger()
    tab = settled()
    assert columns(tab) == [name, "count"] and tab.view.num_rows == 2
    assert texts(tab) == [f"by {name}: count"] and not tab.steps.bar.chips[0].state.problem
    tab.apply(Line())
    tab.steps.add(Group)
    keys = tab.steps.editor.keys.add
    keys.setText(name)
    qtbot.keyClick(keys, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: columns(tab) == [name, "count"])


@pytest.mark.slow
def test_the_text_of_a_chip_ends_before_its_buttons(
    qtbot: QtBot, table_tab: DatasetTab, settled: Settled
) -> None:
    table_tab.set_filter(col("note").contains("row 12"))
    only = settled().steps.bar.chips[0]
    side = only.height() - 6

    def painted_behind_buttons() -> set[str]:
        """Colours where the eye and the cross are, which are hidden for the picture alone."""
        picture = only.grab().toImage()
        right = only.width() - theme.S
        return {picture.pixelColor(x, only.height() // 2 + dy).name()
                for x in range(right - 2 * side, right) for dy in range(-4, 5)}  # fmt: skip

    assert len(painted_behind_buttons()) > 1
    only.setFocus(Qt.FocusReason.TabFocusReason)
    eye = button(only, "Switch")
    qtbot.waitUntil(eye.isVisible)
    for icon_button in only.findChildren(QAbstractButton):
        icon_button.setIcon(QIcon())
    assert len(painted_behind_buttons()) == 1
