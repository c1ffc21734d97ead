"""SQL that people type, over named datasets: it reads them, within its limits, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import duckdb
import pyarrow as pa
import sqlglot

from lamella.core.errors import BadData, BadSql, shown
from lamella.core.jobs import Job
from lamella.core.query.decoded import Decodings
from lamella.core.query.engine import Confined, cursor, memory_limit
from lamella.core.query.found import files_of
from lamella.core.query.prepared import Prepared, prepared
from lamella.core.query.sql.answers import in_types
from lamella.core.query.sql.origins import kept_types
from lamella.core.query.sql.sources import Sources, When, snapshots_of
from lamella.core.query.sql.statement import Statement, known, parsed, quote_hint
from lamella.core.query.sql.views import make_view
from lamella.core.query.streamed import collected
from lamella.core.query.text_decimals import taken_for_number
from lamella.core.query.time_limit import limited
from lamella.core.scan.snapshot import Snapshot

Parameters = Sequence[Any] | Mapping[str, Any]
Bound = tuple[duckdb.DuckDBPyRelation, Sequence[pa.DataType | None]]
"""A statement, and the types that columns of its answer keep."""


@dataclass(frozen=True)
class Asked:
    """What belongs to a statement: values for its `?` or `$name`, the versions to read (one for all tables,
    or by name), the seconds and bytes it may take, and whether it may read files that it names."""

    parameters: Parameters | None = None
    as_of: When | Mapping[str, When] | None = None
    seconds: float | None = None
    memory: int | None = None
    files: bool = False


def run_sql(text: str, sources: Sources, asked: Asked = Asked(), job: Job | None = None) -> pa.Table:
    """The answer of one SELECT in DuckDB's dialect. Columns that are handed through keep their types.

    Raises `BadSql`, `UnknownTable`, `TookTooLong`, and `NoRoom` where it does not fit into memory.
    """
    with limited(job or Job(), asked.seconds, sources.place) as own_job:
        statement = known(text) or _parsed(text, sources, own_job)
        tables = snapshots_of(statement.tables, sources, asked.as_of, asked.files, own_job)
        confined, key = _confined(asked, sources, tables), _key(statement, tables, asked)
        with prepared(key, own_job, sources.place, confined) as own:
            try:
                return _answer(own, statement, tables, asked, own_job)
            except _TOLD_BY_CURSOR:
                raise
            except duckdb.PermissionException as error:
                raise _not_allowed(error) from error
            except duckdb.ParserException as error:
                hint = quote_hint(text, sources.names, own.cursor)
                raise BadSql("the statement cannot be read", str(error), hint) from error
            except duckdb.Error as error:
                raise BadSql("the statement failed", _REFUSED_WAYS.sub("", str(error))) from error


def _parsed(text: str, sources: Sources, job: Job) -> Statement:
    with cursor(job, sources.place) as reader:
        return parsed(text, sources.names, reader)


def _key(statement: Statement, tables: Mapping[str, Snapshot], asked: Asked) -> Hashable:
    """What is equal for statements that may use what one of them made; None for one that shares nothing.

    Copies of a store have equal tokens: what is confined to the same files is of one of them.
    """
    if asked.parameters is not None or asked.files or not statement.groups:
        return None
    return statement.text, *((view, told.name, told.token) for view, told in tables.items())


def _answer(
    own: Prepared[Bound],
    statement: Statement,
    tables: Mapping[str, Snapshot],
    asked: Asked,
    job: Job,
) -> pa.Table:
    _refuse_text_as_number(statement, tables)
    found, kinds = own.again() or _bound(own, statement, tables, asked, job)
    return in_types(collected(found, asked.memory or memory_limit(), job, _LESS), kinds)


def _bound(
    own: Prepared[Bound],
    statement: Statement,
    tables: Mapping[str, Snapshot],
    asked: Asked,
    job: Job,
) -> Bound:
    """Over views of the columns that are named, or else, to say what is wrong, of all."""
    reads: Decodings | None = None
    for view, snapshot in tables.items():
        job.check()
        reads = make_view(own, view, snapshot, statement, job)
    try:
        found = own.cursor.sql(statement.text, params=_values(asked.parameters))
        bound = found, kept_types(statement, tables, found.columns)
        return own.keep(bound, reads) if reads is not None else bound
    except RecursionError as error:
        raise BadSql("A value that was given is nested too deep", fix="Give flatter ones") from error
    except duckdb.BinderException:
        if statement.columns is None:
            raise
        return _bound(own, replace(statement, columns=None), tables, asked, job)


def _values(given: Parameters | None) -> Any:
    if given is None or isinstance(given, Mapping):
        return given
    if isinstance(given, (str, bytes)) or not isinstance(given, Sequence):
        raise BadData(
            f"parameters={shown(given)} are no values for a statement",
            fix="Give a list for ?, a dict for $name",
        )
    return list(given)


def _confined(asked: Asked, sources: Sources, tables: Mapping[str, Snapshot]) -> Confined:
    """Files of the sources' folders need not be listed, so that the same confinement serves the next time."""
    if asked.memory is not None and (
        not isinstance(asked.memory, int) or not _LEAST_MEMORY <= asked.memory <= _MOST_MEMORY
    ):
        few = "too little for any statement" if isinstance(asked.memory, int) else "no whole number of bytes"
        few = "more than any machine has" if few.startswith("too") and asked.memory > _MOST_MEMORY else few
        raise BadData(
            f"{sources.place}: memory={shown(asked.memory)} is {few}",
            fix=f"Give at least {_LEAST_MEMORY:,} bytes",
        )
    if asked.files:
        return Confined(None, (), asked.memory)
    paths = {str(file.path) for snapshot in tables.values() for file in files_of(snapshot)}
    outside = sorted(path for path in paths if not path.startswith(sources.folders))
    return Confined(sources.folders, tuple(outside), asked.memory)


def _not_allowed(error: Exception) -> BadSql:
    return BadSql(
        "the statement may not read that file",
        str(error).partition("\n")[0].removeprefix("Permission Error: ").partition(" - ")[0],
        "Statements read what was opened, and nothing else. Open the file and give it a name, or allow it:"
        " files=True",
    )


def _refuse_text_as_number(statement: Statement, tables: Mapping[str, Snapshot]) -> None:
    if not any(pa.types.is_decimal256(c.type) for snapshot in tables.values() for c in snapshot.columns):
        return
    try:
        tree = sqlglot.parse_one(statement.text, dialect="duckdb")
    except sqlglot.errors.SqlglotError as error:
        raise BadSql("the statement cannot be followed", str(error).splitlines()[0]) from error
    found = taken_for_number(tree, tables)
    if found is not None:
        table, column = found
        raise BadSql(
            f"column '{column}' of table '{table}' cannot be ordered, or compared with a number, in SQL",
            "It holds decimals of more than 38 digits, which are text there",
            "Compare it with = and all its digits in quotes, or ask read(where=, sort=)",
        )


_LESS = "Ask for fewer rows or columns (LIMIT, WHERE), or let it take more: memory="
_REFUSED_WAYS = re.compile(
    r",? or SET [a-z_]+=.*?(?=\.$|\.\s)|\s*Please try installing and loading.*", re.DOTALL
)
"""What the engine advises, and no statement may do."""
_LEAST_MEMORY = 8 << 20
_MOST_MEMORY = 2**62
_TOLD_BY_CURSOR = (
    duckdb.InterruptException, duckdb.OutOfMemoryException, duckdb.InternalException, duckdb.FatalException,
)  # fmt: skip
