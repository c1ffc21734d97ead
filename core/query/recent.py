"""What was asked last, up to a number."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Recent(Generic[K, V]):
    """Values by key; the least recently used ones go first. Any thread."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
            return self._held.get(key)

    def pop(self, key: K) -> V | None:
        """The value, which is not held any more."""
        with self._lock:
            return self._held.pop(key, None)

    def put(self, key: K, value: V) -> None:
        with self._lock:
            self._held[key] = value
            if len(self._held) > self._most:
                self._held.popitem(last=False)
