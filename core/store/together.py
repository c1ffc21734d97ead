"""Several commits that become true at once: what they have in common while they are being made."""

from __future__ import annotations

import itertools
import sqlite3
import time
from collections.abc import Callable
from typing import Any

TakenBack = Callable[[], None]
_drafts = itertools.count(1)


class Together:
    """Commits of one catalog transaction. They share a `number`, and the block's message where it has one.

    `tables` are those that have one; `drops` tells that tables were dropped.
    `draft` tells what is read inside from any other state of the catalog, and from what was taken back.
    """

    def __init__(self, connection: sqlite3.Connection, message: str, taken_back: TakenBack) -> None:
        self.draft = next(_drafts)
        self.tables: set[int] = set()
        self.drops = False
        self._connection, self._message, self._taken_back = connection, message, taken_back
        made = connection.execute(
            "INSERT INTO transactions (at) VALUES (?) RETURNING transaction_id", (time.time(),)
        )
        self.number = int(made.fetchone()[0])

    def take_back(self) -> None:
        """A part failed: the numbers that it gave may be given to something else now."""
        self.draft = next(_drafts)
        self._taken_back()

    def stamped(self, table_id: int, commit: tuple[Any, ...]) -> tuple[Any, ...]:
        """A commit's row, which ends with message, name and transaction, as one of these."""
        *rest, message, name, _ = commit
        self.tables.add(table_id)
        return (*rest, self._message or message, name, self.number)

    def close(self) -> None:
        """A block without commits leaves nothing behind."""
        if not self.tables:
            self._connection.execute("DELETE FROM transactions WHERE transaction_id = ?", (self.number,))
