"""Imports a file or an open dataset as a table of a store: as a whole, or not at all."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal, TypeVar, cast, get_args

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import from_values
from lamella.core.arrow.types import ID, wider_type
from lamella.core.datasets import open_dataset
from lamella.core.datasets.base import Checksums, Dataset, Problem, RaggedRows, problems_of
from lamella.core.datasets.blocks import TypesWidened
from lamella.core.datasets.cached_dataset import CachedDataset
from lamella.core.datasets.formats import foreign_keys_of, tables_of
from lamella.core.datasets.tables import ForeignKey
from lamella.core.datasets.text.conversions import as_texts
from lamella.core.datasets.text.regional import SpelledType
from lamella.core.errors import BadData, LamellaError, TypeConflict, UnknownColumn, short_text
from lamella.core.jobs import Job, SilentJob
from lamella.core.phrases import quantity
from lamella.core.store.changes import fit_to_columns, refuse_keys
from lamella.core.store.commit import Commit
from lamella.core.store.partial_values import rows_at
from lamella.core.store.row_lookup import firsts_of_keys, matches
from lamella.core.store.salvage import Salvage
from lamella.core.store.store import Store
from lamella.core.store.table import Table
from lamella.core.store.writer import refuse_ids
from lamella.core.validation import control_character

Result = TypeVar("Result")
READABLE = "_readable"
"""The suffix of the name of a table of readable rows."""


class ImportProgress:
    """Reports the progress of reading; the total is in the source's own unit, bytes or rows."""

    def __init__(self, job: Job, total: int) -> None:
        self._job, self._total = job, total
        self._start_time = time.perf_counter()

    def report(self, rows: int, position: int) -> None:
        """Raises `Cancelled` when the import should stop."""
        seconds = max(time.perf_counter() - self._start_time, 0.001)
        self._job.report(
            min(position, self._total), self._total, f"{rows:,} rows · {rows / seconds:,.0f} rows/s"
        )


Batches = Generator[pa.RecordBatch, None, None]


def import_file(
    path: str | Path,
    store: Store,
    table_name: str | None = None,
    job: Job | None = None,
    *,
    ragged: RaggedRows = "refuse",
    text_columns: Sequence[str] = (),
    checksums: Checksums = "verify",
    **reading: Any,
) -> Table:
    """Import a file, folder or glob as a new table, named after the file if no name is given.

    `ragged`, `text_columns`, `checksums` and `reading` are options of `open_dataset`. Lines that
    `bad_lines="set-aside"` leaves out, and values that do not fit a chosen type, become rows of a second
    table, with `_bad_lines` after its name. A cancelled or failed import leaves nothing behind. Raises
    `FileProblem`, `StoreProblem`, `UnknownColumn`, `Cancelled`.
    """
    dataset = open_dataset(
        path, ragged=ragged, text_columns=text_columns, checksums=checksums, job=job, **reading
    )
    return import_dataset(dataset, store, table_name, job)


def import_dataset(
    dataset: Dataset,
    store: Store,
    name: str | None = None,
    job: Job | None = None,
    columns: Mapping[str, str] | None = None,
) -> Table:
    """Import all rows of an open dataset as a new table, reading cached data from its file. Lines and values
    that cannot be read become a second table. `columns` maps the columns to import to their names in the
    table."""
    return _import_dataset(dataset, store, name, job, columns)[0]


def import_datasets(
    sources: Iterable[tuple[Dataset, str | None]], store: Store, job: Job | None = None
) -> tuple[list[Table], list[str]]:
    """Import each dataset as a new table with that name, or a free one for None, and declare foreign keys
    between imported tables of a database as relations. All of it, or nothing if one fails or is cancelled.
    Returns the tables, and sentences about foreign keys that could not be declared."""
    imports: list[list[Table]] = []
    keys: dict[Path, list[ForeignKey]] = {}
    names: dict[Path, dict[str, str]] = {}
    try:
        for dataset, name in sources:
            paths: Sequence[Path] = getattr(dataset, "paths", ())
            if len(paths) == 1 and paths[0] not in keys:
                keys[paths[0]] = foreign_keys_of(paths[0])
            imports.append(_import_dataset(dataset, store, name, job))
            if len(paths) == 1:
                names.setdefault(paths[0], {})[dataset.name] = imports[-1][0].name
        notes = [text for path in names for text in _declare_relations(store, keys[path], names[path])]
    except BaseException:
        for table in chain.from_iterable(imports):
            store.drop_table(table.name)
        raise
    return [tables[0] for tables in imports], notes


