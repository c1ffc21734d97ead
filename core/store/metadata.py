"""What is noted about a table and its columns: keys and values, of Arrow's schema and of people's own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq

from lamella.core.arguments import text_of
from lamella.core.errors import BadData, shown
from lamella.core.scan.snapshot import Column
from lamella.core.store.columns_change import CAST_FROM, known
from lamella.core.store.commit import Change, Metadata
from lamella.core.store.data_file import WrittenFile
from lamella.core.store.ids import ID_COLUMN
from lamella.core.store.state import State

TABLE = 0
"""The column id under which the table's own are kept."""
Values = Mapping[str | bytes, str | bytes | None]
_FIELD_ID = b"PARQUET:field_id"
REQUIRED = b"lamella.required"
"""Noted about a column whose field said that it holds no null, until one comes."""
_OWN = frozenset({REQUIRED, CAST_FROM})
"""Notes that are not people's."""


def from_schema(schema: pa.Schema, columns: Sequence[Column]) -> Metadata:
    """What a schema says of the table, and its fields of the columns.

    All of it is kept, what pandas noted of a DataFrame too; but not the field ids of a Parquet file that the
    data came from.
    """
    noted = {(TABLE, key): value for key, value in (schema.metadata or {}).items()}
    keys = {c.name: c.key for c in columns}
    for field in schema:
        noted |= {(keys[field.name], key): v for key, v in (field.metadata or {}).items() if key != _FIELD_ID}
        if not field.nullable:
            noted[keys[field.name], REQUIRED] = b""
    return noted


def with_nulls_noted(change: Change, metadata: Metadata) -> Change:
    """`change` of a table of this metadata, after which required columns that get a null are so no more."""
    noted = metadata if change.metadata is None else change.metadata
    required = [key for key, name in noted if name == REQUIRED]
    gained = {key for key in required if _gets_null(change, key)}
    if not gained:
        return change
    kept = {about: value for about, value in noted.items() if about[1] != REQUIRED or about[0] not in gained}
    return replace(change, metadata=kept)


def _gets_null(change: Change, key: int) -> bool:
    cells = {} if change.cells is None else change.cells.values
    if key in cells and cells[key].null_count:
        return True
    if change.rows is not None and change.rows[1] and not _is_complete(change.rows[0], key):
        return True
    return any(_may_hold_null(file, key) for file in change.files)


def _is_complete(values: Mapping[int, pa.Array], key: int) -> bool:
    return key in values and not values[key].null_count


def _may_hold_null(file: WrittenFile, key: int) -> bool:
    """Files of our own writing say of columns without nulls that they are required."""
    name = {int(number): name for number, name in json.loads(file.names).items()}.get(key)
    return name is None or bool(pq.read_schema(file.path).field(name).nullable)


def with_metadata(state: State) -> pa.Schema:
    """The table's columns; of one that was given as required, and holds no null yet, that it is."""
    by_column: dict[int, dict[bytes, bytes]] = {}
    for (column, key), value in state.metadata.items():
        if key not in _OWN:
            by_column.setdefault(column, {})[key] = value
    fields = [
        pa.field(c.name, c.type, (c.key, REQUIRED) not in state.metadata, by_column.get(c.key))
        for c in state.columns
    ]
    return pa.schema([pa.field(ID_COLUMN.name, ID_COLUMN.type), *fields], by_column.get(TABLE))


def of_column(state: State, name: str | None) -> dict[str, str]:
    """What is noted about a column, or about the table where `name` is None."""
    wanted = _key(state, name)
    noted = {key: value for (column, key), value in state.metadata.items() if column == wanted}
    return {_text(key): _text(value) for key, value in noted.items() if key not in _OWN}


def refuse_other_than_text(table: str, values: Values) -> None:
    """Raises `BadData` for keys and values that cannot be noted, before any of them is."""
    if not isinstance(values, Mapping):
        raise BadData(f"{table}: metadata is a dict of text, not {shown(values)}", fix="Give {key: value}")
    for key, value in values.items():
        if not isinstance(key, (str, bytes)):
            raise BadData(f"{table}: a key of metadata is text, not {shown(key)}", fix="Write it as text")
        if value is not None and not isinstance(value, (str, bytes)):
            called = key if isinstance(key, str) else key.decode(errors="replace")
            raise BadData(
                f"{table}: metadata is text; '{called}' is {shown(value)}",
                fix="Write it as text, such as JSON; None forgets what was noted",
            )


def changed(state: State, name: str | None, values: Values, message: str) -> Change:
    about = _key(state, name)
    noted = dict(state.metadata)
    for key, value in values.items():
        if value is None:
            noted.pop((about, _bytes(key)), None)
        else:
            noted[about, _bytes(key)] = _bytes(value)
    return Change(message, state.columns, noted)


def _key(state: State, name: str | None) -> int:
    return TABLE if name is None else known(state, [name])[0].key


def _text(stored: bytes) -> str:
    return stored.decode(errors="surrogateescape")


def _bytes(given: str | bytes) -> bytes:
    """Raises `BadData` for halves of characters that stand for no byte."""
    if isinstance(given, bytes):
        return given
    try:
        return given.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        return text_of(given, "the metadata").encode()
