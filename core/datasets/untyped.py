"""Columns of a Parquet file whose type Parquet itself does not tell, told without Arrow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lamella.core.errors import LamellaError
from lamella.core.query.engine import cursor

_LEAVES = "SELECT name, num_children, type, converted_type, logical_type FROM parquet_schema($1)"
_BYTES = "FIXED_LEN_BYTE_ARRAY"


def untyped_columns(path: Path) -> list[str]:
    """Those that hold, at any depth, bytes of one length that the file gives no meaning: none where DuckDB
    cannot read the footer either."""
    try:
        with cursor(of=str(path)) as own:
            nodes = own.execute(_LEAVES, [str(path)]).fetchall()
    except LamellaError:
        return []
    found, place = [], 1
    while place < len(nodes):
        end = _end(nodes, place)
        if any(_is_untyped(*node[2:]) for node in nodes[place:end]):
            found.append(nodes[place][0])
        place = end
    return found


def _end(nodes: list[Any], place: int) -> int:
    """Behind a node and all inside it: they are listed one after the other, each before its own."""
    end = place + 1
    for _ in range(nodes[place][1] or 0):
        end = _end(nodes, end)
    return end


def _is_untyped(kind: str | None, converted: str | None, logical: str | None) -> bool:
    return kind == _BYTES and converted is None and logical is None
