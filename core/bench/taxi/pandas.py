"""The trips in Parquet that pandas wrote, the columns of a query read and grouped in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet  # pandas imports both when it first reads: not for the timers

from lamella.core.bench.taxi.backend import TaxiBackend
from lamella.core.bench.taxi.columns import SCHEMA
from lamella.core.bench.taxi.pyarrow import NEEDED

_TYPES = {pa.int64(): "Int64", pa.float64(): "float64", pa.string(): "str"}
_TIMES = [field.name for field in SCHEMA if field.type not in _TYPES]


class PandasTaxi(TaxiBackend):
    """A file of text is in memory whole while it is imported, and so is what a query needs."""

    id = "pandas"

    @classmethod
    def version(cls) -> str:
        return str(pd.__version__)

    @classmethod
    def describe(cls) -> str:
        return (
            "a Parquet file for each CSV file, by read_csv with PyArrow's parser; queries read the columns "
            "they need; files not synced, so not durable"
        )

    @property
    def _parquet(self) -> Path:
        return self.folder / "trips"

    def fill(self, rows: int) -> None:
        self._parquet.mkdir()
        types = {field.name: _TYPES[field.type] for field in SCHEMA if field.type in _TYPES}
        for number, file in enumerate(self.files(rows)):
            read = pd.read_csv(file, engine="pyarrow", dtype=types, parse_dates=_TIMES)
            read.to_parquet(self._parquet / f"trips_{number:02}.parquet", index=False)

    def open(self, writing: bool) -> None:
        """It reads anew each time."""

    def close(self) -> None:
        """It holds nothing open."""

    def ask(self, query: str) -> pd.DataFrame:
        trips = pd.read_parquet(self._parquet, columns=NEEDED[query])
        if query == "Q1":
            return trips.groupby("cab_type", sort=False).size().reset_index()
        people = trips["passenger_count"]
        if query == "Q2":
            return trips.groupby(people, sort=False)["total_amount"].mean().reset_index()
        keys = [people, trips["pickup_datetime"].dt.year]
        if query == "Q3":
            return trips.groupby(keys, sort=False).size().reset_index()
        # round() would take halves to the even number
        keys.append(np.floor(trips["trip_distance"] + 0.5))
        counted = trips.groupby(keys, sort=False).size().reset_index(name="trips")
        return counted.sort_values(["pickup_datetime", "trips"], ascending=[True, False])

    def whole_trips(self, ids: Sequence[int]) -> pa.Table:
        found = pd.read_parquet(self._parquet, columns=SCHEMA.names, filters=[("trip_id", "in", list(ids))])
        return pa.Table.from_pandas(found, preserve_index=False)

    def rows_of(self, answer: pd.DataFrame) -> Iterable[Sequence[Any]]:
        return list(answer.itertuples(index=False, name=None))
