"""The copy of a table that a race is about, as every child process finds it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lamella.core.filters import Filter, bind, from_json

BATCH_ROWS = 65_536


@dataclass(frozen=True)
class Change:
    """What an update does to `column` in the rows that match: `add` to it, or `set` it to a text."""

    column: str
    add: int | None = None
    text: str = ""


@dataclass(frozen=True)
class Copied:
    """A Parquet file of plain types. `condition` is a filter as JSON; `nan` names the columns with a NaN in
    them."""

    path: Path
    name: str
    rows: int
    condition: Any
    change: Change | None
    nan: tuple[str, ...]

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Copied:
        """From a workload's options, as `options` makes them."""
        change = options["change"]
        return cls(
            path=Path(options["path"]),
            name=options["name"],
            rows=options["rows"],
            condition=options["where"],
            change=Change(**change) if change else None,
            nan=tuple(options["nan"]),
        )

    @property
    def options(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self) | {"path": str(self.path), "nan": list(self.nan), "where": self.condition}

    @cached_property
    def schema(self) -> pa.Schema:
        return pq.read_schema(self.path).remove_metadata()

    @cached_property
    def where(self) -> Filter | None:
        """Bound to the copy's columns."""
        return None if self.condition is None else bind(from_json(self.condition), self.schema, self.name)

    def batches(self, rows: int) -> Iterator[pa.RecordBatch]:
        """The first so many rows, streamed."""
        left = rows
        with pq.ParquetFile(self.path) as file:
            for batch in file.iter_batches(min(BATCH_ROWS, max(1, rows))):
                yield batch.slice(0, left).cast(self.schema)
                left -= batch.num_rows
                if left <= 0:
                    return

    def reader(self, rows: int) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(self.schema, self.batches(rows))
