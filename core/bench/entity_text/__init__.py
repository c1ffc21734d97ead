"""Words searched for, by systems that have an index for them."""

from __future__ import annotations

SYSTEMS = {
    "lamella": "lamella.core.bench.entity_text.lamella:LamellaText",
    "sqlite-fts5": "lamella.core.bench.entity_text.fts5:FTS5Text",
    "tantivy": "lamella.core.bench.entity_text.tantivy:TantivyText",
}

ABSENT = {
    "duckdb": "DuckDB's full-text search is an extension that does not come with its Python package: "
    "it is downloaded where it is first used",
}
