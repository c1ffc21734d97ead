"""Decimals as the nearest doubles, which Arrow's own cast misses."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

EXACT_DIGITS = 15
"""So many digits a double holds, so one division rounds once."""


def doubles(decimals: pa.ChunkedArray) -> np.ndarray:
    """What stands in the place of a null is undefined."""
    kind = decimals.type
    if kind.precision > EXACT_DIGITS or not 0 <= kind.scale <= EXACT_DIGITS:
        return np.array([float(v) if v is not None else 0.0 for v in decimals.to_pylist()], np.float64)
    parts = [_unscaled(chunk) / 10.0**kind.scale for chunk in decimals.chunks]
    return np.concatenate([np.empty(0), *parts])


def _unscaled(decimals: pa.Array) -> np.ndarray:
    """The digits as whole numbers: with so few of them, the lowest bytes of each value are all of it."""
    width = min(8, decimals.type.byte_width)
    values = np.frombuffer(decimals.buffers()[1], f"V{decimals.type.byte_width}")[decimals.offset :]
    lowest = values[: len(decimals)].view(np.uint8).reshape(len(decimals), -1)[:, :width]
    return np.ascontiguousarray(lowest).view(f"<i{width}").reshape(-1)