def _import_dataset(
    dataset: Dataset,
    store: Store,
    name: str | None,
    job: Job | None,
    columns: Mapping[str, str] | None = None,
) -> list[Table]:
    """Import a dataset; return the table, and the table of unreadable lines if there is one."""
    name = name or free_table_name(dataset.name, store.tables)
    job = job or Job()
    opened, names = dataset.schema.names, _column_names(dataset, columns)

    def create(schema: pa.Schema, rows: Batches) -> Table:
        with _rename_columns(schema, rows, opened, names) as reader:
            return store.create_table(name, reader, job=SilentJob(job))

    table = _with_rows(dataset, create, job)
    if not problems_of(dataset):
        return [table]
    try:
        return [table, keep_bad_lines(dataset, store, name)]
    except BaseException:
        store.drop_table(table.name)
        raise


@dataclass(frozen=True)
class ImportPlan:
    """What importing into an existing table will do. `missing_columns` have no default. `num_matched` is the
    number of its rows that an upsert changes; `twice` is the number of keys that several of the new rows
    share, for which it is refused."""

    mode: Mode
    coming: int
    existing: int
    new_columns: tuple[str, ...]
    missing_columns: tuple[str, ...]
    num_matched: int = 0
    new_rows: int = 0
    twice: int = 0

    def __str__(self) -> str:
        """Describe the plan in sentences for the user."""
        sentences = [self._rows()]
        if self.new_columns:
            sentences.append(f"New: {_columns(self.new_columns)}, null in existing rows.")
        if self.missing_columns and self.mode != "upsert":
            sentences.append(f"Null in new rows: {_columns(self.missing_columns)}.")
        return " ".join(sentences)

    def _rows(self) -> str:
        if self.mode == "append":
            return f"Adds {quantity(self.coming, 'row')} to the existing {self.existing:,}."
        if self.mode == "replace":
            rows = quantity(self.existing, "row")
            return f"Deletes all {rows} and adds {self.coming:,}; undo brings them back."
        if self.twice:
            keys = "1 key occurs" if self.twice == 1 else f"{self.twice:,} keys occur"
            return f"{keys} in more than one row of the file: choose another key."
        rows = quantity(self.num_matched, "row")
        return f"Changes {rows} and adds {self.new_rows:,}; the others stay as they are."


Mode = Literal["append", "replace", "upsert"]


def _columns(names: Sequence[str]) -> str:
    listing = ", ".join(names[:MOST_NAMES])
    more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
    return f"{'column' if len(names) == 1 else 'columns'} {listing}{more}"


def plan_import(
    dataset: Dataset,
    table: Table,
    mode: Mode,
    key: Sequence[str] = (),
    job: Job | None = None,
    columns: Mapping[str, str] | None = None,
) -> ImportPlan:
    """Plan what `import_into` with the same arguments will do; nothing changes. Reads a text file to count
    its rows, and reads the columns of `key`. Raises as `import_into` does."""
    job = job or Job()
    names = _column_names(dataset, columns)
    refuse_bad_target(dataset, table, mode, key, names)
    known_names = [name for name in table.schema.names if name != ID]
    coming = dataset.count(job=job)
    _refuse_other_types(dataset, table, names)
    plan = ImportPlan(
        mode,
        coming,
        table.num_rows,
        tuple(name for name in names.values() if name not in known_names),
        tuple(
            name for name in known_names if name not in names.values() and table.columns.default(name) is None
        ),
    )
    if mode != "upsert":
        return plan
    sources = {name: source for source, name in names.items()}
    keys = dataset.read([sources[name] for name in key], job=job).rename_columns([*key])
    times = np.bincount(firsts_of_keys(table.name, keys))
    state = table._state()
    _plan, fit = fit_to_columns(state, rows_at(keys, np.flatnonzero(times)), lambda _: 0)
    pairs = matches(state, fit)
    twice = int(np.count_nonzero(times > 1))
    return replace(plan, num_matched=len(pairs.ids), new_rows=len(pairs.unknown), twice=twice)


def import_into(
    dataset: Dataset,
    table: Table,
    mode: Mode = "append",
    key: Sequence[str] = (),
    job: Job | None = None,
    columns: Mapping[str, str] | None = None,
) -> Commit:
    """Import the rows of a dataset into an existing table: add them ("append"), replace all rows by them
    ("replace"), or change the rows that have the same values in the columns of `key` and add the others
    ("upsert"). This is one step that can be undone; lines and values that cannot be read become a second
    table.

    Raises `BadData` for an upsert without a key or with one that several rows share, `UnknownColumn`, and
    what reading and committing raise; nothing changes then.
    """
    job = job or Job()
    opened, names = dataset.schema.names, _column_names(dataset, columns)
    refuse_bad_target(dataset, table, mode, key, names)
    message, store = f"{mode} {dataset.name}", cast("Store", table.store)
    with ExitStack() as around_commit:

        def before_commit() -> None:
            """Run once all rows are read, just before the commit, so that the store's lock is held only for
            the commit."""
            around_commit.enter_context(_bad_lines_beside(dataset, store, table.name))
            if mode == "replace":
                around_commit.enter_context(store.transaction(message))
                table.delete(where=f"{ID} >= 0", message=message, job=SilentJob(job))

        def commit(schema: pa.Schema, rows: Batches) -> Commit:
            with _rename_columns(schema, _call_at_end(before_commit, rows), opened, names) as reader:
                if mode == "upsert":
                    return table.upsert(reader.read_all(), list(key), message=message, job=SilentJob(job))
                return table.insert(reader, message, SilentJob(job))

        return _with_rows(dataset, commit, job)


