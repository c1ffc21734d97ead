"""`lamella bench`: a race in the terminal, its samples as JSON."""

from __future__ import annotations

import argparse
import sys

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
    print(f"{'operation':20} {'backend':12} {'rows':>10} {'median s':>12} {'mean s':>12} {'deviation':>12}")
    for (operation, backend, rows), summary in sorted(results.summaries(records).items()):
        times = f"{summary.median:12.6f} {summary.mean:12.6f} {summary.deviation:12.6f}"
        print(f"{operation:20} {backend:12} {rows:10,} {times}")
