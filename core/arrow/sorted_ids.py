"""Sets of positions and ids as ascending int64 arrays, and stable sorting of numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

EMPTY = np.empty(0, np.int64)


def union(*sets: np.ndarray) -> np.ndarray:
    """The union of the sets."""
    filled = [ids for ids in sets if len(ids)]
    if len(filled) < 2:
        return filled[0] if filled else EMPTY
    together = np.concatenate(filled)
    together.sort(kind="stable")
    distinct: np.ndarray = together[np.append(True, together[1:] != together[:-1])]
    return distinct


def distinct(values: np.ndarray) -> np.ndarray:
    """The distinct values, ascending. `np.unique` hashes them, which takes 60 times as long for a million ids
    and does not let other threads run meanwhile; it also imports NumPy's masked arrays."""
    ordered: np.ndarray = values if bool((values[1:] >= values[:-1]).all()) else np.sort(values)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


def among(values: np.ndarray, ascending: np.ndarray) -> np.ndarray:
    """Which of the values, in any order, are in the set."""
    if len(ascending) == 0:
        return np.zeros(len(values), bool)
    places = np.minimum(np.searchsorted(ascending, values), len(ascending) - 1)
    hits: np.ndarray = ascending[places] == values
    return hits


def without(ascending: np.ndarray, exclusions: np.ndarray) -> np.ndarray:
    """The difference of two sets: values of the first that are not in the second."""
    return ascending[~among(ascending, exclusions)] if len(exclusions) else ascending


SIGN = np.uint64(1 << 63)
BLOCK = 1 << 16
LARGEST_SORT = 1 << 23
RUNS_AT_ONCE = 1 << 12


def comparable(numbers: np.ndarray) -> np.ndarray:
    """Map numbers to integers (uint64) with the same order; NaN is the greatest, and zero has no sign."""
    if numbers.dtype.kind != "f":
        if numbers.dtype.kind == "u":
            return numbers.astype(np.uint64)
        signed: np.ndarray = numbers.astype(np.int64).view(np.uint64) ^ SIGN
        return signed
    whole = np.add(numbers, 0.0, dtype=np.float64)
    ordered: np.ndarray = whole.view(np.uint64)
    ordered ^= (whole.view(np.int64) >> 63).view(np.uint64) | SIGN
    ordered[np.isnan(numbers)] = ~np.uint64(0)
    return ordered


def stable_order(keys: np.ndarray, check: Callable[[], object] = lambda: None) -> np.ndarray:
    """The indices (int64) that sort the keys (uint64) ascending, equal ones in their present order.

    `check` is called between steps of the work; an exception that it raises ends it.
    """
    if len(keys) < 2:
        return np.arange(len(keys))
    place_bits = (len(keys) - 1).bit_length()
    low, high = int(keys.min()), int(keys.max())
    left_out = max(0, (high - low).bit_length() + place_bits - 64)
    packed = _pack(keys, low, left_out, place_bits)
    _sort(packed, check)
    equal = _equal_neighbours(packed, place_bits) if left_out else np.empty(0, np.int64)
    cut = packed[equal] >> np.uint64(place_bits)
    packed &= np.uint64((1 << place_bits) - 1)
    places = packed.view(np.int64)
    check()
    if len(equal):
        _put_right(places, equal, cut, keys, check)
    return places


def in_key_order(ids: np.ndarray, keys: np.ndarray, check: Callable[[], object] = lambda: None) -> np.ndarray:
    """Sort ascending ids (int64) by their keys (uint64), equal ones by id: `ids` at `stable_order(keys)`. If
    key and id fit into one number, no lookup is needed, which would take as long as sorting."""
    if len(ids) < 2:
        return ids
    first, low = int(ids[0]), int(keys.min())
    id_bits = (int(ids[-1]) - first).bit_length()
    if id_bits + (int(keys.max()) - low).bit_length() > 64:
        places = stable_order(keys, check)
        if int(ids[-1]) - first < len(ids):  # consecutive ids: adding is faster than a lookup
            places += first
            return places
        places_by_id: np.ndarray = ids[places]
        return places_by_id
    packed = np.empty_like(keys)
    for start in range(0, len(keys), BLOCK):
        block = packed[start : start + BLOCK]
        np.subtract(keys[start : start + BLOCK], np.uint64(low), out=block)
        block <<= np.uint64(id_bits)
        block |= (ids[start : start + BLOCK] - first).view(np.uint64)
    _sort(packed, check)
    packed &= np.uint64((1 << id_bits) - 1)
    ordered = packed.view(np.int64)
    ordered += first
    return ordered


