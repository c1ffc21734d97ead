"""Related rows, found by what each system has for that."""

from __future__ import annotations

SYSTEMS = {
    "lamella": "core.bench.entity_relations.lamella:LamellaRelations",
    "sqlite": "core.bench.entity_relations.sqlite:SQLiteRelations",
    "duckdb": "core.bench.entity_relations.duckdb:DuckDBRelations",
}
