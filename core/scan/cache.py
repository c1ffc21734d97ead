"""Memory caches of decoded files: column chunks and single rows, limited in bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, Protocol, TypeVar

import numpy as np
import psutil
import pyarrow as pa

from lamella.core.scan.parquet_file import Footer


class HasSize(Protocol):
    @property
    def nbytes(self) -> int: ...


K = TypeVar("K", bound=Hashable)
V = TypeVar("V", bound=HasSize)


class LruCache(Generic[K, V]):
    """A cache that evicts the least recently used values first. Any thread may use it."""

    def __init__(self, max_bytes: int = 0) -> None:
        self.max_bytes = max_bytes
        self.held_bytes = 0
        self._entries: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, keys: Iterable[K]) -> list[V | None]:
        with self._lock:
            return [self._touch(key) for key in keys]

    def put(self, entries: Iterable[tuple[K, V]]) -> None:
        """Add values. One that would take more than half of the cache is not kept."""
        with self._lock:
            for key, value in entries:
                self._drop(key)
                if value.nbytes <= self.max_bytes // 2:
                    self._entries[key] = value
                    self.held_bytes += value.nbytes
            self._make_room()

    def resize(self, max_bytes: int) -> None:
        with self._lock:
            self.max_bytes = max_bytes
            self._make_room()

    def _touch(self, key: K) -> V | None:
        value = self._entries.get(key)
        if value is not None:
            self._entries.move_to_end(key)
        return value

    def _drop(self, key: K) -> None:
        before = self._entries.pop(key, None)
        if before is not None:
            self.held_bytes -= before.nbytes

    def _make_room(self) -> None:
        while self.held_bytes > self.max_bytes:
            self.held_bytes -= self._entries.popitem(last=False)[1].nbytes


Leaf = tuple[str, ...]
"""A column of a file by its name, or a field inside one by the names that lead to it."""
ChunkKey = tuple[Footer, int, Leaf]
"""The footer, the row group and the column; a file that changes gets a new footer."""
RowsKey = tuple[Footer, int, int]
"""The footer, the number of rows, and a hash of their numbers."""

DEFAULT_CACHE_BYTES = min(2 << 30, psutil.virtual_memory().total // 4)
MOST_BROWSED_BYTES = 128 << 20
MOST_ROWS_BYTES = 64 << 20
MOST_CODED_BYTES = 256 << 20
MOST_NUMBERS_BYTES = 128 << 20


@dataclass(frozen=True, eq=False)
class CachedRows:
    """Some rows of a file: their ascending numbers, and their values in some columns."""

    places: np.ndarray
    columns: Mapping[Leaf, pa.ChunkedArray]

    @cached_property
    def nbytes(self) -> int:
        return int(self.places.nbytes + sum(column.nbytes for column in self.columns.values()))


ChunkCache = LruCache[ChunkKey, pa.ChunkedArray]

cache = ChunkCache()
browsing_cache = ChunkCache()
"""For pages that users browse. Small, so that recently used memory is reused: decoding a row group into fresh
memory takes three times as long."""
few_rows = LruCache[RowsKey, CachedRows]()
"""Scattered rows that were read once."""
text_cache = ChunkCache()
"""Dictionary-encoded texts."""
row_numbers = LruCache[tuple[int, int], pa.Int64Array]()
"""Consecutive row numbers, by the first and the count."""


def limit(total_bytes: int) -> None:
    """Limit the bytes of all caches together; a quarter of it, 128 MB at most, is for pages."""
    for_pages = min(MOST_BROWSED_BYTES, total_bytes // 4)
    for_rows = min(MOST_ROWS_BYTES, total_bytes // 8)
    for_texts = min(MOST_CODED_BYTES, total_bytes // 8)
    for_numbers = min(MOST_NUMBERS_BYTES, total_bytes // 16)
    browsing_cache.resize(for_pages)
    few_rows.resize(for_rows)
    text_cache.resize(for_texts)
    row_numbers.resize(for_numbers)
    cache.resize(total_bytes - for_pages - for_rows - for_texts - for_numbers)


limit(DEFAULT_CACHE_BYTES)
