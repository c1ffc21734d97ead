"""Decoded column chunks, kept in a byte-bounded cache: the second look at a row group costs nothing."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Iterable, Sequence
from pathlib import Path

import psutil
import pyarrow as pa

from core.errors import FileProblem
from core.scan.footers import Footer, unchanged, unreadable
from core.scan.paths import project, type_at
from core.scan.snapshot import Column, FileSegment

Leaf = tuple[str, ...]
"""A column of a file by its name, or a field inside one by the names that lead to it."""
ChunkKey = tuple[Footer, int, Leaf]
"""By the footer itself: a file that changes gets another one."""

DEFAULT_CACHE_BYTES = min(2 << 30, psutil.virtual_memory().total // 4)
MOST_BROWSED_BYTES = 128 << 20


class ChunkCache:
    """Least recently used column chunks by (footer, row group, column). Any thread."""

    def __init__(self, max_bytes: int = 0) -> None:
        self.max_bytes = max_bytes
        self.held_bytes = 0
        self._chunks: OrderedDict[ChunkKey, pa.ChunkedArray] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, keys: Iterable[ChunkKey]) -> list[pa.ChunkedArray | None]:
        with self._lock:
            return [self._used(key) for key in keys]

    def put(self, chunks: Iterable[tuple[ChunkKey, pa.ChunkedArray]]) -> None:
        with self._lock:
            for key, chunk in chunks:
                if key not in self._chunks and chunk.nbytes <= self.max_bytes // 2:
                    self._chunks[key] = chunk
                    self.held_bytes += chunk.nbytes
            self._make_room()

    def resize(self, max_bytes: int) -> None:
        with self._lock:
            self.max_bytes = max_bytes
            self._make_room()

    def _used(self, key: ChunkKey) -> pa.ChunkedArray | None:
        chunk = self._chunks.get(key)
        if chunk is not None:
            self._chunks.move_to_end(key)
        return chunk

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

    What had to be decoded is kept in `into`; None keeps nothing.
    """
    told = unchanged(segment)
    leaves = [_leaf(segment, told, column) for column in columns]
    keys = [(told, row_group, leaf) for leaf in leaves if leaf is not None]
    found = {key: chunk for key, chunk in _kept(keys, into) if chunk is not None}
    missing = list(dict.fromkeys(key for key in keys if key not in found))
    if missing:
        decoded = decode(told, [row_group], [leaf for _, _, leaf in missing])
        fresh = list(zip(missing, decoded, strict=True))
        found.update(fresh)
        if into is not None:
            into.put(fresh)
    rows = told.metadata.row_group(row_group).num_rows
    chunks = [None if leaf is None else found[told, row_group, leaf] for leaf in leaves]
    return [_typed(chunk, column, rows, segment.path) for chunk, column in zip(chunks, columns, strict=True)]


def run_chunks(
    segment: FileSegment, row_groups: Sequence[int], columns: Sequence[Column]
) -> tuple[list[pa.ChunkedArray], list[bool]]:
    """The columns of several row groups, laid end to end; nothing is kept.

    Second, for each: whether nobody else holds its memory, so that it may be written to.
    """
    told = unchanged(segment)
    leaves = [_leaf(segment, told, column) for column in columns]
    shared = _kept_whole(told, row_groups, leaves)
    missing = list(dict.fromkeys(leaf for leaf in leaves if leaf is not None and leaf not in shared))
    fresh = dict(zip(missing, decode(told, row_groups, missing), strict=True)) if missing else {}
    rows = sum(told.metadata.row_group(group).num_rows for group in row_groups)
    chunks = [None if leaf is None else fresh.get(leaf, shared.get(leaf)) for leaf in leaves]
    typed = [_typed(chunk, column, rows, segment.path) for chunk, column in zip(chunks, columns, strict=True)]
    times = Counter(leaves)
    own = [leaf in fresh and times[leaf] == len(leaf) == 1 for leaf in leaves]
    return typed, own


def decode(told: Footer, row_groups: Sequence[int], leaves: Sequence[Leaf]) -> list[pa.ChunkedArray]:
    """These columns of these row groups, into fresh memory; of a nested column only the fields asked for."""
    names = [".".join(leaf) for leaf in leaves]
    try:
        with told.open() as file:
            read = file.read_row_groups(list(row_groups), columns=names, use_threads=len(names) > 1)
    except (OSError, pa.ArrowInvalid) as error:
        raise unreadable(told.path, error) from error
    return [project(read.column(leaf[0]), leaf[1:]) for leaf in leaves]


def _leaf(segment: FileSegment, told: Footer, column: Column) -> Leaf | None:
    name = segment.names.get(column.key)
    if name is None or not column.path:
        return None if name is None else (name,)
    there = type_at(told.schema.field(name).type, column.path)
    return None if there is None else (name, *column.path)


def _kept(
    keys: Sequence[ChunkKey], into: ChunkCache | None
) -> Iterable[tuple[ChunkKey, pa.ChunkedArray | None]]:
    found = cache.get(keys)
    if into is not None and into is not cache and None in found:
        found = [a if a is not None else b for a, b in zip(found, into.get(keys), strict=True)]
    return zip(keys, found, strict=True)


def _kept_whole(
    told: Footer, row_groups: Sequence[int], leaves: Iterable[Leaf | None]
) -> dict[Leaf, pa.ChunkedArray]:
    """The columns of which every one of these row groups is in the cache."""
    whole = {}
    for leaf in dict.fromkeys(leaf for leaf in leaves if leaf is not None):
        chunks = cache.get((told, group, leaf) for group in row_groups)
        if all(chunk is not None for chunk in chunks):
            parts = [part for chunk in chunks if chunk is not None for part in chunk.chunks]
            whole[leaf] = pa.chunked_array(parts, parts[0].type)
    return whole


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
