"""Folders that stand for column values, `key=value`, as Hive names them and others read them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from core.arrays import from_values
from core.errors import BadData
from core.scan.snapshot import Column

NULL = "__HIVE_DEFAULT_PARTITION__"
_ESCAPED = frozenset("\"#%'*/:=?\\{[]^<>|\x7f") | {chr(i) for i in range(32)}


def folder_name(column: str, value: Any) -> str:
    """Raises `BadData` for a text that stands for null in such names."""
    if value == NULL:
        raise BadData(
            f"column '{column}' holds {NULL}, which stands for null in a folder's name",
            fix="Change the value, or partition by another column",
        )
    return f"{_escaped(column)}={NULL if value is None else _escaped(_text(value))}"


def folder_columns(
    root: Path, files: Sequence[Path], stored: Sequence[Column]
) -> tuple[tuple[Column, ...], list[dict[int, pa.Array]]]:
    """The columns that the folders below `root` stand for, besides those `stored` in the files, and the value
    of each for every file. None where the files' folders do not all stand for the same columns."""
    told = [_values_of(file.parent.relative_to(root)) if root in file.parents else {} for file in files]
    names = [name for name in told[0] if name not in {column.name for column in stored}] if told else []
    if any(list(values) != list(told[0]) for values in told):
        return (), [{} for _ in files]
    typed = [_typed([values[name] for values in told]) for name in names]
    columns = [
        Column(name, values.type, len(stored) + place)
        for place, (name, values) in enumerate(zip(names, typed, strict=True))
    ]
    constants = [
        {column.key: values.slice(at, 1) for column, values in zip(columns, typed, strict=True)}
        for at in range(len(files))
    ]
    return tuple(columns), constants


def _values_of(folder: PurePath) -> dict[str, str | None]:
    """What the folders of a path say: text by column, None for null."""
    found: dict[str, str | None] = {}
    for part in folder.parts:
        key, sign, text = part.partition("=")
        if sign and key:
            found[unquote(key)] = None if text == NULL else unquote(text)
    return found


def _typed(texts: Sequence[str | None]) -> pa.Array:
    """Values as whole numbers or days where each of them is one, written plainly; as text elsewhere."""
    given = [text for text in texts if text is not None]
    for kind, read in ((pa.int64(), _whole), (pa.date32(), dt.date.fromisoformat)):
        try:
            if given and all(str(read(text)) == text for text in given):
                return from_values([None if text is None else read(text) for text in texts], kind)
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


def _escaped(text: str) -> str:
    return "".join(f"%{ord(c):02X}" if c in _ESCAPED else c for c in text)
