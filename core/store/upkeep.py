"""Keeping one table's files as they should be: what is pending few, indexes complete. The version stays."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

import pyarrow as pa

from lamella.core.errors import Cancelled, LamellaError
from lamella.core.forks import let_go_in_children
from lamella.core.jobs import Job
from lamella.core.store.attempts import Attempts
from lamella.core.store.catalog import Catalog
from lamella.core.store.layout import Layout
from lamella.core.store.reader import Reader
from lamella.core.store.state import State
from lamella.core.store.tidying import Tidier, Tidying

T = TypeVar("T")

log = logging.getLogger(__name__)


class Upkeep:
    def __init__(
        self, catalog: Catalog, layout: Layout, table_id: int, reader: Reader, attempts: Attempts
    ) -> None:
        self._catalog, self._table_id, self._reader, self._attempts = catalog, table_id, reader, attempts
        self._tidier = Tidier(catalog, layout, table_id)
        self._changed = False
        let_go_in_children(self)

    def forked(self) -> None:
        """What was changed is the parent's to look after."""
        self._changed = False

    def note_change(self) -> None:
        """The table was changed from here: it is looked after when it comes to rest."""
        self._changed = True

    def tidy(self, work: Callable[[Tidier, State], None]) -> None:
        """Do `work` on the table's files; the version stays."""
        self._attempts.retried(lambda state: work(self._tidier, state))
        self.index_new_files(Job())

    def beside(self, work: Callable[[Tidier, State], T]) -> T:
        """Do `work` on the table's files while others commit. Who keeps being overtaken makes the others
        wait."""
        return self._attempts.beside(lambda state: work(self._tidier, state))

    def index_new_files(self, job: Job) -> None:
        """Make what indexes lack for the files of the newest version; whatever fails, the version stands."""
        if self._catalog.together_here is not None or not self._reader.indexes.listed:
            return
        try:
            self._reader.indexes.keep_up(self._reader.current().snapshot, job)
        except Cancelled as cancelled:
            log.info("%s: new files are indexed when it is needed: %s", self._table_id, cancelled)

    def tidy_if_needed(self, job: Job, version: int | None = None) -> None:
        """Keep what is pending small enough to be read with every snapshot; commits of a transaction put it
        off to its end. `version` is the one just made, which is in memory mostly.

        The commit before it stands whatever happens here: what fails is logged, and tried after the next.
        """
        self._tidy_by(self._tidier.needed, job, version)

    def flush_at_rest(self, job: Job) -> None:
        """The same for what may wait until nothing else is asked of a table that was changed from here."""
        if self._changed:
            self._tidy_by(self._tidier.worthwhile, job)
            self._changed = False

    def _tidy_by(
        self, wanted: Callable[[State], Tidying | None], job: Job, version: int | None = None
    ) -> None:
        if self._catalog.together_here is not None:
            return
        try:
            if wanted(self._reader.held(version) or self._reader.current()):
                self._attempts.retried(lambda state: (wanted(state) or _nothing)(state, job))
        except (LamellaError, Cancelled, OSError, pa.ArrowException) as error:
            log.warning("%s: pending changes stay pending: %s", self._reader.last_name, error)


def _nothing(state: State, job: Job) -> None:
    """Another process was quicker."""
