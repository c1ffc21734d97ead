"""The diagram of a store: relations seen, drawn from column to column, suggested, checked, renamed and taken
back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QImage, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot

from lamella import Store
from lamella.core.scan.snapshot import Column
from lamella.ui import theme
from lamella.ui.main_window import MainWindow
from lamella.ui.relations.canvas import Canvas
from lamella.ui.relations.form import RelationForm
from lamella.ui.relations.lines import LABEL
from lamella.ui.relations.relations_tab import RelationsTab
from lamella.ui.relations.schema import Connection, StoreShape, TableShape
from lamella.ui.widgets.name_form import NAME_WIDTH
from lamella.ui.window.dataset_tab import DatasetTab
from tests.ui.fake_memory import FakeMemory

LEFT = Qt.MouseButton.LeftButton
pytestmark = pytest.mark.qt_log_ignore("does not support (raise|grabbing|propagateSizeHints)", extend=True)


@pytest.fixture
def airlines(store: Store) -> None:
    """Flights of AA, UA, of none (null) and of one that is missing (XX); people with chiefs."""
    carriers = ["AA", "UA", None, "XX"]
    flights = {
        "number": list(range(40)),
        "carrier": [carriers[i % 4] for i in range(40)],
        **{f"extra{n}": [0.5] * 40 for n in range(15)},
    }
    store.create_table("airlines", {"code": ["AA", "UA", "ZZ"], "name": ["American", "United", "Nobody"]})
    store.create_table("flights", pa.table(flights))
    store.create_table("people", {"name": ["Ada", "Ben", "Cleo", "Dan"], "chief": [None, 0, 0, 1]})
    store.relations.declare("flights.carrier", "airlines.code", "carrier")
    store.relations.declare("people.chief", "people._id", "chief")


@pytest.fixture
def diagram(qtbot: QtBot, window: MainWindow, airlines: None) -> RelationsTab:
    window.library.refresh()
    window.commands["relations"].trigger()
    qtbot.waitUntil(lambda: window.diagrams.current is not None)
    current = window.diagrams.current
    assert current is not None
    settle(qtbot, current)
    return current


def settle(qtbot: QtBot, diagram: RelationsTab) -> None:
    def is_settled() -> bool:
        return bool(diagram.shape.tables) and not diagram.is_busy and not diagram.tasks.writing

    qtbot.waitUntil(is_settled)


def point_of(canvas: Canvas, table: str, column: str = "") -> QPoint:
    """The point of a column of a box, or of its head, in the viewport."""
    box = canvas.boxes[table]
    y = box.height_of(column) if column else box.pos().y() + box.head / 2
    return canvas.mapFromScene(QPointF(box.pos().x() + box.size[0] / 2, y))


def drag(canvas: Canvas, start: QPoint, end: QPoint) -> None:
    """QTest's moves carry no pressed button."""
    port = canvas.viewport()
    for kind, at, button in (
        (QMouseEvent.Type.MouseButtonPress, start, LEFT),
        (QMouseEvent.Type.MouseMove, (start + end) / 2, Qt.MouseButton.NoButton),
        (QMouseEvent.Type.MouseMove, end, Qt.MouseButton.NoButton),
        (QMouseEvent.Type.MouseButtonRelease, end, LEFT),
    ):
        buttons_down = Qt.MouseButton.NoButton if kind is QMouseEvent.Type.MouseButtonRelease else LEFT
        place = QPointF(at)
        event = QMouseEvent(
            kind, place, QPointF(port.mapToGlobal(at)), button, buttons_down, Qt.KeyboardModifier.NoModifier
        )
        QApplication.sendEvent(port, event)


def form_of(qtbot: QtBot, diagram: RelationsTab) -> RelationForm:
    qtbot.waitUntil(lambda: bool(diagram.findChildren(RelationForm)))
    return diagram.findChildren(RelationForm)[-1]


def names(diagram: RelationsTab) -> list[str]:
    return [relation.name for relation in diagram.store.relations]


