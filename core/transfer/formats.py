"""ONE table of the formats that rows are exported to, each written a table at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from lamella.core.arrow.documents import whole
from lamella.core.arrow.nested import json_text, python_rows, python_values
from lamella.core.errors import TypeConflict

ROWS_A_GROUP = 100_000
ROWS_A_STEP = 10_000


class Writer(Protocol):
    """`finish` once all rows are written; `close` in any case, which lets go of what is not finished."""

    def write(self, rows: pa.Table) -> None: ...

    def finish(self) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class Format:
    id: str
    suffixes: tuple[str, ...]
    open: Callable[[Path, pa.Schema], Writer]


class ParquetFile:
    """Row groups of 100,000 rows, whatever pieces they come in."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        floats = [f.name for f in schema if pa.types.is_floating(f.type)]
        # Parquet's statistics ignore NaN, so readers that prune by them lose rows: floats get none.
        others = [f.name for f in schema if f.name not in floats] if floats else True
        self._schema, self._buffer = schema, list[pa.Table]()
        self._writer = pq.ParquetWriter(path, schema, compression="zstd", write_statistics=others)

    def write(self, rows: pa.Table) -> None:
        self._buffer.append(rows)
        while sum(map(len, self._buffer)) >= ROWS_A_GROUP:
            whole = pa.concat_tables(self._buffer)
            self._write(whole.slice(0, ROWS_A_GROUP))
            self._buffer = [whole.slice(ROWS_A_GROUP)]

    def finish(self) -> None:
        if any(map(len, self._buffer)):
            self._write(pa.concat_tables(self._buffer))
            self._buffer.clear()

    def close(self) -> None:
        self._writer.close()

    def _write(self, rows: pa.Table) -> None:
        self._writer.write_table(rows.cast(self._schema), row_group_size=ROWS_A_GROUP)


class DelimitedText:
    """A header and a line for each row. Null is nothing between two signs, empty text is `""`."""

    def __init__(self, path: Path, schema: pa.Schema, delimiter: str) -> None:
        from pyarrow import csv

        self._schema = pa.schema([pa.field(f.name, _written_as(f)) for f in schema])
        options = csv.WriteOptions(delimiter=delimiter, quoting_style="needed")
        self._writer = csv.CSVWriter(path, self._schema, write_options=options)

    def write(self, rows: pa.Table) -> None:
        columns = [_as_text(c, f.type) for c, f in zip(rows.columns, self._schema, strict=True)]
        self._writer.write_table(pa.Table.from_arrays(columns, schema=self._schema))

    def finish(self) -> None:
        """Every row is on its way already."""

    def close(self) -> None:
        self._writer.close()


class JsonLines:
    """An object for each row. JSON has no NaN and no infinity: they become their names. Dicts are whole."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._file = path.open("w", encoding="utf-8", newline="\n")

    def write(self, rows: pa.Table) -> None:
        for batch in rows.to_batches(max_chunksize=ROWS_A_STEP):
            self._file.writelines(f"{_line(row)}\n" for row in python_rows(batch))

    def finish(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.close()


FORMATS = (
    Format("parquet", (".parquet", ".parq", ".pq"), ParquetFile),
    Format("csv", (".csv",), lambda path, schema: DelimitedText(path, schema, ",")),
    Format("tsv", (".tsv", ".tab"), lambda path, schema: DelimitedText(path, schema, "\t")),
    Format("jsonl", (".jsonl", ".ndjson"), JsonLines),
)


def _written_as(field: pa.Field) -> pa.DataType:
    if pa.types.is_nested(field.type) or pa.types.is_binary(field.type):
        return pa.string()
    if pa.types.is_dictionary(field.type):
        return field.type.value_type
    if not (pa.types.is_primitive(field.type) or _is_plain_text(field.type)):
        raise TypeConflict(
            f"column '{field.name}' of type {field.type} cannot be written as text",
            fix="Leave the column out, cast it, or export to Parquet",
        )
    return field.type


def _is_plain_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_decimal(kind))


def _as_text(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Nested values as JSON, bytes as hexadecimal digits."""
    if pa.types.is_nested(column.type) or pa.types.is_binary(column.type):
        values = (
            None if v is None else v.hex() if isinstance(v, bytes) else json_text(whole(v))
            for v in python_values(column)
        )
        return pa.chunked_array([pa.array(values, pa.string())])
    return column.cast(kind)


def _line(row: dict[str, Any]) -> str:
    return json_text({name: whole(value) for name, value in row.items()})
