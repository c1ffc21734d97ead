"""New values put into columns, and rows left out of them: in place where nobody else sees the memory."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import from_numpy, take, to_numpy

FEW_GAPS = 16
"""Up to so many rows are left out by slices of the same memory; more would make too many chunks."""


def patched(
    chunk: pa.ChunkedArray, places: np.ndarray, values: pa.Array, own: bool = False
) -> pa.ChunkedArray:
    """`chunk` with `values` at the given ascending places; `own` where nobody else holds its memory,
    which is then written to."""
    if chunk.num_chunks == 1:
        return pa.chunked_array([_patched(chunk.chunk(0), places, values, own)])
    parts, start = [], 0
    for part in chunk.chunks:
        low, high = places.searchsorted((start, start + len(part))).tolist()
        if low < high:
            parts.append(_patched(part, places[low:high] - start, values.slice(low, high - low), own))
        else:
            parts.append(part)
        start += len(part)
    return pa.chunked_array(parts, chunk.type)


class Gaps:
    """The rows to leave out of columns that are `rows` long: ascending, at least one."""

    def __init__(self, gone: np.ndarray, rows: int) -> None:
        self._gone, self._rows = gone, rows

    @cached_property
    def _live(self) -> np.ndarray:
        live = np.ones(self._rows, bool)
        live[self._gone] = False
        return live

    @cached_property
    def _kept_ranges(self) -> list[tuple[int, int]]:
        """First and stop of what lies between the rows."""
        firsts, stops = np.append(0, self._gone + 1), np.append(self._gone, self._rows)
        return [(a, b) for a, b in zip(firsts.tolist(), stops.tolist(), strict=True) if a < b]

    @cached_property
    def _mask(self) -> pa.BooleanArray:
        return from_numpy(self._live)

    def without(self, chunk: pa.ChunkedArray) -> pa.ChunkedArray:
        if len(self._gone) <= FEW_GAPS and not pa.types.is_nested(
            chunk.type
        ):  # pyarrow casts slices of structs wrongly
            parts = [part for low, high in self._kept_ranges for part in chunk.slice(low, high - low).chunks]
            return pa.chunked_array(parts, chunk.type)
        if chunk.type in _VIEWS:
            return take(chunk, np.flatnonzero(self._live))
        return chunk.filter(self._mask)


_VIEWS = (pa.string_view(), pa.binary_view())


def _patched(base: pa.Array, places: np.ndarray, values: pa.Array, own: bool) -> pa.Array:
    width = _width(base.type)
    if not width and not pa.types.is_boolean(base.type):
        indices = np.arange(len(base), dtype=np.int64)
        indices[places] = len(base) + np.arange(len(places))
        return take(pa.concat_arrays([base, values]), indices)
    if not own or not base.buffers()[1].is_mutable:
        base = take(base, np.arange(len(base)))
    valid, data = base.buffers()
    if width:
        _set_values(data, width, base.offset + places, values)
    else:
        _set_bits(data, base.offset + places, to_numpy(values))
    if base.null_count or values.null_count:
        valid = valid or _all_valid(base)
        _set_bits(valid, base.offset + places, to_numpy(values.is_valid()))
    return pa.Array.from_buffers(base.type, len(base), [valid, data], offset=base.offset)


def _width(kind: pa.DataType) -> int:
    """Bytes of a value where each stands in a place of its own, else 0."""
    if pa.types.is_boolean(kind):
        return 0
    plain = pa.types.is_primitive(kind) or pa.types.is_decimal(kind) or pa.types.is_fixed_size_binary(kind)
    return int(kind.byte_width) if plain else 0


def _set_values(data: pa.Buffer, width: int, places: np.ndarray, values: pa.Array) -> None:
    kind = np.dtype(f"u{width}" if width in (1, 2, 4, 8) else f"V{width}")
    old = np.frombuffer(data, kind, count=data.size // width)
    new = np.frombuffer(values.buffers()[1], kind, count=values.offset + len(values))
    old[places] = new[values.offset :]


def _set_bits(data: pa.Buffer, places: np.ndarray, flags: np.ndarray) -> None:
    octets = np.frombuffer(data, np.uint8)
    in_byte = np.left_shift(1, places & 7).astype(np.uint8)
    np.bitwise_or.at(octets, places[flags] >> 3, in_byte[flags])
    np.bitwise_and.at(octets, places[~flags] >> 3, ~in_byte[~flags])


def _all_valid(base: pa.Array) -> pa.Buffer:
    return pa.py_buffer(np.full((base.offset + len(base) + 7) // 8, 255, np.uint8))
