"""The layout of columns is remembered when a dataset is opened again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PySide6.QtCore import QPoint, Qt
from pytestqt.qtbot import QtBot

from lamella import Store
from lamella.core.query import agg
from lamella.core.query.line import Line
from lamella.core.query.steps import Group
from lamella.ui import theme
from lamella.ui.formats.formats import Format
from lamella.ui.main_window import MainWindow
from lamella.ui.window.dataset_tab import DatasetTab
from tests.ui.fake_memory import FakeMemory

pytestmark = pytest.mark.qt_log_ignore("does not support (raise|grabbing|propagateSizeHints)", extend=True)
Settled = Callable[[], DatasetTab]


def columns(tab: DatasetTab) -> list[str]:
    """The shown columns, from left to right."""
    header, names = tab.grid.column_header, tab.grid.grid_model.names
    places = map(header.logicalIndex, range(header.count()))
    return [names[column] for column in places if not header.isSectionHidden(column)]


def width(tab: DatasetTab, name: str) -> int:
    return tab.grid.column_header.sectionSize(tab.grid.grid_model.names.index(name))


def drag_edge(qtbot: QtBot, tab: DatasetTab, name: str, by: int) -> None:
    header = tab.grid.column_header
    column = tab.grid.grid_model.names.index(name)
    edge = QPoint(header.sectionViewportPosition(column) + header.sectionSize(column) - 1, 6)
    qtbot.mousePress(header.viewport(), Qt.MouseButton.LeftButton, pos=edge)
    qtbot.mouseMove(header.viewport(), edge + QPoint(by, 0))
    qtbot.mouseRelease(header.viewport(), Qt.MouseButton.LeftButton, pos=edge + QPoint(by, 0))


def reopened(window: MainWindow, settled: Settled) -> DatasetTab:
    window.commands["close_tab"].trigger()
    window.commands["reopen_tab"].trigger()
    return settled()


def test_widths_order_pins_formats_and_what_is_hidden_come_back(
    qtbot: QtBot, window: MainWindow, memory: FakeMemory, file_tab: DatasetTab, settled: Settled, go_to
) -> None:
    usual = width(file_tab, "carrier")
    drag_edge(qtbot, file_tab, "carrier", 70)
    assert width(file_tab, "carrier") == usual + 70
    go_to(file_tab, 0, "note")
    window.commands["pin_column"].trigger()
    go_to(file_tab, 0, "delay")
    window.commands["hide_column"].trigger()
    file_tab.grid.set_format("delay", Format("number", digits=2))
    tab = reopened(window, settled)
    assert columns(tab) == ["note", "carrier"] and tab.grid.pinning.count == 1
    assert width(tab, "carrier") == usual + 70 and tab.grid.formats["delay"].digits == 2
    assert list(memory.layouts) == [tab.key]


@pytest.mark.slow
def test_what_nobody_changed_is_not_remembered(
    window: MainWindow, memory: FakeMemory, file_tab: DatasetTab, settled: Settled
) -> None:
    tab = reopened(window, settled)
    tab.column_layout.save()
    assert memory.layouts == {}


def test_columns_of_groups_are_not_taken_for_those_of_the_dataset(
    qtbot: QtBot, window: MainWindow, memory: FakeMemory, file_tab: DatasetTab, settled: Settled, go_to
) -> None:
    go_to(file_tab, 0, "note")
    window.commands["hide_column"].trigger()
    file_tab.apply(Line.of([Group(("carrier", "delay"), (("n", agg.count()),))]))
    tab = settled()
    go_to(tab, 0, "carrier")
    window.commands["hide_column"].trigger()
    tab.grid.set_format("n", Format("number", "space"))
    tab = reopened(window, settled)
    assert columns(tab) == ["delay", "n"]
    tab.apply(Line.of([]))
    qtbot.waitUntil(lambda: columns(tab) == ["delay", "carrier"])
    tab.apply(Line.of([Group(("carrier",), (("n", agg.count()),))]))
    assert settled().grid.formats["n"].separators == "space"


@pytest.mark.slow
def test_the_layout_is_reset(
    qtbot: QtBot, window: MainWindow, memory: FakeMemory, file_tab: DatasetTab, settled: Settled, go_to
) -> None:
    fitted = width(file_tab, "delay")
    drag_edge(qtbot, file_tab, "delay", 90)
    go_to(file_tab, 0, "note")
    window.commands["pin_column"].trigger()
    go_to(file_tab, 0, "carrier")
    window.commands["hide_column"].trigger()
    file_tab.grid.set_format("delay", Format("number", digits=2))
    tab = reopened(window, settled)
    window.commands["reset_layout"].trigger()
    assert columns(tab) == ["delay", "carrier", "note"] and not tab.grid.formats
    assert tab.grid.pinning.count == 0 and width(tab, "delay") <= fitted
    tab = reopened(window, settled)
    assert columns(tab) == ["delay", "carrier", "note"] and memory.layouts == {tab.key: {}}


@pytest.mark.slow
def test_an_edge_that_is_double_clicked_is_fitted_again_next_time(
    qtbot: QtBot, window: MainWindow, file_tab: DatasetTab, settled: Settled
) -> None:
    drag_edge(qtbot, file_tab, "carrier", 70)
    header = file_tab.grid.column_header
    edge = QPoint(header.sectionViewportPosition(1) + header.sectionSize(1) - 1, 6)
    qtbot.mouseDClick(header.viewport(), Qt.MouseButton.LeftButton, pos=edge)
    assert not header.widths


@pytest.mark.slow
def test_widths_are_of_the_normal_text_size(
    qtbot: QtBot, window: MainWindow, file_tab: DatasetTab, settled: Settled
) -> None:
    drag_edge(qtbot, file_tab, "carrier", 100)
    chosen = file_tab.grid.column_header.widths["carrier"]
    theme.current().set_text_scale(1.5)
    assert abs(width(file_tab, "carrier") - 1.5 * chosen) <= 2
    tab = reopened(window, settled)
    assert abs(width(tab, "carrier") - 1.5 * chosen) <= 2


def test_a_layout_that_was_tampered_with_shows_what_can_be_read(
    window: MainWindow, memory: FakeMemory, file: Path, settled: Settled
) -> None:
    memory.layouts[(str(file),)] = {
        "order": ["note", "gone", 7, "note", "delay", "carrier"],
        "widths": {"delay": "wide", "carrier": 10**9, "note": 99, "gone": 50},
        "hidden": {"delay": True},
        "pinned": ["gone", None, "note"],
        "formats": {"delay": {"kind": "no such kind"}, "carrier": 3},
    }
    window.open_paths([file])
    tab = settled()
    assert columns(tab) == ["note", "delay", "carrier"] and tab.grid.pinning.count == 1
    assert width(tab, "note") == theme.current().px(99) and not tab.grid.formats


@pytest.mark.slow
def test_all_columns_are_not_hidden_at_once(
    window: MainWindow, memory: FakeMemory, file: Path, settled: Settled
) -> None:
    memory.layouts[(str(file),)] = {"hidden": ["delay", "carrier", "note"]}
    window.open_paths([file])
    assert columns(settled()) == ["delay", "carrier", "note"]


def test_a_table_remembers_its_ids(window: MainWindow, table_tab: DatasetTab, settled: Settled) -> None:
    assert "_id" not in columns(table_tab)
    window.commands["show_columns"].trigger()
    assert "_id" in columns(reopened(window, settled))


@pytest.mark.slow
def test_ten_thousand_columns_are_laid_out(
    window: MainWindow, memory: FakeMemory, tmp_path: Path, settled: Settled
) -> None:
    path = tmp_path / "wide.parquet"
    names = [f"c{n}" for n in range(10_000)]
    pq.write_table(pa.table({name: [1] for name in names}), path)
    memory.layouts[(str(path),)] = {"hidden": names[1:9_990], "pinned": ["c9999"]}
    window.open_paths([path])
    assert columns(settled()) == ["c9999", "c0", *names[9_990:9_999]]


def test_a_view_is_saved_of_formats_alone(
    qtbot: QtBot, window: MainWindow, table_tab: DatasetTab, settled: Settled
) -> None:
    window.commands["save_view"].trigger()
    assert "nothing to save" in table_tab.messages.label.text()
    table_tab.grid.set_format("delay", Format("number", digits=1))
    window.commands["save_view"].trigger()
    form = table_tab.line_actions.form
    qtbot.waitUntil(form.isVisible)
    qtbot.keyClicks(form.name, "pretty")
    qtbot.keyClick(form.name, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: "Saved as" in table_tab.messages.label.text())
    window.commands["reset_layout"].trigger()
    table_tab.line_actions.show_view("pretty")
    qtbot.waitUntil(lambda: "delay" in table_tab.grid.formats)
    assert settled().line.active == ()


@pytest.mark.slow
def test_the_layout_of_a_table_is_saved_without_its_store(
    window: MainWindow, memory: FakeMemory, store: Store, table_tab: DatasetTab, go_to
) -> None:
    """Columns may be hidden at the moment when the window closes."""
    go_to(table_tab, 0, "note")
    store.close()
    window.commands["hide_column"].trigger()
    table_tab.column_layout.save()
    assert memory.layouts[table_tab.key]["hidden"] == ["note"]
