"""What is to be raced of a table, as a workload that is plain data: it can be kept, and asked again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
from pyarrow import types as is_

from lamella.core.bench.mine.costs import costs_by_system
from lamella.core.bench.mine.sources import Source
from lamella.core.bench.mine.types import compared_type
from lamella.core.bench.workloads import Workload, workload_given
from lamella.core.bench.workloads.mine import PREFIX
from lamella.core.dataset import Dataset
from lamella.core.errors import LamellaError, UnknownColumn
from lamella.core.filters import Filter, bind, from_json, sentence, to_json, to_text
from lamella.core.filters.walk import columns_read
from lamella.core.jobs import Job
from lamella.core.nested import place_of
from lamella.core.schema import ID

TEXT = "raced"
SAMPLE_ROWS = 1000
LONGEST_WORDS = 60


def mine(
    dataset: Dataset,
    source: Source,
    columns: Sequence[str] | None = None,
    where: Filter | None = None,
    job: Job | None = None,
) -> Workload:
    """A race on all rows of `dataset`, which `source` opens again when the race is run.

    Columns that the filter asks for come along, and those whose values cannot be compared stay out. Its
    option `left_out` names these, `columns` what is raced. Reads a sample of the rows, and counts them.
    Raises BadFilter, UnknownColumn, and LamellaError where nothing is left to race."""
    rows, schema = dataset.count(job=job), dataset.schema
    chosen = _chosen(dataset.name, schema, columns, where)
    raced = [name for name in chosen if compared_type(schema.field(name).type) is not None]
    _refuse_nothing(dataset.name, rows, raced)
    asked = _asked_columns(schema, where)
    column = changing_column(schema, raced, asked)
    options = {
        "source": source.options,
        "name": dataset.name,
        "columns": raced,
        "left_out": [name for name in chosen if name not in raced],
        "where": None if where is None else to_json(where),
        "rows": rows,
        "column": column,
        "is_text": bool(column) and compared_type(schema.field(column).type) == pa.string(),
        "costs": costs_by_system(dataset.read(columns=raced, limit=SAMPLE_ROWS, job=job)),
    }
    options["title"] = _title(dataset.name, where)
    options["about"] = f"{dataset.name}: {what(options)}."
    return workload_given(identity(options), None, options)


def identity(options: dict[str, Any]) -> str:
    """Only races of the same table, columns and filter share one, and are compared with each other."""
    told_apart = json.dumps([options[name] for name in ("source", "columns", "where")])
    return f"{PREFIX}:{options['name']}-{hashlib.sha256(told_apart.encode()).hexdigest()[:8]}"


def words_of(workload: Workload) -> tuple[str, ...]:
    """How the command line names it."""
    options = workload.options
    where = ("--where", to_text(from_json(options["where"]))) if options["where"] else ()
    return (*Source.of(options["source"]).words, *where, "--columns", ",".join(options["columns"]))


def what(options: dict[str, Any]) -> str:
    """ "3 columns, where delay is more than 60; the update adds 1 to distance" """
    count = len(options["columns"])
    told = f"{count:,} column" + ("" if count == 1 else "s")
    if options["where"]:
        told += f", where {sentence(from_json(options['where']))}"
    return told + f"; {change_words(options)}"


def _title(name: str, where: Filter | None) -> str:
    """ "flights where delay is more than 60", cut where it is long."""
    if where is None:
        return name
    words = sentence(where)
    return f"{name} where {words if len(words) <= LONGEST_WORDS else words[:LONGEST_WORDS] + '…'}"


def change_words(options: dict[str, Any]) -> str:
    if not options["column"]:
        return "nothing is updated, for no column holds whole numbers, floats or text"
    rows = "every row that matches" if options["where"] else "every row"
    does = f"sets {options['column']} to “{TEXT}”" if options["is_text"] else f"adds 1 to {options['column']}"
    return f"the update {does} in {rows}"


def changing_column(schema: pa.Schema, raced: Sequence[str], asked: Iterable[str]) -> str:
    """The first column of numbers that the filter does not ask for, or else of text; then those it asks for.
    Small and unsigned integers stay as they are: one more may be too much for them."""
    outside = [name for name in raced if name not in set(asked)]
    kinds = {name: compared_type(schema.field(name).type) for name in raced}
    for names in (outside, raced):
        for fits in (_counts, is_.is_string):
            for name in names:
                if fits(kinds[name]):
                    return name
    return ""


def _counts(kind: pa.DataType) -> bool:
    return kind in (pa.int32(), pa.int64(), pa.float64())


def _chosen(name: str, schema: pa.Schema, columns: Sequence[str] | None, where: Filter | None) -> list[str]:
    """In the table's order. Its own `_id` is no column of the user's."""
    wanted = set(schema.names) if columns is None else set(columns)
    for column in columns or ():
        if column not in schema.names:
            raise UnknownColumn(column, name, schema.names)
    if where is not None:
        bind(where, schema, name)
        wanted |= set(_asked_columns(schema, where))
    return [column for column in schema.names if column in wanted and column != ID]


def _asked_columns(schema: pa.Schema, where: Filter | None) -> list[str]:
    types = dict(zip(schema.names, schema.types, strict=True))
    places = [place_of(path, types) for path in columns_read(where)] if where is not None else []
    return [place.column for place in places if place is not None]


def _refuse_nothing(name: str, rows: int, raced: Sequence[str]) -> None:
    if not raced:
        raise LamellaError(
            f"{name}: there is no column to race", fix="Choose columns of numbers, text or times"
        )
    if not rows:
        raise LamellaError(f"{name}: there are no rows to race", fix="Open a table that has some")
