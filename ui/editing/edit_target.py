"""The targets of a tab's edits: a table, which commits them, or a file, into which they are saved
together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import from_numpy, to_numpy
from lamella.core.arrow.types import ID
from lamella.core.datasets.base import Dataset, paths_of
from lamella.core.errors import FileProblem
from lamella.core.query.computed_view import ComputedView
from lamella.core.query.line import split_steps
from lamella.core.query.source import PinnedSource, Remote
from lamella.core.query.view import View
from lamella.core.scan.read import take_rows
from lamella.core.scan.snapshot import Snapshot
from lamella.core.store.rows import snapshot_version
from lamella.core.store.table import Table
from lamella.ui.dialogs.error_dialog import message


def ids_of(view: View | ComputedView, first: int, count: int) -> np.ndarray:
    """The identifiers of rows: a table's `_id`, or a file's row numbers. Blocks."""
    if view.snapshot.ids is None:
        return view.positions(first, count)
    return to_numpy(view.page(first, count, [ID]).column(0))


class EditTarget(Protocol):
    """Where edits go. With `is_file` they are collected until they are saved, all at once. Rows of a table
    are identified by their `_id`, those of a file by their number."""

    is_file: bool

    def version(self, snapshot: Snapshot) -> int:
        """The version of a table; 0 for a file."""

    def values(self, snapshot: Snapshot, version: int, names: Sequence[str], ids: np.ndarray) -> pa.Table:
        """`_id`, in any order, and the given columns, as they are in the version of a table or in the
        snapshot of a file. Blocks."""

    def new_rows(self, count: int) -> pa.Table:
        """New rows, empty except for the columns' defaults. Blocks."""


@dataclass(frozen=True)
class TableTarget:
    table: Table
    is_file = False

    def version(self, snapshot: Snapshot) -> int:
        return snapshot_version(snapshot)

    def values(self, snapshot: Snapshot, version: int, names: Sequence[str], ids: np.ndarray) -> pa.Table:
        return self.table.read([ID, *names], ids=ids.tolist(), as_of=version)

    def new_rows(self, count: int) -> pa.Table:
        return self.table.columns.new_rows(count)


@dataclass(frozen=True)
class FileTarget:
    dataset: Dataset
    is_file = True

    @property
    def path(self) -> Path:
        return Path(paths_of(self.dataset)[0])

    def version(self, snapshot: Snapshot) -> int:
        return 0

    def new_rows(self, count: int) -> pa.Table:
        columns = {field.name: pa.nulls(count, field.type) for field in self.dataset.schema}
        return pa.Table.from_arrays(list(columns.values()), names=list(columns))

    def values(self, snapshot: Snapshot, version: int, names: Sequence[str], ids: np.ndarray) -> pa.Table:
        rows = take_rows(snapshot, ids, [snapshot.column(name) for name in names])
        return pa.Table.from_arrays([from_numpy(ids), *rows.columns], names=[ID, *names])


ROWS_ARE_COMPUTED = "These rows are computed: remove the steps that make them to edit"
EDITS_OF_FILE = "Edits are saved into this file with Ctrl+S"
STILL_READING = "The file is still being read: it can be edited once all of its rows are there"


class Standing:
    """Whether a tab shows a file or a table of a store, and where edits of its rows go."""

    def __init__(self, tab: Any) -> None:
        self._tab = tab

    @property
    def target(self) -> EditTarget | None:
        """The target of edits of the shown rows."""
        tab = self._tab
        if split_steps(tab.line.active)[0]:
            return None
        if tab.table is not None:
            return None if tab.table.store.read_only else TableTarget(tab.table)
        if tab.content is None or tab.content.edit_problem is not None or not tab.content.complete:
            return None
        return FileTarget(tab.dataset)

    @property
    def wants_copy(self) -> bool:
        """Whether the file cannot be edited in place, but a copy could."""
        return self._problem is not None and self._version is None

    @property
    def not_now(self) -> str:
        """Why the shown rows cannot be edited."""
        tab = self._tab
        if self._version is not None:
            return f"Version {self._version} is read-only: go back to the newest to edit, or restore this one"
        if tab.table is not None and tab.table.store.read_only:
            name = tab.table.store.name
            return f"The store {name} cannot be written: make a table of these rows in another one"
        filling = tab.content is not None and not tab.content.complete
        return STILL_READING if tab.table is None and filling else ROWS_ARE_COMPUTED

    @property
    def text(self) -> str:
        tab = self._tab
        if tab.statement:
            return "Result"
        if tab.table is not None:
            return f"Table in {tab.table.store.name}{', read-only' if tab.table.store.read_only else ''}"
        if self._version is not None:
            return f"Version {self._version}, read-only"
        if isinstance(tab.dataset, Remote):
            return "Table on a server, read-only"
        if tab.review.count:
            return f"File, {tab.review.count:,} unsaved"
        return "File, read-only" if self.wants_copy else "File"

    @property
    def tip(self) -> str:
        """What happens to edits."""
        if self._tab.statement:
            return "The result of a statement is read-only: make a table of it, and edit that"
        if self._tab.table is not None:
            return "Edits are committed to the table; the files that its rows came from stay unchanged"
        if self._version is not None:
            return self.not_now
        return EDITS_OF_FILE if self._problem is None else message(self._problem)

    @property
    def _version(self) -> int | None:
        """The earlier version of a table that is shown, if any."""
        return self._tab.dataset.pinned_version if isinstance(self._tab.dataset, PinnedSource) else None

    @property
    def _problem(self) -> FileProblem | None:
        tab = self._tab
        if tab.table is not None or tab.content is None:
            return None
        problem: FileProblem | None = tab.content.edit_problem
        return problem
