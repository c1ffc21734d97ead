"""Records without a benchmark."""

from __future__ import annotations

from lamella.core.bench.results.records import Record


def record(system: str, seconds: float, operation: str = "read", rows: int = 1000, repeat: int = 0) -> Record:
    temperature = "warm" if repeat else "cold"
    return Record(
        "small", system, operation, rows, 100, repeat, seconds, seconds, 50, 4096, "1000:ab", temperature
    )
