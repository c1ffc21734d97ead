"""Where the backends of tables are."""

from __future__ import annotations

SYSTEMS = {
    "lamella": "core.bench.backends.lamella:Lamella",
    "sqlite": "core.bench.backends.sqlite:SQLite",
    "sqlite-wal": "core.bench.backends.sqlite:SQLiteWal",
    "parquetdb": "core.bench.backends.parquetdb:ParquetDB",
    "pyarrow": "core.bench.backends.pyarrow:Recipe",
    "pyarrow-tuned": "core.bench.backends.pyarrow:Tuned",
}
