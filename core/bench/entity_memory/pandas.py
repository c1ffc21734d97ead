"""The memory of DataFrames of pandas."""

from __future__ import annotations

import pandas as pd

from lamella.core.bench.entity_memory.frames import FrameMemory


class PandasMemory(FrameMemory):
    id = "pandas"

    @classmethod
    def version(cls) -> str:
        return str(pd.__version__)

    @classmethod
    def describe(cls) -> str:
        return "a DataFrame in memory, read from a Parquet file; not durable (no sync)"

    def result(self, table: str) -> pd.DataFrame:
        return self._frame[self._frame["grp"] == 1]

    def hold(self, table: str) -> pd.DataFrame:
        return pd.read_parquet(self.file(table))

    def numbers(self, answer: pd.DataFrame) -> list[int]:
        found: list[int] = answer["number"].tolist()
        return found
