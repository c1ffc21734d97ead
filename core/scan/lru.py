"""What was used last, kept within a number of bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterable
from typing import Generic, Protocol, TypeVar


class Sized(Protocol):
    @property
    def nbytes(self) -> int: ...


K = TypeVar("K", bound=Hashable)
V = TypeVar("V", bound=Sized)


class LruCache(Generic[K, V]):
    """Values by key; the least recently used ones go first. Any thread."""

    def __init__(self, max_bytes: int = 0) -> None:
        self.max_bytes = max_bytes
        self.held_bytes = 0
        self._held: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, keys: Iterable[K]) -> list[V | None]:
        with self._lock:
            return [self._used(key) for key in keys]

    def put(self, entries: Iterable[tuple[K, V]]) -> None:
        """A value that would take more than half of the room is not kept."""
        with self._lock:
            for key, value in entries:
                self._drop(key)
                if value.nbytes <= self.max_bytes // 2:
                    self._held[key] = value
                    self.held_bytes += value.nbytes
            self._make_room()

    def resize(self, max_bytes: int) -> None:
        with self._lock:
            self.max_bytes = max_bytes
            self._make_room()

    def _used(self, key: K) -> V | None:
        value = self._held.get(key)
        if value is not None:
            self._held.move_to_end(key)
        return value

    def _drop(self, key: K) -> None:
        before = self._held.pop(key, None)
        if before is not None:
            self.held_bytes -= before.nbytes

    def _make_room(self) -> None:
        while self.held_bytes > self.max_bytes:
            self.held_bytes -= self._held.popitem(last=False)[1].nbytes