def _call_at_end(act: Callable[[], None], rows: Batches) -> Batches:
    with closing(rows):
        yield from rows
    act()


@contextmanager
def _bad_lines_beside(dataset: Dataset, store: Store, name: str) -> Iterator[None]:
    """Create the table of unreadable lines, if there are any, and drop it if the block fails. It is not part
    of the block's transaction: even if that table is dropped, the import can be undone."""
    beside = keep_bad_lines(dataset, store, name) if problems_of(dataset) else None
    try:
        yield
    except BaseException:
        if beside is not None:
            store.drop_table(beside.name)
        raise


def _refuse_other_types(dataset: Dataset, table: Table, names: Mapping[str, str]) -> None:
    """Raise `TypeConflict` where a column of the table cannot take the dataset's type, such as numbers in a
    column of text."""
    for source, name in names.items():
        if name not in table.schema.names:
            continue
        have, coming = table.schema.field(name).type, dataset.schema.field(source).type
        if wider_type(have, coming) is None:
            raise TypeConflict(
                f"{table.name}: column '{name}' is {have} and cannot take {coming} values of '{source}'",
                fix=f"Read '{source}' as {have}, or leave it out",
            )


def refuse_bad_target(
    dataset: Dataset, table: Table, mode: str, key: Sequence[str], names: Mapping[str, str]
) -> None:
    if mode not in get_args(Mode):
        raise BadData(
            f"{table.name}: mode cannot be {short_text(mode)}", fix="Give 'append', 'replace' or 'upsert'"
        )
    if mode == "upsert" and not key:
        raise BadData(f"{table.name}: an upsert needs a key", fix="Name the columns that identify rows")
    if mode == "upsert":
        refuse_keys(table.name, key)
    refuse_ids(table.name, pa.schema([pa.field(name, pa.null()) for name in names.values()]))
    for name in key:
        if name not in table.schema.names:
            raise UnknownColumn(name, table.name, table.schema.names)
        if name not in names.values():
            raise UnknownColumn(name, dataset.name, list(names.values()))


def _column_names(dataset: Dataset, columns: Mapping[str, str] | None) -> dict[str, str]:
    """The columns of a dataset to import, and their names in the table."""
    names = dataset.schema.names
    if columns is None:
        return dict(zip(names, table_columns(names), strict=True))
    for name in columns:
        if name not in names:
            raise UnknownColumn(name, dataset.name, names)
    return {name: columns[name] for name in names if name in columns}


def import_tables(
    path: str | Path,
    store: Store,
    tables: Sequence[str] | None = None,
    job: Job | None = None,
    **reading: Any,
) -> tuple[list[Table], list[str]]:
    """Import tables of a database or sheets of a workbook, by default all that are not hidden, with the
    relations that its foreign keys declare. Returns the tables, and sentences about foreign keys that could
    not be declared.

    All tables are created, or none if one fails or the import is cancelled.
    """
    names = [entry.name for entry in tables_of(path) if entry.is_offered] if tables is None else [*tables]
    opened = (open_dataset(path, table=name, job=job, **reading) for name in names)
    sources = (
        (dataset, free_table_name(name, store.tables)) for name, dataset in zip(names, opened, strict=True)
    )
    return import_datasets(sources, store, job)


def _declare_relations(store: Store, keys: Sequence[ForeignKey], names: Mapping[str, str]) -> list[str]:
    """Declare the foreign keys of a file as relations between the imported tables. Returns sentences about
    those that cannot be declared because their values are never equal."""
    notes = []
    for key in keys:
        if key.table not in names or key.to_table not in names:
            continue
        source = [f"{names[key.table]}.{column}" for column in key.columns]
        target = [f"{names[key.to_table]}.{column}" for column in key.to_columns]
        try:
            store.relations.declare(source, target)
        except LamellaError as problem:
            notes.append(f"{', '.join(source)} → {', '.join(target)} cannot be a relation: {problem.what}")
    return notes


