"""Systems that go wrong in one way each; a race reaches them by `module:Class`."""

from __future__ import annotations

import os
import sys
import time

from core.bench.backends.sqlite import SQLite, Tuples


class Liar(SQLite):
    """Fast and wrong: one row is missing from what it reads."""

    def read(self) -> Tuples:
        return super().read()[:-1]


class Crasher(SQLite):
    """Its process dies in the middle of a query."""

    def query(self) -> Tuples:
        print("about to fall over", file=sys.stderr, flush=True)
        os.abort()


class Refuser(SQLite):
    def create(self, prepared: Tuples) -> None:
        raise ValueError(f"no room for {len(prepared)} rows")


class Talker(SQLite):
    """Prints where its process speaks to the runner."""

    def read(self) -> Tuples:
        print("reading now")
        os.write(1, b"and once more past Python\n")
        return super().read()


class Sleeper(SQLite):
    """Never comes back from reading."""

    def read(self) -> Tuples:
        time.sleep(3600)
        return []
