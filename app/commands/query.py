"""`lamella query`: a statement in SQL answered, or the rows of a table that meet a condition, printed."""

from __future__ import annotations

import argparse
import sys

import pyarrow as pa

from app.commands import terminal
from app.output import FORMATS
from core import Store
from core.errors import LamellaError
from core.jobs import Job

OF_A_TABLE = ("where", "columns", "limit")


def run(arguments: argparse.Namespace) -> int:
    _refuse_both_or_neither(arguments)
    with terminal.job() as job, Store.open(arguments.store, read_only=True) as store:
        answer = _rows(store, arguments, job) if arguments.table else store.sql(arguments.sql, job=job)
    FORMATS[arguments.format](answer, sys.stdout)
    sys.stdout.flush()
    return 0


def _rows(store: Store, arguments: argparse.Namespace, job: Job) -> pa.Table:
    return store[arguments.table].read(
        columns=arguments.columns, where=arguments.where, limit=arguments.limit, job=job
    )


def _refuse_both_or_neither(arguments: argparse.Namespace) -> None:
    odd = [f"--{name}" for name in OF_A_TABLE if getattr(arguments, name) is not None]
    if arguments.sql is None and arguments.table is None:
        raise LamellaError("Nothing says what to ask", fix="Give a statement in SQL, or --table with --where")
    if arguments.sql is not None and (arguments.table or odd):
        raise LamellaError(
            f"SQL and {'--table' if arguments.table else odd[0]} were both given",
            fix="Put the condition into the SQL, or leave the SQL out and name a table: --table",
        )
