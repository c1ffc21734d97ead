"""`lamella compare`: print, export or apply the differences between two tables, files or versions."""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa

from lamella.app.commands import BUG, OK, terminal
from lamella.app.commands.query import FORMATS
from lamella.app.commands.sources import open_source, table_of
from lamella.app.commands.table_reference import split_reference
from lamella.core.datasets.base import Dataset
from lamella.core.errors import LamellaError
from lamella.core.jobs import Job
from lamella.core.phrases import quantity
from lamella.core.query.comparison import ComparedRows, Comparison, compare, read_differences
from lamella.core.query.comparison.difference_table import difference_schema, difference_tables
from lamella.core.query.comparison.rows import DIFFERENT
from lamella.core.store.applying import Kinds, apply_comparison
from lamella.core.store.paths import is_store
from lamella.core.store.store import Store
from lamella.core.store.table import Table
from lamella.core.transfer.exporting import Destination, Export
from lamella.core.transfer.writer import Rows

DIFFERENCES_FOUND = BUG
"""The exit code with --exit-code, as of `diff`."""


def run(arguments: argparse.Namespace) -> int:
    if arguments.delete and not arguments.apply:
        raise LamellaError("--delete needs --apply", fix="Add --apply, or leave --delete out")
    with terminal.job() as job, ExitStack() as opened:
        before = _side(arguments.before, opened, write=arguments.apply and not arguments.preview)
        after = before if arguments.after == arguments.before else _side(arguments.after, opened)
        comparison = compare(
            before,
            after,
            [] if arguments.by_order else arguments.key,
            columns=arguments.columns,
            tolerance=arguments.tolerance,
            ignore_case=arguments.ignore_case,
            ignore_space=arguments.ignore_space,
            job=job,
        )
        _tell(comparison, arguments, job)
        if arguments.out is not None:
            print(_export(comparison, arguments, job))
        if arguments.apply:
            print(_apply(comparison, before, arguments, job))
    return DIFFERENCES_FOUND if comparison and arguments.exit_code else OK


def _side(word: str, opened: ExitStack, write: bool = False) -> Dataset:
    """Open one side: FILE, FILE:TABLE, STORE:TABLE or STORE:TABLE@VERSION, or STORE if it has one table."""
    whole, _, version = word.rpartition("@")
    for text, parts in ((whole, version), (word, None)):
        place, table = split_reference(text)
        if table is not None or (place and is_store(Path(place))):
            return table_of(opened.enter_context(open_source(place, write=write)), table, parts)
    return opened.enter_context(open_source(word)).table(None)


def _tell(comparison: Comparison, arguments: argparse.Namespace, job: Job) -> None:
    if arguments.format == "summary":
        print(comparison)
        return
    table = read_differences(comparison, arguments.limit, job)
    FORMATS[arguments.format](table, sys.stdout if arguments.format == "table" else terminal.data_output())


def _export(comparison: Comparison, arguments: argparse.Namespace, job: Job) -> str:
    rows, schema = ComparedRows(comparison, DIFFERENT), difference_schema(comparison)
    plain = pa.schema([field.remove_metadata() for field in schema])
    tables = (table.cast(plain) for table in difference_tables(rows, job))
    destination = Destination.of(arguments.out, overwrite=arguments.overwrite)
    export: Export = destination.write(Rows(plain, tables, rows.num_rows, "differences"), job)
    return f"wrote {quantity(export.rows, 'row')} to {export.path}"


def _apply(comparison: Comparison, table: Dataset, arguments: argparse.Namespace, job: Job) -> str:
    if not isinstance(table, Table) or not isinstance(table.store, Store):
        raise LamellaError(
            f"{arguments.before}: differences cannot be applied to it",
            "Only the newest version of a store's table can be changed",
            "Give such a table as BEFORE: STORE:TABLE",
        )
    kinds = Kinds(removed=arguments.delete)
    counts = zip(kinds.counts(comparison), ("added", "changed", "deleted"), strict=True)
    words = ", ".join(f"{quantity(count, 'row')} {word}" for count, word in counts if count)
    if arguments.preview:
        return f"would be applied to {table.name}: {words or 'nothing'}"
    apply_comparison(comparison, table, kinds, job=job)
    return f"applied to {table.name}: {words or 'nothing'}"
