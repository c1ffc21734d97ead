"""Where the backends of tables are."""

from __future__ import annotations

SYSTEMS = {
    "lamella": "core.bench.backends.lamella:Lamella",
    "sqlite": "core.bench.backends.sqlite:SQLite",
    "sqlite-wal": "core.bench.backends.sqlite:SQLiteWal",
    "sqlite-obj": "core.bench.backends.sqlite_obj:SQLiteObjects",
    "sqlalchemy-core": "core.bench.backends.sqlalchemy_core:SQLAlchemyCore",
    "sqlalchemy-orm": "core.bench.backends.sqlalchemy_orm:SQLAlchemyORM",
    "sqlite-parquet": "core.bench.backends.sqlite_parquet:SQLiteOverParquet",
    "parquetdb": "core.bench.backends.parquetdb:ParquetDB",
    "pyarrow": "core.bench.backends.pyarrow:Recipe",
    "pyarrow-tuned": "core.bench.backends.pyarrow:Tuned",
    "duckdb": "core.bench.backends.duckdb:DuckDB",
    "polars": "core.bench.backends.polars:Polars",
    "pandas": "core.bench.backends.pandas:Pandas",
    "deltalake": "core.bench.backends.deltalake:DeltaLake",
    "csv": "core.bench.backends.csv_files:CSV",
    "csv-numpy": "core.bench.backends.csv_numpy:CSVNumPy",
    "jsonl": "core.bench.backends.jsonl:JSONLines",
    "pickle": "core.bench.backends.pickles:Pickle",
    "pickle-obj": "core.bench.backends.pickles:PickleObjects",
    "zodb": "core.bench.backends.zodb:ZODBTree",
    "pytables": "core.bench.backends.pytables:PyTables",
    "h5py": "core.bench.backends.h5py_file:H5py",
    "mongodb": "core.bench.backends.mongodb:MongoTable",
}
