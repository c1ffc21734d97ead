"""The workspace of a window: saved in the background whenever it changes, and restored at the next start.

A tab takes part by three names: `workspace_kind`, a key of `KINDS`; `state()`, the JSON from which it can be
restored; and the signal `state_changed`. The function of its kind in `KINDS` restores it from that state when
it is first looked at. Tabs without these names are not restored.
"""

from __future__ import annotations

import base64
import binascii
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from PySide6.QtCore import QByteArray, QEvent, QObject, Qt, QTimer, Signal, SignalInstance
from PySide6.QtWidgets import QSplitter, QWidget

from lamella.core.errors import LamellaError
from lamella.core.jobs import Job
from lamella.core.query.line_json import SOURCES
from lamella.ui.widgets.hosts import widget_of
from lamella.ui.window.memory import WindowEntry
from lamella.ui.window.pending_tab import PendingTab
from lamella.ui.window.restored_tabs import (
    restore_benchmark,
    restore_console,
    restore_dataset,
    restore_diagram,
    restore_search,
    restore_settings,
    restore_store_page,
)
from lamella.ui.window.tab_state import LINE
from lamella.ui.window.window import Window

Restore = Callable[[Window, Mapping[str, Any], PendingTab], object]
"""Opens a tab from its state, reading off the GUI thread, and ends in `become` or `fail` of its pending
tab."""

KINDS: dict[str, Restore] = {
    "dataset": restore_dataset,
    "benchmark": restore_benchmark,
    "sql": restore_console,
    "settings": restore_settings,
    "search": restore_search,
    "relations": restore_diagram,
    "store": restore_store_page,
}
"""Functions by `workspace_kind`. One whose code is not needed at the start imports it when called."""

SAVE_AFTER_MS = 500
GEOMETRY, SIDEBAR, SPLITTER, STORES = "geometry", "sidebar", "splitter", "stores"
TABS, CURRENT, KIND, TITLE, ICON, TIP, STATE = "tabs", "current", "kind", "title", "icon", "tip", "state"
MOST_TABS = 1_000
"""At most this many tabs are read from a file."""

log = logging.getLogger(__name__)


@runtime_checkable
class WorkspaceTab(Protocol):
    workspace_kind: str
    state_changed: SignalInstance

    def state(self) -> dict[str, Any]: ...

    def property(self, name: str, /) -> Any: ...


