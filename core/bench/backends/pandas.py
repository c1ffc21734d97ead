"""pandas on a Parquet file: what is asked is read, and a change writes the whole file anew."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pandas as pd

from lamella.core.bench.backends.base import Row, Rows
from lamella.core.bench.backends.frame_file import FrameFile
from lamella.core.bench.data import BLOCK_ROWS
from lamella.core.bench.workloads import Columns, Values

Changes = tuple[list[int], Rows]


class Pandas(FrameFile):
    """Its index calls the rows: it numbers them, and a row keeps its label when others go."""

    id = "pandas"

    @classmethod
    def version(cls) -> str:
        return str(pd.__version__)

    @classmethod
    def describe(cls) -> str:
        return (
            "to_parquet and read_parquet as they are (PyArrow, snappy), filters and columns given to "
            "read_parquet; one row needs the whole file, and a change writes it anew; not durable (no sync)"
        )

    def create(self, prepared: Rows) -> None:
        self._write(pd.DataFrame(prepared))

    def fill(self, made: Iterable[Columns]) -> None:
        self._write(pd.concat(map(pd.DataFrame, made), ignore_index=True))

    def read(self) -> pd.DataFrame:
        return pd.read_parquet(self.path)

    def query(self) -> pd.DataFrame:
        return pd.read_parquet(self.path, filters=[("col1", ">", 100), ("col97", "<", 1000)])

    def find(self) -> pd.DataFrame:
        return pd.read_parquet(self.path, columns=["col0"], filters=[("col0", "==", -1)])

    def get(self, row_id: int) -> pd.Series:
        return self.read().loc[row_id].copy()  # a view would keep the whole frame

    def as_row(self, answer: pd.Series) -> Row:
        row: Row = answer.to_dict()
        return row

    def update(self, prepared: Rows) -> None:
        frame, changes = self.read(), pd.DataFrame(prepared).set_index(self.workload.key)
        self._change(frame, pd.Index(frame[self.workload.key]), changes)

    def prepare_update_by_row_id(self, row_ids: Sequence[int], rows: Rows) -> Changes:
        return list(row_ids), rows

    def update_by_row_id(self, prepared: Changes) -> None:
        numbers, rows = prepared
        frame = self.read()
        self._change(frame, frame.index, pd.DataFrame(rows, index=numbers))

    def delete(self, row_ids: Sequence[int]) -> None:
        self._write(self.read().drop(index=list(row_ids)))

    def blocks(self, answer: pd.DataFrame, names: Sequence[str]) -> Iterator[Sequence[Values]]:
        for start in range(0, len(answer), BLOCK_ROWS):
            part: Any = answer.iloc[start : start + BLOCK_ROWS]
            yield [part[name].to_numpy() for name in names]

    def _change(self, frame: pd.DataFrame, keys: pd.Index, changes: pd.DataFrame) -> None:
        """In place: setting by labels would cut the frame into a block for each column."""
        rows, columns = keys.get_indexer(changes.index), frame.columns.get_indexer(changes.columns)
        frame.iloc[rows, columns] = changes.to_numpy()
        self._write(frame)

    def _write(self, frame: pd.DataFrame) -> None:
        self._replaced(frame.to_parquet)
