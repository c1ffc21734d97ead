"""From a row to its related rows: in the inspector, from a cell's menu, and the way back."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest
import shiboken6
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu, QToolButton, QTreeWidgetItem
from pytestqt.qtbot import QtBot

from lamella import Store, agg, col
from lamella.core.query.steps import Compute, Group
from lamella.ui import theme
from lamella.ui.main_window import MainWindow
from lamella.ui.steps.join_editor import JoinEditor
from lamella.ui.window.dataset_tab import DatasetTab

Settled = Callable[[], DatasetTab]
pytestmark = pytest.mark.qt_log_ignore("does not support (raise|grabbing|propagateSizeHints)", extend=True)


@pytest.fixture
def airlines(store: Store) -> None:
    """AA and UA, flights of them, of none (null) and of one that is missing (XX)."""
    carriers = ["AA", "UA", None, "XX"]
    flights = {"number": list(range(40)), "carrier": [carriers[i % 4] for i in range(40)]}
    store.create_table("airlines", {"code": ["AA", "UA", "ZZ"], "name": ["American", "United", "Nobody"]})
    store.create_table("flights", pa.table(flights))
    store.create_table("people", {"name": ["Ada", "Ben", "Cleo", "Dan"], "chief": [None, 0, 0, 1]})
    store.relations.declare("flights.carrier", "airlines.code")
    store.relations.declare("people.chief", "people._id")


@pytest.fixture
def shown_table(qtbot: QtBot, window: MainWindow, store: Store, airlines: None, settled: Settled):
    """A function that opens a table and waits for its links."""

    def open_table(name: str) -> DatasetTab:
        window.opening.open_key((str(store.path), name))
        tab = settled()
        qtbot.waitUntil(lambda: bool(tab.relations.links))
        return tab

    return open_table


@pytest.fixture
def related(qtbot: QtBot, window: MainWindow, go_to):
    """A function that reads a row's related rows in the inspector, as lines of each relation."""

    def read(tab: DatasetTab, row: int, column: str) -> list[list[str]]:
        go_to(tab, row, column)
        if not tab.is_inspector_open:
            window.commands["inspector"].trigger()
        tab.inspector.show_page("row")
        page = tab.inspector.row_page
        qtbot.waitUntil(lambda: page.title.text() == f"Row {row + 1:,}" and is_known(tab))
        tops = [page.related_tree.topLevelItem(n) for n in range(page.related_tree.topLevelItemCount())]
        return [[t.text(0), t.text(1), *(t.child(n).text(0) for n in range(t.childCount()))] for t in tops]

    return read


def is_known(tab: DatasetTab) -> bool:
    tree = tab.inspector.row_page.related_tree
    tops = [tree.topLevelItem(n) for n in range(tree.topLevelItemCount())]
    return bool(tops) and all(top.text(1) != "…" for top in tops)


def child(tab: DatasetTab, relation: int, place: int) -> QTreeWidgetItem:
    return tab.inspector.row_page.related_tree.topLevelItem(relation).child(place)


def click(qtbot: QtBot, tab: DatasetTab, item: QTreeWidgetItem) -> None:
    tree = tab.inspector.row_page.related_tree
    tree.scrollToItem(item)
    point = tree.visualItemRect(item).center()
    qtbot.mouseClick(tree.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(point.x(), point.y()))


def current(tab: DatasetTab, name: str) -> object:
    """The value of a column in the current row."""
    assert tab.view is not None and tab.grid.selection.current is not None
    return tab.view.page(tab.grid.selection.current[0], 1, [name]).column(0)[0].as_py()


def test_the_row_page_lists_related_rows_both_ways(shown_table, related) -> None:
    flights = shown_table("flights")
    assert related(flights, 1, "number") == [["airlines", "1", "UA · United"]]
    airlines = shown_table("airlines")
    listed = related(airlines, 0, "code")
    assert listed == [["flights", "10", "0", "4", "8", "12", "16", "All 10 rows"]]
    assert related(airlines, 2, "code") == [["flights", "0", "No rows"]]
    people = shown_table("people")
    assert related(people, 1, "name") == [
        ["people by chief", "1", "Ada · NULL"],
        ["people by their chief", "1", "Dan"],
    ]


