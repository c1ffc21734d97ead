"""The steps of a tab copied as text and pasted back, saved as a view, and exported."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from lamella import agg, col
from lamella.core.filters.expr import Predicate
from lamella.core.query.line import Line
from lamella.core.query.steps import Group, Sort, Sql, Where
from lamella.core.scan.snapshot import SortKey
from lamella.core.store.table import Table
from lamella.ui.filters.value_picker import PickerPopup
from lamella.ui.main_window import MainWindow
from lamella.ui.window.dataset_tab import DatasetTab

Settled = Callable[[], DatasetTab]
STEPS = (
    Where(col("delay") > 60),
    Group(("carrier",), (("n", agg.count()),)),
    Sort((SortKey("n", True), SortKey("carrier"))),
)


def copied(qtbot: QtBot, tab: DatasetTab, kind: str) -> str:
    QGuiApplication.clipboard().setText("before")
    tab.line_actions.copy(kind)
    qtbot.waitUntil(lambda: QGuiApplication.clipboard().text() != "before")
    return QGuiApplication.clipboard().text()


@pytest.fixture
def grouped_tab(table_tab: DatasetTab, settled: Settled) -> DatasetTab:
    table_tab.apply(Line.of(STEPS))
    return settled()


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("kind", ["sql", "json"])
def test_what_is_copied_is_pasted_back(
    qtbot: QtBot, grouped_tab: DatasetTab, settled: Settled, kind: str
) -> None:
    copied(qtbot, grouped_tab, kind)
    grouped_tab.apply(Line())
    settled()
    grouped_tab.line_actions.paste()
    qtbot.waitUntil(lambda: grouped_tab.line.active == STEPS)
    assert settled().view.num_rows == 4


@pytest.mark.slow
def test_copied_python_gives_the_rows_that_are_shown(qtbot: QtBot, grouped_tab: DatasetTab) -> None:
    program = copied(qtbot, grouped_tab, "python") + "\nprint(rows.read().to_pydict())"
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    words = [sys.executable, "-c", program]
    run = subprocess.run(words, check=False, capture_output=True, text=True, env=environment)
    assert run.stdout.strip() == str(grouped_tab.view.page(0, 10).to_pydict()), run.stderr


def test_a_copied_command_says_the_same(qtbot: QtBot, grouped_tab: DatasetTab, table: Table) -> None:
    command = copied(qtbot, grouped_tab, "command")
    assert command.startswith("lamella query ") and "--group-by carrier" in command
    assert str(table.store.path) in command


def test_a_select_of_ones_own_is_one_step(qtbot: QtBot, table_tab: DatasetTab, settled: Settled) -> None:
    text = "SELECT carrier, row_number() OVER (ORDER BY count(*), carrier) AS place FROM flights GROUP BY 1"
    QGuiApplication.clipboard().setText(text)
    table_tab.line_actions.paste()
    qtbot.waitUntil(lambda: [type(step) for step in table_tab.line.active] == [Sql])
    tab = settled()
    assert tab.view.schema.names == ["carrier", "place"] and tab.view.num_rows == 4
    tab.steps.edit(0)
    assert tab.steps.editor.text.toPlainText() == text


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('touch pwned')",
        "DROP TABLE flights",
        "exec(open('flights').read())",
        "rows = store['flights'].where(col('delay') > 60)\nopen('pwned', 'w')",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM flights, glob('*')",
        "SELECT getenv('HOME') FROM flights",
        "COPY flights TO 'pwned' (FORMAT csv)",
        "COPY (SELECT * FROM flights) TO 'pwned'",
        "INSTALL httpfs; LOAD httpfs",
        "LOAD 'pwned.duckdb_extension'",
        "ATTACH 'pwned' AS other",
        "EXPORT DATABASE 'pwned'",
        "PRAGMA enable_logging",
        "SET memory_limit = '1kB'",
        "CREATE TABLE pwned AS SELECT * FROM flights",
        "UPDATE flights SET delay = 0",
        "DELETE FROM flights",
        "EXPLAIN ANALYZE SELECT * FROM flights",
        "CALL pragma_version()",
        "SELECT lo_import('/etc/passwd')",
        "SELECT load_file('/etc/passwd')",
        "EXEC xp_cmdshell 'touch pwned'",
        "SELECT * INTO pwned FROM flights",
        "WITH gone AS (DELETE FROM flights RETURNING *) SELECT * FROM gone",
        "SELECT 1; SELECT 2",
        '{"source": "flights", "steps": [{"exec": "x"}]}',
        "not a query",
        "",
    ],
)
def test_text_that_is_no_query_runs_nothing_and_is_refused(
    qtbot: QtBot, table_tab: DatasetTab, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    QGuiApplication.clipboard().setText(text)
    table_tab.line_actions.paste()
    qtbot.waitUntil(lambda: "The clipboard holds no query" in table_tab.messages.label.text())
    assert table_tab.line == Line() and sorted(tmp_path.iterdir()) == before


def test_what_could_not_be_pasted_is_no_news_after_what_could(
    qtbot: QtBot, table_tab: DatasetTab, settled: Settled
) -> None:
    QGuiApplication.clipboard().setText("not a query")
    table_tab.line_actions.paste()
    qtbot.waitUntil(table_tab.messages.isVisible)
    QGuiApplication.clipboard().setText("SELECT * FROM flights WHERE delay > 60")
    table_tab.line_actions.paste()
    qtbot.waitUntil(lambda: table_tab.line.active == (Where(col("delay") > 60),))
    assert settled().view.num_rows < 1000 and not table_tab.messages.isVisible()


def test_what_sql_has_no_names_for_is_offered_in_other_forms(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, settled: Settled
) -> None:
    pq.write_table(pa.table({"n": [1, 2], "N": [3, 4]}), tmp_path / "alike.parquet")
    window.open_paths([tmp_path / "alike.parquet"])
    tab = settled()
    tab.set_filter(col("N") > 3)
    settled()
    tab.line_actions.copy("sql")
    qtbot.waitUntil(lambda: "'n' and 'N'" in tab.messages.label.text())
    assert [button.text() for button in tab.messages.buttons] == ["Copy as Python", "Copy as JSON"]
    qtbot.mouseClick(tab.messages.buttons[0], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: tab.messages.label.text() == "Copied as Python")
    assert '.where("N > 3")' in QGuiApplication.clipboard().text()


@pytest.mark.slow
def test_sql_of_a_file_says_what_its_table_stands_for(
    qtbot: QtBot, file_tab: DatasetTab, file: Path, settled: Settled
) -> None:
    file_tab.apply(Line.of([Where(col("delay") > 60)]))
    settled()
    file_tab.line_actions.copy("sql")
    said = f"Copied as SQL. In it, flights stands for {file}"
    qtbot.waitUntil(lambda: file_tab.messages.label.text() == said)
    assert "FROM flights" in QGuiApplication.clipboard().text()


def test_a_query_of_another_table_is_not_shown_as_this_one(
    qtbot: QtBot, window: MainWindow, table_tab: DatasetTab, table: Table
) -> None:
    table.store.create_table("names", {"carrier": ["AA"]})
    window.library.refresh()
    qtbot.waitUntil(lambda: len(window.sidebar.entries("table")) == 2)
    QGuiApplication.clipboard().setText("SELECT * FROM names WHERE carrier = 'AA'")
    table_tab.line_actions.paste()
    qtbot.waitUntil(lambda: "'names'" in table_tab.messages.label.text())
    assert table_tab.line == Line()


@pytest.mark.slow
def test_a_view_is_saved_listed_under_its_table_and_opened(
    qtbot: QtBot, window: MainWindow, grouped_tab: DatasetTab, table: Table, settled: Settled
) -> None:
    window.commands["save_view"].trigger()
    form = grouped_tab.line_actions.form
    qtbot.waitUntil(form.name.isVisible)
    qtbot.keyClicks(form.name, "late by carrier")
    qtbot.keyClick(form.name, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: [e.text for e in window.sidebar.entries("view")] == ["late by carrier"])
    assert table.store.views["late by carrier"].pipeline.steps == STEPS
    window.tabs.close_at(0)
    window.opening.open_entry(window.sidebar.entries("view")[0])
    qtbot.waitUntil(lambda: window.tabs.dataset_tab is not None)
    qtbot.waitUntil(lambda: window.tabs.dataset_tab.line.active == STEPS)
    assert settled().view.num_rows == 4


def test_a_name_that_is_taken_can_be_replaced(qtbot: QtBot, grouped_tab: DatasetTab, table: Table) -> None:
    table.store.views.save("late", table.where("delay > 1"))
    grouped_tab.line_actions.save("late")
    qtbot.waitUntil(lambda: "already" in grouped_tab.messages.label.text())
    grouped_tab.messages.buttons[0].click()
    qtbot.waitUntil(lambda: table.store.views["late"].pipeline.steps == STEPS)


@pytest.mark.slow
def test_a_view_of_a_file_is_kept_beside_the_settings(
    qtbot: QtBot, file_tab: DatasetTab, settled: Settled, memory
) -> None:
    file_tab.apply(Line.of(STEPS))
    settled()
    file_tab.line_actions.save("late")
    qtbot.waitUntil(memory.saved_views.exists)
    file_tab.apply(Line())
    settled()
    file_tab.line_actions.show_view("late")
    qtbot.waitUntil(lambda: file_tab.line.active == STEPS)


@pytest.mark.slow
def test_a_view_whose_column_is_gone_says_so_on_its_chip(
    qtbot: QtBot, table_tab: DatasetTab, table: Table, settled: Settled
) -> None:
    table.store.views.save("late", table.where("delay > 60").sort("note"))
    table.drop_column("delay") if hasattr(table, "drop_column") else table.columns.drop("delay")
    table_tab.line_actions.show_view("late")
    qtbot.waitUntil(lambda: len(table_tab.steps.bar.chips) == 2)
    settled()
    problems = [chip.state.problem for chip in table_tab.steps.bar.chips]
    assert "no column 'delay'" in problems[0] and problems[1] == ""
    assert table_tab.view.num_rows == 1000


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(("suffix", "read_file"), [(".csv", pc.read_csv), (".parquet", pq.read_table)])
def test_what_is_shown_is_exported_in_its_order(
    qtbot: QtBot, grouped_tab: DatasetTab, tmp_path: Path, suffix: str, read_file: Callable[[Path], object]
) -> None:
    path = tmp_path / f"late{suffix}"
    grouped_tab.line_actions.export(path)
    qtbot.waitUntil(lambda: "Exported 4 rows" in grouped_tab.messages.label.text())
    assert read_file(path).column("n").to_pylist() == grouped_tab.view.page(0, 9).column("n").to_pylist()


@pytest.mark.slow
def test_hidden_columns_and_the_order_on_screen_are_those_of_the_file(
    qtbot: QtBot, window: MainWindow, table_tab: DatasetTab, settled: Settled, tmp_path: Path
) -> None:
    header, names = table_tab.grid.column_header, table_tab.grid.grid_model.names
    table_tab.grid.setColumnHidden(names.index("carrier"), True)
    header.moveSection(header.visualIndex(names.index("note")), 0)
    table_tab.set_sort([SortKey("delay", True)])
    settled()
    path = tmp_path / "rows.jsonl"
    table_tab.line_actions.export(path)
    qtbot.waitUntil(path.exists)
    first = json.loads(path.read_text().splitlines()[0])
    assert list(first) == ["note", "delay"] and first["delay"] == 449


def test_a_file_that_is_there_is_not_written_over(
    qtbot: QtBot, table_tab: DatasetTab, tmp_path: Path
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("mine")
    table_tab.line_actions.export(path)
    qtbot.waitUntil(lambda: "Nothing was exported" in table_tab.messages.label.text())
    assert path.read_text() == "mine"


@pytest.mark.slow
def test_actions_take_a_column_whose_name_is_empty(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, settled, go_to
) -> None:
    pq.write_table(pa.table({"": ["b", "a", "b"], "n": [1, 2, 3]}), tmp_path / "t.parquet")
    window.open_paths([tmp_path / "t.parquet"])
    tab = settled()
    go_to(tab, 0, "")
    window.commands["sort_ascending"].trigger()
    assert settled().sort == (SortKey("", False),)
    go_to(tab, 1, "")
    window.commands["filter_equal"].trigger()
    qtbot.waitUntil(lambda: tab.where == Predicate("", "eq", ("b",)))
    window.commands["clear_steps"].trigger()
    settled()
    go_to(tab, 0, "")
    window.commands["filter_values"].trigger()
    qtbot.waitUntil(lambda: tab.findChild(PickerPopup) is not None)
    qtbot.keyClick(tab.findChild(PickerPopup), Qt.Key.Key_Escape)
    window.commands["group"].trigger()
    assert settled().line.steps[-1].step == Group(("",), (("n", agg.count()),))
    assert tab.view.num_rows == 2
