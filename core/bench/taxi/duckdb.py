"""The trips in DuckDB's own file, and in Parquet that DuckDB wrote."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
import pyarrow as pa

from lamella.core.bench.taxi.backend import TaxiBackend
from lamella.core.bench.taxi.columns import SCHEMA
from lamella.core.bench.taxi.queries import DUCKDB

_TYPES = {
    pa.int64(): "BIGINT",
    pa.float64(): "DOUBLE",
    pa.string(): "VARCHAR",
    pa.timestamp("ms"): "TIMESTAMP",
}


class DuckDB(TaxiBackend):
    _connection: duckdb.DuckDBPyConnection

    @classmethod
    def version(cls) -> str:
        return duckdb.__version__

    def close(self) -> None:
        self._connection.close()

    def ask(self, query: str) -> pa.Table:
        return self._connection.sql(DUCKDB[query]).to_arrow_table()

    def whole_trips(self, ids: Sequence[int]) -> pa.Table:
        asked = f"SELECT {', '.join(SCHEMA.names)} FROM trips WHERE trip_id IN (SELECT unnest(?::BIGINT[]))"
        return self._connection.sql(asked, params=[list(ids)]).to_arrow_table()

    def _given(self, rows: int) -> str:
        """The CSV files, for a FROM."""
        files = ", ".join(map(_quoted, map(str, self.files(rows))))
        columns = ", ".join(f"{_quoted(field.name)}: {_quoted(_TYPES[field.type])}" for field in SCHEMA)
        return f"read_csv([{files}], header = true, columns = {{{columns}}})"


class DuckDBTaxi(DuckDB):
    id = "duckdb"

    @classmethod
    def describe(cls) -> str:
        return "its own file, by CREATE TABLE … AS FROM read_csv: durable, as every commit of its is"

    def fill(self, rows: int) -> None:
        self.open(writing=True)
        self._connection.execute(f"CREATE TABLE trips AS FROM {self._given(rows)}")
        self.close()

    def open(self, writing: bool) -> None:
        self._connection = duckdb.connect(self.folder / "trips.duckdb", read_only=not writing)


class DuckDBParquetTaxi(DuckDB):
    id = "duckdb-parquet"

    @classmethod
    def describe(cls) -> str:
        return "one Parquet file as it writes it by COPY … TO: not synced, so not durable"

    @property
    def _parquet(self) -> str:
        return _quoted(str(self.folder / "trips.parquet"))

    def fill(self, rows: int) -> None:
        with duckdb.connect() as connection:
            connection.execute(f"COPY (FROM {self._given(rows)}) TO {self._parquet} (FORMAT parquet)")

    def open(self, writing: bool) -> None:
        self._connection = duckdb.connect()
        self._connection.execute(f"CREATE VIEW trips AS FROM read_parquet({self._parquet})")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
