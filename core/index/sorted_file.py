"""The sorted index of one data file and one column, as an Arrow IPC file that is mapped into memory.

It holds a row for each distinct value, ascending, and one for null: `value`, and `rows`, the numbers of the
rows that have it. The schema's metadata says what it was made of, and gives the checksum of its content.
"""

from __future__ import annotations

import json
import uuid
import zlib
from pathlib import Path

import numpy as np
import pyarrow as pa

from lamella.core.arrays import from_numpy, in_one, to_numpy
from lamella.core.errors import FileProblem
from lamella.core.index.registry import DRAFT, Place
from lamella.core.index.sorted import Sorted
from lamella.core.jobs import Job
from lamella.core.scan.chunks import run_chunks
from lamella.core.scan.footers import unchanged
from lamella.core.scan.snapshot import Column, FileSegment
from lamella.core.schema import type_to_bytes

FORMAT = 2
KEY = b"lamella.sorted"


def path_of(place: Place, segment: FileSegment, column: Column) -> Path:
    """A column that was widened has a file of its own for each type."""
    kind = zlib.crc32(type_to_bytes(column.type))
    return place.folder / f"{segment.path.stem}.sorted-{column.key}-{kind:08x}"


def build(segment: FileSegment, column: Column, job: Job) -> Sorted:
    """From the data file, of which nothing is kept in memory."""
    job.check()
    groups = range(unchanged(segment).metadata.num_row_groups)
    return Sorted.of(in_one(run_chunks(segment, groups, [column], None)[0][0]))


def write(path: Path, index: Sorted, segment: FileSegment, column: Column) -> None:
    """It is there whole or not at all. It is not synced: what a crash leaves of it is found damaged."""
    draft = path.with_name(f"{path.name}.{uuid.uuid4().hex}{DRAFT}")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        batch = _batch(index, _told(index, segment, column))
        with pa.OSFile(str(draft), "wb") as file, pa.ipc.new_file(file, batch.schema) as writer:
            writer.write_batch(batch)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def read(path: Path, segment: FileSegment, column: Column, quick: bool = False) -> Sorted:
    """Raises `FileProblem` for one that is damaged, or of something else; `quick` leaves the checksum out."""
    if path.is_symlink():
        raise FileProblem(path, "is no index that can be read", "It is a link")
    try:
        with pa.memory_map(str(path)) as file, pa.ipc.open_file(file) as reader:
            told = json.loads((reader.schema.metadata or {}).get(KEY, b"{}"))
            index = _index(reader.get_batch(0))
        wanted = _told(index, segment, column, told.get("checksum") if quick else None)
    except (OSError, pa.ArrowException, ValueError, LookupError, TypeError, AttributeError) as error:
        raise FileProblem(path, "is no index that can be read", str(error)) from error
    if told != wanted:
        raise FileProblem(path, "is not the index that was written: its checksum or its origin differs")
    return index


def _told(
    index: Sorted, segment: FileSegment, column: Column, checksum: str | None = None
) -> dict[str, object]:
    """What an index says of itself."""
    return {
        "format": FORMAT,
        "file": segment.path.name,
        "rows": segment.num_rows,
        "column": column.key,
        "type": type_to_bytes(column.type).hex(),
        "checksum": checksum or _checksum(index),
    }


def _checksum(index: Sorted) -> str:
    _, *buffers = index.values.buffers()
    end = 8 * (index.num_values + 1) if len(buffers) > 1 else index.num_values * index.values.type.byte_width
    parts: list[object] = [memoryview(buffers[0] or b"")[:end]]
    if len(buffers) > 1 and index.num_values:
        last = int(np.frombuffer(buffers[0], np.int64, count=index.num_values + 1)[-1])
        parts.append(memoryview(buffers[1] or b"")[:last])
    found = 0
    for part in (*parts, index.starts, index.rows):
        found = zlib.crc32(part, found)  # type: ignore[arg-type]
    return f"crc32:{found:08x}"


def _batch(index: Sorted, told: dict[str, object]) -> pa.RecordBatch:
    kind = index.values.type
    values = pa.concat_arrays([index.values, pa.nulls(1, kind)])
    rows = pa.ListArray.from_arrays(from_numpy(index.starts), from_numpy(index.rows, pa.uint32()))
    fields = [pa.field("value", kind), pa.field("rows", rows.type, nullable=False)]
    return pa.RecordBatch.from_arrays(
        [values, rows], schema=pa.schema(fields, {KEY: json.dumps(told).encode()})
    )


def _index(batch: pa.RecordBatch) -> Sorted:
    values, rows = batch.columns
    starts = np.frombuffer(rows.buffers()[1], np.int32, count=len(rows) + 1)
    count = len(values) - 1
    plain = pa.Array.from_buffers(values.type, count, [None, *values.buffers()[1:]])
    return Sorted(plain, starts, to_numpy(rows.values))