def test_tables_and_relations_are_drawn_and_checked(diagram: RelationsTab, window: MainWindow) -> None:
    assert diagram.canvas.boxes.keys() == {"airlines", "flights", "people"}
    carrier = diagram.connection("carrier")
    assert carrier is not None and carrier.cardinality == ("n", "1") and carrier.dangling == 10
    assert carrier.sentence == "Many rows of flights point at one row of airlines"
    assert diagram.connection("chief").cardinality == ("n", "1")  # type: ignore[union-attr]
    assert diagram.status == "3 tables · 2 relations · 10 rows point at nothing"
    assert window.status.text.text() == diagram.status
    places = [box.area() for box in diagram.canvas.boxes.values()]
    assert len({place[:2] for place in places}) == 3
    assert diagram.canvas.boxes["flights"].columns[0].name == "carrier", "keys stand first"


def test_a_click_on_a_line_says_what_it_is_and_lists_rows_that_point_at_nothing(
    qtbot: QtBot, diagram: RelationsTab, window: MainWindow, settled: Callable[[], DatasetTab]
) -> None:
    line = diagram.canvas.lines["carrier"]
    at = diagram.canvas.mapFromScene(line.middle)
    qtbot.mouseClick(diagram.canvas.viewport(), LEFT, pos=at)
    assert diagram.panel.connection_name == "carrier" and line.is_chosen
    assert "10 of 40 rows point at nothing; 10 have no key (NULL)" in diagram.panel.about.text()
    button = diagram.panel.buttons["dangling"]
    assert button.text() == "Show the 10 rows"
    qtbot.mouseClick(button, LEFT)
    qtbot.waitUntil(lambda: window.tabs.dataset_tab is not None and bool(window.tabs.dataset_tab.line.steps))
    tab = settled()
    assert tab.name == "flights" and tab.view is not None and tab.view.num_rows == 10
    assert set(tab.view.page(0, 10, ["carrier"]).column(0).to_pylist()) == {"XX"}
    assert tab.line.steps[-1].step.how == "anti"  # type: ignore[union-attr]


@pytest.mark.slow
def test_a_label_leaves_the_symbol_of_its_line_in_sight(diagram: RelationsTab) -> None:
    line = diagram.canvas.lines["carrier"]
    flights, width = diagram.canvas.boxes["flights"], theme.current().px(98)
    left, top = flights.pos().x(), flights.pos().y()
    edge = left + flights.size[0]
    for down in (-60, -20, 20, 60):
        diagram.canvas.restore_places({"flights": (left, top), "airlines": (edge + 128, top + down)})
        assert line.middle.x() - width / 2 > edge + 10


def test_labels_of_lines_between_the_same_tables_do_not_cover_each_other(qtbot: QtBot) -> None:
    canvas = Canvas()
    qtbot.addWidget(canvas)
    columns = tuple(Column(name, pa.int64(), n) for n, name in enumerate(["id", "head", "department"]))
    names = ("departments", "sites", "employees")
    shape = StoreShape(tuple(TableShape(name, columns, 9) for name in names), ())
    lines = [
        Connection("works in", "employees", ("department",), "departments", ("id",)),
        Connection("led by", "departments", ("head",), "employees", ("id",)),
    ]
    with qtbot.waitSignal(canvas.built):
        canvas.show_shape(shape, {name: (280.0 * n, 0.0) for n, name in enumerate(names)}, lines)
    first, second = (canvas.lines[name].middle for name in ("works in", "led by"))
    width, height = (theme.current().px(side) for side in LABEL)
    assert abs(first.x() - second.x()) >= width or abs(first.y() - second.y()) >= height


def test_dragging_from_column_to_column_declares_a_relation_and_undo_takes_it_back(
    qtbot: QtBot, diagram: RelationsTab, window: MainWindow
) -> None:
    canvas = diagram.canvas
    canvas.zoom_to(0.9)
    drag(canvas, point_of(canvas, "people", "name"), point_of(canvas, "airlines", "name"))
    form = form_of(qtbot, diagram)
    assert form.columns == (["people.name"], ["airlines.name"])
    qtbot.waitUntil(
        lambda: "0 of 4 rows point at a row of airlines, 4 point at nothing" in form.outcome.text()
    )
    form.outcome.setText("A long message. " * 30)
    box = form.pairs.rows[0].boxes[0]
    qtbot.waitUntil(lambda: form.height() >= form.layout().totalHeightForWidth(form.width()))
    assert box.visibleRegion().boundingRect().height() == box.height() >= box.minimumSizeHint().height()
    form.name.setText("namesake")
    qtbot.keyClick(form, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: names(diagram) == ["carrier", "chief", "namesake"])
    qtbot.waitUntil(lambda: "namesake" in canvas.lines)
    settle(qtbot, diagram)
    assert window.commands["undo"].isEnabled() and "declare people.name" in window.commands["undo"].text()
    window.commands["undo"].trigger()
    qtbot.waitUntil(lambda: names(diagram) == ["carrier", "chief"])
    settle(qtbot, diagram)
    window.commands["redo"].trigger()
    qtbot.waitUntil(lambda: names(diagram)[-1] == "namesake")