def test_another_look_keeps_opened_rows_open(shown_table, related, qtbot: QtBot) -> None:
    airlines = shown_table("airlines")
    related(airlines, 0, "code")
    item = child(airlines, 0, 1)
    open_row(qtbot, airlines, item)
    look = theme.current()
    look.set_mode("dark" if not look.dark else "light")
    assert child(airlines, 0, 1) is item and item.isExpanded()
    assert item.foreground(0).color() == look.color("accent")


def test_negative_numbers_are_written_as_in_the_grid(shown_table, related, store: Store) -> None:
    store["airlines"].columns.add("balance", "float64", default=-7.5)
    assert related(shown_table("flights"), 1, "number") == [["airlines", "1", "UA · United · −7.5"]]


@pytest.mark.slow
def test_rows_that_point_at_nothing_say_so(shown_table, related) -> None:
    flights = shown_table("flights")
    assert related(flights, 2, "number") == [["airlines", "0", "NULL, points at nothing"]]
    assert related(flights, 3, "number") == [["airlines", "0", "Points at nothing: no XX there"]]
    people = shown_table("people")
    assert related(people, 0, "name")[0] == ["people by chief", "0", "NULL, points at nothing"]


def test_a_relation_that_cannot_be_followed_says_why(shown_table, related, store: Store) -> None:
    store["airlines"].columns.drop("code")
    flights = shown_table("flights")
    assert related(flights, 1, "number") == [
        ["airlines", "0", "Cannot be followed: column 'code' of airlines was dropped"]
    ]
    assert flights.relations.of_column("carrier") == []


@pytest.mark.slow
def test_a_click_follows_to_the_row_and_back_leads_to_where_one_came_from(
    qtbot: QtBot, window: MainWindow, shown_table, related, settled: Settled
) -> None:
    flights = shown_table("flights")
    flights.add_filter(col("number") > 4)
    settled()
    related(flights, 4, "number")  # number 9, of UA
    click(qtbot, flights, child(flights, 0, 0))
    qtbot.waitUntil(lambda: window.tabs.dataset_tab is not flights)
    airlines = settled()
    qtbot.waitUntil(lambda: airlines.grid.selection.current is not None and current(airlines, "code") == "UA")
    page = airlines.inspector.row_page
    qtbot.waitUntil(page.back.isVisible)
    assert page.back.text() == "Back to flights, row 5"
    qtbot.mouseClick(page.back, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: window.tabs.dataset_tab is flights)
    qtbot.waitUntil(lambda: current(settled(), "number") == 9)
    assert flights.line.steps and not flights.inspector.row_page.back.isVisible()


@pytest.mark.slow
def test_enter_follows_to_all_related_rows_and_alt_left_leads_back(
    qtbot: QtBot, window: MainWindow, shown_table, related, settled: Settled
) -> None:
    airlines = shown_table("airlines")
    related(airlines, 1, "name")
    tree = airlines.inspector.row_page.related_tree
    tree.setCurrentItem(tree.topLevelItem(0))
    qtbot.keyClick(tree, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: window.tabs.dataset_tab is not airlines)
    flights = settled()
    qtbot.waitUntil(lambda: flights.line.active != () and settled().view.num_rows == 10)
    assert set(flights.view.page(0, 10, ["carrier"]).column(0).to_pylist()) == {"UA"}
    assert window.commands["back"].isEnabled()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    qtbot.keyClick(flights.grid, Qt.Key.Key_Left, Qt.KeyboardModifier.AltModifier)
    qtbot.waitUntil(lambda: window.tabs.dataset_tab is airlines)
    assert current(airlines, "code") == "UA"
    assert not window.commands["back"].isEnabled()


@pytest.mark.slow
def test_back_restores_a_tab_that_was_closed(
    qtbot: QtBot, window: MainWindow, shown_table, related, settled: Settled
) -> None:
    flights = shown_table("flights")
    flights.add_filter(col("number") > 4)
    related(settled(), 4, "number")
    click(qtbot, flights, child(flights, 0, 0))
    qtbot.waitUntil(lambda: window.tabs.dataset_tab is not flights)
    airlines = settled()
    qtbot.waitUntil(lambda: window.trail.origin(airlines) is not None)
    window.tabs.close_at(window.tabs.widgets.index(flights))
    window.commands["back"].trigger()
    qtbot.waitUntil(lambda: window.tabs.dataset_tab not in (airlines, None))
    again = settled()
    qtbot.waitUntil(lambda: bool(again.line.steps) and current(settled(), "number") == 9)


