"""How one thread reads files: the last one stays open, for opening costs as much as some column chunks."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from core.scan.footers import REFUSALS, Footer, unreadable


class OpenFile:
    """`alone`: no other thread decodes at the same time, so Arrow's own ones may."""

    def __init__(self, alone: bool = True) -> None:
        self.alone = alone
        self._told: Footer | None = None
        self._coded = set[str]()
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
            file = self._opened(told, coded)
            return file.read_row_groups(list(row_groups), columns=names, use_threads=threads)
        except pa.ArrowNotImplementedError as error:
            if len(row_groups) == 1:
                raise unreadable(told.path, error) from error
            # More than 2 GB of nested text are refused at once, and read one row group after the other.
            return pa.concat_tables([self.read(told, [group], names) for group in row_groups])
        except REFUSALS as error:
            raise unreadable(told.path, error) from error

    def _opened(self, told: Footer, coded: Sequence[str]) -> pq.ParquetFile:
        if self._file is None or self._told is not told or not self._coded.issuperset(coded):
            held = self._coded if self._told is told else set[str]()
            self._close()
            self._told, self._coded = told, held.union(coded)
            self._file = told.open(sorted(self._coded))
        return self._file

    def _close(self) -> None:
        if self._file is not None:
            self._file.close(force=True)
            self._file = None
