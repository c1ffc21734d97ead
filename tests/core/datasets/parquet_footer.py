"""Footers of Parquet files taken apart and written anew, to make files as other programs write them, or wrong
ones. The structures are those of `parquet.thrift`, as dicts by the number of the field."""

from __future__ import annotations

from pathlib import Path

from lamella.core.scan.thrift import Struct, parse_struct, struct_bytes

MAGIC = b"PAR1"
SCHEMA, NUM_ROWS, ROW_GROUPS, CREATED_BY = 2, 3, 4, 6
LOGICAL_TYPE, CONVERTED_TYPE = 10, 6
GROUP_COLUMNS, GROUP_ROWS = 1, 3
CHUNK_METADATA, CHUNK_TYPE, CODEC, CHUNK_STATISTICS, CHUNK_VALUES = 3, 1, 4, 12, 5
MAX, MIN, NULL_COUNT, MAX_VALUE, MIN_VALUE = 1, 2, 3, 5, 6


def read_footer(path: Path) -> Struct:
    content = path.read_bytes()
    assert content.endswith(MAGIC)
    size = int.from_bytes(content[-8:-4], "little")
    return parse_struct(content[-8 - size : -8])


def write_footer(path: Path, footer: Struct) -> None:
    content = path.read_bytes()
    size = int.from_bytes(content[-8:-4], "little")
    written = struct_bytes(footer)
    path.write_bytes(content[: -8 - size] + written + len(written).to_bytes(4, "little") + MAGIC)


def chunks(footer: Struct) -> list[Struct]:
    """The metadata of the column chunks of all row groups."""
    groups = footer[ROW_GROUPS].content
    return [chunk[CHUNK_METADATA].content for group in groups for chunk in group[GROUP_COLUMNS].content]