def _sort(numbers: np.ndarray, check: Callable[[], object]) -> None:
    """Sort in place. Partitioning first costs little more, because sorting would begin with it."""
    check()
    if len(numbers) <= LARGEST_SORT:
        numbers.sort()
        return
    middle = len(numbers) // 2
    numbers.partition(middle)
    _sort(numbers[:middle], check)
    _sort(numbers[middle:], check)


def _pack(keys: np.ndarray, low: int, left_out: int, place_bits: int) -> np.ndarray:
    """Pack each key, without its lowest bits, above its index: one block at a time, while it is in the
    cache."""
    packed = np.empty_like(keys)
    for start in range(0, len(keys), BLOCK):
        block = packed[start : start + BLOCK]
        np.subtract(keys[start : start + BLOCK], np.uint64(low), out=block)
        block >>= np.uint64(left_out)
        block <<= np.uint64(place_bits)
        block |= np.arange(start, start + len(block), dtype=np.uint64)
    return packed


def _equal_neighbours(packed: np.ndarray, place_bits: int) -> np.ndarray:
    """The indices where a truncated key equals the next one."""
    equal = []
    for start in range(0, len(packed) - 1, BLOCK):
        cut = packed[start : start + BLOCK + 1] >> np.uint64(place_bits)
        equal.append(np.flatnonzero(cut[1:] == cut[:-1]) + start)
    return np.concatenate(equal)


def _put_right(
    places: np.ndarray, equal: np.ndarray, cut: np.ndarray, keys: np.ndarray, check: Callable[[], object]
) -> None:
    """Sort again, in place, each run of keys that are equal when truncated but not in order.

    `cut` has the truncated values of the keys at `equal` and those after them.
    """
    values = _wrong(places, equal, cut, keys, check)
    for start in range(0, len(values), RUNS_AT_ONCE):
        some = values[start : start + RUNS_AT_ONCE]
        firsts = equal[np.searchsorted(cut, some, "left")]
        stops = equal[np.searchsorted(cut, some, "right") - 1] + 2
        long = stops - firsts > BLOCK
        for first, stop in zip(firsts[long].tolist(), stops[long].tolist(), strict=True):
            run = places[first:stop]
            run[:] = run[stable_order(keys[run], check)]
        for batch in _batches((stops - firsts)[~long]):
            check()
            _sort_runs(places, firsts[~long][batch], stops[~long][batch], keys)


def _wrong(
    places: np.ndarray, equal: np.ndarray, cut: np.ndarray, keys: np.ndarray, check: Callable[[], object]
) -> np.ndarray:
    """The distinct truncated values, ascending, of keys of which one is greater than the next."""
    differences = [np.empty(0, np.uint64)]
    for start in range(0, len(equal), BLOCK):
        check()
        block = equal[start : start + BLOCK]
        wrong = keys[places[block + 1]] < keys[places[block]]
        differences.append(cut[start : start + BLOCK][wrong])
    values = np.concatenate(differences)
    distinct: np.ndarray = values[np.append(True, values[1:] != values[:-1])] if len(values) else values
    return distinct


def _batches(lengths: np.ndarray) -> Iterator[slice]:
    """Group runs of these lengths into batches of about `BLOCK` keys."""
    ends = np.flatnonzero(np.diff(np.cumsum(lengths) // BLOCK)) + 1
    bounds = [0, *ends.tolist(), len(lengths)]
    return (slice(a, b) for a, b in pairwise(bounds) if a < b)


def _sort_runs(places: np.ndarray, firsts: np.ndarray, stops: np.ndarray, keys: np.ndarray) -> None:
    lengths = stops - firsts
    runs = np.repeat(np.arange(len(firsts)), lengths)
    among = np.arange(len(runs)) + np.repeat(firsts - (np.cumsum(lengths) - lengths), lengths)
    places[among] = places[among][np.lexsort((keys[places[among]], runs))]
