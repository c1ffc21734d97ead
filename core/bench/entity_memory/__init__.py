"""What entities of several sizes take in memory."""

from __future__ import annotations

SYSTEMS = {
    "lamella": "lamella.core.bench.entity_memory.databases:LamellaMemory",
    "sqlite": "lamella.core.bench.entity_memory.databases:SQLiteMemory",
    "duckdb": "lamella.core.bench.entity_memory.databases:DuckDBMemory",
    "polars": "lamella.core.bench.entity_memory.polars:PolarsMemory",
    "pandas": "lamella.core.bench.entity_memory.pandas:PandasMemory",
}
