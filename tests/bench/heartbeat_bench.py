"""How long the window is blocked while it works: `python -m tests.bench.heartbeat_bench [--rows N]`.

A real window opens a file, filters, sorts, groups, draws, searches, compares, edits and undoes, runs SQL, and
opens thousands of columns. For each act: milliseconds until it is done, the longest iteration of the event
loop, the time of it that the GUI thread computed (for the rest it waited for a processor or for Python's
lock), and the number of iterations that took longer than 50 ms. With `--events`, single events are timed and
named, which slows down a page with many widgets.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from lamella import Store, agg, col
from lamella.app import preloading
from lamella.core.query.charts import ChartSpec
from lamella.core.query.steps import Group
from lamella.core.scan.snapshot import SortKey
from lamella.ui import theme
from lamella.ui.editing.change_dialog import ChangeDialog
from lamella.ui.main_window import MainWindow
from lamella.ui.slices import Slices
from lamella.ui.sql.console import SqlConsole
from lamella.ui.tasks import Tasks
from lamella.ui.window.dataset_tab import DatasetTab
from tests.bench.chart_bench import make
from tests.conftest import PATIENCE_SECONDS
from tests.ui.fake_memory import FakeMemory

LONG_MS = 50
EDITED_ROWS, WIDE_COLUMNS = 1_000_000, 10_000


@dataclass(frozen=True)
class Hold:
    """A period in which the GUI thread was blocked, in milliseconds; `computing` is its own processor
    time."""

    wall: float
    computing: float
    receiver: str


class Stopwatch:
    """Measures the GUI thread, from its creation on."""

    def __init__(self) -> None:
        self._began, self._computed = time.perf_counter(), time.thread_time()

    def hold(self, receiver: str) -> Hold:
        wall = time.perf_counter() - self._began
        return Hold(1000 * wall, 1000 * (time.thread_time() - self._computed), receiver)


class WatchedApplication(QApplication):
    """Records the events of the GUI thread that took longer than a millisecond."""

    def __init__(self) -> None:
        super().__init__([])
        self.holds: list[Hold] = []
        self._inside = False

    def notify(self, receiver: QObject, event: QEvent) -> bool:
        if self._inside:
            return super().notify(receiver, event)
        self._inside, watch = True, Stopwatch()
        try:
            return super().notify(receiver, event)
        finally:
            self._inside = False
            hold = watch.hold(f"{type(receiver).__name__} {event.type().name}")
            if hold.wall >= 1:
                self.holds.append(hold)


class Session:
    """A window with a store, and common actions in it."""

    def __init__(self, app: QApplication, folder: Path, rows: int) -> None:
        self.app, self.folder = app, folder
        self.holds = app.holds if isinstance(app, WatchedApplication) else list[Hold]()
        self.file, self.wide = folder / "rows.parquet", folder / "wide.parquet"
        make(self.file, rows)
        texts = pa.array([f"text {number % 1000}" for number in range(EDITED_ROWS)])
        edited = pa.table({"n": np.random.default_rng(2).integers(0, 99, EDITED_ROWS), "text": texts})
        self.store = Store.open(folder / "store")
        self.table = self.store.create_table("edited", edited)
        pq.write_table(pa.table({f"c{n}": np.arange(100) for n in range(WIDE_COLUMNS)}), self.wide)
        self.tasks = Tasks()
        self.window = MainWindow(self.tasks, FakeMemory(folder / "runs.sqlite"))
        self.window.library.add_store(self.store)
        self.window.resize(1280, 800)
        self.window.show()
        self.tasks.read(preloading.load_qt_free_modules)  # as the program does
        self.wait(lambda: not self.tasks.running)
        views = Slices(self.window)
        views.start(preloading.load_qt_modules())
        self.wait(lambda: not views.running)

    @property
    def tab(self) -> DatasetTab:
        tab = self.window.tabs.dataset_tab
        assert tab is not None
        return tab

    def wait(self, condition: Callable[[], Any]) -> None:
        until = time.monotonic() + PATIENCE_SECONDS
        while not condition():
            watch = Stopwatch()
            self.app.processEvents()
            if not isinstance(self.app, WatchedApplication):
                self.holds.append(watch.hold("a turn"))
            time.sleep(0.001)
            if time.monotonic() > until:
                raise SystemExit(f"Nothing after {PATIENCE_SECONDS} seconds")

    def settle(self) -> None:
        def is_settled() -> bool:
            tab = self.window.tabs.dataset_tab
            if tab is None or tab.content is None or tab.loader.running:
                return False
            return tab.grid.grid_model.pages.is_settled and not self.tasks.running

        self.wait(is_settled)

    def measure(self, name: str, act: Callable[[], Any], is_over: Callable[[], Any] | None = None) -> None:
        self.wait(lambda: not self.tasks.running)
        self.holds.clear()
        whole, call = Stopwatch(), Stopwatch()
        act()
        own = call.hold("the call itself")
        self.wait(is_over) if is_over is not None else self.settle()
        took = whole.hold(name).wall
        holds = [own, *self.holds]
        longest = max(holds, key=lambda hold: hold.wall)
        long = sum(hold.wall > LONG_MS for hold in holds)
        print(
            f"{name:30}{took:9.0f}{longest.wall:9.0f}{longest.computing:11.0f}{long:8}   {longest.receiver}",
            flush=True,
        )

    # ------------------------------------------------------------------- acts

    def run(self) -> None:
        window, measure = self.window, self.measure
        measure("open the file", lambda: window.open_paths([self.file]))
        measure("filter", lambda: self.tab.set_filter(col("value") > 60))
        measure("sort what is filtered", lambda: self.tab.set_sort([SortKey("lon")]))
        measure("no filter, sorted", lambda: self.tab.set_filter(None))
        measure("not sorted", lambda: self.tab.set_sort([]))
        measure("chart: histogram", lambda: self.draw(ChartSpec("histogram", x="value")), self.is_drawn)
        measure("chart: density", lambda: self.draw(ChartSpec("scatter", x="lon", y="lat")), self.is_drawn)
        measure("chart: boxes", lambda: self.draw(ChartSpec("box", x="code", y="value")), self.is_drawn)
        self.tab.charting.hide()
        measure("find", lambda: self.find("c07"), lambda: not self.tab.finding.running)
        self.tab.finding.close()
        measure("group", lambda: self.tab.add_step(Group(("code",), (("n", agg.count()),))))
        measure("open a table", lambda: window.opening.open_key((str(self.store.path), self.table.name)))
        dialog = self.change_dialog()
        measure("edit 1,000,000 rows", dialog.apply.click)
        measure("compare with before", lambda: self.tab.comparing.compare_versions(1), self.is_compared)
        self.tab.comparing.hide()
        measure("undo", window.commands["undo"].trigger)
        measure("open a SQL console", window.commands["sql"].trigger, lambda: self.console.words is not None)
        measure("run SQL", self.run_sql, self.has_answer)
        window.commands["sql"].trigger()
        measure("open 10,000 columns", lambda: window.open_paths([self.wide]))
        measure("all of their profiles", window.commands["all_columns"].trigger, self.is_profiled)
        measure("no profiles", window.commands["all_columns"].trigger)
        measure("inspector", window.commands["inspector"].trigger)

    def draw(self, spec: ChartSpec) -> None:
        charting = self.tab.charting
        if not charting.is_shown:
            charting.show()
        assert charting.view is not None
        charting.view.show_spec(spec)

    def is_drawn(self) -> bool:
        view = self.tab.charting.view
        return view is not None and not view.running and view.data is not None

    def find(self, text: str) -> None:
        self.tab.finding.open()
        QTest.keyClicks(self.tab.finding.bar.field, text)

    def change_dialog(self) -> ChangeDialog:
        """Return the dialog that sets a column of the whole table, when it can be applied."""
        self.settle()
        grid = self.tab.grid
        grid.go_to(0, grid.place(grid.grid_model.names.index("n")))
        self.window.commands["change"].trigger()
        dialog = self.window.findChild(ChangeDialog)
        dialog.set_value("7")
        self.wait(dialog.apply.isEnabled)
        return dialog

    def is_compared(self) -> bool:
        view = self.tab.comparing.view
        return view is not None and view.is_settled

    @property
    def console(self) -> SqlConsole:
        console = self.window.consoles.current
        assert console is not None
        return console

    def run_sql(self) -> None:
        self.console.editor.setPlainText("SELECT text, count(*) AS rows FROM edited GROUP BY 1 ORDER BY 2, 1")
        QTest.keyClick(self.console.editor, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)

    def has_answer(self) -> bool:
        return not self.console.runner.running and not self.tasks.running and bool(self.console.results.pages)

    def is_profiled(self) -> bool:
        return self.tab.profiling.is_shown and not self.tasks.running

    def close(self) -> None:
        self.tasks.shutdown()
        self.window.close()
        self.store.close()


def main() -> None:
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    parser = argparse.ArgumentParser(description=__doc__.partition(chr(10))[0])
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--events", action="store_true")
    chosen = parser.parse_args()
    rows, app = chosen.rows, WatchedApplication() if chosen.events else QApplication([])
    theme.install(app)
    with tempfile.TemporaryDirectory(prefix="lamella-heartbeat-") as folder:
        session = Session(app, Path(folder), rows)
        print(f"{rows:,} rows{'':18}{'done ms':>9}{'held ms':>9}{'computing':>11}{'> 50 ms':>8}   by")
        session.run()
        session.close()


if __name__ == "__main__":
    main()
