"""Reading a text column as numbers or dates, offered in its header's menu if its values look like them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pyarrow as pa
import shiboken6
from PySide6.QtCore import QObject
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu

from lamella.core.datasets.base import Dataset
from lamella.core.datasets.preview import takes_types
from lamella.core.datasets.text.conversions import SAMPLE_ROWS, Conversion, Goal, conversion, looks_like
from lamella.core.jobs import Job
from lamella.core.query.line import split_steps
from lamella.core.store.importing import read_column_as
from lamella.ui.tasks import Handle
from lamella.ui.widgets.hosts import widget_of
from lamella.ui.window.file_readings import with_options
from lamella.ui.window.file_watch import FileTab


class Conversions(QObject):
    """The conversions of one tab. What a column looks like, and how many values would be lost, is computed
    off the GUI thread while the menu is open."""

    def __init__(self, tab: FileTab) -> None:
        super().__init__(widget_of(tab))
        self._tab = tab
        self._counting: Handle | None = None

    def add_to(self, menu: QMenu, name: str | None) -> None:
        """Add an entry that appears once the column is known to look like numbers or dates."""
        if name is None or not self._can_convert(name):
            return
        tab = self._tab
        action = menu.addAction("")
        action.setVisible(False)
        dataset = tab.dataset
        tab.tasks.read(
            lambda job: looks_like(_first(dataset, name)), partial(self._offer, action, name), owner=self,
            quiet=True, text=f"Looking at {name}",
        )  # fmt: skip

    def suggest_dates(self, name: str) -> None:
        """Offer to read a column as dates, if it is text that looks like them: for the axis of a chart."""
        if not self._can_convert(name):
            return
        tab, dataset = self._tab, self._tab.dataset

        def suggest(goal: Goal | None) -> None:
            if goal == "dates":
                tab.messages.say(
                    f"{name} is text that looks like dates. Charts have units of time for dates only.",
                    ("Read as dates…", partial(self.ask, name, "dates")),
                    stays=True,
                )

        tab.tasks.read(
            lambda job: looks_like(_first(dataset, name)), suggest, owner=self, quiet=True,
            text=f"Looking at {name}",
        )  # fmt: skip

    def _can_convert(self, name: str) -> bool:
        """Whether it is a column of text of a table or a file, not one that steps compute."""
        tab = self._tab
        of_file = tab.table is None and takes_types(tab.dataset)
        if not (tab.table is not None or of_file) or split_steps(tab.line.active)[0]:
            return False
        schema = tab.content.lines.source.schema if tab.content is not None else pa.schema([])
        return name in schema.names and bool(pa.types.is_string(schema.field(name).type))

    def _offer(self, action: QAction, name: str, goal: Goal | None) -> None:
        if goal is None or not shiboken6.isValid(action):
            return
        action.setText(f"Read as {goal}…")
        action.setVisible(True)
        action.triggered.connect(lambda: self.ask(name, goal))
        self.count(name, goal, lambda conversion: _say(action, conversion))

    def count(self, name: str, goal: Goal, then: Callable[[Conversion], None]) -> None:
        """Count how many of all values would be lost."""
        dataset = self._tab.dataset
        if self._counting is not None:
            self._counting.cancel()
        self._counting = self._tab.tasks.read(
            lambda job: conversion(_texts(dataset, name, job), goal), then, owner=self, quiet=True,
            text=f"Counting in {name}",
        )  # fmt: skip

    def ask(self, name: str, goal: Goal) -> None:
        """Say what would be lost, and convert if the user agrees."""
        self.count(name, goal, lambda conversion: self._propose(name, conversion))

    def _propose(self, name: str, conversion: Conversion) -> None:
        choices = [(f"Read as {conversion.goal}", conversion)]
        if conversion.other is not None:
            choices = [("Day first", conversion), ("Month first", conversion.other)]
        self._tab.messages.say(
            f"{name}: {conversion}.",
            *((text, partial(self.apply, name, choice)) for text, choice in choices),
            stays=True,
        )

    def apply(self, name: str, conversion: Conversion) -> None:
        """Convert: in a table as a change that can be undone, in a file in place by reading it
        differently."""
        tab = self._tab
        if tab.table is not None:
            tab.commits.run(
                tab.table,
                lambda table, job: read_column_as(table, name, conversion.kind, job),
                f"Reading {name}",
            )
            return
        reading = tab.reopening.reading
        options = dict(reading.options)
        stored = {new: old for old, new in dict(options.get("names", ())).items()}.get(name, name)
        types = {**dict(options.get("types", ())), stored: str(conversion.kind.storage_type)}
        options["types"] = tuple(types.items())
        if conversion.names_order:
            options["dates"] = conversion.kind.spelling.order
        tab.reopening.reopen(with_options(reading, options))


def _say(action: QAction, conversion: Conversion) -> None:
    if shiboken6.isValid(action):
        lost = "all convert" if not conversion.failing else f"{conversion.failing:,} would be null"
        action.setText(f"Read as {conversion.goal}… ({lost})")


def _first(dataset: Dataset, name: str) -> pa.Array:
    snapshot = dataset.snapshot()
    if not snapshot.num_rows:
        return pa.nulls(0, pa.string())
    return dataset.head(SAMPLE_ROWS).column(name).combine_chunks()


def _texts(dataset: Dataset, name: str, job: Job) -> Iterator[pa.Array]:
    for batch in dataset.batches([name], job=job):
        yield batch.column(0)
