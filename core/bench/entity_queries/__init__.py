"""Questions to entities: what is asked, the right answers, and the systems that are asked."""

from __future__ import annotations

SYSTEMS = {
    "lamella": "lamella.core.bench.entity_queries.lamella:LamellaEntityQueries",
    "sqlite": "lamella.core.bench.entity_queries.sqlite:SQLiteEntityQueries",
    "duckdb": "lamella.core.bench.entity_queries.duckdb:DuckDBEntityQueries",
    "polars": "lamella.core.bench.entity_queries.polars:PolarsEntityQueries",
    "pandas": "lamella.core.bench.entity_queries.pandas:PandasEntityQueries",
}
