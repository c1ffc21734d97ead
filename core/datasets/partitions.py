"""Folders named `key=value`, in the style of Hive, that stand for values of columns."""

from __future__ import annotations

import base64
import datetime as dt
from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import Decimal
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from lamella.core.arrow.arrays import from_values
from lamella.core.errors import BadData
from lamella.core.scan.snapshot import Column

TYPES = b"lamella.folder_types"
"""The key in a file's metadata for the columns that its folders stand for: an Arrow schema in Base64."""
FROM_FOLDER = "From the names of the folders that the files are in"
NULL = "__HIVE_DEFAULT_PARTITION__"
_ESCAPED_CHARACTERS = frozenset("\"#%'*/:=?\\{[]^<>|\x7f") | {chr(i) for i in range(32)}


def folder_name(column: str, value: Any) -> str:
    """Return the name of the folder for rows with this value. Raises `BadData` for the text that stands for
    null in such names."""
    if value == NULL:
        raise BadData(
            f"column '{column}' holds {NULL}, which stands for null in a folder's name",
            fix="Change the value, or partition by another column",
        )
    return f"{_escape(column)}={NULL if value is None else _escape(_text(value))}"


def types_note(columns: Sequence[pa.Field]) -> dict[bytes, bytes]:
    """Return the file metadata that records the types of the columns that its folders stand for."""
    bare = pa.schema([pa.field(column.name, column.type) for column in columns])
    return {TYPES: base64.b64encode(bare.serialize().to_pybytes())}


def noted_types(metadata: Collection[Mapping[bytes, bytes] | None]) -> dict[str, pa.DataType]:
    """Return the recorded types by column, if they are the same in all files; else an empty dict."""
    notes = {(noted or {}).get(TYPES) for noted in metadata}
    note = notes.pop() if len(notes) == 1 else None
    if note is None:
        return {}
    try:
        schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(note)))
    except (ValueError, OSError):  # a foreign file may use the same key
        return {}
    return dict(zip(schema.names, schema.types, strict=True))


def folder_columns(
    root: Path, files: Sequence[Path], stored: Sequence[Column], types: Mapping[str, pa.DataType]
) -> tuple[tuple[Column, ...], list[dict[int, pa.Array]]]:
    """Return the columns that the folders below `root` stand for, without those `stored` in the files, and
    their values for every file by key. If the folders do not name the same columns for all files, there are
    none.

    The type of a column is inferred if it is missing in `types`, or if a value does not fit it.
    """
    by_file = [_values_of(file.parent.relative_to(root)) if root in file.parents else {} for file in files]
    names = [name for name in by_file[0] if name not in {column.name for column in stored}] if by_file else []
    if any(list(values) != list(by_file[0]) for values in by_file):
        return (), [{} for _ in files]
    typed = [_parse([values[name] for values in by_file], types.get(name)) for name in names]
    columns = [
        Column(name, values.type, len(stored) + place, note=FROM_FOLDER)
        for place, (name, values) in enumerate(zip(names, typed, strict=True))
    ]
    constants = [
        {column.key: values.slice(at, 1) for column, values in zip(columns, typed, strict=True)}
        for at in range(len(files))
    ]
    return tuple(columns), constants


def _values_of(folder: PurePath) -> dict[str, str | None]:
    """The values that the folders of a path stand for: text by column, None for null."""
    values: dict[str, str | None] = {}
    for part in folder.parts:
        key, sign, text = part.partition("=")
        if sign and key:
            values[unquote(key)] = None if text == NULL else unquote(text)
    return values


def _parse(texts: Sequence[str | None], kind: pa.DataType | None) -> pa.Array:
    try:
        return _guess(texts) if kind is None else _read_as(texts, kind)
    except (ValueError, pa.ArrowNotImplementedError):
        return _guess(texts)


def _read_as(texts: Sequence[str | None], kind: pa.DataType) -> pa.Array:
    """Parse texts that `_text` wrote. Arrow parses neither times of day nor all fractions of a second."""
    parse = _reader_of(kind)
    if parse is None:
        return from_values(list(texts), pa.string()).cast(kind)
    return from_values([None if text is None else parse(text) for text in texts], kind)


def _reader_of(kind: pa.DataType) -> Callable[[str], Any] | None:
    if pa.types.is_time(kind):
        return dt.time.fromisoformat
    return dt.datetime.fromisoformat if pa.types.is_timestamp(kind) and kind.unit != "ns" else None


def _guess(texts: Sequence[str | None]) -> pa.Array:
    """The values as integers or dates if all are written in the canonical form of that type; else as text."""
    values = [text for text in texts if text is not None]
    for kind, parse in ((pa.int64(), _whole), (pa.date32(), dt.date.fromisoformat)):
        try:
            if values and all(str(parse(text)) == text for text in values):
                return from_values([None if text is None else parse(text) for text in texts], kind)
        except (ValueError, pa.ArrowInvalid):
            continue
    return from_values(list(texts), pa.string())


def _whole(text: str) -> int:
    number = int(text)
    if not -(2**63) <= number < 2**63:
        raise ValueError("too large")
    return number


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dt.datetime):
        return value.isoformat(" ")
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def _escape(text: str) -> str:
    return "".join(f"%{ord(c):02X}" if c in _ESCAPED_CHARACTERS else c for c in text)
