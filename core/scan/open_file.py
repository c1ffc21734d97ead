"""How one thread reads files: the last one stays open, for opening costs as much as some column chunks."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from lamella.core.scan.footers import REFUSALS, Footer


class OpenFile:
    """`alone`: no other thread decodes at the same time, so Arrow's own ones may."""

    def __init__(self, alone: bool = True) -> None:
        self.alone = alone
        self._told: Footer | None = None
        self._coded = set[str]()
        self._verifies = False
        self._file: pq.ParquetFile | None = None

    def __enter__(self) -> OpenFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def read(self, told: Footer, row_groups: Sequence[int], names: Sequence[str]) -> pa.Table:
        """Columns, or fields inside them, of these row groups; texts that repeat may come as places in
        dictionaries. Raises `FileProblem`."""
        coded = [name for name in names if told.repeats_texts(name)]
        if self.alone and not all(name in coded or told.is_narrow(name) for name in names):
            coded = []  # while a thread of Arrow's decodes what takes long, others have time for texts
        told.refuse_too_large(row_groups, names)
        try:
            threads = self.alone and len(names) > (2 if coded else 1)
            verifying = told.needs_verifying(row_groups, names)
            file = self._opened(told, coded, verifying)
            rows = file.read_row_groups(list(row_groups), columns=names, use_threads=threads)
        except pa.ArrowNotImplementedError as error:
            if len(row_groups) == 1:
                raise told.unreadable(error) from error
            # More than 2 GB of nested text are refused at once, and read one row group after the other.
            return pa.concat_tables([self.read(told, [group], names) for group in row_groups])
        except REFUSALS as error:
            raise told.unreadable(error) from error
        if verifying:
            told.record.note_verified(row_groups, names)
        return rows

    def _opened(self, told: Footer, coded: Sequence[str], verifying: bool) -> pq.ParquetFile:
        """A file that verifies pages stays open where none is to be verified: to open another costs more."""
        same = self._file is not None and self._told is told and self._coded.issuperset(coded)
        if self._file is None or not same or (verifying and not self._verifies):
            held = self._coded if self._told is told else set[str]()
            self._close()
            self._told, self._coded, self._verifies = told, held.union(coded), verifying
            self._file = told.open(sorted(self._coded), verifying)
        return self._file

    def _close(self) -> None:
        if self._file is not None:
            self._file.close(force=True)
            self._file = None
