"""Entities as files and in databases: how each writes them, reads them, and how large they are."""

from __future__ import annotations

SYSTEMS = {
    "lamella": "core.bench.entity_storage.databases:LamellaStorage",
    "sqlite": "core.bench.entity_storage.databases:SQLiteStorage",
    "duckdb": "core.bench.entity_storage.databases:DuckDBStorage",
    "jsonl": "core.bench.entity_storage.files:JSONLines",
    "jsonl-gzip": "core.bench.entity_storage.files:GzippedJSONLines",
    "parquet-none": "core.bench.entity_storage.files:PlainParquet",
    "parquet-snappy": "core.bench.entity_storage.files:SnappyParquet",
    "parquet-gzip": "core.bench.entity_storage.files:GzipParquet",
    "parquet-lz4": "core.bench.entity_storage.files:LZ4Parquet",
    "parquet-zstd": "core.bench.entity_storage.files:ZstdParquet",
}
