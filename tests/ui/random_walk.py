"""A walk through the window at random: `python -m tests.ui.random_walk --steps 1500 --seed 1`.

Actions, clicks, keys and texts, chosen at random, in a window with a store, a Parquet file and a CSV file.
Exceptions, messages of Qt and events that hold the window for seconds are printed with the steps before them,
and end the walk with code 1. The same seed begins with the same steps; where later ones lead depends on how
fast work in the background is. Everything happens in a temporary folder.
"""

from __future__ import annotations

import argparse
import datetime as dt
import faulthandler
import os
import sys
import tempfile
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import TracebackType

import pyarrow as pa
import pyarrow.parquet as pq
from PySide6.QtCore import QEvent, QEventLoop, QPoint, QPointF, Qt, QTimer, QtMsgType, qInstallMessageHandler
from PySide6.QtGui import QContextMenuEvent, QDesktopServices, QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QComboBox,
    QFileDialog,
    QLineEdit,
    QMenu,
    QPlainTextEdit,
    QWidget,
)

from lamella import Store
from lamella.ui.actions import ACTIONS
from lamella.ui.main_window import MainWindow
from lamella.ui.tasks import Tasks
from tests.ui.fake_memory import FakeMemory

LEAVING = ("quit", "close_window", "new_window", "move_tab", "open_server", "connections", "theme_system")
BENCHMARKS = ("benchmark", "benchmark_table", "benchmark_file", "saved_runs", "open_sample")
AVOIDED_BUTTONS = ("Start", "Benchmark", "Add server", "Quit")
TEXTS = [
    "", " ", "5", "-3", "0", "1e400", "9" * 20, "a", "carrier = 'AA'", "delay > 10", "NULL", "2013-01-02",
    "[", "(", "%", "it's", "sum(delay)", "select * from flights", "flights",
]  # fmt: skip
KEYS = [
    Qt.Key.Key_Return, Qt.Key.Key_Escape, Qt.Key.Key_Tab, Qt.Key.Key_Backtab, Qt.Key.Key_Up, Qt.Key.Key_Down,
    Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Home, Qt.Key.Key_End, Qt.Key.Key_PageDown,
    Qt.Key.Key_Space, Qt.Key.Key_Delete, Qt.Key.Key_Backspace, Qt.Key.Key_F2, Qt.Key.Key_F3,
]  # fmt: skip
MODIFIERS = [
    *[Qt.KeyboardModifier.NoModifier] * 4,
    Qt.KeyboardModifier.ShiftModifier,
    Qt.KeyboardModifier.ControlModifier,
]
SIZES = [(1100, 750), (700, 500), (1500, 900)]
IGNORED_MESSAGES = ("does not support", "Keyboard event not accepted")
HELD_SECONDS, STUCK_SECONDS, PATIENCE = 5.0, 120, 10
"""An event that holds the window, a walk that stands still, and the steps in one dialog or menu."""


def flights(rows: int = 300) -> pa.Table:
    """Rows with every kind of value that the window treats in a way of its own."""
    numbers = range(rows)
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "delay": pa.array([None if n % 17 == 0 else n * 37 % 500 - 50 for n in numbers], pa.int32()),
            "carrier": [("AA", "UA", None, "", "B6")[n % 5] for n in numbers],
            "when": [dt.datetime(2013, 1, 1) + dt.timedelta(hours=n) for n in numbers],
            "day": [dt.date(2013, 1, 1) + dt.timedelta(days=n % 40) for n in numbers],
            "share": [(float("nan"), float("inf"), n / 7, None)[n % 4] for n in numbers],
            "late": [n % 3 == 0 if n % 5 else None for n in numbers],
            "tags": [[f"t{n % 3}", "u"] if n % 4 else None for n in numbers],
            "plane": [{"seats": n, "model": f"m{n}"} for n in numbers],
            "code": [bytes([n % 256]) for n in numbers],
        }
    )


