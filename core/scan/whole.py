"""Whole columns of files, decoded once and kept: for engines that read all of them again and again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

import pyarrow as pa
from pyarrow import types as is_

from lamella.core.jobs import Job
from lamella.core.scan.caches import ChunkCache, cache, coded
from lamella.core.scan.chunks import keep
from lamella.core.scan.footers import REFUSALS, Footer

SHARE = 4
"""One in so many bytes of a cache is for one reader."""
MOST_BYTES = 32 << 20
"""To decode more takes as long as dozens of answers that are read from files; and who cancels waits for a row
group."""


def held(told: Footer, names: Sequence[str]) -> list[pa.ChunkedArray] | None:
    """The columns of these names, as `decode_and_keep` leaves them; None unless all of them are in memory."""
    found = []
    for name in names:
        chunks = _cache_of(told, name).get([(told, group, (name,)) for group in _groups(told)])
        there = [chunk for chunk in chunks if chunk is not None]
        if not there or len(there) < len(chunks):
            return None
        arrays = [array for chunk in there for array in chunk.chunks]
        found.append(pa.chunked_array(arrays, there[0].type))
    return found


def decode_and_keep(told: Footer, names: Sequence[str], job: Job) -> None:
    """Texts that the file has as places in dictionaries are left so: a fraction of the size, and what rows
    are grouped by fastest.

    Raises `FileProblem` for texts that are none: engines trust what they are handed. `Cancelled` is raised
    between row groups.
    """
    verifying = told.needs_verifying(_groups(told), names)
    try:
        with told.open([name for name in names if is_coded(told, name)], verifying) as file:
            for group in _groups(told):
                job.check()
                _keep(told, group, file.read_row_group(group, list(names)))
    except REFUSALS as error:
        raise told.unreadable(error) from error
    if verifying:
        told.record.note_verified(_groups(told), names)


def _keep(told: Footer, group: int, read: pa.Table) -> None:
    for name in read.column_names:
        if _is_text(told, name):
            read.column(name).validate(full=True)
        keep(told, [group], [((name,), read.column(name))], _cache_of(told, name))


def fit(files: Iterable[tuple[Footer, Sequence[str]]]) -> bool:
    """Whether these columns, which are flat, can be kept, and others beside them."""
    sizes = [(_cache_of(told, name), _bytes_of(told, name)) for told, names in files for name in names]
    return sum(size for _, size in sizes) <= MOST_BYTES and all(
        sum(size for one, size in sizes if one is into) <= into.max_bytes // SHARE for into in (cache, coded)
    )


@lru_cache(4096)
def is_flat(told: Footer, name: str) -> bool:
    """Whether the file has a column, and nothing else, of this name, without anything inside it."""
    schema = told.metadata.schema
    return [schema.column(i).path == name for i in range(told.metadata.num_columns)].count(True) == 1


@lru_cache(4096)
def is_coded(told: Footer, name: str) -> bool:
    """Whether every row group has the texts of a column as places in a dictionary."""
    if not is_.is_string(told.schema.field(name).type):
        return False
    place = _place(told, name)
    return all(told.metadata.row_group(group).column(place).has_dictionary_page for group in _groups(told))


def _cache_of(told: Footer, name: str) -> ChunkCache:
    return coded if is_coded(told, name) else cache


@lru_cache(4096)
def _bytes_of(told: Footer, name: str) -> int:
    rows, place = told.num_rows, _place(told, name)
    if not _is_text(told, name):
        return rows * int(told.schema.field(name).type.bit_width) // 8
    chunks = (told.metadata.row_group(group).column(place) for group in _groups(told))
    return 4 * rows + sum(int(chunk.total_uncompressed_size) for chunk in chunks)


def _is_text(told: Footer, name: str) -> bool:
    kind = told.schema.field(name).type
    return bool(is_.is_string(kind) or is_.is_large_string(kind))


def _place(told: Footer, name: str) -> int:
    schema = told.metadata.schema
    return next(i for i in range(told.metadata.num_columns) if schema.column(i).path == name)


def _groups(told: Footer) -> range:
    return range(told.metadata.num_row_groups)
