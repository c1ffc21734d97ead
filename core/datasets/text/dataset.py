"""A text file in place: recognised, and prepared to be read in blocks of whole rows."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterator
from pathlib import Path

import pyarrow as pa

from lamella.core.datasets.base import OpenOptions, Problem
from lamella.core.datasets.blocks import Reading
from lamella.core.datasets.contents import HEAD_BYTES, Contents, look_into
from lamella.core.datasets.locate import Stamp
from lamella.core.datasets.text.bad_lines import Problems, sentences
from lamella.core.datasets.text.blocks import (
    LONGEST_ROW,
    RowEnds,
    TextBlock,
    TextFormat,
    blocks,
    endless_row,
    first_block,
    join_schemas,
    solid_schema,
)
from lamella.core.datasets.text.delimited import DelimitedText, options_for, word_for
from lamella.core.datasets.text.dialect import DELIMITERS, Dialect, find_dialect
from lamella.core.datasets.text.encodings import (
    BEYOND_ASCII,
    REPLACEMENT,
    UTF8,
    WESTERN,
    characters,
    find_encoding,
    is_text,
)
from lamella.core.datasets.text.json_document import ArraySource, JsonDocument, holds_array
from lamella.core.datasets.text.json_lines import JsonLines
from lamella.core.datasets.text.source import TextSource, compression_of, open_bytes, open_source
from lamella.core.datasets.text.types import solid
from lamella.core.errors import FileProblem
from lamella.core.jobs import Job
from lamella.core.phrases import quantity
from lamella.core.scan.snapshot import NOTE, noted_field

SMALLEST_BLOCK, LARGEST_BLOCK, BLOCKS_A_FILE = 8 << 20, 32 << 20, 64


class TextFile:
    """A text file as blocks: the source of its text, and the format of its rows."""

    def __init__(
        self, source: TextSource, text: TextFormat, options: OpenOptions, remarks: tuple[str, ...] = ()
    ) -> None:
        self.source, self.text, self.options = source, text, options
        self._about, self._problems = remarks, Problems(source.path)
        self._late: dict[int, str] = {}
        self._replacement_counts: dict[int, tuple[int, int]] = {}
        self.path, self.paths = source.path, (source.path,)
        self.label = text.label + (f", {source.compression}" if source.compression else "")
        self.reading = options.reading
        self._notes: dict[str, tuple[str, pa.DataType]] = {}

    @property
    def remarks(self) -> tuple[str, ...]:
        return (*self.about, *sentences(self._problems.in_order, self._problems.misfits, self.words_of_types))

    @property
    def about(self) -> tuple[str, ...]:
        """The remarks without those on lines and values that could not be read."""
        return (*self._about, *self._late_encoding(), *self._replacements())

    def _late_encoding(self) -> Iterator[str]:
        late = dict(self._late)  # other threads read blocks
        if late and self.encoding not in EVERYDAY:
            yield f"Read as {self.encoding} from line {min(late):,} on, as its bytes suggest"

    def _replacements(self) -> Iterator[str]:
        replaced = list(self._replacement_counts.values())
        if replaced:
            total, line = sum(count for count, _ in replaced), min(line for _, line in replaced)
            places = "1 place is" if total == 1 else f"{total:,} places are"
            yield f"{places} not valid {self.encoding} and read as '{REPLACEMENT}', line {line:,} first"

    @property
    def encoding(self) -> str:
        """The encoding as far as the file was read: text that begins as ASCII may be in another one."""
        late = dict(self._late)
        return late[min(late)] if late else self.source.encoding

    @property
    def words_of_types(self) -> dict[str, str]:
        """The word for a value of each column whose type was chosen, by column."""
        types = getattr(self.text, "types", {})
        return {name: word_for(kind) for name, kind in types.items()}

    @property
    def problems(self) -> tuple[Problem, ...]:
        return self._problems.in_order

    @property
    def misfits(self) -> dict[str, int]:
        """The number of values by column that are null because they do not fit the chosen type."""
        return self._problems.misfits

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the columns, if the file states them before its rows; else None."""
        return self.text.dialect.names if isinstance(self.text, DelimitedText) else None

    @property
    def stored_names(self) -> tuple[str, ...]:
        """The names of the columns in the file, if it states them before its rows; else empty."""
        return self.text.stored_names if isinstance(self.text, DelimitedText) else ()

    def begin(self) -> tuple[TextBlock, pa.Schema, bool]:
        """Return the first rows as a block, the columns inferred from them, and whether that is the whole
        file."""
        block, whole = _first_rows(self.source, self.text)
        schema = self.text.find_schema(block)
        self._notes = {f.name: (f.metadata[NOTE].decode(), solid(f.type)) for f in schema if f.metadata}
        return block, schema, whole

    @property
    def size(self) -> int:
        return self.source.size

    @property
    def stamps(self) -> tuple[Stamp, ...]:
        return (self.source.stamp,)

    def blocks(self, job: Job) -> Generator[TextBlock, None, None]:
        size = max(SMALLEST_BLOCK, min(LARGEST_BLOCK, self.source.size // BLOCKS_A_FILE))
        return blocks(self.source, self.text.ends, size, self.text.skip_lines)

    def read(self, block: TextBlock, schema: pa.Schema) -> Reading:
        reading = self.text.read(block, schema)
        if reading.rows is not None:
            self._problems.put(block.number, reading.problems, dict(reading.misfits))
            self._note_characters(block)
        return reading

    def _note_characters(self, block: TextBlock) -> None:
        """Note where a detected encoding begins that is not that of the first bytes, and how many bytes were
        replaced."""
        if block.encoding != self.source.encoding:
            first = BEYOND_ASCII.search(block.data)
            if first is not None:
                self._late[block.first_line + block.data.count(b"\n", 0, first.start())] = block.encoding
        if self.source.replacing:
            mark = REPLACEMENT.encode()
            self._replacement_counts.pop(block.number, None)
            if count := block.data.count(mark):
                line = block.first_line + block.data.count(b"\n", 0, block.data.index(mark))
                self._replacement_counts[block.number] = count, line

    def join(self, a: pa.Schema, b: pa.Schema) -> pa.Schema:
        return join_schemas(a, b)

    def shown_schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the columns as shown. A note is dropped if the column's type is no longer that of the first
        rows."""
        return pa.schema([noted_field(f.name, f.type, self._note(f)) for f in solid_schema(schema)])

    def _note(self, field: pa.Field) -> str:
        note, kind = self._notes.get(field.name, ("", None))
        return note if field.type == kind else ""

    def describe_place(self, block: TextBlock) -> str:
        return f"line {block.first_line:,}"

    def release(self) -> None:
        """Do nothing: no memory is held between reads."""


def text_name(path: Path) -> str:
    """Return the name of the dataset: `trips` for `trips.csv` and `trips.csv.gz`."""
    return path.name.split(".")[0] or path.name


FIRST_BYTES = 1 << 20
_ANY_ROW_ENDS = RowEnds(delimiter=DELIMITERS.encode(), quote=b'"')


def looks_like_json_lines(contents: Contents) -> bool:
    """Whether the first non-empty line is a JSON object, or the beginning of one that is cut off here."""
    lines = _plain_head(contents).lstrip().split(b"\n", 1)
    if not lines[0].startswith(b"{"):
        return False
    try:
        return isinstance(json.loads(lines[0]), dict)
    except RecursionError:  # nested too deep, which opening it reports
        return True
    except ValueError:
        return len(lines) == 1 and len(lines[0]) >= HEAD_BYTES // 2 and b'":' in lines[0]


def looks_like_json_document(contents: Contents) -> bool:
    """Whether it is an array of objects, or an object that is not a row, or that wraps an array of rows."""
    head = _plain_head(contents)
    if not is_text(head) or not holds_array(head):
        return False
    if head.lstrip().startswith(b"[") or not looks_like_json_lines(contents):
        return True
    return not any(f".{suffix}" in contents.path.suffixes for suffix in ROW_SUFFIXES) and _is_envelope(
        contents
    )


ROW_SUFFIXES = ("jsonl", "ndjson")
"""A single line may be a row or a document; in files with these suffixes it is a row."""


def _is_envelope(contents: Contents) -> bool:
    """Whether the text is a single line with an object, of whose members exactly one is an array of
    objects."""
    with open_bytes(contents.path, compression_of(contents.head)) as (raw, _):
        data = raw.read(FIRST_BYTES).strip()
    if b"\n" in data:
        return False
    try:
        members = json.loads(data)
    except ValueError:  # longer than what was read
        return bool(_BEGINNING_OF_ENVELOPE.match(data))
    except RecursionError:
        return False
    if not isinstance(members, dict):
        return False
    arrays = [m for m in members.values() if isinstance(m, list) and m and isinstance(m[0], dict)]
    return len(arrays) == 1


_BEGINNING_OF_ENVELOPE = re.compile(
    rb'\s*\{(?:\s*"[^"\\]*"\s*:\s*(?:"[^"\\]*"|[-+.\w]+)\s*,)*\s*"[^"\\]*"\s*:\s*\[\s*\{'
)


def looks_like_delimited(contents: Contents) -> bool:
    return is_text(_plain_head(contents))


def is_prose(contents: Contents) -> bool:
    """Whether it is text whose first line has no delimiter, such as a letter or a table of one column."""
    text = _plain_head(contents).strip()
    if not text or text.startswith((b"{", b"[")):
        return False
    return not any(sign in text.splitlines()[0] for sign in map(str.encode, DELIMITERS))


def is_note(contents: Contents) -> bool:
    """Whether it is text of a single line with a single field."""
    if not contents.whole or looks_like_json_lines(contents) or not looks_like_delimited(contents):
        return False
    text = _plain_head(contents).strip()
    return not any(sign in text for sign in (b"\n", b"\r", *map(str.encode, DELIMITERS)))


def json_lines_file(path: Path, options: OpenOptions) -> TextFile:
    return TextFile(open_source(path, options.encoding, FIRST_BYTES), JsonLines(path), options)


def json_document_file(path: Path, options: OpenOptions) -> TextFile:
    source = ArraySource(**vars(open_source(path, options.encoding, FIRST_BYTES)))
    is_member = _plain_head(look_into(path)).lstrip().startswith(b"{")
    return TextFile(source, JsonDocument(path), options, (AROUND,) if is_member else ())


AROUND = "Everything outside the array of objects is left out"


def delimited_file(path: Path, options: OpenOptions, is_part: bool = False) -> TextFile:
    """Describe a delimited text. `is_part`: it is one of several files, and may lack columns that the options
    name. Raises `FileProblem`."""
    passing, replacing = options.bad_lines == "set-aside", options.bad_bytes == "replace"
    source = open_source(path, options.encoding, FIRST_BYTES, passing=passing, replacing=replacing)
    for data, whole in _beginnings(source):
        if not (whole or _ANY_ROW_ENDS.last(data)):
            continue
        if not data.strip():
            raise FileProblem(
                source.path, "holds no data", "There are only spaces and line breaks in it", "Choose another"
            )
        _refuse_json(source, data)
        dialect = find_dialect(
            data.decode(errors="replace" if passing else "strict"),
            whole,
            options.delimiter,
            options.header,
            options.quote,
            options.skip_rows,
        )
        if dialect is not None:
            break
    else:
        raise endless_row(source, _ANY_ROW_ENDS, data, 1)
    own = options_for(dialect.names, options) if is_part else options
    text = DelimitedText(source.path, dialect, own)
    return TextFile(source, text, options, tuple(_about(source, dialect)))


def _about(source: TextSource, dialect: Dialect) -> Iterator[str]:
    """Remarks about detected properties that users may not expect."""
    if not source.is_named and source.encoding not in EVERYDAY:
        yield f"Read as {source.encoding}, as its bytes suggest"
    if dialect.above:
        lines = quantity(len(dialect.above), "line")
        verb = "is" if len(dialect.above) == 1 else "are"
        texts = "; ".join(text[:LONGEST_LINE_ABOVE] for text in dialect.above[:MOST_LINES_ABOVE])
        yield f"{lines} above the table {verb} left out: {texts}"


EVERYDAY = (UTF8, WESTERN, "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
MOST_LINES_ABOVE, LONGEST_LINE_ABOVE = 3, 80


def _first_rows(source: TextSource, text: TextFormat) -> tuple[TextBlock, bool]:
    """A block with at least one whole row, if there is any, and whether it is the whole file."""
    for data, whole in _beginnings(source):
        block = first_block(source, data, whole, text.ends, text.skip_lines)
        if whole or not text.ends.has_no_row(block.data):
            break
    return block, whole


def _beginnings(source: TextSource) -> Iterator[tuple[bytes, bool]]:
    """Longer and longer beginnings of the file, until the caller has a whole row, each with whether it is the
    whole file."""
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
            "is JSON, but holds no objects",
            "Rows are the objects of an array, or one object on each line",
            "Write it as JSON lines: one object per line",
        )


def _plain_head(contents: Contents) -> bytes:
    """The head of the file, decompressed, and as UTF-8 if it is text."""
    head, compression = contents.head, compression_of(contents.head)
    if compression is not None:
        with open_bytes(contents.path, compression) as (raw, _):
            head = raw.read(HEAD_BYTES)
    name, mark = find_encoding(head)
    try:
        return characters(name, is_named=False).feed(head[mark:], final=False)
    except UnicodeDecodeError:
        return head
