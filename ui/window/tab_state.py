"""The state of a dataset's tab, as JSON and back: steps, columns, chart, cell, scroll position, search
and inspector."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from PySide6.QtCore import QObject, SignalInstance

from lamella.core.jobs import Job
from lamella.core.query.line_json import line_to_json
from lamella.ui.widgets.hosts import widget_of
from lamella.ui.window.charting import Charting
from lamella.ui.window.column_filters import ColumnFilters
from lamella.ui.window.column_layout import layout_of, show_layout
from lamella.ui.window.failures import Reopening
from lamella.ui.window.file_readings import FileReading
from lamella.ui.window.file_watch import Key, is_file, key_of, known_key_of
from lamella.ui.window.finding import Finding
from lamella.ui.window.loader import Tab
from lamella.ui.window.profiling import Profiling

if TYPE_CHECKING:
    from lamella.ui.inspector.inspector import Inspector

KEY, READING, STAMP, LINE, LAYOUT = "key", "reading", "stamp", "line", "layout"
CELL, TOP, LEFT, INSPECTOR, FILTER_ROW = "cell", "top", "left", "inspector", "filter_row"
PROFILES, FIND = "profiles", "find"


def stamp_of(key: Key) -> list[int] | None:
    """The size and time of a file, to see later whether it has changed. None for tables and folders.
    Blocks."""
    if not is_file(key):
        return None
    try:
        status = Path(key[0]).stat()
    except OSError:
        return None
    return [status.st_size, status.st_mtime_ns] if Path(key[0]).is_file() else None


class StatefulTab(Tab, Protocol):
    changed: SignalInstance
    state_changed: SignalInstance
    charting: Charting
    finding: Finding
    profiling: Profiling
    column_filters: ColumnFilters
    reopening: Reopening

    @property
    def inspector(self) -> Inspector: ...

    @property
    def is_inspector_open(self) -> bool: ...


class TabState(QObject):
    """The state of one tab, whose `state_changed` is emitted when it may have changed."""

    def __init__(self, tab: StatefulTab) -> None:
        super().__init__(widget_of(tab))
        self._tab = tab
        self.stamp: list[int] | None = None
        self._place_to_restore: dict[str, Any] = {}
        header = tab.grid.column_header
        for signal in (
            tab.changed,
            tab.grid.scrolled,
            tab.grid.horizontalScrollBar().valueChanged,
            tab.grid.formats_changed,
            header.sectionResized,
            header.sectionMoved,
            header.layout_changed,
            header.pinning.changed,
            tab.finding.state_changed,
        ):
            signal.connect(lambda *_: tab.state_changed.emit())
        tab.loader.loaded.connect(lambda _: self._look_at_file())

    def to_json(self) -> dict[str, Any]:
        tab, grid = self._tab, self._tab.grid
        reading = tab.reopening.reading
        options = {name: getattr(reading, name) for name in ("ragged", "checksums")}
        plain = {name: getattr(FileReading(), name) for name in options}
        current = grid.selection.current
        state: dict[str, Any] = {
            KEY: list(tab.key),
            READING: {name: value for name, value in options.items() if value != plain[name]},
            STAMP: self.stamp,
            LINE: line_to_json(tab.line, known_key_of) if tab.line.steps else None,
            LAYOUT: layout_of(grid) | tab.charting.layout,
            CELL: None if current is None else [current[0], grid.current_name],
            TOP: grid.top_row(),
            LEFT: grid.horizontalScrollBar().value(),
            INSPECTOR: tab.inspector.page if tab.is_inspector_open else "",
            PROFILES: tab.profiling.is_shown,
            FILTER_ROW: grid.filter_row.is_shown,
            FIND: tab.finding.state(),
        }
        if self._place_to_restore:  # rows not read yet: still to be scrolled to
            state |= self._place_to_restore
        return {name: value for name, value in state.items() if value}

    def show(self, state: Mapping[str, Any]) -> None:
        """Restore the state once the tab's rows are shown. Parts that do not fit are skipped."""
        self._place_to_restore = {name: state[name] for name in (CELL, TOP, LEFT) if name in state}
        self._tab.when_shown(lambda: self._show(state))

    def _show(self, state: Mapping[str, Any]) -> None:
        tab, layout = self._tab, state.get(LAYOUT)
        if isinstance(layout, Mapping):
            show_layout(tab.grid, layout)
            if "chart" in layout:
                tab.charting.show_layout(layout)
        if state.get(FILTER_ROW) and not tab.grid.filter_row.is_shown:
            tab.column_filters.toggle_row()
            tab.grid.setFocus()
        page = state.get(INSPECTOR)
        if isinstance(page, str) and page:
            from lamella.ui.inspector.inspector import PAGES

            if page in PAGES:
                tab.inspector.show_page(page)
        if state.get(PROFILES):
            tab.profiling.show()
        find = state.get(FIND)
        if isinstance(find, Mapping):
            tab.finding.restore(find)
        self._go()
        if self._place_to_restore:
            tab.loader.loaded.connect(self._go_once_read)

    def _go(self) -> None:
        """Go to the saved cell and scroll position, once enough rows have been read."""
        tab, grid, place = self._tab, self._tab.grid, self._place_to_restore
        top, cell = _count(place.get(TOP)), place.get(CELL)
        row = _count(cell[0]) if isinstance(cell, list) and len(cell) == 2 else 0
        complete = tab.content is not None and tab.content.complete
        if max(top, row) >= grid.grid_model.num_rows and not complete:
            return
        self._place_to_restore = {}
        names = grid.grid_model.names
        if isinstance(cell, list) and len(cell) == 2 and cell[1] in names:
            column = names.index(cell[1])
            if not grid.isColumnHidden(column):
                grid.go_to(row, grid.place(column))
        grid.scroll_to_row(top)
        grid.horizontalScrollBar().setValue(_count(place.get(LEFT)))

    def _go_once_read(self) -> None:
        if self._place_to_restore:
            self._tab.when_shown(self._go)

    def _look_at_file(self) -> None:
        """Note the state of the file, to see later whether it has changed, and the addresses of joined
        tables."""
        tab, key, sources = self._tab, self._tab.key, list(self._tab.line.sources.values())

        def take(stamp: list[int] | None) -> None:
            if stamp != self.stamp:
                self.stamp = stamp
                tab.state_changed.emit()

        def work(job: Job) -> list[int] | None:
            for source in sources:
                key_of(source)
            return stamp_of(key)

        if is_file(key) or sources:
            tab.tasks.read(work, take, owner=self, quiet=True)


def _count(value: object) -> int:
    return value if type(value) is int and value > 0 else 0
