"""What all writers of formats use: options as data, the rows, and the kinds of types."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import pyarrow as pa
from pyarrow import types as is_

from lamella.core.datasets.blocks import WORKERS, in_order
from lamella.core.errors import BadData, UnknownName, instead_of, short_text, visible
from lamella.core.jobs import Job
from lamella.core.validation import names_of, text_of

PIECE_ROWS = 10_000
PIECE_BYTES = 64 * 2**20
CHARACTERS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";", "pipe": "|"}
"""Names for characters that are hard to type in a shell or a form."""
TRUE, FALSE = frozenset(("true", "yes", "on", "1")), frozenset(("false", "no", "off", "0"))
MOST_SYNCS = 100
"""The most files to sync one by one; for more, one call that syncs the whole disk is faster."""
MAKE_ROOM = "Choose another folder or free some space"
Item = TypeVar("Item")


class UnknownOption(UnknownName):
    kind = "option"


@dataclass(frozen=True)
class Option:
    """An option of a format. For a text, `choices` are suggestions; for a choice, they are all values.
    `lasting`: whether it is likely to apply to later exports too. `title` is its label if its name is not
    enough; `in_form`: whether the form of options has a field for it."""

    name: str
    kind: Literal["switch", "choice", "number", "text", "columns"]
    default: Any
    help: str
    choices: tuple[str, ...] = ()
    least: int = 1
    most: int = 2**31 - 1
    lasting: bool = True
    title: str = ""
    in_form: bool = True

    @property
    def label(self) -> str:
        return self.title or self.name.replace("_", " ").capitalize()

    @property
    def flag(self) -> str:
        return f"--{self.name.replace('_', '-')}"

    def read(self, value: Any) -> Any:
        """Parse a value that a user or program gave, including text; raise `BadData` for one that does not
        fit."""
        if self.kind == "columns":
            return tuple(names_of(value, f"export: {self.name}"))
        if self.kind == "switch":
            return self._switch(value)
        if self.kind == "number":
            return self._number(value)
        if not isinstance(value, str):
            raise self._refusal(value, "Give text")
        if self.kind == "text":
            return CHARACTERS.get(value, text_of(value, f"export: {self.name}"))
        if value.casefold() not in self.choices:
            raise self._refusal(value, instead_of(value, self.choices))
        return value.casefold()

    def _switch(self, value: Any) -> bool:
        word = str(value).casefold()
        if word not in TRUE | FALSE:
            raise self._refusal(value, "Give true or false")
        return word in TRUE

    def _number(self, value: Any) -> int:
        digits = str(value).replace("_", "")
        number = int(digits) if digits.isascii() and digits.isdecimal() and len(digits) <= 12 else -1
        if isinstance(value, bool) or not self.least <= number <= self.most:
            raise self._refusal(value, f"Give a whole number from {self.least:,} to {self.most:,}")
        return number

    def _refusal(self, value: Any, fix: str) -> BadData:
        return BadData(f"export: {self.name} cannot be {short_text(value)}", fix=fix)


Values = Mapping[str, Any]
"""The values of all of a format's options, by name."""


@dataclass(frozen=True)
class Rows:
    """The rows to write: in order, read once. `total` is None if they have not been counted; `name` is for
    formats whose tables have names."""

    schema: pa.Schema
    tables: Iterable[pa.Table]
    total: int | None
    name: str = "rows"


Write = Callable[[Path, Rows, Values, Job], None]
"""Writes rows to a new path, and leaves nothing open when it ends or raises."""

KINDS = {
    "null": "columns of nothing but nulls",
    "boolean": "true and false",
    "integer": "integers of 8 to 32 bits",
    "int64": "int64",
    "uint64": "uint64",
    "float": "floating-point numbers",
    "decimal": "decimal numbers",
    "text": "text",
    "category": "categories (dictionary-encoded values)",
    "binary": "binary values",
    "date": "dates",
    "time": "times of day",
    "timestamp": "timestamps without a zone",
    "zoned": "timestamps with a zone",
    "duration": "durations",
    "interval": "calendar intervals",
    "list": "lists",
    "struct": "structs",
    "map": "maps",
    "other": "other types",
}
"""Kinds of Arrow types, by how formats treat them."""
FINER_KINDS = {
    "unsigned": "unsigned integers of 8 to 32 bits",
    "float16": "floating-point numbers of 16 bits",
    "float32": "floating-point numbers of 32 bits",
    "decimal_16": "decimal numbers of more than 15 digits",
    "decimal_39": "decimal numbers of more than 38 digits",
    "binary_fixed": "binary values of a fixed length",
    "date64": "dates of 64 bits",
    "time_s": "times of day in seconds",
    "time_ms": "times of day in milliseconds",
    "timestamp_s": "timestamps without a zone in seconds",
    "timestamp_ns": "timestamps without a zone in nanoseconds",
    "zoned_s": "timestamps with a zone in seconds",
    "zoned_ns": "timestamps with a zone in nanoseconds",
    "duration_ns": "durations in nanoseconds",
}
"""Subdivisions of these, for formats that treat some of the types differently."""
_TESTS: tuple[tuple[str, Callable[[pa.DataType], bool]], ...] = (
    ("null", is_.is_null),
    ("boolean", is_.is_boolean),
    ("int64", is_.is_int64),
    ("uint64", is_.is_uint64),
    ("integer", is_.is_integer),
    ("float", is_.is_floating),
    ("decimal", is_.is_decimal),
    ("text", lambda kind: is_.is_string(kind) or is_.is_large_string(kind) or is_.is_string_view(kind)),
    ("category", is_.is_dictionary),
    ("date", is_.is_date),
    ("time", is_.is_time),
    ("timestamp", lambda kind: is_.is_timestamp(kind) and kind.tz is None),
    ("zoned", is_.is_timestamp),
    ("duration", is_.is_duration),
    ("interval", is_.is_interval),
    ("struct", is_.is_struct),
    ("map", is_.is_map),
    ("list", lambda kind: is_.is_nested(kind) and not is_.is_union(kind)),
    (
        "binary",
        lambda kind: is_.is_binary(kind) or is_.is_large_binary(kind) or is_.is_binary_view(kind)
        or is_.is_fixed_size_binary(kind),
    ),
)  # fmt: skip


