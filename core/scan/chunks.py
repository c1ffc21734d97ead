"""Columns of row groups, decoded: what is kept of them makes the second look cost nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow as pa

from core.errors import FileProblem
from core.scan.caches import ChunkCache, ChunkKey, Leaf, cache
from core.scan.footers import Footer, unchanged, unreadable
from core.scan.paths import project, type_at
from core.scan.snapshot import Column, FileSegment


def column_chunks(
    segment: FileSegment, row_group: int, columns: Sequence[Column], into: ChunkCache | None = cache
) -> list[pa.ChunkedArray]:
    """The columns of one row group, of the columns' types; null where the file lacks a column.

    What had to be decoded is kept in `into`; None keeps nothing.
    """
    told = unchanged(segment)
    leaves = [leaf_of(segment, told, column) for column in columns]
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
    return [typed(chunk, column, rows, segment.path) for chunk, column in zip(chunks, columns, strict=True)]


def run_chunks(
    segment: FileSegment, row_groups: Sequence[int], columns: Sequence[Column]
) -> tuple[list[pa.ChunkedArray], list[bool]]:
    """The columns of several row groups, laid end to end; nothing is kept.

    Second, for each: whether nobody else holds its memory, so that it may be written to.
    """
    told = unchanged(segment)
    leaves = [leaf_of(segment, told, column) for column in columns]
    shared = _kept_whole(told, row_groups, leaves)
    missing = list(dict.fromkeys(leaf for leaf in leaves if leaf is not None and leaf not in shared))
    fresh = dict(zip(missing, decode(told, row_groups, missing), strict=True)) if missing else {}
    rows = sum(told.metadata.row_group(group).num_rows for group in row_groups)
    chunks = [None if leaf is None else fresh.get(leaf, shared.get(leaf)) for leaf in leaves]
    fitting = [
        typed(chunk, column, rows, segment.path) for chunk, column in zip(chunks, columns, strict=True)
    ]
    times = Counter(leaves)
    own = [leaf in fresh and times[leaf] == len(leaf) == 1 for leaf in leaves]
    return fitting, own


def decode(told: Footer, row_groups: Sequence[int], leaves: Sequence[Leaf]) -> list[pa.ChunkedArray]:
    """These columns of these row groups, into fresh memory; of a nested column only the fields asked for."""
    names = [".".join(leaf) for leaf in leaves]
    try:
        with told.open() as file:
            read = file.read_row_groups(list(row_groups), columns=names, use_threads=len(names) > 1)
    except (OSError, pa.ArrowInvalid) as error:
        raise unreadable(told.path, error) from error
    return [project(read.column(leaf[0]), leaf[1:]) for leaf in leaves]


def leaf_of(segment: FileSegment, told: Footer, column: Column) -> Leaf | None:
    """Where the file has the column; None where it lacks it."""
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


def typed(chunk: pa.ChunkedArray | None, column: Column, rows: int, path: Path) -> pa.ChunkedArray:
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
