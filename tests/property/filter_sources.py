"""The same rows in a store after changes, and in Parquet files as different programs write them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from lamella import Store, open_dataset
from lamella.core.datasets.base import Dataset
from lamella.core.filters import Filter
from lamella.core.query import find as positions
from lamella.core.scan.read import take_rows
from lamella.core.scan.snapshot import project

ROW = "the row"
FILES = 3
"""The rows are spread over this many files and commits, each with its own statistics."""

Cells = Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class Case:
    """Columns of equal length. `before` holds what some cells of some rows were at first: rows by number, and
    `gone` rows that were there too, behind the others."""

    schema: pa.Schema
    cells: Cells
    before: Mapping[int, Mapping[str, Any]]
    gone: Sequence[Mapping[str, Any]]

    @property
    def num_rows(self) -> int:
        return len(next(iter(self.cells.values())))

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [{name: self.cells[name][i] for name in self.cells} for i in range(self.num_rows)]


def table_of(case: Case, rows: Sequence[Mapping[str, Any]], numbers: Sequence[int]) -> pa.Table:
    columns = [pa.array([row[field.name] for row in rows], field.type) for field in case.schema]
    return pa.table([pa.array(numbers, pa.int64()), *columns], names=[ROW, *case.schema.names])


def parts(case: Case) -> list[pa.Table]:
    step = max(1, -(-case.num_rows // FILES))
    numbers = range(case.num_rows)
    return [
        table_of(case, case.rows[at : at + step], numbers[at : at + step])
        for at in range(0, max(1, case.num_rows), step)
    ]


_numbers = count()


def stored(case: Case, folder: Path) -> Dataset:
    """A table in several data files, with cells changed and rows deleted since."""
    table = _store(folder).create_table(f"t{next(_numbers)}", parts(case)[0].schema.empty_table())
    first = [case.before.get(i, {}) | {} for i in range(case.num_rows)]
    rows = [row | dict(earlier) for row, earlier in zip(case.rows, first, strict=True)] + list(case.gone)
    step = max(1, -(-len(rows) // FILES))
    for at in range(0, len(rows), step):
        table.insert(table_of(case, rows[at : at + step], range(at, at + len(rows[at : at + step]))))
    for i, earlier in case.before.items():
        now = {name: pa.array([case.cells[name][i]], case.schema.field(name).type) for name in earlier}
        table.update(pa.table({ROW: pa.array([i], pa.int64()), **now}), on=ROW)
    table.delete(where=f'"{ROW}" >= {case.num_rows}')
    return table


_stores: dict[Path, Store] = {}


def close_stores() -> None:
    while _stores:
        _stores.popitem()[1].close()


def _store(folder: Path) -> Store:
    if folder not in _stores:
        _stores[folder] = Store.open(folder / "store")
    return _stores[folder]


def compacted(case: Case, folder: Path) -> Dataset:
    table = stored(case, folder)
    table.maintenance.compact()  # type: ignore[attr-defined]
    return table


def by_masks(rows: Dataset, where: Filter) -> list[int]:
    """Row numbers found by Arrow masks, which are used for every small table."""
    return rows.read([ROW], where=where).column(ROW).to_pylist()


def by_engine(rows: Dataset, where: Filter) -> list[int]:
    """The same by DuckDB, called directly, since it is otherwise used only for large tables."""
    snapshot = rows.snapshot()
    matches = positions.find_rows(snapshot, where, method=positions.Method.DUCKDB)
    return take_rows(snapshot, matches, project(snapshot, [ROW])).column(ROW).to_pylist()


def by_pyarrow(case: Case, folder: Path) -> Dataset:
    return _files(case, folder, lambda rows, path: pq.write_table(rows, path, row_group_size=2))


def by_duckdb(case: Case, folder: Path) -> Dataset:
    with duckdb.connect() as engine:

        def write(rows: pa.Table, path: Path) -> None:
            engine.register("part", rows)
            engine.execute(f"COPY part TO '{path}' (FORMAT parquet)")

        return _files(case, folder, write)


def by_polars(case: Case, folder: Path) -> Dataset:
    return _files(
        case,
        folder,
        lambda rows, path: pl.from_arrow(rows).write_parquet(path, statistics="full", row_group_size=2),
    )


def _files(case: Case, folder: Path, write: Callable[[pa.Table, Path], None]) -> Dataset:
    place = folder / f"files{next(_numbers)}"
    place.mkdir()
    for number, part in enumerate(parts(case)):
        write(part, place / f"{number}.parquet")
    return open_dataset(place)


SOURCES: dict[str, Callable[[Case, Path], Dataset]] = {
    "a table": stored,
    "a compacted table": compacted,
    "files of PyArrow": by_pyarrow,
    "files of DuckDB": by_duckdb,
    "files of Polars": by_polars,
}
