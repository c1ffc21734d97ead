"""Records without a benchmark."""

from __future__ import annotations

from datetime import UTC, datetime

from lamella.core.bench.results.records import Record

BEGAN = datetime(2026, 5, 1, 9, tzinfo=UTC)


def record(system: str, seconds: float, operation: str = "read", rows: int = 1000, repeat: int = 0) -> Record:
    temperature = "warm" if repeat else "cold"
    return Record(
        "small", system, operation, rows, 100, repeat, seconds, seconds, 50, 4096, "1000:ab", temperature
    )
