"""Entities, payloads, items, trips and records in Parquet files written by Polars, with lazy queries."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from lamella.core.bench.systems.polars import PolarsSystem
from lamella.core.bench.workloads import entity_indexes
from lamella.core.bench.workloads.entity_memory import FrameMemory
from lamella.core.bench.workloads.entity_queries import ID, PAGE, PAGE_ORDER, EntityQueries, arrow
from lamella.core.bench.workloads.taxi import TRIP_SCHEMA, TaxiSystem
from lamella.core.bench.workloads.transfer import EXCEL_ROWS, NAME, FrameTransfer

CITY, AGE = (pl.col("profile").struct.field(name) for name in ("city", "age"))

ENTITY_CONDITIONS = {
    "equality": pl.col("status") == "draft",
    "range": pl.col("views").is_between(1_000, 5_000, closed="none"),
    "in": pl.col("status").is_in(["draft", "review"]),
    "and": (pl.col("status") == "draft") & (pl.col("views") > 90_000),
    "or": (pl.col("views") < 1_000) | (pl.col("rating") == 5.0),
    "nested": (CITY == "Lagos") & ((AGE < 30) | (pl.col("rating") > 4.0)),
    "regex": pl.col("name").str.contains("^amber .*7$"),
}

NO_INDEX = {"sort_indexed": "Polars has no indexes"}


class PolarsEntityQueries(PolarsSystem, EntityQueries):
    cannot = NO_INDEX
    description = (
        "a DataFrame in memory, read from its Parquet file before timing starts, with lazy queries; columns"
        " read again by a scan of the file; not durable"
    )

    def fill(self, rows: int) -> None:
        pl.DataFrame(arrow(rows)).write_parquet(self._file)

    def open(self, writing: bool) -> None:
        self._rows = pl.read_parquet(self._file).lazy()

    def close(self) -> None:
        """Nothing is open."""

    def count(self) -> int:
        return int(self._rows.select(pl.len()).collect().item())

    def find_all(self) -> pl.DataFrame:
        return self._rows.collect()

    def matching(self, name: str) -> pl.DataFrame:
        return self._rows.filter(ENTITY_CONDITIONS[name]).collect()

    def find_by_name(self, name: str) -> pl.DataFrame:
        return self._rows.filter(pl.col("name") == name).collect()

    def page(self, keys: Sequence[str], start: int = 0) -> pl.DataFrame:
        return _sort(self._rows, keys).slice(start, PAGE).collect()

    def place_before(self, start: int) -> tuple[Any, ...]:
        return _sort(self._rows, PAGE_ORDER).slice(start - 1, 1).select("rating", ID).collect().row(0)

    def page_after(self, place: tuple[Any, ...] | None) -> pl.DataFrame:
        if place is None:
            return self.page(PAGE_ORDER)
        rating, row_id = place
        behind = (pl.col("rating") < rating) | ((pl.col("rating") == rating) & (pl.col(ID) > row_id))
        return _sort(self._rows.filter(behind), PAGE_ORDER).head(PAGE).collect()

    def groups(self) -> pl.DataFrame:
        return self._rows.group_by("status").agg(pl.len(), pl.col("views").mean()).collect()

    def project(self, names: Sequence[str]) -> pl.DataFrame:
        return pl.scan_parquet(self._file).select(names).collect()

    def index_views(self) -> None:
        raise AssertionError(self.cannot["sort_indexed"])

    def as_table(self, answer: pl.DataFrame, names: Sequence[str]) -> pa.Table:
        return answer.to_arrow(compat_level=pl.CompatLevel.oldest())

    def as_groups(self, answer: pl.DataFrame) -> list[tuple[Any, ...]]:
        return answer.rows()

    @property
    def _file(self) -> Path:
        return self.folder / "entities.parquet"


def _sort(rows: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    names = [key.removeprefix("-") for key in keys]
    return rows.sort([*names, ID], descending=[*(key.startswith("-") for key in keys), False])


class PolarsMemory(PolarsSystem, FrameMemory):
    description = "a DataFrame in memory, read from a Parquet file; not durable (no sync)"

    def result(self, table: str) -> pl.DataFrame:
        rows: pl.DataFrame = self._frame.filter(pl.col("grp") == 1)
        return rows

    def hold(self, table: str) -> pl.DataFrame:
        return pl.read_parquet(self.file(table))

    def numbers(self, answer: pl.DataFrame) -> list[int]:
        return answer["number"].to_list()


ITEM_CONDITIONS: dict[str, Callable[[int], pl.Expr]] = {
    "equality": lambda owner: pl.col("owner") == owner,
    "point": lambda owner: pl.col("number") == owner * entity_indexes.ALIKE,
    "range": lambda owner: pl.col("number").is_between(*entity_indexes.numbers_of(owner)),
    "prefix": lambda owner: pl.col("code").str.starts_with(entity_indexes.beginning_of(owner)),
}


class PolarsScans(PolarsSystem, entity_indexes.FrameScans):
    cannot = dict.fromkeys(entity_indexes.NEED_AN_INDEX, "Polars has no indexes")
    description = "a lazy scan of a Parquet file for each question; as durable as the file"

    def open(self, writing: bool) -> None:
        self._items = pl.scan_parquet(self.file)

    def find(self, name: str, what: str, owner: int) -> pl.DataFrame:
        rows = self._items.filter(ITEM_CONDITIONS[name](owner))
        return (rows.select("_id") if what == entity_indexes.KEYS else rows).collect()

    def comparable(self, answer: pl.DataFrame, owner: int) -> pa.Table:
        return answer.to_arrow()


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
    groups = trips.group_by(people, year, distance).len()
    return groups.sort("year", "len", descending=[False, True])


class PolarsTaxi(PolarsSystem, TaxiSystem):
    description = (
        "scan_csv to one Parquet file by sink_parquet, then scan_parquet: not synced, so not durable"
    )

    @property
    def _parquet(self) -> Path:
        return self.folder / "trips.parquet"

    def fill(self, rows: int) -> None:
        types = pl.Schema(TRIP_SCHEMA)
        pl.scan_csv(list(self.files(rows)), schema=types).sink_parquet(self._parquet)

    def open(self, writing: bool) -> None:
        self._trips = pl.scan_parquet(self._parquet)

    def close(self) -> None:
        """Nothing is open."""

    def ask(self, query: str) -> pl.DataFrame:
        return _query(query, self._trips).collect()

    def whole_trips(self, ids: Sequence[int]) -> pa.Table:
        trips = self._trips.filter(pl.col("trip_id").is_in(list(ids))).select(TRIP_SCHEMA.names)
        return trips.collect().to_arrow()

    def rows_of(self, answer: pl.DataFrame) -> Iterable[Sequence[Any]]:
        return answer.rows()


class PolarsTransfer(PolarsSystem, FrameTransfer):
    """Scans files and writes the rows while reading them."""

    description = "Parquet files: scan_csv and read_database, sink_parquet and sink_csv; not synced"

    excel_method = "write_excel"

    @property
    def cannot(self) -> Mapping[str, str]:  # type: ignore[override]
        needed = "Its write_database needs SQLAlchemy and pandas, which then do the work"
        return {"export_sqlite": needed, **super().cannot}

    def import_csv(self, source: Path) -> None:
        pl.scan_csv(source, try_parse_dates=True).sink_parquet(self.own_file("import_csv"))

    def import_sqlite(self, source: Path) -> None:
        with closing(sqlite3.connect(source)) as connection:
            frame = pl.read_database(f"SELECT * FROM {NAME}", connection, infer_schema_length=None)
        frame.write_parquet(self.own_file("import_sqlite"))

    def imported_rows(self, operation: str) -> pa.Table:
        return pl.read_parquet(self.own_file(operation)).to_arrow()

    def export_parquet(self, target: Path) -> None:
        self._scan().sink_parquet(target, compression="zstd")

    def export_csv(self, target: Path) -> None:
        self._scan().sink_csv(target)

    def export_excel(self, target: Path) -> None:
        self._scan().head(EXCEL_ROWS).collect().write_excel(target)

    def _scan(self) -> pl.LazyFrame:
        return pl.scan_parquet(self.own_file("import_csv"))