class Walk:
    """One walk. `problems` are the texts of what went wrong."""

    def __init__(self, folder: Path, seed: int, prints_steps: bool = False) -> None:
        self._random, self._prints_steps = Random(seed), prints_steps
        self._steps: deque[str] = deque(["start"], maxlen=10)
        self._place: QWidget | None = None
        self._steps_here = self._count = 0
        self._is_stepping = False
        self.problems: dict[str, str] = {}
        rows = flights()
        self._store = Store.open(folder / "My tables")
        self._store.create_table("flights", rows)
        self._store.create_table(
            "carriers", pa.table({"carrier": ["AA", "UA"], "name": ["American", "United"]})
        )
        self._files = [folder / "flights.parquet", folder / "words.csv"]
        pq.write_table(rows, self._files[0], row_group_size=50)
        self._files[1].write_text("a,b,c\n" + "".join(f"{n},w {n % 9},{n / 3}\n" for n in range(200)))
        self.tasks = Tasks()
        self.window = MainWindow(self.tasks, FakeMemory(folder / "runs.sqlite"))
        self.window.library.add_store(self._store)
        self.window.resize(*SIZES[0])
        self.window.show()
        self.window.open_paths(self._files)
        for table in ("flights", "carriers"):
            self._open_table(table)
        self._nested = QTimer(interval=40)
        self._nested.timeout.connect(self._step_inside)
        self._nested.start()

    def note(self, text: str) -> None:
        """Keep a problem and print it with the steps before; the same one only once."""
        key = text.strip().splitlines()[-1]
        if key not in self.problems:
            self.problems[key] = text
            print(f"After {' | '.join(self._steps)}:\n{text}", flush=True)

    def run(self, steps: int) -> None:
        self.pump(1000)
        for _ in range(steps):
            if not self.window.isVisible():
                self.note("The window was closed")
                break
            faulthandler.dump_traceback_later(STUCK_SECONDS, exit=True)
            self._is_stepping = True
            begin, before = time.monotonic(), self._count
            self.step()
            if self._count == before + 1:  # else it waited for a dialog or menu, in which others were made
                self._note_if_long(time.monotonic() - begin)
            self.pump(self._random.choice([2, 10, 40, 120]))
            self._is_stepping = False

    def pump(self, milliseconds: int) -> None:
        """Handle events for a while, and note those that hold the window."""
        end = time.monotonic() + milliseconds / 1000
        while (begin := time.monotonic()) < end:
            QApplication.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 20)
            self._note_if_long(time.monotonic() - begin)

    def _note_if_long(self, seconds: float) -> None:
        if seconds > HELD_SECONDS:
            self.note(f"The window was held for {seconds:.0f} s by {self._steps[-1]}")

    def step(self) -> None:
        self._count += 1
        try:
            self._step()
        except RuntimeError as error:
            if "already deleted" not in str(error):  # the step before closed the widget
                self.note(traceback.format_exc())
        except Exception:  # noqa: BLE001 -- this is what the walk looks for
            self.note(traceback.format_exc())

    def _step_inside(self) -> None:
        """Go on while a step waits for a menu or a dialog."""
        if self._is_stepping and (QApplication.activeModalWidget() or QApplication.activePopupWidget()):
            self.step()

    def _step(self) -> None:
        place = self._front()
        self._steps_here = self._steps_here + 1 if place is self._place else 0
        self._place = place
        if isinstance(place, QFileDialog) or (
            place is not self.window and self._steps_here > self._random.randrange(2, PATIENCE)
        ):
            self._leave(place)
        elif isinstance(place, QMenu):
            self._choose(place)
        elif place is self.window and self.window.tabs.count() < 3 and self._random.random() < 0.05:
            self._say("open a tab")
            self._random.choice([lambda: self.window.open_paths(self._files), self._open_table])()
        else:
            act = self._random.choices(
                [self._trigger, self._use, self._click, self._press, self._resize], [42, 20, 13, 20, 5]
            )[0]
            act(place)

    def _front(self) -> QWidget:
        windows = [
            each
            for each in QApplication.topLevelWidgets()
            if each.isVisible() and not isinstance(each, QMenu)
        ]
        return (
            QApplication.activePopupWidget()
            or QApplication.activeModalWidget()
            or (self._random.choice(windows) if windows else self.window)
        )

    def _say(self, text: str) -> None:
        self._steps.append(text)
        if self._prints_steps:
            print(text, flush=True)

    def _leave(self, place: QWidget) -> None:
        self._say(f"leave {type(place).__name__}")
        QTest.keyClick(place, Qt.Key.Key_Escape)
        if place.isVisible():
            place.close()

    def _choose(self, menu: QMenu) -> None:
        actions = [each for each in menu.actions() if each.isEnabled() and each.isVisible() and each.text()]
        actions = [
            each for each in actions if not any(word in each.text() for word in ("indow", "uit", "enchmark"))
        ]
        if not actions or self._random.random() < 0.2:
            self._leave(menu)
            return
        action = self._random.choice(actions)
        self._say(f"choose {action.text()}")
        menu.setActiveAction(action)
        if action.menu() is not None:
            QTest.keyClick(menu, Qt.Key.Key_Right)
        else:
            menu.close()
            action.trigger()

    def _trigger(self, place: QWidget) -> None:
        if place is not self.window:
            return
        avoided = {*LEAVING, *BENCHMARKS}
        action = self._random.choice([each.id for each in ACTIONS if each.id not in avoided])
        if self.window.commands[action].isEnabled():
            self._say(f"action {action}")
            self.window.commands[action].trigger()

    def _use(self, place: QWidget) -> None:
        kinds = (QAbstractButton, QComboBox, QLineEdit, QPlainTextEdit, QAbstractItemView)
        widget = self._widget_in(place, kinds)
        if widget is None:
            return
        self._say(f"use {_label(widget)}")
        if isinstance(widget, QComboBox) and widget.count():
            widget.setCurrentIndex(self._random.randrange(widget.count()))
            widget.activated.emit(widget.currentIndex())
        elif isinstance(widget, (QLineEdit, QPlainTextEdit)):
            text = self._random.choice(TEXTS)
            self._say(f"type {text}")
            widget.setFocus()
            widget.selectAll()
            QTest.keyClicks(widget, text)
            if self._random.random() < 0.5:
                QTest.keyClick(widget, Qt.Key.Key_Return)
        else:
            self._click_at(widget.viewport() if isinstance(widget, QAbstractItemView) else widget)

    def _click(self, place: QWidget) -> None:
        widget = self._widget_in(place, (QWidget,))
        if widget is not None:
            self._say(f"click {_label(widget)}")
            self._click_at(widget)

    def _click_at(self, widget: QWidget) -> None:
        point, modifier = self._point(widget), self._random.choice(MODIFIERS)
        kind = self._random.choices(["click", "double", "drag", "menu"], [60, 15, 12, 13])[0]
        if kind == "menu":
            event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, point, widget.mapToGlobal(point))
            QApplication.postEvent(widget, event)
            return
        _send(widget, QEvent.Type.MouseButtonPress, point, modifier)
        if kind == "drag":
            point = self._point(widget)
            _send(widget, QEvent.Type.MouseMove, point, modifier)
        _send(widget, QEvent.Type.MouseButtonRelease, point, modifier)
        if kind == "double":
            _send(widget, QEvent.Type.MouseButtonDblClick, point, modifier)
            _send(widget, QEvent.Type.MouseButtonRelease, point, modifier)

    def _press(self, place: QWidget) -> None:
        target = QApplication.focusWidget() or place
        key, modifier = self._random.choice(KEYS), self._random.choice(MODIFIERS)
        self._say(f"press {key.name} with {modifier.name} in {_label(target)}")
        QTest.keyClick(target, key, modifier)

    def _resize(self, place: QWidget) -> None:
        size = self._random.choice(SIZES)
        self._say(f"resize to {size}")
        self.window.resize(*size)

    def _widget_in(self, place: QWidget, kinds: tuple[type[QWidget], ...]) -> QWidget | None:
        widgets = [
            each
            for each in place.findChildren(QWidget)
            if isinstance(each, kinds) and each.isVisible() and each.isEnabled() and each.width() > 3
            and each.height() > 3 and not any(word in _label(each) for word in AVOIDED_BUTTONS)
        ]  # fmt: skip
        return self._random.choice(widgets) if widgets else None

    def _point(self, widget: QWidget) -> QPoint:
        return QPoint(self._random.randrange(widget.width()), self._random.randrange(widget.height()))

    def _open_table(self, name: str = "flights") -> None:
        self.window.opening.open_key((str(self._store.path), name))


