"""A program that ends or is killed, and is started again: real processes with their own home folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QMessageBox, QPushButton

from lamella import resources
from lamella.app import settings as settings_file
from lamella.app.bootstrap import application
from lamella.app.program import MOST_BROKEN_STARTS, Program
from lamella.core.settings import Settings
from tests.conftest import PATIENCE_SECONDS
from tests.e2e.test_start import dialogs, end

PROGRAM = """
import json, sys
from pathlib import Path
from PySide6.QtCore import QTimer
from lamella import col
from lamella.app.bootstrap import application
from lamella.app.program import Program

qt = application()
program = Program(restores=True)
program.restore(opens_current=len(sys.argv) == 1)
program.window.show()
program.open([Path(name) for name in sys.argv[1:]], False)
tabs, was = program.window.tabs, []

def look():
    tab = tabs.dataset_tab
    if tab is None or tab.view is None or tab.loader.running:
        return
    if not was and len(sys.argv) > 1 and "temp" in tab.dataset.schema.names:
        was.append(True)
        tab.set_filter(col("temp") > 90)
        return
    print(json.dumps([tab.name, tab.view.num_rows, len(tab.line.steps), tabs.tabs.count()]), flush=True)

timer = QTimer(interval=50)
timer.timeout.connect(look)
timer.start()
QTimer.singleShot(0, lambda: print("started", flush=True))
qt.exec()
"""
HOT = 277
"""The number of rows of the sample's weather above 90 degrees."""


@pytest.fixture
def start(lamella_home: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    processes: list[subprocess.Popen[str]] = []

    def begin(*files: Path) -> subprocess.Popen[str]:
        words = [sys.executable, "-c", PROGRAM, *map(str, files)]
        environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "LAMELLA_HOME": str(lamella_home)}
        processes.append(subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment))
        return processes[-1]

    yield begin
    for process in processes:
        process.kill()
        process.wait()
        process.stdout.close()


def shown(process: subprocess.Popen[str], steps: int = 1) -> list[object]:
    """The state of its tab, once it has this many steps; the process is killed after a timeout."""
    too_late = threading.Timer(PATIENCE_SECONDS, process.kill)
    too_late.start()
    try:
        for line in process.stdout:
            if line.startswith("["):
                state = json.loads(line)
                if state[2] == steps:
                    return state
    finally:
        too_late.cancel()
        too_late.join()
    raise AssertionError(f"it ended with {process.wait()}")


def saved(home: Path) -> list[dict[str, object]]:
    return [json.loads(path.read_text()) for path in (home / "config/workspace").glob("*.json")]


def wait_until(condition: Callable[[], object]) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_what_was_open_comes_back_after_the_program_was_killed(start, lamella_home):
    first = start(resources.sample("airlines"), resources.sample("weather"))
    assert shown(first) == ["weather.parquet", HOT, 1, 2]
    wait_until(lambda: any("where" in json.dumps(state) for state in saved(lamella_home)))
    first.kill()
    first.wait()
    second = start()
    assert shown(second) == ["weather.parquet", HOT, 1, 2]


@pytest.fixture
def broken_off(qtbot, lamella_home: Path) -> Path:
    """The workspace of a program that crashed at its start as often as is tolerated."""
    folder = lamella_home / "config" / "workspace"
    folder.mkdir(parents=True)
    tab = {"kind": "dataset", "title": "airlines", "icon": "file", "tip": "",
           "state": {"key": [str(resources.sample("airlines"))]}}  # fmt: skip
    (folder / "w.json").write_text(json.dumps({"version": 1, "tabs": [tab], "current": 0}))
    (folder / "starts").write_text(str(MOST_BROKEN_STARTS))
    application()
    return folder


def answer(qtbot, program: Program, text: str) -> None:
    def box() -> QMessageBox | None:
        boxes = [w for w in QApplication.topLevelWidgets() if isinstance(w, QMessageBox) and w.isVisible()]
        return boxes[0] if boxes else None

    program.window.show()
    qtbot.waitUntil(lambda: box() is not None)
    next(button for button in box().findChildren(QPushButton) if button.text() == text).click()


def test_start_that_broke_off_twice_can_begin_empty_and_loses_nothing(qtbot, broken_off):
    program = Program(restores=True)
    program.restore()
    assert program.window.tabs.tabs.count() == 0
    answer(qtbot, program, "Start empty")
    assert program.window.tabs.tabs.count() == 0
    assert "airlines" in (broken_off / "w.json.set-aside").read_text()
    assert not (broken_off / "starts").exists()
    end(program.window)


def test_start_that_broke_off_twice_can_be_tried_again(qtbot, broken_off):
    program = Program(restores=True)
    program.restore()
    answer(qtbot, program, "Open it again")
    qtbot.waitUntil(lambda: program.window.tabs.dataset_tab is not None)
    qtbot.waitUntil(lambda: not (broken_off / "starts").exists())
    end(program.window)


def test_workspace_that_cannot_be_read_is_said_and_the_program_starts(qtbot, lamella_home):
    folder = lamella_home / "config" / "workspace"
    folder.mkdir(parents=True)
    (folder / "w.json").write_text("{")
    application()
    program = Program(restores=True)
    program.restore()
    program.window.show()
    qtbot.waitUntil(lambda: len(dialogs()) == 1)
    assert "w.json.unreadable" in dialogs()[0].details
    dialogs()[0].close()
    end(program.window)


def test_nothing_comes_back_where_the_settings_say_so(qtbot, lamella_home, broken_off):
    (broken_off / "starts").unlink()
    settings = Settings()
    settings["restore_workspace"] = False
    settings_file.save(settings, settings_file.settings_path())
    program = Program(restores=True)
    program.restore()
    assert program.window.tabs.tabs.count() == 0
    end(program.window)
    assert [path.name for path in broken_off.glob("*.json")] == ["w.json"]
