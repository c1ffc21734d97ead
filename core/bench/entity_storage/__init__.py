"""Entities as files and in databases: how each writes them, reads them, and how large they are."""

from __future__ import annotations

SYSTEMS = {
    "lamella": "lamella.core.bench.entity_storage.databases:LamellaStorage",
    "sqlite": "lamella.core.bench.entity_storage.databases:SQLiteStorage",
    "duckdb": "lamella.core.bench.entity_storage.databases:DuckDBStorage",
    "jsonl": "lamella.core.bench.entity_storage.files:JSONLines",
    "jsonl-gzip": "lamella.core.bench.entity_storage.files:GzippedJSONLines",
    "parquet-none": "lamella.core.bench.entity_storage.files:PlainParquet",
    "parquet-snappy": "lamella.core.bench.entity_storage.files:SnappyParquet",
    "parquet-gzip": "lamella.core.bench.entity_storage.files:GzipParquet",
    "parquet-lz4": "lamella.core.bench.entity_storage.files:LZ4Parquet",
    "parquet-zstd": "lamella.core.bench.entity_storage.files:ZstdParquet",
}
