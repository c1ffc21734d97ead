"""`lamella query`: SQL over the tables of a store, printed."""

from __future__ import annotations

import argparse
import sys

from app.commands import terminal
from app.output import FORMATS
from core import Store


def run(arguments: argparse.Namespace) -> int:
    with terminal.job() as job, Store.open(arguments.store, read_only=True) as store:
        answer = store.sql(arguments.sql, job=job)
    FORMATS[arguments.format](answer, sys.stdout)
    sys.stdout.flush()
    return 0
