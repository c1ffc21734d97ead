"""Decoded values stay within the memory allowed, in all caches together."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import col, open_dataset
from lamella.core.datasets.base import Dataset
from lamella.core.query.view import View
from lamella.core.scan import cache as caches

GROUP = 20_000
GROUP_BYTES = GROUP * 8
CACHES = (caches.cache, caches.browsing_cache, caches.few_rows, caches.text_cache, caches.row_numbers)


@pytest.fixture
def dataset(tmp_path: Path) -> Iterator[Dataset]:
    """Ten row groups of 160 KB once decoded; the caches get their own size back in the end."""
    values = np.random.default_rng(1).permutation(10 * GROUP)
    pq.write_table(pa.table({"x": values}), tmp_path / "x.parquet", row_group_size=GROUP)
    before = sum(cache.max_bytes for cache in CACHES)
    caches.limit(0)
    yield open_dataset(tmp_path / "x.parquet")
    caches.limit(before)


def held() -> int:
    return sum(cache.held_bytes for cache in CACHES)


def read_in_every_way(dataset: Dataset) -> None:
    view = View(dataset.snapshot())
    for offset in range(0, 10 * GROUP, GROUP):
        assert view.page(offset, 10).num_rows == 10
        assert dataset.read(where=col("x") == offset).num_rows == 1


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("groups", [0, 3, 8, 12, 100])
def test_both_caches_together_stay_within_the_limit(dataset: Dataset, groups: int) -> None:
    caches.limit(groups * GROUP_BYTES)
    read_in_every_way(dataset)
    assert held() <= groups * GROUP_BYTES
    assert (held() > 0) == (groups > 0)


def test_a_lower_limit_lets_go_at_once(dataset: Dataset) -> None:
    caches.limit(100 * GROUP_BYTES)
    read_in_every_way(dataset)
    assert held() > 4 * GROUP_BYTES
    caches.limit(4 * GROUP_BYTES)
    assert 0 < held() <= 4 * GROUP_BYTES


def test_pages_never_take_more_than_a_small_part(dataset: Dataset) -> None:
    caches.limit(8 << 30)
    assert caches.browsing_cache.max_bytes == caches.MOST_BROWSED_BYTES
    assert sum(cache.max_bytes for cache in CACHES) == 8 << 30
