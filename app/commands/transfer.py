"""`lamella import` copies files into tables of a store, `lamella export` writes rows to a file of any format,
and `lamella make-data` writes a Parquet file of generated data."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from lamella.app.command_options import reading_of
from lamella.app.commands import OK, terminal
from lamella.app.commands.sources import Source, offering_options, open_source, table_of
from lamella.app.commands.table_reference import NOTATION, refuse_stores, split_target, take_table
from lamella.core.arrow.types import ID
from lamella.core.datasets import open_dataset
from lamella.core.datasets.base import Dataset, problems_of
from lamella.core.datasets.formats import tables_of
from lamella.core.errors import LamellaError, visible
from lamella.core.jobs import Job
from lamella.core.phrases import quantity
from lamella.core.query.builder import Query
from lamella.core.remote.spark_connect import is_server_address
from lamella.core.store.importing import BAD_LINES, import_datasets, import_into
from lamella.core.store.store import Store
from lamella.core.store.table import Table
from lamella.core.transfer.exporting import Export, ExportOptions, export, format_for
from lamella.core.transfer.formats import Format, all_options
from lamella.core.transfer.generate import make
from lamella.core.validation import path_of


def import_file(arguments: argparse.Namespace) -> int:
    refuse_stores(arguments.file, arguments.target)
    folder, name = split_target(arguments.target)
    path = path_of(folder, "the store")
    _refuse_impossible(arguments, name)
    with offering_options(), terminal.job() as job:
        sources = list(_sources(arguments, name, job))
        with store_for_import(path) as store:
            if arguments.mode == "new":
                _import_datasets(sources, store, name, job)
            else:
                (dataset,) = sources
                _import_into(dataset, store, str(name), arguments, job)
    return OK


def _import_datasets(datasets: Sequence[Dataset], store: Store, name: str | None, job: Job) -> None:
    tables, problems = import_datasets([(dataset, name) for dataset in datasets], store, job)
    for dataset, table in zip(datasets, tables, strict=True):
        rows = "1 row is" if table.num_rows == 1 else f"{table.num_rows:,} rows are"
        print(f"{rows} in table {table.name} of {store.path}")
        _print_remarks(dataset, table, store)
    for problem in problems:
        print(f"{problem}.", file=sys.stderr)


def _import_into(dataset: Dataset, store: Store, name: str, arguments: argparse.Namespace, job: Job) -> None:
    table = store[name]
    commit = import_into(dataset, table, arguments.mode, arguments.key, job)
    print(
        f"{commit.inserted:,} added, {commit.updated:,} changed: table {table.name} of {store.path}"
        f" has {quantity(table.num_rows, 'row')}"
    )
    _print_remarks(dataset, table, store)


def _print_remarks(dataset: Dataset, table: Table, store: Store) -> None:
    for remark in dataset.remarks:
        print(f"{remark}.", file=sys.stderr)
    if problems_of(dataset):
        print(f"They are in table {name_of_bad_lines(table.name, store)}.", file=sys.stderr)


def _refuse_impossible(arguments: argparse.Namespace, name: str | None) -> None:
    if arguments.mode != "new" and name is None:
        raise LamellaError(f"--mode {arguments.mode} needs the table that the rows go into", fix=NOTATION)
    if (arguments.mode == "upsert") != bool(arguments.key):
        raise LamellaError("--key and --mode upsert need each other", fix="Give both, or neither")
    if len(arguments.file) > 1 and name is not None and not arguments.as_one:
        raise LamellaError(
            f"{len(arguments.file):,} files cannot all become table '{name}'",
            fix="Give --as-one to put their rows into one table, or leave the name of the table out",
        )


def _sources(arguments: argparse.Namespace, name: str | None, job: Job) -> Iterator[Dataset]:
    if arguments.as_one:
        yield _open(arguments, [str(file) for file in arguments.file], None, job)
        return
    for file in arguments.file:
        for table in _tables(arguments, file, name):
            yield _open(arguments, file, table, job)


def _open(
    arguments: argparse.Namespace, file: Path | str | Sequence[str], table: str | None, job: Job
) -> Dataset:
    return open_dataset(file, checksums=arguments.checksums, table=table, job=job, **reading_of(arguments))


def _tables(arguments: argparse.Namespace, file: Path | str, target: str | None) -> list[str | None]:
    """The tables of a file to import: the one named, or all of a file that has several."""
    if arguments.table is not None or is_server_address(file):
        return [arguments.table]
    tables = [table.name for table in tables_of(file) if table.is_offered]
    if len(tables) > 1 and target is not None:
        raise LamellaError(
            f"{file} has {len(tables):,} tables",
            f"They cannot all become table '{target}'",
            "Choose one of them with --table, or leave the name of the target table out",
        )
    return [*tables] if len(tables) > 1 else [None]


def name_of_bad_lines(table: str, store: Store) -> str:
    """The newest table of bad lines beside that table."""
    beside = [name for name in store.tables if name.startswith(f"{table}{BAD_LINES}")]
    return max(beside, key=len)


@contextmanager
def store_for_import(path: Path) -> Iterator[Store]:
    """Open a store for writing. If it was created for an import that then fails, it is removed again."""
    new = not path.exists()
    try:
        with Store.open(path) as store:
            yield store
    except BaseException:
        if new and path.exists():
            shutil.rmtree(path)
        raise


def make_data(arguments: argparse.Namespace) -> int:
    with terminal.job() as job:
        make(arguments.kind, arguments.rows, arguments.out, job)
    rows = "1 row is" if arguments.rows == 1 else f"{arguments.rows:,} rows are"
    print(f"{rows} in {arguments.out}")
    return OK


NOT_OF_A_VIEW = ("where", "columns", "sort", "as_of")


def export_rows(arguments: argparse.Namespace) -> int:
    """Export rows. A summary goes to standard output, progress to standard error."""
    take_table(arguments, "source", "table")
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
        result = export(rows, arguments.target, options, job)
    print(_summary(result))
    return OK


def _rows(source: Source, arguments: argparse.Namespace) -> Dataset | Query:
    if arguments.view is not None:
        odd = [name for name in NOT_OF_A_VIEW if getattr(arguments, name) is not None]
        if odd or arguments.ids or arguments.table is not None:
            word = f"--{odd[0].replace('_', '-')}" if odd else "--ids" if arguments.ids else "a table"
            raise LamellaError(f"{word} cannot be combined with --view", fix="Remove one of them")
        return source.view(arguments.view)
    return table_of(source, arguments.table, arguments.as_of)


def _losses(rows: Dataset | Query, arguments: argparse.Namespace, options: ExportOptions) -> str:
    schema = rows.schema
    if options.columns is not None:
        schema = pa.schema([field for field in schema if field.name in options.columns])
    elif not options.include_ids:
        schema = pa.schema([field for field in schema if field.name != ID])
    format = format_for(Path(arguments.target), options.format, "partition_by" in options.values)
    format.values(options.values)
    return _losses_text(format, schema)


def _losses_text(format: Format, schema: pa.Schema) -> str:
    """One line for each loss."""
    lines = [f"{', '.join(map(visible, names))}: {text}" for names, text in format.losses_of(schema)]
    if format.always:
        lines.insert(0, format.always)
    return "\n".join(lines) or f"{format.label} loses nothing"


def _summary(result: Export) -> str:
    rows = "1 row is" if result.rows == 1 else f"{result.rows:,} rows are"
    files = quantity(result.files, "file")
    if result.versions is None:
        return f"{rows} in {result.path} ({files}, {result.bytes:,} bytes)"
    versions = "1 version was" if result.versions == 1 else f"{result.versions:,} versions were"
    newest = f"the newest with {quantity(result.rows, 'row')}"
    text = f"{versions} added to {result.path}, {newest} ({files}, {result.bytes:,} bytes)"
    return f"{text}; {result.expired:,} earlier ones have expired" if result.expired else text
