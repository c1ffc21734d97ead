"""Made taxi trips with the 51 columns of the published benchmark, and its four queries."""

SYSTEMS = {
    "lamella": "lamella.core.bench.taxi.lamella:LamellaTaxi",
    "sqlite": "lamella.core.bench.taxi.sqlite:SQLiteTaxi",
    "sqlite-parquet": "lamella.core.bench.taxi.sqlite_parquet:TableForEachFile",
    "sqlite-parquet-one-table": "lamella.core.bench.taxi.sqlite_parquet:OneTable",
    "parquetdb": "lamella.core.bench.taxi.parquetdb:ParquetDBTaxi",
    "pyarrow": "lamella.core.bench.taxi.pyarrow:PyArrowTaxi",
    "duckdb": "lamella.core.bench.taxi.duckdb:DuckDBTaxi",
    "duckdb-parquet": "lamella.core.bench.taxi.duckdb:DuckDBParquetTaxi",
    "polars": "lamella.core.bench.taxi.polars:PolarsTaxi",
    "pandas": "lamella.core.bench.taxi.pandas:PandasTaxi",
}
