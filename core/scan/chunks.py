"""Decodes columns of row groups; cached ones cost nothing the second time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import lru_cache

import numpy as np
import pyarrow as pa
from pyarrow import types as is_

from lamella.core.arrow.arrays import take
from lamella.core.arrow.nested_values import project, type_at
from lamella.core.errors import FileProblem, StoreProblem
from lamella.core.jobs import Job
from lamella.core.scan.cache import ChunkCache, ChunkKey, Leaf, cache, text_cache
from lamella.core.scan.logical_types import render
from lamella.core.scan.open_file import OpenFile
from lamella.core.scan.parallel import run_tasks
from lamella.core.scan.parquet_file import REFUSALS, Footer, unchanged_footer
from lamella.core.scan.snapshot import Column, FileSegment

TEXTS_AT_ONCE = 1 << 16
"""The number of dictionary-encoded texts that a thread looks up at once."""


def column_chunks(
    segment: FileSegment, row_group: int, columns: Sequence[Column], into: ChunkCache | None = cache
) -> list[pa.ChunkedArray]:
    """Read the columns of one row group, in the columns' types; null where the file lacks a column.

    What had to be decoded is cached in `into`; None caches nothing.
    """
    return run_chunks(segment, [row_group], columns, into)[0]


def run_chunks(
    segment: FileSegment,
    row_groups: Sequence[int],
    columns: Sequence[Column],
    into: ChunkCache | None,
    file: OpenFile | None = None,
) -> tuple[list[pa.ChunkedArray], list[bool]]:
    """Like `column_chunks` for several row groups, concatenated.

    Also returns, for each column, whether nothing else refers to its memory, so that it may be overwritten.
    """
    footer = unchanged_footer(segment)
    leaves = [leaf_of(segment, footer, column) for column in columns]
    decoded_columns = _kept_whole(footer, row_groups, leaves, into)
    missing = list(dict.fromkeys(leaf for leaf in leaves if leaf is not None and leaf not in decoded_columns))
    if missing:
        decoded = zip(missing, decode(footer, row_groups, missing, file), strict=True)
        decoded_columns.update(decoded)
        if into is not None:
            keep(footer, row_groups, ((leaf, decoded_columns[leaf]) for leaf in missing), into)
    rows = sum(footer.row_group_sizes[group] for group in row_groups)
    chunks = [None if leaf is None else decoded_columns[leaf] for leaf in leaves]
    fitting = [to_column_type(chunk, c, rows, segment) for chunk, c in zip(chunks, columns, strict=True)]
    times, fresh = Counter(leaves), set(missing if into is None else ())
    return fitting, [leaf in fresh and times[leaf] == len(leaf) == 1 for leaf in leaves]


def coded_texts(
    segment: FileSegment, row_groups: Sequence[int], column: Column, file: OpenFile
) -> pa.ChunkedArray | None:
    """Read a column of text as dictionaries, if the file stores it so and that is worthwhile; else return
    None. Nothing is cached."""
    footer = unchanged_footer(segment)
    leaf = leaf_of(segment, footer, column)
    if leaf is None or len(leaf) > 1 or not footer.repeats_texts(leaf[0]):
        return None
    texts = file.read(footer, row_groups, list(leaf)).column(0)
    is_coded = pa.types.is_dictionary(texts.type) and texts.type.value_type.equals(column.type)
    return texts if is_coded else None


def are_decoded(
    segment: FileSegment, row_groups: Sequence[int], columns: Sequence[Column], into: ChunkCache
) -> bool:
    """Whether these columns of these row groups are in a cache, or missing from the file."""
    footer = unchanged_footer(segment)
    leaves = {leaf for column in columns if (leaf := leaf_of(segment, footer, column)) is not None}
    return None not in into.get((footer, group, leaf) for group in row_groups for leaf in leaves)


def keep(
    footer: Footer,
    row_groups: Sequence[int],
    columns: Iterable[tuple[Leaf, pa.ChunkedArray]],
    into: ChunkCache,
    is_wanted: Callable[[ChunkKey, int], bool] = lambda key, nbytes: True,
) -> None:
    """Cache the part of each row group separately; `is_wanted` decides by its key and size."""
    starts = np.cumsum([0, *(footer.row_group_sizes[group] for group in row_groups)]).tolist()
    into.put(
        ((footer, group, leaf), chunk.slice(start, stop - start))
        for leaf, chunk in columns
        for group, start, stop in zip(row_groups, starts[:-1], starts[1:], strict=True)
        if is_wanted((footer, group, leaf), chunk.nbytes * (stop - start) // max(1, len(chunk)))
    )


def decode(
    footer: Footer, row_groups: Sequence[int], leaves: Sequence[Leaf], file: OpenFile | None = None
) -> list[pa.ChunkedArray]:
    """Decode these columns of these row groups into fresh memory; of a nested column, only the fields asked
    for.

    `file` is the calling thread's, if it reads more than this.
    """
    names = [".".join(leaf) for leaf in leaves]
    with nullcontext(file) if file else OpenFile() as reader:
        table = reader.read(footer, row_groups, names)
    columns = [project(table.column(leaf[0]), leaf[1:]) for leaf in leaves]
    dictionaries = [place for place, column in enumerate(columns) if pa.types.is_dictionary(column.type)]
    coded = [place for place in dictionaries if footer.repeats_texts(names[place])]
    try:
        texts = _decode_texts([columns[place] for place in coded], reader.alone)
    except (*REFUSALS, IndexError) as error:  # an index beyond the dictionary of a damaged file
        raise footer.unreadable(error) from error
    for place, column in zip(coded, texts, strict=True):
        columns[place] = column
    return columns


def _decode_texts(columns: Sequence[pa.ChunkedArray], alone: bool) -> list[pa.ChunkedArray]:
    """Decode dictionary-encoded texts. `alone`: no other thread decodes, so several threads share the
    work."""
    if not alone or sum(map(len, columns)) <= TEXTS_AT_ONCE:
        return [column.cast(pa.string()) for column in columns]
    tasks = [part for column in columns for part in _parts(column)]
    casts = iter(run_tasks(lambda part, _: part.cast(pa.string()).chunks, tasks))
    parts = ([chunk for _ in _parts(column) for chunk in next(casts)] for column in columns)
    return [pa.chunked_array(chunks, pa.string()) for chunks in parts]


def _parts(column: pa.ChunkedArray) -> list[pa.ChunkedArray]:
    count = max(1, -(-len(column) // TEXTS_AT_ONCE))
    rows = max(1, -(-len(column) // count))
    return [column.slice(start, rows) for start in range(0, len(column), rows)]


def leaf_of(segment: FileSegment, footer: Footer, column: Column) -> Leaf | None:
    """Where the file has the column; None if it lacks it."""
    name = segment.names.get(column.key)
    if name is None or not column.path:
        return None if name is None else (name,)
    type_ = type_at(footer.schema.field(name).type, column.path)
    return None if type_ is None else (name, *column.path)


def _kept_whole(
    footer: Footer, row_groups: Sequence[int], leaves: Iterable[Leaf | None], into: ChunkCache | None
) -> dict[Leaf, pa.ChunkedArray]:
    """The columns that a cache has for all of these row groups."""
    whole = {}
    for leaf in dict.fromkeys(leaf for leaf in leaves if leaf is not None):
        keys = [(footer, group, leaf) for group in row_groups]
        chunks = cache.get(keys)
        if into is not None and into is not cache and None in chunks:
            chunks = [a if a is not None else b for a, b in zip(chunks, into.get(keys), strict=True)]
        parts = [part for chunk in chunks if chunk is not None for part in chunk.chunks]
        if not any(chunk is None for chunk in chunks):
            whole[leaf] = chunks[0] if len(chunks) == 1 else pa.chunked_array(parts, parts[0].type)
    return whole


def to_column_type(
    chunk: pa.ChunkedArray | None, column: Column, rows: int, segment: FileSegment
) -> pa.ChunkedArray:
    """Convert the chunk to the column's type; if the file has none, return the constant or nulls."""
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