class Workspace(QObject):
    """The workspace of one window. `settled` is emitted once it is restored: the current tab is open, or
    cannot be opened, or is not wanted. `failed` carries why something was not saved."""

    settled = Signal()
    failed = Signal(Exception)

    def __init__(self, window: Window, splitter: QSplitter, entry: WindowEntry) -> None:
        super().__init__(widget_of(window))
        self.entry, self.is_on = entry, True
        self._window, self._splitter = window, splitter
        self._states: dict[WorkspaceTab, dict[str, Any]] = {}
        self._changed_tabs: set[QWidget] = set()
        self._watched_tabs: set[QWidget] = set()
        self._gone_stores: list[str] = []
        self._number = 0
        self._opens = self._waits = False
        self._soon = QTimer(self, singleShot=True, interval=SAVE_AFTER_MS)
        self._soon.timeout.connect(self.save)
        window.tabs.current_changed.connect(self._follow_tabs)
        window.tabs.tabs.tabBarClicked.connect(self._open_clicked)
        window.tabs.tabs.tabBar().tabMoved.connect(lambda *_: self.save_soon())
        window.library.stores_changed.connect(lambda _: self.save_soon())
        splitter.splitterMoved.connect(lambda *_: self.save_soon())
        widget_of(window).installEventFilter(self)

    # ------------------------------------------------------------------- saving

    def save_soon(self) -> None:
        """Save half a second after the first of several changes."""
        if self.is_on and not self._soon.isActive():
            self._soon.start()

    def save(self) -> None:
        """Save in the background."""
        state, entry, number = self._collect(), self.entry, self._number

        def work(job: Job) -> None:
            entry.save(state, number)

        self._window.tasks.read(work, None, self._report_failure, owner=self, quiet=True)

    def close(self, is_restored: bool) -> None:
        """Save for the last time, on this thread. `is_restored` says whether the window returns at the next
        start."""
        self._soon.stop()
        self.settled.emit()
        if not (self.is_on and is_restored):
            self.entry.forget()
            return
        try:
            self.entry.save(self._collect(), self._number)
        except LamellaError as error:
            self._report_failure(error)
        self.entry.release()

    def item_of(self, widget: QWidget) -> dict[str, Any] | None:
        """A tab as it is saved; None for one that is not restored."""
        if not isinstance(widget, WorkspaceTab):
            return None
        self._states[widget] = widget.state()
        return self._item(widget)

    def _item(self, widget: WorkspaceTab) -> dict[str, Any]:
        properties = {name: widget.property(name) for name in (TITLE, ICON, TIP)}
        return {KIND: widget.workspace_kind, **properties, STATE: self._states[widget]}

    def turn(self, on: bool) -> None:
        """Turn saving on or off; off also removes what was saved before."""
        if on and not self.is_on:
            self.is_on, self.entry = True, self._window.memory.add_window()
            self.save_soon()
        elif not on and self.is_on:
            self.is_on = False
            self._soon.stop()
            self.entry.forget()

    def _report_failure(self, error: Exception) -> None:
        log.warning("The workspace was not saved: %s", error, exc_info=not isinstance(error, LamellaError))
        self.failed.emit(error)

    def _collect(self) -> dict[str, Any]:
        window, tabs = self._window, self._window.tabs
        self._number += 1
        workspace_tabs = [widget for widget in tabs.widgets if isinstance(widget, WorkspaceTab)]
        self._states = {
            widget: widget.state() if widget in self._changed_tabs or widget not in self._states
            else self._states[widget]
            for widget in workspace_tabs
        }  # fmt: skip
        self._changed_tabs.clear()
        stores = [str(store.path) for store in window.library.stores]
        return {
            GEOMETRY: base64.b64encode(window.saveGeometry().data()).decode(),
            SIDEBAR: not window.sidebar.isHidden(),
            SPLITTER: self._splitter.sizes(),
            STORES: list(dict.fromkeys([*stores, *self._gone_stores])),
            TABS: [self._item(widget) for widget in workspace_tabs],
            CURRENT: workspace_tabs.index(tabs.current) if tabs.current in workspace_tabs else 0,
        }

    def _follow_tabs(self) -> None:
        for widget in self._window.tabs.widgets:
            if isinstance(widget, WorkspaceTab) and widget not in self._watched_tabs:
                self._watched_tabs.add(widget)
                widget.state_changed.connect(lambda widget=widget: self._mark(widget))
                widget.destroyed.connect(lambda _=None, widget=widget: self._watched_tabs.discard(widget))
        self.save_soon()
        if self._opens:
            self.open_current()

    def _mark(self, widget: QWidget) -> None:
        self._changed_tabs.add(widget)
        self.save_soon()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Resize, QEvent.Type.Move, QEvent.Type.WindowStateChange):
            self.save_soon()
        return False

    # ------------------------------------------------------------------- restoring

    def restore(self, opens_current: bool = True) -> None:
        """Restore what was open as pending tabs, and open the current one: now if `opens_current`, else once
        the files that the program was started with have opened, if it is still the current one. Invalid
        entries are skipped."""
        state = self.entry.state
        self._restore_frame(state)
        tabs = state.get(TABS)
        for item in tabs[:MOST_TABS] if isinstance(tabs, list) else ():
            if isinstance(item, Mapping):
                self.add_pending(item)
        count = self._window.tabs.tabs.count()
        current = state.get(CURRENT)
        if type(current) is int and 0 <= current < count:
            self._window.tabs.tabs.setCurrentIndex(current)
        self._window.tabs.current_changed.emit()
        self._restore_stores(state.get(STORES))
        current_tab = self._window.tabs.current
        if current_tab is not None:
            current_tab.setFocus()
        if isinstance(current_tab, PendingTab) and opens_current:
            current_tab.settled.connect(self.settled)
            self.open_current()
        else:
            self._opens = True
            self._waits = True
            queued = Qt.ConnectionType.QueuedConnection
            self._window.tasks.busy_changed.connect(self._open_when_idle, queued)
            self.settled.emit()

    def _open_when_idle(self) -> None:
        """Open the current tab if the files in front of which it waits could not be opened."""
        if self._waits and not self._window.tasks.running:
            self._waits = False
            self.open_current()

    def add_pending(self, item: Mapping[str, Any]) -> PendingTab | None:
        """Add a saved tab at the end, to be opened when it is looked at. None if its kind is unknown."""
        kind, saved = item.get(KIND), item.get(STATE)
        restore = KINDS.get(kind) if isinstance(kind, str) else None
        if restore is None or not isinstance(saved, Mapping):
            log.warning("A tab of the kind %r is not restored", kind)
            return None
        title, icon, tip = (str(item.get(name) or "") for name in (TITLE, ICON, TIP))
        tab = PendingTab(
            str(kind), title, saved, lambda place: restore(self._window, place.saved_state, place)
        )
        self._window.tabs.add_pending(tab, title, icon or "table", tip)
        return tab

    def reopen(self, item: Mapping[str, Any]) -> None:
        """Show a closed tab as it was; if its dataset is open, show that tab instead."""
        key = item.get(STATE, {}).get("key")
        open_tab = self._window.tabs.with_key(tuple(key)) if key else None
        tab = open_tab or self.add_pending(item)
        if tab is not None:
            self._window.tabs.show_tab(tab)
            self.open_current()

    def follow_store(self, old: Path, new: Path) -> None:
        """Let tabs that are not opened yet, and those that can be reopened, find a store where it is now."""
        tabs = self._window.tabs
        for tab in tabs.pending_tabs:
            moved = _state_after_move(tab.saved_state, old, new)
            if moved != tab.saved_state:
                tab.saved_state = moved
                title, tip = str(tab.property("title")), str(tab.property("tip"))
                if tab.key is None:
                    title = title.replace(old.name, new.name, 1)
                tabs.rename(tab, title, tip.replace(str(old), str(new), 1))
                tab.state_changed.emit()
        tabs.closed_tabs[:] = [_closed_after_move(closed, old, new) for closed in tabs.closed_tabs]

    def _open_clicked(self, place: int) -> None:
        if self._opens and place == self._window.tabs.tabs.currentIndex():
            self.open_current()

    def open_current(self) -> None:
        """Open the current tab if it is pending."""
        current = self._window.tabs.current
        self._opens = True
        if isinstance(current, PendingTab):
            current.open()

    def _restore_frame(self, state: Mapping[str, Any]) -> None:
        geometry, sizes = state.get(GEOMETRY), state.get(SPLITTER)
        if isinstance(geometry, str):
            try:
                data = base64.b64decode(geometry, validate=True)
            except binascii.Error:
                data = b""
            self._window.restoreGeometry(QByteArray(data))  # moved to a screen that exists
        if state.get(SIDEBAR) is False:
            self._window.sidebar.hide()
        if isinstance(sizes, list) and len(sizes) == self._splitter.count() and all(map(_is_size, sizes)):
            self._splitter.setSizes(sizes)

    def _restore_stores(self, paths: object) -> None:
        """Reopen the stores that were opened from other folders; a missing one is looked for again at the
        next start."""
        store_paths = [path for path in paths if isinstance(path, str)] if isinstance(paths, list) else []
        self._window.library.keep_order(list(map(Path, store_paths)))
        for path in store_paths:
            self._window.library.with_store(Path(path), lambda: None, self._keep_store(path))

    def _keep_store(self, path: str) -> Callable[[Exception], None]:
        def keep(error: Exception) -> None:
            log.warning("A store of the workspace was not opened: %s", error)
            self._gone_stores.append(path)

        return keep


