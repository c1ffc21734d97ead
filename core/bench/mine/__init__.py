"""A race on somebody's own table: a copy of what is open, with its filter and columns, in every system that
can hold it."""

from __future__ import annotations

SYSTEMS = {
    "lamella": "core.bench.mine.lamella:Lamella",
    "sqlite": "core.bench.mine.sqlite:Sqlite",
    "sqlite-wal": "core.bench.mine.sqlite:SqliteWal",
    "pyarrow": "core.bench.mine.pyarrow:PyArrow",
    "duckdb": "core.bench.mine.duckdb:DuckDB",
    "polars": "core.bench.mine.polars:Polars",
    "pandas": "core.bench.mine.pandas:Pandas",
    "csv": "core.bench.mine.row_files:Csv",
    "jsonl": "core.bench.mine.row_files:JsonLines",
    "pickle": "core.bench.mine.row_files:Pickle",
}
