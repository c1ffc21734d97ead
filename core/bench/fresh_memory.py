"""Memory that a process takes for the first time, made as quick as any other before it is timed.

A virtual machine's host takes free memory back within seconds, and getting it again can cost ten times what a
system does with it: whichever met that first would look slow.
"""

from __future__ import annotations

import numpy as np
import psutil

BYTES_A_ROW = 5_000
"""About what a hundred numbers take as Python objects."""
MOST_BYTES = 5 << 29
PIECE_BYTES = 64 << 20
PAGE_BYTES = 4096


def fetch(rows: int) -> int:
    """Use as much as so many rows may need, and give it back; the number of bytes."""
    wanted = min(rows * BYTES_A_ROW, MOST_BYTES, psutil.virtual_memory().available // 2)
    pieces = [np.empty(PIECE_BYTES, np.uint8) for _ in range(wanted // PIECE_BYTES)]
    for piece in pieces:
        piece[::PAGE_BYTES] = 0
    return len(pieces) * PIECE_BYTES
