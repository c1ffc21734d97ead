"""Decoded column chunks, kept in a byte-bounded cache: the second look at a row group costs nothing."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

import psutil
import pyarrow as pa

from core.errors import FileProblem
from core.scan.footers import Footer, unchanged, unreadable
from core.scan.snapshot import Column, FileSegment

ChunkKey = tuple[Path, tuple[int, int], int, str]

DEFAULT_CACHE_BYTES = min(2 << 30, psutil.virtual_memory().total // 4)
MOST_BROWSED_BYTES = 128 << 20


class ChunkCache:
    """Least recently used column chunks by (path, fingerprint, row group, column). Any thread."""

    def __init__(self, max_bytes: int = 0) -> None:
        self.max_bytes = max_bytes
        self.held_bytes = 0
        self._chunks: OrderedDict[ChunkKey, pa.ChunkedArray] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: ChunkKey) -> pa.ChunkedArray | None:
        with self._lock:
            chunk = self._chunks.get(key)
            if chunk is not None:
                self._chunks.move_to_end(key)
            return chunk

    def put(self, key: ChunkKey, chunk: pa.ChunkedArray) -> None:
        with self._lock:
            if key not in self._chunks and chunk.nbytes <= self.max_bytes // 2:
                self._chunks[key] = chunk
                self.held_bytes += chunk.nbytes
            self._make_room()

    def resize(self, max_bytes: int) -> None:
        with self._lock:
            self.max_bytes = max_bytes
            self._make_room()

    def _make_room(self) -> None:
        while self.held_bytes > self.max_bytes:
            self.held_bytes -= self._chunks.popitem(last=False)[1].nbytes


cache = ChunkCache()
browsed = ChunkCache()
"""For pages that people leaf through. Small, so that memory just used is used again: decoding a row
group into fresh memory takes three times as long."""


def limit(total_bytes: int) -> None:
    """What both caches may hold together: at most a quarter of it, and never more than 128 MB, for pages."""
    for_pages = min(MOST_BROWSED_BYTES, total_bytes // 4)
    browsed.resize(for_pages)
    cache.resize(total_bytes - for_pages)


limit(DEFAULT_CACHE_BYTES)


def column_chunks(
    segment: FileSegment, row_group: int, columns: Sequence[Column], into: ChunkCache | None = cache
) -> list[pa.ChunkedArray]:
    """The columns of one row group, of the columns' types; null where the file lacks a column.

    What had to be decoded is kept in `into`; None, for passes over everything, keeps nothing.
    """
    told = unchanged(segment)
    chunks = _stored_chunks(told, row_group, [segment.names.get(c.key) for c in columns], into)
    rows = told.metadata.row_group(row_group).num_rows
    return [_typed(chunk, column, rows, segment.path) for chunk, column in zip(chunks, columns, strict=True)]


def _stored_chunks(
    told: Footer, row_group: int, names: Sequence[str | None], into: ChunkCache | None
) -> list[pa.ChunkedArray | None]:
    keys = [None if n is None else (told.path, told.fingerprint, row_group, n) for n in names]
    found = {key: _kept(key, into) for key in keys if key is not None}
    missing = [key for key, chunk in found.items() if chunk is None]
    if missing:
        decoded = _decode(told, row_group, [key[3] for key in missing])
        for key in missing:
            found[key] = chunk = decoded.column(key[3])
            if into is not None:
                into.put(key, chunk)
    return [None if key is None else found[key] for key in keys]


def _kept(key: ChunkKey, into: ChunkCache | None) -> pa.ChunkedArray | None:
    chunk = cache.get(key)
    return into.get(key) if chunk is None and into is not None else chunk


def _decode(told: Footer, row_group: int, names: list[str]) -> pa.Table:
    try:
        with told.open() as file:
            return file.read_row_group(row_group, columns=names, use_threads=len(names) > 1)
    except (OSError, pa.ArrowInvalid) as error:
        raise unreadable(told.path, error) from error


def _typed(chunk: pa.ChunkedArray | None, column: Column, rows: int, path: Path) -> pa.ChunkedArray:
    if chunk is None:
        return pa.chunked_array([pa.nulls(rows, column.type)])
    if chunk.type.equals(column.type):
        return chunk
    try:
        return chunk.cast(column.type)
    except pa.ArrowInvalid as error:
        raise FileProblem(
            path, f"column '{column.name}' does not fit type {column.type}", str(error)
        ) from error
