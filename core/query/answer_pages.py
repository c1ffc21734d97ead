"""Pages of an answer that follow each other: each begins behind the last row of the one before, by what the
rows are ordered by, so that nothing comes twice or is left out while rows change."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from typing import Any

import pyarrow as pa
from sqlglot import exp

from lamella.core.errors import BadData
from lamella.core.jobs import Job
from lamella.core.query.computing import computing
from lamella.core.query.nodes import Needed, Node, Order, Running
from lamella.core.query.pages import Page
from lamella.core.query.returned import returned
from lamella.core.query.source import OWN_NAMES
from lamella.core.query.sql_parts import alias, cast, column, every, number, paren, quoted

_QUERY, _UUIDS = b"query", b"uuids"
_AFTER = f"{OWN_NAMES}after"


def page(node: Node, asked: dict[str, Any], size: int, after: str | None, job: Job) -> Page:
    """`asked` is the query as JSON, so that a cursor of another one is refused."""
    told = hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()
    with computing(node.fields.place, job) as own:
        query = _ranked(node, Running(own, job))
        if after is not None:
            last = _parsed(after, told, node)
            own.register(_AFTER, last)
            query = query.join(_typed(last), join_type="cross").where(_behind(node.order))
        query = query.order_by(*(rank.sql for rank in node.order)).limit(number(size + 1))
        job.check()
        relation = own.sql(query.sql("duckdb"))
        uuids = [kind == "UUID" for kind in relation.types[len(node.fields.all) :]]
        found = relation.to_arrow_table()
    rows, ranks = found.slice(0, size), found.select(range(len(node.fields.all), found.num_columns))
    values = returned(rows.select(range(len(node.fields.all))), node.fields.schema)
    return Page(values, _written(ranks.slice(size - 1, 1), uuids, told) if found.num_rows > size else None)


def _ranked(node: Node, running: Running) -> exp.Select:
    """The columns of the answer, and those it is ordered by."""
    shown = [field.identifier for field in node.fields.all]
    ranks = [alias(column(rank.identifier), f"rank{n}") for n, rank in enumerate(node.order)]
    rows = node.source(Needed(shown) | node.ranked, running)
    return exp.select(*map(column, shown), *ranks).from_(rows)


def _behind(order: Order) -> exp.Expr:
    """Whether a row comes later than the one of the cursor: nulls are last, so nothing is later than null."""
    later: list[exp.Expr] = []
    for place, rank in enumerate(order):
        equal = [
            exp.NullSafeEQ(this=column(one.identifier), expression=column(f"rank{n}", _AFTER))
            for n, one in enumerate(order[:place])
        ]
        value, last = column(rank.identifier), column(f"rank{place}", _AFTER)
        compare = exp.LT if rank.descending else exp.GT
        further = exp.Or(
            this=compare(this=value, expression=last), expression=exp.Is(this=value, expression=exp.Null())
        )
        held = exp.Not(this=exp.Is(this=last, expression=exp.Null()))
        later.append(every([*equal, held, further]))
    return paren(exp.or_(*later)) if later else exp.false()


def _typed(row: pa.Table) -> exp.Subquery:
    """What the rows were ordered by, UUIDs as such again: DuckDB gives them away as text."""
    uuids = json.loads(row.schema.metadata[_UUIDS])
    values = [
        alias(cast(column(name), "UUID") if is_uuid else column(name), name)
        for name, is_uuid in zip(row.schema.names, uuids, strict=True)
    ]
    return exp.select(*values).from_(exp.Table(this=quoted(_AFTER))).subquery(_AFTER)


def _written(row: pa.Table, uuids: list[bool], told: str) -> str:
    sink = pa.BufferOutputStream()
    noted = {_QUERY: told, _UUIDS: json.dumps(uuids)}
    with pa.ipc.new_stream(sink, row.schema.with_metadata(noted)) as stream:
        stream.write_table(row)
    return base64.urlsafe_b64encode(sink.getvalue()).decode()


def _parsed(after: str, told: str, node: Node) -> pa.Table:
    try:
        with pa.ipc.open_stream(pa.py_buffer(base64.urlsafe_b64decode(after))) as stream:
            row = stream.read_all()
        of = row.schema.metadata[_QUERY].decode()
        json.loads(row.schema.metadata[_UUIDS])
    except (binascii.Error, ValueError, TypeError, KeyError, OSError, pa.ArrowException) as error:
        raise BadData(
            f"{node.fields.place}: {after!r} is no cursor", fix="Give what the page before has as `next`"
        ) from error
    if of != told:
        raise BadData(
            f"{node.fields.place}: the cursor is of another query", fix="Begin again without a cursor"
        )
    return row
