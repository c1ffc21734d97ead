"""The Parquet file that a thread reads, open between reads."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from lamella.core.scan.logical_types import render
from lamella.core.scan.parquet_file import REFUSALS, Footer


class OpenFile:
    """Keeps the Parquet file that a thread reads open between reads. `alone`: no other thread decodes at the
    same time, so Arrow may use its own threads."""

    def __init__(self, alone: bool = True) -> None:
        self.alone = alone
        self._footer: Footer | None = None
        self._coded_columns = set[str]()
        self._verifies = False
        self._file: pq.ParquetFile | None = None

    def __enter__(self) -> OpenFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def read(self, footer: Footer, row_groups: Sequence[int], names: Sequence[str]) -> pa.Table:
        """Read columns, or fields inside them; repeating texts may be dictionary-encoded. Raises
        `FileProblem`."""
        coded = [name for name in names if footer.repeats_texts(name)]
        if self.alone and not all(name in coded or footer.is_narrow(name) for name in names):
            coded = []  # while one of Arrow's threads decodes a slow column, others have time for texts
        footer.refuse_too_large(row_groups, names)
        try:
            threads = self.alone and len(names) > (2 if coded else 1)
            verifying = footer.needs_verifying(row_groups, names)
            file = self._reader(footer, coded, verifying)
            rows = file.read_row_groups(list(row_groups), columns=names, use_threads=threads)
        except pa.ArrowNotImplementedError as error:
            if len(row_groups) == 1:
                raise footer.unreadable(error) from error
            # Arrow refuses more than 2 GB of nested text at once, so read one row group at a time.
            return pa.concat_tables([self.read(footer, [group], names) for group in row_groups])
        except REFUSALS as error:
            raise footer.unreadable(error) from error
        if verifying:
            footer.record.note_verification(row_groups, names)
        return render(rows, footer.renderings)

    def _reader(self, footer: Footer, coded: Sequence[str], verifying: bool) -> pq.ParquetFile:
        """The open file. One that verifies pages is also used where none needs it: opening another costs
        more."""
        same = self._file is not None and self._footer is footer and self._coded_columns.issuperset(coded)
        if self._file is None or not same or (verifying and not self._verifies):
            before = self._coded_columns if self._footer is footer else set[str]()
            self._close()
            self._footer, self._coded_columns, self._verifies = footer, before.union(coded), verifying
            self._file = footer.open(sorted(self._coded_columns), verifying)
        return self._file

    def _close(self) -> None:
        if self._file is not None:
            self._file.close(force=True)
            self._file = None
