"""Reads a file's rows in independent blocks, with a schema that widens when values need it."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pyarrow as pa

from lamella.core.arrow.types import in_plain_layout, plain_layout, stored_type
from lamella.core.datasets.base import Problem
from lamella.core.datasets.locate import Stamp
from lamella.core.datasets.text.dialect import distinct_names
from lamella.core.errors import BadData, FileProblem
from lamella.core.jobs import Job


class Block(Protocol):
    """A block of a file. `number` counts from 0; `progress` is how much of the file was read by the block's
    end, in the file's own unit."""

    @property
    def number(self) -> int: ...

    @property
    def progress(self) -> int: ...


@dataclass(frozen=True)
class Reading:
    """The result of reading a block. `rows` have the types that users see; they are None if the block did not
    fit the schema, and `schema` is then one that it fits. `problems` are lines left out or values made null,
    and `misfits` how many values of each column were."""

    schema: pa.Schema
    rows: pa.Table | None
    problems: tuple[Problem, ...] = ()
    misfits: tuple[tuple[str, int], ...] = ()


class BlockFile(Protocol):
    """A file that is read from beginning to end, and through a cache if it is large.

    `size` is the value of `done` at its last block; `stamps` are those of all files when they were opened;
    `reading` is what decides how their bytes become rows. `remarks` are sentences for users about the rows,
    once these have been read.
    """

    @property
    def path(self) -> Path: ...

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files that contain the rows, without companions such as a database's log."""

    @property
    def label(self) -> str: ...

    @property
    def size(self) -> int: ...

    @property
    def stamps(self) -> tuple[Stamp, ...]: ...

    @property
    def reading(self) -> tuple[object, ...]: ...

    @property
    def remarks(self) -> tuple[str, ...]: ...

    def blocks(self, job: Job) -> Generator[Any, None, None]:
        """Yield the blocks in order. Raises `FileProblem`."""

    def read(self, block: Any, schema: pa.Schema) -> Reading:
        """Read a block's rows; raise `FileProblem` if they cannot be parsed. Call `read_block` instead."""

    def join(self, a: pa.Schema, b: pa.Schema) -> pa.Schema:
        """A schema wide enough for both, matched by name; columns that only `b` has come last."""

    def shown_schema(self, schema: pa.Schema) -> pa.Schema:
        """The types used for those of `schema` in a cache, and the columns' notes."""

    def describe_place(self, block: Any) -> str:
        """Describe where the block begins, for errors."""

    def release(self) -> None:
        """Release what was kept in memory for another pass, because there is none."""


class RowsMissing(AssertionError):
    """A format returned neither rows for a block nor a wider schema, so rows would be lost."""


def read_block(file: BlockFile, block: Any, schema: pa.Schema) -> Reading:
    """Read a block's rows, or return a wider schema to read it with.

    Raises `FileProblem` if they cannot be parsed, and `RowsMissing`, which is a bug in the format.
    """
    reading = file.read(block, schema)
    place = f"{file.path}: the block at {file.describe_place(block)}"
    if reading.rows is None and file.join(schema, reading.schema).equals(schema):
        raise RowsMissing(f"{place} fits neither the schema it was read with nor anything wider: {schema}")
    if reading.rows is not None and not reading.schema.equals(schema):
        raise RowsMissing(f"{place} was read with another schema than {schema}: {reading.schema}")
    return reading


class TypesWidened(Exception):
    """Values did not fit the schema the file was read with; `schema` fits all of them so far."""

    def __init__(self, schema: pa.Schema) -> None:
        super().__init__("values ask for wider types")
        self.schema = schema


def rows_of(
    file: BlockFile, blocks: Iterable[Block], schema: pa.Schema, progress: Callable[[int, int], None]
) -> Iterator[pa.RecordBatch]:
    """Yield the rows in order, read in parallel, until a value does not fit. From there on only types are
    determined, and `TypesWidened` is raised at the end."""
    wide, count = schema, 0

    def read(block: Block) -> tuple[Reading, int]:
        return read_block(file, block, wide), block.progress

    for reading, position in in_order(read, blocks):
        wide = file.join(wide, reading.schema)
        if reading.rows is not None and wide.equals(schema):
            yield from reading.rows.to_batches()
            count += reading.rows.num_rows
        progress(count, position)
    if not wide.equals(schema):
        raise TypesWidened(wide)


Item = TypeVar("Item")
Answer = TypeVar("Answer")

WORKERS = min(4, os.cpu_count() or 1)


