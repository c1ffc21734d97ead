"""Polars on a Parquet file: queries scan it lazily, and a change rewrites the whole file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import polars as pl

from lamella.core.bench.systems.base import Rows, System
from lamella.core.bench.systems.rows import FrameFile
from lamella.core.bench.workloads.model import Columns, Values
from lamella.core.bench.workloads.table_rows import BLOCK_ROWS, Row


class PolarsSystem(System):
    id = "polars"

    @classmethod
    def version(cls) -> str:
        return pl.__version__


class Polars(PolarsSystem, FrameFile):
    """It has no row ids, so a column `id` numbers the rows, unless it is the workload's key."""

    description = (
        "its own Parquet writer by default (zstd), scan_parquet with filters and columns pushed down; a "
        "change reads and rewrites the whole file; not durable (no sync)"
    )

    @property
    def columns(self) -> int:
        return len(self.workload.data_columns) + 1

    def create(self, prepared: Rows) -> None:
        self._write(_with_ids(pl.DataFrame(prepared)))

    def fill(self, blocks: Iterable[Columns]) -> None:
        self._write(_with_ids(pl.concat(map(pl.DataFrame, blocks), rechunk=True)))

    def read(self) -> pl.DataFrame:
        return self._scan().collect()

    def query(self) -> pl.DataFrame:
        return self._scan().filter((pl.col("col1") > 100) & (pl.col("col97") < 1000)).collect()

    def find(self) -> pl.DataFrame:
        return self._scan().filter(pl.col("col0") == -1).select("col0").collect()

    def get(self, row_id: int) -> pl.DataFrame:
        return self._scan().filter(pl.col("id") == row_id).collect()

    def as_row(self, answer: pl.DataFrame) -> Row:
        return answer.row(0, named=True)

    def update(self, prepared: Rows) -> None:
        self._write(pl.read_parquet(self.path).update(pl.DataFrame(prepared), on="id"))

    def prepare_update_by_row_id(self, row_ids: Sequence[int], rows: Rows) -> Rows:
        return [{"id": row_id} | row for row_id, row in zip(row_ids, rows, strict=True)]

    def delete(self, row_ids: Sequence[int]) -> None:
        self._write(pl.read_parquet(self.path).filter(~pl.col("id").is_in(row_ids)))

    def blocks(self, answer: pl.DataFrame, names: Sequence[str]) -> Iterator[Sequence[Values]]:
        for part in answer.select(names).iter_slices(BLOCK_ROWS):
            yield [part[name].to_numpy() for name in names]

    def _scan(self) -> pl.LazyFrame:
        return pl.scan_parquet(self.path)

    def _write(self, frame: pl.DataFrame) -> None:
        self.rewrite(frame.write_parquet)


def _with_ids(frame: pl.DataFrame) -> pl.DataFrame:
    return frame if "id" in frame.columns else frame.select(pl.int_range(pl.len()).alias("id"), pl.all())
