"""Where the backends of tables are."""

from __future__ import annotations

SYSTEMS = {
    "lamella": "lamella.core.bench.backends.lamella:Lamella",
    "sqlite": "lamella.core.bench.backends.sqlite:SQLite",
    "sqlite-wal": "lamella.core.bench.backends.sqlite:SQLiteWal",
    "sqlite-obj": "lamella.core.bench.backends.sqlite_obj:SQLiteObjects",
    "sqlalchemy-core": "lamella.core.bench.backends.sqlalchemy_core:SQLAlchemyCore",
    "sqlalchemy-orm": "lamella.core.bench.backends.sqlalchemy_orm:SQLAlchemyORM",
    "sqlite-parquet": "lamella.core.bench.backends.sqlite_parquet:SQLiteOverParquet",
    "parquetdb": "lamella.core.bench.backends.parquetdb:ParquetDB",
    "pyarrow": "lamella.core.bench.backends.pyarrow:Recipe",
    "pyarrow-tuned": "lamella.core.bench.backends.pyarrow:Tuned",
    "duckdb": "lamella.core.bench.backends.duckdb:DuckDB",
    "polars": "lamella.core.bench.backends.polars:Polars",
    "pandas": "lamella.core.bench.backends.pandas:Pandas",
    "deltalake": "lamella.core.bench.backends.deltalake:DeltaLake",
    "csv": "lamella.core.bench.backends.csv_files:CSV",
    "csv-numpy": "lamella.core.bench.backends.csv_numpy:CSVNumPy",
    "jsonl": "lamella.core.bench.backends.jsonl:JSONLines",
    "pickle": "lamella.core.bench.backends.pickles:Pickle",
    "pickle-obj": "lamella.core.bench.backends.pickles:PickleObjects",
    "zodb": "lamella.core.bench.backends.zodb:ZODBTree",
    "pytables": "lamella.core.bench.backends.pytables:PyTables",
    "h5py": "lamella.core.bench.backends.h5py_file:H5py",
    "mongodb": "lamella.core.bench.backends.mongodb:MongoTable",
}
