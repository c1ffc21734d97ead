"""`lamella make-data`: a Parquet file to try things on."""

from __future__ import annotations

import argparse

from lamella.app.commands import terminal
from lamella.core.transfer.generate import make


def run(arguments: argparse.Namespace) -> int:
    with terminal.job() as job:
        make(arguments.kind, arguments.rows, arguments.out, job)
    rows = "1 row is" if arguments.rows == 1 else f"{arguments.rows:,} rows are"
    print(f"{rows} in {arguments.out}")
    return 0
