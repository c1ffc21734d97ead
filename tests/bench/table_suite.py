"""Runs all workloads on tables of numbers on one system, with few rows.

As a program, it writes the checksums to a file: for systems whose import changes the process.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

from lamella.core.bench import registry
from lamella.core.bench.engine.measure import Sample
from lamella.core.bench.registry import WORKLOADS, family_of
from lamella.core.bench.systems.base import System
from lamella.core.bench.workloads import table_cycle
from lamella.core.bench.workloads.model import Workload
from lamella.core.bench.workloads.tables import PARTIAL

ROWS = 250
ROWS_ONE_BY_ONE = 40
"""Rows in workloads that change single rows: some systems write a whole file for each."""

ENOUGH_SECONDS = 0.05
"""The time for changes one by one; the rest is done at once."""

SMALLER = {workload.id: replace(workload, table_rows=3 * ROWS) for workload in (PARTIAL,)}
TABLES = [name for name, workload in WORKLOADS.items() if workload.family == "table"]


def asked(name: str) -> Workload:
    return SMALLER.get(name, WORKLOADS[name])


def rows_of(workload: str) -> int:
    return ROWS_ONE_BY_ONE if workload == "single" else ROWS


def samples_of(system: System, workload: Workload, rows: int = ROWS) -> list[Sample]:
    cycle = family_of(workload).cycle(system, workload, rows)
    steps = [step for step in workload.steps if step not in system.cannot]
    return [sample for step in steps for sample in cycle.step(step)] + list(cycle.settle())


@cache
def right_answer(workload: str, operation: str, rows: int) -> str:
    work = asked(workload)
    expected = family_of(work).answer_function
    assert expected is not None
    return expected(work, work.operation(operation), rows)


def checksums(name: str, folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    for workload in TABLES:
        work = asked(workload)
        system = registry.load(name)(folder / workload, work)
        samples = samples_of(system, work, rows_of(workload))
        yield workload, {sample.operation: sample.checksum for sample in samples}


def main(name: str, folder: str, output: str) -> None:
    table_cycle.ENOUGH_SECONDS = ENOUGH_SECONDS
    Path(output).write_text(json.dumps(dict(checksums(name, Path(folder)))), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