@pytest.mark.slow
def test_steps_that_hide_the_row_are_removed_and_come_back(
    qtbot: QtBot, window: MainWindow, shown_table, related, settled: Settled
) -> None:
    airlines = shown_table("airlines")
    for steps in (lambda: airlines.set_filter(col("code") == "AA"), lambda: airlines.add_step(BY_NAME)):
        window.tabs.show_tab(airlines)
        steps()
        settled()
        line = airlines.line
        flights = shown_table("flights")
        related(flights, 1, "number")
        click(qtbot, flights, child(flights, 0, 0))
        qtbot.waitUntil(lambda: window.tabs.dataset_tab is airlines and not airlines.line.steps)
        settled()
        qtbot.waitUntil(lambda: window.trail.origin(airlines) is not None)
        qtbot.waitUntil(lambda: current(airlines, "code") == "UA")
        assert airlines.messages.label.text() == "The steps were removed to show the row"
        airlines.go_back()
        settled()
        assert airlines.line == line


BY_NAME = Group(("name",), (("n", agg.count()),))


@pytest.mark.slow
def test_a_table_that_leads_to_itself_is_followed_within_its_tab(
    qtbot: QtBot, window: MainWindow, shown_table, related, settled: Settled
) -> None:
    people = shown_table("people")
    related(people, 0, "name")
    tree = people.inspector.row_page.related_tree
    click(qtbot, people, tree.topLevelItem(1))  # Ben and Cleo, whose chief is Ada
    qtbot.waitUntil(lambda: bool(people.line.steps) and settled().view.num_rows == 2)
    window.commands["back"].trigger()
    qtbot.waitUntil(lambda: not people.line.steps and settled().view.num_rows == 4)
    qtbot.waitUntil(lambda: current(people, "name") == "Ada")
    related(people, 3, "name")
    click(qtbot, people, child(people, 0, 0))  # Dan's chief
    qtbot.waitUntil(lambda: current(people, "name") == "Ben")
    qtbot.waitUntil(window.commands["back"].isEnabled)
    window.commands["back"].trigger()
    qtbot.waitUntil(lambda: current(people, "name") == "Dan")


def test_relations_of_the_same_two_tables_are_named_by_their_columns(
    qtbot: QtBot, window: MainWindow, store: Store, shown_table
) -> None:
    store.create_table("staff", {"chief": [None, 0, 0], "deputy": [1, 1, None]})
    for column in ("chief", "deputy"):
        store.relations.declare(f"staff.{column}", "staff._id")
    tab = shown_table("staff")

    def entries(column: str) -> list[str]:
        menu = QMenu(window)
        tab.relations.add_to(menu, column)
        return [action.text() for action in menu.actions()]

    assert entries("chief") == ["Follow to staff (chief → _id)", "Join the columns of staff (chief → _id)"]
    assert entries("_id")[:2] == ["Follow to staff (chief → _id)", "Follow to staff (deputy → _id)"]


def test_the_cell_menu_follows_where_the_column_takes_part(
    qtbot: QtBot, window: MainWindow, shown_table, settled: Settled, go_to
) -> None:
    flights = shown_table("flights")

    def entries(column: str) -> list[str]:
        go_to(flights, 1, column)
        flights.grid.menu_requested.emit(QPoint(200, 200))
        menu = window.findChildren(QMenu, options=Qt.FindChildOption.FindDirectChildrenOnly)[-1]
        texts = [action.text() for action in menu.actions() if "Follow" in action.text()]
        menu.close()
        qtbot.waitUntil(lambda: not shiboken6.isValid(menu))
        return texts

    assert entries("number") == [] and not window.commands["follow"].isEnabled()
    assert entries("carrier") == ["Follow to airlines"]
    go_to(flights, 3, "carrier")
    window.commands["follow"].trigger()
    says = "Points at nothing: no XX there (airlines)"
    qtbot.waitUntil(lambda: flights.messages.label.text() == says)
    assert window.tabs.dataset_tab is flights
    go_to(flights, 1, "carrier")
    window.commands["follow"].trigger()
    qtbot.waitUntil(lambda: window.tabs.dataset_tab is not flights)
    airlines = settled()
    qtbot.waitUntil(lambda: airlines.grid.selection.current is not None and current(airlines, "code") == "UA")
    qtbot.waitUntil(lambda: airlines.messages.label.text() == "Followed from flights, row 2")
    qtbot.mouseClick(airlines.messages.buttons[0], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: window.tabs.dataset_tab is flights)


