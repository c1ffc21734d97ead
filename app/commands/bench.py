"""`lamella bench`: a race in the terminal, its samples as JSON."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from app.commands import terminal
from core.bench import results, runner
from core.bench.protocol import Failure, Message
from core.bench.results import Record


def run(arguments: argparse.Namespace) -> int:
    failures: list[Failure] = []

    def hear(message: Message) -> None:
        if isinstance(message, Failure):
            failures.append(message)

    with terminal.job() as job:
        records = runner.run(
            arguments.workload,
            arguments.rows,
            arguments.backends,
            repeats=arguments.repeats,
            folder=arguments.folder,
            on_event=hear,
            job=job,
        )
    if arguments.json:
        results.write_json(records, arguments.json)
    _print(records)
    for failure in failures:
        print(
            f"{failure.backend}, {failure.operation}, {failure.rows:,} rows: {failure.message}",
            file=sys.stderr,
        )
    return 1 if failures else 0


def _print(records: list[Record]) -> None:
    points = sorted(results.summaries(records).items())
    rows: list[Sequence[str]] = [("operation", "backend", "rows", "median s", "mean s", "deviation")]
    for (operation, backend, size), summary in points:
        times = (f"{seconds:.6f}" for seconds in (summary.median, summary.mean, summary.deviation))
        rows.append((operation, backend, f"{size:,}", *times))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        names = (cell.ljust(width) for cell, width in zip(row[:2], widths, strict=False))
        numbers = (cell.rjust(width) for cell, width in zip(row[2:], widths[2:], strict=True))
        print("  ".join((*names, *numbers)))
