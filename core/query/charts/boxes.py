"""Computes quartiles, whiskers and outliers of groups of numbers in memory, for box plots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import from_values, to_numpy
from lamella.core.jobs import Job

QUARTILES = (0.25, 0.5, 0.75)
WHISKERS = 1.5
"""The reach of whiskers: up to the last value within this many heights of the box."""
FIGURES = ("least", "low", "q1", "value", "q3", "high", "greatest")

_Key = tuple[int | None, ...]


def boxes(rows: pa.Table, keys: Sequence[str], job: Job) -> pa.Table:
    """Compute the `FIGURES` of column `v`, which has no nulls, with `outliers` and `rows`, for each
    combination of the keys. Quartiles are interpolated, like SQL's `quantile_cont`. Copies the values."""
    parts = dict[_Key, list[np.ndarray]]()
    for batch in rows.to_batches():
        job.check()
        for key, values in _groups(batch, keys):
            parts.setdefault(key, []).append(values)
    figures = list[dict[str, float | int | None]]()
    for key in list(parts):
        job.check()
        figures.append(_figures(np.concatenate(parts.pop(key))) | dict(zip(keys, key, strict=True)))
    whole = pa.int64()
    types = dict.fromkeys(keys, whole) | dict.fromkeys(FIGURES, pa.float64())
    types |= {"outliers": whole, "rows": whole}
    return pa.table(
        {name: from_values([figure[name] for figure in figures], type_) for name, type_ in types.items()}
    )


def _groups(batch: pa.RecordBatch, keys: Sequence[str]) -> Iterator[tuple[_Key, np.ndarray]]:
    values = to_numpy(batch.column("v"))
    if not keys or not len(values):
        yield from [((), values)] if len(values) else []
        return
    coded = [batch.column(name).dictionary_encode(null_encoding="encode") for name in keys]
    listed = [dictionary.dictionary.to_pylist() for dictionary in coded]
    shape = tuple(len(dictionary) for dictionary in listed)
    codes = np.ravel_multi_index([to_numpy(indices.indices) for indices in coded], shape)
    narrow = np.uint16 if np.prod(shape) <= np.iinfo(np.uint16).max else np.int64  # 16 bits sort faster
    order = np.argsort(codes.astype(narrow), kind="stable")
    counts = np.bincount(codes)
    present = np.flatnonzero(counts)
    for code, some in zip(present, np.split(values[order], np.cumsum(counts[present])[:-1]), strict=True):
        places = np.unravel_index(code, shape)
        yield tuple(texts[place] for texts, place in zip(listed, places, strict=True)), some


def _figures(values: np.ndarray) -> dict[str, float | int]:
    """The figures of one box; reorders the values."""
    count = len(values)
    at = [share * (count - 1) for share in QUARTILES]
    lower = [int(place) for place in at]
    upper = [min(place + 1, count - 1) for place in lower]
    values.partition(sorted({*lower, *upper}))
    q1, median, q3 = (
        _between(values[low], values[high], place - low)
        for place, low, high in zip(at, lower, upper, strict=True)
    )
    with np.errstate(over="ignore", invalid="ignore"):
        reach = WHISKERS * (q3 - q1)
        fences = q1 - reach, q3 + reach
    below, above = values[: lower[0] + 1], values[upper[2] :]
    near_below, near_above = below[below >= fences[0]], above[above <= fences[1]]
    low, high = near_below.min(initial=values[upper[0]]), near_above.max(initial=values[lower[2]])
    whole = map(float, (below.min(), low, q1, median, q3, high, above.max()))
    outliers = len(below) - len(near_below) + len(above) - len(near_above)
    return {**dict(zip(FIGURES, whole, strict=True)), "outliers": outliers, "rows": count}


def _between(low: float, high: float, share: float) -> float:
    """Interpolate without overflow."""
    return low if low == high else low * (1 - share) + high * share
