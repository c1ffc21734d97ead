"""Converts SQL or JSON that a user pastes to a query. It is parsed, and nothing of it runs."""

from __future__ import annotations

import json
import re

from lamella.core.errors import BadQuery, BadSql, LamellaError
from lamella.core.jobs import Job
from lamella.core.query.builder import Query
from lamella.core.query.pipeline_sql import STEPS_NOTE, bare_statement
from lamella.core.query.sql.step import sql_step, tables_named
from lamella.core.query.sql_clauses import Find, steps_of
from lamella.core.query.steps import Pipeline

LONGEST_NOTE = 1_000_000
"""The maximum number of characters of the steps below a statement."""
_NOTE = re.compile(rf"\n{re.escape(STEPS_NOTE)}(\{{[^\n]*\}})\s*$")


def from_text(text: str, find: Find) -> Query:
    """The query in text that was copied as JSON or as SQL, or in a SELECT that a user wrote. `find` returns
    the dataset with a given name. Raises `BadQuery` or `BadSql` for anything else; nothing runs."""
    if isinstance(text, str) and text.lstrip().startswith("{"):
        try:
            saved = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise BadQuery("the text is not a query", f"It starts like JSON: {error}") from error
        return Query.of(saved, find)
    return from_sql(text, find)


def from_sql(text: str, find: Find) -> Query:
    """Convert a SELECT. Statements that `core.query.pipeline_sql` wrote become their steps again, and so do
    simple SELECTs; any other SELECT becomes one SQL step on the first dataset that it names.

    Raises `BadSql` for anything but one SELECT, and for one that does not fit the datasets; also
    `UnknownTable` and whatever else `find` raises.
    """
    if not isinstance(text, str):
        raise BadSql("a statement is text")
    noted = _from_note(text, find)
    if noted is not None:
        return noted
    text = _NOTE.sub("", text).strip().rstrip(";").rstrip()
    whole = _as_step(text, find)
    names, reading = whole.schema.names, steps_of(text, find)
    try:
        return reading if reading is not None and reading.schema.names == names else whole
    except LamellaError:
        return whole


def _from_note(text: str, find: Find) -> Query | None:
    """The steps below a statement, if they match it."""
    note = _NOTE.search(text)
    if note is None or len(note[1]) > LONGEST_NOTE:
        return None
    try:
        query = Query.of(json.loads(note[1]), find)
        if bare_statement(query.pipeline, query.sources, Job()).split() == text[: note.start()].split():
            return query
    except (LamellaError, ValueError, RecursionError):
        return None
    return None


def _as_step(text: str, find: Find) -> Query:
    tables = tables_named(text)
    if not tables:
        raise BadSql("the statement names no dataset", fix="Write SELECT … FROM and the name of a dataset")
    first = find(tables[0])
    step, sources = sql_step(text, tables[0], find)
    return Query({first.name: first, **sources}, Pipeline(first.name, (step,)))
