"""Writes the new version of a text file: unchanged parts are copied, by the system if possible."""

from __future__ import annotations

import codecs
import errno
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from lamella.core.datasets.text.encodings import UTF8
from lamella.core.datasets.text.source import XZ
from lamella.core.transfer.text_lines import without_line_end
from lamella.core.transfer.writer import Output

HELD_BYTES = 2
"""The bytes of a line end, which may have to be removed at the end of a file."""
LEAST_COPIED, COPY_BYTES = 1 << 20, 32 << 20
COPY_REFUSALS = (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM)
"""The errors of systems that cannot copy between two files."""


class WriteFailed(Exception):
    """An error in writing, as opposed to reading the old file."""

    def __init__(self, error: OSError) -> None:
        super().__init__(str(error))
        self.error = error


class _Stream(Protocol):
    def write(self, data: Any, /) -> object: ...


@contextmanager
def open_output(draft: Path, compression: str | None) -> Iterator[_Stream]:
    """Open a new file, compressed like the old one."""
    if compression is None:
        with Output(draft) as output:
            yield output
    elif compression == XZ:
        with lzma.open(draft, "wb") as packed:
            yield packed
    else:
        with draft.open("wb") as file, pa.CompressedOutputStream(pa.PythonFile(file), compression) as packed:
            yield packed


class TextOutput:
    """Writes bytes as they are, or UTF-8 converted to the encoding of the file. The last bytes are held back,
    because a line end may have to be removed.

    Unchanged parts are copied by the system if possible, one stretch at a time, once its end is known: call
    `flush` before reading `line_end`.
    """

    def __init__(self, output: _Stream, encoding: str) -> None:
        self._output, self.line_end, self.has_output = output, b"", False
        self._decoder = codecs.getincrementaldecoder(UTF8)("surrogatepass")
        errors = "surrogatepass" if encoding.startswith(("utf-16", "utf-32")) else "strict"
        self._encoder = codecs.getincrementalencoder(encoding)(errors) if encoding else None
        self._again = codecs.getincrementalencoder(encoding)(errors) if encoding else None
        self._sums = [0, 0]
        self._source: int | None = None
        self._start = self._stop = 0
        self._report: Callable[[int], None] = lambda position: None

    def copy_from(self, source: Any, start: int, report: Callable[[int], None]) -> None:
        """Read the bytes that `copy` passes from a file instead, from `start` on; `report` is called with the
        progress."""
        if hasattr(os, "copy_file_range") and isinstance(self._output, Output):
            self._source, self._start, self._stop, self._report = source.fileno(), start, start, report

    def copy(self, data: bytes) -> None:
        """Copy the next bytes of the source."""
        if self._source is None:
            self.write(data)
        else:
            self._stop += len(data)
            self.has_output = self.has_output or bool(data)

    def replace(self, size: int, data: bytes) -> None:
        """Replace the next `size` bytes of the source."""
        self.flush()
        self.write(data)
        self._start = self._stop = self._stop + size

    def copy_to_end(self, size: int) -> bytes | None:
        """Copy the rest of the source, which has `size` bytes; return its last bytes. Returns None if it has
        to be read."""
        if self._source is None:
            return None
        self._stop, self.has_output = size, True
        return os.pread(self._source, HELD_BYTES, max(0, size - HELD_BYTES))

    def flush(self) -> None:
        if self._source is None or self._start == self._stop:
            return
        start, bulk = self._start, self._stop - HELD_BYTES
        if bulk - start >= LEAST_COPIED:
            self._emit(self.line_end)
            self.line_end = b""
            start = self._copy_stretch(start, bulk)
        while start < self._stop and (piece := os.pread(self._source, COPY_BYTES, start)):
            piece = piece[: self._stop - start]
            self._report(start)
            self.write(piece)
            start += len(piece)
        self._start = self._stop

    def _copy_stretch(self, start: int, stop: int) -> int:
        """Let the system copy a stretch; return how far it got."""
        assert self._source is not None and isinstance(self._output, Output)
        while start < stop:
            self._report(start)
            size = min(COPY_BYTES, stop - start)
            try:
                size_copied = os.copy_file_range(self._source, self._output.fileno(), size, start)
            except OSError as error:
                if error.errno in COPY_REFUSALS:
                    return start
                raise WriteFailed(error) from error
            if not size_copied:
                return start
            start += size_copied
        return start

    def write(self, data: bytes) -> None:
        if not data:
            return
        self.has_output = True
        if len(data) <= HELD_BYTES:
            data, self.line_end = self.line_end + data, b""
        else:
            self._emit(self.line_end)
        cut = max(0, len(data) - HELD_BYTES)
        self._emit(memoryview(data)[:cut])
        self.line_end = data[cut:]

    def expect(self, raw: bytes, text: bytes) -> None:
        """Record that a stretch of the file, decoded to this text, should be encoded to the same bytes
        again."""
        assert self._again is not None
        again = self._again.encode(text.decode(UTF8, "surrogatepass"))
        self._sums = [zlib.crc32(raw, self._sums[0]), zlib.crc32(again, self._sums[1])]

    @property
    def is_other(self) -> bool:
        return self._sums[0] != self._sums[1]

    def take_back_line_end(self) -> None:
        self.line_end, _ = without_line_end(self.line_end)

    def close(self) -> None:
        self._emit(self.line_end)
        self.line_end = b""

    def _emit(self, data: bytes | memoryview) -> None:
        if self._encoder is not None:
            data = self._encoder.encode(self._decoder.decode(data))
        try:
            self._output.write(data)
        except OSError as error:
            raise WriteFailed(error) from error
