"""The trips in Parquet that Polars wrote, asked lazily."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from lamella.core.bench.taxi.backend import TaxiBackend
from lamella.core.bench.taxi.columns import SCHEMA


def _query(query: str, trips: pl.LazyFrame) -> pl.LazyFrame:
    people, year = pl.col("passenger_count"), pl.col("pickup_datetime").dt.year().alias("year")
    distance = pl.col("trip_distance").round(mode="half_away_from_zero").alias("distance")
    match query:
        case "Q1":
            return trips.group_by("cab_type").len()
        case "Q2":
            return trips.group_by(people).agg(pl.col("total_amount").mean())
        case "Q3":
            return trips.group_by(people, year).len()
    counted = trips.group_by(people, year, distance).len()
    return counted.sort("year", "len", descending=[False, True])


class PolarsTaxi(TaxiBackend):
    id = "polars"

    @classmethod
    def version(cls) -> str:
        return pl.__version__

    @classmethod
    def describe(cls) -> str:
        return "scan_csv to one Parquet file by sink_parquet, then scan_parquet: not synced, so not durable"

    @property
    def _parquet(self) -> Path:
        return self.folder / "trips.parquet"

    def fill(self, rows: int) -> None:
        types = pl.Schema(SCHEMA)
        pl.scan_csv(list(self.files(rows)), schema=types).sink_parquet(self._parquet)

    def open(self, writing: bool) -> None:
        self._trips = pl.scan_parquet(self._parquet)

    def close(self) -> None:
        """It holds nothing open."""

    def ask(self, query: str) -> pl.DataFrame:
        return _query(query, self._trips).collect()

    def whole_trips(self, ids: Sequence[int]) -> pa.Table:
        found = self._trips.filter(pl.col("trip_id").is_in(list(ids))).select(SCHEMA.names)
        return found.collect().to_arrow()

    def rows_of(self, answer: pl.DataFrame) -> Iterable[Sequence[Any]]:
        return answer.rows()
