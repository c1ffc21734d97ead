"""Random edits in the real window, on a table with a column of each kind of value: no exception, the
shown rows are those of the table, and undoing everything restores the original rows.

LAMELLA_LONG_RUNS=10000 has as many events. A failure prints its seed and the last events;
LAMELLA_MONKEY_SEED=… begins with the same seed again.
"""

from __future__ import annotations

import datetime as dt
import math
import traceback
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from PySide6.QtCore import QMimeData, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QMessageBox
from pytestqt.qtbot import QtBot

from lamella import Store
from lamella.core.arrow.arrays import combine_chunks
from lamella.core.arrow.equality import differs
from lamella.core.store.table import Table
from lamella.ui.editing.pasted_block import CELLS_FORMAT
from lamella.ui.editing.replace_dialog import ReplaceDialog
from lamella.ui.editing.review_dialog import ConflictDialog
from lamella.ui.formats.formats import Format
from lamella.ui.main_window import MainWindow
from lamella.ui.window.dataset_tab import DatasetTab
from tests.slow_tests import examples
from tests.ui.window.test_monkey import SEED, TEXTS, Monkey, confined, idle_flush, unexpected

__all__ = ["confined", "unexpected"]

EVENTS = examples(40)
ROWS = 60
REST_EVERY = 15
NAN, INF = math.nan, math.inf
VALUES: dict[str, tuple[list[Any], pa.DataType]] = {
    "n": ([1, -5, 2**63 - 1], pa.int64()),
    "big": ([2**64 - 1, 0, 7], pa.uint64()),
    "x": ([0.1, -0.0, INF, NAN], pa.float64()),
    "price": ([Decimal("1.10"), Decimal("-99999999999.99")], pa.decimal128(13, 2)),
    "name": (["a", "", "two\nlines", '"quoted"', "tab\there", "é 😀", "l" * 300], pa.string()),
    "kind": (["red", "green", ""], pa.dictionary(pa.int32(), pa.string())),
    "day": ([dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(2013, 1, 31)], pa.date32()),
    "at": ([1, 1_359_608_400_000_000_007, -1], pa.timestamp("ns", "Europe/Berlin")),
    "clock": ([0, 86_399_999_999_999], pa.time64("ns")),
    "span": ([-7_200_000_000, 1, 0], pa.duration("us")),
    "yes": ([True, False], pa.bool_()),
    "data": ([b"", b"\x00\xff"], pa.binary()),
    "tags": ([["a", None], [], ["b"]], pa.list_(pa.string())),
    "size": ([{"h": 1.5, "on": dt.date(2020, 1, 1)}, {"h": None, "on": None}],
             pa.struct([("h", pa.float64()), ("on", pa.date32())])),
    "a ]\"'b": ([1, 2], pa.int8()),
}  # fmt: skip
ACTIONS = (
    "undo", "redo", "set_null", "fill_cells", "fill_down", "review_edits", "copy", "copy_headers", "paste",
    "insert_rows", "duplicate_rows", "delete_rows", "edit_cell", "select_column", "select_row", "hide_column",
    "show_columns", "refresh", "save_view", "sort_ascending", "sort_descending", "clear_sort", "filter_equal",
    "filter_unequal", "clear_filter", "theme_dark", "theme_light", "text_larger", "text_smaller", "replace",
    "select_all",
)  # fmt: skip
BLOCKS = ("1\t2\n3\t4\n", "x", "\n", '""', "1\n\n3", "2013-01-31\tNULL", "true", "\t\t\t", "-1 day, 23:00:00")


def table_of(rows: int) -> pa.Table:
    columns = {}
    for place, (name, (values, type_)) in enumerate(VALUES.items()):
        cells = [
            None if (row + place) % 5 == 0 else values[(row * 7 + place) % len(values)] for row in range(rows)
        ]
        columns[name] = pa.array(cells, type_)
    return pa.table(columns)


