"""Made taxi trips with the 51 columns of the published benchmark, and its four queries."""

SYSTEMS = {
    "lamella": "core.bench.taxi.lamella:LamellaTaxi",
    "sqlite": "core.bench.taxi.sqlite:SQLiteTaxi",
    "sqlite-parquet": "core.bench.taxi.sqlite_parquet:TableForEachFile",
    "sqlite-parquet-one-table": "core.bench.taxi.sqlite_parquet:OneTable",
    "parquetdb": "core.bench.taxi.parquetdb:ParquetDBTaxi",
    "pyarrow": "core.bench.taxi.pyarrow:PyArrowTaxi",
    "duckdb": "core.bench.taxi.duckdb:DuckDBTaxi",
    "duckdb-parquet": "core.bench.taxi.duckdb:DuckDBParquetTaxi",
    "polars": "core.bench.taxi.polars:PolarsTaxi",
    "pandas": "core.bench.taxi.pandas:PandasTaxi",
}