def _send(widget: QWidget, kind: QEvent.Type, point: QPoint, modifiers: Qt.KeyboardModifier) -> None:
    """Send one event of the mouse. QTest's clicks would crash where the press deletes the widget."""
    left, place = Qt.MouseButton.LeftButton, QPointF(point)
    button = Qt.MouseButton.NoButton if kind is QEvent.Type.MouseMove else left
    buttons = Qt.MouseButton.NoButton if kind is QEvent.Type.MouseButtonRelease else left
    event = QMouseEvent(kind, place, widget.mapToGlobal(place), button, buttons, modifiers)
    QApplication.sendEvent(widget, event)


def _label(widget: QWidget) -> str:
    text = widget.text() if isinstance(widget, (QAbstractButton, QLineEdit)) else ""
    return f"{type(widget).__name__} {text or widget.accessibleName() or widget.objectName()}".strip()


def report_to(note: Callable[[str], None]) -> None:
    """Pass what would be printed as unexpected to `note`."""

    def exception(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        note("".join(traceback.format_exception(kind, error, trace)))

    def on_thread(hook: threading.ExceptHookArgs) -> None:
        if hook.exc_value is not None:
            exception(hook.exc_type, hook.exc_value, hook.exc_traceback)

    def message(kind: QtMsgType, context: object, text: str) -> None:
        if not any(each in text for each in IGNORED_MESSAGES):
            note(f"Qt: {text}")

    sys.excepthook, threading.excepthook = exception, on_thread
    qInstallMessageHandler(message)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--print-steps", action="store_true", help="before each of them, to look into a crash"
    )
    options = parser.parse_args()
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    faulthandler.enable()
    with tempfile.TemporaryDirectory(prefix="lamella-walk-") as name:
        folder = Path(name)
        os.chdir(folder)  # paths that are typed are relative to it
        os.environ["LAMELLA_HOME"] = str(folder / "home")
        application = QApplication([])
        QDesktopServices.openUrl = lambda *_: True  # type: ignore[method-assign, assignment]
        walk = Walk(folder, options.seed, options.print_steps)
        report_to(walk.note)
        walk.run(options.steps)
        faulthandler.dump_traceback_later(STUCK_SECONDS, exit=True)
        walk.tasks.shutdown()
        print(f"Seed {options.seed}: {len(walk.problems)} problems")
        sys.stdout.flush()
        os.chdir("/")
        del application
    os._exit(bool(walk.problems))  # windows in any state are not closed one by one


if __name__ == "__main__":
    sys.exit(main())
