"""Random events in the real window, on the sample's smaller tables: no exception, no warning of Qt, no thread
left, and the shown rows are those of the steps.

LAMELLA_LONG_RUNS=10000 has as many events. A failure prints its seed and the last events;
LAMELLA_MONKEY_SEED=… begins with the same seed again.
"""

from __future__ import annotations

import os
import random
import secrets
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shiboken6
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QDrag, QKeyEvent, QMouseEvent, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QLineEdit,
    QMessageBox,
    QToolButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from lamella import Store, agg, col, resources
from lamella.core.errors import Cancelled, LamellaError
from lamella.core.filters import Predicate
from lamella.core.query.expressions import ColumnReference
from lamella.core.query.line import LineStep
from lamella.core.query.steps import Buckets, Compute, Group, Limit, Pivot, Sample, Select, Step, Unpivot
from lamella.ui import main_window
from lamella.ui.actions import BY_ID
from lamella.ui.dialogs.file_dialog import FileDialog
from lamella.ui.main_window import MainWindow
from lamella.ui.steps.kinds import KINDS
from lamella.ui.tasks import Handle, Tasks
from lamella.ui.window.action_handlers import Handler, handlers
from lamella.ui.window.dataset_tab import DatasetTab
from lamella.ui.window.line_actions import LineActions
from tests.slow_tests import examples

EVENTS = examples(80)
SEED = int(os.environ.get("LAMELLA_MONKEY_SEED", "0")) or (1 if "CI" in os.environ else secrets.randbits(32))
LATEST_EVENTS = 30
"""The number of last events that are printed."""

REST_EVERY = 25
TABLES = ("airlines", "airports", "planes")
ELSEWHERE = ("open", "open_folder", "import", "export", "quit", "about", "benchmark", "benchmark_table",
             "benchmark_file", "saved_runs", "open_server", "connections", "new_store",
             "open_store", "move_store", "backup_store", "restore_backup", "new_window", "move_tab",
             "close_window")  # fmt: skip
"""Actions that open system dialogs or other windows, contact servers, or end the program."""

Key, Modifier = Qt.Key, Qt.KeyboardModifier
BEHIND = "behind its line"
Button = QMessageBox.StandardButton
CANCEL = Button.Cancel
INSTANT = QToolButton.ToolButtonPopupMode.InstantPopup
KEYS = (
    *(Key.Key_Up, Key.Key_Down, Key.Key_Left, Key.Key_Right, Key.Key_Home, Key.Key_End, Key.Key_PageUp),
    *(Key.Key_PageDown, Key.Key_Return, Key.Key_Escape, Key.Key_Tab, Key.Key_Backtab, Key.Key_Delete),
    *(Key.Key_Backspace, Key.Key_Space, Key.Key_F2, Key.Key_Menu),
)
MODIFIERS = (*(Modifier.NoModifier,) * 6, Modifier.ShiftModifier, Modifier.ControlModifier,
             Modifier.AltModifier)  # fmt: skip
TEXTS = ("7", "-1", "1.5", "a", "AA", "name", "no such column", "null", "'", '"', "%", "{", "n", "seats / 0",
         "speed +", "upper(name)", "אבג", "e\u0301", "\t", "x" * 300, "2013-01-01", "[1]")  # fmt: skip
SIZES = ((1000, 700), (1280, 800), (640, 480), (1600, 1000))


def without_saving(*arguments: Any) -> Button:
    """The button that continues without saving; PySide's `~` of a button lacks Discard."""
    buttons = arguments[3]
    return next(
        candidate
        for candidate in (Button.Discard, Button.Close, Button.Yes, Button.Ok)
        if candidate in buttons
    )


