"""A race on somebody's own table: a copy of what is open, with its filter and columns, in every system that
can hold it."""

from __future__ import annotations

SYSTEMS = {
    "lamella": "lamella.core.bench.mine.lamella:Lamella",
    "sqlite": "lamella.core.bench.mine.sqlite:Sqlite",
    "sqlite-wal": "lamella.core.bench.mine.sqlite:SqliteWal",
    "pyarrow": "lamella.core.bench.mine.pyarrow:PyArrow",
    "duckdb": "lamella.core.bench.mine.duckdb:DuckDB",
    "polars": "lamella.core.bench.mine.polars:Polars",
    "pandas": "lamella.core.bench.mine.pandas:Pandas",
    "csv": "lamella.core.bench.mine.row_files:Csv",
    "jsonl": "lamella.core.bench.mine.row_files:JsonLines",
    "pickle": "lamella.core.bench.mine.row_files:Pickle",
}
