"""Orders of rows that were asked for more than once: the next page of one is a slice of it."""

from __future__ import annotations

import threading
from collections import OrderedDict

import numpy as np

from lamella.core.filters.expr import Filter
from lamella.core.query.query import SortKey
from lamella.core.scan.lru import LruCache
from lamella.core.scan.snapshot import Snapshot

MOST_BYTES = 64 << 20
SMALL_ROWS = 500_000
"""Up to so many rows, all of them are put in order the second time that a few are asked for."""
MOST_ASKED = 64

Order = tuple[object, ...]
"""A snapshot, a filter and a sort."""

_orders: LruCache[Order, np.ndarray] = LruCache(MOST_BYTES)
_asked: OrderedDict[Order, None] = OrderedDict()
_lock = threading.Lock()


def order_of(snapshot: Snapshot, where: Filter | None, keys: tuple[SortKey, ...]) -> Order:
    return (snapshot.token, where, keys)


def kept(order: Order) -> np.ndarray | None:
    """The positions in this order, if they are kept."""
    return _orders.get([order])[0]


def keep(order: Order, positions: np.ndarray) -> np.ndarray:
    _orders.put([(order, positions)])
    return positions


def forget() -> None:
    """Every order, and which were asked for."""
    _orders.resize(0)
    _orders.resize(MOST_BYTES)
    with _lock:
        _asked.clear()


def asked_again(order: Order) -> bool:
    """Whether its first rows were asked for before, and not too long ago."""
    with _lock:
        again = order in _asked
        _asked[order] = None
        _asked.move_to_end(order)
        if len(_asked) > MOST_ASKED:
            _asked.popitem(last=False)
    return again
