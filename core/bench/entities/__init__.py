"""Entities one at a time: their data, the systems that keep them, and what each step makes of them."""

from __future__ import annotations

SYSTEMS = {
    "lamella": "lamella.core.bench.backends.lamella_entities:LamellaEntities",
    "sqlite": "lamella.core.bench.backends.sqlite_entities:SQLiteEntities",
    "sqlite-wal": "lamella.core.bench.backends.sqlite_entities:SQLiteWalEntities",
    "duckdb": "lamella.core.bench.backends.duckdb_entities:DuckDBEntities",
    "mongodb": "lamella.core.bench.backends.mongodb_entities:MongoEntities",
}
