"""`lamella make-data`: a Parquet file to try things on."""

from __future__ import annotations

import argparse

from app.commands import terminal
from core.transfer.make_data import make


def run(arguments: argparse.Namespace) -> int:
    with terminal.job() as job:
        make(arguments.kind, arguments.rows, arguments.out, job)
    print(f"{arguments.rows:,} rows are in {arguments.out}")
    return 0
