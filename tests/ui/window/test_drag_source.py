"""Drags out of the window: selected rows, a tab, an entry of the sidebar."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, Qt, QUrl
from PySide6.QtGui import QDrag
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from lamella.ui.main_window import MainWindow
from lamella.ui.window import drag_source
from lamella.ui.window.dataset_tab import DatasetTab
from lamella.ui.window.drag_source import DraggedCells

Left, NoKeys = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier


class Target:
    """Replaces the window system, whose drags grab the mouse; records the dragged data and the target."""

    def __init__(self) -> None:
        self.takes = True
        self.urls: list[QUrl] = []
        self.text = ""
        self.drags = 0
        self.data: QMimeData | None = None

    def take(self, drag: QDrag) -> Qt.DropAction:
        self.drags += 1
        self.data = drag.mimeData()
        if not self.takes:
            return Qt.DropAction.IgnoreAction
        self.urls, self.text = self.data.urls(), self.data.text()
        return Qt.DropAction.CopyAction

    @property
    def rows(self) -> list[list[str]]:
        with Path(self.urls[0].toLocalFile()).open(newline="") as file:
            return list(csv.reader(file))


@pytest.fixture
def target(monkeypatch: pytest.MonkeyPatch) -> Target:
    drop_target = Target()
    monkeypatch.setattr(QDrag, "exec", lambda drag, _actions: drop_target.take(drag))
    return drop_target


@pytest.fixture
def pull(qtbot: QtBot) -> Callable[..., None]:
    """Press at a point of the grid, move, and release."""

    def act(tab: DatasetTab, start: QPoint, by: QPoint, keys: Qt.KeyboardModifier = NoKeys) -> None:
        view = tab.grid.viewport()
        qtbot.mousePress(view, Left, keys, start)
        for part in range(1, 5):
            qtbot.mouseMove(view, start + by * part / 4)
        qtbot.mouseRelease(view, Left, keys, start + by)

    return act


def center(tab: DatasetTab, row: int, name: str) -> QPoint:
    place = tab.grid.place(tab.grid.grid_model.names.index(name))
    rect = tab.grid.cell_rect((row, place))
    assert rect is not None
    return rect.center()


def bottom_edge(tab: DatasetTab, row: int, name: str) -> QPoint:
    place = tab.grid.place(tab.grid.grid_model.names.index(name))
    rect = tab.grid.cell_rect((row, place))
    assert rect is not None
    return QPoint(rect.center().x(), rect.bottom())


FAR = QPoint(60, 80)


def test_a_range_dragged_by_its_border_is_a_file(file_tab: DatasetTab, go_to, target: Target, pull) -> None:
    go_to(file_tab, 1, "carrier")
    file_tab.grid.selection.extend(3, file_tab.grid.place(file_tab.grid.grid_model.names.index("note")))
    before = list(file_tab.grid.selection.blocks)
    pull(file_tab, bottom_edge(file_tab, 3, "note"), FAR)
    assert target.drags == 1 and file_tab.grid.selection.blocks == before
    assert target.rows == [["carrier", "note"], ["UA", "row 1"], ["", "row 2"], ["", "row 3"]]
    assert target.text.splitlines() == ["carrier\tnote", "UA\trow 1", "\trow 2", "\trow 3"]
    assert Path(target.urls[0].toLocalFile()).name == "flights 3 rows.csv"
    assert Path(target.urls[0].toLocalFile()).read_text().endswith(',row 2\n"",row 3\n')


def test_ranges_are_selected_by_the_mouse_as_before(file_tab: DatasetTab, target: Target, pull) -> None:
    def blocks() -> list[tuple[int, int]]:
        return [(block.top, block.bottom) for block in file_tab.grid.selection.blocks]

    pull(file_tab, center(file_tab, 1, "delay"), QPoint(0, 3 * file_tab.grid.row_height))
    assert blocks() == [(1, 4)]
    pull(file_tab, center(file_tab, 2, "delay"), QPoint(0, 4 * file_tab.grid.row_height))
    assert blocks() == [(2, 6)]  # from inside the previous range
    pull(file_tab, bottom_edge(file_tab, 6, "delay"), QPoint(0, 0))
    assert blocks() == [(6, 6)] and target.drags == 0  # a click on the border is a click
    pull(file_tab, bottom_edge(file_tab, 6, "delay"), QPoint(0, 2 * file_tab.grid.row_height))
    assert blocks() == [(6, 8)] and target.drags == 0  # a single cell has no border for dragging


def test_alt_drags_from_inside_the_selection(
    file_tab: DatasetTab, go_to, target: Target, pull, window: MainWindow
) -> None:
    go_to(file_tab, 1, "delay")
    window.commands["select_row"].trigger()
    pull(file_tab, center(file_tab, 1, "note"), FAR, Qt.KeyboardModifier.AltModifier)
    assert target.drags == 1 and target.rows == [["delay", "carrier", "note"], ["-13", "UA", "row 1"]]


@pytest.mark.slow
def test_ranges_of_several_columns_are_one_table(file_tab: DatasetTab, go_to, target: Target) -> None:
    go_to(file_tab, 5, "note")
    file_tab.grid.selection.extend(6, file_tab.grid.selection.current[1])
    place = file_tab.grid.place(file_tab.grid.grid_model.names.index("delay"))
    file_tab.grid.selection.add(2, place)
    file_tab.grid.selection.extend(5, place)
    file_tab.dragging.drag()
    assert target.rows[0] == ["delay", "note"]
    assert [row[1] for row in target.rows[1:]] == [f"row {n}" for n in range(2, 7)]


def test_the_border_has_a_cursor_of_its_own(qtbot: QtBot, file_tab: DatasetTab, go_to) -> None:
    view = file_tab.grid.viewport()
    qtbot.mouseClick(view, Left, NoKeys, center(file_tab, 8, "note"))  # a move has the keys of the last event
    go_to(file_tab, 1, "delay")
    file_tab.grid.selection.extend(3, file_tab.grid.selection.current[1])
    for point, shape in ((bottom_edge(file_tab, 3, "delay"), Qt.CursorShape.OpenHandCursor),
                         (center(file_tab, 2, "delay"), Qt.CursorShape.ArrowCursor)):  # fmt: skip
        for near in (point + QPoint(0, 30), point):
            qtbot.mouseMove(view, near)
        qtbot.waitUntil(lambda shape=shape: view.cursor().shape() == shape)


def test_a_drag_that_nobody_takes_leaves_no_file(
    qtbot: QtBot, window: MainWindow, file_tab: DatasetTab, target: Target
) -> None:
    file_tab.grid.select_all()
    target.takes = False
    file_tab.dragging.drag()
    assert isinstance(target.data, DraggedCells)
    folder = target.data.path.parent
    qtbot.waitUntil(lambda: not window.tasks.running and not folder.exists())


@pytest.mark.parametrize("folder", [True, False])
def test_a_drag_that_cannot_be_written_is_said(
    qtbot: QtBot,
    file_tab: DatasetTab,
    go_to,
    target: Target,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    folder: bool,
) -> None:
    """The folder for temporary files is removed before the drag begins, or while the rows are written."""
    go_to(file_tab, 1, "delay")
    file_tab.grid.selection.extend(3, file_tab.grid.selection.current[1])
    if folder:
        monkeypatch.setattr(drag_source, "new_path", lambda name: tmp_path / "gone" / name)
    else:
        monkeypatch.setattr(drag_source.DragFolder, "path", tmp_path / "gone")
    file_tab.dragging.drag()
    qtbot.waitUntil(lambda: "could not be written to a temporary file" in file_tab.messages.label.text())
    assert target.urls == [] and target.drags == int(folder)


@pytest.mark.slow
def test_dragged_files_go_with_the_window(
    qtbot: QtBot, window: MainWindow, file_tab: DatasetTab, target: Target
) -> None:
    file_tab.grid.select_all()
    file_tab.dragging.drag()
    path = Path(target.urls[0].toLocalFile())
    assert path.exists() and len(target.rows) == 1001
    window.close()
    assert not path.exists() and not path.parent.exists() and not path.parent.parent.exists()


def test_too_many_cells_are_exported_instead(
    file_tab: DatasetTab, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drag_source, "MOST_CELLS", 2_999)
    file_tab.grid.select_all()
    file_tab.dragging.drag()
    assert target.drags == 0 and "3,000 cells are too many to drag" in file_tab.messages.label.text()
    assert [button.text() for button in file_tab.messages.buttons] == ["Export…"]


def test_a_tab_and_an_entry_of_the_sidebar_are_the_file(
    qtbot: QtBot, window: MainWindow, file_tab: DatasetTab, file: Path, target: Target
) -> None:
    bar = window.tabs.tabs.tabBar()
    start = bar.tabRect(0).center()
    qtbot.mousePress(bar, Left, NoKeys, start)
    qtbot.mouseMove(bar, start + QPoint(0, 20))
    qtbot.mouseMove(bar, start + QPoint(0, 150))
    qtbot.mouseRelease(bar, Left, NoKeys, start + QPoint(0, 150))
    assert target.drags == 1 and target.urls == [QUrl.fromLocalFile(str(file))]
    tree = window.sidebar.tree
    tree.setCurrentItem(tree.findItems(file.name, Qt.MatchFlag.MatchRecursive)[0])
    tree.startDrag(Qt.DropAction.CopyAction)
    assert target.drags == 2 and target.urls == [QUrl.fromLocalFile(str(file))]


def test_a_tab_of_a_table_has_no_file(
    qtbot: QtBot, window: MainWindow, table_tab: DatasetTab, target: Target
) -> None:
    window.tabs.dragged_out.emit()
    assert target.drags == 1 and not target.urls, "it can go to another window, not to another program"
    window.library.refresh()
    qtbot.waitUntil(lambda: bool(window.sidebar.entries("table")))
    window.sidebar.dragged.emit(window.sidebar.entries("table")[0])
    assert target.drags == 1 and QApplication.activeModalWidget() is None
