"""Footers of Parquet files without the columns that cannot be read: with such a footer Arrow reads the
others. The numbers of fields are those of `parquet.thrift`."""

from __future__ import annotations

import base64
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lamella.core.errors import FileProblem
from lamella.core.scan.thrift import LIST, STRUCT, Struct, Value, parse_struct, struct_bytes

MAGIC = b"PAR1"
SIGNATURE_BYTES = 28
"""They follow a footer with encrypted columns. Asking pyarrow 26 for such a column's metadata crashes the
process."""
OTHER_COLUMNS = (
    "Write the file again, unencrypted, and with other types: decimal(38, 0) or text for 128-bit integers"
)
_ENCRYPTION_PROBLEM = "it is encrypted, and there is no way to pass keys"
_SCHEMA, _GROUPS, _METADATA, _ORDERS = 2, 4, 5, 7
_ENCRYPTION, _SIGNING_KEY = 8, 9
_TYPE, _NAME, _CHILDREN, _CONVERTED_TYPE, _LOGICAL_TYPE = 1, 4, 5, 6, 10
_FIXED_BYTES = 7
_CHUNKS, _SORTING = 1, 4
_CHUNK_KEY = 8
_KEY, _VALUE = 1, 2
_ARROW_SCHEMA = b"ARROW:schema"


class UnreadableColumns(FileProblem):
    """An intact file with columns that cannot be read, because of their types or encryption."""


@dataclass(frozen=True)
class Part:
    """The metadata without the columns that cannot be read; why these cannot, by name; and the names of all
    columns, if some cannot."""

    metadata: pq.FileMetaData
    unreadable_columns: Mapping[str, str] = field(default_factory=dict)
    names: tuple[str, ...] = ()


def readable_part(path: Path) -> Part | None:
    """Return None if no column has to be left out, or the footer is invalid. Raises `UnreadableColumns` if no
    column can be read."""
    try:
        footer = parse_struct(_footer_content(path))
        columns = list(_columns(footer[_SCHEMA].content))
        reasons = dict(_unreadable(footer, columns))
        part = _part(footer, columns, reasons) if 0 < len(reasons) < len(columns) else None
    except (OSError, pa.ArrowException, ValueError, LookupError, TypeError, AttributeError):
        return None
    if reasons and part is None:
        why = f"Column '{columns[0].name}': {reasons[0]}"
        raise UnreadableColumns(path, "has no column that can be read", why, OTHER_COLUMNS)
    return part


def _footer_content(path: Path) -> bytes:
    with path.open("rb") as file:
        file.seek(-8, os.SEEK_END)
        size, magic = int.from_bytes(file.read(4), "little"), file.read(4)
        if magic != MAGIC:
            raise ValueError("The file does not end with a footer")
        file.seek(-8 - size, os.SEEK_END)
        return file.read(size)


@dataclass(frozen=True)
class _Column:
    name: str
    elements: Sequence[Struct]
    leaves: range


def _part(footer: Struct, columns: Sequence[_Column], unreadable: Mapping[int, str]) -> Part:
    places = [place for place in range(len(columns)) if place not in unreadable]
    leaves = {leaf for place in places for leaf in columns[place].leaves}
    part = {number: value for number, value in footer.items() if number not in (_ENCRYPTION, _SIGNING_KEY)}
    part[_SCHEMA] = _schema(footer[_SCHEMA].content[0], [columns[place] for place in places])
    part[_GROUPS] = _list(_group(group, leaves) for group in footer[_GROUPS].content)
    if _ORDERS in part:
        part[_ORDERS] = _list(_only(part[_ORDERS].content, leaves))
    if _METADATA in part:
        part[_METADATA] = _list(_metadata_of(part[_METADATA].content, places, len(columns)))
    names = tuple(column.name for column in columns)
    return Part(_parse(part), {names[place]: why for place, why in unreadable.items()}, names)


def _columns(elements: Sequence[Struct]) -> Iterator[_Column]:
    """The columns with their elements of the schema, in which children follow their parents."""
    start, leaf = 1, 0
    while start < len(elements):
        end, due = start, 1
        while due:
            due += _children(elements[end]) - 1
            end += 1
        own = elements[start:end]
        count = sum(_TYPE in element for element in own)
        yield _Column(own[0][_NAME].content.decode(), own, range(leaf, leaf + count))
        start, leaf = end, leaf + count


