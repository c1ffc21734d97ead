"""Records that no benchmark measured, and a small benchmark written by a user."""

from __future__ import annotations

from datetime import UTC, datetime

from lamella.core.bench.results.records import Record

USER_SCRIPT = """
OPERATIONS = ["size"]
def data(rows): return list(range(rows))
class AList:
    def load(self, table, folder): self.rows = table
    def size(self): return len(self.rows)
SYSTEMS = {"a list": AList, "another": AList}
"""
"""A user's benchmark: one operation, and two systems that do the same."""

BEGAN = datetime(2026, 5, 1, 9, tzinfo=UTC)


def record(system: str, seconds: float, operation: str = "read", rows: int = 1000, repeat: int = 0) -> Record:
    temperature = "warm" if repeat else "cold"
    return Record(
        "small", system, operation, rows, 100, repeat, seconds, seconds, 50, 4096, "1000:ab", temperature
    )
