"""The trips as gzipped CSV files, which every system imports: 56, as published, from 14 million rows on.

The first line of each names the columns, an absent value is an empty field, and times are written as
`2009-01-01 00:00:00`.
"""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from lamella.core.bench.taxi.columns import SCHEMA
from lamella.core.bench.taxi.data import trips

ROWS_A_FILE = 250_000
FEWEST_FILES, MOST_FILES = 2, 56

_WRITTEN = pa.schema([f.with_type(pa.timestamp("s")) if f.type == pa.timestamp("ms") else f for f in SCHEMA])


def files_of(folder: Path, rows: int) -> list[Path]:
    """The files that `make_files` made, in the order of their trips."""
    return sorted(_place(folder, rows).iterdir())


def make_files(folder: Path, rows: int) -> None:
    """Unless they are there; they come into being together. Memory stays the same at any size."""
    place = _place(folder, rows)
    if place.exists():
        return
    draft = place.with_suffix(".part")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    batches = trips(rows)
    held = next(batches)
    for number, count in enumerate(rows_of_files(rows)):
        with _Writer(draft / f"trips_{number:02}.csv.gz") as writer:
            missing = count
            while missing:
                held = held if held.num_rows else next(batches)
                part = held.slice(0, missing)
                writer.write(part)
                held, missing = held.slice(part.num_rows), missing - part.num_rows
    draft.rename(place)


def _place(folder: Path, rows: int) -> Path:
    return folder / f"taxi-csv-{rows}"


def rows_of_files(rows: int) -> Iterator[int]:
    """How many rows each file holds: the same in all, to one."""
    files = min(rows, MOST_FILES, max(FEWEST_FILES, -(-rows // ROWS_A_FILE)))
    for number in range(files):
        yield rows * (number + 1) // files - rows * number // files


class _Writer:
    def __init__(self, path: Path) -> None:
        self._file = gzip.open(path, "wb", compresslevel=1)  # noqa: SIM115 -- closed in __exit__
        unquoted = pa.csv.WriteOptions(quoting_style="none")
        self._csv = pa.csv.CSVWriter(self._file, _WRITTEN, write_options=unquoted)

    def write(self, batch: pa.RecordBatch) -> None:
        self._csv.write_table(pa.Table.from_batches([batch]).cast(_WRITTEN))

    def __enter__(self) -> _Writer:
        return self

    def __exit__(self, *problem: object) -> None:
        self._csv.close()
        self._file.close()
