"""How one thread reads files: the last one stays open, for opening costs as much as some column chunks."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from core.scan.footers import REFUSALS, Footer, unreadable


class OpenFile:
    """`alone`: no other thread decodes at the same time, so Arrow's own ones may."""

    def __init__(self, alone: bool = True) -> None:
        self._alone = alone
        self._told: Footer | None = None
        self._file: pq.ParquetFile | None = None

    def __enter__(self) -> OpenFile:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def read(self, told: Footer, row_groups: Sequence[int], names: Sequence[str]) -> pa.Table:
        """Columns, or fields inside them, of these row groups; raises `FileProblem`."""
        try:
            threads = self._alone and len(names) > 1
            return self._opened(told).read_row_groups(list(row_groups), columns=names, use_threads=threads)
        except REFUSALS as error:
            raise unreadable(told.path, error) from error

    def _opened(self, told: Footer) -> pq.ParquetFile:
        if self._file is None or self._told is not told:
            if self._file is not None:
                self._file.close()
            self._told, self._file = told, told.open()
        return self._file
