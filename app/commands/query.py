"""`lamella query`: a statement in SQL answered, or rows of a table found by a condition or words, printed."""

from __future__ import annotations

import argparse
import re
import sys

import pyarrow as pa

from app.commands import terminal
from app.output import FORMATS
from core import Store
from core.errors import BadQuery, LamellaError
from core.jobs import Job
from core.query.aggregate import Aggregate
from core.query.asking import Asking
from core.query.expressions import Named

OF_A_TABLE = ("where", "search", "group_by", "agg", "having", "sort", "columns", "limit", "offset")
NOT_OF_A_SEARCH = ("group_by", "agg", "having", "sort", "explain")
BEST = 20
"""So many rows of a search are printed unless a limit is given."""
_AGGREGATE = re.compile(r"\s*(?P<name>[^=]+?)\s*=\s*(?P<function>\w+)\s*\((?P<inside>.*)\)\s*")


def run(arguments: argparse.Namespace) -> int:
    _refuse_both_or_neither(arguments)
    with terminal.job() as job, Store.open(arguments.store, read_only=True) as store:
        if arguments.explain:
            print(_asked(store, arguments).explain(job))
            return 0
        answer = _answer(store, arguments, job)
    FORMATS[arguments.format](answer, sys.stdout)
    sys.stdout.flush()
    return 0


def _answer(store: Store, arguments: argparse.Namespace, job: Job) -> pa.Table:
    if arguments.search is not None:
        limit = BEST if arguments.limit is None else arguments.limit
        return store[arguments.table].search(
            arguments.search, arguments.columns, arguments.where, limit, arguments.offset or 0, job=job
        )
    return _asked(store, arguments).read(job) if arguments.table else store.sql(arguments.sql, job=job)


def _asked(store: Store, arguments: argparse.Namespace) -> Asking:
    rows = store[arguments.table].where(arguments.where)
    if arguments.group_by is not None or arguments.agg is not None:
        made = dict(_aggregate(text) for text in arguments.agg or [])
        rows = rows.group_by(*arguments.group_by or []).agg(**made)
        rows = rows if arguments.having is None else rows.having(arguments.having)
    if arguments.sort is not None:
        rows = rows.sort(*arguments.sort)
    if arguments.limit is not None or arguments.offset is not None:
        rows = rows.limit(arguments.limit, arguments.offset or 0)
    return rows if arguments.columns is None else rows.select(*arguments.columns)


def _aggregate(text: str) -> tuple[str, Aggregate]:
    """`late=mean(dep_delay)`: a name, an aggregate and its column; a quantile's part behind a comma."""
    found = _AGGREGATE.fullmatch(text)
    if found is None:
        raise BadQuery(
            f"--agg {text!r} is no aggregate", fix="Write NAME=AGGREGATE(COLUMN): late=mean(dep_delay)"
        )
    function = "avg" if found["function"] == "mean" else found["function"]
    column, _comma, part = (
        found["inside"].partition(",") if function == "quantile" else (found["inside"], "", "")
    )
    value = Named(column.strip()) if column.strip() else None
    try:
        return found["name"], Aggregate(function, value, None, float(part) if part.strip() else None)
    except ValueError as error:
        raise BadQuery(
            f"--agg {text!r} has no part", str(error), "Write p=quantile(distance, 0.9)"
        ) from error


def _refuse_both_or_neither(arguments: argparse.Namespace) -> None:
    odd = [_option(name) for name in OF_A_TABLE if getattr(arguments, name) is not None]
    if arguments.sql is None and arguments.table is None:
        raise LamellaError("Nothing says what to ask", fix="Give a statement in SQL, or --table with --where")
    if arguments.sql is not None and arguments.explain:
        raise LamellaError(
            "--explain is of a table, not of SQL", fix="Write EXPLAIN before the statement, or --table"
        )
    beside = [_option(name) for name in NOT_OF_A_SEARCH if getattr(arguments, name)]
    if arguments.search is not None and beside:
        raise LamellaError(
            f"{beside[0]} does not go with --search",
            "Rows that are searched come by their score",
            "Choose among them with --where, or leave --search out",
        )
    if arguments.having is not None and arguments.group_by is None and arguments.agg is None:
        raise LamellaError("--having is of groups", fix="Add --group-by or --agg, or use --where")
    if arguments.sql is not None and (arguments.table or odd):
        raise LamellaError(
            f"SQL and {'--table' if arguments.table else odd[0]} were both given",
            fix="Put the condition into the SQL, or leave the SQL out and name a table: --table",
        )


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
