"""What is kept in memory of decoded files: column chunks and single rows, within a number of bytes."""

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


class Sized(Protocol):
    @property
    def nbytes(self) -> int: ...


K = TypeVar("K", bound=Hashable)
V = TypeVar("V", bound=Sized)


class LruCache(Generic[K, V]):
    """Values by key; the least recently used ones go first. Any thread."""

    def __init__(self, max_bytes: int = 0) -> None:
        self.max_bytes = max_bytes
        self.held_bytes = 0
        self._entries: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, keys: Iterable[K]) -> list[V | None]:
        with self._lock:
            return [self._touch(key) for key in keys]

    def put(self, entries: Iterable[tuple[K, V]]) -> None:
        """A value that would take more than half of the room is not kept."""
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
"""By the footer itself: a file that changes gets another one."""
RowsKey = tuple[Footer, int, int]
"""Footer, number of rows, and hash of their places."""

DEFAULT_CACHE_BYTES = min(2 << 30, psutil.virtual_memory().total // 4)
MOST_BROWSED_BYTES = 128 << 20
MOST_ROWS_BYTES = 64 << 20
MOST_CODED_BYTES = 256 << 20
MOST_NUMBERS_BYTES = 128 << 20


@dataclass(frozen=True, eq=False)
class CachedRows:
    """Some rows of a file: ascending places, and the values there of some columns."""

    places: np.ndarray
    columns: Mapping[Leaf, pa.ChunkedArray]

    @cached_property
    def nbytes(self) -> int:
        return int(self.places.nbytes + sum(column.nbytes for column in self.columns.values()))


ChunkCache = LruCache[ChunkKey, pa.ChunkedArray]

cache = ChunkCache()
browsed = ChunkCache()
"""For pages that people leaf through. Small, so that memory just used is used again: decoding a row
group into fresh memory takes three times as long."""
few_rows = LruCache[RowsKey, CachedRows]()
"""Scattered rows that were asked for once."""
coded = ChunkCache()
"""Texts as places in dictionaries."""
row_numbers = LruCache[tuple[int, int], pa.Int64Array]()
"""By the first, and how many."""


def limit(total_bytes: int) -> None:
    """What all caches may hold together: at most a quarter of it, and never more than 128 MB, for pages."""
    for_pages = min(MOST_BROWSED_BYTES, total_bytes // 4)
    for_rows = min(MOST_ROWS_BYTES, total_bytes // 8)
    for_texts = min(MOST_CODED_BYTES, total_bytes // 8)
    for_numbers = min(MOST_NUMBERS_BYTES, total_bytes // 16)
    browsed.resize(for_pages)
    few_rows.resize(for_rows)
    coded.resize(for_texts)
    row_numbers.resize(for_numbers)
    cache.resize(total_bytes - for_pages - for_rows - for_texts - for_numbers)


limit(DEFAULT_CACHE_BYTES)
