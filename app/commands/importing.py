"""`lamella import`: a file becomes a table of a store; `lamella make-data`: a Parquet file to try."""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lamella.app.commands import OK, terminal
from lamella.app.commands.query import ignoring_checksums
from lamella.core.datasets import open_dataset
from lamella.core.datasets.base import Dataset
from lamella.core.datasets.formats import tables_of
from lamella.core.datasets.text.delimited import RaggedRow
from lamella.core.errors import DamagedFile, LamellaError
from lamella.core.jobs import Job
from lamella.core.store.importing import import_dataset
from lamella.core.store.store import Store
from lamella.core.transfer.generate import make
from lamella.core.validation import path_of


def run(arguments: argparse.Namespace) -> int:
    folder, name = split_target(arguments.target)
    path = path_of(folder, "the store")
    with _offering_options(), terminal.job() as job:
        datasets = [_opened(arguments, table, job) for table in _wanted(arguments, name)]
        with store_for_import(path) as store:
            for dataset in datasets:
                table = import_dataset(dataset, store, name, job)
                rows = "1 row is" if table.num_rows == 1 else f"{table.num_rows:,} rows are"
                print(f"{rows} in table {table.name} of {store.path}")
                for remark in dataset.remarks:
                    print(f"{remark}.", file=sys.stderr)
    return OK


def _opened(arguments: argparse.Namespace, table: str | None, job: Job) -> Dataset:
    return open_dataset(
        arguments.file,
        ragged=arguments.ragged,
        text_columns=arguments.text_columns,
        checksums=arguments.checksums,
        table=table,
        job=job,
    )


def _wanted(arguments: argparse.Namespace, target: str | None) -> list[str | None]:
    """The table of a file that is named, or all of a file that holds several."""
    if arguments.table is not None:
        return [arguments.table]
    tables = [table.name for table in tables_of(arguments.file) if table.is_offered]
    if len(tables) > 1 and target is not None:
        raise LamellaError(
            f"{arguments.file} holds {len(tables):,} tables",
            f"They cannot all become table '{target}'",
            "Name one of them with --table, or leave the table of the store out",
        )
    return [*tables] if len(tables) > 1 else [None]


@contextmanager
def _offering_options() -> Iterator[None]:
    try:
        yield
    except RaggedRow as problem:
        if not problem.paddable:
            raise
        raise LamellaError(problem.what, problem.why, f"{problem.fix}: --ragged pad") from problem
    except DamagedFile as problem:
        raise ignoring_checksums(problem) from problem


@contextmanager
def store_for_import(path: Path) -> Iterator[Store]:
    """The store, open for writing; one that was made for an import which then fails is taken away again."""
    new = not path.exists()
    try:
        with Store.open(path) as store:
            yield store
    except BaseException:
        if new and path.exists():
            shutil.rmtree(path)
        raise


def split_target(target: str) -> tuple[str, str | None]:
    r"""`STORE:TABLE` in two; a drive such as `C:\data` is no table."""
    if target.startswith(":") or not target.strip():
        raise LamellaError(f"'{target}' names no store", fix="Write STORE or STORE:TABLE; STORE is a folder")
    if target.endswith(":"):
        raise LamellaError(
            f"'{target}' names no table", fix="Write it after the colon, or leave the colon out"
        )
    match = re.fullmatch(r"(.{2,}|[^A-Za-z]):([^:/\\]+)", target)
    return (match[1], match[2]) if match else (target, None)


def make_data(arguments: argparse.Namespace) -> int:
    with terminal.job() as job:
        make(arguments.kind, arguments.rows, arguments.out, job)
    rows = "1 row is" if arguments.rows == 1 else f"{arguments.rows:,} rows are"
    print(f"{rows} in {arguments.out}")
    return OK