class BatchValues(Mapping[int, pa.Array]):
    """The values of a record batch by column key, unpacked when needed.

    Of a hundred columns of one row, most are only stored and written back. So a batch may stay
    `packed_bytes`, an Arrow IPC record batch message without its schema, until a column is requested, and
    only then does a column become a Python object. No column is a dictionary, which could not be written
    without its values. `places` maps keys to columns of the batch, `about` names it in errors. Raises
    `StoreProblem` if it is damaged.
    """

    def __init__(
        self, keys: tuple[int, ...], schema: pa.Schema, values: pa.RecordBatch | bytes, about: str = ""
    ) -> None:
        self.places, self.schema, self._about = _places(keys), schema, about
        self.packed_bytes = values if isinstance(values, bytes) else None
        self._batch = None if isinstance(values, bytes) else values

    @property
    def batch(self) -> pa.RecordBatch:
        if self._batch is None:
            self._batch = self._unpack()
        return self._batch

    def _unpack(self) -> pa.RecordBatch:
        try:
            return pa.ipc.read_record_batch(pa.py_buffer(self.packed_bytes), self.schema)
        except (pa.ArrowException, OSError, EOFError) as error:
            fix = "Verify the store to see what else is damaged, and restore a backup"
            raise StoreProblem(f"{self._about} cannot be read", str(error), fix) from error

    @property
    def message(self) -> bytes:
        """The batch as an IPC message."""
        message: bytes = (
            self.batch.serialize().to_pybytes() if self.packed_bytes is None else self.packed_bytes
        )
        return message

    def __getitem__(self, key: int) -> pa.Array:
        return self.batch.column(self.places[key])

    def __contains__(self, key: object) -> bool:
        return key in self.places

    def __iter__(self) -> Iterator[int]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)


