"""Questions to entities: what is asked, the right answers, and the systems that are asked."""

from __future__ import annotations

SYSTEMS = {
    "lamella": "core.bench.entity_queries.lamella:LamellaEntityQueries",
    "sqlite": "core.bench.entity_queries.sqlite:SQLiteEntityQueries",
    "duckdb": "core.bench.entity_queries.duckdb:DuckDBEntityQueries",
    "polars": "core.bench.entity_queries.polars:PolarsEntityQueries",
    "pandas": "core.bench.entity_queries.pandas:PandasEntityQueries",
}
