"""Find in a tab: all rows are searched in the background; hits are marked, counted and visited."""

from __future__ import annotations

import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFontMetrics
from PySide6.QtTest import QTest

from lamella import col
from lamella.core.jobs import Job
from lamella.core.query import agg
from lamella.core.query.cell_search import CellSearch, Hits, TextPattern
from lamella.core.query.line import Line
from lamella.core.query.steps import Compute, Group, Where
from lamella.core.scan.snapshot import SortKey
from lamella.ui import theme
from lamella.ui.editing.replace_dialog import ReplaceDialog
from lamella.ui.formats.formats import Format
from lamella.ui.grid.hits import HitPainter
from lamella.ui.grid.painter import CellPainter
from lamella.ui.grid.tree import arrow_room


@pytest.fixture
def find(window, qtbot, settled):
    """Type a text into the find bar of the tab in front, opened by its key, and wait for the count."""

    def find(text: str, *toggles: str):
        tab = settled()
        if not tab.finding.is_open:
            QTest.keyClick(window, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
        bar = tab.finding.bar
        for name in toggles:
            getattr(bar, name).click()
        bar.field.selectAll()
        QTest.keyClicks(bar.field, text)
        return counted(tab)

    def counted(tab):
        qtbot.waitUntil(lambda: not tab.finding.running, timeout=10_000)
        settled()
        return tab.finding.bar.news.text()

    find.counted = counted
    return find


def cursor(tab) -> tuple[int, str]:
    current = tab.grid.selection.current
    return (-1, "") if current is None else (current[0], tab.grid.current_name)


def press(window, key, modifier=Qt.KeyboardModifier.NoModifier) -> None:
    QTest.keyClick(window, key, modifier)


def test_hits_are_counted_and_gone_to_by_keys(window, table_tab, find, go_to, settled) -> None:
    go_to(table_tab, 500, "note")
    assert find("row 99") == "2 of 11" and cursor(table_tab) == (990, "note")
    QTest.keyClick(table_tab.finding.bar.field, Qt.Key.Key_Return)
    assert cursor(table_tab) == (991, "note") and table_tab.finding.bar.news.text() == "3 of 11"
    press(window, Qt.Key.Key_F3, Qt.KeyboardModifier.ShiftModifier)
    press(window, Qt.Key.Key_F3, Qt.KeyboardModifier.ShiftModifier)
    assert cursor(table_tab) == (99, "note") and table_tab.finding.bar.news.text() == "1 of 11"
    press(window, Qt.Key.Key_F3, Qt.KeyboardModifier.ShiftModifier)
    assert table_tab.finding.bar.news.text() == "11 of 11 · from the end again"
    press(window, Qt.Key.Key_F3)
    assert table_tab.finding.bar.news.text() == "1 of 11 · from the top again"
    QTest.keyClick(table_tab.finding.bar.field, Qt.Key.Key_Escape)
    assert not table_tab.finding.is_open and table_tab.grid.hits is None and table_tab.grid.hasFocus()
    press(window, Qt.Key.Key_F3)
    find.counted(table_tab)
    assert table_tab.finding.is_open and cursor(table_tab)[1] == "note"


def test_the_next_hit_is_shown_in_place_of_a_chart(window, table_tab, find) -> None:
    find("row 99")
    window.commands["chart"].trigger()
    assert table_tab.charting.is_shown
    press(window, Qt.Key.Key_F3)
    assert not table_tab.charting.is_shown and table_tab.grid.isVisible()
    assert table_tab.finding.bar.news.text() == "2 of 11"


@pytest.mark.slow
def test_options_say_what_matches_and_a_bad_pattern_says_why(window, table_tab, find) -> None:
    assert find("AA").endswith("of 250")
    assert find("aa").endswith("of 250") and find("aa", "case") == "Not found"
    assert find("A").endswith("of 500") and find("A", "whole") == "Not found"
    table_tab.finding.bar.case.click()
    assert find("ua").endswith("of 250")
    assert find("(U|A)A", "regex").endswith("of 500")
    table_tab.grid.grab()  # hits of groups are painted, too
    assert find("row (1") == "Unclosed bracket ( at character 5"
    assert table_tab.finding.bar.field.property("variant") == "invalid"
    assert not table_tab.finding.bar.next.isEnabled()
    assert find("row 1.", "whole").endswith("of 110")


@pytest.mark.slow
def test_numbers_and_dates_are_found_as_typed_and_as_displayed(window, table_tab, find, settled) -> None:
    assert find("449").endswith("of 3")  # two delays and a note
    table_tab.grid.set_format("delay", Format("number", digits=2, suffix=" min"))
    assert find("449.00 min").endswith("of 2") and cursor(table_tab)[1] == "delay"
    assert find("4.4999e2", "whole") == "Not found" and find("4.49e2").endswith("of 2")


@pytest.mark.slow
def test_columns_are_chosen_and_hidden_ones_say_so(window, table_tab, find, go_to) -> None:
    go_to(table_tab, 0, "carrier")
    assert find("1").endswith(f"of {count_of(table_tab, '1', ('delay', 'carrier', 'note')):,}")
    bar = table_tab.finding.bar
    go_to(table_tab, 0, "carrier")
    bar.columns.click()
    bar.columns.current.click()
    bar.columns.popover.close()
    assert find.counted(table_tab) == "Not found" and bar.columns.chosen_columns == ("carrier",)
    bar.columns.all_button.click()
    names = table_tab.grid.grid_model.names
    table_tab.grid.setColumnHidden(names.index("note"), True)
    go_to(table_tab, 0, "delay")
    assert find("row 7", "whole") == "1 of 1 · in the hidden column 'note'"
    assert cursor(table_tab)[0] == 7 and bar.show_column.isVisible()
    bar.show_column.click()
    assert bar.news.text() == "1 of 1" and cursor(table_tab) == (7, "note")


def count_of(tab, text: str, names) -> int:
    page = tab.view.page(0, tab.view.num_rows, list(names))
    return sum(text in str(value) for column in page.columns for value in column.to_pylist())


@pytest.mark.slow
def test_hits_are_marked_in_cells_and_at_the_scroll_bar(window, table_tab, find, go_to) -> None:
    go_to(table_tab, 0, "delay")
    find("row 3")
    rect = table_tab.grid.cell_rect((3, table_tab.grid.place(table_tab.grid.grid_model.names.index("note"))))
    picture = table_tab.grid.viewport().grab().toImage()
    line, soft = (QColor(getattr(theme.current().colors, name)) for name in ("warning", "warning_soft"))
    inside = [
        picture.pixelColor(x, y)
        for x in range(rect.left(), rect.right())
        for y in range(rect.top(), rect.bottom())
    ]
    assert line in inside and soft in inside
    marks = table_tab.finding.marks
    assert marks.isVisible() and len(marks.places) and marks.places[0] < marks.height() / 50
    find("no such text")
    assert not marks.isVisible()


def test_a_hit_beyond_the_end_of_its_cell_is_shown_with_what_stands_around_it(
    qtbot, window, store, settled, find
) -> None:
    text = f"{'before ' * 15}the needle in it{' after' * 30}"
    store.create_table("long", {"n": [1, 2], "story": [text, "needle first"]})
    window.opening.open_key((str(store.path), "long"))
    tab = settled()
    column = tab.grid.grid_model.names.index("story")

    def shown(width: int = 200) -> str:
        return CellPainter(tab.grid).fitted_in_line(column, text, width)[0]

    beginning = shown()
    assert beginning.startswith("before ") and "needle" not in beginning
    find("needle")
    assert shown().startswith("…") and "needle" in shown() and shown().endswith("…")
    assert " needle" in shown(), "words before it are shown, too"
    rect = tab.grid.cell_rect((0, tab.grid.place(column)))
    picture = tab.grid.viewport().grab().toImage()
    strong = QColor(theme.current().colors.behind[2])
    assert any(picture.pixelColor(x, rect.top() + 3) == strong for x in range(rect.left(), rect.right()))
    find("before")
    assert shown() == beginning
    QTest.keyClick(tab.finding.bar.field, Qt.Key.Key_Escape)
    assert shown() == beginning


def test_a_hit_deep_in_a_long_text_is_read_and_shown(qtbot, window, store, settled, find) -> None:
    texts = [f"{'before ' * count}the needle in it{' after' * 90}" for count in (90, 120)]
    store.create_table("long", {"n": [1, 2, 3], "story": [*texts, "x" * 900]})
    window.opening.open_key((str(store.path), "long"))
    tab = settled()
    names = tab.grid.grid_model.names
    find("needle")

    def drawn(row: int) -> str:
        text = tab.grid.grid_model.pages.shown_text(row, names.index("story"))
        return text if tab.grid.hits is None else tab.grid.hits.text_of(row, "story", text)

    strong = QColor(theme.current().colors.behind[2])

    def is_marked(row: int) -> bool:
        rect = tab.grid.cell_rect((row, tab.grid.place(names.index("story"))))
        picture = tab.grid.viewport().grab().toImage()
        return any(picture.pixelColor(x, rect.top() + 3) == strong for x in range(rect.left(), rect.right()))

    qtbot.waitUntil(lambda: is_marked(0) and is_marked(1))
    assert "needle" in drawn(0) and "needle" in drawn(1) and drawn(2).startswith("xxx")
    assert "needle" not in tab.grid.grid_model.pages.text(0, names.index("story")), "which is edited"
    QTest.keyClick(tab.finding.bar.field, Qt.Key.Key_Escape)
    assert drawn(0).startswith("before ")


def test_hits_in_keys_of_groups_are_shown_and_marked_where_they_are_drawn(
    qtbot, window, store, settled, find, monkeypatch
) -> None:
    text = f"{'before ' * 90}the needle in it{' after' * 90}"
    store.create_table("long", {"kind": ["a", "a", "b"], "story": [text, "x" * 900, text]})
    window.opening.open_key((str(store.path), "long"))
    tab = settled()
    tab.apply(Line.of([Group(("kind", "story"), (("n", agg.count()),), subtotals=True)]))
    settled()
    window.commands["open_groups"].trigger()
    qtbot.waitUntil(lambda: tab.grid.grid_model.num_rows == 5)
    place = tab.grid.place(tab.grid.grid_model.names.index("story"))
    tab.grid.horizontalHeader().resizeSection(place, 400)
    find("needle")
    strong = QColor(theme.current().colors.behind[2])

    def marked() -> list[int]:
        rect, picture = tab.grid.cell_rect((1, place)), tab.grid.viewport().grab().toImage()
        return [
            x - rect.left()
            for x in range(rect.left(), rect.right())
            if picture.pixelColor(x, rect.top() + 3) == strong
        ]

    qtbot.waitUntil(lambda: bool(marked()))
    drawn: list[str] = []
    painted = CellPainter.fitted_in_line

    def fitted(painter: CellPainter, column: int, text: str, width: int) -> tuple[str, int]:
        drawn.append(painted(painter, column, text, width)[0])
        return drawn[-1], width

    with monkeypatch.context() as patch:
        patch.setattr(CellPainter, "fitted_in_line", fitted)
        patch.setattr(HitPainter, "paint", lambda *_: None)
        tab.grid.viewport().grab()
    texts = [text for text in drawn if "needle" in text]
    assert len(texts) == 2 and "…" in texts[0]
    metrics = QFontMetrics(theme.current().tabular_font())
    before = metrics.horizontalAdvance(texts[0][: texts[0].index("needle")])
    assert abs(marked()[0] - (arrow_room() + theme.S + before)) <= 4


def test_all_rows_of_what_is_shown_are_searched(window, table_tab, find, settled) -> None:
    """Sorted, filtered, computed and grouped rows, and each change starts the search again."""
    assert find("row 12").endswith("of 11")
    table_tab.set_filter(col("delay") > 100)
    settled()
    notes = table_tab.view.page(0, table_tab.view.num_rows, ["note"]).column(0).to_pylist()
    expected = [n for n, text in enumerate(notes) if "row 12" in text]
    assert find.counted(table_tab).startswith(f"{len(expected):,} found")
    table_tab.set_sort([SortKey("delay", True)])
    settled()
    assert find.counted(table_tab).startswith(f"{len(expected):,} found")
    press(window, Qt.Key.Key_F3)
    row, name = cursor(table_tab)
    assert "row 12" in table_tab.view.page(row, 1, [name]).column(0)[0].as_py()
    table_tab.apply(Line.of([Compute((("twice", col("delay") * 2),))]))
    settled()
    assert find("898").endswith("of 3")  # twice 449, and a note
    table_tab.apply(Line.of([Group(("carrier",), (("n", agg.count()),))]))
    settled()
    assert find("ua") == "1 of 1"


@pytest.mark.slow
def test_rows_of_a_tree_of_groups_are_searched_as_they_are_open(
    window, table_tab, find, settled, qtbot
) -> None:
    table_tab.apply(Line.of([Group(("carrier", "delay"), (("n", agg.count()),), subtotals=True)]))
    settled()
    assert find("UA") == "1 of 1" and cursor(table_tab)[1] == "carrier"
    assert find("449") == "Not found", "its group is closed"
    window.commands["open_groups"].trigger()
    qtbot.waitUntil(lambda: table_tab.grid.grid_model.num_rows == 504)
    find.counted(table_tab)
    assert find("449").startswith("1 of 1")
    row, name = cursor(table_tab)
    model = table_tab.grid.grid_model
    assert name == "delay" and model.pages.text(row, model.names.index("delay")) == "449"
    window.commands["close_groups"].trigger()
    qtbot.waitUntil(lambda: model.num_rows == 4)
    qtbot.waitUntil(lambda: find.counted(table_tab) == "Not found")


@pytest.mark.slow
def test_edits_are_found_before_and_after_they_are_saved(
    window, table_tab, table, find, go_to, settled, qtbot
) -> None:
    window.commands["review_edits"].trigger()
    go_to(table_tab, 0, "note")
    assert find("needle") == "Not found"
    go_to(table_tab, 5, "note")
    table_tab.editing.begin("my needle")
    QTest.keyClick(table_tab.grid, Qt.Key.Key_Return)
    table_tab.editing.settle()
    qtbot.waitUntil(lambda: table_tab.finding.bar.news.text() in ("1 found", "1 of 1"))
    window.commands["undo"].trigger()
    qtbot.waitUntil(lambda: table_tab.finding.bar.news.text() == "Not found")
    table.update([{"_id": 7, "note": "a needle"}, {"_id": 8, "note": "the needle"}])
    go_to(table_tab, 0, "note")
    table_tab.reload()
    settled()
    assert find.counted(table_tab) == "2 found"


def test_hits_become_a_filter(window, table_tab, find, settled) -> None:
    find("row 99")
    table_tab.finding.bar.keep.click()
    tab = settled()
    assert tab.where == col("note").contains("row 99", ignore_case=True) and tab.view.num_rows == 11
    tab.set_filter(None)
    settled()
    assert find("449", "whole").endswith("of 2")
    tab.finding.bar.keep.click()
    assert settled().where == (col("delay") == 449)
    tab.set_filter(None)
    settled()
    tab.finding.bar.whole.click()
    find("a")
    tab.finding.bar.keep.click()
    assert settled().view.num_rows == 500


@pytest.mark.slow
def test_replace_begins_with_what_is_looked_for(window, table_tab, table, find, go_to, qtbot) -> None:
    go_to(table_tab, 0, "note")
    find("ROW 99")
    press(window, Qt.Key.Key_H, Qt.KeyboardModifier.ControlModifier)
    dialog = window.findChildren(ReplaceDialog)[-1]
    assert dialog.pattern.text() == "ROW 99" and not dialog.case.isChecked()
    assert dialog.columns.currentText() == "All 2 text columns" and dialog.focusWidget() is dialog.with_
    QTest.keyClicks(dialog.with_, "line ")
    qtbot.waitUntil(lambda: dialog.replace.text() == "Change 11 cells")
    dialog.replace.click()
    qtbot.waitUntil(lambda: table.count(col("note").starts_with("line")) == 11)
    assert find.counted(table_tab) == "Not found"


@pytest.mark.slow
def test_a_search_is_stopped_and_keeps_what_it_found(window, table_tab, find, monkeypatch, qtbot) -> None:
    look = CellSearch.run

    def look_for_long(search: CellSearch, job: Job) -> Hits:
        search.hits.add("note", np.array([3, 5]))
        stopped = threading.Event()
        with job.interrupted_by(stopped.set):
            stopped.wait()
        job.check()
        return look(search, job)

    find("row 5")
    monkeypatch.setattr(CellSearch, "run", look_for_long)
    bar = table_tab.finding.bar
    bar.field.setText("row")
    qtbot.waitUntil(bar.stop.isVisible)
    assert window.commands["stop"].isEnabled()
    bar.stop.click()
    assert bar.news.text().startswith("Stopped") and not bar.stop.isVisible()
    assert not table_tab.finding.running


@pytest.mark.slow
def test_odd_texts_do_no_harm(window, table_tab, find) -> None:
    find("x")
    bar = table_tab.finding.bar
    for text in ("\U0001f600", "nul\0\nend", "x" * (1 << 20)):
        bar.field.setText("")
        bar.field.insert(text)
        assert find.counted(table_tab) == "Not found"
    assert len(bar.field.text()) == 1 << 16


@pytest.mark.slow
def test_nested_and_binary_values_and_all_rows_are_found(window, tmp_path, settled, find) -> None:
    rows = pa.table(
        {
            "tags": [["red", "blue"], None, ["green"]],
            "raw": pa.array([b"\xca\xfe", None, b""]),
            "s": [{"a": 1, "b": "red"}, {"a": 2, "b": None}, None],
        }
    )
    path = tmp_path / "odd.parquet"
    pq.write_table(rows, path)
    window.open_paths([path])
    tab = settled()
    assert find("red") == "1 of 2" and find("0xCAFE") == "1 of 1"
    find("red")
    tab.finding.bar.keep.click()
    settled()
    assert "filters do not compare" in tab.messages.label.text() and tab.where is None
    tab.apply(Line.of([Where(col("raw").is_null())]))
    settled()
    assert find("2") == "1 of 1"


@pytest.mark.slow
def test_a_file_that_vanishes_says_so_in_the_bar(window, file_tab, file, find, qtbot) -> None:
    assert find("row 5").endswith("of 111")
    file.unlink()
    file_tab.finding.bar.field.setText("row 77")
    qtbot.waitUntil(lambda: not file_tab.finding.running, timeout=10_000)
    said = file_tab.finding.bar.news.text()
    assert said.endswith("of 11") or "flights.parquet" in said


def test_a_file_that_cannot_be_read_is_named_without_its_folders(window, tmp_path, find, settled) -> None:
    folder = tmp_path / "readings of all stations in one folder" / "another folder below it"
    folder.mkdir(parents=True)
    path = folder / "readings.parquet"
    texts = [f"row {i}" for i in range(200_000)]
    pq.write_table(pa.table({"n": range(len(texts)), "text": texts}), path, row_group_size=50_000)
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 1_000] = bytes(1_000)
    path.write_bytes(content)
    window.open_paths([path])
    tab = settled()
    assert find("no such text").startswith("readings.parquet could not be read")
    assert "Check that the file is whole" in tab.messages.label.text()
    assert [button.text() for button in tab.messages.buttons][-1] == "Reload"


