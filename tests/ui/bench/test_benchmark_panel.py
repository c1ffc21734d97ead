"""A benchmark as a user runs it: real windows, real child processes, few rows."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from lamella.core.bench.engine.choice import Choice, part_of
from lamella.core.bench.registry import WORKLOADS
from lamella.core.bench.results.store import SavedRuns
from lamella.ui.bench.benchmark_panel import BUSY, BenchmarkPanel
from lamella.ui.bench.multiples import Panel
from tests.bench.processes import workers

BENCHMARK_MILLISECONDS = 60_000
LIVE = {"Lamella", "SQLite (synchronous off)"}
Choose = Callable[..., None]


def labels(panel: BenchmarkPanel, operation: str = "read") -> set[str]:
    """The labels of the lines in the plot of one operation."""
    return {series.label for series in drawn(panel, operation).series}


def drawn(panel: BenchmarkPanel, operation: str) -> Panel:
    return next(panel_ for panel_ in panel.view.overview.multiples.panels if panel_.id == operation)


@pytest.mark.slow
def test_buttons_are_icons_alone_where_the_line_has_little_room(panel) -> None:
    bar = panel.bar
    bar.set_more("Small benchmark")
    bar.resize(bar.sizeHint().width() + 10, bar.height())
    assert bar.more_button.text() and bar.results.text()
    least = bar.minimumSizeHint().width()
    bar.resize(least, bar.height())
    assert not bar.more_button.text() and not bar.results.text()
    assert (bar.more_button.accessibleName(), bar.results.accessibleName()) == (
        "5 more repeats",
        "Saved runs…",
    )
    assert bar.minimumSizeHint().width() <= least, "it asks for no more than it had"


@pytest.mark.slow
def test_an_estimate_that_arrives_during_a_run_takes_no_room_from_its_progress(panel) -> None:
    panel.show()
    words = panel.controls.note.words
    words.tell("about 5 s")
    assert words.isVisible()
    panel.bar.begin()
    words.tell("about 6 s")
    assert panel.bar.status.isVisible() and not words.isVisible()
    panel.bar.set_running(False)
    assert words.isVisible()


@pytest.mark.slow
def test_before_a_benchmark_the_published_lines_are_there_and_what_to_do_is_said(
    panel: BenchmarkPanel,
) -> None:
    assert labels(panel) == {"ParquetDB, published", "PyArrow, published", "SQLite, published"}
    assert "Press Start" in panel.view.overview.verdict.full_text
    assert "mean of 5 runs" in panel.view.overview.source.full_text
    assert not panel.view.display.export.isEnabled()
    assert panel.bar.more_button.isHidden()


@pytest.mark.slow
def test_a_benchmark_draws_live_points_ends_in_sentences_and_is_kept(
    panel: BenchmarkPanel,
    choose: Choose,
    wait_for_end: Callable[[], None],
    qtbot: QtBot,
    saved_runs: SavedRuns,
    folder: Path,
) -> None:
    choose({1, 10}, {"lamella", "sqlite"}, repeats=2)
    panel.bar.start.click()
    assert panel.running and panel.bar.stop.isVisible() and not panel.controls.isEnabled()
    qtbot.waitUntil(lambda: bool(LIVE & labels(panel)), timeout=BENCHMARK_MILLISECONDS)
    wait_for_end()
    assert labels(panel) >= LIVE | {"SQLite, published"}
    live = [series for series in drawn(panel, "read").series if not series.is_published]
    assert [[point.samples for point in series.points] for series in live] == [[2, 2], [2, 2]]
    overview = panel.view.overview
    assert overview.verdict.full_text.startswith("Lamella is faster than SQLite in ")
    assert overview.sizes_slider.rows == 10 and len(overview.matrix.cell_texts()[0]) == 7
    panel.view.display.show_view("sentences")
    assert "Lamella reads 10 rows" in "\n".join(panel.view.table.sentences())
    assert panel.bar.status.whole.startswith("Done: 48 samples after")
    assert panel.controls.isEnabled() and panel.controls.isVisible()
    assert list(folder.iterdir()) == []
    (run,) = saved_runs.runs()
    assert (run.samples, run.failures, run.systems) == (48, 0, ("lamella", "sqlite"))
    qtbot.waitUntil(lambda: panel.status.endswith("Saved as run 1."))


@pytest.mark.slow
def test_another_python_is_named_with_every_system_that_it_ran(
    panel: BenchmarkPanel, choose: Choose, wait_for_end: Callable[[], None], qtbot: QtBot
) -> None:
    pypy = shutil.which("pypy3")
    if pypy is None:
        pytest.skip("PyPy is not installed here: pypy3 is not on the PATH")
    panel.controls.workload_choice.choose("floats")
    python = panel.controls.conditions.python
    python.choose(pypy)
    qtbot.waitUntil(lambda: python.interpreter is not None, timeout=BENCHMARK_MILLISECONDS)
    choose({10}, {"sqlite", "csv"})
    panel.bar.start.click()
    wait_for_end()
    assert python.interpreter is not None and python.interpreter.name.startswith("PyPy 7.")
    title = f"CSV, {python.interpreter.name}"
    assert title in labels(panel)
    assert title in panel.view.overview.verdict.full_text


@pytest.mark.slow
def test_repeats_added_to_a_benchmark_join_its_samples_and_its_kept_run(
    panel: BenchmarkPanel, choose: Choose, wait_for_end: Callable[[], None], saved_runs: SavedRuns
) -> None:
    choose({1}, {"sqlite"})
    panel.start()
    wait_for_end()
    assert panel.bar.more_button.isVisible() and len(saved_runs.runs()) == 1
    panel.bar.more_button.click()
    wait_for_end()
    assert sorted({record.repeat for record in panel.results.records}) == [0, 1, 2, 3, 4, 5]
    (run,) = saved_runs.runs()
    assert run.samples == len(panel.results.records) and run.repeats == 6
    assert "--repeats 6" in run.command


@pytest.mark.slow
def test_a_paused_benchmark_goes_no_further_until_it_is_resumed(
    panel: BenchmarkPanel, choose: Choose, wait_for_end: Callable[[], None], qtbot: QtBot
) -> None:
    choose({1}, {"sqlite"}, repeats=2)
    panel.start()
    panel.bar.pause.click()
    assert panel.bar.pause.text() == "Resume" and panel.bar.status.whole.startswith("Paused")
    assert panel._benchmark is not None and panel._benchmark.pause.is_paused
    panel.bar.pause.click()
    assert panel.bar.pause.text() == "Pause" and not panel._benchmark.pause.is_paused
    wait_for_end()
    assert {record.repeat for record in panel.results.records} == {0, 1}


def test_stop_ends_a_paused_benchmark_and_keeps_what_was_measured(
    panel: BenchmarkPanel,
    choose: Choose,
    wait_for_end: Callable[[], None],
    qtbot: QtBot,
    folder: Path,
    saved_runs: SavedRuns,
) -> None:
    choose({1, 10, 100, 1000}, {"sqlite", "sqlite-wal"}, repeats=100)
    panel.bar.start.click()
    qtbot.waitUntil(lambda: len(panel.results.records) > 3, timeout=BENCHMARK_MILLISECONDS)
    panel.bar.pause.click()
    panel.bar.stop.click()
    assert not panel.bar.stop.isEnabled()
    wait_for_end()
    assert panel.bar.status.whole.startswith("Stopped with ")
    assert panel.bar.start.isVisible() and panel.bar.more_button.isHidden()
    assert saved_runs.runs()[0].samples == len(panel.results.records) > 3
    assert workers() == []
    assert list(folder.iterdir()) == []


@pytest.mark.slow
def test_a_wrong_answer_is_told_in_red_and_has_no_time(
    panel: BenchmarkPanel, wait_for_end: Callable[[], None], folder: Path
) -> None:
    wrong = "tests.bench.odd_systems:Liar"
    panel.benchmark(Choice((part_of(WORKLOADS["small"], ("sqlite", wrong), (10,), 1),), folder=folder))
    wait_for_end()
    panel.view.display.show_view("sentences")
    sentences = panel.view.table.sentences()
    assert any("Liar, 10 rows" in line and "Its time does not count" in line for line in sentences), sentences
    place = next(row for row, line in enumerate(sentences) if "Its time does not count" in line)
    assert panel.view.table.item(place, 0).text() == "✕ Wrong answer"
    (lie,) = (series for series in drawn(panel, "read").series if series.label == "Liar")
    assert lie.points == () and [point.rows for point in lie.failures] == [10]


@pytest.mark.slow
def test_a_second_benchmark_waits_for_the_first(
    panel: BenchmarkPanel, choose: Choose, wait_for_end: Callable[[], None]
) -> None:
    choose({1}, {"sqlite"})
    panel.start()
    before = panel.benchmarks.last
    panel.benchmark(panel.controls.choice)
    assert panel.benchmarks.last is before and panel.news.label.text() == BUSY
    wait_for_end()


@pytest.mark.slow
def test_several_workloads_run_one_after_the_other_and_each_can_be_looked_at(
    panel: BenchmarkPanel, choose: Choose, wait_for_end: Callable[[], None]
) -> None:
    panel.controls.workload_choice.choose("all")
    items = panel.controls.workload_choice.list
    for place in range(items.count()):
        chosen = items.item(place).text() in (WORKLOADS["small"].title, WORKLOADS["needle"].title)
        items.item(place).setCheckState(Qt.CheckState.Checked if chosen else Qt.CheckState.Unchecked)
    panel.controls.systems.choose({"sqlite"})
    panel.start()
    wait_for_end()
    assert {record.workload for record in panel.benchmarks.last.records} == {"small", "needle"}
    choice = panel.view.display.workload
    assert choice.isVisible() and choice.count() == 2
    choice.setCurrentIndex(choice.findData("needle"))
    assert panel.results.workload.id == "needle" and panel.results.records


@pytest.mark.slow
def test_a_folder_that_is_gone_is_said_and_the_panel_goes_on(
    panel: BenchmarkPanel, choose: Choose, wait_for_end: Callable[[], None], folder: Path
) -> None:
    choose({1}, {"sqlite"})
    panel.controls.conditions.set_folder(folder / "gone")
    panel.start()
    wait_for_end()
    assert "gone" in panel.news.label.text() and "Choose another folder" in panel.news.label.text()
    panel.controls.conditions.set_folder(folder)
    panel.start()
    wait_for_end()
    assert panel.results.records


def test_a_benchmark_that_cannot_be_kept_says_so(
    qtbot: QtBot, tmp_path: Path, tell: Choose, panel: BenchmarkPanel, measured: Choose
) -> None:
    (tmp_path / "kept").write_text("in the way", encoding="utf-8")
    tell(measured("sqlite"))
    panel.run_saving.save(panel.benchmarks.last)
    qtbot.waitUntil(lambda: panel.news.label.text().startswith("The run was not saved."))


@pytest.mark.slow
def test_each_workload_keeps_its_own_results(panel: BenchmarkPanel, tell: Choose, measured: Choose) -> None:
    tell(measured("sqlite"))
    panel.controls.workload_choice.choose("update")
    assert panel.results.records == []
    panel.controls.workload_choice.choose("small")
    assert len(panel.results.records) == 1
