"""Records and runs that no benchmark measured, and a small benchmark written by a user."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from lamella.core.bench.engine.choice import Choice, part_of
from lamella.core.bench.engine.protocol import (
    CRASHED,
    Failure,
    Measurement,
    ProcessUsage,
    StepStart,
    Surroundings,
    UnsupportedStep,
)
from lamella.core.bench.results.records import Record
from lamella.core.bench.results.run import Recording, SavedRun
from lamella.core.bench.workloads.tables import NEEDLE, SMALL

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


NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)

CHOICE = Choice(
    (part_of(SMALL, ["lamella", "sqlite"], [10, 1000], 3), part_of(NEEDLE, ["sqlite"], [5], 1)), seed=7
)


def recorded(started: datetime = NOON, seconds: float = 0.5) -> SavedRun:
    recording = Recording(CHOICE, started)
    for message in (
        Surroundings("sqlite", "3.40", "not durable", {"python": "CPython 3.11", "cores": 2}, "small"),
        StepStart("sqlite", 1000, 0, "read"),
        Measurement(record("sqlite", seconds)),
        Measurement(replace(record("sqlite", seconds, repeat=1), latencies=(0.25, 0.75))),
        UnsupportedStep("needle", "sqlite", "index", "It has none"),
        Failure("small", "lamella", "read", 10, 0, "It fell", "at length", CRASHED),
        ProcessUsage("small", "sqlite", 1000, 1000, 3, 6, 2.5, 50_000_000, 4096),
    ):
        recording.receive(message)
    return recording.run()
