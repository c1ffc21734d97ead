"""Opens the file of a tab again when it is another one by now, or is to be read in another way."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from lamella.core.datasets import open_dataset
from lamella.core.datasets.base import Dataset
from lamella.core.datasets.options import Checksums, Ragged
from lamella.core.datasets.text.dataset import TextDataset
from lamella.core.filters.expr import And, Filter, all_of, columns_read
from lamella.core.jobs import Job

if TYPE_CHECKING:
    from lamella.ui.window.dataset_tab import DatasetTab


class Reopening(QObject):
    """Of one tab. A table is never opened again: its store knows what changed."""

    def __init__(self, tab: DatasetTab) -> None:
        super().__init__(tab)
        self.ragged: Ragged = "refuse"
        self.checksums: Checksums = "verify"
        self._tab = tab

    def refresh(self) -> None:
        """Read the rows again, from the file as it is now."""
        if self._tab.table is not None:
            self._tab.reload()
        else:
            self._open(False, self._tab.reload)

    def follow_file(self) -> None:
        """Open the file again if it changed."""
        if self._tab.table is None:
            self._open(False, lambda: None)

    def reopen(self, ragged: Ragged | None = None, checksums: Checksums | None = None) -> None:
        """Open the file again, changed or not."""
        self.ragged, self.checksums = ragged or self.ragged, checksums or self.checksums
        self._open(True, lambda: None)

    def _open(self, anyway: bool, unchanged: Callable[[], object]) -> None:
        tab, ragged, checksums = self._tab, self.ragged, self.checksums
        before = tab.dataset

        def work(job: Job) -> Dataset | None:
            fresh = open_dataset(tab.key[0], ragged=ragged, checksums=checksums)
            return fresh if anyway or not same_files(before, fresh) else None

        def done(fresh: Dataset | None) -> None:
            if fresh is None:
                unchanged()
            else:
                tab.show_dataset(fresh)

        tab.tasks.read(work, done, tab.failures.show, owner=self, text=f"Opening {tab.name}")


def same_files(before: Dataset, fresh: Dataset) -> bool:
    """Whether both read the same files as they were written at one time."""
    if isinstance(before, TextDataset) and isinstance(fresh, TextDataset):
        return (before.paths, before.source.fingerprint) == (fresh.paths, fresh.source.fingerprint)
    return before.snapshot().token == fresh.snapshot().token


def what_fits(where: Filter | None, names: set[str]) -> Filter | None:
    """The conditions that ask about these columns only."""
    if where is None or all(_holds(names, asked) for asked in columns_of(where)):
        return where
    if isinstance(where, And):
        kept = [part for child in where.children if (part := what_fits(child, names)) is not None]
        return all_of(kept) if kept else None
    return None


def columns_of(where: Filter | None) -> frozenset[str]:
    """The columns that a filter asks about, and fields inside them by their path."""
    return frozenset() if where is None else frozenset(columns_read(where))


def _holds(names: set[str], asked: str) -> bool:
    """Whether a column is called so, or one that may hold a field at such a path."""
    return asked in names or any(asked.startswith(f"{name}.") for name in names)
