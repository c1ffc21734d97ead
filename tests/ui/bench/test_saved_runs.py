"""The saved runs as a user meets them: looked at, compared, followed, noted, deleted and brought back."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from lamella.core.bench.engine.choice import Choice, part_of
from lamella.core.bench.engine.protocol import Surroundings
from lamella.core.bench.registry import workload_named
from lamella.core.bench.results.compare import compare
from lamella.core.bench.results.records import Record
from lamella.core.bench.results.results_file import read_results_file, write_results_file
from lamella.core.bench.results.run import SavedRun
from lamella.core.bench.results.store import SavedRuns
from lamella.ui import theme
from lamella.ui.bench import export, series
from lamella.ui.bench.export import write
from lamella.ui.bench.run_changes import ComparisonView, VerdictSeries
from lamella.ui.bench.saved_runs import ResultsBrowser
from lamella.ui.bench.series import Series, live_series
from lamella.ui.tasks import Tasks
from tests.bench.example_records import USER_SCRIPT

WAIT = 10_000
BEGAN = datetime(2026, 5, 1, 9, tzinfo=UTC)
AS_READ_OUT = Qt.ItemDataRole.AccessibleTextRole
SYSTEMS = ("lamella", "sqlite")
Speeds = dict[tuple[str, str], float]


def records(factors: Speeds, samples: int = 5) -> tuple[Record, ...]:
    """Around 10 ms each, times what is given for a system and operation."""
    return tuple(
        Record("small", name, operation, 100, 100, repeat, seconds, seconds, 9, 99, "1:0", "warm")
        for name in SYSTEMS
        for operation in ("create", "read")
        for repeat in range(samples)
        for seconds in [0.01 * factors.get((name, operation), 1.0) * (1 + 0.01 * repeat)]
    )


def run(hours: int, factors: Speeds | None = None, samples: int = 5, note: str = "") -> SavedRun:
    choice = Choice((part_of(workload_named("small"), SYSTEMS, [100], samples),), seed=1)
    began = BEGAN + timedelta(hours=hours)
    run_records = records(factors or {}, samples)
    return SavedRun(began, choice.title, "lamella bench", 3.0, choice, run_records, note=note)


@pytest.fixture
def saved_runs(tmp_path: Path) -> SavedRuns:
    return SavedRuns(tmp_path / "races.sqlite")


def opened(qtbot: QtBot, tasks: Tasks, kept: SavedRuns) -> ResultsBrowser:
    results = ResultsBrowser(kept, tasks)
    qtbot.addWidget(results)
    results.show()
    runs = len(kept.runs()) if kept.path.exists() else 0
    qtbot.waitUntil(lambda: len(results.table.runs_model.runs) == runs and not tasks.writing, timeout=WAIT)
    return results


@pytest.fixture
def browser(qtbot: QtBot, tasks: Tasks, saved_runs: SavedRuns) -> ResultsBrowser:
    for hours, faster in enumerate((1.0, 0.9, 0.5)):
        saved_runs.save(run(hours, {("lamella", "read"): faster, ("sqlite", "create"): 1 + hours}))
    results = opened(qtbot, tasks, saved_runs)
    qtbot.waitUntil(lambda: results.pages.currentWidget() is results.run, timeout=WAIT)
    return results


@pytest.mark.slow
def test_without_runs_it_says_what_to_do(qtbot: QtBot, tasks: Tasks, saved_runs: SavedRuns) -> None:
    browser = opened(qtbot, tasks, saved_runs)
    qtbot.waitUntil(lambda: "No run has been saved yet" in browser.hint.title.text(), timeout=WAIT)
    assert browser.hint.isVisible() and not browser.delete.isEnabled()


@pytest.mark.slow
def test_the_newest_run_is_open_with_its_machine_and_command(browser: ResultsBrowser) -> None:
    (chosen,) = browser.table.selection
    assert chosen.started == BEGAN + timedelta(hours=2)
    assert browser.run.run is not None and browser.run.run.id == chosen.id
    assert "lamella bench" in browser.run.caption.full_text
    browser.run.view.display.show_view("sentences")
    sentences = browser.run.view.table.sentences()
    assert any(text.startswith("Lamella creates a table of 100 rows 3.0 × faster") for text in sentences), (
        sentences
    )


@pytest.mark.slow
def test_saved_runs_use_the_room_of_the_window_at_large_text(
    qtbot: QtBot, tasks: Tasks, saved_runs: SavedRuns, request: pytest.FixtureRequest
) -> None:
    request.addfinalizer(partial(theme.current().set_text_scale, 1.0))
    theme.current().set_text_scale(1.5)
    window = QWidget()
    qtbot.addWidget(window)
    window.resize(1600, 1000)
    assert 1300 < ResultsBrowser(saved_runs, tasks, window).width() < 1600


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1.0, 1.5])
def test_saved_runs_fit_into_a_thousand_pixels(
    qtbot: QtBot, browser: ResultsBrowser, scale: float, request: pytest.FixtureRequest
) -> None:
    request.addfinalizer(partial(theme.current().set_text_scale, 1.0))
    theme.current().set_text_scale(scale)
    qtbot.waitUntil(lambda: browser.minimumSizeHint().width() <= 1000)
    if scale == 1.0:
        assert browser.width() <= 1000 and browser.height() <= 700


@pytest.mark.slow
def test_the_lines_of_a_run_are_made_off_the_gui_thread(
    qtbot: QtBot, tasks: Tasks, saved_runs: SavedRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = []

    def noted(*arguments: object) -> Series:
        threads.append(threading.current_thread())
        return live_series(*arguments)

    monkeypatch.setattr(series, "live_series", noted)
    saved_runs.save(run(1))
    results = opened(qtbot, tasks, saved_runs)
    qtbot.waitUntil(lambda: results.pages.currentWidget() is results.run, timeout=WAIT)
    overview = results.run.view.overview
    assert [line.system for line in overview.multiples.panels[0].series if not line.is_published]
    assert overview.verdict.full_text
    assert threads and threading.main_thread() not in threads


def test_two_runs_are_compared_the_newer_with_the_older(qtbot: QtBot, browser: ResultsBrowser) -> None:
    browser.table.choose([0, 2])
    view = browser.comparison
    qtbot.waitUntil(lambda: browser.pages.currentWidget() is view, timeout=WAIT)
    assert view.summary.text() == "1 slower, 1 faster, 2 the same"
    bars = {(group.title, bar.series.title): bar for group in view.chart.bars.groups for bar in group.bars}
    verdicts = {key: bar.series.verdict for key, bar in bars.items() if isinstance(bar.series, VerdictSeries)}
    titles = {operation.id: operation.title for operation in workload_named("small").operations}
    place = workload_named("small").title
    read_bar = (f"{place}: {titles['read']}, 100 rows", "Lamella")
    create = (f"{place}: {titles['create']}, 100 rows", "SQLite (synchronous off)")
    assert (verdicts[read_bar], verdicts[create]) == ("faster", "slower")
    assert bars[read_bar].words == "▲ 2.0 × faster" and bars[create].words == "▼ 3.0 × slower"
    colors = theme.current().colors
    assert bars[read_bar].series.color(colors) == colors.success
    assert bars[create].series.color(colors) == colors.danger
    assert view.chart.bars.groups[0].title == create[0], "what became slower stands first"
    view.sure.setChecked(True)
    assert sum(len(group.bars) for group in view.chart.bars.groups) == 2
    view.copy.click()
    assert "slower" in QGuiApplication.clipboard().text()


def test_too_few_samples_decide_nothing(qtbot: QtBot, qapp: QApplication) -> None:
    view = ComparisonView()
    qtbot.addWidget(view)
    before, after = run(0, samples=2), run(1, {("lamella", "read"): 0.1}, samples=2)
    view.show_comparison(before, after, compare(before.records, after.records))
    assert view.summary.text() == "4 with too few samples to tell"
    bars = [bar for group in view.chart.bars.groups for bar in group.bars]
    colors = theme.current().colors
    assert {bar.series.color(colors) for bar in bars} == {colors.border_strong}
    assert any(bar.words == "? 10 × faster, too few samples" for bar in bars)


def test_runs_with_nothing_in_common_say_so(qtbot: QtBot, qapp: QApplication) -> None:
    view = ComparisonView()
    qtbot.addWidget(view)
    view.show()
    view.show_comparison(run(0), replace(run(1), records=()), [])
    assert view.nothing.isVisible() and view.summary.text() == "Nothing to compare"


def test_one_measurement_is_followed_over_all_runs(qtbot: QtBot, browser: ResultsBrowser) -> None:
    browser.tabs.setCurrentWidget(browser.trends)
    view = browser.trends
    view.operation.setCurrentIndex(view.operation.findData("read"))
    qtbot.waitUntil(
        lambda: (
            [round(s.point.value or 0, 4) for s in view.plot.spots if s.series.system == "lamella"]
            == [0.0102, 0.0092, 0.0051]
        ),
        timeout=WAIT,
    )
    assert [spot.x for spot in view.plot.spots if spot.series.system == "sqlite"] == [0, 1, 2]
    axis = view.plot.canvas.getAxis("bottom")
    marks = [at for _, places in axis.tickValues(*axis.range, 600) for at in places]
    assert len([text for text in axis.tickStrings(marks, 1, 1) if text]) >= 2
    spot = view.plot.spots[-1]
    assert "median of 5" in view.plot.describe(spot)
    place = view.plot.canvas.getViewBox().mapViewToScene(QPointF(spot.x, spot.y))
    assert view.plot.nearest(place) is not None
    view.legend.entries["Lamella"].click()
    assert {spot.series.system for spot in view.plot.spots} == {"sqlite"}


def test_a_note_is_written_in_place(qtbot: QtBot, browser: ResultsBrowser, saved_runs: SavedRuns) -> None:
    browser.table.edit_note(1)
    (editor,) = browser.table.findChildren(QLineEdit)
    qtbot.keyClicks(editor, "new disk")
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: browser.table.runs_model.runs[1].note == "new disk", timeout=WAIT)
    assert [saved_run.note for saved_run in saved_runs.runs()] == ["", "new disk", ""]
    labels = [
        browser.table.runs_model.data(browser.table.runs_model.index(row, 0), AS_READ_OUT) for row in range(3)
    ]
    assert "new disk" in labels[1]
    assert [text.partition(",")[0] for text in labels] == [f"Run {run.id}" for run in saved_runs.runs()]


def test_runs_are_searched_by_words_and_by_their_tags(
    qtbot: QtBot, browser: ResultsBrowser, saved_runs: SavedRuns
) -> None:
    saved_runs.note(1, "#baseline on the old disk")
    saved_runs.note(2, "#nightly #baseline")
    browser.refresh()
    search, table = browser.search, browser.table
    qtbot.waitUntil(lambda: table.runs_model.tags == {"baseline": 2, "nightly": 1}, timeout=WAIT)
    assert [action.text() for action in search.tags.menu().actions()] == ["#baseline  (2)", "#nightly  (1)"]
    search.tags.menu().actions()[0].trigger()
    assert [run.id for run in table.runs_model.runs] == [2, 1] and search.count.text() == "2 of 3"
    qtbot.waitUntil(lambda: browser.run.run is not None and browser.run.run.id == 2, timeout=WAIT)
    search.field.setText("#baseline old")
    assert [run.id for run in table.runs_model.runs] == [1]
    search.field.setText("nowhere")
    assert table.runs_model.runs == [] and "No run matches" in browser.hint.title.text()
    assert browser.pages.currentWidget() is browser.hint
    search.field.clear()
    assert len(table.runs_model.runs) == 3 and search.count.text() == ""


def theirs(tmp_path: Path, processor: str = "A processor of theirs") -> Path:
    """A results file that was measured on another machine."""
    path = tmp_path / "theirs.results"
    surroundings = Surroundings("lamella", "1", "durable", {"processor": processor, "cores": 64}, "small")
    measured_run = run(5, {("lamella", "read"): 0.1}, note="at home")
    write_results_file(replace(measured_run, surroundings=(surroundings,)), path)
    return path


def test_results_files_of_others_open_beside_the_saved_runs_and_can_be_saved(
    qtbot: QtBot, browser: ResultsBrowser, saved_runs: SavedRuns, tmp_path: Path
) -> None:
    browser.open_file(theirs(tmp_path))
    qtbot.waitUntil(lambda: browser.run.run is not None and browser.run.run.id == -1, timeout=WAIT)
    assert "A processor of theirs, 64 cores" in browser.run.caption.full_text
    assert [run.id for run in browser.table.runs_model.runs] == [-1, 3, 2, 1] and len(saved_runs.runs()) == 3
    assert browser.delete.text() == "Close"
    browser.table.choose([0, 1])
    qtbot.waitUntil(lambda: browser.pages.currentWidget() is browser.comparison, timeout=WAIT)
    assert "faster" in browser.comparison.summary.text()
    (save,) = browser.news.buttons
    save.click()
    qtbot.waitUntil(lambda: [run.id for run in browser.table.runs_model.runs] == [4, 3, 2, 1], timeout=WAIT)
    assert saved_runs.run(4).note == "at home"
    trends = browser.trends
    browser.tabs.setCurrentWidget(trends)
    assert [trends.machine.itemText(place) for place in range(trends.machine.count())] == [
        "A processor of theirs, 64 cores",
        "A machine that is not named",
    ]
    trends.machine.setCurrentIndex(1)
    qtbot.waitUntil(lambda: {len(line.points) for line in trends._series} == {3}, timeout=WAIT)


def test_a_results_file_that_is_open_is_closed_and_stays_on_the_disk(
    qtbot: QtBot, browser: ResultsBrowser, saved_runs: SavedRuns, tmp_path: Path
) -> None:
    path = theirs(tmp_path)
    browser.open_file(path)
    qtbot.waitUntil(lambda: browser.delete.text() == "Close", timeout=WAIT)
    assert (
        not browser.table.runs_model.flags(browser.table.runs_model.index(0, 0)) & Qt.ItemFlag.ItemIsEditable
    )
    browser.delete.click()
    qtbot.waitUntil(lambda: len(browser.table.runs_model.runs) == 3, timeout=WAIT)
    assert path.exists() and len(saved_runs.runs()) == 3


@pytest.mark.slow
def test_a_file_that_is_no_results_file_is_said_and_the_saved_runs_stay(
    qtbot: QtBot, browser: ResultsBrowser, tmp_path: Path
) -> None:
    path = tmp_path / "odd.results"
    path.write_bytes(b"PAR1 and so on")
    browser.open_file(path)
    qtbot.waitUntil(browser.news.isVisible, timeout=WAIT)
    assert "odd.results: this is not a results file" in browser.news.label.text()
    assert len(browser.table.runs_model.runs) == 3


@pytest.mark.slow
def test_control_characters_and_endless_texts_of_a_file_are_shown_in_one_line(
    qtbot: QtBot, browser: ResultsBrowser, tmp_path: Path
) -> None:
    path = tmp_path / "odd.results"
    odd = replace(run(5), title="a\x1b[2J\u202eb" + "c" * 500_000, note="#tag\nsecond line " + "d" * 900_000)
    write_results_file(odd, path)
    browser.open_file(path)
    qtbot.waitUntil(lambda: len(browser.table.runs_model.runs) == 4, timeout=WAIT)
    text = browser.table.runs_model.index(0, 0).data()
    assert "a␛[2J\\u202ebc" in text and len(text) <= 300
    tip = browser.table.runs_model.index(0, 0).data(Qt.ItemDataRole.ToolTipRole)
    assert len(tip) < 2_000 and browser.table.runs_model.runs[0].tags == ("tag",)
    browser.grab()


@pytest.mark.slow
def test_a_note_that_is_too_long_is_refused_in_words(
    qtbot: QtBot, browser: ResultsBrowser, saved_runs: SavedRuns
) -> None:
    browser.table.runs_model.setData(browser.table.runs_model.index(0, 0), "x" * 1_000_000)
    qtbot.waitUntil(browser.news.isVisible, timeout=WAIT)
    assert "at most 10,000 characters" in browser.news.label.text()
    assert [run.note for run in saved_runs.runs()] == ["", "", ""]
    assert browser.pages.currentWidget() is browser.run, "the runs are still there"


def test_what_was_deleted_comes_back_whole(
    qtbot: QtBot, browser: ResultsBrowser, saved_runs: SavedRuns
) -> None:
    before = [replace(saved_runs.run(saved_run.id), id=0) for saved_run in saved_runs.runs()]
    browser.table.choose([0, 1])
    assert browser.delete.text() == "Delete 2"
    browser.delete.click()
    qtbot.waitUntil(lambda: len(browser.table.runs_model.runs) == 1, timeout=WAIT)
    (undo,) = browser.news.buttons
    undo.click()
    qtbot.waitUntil(lambda: len(browser.table.runs_model.runs) == 3, timeout=WAIT)
    assert [replace(saved_runs.run(saved_run.id), id=0) for saved_run in saved_runs.runs()] == before


@pytest.mark.slow
def test_a_run_is_measured_again_as_it_was_requested(qtbot: QtBot, browser: ResultsBrowser) -> None:
    qtbot.waitUntil(browser.again.isEnabled, timeout=WAIT)
    with qtbot.waitSignal(browser.benchmark_requested, timeout=WAIT) as signal:
        browser.again.click()
    assert signal.args[0] == browser.run.run.choice


def test_a_run_of_a_workload_that_is_gone_is_still_there(
    qtbot: QtBot, tasks: Tasks, saved_runs: SavedRuns, tmp_path: Path
) -> None:
    gone = tmp_path / "gone.py"
    gone.write_text(USER_SCRIPT, encoding="utf-8")
    choice = Choice((part_of(workload_named(str(gone)), SYSTEMS, [100], 1),))
    lost = tuple(replace(record, workload=str(gone)) for record in records({}))
    for hours in (0, 1):
        saved_runs.save(replace(run(hours), choice=choice, records=lost))
    gone.unlink()
    browser = opened(qtbot, tasks, saved_runs)
    qtbot.waitUntil(browser.run.news.isVisible, timeout=WAIT)
    assert "gone.py" in browser.run.news.label.text() and not browser.again.isEnabled()
    browser.table.choose([0, 1])
    qtbot.waitUntil(lambda: browser.pages.currentWidget() is browser.comparison, timeout=WAIT)
    assert browser.comparison.summary.text() == "4 the same"


@pytest.mark.slow
def test_results_are_exported_off_the_gui_thread(
    qtbot: QtBot, browser: ResultsBrowser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    news, threads = browser.run.news.label, []

    def noted(*arguments: object) -> None:
        threads.append(threading.current_thread())
        write(*arguments)

    monkeypatch.setattr(export, "write", noted)
    for suffix in (".md", ".csv", ".png", ".svg", ".json", ".results"):
        path = tmp_path / f"benchmark{suffix}"
        browser.run.export(path)
        qtbot.waitUntil(lambda path=path: news.text() == f"Written: {path}", timeout=WAIT)
        assert path.stat().st_size > 0
    page = (tmp_path / "benchmark.md").read_text("utf8")
    assert "![The plots](benchmark-plots.svg)" in page
    assert (tmp_path / "benchmark-plots.svg").stat().st_size > 1_000
    assert read_results_file(tmp_path / "benchmark.results").records == browser.run.run.records
    browser.run.export(tmp_path / "absent" / "benchmark.md")
    qtbot.waitUntil(lambda: "absent" in news.text() and "cannot be written" in news.text(), timeout=WAIT)
    assert len(threads) == 7 and threading.main_thread() not in threads


def test_a_damaged_file_is_told_with_a_way_out(qtbot: QtBot, tasks: Tasks, saved_runs: SavedRuns) -> None:
    saved_runs.path.write_bytes(b"nonsense" * 500)
    browser = ResultsBrowser(saved_runs, tasks)
    qtbot.addWidget(browser)
    browser.show()
    qtbot.waitUntil(browser.hint.aside.isVisible, timeout=WAIT)
    assert "races.sqlite" in browser.hint.words.text() and "cannot be read" in browser.hint.words.text()
    browser.hint.aside.click()
    qtbot.waitUntil(lambda: "No run has been saved yet" in browser.hint.title.text(), timeout=WAIT)
    assert not saved_runs.path.exists() and "races-1.sqlite" in browser.news.label.text()
    assert saved_runs.path.with_name("races-1.sqlite").read_bytes() == b"nonsense" * 500
