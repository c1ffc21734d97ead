"""Made items: each owner has 20 of them, and 20 codes begin alike."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamella.core.bench.workloads.entity_indexes import ALIKE

TYPES = {"number": "INTEGER", "code": "TEXT", "owner": "INTEGER", "amount": "REAL", "label": "TEXT"}
"""Columns, and what SQL calls their types."""

LOOKED_UP = 30


def items(rows: int) -> dict[str, list[Any]]:
    random = np.random.default_rng(1)
    numbers = random.permutation(rows).tolist()
    return {
        "number": numbers,
        "code": [f"c{number // ALIKE:06}-{number % ALIKE:02}" for number in numbers],
        "owner": [number // ALIKE for number in numbers],
        "amount": random.random(rows).tolist(),
        "label": [f"item number {number % 977}" for number in numbers],
    }


def owners(rows: int) -> list[int]:
    """Those that are asked for, the same for every system."""
    drawn: list[int] = np.random.default_rng(2).integers(0, max(1, rows // ALIKE), LOOKED_UP).tolist()
    return drawn
