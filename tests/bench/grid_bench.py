"""The smoothness of the grid on a file: `python -m tests.bench.grid_bench FILE.parquet`.

Jump: the time from a jump to a random row until all of it is painted. Held: how long one event blocked the
GUI thread, while jumping and scrolling.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PySide6.QtCore import QEvent, QEventLoop, QObject, QTimer
from PySide6.QtWidgets import QApplication

from lamella import open_dataset
from lamella.core.query.expressions import col
from lamella.core.query.scan_query import ScanQuery
from lamella.core.query.view import View
from lamella.core.scan.snapshot import SortKey
from lamella.ui import theme
from lamella.ui.grid.pane import GridPane
from lamella.ui.grid.view import GridView
from lamella.ui.tasks import Tasks

JUMP_GOAL_MS, HELD_GOAL_MS = 60, 16
FRAME_MS = 16
IDLE_MS = 0.5  # shorter events did nothing worth counting, and would flatter the percentiles
LONGEST_MS = 20_000


class Watched(QApplication):
    """Records how long each event blocked the GUI thread, in milliseconds."""

    def __init__(self) -> None:
        super().__init__([])
        self._held: list[float] = []
        self._inside = False

    def notify(self, receiver: QObject, event: QEvent) -> bool:
        if self._inside:
            return super().notify(receiver, event)
        self._inside, started = True, time.perf_counter()
        try:
            return super().notify(receiver, event)
        finally:
            self._inside = False
            busy = 1000 * (time.perf_counter() - started)
            if busy >= IDLE_MS:
                self._held.append(busy)

    def take_held(self) -> list[float]:
        events, self._held = self._held, []
        return events


def until(condition: Callable[[], bool], grid: GridView) -> None:
    """Process events until the condition holds at a paint."""
    loop, end = QEventLoop(), QTimer(singleShot=True)

    def check() -> None:
        if condition():
            loop.quit()

    grid.painted.connect(check)
    end.timeout.connect(loop.quit)
    end.start(LONGEST_MS)
    loop.exec()
    grid.painted.disconnect(check)


def jumps(grid: GridView, count: int, seed: int = 1) -> list[float]:
    """Return the milliseconds of each jump to a random row."""
    chance, times = random.Random(seed), []
    for _ in range(count):
        row = chance.randrange(grid.grid_model.num_rows)
        started = time.perf_counter()
        grid.scroll_to_row(row)
        until(lambda: grid.grid_model.pages.is_settled, grid)
        times.append(1000 * (time.perf_counter() - started))
    return times


def scroll(grid: GridView, frames: int, rows: int = 3) -> None:
    """Turn the wheel continuously, one step per frame."""
    loop, timer, bar = QEventLoop(), QTimer(interval=FRAME_MS), grid.verticalScrollBar()
    left = frames

    def step() -> None:
        nonlocal left
        left -= 1
        bar.setValue(bar.value() + rows * grid.row_height)
        if left == 0:
            loop.quit()

    timer.timeout.connect(step)
    timer.start()
    loop.exec()
    timer.stop()


def say(name: str, times: list[float], goal: float | None = None, at: int = 95) -> None:
    p50, p95, p99 = np.percentile(times, [50, 95, 99])
    verdict = ""
    if goal is not None:
        verdict = "  ok" if np.percentile(times, at) <= goal else f"  over {goal} ms at p{at}"
    print(f"{name:34} p50 {p50:7.1f}  p95 {p95:7.1f}  p99 {p99:7.1f}  max {max(times):7.1f} ms{verdict}")


def measure(name: str, view: View, tasks: Tasks, app: Watched, count: int) -> None:
    pane = GridPane(tasks)
    pane.resize(1280, 760)
    pane.show()
    started = time.perf_counter()
    pane.grid.show_rows(view)
    until(lambda: pane.grid.grid_model.pages.is_settled, pane.grid)
    print(f"{name}: {view.num_rows:,} rows, first page after {1000 * (time.perf_counter() - started):.0f} ms")
    jumps(pane.grid, 5, seed=0)
    app.take_held()
    say("  jump anywhere until painted", jumps(pane.grid, count), JUMP_GOAL_MS, 95)
    say("  GUI held while jumping", app.take_held(), HELD_GOAL_MS, 99)
    scroll(pane.grid, 3 * count)
    say("  GUI held while scrolling", app.take_held(), HELD_GOAL_MS, 99)
    pane.close()
    pane.deleteLater()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--jumps", type=int, default=200)
    parser.add_argument("--sort", help="also measure sorted by this column")
    parser.add_argument(
        "--over", help="also measure rows where COLUMN is more than VALUE", metavar="COLUMN:VALUE"
    )
    arguments = parser.parse_args()
    app = Watched()
    theme.install(app)
    tasks = Tasks()
    tasks.failed.connect(lambda error: print(f"failed: {error!r}"))
    snapshot = open_dataset(arguments.file).snapshot()
    measure("As it is", View(snapshot), tasks, app, arguments.jumps)
    if arguments.sort:
        view = View(snapshot, ScanQuery(sort=(SortKey(arguments.sort),)))
        measure(f"Sorted by {arguments.sort}", view, tasks, app, arguments.jumps)
    if arguments.over:
        column, value = arguments.over.split(":")
        view = View(snapshot, ScanQuery(where=col(column) > float(value)))
        measure(f"{column} > {value}", view, tasks, app, arguments.jumps)
    tasks.shutdown()


if __name__ == "__main__":
    main()
