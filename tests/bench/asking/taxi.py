"""Taxi trips with 51 columns, Q1 to Q4 as published, beside DuckDB, Polars and SQLite."""

from __future__ import annotations

import sqlite3
from functools import partial
from pathlib import Path

import duckdb
import pyarrow as pa

from core import Store
from core.bench.taxi.columns import SCHEMA
from core.bench.taxi.data import trips
from core.bench.taxi.queries import DUCKDB, SQLITE
from tests.bench.asking.model import LAMELLA, Goal, Questions, Suite

INSERTED_AT_ONCE = 20_000


def make(folder: Path, rows: int) -> None:
    with Store.open(folder / "store") as store:
        store.create_table("trips", _reader(rows))
    _make_duckdb(folder, rows)
    _make_polars(folder, rows)
    _make_sqlite(folder, rows)


def _reader(rows: int) -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(SCHEMA, trips(rows))


def _make_duckdb(folder: Path, rows: int) -> None:
    """Its own file, and Parquet as it writes it."""
    with duckdb.connect(str(folder / "trips.duckdb")) as connection:
        connection.register("given", _reader(rows))
        connection.execute("CREATE TABLE trips AS SELECT * FROM given")
        connection.execute(f"COPY trips TO '{folder / 'duckdb.parquet'}'")


def _make_polars(folder: Path, rows: int) -> None:
    import polars

    polars.DataFrame(_reader(rows).read_all()).write_parquet(folder / "polars.parquet")


def _make_sqlite(folder: Path, rows: int) -> None:
    """As published: times are text."""
    connection = sqlite3.connect(folder / "trips.sqlite")
    connection.execute(f"CREATE TABLE trips ({', '.join(SCHEMA.names)})")
    marks = ", ".join("?" * len(SCHEMA.names))
    for batch in trips(rows):
        for start in range(0, batch.num_rows, INSERTED_AT_ONCE):
            part = batch.slice(start, INSERTED_AT_ONCE)
            columns = [c.cast(pa.string()) if pa.types.is_timestamp(c.type) else c for c in part.columns]
            values = zip(*(column.to_pylist() for column in columns), strict=True)
            connection.executemany(f"INSERT INTO trips VALUES ({marks})", values)
    connection.commit()
    connection.close()


def lamella(folder: Path) -> Questions:
    store = Store.open(folder / "store", read_only=True)
    return {name: partial(store.sql, text) for name, text in DUCKDB.items()}


def duckdb_own(folder: Path) -> Questions:
    return _duckdb(duckdb.connect(str(folder / "trips.duckdb"), read_only=True))


def duckdb_parquet(folder: Path) -> Questions:
    connection = duckdb.connect()
    connection.execute(f"CREATE VIEW trips AS SELECT * FROM '{folder / 'duckdb.parquet'}'")
    return _duckdb(connection)


def _duckdb(connection: duckdb.DuckDBPyConnection) -> Questions:
    return {name: (lambda t=text: connection.sql(t).to_arrow_table()) for name, text in DUCKDB.items()}


def polars_own(folder: Path) -> Questions:
    import polars as pl

    rows = pl.scan_parquet(folder / "polars.parquet")
    people, year = pl.col("passenger_count"), pl.col("pickup_datetime").dt.year().cast(pl.Int64)
    distance = pl.col("trip_distance").round(mode="half_away_from_zero").alias("distance")
    asked = {
        "Q1": rows.group_by("cab_type").len(),
        "Q2": rows.group_by(people).agg(pl.col("total_amount").mean()),
        "Q3": rows.group_by(people, year).len(),
        "Q4": rows.group_by(people, year, distance).len().sort(
            ["pickup_datetime", "len"], descending=[False, True]
        ),
    }  # fmt: skip
    return {name: (lambda q=query: q.collect().to_arrow()) for name, query in asked.items()}


def sqlite(folder: Path) -> Questions:
    connection = sqlite3.connect(folder / "trips.sqlite")
    return {name: (lambda t=text: connection.execute(t).fetchall()) for name, text in SQLITE.items()}


SYSTEMS = {
    LAMELLA: lamella,
    "DuckDB, own file": duckdb_own,
    "DuckDB, Parquet": duckdb_parquet,
    "Polars, Parquet": polars_own,
    "SQLite": sqlite,
}
_GOAL = Goal(times={"DuckDB, own file": 1.2, "Polars, Parquet": 1.2, "SQLite": 1 / 60})
TAXI = Suite("taxi", __doc__ or "", 5_000_000, make, SYSTEMS, dict.fromkeys(DUCKDB, _GOAL))
