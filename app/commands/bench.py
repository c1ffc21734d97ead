"""`lamella bench`: a race in the terminal, its samples as JSON."""

from __future__ import annotations

import argparse

from app.commands import terminal
from core.bench import runner
from core.bench.diary import Diary


def run(arguments: argparse.Namespace) -> int:
    diary = Diary(lambda line: print(line, flush=True))
    with terminal.job() as job:
        records = runner.run(
            arguments.workload,
            arguments.rows,
            arguments.backends,
            repeats=arguments.repeats,
            folder=arguments.folder,
            on_event=diary.hear,
            job=job,
            fresh=arguments.fresh,
        )
    return diary.close(records, arguments.json)