def named_by_key(values: Mapping[int, pa.Array]) -> pa.RecordBatch:
    """The columns as one batch, with the names `str(key)`."""
    names = list(map(str, values))
    if isinstance(values, BatchValues):
        return values.batch.rename_columns(names)
    return pa.RecordBatch.from_arrays(list(values.values()), names=names)


@lru_cache(maxsize=64)
def _places(keys: tuple[int, ...]) -> Mapping[int, int]:
    return {key: place for place, key in enumerate(keys)}


SHARE = 4
"""One reader may use this fraction of a cache, 1/SHARE."""
MOST_BYTES = 32 << 20
"""The most bytes to decode into the cache: more takes as long as dozens of answers read from files, and a
cancellation waits for a row group."""


def cached_chunks(footer: Footer, names: Sequence[str]) -> list[pa.ChunkedArray] | None:
    """The columns with these names, as `decode_and_keep` caches them; None unless all are in memory."""
    columns = []
    for name in names:
        chunks = _cache_of(footer, name).get([(footer, group, (name,)) for group in _groups(footer)])
        present = [chunk for chunk in chunks if chunk is not None]
        if not present or len(present) < len(chunks):
            return None
        arrays = [array for chunk in present for array in chunk.chunks]
        columns.append(pa.chunked_array(arrays, present[0].type))
    return columns


def decode_and_keep(footer: Footer, names: Sequence[str], job: Job) -> None:
    """Decode columns into the cache. Dictionary-encoded texts stay so: they take a fraction of the size, and
    are fastest to group by.

    Raises `FileProblem` for invalid texts, because engines trust what they get. `Cancelled` is raised
    between row groups.
    """
    verifying = footer.needs_verifying(_groups(footer), names)
    try:
        with footer.open([name for name in names if is_coded(footer, name)], verifying) as file:
            for group in _groups(footer):
                job.check()
                rows = file.read_row_group(group, list(names))
                _keep(footer, group, render(rows, footer.renderings))
    except REFUSALS as error:
        raise footer.unreadable(error) from error
    if verifying:
        footer.record.note_verification(_groups(footer), names)


def _keep(footer: Footer, group: int, table: pa.Table) -> None:
    for name in table.column_names:
        if _is_text(footer, name):
            table.column(name).validate(full=True)
        keep(footer, [group], [((name,), table.column(name))], _cache_of(footer, name))


def fit(files: Iterable[tuple[Footer, Sequence[str]]]) -> bool:
    """Whether these flat columns fit into the caches alongside others."""
    sizes = [(_cache_of(footer, name), _bytes_of(footer, name)) for footer, names in files for name in names]
    return sum(size for _, size in sizes) <= MOST_BYTES and all(
        sum(size for owner, size in sizes if owner is into) <= into.max_bytes // SHARE
        for into in (cache, text_cache)
    )


@lru_cache(4096)
def is_flat(footer: Footer, name: str) -> bool:
    """Whether the file has exactly one leaf with this name, and nothing nested in it."""
    schema = footer.metadata.schema
    return [schema.column(i).path == name for i in range(footer.metadata.num_columns)].count(True) == 1


@lru_cache(4096)
def is_coded(footer: Footer, name: str) -> bool:
    """Whether all row groups store the texts of a column as dictionaries."""
    if not is_.is_string(footer.schema.field(name).type) or name in footer.renderings:
        return False
    place = _place(footer, name)
    return all(
        footer.metadata.row_group(group).column(place).has_dictionary_page for group in _groups(footer)
    )


def _cache_of(footer: Footer, name: str) -> ChunkCache:
    return text_cache if is_coded(footer, name) else cache


@lru_cache(4096)
def _bytes_of(footer: Footer, name: str) -> int:
    rows, place = footer.num_rows, _place(footer, name)
    if not _is_text(footer, name):
        return rows * int(footer.schema.field(name).type.bit_width) // 8
    chunks = (footer.metadata.row_group(group).column(place) for group in _groups(footer))
    return 4 * rows + sum(int(chunk.total_uncompressed_size) for chunk in chunks)


def _is_text(footer: Footer, name: str) -> bool:
    kind = footer.schema.field(name).type
    return bool(is_.is_string(kind) or is_.is_large_string(kind))


def _place(footer: Footer, name: str) -> int:
    schema = footer.metadata.schema
    return next(i for i in range(footer.metadata.num_columns) if schema.column(i).path == name)


def _groups(footer: Footer) -> range:
    return range(footer.metadata.num_row_groups)