@pytest.mark.parametrize("is_open", [True, False])
def test_the_search_comes_back_with_its_tab(window, file_tab, find, go_to, settled, qtbot, is_open) -> None:
    go_to(file_tab, 500, "note")
    with qtbot.waitSignal(file_tab.state_changed):
        find("ROW 99", "case")
    with qtbot.waitSignal(file_tab.state_changed):
        file_tab.finding.bar.columns.choose(["note"])
    if not is_open:
        with qtbot.waitSignal(file_tab.state_changed):
            file_tab.finding.close()
    place = cursor(file_tab)
    window.commands["close_tab"].trigger()
    window.commands["reopen_tab"].trigger()
    tab = settled()
    qtbot.waitUntil(lambda: cursor(tab) == place)
    assert tab.finding.is_open is is_open and not tab.finding.bar.field.hasFocus()
    assert find.counted(tab) == ("Not found" if is_open else "")
    tab.finding.open()
    assert tab.finding.bar.pattern == TextPattern("ROW 99", case=True)
    assert tab.finding.bar.columns.chosen_columns == ("note",)
    tab.finding.bar.case.click()
    assert "of 11" in find.counted(tab)


def test_a_search_for_words_comes_back(window, table_tab, settled) -> None:
    table_tab.finding.open()
    table_tab.finding.bar.word_mode.click()
    table_tab.finding.bar.field.setText("row")
    window.commands["close_tab"].trigger()
    window.commands["reopen_tab"].trigger()
    tab = settled()
    assert tab.finding.is_open and tab.finding.bar.finds_words and tab.finding.words.isVisible()
    assert tab.finding.bar.field.text() == "row" and not tab.finding.bar.case.isVisible()
