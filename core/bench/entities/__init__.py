"""Entities one at a time: their data, the systems that keep them, and what each step makes of them."""

from __future__ import annotations

SYSTEMS = {
    "lamella": "core.bench.backends.lamella_entities:LamellaEntities",
    "sqlite": "core.bench.backends.sqlite_entities:SQLiteEntities",
    "sqlite-wal": "core.bench.backends.sqlite_entities:SQLiteWalEntities",
    "duckdb": "core.bench.backends.duckdb_entities:DuckDBEntities",
    "mongodb": "core.bench.backends.mongodb_entities:MongoEntities",
}
