"""Uses the real window as a person would and measures the time: the driver of the workload "window". It runs
offscreen in a child process of the benchmark."""

from __future__ import annotations

import os
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QCoreApplication, QEvent, QPoint, QPointF, QSize, Qt
from PySide6.QtGui import QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QApplication, QWidget

from lamella.core.bench.systems.lamella import LamellaStore, forget
from lamella.core.bench.workloads.model import Workload
from lamella.core.bench.workloads.questions import digest
from lamella.core.bench.workloads.window import (
    COMPARED_ROWS,
    GROUPED_BY,
    LEAST_TOTAL,
    NUMBER_OF_ROW,
    SORTED_BY,
    SUMMED,
    VISIBLE,
    Act,
    WindowSystem,
    digest_of_groups,
    digest_of_rows,
    jumps,
)
from lamella.core.errors import LamellaError
from lamella.core.query import agg, card_cache
from lamella.core.query.cards import forget_cards
from lamella.core.query.expressions import col
from lamella.core.query.line import Line
from lamella.core.query.steps import Compute, Group
from lamella.core.scan.snapshot import SortKey
from lamella.ui import theme
from lamella.ui.theme import Mode

if TYPE_CHECKING:
    from lamella.ui.main_window import MainWindow
    from lamella.ui.window.dataset_tab import DatasetTab

SIZE = QSize(1280, 800)
FRAMES, NOTCH = 120, QPoint(0, -120)
PATIENCE_SECONDS, QUIET_SECONDS = 600.0, 0.1
BRUSH_SHARE = 1 / 3
FEW_MS = 0.001


class WindowStuck(LamellaError):
    """The window did not reach the expected state."""


