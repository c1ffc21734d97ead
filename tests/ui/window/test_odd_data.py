"""Odd data under all commands: no rows, no columns, very many, very large cells, other scripts, changes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QMenu
from pytestqt.qtbot import QtBot

from lamella import agg, col
from lamella.core.query.line import Line
from lamella.core.query.steps import Compute, Group, Limit, Sample, Select, Sort, Step, Where
from lamella.core.scan.snapshot import SortKey
from lamella.core.store.table import Table
from lamella.ui.main_window import MainWindow
from lamella.ui.window.dataset_tab import DatasetTab
from tests.earlier_names import name_as_earlier_versions_could

Settled = Callable[[], DatasetTab]
pytestmark = [
    pytest.mark.usefixtures("column_cards"),
    pytest.mark.qt_log_ignore("does not support (raise|grabbing|propagateSizeHints)", extend=True),
]

ARABIC, HEBREW = "مرحبا بالعالم", "שלום עולם"
COMBINING = "e" + "\u0301" * 40 + "a\u0308"
JOINED = "\U0001f469\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
TURNED = "abc\u202egnp.exe\u2066x\u2069"

ODD: dict[str, Callable[[], pa.Table]] = {
    "no rows": lambda: pa.table({"a": pa.array([], pa.int64()), "b": pa.array([], pa.string())}),
    "no columns": lambda: pa.table({}),
    "one null": lambda: pa.table({"a": pa.nulls(1)}),
    "other scripts": lambda: pa.table(
        {
            ARABIC: [ARABIC, HEBREW, COMBINING, JOINED, TURNED, None],
            HEBREW: [1, 2, 3, 4, 5, 6],
            COMBINING: [[HEBREW], [], None, [ARABIC, None], [JOINED], [TURNED]],
            TURNED: [{JOINED: 1.5}] * 6,
        }
    ),
    "odd names": lambda: pa.table(
        {
            "": [1, 2, None],
            " ": ["x", None, "y"],
            "n" * 1000: [1.5, 2.5, None],
            "a.b": [1, 2, 3],
            "A.B": [4, 5, 6],
        }
    ),
    "1,000 columns": lambda: pa.table({f"c{n}": [n, None, -n] for n in range(1_000)}),
    "20 MB": lambda: pa.table({"small": [1, 2, 3], "large": ["x" * 20_000_000, "y", None]}),
}
"""Each is created on first use, since every worker collects this module."""

COMMANDS = (
    "sort_ascending", "sort_within", "filter_equal", "clear_steps", "group", "clear_steps", "filter_row",
    "filter_row", "filter", "filter", "columns", "compute", "join", "clear_steps", "filter_values",
    "select_row", "select_column", "fit_columns", "inspector", "hide_column", "show_columns", "follow",
    "edit_cell", "set_null", "back", "forward", "select_all", "copy", "copy_sql", "copy_python", "refresh",
    "pin_column", "reset_layout", "group", "totals_row", "subtotals", "open_groups", "clear_steps",
)  # fmt: skip


@pytest.fixture
def open_tab(window: MainWindow, tmp_path: Path, settled: Settled) -> Callable[[str], DatasetTab]:
    def open_file(kind: str) -> DatasetTab:
        path = tmp_path / f"{kind}.parquet"
        pq.write_table(ODD[kind](), path)
        window.open_paths([path])
        return settled()

    return open_file


def close_popups() -> None:
    while (popup := QApplication.activePopupWidget()) is not None:
        popup.close()
        QApplication.processEvents()
    for dialog in [w for w in QApplication.topLevelWidgets() if isinstance(w, QDialog) and w.isVisible()]:
        dialog.close()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ODD)
def test_every_command_takes_odd_data(
    qtbot: QtBot, window: MainWindow, open_tab: Callable[[str], DatasetTab], settled: Settled, kind: str
) -> None:
    tab = open_tab(kind)
    errors: list[Exception] = []
    window.tasks.failed.connect(errors.append)
    tab.grid.setFocus()
    tab.grid.go_to(0, tab.grid.first_place())
    for command in COMMANDS:
        window.commands[command].trigger()
        settled()
        close_popups()
        QApplication.processEvents()
    assert tab.view is not None and errors == []
    assert tab.messages.label.text().find("Unexpected") < 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["no rows", "other scripts"])
def test_the_inspector_takes_odd_data(qtbot: QtBot, open_tab: Callable[[str], DatasetTab], kind: str) -> None:
    tab = open_tab(kind)
    for page in ("row", "column"):
        for place in range(tab.grid.grid_model.columnCount()):
            tab.grid.go_to(0, place)
            tab.inspector.show_page(page)
            page_shown = tab.inspector.row_page if page == "row" else tab.inspector.column_page
            title = tab.grid.current_name if page == "column" and tab.grid.selection.current else None
            qtbot.waitUntil(lambda current=page_shown: bool(current.title.text()))
            if title is not None:
                figures = tab.inspector.column_page.figures
                qtbot.waitUntil(lambda figures=figures: figures.topLevelItemCount() > 0, timeout=20_000)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["no rows", "other scripts"])
def test_odd_data_is_exported_and_read_again(
    qtbot: QtBot, window: MainWindow, open_tab: Callable[[str], DatasetTab], tmp_path: Path, kind: str
) -> None:
    tab, path = open_tab(kind), tmp_path / "again.parquet"
    tab.line_actions.export(path)
    qtbot.waitUntil(lambda: "Exported" in tab.messages.label.text(), timeout=20_000)
    assert pq.read_table(path).equals(ODD[kind]())


@pytest.mark.slow
def test_marks_that_turn_text_round_are_seen_in_the_grid(open_tab, cell_text) -> None:
    tab = open_tab("other scripts")
    assert [cell_text(tab, row, ARABIC) for row in range(4)] == [ARABIC, HEBREW, COMBINING, JOINED]
    assert "\u202e" not in (cell_text(tab, 4, ARABIC) or "")
    assert len(cell_text(tab, 0, ARABIC) or "") == len(ARABIC)


@pytest.mark.slow
def test_a_very_large_cell_is_copied_whole(qtbot: QtBot, open_tab, cell_text) -> None:
    tab = open_tab("20 MB")
    assert len(cell_text(tab, 0, "large") or "") <= 200
    tab.grid.go_to(0, 1)
    tab.copying.copy()
    qtbot.waitUntil(lambda: len(QGuiApplication.clipboard().text()) == 20_000_000, timeout=20_000)
    QGuiApplication.clipboard().clear()


def test_a_very_large_cell_is_not_edited_in_a_field(qtbot: QtBot, open_tab) -> None:
    tab = open_tab("20 MB")
    tab.grid.go_to(0, 1)
    qtbot.keyClick(tab.grid, Qt.Key.Key_F2)
    said = tab.messages.label
    qtbot.waitUntil(lambda: "has 20,000,000 characters" in said.text(), timeout=20_000)
    assert tab.editing.editor is None and tab.review.count == 0


# -------------------------------------------------------------- files that change below the window


def cut_off(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def replace_with_text(path: Path) -> None:
    path.write_text("no Parquet file at all\n" * 100)


def replace_with_others(path: Path) -> None:
    pq.write_table(pa.table({"other": ["x"] * 5000}), path)


def grow(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"\0" * 5000)


BY_CARRIER = (Group(("carrier",), (("n", agg.count()),)),)


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(
    ("change", "steps"),
    [
        (Path.unlink, ()),
        (Path.unlink, BY_CARRIER),
        (cut_off, ()),
        (replace_with_text, BY_CARRIER),
        (replace_with_others, ()),
        (grow, BY_CARRIER),
    ],
)
def test_a_file_that_changes_while_it_is_shown_says_so_and_can_be_left(
    qtbot: QtBot, window: MainWindow, file: Path, file_tab: DatasetTab, settled: Settled, change, steps
) -> None:
    file_tab.apply(Line.of(list(steps)))
    settled()
    change(file)
    file_tab.add_filter(col("carrier") == "AA")
    file_tab.set_sort([SortKey("carrier")])
    qtbot.waitUntil(lambda: file_tab.messages.isVisible() and not window.tasks.running, timeout=20_000)
    assert "Unexpected" not in file_tab.messages.label.text()
    for command in ("inspector", "filter", "refresh"):
        window.commands[command].trigger()
        qtbot.waitUntil(lambda: not window.tasks.running)
    window.commands["close_tab"].trigger()
    assert window.tabs.dataset_tab is None


@pytest.mark.slow
@pytest.mark.parametrize("gone", ["file", "table"])
def test_a_view_whose_dataset_is_gone_says_so(
    qtbot: QtBot, window: MainWindow, file: Path, table: Table, settled: Settled, gone: str
) -> None:
    key = (str(file),) if gone == "file" else (str(table.store.path), table.name)
    window.opening.open_key(key)
    tab = settled()
    tab.set_filter(col("delay") > 60)
    settled()
    tab.line_actions.save("late")
    qtbot.waitUntil(lambda: any(entry.text == "late" for entry in window.sidebar.entries("view")))
    entry = next(entry for entry in window.sidebar.entries("view") if entry.text == "late")
    window.tabs.close_at(0)
    said: list[str] = []
    window.library.failed.connect(lambda error: said.append(str(error)))
    if gone == "file":
        file.unlink()
    else:
        table.store.drop_table("flights")
    window.opening.open_entry(entry)
    qtbot.waitUntil(lambda: bool(said))
    assert "flights" in said[0]
    close_popups()


# ------------------------------------------------------------------- steps that are stopped

STEPS: tuple[Step, ...] = (
    Where(col("delay") > 0),
    Compute((("double", col("delay") * 2),)),
    Group(("carrier",), (("n", agg.count()),)),
    Sort((SortKey("delay", True),)),
    Select(("carrier", "note")),
    Limit(10),
    Sample(10, 1),
)


AT_ONCE, UNDER_WAY, IN_ITS_FORM = "at once", "under way", "in its form"


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(
    ("step", "moment"),
    [
        *((step, AT_ONCE) for step in STEPS),
        *((step, UNDER_WAY) for step in STEPS[:4]),
        *((step, IN_ITS_FORM) for step in STEPS[:3]),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_a_step_that_is_stopped_leaves_what_was_shown(
    qtbot: QtBot, window: MainWindow, table_tab: DatasetTab, settled: Settled, step: Step, moment: str
) -> None:
    rows = table_tab.view.num_rows
    if moment == IN_ITS_FORM:
        table_tab.steps.add(type(step))
        QApplication.processEvents()
        qtbot.keyClick(table_tab.steps.editor, Qt.Key.Key_Escape)
        settled()
        assert table_tab.view.num_rows in (rows, 1) and table_tab.steps.editor is None
        return
    table_tab.add_step(step)
    if moment == UNDER_WAY:
        QApplication.processEvents()
    window.commands["stop"].trigger()
    settled()
    assert table_tab.content is not None and table_tab.content.line == table_tab.line
    before = table_tab.line
    table_tab.apply(Line())
    settled()
    assert table_tab.view.num_rows == rows and before in (Line(), Line.of([step]))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Qt knows the key there, or there is none")
def test_shift_f10_opens_the_menu_of_the_grid(open_tab: Callable[[str], DatasetTab]) -> None:
    grid = open_tab("no rows").grid
    grid.setFocus()
    QTest.keyClick(grid, Qt.Key.Key_F10, Qt.KeyboardModifier.ShiftModifier)
    assert isinstance(QApplication.activePopupWidget(), QMenu)
    close_popups()


@pytest.mark.slow
def test_menus_open_where_there_is_nothing(window: MainWindow, open_tab: Callable[[str], DatasetTab]) -> None:
    tab = open_tab("no columns")
    tab.grid.menu_requested.emit(QPoint(10, 10))
    close_popups()
    tab.dragging.drag()
    assert tab.view.num_rows == 0


def test_a_long_name_of_a_table_leaves_the_window_as_wide_as_it_is(qtbot, window, store, settled) -> None:
    name, width = "x" * 200, window.width()
    store.create_table(name, pa.table({"a": [1]}))
    window.opening.open_key((str(store.path), name))
    tab = settled()
    window.commands["history"].trigger()
    page = tab.inspector.history_page
    qtbot.waitUntil(lambda: page.title.whole == name)
    assert window.minimumSizeHint().width() <= window.width() == width
    bar = window.tabs.tabs.tabBar()
    assert bar.tabRect(0).right() < bar.width(), "its cross is in sight"
    for label in (tab.steps.bar.source, page.title):
        assert "…" in label.text() and label.toolTip() == name


def test_a_table_name_with_a_line_break_stands_on_one_line(window, store, settled, qtbot) -> None:
    name = "two\nlines\tand \u202e<b>thgir</b>"
    shown = "two↵lines⇥and \\u202e<b>thgir</b>"
    store.create_table("plain", pa.table({"a": [1]}))
    name_as_earlier_versions_could(store, "plain", name)
    window.library.refresh()
    window.opening.open_key((str(store.path), name))
    tab = settled()
    assert window.tabs.title == shown and window.windowTitle().startswith(shown)
    assert tab.steps.bar.source.text() == shown
    assert tab.steps.bar.source.textFormat() == Qt.TextFormat.PlainText
    tree = window.sidebar.tree
    flags = Qt.MatchFlag.MatchExactly | Qt.MatchFlag.MatchRecursive
    qtbot.waitUntil(lambda: bool(tree.findItems(shown, flags)))
