from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMessageBox

from lamella import Store
from lamella.core.query.charts import ChartSpec
from lamella.core.store.table import Table
from lamella.ui import theme
from lamella.ui.cards import strip
from lamella.ui.charts.marks import Display
from lamella.ui.main_window import MainWindow
from lamella.ui.sql.console import SqlConsole
from lamella.ui.tasks import Tasks
from lamella.ui.window.dataset_tab import DatasetTab
from tests.ui.fake_memory import FakeEntry, FakeMemory
from tests.ui.window.console_acts import done

CARRIERS = ["AA", "UA", None, ""]


LONG_PAUSE_MS = 3_600_000


@pytest.fixture
def column_cards() -> None:
    """Named by tests in whose windows columns have their cards."""


@pytest.fixture(autouse=True)
def cards_in_time(
    request: pytest.FixtureRequest, short_pauses: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Begin no cards in tests that do not name `column_cards`: counting them anew for each change of the rows
    took a twelfth of the time of all tests here."""
    if "column_cards" not in request.fixturenames:
        monkeypatch.setattr(strip, "AFTER_ROWS_MS", LONG_PAUSE_MS)
        monkeypatch.setattr(strip, "WAIT_MS", LONG_PAUSE_MS)


@pytest.fixture(scope="session")
def rows() -> pa.Table:
    return pa.table(
        {
            "delay": pa.array([(i * 37) % 500 - 50 for i in range(1000)], pa.int32()),
            "carrier": pa.array([CARRIERS[i % 4] for i in range(1000)]),
            "note": pa.array([f"row {i}" for i in range(1000)]),
        }
    )


@pytest.fixture
def file(tmp_path: Path, rows: pa.Table) -> Path:
    path = tmp_path / "flights.parquet"
    pq.write_table(rows, path)
    return path


@pytest.fixture
def memory(tmp_path: Path) -> FakeMemory:
    return FakeMemory(tmp_path / "races.sqlite")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "My tables")


@pytest.fixture
def window(qtbot, store: Store, memory: FakeMemory) -> Iterator[MainWindow]:
    tasks = Tasks()
    main_window = MainWindow(tasks, memory)
    main_window.library.add_store(store)
    main_window.store_actions.watch.timer.stop()  # tests say when it looks
    main_window.resize(1000, 700)
    main_window.show()
    yield main_window
    tasks.shutdown()
    with patch.object(QMessageBox, "question", return_value=QMessageBox.StandardButton.Discard):
        main_window.close()  # edits that a test leaves are dropped, since nobody can answer the question
    main_window.deleteLater()
    QApplication.sendPostedEvents(main_window, QEvent.Type.DeferredDelete)
    QApplication.processEvents()
    gc.collect()  # in this thread, since widgets that another thread collects can crash
    gc.freeze()  # modules loaded since stay loaded: the next collection skips them
    theme.current().set_mode("system")
    theme.current().set_text_scale(1.0)


@pytest.fixture
def settled(qtbot, window: MainWindow) -> Callable[[], DatasetTab]:
    """The current tab, once everything requested is on screen."""

    def wait() -> DatasetTab:
        def ready() -> bool:
            tab = window.tabs.dataset_tab
            return (
                tab is not None
                and tab.content is not None
                and not tab.loader.running
                and not window.tasks.running
                and tab.grid.grid_model.pages.is_settled
            )

        qtbot.waitUntil(ready, timeout=15_000)
        tab = window.tabs.dataset_tab
        assert tab is not None
        return tab

    return wait


@pytest.fixture
def table(store: Store, rows: pa.Table) -> Table:
    return store.create_table("flights", rows)


@pytest.fixture
def table_tab(window: MainWindow, table: Table, settled) -> DatasetTab:
    window.opening.open_key((str(table.store.path), table.name))
    return settled()


@pytest.fixture
def file_tab(window: MainWindow, file: Path, settled) -> DatasetTab:
    window.open_paths([file])
    return settled()


@pytest.fixture
def locked_tab(window: MainWindow, file: Path, settled) -> DatasetTab:
    """The tab of a file without write permission."""
    file.chmod(0o444)
    window.open_paths([file])
    return settled()


@pytest.fixture
def cell_text():
    """The text of a cell on screen."""

    def text(tab: DatasetTab, row: int, name: str) -> str | None:
        return tab.grid.grid_model.pages.text(row, tab.grid.grid_model.names.index(name))

    return text


@pytest.fixture
def go_to():
    """Make a cell the current one, by the name of its column."""

    def go(tab: DatasetTab, row: int, name: str) -> None:
        tab.grid.setFocus()
        tab.grid.go_to(row, tab.grid.place(tab.grid.grid_model.names.index(name)))

    return go


@pytest.fixture
def console(qtbot, window: MainWindow, table: Table) -> SqlConsole:
    """A console with the store of the flights open, and an empty editor."""
    window.library.refresh()
    qtbot.waitUntil(lambda: bool(window.sidebar.entries("table")))
    QTest.keyClick(
        window, Qt.Key.Key_Q, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    )
    current = window.consoles.current
    assert current is not None
    qtbot.waitUntil(lambda: current.words is not None)
    return current


@pytest.fixture
def run(qtbot, console: SqlConsole):
    """Type a text, and run it by the keys."""

    def go(text: str, keys=Qt.KeyboardModifier.ControlModifier, cursor: int | None = None) -> SqlConsole:
        console.editor.setPlainText(text)
        console.editor.go_to(len(text) if cursor is None else cursor)
        QTest.keyClick(console.editor, Qt.Key.Key_Return, keys)
        done(qtbot, console)
        return console

    return go


@pytest.fixture
def chart(qtbot, table_tab, settled):
    """The chart of the flights once it is drawn; by default the one that is proposed."""

    def draw(spec: ChartSpec | None = None, display: Display | None = None):
        tab = settled()
        if not tab.charting.is_shown:
            tab.charting.show()
        view = tab.charting.view
        if spec is not None:
            view.show_spec(spec, display)
        qtbot.waitUntil(lambda: not view.running and not tab.loader.running)
        return view

    return draw


@pytest.fixture
def restart(qtbot, memory: FakeMemory, tmp_path: Path) -> Iterator[Callable[..., MainWindow]]:
    """Close a window, and start again with its saved workspace."""
    windows: list[tuple[MainWindow, Tasks]] = []

    def start(window: MainWindow, opens_current: bool = True) -> MainWindow:
        window.close()
        return begin(memory.entries[-1].state, opens_current)

    def begin(state: dict[str, Any], opens_current: bool = True) -> MainWindow:
        tasks = Tasks()
        again = MainWindow(tasks, memory, FakeEntry(state))
        windows.append((again, tasks))
        again.workspace.restore(opens_current)
        again.resize(1000, 700)
        again.show()
        again.library.add_store(Store.open(tmp_path / "My tables"))
        return again

    start.begin = begin
    yield start
    for window, tasks in windows:
        tasks.shutdown()
        window.close()
        window.deleteLater()
    QApplication.processEvents()


@pytest.fixture
def opened_tab(qtbot) -> Callable[[MainWindow], DatasetTab]:
    def wait(window: MainWindow) -> DatasetTab:
        def ready() -> bool:
            tab = window.tabs.dataset_tab
            return tab is not None and tab.content is not None and not window.tasks.running

        qtbot.waitUntil(ready, timeout=15_000)
        return window.tabs.dataset_tab

    return wait
