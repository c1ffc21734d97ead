"""Sets of positions and ids as ascending int64 arrays: NumPy's own set functions hash or sort them anew,
which takes ten times as long."""

from __future__ import annotations

import numpy as np

EMPTY = np.empty(0, np.int64)


def union(*sets: np.ndarray) -> np.ndarray:
    """What is in any of the sets, each once."""
    filled = [one for one in sets if len(one)]
    if len(filled) < 2:
        return filled[0] if filled else EMPTY
    together = np.concatenate(filled)
    together.sort(kind="stable")
    distinct: np.ndarray = together[np.append(True, together[1:] != together[:-1])]
    return distinct


def distinct(values: np.ndarray) -> np.ndarray:
    """Each of the values once. `np.unique` imports NumPy's masked arrays, which takes ten milliseconds."""
    ordered = np.sort(values)
    found: np.ndarray = ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered
    return found


def among(values: np.ndarray, ascending: np.ndarray) -> np.ndarray:
    """Which of the values, in any order, are in the set."""
    if len(ascending) == 0:
        return np.zeros(len(values), bool)
    places = np.minimum(np.searchsorted(ascending, values), len(ascending) - 1)
    found: np.ndarray = ascending[places] == values
    return found


def without(ascending: np.ndarray, others: np.ndarray) -> np.ndarray:
    """What is in the first set and not in the second."""
    return ascending[~among(ascending, others)] if len(others) else ascending
