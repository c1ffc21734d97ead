"""Lookups with an index and without, on the systems that have one or would do without."""

from __future__ import annotations

SYSTEMS = {
    "lamella": "lamella.core.bench.entity_indexes.lamella:LamellaIndexes",
    "sqlite": "lamella.core.bench.entity_indexes.sqlite:SQLiteIndexes",
    "duckdb": "lamella.core.bench.entity_indexes.duckdb:DuckDBIndexes",
    "polars": "lamella.core.bench.entity_indexes.polars:PolarsScans",
    "pandas": "lamella.core.bench.entity_indexes.pandas:PandasScans",
}
