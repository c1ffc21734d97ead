"""Writes Parquet: one file, or a folder of files partitioned by the values of some columns."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lamella.core.arrow.arrays import take, to_numpy
from lamella.core.arrow.nested_values import no_text
from lamella.core.datasets.partitions import folder_name, types_note
from lamella.core.errors import BadData, TypeConflict
from lamella.core.jobs import Job
from lamella.core.transfer.writer import Rows, Values

CODECS = ("zstd", "snappy", "gzip", "brotli", "lz4", "none")
SAMPLE_ROWS, SAME_VALUES = 20_000, 4
"""A dictionary is worthwhile if each value occurs at least this often."""
MOST_FOLDERS = 10_000
MOST_HELD_ROWS = 500_000
MOST_OPEN_FILES = 100


def write_parquet(path: Path, rows: Rows, values: Values, job: Job) -> None:
    try:
        pq.ParquetWriter(pa.BufferOutputStream(), rows.schema).close()
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise TypeConflict(
            "Parquet cannot hold all of these columns", str(error), "Leave the column out or cast it"
        ) from error
    make = PartitionedFolder if values["partition_by"] else ParquetFile
    with closing(make(path, rows.schema, values)) as writer:
        for table in filter(len, rows.tables):
            writer.write(table)
        writer.finish()


class ParquetFile:
    """Writes row groups of equal size, whatever pieces the rows arrive in."""

    def __init__(self, path: Path, schema: pa.Schema, values: Values) -> None:
        floats = [f.name for f in schema if pa.types.is_floating(f.type)]
        # Parquet's statistics ignore NaN, so readers that prune by them lose rows: floats get none.
        with_statistics = [f.name for f in schema if f.name not in floats] if floats else True
        self._path, self._schema, self._buffer = path, schema, list[pa.Table]()
        self._group_rows, self._rows = values["row_group_rows"], 0
        self._codec, self._statistics = values["codec"], with_statistics
        self._writer: pq.ParquetWriter | None = None

    def write(self, rows: pa.Table) -> None:
        self._buffer.append(rows)
        self._rows += len(rows)
        while self._rows >= self._group_rows:
            whole = pa.concat_tables(self._buffer)
            self._write(whole.slice(0, self._group_rows))
            self._buffer = [whole.slice(self._group_rows)]
            self._rows -= self._group_rows

    def finish(self) -> None:
        if self._rows or self._writer is None:
            none = pa.Table.from_batches([], self._schema)
            self._write(pa.concat_tables([none, *self._buffer]))
        self._buffer.clear()
        self._rows = 0

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()

    def _write(self, rows: pa.Table) -> None:
        whole = rows.cast(self._schema)
        if self._writer is None:
            self._writer = pq.ParquetWriter(
                self._path,
                self._schema,
                compression=self._codec,
                write_statistics=self._statistics,
                use_dictionary=_repeating(whole),
            )
        self._writer.write_table(whole, row_group_size=self._group_rows)


def _repeating(rows: pa.Table) -> list[str] | bool:
    """The columns that a dictionary makes smaller, judged by the first rows; others are written in half the
    time without one. Leaves of nested columns have names of their own, so if there are such columns, all get
    one."""
    if any(pa.types.is_nested(field.type) for field in rows.schema):
        return True
    first = rows.slice(0, SAMPLE_ROWS)
    return [
        name
        for name, values in zip(first.column_names, first.columns, strict=True)
        if pa.types.is_dictionary(values.type) or _distinct(values) <= len(first) // SAME_VALUES
    ]


def _distinct(values: pa.ChunkedArray) -> int:
    try:
        return int(pc.count_distinct(values).as_py())
    except pa.ArrowNotImplementedError:
        return len(values)


class PartitionedFolder:
    """Writes `key=value/part-0.parquet`. A partition has several parts if too many files would be open at
    once."""

    def __init__(self, path: Path, schema: pa.Schema, values: Values) -> None:
        by = values["partition_by"]
        self._path, self._by, self._values = path, list(by), values
        for name in by:
            _refuse_type(schema.field(name))
        fields = [field for field in schema if field.name not in by]
        if not fields:
            raise BadData("no column is left for the files", fix="Partition by fewer columns")
        note = types_note([schema.field(name) for name in by])
        self._schema = pa.schema(fields, (schema.metadata or {}) | note)
        self._buffers: dict[str, list[pa.Table]] = {}
        self._rows: Counter[str] = Counter()
        self._parts: Counter[str] = Counter()
        self._open: OrderedDict[str, ParquetFile] = OrderedDict()
        path.mkdir()

    def write(self, rows: pa.Table) -> None:
        values = rows.select(self._schema.names)
        for folder, places in self._folders(rows):
            self._buffers.setdefault(folder, []).append(take(values, places))
            self._rows[folder] += len(places)
        if len(self._buffers.keys() | self._parts.keys()) > MOST_FOLDERS:
            raise self._too_many_error()
        while self._rows.total() > MOST_HELD_ROWS:
            self._flush(self._rows.most_common(1)[0][0])

    def finish(self) -> None:
        for folder in sorted(self._buffers):
            self._flush(folder)
        if not self._parts:
            self._file("").finish()

    def close(self) -> None:
        while self._open:
            self._open.popitem()[1].close()

    def _folders(self, rows: pa.Table) -> Iterator[tuple[str, np.ndarray]]:
        """Yield each folder that some of the rows belong to, and the indices of these rows."""
        codes, names = np.zeros(len(rows), np.int64), [""]
        for column in self._by:
            encoded = rows.column(column).combine_chunks().dictionary_encode()
            own = [folder_name(column, value) for value in [*_values(column, encoded.dictionary), None]]
            valid = to_numpy(encoded.indices.is_valid())
            index = np.where(valid, to_numpy(encoded.indices), len(own) - 1)
            folders, codes = np.unique(codes * len(own) + index, return_inverse=True)
            names = [str(Path(names[code // len(own)], own[code % len(own)])) for code in folders.tolist()]
        order = np.argsort(codes, kind="stable")
        ends = np.cumsum(np.bincount(codes, minlength=len(names)))
        yield from zip(names, np.split(order, ends[:-1]), strict=True)

    def _flush(self, folder: str) -> None:
        rows = pa.concat_tables(self._buffers.pop(folder))
        del self._rows[folder]
        file = self._file(folder)
        file.write(rows)
        file.finish()

    def _file(self, folder: str) -> ParquetFile:
        if folder not in self._open:
            if len(self._open) >= MOST_OPEN_FILES:
                self._open.popitem(last=False)[1].close()
            (self._path / folder).mkdir(parents=True, exist_ok=True)
            path = self._path / folder / f"part-{self._parts[folder]}.parquet"
            self._parts[folder] += 1
            self._open[folder] = ParquetFile(path, self._schema, self._values)
        self._open.move_to_end(folder)
        return self._open[folder]

    def _too_many_error(self) -> BadData:
        return BadData(
            f"partitioning by {', '.join(self._by)} would make more than {MOST_FOLDERS:,} folders",
            fix="Partition by columns with fewer values",
        )


def _values(column: str, values: pa.Array) -> list[Any]:
    """The values for the names of folders."""
    try:
        items: list[Any] = values.to_pylist()
    except UnicodeDecodeError as error:
        raise no_text(f"Text of column '{column}'", error) from error
    except OverflowError as error:
        raise BadData(
            f"column '{column}' holds times that cannot be names of folders",
            f"They are not between the years 1 and 9999: {error}",
            "Leave these rows out, or partition by another column",
        ) from error
    return items


def _refuse_type(field: pa.Field) -> None:
    plain = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    texts = pa.types.is_string(plain) or pa.types.is_large_string(plain) or pa.types.is_decimal(plain)
    if not (texts or pa.types.is_primitive(plain)) or pa.types.is_duration(plain):
        raise TypeConflict(
            f"column '{field.name}' of type {field.type} cannot be used for names of folders",
            fix="Partition by text, numbers, dates or times",
        )
