"""The memory of DataFrames of Polars."""

from __future__ import annotations

import polars as pl

from lamella.core.bench.entity_memory.frames import FrameMemory


class PolarsMemory(FrameMemory):
    id = "polars"

    @classmethod
    def version(cls) -> str:
        return pl.__version__

    @classmethod
    def describe(cls) -> str:
        return "a DataFrame in memory, read from a Parquet file; not durable (no sync)"

    def result(self, table: str) -> pl.DataFrame:
        found: pl.DataFrame = self._frame.filter(pl.col("grp") == 1)
        return found

    def hold(self, table: str) -> pl.DataFrame:
        return pl.read_parquet(self.file(table))

    def numbers(self, answer: pl.DataFrame) -> list[int]:
        return answer["number"].to_list()
