"""The windows of this process. Each has its own tasks and opens stores on its own, as another program would.
Commits in one window are read again in the others, and stores opened in one are opened in the others. Closing
a window does not affect the others."""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QCoreApplication, QEvent, QObject, QPoint, QRect, QSize, QTimer
from PySide6.QtWidgets import QApplication

from lamella.core.store.commit import Commit
from lamella.core.store.table import Table
from lamella.ui.main_window import MainWindow
from lamella.ui.widgets.sidebar import StoreEntry

STEP = QPoint(32, 32)
"""The offset from one window to the next, so that neither hides the other."""

log = logging.getLogger(__name__)


class Windows(QObject):
    """All windows. `make` creates another window, which opens its own stores."""

    def __init__(self, make: Callable[[], MainWindow]) -> None:
        super().__init__()
        self.main_windows: list[MainWindow] = []
        self._make = make

    @property
    def active(self) -> MainWindow:
        """The window in front, or the one opened last."""
        front = QApplication.activeWindow()
        return (
            front if isinstance(front, MainWindow) and front in self.main_windows else self.main_windows[-1]
        )

    def adopt(self, window: MainWindow) -> None:
        """Add a window."""
        self.main_windows.append(window)
        window.other_windows = partial(self._other_windows, window)
        window.window_requested.connect(partial(self.open_beside, window))
        window.commits.committed.connect(partial(self._share_commit, window))
        window.library.stores_changed.connect(partial(self._share_listing, window, {}))
        window.closed.connect(partial(self._drop, window))

    def open_beside(
        self, window: MainWindow, tab: Mapping[str, Any] | None, place: QPoint | None = None
    ) -> MainWindow:
        """Open another window, with the tab that has this workspace state, or empty; at `place` on the
        screen, or a little away from `window`."""
        new_window = self._make()
        self.adopt(new_window)
        paths = [entry.path for entry in window.library.listing]
        new_window.library.keep_order(paths)
        self._list_stores(new_window, paths)
        frame = window.frameGeometry().size() - window.size()
        area = QRect(window.pos() + STEP, window.size() + frame)
        if place is None:
            area = frame_within(window.screen().availableGeometry(), area)
        new_window.resize(area.size() - frame)
        new_window.move(area.topLeft() if place is None else place)
        new_window.show()
        new_window.raise_()
        new_window.activateWindow()
        if tab is not None:
            new_window.workspace.add_pending(tab)
            new_window.tabs.current_changed.emit()
        new_window.workspace.open_current()
        return new_window

    def delete(self) -> None:
        """Delete the windows, which are closed, while Qt still runs. At the exit, Python deletes what is left
        in any order, which crashes where the layout of a plot is pending: its axes lack their labels."""
        for window in self.main_windows:
            window.deleteLater()
            QCoreApplication.sendPostedEvents(window, QEvent.Type.DeferredDelete)
        self.main_windows.clear()

    def _other_windows(self, window: MainWindow) -> Sequence[MainWindow]:
        return [each_window for each_window in self.main_windows if each_window is not window]

    def _share_commit(self, window: MainWindow, table: Table, commit: Commit) -> None:
        key = (str(table.store.path), table.name)
        for each_window in self._other_windows(window):
            each_window.follow_commit(key, commit)

    def _share_listing(
        self, window: MainWindow, before: dict[Path, StoreEntry], listing: Sequence[StoreEntry]
    ) -> None:
        """Open stores that were opened in `window` in the others, too, and list its added, dropped and
        renamed tables there. Stores closed in `window` stay open in the others. `before` is the previous
        listing."""
        now = {entry.path: entry for entry in listing}
        changed = {path for path, entry in now.items() if before.get(path) != entry}
        opened = changed - before.keys()
        before.clear()
        before.update(now)
        for each_window in self._other_windows(window):
            entries = {entry.path: entry for entry in each_window.library.listing}
            self._list_stores(each_window, opened - entries.keys())
            if any(path in entries and entries[path] != now[path] for path in changed):
                each_window.library.refresh()

    def _list_stores(self, window: MainWindow, places: Iterable[Path]) -> None:
        for path in places:
            window.library.with_store(path, lambda: None, partial(_log_open_failure, path))

    def _drop(self, window: MainWindow) -> None:
        if len(self.main_windows) > 1:
            self.main_windows.remove(window)
            window.deleteLater()
            QTimer.singleShot(0, gc.collect)  # its data, which may be much, is not kept until one is due


def frame_within(screen: QRect, frame: QRect) -> QRect:
    """The frame of a window, made smaller by up to a quarter and then moved, so that the screen has all of
    it."""
    room = QSize(screen.right() + 1 - frame.x(), screen.bottom() + 1 - frame.y())
    size = frame.size().boundedTo(room.expandedTo(frame.size() * 0.75)).boundedTo(screen.size())
    last = screen.bottomRight() - QPoint(size.width() - 1, size.height() - 1)
    x, y = max(screen.x(), min(frame.x(), last.x())), max(screen.y(), min(frame.y(), last.y()))
    return QRect(QPoint(x, y), size)


def _log_open_failure(path: Path, error: Exception) -> None:
    log.warning("The store %s is open in one window, and not in another: %s", path, error)
