"""`lamella bench`: a race in the terminal, its samples as JSON."""

from __future__ import annotations

import argparse
from dataclasses import replace

from app.commands import terminal
from core.bench import runner
from core.bench.backends import ENTRIES
from core.bench.diary import Diary
from core.bench.workloads import WORKLOADS, Workload, workload_named
from core.errors import LamellaError


def run(arguments: argparse.Namespace) -> int:
    if arguments.list:
        return _list()
    diary = Diary(lambda line: print(line, flush=True))
    with terminal.job() as job:
        records = runner.run(
            _workload(arguments),
            arguments.rows,
            arguments.backends,
            repeats=arguments.repeats,
            folder=arguments.folder,
            on_event=diary.hear,
            job=job,
            fresh=arguments.fresh,
        )
    return diary.close(records, arguments.json, arguments.report)


def _list() -> int:
    print("Workloads:")
    for workload in WORKLOADS.values():
        print(f"  {workload.id:15}{workload.about}")
    print("\nSystems:")
    for entry in ENTRIES.values():
        print(f"  {entry.id:15}{entry.title}. {entry.missing or 'Ready.'}")
    return 0


def _workload(arguments: argparse.Namespace) -> Workload:
    asked = workload_named(arguments.workload)
    if arguments.table_rows is None:
        return asked
    if asked.table_rows is None or arguments.table_rows < 1:
        raise LamellaError(
            f"{asked.title}: --table-rows {arguments.table_rows} means nothing here",
            fix="Leave it out: it is for workloads whose --rows count changed rows, and at least 1",
        )
    return replace(asked, table_rows=arguments.table_rows)