def test_columns_that_never_match_are_refused_with_one_that_would(
    qtbot: QtBot, diagram: RelationsTab
) -> None:
    canvas = diagram.canvas
    drag(canvas, point_of(canvas, "people", "chief"), point_of(canvas, "airlines", "code"))
    form = form_of(qtbot, diagram)
    assert form.reason.text().startswith("people.chief is int64, airlines.code is string.")
    assert "Did you mean airlines._id?" in form.reason.text().replace("\u200b", "")
    assert not form.declare.isEnabled()
    box = form.pairs.rows[0].boxes[1]
    box.setText("cdoe")
    box.editingFinished.emit()
    assert "Did you mean 'code'?" in form.reason.text()
    qtbot.mouseClick(form.swap, LEFT)
    assert form.columns == (["airlines.cdoe"], ["people.chief"])
    form.reject()
    assert names(diagram) == ["carrier", "chief"]


def test_a_drop_on_a_table_proposes_its_column(qtbot: QtBot, diagram: RelationsTab) -> None:
    diagram.store.relations.drop("carrier")
    diagram.reload()
    settle(qtbot, diagram)
    canvas = diagram.canvas
    drag(canvas, point_of(canvas, "people", "chief"), point_of(canvas, "flights"))
    form = form_of(qtbot, diagram)
    assert form.columns[0] == ["people.chief"]
    form.reject()


def test_a_key_of_several_columns_is_declared_with_the_keyboard(
    qtbot: QtBot, diagram: RelationsTab, store: Store
) -> None:
    store.create_table("fares", {"line": ["AA", "UA"], "number": [0, 1], "euros": [9, 8]})
    diagram.reload()
    qtbot.waitUntil(lambda: "fares" in diagram.canvas.boxes)
    settle(qtbot, diagram)
    diagram.canvas.choose_table("flights")
    qtbot.mouseClick(diagram.bar.new, LEFT)
    form = form_of(qtbot, diagram)
    assert form.table.currentText() == "flights"
    form.other_box.setCurrentIndex(form.other_box.findText("fares"))
    form.other_box.activated.emit(form.other_box.currentIndex())
    qtbot.mouseClick(form.add, LEFT)
    for row, (source, target) in zip(
        form.pairs.rows, [("carrier", "line"), ("number", "number")], strict=True
    ):
        for box, text in zip(row.boxes, (source, target), strict=True):
            box.clear()
            qtbot.keyClicks(box, text)
            box.completer().popup().hide()
            box.editingFinished.emit()
    qtbot.keyClick(form.pairs.rows[1].boxes[1], Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: len(store.relations) == 3)
    assert str(store.relations[2]) == (
        "flights_carrier_number: flights.(carrier, number) → fares.(line, number)"
    )


@pytest.mark.slow
def test_suggestions_are_dashed_with_reasons_and_taken_with_a_click(
    qtbot: QtBot, diagram: RelationsTab
) -> None:
    diagram.store.create_table("fleet", {"airline": ["AA", "UA", "ZZ", "AA"], "seats": [100, 120, 90, 80]})
    diagram.reload()
    qtbot.waitUntil(lambda: "fleet" in diagram.canvas.boxes)
    settle(qtbot, diagram)
    qtbot.mouseClick(diagram.bar.suggest, LEFT)
    settle(qtbot, diagram)
    name = next(connection.name for connection in diagram.checks.connections if connection.is_suggested)
    assert diagram.canvas.lines[name].connection.text == "fleet.airline → airlines.code"
    diagram.panel.chosen.emit(name)
    assert "different values are there" in diagram.panel.about.text()
    boxes = diagram.canvas.boxes.values()
    assert all(diagram.canvas.lines[name].zValue() > box.zValue() for box in boxes)
    qtbot.mouseClick(diagram.panel.buttons["accept"], LEFT)
    qtbot.waitUntil(lambda: "fleet_airline" in names(diagram))
    settle(qtbot, diagram)
    assert not any(connection.is_suggested for connection in diagram.checks.connections)


