"""Other programs read the same values from each exported file.

With LAMELLA_LONG_RUNS, LibreOffice reads more formats.
"""

from __future__ import annotations

import csv
import datetime as dt
import json
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from lamella.core.jobs import Job
from lamella.core.transfer.exporting import Destination
from lamella.core.transfer.formats import FORMATS
from lamella.core.transfer.writer import Rows

ROWS = pa.table(
    {
        "n": pa.array([1, None, -3, 2**52], pa.int64()),
        "x": [0.1, 1e20, None, -2.5],
        "words": ["plain", 'say "hi", or so', "über €; 'a'", "two\nlines"],
        "code": ["007", "1.10", None, "=1+1"],
        "day": [dt.date(2024, 3, 1), None, dt.date(1999, 12, 31), dt.date(2024, 2, 29)],
        "at": pa.array(
            [
                dt.datetime(2024, 3, 1, 9, 30),
                None,
                dt.datetime(1999, 12, 31, 23, 59, 59),
                dt.datetime(2024, 1, 1),
            ],
            pa.timestamp("us"),
        ),
        "late": [True, False, None, True],
    }
)
RIGHT = [list(row.values()) for row in ROWS.to_pylist()]
ReadCells = Callable[[Path], Iterable[Iterable[Any]]]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One of every format."""
    folder, paths = tmp_path_factory.mktemp("exported"), {}
    for known in FORMATS:
        paths[known.id] = folder / f"rows{known.suffixes[0]}"
        rows = Rows(ROWS.schema, iter([ROWS]), len(ROWS), "rows")
        Destination.of(paths[known.id], known.id, {}, overwrite=True).write(rows, Job())
    return paths


def cells(rows: Iterable[Iterable[Any]]) -> list[list[Any]]:
    """The cells as they were exported, whatever a reader uses for nulls, dates and booleans."""
    return [
        [_as_made(value, name) for value, name in zip(row, ROWS.column_names, strict=True)] for row in rows
    ]


def _as_made(value: Any, name: str) -> Any:
    if (
        value is None
        or value is pd.NaT
        or value is pd.NA
        or value != value
        or (value == "" and name != "words")
    ):
        return None
    if name == "n":
        return int(value)
    if name == "x":
        return float(value)
    if name == "late":
        return str(value).lower() in ("true", "1", "1.0")
    if name in ("day", "at"):
        moment = (
            value if isinstance(value, dt.date) else dt.datetime.fromisoformat(str(value).replace("Z", ""))
        )
        if name == "at":
            return dt.datetime.fromisoformat(str(moment))
        return moment.date() if isinstance(moment, dt.datetime) else moment
    return value


def by_pandas(read_file: Callable[..., pd.DataFrame], **options: Any) -> ReadCells:
    return lambda path: read_file(path, **options).astype(object).itertuples(index=False)


def by_polars(read_file: Callable[..., pl.DataFrame], **options: Any) -> ReadCells:
    return lambda path: read_file(path, **options).rows()


def by_duckdb(query: str) -> ReadCells:
    return lambda path: duckdb.connect().execute(query.format(f"'{path}'")).fetchall()


def by_csv(delimiter: str) -> ReadCells:
    def read(path: Path) -> list[list[str]]:
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.reader(file, delimiter=delimiter))[1:]

    return read


def by_sqlite3(path: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT * FROM rows").fetchall()


def sqlite_by_pandas(path: Path) -> Iterable[Iterable[Any]]:
    with closing(sqlite3.connect(path)) as connection:
        return pd.read_sql("SELECT * FROM rows", connection).astype(object).itertuples(index=False)


def sqlite_by_polars(path: Path) -> Iterable[Iterable[Any]]:
    with closing(sqlite3.connect(path)) as connection:
        return pl.read_database("SELECT * FROM rows", connection).rows()


def duckdb_file(path: Path) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(path), read_only=True) as connection:
        return connection.execute("FROM rows").fetchall()


AS_TEXT: dict[str, Any] = {"code": str}
READERS: dict[str, tuple[str, ReadCells]] = {
    "parquet by pandas": ("parquet", by_pandas(pd.read_parquet, dtype_backend="pyarrow")),
    "parquet by Polars": ("parquet", by_polars(pl.read_parquet)),
    "parquet by DuckDB": ("parquet", by_duckdb("FROM read_parquet({})")),
    "csv by csv": ("csv", by_csv(",")),
    "csv by pandas": ("csv", by_pandas(pd.read_csv, dtype=AS_TEXT)),
    "csv by Polars": ("csv", by_polars(pl.read_csv, schema_overrides={"code": pl.String})),
    "csv by DuckDB": ("csv", by_duckdb("FROM read_csv({}, types={{'code': 'VARCHAR'}})")),
    "tsv by csv": ("tsv", by_csv("\t")),
    "tsv by pandas": ("tsv", by_pandas(pd.read_csv, sep="\t", dtype=AS_TEXT)),
    "tsv by Polars": ("tsv", by_polars(pl.read_csv, separator="\t", schema_overrides={"code": pl.String})),
    "tsv by DuckDB": ("tsv", by_duckdb("FROM read_csv({}, types={{'code': 'VARCHAR'}})")),
    "json by json": ("json", lambda path: [row.values() for row in json.loads(path.read_text("utf-8"))]),
    "json by pandas": ("json", by_pandas(pd.read_json, dtype=False)),
    "json by Polars": ("json", by_polars(pl.read_json)),
    "json by DuckDB": ("json", by_duckdb("FROM read_json({})")),
    "jsonl by json": (
        "jsonl",
        lambda path: [json.loads(line).values() for line in path.read_text("utf-8").splitlines()],
    ),
    "jsonl by pandas": ("jsonl", by_pandas(pd.read_json, lines=True, dtype=False)),
    "jsonl by Polars": ("jsonl", by_polars(pl.read_ndjson)),
    "jsonl by DuckDB": ("jsonl", by_duckdb("FROM read_json({}, format='newline_delimited')")),
    "arrow by pandas": ("arrow", by_pandas(pd.read_feather, dtype_backend="pyarrow")),
    "arrow by Polars": ("arrow", by_polars(pl.read_ipc)),
    "excel by pandas": ("excel", by_pandas(pd.read_excel, engine="calamine", dtype=AS_TEXT)),
    "sqlite by sqlite3": ("sqlite", by_sqlite3),
    "sqlite by pandas": ("sqlite", sqlite_by_pandas),
    "sqlite by Polars": ("sqlite", sqlite_by_polars),
    "duckdb by DuckDB": ("duckdb", duckdb_file),
}


@pytest.mark.slow(after=10)
@pytest.mark.parametrize("name", READERS)
def test_other_programs_read_the_same_values(files: dict[str, Path], name: str) -> None:
    kind, read_cells = READERS[name]
    assert cells(read_cells(files[kind])) == RIGHT


LONG = bool(os.environ.get("LAMELLA_LONG_RUNS"))
NO_OFFICE = "LibreOffice is not installed: apt-get install --no-install-recommends libreoffice-calc"
TO_CSV = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,false"
IN_FILTERS = {"csv": ["--infilter=CSV:44,34,76,1,,0,true"], "html": ["--infilter=HTML (StarCalc)"]}
"""UTF-8, quoted fields are text."""


@pytest.mark.skipif(shutil.which("soffice") is None, reason=NO_OFFICE)
@pytest.mark.parametrize("kind", ["excel", "csv", "html"] if LONG else ["excel"])
def test_libreoffice_reads_the_same_values(files: dict[str, Path], tmp_path: Path, kind: str) -> None:
    profile = f"-env:UserInstallation={(tmp_path / 'profile').as_uri()}"
    words = ["soffice", profile, "--headless", "--norestore", *IN_FILTERS.get(kind, [])]
    words += ["--convert-to", TO_CSV, "--outdir", str(tmp_path), str(files[kind])]
    subprocess.run(words, capture_output=True, check=True, timeout=120)
    actual = cells(by_csv(",")(tmp_path / "rows.csv"))
    right = [list(row) for row in RIGHT]
    if kind == "html":  # it takes every cell of a page for what somebody typed
        places = [ROWS.column_names.index(name) for name in ("words", "code")]
        actual, right = (
            [[c for n, c in enumerate(row) if n not in places] for row in rows] for rows in (actual, right)
        )
    assert actual == right
