"""Restoring the tabs of a workspace: each kind from its state, in place of its pending tab."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import shiboken6
from PySide6.QtWidgets import QWidget

from lamella.core.datasets.base import Dataset
from lamella.core.errors import BadFilter, BadQuery, DamagedFile, LamellaError
from lamella.core.jobs import Job
from lamella.core.query.line import Line, LineStep, fitting_line
from lamella.core.query.line_json import line_from_json
from lamella.core.query.source import Source
from lamella.core.query.steps import Where
from lamella.core.store.store import Store
from lamella.ui.filters.tree import from_json as tree_from_json
from lamella.ui.widgets.message_bar import Choice
from lamella.ui.window.failures import OPEN_ANYWAY, PAD, can_be_filled_up
from lamella.ui.window.file_readings import FileReading
from lamella.ui.window.file_watch import Key, is_file, open_file, table_of_file
from lamella.ui.window.open_files import saved_reading
from lamella.ui.window.pending_tab import PendingTab
from lamella.ui.window.tab_state import LINE, STAMP, stamp_of
from lamella.ui.window.window import Window
from lamella.ui.window.window_settings import make_settings

FILE_CHANGED = "{} has changed since it was last open here."
LOST_COLUMNS = "Conditions and sort keys of columns that no longer exist were removed."
log = logging.getLogger(__name__)


def restore_benchmark(window: Window, state: Mapping[str, Any], place: PendingTab) -> None:
    panel = window.make_benchmark()
    panel.show_state(state)
    place.become(panel)


def restore_console(window: Window, state: Mapping[str, Any], place: PendingTab) -> None:
    place.become(window.consoles.make(state))


def restore_settings(window: Window, state: Mapping[str, Any], place: PendingTab) -> None:
    page = make_settings(window)
    page.search.setText(str(state.get("search", "")))
    place.become(page)


def restore_search(window: Window, state: Mapping[str, Any], place: PendingTab) -> None:
    tab = window.searches.make()
    tab.show_state(state)
    place.become(tab)


def restore_diagram(window: Window, state: Mapping[str, Any], place: PendingTab) -> None:
    _restore_of_store(window, state, place, window.diagrams.make)


def restore_store_page(window: Window, state: Mapping[str, Any], place: PendingTab) -> None:
    _restore_of_store(window, state, place, window.store_actions.make_page)


def _restore_of_store(
    window: Window, state: Mapping[str, Any], place: PendingTab, make: Callable[[Store], QWidget]
) -> None:
    """Restore a tab that shows a store as a whole."""
    path = Path(str(state.get("store")))

    def show() -> None:
        if shiboken6.isValid(place):
            place.become(make(next(store for store in window.library.stores if store.path == path)))

    window.library.with_store(path, show, partial(_fail, place))


def restore_dataset(window: Window, state: Mapping[str, Any], place: PendingTab) -> None:
    """Open the dataset off the GUI thread, and restore its tab."""
    key = place.key
    if key is None:
        place.fail(LamellaError("This tab cannot be restored", "Its contents were not saved"))
        return
    reading = saved_reading(key, state, window.library.readings.of(key))
    if is_file(key):
        _open(window, key, state, reading, place)
    else:
        window.library.with_store(
            Path(key[0]), partial(_open, window, key, state, reading, place), partial(_fail, place)
        )


def _fail(place: PendingTab, error: Exception) -> None:
    if shiboken6.isValid(place):
        place.fail(error)


def _open(
    window: Window, key: Key, state: Mapping[str, Any], reading: FileReading, place: PendingTab
) -> None:
    if not shiboken6.isValid(place):
        return
    open_source = window.library.opener()

    def work(job: Job) -> tuple[Dataset, Line, list[str]]:
        dataset = open_file(key, reading, job) if is_file(key) else open_source(list(key), job)
        assert isinstance(dataset, Dataset)
        line, news = _read_line(state, set(dataset.schema.names), lambda address: open_source(address, job))
        stamp = stamp_of(key)
        if stamp is not None and state.get(STAMP) not in (None, stamp):
            news.insert(0, FILE_CHANGED.format(Path(key[0]).name))
        return dataset, line, news

    def finish(opened: tuple[Dataset, Line, list[str]]) -> None:
        dataset, line, news = opened
        window.library.readings.put(key, reading)
        tab = window.make_tab(dataset, key, line)
        tab.saved_state.show(state)
        place.become(tab)
        if news:
            tab.when_shown(lambda: tab.messages.say(" ".join(news)))

    def offer_ways(error: Exception) -> None:
        again = partial(_open, window, key, state)
        ways: list[Choice] = []
        if can_be_filled_up(error):
            ways = [(PAD, lambda: again(replace(reading, ragged="pad"), place))]
        elif isinstance(error, DamagedFile) and error.readable_anyway:
            ways = [(OPEN_ANYWAY, lambda: again(replace(reading, checksums="ignore"), place))]
        place.fail(error, *ways)

    name = table_of_file(key) or (Path(key[0]).name if is_file(key) else key[1])
    problem = LamellaError(f"{name} was not opened", "It was stopped")
    place.handle = window.tasks.read(
        work, finish, offer_ways, on_cancel=lambda: place.fail(problem), owner=place, text=f"Opening {name}"
    )


def _read_line(
    state: Mapping[str, Any], columns: set[str], open_source: Callable[[Any], Source]
) -> tuple[Line, list[str]]:
    """The steps, as far as the columns allow, and what to tell the user about them. Blocks."""
    if LINE not in state:
        return Line(), []
    try:
        line, problems = line_from_json(state[LINE], open_source)
    except BadQuery as error:
        return Line(), [str(error)]
    line = replace(line, steps=tuple(map(_with_readable_draft, line.steps)))
    news, fitting = [str(problem) for problem in problems], fitting_line(line, columns)
    return fitting, [*news, LOST_COLUMNS] if fitting != line else news


def _with_readable_draft(step: LineStep) -> LineStep:
    if step.kind is not Where or step.draft is None:
        return step
    try:
        tree_from_json(step.draft)
    except BadFilter as error:
        log.warning("The unfinished conditions of a filter are ignored: %s", error)
        return replace(step, draft=None)
    return step