class EditMonkey(Monkey):
    def __init__(self, window: MainWindow, store: Store, table: Table, seed: int) -> None:
        super().__init__(window, store, Path(), seed)
        self.table = table
        kinds: dict[Callable[[], str], int] = {
            self.select: 14, self.trigger: 24, self.edit: 10, self.type: 6, self.press: 8, self.click: 3,
            self.put: 5, self.commit: 2, self.dialog: 8, self.leave: 4, self.format: 1, self.open: 2,
            self.close: 1, self.wait: 6, self.popup: 2, self.stop: 1, self.discard: 1,
        }  # fmt: skip
        self.kinds, self.weights = list(kinds), list(kinds.values())

    def trigger(self) -> str:
        name = self.random.choice(ACTIONS)
        if self.window.commands[name].isEnabled():
            self.window.commands[name].trigger()
            return name
        return f"{name} (off)"

    def select(self) -> str:
        tab = self.tab
        if tab is None or tab.view is None or not tab.grid.grid_model.num_rows:
            return "nowhere"
        grid = tab.grid
        row = self.random.randrange(grid.grid_model.num_rows)
        place = self.random.randrange(grid.grid_model.columnCount())
        grid.go_to(row, place)
        how = self.random.choice(["cell", "block", "several"])
        if how != "cell":
            far = min(grid.grid_model.num_rows - 1, row + self.random.randrange(6))
            grid.selection.extend(
                far, min(grid.grid_model.columnCount() - 1, place + self.random.randrange(3))
            )
        if how == "several":
            grid.selection.add(self.random.randrange(grid.grid_model.num_rows), place)
        return f"{how} {row} {place}"

    def edit(self) -> str:
        if self.tab is None:
            return "nowhere"
        self.tab.grid.setFocus()
        text = self.random.choice(TEXTS[:10])
        keys = self.random.choice([Qt.Key.Key_F2, None])
        QTest.keyClick(self.tab.grid, keys) if keys else QTest.keyClicks(self.tab.grid, text[:1])
        editor = self.tab.editing.editor
        if editor is None:
            return "no editor"
        QTest.keyClicks(editor, text)
        if self.random.random() < 0.2:
            self.wait()
        end = self.random.choice([Qt.Key.Key_Return, Qt.Key.Key_Tab, Qt.Key.Key_Escape, Qt.Key.Key_Up, None])
        control = self.random.random() < 0.2
        if end and self.tab.editing.editor is editor:
            QTest.keyClick(
                editor,
                end,
                Qt.KeyboardModifier.ControlModifier if control else Qt.KeyboardModifier.NoModifier,
            )
        return f"{text!r} {end}"

    def put(self) -> str:
        """Put something on the clipboard."""
        text = self.random.choice(BLOCKS)
        data = QMimeData()
        data.setText(text)
        if self.random.random() < 0.5:
            data.setData(CELLS_FORMAT, text.encode())
        QApplication.clipboard().setMimeData(data)
        return repr(text)

    def dialog(self) -> str:
        """Confirm an open dialog."""
        dialog = QApplication.activeModalWidget()
        if isinstance(dialog, ReplaceDialog):
            dialog.pattern.setText(self.random.choice(["a", "e", "(", "l"]))
            dialog.with_.setText(self.random.choice(["", "b", "\\1"]))
            dialog.regex.setChecked(self.random.random() < 0.3)
            QTest.qWait(300)
            if dialog.replace.isEnabled():
                dialog.replace.click()
            return "replace"
        if isinstance(dialog, ConflictDialog):
            for row in range(dialog.table.rowCount()):
                if self.random.random() < 0.5 and dialog.table.item(row, 3).text() != "(deleted)":
                    dialog.take_mine(row)
        if isinstance(dialog, QMessageBox):
            self.random.choice(dialog.buttons()).click()
        elif isinstance(dialog, QDialog):
            for box in getattr(dialog, "required", []):
                box.setChecked(True)
            dialog.accept() if self.random.random() < 0.7 else dialog.reject()
        return type(dialog).__name__

    def popup(self) -> str:
        if self.tab is None:
            return "nowhere"
        self.tab.grid.value_requested.emit() if self.tab.grid.is_nested else None
        QTest.qWait(20)
        return ""

    def format(self) -> str:
        if self.tab is None:
            return "nowhere"
        form = self.random.choice([Format("number", digits=1), Format("percent"), Format("bytes"), Format()])
        self.tab.grid.set_format("x", form)
        return repr(form)

    def discard(self) -> str:
        if self.tab is not None:
            self.tab.review.discard()
        return ""

    def open(self) -> str:
        self.window.opening.open_key((str(self.store.path), self.table.name))
        return ""

    def commit(self) -> str:
        """Change the table as another user of the store would."""
        ids = self.table.read(["_id"]).column(0).to_pylist()
        if not ids:
            return "none"
        some = self.random.sample(ids, min(3, len(ids)))
        if self.random.random() < 0.2:
            self.table.delete(ids=some)
            return f"delete {some}"
        self.table.update([{"_id": i, "name": self.random.choice(["theirs", None])} for i in some])
        return str(some)


