"""Racing what is open: from the table on screen to bars of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QMessageBox
from pytestqt.qtbot import QtBot

from lamella import Store, open_dataset
from lamella.core.bench.engine.choice import Choice
from lamella.core.bench.workloads.user_script import load_file
from lamella.core.bench.workloads.user_table_source import Source
from lamella.core.filters import Filter
from lamella.core.query.expressions import col
from lamella.ui.bench.benchmark_controls import TABLE
from lamella.ui.bench.user_benchmark_dialogs import UserScriptDialog, UserTableDialog
from lamella.ui.main_window import MainWindow
from lamella.ui.tasks import Tasks
from lamella.ui.window.benchmarking import benchmark_file, benchmark_table
from tests.bench.example_records import USER_SCRIPT
from tests.bench.processes import workers
from tests.ui.fake_memory import FakeMemory

WAIT = 30_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    rows = {
        "delay": pa.array([(i * 37) % 500 - 50 for i in range(300)], pa.int32()),
        "carrier": pa.array([["AA", "UA", None][i % 3] for i in range(300)]),
        "distance": pa.array([float(i) for i in range(300)]),
        "tags": pa.array([["late"]] * 300),
        "took": pa.array(list(range(300)), pa.duration("s")),
    }
    pq.write_table(pa.table(rows), tmp_path / "flights.parquet")
    return tmp_path / "flights.parquet"


def dialog_of(
    qtbot: QtBot, tasks: Tasks, path: Path, columns: list[str] | None = None, where: Filter | None = None
) -> UserTableDialog:
    table_dialog = UserTableDialog(open_dataset(path), Source(str(path)), tasks, columns, where)
    qtbot.addWidget(table_dialog)
    table_dialog.show()
    qtbot.waitUntil(lambda: table_dialog.choice is not None, timeout=WAIT)
    return table_dialog


def tick(dialog: UserTableDialog, name: str, on: bool) -> None:
    (item,) = dialog.columns.findItems(name, Qt.MatchFlag.MatchExactly)
    item.setCheckState(Qt.CheckState.Checked if on else Qt.CheckState.Unchecked)


def test_it_says_what_will_be_measured_and_what_it_will_take(qtbot: QtBot, tasks: Tasks, path: Path) -> None:
    dialog = dialog_of(qtbot, tasks, path, ["distance"], (col("delay") > 60) & (col("carrier") == "AA"))
    assert dialog.summary.text() == "flights: 300 rows, 3 columns", "those of the filter come along"
    assert "Where delay is more than 60 and carrier is AA." in dialog.rule.text()
    assert "adds 1 to distance in every row that matches" in dialog.rule.text()
    qtbot.waitUntil(lambda: "memory" in dialog.note.words.text(), timeout=WAIT)
    assert dialog.start.isEnabled()


def test_a_system_that_cannot_hold_a_column_says_so_until_the_column_is_left_out(
    qtbot: QtBot, tasks: Tasks, path: Path
) -> None:
    dialog = dialog_of(qtbot, tasks, path)
    sqlite, reason = dialog.systems.boxes["sqlite"], dialog.systems.reasons["sqlite"]
    assert not sqlite.isEnabled() and "tags: SQLite has no type for lists" in reason.text()
    (took,) = dialog.columns.findItems("took", Qt.MatchFlag.MatchExactly)
    assert not took.flags() & Qt.ItemFlag.ItemIsEnabled and "duration" in took.toolTip()
    tick(dialog, "tags", on=False)
    qtbot.waitUntil(sqlite.isEnabled, timeout=WAIT)
    assert sqlite.isChecked() and not reason.isVisible() and "sqlite" in dialog.systems.selection


def test_nothing_can_be_started_without_columns_or_systems(qtbot: QtBot, tasks: Tasks, path: Path) -> None:
    dialog = dialog_of(qtbot, tasks, path, ["delay"])
    tick(dialog, "delay", on=False)
    qtbot.waitUntil(lambda: "no column to measure" in dialog.rule.text(), timeout=WAIT)
    assert not dialog.start.isEnabled()
    tick(dialog, "delay", on=True)
    qtbot.waitUntil(lambda: dialog.choice is not None, timeout=WAIT)
    for box in dialog.systems.boxes.values():
        box.setChecked(False)
    assert not dialog.start.isEnabled() and "Choose at least one system" in dialog.note.words.text()


def test_a_benchmark_that_does_not_fit_is_refused_with_the_estimate(
    qtbot: QtBot, tasks: Tasks, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lamella.core.bench.workloads.user_table_source.PYTHON_VALUE_BYTES", 10**12)
    dialog = dialog_of(qtbot, tasks, path, ["delay"])
    assert "sqlite" in dialog.systems.selection
    qtbot.waitUntil(lambda: "Not enough memory" in dialog.note.problem.text(), timeout=WAIT)
    assert not dialog.start.isEnabled() and "Not enough memory" in dialog.start.toolTip()
    dialog.systems.boxes["sqlite"].setChecked(False)
    qtbot.waitUntil(lambda: dialog.start.isEnabled() and dialog.note.estimate is not None, timeout=WAIT)


def test_the_choice_repeats_as_a_command(qtbot: QtBot, tasks: Tasks, path: Path) -> None:
    dialog = dialog_of(qtbot, tasks, path, ["delay"], col("delay") > 60)
    dialog.repeats.setValue(2)
    with qtbot.waitSignal(dialog.benchmark_requested, timeout=WAIT) as signal:
        dialog.start.click()
    (choice,) = signal.args
    assert isinstance(choice, Choice) and not dialog.isVisible()
    (command,) = choice.commands
    assert f"--table {path} --where 'delay > 60' --columns delay" in command and "--repeats 2" in command


@pytest.fixture
def window(qtbot: QtBot, tmp_path: Path) -> Iterator[MainWindow]:
    tasks = Tasks()
    main_window = MainWindow(tasks, FakeMemory(tmp_path / "races.sqlite"))
    main_window.library.add_store(Store.open(tmp_path / "My tables"))
    main_window.show()
    yield main_window
    tasks.shutdown()
    main_window.close()
    main_window.deleteLater()
    QApplication.processEvents()


def test_the_table_on_screen_is_measured_kept_and_shown(qtbot: QtBot, window: MainWindow, path: Path) -> None:
    window.open_paths([path])
    qtbot.waitUntil(lambda: bool(window.tabs.dataset_tab and window.tabs.dataset_tab.content), timeout=WAIT)
    tab = window.tabs.dataset_tab
    assert tab is not None and window.commands["benchmark_table"].isEnabled()
    tab.set_filter(col("delay") > 60)
    tab.set_filter(col("delay") > 60)
    names = tab.grid.grid_model.names
    for hidden in ("tags", "took"):
        tab.grid.setColumnHidden(names.index(hidden), True)
    dialog = benchmark_table(window, tab)
    assert dialog is not None
    qtbot.waitUntil(lambda: dialog.choice is not None, timeout=WAIT)
    assert dialog.summary.text() == "flights: 300 rows, 3 columns"
    for name, box in dialog.systems.boxes.items():
        box.setChecked(name in ("lamella", "sqlite"))
    dialog.repeats.setValue(1)
    dialog.start.click()
    panel = window.benchmark
    assert panel is not None and panel.running and window.tabs.current is panel
    assert benchmark_table(window, tab) is None, "one benchmark at a time"
    qtbot.waitUntil(lambda: not panel.running, timeout=WAIT)
    assert panel.results.workload.title == "flights where delay is more than 60"
    assert {record.operation for record in panel.results.records} >= {"load", "filter_again", "update"}
    panel.view.display.show_view("sentences")
    assert any("Lamella filters 300 rows of flights" in text for text in panel.view.table.sentences())
    assert panel.bar.start.isEnabled(), "what is chosen on the left can be measured next"
    assert panel.view.overview.source.full_text.startswith("flights where delay is more than 60: ")
    qtbot.waitUntil(lambda: len(window.saved_runs.runs()) == 1, timeout=WAIT)


@pytest.mark.slow
def test_the_panel_offers_the_table_that_is_open(qtbot: QtBot, window: MainWindow, path: Path) -> None:
    window.show_benchmark()
    panel = window.benchmark
    assert panel is not None
    panel.controls.presets[TABLE].click()
    assert "No table is open" in panel.news.label.text()
    window.open_paths([path])
    qtbot.waitUntil(lambda: bool(window.tabs.dataset_tab and window.tabs.dataset_tab.content), timeout=WAIT)
    panel.controls.presets[TABLE].click()
    (dialog,) = window.findChildren(UserTableDialog)
    qtbot.waitUntil(lambda: dialog.choice is not None, timeout=WAIT)
    dialog.reject()


def test_closing_while_a_benchmark_runs_asks_and_leaves_no_process(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions: list[str] = []

    def answer(box: QMessageBox) -> None:
        questions.append(box.text())
        {button.text().replace("&", ""): button for button in box.buttons()}[answers.pop(0)].click()

    answers = ["Cancel", "Cancel", "Stop and close"]
    monkeypatch.setattr(QMessageBox, "exec", answer)
    window.show_benchmark()
    panel = window.benchmark
    assert panel is not None
    panel.controls.conditions.set_folder(tmp_path)
    panel.controls.size_choice.choose((1, 10, 100))
    panel.controls.repeats.setValue(100)
    panel.start()
    qtbot.waitUntil(lambda: bool(panel.results.records), timeout=WAIT)
    window.commands["close_tab"].trigger()
    assert window.benchmark is panel and panel.running
    assert not window.close() and panel.running
    assert window.close()
    assert len(questions) == 3 and all("The benchmark is not done yet" in words for words in questions)
    assert workers() == []


def test_a_file_of_ones_own_is_asked_for_rows_and_systems(qtbot: QtBot, tasks: Tasks, tmp_path: Path) -> None:
    path = tmp_path / "own.py"
    path.write_text(USER_SCRIPT, encoding="utf-8")
    dialog = UserScriptDialog(load_file(path), tasks)
    qtbot.addWidget(dialog)
    dialog.rows.setText("10, many")
    assert "whole numbers" in dialog.problem and not dialog.start.isEnabled()
    dialog.rows.setText("1_000, 10")
    next(iter(dialog.systems.values())).setChecked(False)
    with qtbot.waitSignal(dialog.benchmark_requested, timeout=WAIT) as signal:
        dialog.start.click()
    (part,) = signal.args[0].parts
    assert part.rows == (10, 1000) and part.systems == (f"{path}:another",)


@pytest.mark.slow
def test_the_panel_measures_a_file_that_is_chosen(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, answer_dialog: Callable[[Path], None]
) -> None:
    path = tmp_path / "own.py"
    path.write_text(USER_SCRIPT, encoding="utf-8")
    answer_dialog(path)
    window.show_benchmark()
    panel = window.benchmark
    assert panel is not None
    panel.controls.workload_choice.custom_button.click()
    (dialog,) = window.findChildren(UserScriptDialog)
    dialog.rows.setText("10")
    dialog.repeats.setValue(1)
    dialog.start.click()
    qtbot.waitUntil(lambda: bool(panel.results.records) and not panel.running, timeout=WAIT)
    assert {record.system for record in panel.results.records} == {f"{path}:a list", f"{path}:another"}
    panel.view.display.show_view("sentences")
    sentences = panel.view.table.sentences()
    assert sentences and all(text.startswith("a list ") and "another" in text for text in sentences), (
        sentences
    )


def test_a_file_that_holds_no_benchmark_is_told(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    path = tmp_path / "own.py"
    path.write_text("OPERATIONS = [", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patched:
        errors: list[Exception] = []
        patched.setattr(window, "show_error", errors.append)
        assert benchmark_file(window, path) is None
    assert "line 1" in str(errors[0])