def _children(element: Struct) -> int:
    return int(element[_CHILDREN].content) if _CHILDREN in element else 0


def _unreadable(footer: Struct, columns: Sequence[_Column]) -> Iterator[tuple[int, str]]:
    groups = [group[_CHUNKS].content for group in footer[_GROUPS].content]
    encrypted = {leaf for chunks in groups for leaf, chunk in enumerate(chunks) if _CHUNK_KEY in chunk}
    foreign = _foreign_types(footer)
    for place, column in enumerate(columns):
        if not encrypted.isdisjoint(column.leaves):
            yield place, _ENCRYPTION_PROBLEM
        elif why := _refusal(footer, [column]):
            yield place, f"Arrow cannot read its type: {why}"
        elif foreign and any(map(_is_untyped, column.elements)):
            yield place, f"only the program that wrote it can tell its type: {foreign}"


def _foreign_types(footer: Struct) -> str:
    """Why pyarrow refuses the schema of Arrow that is noted in the file; empty if it does not. Bytes of a
    fixed length without a type of Parquet may be anything then."""
    for entry in footer[_METADATA].content if _METADATA in footer else ():
        if entry[_KEY].content == _ARROW_SCHEMA:
            try:
                _arrow_schema(entry)
            except pa.ArrowNotImplementedError as error:
                return str(error)
            except (pa.ArrowException, ValueError, OSError):
                return ""
    return ""


def _arrow_schema(entry: Struct) -> pa.Schema:
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(entry[_VALUE].content)))


def _is_untyped(element: Struct) -> bool:
    is_fixed = _TYPE in element and element[_TYPE].content == _FIXED_BYTES
    return is_fixed and _CONVERTED_TYPE not in element and _LOGICAL_TYPE not in element


def _refusal(footer: Struct, columns: Sequence[_Column]) -> str:
    """Why Arrow refuses the types of columns; empty if it does not."""
    root = footer[_SCHEMA].content[0]
    only = {1: footer[1], _SCHEMA: _schema(root, columns), 3: Value(footer[3].type, 0), _GROUPS: _list([])}
    try:
        _parse(only).schema.to_arrow_schema()
    except pa.ArrowException as error:
        return str(error)
    return ""


def _parse(footer: Struct) -> pq.FileMetaData:
    content = struct_bytes(footer)
    return pq.read_metadata(pa.BufferReader(MAGIC + content + len(content).to_bytes(4, "little") + MAGIC))


def _schema(root: Struct, columns: Sequence[_Column]) -> Value:
    count = Value(root[_CHILDREN].type, len(columns))
    return _list(
        [{**root, _CHILDREN: count}, *(element for column in columns for element in column.elements)]
    )


def _group(group: Struct, leaves: Collection[int]) -> Struct:
    """The row group with only these leaves, and without the columns it is sorted by, which are numbers."""
    fields = {number: value for number, value in group.items() if number != _SORTING}
    return {**fields, _CHUNKS: _list(_only(group[_CHUNKS].content, leaves))}


def _metadata_of(entries: Sequence[Struct], places: Sequence[int], count: int) -> Iterator[Struct]:
    """The file's own metadata, with Arrow's schema of only the columns at `places`, or without that schema if
    pyarrow cannot read it."""
    for entry in entries:
        if entry[_KEY].content != _ARROW_SCHEMA:
            yield entry
            continue
        try:
            whole = _arrow_schema(entry)
        except (pa.ArrowException, ValueError, OSError):
            continue
        if len(whole) == count:
            schema = pa.schema([whole.field(place) for place in places], whole.metadata)
            yield {**entry, _VALUE: Value(entry[_VALUE].type, base64.b64encode(schema.serialize()))}


def _only(items: Sequence[Struct], leaves: Collection[int]) -> list[Struct]:
    return [item for leaf, item in enumerate(items) if leaf in leaves]


def _list(items: Any) -> Value:
    return Value(LIST, list(items), STRUCT)
