"""Keeping the files of a table in good order; none of it makes a version."""

from __future__ import annotations

from core.jobs import Job
from core.store.handle import TableHandle


class TableUpkeep(TableHandle):
    """What is done to a table's files while its rows stay what they are."""

    def flush(self, job: Job | None = None) -> None:
        """Write pending changes into data files; makes no version."""
        self._writer.tidy(lambda tidier, state: tidier.flush(state, job or Job()))