def test_after_a_suggestion_the_next_one_is_selected(qtbot: QtBot, diagram: RelationsTab) -> None:
    for name in ("crew", "fleet"):
        diagram.store.create_table(name, {"airline": ["AA", "UA", "ZZ", "AA"], "seats": [100, 120, 90, 80]})
    diagram.reload()
    qtbot.waitUntil(lambda: "fleet" in diagram.canvas.boxes)
    settle(qtbot, diagram)
    qtbot.mouseClick(diagram.bar.suggest, LEFT)
    settle(qtbot, diagram)
    offered = [connection for connection in diagram.checks.connections if connection.is_suggested]
    assert len(offered) > 1
    diagram.panel.chosen.emit(offered[0].name)
    qtbot.mouseClick(diagram.panel.buttons["accept"], LEFT)
    qtbot.waitUntil(lambda: diagram.panel.columns.text() == offered[1].text)
    settle(qtbot, diagram)
    qtbot.mouseClick(diagram.panel.buttons["dismiss"], LEFT)
    settle(qtbot, diagram)
    left = [connection.text for connection in diagram.checks.connections if connection.is_suggested]
    assert diagram.panel.columns.text() == (left[0] if left else "")


def test_relations_of_the_same_two_tables_are_listed_with_their_columns(
    qtbot: QtBot, window: MainWindow, store: Store, airlines: None
) -> None:
    store.relations.declare("flights.number", "airlines._id", "number")
    window.library.refresh()
    window.commands["relations"].trigger()
    qtbot.waitUntil(lambda: window.diagrams.current is not None)
    current = window.diagrams.current
    assert current is not None
    settle(qtbot, current)
    tops = current.panel.list.topLevelItem(0)
    assert [tops.child(row).text(0) for row in range(tops.childCount())] == [
        "carrier: flights.carrier → airlines.code",
        "chief",
        "number: flights.number → airlines._id",
    ]


@pytest.mark.slow
def test_renaming_and_removing_with_keys_and_undo(
    qtbot: QtBot, diagram: RelationsTab, window: MainWindow
) -> None:
    tree = diagram.panel.list
    tree.setCurrentItem(tree.topLevelItem(0).child(0))
    assert diagram.canvas.lines["carrier"].is_chosen
    dialog = diagram.ask_name("carrier")
    assert dialog.width() >= NAME_WIDTH, "window managers would cut its title"
    dialog.setTextValue("flown by")
    dialog.accept()
    qtbot.waitUntil(lambda: names(diagram) == ["flown by", "chief"])
    settle(qtbot, diagram)
    tree.setCurrentItem(tree.topLevelItem(0).child(0))
    qtbot.keyClick(tree, Qt.Key.Key_Delete)
    qtbot.waitUntil(lambda: names(diagram) == ["chief"])
    settle(qtbot, diagram)
    assert diagram.store["flights"].num_rows == 40
    qtbot.mouseClick(diagram.messages.buttons[0], LEFT)
    qtbot.waitUntil(lambda: "flown by" in names(diagram))
    settle(qtbot, diagram)
    window.commands["undo"].trigger()
    qtbot.waitUntil(lambda: "carrier" in names(diagram))


def test_boxes_are_moved_and_stay_where_they_were_put(
    qtbot: QtBot, diagram: RelationsTab, window: MainWindow, memory: FakeMemory
) -> None:
    canvas = diagram.canvas
    before = canvas.places["people"]
    start = point_of(canvas, "people")
    drag(canvas, start, start + QPoint(60, 40))
    after = canvas.places["people"]
    assert after[0] > before[0] + 30 and after[1] > before[1] + 20
    window.tabs.close_at(window.tabs.widgets.index(diagram))
    window.commands["relations"].trigger()
    qtbot.waitUntil(
        lambda: window.diagrams.current is not None and bool(window.diagrams.current.shape.tables)
    )
    again = window.diagrams.current
    assert again is not None and again.canvas.places["people"] == pytest.approx(after, abs=1)
    settle(qtbot, again)
    again.canvas.arrange()
    assert again.canvas.places["people"] != pytest.approx(after, abs=1)
    window.commands["undo"].trigger()
    assert again.canvas.places["people"] == pytest.approx(after, abs=1)
    assert again.undo_text == "move people"  # which was before the tab was closed
    window.commands["undo"].trigger()
    assert again.canvas.places["people"] == pytest.approx(before, abs=1)
    settle(qtbot, again)