class Monkey:
    """`events` are the last ones, as text; `failures` are errors that no user may see."""

    def __init__(self, window: MainWindow, store: Store, file: Path, seed: int) -> None:
        self.window, self.store, self.file = window, store, file
        self.random = random.Random(seed)
        self.events: deque[str] = deque(maxlen=LATEST_EVENTS)
        kinds: dict[Callable[[], str], int] = {
            self.click: 16, self.press: 16, self.type: 8, self.trigger: 14, self.wheel: 4, self.add_form: 6,
            self.add_step: 8, self.change_chip: 8, self.filter: 4, self.sort: 4, self.edit: 5, self.go: 6,
            self.brush: 3, self.resize: 1, self.open: 3, self.close: 1, self.commit: 2, self.rewrite: 1,
            self.stop: 2, self.leave: 6, self.wait: 6,
        }  # fmt: skip
        self.kinds, self.weights = list(kinds), list(kinds.values())

    def act(self) -> None:
        (kind,) = self.random.choices(self.kinds, self.weights)
        self.events.append(kind.__name__)
        self.events[-1] = f"{kind.__name__} {kind()}"

    @property
    def tab(self) -> DatasetTab | None:
        return self.window.tabs.dataset_tab

    @property
    def top(self) -> QWidget:
        """The widget with the focus: a menu, a dialog, or the window."""
        return QApplication.activePopupWidget() or QApplication.activeModalWidget() or self.window

    # -------------------------------------------------------------- mouse and keys

    def click(self) -> str:
        top = self.top  # its children are only known to Python as long as it is, where Qt alone made it
        widgets = [w for w in top.findChildren(QWidget) if w.isVisible() and w.isEnabled()]
        buttons = [w for w in widgets if isinstance(w, QAbstractButton)]
        widget = self.random.choice((buttons if self.random.random() < 0.5 else widgets) or [top])
        point = QPoint(
            self.random.randrange(max(1, widget.width())), self.random.randrange(max(1, widget.height()))
        )
        button = self.random.choice([Qt.MouseButton.LeftButton] * 5 + [Qt.MouseButton.RightButton])
        is_double = self.random.random() < 1 / 6
        said = f"{'double ' if is_double else ''}{button.name} {_name(widget)} {point.toTuple()}"
        if isinstance(widget, QToolButton) and widget.popupMode() is INSTANT and widget.menu() is not None:
            widget.menu().popup(widget.mapToGlobal(point))  # a click would wait until it is closed
        else:
            self._click(widget, button, point, is_double)
        return said

    def _click(self, widget: QWidget, button: Qt.MouseButton, point: QPoint, is_double: bool) -> None:
        """Click as a mouse does: a widget that the first press removed or disabled gets no further events."""
        keys, none = self.random.choice(MODIFIERS), Qt.MouseButton.NoButton
        press, release, double = (
            QEvent.Type.MouseButtonPress,
            QEvent.Type.MouseButtonRelease,
            QEvent.Type.MouseButtonDblClick,
        )
        for kind in [press, release, double, release] if is_double else [press, release]:
            if not shiboken6.isValid(widget) or not widget.isVisible() or not widget.isEnabled():
                return
            buttons_down = none if kind is release else button
            place = QPointF(point)
            event = QMouseEvent(kind, place, QPointF(widget.mapToGlobal(point)), button, buttons_down, keys)
            QApplication.sendEvent(widget, event)

    def _point(self, widget: QWidget) -> QPoint:
        width, height = (max(1, side) for side in widget.size().toTuple())
        return QPoint(self.random.randrange(width), self.random.randrange(height))

    def press(self) -> str:
        widget = QApplication.focusWidget() or self.top
        key, modifier = self.random.choice(KEYS), self.random.choice(MODIFIERS)
        if (key, modifier) == (Key.Key_F4, Modifier.AltModifier):
            return ""
        said = f"{modifier.name} {key.name} {_name(widget)}"
        QTest.keyClick(widget, key, modifier)
        return said

    def type(self) -> str:
        widget, text = QApplication.focusWidget() or self.top, self.random.choice(TEXTS)
        if isinstance(widget, QLineEdit) and self.random.random() < 0.5:
            widget.selectAll()
        said = f"{text[:20]!r} {_name(widget)}"
        for letter in text[:40]:
            if not shiboken6.isValid(widget):
                break
            event = QKeyEvent(
                QEvent.Type.KeyPress, 0, Modifier.NoModifier, letter
            )  # QTest supports only ASCII
            QApplication.sendEvent(widget, event)
        return said

    def leave(self) -> str:
        """Leave menus, dialogs and forms."""
        for _ in range(3):
            QTest.keyClick(self.top, Key.Key_Escape)
        return ""

    def wheel(self) -> str:
        if self.tab is None:
            return "nowhere"
        view, by = (
            self.tab.grid.viewport(),
            QPoint(self.random.randint(-600, 600), self.random.randint(-5000, 5000)),
        )
        place = QPointF(view.rect().center())
        event = QWheelEvent(place, QPointF(view.mapToGlobal(place)), QPoint(), by, Qt.MouseButton.NoButton,
                            Modifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False)  # fmt: skip
        QApplication.sendEvent(view, event)
        return str(by.toTuple())

    def brush(self) -> str:
        if self.tab is None or not self.tab.grid.cards.isVisible():
            return "nowhere"
        cards = self.tab.grid.cards
        places = [self._point(cards), self._point(cards)]
        QTest.mousePress(cards, Qt.MouseButton.LeftButton, Modifier.NoModifier, places[0])
        QTest.mouseMove(cards, places[1])
        QTest.mouseRelease(cards, Qt.MouseButton.LeftButton, Modifier.NoModifier, places[1])
        return str([place.toTuple() for place in places])

    # ----------------------------------------------------------------- actions and steps

    def trigger(self) -> str:
        name = self.random.choice([name for name in BY_ID if name not in ELSEWHERE])
        if self.window.commands[name].isEnabled():
            self.window.commands[name].trigger()
            return name
        return f"{name} (off)"

    def stop(self) -> str:
        self.window.tasks.cancel_all()
        return ""

    def add_form(self) -> str:
        if self.tab is None:
            return "nowhere"
        kind = self.random.choice(list(KINDS))
        place = self.random.choice([None, 0, len(self.tab.line.steps)])
        self.tab.steps.add(kind, place)
        return f"{kind.__name__} {place}"

    def add_step(self) -> str:
        if self.tab is None:
            return "nowhere"
        step = self._step([name for name in self._names(self.tab) if name != "_id"] or ["name"])
        self.tab.add_step(step)
        return repr(step)[:200]

    def _step(self, names: list[str]) -> Step:
        first, second = self.random.choice(names), self.random.choice(names)
        count = (("n", agg.count()),)
        steps = [
            Group((first,), count),
            Group(tuple(dict.fromkeys([first, second])), (("rows", agg.count()),), None, True, True),
            Group((first,), (("largest", agg.max(second)), ("n", agg.count_distinct(first)))),
            Compute(((self.random.choice(["new", first]), ColumnReference(second)),)),
            Compute((("shorter", col(first) / 2),)),
            Limit(self.random.choice([0, 1, 50]), self.random.choice([0, 3])),
            Select(tuple(dict.fromkeys([second, first]))),
            Sample(self.random.choice([0, 10]), 1),
            Pivot((first,), second, count),
            Unpivot((first,)),
            Buckets(first, 5, count),
        ]
        return self.random.choice(steps)

    def change_chip(self) -> str:
        if self.tab is None or not self.tab.steps.bar.chips:
            return "none"
        chips = self.tab.steps.bar.chips
        place = self.random.randrange(len(chips))
        key = self.random.choice([Key.Key_Space, Key.Key_Delete, Key.Key_Return, Key.Key_Left, Key.Key_Right])
        modifier = self.random.choice([Modifier.NoModifier, Modifier.ControlModifier])
        QTest.keyClick(chips[place], key, modifier)
        return f"{place} {modifier.name} {key.name}"

    def filter(self) -> str:
        if self.tab is None:
            return "nowhere"
        name = self.random.choice(self._names(self.tab) or ["name"])
        conditions = [
            Predicate(name, "not_null"),
            Predicate(name, "eq", (self.random.choice([1, "AA", 2.5]),)),
            Predicate(name, "gt", (self.random.choice([0, 100, "B"]),)),
            Predicate(name, "in", (1, 2)) | Predicate(name, "is_null"),
        ]
        condition = self.random.choice(conditions)
        self.random.choice([self.tab.add_filter, self.tab.set_filter])(condition)
        return repr(condition)

    def sort(self) -> str:
        if self.tab is None or not self._names(self.tab):
            return "nowhere"
        column, add = self.random.randrange(len(self._names(self.tab))), self.random.random() < 0.5
        self.tab.toggle_sort(column, add)
        return f"{column} {add}"

    def go(self) -> str:
        if self.tab is None or self.tab.view is None:
            return "nowhere"
        grid = self.tab.grid
        grid.setFocus()
        row = self.random.randrange(max(1, grid.grid_model.num_rows))
        place = self.random.randrange(max(1, grid.grid_model.columnCount()))
        grid.go_to(row, place, extend=self.random.random() < 0.3)
        return f"{row} {place}"

    def edit(self) -> str:
        """Type over the current cell."""
        if self.tab is None:
            return "nowhere"
        self.tab.grid.setFocus()
        text = self.random.choice(TEXTS[:6])
        QTest.keyClicks(self.tab.grid, text)
        widget = QApplication.focusWidget()
        if widget is not None:
            QTest.keyClick(widget, self.random.choice([Key.Key_Return, Key.Key_Tab, Key.Key_Escape]))
        return text

    @staticmethod
    def _names(tab: DatasetTab) -> list[str]:
        return list(tab.grid.grid_model.names)

    # ------------------------------------------------------------------ around it

    def resize(self) -> str:
        size = self.random.choice(SIZES)
        self.window.resize(*size)
        return str(size)

    def open(self) -> str:
        name = self.random.choice([*TABLES, self.file.name])
        key = (str(self.file),) if name == self.file.name else (str(self.store.path), name)
        self.window.opening.open_key(key)
        return name

    def close(self) -> str:
        place = self.random.randrange(max(1, self.window.tabs.tabs.count()))
        self.window.tabs.close_at(place)
        return str(place)

    def commit(self) -> str:
        """Change a text column that was not dropped in the window, as another user of the store would."""
        table = self.store[self.random.choice(TABLES)]
        texts = [field.name for field in table.schema if pa.types.is_string(field.type)]
        if texts:
            column = self.random.choice(texts)
            table.update_where(Predicate(column, "contains", ("a",)), {"$set": {column: "another"}})
        return f"{table.name} {texts}"

    def rewrite(self) -> str:
        """Rewrite the file with fewer columns and rows as another program would, or remove it for a while."""
        if self.file.exists() and self.random.random() < 0.2:
            self.file.unlink()
            return "gone"
        rows = pq.read_table(resources.sample("airports"))
        names = self.random.sample(rows.column_names, self.random.randint(1, len(rows.column_names)))
        rows_written = rows.select(names).slice(0, self.random.choice([0, 10, 1458]))
        pq.write_table(rows_written, self.file.with_suffix(".new"))
        self.file.with_suffix(".new").replace(self.file)
        return f"{names} {rows_written.num_rows}"

    def wait(self) -> str:
        """Wait for the work requested so far, if it ends soon."""
        for _ in range(self.random.randint(1, 30)):
            QTest.qWait(1)
        return ""


