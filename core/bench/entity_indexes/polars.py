"""Polars, scanning its file for every question."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pyarrow as pa

from lamella.core.bench.entity_indexes.frames import NEED_AN_INDEX, FrameScans
from lamella.core.bench.entity_indexes.lookups import beginning_of, numbers_of
from lamella.core.bench.workloads.entity_indexes import ALIKE, KEYS

CONDITIONS: dict[str, Callable[[int], pl.Expr]] = {
    "equality": lambda owner: pl.col("owner") == owner,
    "point": lambda owner: pl.col("number") == owner * ALIKE,
    "range": lambda owner: pl.col("number").is_between(*numbers_of(owner)),
    "prefix": lambda owner: pl.col("code").str.starts_with(beginning_of(owner)),
}


class PolarsScans(FrameScans):
    id = "polars"
    cannot = dict.fromkeys(NEED_AN_INDEX, "Polars has no indexes")

    @classmethod
    def version(cls) -> str:
        return pl.__version__

    @classmethod
    def describe(cls) -> str:
        return "a lazy scan of a Parquet file for each question; as durable as the file"

    def open(self, writing: bool) -> None:
        self._items = pl.scan_parquet(self.file)

    def find(self, name: str, what: str, owner: int) -> pl.DataFrame:
        found = self._items.filter(CONDITIONS[name](owner))
        return (found.select("_id") if what == KEYS else found).collect()

    def told(self, answer: pl.DataFrame, owner: int) -> pa.Table:
        return answer.to_arrow()