@pytest.mark.slow
def test_rows_with_computed_columns_are_followed_and_groups_are_not(
    qtbot: QtBot, shown_table, related, settled: Settled, go_to
) -> None:
    flights = shown_table("flights")
    flights.add_step(Compute((("half", col("number") / 2),)))
    settled()
    assert related(flights, 1, "number") == [["airlines", "1", "UA · United"]]
    flights.add_step(Group(("carrier",), (("n", agg.count()),)))
    settled()
    go_to(flights, 1, "carrier")
    page = flights.inspector.row_page
    qtbot.waitUntil(lambda: not page.related_tree.isVisible() and not page.heading.isVisible())
    assert flights.relations.of_column("carrier") == []


@pytest.mark.slow
def test_a_file_shows_no_relations(qtbot: QtBot, window: MainWindow, file_tab: DatasetTab, go_to) -> None:
    go_to(file_tab, 2, "delay")
    window.commands["inspector"].trigger()
    page = file_tab.inspector.row_page
    qtbot.waitUntil(lambda: page.title.text() == "Row 3")
    assert not page.related_tree.isVisible() and not page.heading.isVisible()


def mouse_click(tab: DatasetTab, row: int, column: str, modifiers: Qt.KeyboardModifier) -> None:
    grid = tab.grid
    rect = grid.cell_rect((row, grid.place(grid.grid_model.names.index(column))))
    assert rect is not None
    QTest.mouseClick(grid.viewport(), Qt.MouseButton.LeftButton, modifiers, rect.center())


def test_control_click_follows_from_columns_that_lead_on_and_selects_elsewhere(
    qtbot: QtBot, window: MainWindow, shown_table, settled: Settled, go_to
) -> None:
    flights = shown_table("flights")
    assert flights.grid.column_header.keys == {"carrier"}
    go_to(flights, 0, "number")
    control = Qt.KeyboardModifier.ControlModifier
    mouse_click(flights, 5, "number", control)
    assert flights.grid.selection.num_cells == 2 and window.tabs.dataset_tab is flights
    mouse_click(flights, 5, "carrier", Qt.KeyboardModifier.NoModifier)
    assert window.tabs.dataset_tab is flights
    mouse_click(flights, 5, "carrier", control)
    qtbot.waitUntil(lambda: window.tabs.dataset_tab is not flights)
    airlines = settled()
    qtbot.waitUntil(lambda: airlines.grid.selection.current is not None and current(airlines, "code") == "UA")
    qtbot.waitUntil(lambda: airlines.grid.column_header.keys == {"code"})
    window.commands["back"].trigger()
    qtbot.waitUntil(lambda: window.tabs.dataset_tab is flights)


def test_rows_are_followed_into_a_tab_that_shows_a_chart(
    qtbot: QtBot, window: MainWindow, shown_table, settled: Settled
) -> None:
    airlines = shown_table("airlines")
    window.commands["chart"].trigger()
    assert airlines.charting.is_shown
    mouse_click(shown_table("flights"), 5, "carrier", Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: window.tabs.dataset_tab is airlines)
    settled()
    qtbot.waitUntil(lambda: airlines.grid.selection.current is not None and current(airlines, "code") == "UA")
    assert not airlines.charting.is_shown and airlines.grid.isVisible()


@pytest.mark.slow
def test_headers_mark_no_keys_of_groups(shown_table, settled: Settled, qtbot: QtBot) -> None:
    flights = shown_table("flights")
    flights.add_step(Group(("carrier",), (("n", agg.count()),)))
    settled()
    qtbot.waitUntil(lambda: flights.grid.column_header.keys == frozenset())


@pytest.mark.slow
def test_the_cell_menu_joins_along_a_relation(
    qtbot: QtBot, window: MainWindow, shown_table, settled: Settled, go_to
) -> None:
    flights = shown_table("flights")
    go_to(flights, 1, "carrier")
    flights.grid.menu_requested.emit(QPoint(200, 200))
    menu = window.findChildren(QMenu, options=Qt.FindChildOption.FindDirectChildrenOnly)[-1]
    (join,) = [action for action in menu.actions() if action.text() == "Join the columns of airlines"]
    join.trigger()
    menu.close()
    qtbot.waitUntil(lambda: bool(flights.line.steps) and "name" in settled().view.schema.names)
    assert flights.view.num_rows == 40
    assert flights.view.page(1, 1, ["name"]).column(0)[0].as_py() == "United"
    people = shown_table("people")
    people.relations.join(people.relations.links[0])
    qtbot.waitUntil(lambda: bool(people.line.steps) and settled().view.num_rows == 4)
    assert people.view.page(1, 1, ["name_people"]).column(0)[0].as_py() == "Ada"