def check_rows(tab: DatasetTab, table: Table) -> None:
    """Check that a tab shows the rows of the table."""
    view = tab.view
    if view is None or tab.content is None or int(view.snapshot.token[1]) != table.version:
        return
    names = [name for name in view.schema.names if name != "_id"]
    page = view.page(0, view.num_rows, ["_id", *names])
    ids = page.column(0).to_pylist()
    assert len(set(ids)) == len(ids)
    page, rows = page.take(np.argsort(ids)), table.read(page.column_names, ids=ids)
    for name in page.column_names:
        assert not differs(combine_chunks(page.column(name)), combine_chunks(rows.column(name))).any(), name
    if view.query.where is None:
        assert len(ids) == table.count()


def same(left: pa.Table, right: pa.Table) -> bool:
    return (
        left.schema.equals(right.schema)
        and left.num_rows == right.num_rows
        and not any(
            differs(combine_chunks(a), combine_chunks(b)).any()
            for a, b in zip(left.columns, right.columns, strict=True)
        )
    )


@pytest.fixture
def edit_monkey(qtbot, confined: None, window: MainWindow, store: Store, monkeypatch) -> Iterator[EditMonkey]:
    monkeypatch.setattr(QMessageBox, "question", lambda *_: QMessageBox.StandardButton.Discard)
    table = store.create_table("values", table_of(ROWS))
    window.library.refresh()
    monkey = EditMonkey(window, store, table, SEED)
    monkey.open()
    qtbot.waitUntil(lambda: monkey.tab is not None and monkey.tab.content is not None)
    yield monkey
    for tab in window.tabs.dataset_tabs:
        tab.editing.dismiss()  # a value that cannot be read keeps its window open
        tab.review.discard()


@pytest.mark.usefixtures("column_cards")
def test_random_edits_break_nothing(
    qtbot: QtBot, unexpected: list[Exception], edit_monkey: EditMonkey, qtlog: Any
) -> None:
    monkey, window, table = edit_monkey, edit_monkey.window, edit_monkey.table
    before = table.read()
    with qtbot.captureExceptions() as exceptions:
        try:
            for number in range(EVENTS):
                monkey.act()
                QApplication.processEvents()
                if number % REST_EVERY == REST_EVERY - 1:
                    qtbot.waitUntil(partial(idle_flush, window))
                    for tab in window.tabs.dataset_tabs:
                        check_rows(tab, table)
                assert not exceptions, exceptions
                assert not unexpected, unexpected
                assert not [record for record in qtlog.records if not record.ignored], qtlog.records
            monkey.leave()
            qtbot.waitUntil(lambda: not window.tasks.writing)
            after, count = table.read(), 0
            while table.history.undoable() is not None:
                table.history.undo()
                count += 1
            assert same(table.read(), before)
            for _ in range(count):
                table.history.redo()
            assert same(table.read(), after)
        except BaseException:
            print(f"LAMELLA_MONKEY_SEED={SEED}; the last of {EVENTS} events:", *monkey.events, sep="\n  ")
            for error in [*unexpected, *(error for _, error, _ in exceptions)]:
                traceback.print_exception(error)
            raise
