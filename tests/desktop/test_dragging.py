"""Dragging with a real mouse on a real window system: tabs out of their window and to another, links between
columns. `python3 dev.py test --long desktop` runs it under Xvfb with a window manager."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PySide6.QtCore import QPoint, QRect
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from lamella import Store
from lamella.app.program import Program
from lamella.app.tour import wait_until
from lamella.ui.main_window import MainWindow
from lamella.ui.relations.canvas import Canvas
from lamella.ui.relations.form import RelationForm

pytestmark = pytest.mark.skipif(
    os.environ.get("QT_QPA_PLATFORM") != "xcb" or shutil.which("xdotool") is None,
    reason="Needs a display and xdotool: python3 dev.py test --long desktop",
)
SECONDS = 20
OTHER_PROGRAM = """
import sys
from PySide6.QtCore import QMimeData, QPoint, QUrl
from PySide6.QtGui import QDrag
from PySide6.QtWidgets import QApplication, QLabel
class Files(QLabel):
    def mouseMoveEvent(self, event):
        data = QMimeData()
        data.setUrls([QUrl.fromLocalFile(sys.argv[1])])
        drag = QDrag(self)
        drag.setMimeData(data)
        drag.exec()
application = QApplication([])
files = Files("files")
files.resize(200, 100)
files.move(1200, 100)
files.show()
sys.stdout.write("ready\\n")
sys.stdout.flush()
application.exec()
"""
STILL = ("sleep", "0.1")
NAMES = ("one", "two", "three")


@pytest.fixture
def program(qtbot: QtBot, tmp_path: Path) -> Iterator[Program]:
    """A window with three files at the upper left of the screen."""
    program_ = Program()
    window = program_.window
    window.resize(640, 480)
    window.move(40, 40)
    window.show()
    qtbot.waitExposed(window)
    for name in NAMES:
        pq.write_table(pa.table({name: [1, 2, 3]}), tmp_path / f"{name}.parquet")
        window.open_paths([tmp_path / f"{name}.parquet"])
        expect(lambda name=name: tabs_of(window)[-1:] == [f"{name}.parquet"])
    expect(lambda: not program_.tasks.running)
    yield program_
    for open_window in list(program_.windows.main_windows):
        open_window.close()


def expect(condition: object) -> None:
    assert callable(condition)
    assert wait_until(condition, SECONDS), "waited in vain"


def tabs_of(window: MainWindow) -> list[str]:
    bar = window.tabs.tabs.tabBar()
    return [bar.tabText(n) for n in range(bar.count())]


def on_screen(widget: QWidget, place: QPoint) -> QPoint:
    return widget.mapToGlobal(place)


def tab_on_screen(window: MainWindow, number: int) -> QPoint:
    bar = window.tabs.tabs.tabBar()
    area: QRect = bar.tabRect(number)
    return on_screen(bar, QPoint(area.left() + 40, area.center().y()))


def mouse(*words: str) -> None:
    """A mouse moved by xdotool, whose events are handled as if a hand moved it."""
    with subprocess.Popen(["xdotool", *words]) as process:
        expect(lambda: process.poll() is not None)
    assert process.returncode == 0


def to(place: QPoint) -> tuple[str, ...]:
    return ("mousemove", str(place.x()), str(place.y()), *STILL)


def way(start: QPoint, end: QPoint) -> list[str]:
    """From one place to another with the button down, as a hand goes: not at one go."""
    words = [*to(start), "mousedown", "1", *STILL]
    for step in range(1, 9):
        words += to(start + (end - start) * step / 8)
    return words


def test_a_tab_dragged_out_of_its_window_gets_one_where_it_was_dropped(program: Program) -> None:
    window, void = program.window, QPoint(1100, 700)
    mouse(*way(tab_on_screen(window, 1), void), *STILL, "mouseup", "1")
    expect(lambda: len(program.windows.main_windows) == 2)
    second = program.windows.main_windows[1]
    expect(lambda: tabs_of(second) == ["two.parquet"] and tabs_of(window) == ["one.parquet", "three.parquet"])
    expect(lambda: second.frameGeometry().contains(void))


def test_esc_leaves_a_dragged_tab_where_it_was(program: Program) -> None:
    window = program.window
    mouse(*way(tab_on_screen(window, 1), QPoint(1100, 700)), "key", "Escape", *STILL, "mouseup", "1")
    mouse(*STILL)
    assert len(program.windows.main_windows) == 1 and tabs_of(window) == [f"{name}.parquet" for name in NAMES]


def test_a_tab_dropped_on_another_window_moves_there(program: Program) -> None:
    window = program.window
    second = program.windows.open_beside(window, None, QPoint(820, 60))
    expect(lambda: second.isVisible() and second.windowHandle().isExposed())
    mouse(*STILL, *STILL)
    middle = on_screen(second, second.rect().center())
    mouse(*way(tab_on_screen(window, 1), middle), *STILL, "mouseup", "1")
    expect(lambda: tabs_of(second) == ["two.parquet"])
    assert tabs_of(window) == ["one.parquet", "three.parquet"] and len(program.windows.main_windows) == 2


def test_the_only_tab_dragged_out_moves_its_window(program: Program) -> None:
    window = program.window
    for _ in NAMES[1:]:
        window.commands["close_tab"].trigger()
    before, void = window.pos(), QPoint(1000, 650)
    mouse(*way(tab_on_screen(window, 0), void), *STILL, "mouseup", "1")
    expect(lambda: window.pos() != before and window.frameGeometry().contains(void))
    assert len(program.windows.main_windows) == 1


def test_a_file_dropped_by_another_program_is_opened(program: Program, tmp_path: Path) -> None:
    path = tmp_path / "dropped.parquet"
    pq.write_table(pa.table({"n": [1]}), path)
    window = program.window
    command = [sys.executable, "-c", OTHER_PROGRAM, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
            mouse("sleep", "0.5")
            left = window.mapToGlobal(QPoint(window.width() // 3, window.height() // 2))
            mouse(*way(QPoint(1300, 160), left), *STILL, "mouseup", "1")
            expect(lambda: tabs_of(window)[-1] == path.name)
        finally:
            process.kill()


def test_dragging_from_column_to_column_asks_for_their_relation(program: Program, tmp_path: Path) -> None:
    store = Store.open(tmp_path / "links")
    store.create_table("airlines", {"code": ["AA", "UA"]})
    store.create_table("flights", {"carrier": ["AA", "AA", "UA"]})
    store.close()
    window = program.window
    window.resize(1100, 700)
    window.store_actions.open(tmp_path / "links")
    expect(lambda: any(known_store.name == "links" for known_store in window.library.stores))
    window.diagrams.show(tmp_path / "links")
    expect(lambda: window.diagrams.current is not None)
    diagram = window.diagrams.current
    assert diagram is not None
    expect(lambda: len(diagram.shape.tables) == 2 and not diagram.is_busy)
    start = column_on_screen(diagram.canvas, "flights", "carrier")
    end = column_on_screen(diagram.canvas, "airlines", "code")
    mouse(*way(start, end), *STILL, "mouseup", "1")
    expect(lambda: bool(forms(window)))
    expect(lambda: forms(window)[0].columns == (["flights.carrier"], ["airlines.code"]))


def column_on_screen(canvas: Canvas, table: str, column: str) -> QPoint:
    box = canvas.boxes[table]
    place = canvas.mapFromScene(box.pos().x() + box.size[0] / 2, box.height_of(column))
    return canvas.viewport().mapToGlobal(place)


def forms(window: MainWindow) -> list[RelationForm]:
    return [form for form in window.findChildren(RelationForm) if form.isVisible()]
