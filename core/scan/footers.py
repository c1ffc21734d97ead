"""Parquet footers, parsed once per file and process: parsing is most of what opening a file costs."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core.errors import FileProblem
from core.scan.snapshot import FileSegment

KEPT_FOOTERS = 4096


@dataclass(frozen=True, eq=False)
class Footer:
    """What a Parquet file says of itself. `fingerprint` is (size, mtime in ns) when it was read."""

    path: Path
    fingerprint: tuple[int, int]
    metadata: pq.FileMetaData

    @cached_property
    def schema(self) -> pa.Schema:
        return self.metadata.schema.to_arrow_schema()

    @cached_property
    def ambiguous_layout(self) -> tuple[str, ...]:
        """All column names in order where two differ only in case, else nothing."""
        names = tuple(self.schema.names)
        return names if len({name.casefold() for name in names}) < len(names) else ()

    @cached_property
    def row_group_starts(self) -> np.ndarray:
        """Row number at which each row group starts, and the file's row count at the end."""
        sizes = [self.metadata.row_group(i).num_rows for i in range(self.metadata.num_row_groups)]
        return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)

    @cached_property
    def row_group_sizes(self) -> list[int]:
        sizes: list[int] = np.diff(self.row_group_starts).tolist()
        return sizes

    def open(self) -> pq.ParquetFile:
        """A reader of its own for the calling thread; the footer is not parsed again."""
        try:
            return pq.ParquetFile(self.path, metadata=self.metadata, pre_buffer=False)
        except (OSError, pa.ArrowInvalid) as error:
            raise unreadable(self.path, error) from error


_footers: dict[Path, Footer] = {}
_lock = threading.Lock()


def footer(path: Path) -> Footer:
    """The footer of `path`, from memory while the file's size and time are unchanged."""
    try:
        status = path.stat()
    except OSError as error:
        raise unreadable(path, error) from error
    fingerprint = (status.st_size, status.st_mtime_ns)
    with _lock:
        known = _footers.get(path)
    if known is not None and known.fingerprint == fingerprint:
        return known
    return _remember(_parse(path, fingerprint))


def unchanged(segment: FileSegment) -> Footer:
    """The footer of a segment's file; raises `FileProblem` when the file is another one by now."""
    told = footer(segment.path)
    if segment.fingerprint not in (None, told.fingerprint):
        raise FileProblem(
            segment.path, "changed on disk since it was opened", fix="Reload it to see its new content"
        )
    return told


def unreadable(path: Path, error: Exception) -> FileProblem:
    return FileProblem(path, "could not be read", str(error), "Check that the file is whole and still there")


def _parse(path: Path, fingerprint: tuple[int, int]) -> Footer:
    try:
        with pq.ParquetFile(path) as file:
            return Footer(path, fingerprint, file.metadata)
    except (OSError, pa.ArrowInvalid) as error:
        raise unreadable(path, error) from error


def _remember(parsed: Footer) -> Footer:
    with _lock:
        while len(_footers) >= KEPT_FOOTERS:
            _footers.pop(next(iter(_footers)))
        _footers[parsed.path] = parsed
    return parsed
