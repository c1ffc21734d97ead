"""Which encoding and codec a column of a data file gets, decided from a sample of its values."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

SAMPLE_ROWS = 20_000
REPEATING = 0.2


@dataclass(frozen=True)
class Encoding:
    """`name` is Parquet's encoding, None for a dictionary."""

    name: str | None
    codec: str


DICTIONARY = Encoding(None, "zstd")
DELTA = Encoding("DELTA_BINARY_PACKED", "none")
SPLIT = Encoding("BYTE_STREAM_SPLIT", "lz4")
LENGTHS = Encoding("DELTA_LENGTH_BYTE_ARRAY", "zstd")
PLAIN = Encoding("PLAIN", "zstd")


def choose(sample: pa.ChunkedArray) -> Encoding:
    """The encoding for a column of which `sample` is typical."""
    kind = sample.type
    if pa.types.is_boolean(kind):
        return Encoding("RLE", "none")
    if pa.types.is_integer(kind) or (pa.types.is_temporal(kind) and kind.byte_width in (4, 8)):
        return DELTA if kind.bit_width >= 8 else PLAIN
    if pa.types.is_float32(kind) or pa.types.is_float64(kind):
        return DICTIONARY if _repeats(sample) else SPLIT
    if _is_text(kind):
        return DICTIONARY if _repeats(sample) else LENGTHS
    return DICTIONARY


def _repeats(sample: pa.ChunkedArray) -> bool:
    head = sample.slice(0, SAMPLE_ROWS)
    return len(head) > 0 and pc.count_distinct(head).as_py() <= REPEATING * len(head)


def _is_text(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
    )
