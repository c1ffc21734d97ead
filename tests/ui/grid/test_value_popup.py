"""Nested values as a tree: what is in it, and what can be done from the keyboard."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from lamella.core.arrow.nested_values import Place
from lamella.ui import theme
from lamella.ui.grid.value_popup import AT_ONCE, Node, ValuePopup, ValueTree, is_expandable, short_text

STOP = {"name": "JFK", "gates": [{"no": 1, "open": True}, {"no": 2, "open": None}], "geo": {"lat": 1.5}}
CONTROL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
NESTED = [
    pa.struct([("a", pa.int64())]),
    pa.list_(pa.int64()),
    pa.large_list(pa.int64()),
    pa.list_(pa.int64(), 2),
    pa.list_view(pa.int64()),
    pa.large_list_view(pa.int64()),
    pa.map_(pa.string(), pa.int64()),
]


def node(value, name: str = "stop", type_: pa.DataType | None = None) -> Node:
    values = pa.array([value], type_)
    return Node(name, values, Place.of(name, values.type))


@pytest.mark.parametrize("type_", NESTED, ids=str)
def test_every_nested_type_is_opened(type_) -> None:
    value = {"a": 1} if pa.types.is_struct(type_) else [("k", 7)] if pa.types.is_map(type_) else [1, 2]
    opened = node(value, type_=type_)
    assert is_expandable(type_) and opened.num_children == len(value)
    assert all(child.num_children == 0 and not child.is_nested for child in opened.children(0, 10))
    assert node(None, type_=type_).num_children == 0
    sliced = pa.array([None, value, value], type_).slice(1, 1)
    assert short_text(sliced) == short_text(opened.value)


def test_paths_lead_into_structs_and_lists_and_not_into_maps() -> None:
    stop = node(STOP)
    _name, gates, geo = stop.children(0, 10)
    second = next(gates.children(1, 1))
    assert next(geo.children(0, 1)).place.name == "stop.geo.lat"
    assert next(second.children(0, 1)).place.name == "stop.gates.1.no"
    entry = next(node([("k", 7)], type_=pa.map_(pa.string(), pa.int64())).children(0, 1))
    assert (entry.name, short_text(entry.value), entry.place) == ("k", "7", None)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (STOP, "{name: JFK, gates: […], geo: {…}}"),
        ({"a": None}, "{a: NULL}"),
        ([], "[]"),
        ([1, 2, 3, 4, 5], "5 items · [1, 2, 3, 4, …]"),
        ([[1], []], "2 items · [[…], []]"),
    ],
)
def test_a_nested_value_in_one_line(value, text) -> None:
    assert short_text(pa.array([value])) == text


def test_the_line_of_a_huge_value_looks_at_its_first_items_alone() -> None:
    huge = pa.ListArray.from_arrays(pa.array([0, 5_000_000]), pa.nulls(5_000_000, pa.int64()))
    assert short_text(huge) == "5,000,000 items · [NULL, NULL, NULL, NULL, …]"


def test_the_line_of_a_long_text_is_its_beginning() -> None:
    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        text = short_text(pa.array(["é" * 100_000], kind))
        assert text.startswith("éééé") and len(text) == 200 and text.endswith("…")


def test_fields_of_a_row_in_the_middle_are_those_of_that_row() -> None:
    values = pa.array([{"a": n, "b": [n]} for n in range(9)]).slice(4, 1)
    assert [short_text(child.value) for child in Node("x", values, None).children(0, 2)] == [
        "4",
        "1 item · [4]",
    ]


@pytest.fixture
def popup(qtbot):
    owner = QWidget()
    qtbot.addWidget(owner)
    owner.resize(300, 200)
    owner.show()

    def open_popup(value, type_: pa.DataType | None = None) -> ValuePopup:
        widget = ValuePopup(node(value, type_=type_), owner)
        widget.open_at(QRect(20, 20, 100, 24))
        return widget

    return open_popup


def names(tree: ValueTree) -> list[str]:
    root = tree.topLevelItem(0)
    return [root.child(place).text(0) for place in range(root.childCount())]


def test_a_long_list_is_made_in_parts(popup, qtbot) -> None:
    tree = popup(list(range(1000))).tree
    assert len(names(tree)) == AT_ONCE + 1
    assert tree.topLevelItem(0).child(AT_ONCE).text(1) == f"{1000 - AT_ONCE:,} more"
    tree.setCurrentItem(tree.topLevelItem(0).child(AT_ONCE))
    qtbot.keyClick(tree, Qt.Key.Key_Return)
    assert len(names(tree)) == 2 * AT_ONCE + 1 and tree.currentItem().text(0) == str(AT_ONCE)
    for _ in range(3):
        tree.setCurrentItem(tree.topLevelItem(0).child(tree.topLevelItem(0).childCount() - 1))
        qtbot.keyClick(tree, Qt.Key.Key_Return)
    assert names(tree) == [str(number) for number in range(1000)]


def test_the_keyboard_opens_and_closes_what_is_inside(popup, qtbot) -> None:
    tree = popup(STOP).tree
    assert names(tree) == ["name", "gates", "geo"] and tree.node.name == "name"
    qtbot.keyClick(tree, Qt.Key.Key_Down)
    gates = tree.currentItem()
    assert gates.childCount() == 0
    qtbot.keyClick(tree, Qt.Key.Key_Return)
    assert gates.isExpanded() and gates.childCount() == 2
    qtbot.keyClick(tree, Qt.Key.Key_Right)
    qtbot.keyClick(tree, Qt.Key.Key_Down)
    assert tree.node.place.name in ("stop.gates.0", "stop.gates.1")
    qtbot.keyClick(tree, Qt.Key.Key_Left)
    qtbot.keyClick(tree, Qt.Key.Key_Left)
    assert not gates.isExpanded()


def test_paths_are_copied_and_values_asked_for_by_keys(popup, qtbot) -> None:
    opened = popup(STOP)
    qtbot.keyClick(opened.tree, Qt.Key.Key_C, CONTROL | SHIFT)
    assert QGuiApplication.clipboard().text() == "stop.name"
    with qtbot.waitSignal(opened.copy_requested) as signal:
        qtbot.keyClick(opened.tree, Qt.Key.Key_C, CONTROL)
    assert signal.args[0].name == "name" and opened.isVisible()


@pytest.mark.parametrize(("key", "modifier"), [(Qt.Key.Key_Escape, None), (Qt.Key.Key_Up, "alt")])
def test_keys_close_it(popup, qtbot, key, modifier) -> None:
    opened = popup(STOP)
    keys = Qt.KeyboardModifier.AltModifier if modifier else Qt.KeyboardModifier.NoModifier
    with qtbot.waitSignal(opened.closed):
        qtbot.keyClick(opened.tree, key, keys)


def test_what_can_be_done_depends_on_the_value(popup, qtbot) -> None:
    opened = popup(STOP)

    def can() -> tuple[bool, bool]:
        return opened.filter.isEnabled(), opened.column.isEnabled()

    assert can() == (True, True)
    qtbot.keyClick(opened.tree, Qt.Key.Key_Down)
    assert can() == (False, True) and opened.path.text() == "stop.gates"
    qtbot.keyClick(opened.tree, Qt.Key.Key_Right)
    opened.tree.setCurrentItem(opened.tree.currentItem().child(0))
    assert can() == (False, False)
    in_map = popup([("k", 7)], pa.map_(pa.string(), pa.int64()))
    assert not in_map.filter.isEnabled() and not in_map.copy_path.isEnabled() and in_map.copy.isEnabled()


def test_a_struct_of_very_many_fields_and_one_nested_very_deep(popup) -> None:
    wide = popup({f"f{n}": n for n in range(5000)})
    assert len(names(wide.tree)) == AT_ONCE + 1
    deep = json.loads("[" * 60 + "1" + "]" * 60)
    item = popup(deep).tree.topLevelItem(0)
    depth = 0
    while item is not None:
        item.setExpanded(True)
        item, depth = item.child(0), depth + 1
    assert depth == 61


def test_names_and_texts_that_would_break_the_line(popup) -> None:
    tree = popup({"a\nb": "x\ty", "": 1}).tree
    assert all("\n" not in name for name in names(tree)) and names(tree)[1] == "(no name)"


def test_its_colours_follow_the_theme(popup) -> None:
    tree, look = popup({"lat": 50.7, "lon": None}).tree, theme.current()
    look.set_mode("light" if look.dark else "dark")
    colors = look.color("muted"), look.color("faint")
    root = tree.topLevelItem(0)
    shown = root.child(0).foreground(0).color(), root.child(1).foreground(1).color()
    look.set_mode("system")
    assert shown == colors
