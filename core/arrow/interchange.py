"""Passes rows to other libraries: Arrow's stream interface, and data frames of pandas and Polars."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lamella.core.arrow.types import holds
from lamella.core.errors import LamellaError, TypeConflict
from lamella.core.validation import count_of

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


class ArrowStream:
    """Rows that any library with Arrow's PyCapsule interface can read: `polars.DataFrame(rows)`,
    `pa.table(rows)`, `duckdb.sql("FROM rows")`."""

    @abstractmethod
    def _stream(self) -> pa.RecordBatchReader:
        """All rows, as they are at the call, in bounded memory."""

    @abstractmethod
    def __len__(self) -> int:
        """The number of rows."""

    def __bool__(self) -> bool:
        """Always True, even without rows: `if table:` asks whether there is a table."""
        return True

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html"""
        return self._stream().__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a DataFrame, in memory.

        Integers and booleans with nulls get pandas' nullable types (`Int64`, `boolean`), so that none
        becomes a float. Without nulls they get NumPy's types.
        """
        return data_frame(self._stream().read_all())

    def to_polars(self) -> pl.DataFrame:
        """The rows as a Polars DataFrame, in memory. Raises `LamellaError` if Polars is not installed, and
        `TypeConflict` for a type that it lacks."""
        try:
            import polars as pl
        except ImportError as error:
            raise LamellaError(
                "Polars is not installed", "to_polars returns a Polars DataFrame", "Run: pip install polars"
            ) from error
        reader = self._stream()
        for field in reader.schema:
            if holds(
                field.type, pa.types.is_decimal256
            ):  # Polars panics, which no `except` of errors catches
                raise TypeConflict(
                    f"Polars cannot hold column '{field.name}' of type {field.type}",
                    "Its decimals have at most 38 digits",
                    "Select other columns, or cast it first",
                )
        try:
            return pl.DataFrame(reader)
        except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
            raise TypeConflict(
                "Polars cannot hold these rows", str(error), "Select other columns, or cast them first"
            ) from error


def data_frame(table: pa.Table) -> pd.DataFrame:
    """A pandas DataFrame with exactly the values of `table`: see `ArrowStream.to_pandas`."""
    import pandas as pd

    nullable = {
        pa.int8(): pd.Int8Dtype(), pa.int16(): pd.Int16Dtype(), pa.int32(): pd.Int32Dtype(),
        pa.int64(): pd.Int64Dtype(), pa.uint8(): pd.UInt8Dtype(), pa.uint16(): pd.UInt16Dtype(),
        pa.uint32(): pd.UInt32Dtype(), pa.uint64(): pd.UInt64Dtype(), pa.bool_(): pd.BooleanDtype(),
    }  # fmt: skip
    frame = table.to_pandas()
    for place, column in enumerate(table.columns):
        if column.null_count and column.type in nullable:
            frame.isetitem(place, column.to_pandas(types_mapper=nullable.get))
    return frame


def sized_batches(reader: pa.RecordBatchReader, rows: Any, place: str) -> pa.RecordBatchReader:
    """The same rows in batches of `rows`, the last one smaller. `place` names the rows in errors."""
    size = count_of(rows, f"{place}: batch_size", least=1)
    return pa.RecordBatchReader.from_batches(reader.schema, _resize_batches(reader, size))


def _resize_batches(reader: pa.RecordBatchReader, size: int) -> Iterator[pa.RecordBatch]:
    pending: list[pa.RecordBatch] = []
    num_rows = 0
    for batch in reader:
        start = 0
        while num_rows + len(batch) - start >= size:
            stop = start + size - num_rows
            yield _concatenate([*pending, batch.slice(start, stop - start)])
            start, pending, num_rows = stop, [], 0
        if start < len(batch):
            pending.append(batch.slice(start))
            num_rows += len(batch) - start
    if pending:
        yield _concatenate(pending)


def _concatenate(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)
