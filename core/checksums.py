"""What tells that a file is still the one that was written."""

from __future__ import annotations

import zlib
from io import FileIO
from pathlib import Path

BLOCK_BYTES = 1 << 22
CACHED_BYTES = 1 << 18
"""What lies in the processor's cache when it is looked at."""


def checksum_of_bytes(*parts: bytes) -> str:
    """CRC-32 of the parts laid end to end."""
    found = 0
    for part in parts:
        found = zlib.crc32(part, found)
    return text_of(found)


def checksum_of(path: Path) -> str:
    """CRC-32 of the file's bytes: finds what disks and copies do to files, at two gigabytes a second."""
    with path.open("rb", buffering=0) as file:
        return checksum_of_open(file)


def checksum_of_open(file: FileIO, before: int = 0) -> str:
    """Of an unbuffered file from where it stands, which continues the CRC-32 of what is before.

    Memory is used again: fresh memory costs more than reading into it.
    """
    found, block = before, bytearray(CACHED_BYTES)
    whole = memoryview(block)
    while size := file.readinto(block):
        found = zlib.crc32(whole[:size], found)
    return text_of(found)


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
