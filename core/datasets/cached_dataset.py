"""A file in place that is read from its beginning: the first rows are available at once, all once its cache
is filled."""

from __future__ import annotations

import json
import threading
import weakref
import zlib
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import astuple

import pyarrow as pa

from lamella.core.datasets.base import Dataset, OpenOptions, Problem
from lamella.core.datasets.blocks import BlockFile, Reading, TypesWidened, read_block, rows_of
from lamella.core.datasets.cache import (
    CachedBlock,
    CachedFile,
    CacheEntry,
    PartWriter,
    default_folder,
    sweep,
)
from lamella.core.datasets.locate import refuse_changed_files
from lamella.core.errors import FileProblem
from lamella.core.jobs import Job
from lamella.core.phrases import quantity
from lamella.core.scan.snapshot import NOTE, Column, FileSegment, MemorySegment, Segment, Snapshot

_WAIT_SECONDS = 0.1
_REMARKS = b"remarks"
"""The key in a schema's metadata for remarks about a file that was read completely."""
_PROBLEMS = b"problems"
"""The key for lines and values of such a file that could not be read."""


def _compress_problems(problems: Sequence[Problem]) -> bytes:
    return (
        zlib.compress(json.dumps([list(astuple(problem)) for problem in problems]).encode())
        if problems
        else b""
    )


def _decompress_problems(data: bytes) -> tuple[Problem, ...]:
    return tuple(Problem(*each) for each in json.loads(zlib.decompress(data))) if data else ()


class CachedDataset(Dataset):
    """A dataset read through a cache. Its types fit all values read so far: a column may widen while the
    cache fills.

    `first` has the first rows, or all if there is no `entry`; it is None if the entry has all of them.
    """

    def __init__(
        self, name: str, file: BlockFile, schema: pa.Schema, first: pa.Table | None, entry: CacheEntry | None
    ) -> None:
        self.name, self.file = name, file
        self.paths = file.paths
        self.format = file.label
        self._entry = entry
        self._fill_lock, self._snapshot_lock = threading.Lock(), threading.Lock()
        self._problem: FileProblem | None = None
        self._schema = schema
        self._remarks: tuple[str, ...] | None = None
        self._problems: tuple[Problem, ...] | None = None
        self._shown_snapshot = self._beginning(schema, first, complete=entry is None)
        if entry is not None:
            weakref.finalize(self, entry.release)
            self._load_entry(entry)

    @property
    def remarks(self) -> tuple[str, ...]:
        return self.file.remarks if self._remarks is None else self._remarks

    @property
    def problems(self) -> Sequence[Problem]:
        """The lines and values that could not be read, in order. Complete once all rows have been read."""
        return getattr(self.file, "problems", ()) if self._problems is None else self._problems

    def rows_once(
        self, job: Job, progress: Callable[[int, int], None]
    ) -> Generator[pa.RecordBatch, None, None]:
        """Yield every row directly from the file, without writing the cache, for callers that store the rows
        themselves.

        `progress` is called with the number of rows, and how much of the file's `size` was read. Raises
        `TypesWidened` at the end if values need wider types than `reading_schema`; rows yielded until then
        must be discarded.
        """
        try:
            with closing(self.file.blocks(job)) as blocks:
                for batch in rows_of(self.file, blocks, self._schema, progress):
                    job.check()
                    yield batch
            refuse_without_columns(self.file, self._schema)
            self.file.release()
        except TypesWidened as widened:
            self._schema = widened.schema
            raise

    @property
    def reading_schema(self) -> pa.Schema:
        """The columns with the types that the next pass over the file will use."""
        return self.file.shown_schema(self._schema)

    def snapshot(self) -> Snapshot:
        with self._snapshot_lock:
            return self._shown_snapshot

    def fill(self, job: Job) -> None:
        """Read the whole file into the cache. Raises `FileProblem` at the first row that cannot be parsed;
        the rows before it stay available."""
        while not self._fill_lock.acquire(timeout=_WAIT_SECONDS):
            job.check()
        try:
            self._fill(job)
        except FileProblem as problem:
            self._problem = problem
            raise
        finally:
            self._fill_lock.release()

    def _fill(self, job: Job) -> None:
        entry = self._entry
        if entry is None or self.snapshot().complete:
            return
        if self._problem is not None:
            refuse_changed_files(self.file.stamps)
            raise self._problem
        sweep(entry.root)
        cached = None
        while cached is None:
            cached = self._pass(entry, job)
        refuse_changed_files(self.file.stamps)
        refuse_without_columns(self.file, cached.schema)
        about = {_REMARKS: json.dumps(self.remarks).encode(), _PROBLEMS: _compress_problems(self.problems)}
        entry.finish(CachedFile(self.file.shown_schema(cached.schema).with_metadata(about), cached.parts))
        self._show(self._snapshot(cached.schema, cached.parts, entry.key, complete=True))
        self.file.release()

    def _pass(self, entry: CacheEntry, job: Job) -> CachedFile | None:
        """Read the file once; None when its values asked for wider types, which the next pass begins with."""
        folder = entry.new_generation()
        writer = PartWriter(self.file, self._schema, folder)
        parts: list[FileSegment] = []

        def take(written: CachedBlock) -> None:
            if written.part is not None and writer.wide.equals(writer.schema):
                parts.append(written.part)
                self._show(self._snapshot(writer.schema, tuple(parts), folder.name, complete=False))
            job.report(written.progress, self.file.size, f"{quantity(self.num_rows, 'row')} read")

        with closing(self.file.blocks(job)) as blocks:
            writer.write(blocks, take)
        self._schema = writer.wide
        return CachedFile(writer.schema, tuple(parts)) if writer.wide.equals(writer.schema) else None

    def _load_entry(self, entry: CacheEntry) -> None:
        if entry.load() is None:
            return
        entry.hold()
        cached = entry.load()  # again: it may have been swept before it was held
        if cached is not None:
            about = cached.schema.metadata or {}
            self._remarks = tuple(json.loads(about.get(_REMARKS, "[]")))
            self._problems = _decompress_problems(about.get(_PROBLEMS, b""))
            self._shown_snapshot = self._snapshot_of(cached.schema, cached.parts, entry.key, complete=True)

    def _beginning(self, schema: pa.Schema, first: pa.Table | None, complete: bool) -> Snapshot:
        if first is None:
            return self._snapshot_of(schema, (), "nothing", complete=False)
        rows = first.rename_columns([str(place) for place in range(first.num_columns)])
        return self._snapshot(schema, (MemorySegment.of(rows),), "first", complete)

    def _snapshot(
        self, schema: pa.Schema, segments: tuple[Segment, ...], generation: str, complete: bool
    ) -> Snapshot:
        return self._snapshot_of(self.file.shown_schema(schema), segments, generation, complete)

    def _snapshot_of(
        self, schema: pa.Schema, segments: tuple[Segment, ...], generation: str, complete: bool
    ) -> Snapshot:
        rows = sum(segment.num_rows for segment in segments)
        token = ("cached", *self.file.stamps, *map(str, self.file.reading), generation, rows)
        columns = tuple(
            Column(f.name, f.type, key, note=(f.metadata or {}).get(NOTE, b"").decode())
            for key, f in enumerate(schema)
        )
        return Snapshot(self.name, columns, segments, token, complete=complete)

    def _show(self, snapshot: Snapshot) -> None:
        """Show a snapshot, unless it has fewer rows than the present one: a new pass is shown once it has
        caught up."""
        with self._snapshot_lock:
            if snapshot.complete or snapshot.num_rows >= self._shown_snapshot.num_rows:
                self._shown_snapshot = snapshot