def kind_of(kind: pa.DataType) -> str:
    """The kind of a type, one of `KINDS`; UUIDs are text."""
    if isinstance(kind, pa.UuidType):
        return "text"
    if isinstance(kind, pa.BaseExtensionType):
        return kind_of(kind.storage_type)
    if is_.is_run_end_encoded(kind):
        return kind_of(kind.value_type)
    return next((name for name, test in _TESTS if test(kind)), "other")


def kinds_of(kind: pa.DataType) -> list[str]:
    """The kind of a type, and its finer kinds in `FINER_KINDS`; for a dictionary, also those of its
    values."""
    name = kind_of(kind)
    if isinstance(kind, pa.BaseExtensionType):
        return [name] if isinstance(kind, pa.UuidType) else kinds_of(kind.storage_type)
    finer = [f"{name}_{kind.unit}"] if name in ("time", "timestamp", "zoned", "duration") else []
    if name == "integer" and is_.is_unsigned_integer(kind):
        finer = ["unsigned"]
    elif name == "float":
        finer = [f"float{kind.bit_width}"]
    elif name == "decimal":
        finer = [f"decimal_{limit}" for limit in (16, 39) if kind.precision >= limit]
    elif is_.is_date64(kind):
        finer = ["date64"]
    elif is_.is_fixed_size_binary(kind):
        finer = ["binary_fixed"]
    elif is_.is_dictionary(kind):
        finer = kinds_of(kind.value_type)
    return [name, *(each for each in finer if each in FINER_KINDS or each in KINDS)]


def pieces(tables: Iterable[pa.Table], most_rows: int = PIECE_ROWS) -> Iterator[pa.RecordBatch]:
    """Yield batches with few enough rows and bytes to convert to text at once; none is empty."""
    for table in tables:
        for batch in table.to_batches(max_chunksize=most_rows):
            yield from _halve(batch)


def _halve(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    rows = batch.num_rows
    if rows > 1 and batch.get_total_buffer_size() > PIECE_BYTES and batch.nbytes > PIECE_BYTES:
        yield from _halve(batch.slice(0, rows // 2))
        yield from _halve(batch.slice(rows // 2))
    elif rows:
        yield batch


def made_in_order(
    batches: Iterable[pa.RecordBatch], make: Callable[[pa.RecordBatch], Item]
) -> Iterator[Item]:
    """Apply `make` to each batch, in order, some batches ahead, so that threads keep working while the file
    is written."""
    return in_order(make, batches, ahead=WORKERS)


def unique_names(names: Sequence[str]) -> list[str]:
    """Make names unique, for formats that require it: the second `city` becomes `city_2`. Case does not
    count."""
    used: set[str] = set()
    unique = []
    for name in names:
        free, number = name, 2
        while free.casefold() in used:
            free, number = f"{name}_{number}", number + 1
        used.add(free.casefold())
        unique.append(free)
    return unique


def put_on_disk(draft: Path) -> None:
    """Sync a file or folder to the disk, whatever wrote it: a name that survives a power failure must not
    lead to half a file."""
    folders = [draft, *(path for path in draft.rglob("*") if path.is_dir())] if draft.is_dir() else []
    files = [path for path in draft.rglob("*") if path.is_file()] if folders else [draft]
    if len(files) > MOST_SYNCS and hasattr(os, "sync"):
        os.sync()
        return
    for path in files:
        with path.open("rb+") as file:
            os.fsync(file.fileno())
    for folder in folders:
        sync_folder(folder)


def sync_folder(folder: Path) -> None:
    """Sync a folder. Windows has no such call, and journals its folders."""
    if os.name == "posix":
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


class Output(AbstractContextManager["Output"]):
    """A new binary file, which is synced to the disk when the block ends without an error."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb", buffering=0)

    def write(self, data: Any) -> None:
        """Write all of some bytes or a buffer; the system may take less at a time."""
        view = memoryview(data).cast("B") if len(data) else memoryview(b"")
        while view:
            view = view[self._file.write(view) :]

    def fileno(self) -> int:
        return self._file.fileno()

    def __exit__(self, kind: object, *rest: object) -> None:
        with self._file:
            if kind is None:
                os.fsync(self._file.fileno())


def columns_among(rows: Rows, names: Iterable[str], option: str) -> list[str]:
    """Check that the names are among the exported columns; return them."""
    chosen_names = list(names)
    for name in chosen_names:
        if name not in rows.schema.names:
            raise BadData(
                f"{option}: column '{visible(name)}' is not exported",
                fix=instead_of(name, rows.schema.names),
            )
    return chosen_names
