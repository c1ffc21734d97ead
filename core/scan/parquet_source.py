"""Opens Parquet files for Arrow, local or remote; of remote ones, the chunks needed are fetched at once."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lamella.core.remote.paths import RemotePath


def open_parquet(path: Path, **options: Any) -> pq.ParquetFile:
    """Open a Parquet file; `options` are pyarrow's. Raises what pyarrow raises, and `FileProblem` for a
    remote file."""
    if isinstance(path, RemotePath):
        return RemoteParquetFile(path, **options)
    return pq.ParquetFile(pa.OSFile(str(path)), **options)  # passing a path would double the cost


class RemoteParquetFile(pq.ParquetFile):  # type: ignore[misc] # pyarrow ships no types
    """A remote Parquet file. Each read is a request to the server, and several concurrent ones take no longer
    than one, so the chunks of a row group are fetched together, and nothing else of the file."""

    def __init__(self, path: RemotePath, **options: Any) -> None:
        from lamella.core.remote.files import files

        self._remote = files.file(path.address)
        super().__init__(pa.PythonFile(self._remote, "r"), **options)

    def read_row_groups(self, row_groups: Sequence[int], columns: Any = None, **options: Any) -> pa.Table:
        with self._prefetch(row_groups, columns):
            return super().read_row_groups(row_groups, columns=columns, **options)

    def read_row_group(self, i: int, columns: Any = None, **options: Any) -> pa.Table:
        with self._prefetch([i], columns):
            return super().read_row_group(i, columns=columns, **options)

    @contextmanager
    def _prefetch(self, row_groups: Sequence[int], columns: Sequence[str] | None) -> Iterator[None]:
        metadata = self.metadata
        paths = [metadata.schema.column(leaf).path for leaf in range(metadata.num_columns)]
        leaves = range(len(paths)) if columns is None else _leaves(paths, columns)
        self._remote.prefetch(chunk_ranges(metadata, row_groups, leaves))
        try:
            yield
        finally:
            self._remote.release()


def _leaves(paths: Sequence[str], columns: Sequence[str]) -> list[int]:
    """The leaf indices of columns, or of fields inside them, given by their paths."""
    names = set(columns)
    beginnings = tuple(f"{name}." for name in names)
    return [leaf for leaf, path in enumerate(paths) if path in names or path.startswith(beginnings)]


def chunk_ranges(
    metadata: pq.FileMetaData, row_groups: Iterable[int], leaves: Iterable[int]
) -> list[tuple[int, int]]:
    """The byte ranges of the chunks of leaves, by the footer."""
    leaves = list(leaves)
    ranges = []
    for group in map(metadata.row_group, row_groups):
        for leaf in leaves:
            chunk = group.column(leaf)
            start = chunk.data_page_offset
            if chunk.has_dictionary_page and chunk.dictionary_page_offset:
                start = min(start, chunk.dictionary_page_offset)
            ranges.append((start, start + chunk.total_compressed_size))
    return ranges


def footer_bytes(path: Path) -> int:
    """The length of the footer, from the file's last bytes."""
    with path.open("rb", buffering=0) as file:
        file.seek(-8, os.SEEK_END)
        return int.from_bytes(file.read(4), "little")
