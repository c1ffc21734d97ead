"""Somebody's own table as one Parquet file that PyArrow reads and writes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lamella.core.bench.mine.asking import compiled
from lamella.core.bench.mine.backend import MineFile
from lamella.core.bench.mine.copied import Change
from lamella.core.bench.mine.expressions import ArrowExpression


class PyArrow(MineFile):
    id, suffix = "pyarrow", ".parquet"

    @classmethod
    def version(cls) -> str:
        return str(pa.__version__)

    @classmethod
    def describe(cls) -> str:
        return (
            "one Parquet file; filters are pushed down to it; a change writes it anew; not durable (no sync)"
        )

    def load(self, rows: int) -> None:
        with pq.ParquetWriter(self.file, self.copied.schema, write_statistics=self.statistics) as writer:
            for batch in self.copied.batches(rows):
                writer.write_batch(batch)

    def read(self) -> pa.Table:
        return pq.read_table(self.file)

    def filter(self) -> pa.Table:
        return pq.read_table(self.file, filters=self.condition())

    def update(self) -> None:
        change, table = self.copied.change, pq.read_table(self.file)
        assert change is not None
        place, column = table.schema.get_field_index(change.column), table[change.column]
        changed = pc.if_else(self._met(table), _new(column, change), column)
        table = table.set_column(place, table.schema.field(place), changed)
        pq.write_table(table, self.new_file, write_statistics=self.statistics)
        self.new_file.replace(self.file)

    def as_table(self, answer: pa.Table) -> pa.Table:
        return answer

    def condition(self) -> Any:
        if self.copied.where is None:
            return pc.scalar(True)
        return compiled(self.copied.where, ArrowExpression, ArrowExpression.logic, self.copied.nan)

    def _met(self, table: pa.Table) -> pa.ChunkedArray:
        """By the same expression; unknown is no."""
        from pyarrow import dataset

        met = pc.coalesce(self.condition(), pc.scalar(False))
        return dataset.dataset(table).to_table(columns={"met": met})["met"]


def _new(column: pa.ChunkedArray, change: Change) -> Any:
    if change.add:
        return pc.add(column, pa.scalar(change.add, column.type))
    return pa.scalar(change.text, column.type)
