"""What entities of several sizes take in memory."""

from __future__ import annotations

SYSTEMS = {
    "lamella": "core.bench.entity_memory.databases:LamellaMemory",
    "sqlite": "core.bench.entity_memory.databases:SQLiteMemory",
    "duckdb": "core.bench.entity_memory.databases:DuckDBMemory",
    "polars": "core.bench.entity_memory.polars:PolarsMemory",
    "pandas": "core.bench.entity_memory.pandas:PandasMemory",
}
