"""What holds for every test of the benchmarks."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def frozen_heap() -> Iterator[None]:
    """Every measurement starts with a collection, which need not go through what pytest keeps."""
    gc.freeze()
    yield
    gc.unfreeze()