class LamellaWindow(WindowSystem):
    """Drives the window. A subclass in the room that contains the program starts it."""

    id = "lamella"
    description = "its window, 1280 × 800, offscreen; settings as installed"

    def __init__(self, folder: Path, workload: Workload) -> None:
        super().__init__(folder, workload)
        self._window: MainWindow | None = None
        self._pieces: list[float] = []

    @classmethod
    def version(cls) -> str:
        return LamellaStore.version()

    @abstractmethod
    def start(self) -> MainWindow:
        """The window of a program that has just started, with no file open."""

    def open(self, writing: bool) -> None:
        self._window = self.start()
        theme.current().set_mode(Mode.LIGHT)
        self._window.resize(SIZE)
        self._window.show()
        self._wait(lambda: self.window.sidebar.num_stores > 0 and not self.window.tasks.running)

    def close(self) -> None:
        if self._window is not None:
            self._window.close()
            self._window.deleteLater()
            QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
            self._window = None
        forget()
        forget_cards()

    @property
    def window(self) -> MainWindow:
        assert self._window is not None
        return self._window

    @property
    def tab(self) -> DatasetTab:
        tab = self.window.tabs.dataset_tab
        if tab is None:
            raise WindowStuck(f"{self.file.name} was not opened in the window")
        return tab

    # ------------------------------------------------------------------------ acts

    def begin(self, act: str) -> None:
        if act in ("open", "reopen"):
            self.close()
            if act == "open":  # for the first time
                card_cache.clear()
            self.open(writing=False)
            return
        if self._window is None:
            self.open(writing=False)
            self._open_file()
        lines: Mapping[str, Line] = {
            "jump_filtered": self._line(filtered=True),
            "sort_filtered": self._line(filtered=True),
            "jump_sorted": self._line(is_sorted=True),
        }
        line = lines.get(act, Line())
        if self.tab.line.active != line.active:
            self.tab.apply(line)
        self._settle()
        if not self._shows_its_line():
            raise WindowStuck(f"The steps before '{act}' could not run", self.tab.messages.label.text())
        self.tab.grid.go_to(0, 0)
        self._settle()

    def _shows_its_line(self) -> bool:
        tab = self.window.tabs.dataset_tab
        return tab is not None and tab.content is not None and tab.content.line.active == tab.line.active

    def _line(self, filtered: bool = False, is_sorted: bool = False) -> Line:
        from lamella.core.query.steps import Where

        line = Line()
        if filtered:
            line = line.insert(line.place_of_new(Where), Where, Where(col(SUMMED) > LEAST_TOTAL))
        return line.with_sort([SortKey(SORTED_BY)]) if is_sorted else line

    def acts(self) -> Mapping[str, Callable[[], Act]]:
        return {
            "open": self._open_file,
            "scroll": self._scroll,
            "jump": self._jump,
            "filter": lambda: self._rows(lambda: self.tab.add_filter(col(SUMMED) > LEAST_TOTAL)),
            "jump_filtered": self._jump,
            "sort_filtered": self._sort,
            "sort": self._sort,
            "jump_sorted": self._jump,
            "compute": self._compute,
            "group": self._group,
            "brush": self._brush,
            "theme": self._change_theme,
            "reopen": self._open_file,
        }

    def _open_file(self) -> Act:
        return self._rows(lambda: self.window.open_paths([self.file]))

    def _rows(self, do: Callable[[], object]) -> Act:
        """An act after which rows are painted, and then column cards arrive."""
        self._pieces = []
        rows = self._paint_time(do)
        first = self._wait(lambda: self.tab.grid.cards.loader.num_exact > 0)
        all_ = first + self._wait(lambda: self.tab.grid.cards.loader.is_settled)
        self._settle()
        values = self._values(range(min(COMPARED_ROWS, self._num_rows)))
        answer = digest_of_rows(self._num_rows, values)
        return Act(answer, rows, max(self._pieces), (), first, all_)

    def _sort(self) -> Act:
        column = self.tab.grid.grid_model.names.index(SORTED_BY)
        return self._rows(lambda: self.tab.grid.column_header.sort_requested.emit(column, False))

    def _compute(self) -> Act:
        doubled = Compute((("double", col(SUMMED) * 2),))
        return self._rows(lambda: self.tab.add_step(doubled))

    def _group(self) -> Act:
        figures = (("n", agg.count()), ("total", agg.sum(SUMMED)))
        act = self._rows(lambda: self.tab.add_step(Group((GROUPED_BY,), figures)))
        view = self.tab.view
        assert view is not None
        groups = view.page(0, view.num_rows, [GROUPED_BY, "n", "total"])
        rows = zip(*(column.to_pylist() for column in groups.columns), strict=True)
        return Act(digest_of_groups(rows), act.seconds, act.hold_seconds)

    def _scroll(self) -> Act:
        """Scroll, and check that the grid reports the row at the upper edge."""
        self._pieces = []
        grid = self.tab.grid
        place = QPointF(grid.viewport().rect().center())
        global_place = QPointF(grid.viewport().mapToGlobal(place.toPoint()))
        phase, none = Qt.ScrollPhase.NoScrollPhase, Qt.MouseButton.NoButton
        keys = Qt.KeyboardModifier.NoModifier

        def turn() -> None:
            event = QWheelEvent(place, global_place, QPoint(), NOTCH, none, keys, phase, False)
            QApplication.sendEvent(grid.viewport(), event)

        frames = []
        for _ in range(FRAMES):
            before = grid.verticalScrollBar().value()
            seconds = self._paint_time(turn, rows_too=False)
            if grid.verticalScrollBar().value() == before:  # at the end
                break
            frames.append(seconds)
        self._settle()
        rows, top = self._values([grid.top_row()]), grid.top_row()
        answer = digest(int(rows[0][0]) == top + NUMBER_OF_ROW)
        return self._average_act(answer, frames)

    def _jump(self) -> Act:
        self._pieces = []
        times, rows = [], []
        for row in jumps(self._num_rows):
            times.append(self._paint_time(partial(self.tab.grid.go_to, row, 0)))
            rows += self._values([row])
        self._settle()
        return self._average_act(digest_of_rows(self._num_rows, rows), times)

    def _average_act(self, answer: str, times: list[float]) -> Act:
        return Act(answer, fmean(times), max(self._pieces), tuple(times))

    def _brush(self) -> Act:
        """Brush, and check that as many rows remain as the brushed bars have."""
        cards, grid = self.tab.grid.cards, self.tab.grid
        column = grid.grid_model.names.index(SORTED_BY)
        bars = cards.bars_of(column)
        if bars is None:
            raise WindowStuck(f"Column {SORTED_BY} has no histogram")
        brushed = range(round(len(bars) * BRUSH_SHARE), round(2 * len(bars) * BRUSH_SHARE))
        rect, places = cards.card_rect(column), cards.card_painter.places(cards.card_rect(column).width())
        ends = [places.bar(bar, len(bars)).center() + rect.topLeft() for bar in (brushed[0], brushed[-1])]

        def drag() -> None:
            left, none = Qt.MouseButton.LeftButton, Qt.MouseButton.NoButton
            for kind, point, button, buttons in (
                (QEvent.Type.MouseButtonPress, ends[0], left, left),
                (QEvent.Type.MouseMove, ends[1], none, left),
                (QEvent.Type.MouseButtonRelease, ends[1], left, none),
            ):
                _send_mouse(cards, kind, point, button, buttons)

        expected = sum(bars.counts[bar] for bar in brushed)
        act = self._rows(drag)
        return Act(digest(self._num_rows - expected), act.seconds, act.hold_seconds)

    def _change_theme(self) -> Act:
        self._pieces = []
        seconds = self._paint_time(lambda: theme.current().set_mode(Mode.DARK))
        self._settle()
        name = "dark" if theme.current().dark else "light"
        theme.current().set_mode(Mode.LIGHT)
        return Act(digest(name), seconds, max(self._pieces))

    # ------------------------------------------------------------------ measuring

    @property
    def _num_rows(self) -> int:
        return self.tab.grid.grid_model.num_rows

    def _values(self, rows: Any) -> list[list[Any]]:
        """The values in the grid, of the columns that are compared."""
        model = self.tab.grid.grid_model
        places = [model.names.index(name) for name in VISIBLE if name in model.names]
        cells = [[model.pages.text(row, place) or "" for place in places] for row in rows]
        return [[int(text) if text.lstrip("-").isdigit() else text for text in row] for row in cells]

    def _paint_time(self, do: Callable[[], object], rows_too: bool = True) -> float:
        """The seconds from an act until its result has been painted, with all rows or with those read so
        far."""
        painted = False

        def note() -> None:
            nonlocal painted
            tab = self.window.tabs.dataset_tab
            if tab is None or tab.loader.running or not self._shows_its_line():
                painted = False
            else:
                painted = not rows_too or tab.grid.grid_model.pages.is_settled

        began = time.perf_counter()
        self._work(do)
        watched = None
        while not painted:
            tab = self.window.tabs.dataset_tab
            if tab is not None and watched is None:
                watched = tab.grid
                watched.painted.connect(note)
                watched.viewport().update()
            self._work(QApplication.processEvents)
            if time.perf_counter() - began > PATIENCE_SECONDS:
                raise WindowStuck(f"Nothing was painted within {PATIENCE_SECONDS:g} seconds")
            if not painted:
                time.sleep(FEW_MS)
        seconds = time.perf_counter() - began
        assert watched is not None
        watched.painted.disconnect(note)
        return seconds

    def _wait(self, condition: Callable[[], bool]) -> float:
        began = time.perf_counter()
        while not condition():
            self._work(QApplication.processEvents)
            if time.perf_counter() - began > PATIENCE_SECONDS:
                raise WindowStuck(f"The window was not ready within {PATIENCE_SECONDS:g} seconds")
            time.sleep(FEW_MS)
        return time.perf_counter() - began

    def _settle(self) -> None:
        """Wait until nothing is running and everything is painted."""
        began = quiet_since = time.perf_counter()
        while True:
            self._work(QApplication.processEvents)
            now = time.perf_counter()
            if any(self._busy()):
                quiet_since = now
            elif now - quiet_since > QUIET_SECONDS:
                return
            if now - began > PATIENCE_SECONDS:
                raise WindowStuck(f"The window was not at rest within {PATIENCE_SECONDS:g} seconds")
            time.sleep(FEW_MS)

    def _busy(self) -> Iterator[bool]:
        grid = self.tab.grid
        yield bool(self.window.tasks.running)
        yield self.tab.loader.running
        yield not grid.grid_model.pages.is_settled
        yield not grid.cards.loader.is_settled

    def _work(self, do: Callable[[], object]) -> None:
        began = time.thread_time()
        do()
        self._pieces.append(time.thread_time() - began)


def _send_mouse(
    widget: QWidget, kind: QEvent.Type, place: QPoint, button: Qt.MouseButton, buttons: Qt.MouseButton
) -> None:
    global_place = QPointF(widget.mapToGlobal(place))
    keys = Qt.KeyboardModifier.NoModifier
    QApplication.sendEvent(widget, QMouseEvent(kind, QPointF(place), global_place, button, buttons, keys))
