"""`lamella import`: a file becomes a table of a store."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from app.commands import terminal
from core import Store
from core.transfer import import_file


def run(arguments: argparse.Namespace) -> int:
    path, name = split_target(arguments.target)
    with terminal.job() as job, Store.open(path) as store:
        table = import_file(arguments.file, store, name, job)
        print(f"{table.num_rows:,} rows are in table {table.name} of {store.path}")
    return 0


def split_target(target: str) -> tuple[Path, str | None]:
    r"""`STORE:TABLE` in two; a drive such as `C:\data` is no table."""
    match = re.fullmatch(r"(.{2,}|[^A-Za-z]):([^:/\\]+)", target)
    return (Path(match[1]), match[2]) if match else (Path(target), None)
