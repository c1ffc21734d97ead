"""A table of a Spark server in the window: chosen in a dialog, and its line of steps run there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from lamella import agg, col, open_dataset
from lamella.core.datasets.spark import SparkTable
from lamella.core.query.charts import ChartSpec
from lamella.core.query.spark import spill
from lamella.core.query.steps import Compute, Group, Sql, Where
from lamella.core.remote.connections import Connection, Connections
from lamella.core.remote.spark_connect import parse_address, server_at
from lamella.core.scan.snapshot import FileSegment, SortKey
from lamella.ui.dialogs.answer_comparison import AnswerComparison
from lamella.ui.dialogs.row_key import UNIQUE, RowKeyDialog
from lamella.ui.main_window import MainWindow
from lamella.ui.remote.server_browser import ServerBrowser
from lamella.ui.window.dataset_tab import DatasetTab
from lamella.ui.window.engine_comparison import compare, compare_with_local
from tests import spark_servers

ROWS = 5_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    rows = {"id": range(ROWS), "k": [f"k{n % 7}" for n in range(ROWS)], "n": [n % 100 for n in range(ROWS)]}
    pq.write_table(pa.table(rows), tmp_path / "trips.parquet")
    return tmp_path / "trips.parquet"


@pytest.fixture
def tab(window: MainWindow, spark_address: str, path: Path, settled: Callable[[], DatasetTab]) -> DatasetTab:
    window.opening.open_key((f"{spark_address}/parquet:{path}",))
    return settled()


@pytest.fixture
def browse(qtbot: QtBot, window: MainWindow) -> Callable[..., ServerBrowser]:
    """The browser of servers, once it lists what is at an address."""

    def open_it(address: str) -> ServerBrowser:
        window.commands["open_server"].trigger()
        browser = window.findChildren(ServerBrowser)[-1]
        browser.address.setText(address)
        QTest.keyClick(browser.address, Qt.Key.Key_Return)
        qtbot.waitUntil(lambda: not browser.is_working)
        return browser

    return open_it


def names(browser: ServerBrowser) -> list[str]:
    entries = browser.list.sorted_entries
    return [entries.index(row, 0).data() for row in range(entries.rowCount())]


def test_a_path_that_the_server_sees_is_opened(
    window: MainWindow, spark_address: str, path: Path, settled: Callable[[], DatasetTab],
    browse: Callable[..., ServerBrowser],
) -> None:  # fmt: skip
    browser = browse(f"{spark_address}/")
    assert not browser.open_button.isEnabled() and not browser.path.isHidden()
    QTest.keyClicks(browser.path.path, str(path))
    assert browser.open_button.isEnabled() and not browser.import_button.isEnabled()
    QTest.keyClick(browser.path.path, Qt.Key.Key_Return)
    server_tab = settled()
    assert isinstance(server_tab.dataset, SparkTable) and server_tab.view.num_rows == ROWS
    assert server_tab.name == "trips.parquet"


def test_a_saved_server_leads_to_its_tables(
    qtbot: QtBot, window: MainWindow, spark_address: str, path: Path, settled: Callable[[], DatasetTab],
    browse: Callable[..., ServerBrowser],
) -> None:  # fmt: skip
    Connections().save(Connection("cluster", "spark", endpoint=spark_address), replace=True)
    server = server_at(parse_address(spark_address)[0])  # Sail keeps its tables by session
    for name in ("rides", "rides_2024", "zones"):
        server.read(f"CREATE TABLE IF NOT EXISTS default.{name} USING parquet LOCATION '{path}'")
    browser = browse("sc://127.0.0.1:1/")
    assert "does not answer" in browser.messages.label.text() and not names(browser)
    qtbot.waitUntil(lambda: browser.places.count() == 1)
    place = browser.places.visualItemRect(browser.places.item(0)).center()
    QTest.mouseClick(browser.places.viewport(), Qt.MouseButton.LeftButton, pos=place)
    qtbot.waitUntil(lambda: bool(names(browser)))
    while "rides" not in names(browser):  # past catalogs and databases, where there are several
        row = next(row for row, name in enumerate(names(browser)) if name in ("default", "sail"))
        before = names(browser)
        browser.list.doubleClicked.emit(browser.list.sorted_entries.index(row, 0))
        qtbot.waitUntil(lambda before=before: names(browser) not in ([], before))
    assert browser.count.text().endswith("tables")
    QTest.keyClicks(browser.narrow, "2024")
    assert names(browser) == ["rides_2024"]
    browser.list.setCurrentIndex(browser.list.sorted_entries.index(0, 0))
    browser.open_button.click()
    server_tab = settled()
    assert server_tab.view.num_rows == ROWS and server_tab.name == "rides_2024"
    assert [path.name.rpartition(".")[2] for path in window.memory.recent] == [server_tab.name]
    assert server_tab.property("icon") == "table" and [e.text for e in window.sidebar.entries("file")] == [
        server_tab.name
    ]
    assert [entry.key for entry in window.sidebar.entries("file")] == [server_tab.key]
    for name in ("rides", "rides_2024", "zones"):
        server.read(f"DROP TABLE default.{name}")


def test_up_shows_what_holds_a_database(
    qtbot: QtBot, spark_address: str, browse: Callable[..., ServerBrowser]
) -> None:
    server = server_at(parse_address(spark_address)[0])
    catalog = next(candidate for candidate in server.catalogs() if "default" in server.databases(candidate))
    browser = browse(f"{spark_address}/{catalog}/default/")
    browser.up_button.click()
    qtbot.waitUntil(lambda: "default" in names(browser))
    assert browser.address.text() == f"{spark_address}/{catalog}/"
    browser.up_button.click()
    qtbot.waitUntil(lambda: catalog in names(browser))
    assert not browser.up_button.isEnabled()


def test_a_line_of_steps_runs_there(tab: DatasetTab, settled: Callable[[], DatasetTab]) -> None:
    tab.add_filter(col("n") >= 50)
    assert settled().view.num_rows == ROWS // 2
    tab.add_step(Group(("k",), (("rows", agg.count()), ("mean", agg.mean("n")))))
    tab.set_sort([SortKey("rows", True), SortKey("k")])
    server_tab = settled()
    counts = server_tab.view.page(0, 9)["rows"].to_pylist()
    assert len(counts) == 7 and sum(counts) == ROWS // 2 and counts == sorted(counts, reverse=True)
    assert server_tab.grid.column_header.sort == (SortKey("rows", True), SortKey("k"))
    assert "7 groups · " in server_tab.status and "Spark Connect · 127.0.0.1" in server_tab.status
    tab.add_step(Sql("SELECT k, rows * 2 AS twice FROM t LIMIT 3", "t"))
    assert settled().view.schema.names == ["k", "twice"]
    tab.go_back()
    assert settled().view.num_rows == 7


@pytest.mark.slow
def test_refresh_asks_the_server_again(
    qtbot: QtBot, window: MainWindow, tab: DatasetTab, path: Path, settled: Callable[[], DatasetTab]
) -> None:
    pq.write_table(pq.read_table(path).slice(0, 700), path)
    window.commands["refresh"].trigger()
    qtbot.waitUntil(lambda: tab.view.num_rows == 700)


@pytest.mark.slow
def test_a_step_that_cannot_run_there_says_so_and_the_others_run(
    tab: DatasetTab, settled: Callable[[], DatasetTab]
) -> None:
    tab.add_step(Where(col("n") < 10))
    tab.add_step(Compute((("text", (col("n") / 2).cast("string")),)))
    server_tab = settled()
    assert server_tab.view.num_rows == ROWS // 10
    assert "cannot run on Spark Connect" in server_tab.content.lines.runnable.problems[1]


@pytest.fixture
def few_rows() -> Iterator[None]:
    """Fewer rows than the table has are fetched of it."""
    before = spill.most_rows()
    spill.limit_rows(1_200)
    yield
    spill.limit_rows(before)


@pytest.mark.slow
def test_more_rows_than_the_limit_lie_in_a_file_and_are_counted_there(
    window: MainWindow, spark_address: str, path: Path, settled: Callable[[], DatasetTab],
    few_rows: None, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(spill, "IN_MEMORY_BYTES", 1_000)
    window.opening.open_key((f"{spark_address}/parquet:{path}",))
    server_tab = settled()
    assert server_tab.view.num_rows == 1_200
    assert f"the first 1,200 of {ROWS:,} rows" in server_tab.status
    (segment,) = server_tab.view.snapshot.segments
    assert isinstance(segment, FileSegment) and segment.path.is_file()
    assert server_tab.content.lines.rows.count() == ROWS, "what goes on with the rows has all of them"
    assert server_tab.view.page(1_100, 5).num_rows == 5


@pytest.mark.slow
def test_further_rows_are_fetched_until_all_are_there(
    qtbot: QtBot, window: MainWindow, spark_address: str, path: Path, settled: Callable[[], DatasetTab],
    few_rows: None,
) -> None:  # fmt: skip
    window.opening.open_key((f"{spark_address}/parquet:{path}",))
    tab = settled()
    bar = tab.remote_rows.bar
    assert bar.isVisible() and bar.label.text().startswith(f"1,200 of {ROWS:,} rows, unsorted")
    tab.grid.go_to(1_100, 0)
    for rows in (2_400, 3_600, 4_800, ROWS):
        qtbot.mouseClick(bar.more_button, Qt.MouseButton.LeftButton)
        qtbot.waitUntil(lambda rows=rows: tab.view.num_rows == rows)
        settled()
    assert not bar.isVisible() and tab.grid.selection.current == (1_100, 0), "the place stays"
    assert sorted(tab.view.page(0, ROWS)["id"].to_pylist()) == list(range(ROWS))


@pytest.mark.slow
def test_by_a_key_rows_have_an_order_and_go_on_behind_the_last_one(
    qtbot: QtBot, window: MainWindow, spark_address: str, path: Path, settled: Callable[[], DatasetTab],
    few_rows: None,
) -> None:  # fmt: skip
    key = (f"{spark_address}/parquet:{path}",)
    window.opening.open_key(key)
    tab = settled()
    window.commands["row_key"].trigger()
    dialog = window.findChildren(RowKeyDialog)[-1]
    assert not dialog.use_button.isEnabled()
    for name in ("k", "n"):
        next(iter(dialog.list.findItems(name, Qt.MatchFlag.MatchExactly))).setCheckState(
            Qt.CheckState.Checked
        )
    qtbot.mouseClick(dialog.check_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: "stand for several rows" in dialog.note.text())
    for row in range(dialog.list.count()):
        item = dialog.list.item(row)
        is_key = item.text() == "id"
        item.setCheckState(Qt.CheckState.Checked if is_key else Qt.CheckState.Unchecked)
    qtbot.mouseClick(dialog.check_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: dialog.note.text() == UNIQUE)
    qtbot.mouseClick(dialog.use_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: tab.dataset.key == ("id",))
    settled()
    assert tab.remote_rows.bar.label.text().startswith(f"The first 1,200 of {ROWS:,} rows, by id.")
    before = tab.view.snapshot
    qtbot.mouseClick(tab.remote_rows.bar.more_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: tab.view.num_rows == 2_400)
    assert tab.view.snapshot.segments[:1] == before.segments, "what was here is not asked for again"
    assert tab.view.page(0, 2_400)["id"].to_pylist() == list(range(2_400))
    assert window.library.readings.of(key).options == {"row_key": ("id",)}, "it is remembered"


@pytest.mark.usefixtures("column_cards")
@pytest.mark.slow
def test_figures_are_of_all_rows_not_of_those_that_were_fetched(
    qtbot: QtBot, window: MainWindow, spark_address: str, path: Path, settled: Callable[[], DatasetTab],
    few_rows: None,
) -> None:  # fmt: skip
    window.opening.open_key((f"{spark_address}/parquet:{path}",))
    tab = settled()
    assert tab.view.num_rows == 1_200
    tab.grid.cards.set_shown(True)
    cards = tab.grid.cards.loader
    qtbot.waitUntil(lambda: cards.is_settled and cards.face("id") is not None)
    assert (cards.face("id").card.figures.rows, cards.face("id").card.figures.max) == (ROWS, ROWS - 1)
    assert sum(count for _, count in cards.face("k").card.figures.top) == ROWS
    tab.profiling.show()
    profiles = tab.profiling.view
    qtbot.waitUntil(lambda: profiles.loader.num_known == 3)
    assert {row.name: row.profile.rows for row in profiles.rows} == dict.fromkeys(("id", "k", "n"), ROWS)
    tab.profiling.hide()
    tab.charting.show()
    tab.charting.view.show_spec(ChartSpec("bar", "k"))
    qtbot.waitUntil(lambda: tab.charting.is_drawn(ChartSpec("bar", "k")))
    assert sum(tab.charting.view.data.table["value"].to_pylist()) == ROWS
    assert f"7 figures of {ROWS:,} rows" in tab.status and "Spark Connect" in tab.status
    tab.charting.hide()
    tab.grid.go_to(0, 0)
    tab.inspector.show_page("column")
    page = tab.inspector.column_page
    qtbot.waitUntil(lambda: page.values.topLevelItemCount() > 0)
    assert page.values.topLevelItem(0).text(1) == "1", "each id once"


@pytest.mark.usefixtures("column_cards")
@pytest.mark.slow
def test_a_filter_leaves_the_figures_of_all_rows_behind_its_own(
    qtbot: QtBot, window: MainWindow, spark_address: str, path: Path, settled: Callable[[], DatasetTab],
    few_rows: None,
) -> None:  # fmt: skip
    """Cards behave as over local rows, whether the answer was fetched whole or not."""
    window.opening.open_key((f"{spark_address}/parquet:{path}",))
    tab = settled()
    tab.grid.cards.set_shown(True)
    cards = tab.grid.cards.loader

    def rows_of_cards() -> set[int]:
        faces = [cards.face(name) for name in ("id", "k")]
        return {0 if face is None else face.card.shown_figures.rows for face in faces}

    for below, met in ((10, 500), (50, 2_500)):
        tab.set_filter(col("n") < below)
        settled()
        qtbot.waitUntil(lambda met=met: rows_of_cards() == {met})
        numbers, texts = cards.face("id").card, cards.face("k").card
        assert (numbers.figures.rows, numbers.matching_figures.rows, numbers.matching_figures.max) == (
            ROWS,
            met,
            4_900 + below - 1,
        )
        assert (
            sum(value.total for value in texts.top) == ROWS
            and sum(value.matching_count for value in texts.top) == met
        )
        bars = tab.grid.cards.bars_of(0)
        assert sum(bars.counts) == ROWS and sum(bars.matching_counts) == met
        assert tab.grid.column_header.filtered_columns == {"n"}
    tab.profiling.show()
    qtbot.waitUntil(lambda: tab.profiling.view.loader.num_known == 3)
    assert {row.profile.rows for row in tab.profiling.view.rows} == {2_500}
    tab.profiling.hide()
    tab.grid.go_to(0, 0)
    tab.inspector.show_page("column")
    page = tab.inspector.column_page
    qtbot.waitUntil(lambda: page.figures.topLevelItemCount() > 0)
    rows = page.figures.topLevelItem(0)
    assert [rows.text(column) for column in range(3)] == ["Rows", "2,500", "5,000"]


@pytest.mark.slow
def test_a_server_that_is_gone_is_told_in_the_message_bar(
    qtbot: QtBot, window: MainWindow, path: Path, settled: Callable[[], DatasetTab]
) -> None:
    with spark_servers.sail() as running:
        window.opening.open_key((f"{running.address}/parquet:{path}",))
        server_tab = settled()
        running.kill()
        server_tab.add_filter(col("n") == 1)
        qtbot.waitUntil(lambda: "does not answer" in server_tab.messages.label.text())
        assert server_tab.view.num_rows == ROWS, "what was shown stays"


def test_compare_with_local(
    qtbot: QtBot, window: MainWindow, tab: DatasetTab, path: Path, settled: Callable[[], DatasetTab]
) -> None:
    compare_with_local(window)
    assert "Nothing is open to compare with" in tab.messages.label.text()
    tab.add_step(Group(("k",), (("mean", agg.mean("n")),)))
    settled()
    same = open_dataset(path)
    compare(tab, "trips", lambda: same)
    qtbot.waitUntil(lambda: bool(window.findChildren(AnswerComparison)))
    (dialog,) = window.findChildren(AnswerComparison)
    assert dialog.title.text() == "The answers are the same" and dialog.list.isHidden()
    dialog.accept()
    rows = pq.read_table(path).slice(7)
    pq.write_table(rows, path.with_name("other.parquet"))
    fewer = open_dataset(path.with_name("other.parquet"))
    compare(tab, "other", lambda: fewer)
    qtbot.waitUntil(lambda: any(widget.isVisible() for widget in window.findChildren(AnswerComparison)))
    dialog = next(widget for widget in window.findChildren(AnswerComparison) if widget.isVisible())
    assert dialog.title.text().startswith("The answers differ in ")
    assert dialog.list.topLevelItem(0).text(1) == "mean"
    dialog.accept()
