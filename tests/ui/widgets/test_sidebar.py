from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtWidgets import (
    QApplication,
    QLabel,
    QStyleOptionViewItem,
    QToolButton,
    QTreeWidgetItem,
    QWidget,
)

from lamella.core.remote.paths import path_or_address
from lamella.ui import theme
from lamella.ui.widgets.sidebar import Sidebar, SidebarSplitter, StoreEntry


@pytest.fixture
def sidebar(qtbot) -> Iterator[Sidebar]:
    widget = Sidebar()
    qtbot.addWidget(widget)
    widget.show_stores([StoreEntry(Path("/data/sample"), "sample", ("airlines", "flights"))])
    widget.resize(216, 300)
    widget.show()
    yield widget
    theme.current().set_mode("system")


def test_stores_of_one_name_are_told_apart_by_their_folders(sidebar: Sidebar) -> None:
    paths = ["/data/lab", "/usb/lab", "/usb/other", "/old/a/trips", "/new/a/trips"]
    sidebar.show_stores([StoreEntry(Path(path), Path(path).name, ("t",)) for path in paths])
    stores = sidebar.tree.topLevelItem(0)
    assert [stores.child(n).text(0) for n in range(5)] == [
        "lab · data", "lab · usb", "other", "trips · /old/a", "trips · /new/a"
    ]  # fmt: skip
    stores.child(0).setExpanded(False)
    sidebar.show_stores([StoreEntry(Path(path), Path(path).name, ("t",)) for path in paths[:2]])
    assert [sidebar.tree.topLevelItem(0).child(n).isExpanded() for n in range(2)] == [False, True]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["light", "dark"])
def test_the_highlight_of_a_row_is_one_piece(sidebar, mode) -> None:
    theme.current().set_mode(mode)
    sidebar.mark(("/data/sample", "flights"))
    QApplication.processEvents()
    row = sidebar.tree.visualItemRect(sidebar.tree.currentItem())
    image = sidebar.grab().toImage()
    colors = set()
    for edge in (row.top(), row.bottom()):
        y = sidebar.tree.viewport().mapTo(sidebar, QPoint(0, edge)).y()
        colors |= {image.pixelColor(x, y).name() for x in range(image.width())}
    assert colors == {theme.current().color("accent_soft").name()}


def test_the_number_of_rows_gives_way_to_the_name(sidebar) -> None:
    sidebar.show_rows({("/data/sample", "flights"): 336_776})
    sidebar.mark(("/data/sample", "flights"))
    tree, option = sidebar.tree, QStyleOptionViewItem()
    for width, says in ((200, "336,776"), (120, "")):
        option.rect = QRect(0, 0, width, 24)
        tree.itemDelegate().initStyleOption(option, tree.currentIndex())
        assert option.text == "flights"
        assert tree.itemDelegate().rows_beside(option, tree.currentIndex()) == says


def shown(sidebar: Sidebar) -> list[str]:
    """The entries and stores that can be seen, from top to bottom."""
    texts, item = [], sidebar.tree.topLevelItem(0)
    while item is not None:
        if item.parent() is not None and not item.isHidden():
            texts.append(item.text(0))
        item = sidebar.tree.itemBelow(item)
    return texts


@pytest.fixture
def full_sidebar(sidebar) -> Sidebar:
    views = {"flights": ("late by carrier",)}
    sidebar.show_stores(
        [
            StoreEntry(Path("/data/sample"), "sample", ("airlines", "flights"), views),
            StoreEntry(Path("/data/other"), "other", ("trips",)),
        ]
    )
    sidebar.show_files([Path("/data/flights.csv")], {"/data/flights.csv": ("of june",)})
    sidebar.show_recent([Path("/data/trips.parquet")])
    return sidebar


EVERYTHING = [
    "sample", "airlines", "flights", "late by carrier", "other", "trips",
    "flights.csv", "of june", "trips.parquet",
]  # fmt: skip


@pytest.mark.parametrize(
    ("typed", "left"),
    [
        ("TRIPS", ["other", "trips", "trips.parquet"]),
        ("late car", ["sample", "flights", "late by carrier"]),
        ("june", ["flights.csv", "of june"]),
        ("sample", ["sample", "airlines", "flights", "late by carrier"]),
        ("nowhere", []),
    ],
)
def test_the_field_leaves_what_is_called_so(full_sidebar, qtbot, typed, left) -> None:
    assert shown(full_sidebar) == EVERYTHING
    qtbot.keyClicks(full_sidebar.field, typed)
    assert shown(full_sidebar) == left
    said = full_sidebar.findChild(QLabel)
    assert said.isVisible() == (not left)
    qtbot.keyClick(full_sidebar.field, Qt.Key.Key_Escape)
    assert shown(full_sidebar) == EVERYTHING and not said.isVisible()


def test_a_button_in_the_field_ends_the_search(full_sidebar, qtbot) -> None:
    (clear,) = [b for b in full_sidebar.field.findChildren(QToolButton) if b.accessibleName() == "Clear"]
    assert not clear.isVisible()
    qtbot.keyClicks(full_sidebar.field, "nowhere")
    clear.click()
    assert shown(full_sidebar) == EVERYTHING and not clear.isVisible()


def test_a_closed_store_opens_for_the_search_alone(full_sidebar, qtbot) -> None:
    store = full_sidebar.tree.findItems("other", Qt.MatchFlag.MatchRecursive)[0]
    store.setExpanded(False)
    qtbot.keyClicks(full_sidebar.field, "trips")
    assert shown(full_sidebar) == ["other", "trips", "trips.parquet"]
    full_sidebar.field.clear()
    assert "trips" not in shown(full_sidebar)


