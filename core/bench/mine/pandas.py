"""Somebody's own table as one Parquet file that pandas reads and writes.

Columns are Arrow's (`dtype_backend="pyarrow"`), as pandas' documentation has it where nulls, decimals and
nested values are to stay what they are: a NumPy column of whole numbers with a null would become one of
floats."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa

from lamella.core.bench.mine.asking import Subject, compiled
from lamella.core.bench.mine.backend import MineFile
from lamella.core.bench.mine.expressions import ArrowExpression, SeriesOperand, series_logic


class Pandas(MineFile):
    id, suffix = "pandas", ".parquet"

    @classmethod
    def version(cls) -> str:
        return str(pd.__version__)

    @classmethod
    def describe(cls) -> str:
        return (
            "one Parquet file, columns of Arrow's types; filters pushed down; a change writes it anew; not "
            "durable (no sync)"
        )

    def load(self, rows: int) -> None:
        frame = pd.read_parquet(self.copied.path, dtype_backend="pyarrow")
        frame.head(rows).to_parquet(self.file, index=False, write_statistics=self.statistics)

    def read(self) -> pd.DataFrame:
        return pd.read_parquet(self.file, dtype_backend="pyarrow")

    def condition(self) -> Any:
        """As a filter to be pushed down. What is changed is found in the frame, by a mask."""
        if self.copied.where is None:
            return None
        empty = self.copied.schema.empty_table().to_pandas(types_mapper=pd.ArrowDtype)
        self._met(empty)
        return compiled(self.copied.where, ArrowExpression, ArrowExpression.logic, self.copied.nan)

    def filter(self) -> pd.DataFrame:
        return pd.read_parquet(self.file, dtype_backend="pyarrow", filters=self.condition())

    def update(self) -> None:
        change, frame = self.copied.change, self.read()
        assert change is not None
        met = self._met(frame)
        if change.add:
            frame.loc[met, change.column] += change.add
        else:
            frame.loc[met, change.column] = change.text
        frame.to_parquet(self.new_file, index=False, write_statistics=self.statistics)
        self.new_file.replace(self.file)

    def as_table(self, answer: pd.DataFrame) -> pa.Table:
        return pa.Table.from_pandas(answer, preserve_index=False)

    def _met(self, frame: pd.DataFrame) -> Any:
        if self.copied.where is None:
            return slice(None)

        def operand(subject: Subject) -> SeriesOperand:
            return SeriesOperand(subject, frame)

        return compiled(self.copied.where, operand, series_logic(frame), self.copied.nan).fillna(False)
