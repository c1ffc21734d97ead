"""From the command to a window that shows data, in this process."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from types import FrameType

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QTimer
from PySide6.QtWidgets import QApplication

from lamella import Store, resources
from lamella.app import cli, logs, paths
from lamella.app import program as sample
from lamella.app import settings as settings_file
from lamella.app.bootstrap import application
from lamella.app.program import Program, open_stores
from lamella.core import libraries
from lamella.core.errors import BadData
from lamella.core.jobs import Job
from lamella.core.settings import Settings
from lamella.core.store.catalog import access as catalog_access
from lamella.core.store.catalog import queries as catalog
from lamella.core.store.paths import CATALOG
from lamella.ui import theme
from lamella.ui.dialogs.error_dialog import ErrorDialog
from lamella.ui.main_window import FRAME, MainWindow
from tests.mounts import filled, seen_read_only, small_disk


@pytest.fixture
def program(qtbot):
    application()
    program_ = Program()
    yield program_
    end(program_.window)


def end(window: MainWindow) -> None:
    window.close()
    window.deleteLater()
    QCoreApplication.sendPostedEvents(window, QEvent.Type.DeferredDelete)


def dialogs() -> list[ErrorDialog]:
    return [w for w in QApplication.topLevelWidgets() if isinstance(w, ErrorDialog) and w.isVisible()]


def shown_rows(program: Program) -> int | None:
    tab = program.window.tabs.dataset_tab
    return None if tab is None or tab.view is None else tab.view.num_rows


def test_a_file_on_the_command_line_is_shown_and_closing_the_window_ends_the_program(qtbot):
    titles: list[str] = []

    def look() -> None:
        for window in QApplication.topLevelWidgets():
            if isinstance(window, MainWindow) and window.tabs.dataset_tab and window.tabs.dataset_tab.view:
                titles.append(window.windowTitle())
                window.close()
                window.deleteLater()
                timer.stop()

    timer = QTimer(interval=20)
    timer.timeout.connect(look)
    timer.start()
    assert cli.main([str(resources.sample("airlines"))]) == cli.OK
    assert "airlines.parquet" in titles[0]


def test_the_sample_is_imported_once_and_listed_from_then_on(qtbot, program):
    program.open([], with_sample=True)
    qtbot.waitUntil(lambda: shown_rows(program) == 336_776, timeout=60_000)
    with Store.open(paths.sample_store(), read_only=True) as store:
        assert set(store.tables) == set(resources.SAMPLE_TABLES)
        versions = [table.version for table in map(store.__getitem__, store.tables)]
    opening = open_stores(Settings(), Job())
    stores = opening.stores
    assert opening.problems == [] and [store.name for store in stores] == [
        paths.DEFAULT_STORE,
        paths.SAMPLE_STORE,
    ]
    assert versions == [1] * len(resources.SAMPLE_TABLES)
    for store in stores:
        store.close()


def test_theme_and_text_size_come_from_the_settings(qtbot):
    settings = Settings()
    settings["theme"], settings["text_scale"] = "dark", 1.3
    settings_file.save(settings, settings_file.settings_path())
    application()
    program = Program()
    assert theme.current().mode is theme.Mode.DARK and theme.current().text_scale == 1.3
    program.window.appearance.set_mode("light")
    program.window.appearance.step_text(0)
    assert settings_file.load(settings_file.settings_path())[0]["theme"] == "light"
    end(program.window)


def test_the_first_window_and_its_frame_fit_the_screen(program):
    program.window.show()
    frame = program.window.size() + FRAME
    assert frame.boundedTo(program.window.screen().availableSize()) == frame


def test_a_setting_that_cannot_be_followed_is_shown_in_the_window(qtbot, lamella_home):
    (lamella_home / "config").mkdir()
    (lamella_home / "config" / "settings.json").write_text('{"version": 1, "theme": "blue"}')
    application()
    program = Program()
    program.window.show()
    qtbot.waitUntil(lambda: len(dialogs()) == 1)
    assert "theme" in dialogs()[0].details
    dialogs()[0].close()
    end(program.window)


def test_the_window_is_there_before_the_stores_are_opened(qtbot):
    opened_here: list[str] = []

    def watch(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code.co_filename in (catalog.__file__, catalog_access.__file__):
            opened_here.append(frame.f_code.co_name)

    Store.open(paths.data_folder() / "other").close()
    application()
    sys.setprofile(watch)
    try:
        program = Program()
        program.window.show()
        assert program.window.isVisible() and program.window.library.stores == []
        qtbot.waitUntil(lambda: program.window.sidebar.num_stores == 2)
    finally:
        sys.setprofile(None)
    assert opened_here == []
    assert [store.name for store in program.window.library.stores] == [paths.DEFAULT_STORE, "other"]
    end(program.window)


def test_a_sample_that_cannot_be_imported_leaves_no_store_open(qtbot, program, monkeypatch):
    closed: list[str] = []
    monkeypatch.setattr(sample, "fill", fail)
    close = Store.close

    def noted(store: Store) -> None:
        closed.append(store.name)
        close(store)

    monkeypatch.setattr(Store, "close", noted)
    with qtbot.waitSignal(program.tasks.failed):
        program.open([], with_sample=True)
    assert closed == [paths.SAMPLE_STORE]
    monkeypatch.undo()


def fail(store: Store, job: Job) -> None:
    raise BadData("no sample")


def newer_store(path) -> None:
    Store.open(path).close()
    with sqlite3.connect(path / CATALOG) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        connection.execute(f"PRAGMA user_version = {version + 1000}")
    connection.close()


def test_a_store_from_a_newer_program_is_left_out_and_told():
    newer_store(paths.data_folder() / "tomorrow")
    opening = open_stores(Settings(), Job())
    stores, (problem,) = opening.stores, opening.problems
    assert "tomorrow" in str(problem)
    assert [store.name for store in stores] == [paths.DEFAULT_STORE]
    stores[0].close()


def test_a_default_store_that_cannot_be_opened_gives_way_to_my_tables(tmp_path):
    newer_store(tmp_path / "mine")
    settings = Settings()
    settings["default_store"] = str(tmp_path / "mine")
    opening = open_stores(settings, Job())
    stores, (problem,) = opening.stores, opening.problems
    assert "mine" in str(problem) and stores[0].path == paths.default_store()
    stores[0].close()


def damaged_store(path) -> None:
    path.mkdir(parents=True)
    (path / CATALOG).write_bytes(b"no catalog" * 500)


@pytest.mark.parametrize("spoil", [newer_store, damaged_store])
def test_without_a_store_to_import_into_files_are_shown_all_the_same(qtbot, spoil):
    spoil(paths.default_store())
    Store.open(paths.data_folder() / "other").close()
    application()
    program = Program()
    program.window.show()
    program.open([resources.sample("airlines")], with_sample=False)
    qtbot.waitUntil(lambda: len(dialogs()) == 1 and bool(shown_rows(program)))
    details = dialogs()[0].details
    assert paths.DEFAULT_STORE in details and "'default_store'" in details
    dialogs()[0].close()
    action = program.window.commands["import"]
    qtbot.waitUntil(lambda: program.window.sidebar.num_stores == 1)
    assert not action.isEnabled() and "'default_store'" in action.toolTip()
    program.window.overlay.import_requested.emit([resources.sample("airlines")])
    assert len(dialogs()) == 1 and "'default_store'" in dialogs()[0].details
    dialogs()[0].close()
    sidebar = program.window.sidebar
    problem = sidebar.tree.topLevelItem(0).child(0)
    assert problem.text(0) == "No store for imports" and "'default_store'" in problem.toolTip(0)
    sidebar.tree.itemClicked.emit(problem, 0)
    assert len(dialogs()) == 1 and "'default_store'" in dialogs()[0].details
    dialogs()[0].close()
    end(program.window)


def test_a_store_opened_before_the_others_does_not_become_the_one_to_import_into(qtbot, tmp_path):
    Store.open(tmp_path / "early").close()
    application()
    program = Program()
    program.window.library.add_store(Store.open(tmp_path / "early"))
    qtbot.waitUntil(lambda: program.window.sidebar.num_stores == 2)
    assert program.window.library.home.name == paths.DEFAULT_STORE
    end(program.window)


LATE = (
    "duckdb sqlglot pandas pyqtgraph python_calamine rustpy_xlsxwriter lamella.core.bench"
    " lamella.core.query.sql lamella.core.transfer lamella.ui.bench lamella.core.datasets.excel"
    " lamella.ui.charts lamella.core.query.charts"
    " lamella.core.datasets.sqlite_file lamella.core.datasets.duckdb_file"
    " obstore pyspark grpc keyring deltalake urllib3 fsspec lamella.ui.sql lamella.ui.comparison"
    " lamella.ui.relations lamella.ui.profiles lamella.ui.settings lamella.ui.stores lamella.ui.remote"
)
START = """
import sys
from pathlib import Path

