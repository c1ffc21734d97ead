"""Decimals of more than 38 digits as 32 bytes that compare byte by byte as the decimals do.

DuckDB holds 38 digits and would round such a decimal to a double; it compares bytes exactly.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

WIDTH = 32
_SIGN = 1 << (8 * WIDTH - 1)


def ordered_bytes(count: int) -> bytes:
    """For a decimal of so many steps of its scale."""
    return (count + _SIGN).to_bytes(WIDTH, "big")


def ordered(decimals: pa.Array) -> pa.Array:
    """For each of an array of decimal256; null stays null."""
    valid, data = decimals.buffers()
    slots = decimals.offset + len(decimals)
    held = np.zeros((slots, WIDTH), np.uint8)
    if data is not None:
        held[:] = np.frombuffer(data, np.uint8, count=slots * WIDTH).reshape(slots, WIDTH)[:, ::-1]
    held[:, 0] ^= 0x80
    buffers = [valid, pa.py_buffer(held)]
    return pa.Array.from_buffers(pa.binary(WIDTH), len(decimals), buffers, offset=decimals.offset)


def decimals(held: pa.Array, kind: pa.DataType) -> pa.Array:
    """The way back: decimal256 of the type `kind` from an array of bytes made by `ordered`."""
    valid, data = held.cast(pa.binary(WIDTH)).buffers()
    slots = held.offset + len(held)
    counts = np.zeros((slots, WIDTH), np.uint8)
    if data is not None:
        counts[:] = np.frombuffer(data, np.uint8, count=slots * WIDTH).reshape(slots, WIDTH)[:, ::-1]
    counts[:, -1] ^= 0x80
    return pa.Array.from_buffers(kind, len(held), [valid, pa.py_buffer(counts)], offset=held.offset)
