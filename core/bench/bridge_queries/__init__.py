"""One set of statements, asked of SQLite over Parquet files, of its own table, and of DuckDB."""

from __future__ import annotations

SYSTEMS = {
    "sqlite-parquet": "lamella.core.bench.bridge_queries.sqlite:OverParquet",
    "sqlite": "lamella.core.bench.bridge_queries.sqlite:OwnTable",
    "duckdb": "lamella.core.bench.bridge_queries.duckdb:DuckDBTable",
}