def _name(widget: QWidget) -> str:
    said = widget.accessibleName() or (widget.text() if isinstance(widget, QAbstractButton) else "")
    return f"{type(widget).__name__} {said[:40]!r}"


@pytest.fixture
def unexpected(monkeypatch: pytest.MonkeyPatch) -> list[Exception]:
    """Errors on threads that a user cannot cause."""
    errors: list[Exception] = []
    before = Tasks._call_back

    def call_back(self: Tasks, handle: Handle, error: Exception | None) -> None:
        if error is not None and not isinstance(error, LamellaError | Cancelled):
            errors.append(error)
        before(self, handle, error)

    monkeypatch.setattr(Tasks, "_call_back", call_back)
    return errors


@pytest.fixture
def confined(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No event waits for a system dialog, an answer or the end of a drag, and none starts a benchmark. Other
    questions are answered with Cancel."""

    def inside(window: MainWindow) -> dict[str, Handler]:
        return {**handlers(window), **{name: lambda: None for name in ELSEWHERE}}

    def export(actions: LineActions) -> None:
        actions.export(tmp_path / "exported.csv", overwrite=True)

    monkeypatch.setattr(main_window, "handlers", inside)
    monkeypatch.setattr(MainWindow, "show_benchmark", lambda _: None)
    cancels = cycle([True, False])
    monkeypatch.setattr(
        QMessageBox, "question", lambda *args: CANCEL if next(cancels) else without_saving(*args)
    )
    monkeypatch.setattr(FileDialog, "open", FileDialog.deleteLater)
    monkeypatch.setattr(LineActions, "ask_export", export)
    monkeypatch.setattr(QDrag, "exec", lambda *_: Qt.DropAction.IgnoreAction)


@pytest.fixture
def monkey(
    confined: None, window: MainWindow, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Monkey]:
    for name in TABLES:
        store.create_table(name, pq.read_table(resources.sample(name)))
    file = tmp_path / "places.parquet"
    pq.write_table(pq.read_table(resources.sample("airports")), file)
    window.library.refresh()
    played = Monkey(window, store, file, SEED)
    played.open()
    yield played
    monkeypatch.setattr(QMessageBox, "question", without_saving)


def watch_tabs(window: MainWindow) -> None:
    """Mark those whose line was stopped, or could not run: they show the rows of the one before."""
    for tab in window.tabs.dataset_tabs:
        if tab.property(BEHIND) is None:
            tab.setProperty(BEHIND, False)
            tab.loader.loaded.connect(lambda _, tab=tab: tab.setProperty(BEHIND, False))
            tab.loader.failed.connect(lambda _, tab=tab: tab.setProperty(BEHIND, True))
            tab.loader.stopped.connect(lambda tab=tab: tab.setProperty(BEHIND, True))


def idle_flush(window: MainWindow) -> bool:
    loading = any(tab.loader.running for tab in window.tabs.dataset_tabs)
    return not window.tasks.running and not loading


def check_tabs(window: MainWindow) -> None:
    """Each shows its line, and its chips are those of the line and of what is being made."""
    for tab in window.tabs.dataset_tabs:
        expected, actual = (
            [_words(step) for step in line.steps if step.step is not None]
            for line in (tab.line, tab.steps.line)
        )
        assert actual == expected, tab.name
        assert len(tab.steps.bar.chips) == len(tab.steps.line.steps)
        if tab.content is not None and not tab.property(BEHIND):
            assert tab.content.line.active == tab.line.active, tab.name
            assert (tab.grid.grid_model.tree is None) == (tab.content.tree is None), tab.name
            assert tab.grid.totals.isHidden() == (not tab.content.lines.shows_totals), tab.name


def _words(step: LineStep) -> str:
    return f"{step.step!r} {'on' if step.on else 'off'}"


@pytest.mark.usefixtures("column_cards")
def test_random_events_break_nothing(
    qtbot: QtBot, unexpected: list[Exception], monkey: Monkey, qtlog: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = monkey.window
    with qtbot.captureExceptions() as exceptions:
        try:
            for number in range(EVENTS):
                watch_tabs(window)
                monkey.act()
                QApplication.processEvents()
                if number % REST_EVERY == REST_EVERY - 1:
                    qtbot.waitUntil(partial(idle_flush, window))
                    check_tabs(window)
                assert not exceptions, exceptions
                assert not unexpected, unexpected
                assert not [record for record in qtlog.records if not record.ignored], qtlog.records
            monkeypatch.setattr(QMessageBox, "question", without_saving)
            for tab in window.tabs.dataset_tabs:
                tab.editing.dismiss()  # a text that does not fit its cell keeps its tab open
            qtbot.waitUntil(lambda: window.tabs.close_at(0) or not window.tabs.tabs.count())
        except BaseException:
            print(f"LAMELLA_MONKEY_SEED={SEED}; the last of {EVENTS} events:", *monkey.events, sep="\n  ")
            for error in [*unexpected, *(error for _, error, _ in exceptions)]:
                traceback.print_exception(error)
            raise
