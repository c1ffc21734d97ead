"""Text files: recognised by their first bytes, opened with their first rows."""

from __future__ import annotations

import json
from collections.abc import Iterator

from lamella.core.dataset import Dataset
from lamella.core.datasets.contents import HEAD_BYTES, Contents
from lamella.core.datasets.locate import Found
from lamella.core.datasets.options import OpenOptions
from lamella.core.datasets.text.blocks import LONGEST_ROW, endless_row, first_block
from lamella.core.datasets.text.cache import CacheEntry, default_folder
from lamella.core.datasets.text.characters import characters
from lamella.core.datasets.text.dataset import TextDataset, refuse_without_columns, text_name
from lamella.core.datasets.text.delimited import DelimitedText
from lamella.core.datasets.text.dialect import DELIMITERS, find_dialect
from lamella.core.datasets.text.encoding import find_encoding, is_text
from lamella.core.datasets.text.jsonlines import JsonLines
from lamella.core.datasets.text.reading import TextFormat, join_schemas, read_block
from lamella.core.datasets.text.rows import RowEnds
from lamella.core.datasets.text.source import TextSource, compression_of, open_bytes, open_source
from lamella.core.errors import FileProblem

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


def open_json_lines(found: Found, options: OpenOptions) -> Dataset:
    source = open_source(found.files[0], options.encoding, FIRST_BYTES)
    return _open(found, options, source, JsonLines(source.path))


def open_delimited(found: Found, options: OpenOptions) -> Dataset:
    source = open_source(found.files[0], options.encoding, FIRST_BYTES)
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
        found, options, source, DelimitedText(source.path, dialect, options.ragged, options.text_columns)
    )


def _open(found: Found, options: OpenOptions, source: TextSource, text: TextFormat) -> Dataset:
    for data, whole in _beginnings(source):
        block = first_block(source, data, whole, text.ends, text.skip_lines)
        if whole or not text.ends.none_in(block.data):
            break
    schema = text.find_schema(block)
    notes = {field.name: field.metadata for field in schema if field.metadata}
    reading = read_block(text, block, schema)
    while reading.rows is None:
        schema = join_schemas(schema, reading.schema)
        reading = read_block(text, block, schema)
    if whole:
        refuse_without_columns(source, schema)
    root = options.cache_dir or default_folder()
    entry = None if whole else CacheEntry(root, source, (text.label, *options.reading))
    return TextDataset(text_name(source.path), source, text, reading.schema, reading.rows, entry, notes)


def _beginnings(source: TextSource) -> Iterator[tuple[bytes, bool]]:
    """More and more of the file, for those who need a whole row of it, and whether that is all of it."""
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
        return characters(name, told=False).feed(head[mark:], final=False)
    except UnicodeDecodeError:
        return head
