"""Text files opened in place: one, or several as one dataset, rows in sequence and columns matched by
name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import take
from lamella.core.datasets.base import Dataset, OpenOptions, Problem
from lamella.core.datasets.blocks import Reading
from lamella.core.datasets.cache import CacheEntry, default_folder
from lamella.core.datasets.cached_dataset import (
    CachedDataset,
    open_blocks,
    read_first_block,
    refuse_without_columns,
)
from lamella.core.datasets.locate import Location, Stamp
from lamella.core.datasets.partitions import FROM_FOLDER, folder_columns
from lamella.core.datasets.text.bad_lines import sentences
from lamella.core.datasets.text.blocks import TextBlock, join_schemas
from lamella.core.datasets.text.dataset import (
    TextFile,
    delimited_file,
    json_document_file,
    json_lines_file,
    text_name,
)
from lamella.core.datasets.text.delimited import refuse_unknown_columns
from lamella.core.errors import FileProblem
from lamella.core.jobs import Job
from lamella.core.scan.snapshot import Column, noted_field

Describe = Callable[[Path, OpenOptions], TextFile]


def open_json_lines(location: Location, options: OpenOptions) -> Dataset:
    return _open(location, options, json_lines_file)


def open_json_document(location: Location, options: OpenOptions) -> Dataset:
    return _open(location, options, json_document_file)


def open_delimited_text(location: Location, options: OpenOptions) -> Dataset:
    return _open(location, options, partial(delimited_file, is_part=len(location.files) > 1))


def _open(location: Location, options: OpenOptions, describe: Describe) -> Dataset:
    if len(location.files) > 1:
        files = [describe(path, options) for path in location.files]
        stored = dict.fromkeys(name for file in files for name in file.stored_names)
        refuse_unknown_columns(location.root, list(stored), options)
        return open_blocks(location.name, SeveralTexts(location, files), options)
    file = describe(location.files[0], options)
    block, schema, whole = file.begin()
    reading = read_first_block(file, block, schema)
    if whole:
        refuse_without_columns(file, reading.schema)
    root = options.cache_dir or default_folder()
    entry = None if whole else CacheEntry(root, file.stamps, (file.text.label, *options.reading))
    return CachedDataset(text_name(file.path), file, reading.schema, reading.rows, entry)


SAMPLE_FILES = 64
"""The first rows of about this many files are examined before any is read."""
MOST_NAMES = 3
BYTES_A_BLOCK = 8 << 20
"""Blocks of small files are combined up to this size."""


@dataclass(frozen=True)
class FilesBlock:
    """Blocks of several files, each with the index of its file."""

    number: int
    parts: tuple[tuple[int, TextBlock], ...]
    progress: int


class SeveralTexts:
    """Several text files as one. A column that a file lacks is null there. Folders named key=value become
    columns, too."""

    def __init__(self, location: Location, files: Sequence[TextFile]) -> None:
        self.path, self.paths, self.files = location.root, location.files, tuple(files)
        self.label = f"{files[0].text.label}, {len(files):,} files"
        self.reading = files[0].reading
        self._columns = _first_columns(self.files)
        self._missing = _missing_columns(self.files)
        stored = [Column(f.name, f.type, key) for key, f in enumerate(self._columns)]
        folders, values = folder_columns(location.root, [file.path for file in files], stored, {})
        self._folders = tuple(pa.field(column.name, column.type) for column in folders)
        self._values = [[by_key[column.key] for column in folders] for by_key in values]

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)

    @property
    def stamps(self) -> tuple[Stamp, ...]:
        return tuple(stamp for file in self.files for stamp in file.stamps)

    @property
    def remarks(self) -> tuple[str, ...]:
        texts = []
        for name, files in self._missing.items():
            names = ", ".join(self.files[at].path.name for at in files[:MOST_NAMES])
            more = f" and {len(files) - MOST_NAMES:,} more" if len(files) > MOST_NAMES else ""
            texts.append(f"Column '{name}' is missing in {names}{more}, and null there")
        types = {name: word for file in self.files for name, word in file.words_of_types.items()}
        about = dict.fromkeys(remark for file in self.files for remark in file.about)
        return (*texts, *about, *sentences(self.problems, self.misfits, types))

    @property
    def misfits(self) -> dict[str, int]:
        """The number of values by column that are null because they do not fit the chosen type."""
        counts: Counter[str] = Counter()
        for file in self.files:
            counts.update(file.misfits)
        return dict(counts)

    @property
    def problems(self) -> tuple[Problem, ...]:
        return tuple(
            replace(problem, file=file.path.name) for file in self.files for problem in file.problems
        )

    def blocks(self, job: Job) -> Generator[FilesBlock, None, None]:
        number, size, position = 0, 0, 0
        waiting: list[tuple[int, TextBlock]] = []
        for at, block, position in self._each_block(job):
            waiting.append((at, block))
            size += len(block.data)
            if size >= BYTES_A_BLOCK:
                yield FilesBlock(number, tuple(waiting), position)
                number, size, waiting = number + 1, 0, []
        if waiting or not number:
            yield FilesBlock(number, tuple(waiting), position)

    def _each_block(self, job: Job) -> Iterator[tuple[int, TextBlock, int]]:
        before = 0
        for at, file in enumerate(self.files):
            job.check()
            for block in file.blocks(job):
                yield at, block, before + block.progress
            before += file.size

    def read(self, block: FilesBlock, schema: pa.Schema) -> Reading:
        if not len(schema):
            return Reading(pa.schema([*self._columns, *self._folders]), None)
        own = pa.schema(list(schema)[: len(schema) - len(self._folders)])
        wide, tables = own, []
        for at, part in block.parts:
            file_values = self._of_file(at, own)
            reading = self.files[at].read(part, file_values)
            wide = join_schemas(wide, reading.schema)
            if reading.rows is not None and wide.equals(own):
                tables.append(self._with_folders(at, reading.rows, schema))
        if not wide.equals(own):
            return Reading(pa.schema([*wide, *self._folders]), None)
        return Reading(
            schema, pa.concat_tables(tables) if tables else self.shown_schema(schema).empty_table()
        )

    def _of_file(self, at: int, own: pa.Schema) -> pa.Schema:
        """The columns in the file's order. JSON members have names, so for JSON any order will do."""
        names = self.files[at].names
        if names is None:
            return own
        return pa.schema(
            [own.field(name) if name in own.names else pa.field(name, pa.null()) for name in names]
        )

    def _with_folders(self, at: int, rows: pa.Table, schema: pa.Schema) -> pa.Table:
        visible, columns = self.shown_schema(schema), []
        folders = dict(zip([field.name for field in self._folders], self._values[at], strict=True))
        for field in visible:
            if field.name in folders:
                columns.append(take(folders[field.name], np.zeros(rows.num_rows, np.int64)))
            elif field.name in rows.column_names:
                columns.append(rows.column(field.name))
            else:
                columns.append(pa.nulls(rows.num_rows, field.type))
        return pa.table(columns, schema=visible.remove_metadata())

    def join(self, a: pa.Schema, b: pa.Schema) -> pa.Schema:
        """Return columns that fit both schemas; those of folders stay last."""
        folders = {field.name for field in self._folders}
        stored = [pa.schema([field for field in schema if field.name not in folders]) for schema in (a, b)]
        return pa.schema([*join_schemas(*stored), *self._folders])

    def shown_schema(self, schema: pa.Schema) -> pa.Schema:
        folders = {field.name for field in self._folders}
        stored = self.files[0].shown_schema(
            pa.schema([field for field in schema if field.name not in folders])
        )
        return pa.schema([*stored, *(noted_field(f.name, f.type, FROM_FOLDER) for f in self._folders)])

    def describe_place(self, block: FilesBlock) -> str:
        at, first = block.parts[0] if block.parts else (0, None)
        file = self.files[at]
        return file.path.name if first is None else f"{file.path.name}, {file.describe_place(first)}"

    def release(self) -> None:
        """Do nothing: no memory is held between reads."""


def _first_columns(files: Sequence[TextFile]) -> pa.Schema:
    """The columns, from the first rows of some files and the headers of all."""
    schema = pa.schema([])
    step = max(1, len(files) // SAMPLE_FILES)
    for file in files[::step]:
        schema = join_schemas(schema, file.begin()[1])
    for file in files:
        header = pa.schema([pa.field(name, pa.null()) for name in file.names or ()])
        schema = join_schemas(schema, header)
    return schema


def _missing_columns(files: Sequence[TextFile]) -> dict[str, list[int]]:
    """The indexes of the files that lack a column of another file, by its name. Raises `FileProblem` for a
    file with no column in common with the first."""
    headers = [frozenset(file.names or ()) for file in files]
    for file, names in zip(files, headers, strict=True):
        if names.isdisjoint(headers[0]) and names | headers[0]:
            raise FileProblem(
                file.path,
                f"has no column in common with {files[0].path.name}",
                "Their rows would be unrelated",
                "Open the files one by one, or choose fewer of them",
            )
    all_names = dict.fromkeys(name for file in files for name in file.names or ())
    missing = {name: [at for at, names in enumerate(headers) if name not in names] for name in all_names}
    return {name: at for name, at in missing.items() if at}