def _is_size(value: object) -> bool:
    return type(value) is int and value >= 0


def open_keys(tabs: Sequence[QWidget]) -> list[tuple[str, ...]]:
    """The keys of the datasets in these tabs, open or pending."""
    keys = [getattr(tab, "key", None) for tab in tabs]
    return list(dict.fromkeys(key for key in keys if key is not None))


def _closed_after_move(
    closed: tuple[str, ...] | Mapping[str, Any], old: Path, new: Path
) -> tuple[str, ...] | Mapping[str, Any]:
    if isinstance(closed, Mapping):
        return {**closed, STATE: _state_after_move(closed.get(STATE, {}), old, new)}
    return tuple(_address_after_move(list(closed), old, new))


def _state_after_move(state: Mapping[str, Any], old: Path, new: Path) -> dict[str, Any]:
    """The state of a tab, with the new place of a store that it shows, or whose tables it shows or joins."""
    moved, line = dict(state), state.get(LINE)
    if moved.get("store") == str(old):
        moved["store"] = str(new)
    if "key" in moved:
        moved["key"] = _address_after_move(moved["key"], old, new)
    if isinstance(line, Mapping) and isinstance(line.get(SOURCES), Mapping):
        sources = {name: _address_after_move(each, old, new) for name, each in line[SOURCES].items()}
        moved[LINE] = {**line, SOURCES: sources}
    return moved


def _address_after_move(address: Any, old: Path, new: Path) -> Any:
    is_there = isinstance(address, list) and address[:1] == [str(old)]
    return [str(new), *address[1:]] if is_there else address