def in_order(
    work: Callable[[Item], Answer], items: Iterable[Item], workers: int = WORKERS, ahead: int = 0
) -> Generator[Answer, None, None]:
    """Run `work` on the items on several threads; yield the results in order.

    At most `workers` + `ahead` + 1 items are held at a time. If iteration ends early, it waits for work in
    progress.
    """
    pool = ThreadPoolExecutor(workers, thread_name_prefix="in-order")
    waiting: deque[Future[Answer]] = deque()
    try:
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) > workers + ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


MOST_ROWS, MOST_BYTES = 1 << 17, 32 << 20
"""The limits of a block of Arrow batches."""


@dataclass(frozen=True)
class ArrowBlock:
    number: int
    rows: pa.Table
    progress: int


class ArrowColumns:
    """The columns of Arrow data that can be shown, with distinct names, in layouts that Parquet supports."""

    def __init__(self, stored: pa.Schema, remarks: Sequence[str] = ()) -> None:
        self.stored_schema, remarks = stored, [*remarks]
        self._places, fields = [], []
        for place, (name, field) in enumerate(zip(distinct_names(stored.names), stored, strict=True)):
            kind = plain_layout(field.type)
            if _is_storable(kind):
                self._places.append(place)
                fields.append(pa.field(name, kind))
            else:
                remarks.append(f"Column '{name}' is left out: values of type {field.type} cannot be shown")
            if name != field.name:
                remarks.append(f"Column {place + 1}, named '{field.name}', is called '{name}' here")
        self.schema = pa.schema(fields)
        self.remarks = tuple(remarks)

    def convert(self, rows: pa.Table, path: Path) -> pa.Table:
        """Select and convert the columns; raise `FileProblem` for rows that do not match their types."""
        selection = rows.select(self._places)
        try:
            selection.validate(full=True)
        except (pa.ArrowInvalid, UnicodeDecodeError) as error:
            why = str(error).partition("\n")[0]
            raise FileProblem(
                path,
                "holds damaged values",
                why,
                "Download or write the file again; Lamella did not change it",
            ) from error
        columns = [
            _in_plain_layout(column, name, path)
            for column, name in zip(selection.columns, self.schema.names, strict=True)
        ]
        return pa.Table.from_arrays(columns, schema=self.schema)


def _in_plain_layout(values: pa.ChunkedArray, name: str, path: Path) -> pa.ChunkedArray:
    try:
        return in_plain_layout(values)
    except pa.ArrowInvalid as error:
        raise FileProblem(
            path,
            f"holds values in column '{name}' that cannot be shown",
            f"{str(error).partition(chr(10))[0]}. Seconds are read as milliseconds, "
            "which reach 292 million years from 1970",
            "Write the file again with nulls in place of such values",
        ) from error


def _is_storable(kind: pa.DataType) -> bool:
    try:
        return bool(stored_type(kind).equals(kind))
    except BadData:
        return False


@dataclass(frozen=True)
class ArrowFile:
    """A file that is read as Arrow batches, each with how much of the file was read by its end. Its types are
    known in advance; columns are matched by position."""

    path: Path
    label: str
    size: int
    stamps: tuple[Stamp, ...]
    reading: tuple[object, ...]
    columns: ArrowColumns
    batches: Callable[[Job], Generator[tuple[pa.RecordBatch, int], None, None]]

    @property
    def paths(self) -> tuple[Path, ...]:
        return (self.path,)

    @property
    def remarks(self) -> tuple[str, ...]:
        return self.columns.remarks

    def blocks(self, job: Job) -> Generator[ArrowBlock, None, None]:
        number, waiting, position = 0, [], 0
        rows = size = 0
        with closing(self.batches(job)) as batches:
            for batch, position in batches:
                job.check()
                waiting.append(batch)
                rows, size = rows + batch.num_rows, size + batch.get_total_buffer_size()
                if rows < MOST_ROWS and size < MOST_BYTES:
                    continue
                yield ArrowBlock(number, pa.Table.from_batches(waiting), position)
                number, waiting, rows, size = number + 1, [], 0, 0
        if waiting or not number:
            yield ArrowBlock(number, pa.Table.from_batches(waiting, self.columns.stored_schema), position)

    def read(self, block: ArrowBlock, schema: pa.Schema) -> Reading:
        visible = self.columns.schema
        return Reading(
            visible, self.columns.convert(block.rows, self.path) if schema.equals(visible) else None
        )

    def join(self, a: pa.Schema, b: pa.Schema) -> pa.Schema:
        return b

    def shown_schema(self, schema: pa.Schema) -> pa.Schema:
        return schema

    def describe_place(self, block: ArrowBlock) -> str:
        return f"batch {block.number:,}"

    def release(self) -> None:
        """Do nothing: nothing is kept."""