def test_the_form_of_a_join_offers_what_is_related(
    qtbot: QtBot, window: MainWindow, shown_table, settled: Settled
) -> None:
    flights = shown_table("flights")
    window.commands["join"].trigger()
    editor = flights.steps.editor
    assert isinstance(editor, JoinEditor)
    qtbot.waitUntil(editor.related_links.isVisible)
    (button,) = editor.related_links.findChildren(QToolButton)
    assert button.text() == "airlines by carrier"
    qtbot.waitUntil(lambda: editor.height() == editor.heightForWidth(editor.width()))  # no gap in it
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: editor.step() is not None)
    step = editor.step()
    assert step is not None and (step.left_on, step.right_on) == (("carrier",), ("code",))
    assert editor.other_box.currentText() == "airlines"
    qtbot.waitUntil(lambda: "name" in settled().view.schema.names)


def open_row(qtbot: QtBot, tab: DatasetTab, item: QTreeWidgetItem) -> list[list[str]]:
    """The rows related to a related row, as lines of each link."""
    item.setExpanded(True)
    qtbot.waitUntil(lambda: item.childCount() > 0 and item.child(0).text(0) != "…")
    links = [item.child(n) for n in range(item.childCount())]
    return [[k.text(0), k.text(1), *(k.child(n).text(0) for n in range(k.childCount()))] for k in links]


def test_related_rows_open_into_what_they_are_related_to(
    qtbot: QtBot, window: MainWindow, shown_table, related, settled: Settled, store: Store
) -> None:
    store.create_table("hubs", {"airline": ["AA", "AA", "UA"], "airport": ["DFW", "JFK", "ORD"]})
    store.relations.declare("hubs.airline", "airlines.code")
    flights = shown_table("flights")
    related(flights, 0, "number")  # of AA
    airline = child(flights, 0, 0)
    assert open_row(qtbot, flights, airline) == [
        ["flights", "10", "↑ 0", "4", "8", "12", "16", "All 10 rows"],
        ["hubs", "2", "DFW", "JFK"],
    ]
    hub = airline.child(1).child(1)
    assert open_row(qtbot, flights, hub) == [["Nothing else", ""]], "but for the way that led here"
    click(qtbot, flights, hub)
    qtbot.waitUntil(lambda: window.tabs.dataset_tab is not flights)
    hubs = settled()
    qtbot.waitUntil(lambda: hubs.grid.selection.current is not None and current(hubs, "airport") == "JFK")
    window.commands["back"].trigger()
    qtbot.waitUntil(lambda: window.tabs.dataset_tab is flights)
    qtbot.waitUntil(lambda: current(settled(), "number") == 0)


@pytest.mark.slow
def test_all_rows_of_a_related_row_are_followed(
    qtbot: QtBot, window: MainWindow, shown_table, related, settled: Settled, store: Store
) -> None:
    store.create_table("hubs", {"airline": [["AA", "UA"][n % 2] for n in range(20)]})
    store.relations.declare("hubs.airline", "airlines.code")
    flights = shown_table("flights")
    related(flights, 1, "number")
    airline = child(flights, 0, 0)
    open_row(qtbot, flights, airline)
    hubs = airline.child(1)
    hubs.setExpanded(True)
    click(qtbot, flights, hubs.child(hubs.childCount() - 1))
    qtbot.waitUntil(lambda: window.tabs.dataset_tab is not flights)
    tab = settled()
    qtbot.waitUntil(lambda: bool(tab.line.steps) and settled().view.num_rows == 10)
    assert tab.name == "hubs"


@pytest.mark.slow
def test_circles_of_rows_are_cut(qtbot: QtBot, shown_table, related, store: Store) -> None:
    store["people"].update([{"_id": 0, "chief": 1}])  # Ada's chief is Ben, whose chief is Ada
    people = shown_table("people")
    related(people, 0, "name")
    ben = child(people, 0, 0)
    lines = open_row(qtbot, people, ben)
    assert ["people by chief", "1", "↑ Ada · 1"] in lines
    cut = next(k for k in range(ben.childCount()) if ben.child(k).child(0).text(0).startswith("↑"))
    assert ben.child(cut).child(0).childIndicatorPolicy() is not NO_MORE


