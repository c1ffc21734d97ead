"""Rows spread over folders by the values of some columns, in bounded memory and with few open files."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from lamella.core.arrays import take, to_numpy
from lamella.core.datasets.hive import folder_name, types_note
from lamella.core.errors import BadData, TypeConflict
from lamella.core.transfer.export_formats import ParquetFile

MOST_FOLDERS = 10_000
MOST_HELD_ROWS = 500_000
MOST_OPEN_FILES = 100


class PartitionedFolder:
    """`key=value/part-0.parquet`. A partition has more parts where too many files would be open at once."""

    def __init__(self, path: Path, schema: pa.Schema, by: Sequence[str]) -> None:
        self._path, self._by = path, list(by)
        for name in by:
            _refuse_type(schema.field(name))
        others = [field for field in schema if field.name not in by]
        if not others:
            raise BadData("no column is left for the files", fix="Partition by fewer columns")
        note = types_note([schema.field(name) for name in by])
        self._schema = pa.schema(others, (schema.metadata or {}) | note)
        self._held: dict[str, list[pa.Table]] = {}
        self._rows: Counter[str] = Counter()
        self._parts: Counter[str] = Counter()
        self._open: OrderedDict[str, ParquetFile] = OrderedDict()
        path.mkdir()

    def write(self, rows: pa.Table) -> None:
        values = rows.select(self._schema.names)
        for folder, places in self._folders(rows):
            self._held.setdefault(folder, []).append(take(values, places))
            self._rows[folder] += len(places)
        if len(self._held.keys() | self._parts.keys()) > MOST_FOLDERS:
            raise self._too_many()
        while self._rows.total() > MOST_HELD_ROWS:
            self._flush(self._rows.most_common(1)[0][0])

    def finish(self) -> None:
        for folder in sorted(self._held):
            self._flush(folder)
        if not self._parts:
            self._file("")

    def close(self) -> None:
        while self._open:
            self._open.popitem()[1].close()

    def _folders(self, rows: pa.Table) -> Iterator[tuple[str, np.ndarray]]:
        """Each folder that some of the rows belong in, and their places."""
        codes, names = np.zeros(len(rows), np.int64), [""]
        for column in self._by:
            encoded = rows.column(column).combine_chunks().dictionary_encode()
            own = [folder_name(column, value) for value in [*encoded.dictionary.to_pylist(), None]]
            valid = to_numpy(encoded.indices.is_valid())
            index = np.where(valid, to_numpy(encoded.indices), len(own) - 1)
            found, codes = np.unique(codes * len(own) + index, return_inverse=True)
            names = [str(Path(names[code // len(own)], own[code % len(own)])) for code in found.tolist()]
        order = np.argsort(codes, kind="stable")
        ends = np.cumsum(np.bincount(codes, minlength=len(names)))
        yield from zip(names, np.split(order, ends[:-1]), strict=True)

    def _flush(self, folder: str) -> None:
        rows = pa.concat_tables(self._held.pop(folder))
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
            self._open[folder] = ParquetFile(path, self._schema)
        self._open.move_to_end(folder)
        return self._open[folder]

    def _too_many(self) -> BadData:
        return BadData(
            f"partitioning by {', '.join(self._by)} would make more than {MOST_FOLDERS:,} folders",
            fix="Partition by columns of fewer values",
        )


def _refuse_type(field: pa.Field) -> None:
    plain = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    texts = pa.types.is_string(plain) or pa.types.is_large_string(plain) or pa.types.is_decimal(plain)
    if not (texts or pa.types.is_primitive(plain)) or pa.types.is_duration(plain):
        raise TypeConflict(
            f"column '{field.name}' of type {field.type} cannot name folders",
            fix="Partition by text, numbers, dates or times",
        )