def test_an_act_on_a_relation_that_is_gone_does_not_bar_the_way_back(
    qtbot: QtBot, diagram: RelationsTab, window: MainWindow, store: Store
) -> None:
    before = diagram.canvas.places["people"]
    start = point_of(diagram.canvas, "people")
    drag(diagram.canvas, start, start + QPoint(60, 40))
    diagram.ask_name("carrier").textValueSelected.emit("flown by")
    qtbot.waitUntil(lambda: diagram.undo_text == "rename carrier to flown by")
    settle(qtbot, diagram)
    store.relations.drop("flown by")  # by a program, say
    window.commands["undo"].trigger()
    qtbot.waitUntil(lambda: diagram.undo_text == "move people")
    assert "no relation 'flown by'" in diagram.messages.label.text()
    window.commands["undo"].trigger()
    assert diagram.canvas.places["people"] == pytest.approx(before, abs=1)
    settle(qtbot, diagram)


def test_the_keyboard_goes_from_table_to_table_zooms_and_opens(
    qtbot: QtBot, diagram: RelationsTab, window: MainWindow, settled: Callable[[], DatasetTab]
) -> None:
    canvas = diagram.canvas
    canvas.choose_table("flights")
    qtbot.keyClick(canvas, Qt.Key.Key_Right)
    assert canvas.current is canvas.boxes["airlines"]
    place = canvas.places["airlines"]
    qtbot.keyClick(canvas, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    assert canvas.places["airlines"] == (place[0], place[1] + 16)
    scale = canvas.scale_now
    qtbot.keyClick(canvas, Qt.Key.Key_Plus)
    assert canvas.scale_now > scale
    qtbot.keyClick(canvas, Qt.Key.Key_0)
    assert canvas.scale_now <= 1
    qtbot.keyClick(canvas, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: window.tabs.dataset_tab is not None)
    assert settled().name == "airlines"


@pytest.mark.slow
def test_long_tables_scroll_and_are_searched(qtbot: QtBot, diagram: RelationsTab) -> None:
    box = diagram.canvas.boxes["flights"]
    diagram.canvas.choose_table("flights")
    at = QPointF(diagram.canvas.mapFromScene(box.sceneBoundingRect().center()))
    port, none = diagram.canvas.viewport(), Qt.KeyboardModifier.NoModifier
    wheel = QWheelEvent(
        at, QPointF(port.mapToGlobal(at.toPoint())), QPoint(), QPoint(0, -120), Qt.MouseButton.NoButton,
        none, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    first = box.column_at(QPointF(20, box.head + 4))
    QApplication.sendEvent(port, wheel)
    assert box.column_at(QPointF(20, box.head + 4)) != first
    qtbot.keyClicks(diagram.bar.field, "extra14")
    assert box.is_found and box.marked_columns == ["extra14"] and diagram.canvas.boxes["people"].is_faded
    columns = [box.column_at(QPointF(20, box.head + (n + 0.5) * box.row)) for n in range(12)]
    assert "extra14" in columns
    qtbot.keyClick(diagram.bar.field, Qt.Key.Key_Return)
    diagram.bar.field.clear()
    assert not box.is_found and not diagram.canvas.boxes["people"].is_faded


@pytest.mark.slow
def test_a_table_that_is_dropped_meanwhile_goes_with_its_lines(
    qtbot: QtBot, diagram: RelationsTab, store: Store
) -> None:
    store.drop_table("airlines")
    diagram.look()
    qtbot.waitUntil(lambda: "airlines" not in diagram.canvas.boxes)
    assert diagram.canvas.lines.keys() == {"chief"} and diagram.connection("carrier") is None
    store["people"].columns.drop("chief")
    diagram.reload()
    qtbot.waitUntil(lambda: bool(diagram.connection("chief").problem))  # type: ignore[union-attr]
    settle(qtbot, diagram)
    diagram.panel.chosen.emit("chief")
    assert "Cannot be followed: column 'chief' of people was dropped" in diagram.panel.about.text()
    assert diagram.panel.buttons["dangling"].isHidden() and not diagram.panel.buttons["remove"].isHidden()


@pytest.mark.slow
def test_a_commit_to_a_table_is_checked_again(
    qtbot: QtBot, diagram: RelationsTab, window: MainWindow, store: Store
) -> None:
    table = store["airlines"]
    window.commits.run(table, lambda t, job: t.insert({"code": "XX", "name": "New"}), "Adding")
    qtbot.waitUntil(lambda: diagram.connection("carrier").check is not None  # type: ignore[union-attr]
                    and diagram.connection("carrier").dangling == 0)  # type: ignore[union-attr]  # fmt: skip
    settle(qtbot, diagram)


@pytest.mark.slow
def test_menus_of_tables_lines_and_the_ground(qtbot: QtBot, diagram: RelationsTab) -> None:
    def entries(kind: str, name: str) -> list[str]:
        diagram.canvas.menu_requested.emit(kind, name, QPoint(10, 10))
        menu = diagram.findChildren(QMenu, options=Qt.FindChildOption.FindDirectChildrenOnly)[-1]
        texts = [action.text() for action in menu.actions() if action.text()]
        menu.close()
        return texts

    assert entries("table", "flights") == ["Open", "New relation from here…"]
    assert entries("connection", "carrier") == [
        *("Open joined", "Check", "Rename…", "Remove", "Show the 10 rows that point at nothing"),
        *("Open flights", "Open airlines"),
    ]
    assert entries("", "") == ["New relation…", "Suggest relations", "Arrange", "Fit"]


def test_the_diagram_is_exported_as_svg_and_png(qtbot: QtBot, diagram: RelationsTab, tmp_path: Path) -> None:
    for suffix in ("svg", "png"):
        diagram.write_picture(tmp_path / f"d.{suffix}")
        qtbot.waitUntil(lambda suffix=suffix: (tmp_path / f"d.{suffix}").exists())
        qtbot.waitUntil(lambda: not diagram.tasks.running)
    drawing = (tmp_path / "d.svg").read_text("utf-8")
    assert all(f">{text}</text>" in drawing for text in ("flights", "carrier", "10 missing"))
    assert QImage(str(tmp_path / "d.png")).width() > 400
    diagram.write_picture(tmp_path / "nowhere" / "d.svg")
    qtbot.waitUntil(lambda: "the drawing cannot be written" in diagram.messages.label.text())


@pytest.mark.slow
def test_five_hundred_tables_are_drawn_without_meeting(qtbot: QtBot) -> None:
    canvas = Canvas()
    qtbot.addWidget(canvas)
    canvas.resize(900, 600)
    columns = tuple(Column(f"c{n}", pa.int64(), n) for n in range(20))
    shape = StoreShape(tuple(TableShape(f"t{n}", columns, n) for n in range(500)), ())
    lines = [Connection(f"r{n}", f"t{n}", ("c1",), f"t{n // 7}", ("c0",)) for n in range(1, 300)]
    with qtbot.waitSignal(canvas.built):
        canvas.show_shape(shape, {}, lines)
    canvas.arrange()
    boxes = sorted(box.area() for box in canvas.boxes.values())
    for place, (x, y, width, height) in enumerate(boxes):
        for left, top, _, down in boxes[place + 1 :]:
            if left >= x + width:
                break
            assert top >= y + height or y >= top + down
    assert len(canvas.lines) == 299
    canvas.fit()
    canvas.show_box("t250")
    assert canvas.boxes["t250"].isVisible() and canvas.scale_now > 0.5


@pytest.mark.slow
def test_the_diagram_is_of_the_store_of_the_console_in_front(
    qtbot: QtBot, window: MainWindow, store: Store, tmp_path: Path
) -> None:
    with Store.open(tmp_path / "other") as other:
        other.create_table("t", {"n": [1]})
    window.open_paths([tmp_path / "other"])
    qtbot.waitUntil(lambda: len(window.library.stores) == 2)
    window.commands["sql"].trigger()
    console = window.consoles.current
    assert console is not None
    console.names.store = str(tmp_path / "other")
    assert console.names.current is not None
    window.commands["relations"].trigger()
    qtbot.waitUntil(lambda: window.diagrams.current is not None)
    assert window.diagrams.current.store.path == tmp_path / "other"


def test_a_store_without_tables_says_what_to_do(qtbot: QtBot, window: MainWindow, store: Store) -> None:
    window.diagrams.show(store.path)
    qtbot.waitUntil(lambda: window.diagrams.current is not None and window.diagrams.current.empty.isVisible())
    assert "Import a file" in window.diagrams.current.empty.text()  # type: ignore[union-attr]