from lamella.core import libraries
from lamella.ui.cards.loader import CardLoader
libraries.load = lambda: None  # runs after the first paint, and would hide what is loaded before it
CardLoader.want = lambda self, names: None  # column cards are loaded after the first page, too

from lamella.app.bootstrap import application
from lamella.app.program import FirstPaint, Program
from lamella.app.tour import wait_until

application()
late, painted = tuple(sys.argv[2].split()), []
program = Program()
FirstPaint(program.window).done.connect(lambda: painted.append(True))
program.window.show()
assert wait_until(lambda: bool(painted), 30)
print(sorted(name for name in sys.modules if name.startswith(late)))
program.open([Path(sys.argv[1])], False)
tabs = program.window.tabs
assert wait_until(lambda: tabs.dataset_tab and tabs.dataset_tab.view, 30)
assert wait_until(lambda: program.window.sidebar.num_stores, 30)
assert wait_until(lambda: tabs.dataset_tab.grid.grid_model.pages.is_settled, 30)
print(sorted(name for name in sys.modules if name.startswith(late)))
program.window.close()
"""


def test_the_window_and_the_first_page_need_no_heavy_library():
    words = [sys.executable, "-c", START, str(resources.sample("weather")), LATE]
    result = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (0, "[]\n[]\n"), result.stderr


PRELOAD = """
import sys
from lamella.app.bootstrap import application
from lamella.app.program import Program
from lamella.app.tour import wait_until

