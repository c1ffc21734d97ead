"""A panel in a real window, and what it takes to choose and to measure without a child process."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from lamella.app import add_window_to_benchmark
from lamella.core.bench.engine.choice import Choice, part_of
from lamella.core.bench.engine.protocol import Measurement, Message
from lamella.core.bench.registry import ENTRIES, workload_named
from lamella.core.bench.results.records import Record
from lamella.core.bench.results.store import SavedRuns
from lamella.ui.bench.benchmark_panel import BenchmarkPanel
from lamella.ui.tasks import Tasks

BENCHMARK_MILLISECONDS = 60_000


@pytest.fixture(autouse=True)
def window_takes_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add the window to the benchmark, as the program does."""
    monkeypatch.setitem(ENTRIES, "lamella", ENTRIES["lamella"])  # as it is now, when the test is over
    add_window_to_benchmark()


@pytest.fixture
def saved_runs(tmp_path: Path) -> SavedRuns:
    return SavedRuns(tmp_path / "kept" / "races.sqlite")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder for the databases of a benchmark."""
    path = tmp_path / "disk"
    path.mkdir()
    return path


@pytest.fixture
def panel(tasks: Tasks, saved_runs: SavedRuns, folder: Path) -> Iterator[BenchmarkPanel]:
    widget = BenchmarkPanel(tasks, folder, saved_runs)
    widget.resize(1200, 800)
    widget.show()
    yield widget
    widget.stop()
    widget.close()
    widget.deleteLater()  # now: whatever is left makes each change of the theme slower
    QApplication.sendPostedEvents(widget, QEvent.Type.DeferredDelete)


@pytest.fixture
def choose(panel: BenchmarkPanel) -> Callable[..., None]:
    def choose(rows: Collection[int], systems: Collection[str], repeats: int = 1) -> None:
        panel.controls.size_choice.choose(tuple(rows))
        panel.controls.systems.choose(systems)
        panel.controls.repeats.setValue(repeats)

    return choose


@pytest.fixture
def wait_for_end(panel: BenchmarkPanel, qtbot: QtBot) -> Callable[[], None]:
    """Waits until no benchmark runs, and what it told is kept."""

    def finished() -> None:
        qtbot.waitUntil(
            lambda: not panel.running and not panel._tasks.writing, timeout=BENCHMARK_MILLISECONDS
        )

    return finished


@pytest.fixture
def tell(panel: BenchmarkPanel) -> Callable[..., None]:
    """Lets the panel hear messages, as if a benchmark of this workload had told them."""

    def tell(*messages: Message, workload: str = "small") -> None:
        last = panel.benchmarks.last
        if last is None or last.choice.workloads != (workload,):
            named = workload_named(workload)
            panel.benchmarks.begin(Choice((part_of(named, ("lamella", "sqlite")),)))
            panel.show_workload(named)
        panel._take(list(messages))
        panel.view.draw()

    return tell


def measured(
    system: str,
    rows: int = 10,
    seconds: float = 0.1,
    repeat: int = 0,
    operation: str = "read",
    workload: str = "small",
    latencies: tuple[float, ...] = (),
) -> Measurement:
    warmth = "warm" if repeat or latencies else "cold"
    return Measurement(
        Record(workload, system, operation, rows, 100, repeat, seconds, seconds, 9_000_000, 99 * rows,
               "1:0", warmth, latencies)
    )  # fmt: skip


@pytest.fixture(name="measured")
def measured_fixture() -> Callable[..., Measurement]:
    return measured
