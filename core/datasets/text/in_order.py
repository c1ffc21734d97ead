"""Work on a stream of items side by side, with the answers in the items' order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")

WORKERS = min(4, os.cpu_count() or 1)


def in_order(
    work: Callable[[Item], Answer], items: Iterable[Item], workers: int = WORKERS
) -> Iterator[Answer]:
    """At most `workers` + 1 items are held at a time. Left early, it waits for what is under way."""
    pool = ThreadPoolExecutor(workers, thread_name_prefix="reading-text")
    waiting: deque[Future[Answer]] = deque()
    try:
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) > workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
