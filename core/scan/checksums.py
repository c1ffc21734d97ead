"""Checksums that show whether a file is as it was written: of its bytes, and of Parquet's pages."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import BinaryIO

import pyarrow.parquet as pq

BLOCK_BYTES = 1 << 22
CACHED_BYTES = 1 << 18
"""A block that fits into the processor's cache."""


def checksum_of_bytes(*parts: bytes) -> str:
    """The CRC-32 of the concatenated parts."""
    checksum = 0
    for part in parts:
        checksum = zlib.crc32(part, checksum)
    return text_of(checksum)


def checksum_of(path: Path) -> str:
    """The CRC-32 of a file, which detects damage by disks and copies; computed at two gigabytes per
    second."""
    with path.open("rb", buffering=0) as file:
        return checksum_of_open(file)


def checksum_of_open(file: FileIO, before: int = 0) -> str:
    """The CRC-32 of an unbuffered file from its current position on, continuing `before`.

    The buffer is reused, because fresh memory costs more than reading into it.
    """
    checksum, block = before, bytearray(CACHED_BYTES)
    whole = memoryview(block)
    while size := file.readinto(block):
        checksum = zlib.crc32(whole[:size], checksum)
    return text_of(checksum)


class RunningChecksum:
    """The checksum of a growing file. Any thread may use it, one at a time."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb", buffering=0)
        self.crc = self._size = 0

    @property
    def text(self) -> str:
        return text_of(self.crc)

    def extend(self) -> int:
        """Include what has been appended since; return the bytes so far."""
        while block := self._file.read(BLOCK_BYTES):
            self.crc = zlib.crc32(block, self.crc)
            self._size += len(block)
        return self._size

    def extend_to_text(self) -> str:
        """The bytes so far and their CRC-32, in hexadecimal; what is appended later continues them."""
        return f"{self.extend():x}:{self.crc:x}"

    def close(self) -> None:
        self._file.close()


def text_of(crc: int) -> str:
    return f"crc32:{crc:08x}"


HEADER_BYTES = 1 << 12
"""The bytes read for a header at first; statistics of long texts make some headers longer."""
LONGEST_HEADER = 1 << 24
_SIZE, _CRC = 3, 4
_STOP, _TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 0, 1, 2, 3, 7, 8, 9, 10, 11, 12
_INTEGERS = (4, 5, 6)


@dataclass(frozen=True)
class PageHeader:
    """The header of a page: its own `length`, the `size` of the page after it, and `crc`, None if the writer
    gave none."""

    length: int
    size: int
    crc: int | None


def has_page_checksums(file: BinaryIO, metadata: pq.FileMetaData) -> bool:
    """Whether the pages have checksums. The first page tells: a writer includes them in all pages or none."""
    for start, stop in chunk_spans(metadata):
        header = header_at(file, start, stop)
        return header is not None and header.crc is not None
    return False


def wrong_page(file: BinaryIO, metadata: pq.FileMetaData) -> int | None:
    """The offset of the first page whose checksum differs; None if there is none.

    Anything that cannot be parsed as a page is left to the decoder.
    """
    for first, stop in chunk_spans(metadata):
        at = first
        while at < stop and (header := header_at(file, at, stop)) is not None:
            file.seek(at + header.length)
            if header.crc is not None and zlib.crc32(file.read(header.size)) != header.crc:
                return at
            at += header.length + header.size
    return None


def chunk_spans(metadata: pq.FileMetaData) -> Iterator[tuple[int, int]]:
    """Yield where the pages of each column chunk begin and end, in the file's order."""
    spans = []
    for group in range(metadata.num_row_groups):
        for place in range(metadata.num_columns):
            chunk = metadata.row_group(group).column(place)
            starts = [at for at in (chunk.dictionary_page_offset, chunk.data_page_offset) if at]
            if starts and not chunk.file_path:
                spans.append((min(starts), min(starts) + chunk.total_compressed_size))
    yield from sorted(spans)


def header_at(file: BinaryIO, start: int, stop: int) -> PageHeader | None:
    """Parse a page header; None if it is not one."""
    length = HEADER_BYTES
    while True:
        file.seek(start)
        content = file.read(min(length, stop - start))
        try:
            return _Thrift(content).page_header()
        except IndexError:
            if length >= min(stop - start, LONGEST_HEADER):
                return None
            length *= 16
        except ValueError:
            return None


class _Thrift:
    """Reads Thrift's compact protocol. Raises `IndexError` at the end of the bytes, `ValueError` for anything
    else."""

    def __init__(self, content: bytes) -> None:
        self._content, self._at = content, 0

    def page_header(self) -> PageHeader:
        numbers = dict(self._fields())
        size, crc = numbers.get(_SIZE), numbers.get(_CRC)
        if size is None or size < 0:
            raise ValueError("no size")
        return PageHeader(self._at, size, None if crc is None else crc & 0xFFFFFFFF)

    def _fields(self) -> Iterator[tuple[int, int]]:
        """Yield the integer fields of a struct with their ids; others are skipped."""
        field = 0
        while kind_and_step := self._byte():
            kind, step = kind_and_step & 15, kind_and_step >> 4
            field = field + step if step else self._zigzag()
            if kind in _INTEGERS:
                yield field, self._zigzag()
            else:
                self._skip(kind)

    def _skip(self, kind: int, in_list: bool = False) -> None:
        if kind in (_TRUE, _FALSE):
            self._at += in_list
        elif kind == _BYTE:
            self._at += 1
        elif kind in _INTEGERS:
            self._varint()
        elif kind == _DOUBLE:
            self._at += 8
        elif kind == _BINARY:
            length = self._varint()
            self._at += length
        elif kind in (_LIST, _SET):
            self._skip_list()
        elif kind == _STRUCT:
            for _ in self._fields():
                pass
        else:
            raise ValueError(f"kind {kind}")

    def _skip_list(self) -> None:
        header = self._byte()
        count = self._varint() if header >> 4 == 15 else header >> 4
        for _ in range(count):
            self._skip(header & 15, in_list=True)
            if self._at > len(self._content):
                raise IndexError

    def _zigzag(self) -> int:
        number = self._varint()
        return (number >> 1) ^ -(number & 1)

    def _varint(self) -> int:
        number = shift = 0
        while shift < 70:
            byte = self._byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
            shift += 7
        raise ValueError("a number without an end")

    def _byte(self) -> int:
        byte = self._content[self._at]
        self._at += 1
        return byte
