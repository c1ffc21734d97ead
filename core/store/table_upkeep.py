"""Keeping the files of a table in good order; none of it makes a version."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lamella.core.jobs import Job
from lamella.core.store.compact import Compaction, Compactor, nullable_after, shape_of
from lamella.core.store.handle import TableHandle
from lamella.core.store.state import State
from lamella.core.store.summary import summary
from lamella.core.store.tidying import Tidier
from lamella.core.store.verify import Report, verify

if TYPE_CHECKING:
    from lamella.core.transfer.exporting import Export

FILE_KINDS = ("data_files", "change_files")


class TableUpkeep(TableHandle):
    """What is done to a table's files while its rows stay what they are."""

    def flush(self, job: Job | None = None) -> None:
        """Write pending changes into data files; makes no version."""
        self._writer.upkeep.tidy(lambda tidier, state: tidier.flush(state, job or Job()))

    def flush_at_rest(self, job: Job | None = None) -> None:
        """See `Store.flush_at_rest`."""
        self._writer.upkeep.flush_at_rest(job or Job())

    def compact(
        self, rows_a_group: int | None = None, rows_a_file: int | None = None, job: Job | None = None
    ) -> Compaction:
        """Make the table a few plain Parquet files of its columns: small files are merged, row groups and
        files get the size asked for, and what is pending or deleted is worked in.

        Only what needs it is rewritten, a file at a time, while others read and write. A cancelled compaction
        keeps the files that are done. Earlier versions keep theirs until they expire.
        """
        work, row = job or Job(), self.store.catalog.table(self.table_id)
        compactor = Compactor(
            shape_of(self._reader.current(), rows_a_group, rows_a_file), row.next_id if row else 0
        )
        before, rewritten = self._file_sizes(), 0

        def step(tidier: Tidier, state: State) -> int:
            segments = compactor.next_step(state, tidier.under_way())
            if segments is None:
                return 0
            shape = replace(compactor.shape, nullable=nullable_after(state, segments))
            compactor.made(tidier.rewrite(state, segments, work, shape))
            return len(segments)

        while done := self._writer.upkeep.beside(step):
            rewritten += done
            self._writer.upkeep.index_new_files(work)
        after = self._file_sizes()
        return Compaction(self.name, len(before), len(after), sum(before), sum(after), rewritten)

    def verify(self, quick: bool = False, job: Job | None = None) -> Report:
        """Whether every file of every version is as it was written, and the newest version fits together.

        `quick` looks at what files say of themselves, not at all of their bytes. Nothing is changed.
        """
        return verify(self.store.catalog, [self.table_id], quick, job or Job())

    def export(self, path: str | Path, job: Job | None = None, **options: Any) -> Export:
        """Write rows to a file of their own, or with `partition_by=` to a folder of Parquet files.

        The options are those of `core.transfer.exporting.ExportOptions`: columns, where, format, …
        """
        from lamella.core.transfer.exporting import export, options_of

        return export(self, path, options_of(options), job)

    def summary(self) -> str:
        """The table on one screen: rows, columns with what they take, files, versions, what is pending."""
        return summary(self.store.catalog, self._reader.current())

    def _file_sizes(self) -> list[int]:
        """Of the newest version's files."""
        found = [
            self.store.catalog.valid(kind, self.table_id, self.version, ("bytes",)) for kind in FILE_KINDS
        ]
        return [size for kind in found for (size,) in kind]