def test_enter_opens_the_first_match_and_the_arrow_goes_to_it(full_sidebar, qtbot) -> None:
    qtbot.keyClicks(full_sidebar.field, "trips")
    with qtbot.waitSignal(full_sidebar.opened) as opened:
        qtbot.keyClick(full_sidebar.field, Qt.Key.Key_Return)
    assert opened.args[0].key == ("/data/other", "trips")
    qtbot.keyClick(full_sidebar.field, Qt.Key.Key_Down)
    qtbot.keyClick(full_sidebar.tree, Qt.Key.Key_Down)
    qtbot.keyClick(full_sidebar.tree, Qt.Key.Key_Down)
    with qtbot.waitSignal(full_sidebar.opened) as opened:
        qtbot.keyClick(full_sidebar.tree, Qt.Key.Key_Return)
    assert opened.args[0].key == ("/data/trips.parquet",)


def test_what_comes_during_a_search_is_searched_too(full_sidebar, qtbot) -> None:
    qtbot.keyClicks(full_sidebar.field, "trips")
    full_sidebar.show_recent([Path("/data/trips.parquet"), Path("/data/else.csv")])
    full_sidebar.show_stores([StoreEntry(Path("/data/other"), "other", ("trips", "tips"))])
    assert shown(full_sidebar) == ["other", "trips", "trips.parquet"]


def test_a_table_says_how_many_rows_it_has(sidebar) -> None:
    """This holds when stores are listed again; where there is little room, the name is cut instead."""
    sidebar.show_rows({("/data/sample", "flights"): 336_776})
    sidebar.show_stores([StoreEntry(Path("/data/sample"), "sample", ("airlines", "flights"))])
    airlines, flights = (
        sidebar.tree.findItems(name, Qt.MatchFlag.MatchRecursive)[0] for name in ("airlines", "flights")
    )
    assert flights.toolTip(0) == "flights in /data/sample · 336,776 rows"
    assert flights.data(0, Qt.ItemDataRole.AccessibleDescriptionRole) == "336,776 rows"
    assert "rows" not in airlines.toolTip(0)

    def ink(item: QTreeWidgetItem) -> int:
        """Pixels of another colour than the window's, in the right half of a row."""
        row = sidebar.tree.visualItemRect(item)
        row.setLeft(row.center().x())
        image = sidebar.tree.viewport().grab(row).toImage()
        ground = image.pixelColor(image.width() - 1, 0)
        pixels = ((x, y) for x in range(image.width()) for y in range(image.height()))
        return sum(image.pixelColor(x, y) != ground for x, y in pixels)

    assert ink(flights) > 50 and not ink(airlines)


def items_in_memory() -> int:
    gc.collect()
    return sum(type(item) is QTreeWidgetItem for item in gc.get_objects())


def test_entries_that_are_gone_are_let_go_of(sidebar) -> None:
    gc.freeze()  # else what thousands of tests left behind is gone through each time

    def fill(turn: int) -> int:
        files = [Path(f"/data/{turn}-{place}.csv") for place in range(8)]
        sidebar.show_files(files, {str(files[0]): ("a view",)})
        sidebar.show_recent([Path(f"/data/recent-{turn}.csv")])
        sidebar.show_stores([StoreEntry(Path(f"/data/{turn}"), "sample", ("airlines", "flights"))])
        return items_in_memory()

    first = fill(0)
    assert {fill(turn) for turn in range(1, 6)} == {first}


def test_a_clicked_entry_may_change_the_entries(sidebar, qtbot) -> None:
    sidebar.show_files([Path("/data/a.csv"), Path("/data/b.csv")])
    sidebar.opened.connect(lambda entry: sidebar.show_files([Path(entry.key[0])]))
    item = sidebar.tree.findItems("b.csv", Qt.MatchFlag.MatchRecursive)[0]
    point = sidebar.tree.visualItemRect(item).center()
    qtbot.mouseClick(sidebar.tree.viewport(), Qt.MouseButton.LeftButton, pos=point)
    assert [entry.text for entry in sidebar.entries("file")] == ["b.csv"]


def test_a_table_of_a_server_is_listed_as_a_table_by_its_own_name(sidebar) -> None:
    paths = [
        path_or_address(f"sc://host:15002/{name}") for name in ("main.sales.trips", "parquet:/a/b.parquet")
    ]
    sidebar.show_files(paths)
    sidebar.show_recent(paths[:1])
    assert [entry.text for entry in sidebar.entries("file")] == ["trips", "b.parquet"]
    assert [entry.tip for entry in sidebar.entries("recent")] == ["sc://host:15002/main.sales.trips"]


@pytest.mark.slow
def test_it_becomes_wider_with_the_text(qtbot) -> None:
    around = QWidget()
    qtbot.addWidget(around)
    around.resize(1200, 300)
    splitter = SidebarSplitter(around)
    Sidebar(splitter)
    tabs = QWidget(splitter)
    splitter.resize(1200, 300)
    around.show()
    splitter.setSizes([200, 1000])
    theme.current().set_text_scale(1.5)
    wide = splitter.sizes()[0]
    theme.current().set_text_scale(1.0)
    assert wide == 300 and splitter.sizes()[0] == 200
    tabs.setMinimumWidth(920)  # a narrow window
    theme.current().set_text_scale(1.5)
    assert splitter.sizes()[0] < 300
    theme.current().set_text_scale(1.0)
    assert splitter.sizes()[0] == 200
