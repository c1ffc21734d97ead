"""`lamella export`: rows of a table, or of files in place, as a file of any format there is."""

from __future__ import annotations

import argparse

import pyarrow as pa

from lamella.app.commands import OK, terminal
from lamella.app.commands.query import Source, open_source, version_of
from lamella.core.arrow.types import ID
from lamella.core.datasets.base import Dataset
from lamella.core.errors import LamellaError, visible
from lamella.core.query.builder import Query
from lamella.core.store.table import Table
from lamella.core.transfer.exporting import Export, ExportOptions, export, format_for
from lamella.core.transfer.formats import Format, all_options
from lamella.core.validation import path_of

NOT_OF_A_VIEW = ("where", "columns", "sort", "as_of")


def run(arguments: argparse.Namespace) -> int:
    """What was exported is said on standard output, progress on standard error."""
    values = {
        name: getattr(arguments, name) for name in all_options() if getattr(arguments, name) is not None
    }
    options = ExportOptions(
        format=arguments.format,
        columns=arguments.columns,
        where=arguments.where,
        sort=arguments.sort,
        include_ids=arguments.ids,
        overwrite=arguments.overwrite,
        values=values,
    )
    with terminal.job() as job, open_source(arguments.source, checksums=arguments.checksums) as source:
        rows = _rows(source, arguments)
        if arguments.losses:
            print(_losses(rows, arguments, options))
            return OK
        done = export(rows, arguments.target, options, job)
    print(_summary(done))
    return OK


def _rows(source: Source, arguments: argparse.Namespace) -> Dataset | Query:
    if arguments.view is not None:
        odd = [name for name in NOT_OF_A_VIEW if getattr(arguments, name) is not None]
        if odd or arguments.ids or arguments.table is not None:
            word = f"--{odd[0].replace('_', '-')}" if odd else "--ids" if arguments.ids else "a table"
            raise LamellaError(f"{word} does not go with --view", fix="Leave one of them out")
        return source.view(arguments.view)
    rows = source.table(arguments.table)
    if arguments.as_of is None:
        return rows
    if not isinstance(rows, Table):
        raise LamellaError("--as-of is of stores", fix="Files in place have no earlier versions")
    return rows.as_of(version_of(arguments.as_of))  # type: ignore[arg-type]


def _losses(rows: Dataset | Query, arguments: argparse.Namespace, options: ExportOptions) -> str:
    schema = rows.schema
    if options.columns is not None:
        schema = pa.schema([field for field in schema if field.name in options.columns])
    elif not options.include_ids:
        schema = pa.schema([field for field in schema if field.name != ID])
    known = format_for(
        path_of(arguments.target, "the export"), options.format, "partition_by" in options.values
    )
    known.values(options.values)
    return losses_text(known, schema)


def losses_text(known: Format, schema: pa.Schema) -> str:
    """A line for each thing that does not come back."""
    lines = [f"{', '.join(map(visible, names))}: {text}" for names, text in known.losses_of(schema)]
    if known.always:
        lines.insert(0, known.always)
    return "\n".join(lines) or f"{known.label} keeps all of it"


def _summary(done: Export) -> str:
    rows = "1 row is" if done.rows == 1 else f"{done.rows:,} rows are"
    files = "1 file" if done.files == 1 else f"{done.files:,} files"
    return f"{rows} in {done.path} ({files}, {done.bytes:,} bytes)"
