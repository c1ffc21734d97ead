"""Footers of Parquet files taken apart and written anew, to make files as other programs write them, or wrong
ones. The structures are those of `parquet.thrift`, as dicts by the number of the field."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

MAGIC = b"PAR1"
SCHEMA, NUM_ROWS, ROW_GROUPS, CREATED_BY = 2, 3, 4, 6
LOGICAL_TYPE, CONVERTED_TYPE = 10, 6
GROUP_COLUMNS, GROUP_ROWS = 1, 3
CHUNK_METADATA, CHUNK_STATISTICS, CHUNK_VALUES = 3, 12, 5
MAX, MIN, NULL_COUNT, MAX_VALUE, MIN_VALUE = 1, 2, 3, 5, 6
_TRUE, _FALSE, _BYTE, _DOUBLE, BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12


@dataclass
class Value:
    """A field, with its type in Thrift's compact protocol; that of a list has the type of its items too."""

    type: int
    held: Any
    item_type: int = 0


Struct = dict[int, Value]


def read_footer(path: Path) -> Struct:
    content = path.read_bytes()
    assert content.endswith(MAGIC)
    size = int.from_bytes(content[-8:-4], "little")
    return _Reader(content[-8 - size : -8]).struct()


def write_footer(path: Path, footer: Struct) -> None:
    content = path.read_bytes()
    size = int.from_bytes(content[-8:-4], "little")
    written = _struct(footer)
    path.write_bytes(content[: -8 - size] + written + len(written).to_bytes(4, "little") + MAGIC)


def chunks(footer: Struct) -> list[Struct]:
    """The metadata of the column chunks of all row groups."""
    groups = footer[ROW_GROUPS].held
    return [chunk[CHUNK_METADATA].held for group in groups for chunk in group[GROUP_COLUMNS].held]


class _Reader:
    def __init__(self, content: bytes) -> None:
        self._content, self._at = content, 0

    def struct(self) -> Struct:
        fields: Struct = {}
        number = 0
        while (head := self._byte()) != 0:
            number = number + (head >> 4) if head >> 4 else self._integer()
            fields[number] = self._value(head & 15)
        return fields

    def _value(self, kind: int) -> Value:
        if kind in (_TRUE, _FALSE):
            return Value(kind, None)
        if kind in (_LIST, _SET):
            return self._list(kind)
        if kind == _STRUCT:
            return Value(kind, self.struct())
        if kind == BINARY:
            return Value(kind, self._bytes(self._unsigned()))
        if kind == _DOUBLE:
            return Value(kind, self._bytes(8))
        return Value(kind, self._byte() if kind == _BYTE else self._integer())

    def _list(self, kind: int) -> Value:
        head = self._byte()
        count = self._unsigned() if head >> 4 == 15 else head >> 4
        if head & 15 in (_TRUE, _FALSE):
            return Value(kind, [self._byte() for _ in range(count)], head & 15)
        return Value(kind, [self._value(head & 15).held for _ in range(count)], head & 15)

    def _byte(self) -> int:
        return self._bytes(1)[0]

    def _bytes(self, count: int) -> bytes:
        self._at += count
        return self._content[self._at - count : self._at]

    def _unsigned(self) -> int:
        number = shift = 0
        while (byte := self._byte()) & 128:
            number |= (byte & 127) << shift
            shift += 7
        return number | byte << shift

    def _integer(self) -> int:
        number = self._unsigned()
        return number >> 1 ^ -(number & 1)


def _struct(fields: Struct) -> bytes:
    written, before = b"", 0
    for number, value in sorted(fields.items()):
        step = number - before
        head = bytes([step << 4 | value.type]) if step < 16 else bytes([value.type]) + _integer(number)
        written += head + _value(value)
        before = number
    return written + b"\0"


def _value(value: Value) -> bytes:
    if value.type in (_TRUE, _FALSE):
        return b""
    if value.type in (_LIST, _SET):
        count = len(value.held)
        short = bytes([count << 4 | value.item_type])
        head = short if count < 15 else bytes([15 << 4 | value.item_type]) + _unsigned(count)
        if value.item_type in (_TRUE, _FALSE):
            return head + bytes(value.held)
        return head + b"".join(_value(Value(value.item_type, item)) for item in value.held)
    if value.type == _STRUCT:
        return _struct(value.held)
    if value.type == BINARY:
        return _unsigned(len(value.held)) + bytes(value.held)
    if value.type == _DOUBLE:
        return bytes(value.held)
    return bytes([value.held]) if value.type == _BYTE else _integer(value.held)


def _unsigned(number: int) -> bytes:
    written = b""
    while number > 127:
        written += bytes([number & 127 | 128])
        number >>= 7
    return written + bytes([number])


def _integer(number: int) -> bytes:
    return _unsigned(number << 1 if number >= 0 else (-number << 1) - 1)
