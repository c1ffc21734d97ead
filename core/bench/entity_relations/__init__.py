"""Related rows, found by what each system has for that."""

from __future__ import annotations

SYSTEMS = {
    "lamella": "lamella.core.bench.entity_relations.lamella:LamellaRelations",
    "sqlite": "lamella.core.bench.entity_relations.sqlite:SQLiteRelations",
    "duckdb": "lamella.core.bench.entity_relations.duckdb:DuckDBRelations",
}