@pytest.fixture
def circle(store: Store, airlines: None) -> None:
    """Pilots point at planes, planes at their owners among the pilots; Ada owns what she flies."""
    store.create_table("pilots", {"pilot": ["Ada", "Ben"], "plane": ["P1", "P2"]})
    store.create_table("planes", {"plane": ["P1", "P2"], "owner": ["Ada", "Ada"]})
    store.relations.declare("pilots.plane", "planes.plane")
    store.relations.declare("planes.owner", "pilots.pilot")


@pytest.mark.slow
def test_a_circle_of_tables_is_opened_to_its_end_with_repeats_marked(
    qtbot: QtBot, circle: None, shown_table, related
) -> None:
    pilots = shown_table("pilots")
    related(pilots, 1, "pilot")  # Ben
    tree = pilots.inspector.row_page.related_tree
    todo = [tree.topLevelItem(n).child(k) for n in range(2) for k in range(tree.topLevelItem(n).childCount())]
    opened, marked = [], []
    while todo:
        item = todo.pop(0)
        if item.childIndicatorPolicy() is not NO_MORE:
            marked.append(item.text(0))
            continue
        opened.append(item.text(0))
        assert len(opened) < 20, "it does not end"
        open_row(qtbot, pilots, item)
        links = [item.child(n) for n in range(item.childCount())]
        todo += [link.child(n) for link in links for n in range(link.childCount())]
    assert opened[:2] == ["P2 · Ada", "Ada · P1"] and "P1 · Ada" in opened
    assert any(text.startswith("↑ Ada") for text in marked)


@pytest.mark.slow
def test_a_circle_is_followed_round_and_back(
    qtbot: QtBot, window: MainWindow, circle: None, shown_table, settled: Settled, go_to
) -> None:
    pilots = shown_table("pilots")
    go_to(pilots, 1, "plane")
    window.commands["follow"].trigger()
    qtbot.waitUntil(
        lambda: window.tabs.dataset_tab is not pilots and window.tabs.dataset_tab.name == "planes"
    )
    planes = settled()
    qtbot.waitUntil(lambda: bool(planes.relations.links) and current(planes, "plane") == "P2")
    go_to(planes, 1, "owner")
    window.commands["follow"].trigger()
    qtbot.waitUntil(lambda: window.tabs.dataset_tab is pilots and current(settled(), "pilot") == "Ada")
    assert len(window.tabs.dataset_tabs) == 2, "the tab that is open is gone back to"
    window.commands["back"].trigger()
    qtbot.waitUntil(lambda: window.tabs.dataset_tab is planes and current(settled(), "plane") == "P2")
    window.commands["back"].trigger()
    qtbot.waitUntil(lambda: window.tabs.dataset_tab is pilots and current(settled(), "pilot") == "Ben")


def test_both_ways_of_a_relation_of_a_table_to_itself_are_named(
    qtbot: QtBot, window: MainWindow, shown_table, settled: Settled
) -> None:
    people = shown_table("people")
    window.commands["join"].trigger()
    editor = people.steps.editor
    assert isinstance(editor, JoinEditor)
    qtbot.waitUntil(editor.related_links.isVisible)
    texts = [button.text() for button in editor.related_links.findChildren(QToolButton)]
    assert {"people by chief", "people by their chief"} <= set(texts)


@pytest.mark.slow
def test_a_table_is_joined_with_itself_again_and_again(
    qtbot: QtBot, window: MainWindow, shown_table, settled: Settled
) -> None:
    people = shown_table("people")
    for count, name in ((1, "name_people"), (2, "name_people_2")):
        window.commands["join"].trigger()
        editor = people.steps.editor
        assert isinstance(editor, JoinEditor)
        qtbot.waitUntil(editor.related_links.isVisible)
        up = next(b for b in editor.related_links.findChildren(QToolButton) if b.text() == "people by chief")
        qtbot.mouseClick(up, Qt.MouseButton.LeftButton)
        qtbot.waitUntil(
            lambda n=count: len(people.line.steps) == n and people.line.steps[-1].step is not None
        )
        qtbot.waitUntil(lambda column=name: column in settled().view.schema.names)
    assert people.view.num_rows == 4


NO_MORE = QTreeWidgetItem.ChildIndicatorPolicy.ShowIndicator
