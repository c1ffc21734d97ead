"""pandas on Parquet files: each query reads what it needs, and a change rewrites the whole file."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from lamella.core.bench.systems.base import Rows, System
from lamella.core.bench.systems.pyarrow import QUERY_COLUMNS
from lamella.core.bench.systems.rows import FrameFile
from lamella.core.bench.workloads import entity_indexes
from lamella.core.bench.workloads.entity_memory import FrameMemory
from lamella.core.bench.workloads.entity_queries import ID, PAGE, PAGE_ORDER, SORTS, EntityQueries, arrow
from lamella.core.bench.workloads.model import Columns, Values, Workload
from lamella.core.bench.workloads.table_rows import BLOCK_ROWS, Row
from lamella.core.bench.workloads.taxi import TRIP_SCHEMA, TaxiSystem
from lamella.core.bench.workloads.transfer import EXCEL_ROWS, NAME, SCHEMA, FrameTransfer
from lamella.core.bench.workloads.user_table import UserTableFile

Changes = tuple[list[int], Rows]


class PandasSystem(System):
    id = "pandas"

    @classmethod
    def version(cls) -> str:
        return str(pd.__version__)


class Pandas(PandasSystem, FrameFile):
    """The labels of the index are the row ids: they number the rows, and stay when other rows are deleted."""

    description = (
        "to_parquet and read_parquet by default (PyArrow, snappy), filters and columns given to "
        "read_parquet; one row needs the whole file, and a change rewrites it; not durable (no sync)"
    )

    def create(self, prepared: Rows) -> None:
        self._write(pd.DataFrame(prepared))

    def fill(self, blocks: Iterable[Columns]) -> None:
        self._write(pd.concat(map(pd.DataFrame, blocks), ignore_index=True))

    def read(self) -> pd.DataFrame:
        return pd.read_parquet(self.path)

    def query(self) -> pd.DataFrame:
        return pd.read_parquet(self.path, filters=[("col1", ">", 100), ("col97", "<", 1000)])

    def find(self) -> pd.DataFrame:
        return pd.read_parquet(self.path, columns=["col0"], filters=[("col0", "==", -1)])

    def get(self, row_id: int) -> pd.Series:
        return self.read().loc[row_id].copy()  # a view would keep the whole frame

    def as_row(self, answer: pd.Series) -> Row:
        row: Row = answer.to_dict()
        return row

    def update(self, prepared: Rows) -> None:
        frame, changes = self.read(), pd.DataFrame(prepared).set_index(self.workload.key)
        self._change(frame, pd.Index(frame[self.workload.key]), changes)

    def prepare_update_by_row_id(self, row_ids: Sequence[int], rows: Rows) -> Changes:
        return list(row_ids), rows

    def update_by_row_id(self, prepared: Changes) -> None:
        numbers, rows = prepared
        frame = self.read()
        self._change(frame, frame.index, pd.DataFrame(rows, index=numbers))

    def delete(self, row_ids: Sequence[int]) -> None:
        self._write(self.read().drop(index=list(row_ids)))

    def blocks(self, answer: pd.DataFrame, names: Sequence[str]) -> Iterator[Sequence[Values]]:
        for start in range(0, len(answer), BLOCK_ROWS):
            part: Any = answer.iloc[start : start + BLOCK_ROWS]
            yield [part[name].to_numpy() for name in names]

    def _change(self, frame: pd.DataFrame, keys: pd.Index, changes: pd.DataFrame) -> None:
        """Change values in place: setting them by labels would split the frame into a block per column."""
        rows, columns = keys.get_indexer(changes.index), frame.columns.get_indexer(changes.columns)
        frame.iloc[rows, columns] = changes.to_numpy()
        self._write(frame)

    def _write(self, frame: pd.DataFrame) -> None:
        self.rewrite(frame.to_parquet)


ENTITY_CONDITIONS: dict[str, Callable[[Any], Any]] = {
    "equality": lambda rows: rows["status"] == "draft",
    "range": lambda rows: rows["views"].between(1_000, 5_000, inclusive="neither"),
    "in": lambda rows: rows["status"].isin(["draft", "review"]),
    "and": lambda rows: (rows["status"] == "draft") & (rows["views"] > 90_000),
    "or": lambda rows: (rows["views"] < 1_000) | (rows["rating"] == 5.0),
    "nested": lambda rows: (
        (rows["profile"].struct.field("city") == "Lagos")
        & ((rows["profile"].struct.field("age") < 30) | (rows["rating"] > 4.0))
    ),
    "regex": lambda rows: rows["name"].str.contains("^amber .*7$"),
}

NO_INDEX = {"sort_indexed": "The index of a DataFrame has the labels of its rows, not values of a column"}


class PandasEntityQueries(PandasSystem, EntityQueries):
    cannot = NO_INDEX
    description = (
        "a DataFrame of Arrow types in memory, read from a Parquet file before timing starts; columns"
        " read again from the file; not durable"
    )

    def fill(self, rows: int) -> None:
        import pyarrow.parquet as pq

        pq.write_table(arrow(rows), self._file)

    def open(self, writing: bool) -> None:
        self._rows = self._read(None)

    def close(self) -> None:
        """Nothing is open."""

    def count(self) -> int:
        return len(self._rows)

    def find_all(self) -> pd.DataFrame:
        return self._rows.copy()

    def matching(self, name: str) -> pd.DataFrame:
        return self._rows[ENTITY_CONDITIONS[name](self._rows)]

    def find_by_name(self, name: str) -> pd.DataFrame:
        return self._rows[self._rows["name"] == name]

    def page(self, keys: Sequence[str], start: int = 0) -> pd.DataFrame:
        return _first(self._rows, keys, start + PAGE).iloc[start:]

    def place_before(self, start: int) -> tuple[Any, ...]:
        last = _first(self._rows, PAGE_ORDER, start).iloc[-1]
        return last["rating"], last[ID]

    def page_after(self, place: tuple[Any, ...] | None) -> pd.DataFrame:
        if place is None:
            return self.page(PAGE_ORDER)
        rating, row_id = place
        ratings = self._rows["rating"]
        behind = (ratings < rating) | ((ratings == rating) & (self._rows[ID] > row_id))
        return _first(self._rows[behind], PAGE_ORDER, PAGE)

    def groups(self) -> pd.DataFrame:
        return self._rows.groupby("status")["views"].agg(["count", "mean"]).reset_index()

    def project(self, names: Sequence[str]) -> pd.DataFrame:
        return self._read(list(names))

    def index_views(self) -> None:
        raise AssertionError(self.cannot["sort_indexed"])

    def as_table(self, answer: pd.DataFrame, names: Sequence[str]) -> pa.Table:
        return pa.Table.from_pandas(answer, preserve_index=False)

    def as_groups(self, answer: pd.DataFrame) -> list[tuple[Any, ...]]:
        return list(answer.itertuples(index=False, name=None))

    def _read(self, names: list[str] | None) -> pd.DataFrame:
        return pd.read_parquet(self._file, columns=names, dtype_backend="pyarrow")

    @property
    def _file(self) -> Path:
        return self.folder / "entities.parquet"


def _first(rows: pd.DataFrame, keys: Sequence[str], count: int) -> pd.DataFrame:
    """Return the first rows. For one descending number, this uses `nlargest` as the documentation of pandas
    recommends: it is faster than sorting everything."""
    names = [key.removeprefix("-") for key in keys]
    if keys in (SORTS["sort_number"], PAGE_ORDER):
        return rows.nlargest(count, names)
    return rows.sort_values(names, ascending=[not key.startswith("-") for key in keys], kind="stable").head(
        count
    )


class PandasMemory(PandasSystem, FrameMemory):
    description = "a DataFrame in memory, read from a Parquet file; not durable (no sync)"

    def result(self, table: str) -> pd.DataFrame:
        return self._frame[self._frame["grp"] == 1]

    def hold(self, table: str) -> pd.DataFrame:
        return pd.read_parquet(self.file(table))

    def numbers(self, answer: pd.DataFrame) -> list[int]:
        numbers: list[int] = answer["number"].tolist()
        return numbers


ITEM_CONDITIONS: dict[str, Callable[[Any, int], Any]] = {
    "equality": lambda frame, owner: frame["owner"] == owner,
    "point": lambda frame, owner: frame["number"] == owner * entity_indexes.ALIKE,
    "range": lambda frame, owner: frame["number"].between(*entity_indexes.numbers_of(owner)),
    "prefix": lambda frame, owner: frame["code"].str.startswith(entity_indexes.beginning_of(owner)),
}


class PandasScans(PandasSystem, entity_indexes.FrameScans):
    cannot = dict.fromkeys(
        entity_indexes.NEED_AN_INDEX,
        "The index of a DataFrame has the labels of its rows, not values of one column among others",
    )
    description = "a DataFrame in memory, read from a Parquet file before timing starts; not durable"

    def open(self, writing: bool) -> None:
        self._items = pd.read_parquet(self.file)

    def find(self, name: str, what: str, owner: int) -> Any:
        meets = ITEM_CONDITIONS[name](self._items, owner)
        return self._items.loc[meets, ["_id"]] if what == entity_indexes.KEYS else self._items[meets]

    def comparable(self, answer: Any, owner: int) -> list[Any]:
        return list(answer.itertuples(index=False, name=None))


_TRIP_PANDAS_TYPES = {pa.int64(): "Int64", pa.float64(): "float64", pa.string(): "str"}
_TIMES = [field.name for field in TRIP_SCHEMA if field.type not in _TRIP_PANDAS_TYPES]


class PandasTaxi(PandasSystem, TaxiSystem):
    """Each text file is in memory as a whole during its import, and so are the columns of a query."""

    description = (
        "a Parquet file for each CSV file, by read_csv with PyArrow's parser; queries read the columns "
        "they need; files not synced, so not durable"
    )

    def __init__(self, folder: Path, workload: Workload) -> None:
        super().__init__(folder, workload)
        import pyarrow.dataset
        import pyarrow.parquet  # noqa: F401 -- pandas imports both when it first reads: not for the timers

    @property
    def _parquet(self) -> Path:
        return self.folder / "trips"

    def fill(self, rows: int) -> None:
        self._parquet.mkdir()
        types = {
            field.name: _TRIP_PANDAS_TYPES[field.type]
            for field in TRIP_SCHEMA
            if field.type in _TRIP_PANDAS_TYPES
        }
        for number, file in enumerate(self.files(rows)):
            frame = pd.read_csv(file, engine="pyarrow", dtype=types, parse_dates=_TIMES)
            frame.to_parquet(self._parquet / f"trips_{number:02}.parquet", index=False)

    def open(self, writing: bool) -> None:
        """Does nothing: each query reads the files."""

    def close(self) -> None:
        """Nothing is open."""

    def ask(self, query: str) -> pd.DataFrame:
        trips = pd.read_parquet(self._parquet, columns=QUERY_COLUMNS[query])
        if query == "Q1":
            return trips.groupby("cab_type", sort=False).size().reset_index()
        people = trips["passenger_count"]
        if query == "Q2":
            return trips.groupby(people, sort=False)["total_amount"].mean().reset_index()
        keys = [people, trips["pickup_datetime"].dt.year]
        if query == "Q3":
            return trips.groupby(keys, sort=False).size().reset_index()
        # round() would round halves to even
        keys.append(np.floor(trips["trip_distance"] + 0.5))
        groups = trips.groupby(keys, sort=False).size().reset_index(name="trips")
        return groups.sort_values(["pickup_datetime", "trips"], ascending=[True, False])

    def whole_trips(self, ids: Sequence[int]) -> pa.Table:
        trips = pd.read_parquet(
            self._parquet, columns=TRIP_SCHEMA.names, filters=[("trip_id", "in", list(ids))]
        )
        return pa.Table.from_pandas(trips, preserve_index=False)

    def rows_of(self, answer: pd.DataFrame) -> Iterable[Sequence[Any]]:
        return list(answer.itertuples(index=False, name=None))


class PandasUserTable(PandasSystem, UserTableFile):
    file_name = "mine.parquet"
    description = (
        "one Parquet file, columns of Arrow types; filters pushed down; a change rewrites it; not "
        "durable (no sync)"
    )

    def load(self, rows: int) -> None:
        frame = pd.read_parquet(self.table_copy.path, dtype_backend="pyarrow")
        frame.head(rows).to_parquet(self.path, index=False, write_statistics=self.statistics)

    def read(self) -> pd.DataFrame:
        return pd.read_parquet(self.path, dtype_backend="pyarrow")

    def condition(self) -> Any:
        """Return the condition as a filter to push down. Updates use a mask over the frame instead."""
        if self.table_copy.where is None:
            return None
        from lamella.core.bench.workloads.conditions import ArrowExpression, compile_condition

        empty = self.table_copy.schema.empty_table().to_pandas(types_mapper=pd.ArrowDtype)
        self._row_choice(empty)
        return compile_condition(
            self.table_copy.where, ArrowExpression, ArrowExpression.logic, self.table_copy.nan
        )

    def filter(self) -> pd.DataFrame:
        return pd.read_parquet(self.path, dtype_backend="pyarrow", filters=self.condition())

    def update(self) -> None:
        change, frame = self.table_copy.change, self.read()
        assert change is not None
        mask = self._row_choice(frame)
        if change.add:
            frame.loc[mask, change.column] += change.add
        else:
            frame.loc[mask, change.column] = change.text
        self.rewrite(lambda path: frame.to_parquet(path, index=False, write_statistics=self.statistics))

    def as_table(self, answer: pd.DataFrame) -> pa.Table:
        return pa.Table.from_pandas(answer, preserve_index=False)

    def _row_choice(self, frame: pd.DataFrame) -> Any:
        if self.table_copy.where is None:
            return slice(None)

        from lamella.core.bench.workloads.conditions import (
            SeriesOperand,
            Subject,
            compile_condition,
            series_logic,
        )

        def operand(subject: Subject) -> SeriesOperand:
            return SeriesOperand(subject, frame)

        met = compile_condition(self.table_copy.where, operand, series_logic(frame), self.table_copy.nan)
        return met.fillna(False)


class PandasTransfer(PandasSystem, FrameTransfer):
    description = "Parquet files with columns of Arrow types, read as a whole for an export; not synced"

    excel_method = "to_excel"

    def __init__(self, folder: Path, workload: Workload) -> None:
        super().__init__(folder, workload)
        import pyarrow.dataset
        import pyarrow.parquet  # noqa: F401 -- pandas imports both when it first reads: not for the timers

    def import_csv(self, source: Path) -> None:
        frame = pd.read_csv(source, engine="pyarrow", dtype_backend="pyarrow")
        frame.to_parquet(self.own_file("import_csv"), index=False)

    def import_sqlite(self, source: Path) -> None:
        with closing(sqlite3.connect(source)) as connection:
            frame = pd.read_sql(f"SELECT * FROM {NAME}", connection, dtype_backend="pyarrow")
        frame.to_parquet(self.own_file("import_sqlite"), index=False)

    def imported_rows(self, operation: str) -> pa.Table:
        return pa.Table.from_pandas(pd.read_parquet(self.own_file(operation), dtype_backend="pyarrow"))

    def export_parquet(self, target: Path) -> None:
        self._read().to_parquet(target, index=False, compression="zstd")

    def export_csv(self, target: Path) -> None:
        self._read().to_csv(target, index=False)

    def export_sqlite(self, target: Path) -> None:
        with closing(sqlite3.connect(target)) as connection:
            self._read().to_sql(NAME, connection, index=False)

    def export_excel(self, target: Path) -> None:
        self._read().head(EXCEL_ROWS).to_excel(target, index=False, engine="xlsxwriter")

    def _read(self) -> pd.DataFrame:
        return pd.read_parquet(self.own_file("import_csv"), columns=SCHEMA.names, dtype_backend="pyarrow")
