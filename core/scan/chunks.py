"""Columns of row groups, decoded: what is kept of them makes the second look cost nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext

import numpy as np
import pyarrow as pa

from lamella.core.arrays import take
from lamella.core.errors import FileProblem
from lamella.core.nested import project, type_at
from lamella.core.scan.caches import ChunkCache, ChunkKey, Leaf, cache
from lamella.core.scan.footers import REFUSALS, Footer, unchanged
from lamella.core.scan.open_file import OpenFile
from lamella.core.scan.parallel import each
from lamella.core.scan.snapshot import Column, FileSegment

TEXTS_AT_ONCE = 1 << 16
"""What a thread looks up in dictionaries."""


def column_chunks(
    segment: FileSegment, row_group: int, columns: Sequence[Column], into: ChunkCache | None = cache
) -> list[pa.ChunkedArray]:
    """The columns of one row group, of the columns' types; null where the file lacks a column.

    What had to be decoded is kept in `into`; None keeps nothing.
    """
    return run_chunks(segment, [row_group], columns, into)[0]


def run_chunks(
    segment: FileSegment,
    row_groups: Sequence[int],
    columns: Sequence[Column],
    into: ChunkCache | None,
    file: OpenFile | None = None,
) -> tuple[list[pa.ChunkedArray], list[bool]]:
    """The same of several row groups, laid end to end.

    Second, for each column: whether nobody else holds its memory, so that it may be written to.
    """
    told = unchanged(segment)
    leaves = [leaf_of(segment, told, column) for column in columns]
    found = _kept_whole(told, row_groups, leaves, into)
    missing = list(dict.fromkeys(leaf for leaf in leaves if leaf is not None and leaf not in found))
    if missing:
        decoded = zip(missing, decode(told, row_groups, missing, file), strict=True)
        found.update(decoded)
        if into is not None:
            keep(told, row_groups, ((leaf, found[leaf]) for leaf in missing), into)
    rows = sum(told.row_group_sizes[group] for group in row_groups)
    chunks = [None if leaf is None else found[leaf] for leaf in leaves]
    fitting = [typed(chunk, c, rows, segment) for chunk, c in zip(chunks, columns, strict=True)]
    times, fresh = Counter(leaves), set(missing if into is None else ())
    return fitting, [leaf in fresh and times[leaf] == len(leaf) == 1 for leaf in leaves]


def keep(
    told: Footer,
    row_groups: Sequence[int],
    columns: Iterable[tuple[Leaf, pa.ChunkedArray]],
    into: ChunkCache,
    wanted: Callable[[ChunkKey, int], bool] = lambda key, nbytes: True,
) -> None:
    """Put the part of each row group into a cache by itself; `wanted` is asked with its key and size."""
    starts = np.cumsum([0, *(told.row_group_sizes[group] for group in row_groups)]).tolist()
    into.put(
        ((told, group, leaf), chunk.slice(start, stop - start))
        for leaf, chunk in columns
        for group, start, stop in zip(row_groups, starts[:-1], starts[1:], strict=True)
        if wanted((told, group, leaf), chunk.nbytes * (stop - start) // max(1, len(chunk)))
    )


def decode(
    told: Footer, row_groups: Sequence[int], leaves: Sequence[Leaf], file: OpenFile | None = None
) -> list[pa.ChunkedArray]:
    """These columns of these row groups, into fresh memory; of a nested column only the fields asked for.

    `file` is the calling thread's, where it reads more than this.
    """
    names = [".".join(leaf) for leaf in leaves]
    with nullcontext(file) if file else OpenFile() as reader:
        read = reader.read(told, row_groups, names)
    columns = [project(read.column(leaf[0]), leaf[1:]) for leaf in leaves]
    dictionaries = [place for place, column in enumerate(columns) if pa.types.is_dictionary(column.type)]
    coded = [place for place in dictionaries if told.repeats_texts(names[place])]
    try:
        texts = _looked_up([columns[place] for place in coded], reader.alone)
    except (*REFUSALS, IndexError) as error:  # a place that the dictionary of a damaged file does not have
        raise told.unreadable(error) from error
    for place, column in zip(coded, texts, strict=True):
        columns[place] = column
    return columns


def _looked_up(columns: Sequence[pa.ChunkedArray], alone: bool) -> list[pa.ChunkedArray]:
    """Texts instead of their places in dictionaries. `alone`: no other thread decodes, so several look up."""
    if not alone or sum(map(len, columns)) <= TEXTS_AT_ONCE:
        return [column.cast(pa.string()) for column in columns]
    tasks = [part for column in columns for part in _parts(column)]
    found = iter(each(lambda part, _: part.cast(pa.string()).chunks, tasks))
    parts = ([chunk for _ in _parts(column) for chunk in next(found)] for column in columns)
    return [pa.chunked_array(chunks, pa.string()) for chunks in parts]


def _parts(column: pa.ChunkedArray) -> list[pa.ChunkedArray]:
    count = max(1, -(-len(column) // TEXTS_AT_ONCE))
    rows = max(1, -(-len(column) // count))
    return [column.slice(start, rows) for start in range(0, len(column), rows)]


def leaf_of(segment: FileSegment, told: Footer, column: Column) -> Leaf | None:
    """Where the file has the column; None where it lacks it."""
    name = segment.names.get(column.key)
    if name is None or not column.path:
        return None if name is None else (name,)
    there = type_at(told.schema.field(name).type, column.path)
    return None if there is None else (name, *column.path)


def _kept_whole(
    told: Footer, row_groups: Sequence[int], leaves: Iterable[Leaf | None], into: ChunkCache | None
) -> dict[Leaf, pa.ChunkedArray]:
    """The columns of which every one of these row groups is held by a cache."""
    whole = {}
    for leaf in dict.fromkeys(leaf for leaf in leaves if leaf is not None):
        keys = [(told, group, leaf) for group in row_groups]
        chunks = cache.get(keys)
        if into is not None and into is not cache and None in chunks:
            chunks = [a if a is not None else b for a, b in zip(chunks, into.get(keys), strict=True)]
        parts = [part for chunk in chunks if chunk is not None for part in chunk.chunks]
        if not any(chunk is None for chunk in chunks):
            whole[leaf] = chunks[0] if len(chunks) == 1 else pa.chunked_array(parts, parts[0].type)
    return whole


def typed(chunk: pa.ChunkedArray | None, column: Column, rows: int, segment: FileSegment) -> pa.ChunkedArray:
    """The chunk in the column's type; what stands for it where the file has none."""
    if chunk is None:
        constant = segment.constants.get(column.key, pa.nulls(1, column.type))
        return pa.chunked_array([take(constant, np.zeros(rows, np.int64))])
    if chunk.type.equals(column.type):
        return chunk
    try:
        return chunk.cast(column.type)
    except pa.ArrowInvalid as error:
        raise FileProblem(
            segment.path, f"column '{column.name}' does not fit type {column.type}", str(error)
        ) from error
