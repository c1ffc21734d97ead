"""A text file opened in place: its first rows at once, all of them once its cache is filled."""

from __future__ import annotations

import json
import threading
import weakref
from collections.abc import Callable, Generator, Iterator, Mapping
from pathlib import Path

import pyarrow as pa
from pyarrow.types import is_floating

from lamella.core.datasets.base import Dataset, OpenOptions
from lamella.core.datasets.contents import HEAD_BYTES, Contents
from lamella.core.datasets.locate import Location
from lamella.core.datasets.text.blocks import (
    LONGEST_ROW,
    RowEnds,
    TextBlock,
    TextFormat,
    TypesWidened,
    blocks,
    endless_row,
    first_block,
    join_schemas,
    read_block,
    solid_schema,
    text_rows,
)
from lamella.core.datasets.text.cache import (
    CachedBlock,
    CachedFile,
    CacheEntry,
    PartWriter,
    default_folder,
    sweep,
)
from lamella.core.datasets.text.delimited import DelimitedText
from lamella.core.datasets.text.dialect import DELIMITERS, find_dialect
from lamella.core.datasets.text.json_lines import JsonLines
from lamella.core.datasets.text.source import (
    TextSource,
    characters,
    compression_of,
    find_encoding,
    is_text,
    open_bytes,
    open_source,
)
from lamella.core.errors import FileProblem
from lamella.core.jobs import Job
from lamella.core.scan.snapshot import NOTE, Column, FileSegment, MemorySegment, Segment, Snapshot

SMALLEST_BLOCK, LARGEST_BLOCK, BLOCKS_A_FILE = 8 << 20, 32 << 20, 64
_WAIT_SECONDS = 0.1


