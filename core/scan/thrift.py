"""Thrift's compact protocol, in which the footers of Parquet files are written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_TRUE, _FALSE, _BYTE, _DOUBLE, BINARY, LIST, _SET, STRUCT = 1, 2, 3, 7, 8, 9, 10, 12


@dataclass
class Value:
    """A field, with its type; that of a list has the type of its items, too."""

    type: int
    content: Any
    item_type: int = 0


Struct = dict[int, Value]
"""The fields of a structure by number."""


def parse_struct(content: bytes) -> Struct:
    """Raises `ValueError` if the bytes are not a structure."""
    try:
        return _Reader(content).struct()
    except (IndexError, RecursionError) as error:
        raise ValueError("The bytes are not a structure of Thrift") from error


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
        if kind in (LIST, _SET):
            return self._list(kind)
        if kind == STRUCT:
            return Value(kind, self.struct())
        if kind == BINARY:
            return Value(kind, self._bytes(self._varint()))
        if kind == _DOUBLE:
            return Value(kind, self._bytes(8))
        return Value(kind, self._byte() if kind == _BYTE else self._integer())

    def _list(self, kind: int) -> Value:
        head = self._byte()
        count = self._varint() if head >> 4 == 15 else head >> 4
        if head & 15 in (_TRUE, _FALSE):
            return Value(kind, [self._byte() for _ in range(count)], head & 15)
        return Value(kind, [self._value(head & 15).content for _ in range(count)], head & 15)

    def _byte(self) -> int:
        return self._bytes(1)[0]

    def _bytes(self, count: int) -> bytes:
        self._at += count
        if self._at > len(self._content):
            raise IndexError("the content ends before")
        return self._content[self._at - count : self._at]

    def _varint(self) -> int:
        number = shift = 0
        while (byte := self._byte()) & 128:
            number |= (byte & 127) << shift
            shift += 7
        return number | byte << shift

    def _integer(self) -> int:
        number = self._varint()
        return number >> 1 ^ -(number & 1)


def struct_bytes(fields: Struct) -> bytes:
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
    if value.type in (LIST, _SET):
        count = len(value.content)
        short = bytes([count << 4 | value.item_type])
        head = short if count < 15 else bytes([15 << 4 | value.item_type]) + _varint(count)
        if value.item_type in (_TRUE, _FALSE):
            return head + bytes(value.content)
        return head + b"".join(_value(Value(value.item_type, item)) for item in value.content)
    if value.type == STRUCT:
        return struct_bytes(value.content)
    if value.type == BINARY:
        return _varint(len(value.content)) + bytes(value.content)
    if value.type == _DOUBLE:
        return bytes(value.content)
    return bytes([value.content]) if value.type == _BYTE else _integer(value.content)


def _varint(number: int) -> bytes:
    written = b""
    while number > 127:
        written += bytes([number & 127 | 128])
        number >>= 7
    return written + bytes([number])


def _integer(number: int) -> bytes:
    return _varint(number << 1 if number >= 0 else (-number << 1) - 1)
