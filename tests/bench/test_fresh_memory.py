"""Memory is touched before timing, and freed again."""

from __future__ import annotations

import psutil

from lamella.core.bench.engine import machine


def test_as_much_as_many_rows_need_was_used_and_is_given_back() -> None:
    before = psutil.Process().memory_info()
    fetched = machine.fetch(40_000)
    after = psutil.Process().memory_info()
    assert 100 << 20 < fetched <= 200 << 20
    assert after.rss - before.rss < fetched // 2


def test_few_rows_need_none() -> None:
    assert machine.fetch(1_000) == 0