class TextDataset(Dataset):
    """Its types are those that all values read so far fit: a column may widen while the cache fills."""

    def __init__(
        self,
        name: str,
        source: TextSource,
        text: TextFormat,
        schema: pa.Schema,
        first: pa.Table,
        entry: CacheEntry | None,
        notes: Mapping[str, str],
    ) -> None:
        self.name, self.paths = name, (source.path,)
        self.format = text.label + (f", {source.compression}" if source.compression else "")
        self.source, self.text = source, text
        self._entry, self._notes = entry, notes
        self._fill_lock, self._snapshot_lock = threading.Lock(), threading.Lock()
        self._broken: FileProblem | None = None
        self._schema = schema
        rows = first.rename_columns([str(place) for place in range(first.num_columns)])
        self._shown = self._snapshot(schema, (MemorySegment.of(rows),), "first", complete=entry is None)
        if entry is not None:
            weakref.finalize(self, entry.release)
            self._load_cached(entry)

    @property
    def block_bytes(self) -> int:
        return max(SMALLEST_BLOCK, min(LARGEST_BLOCK, self.source.size // BLOCKS_A_FILE))

    def rows_once(
        self, job: Job, progress: Callable[[int, int], None]
    ) -> Generator[pa.RecordBatch, None, None]:
        """Every row straight from the file, without writing the cache; for callers that keep the rows
        themselves.

        `progress` is told rows and bytes of the file. Raises `TypesWidened` at the end, when values
        asked for wider types than `reading_schema` said: what came until then is to be dropped.
        """
        try:
            for batch in text_rows(self.text, self._blocks(), self._schema, progress):
                job.check()
                yield batch
            refuse_without_columns(self.source, self._schema)
        except TypesWidened as widened:
            self._schema = widened.schema
            raise

    @property
    def reading_schema(self) -> pa.Schema:
        """The columns as the next reading of the file will type them."""
        return pa.schema([column.field for column in self._columns(self._schema)])

    def _columns(self, schema: pa.Schema) -> tuple[Column, ...]:
        """Notes are of columns of doubles: others are as they are written."""
        fields = enumerate(solid_schema(schema))
        return tuple(
            Column(f.name, f.type, key, note=self._notes.get(f.name, "") if is_floating(f.type) else "")
            for key, f in fields
        )

    def snapshot(self) -> Snapshot:
        with self._snapshot_lock:
            return self._shown

    def fill(self, job: Job) -> None:
        """Read the whole file into the cache. Raises `FileProblem` at the first row that cannot be
        understood; the rows before it stay readable."""
        while not self._fill_lock.acquire(timeout=_WAIT_SECONDS):
            job.check()
        try:
            self._fill(job)
        except FileProblem as problem:
            self._broken = problem
            raise
        finally:
            self._fill_lock.release()

    def _fill(self, job: Job) -> None:
        entry = self._entry
        if entry is None or self.snapshot().complete:
            return
        if self._broken is not None:
            self.source.refuse_changed()
            raise self._broken
        sweep(entry.root)
        cached = None
        while cached is None:
            cached = self._pass(entry, job)
        self.source.refuse_changed()
        refuse_without_columns(self.source, cached.schema)
        entry.finish(cached)
        self._show(self._snapshot(cached.schema, cached.parts, entry.key, complete=True))

    def _pass(self, entry: CacheEntry, job: Job) -> CachedFile | None:
        """Read the file once; None when its values asked for wider types, which the next pass begins with."""
        folder = entry.new_generation()
        writer = PartWriter(self.text, self._schema, folder)
        parts: list[FileSegment] = []

        def take(written: CachedBlock) -> None:
            if written.part is not None and writer.wide.equals(writer.schema):
                parts.append(written.part)
                self._show(self._snapshot(writer.schema, tuple(parts), folder.name, complete=False))
            job.report(written.done, self.source.size, f"{self.num_rows:,} rows read")

        writer.write(self._blocks(), take)
        self._schema = writer.wide
        return CachedFile(writer.schema, tuple(parts)) if writer.wide.equals(writer.schema) else None

    def _blocks(self) -> Iterator[TextBlock]:
        return blocks(self.source, self.text.ends, self.block_bytes, self.text.skip_lines)

    def _load_cached(self, entry: CacheEntry) -> None:
        if entry.load() is None:
            return
        entry.hold()
        cached = entry.load()  # again: it may have been swept before it was held
        if cached is not None:
            self._shown = self._snapshot(cached.schema, cached.parts, entry.key, complete=True)

    def _snapshot(
        self, schema: pa.Schema, segments: tuple[Segment, ...], generation: str, complete: bool
    ) -> Snapshot:
        rows = sum(segment.num_rows for segment in segments)
        token = ("text", str(self.source.path), *self.source.fingerprint, generation, rows)
        return Snapshot(self.name, self._columns(schema), segments, token, complete=complete)

    def _show(self, snapshot: Snapshot) -> None:
        """Rows once shown stay: a pass that begins anew is shown when it has come as far."""
        with self._snapshot_lock:
            if snapshot.complete or snapshot.num_rows >= self._shown.num_rows:
                self._shown = snapshot


def refuse_without_columns(source: TextSource, schema: pa.Schema) -> None:
    """Raise `FileProblem` for a whole file of objects without members: its rows could not be counted."""
    if not len(schema):
        raise FileProblem(
            source.path,
            "holds no columns",
            "Each of its objects is empty: {}",
            "Choose a file with data in it",
        )


def text_name(path: Path) -> str:
    """`trips` for `trips.csv` and `trips.csv.gz`."""
    return path.name.split(".")[0] or path.name


FIRST_BYTES = 1 << 20
_ANY_DELIMITED = RowEnds(delimiter=DELIMITERS.encode(), quote=b'"')


def looks_like_json_lines(contents: Contents) -> bool:
    """The first line with anything on it is a JSON object, whole or longer than what was looked at."""
    lines = _plain_head(contents).lstrip().split(b"\n", 1)
    if not lines[0].startswith(b"{"):
        return False
    try:
        return isinstance(json.loads(lines[0]), dict)
    except RecursionError:  # nested too deep, which is told when it is opened
        return True
    except ValueError:
        return len(lines) == 1 and len(lines[0]) >= HEAD_BYTES // 2 and b'":' in lines[0]


def looks_like_delimited(contents: Contents) -> bool:
    return is_text(_plain_head(contents))


def is_prose(contents: Contents) -> bool:
    """Text whose first line is not divided into fields: a letter, or a table of one column."""
    text = _plain_head(contents).strip()
    if not text or text.startswith((b"{", b"[")):
        return False
    return not any(sign in text.splitlines()[0] for sign in map(str.encode, DELIMITERS))


def is_note(contents: Contents) -> bool:
    """Text of a single line with a single field."""
    if not contents.whole or looks_like_json_lines(contents) or not looks_like_delimited(contents):
        return False
    text = _plain_head(contents).strip()
    return not any(sign in text for sign in (b"\n", b"\r", *map(str.encode, DELIMITERS)))


def open_json_lines(location: Location, options: OpenOptions) -> Dataset:
    source = open_source(location.files[0], options.encoding, FIRST_BYTES)
    return _open(location, options, source, JsonLines(source.path))


def open_delimited(location: Location, options: OpenOptions) -> Dataset:
    source = open_source(location.files[0], options.encoding, FIRST_BYTES)
    for data, whole in _beginnings(source):
        if not (whole or _ANY_DELIMITED.last(data)):
            continue
        if not data.strip():
            raise FileProblem(
                source.path, "holds no data", "There are only blanks and line breaks in it", "Choose another"
            )
        _refuse_json(source, data)
        dialect = find_dialect(data.decode(), whole, options.delimiter, options.header)
        if dialect is not None:
            break
    else:
        raise endless_row(source, _ANY_DELIMITED, data, 1)
    return _open(
        location, options, source, DelimitedText(source.path, dialect, options.ragged, options.text_columns)
    )


def _open(location: Location, options: OpenOptions, source: TextSource, text: TextFormat) -> Dataset:
    block, whole = _first_rows(source, text)
    schema = text.find_schema(block)
    notes = {field.name: field.metadata[NOTE].decode() for field in schema if field.metadata}
    reading = read_block(text, block, schema)
    while reading.rows is None:
        schema = join_schemas(schema, reading.schema)
        reading = read_block(text, block, schema)
    if whole:
        refuse_without_columns(source, schema)
    root = options.cache_dir or default_folder()
    entry = None if whole else CacheEntry(root, source, (text.label, *options.reading))
    return TextDataset(text_name(source.path), source, text, reading.schema, reading.rows, entry, notes)


def _first_rows(source: TextSource, text: TextFormat) -> tuple[TextBlock, bool]:
    """A block with at least one whole row, unless there is none; and whether it is the whole file."""
    for data, whole in _beginnings(source):
        block = first_block(source, data, whole, text.ends, text.skip_lines)
        if whole or not text.ends.none_in(block.data):
            break
    return block, whole


def _beginnings(source: TextSource) -> Iterator[tuple[bytes, bool]]:
    """More and more of the file, for callers that need a whole row of it, and whether that is all of it."""
    size = FIRST_BYTES
    while True:
        data, whole = source.beginning(size)
        yield data, whole
        if whole or size > LONGEST_ROW:
            return
        size = min(4 * size, LONGEST_ROW + 1)


def _refuse_json(source: TextSource, data: bytes) -> None:
    beginning = data.lstrip()[:1]
    if beginning == b"[" or (beginning == b"{" and b'"' in data):
        raise FileProblem(
            source.path,
            "is a JSON document, not JSON lines",
            "It does not hold one object on each line",
            "Write it as JSON lines: one object a line, no commas between (jq -c '.[]' does it)",
        )


def _plain_head(contents: Contents) -> bytes:
    """The head as UTF-8 where it is text, decompressed where it is compressed."""
    head, compression = contents.head, compression_of(contents.head)
    if compression is not None:
        with open_bytes(contents.path, compression) as (raw, _):
            head = raw.read(HEAD_BYTES)
    name, mark = find_encoding(head)
    try:
        return characters(name, is_named=False).feed(head[mark:], final=False)
    except UnicodeDecodeError:
        return head