def read_column_as(table: Table, name: str, kind: SpelledType, job: Job | None = None) -> Commit:
    """Change a column of text to another type, parsing values in the given notation; what does not parse
    becomes null. This is one step that can be undone."""
    job = job or Job()
    message = f"read {name} as {kind.storage_type}"

    def plain(rows: pa.Table) -> dict[str, Any]:
        texts = rows.column(name).combine_chunks()
        return {name: as_texts(texts.cast(pa.string()), kind)}

    with table.store.transaction(message):
        table.transform(plain, [name], message=message, job=SilentJob(job))
        return table.columns.cast(
            name, kind.storage_type, on_error="null", message=message, job=SilentJob(job)
        )


Taker = Callable[[pa.Schema, "Batches"], Result]


def _with_rows(dataset: Dataset, take: Taker[Result], job: Job) -> Result:
    """Pass all rows to `take` and return its result; start over if the rows turn out to need wider types."""
    if not isinstance(dataset, CachedDataset) or dataset.snapshot().complete:
        return take(dataset.schema, _kept_rows(dataset, job))
    while True:
        progress = ImportProgress(job, dataset.file.size)
        rows = dataset.rows_once(job, progress.report)
        try:
            return take(dataset.reading_schema, rows)
        except TypesWidened:  # values deep in the file need wider types, which the dataset now knows
            continue


def keep_bad_lines(dataset: Dataset, store: Store, name: str) -> Table:
    """Create a table of the lines and values of a dataset that could not be read, named after table
    `name`."""
    beside = free_table_name(f"{name}{BAD_LINES}", store.tables)
    return store.create_table(
        beside, problem_rows(problems_of(dataset)), f"unreadable lines of {dataset.name}"
    )


def problem_rows(problems: Sequence[Problem]) -> pa.Table:
    columns = {
        "file": from_values([problem.file or None for problem in problems], pa.string()),
        "line": from_values([problem.line for problem in problems], pa.int64()),
        "column": from_values([problem.column or None for problem in problems], pa.string()),
        "text": from_values([problem.text for problem in problems], pa.string()),
        "reason": from_values([problem.why for problem in problems], pa.string()),
    }
    if not any(problem.file for problem in problems):
        del columns["file"]
    return pa.table(columns)


MOST_NAMES = 6
BAD_LINES = "_bad_lines"
"""The suffix of the name of a table of unreadable lines."""


def free_name(proposal: str, names: list[str]) -> str:
    """Return `proposal`, with a number appended if the name is taken."""
    used_names = {name.casefold() for name in names}
    name, number = proposal, 1
    while name.casefold() in used_names:
        number += 1
        name = f"{proposal}_{number}"
    return name


def free_table_name(proposal: str, names: list[str]) -> str:
    """Return the name of a file or table as the name of a new table: control characters become spaces, and a
    number is appended if it is taken."""
    if control_character(proposal):
        proposal = "".join(" " if control_character(each) else each for each in proposal).strip() or "table"
    return free_name(proposal, names)


def table_columns(names: list[str]) -> list[str]:
    """The names of a file's columns in a table. There `_id` is reserved, and a file's own becomes `_id_2`;
    null characters are left out."""
    new: list[str] = []
    for name in names:
        readable = name.replace("\0", "") or "column"
        changes = name == ID or "\0" in name
        new.append(free_name(readable, [ID, *names, *new]) if changes else name)
    return new


@contextmanager
def _rename_columns(
    schema: pa.Schema, rows: Batches, opened: Sequence[str], new_names: Mapping[str, str]
) -> Iterator[pa.RecordBatchReader]:
    """Rename the chosen columns, and those that appeared after the dataset was `opened`, such as members that
    the first JSON objects lack."""
    later = [name for name in schema.names if name not in opened]
    names, new = [*new_names, *later], list(new_names.values())
    for name in later:
        new.append(free_name(name.replace("\0", "") or "column", [ID, *new]))

    def batches() -> Batches:
        with closing(rows):
            for batch in rows:
                yield batch.select(names).rename_columns(new)

    fields = [schema.field(name).with_name(title) for name, title in zip(names, new, strict=True)]
    with closing(batches()) as renamed:
        yield pa.RecordBatchReader.from_batches(pa.schema(fields), renamed)


def _kept_rows(dataset: Dataset, job: Job) -> Batches:
    progress = ImportProgress(job, dataset.num_rows)
    count = 0
    for batch in dataset.batches(job=SilentJob(job)):
        yield batch
        count += batch.num_rows
        progress.report(count, count)


def copy_readable_rows(store: Store, salvages: Sequence[Salvage], job: Job) -> list[Table]:
    """Copy what can be read of these tables into new ones, in one commit that can be undone."""
    names = [each.table for each in salvages]
    with store.transaction(f"copy readable rows of {', '.join(names)}"):
        return [
            store.create_table(
                free_table_name(f"{each.table}{READABLE}", store.tables), each.rows(job), job=job
            )
            for each in salvages
        ]
