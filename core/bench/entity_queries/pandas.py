"""Questions to entities in a DataFrame of pandas."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from lamella.core.bench.entity_queries.backend import ID, EntityQueries, arrow
from lamella.core.bench.workloads.entity_queries import PAGE, PAGE_ORDER, SORTS

CONDITIONS: dict[str, Callable[[Any], Any]] = {
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

NO_INDEX = {"sort_indexed": "The index of a DataFrame is the labels of its rows, not one of another column"}


class PandasEntityQueries(EntityQueries):
    id = "pandas"
    cannot = NO_INDEX

    @classmethod
    def version(cls) -> str:
        return str(pd.__version__)

    @classmethod
    def describe(cls) -> str:
        return (
            "a DataFrame of Arrow types in memory, read from a Parquet file before the clock runs; columns"
            " opened anew from the file; not durable"
        )

    def fill(self, rows: int) -> None:
        pq.write_table(arrow(rows), self._file)

    def open(self, writing: bool) -> None:
        self._rows = self._read(None)

    def close(self) -> None:
        """What was read is kept by nobody."""

    def count(self) -> int:
        return len(self._rows)

    def find_all(self) -> pd.DataFrame:
        return self._rows.copy()

    def matching(self, name: str) -> pd.DataFrame:
        return self._rows[CONDITIONS[name](self._rows)]

    def named(self, name: str) -> pd.DataFrame:
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
    """By one falling number as its documentation asks for: faster than sorting everything."""
    names = [key.removeprefix("-") for key in keys]
    if keys in (SORTS["sort_number"], PAGE_ORDER):
        return rows.nlargest(count, names)
    return rows.sort_values(names, ascending=[not key.startswith("-") for key in keys], kind="stable").head(
        count
    )
