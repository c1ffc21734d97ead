"""What tells that a file is still the one that was written: of its bytes, and of Parquet's pages."""

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
"""What lies in the processor's cache when it is looked at."""


def checksum_of_bytes(*parts: bytes) -> str:
    """CRC-32 of the parts laid end to end."""
    checksum = 0
    for part in parts:
        checksum = zlib.crc32(part, checksum)
    return text_of(checksum)


def checksum_of(path: Path) -> str:
    """CRC-32 of the file's bytes: finds what disks and copies do to files, at two gigabytes a second."""
    with path.open("rb", buffering=0) as file:
        return checksum_of_open(file)


def checksum_of_open(file: FileIO, before: int = 0) -> str:
    """Of an unbuffered file from where it stands, which continues the CRC-32 of what is before.

    Memory is used again: fresh memory costs more than reading into it.
    """
    checksum, block = before, bytearray(CACHED_BYTES)
    whole = memoryview(block)
    while size := file.readinto(block):
        checksum = zlib.crc32(whole[:size], checksum)
    return text_of(checksum)


class RunningChecksum:
    """The checksum of a file that still grows. Any thread, one at a time."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb", buffering=0)
        self.crc = self._size = 0

    @property
    def text(self) -> str:
        return text_of(self.crc)

    def extend(self) -> int:
        """Take in what was appended since; answers the bytes so far."""
        while block := self._file.read(BLOCK_BYTES):
            self.crc = zlib.crc32(block, self.crc)
            self._size += len(block)
        return self._size

    def extended(self) -> str:
        """The bytes so far and their CRC-32, as hexadecimal digits: what is appended continues them."""
        return f"{self.extend():x}:{self.crc:x}"

    def close(self) -> None:
        self._file.close()


def text_of(crc: int) -> str:
    return f"crc32:{crc:08x}"


HEADER_BYTES = 1 << 12
"""What is read for a header at first; statistics of long texts make some longer."""
LONGEST_HEADER = 1 << 24
_SIZE, _CRC = 3, 4
_STOP, _TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 0, 1, 2, 3, 7, 8, 9, 10, 11, 12
_INTEGERS = (4, 5, 6)


@dataclass(frozen=True)
class PageHeader:
    """`length` is the header's own, `size` that of the page's bytes behind it; `crc` is None where the writer
    gave none."""

    length: int
    size: int
    crc: int | None


def has_page_checksums(file: BinaryIO, metadata: pq.FileMetaData) -> bool:
    """Whether the first page has one: a writer that writes them does so for every page."""
    for start, stop in chunk_spans(metadata):
        header = header_at(file, start, stop)
        return header is not None and header.crc is not None
    return False


def wrong_page(file: BinaryIO, metadata: pq.FileMetaData) -> int | None:
    """Where the first page begins whose bytes are not those that its checksum is of; None if there is none.

    What cannot be read as a page is left to the decoder.
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
    """Where the pages of each column chunk begin and end, in the file's order."""
    spans = []
    for group in range(metadata.num_row_groups):
        for place in range(metadata.num_columns):
            chunk = metadata.row_group(group).column(place)
            starts = [at for at in (chunk.dictionary_page_offset, chunk.data_page_offset) if at]
            if starts and not chunk.file_path:
                spans.append((min(starts), min(starts) + chunk.total_compressed_size))
    yield from sorted(spans)


def header_at(file: BinaryIO, start: int, stop: int) -> PageHeader | None:
    """None for what is no header."""
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
    """Raises `IndexError` at the end of the bytes, `ValueError` for what is not the compact protocol."""

    def __init__(self, content: bytes) -> None:
        self._content, self._at = content, 0

    def page_header(self) -> PageHeader:
        numbers = dict(self._fields())
        size, crc = numbers.get(_SIZE), numbers.get(_CRC)
        if size is None or size < 0:
            raise ValueError("no size")
        return PageHeader(self._at, size, None if crc is None else crc & 0xFFFFFFFF)

    def _fields(self) -> Iterator[tuple[int, int]]:
        """The whole numbers among a struct's fields by their id; the others are passed over."""
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
