"""The export dialog: formats, options, preview, the written file, and remembered choices."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QCheckBox, QComboBox, QLineEdit
from pytestqt.qtbot import QtBot

from lamella import agg, col, open_dataset
from lamella.core.datasets.sql_result import SqlResult
from lamella.core.jobs import Job
from lamella.core.query.line import Line
from lamella.core.query.steps import Group, Where
from lamella.core.transfer import excel
from lamella.core.transfer.exporting import Export
from lamella.core.transfer.formats import FORMATS
from lamella.ui.comparison.dialog import Choices, OtherSide
from lamella.ui.dialogs.export_dialog import ExportDialog, ExportRows
from lamella.ui.dialogs.export_options import ExportChoices
from lamella.ui.main_window import MainWindow
from lamella.ui.sql.console import SqlConsole
from lamella.ui.tasks import Tasks
from lamella.ui.widgets.popover import ColumnsChoice
from lamella.ui.window.dataset_tab import DatasetTab

Open = Callable[[], ExportDialog]


def settle(qtbot: QtBot, dialog: ExportDialog) -> ExportDialog:
    qtbot.waitUntil(lambda: dialog.is_settled)
    return dialog


@pytest.fixture
def open_export(qtbot: QtBot, window: MainWindow, table_tab: DatasetTab) -> Iterator[Open]:
    dialogs: list[ExportDialog] = []

    def show() -> ExportDialog:
        window.commands["export"].trigger()
        dialogs.append(window.findChildren(ExportDialog)[-1])
        return settle(qtbot, dialogs[-1])

    yield show


def choose(dialog: ExportDialog, **values: Any) -> None:
    for name, value in values.items():
        field = dialog.options.fields[name]
        if isinstance(field, QCheckBox):
            field.setChecked(value)
        elif isinstance(field, QComboBox) and field.isEditable():
            field.setCurrentText(value)
        elif isinstance(field, QComboBox):
            field.setCurrentIndex(field.findData(value))
        elif isinstance(field, ColumnsChoice):
            field.choose(value)
        else:
            assert isinstance(field, QLineEdit)
            field.setText(value)


def written(qtbot: QtBot, dialog: ExportDialog, path: Path) -> Path:
    dialog.path_edit.setText(str(path))
    with qtbot.waitSignal(dialog.exported):
        qtbot.mouseClick(dialog.export_button, Qt.MouseButton.LeftButton)
    return path


def test_what_is_shown_is_written_with_the_options_that_are_chosen(
    qtbot: QtBot, open_export: Open, table_tab: DatasetTab, settled: Callable[[], DatasetTab], tmp_path: Path
) -> None:
    table_tab.set_filter(col("delay") > 440)
    settled()
    dialog = open_export()
    assert dialog.rows_box.count() == 3
    choose(dialog, delimiter=";", quoting="needed", header=False)
    settle(qtbot, dialog)
    first = dialog.text.toPlainText().splitlines()[0]
    path = written(qtbot, dialog, tmp_path / "out.csv")
    lines = path.read_text().splitlines()
    assert len(lines) == table_tab.view.num_rows
    assert lines[0] == first
    assert first.count(";") == 2
    assert dialog.show_button.isVisible()
    assert dialog.status.text().startswith(f"Exported {len(lines):,} rows, ")
    assert f"Exported {len(lines):,} rows to out.csv" in table_tab.messages.label.text()


def test_everything_is_offered_beside_what_is_shown(
    qtbot: QtBot, open_export: Open, table_tab: DatasetTab, settled: Callable[[], DatasetTab], tmp_path: Path
) -> None:
    table_tab.apply(Line.of((Where(col("delay") > 60), Group(("carrier",), (("n", agg.count()),)))))
    settled()
    dialog = open_export()
    assert [dialog.rows_box.itemText(place).partition(":")[0] for place in (0, 1)] == [
        "What is shown",
        "Everything",
    ]
    dialog.choose_format("parquet")
    assert pq.read_table(written(qtbot, dialog, tmp_path / "shown.parquet")).column_names == ["carrier", "n"]
    dialog.rows_box.setCurrentIndex(1)
    settle(qtbot, dialog)
    actual = pq.read_table(written(qtbot, dialog, tmp_path / "all.parquet"))
    assert (len(actual), actual.column_names) == (1000, ["delay", "carrier", "note"])


@pytest.mark.slow
def test_without_steps_what_is_shown_is_everything(open_export: Open) -> None:
    assert open_export().rows_box.count() == 2, "and the history"


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("known", FORMATS, ids=[known.id for known in FORMATS])
def test_every_format_has_a_preview_its_losses_and_its_options(
    qtbot: QtBot, open_export: Open, known: Any
) -> None:
    dialog = open_export()
    dialog.choose_format(known.id)
    settle(qtbot, dialog)
    assert dialog.path.suffix == known.suffixes[0]
    assert list(dialog.options.fields) == [option.name for option in known.options if option.in_form]
    assert all(field.toolTip() and field.accessibleName() for field in dialog.options.fields.values())
    assert dialog.preview.currentWidget() is (dialog.text if known.is_text else dialog.table)
    assert dialog.text.toPlainText() if known.is_text else dialog.table.rowCount() == 20
    assert known.always in dialog.losses.text()
    assert dialog.status.text().startswith("About ")
    assert dialog.export_button.isEnabled()
    assert dialog.options.values() == {}


@pytest.mark.slow
def test_a_suffix_that_is_typed_chooses_the_format(qtbot: QtBot, open_export: Open) -> None:
    dialog = open_export()
    dialog.path_edit.clear()
    qtbot.keyClicks(dialog.path_edit, "/tmp/some.xlsx")
    assert dialog.format.id == "excel"
    dialog.choose_format("json")
    assert dialog.path == Path("/tmp/some.json")
    dialog.path_edit.setText("/tmp/v1.2")
    dialog.choose_format("csv")
    assert dialog.path == Path("/tmp/v1.2.csv")


@pytest.mark.slow
def test_options_that_do_not_fit_are_said_at_once(qtbot: QtBot, open_export: Open) -> None:
    dialog = open_export()
    choose(dialog, delimiter="ab")
    settle(qtbot, dialog)
    assert "delimiter cannot be 'ab'" in dialog.message.label.text()
    assert not dialog.export_button.isEnabled()
    choose(dialog, delimiter="tab")
    settle(qtbot, dialog)
    assert dialog.message.isHidden()
    assert dialog.export_button.isEnabled()
    assert dialog.options.values() == {"delimiter": "\t"}


def test_a_file_that_is_there_is_replaced_only_when_that_is_wanted(
    qtbot: QtBot, open_export: Open, tmp_path: Path
) -> None:
    path = tmp_path / "out.csv"
    path.write_text("mine")
    dialog = open_export()
    dialog.path_edit.setText(str(path))
    dialog.start()
    assert dialog.message.label.text() == "out.csv already exists"
    assert path.read_text() == "mine"
    with qtbot.waitSignal(dialog.exported):
        dialog.start(overwrite=True)
    assert len(path.read_text().splitlines()) == 1001


def test_a_table_is_added_to_a_database_without_a_question(
    qtbot: QtBot, open_export: Open, tmp_path: Path
) -> None:
    dialog = open_export()
    dialog.choose_format("sqlite")
    settle(qtbot, dialog)
    choose(dialog, indexes=["carrier"])
    path = written(qtbot, dialog, tmp_path / "out.sqlite")
    choose(dialog, add=True, table_name="more", indexes=[])
    settle(qtbot, dialog)
    written(qtbot, dialog, path)
    connection = sqlite3.connect(path)
    names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    connection.close()
    assert names == {"flights", "flights by carrier", "more"}


def test_an_export_that_fails_says_why(qtbot: QtBot, open_export: Open, tmp_path: Path) -> None:
    dialog = open_export()
    dialog.path_edit.setText(str(tmp_path / "nowhere" / "out.csv"))
    dialog.start()
    qtbot.waitUntil(lambda: "There is no folder" in dialog.message.label.text())
    assert dialog.export_button.isEnabled()
    assert not dialog.show_button.isVisible()


@pytest.mark.parametrize("option", ["too_many_rows", "long_text"])
def test_advice_names_the_choices_of_the_form(
    qtbot: QtBot, open_export: Open, option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(excel, "ROWS_A_SHEET", 10 if option == "too_many_rows" else 2_000)
    monkeypatch.setattr(excel, "LONGEST_TEXT", 3 if option == "long_text" else 32_767)
    dialog = open_export()
    dialog.choose_format("excel")
    dialog.path_edit.setText(str(tmp_path / "out.xlsx"))
    qtbot.waitUntil(dialog.export_button.isEnabled)
    qtbot.mouseClick(dialog.export_button, Qt.MouseButton.LeftButton)
    field = dialog.options.fields[option]
    assert isinstance(field, QComboBox)
    advice = f"'{field.itemText(1)}' at '{field.accessibleName()}'"
    qtbot.waitUntil(lambda: advice in dialog.message.label.text())
    assert option not in dialog.message.label.text()


@pytest.mark.slow
def test_what_was_chosen_is_proposed_the_next_time(
    qtbot: QtBot, open_export: Open, window: MainWindow, tmp_path: Path
) -> None:
    dialog = open_export()
    choose(dialog, delimiter=";", decimal_sign=",", encoding="utf-8-bom", null="NULL")
    written(qtbot, dialog, tmp_path / "first.csv")
    dialog.choose_format("excel")
    settle(qtbot, dialog)
    choose(dialog, too_many_rows="split", sheet="mine")
    written(qtbot, dialog, tmp_path / "first.xlsx")
    dialog.close()
    again = open_export()
    assert again.format.id == "excel"
    assert again.path.parent == tmp_path
    assert again.options.values() == {"too_many_rows": "split"}
    again.choose_format("csv")
    chosen = {"delimiter": ";", "decimal_sign": ",", "encoding": "utf-8-bom", "null": "NULL"}
    assert again.options.values() == chosen


@pytest.mark.parametrize(
    "saved",
    ["", "[]", "[" * 100_000, '{"format": 3, "options": []}', '{"format": "cvs", "folder": 1}', "\x00",
     '{"options": {"csv": {"delimiter": 5, "header": "perhaps", "quoting": "some"}, "x": {}, "tsv": 1}}'],
)  # fmt: skip
def test_choices_that_cannot_be_read_count_for_nothing(
    tmp_path: Path, saved: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "exports.json"
    path.write_text(saved)
    choices = ExportChoices(path)
    is_damaged = saved[:1] in ("", "[", "\x00")
    assert ("exports.json is not read" in caplog.text) == is_damaged
    assert ("quoting cannot be 'some'" in caplog.text) == ("quoting" in saved)
    assert (choices.format, choices.folder) == ("csv", "")
    assert choices.options.get("csv", {}) == {}
    choices.save(FORMATS[0], tmp_path, {"codec": "gzip"})
    assert ExportChoices(path).options["parquet"] == {"codec": "gzip"}
    assert json.loads(path.read_text())["format"] == "parquet"


def test_choices_that_cannot_be_saved_are_logged_and_still_proposed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "taken").write_text("a file where the folder should be")
    choices = ExportChoices(tmp_path / "taken" / "exports.json")
    choices.save(FORMATS[0], tmp_path, {"codec": "gzip"})
    assert choices.options["parquet"] == {"codec": "gzip"}
    assert "could not be saved" in caplog.text and "taken" in caplog.text


@pytest.fixture
def slow(qtbot: QtBot, tmp_path: Path) -> Iterator[tuple[ExportDialog, threading.Event]]:
    """An export that goes on until it is stopped."""
    begun, tasks = threading.Event(), Tasks()
    rows = pa.table({"n": [1]})

    def write(path: Path, format: str, values: Mapping[str, Any], overwrite: bool, job: Job) -> Export:
        begun.set()
        stopped = threading.Event()
        with job.interrupted_by(stopped.set):
            assert stopped.wait(30)
        job.check()
        raise AssertionError("it was not stopped")

    dialog = ExportDialog(
        "t",
        [ExportRows("all", 1, lambda count, job: rows, write)],
        tmp_path,
        ExportChoices(tmp_path / "e.json"),
        tasks,
    )
    qtbot.addWidget(dialog)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    dialog.show()
    yield settle(qtbot, dialog), begun
    tasks.shutdown()


@pytest.fixture
def names(window: MainWindow, tmp_path: Path, settled: Callable[[], DatasetTab]) -> Path:
    pq.write_table(pa.table({"carrier": ["AA"], "name": ["Alpha"]}), tmp_path / "names.parquet")
    window.open_paths([tmp_path / "names.parquet"])
    settled()
    return tmp_path / "names.parquet"


def refused(qtbot: QtBot, window: MainWindow, path: Path) -> str:
    before = path.read_bytes()
    window.commands["export"].trigger()
    dialog = settle(qtbot, window.findChildren(ExportDialog)[-1])
    dialog.path_edit.setText(str(path))
    qtbot.mouseClick(dialog.export_button, Qt.MouseButton.LeftButton)
    assert not dialog.message.buttons and path.read_bytes() == before
    text = dialog.message.label.text()
    written(qtbot, dialog, path.with_name("other.parquet"))
    dialog.close()
    return text


def test_no_export_replaces_a_file_that_the_statement_reads(
    qtbot: QtBot, window: MainWindow, names: Path, console: SqlConsole
) -> None:
    console.editor.setPlainText("select upper(name) as name from names")
    QTest.keyClick(console.editor, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: console.front_tab is not None and not console.runner.running)
    qtbot.waitUntil(lambda: console.front_tab.view is not None)
    assert refused(qtbot, window, names) == "The rows come from names.parquet. Choose another name"


def test_no_export_replaces_a_file_that_is_joined(
    qtbot: QtBot, window: MainWindow, names: Path, file: Path, settled: Callable[[], DatasetTab]
) -> None:
    window.open_paths([file])
    tab = settled()
    right = open_dataset(names)
    tab.apply(Line.of(tab.dataset.join(right, on="carrier").pipeline.steps, {"names": right}))
    settled()
    assert refused(qtbot, window, names) == "The rows come from names.parquet. Choose another name"


def test_no_export_of_differences_replaces_a_file_of_either_side(
    qtbot: QtBot, window: MainWindow, names: Path, settled: Callable[[], DatasetTab]
) -> None:
    earlier = names.with_name("earlier.csv")
    earlier.write_text("carrier,name\nAA,Beta\n")
    comparing = window.tabs.dataset_tab.comparing
    comparing.compare_with(OtherSide("earlier", lambda _job: open_dataset(earlier)), Choices(("carrier",)))
    qtbot.waitUntil(lambda: comparing.view is not None and comparing.view.is_settled)
    for file in (earlier, names):
        assert refused(qtbot, window, file) == f"The rows come from {file.name}. Choose another name"
        names.with_name("other.parquet").unlink()


def test_no_export_replaces_a_file_of_the_folder_that_is_shown(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, settled: Callable[[], DatasetTab]
) -> None:
    (tmp_path / "months").mkdir()
    for month in ("may", "june"):
        pq.write_table(pa.table({"n": [1]}), tmp_path / "months" / f"{month}.parquet")
    window.open_paths([tmp_path / "months"])
    settled()
    file = tmp_path / "months" / "june.parquet"
    assert refused(qtbot, window, file) == "The rows come from june.parquet. Choose another name"


def test_no_export_replaces_the_file_that_is_shown(
    qtbot: QtBot, window: MainWindow, file_tab: DatasetTab, file: Path, settled: Callable[[], DatasetTab]
) -> None:
    before = file.read_bytes()
    file_tab.set_filter(col("delay") > 440)
    settled()
    window.commands["export"].trigger()
    dialog = settle(qtbot, window.findChild(ExportDialog))
    for format_id in ("csv", "parquet"):
        dialog.choose_format(format_id)
    assert Path(dialog.path_edit.text()) == file.with_name("flights export.parquet")
    settle(qtbot, dialog)
    dialog.path_edit.setText(str(file))
    qtbot.mouseClick(dialog.export_button, Qt.MouseButton.LeftButton)
    assert "The rows come from flights.parquet" in dialog.message.label.text() and not dialog.message.buttons
    assert file.read_bytes() == before
    target = written(qtbot, dialog, file.with_name("flights export.parquet"))
    assert pq.read_table(target).num_rows == settled().view.num_rows < 1000


def test_an_export_is_stopped_by_its_button(qtbot: QtBot, slow: tuple[ExportDialog, threading.Event]) -> None:
    dialog, begun = slow
    dialog.start()
    assert begun.wait(10)
    assert dialog.cancel_button.text() == "Stop"
    assert not dialog.export_button.isEnabled()
    assert not dialog.format_box.isEnabled()
    qtbot.mouseClick(dialog.cancel_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: dialog.status.text() == "Stopped; nothing was exported")
    assert dialog.isVisible()
    assert dialog.export_button.isEnabled()


def test_closing_the_dialog_stops_the_export(
    qtbot: QtBot, slow: tuple[ExportDialog, threading.Event]
) -> None:
    dialog, begun = slow
    dialog.start()
    assert begun.wait(10)
    dialog.close()
    qtbot.waitUntil(lambda: dialog.is_settled)


@pytest.mark.slow
def test_a_delta_table_gets_a_version_and_is_never_replaced(
    qtbot: QtBot, open_export: Open, tmp_path: Path
) -> None:
    dialog = open_export()
    dialog.choose_format("delta")
    path = written(qtbot, settle(qtbot, dialog), tmp_path / "t.delta")
    before = open_dataset(path).num_rows
    qtbot.mouseClick(dialog.export_button, Qt.MouseButton.LeftButton)
    assert "t.delta is already a Delta table" in dialog.message.label.text()
    assert "append or replace" in dialog.message.label.text()
    choose(dialog, mode="append")
    written(qtbot, settle(qtbot, dialog), path)
    assert open_dataset(path).num_rows == 2 * before
    assert [version.number for version in open_dataset(path).versions()] == [1, 0]


@pytest.mark.slow
def test_the_history_of_a_table_is_published(
    qtbot: QtBot, open_export: Open, table_tab: DatasetTab, tmp_path: Path
) -> None:
    """The whole history becomes versions of a Delta table, whatever is shown; later only new versions."""
    table = table_tab.table
    assert table is not None
    dialog = open_export()
    dialog.rows_box.setCurrentIndex(dialog.rows_box.count() - 1)
    settle(qtbot, dialog)
    assert dialog.rows_box.currentText().startswith("The history")
    assert (dialog.format.id, dialog.format_box.isEnabled()) == ("delta", False)
    assert not {"history", "mode"} & dialog.options.fields.keys()
    dialog.path_edit.setText(str(tmp_path / "t.delta"))
    for expected in (len(table.history.commits()), 1):
        with qtbot.waitSignal(dialog.exported) as signal:
            dialog.start()
        assert signal.args[0].versions == expected
        assert "version" in dialog.status.text()
        qtbot.waitUntil(lambda: dialog.is_settled)
        table.insert([{"n": 1}])
    dialog.rows_box.setCurrentIndex(0)
    assert dialog.format_box.isEnabled()
    assert "mode" in settle(qtbot, dialog).options.fields


@pytest.fixture
def arriving(qtbot, window, tmp_path) -> Iterator[tuple[SqlResult, ExportDialog]]:
    """An answer of which two rows have arrived, and the dialog of its export."""
    answer = SqlResult("answer", pa.schema({"n": pa.int64()}))
    answer.add(pa.record_batch({"n": [1, 2]}))
    window.library.opened.emit(answer, (str(tmp_path / "answer.csv"),))
    qtbot.waitUntil(lambda: window.tabs.dataset_tab is not None)
    tab = window.tabs.dataset_tab
    qtbot.waitUntil(lambda: tab.content is not None and tab.view.num_rows == 2)
    window.commands["export"].trigger()
    dialog = window.findChildren(ExportDialog)[-1]
    qtbot.waitUntil(lambda: dialog.is_settled)
    dialog.path_edit.setText(str(tmp_path / "out.csv"))
    yield answer, dialog
    answer.finish()
    dialog.close()


def test_an_export_waits_for_the_rows_that_have_not_arrived(qtbot, arriving, tmp_path):
    answer, dialog = arriving
    labels = [dialog.rows_box.itemText(place) for place in range(dialog.rows_box.count())]
    assert labels == [
        "All rows, once they have arrived × 1 column",
        "What has arrived so far: 2 rows × 1 column",
    ]
    dialog.export_button.click()
    qtbot.waitUntil(lambda: "2 rows" in dialog.status.text())
    answer.add(pa.record_batch({"n": [3]}))
    answer.finish()
    qtbot.waitUntil(lambda: not dialog.is_working)
    assert (tmp_path / "out.csv").read_text() == '"n"\n1\n2\n3\n'


def test_an_export_of_what_has_arrived_does_not_wait(qtbot, arriving, tmp_path):
    _, dialog = arriving
    dialog.rows_box.setCurrentIndex(1)
    dialog.export_button.click()
    qtbot.waitUntil(lambda: not dialog.is_working)
    assert (tmp_path / "out.csv").read_text() == '"n"\n1\n2\n'


def test_rows_that_never_arrive_are_not_left_out_of_an_export_unsaid(qtbot, arriving, tmp_path):
    answer, dialog = arriving
    dialog.export_button.click()
    answer.finish("Stopped after 2 rows")
    qtbot.waitUntil(lambda: not dialog.is_working)
    assert "ended before all rows had arrived" in dialog.message.label.text()
    assert not (tmp_path / "out.csv").exists()
