"""The trips as a Parquet dataset, asked through PyArrow's own group_by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.dataset as ds

from lamella.core.bench.taxi.backend import TaxiBackend
from lamella.core.bench.taxi.columns import SCHEMA

CONVERTED = pa.csv.ConvertOptions(
    column_types=SCHEMA, timestamp_parsers=[pa.csv.ISO8601], strings_can_be_null=True, null_values=[""]
)

ROWS_A_GROUP = 100_000
"""At least: blocks of CSV would make row groups of 3,000, which its documentation warns of."""

NEEDED = {
    "Q1": ["cab_type"],
    "Q2": ["passenger_count", "total_amount"],
    "Q3": ["passenger_count", "pickup_datetime"],
    "Q4": ["passenger_count", "pickup_datetime", "trip_distance"],
}


def answer(query: str, read: Callable[[list[str]], pa.Table]) -> pa.Table:
    """The query's, of the columns that `read` gives."""
    rows = read(NEEDED[query])
    if query == "Q2":
        return rows.group_by("passenger_count").aggregate([("total_amount", "mean")])
    keys = ["cab_type"] if query == "Q1" else ["passenger_count", "year"]
    if query != "Q1":
        rows = rows.append_column("year", pc.year(rows["pickup_datetime"]))
    if query == "Q4":
        miles = pc.round(rows["trip_distance"], round_mode="half_towards_infinity")
        rows, keys = rows.append_column("distance", miles), [*keys, "distance"]
    counted = rows.group_by(keys).aggregate([([], "count_all")])
    return counted.sort_by([("year", "ascending"), ("count_all", "descending")]) if query == "Q4" else counted


class PyArrowTaxi(TaxiBackend):
    id = "pyarrow"

    @classmethod
    def version(cls) -> str:
        return str(pa.__version__)

    @classmethod
    def describe(cls) -> str:
        return (
            f"CSV to Parquet by write_dataset (row groups of at least {ROWS_A_GROUP:,} rows), read by column "
            "and grouped in memory; files not synced, so not durable"
        )

    @property
    def _parquet(self) -> Path:
        return self.folder / "trips"

    def fill(self, rows: int) -> None:
        text = ds.CsvFileFormat(convert_options=CONVERTED)
        given = ds.dataset([str(file) for file in self.files(rows)], schema=SCHEMA, format=text)
        ds.write_dataset(given, self._parquet, format="parquet", min_rows_per_group=ROWS_A_GROUP)

    def open(self, writing: bool) -> None:
        self._dataset = ds.dataset(self._parquet, format="parquet")

    def close(self) -> None:
        """It holds nothing open."""

    def ask(self, query: str) -> pa.Table:
        return answer(query, lambda names: self._dataset.to_table(columns=names))

    def whole_trips(self, ids: Sequence[int]) -> pa.Table:
        return self._dataset.to_table(SCHEMA.names, filter=pc.field("trip_id").isin(ids))
