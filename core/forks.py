"""What a forked child has to let go of: connections, threads and locks are its parent's and no good to it."""

from __future__ import annotations

import ctypes
import os
import weakref
from typing import Protocol


class Inherited(Protocol):
    def forked(self) -> None:
        """Called in the child, right after the fork, when no other thread runs."""


_held: weakref.WeakSet[Inherited] = weakref.WeakSet()


def let_go_in_children(thing: Inherited) -> None:
    """Have `thing.forked()` called in every child that is forked from this process."""
    _held.add(thing)


def never_finalize(thing: object) -> None:
    """Keep the object for good: what its finalizer would do here would reach the parent, or crash."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


def _in_child() -> None:
    for thing in list(_held):
        thing.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
