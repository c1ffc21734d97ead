"""Columns of row groups, decoded; those that are kept cost nothing the second time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import lru_cache

import numpy as np
import pyarrow as pa
from pyarrow import types as is_

from lamella.core.arrow.arrays import take
from lamella.core.arrow.nested import project, type_at
from lamella.core.errors import FileProblem, StoreProblem
from lamella.core.jobs import Job
from lamella.core.scan.cache import ChunkCache, ChunkKey, Leaf, cache, coded
from lamella.core.scan.parallel import each
from lamella.core.scan.parquet_file import REFUSALS, Footer, OpenFile, unchanged
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

    Second, for each column: whether nothing else refers to its memory, so that it may be written to.
    """
    footer = unchanged(segment)
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
    fitting = [typed(chunk, c, rows, segment) for chunk, c in zip(chunks, columns, strict=True)]
    times, fresh = Counter(leaves), set(missing if into is None else ())
    return fitting, [leaf in fresh and times[leaf] == len(leaf) == 1 for leaf in leaves]


def coded_texts(
    segment: FileSegment, row_groups: Sequence[int], column: Column, file: OpenFile
) -> pa.ChunkedArray | None:
    """A column of text as places in dictionaries, where the file has it so and reading it so pays; None for
    all others. Nothing of it is kept."""
    footer = unchanged(segment)
    leaf = leaf_of(segment, footer, column)
    if leaf is None or len(leaf) > 1 or not footer.repeats_texts(leaf[0]):
        return None
    read = file.read(footer, row_groups, list(leaf)).column(0)
    is_coded = pa.types.is_dictionary(read.type) and read.type.value_type.equals(column.type)
    return read if is_coded else None


def are_decoded(
    segment: FileSegment, row_groups: Sequence[int], columns: Sequence[Column], into: ChunkCache
) -> bool:
    """Whether these columns of these row groups are in a cache, or the file lacks them."""
    footer = unchanged(segment)
    leaves = {leaf for column in columns if (leaf := leaf_of(segment, footer, column)) is not None}
    return None not in into.get((footer, group, leaf) for group in row_groups for leaf in leaves)


def keep(
    footer: Footer,
    row_groups: Sequence[int],
    columns: Iterable[tuple[Leaf, pa.ChunkedArray]],
    into: ChunkCache,
    is_wanted: Callable[[ChunkKey, int], bool] = lambda key, nbytes: True,
) -> None:
    """Put the part of each row group into a cache by itself; `is_wanted` is asked with its key and size."""
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
    """These columns of these row groups, into fresh memory; of a nested column only the fields asked for.

    `file` is the calling thread's, where it reads more than this.
    """
    names = [".".join(leaf) for leaf in leaves]
    with nullcontext(file) if file else OpenFile() as reader:
        read = reader.read(footer, row_groups, names)
    columns = [project(read.column(leaf[0]), leaf[1:]) for leaf in leaves]
    dictionaries = [place for place, column in enumerate(columns) if pa.types.is_dictionary(column.type)]
    coded = [place for place in dictionaries if footer.repeats_texts(names[place])]
    try:
        texts = _looked_up([columns[place] for place in coded], reader.alone)
    except (*REFUSALS, IndexError) as error:  # a place that the dictionary of a damaged file does not have
        raise footer.unreadable(error) from error
    for place, column in zip(coded, texts, strict=True):
        columns[place] = column
    return columns


def _looked_up(columns: Sequence[pa.ChunkedArray], alone: bool) -> list[pa.ChunkedArray]:
    """Texts instead of their places in dictionaries. `alone`: no other thread decodes, so several look up."""
    if not alone or sum(map(len, columns)) <= TEXTS_AT_ONCE:
        return [column.cast(pa.string()) for column in columns]
    tasks = [part for column in columns for part in _parts(column)]
    casts = iter(each(lambda part, _: part.cast(pa.string()).chunks, tasks))
    parts = ([chunk for _ in _parts(column) for chunk in next(casts)] for column in columns)
    return [pa.chunked_array(chunks, pa.string()) for chunks in parts]


