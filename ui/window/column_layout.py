"""How the columns of a tab are shown, as plain data: order, widths, formats, and which are pinned or
hidden. Saved views contain it, and it is remembered for each dataset."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from PySide6.QtCore import QObject, QTimer

from lamella.core.arrow.types import ID
from lamella.ui.formats.formats import Format
from lamella.ui.grid.view import GridView
from lamella.ui.widgets.hosts import widget_of
from lamella.ui.window.loader import Loader, TabContent
from lamella.ui.window.memory import Memory

log = logging.getLogger(__name__)
ORDER, WIDTHS, PINNED, HIDDEN, SHOWN, FORMATS = "order", "widths", "pinned", "hidden", "shown", "formats"
HIDDEN_BY_DEFAULT = (ID,)
"""Columns that are hidden by default."""

WIDEST = 4000
"""The widest column that is accepted from a saved layout, in pixels."""

AFTER_MS = 300


def layout_of(grid: GridView) -> dict[str, Any]:
    """The layout as JSON, without what is at its default."""
    header, names = grid.column_header, grid.grid_model.names
    pinned = [names[column] for column in grid.pinning.columns]
    order = header.names_in_order()
    usual = [*pinned, *(name for name in names if name not in pinned)] if pinned else names
    hidden = header.hidden_names()
    layout: dict[str, Any] = {
        ORDER: order if order != usual else [],
        WIDTHS: dict(header.widths),
        PINNED: pinned,
        HIDDEN: [name for name in hidden if name not in HIDDEN_BY_DEFAULT],
        SHOWN: [name for name in HIDDEN_BY_DEFAULT if name in names and name not in hidden],
        FORMATS: {name: form.to_json() for name, form in grid.formats.items()},
    }
    return {key: value for key, value in layout.items() if value}


def show_layout(grid: GridView, layout: Mapping[str, Any]) -> None:
    """Apply a saved layout. Parts that cannot be read are skipped."""
    for name, value in _mapping(layout.get(FORMATS)).items():
        try:
            grid.set_format(name, Format.from_json(value))
        except ValueError as error:
            log.warning("The format of column %r was ignored: %s", name, error)
    for name, width in _mapping(layout.get(WIDTHS)).items():
        if type(width) is int and 0 < width <= WIDEST:
            grid.column_header.set_width(name, width)
    names = grid.grid_model.names
    hidden, shown_names = _names(layout.get(HIDDEN), names), _names(layout.get(SHOWN), names)
    if len(hidden) < len(names):
        grid.hide_columns(dict.fromkeys(hidden, True) | dict.fromkeys(shown_names, False))
    if order := _names(layout.get(ORDER), names):
        grid.unpin_columns()
        grid.order_columns(order)
    for name in _names(layout.get(PINNED), names):
        grid.pin_column(names.index(name))


def reset_layout(grid: GridView) -> None:
    """Show the columns as they are when a dataset is opened for the first time."""
    names = grid.grid_model.names
    grid.unpin_columns()
    grid.column_header.widths.clear()
    for name in list(grid.formats):
        grid.set_format(name, None)
    grid.order_columns(names)
    grid.hide_columns({name: name in HIDDEN_BY_DEFAULT for name in names})
    grid.fit_columns()


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _names(value: object, column_names: Sequence[str]) -> list[str]:
    """The names in `value` that are known columns, each once."""
    among = set(column_names)
    names = value if isinstance(value, list) else []
    return list(dict.fromkeys(name for name in names if isinstance(name, str) and name in among))


OF_COLUMNS = (ORDER, PINNED, HIDDEN, SHOWN)
"""The parts of a layout that apply to the dataset's own columns only."""


class LaidOutTab(Protocol):
    key: tuple[str, ...]
    content: TabContent | None
    grid: GridView
    loader: Loader

    def when_shown(self, then: Any) -> None: ...


class ColumnLayout(QObject):
    """The column layout of one tab. Order, pinning and visibility are remembered while the dataset's own
    columns are shown; formats and widths are remembered by name, whatever is shown."""

    def __init__(self, tab: LaidOutTab) -> None:
        super().__init__(widget_of(tab))
        self._tab = tab
        self._memory: Memory | None = None
        self._dataset_layout: dict[str, Any] = {}
        self._saved_layout: dict[str, Any] = {}
        self._waits = False
        self._soon = QTimer(self, singleShot=True, interval=AFTER_MS)
        self._soon.timeout.connect(self.save)
        tab.loader.loaded.connect(self._follow)
        header = tab.grid.column_header
        for signal in (
            header.sectionResized,
            header.sectionMoved,
            header.layout_changed,
            header.pinning.changed,
            tab.grid.formats_changed,
        ):
            signal.connect(lambda *_: self._soon.start())

    def remember(self, memory: Memory) -> None:
        """Restore the columns as they were when the dataset was last shown, and save changes from now on."""

        def begin() -> None:
            layout = memory.layout(self._tab.key)
            self._dataset_layout = {key: layout[key] for key in OF_COLUMNS if key in layout}
            show_layout(self._tab.grid, layout)
            self._waits = not self._shows_dataset_columns  # a restored tab may show groups
            self._saved_layout = self._now()
            self._memory = memory

        self._tab.when_shown(begin)

    def _follow(self) -> None:
        """Save before the grid shows other columns."""
        self.save()
        if self._waits:
            QTimer.singleShot(0, self, self._show_dataset_layout)

    def _show_dataset_layout(self) -> None:
        """Apply the saved layout once the dataset's own columns are shown."""
        if self._waits and self._shows_dataset_columns:
            self._waits = False
            show_layout(self._tab.grid, self._dataset_layout)

    @property
    def _shows_dataset_columns(self) -> bool:
        content = self._tab.content
        return content is not None and content.lines.source.schema.names == self._tab.grid.grid_model.names

    def reset(self) -> None:
        reset_layout(self._tab.grid)
        self._dataset_layout = {}
        self._soon.start()

    def save(self) -> None:
        """Save the layout if it has changed."""
        self._soon.stop()
        if self._memory is None:
            return
        now = self._now()
        if now != self._saved_layout:
            self._saved_layout = now
            self._memory.save_layout(self._tab.key, now)

    def _now(self) -> dict[str, Any]:
        layout = layout_of(self._tab.grid)
        if self._shows_dataset_columns and not self._waits:
            self._dataset_layout = {key: layout[key] for key in OF_COLUMNS if key in layout}
        return {**self._dataset_layout, **{key: layout[key] for key in (WIDTHS, FORMATS) if key in layout}}
