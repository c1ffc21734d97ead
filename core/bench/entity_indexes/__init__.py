"""Lookups with an index and without, on the systems that have one or would do without."""

from __future__ import annotations

SYSTEMS = {
    "lamella": "core.bench.entity_indexes.lamella:LamellaIndexes",
    "sqlite": "core.bench.entity_indexes.sqlite:SQLiteIndexes",
    "duckdb": "core.bench.entity_indexes.duckdb:DuckDBIndexes",
    "polars": "core.bench.entity_indexes.polars:PolarsScans",
    "pandas": "core.bench.entity_indexes.pandas:PandasScans",
}
