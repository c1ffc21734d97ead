"""Which encoding and codec each leaf of a data file gets, decided from a sample of its values.

The rules follow what `tests/bench/encodings_bench.py` measures; its table is in `docs/encodings.md`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import types as is_

SAMPLE_ROWS = 20_000
REPEATING_TEXTS = 0.2
REPEATING_FLOATS = 0.5
ZSTD = "zstd"
ZSTD_LEVEL = 3
"""As quick as the least level here, and a twelfth smaller for words; the next take three times as long."""


@dataclass(frozen=True)
class Encoding:
    """`name` is Parquet's encoding, None for a dictionary."""

    name: str | None
    codec: str


DICTIONARY = Encoding(None, ZSTD)
NUMBERS = Encoding(None, "lz4")
DELTA = Encoding("DELTA_BINARY_PACKED", "none")
SPLIT = Encoding("BYTE_STREAM_SPLIT", "lz4")
LENGTHS = Encoding("DELTA_LENGTH_BYTE_ARRAY", ZSTD)
PLAIN = Encoding("PLAIN", ZSTD)
BITS = Encoding("RLE", "none")


def leaves_of(rows: pa.Table) -> dict[str, list[pa.ChunkedArray]]:
    """A sample of the values of each leaf, by its path in the file: that of a column "a.b" and of a field b
    in a struct "a" is the same."""
    head = rows.slice(0, SAMPLE_ROWS)
    found: dict[str, list[pa.ChunkedArray]] = {}
    for field, column in zip(head.schema, head.columns, strict=True):
        paths = _leaf_paths(field) if _has_leaves(field.type) else [field.name]
        for path, values in zip(paths, _leaves(column), strict=True):
            found.setdefault(path, []).append(values)
    return found


def choose_for_all(samples: Sequence[pa.ChunkedArray]) -> Encoding:
    """The encoding for leaves of one path, which writers are told by: a dictionary takes any values."""
    chosen = {choose(sample) for sample in samples}
    return chosen.pop() if len(chosen) == 1 else DICTIONARY


def choose(sample: pa.ChunkedArray) -> Encoding:
    """The encoding for a leaf of which `sample` is typical."""
    kind = sample.type
    if is_.is_boolean(kind):
        return BITS
    if is_.is_integer(kind) or (is_.is_temporal(kind) and kind.byte_width in (4, 8)):
        return DELTA
    if is_.is_float32(kind) or is_.is_float64(kind):
        return NUMBERS if _repeats(sample, REPEATING_FLOATS) else SPLIT
    if is_.is_string(kind) or is_.is_large_string(kind) or is_.is_binary(kind) or is_.is_large_binary(kind):
        return DICTIONARY if _repeats(sample, REPEATING_TEXTS) else LENGTHS
    return DICTIONARY


def _leaves(values: pa.ChunkedArray) -> Iterator[pa.ChunkedArray]:
    """The values of each leaf, in the order that Parquet has them."""
    kind = values.type
    if isinstance(kind, pa.BaseExtensionType):
        yield from _leaves(pa.chunked_array([chunk.storage for chunk in values.chunks], kind.storage_type))
    elif is_.is_struct(kind):
        for place in range(kind.num_fields):
            yield from _leaves(pc.struct_field(values, [place]))
    elif is_.is_map(kind):
        for part, of in ((0, kind.key_type), (1, kind.item_type)):
            parts = [chunk.keys if part == 0 else chunk.items for chunk in values.chunks]
            yield from _leaves(pa.chunked_array(parts, of))
    elif is_.is_nested(kind):
        yield from _leaves(pc.list_flatten(values))
    else:
        yield values


def _has_leaves(kind: pa.DataType) -> bool:
    held = kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind
    return bool(is_.is_nested(held))


def _leaf_paths(field: pa.Field) -> list[str]:
    """How Parquet names the leaves of a nested column: asked of an empty file."""
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, pa.schema([field])):
        pass
    schema = pq.ParquetFile(pa.BufferReader(sink.getvalue())).schema
    return [schema.column(i).path for i in range(len(schema))]


def _repeats(sample: pa.ChunkedArray, share: float) -> bool:
    return len(sample) > 0 and pc.count_distinct(sample).as_py() <= share * len(sample)