application()
program = Program()
program.window.show()
assert wait_until(lambda: {"duckdb", "sqlglot.expressions"} <= sys.modules.keys(), 30)
program.window.close()
"""


@pytest.mark.slow
def test_what_the_window_did_without_is_loaded_once_it_is_painted():
    result = subprocess.run([sys.executable, "-c", PRELOAD], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_libraries_are_loaded_off_the_gui_thread(qtbot, program, monkeypatch):
    threads: list[str] = []
    monkeypatch.setattr(libraries, "load", lambda: threads.append(threading.current_thread().name))
    program.window.show()
    qtbot.waitUntil(lambda: bool(threads))
    assert threads[0].startswith("read")


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("is_used", [False, True], ids=["new home", "used home"])
def test_a_home_that_is_read_only_is_said_once_and_files_are_shown(qtbot, tmp_path, monkeypatch, is_used):
    (tmp_path / "notes.csv").write_text("a,b\n1,2\n3,4\n")
    if is_used:
        Store.open(paths.default_store()).close()
        settings_file.save(Settings(), settings_file.settings_path())
        paths.log_folder()
    with seen_read_only(paths.data_folder().parent if is_used else tmp_path) as home:
        monkeypatch.setenv("LAMELLA_HOME", str(home if is_used else home / "home"))
        handler = logs.start()
        application()
        program = Program()
        program.window.show()
        program.open([tmp_path / "notes.csv", resources.sample("airlines")], with_sample=False)
        qtbot.waitUntil(lambda: len(program.window.tabs.dataset_tabs) == 2)
        qtbot.waitUntil(lambda: shown_rows(program) is not None)
        qtbot.waitUntil(lambda: len(dialogs()) == 2)
        program.window.appearance.set_mode("dark")
        assert program.window.sidebar.tree.topLevelItem(0).child(0).text(0) == "No store for imports"
        details = [dialog.details for dialog in dialogs()]
        assert sum("settings, recent files and the log" in text for text in details) == 1
        assert len(details) == 2, "the other one says why nothing can be imported"
        for dialog in dialogs():
            dialog.close()
        qtbot.waitUntil(lambda: not program.tasks.running)
        end(program.window)
        logs.stop(handler)


def test_on_a_full_disk_files_are_shown_and_the_sidebar_says_that_nothing_can_be_imported(qtbot, monkeypatch):
    with small_disk(2000) as disk, filled(disk):
        monkeypatch.setenv("LAMELLA_HOME", str(disk / "home"))
        application()
        program = Program()
        program.window.show()
        program.open([resources.sample("airlines")], with_sample=False)
        qtbot.waitUntil(lambda: bool(shown_rows(program)))
        sidebar = program.window.sidebar
        qtbot.waitUntil(lambda: sidebar.tree.topLevelItem(0).childCount() == 1)
        problem = sidebar.tree.topLevelItem(0).child(0)
        assert problem.text(0) == "No store for imports" and "disk is full" in problem.toolTip(0)
        assert any("'default_store'" in dialog.details for dialog in dialogs())
        for dialog in dialogs():
            dialog.close()
        qtbot.waitUntil(lambda: not program.tasks.running)
        end(program.window)


def test_what_the_start_page_offers_to_try_works_on_the_sample(qtbot, program):
    program.window.show()

    def steps_run(count: int) -> bool:
        tab = program.window.tabs.dataset_tab
        is_loaded = tab is not None and tab.view is not None and not tab.loader.running
        return is_loaded and len(tab.line.active) == count and not tab.messages.isVisible()

    program.window.start.tries["late"].click()
    qtbot.waitUntil(lambda: steps_run(1) and shown_rows(program) == 26_581)
    program.window.tabs.close_at(0)
    program.window.start.tries["airlines"].click()
    qtbot.waitUntil(lambda: steps_run(2) and shown_rows(program) == 16)
    assert program.window.tabs.dataset_tab.grid.grid_model.names == ["carrier", "flights", "mean_delay"]


READ_WITHOUT_END = """
import sys
import threading

from PySide6.QtCore import QTimer

from lamella.app import cli
from lamella.app.program import Program
from lamella.ui import tasks

tasks.PATIENCE_SECONDS = 0.01


def read_and_quit(program, *_):
    program.window.tasks.read(lambda job: threading.Event().wait())
    QTimer.singleShot(0, program.window.quit)


Program.open = read_and_quit
sys.exit(cli.main(["--new-window"]))
"""


def test_a_disk_that_never_answers_does_not_keep_the_program(lamella_home):
    ended = subprocess.run([sys.executable, "-c", READ_WITHOUT_END], timeout=120, check=False)
    assert ended.returncode == 0
