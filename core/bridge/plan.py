"""How SQLite decided to scan a table: which columns it will read, and which constraints it passes on."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache

ROWID = -1


@dataclass(frozen=True)
class Asked:
    """A constraint on the column at this place, or on `ROWID`. `literal`: its value is in the statement."""

    column: int
    op: str
    literal: bool


@dataclass(frozen=True)
class Plan:
    """`columns`: places of those read, ascending."""

    columns: tuple[int, ...]
    asked: tuple[Asked, ...]

    def to_text(self) -> str:
        """What SQLite keeps of it, and shows in EXPLAIN QUERY PLAN."""
        asked = [[each.column, each.op, each.literal] for each in self.asked]
        return json.dumps({"columns": self.columns, "asked": asked})


@lru_cache(1024)
def plan_of(text: str) -> Plan:
    told = json.loads(text)
    return Plan(tuple(told["columns"]), tuple(Asked(*each) for each in told["asked"]))