def refuse_without_columns(file: BlockFile, schema: pa.Schema) -> None:
    """Raise `FileProblem` for a file with only empty objects, whose rows could not be counted."""
    if not len(schema):
        raise FileProblem(
            file.path,
            "holds no columns",
            "It has no objects, or all of them are empty: {}",
            "Choose a file with data in it",
        )


def read_first_block(file: BlockFile, block: object, schema: pa.Schema) -> Reading:
    """Read the rows of a first block, widening `schema` until they fit."""
    reading = read_block(file, block, schema)
    while reading.rows is None:
        schema = file.join(schema, reading.schema)
        reading = read_block(file, block, schema)
    return reading


def open_blocks(name: str, file: BlockFile, options: OpenOptions) -> CachedDataset:
    """Open the dataset from its cache if there is one, else with its first block, which may be all of it.
    Raises `FileProblem`, and `Cancelled` if the options have a job."""
    entry = CacheEntry(options.cache_dir or default_folder(), file.stamps, (file.label, *file.reading))
    cached = entry.load()
    if cached is not None:
        dataset = CachedDataset(name, file, cached.schema, None, entry)
        if dataset.snapshot().complete:
            return dataset
        entry = CacheEntry(entry.root, file.stamps, (file.label, *file.reading))
    with closing(file.blocks(options.job or Job())) as blocks:
        first = next(blocks)
        is_all = next(blocks, None) is None
    reading = read_first_block(file, first, pa.schema([]))
    if is_all:
        refuse_changed_files(file.stamps)
        refuse_without_columns(file, reading.schema)
        file.release()
    return CachedDataset(name, file, reading.schema, reading.rows, None if is_all else entry)
