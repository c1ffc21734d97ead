"""`lamella query`: a statement in SQL answered, or rows found by a condition, words or steps, printed."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

import pyarrow as pa

from lamella.app.commands import terminal
from lamella.app.commands.query_aggregates import aggregates
from lamella.app.commands.query_profile import as_rows
from lamella.app.commands.query_source import Source, opened, parameters_of, version_of
from lamella.app.output import FORMATS
from lamella.core.dataset import Dataset
from lamella.core.errors import BadQuery, FileProblem, LamellaError
from lamella.core.jobs import Job
from lamella.core.query.asking import Asking
from lamella.core.store.rows_by_id import RowsById
from lamella.core.store.table import Table

OF_ROWS = ("where", "search", "group_by", "agg", "having", "sort", "columns", "limit", "offset")
OF_A_TABLE = (*OF_ROWS, "profile", "aggregate", "saved")
NOT_OF_A_SEARCH = ("group_by", "agg", "having", "sort", "explain")
OF_SQL = ("param", "seconds", "files", "write")
ALONE = {
    "profile": [name for name in OF_ROWS if name != "where"],
    "aggregate": OF_ROWS,
    "saved": (*OF_ROWS, "table", "as_of"),
}
"""What goes with nothing else, but for what is not listed."""
BEST = 20
"""So many rows of a search are printed unless a limit is given."""


def run(arguments: argparse.Namespace) -> int:
    _refuse(arguments)
    with terminal.job() as job, opened(arguments.source, arguments.write, arguments.checksums) as source:
        if arguments.explain:
            print(_asked(source, arguments).explain(job))
            return 0
        answer = _answer(source, arguments, job)
    FORMATS[arguments.format](answer, sys.stdout)
    sys.stdout.flush()
    return 0


def _answer(source: Source, arguments: argparse.Namespace, job: Job) -> pa.Table:
    if arguments.sql is not None:
        return source.sql(arguments.sql, parameters_of(arguments.param), arguments, job)
    if arguments.search is not None:
        return _searched(_table(source, arguments), arguments, job)
    if arguments.profile is not None:
        return as_rows(_table(source, arguments).profile(arguments.profile, arguments.where, job))
    return _asked(source, arguments).read(job)


def _searched(rows: Dataset, arguments: argparse.Namespace, job: Job) -> pa.Table:
    if not isinstance(rows, Table):
        raise LamellaError(
            f"{rows.name}: only the newest version of a store's table is searched by words",
            fix="Use --where: name contains 'word'",
        )
    limit = BEST if arguments.limit is None else arguments.limit
    return rows.search(
        arguments.search, arguments.columns, arguments.where, limit, arguments.offset or 0, job=job
    )


def _table(source: Source, arguments: argparse.Namespace) -> Dataset:
    rows = source.table(arguments.table)
    if arguments.as_of is None:
        return rows
    if not isinstance(rows, Table):
        raise LamellaError("--as-of is of stores", fix="Files in place have no earlier versions")
    earlier: RowsById = rows.as_of(version_of(arguments.as_of))
    return earlier


def _asked(source: Source, arguments: argparse.Namespace) -> Asking:
    if arguments.saved is not None:
        return Asking.of(_json(_text(arguments), str(arguments.saved)), source.table)
    rows = _table(source, arguments).where(arguments.where)
    if arguments.aggregate is not None:
        return rows.aggregate(_json(arguments.aggregate, "--aggregate"))
    if arguments.group_by is not None or arguments.agg is not None:
        made = aggregates(arguments.agg or [])
        rows = rows.group_by(*arguments.group_by or []).agg(**made)
        rows = rows if arguments.having is None else rows.having(arguments.having)
    if arguments.sort is not None:
        rows = rows.sort(*arguments.sort)
    if arguments.limit is not None or arguments.offset is not None:
        rows = rows.limit(arguments.limit, arguments.offset or 0)
    return rows if arguments.columns is None else rows.select(*arguments.columns)


def _text(arguments: argparse.Namespace) -> str:
    try:
        text: str = arguments.saved.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FileProblem(arguments.saved, "could not be read", str(error), "Check the path") from error
    return text


def _json(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise BadQuery(f"{what} is no JSON", str(error)) from error


def _refuse(arguments: argparse.Namespace) -> None:
    """What does not go together."""
    given = [name for name in (*OF_A_TABLE, "table") if getattr(arguments, name) is not None]
    of_sql = [name for name in OF_SQL if getattr(arguments, name)]
    if arguments.sql is None and of_sql:
        raise LamellaError(f"{_option(of_sql[0])} is of SQL", fix="Give a statement, or leave it out")
    if arguments.sql is None and not given and not arguments.explain:
        raise LamellaError("Nothing says what to ask", fix="Give a statement in SQL, or --table with --where")
    if arguments.sql is not None and arguments.explain:
        raise LamellaError(
            "--explain is of a table, not of SQL", fix="Write EXPLAIN before the statement, or --table"
        )
    if arguments.sql is not None and given:
        raise LamellaError(
            f"SQL and {_option(given[-1])} were both given",
            fix="Put the condition into the SQL, or leave the SQL out and name a table: --table",
        )
    _refuse_beside(arguments)


def _refuse_beside(arguments: argparse.Namespace) -> None:
    beside = [_option(name) for name in NOT_OF_A_SEARCH if getattr(arguments, name)]
    if arguments.search is not None and beside:
        raise LamellaError(
            f"{beside[0]} does not go with --search",
            "Rows that are searched come by their score",
            "Choose among them with --where, or leave --search out",
        )
    for name, others in ALONE.items():
        odd = [_option(other) for other in others if getattr(arguments, other) is not None]
        if getattr(arguments, name) is not None and odd:
            raise LamellaError(f"{odd[0]} does not go with --{name}", fix="Leave one of them out")
    if arguments.having is not None and arguments.group_by is None and arguments.agg is None:
        raise LamellaError("--having is of groups", fix="Add --group-by or --agg, or use --where")


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
