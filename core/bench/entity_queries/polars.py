"""Questions to entities in a DataFrame of Polars."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from lamella.core.bench.entity_queries.backend import ID, EntityQueries, arrow
from lamella.core.bench.workloads.entity_queries import PAGE, PAGE_ORDER

CITY, AGE = (pl.col("profile").struct.field(name) for name in ("city", "age"))
CONDITIONS = {
    "equality": pl.col("status") == "draft",
    "range": pl.col("views").is_between(1_000, 5_000, closed="none"),
    "in": pl.col("status").is_in(["draft", "review"]),
    "and": (pl.col("status") == "draft") & (pl.col("views") > 90_000),
    "or": (pl.col("views") < 1_000) | (pl.col("rating") == 5.0),
    "nested": (CITY == "Lagos") & ((AGE < 30) | (pl.col("rating") > 4.0)),
    "regex": pl.col("name").str.contains("^amber .*7$"),
}

NO_INDEX = {"sort_indexed": "Polars has no indexes"}


class PolarsEntityQueries(EntityQueries):
    id = "polars"
    cannot = NO_INDEX

    @classmethod
    def version(cls) -> str:
        return pl.__version__

    @classmethod
    def describe(cls) -> str:
        return (
            "a DataFrame in memory, read from its Parquet file before the clock runs, asked lazily; columns"
            " opened anew by a scan of the file; not durable"
        )

    def fill(self, rows: int) -> None:
        pl.DataFrame(arrow(rows)).write_parquet(self._file)

    def open(self, writing: bool) -> None:
        self._rows = pl.read_parquet(self._file).lazy()

    def close(self) -> None:
        """What was read is kept by nobody."""

    def count(self) -> int:
        return int(self._rows.select(pl.len()).collect().item())

    def find_all(self) -> pl.DataFrame:
        return self._rows.collect()

    def matching(self, name: str) -> pl.DataFrame:
        return self._rows.filter(CONDITIONS[name]).collect()

    def named(self, name: str) -> pl.DataFrame:
        return self._rows.filter(pl.col("name") == name).collect()

    def page(self, keys: Sequence[str], start: int = 0) -> pl.DataFrame:
        return _ordered(self._rows, keys).slice(start, PAGE).collect()

    def place_before(self, start: int) -> tuple[Any, ...]:
        return _ordered(self._rows, PAGE_ORDER).slice(start - 1, 1).select("rating", ID).collect().row(0)

    def page_after(self, place: tuple[Any, ...] | None) -> pl.DataFrame:
        if place is None:
            return self.page(PAGE_ORDER)
        rating, row_id = place
        behind = (pl.col("rating") < rating) | ((pl.col("rating") == rating) & (pl.col(ID) > row_id))
        return _ordered(self._rows.filter(behind), PAGE_ORDER).head(PAGE).collect()

    def groups(self) -> pl.DataFrame:
        return self._rows.group_by("status").agg(pl.len(), pl.col("views").mean()).collect()

    def project(self, names: Sequence[str]) -> pl.DataFrame:
        return pl.scan_parquet(self._file).select(names).collect()

    def index_views(self) -> None:
        raise AssertionError(self.cannot["sort_indexed"])

    def as_table(self, answer: pl.DataFrame, names: Sequence[str]) -> pa.Table:
        return answer.to_arrow(compat_level=pl.CompatLevel.oldest())

    def as_groups(self, answer: pl.DataFrame) -> list[tuple[Any, ...]]:
        return answer.rows()

    @property
    def _file(self) -> Path:
        return self.folder / "entities.parquet"


def _ordered(rows: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    names = [key.removeprefix("-") for key in keys]
    return rows.sort([*names, ID], descending=[*(key.startswith("-") for key in keys), False])