def _parts(column: pa.ChunkedArray) -> list[pa.ChunkedArray]:
    count = max(1, -(-len(column) // TEXTS_AT_ONCE))
    rows = max(1, -(-len(column) // count))
    return [column.slice(start, rows) for start in range(0, len(column), rows)]


def leaf_of(segment: FileSegment, footer: Footer, column: Column) -> Leaf | None:
    """Where the file has the column; None where it lacks it."""
    name = segment.names.get(column.key)
    if name is None or not column.path:
        return None if name is None else (name,)
    there = type_at(footer.schema.field(name).type, column.path)
    return None if there is None else (name, *column.path)


def _kept_whole(
    footer: Footer, row_groups: Sequence[int], leaves: Iterable[Leaf | None], into: ChunkCache | None
) -> dict[Leaf, pa.ChunkedArray]:
    """The columns of which every one of these row groups is held by a cache."""
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


class BatchValues(Mapping[int, pa.Array]):
    """Of a hundred columns of one row most are only kept and written. So a batch may be `packed`, an Arrow
    IPC record batch message without its schema, until a column is asked for, and each becomes an object of
    Python's only then. None is a dictionary, which could not be written without what it holds. `places` tell
    where each is in the batch, `about` what it is in a message. Raises `StoreProblem` where it is damaged."""

    def __init__(
        self, keys: tuple[int, ...], schema: pa.Schema, values: pa.RecordBatch | bytes, about: str = ""
    ) -> None:
        self.places, self.schema, self._about = _places(keys), schema, about
        self.packed = values if isinstance(values, bytes) else None
        self._batch = None if isinstance(values, bytes) else values

    @property
    def batch(self) -> pa.RecordBatch:
        if self._batch is None:
            self._batch = self._unpacked()
        return self._batch

    def _unpacked(self) -> pa.RecordBatch:
        try:
            return pa.ipc.read_record_batch(pa.py_buffer(self.packed), self.schema)
        except (pa.ArrowException, OSError, EOFError) as error:
            fix = "Verify the store, which tells what else is damaged, and restore a backup"
            raise StoreProblem(f"{self._about} cannot be read", str(error), fix) from error

    @property
    def message(self) -> bytes:
        """The batch as it is written."""
        message: bytes = self.batch.serialize().to_pybytes() if self.packed is None else self.packed
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
    """The columns as one batch, under the names `str(key)`."""
    names = list(map(str, values))
    if isinstance(values, BatchValues):
        return values.batch.rename_columns(names)
    return pa.RecordBatch.from_arrays(list(values.values()), names=names)


@lru_cache(maxsize=64)
def _places(keys: tuple[int, ...]) -> Mapping[int, int]:
    return {key: place for place, key in enumerate(keys)}


SHARE = 4
"""One in so many bytes of a cache is for one reader."""
MOST_BYTES = 32 << 20
"""To decode more takes as long as dozens of answers that are read from files; and who cancels waits for a row
group."""


def cached_chunks(footer: Footer, names: Sequence[str]) -> list[pa.ChunkedArray] | None:
    """The columns of these names, as `decode_and_keep` leaves them; None unless all of them are in memory."""
    columns = []
    for name in names:
        chunks = _cache_of(footer, name).get([(footer, group, (name,)) for group in _groups(footer)])
        there = [chunk for chunk in chunks if chunk is not None]
        if not there or len(there) < len(chunks):
            return None
        arrays = [array for chunk in there for array in chunk.chunks]
        columns.append(pa.chunked_array(arrays, there[0].type))
    return columns


def decode_and_keep(footer: Footer, names: Sequence[str], job: Job) -> None:
    """Texts that the file has as places in dictionaries are left so: a fraction of the size, and what rows
    are grouped by fastest.

    Raises `FileProblem` for texts that are none: engines trust what they are handed. `Cancelled` is raised
    between row groups.
    """
    verifying = footer.needs_verifying(_groups(footer), names)
    try:
        with footer.open([name for name in names if is_coded(footer, name)], verifying) as file:
            for group in _groups(footer):
                job.check()
                _keep(footer, group, file.read_row_group(group, list(names)))
    except REFUSALS as error:
        raise footer.unreadable(error) from error
    if verifying:
        footer.record.note_verified(_groups(footer), names)


def _keep(footer: Footer, group: int, read: pa.Table) -> None:
    for name in read.column_names:
        if _is_text(footer, name):
            read.column(name).validate(full=True)
        keep(footer, [group], [((name,), read.column(name))], _cache_of(footer, name))


def fit(files: Iterable[tuple[Footer, Sequence[str]]]) -> bool:
    """Whether these columns, which are flat, can be kept, and others beside them."""
    sizes = [(_cache_of(footer, name), _bytes_of(footer, name)) for footer, names in files for name in names]
    return sum(size for _, size in sizes) <= MOST_BYTES and all(
        sum(size for one, size in sizes if one is into) <= into.max_bytes // SHARE for into in (cache, coded)
    )


@lru_cache(4096)
def is_flat(footer: Footer, name: str) -> bool:
    """Whether the file has a column, and nothing else, of this name, without anything inside it."""
    schema = footer.metadata.schema
    return [schema.column(i).path == name for i in range(footer.metadata.num_columns)].count(True) == 1


@lru_cache(4096)
def is_coded(footer: Footer, name: str) -> bool:
    """Whether every row group has the texts of a column as places in a dictionary."""
    if not is_.is_string(footer.schema.field(name).type):
        return False
    place = _place(footer, name)
    return all(
        footer.metadata.row_group(group).column(place).has_dictionary_page for group in _groups(footer)
    )


def _cache_of(footer: Footer, name: str) -> ChunkCache:
    return coded if is_coded(footer, name) else cache


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
