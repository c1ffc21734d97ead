"""Data files: row groups of about 100,000 rows, each column encoded as its values deserve."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from core.arrays import to_numpy
from core.errors import StoreProblem
from core.scan.snapshot import Column
from core.schema import ID
from core.store.checksums import checksum_of
from core.store.encodings import DICTIONARY, Encoding, choose
from core.store.layout import Staging

ROWS_A_GROUP = 100_000
GROUPS_A_FILE = 10


@dataclass(frozen=True)
class WrittenFile:
    """A staged data file. Its `_id`s are ascending."""

    path: Path
    rows: int
    first_id: int
    last_id: int
    size: int
    names: str
    checksum: str


def write_files(
    tables: Iterable[pa.Table],
    columns: Sequence[Column],
    staging: Staging,
    end_at_gaps: bool = False,
    suffix: str = ".parquet",
) -> list[WrittenFile]:
    """Write rows in `_id` order as data files; `columns` names the tables' columns and gives their ids.

    `end_at_gaps` where others may have been given the ids in between: no file then spans them.
    Raises `StoreProblem` when the disk takes no more; nothing is published then.
    """
    written: list[WrittenFile] = []
    with ThreadPoolExecutor(1, thread_name_prefix="encode") as encoder:
        for groups in _files(_row_groups(tables, end_at_gaps), end_at_gaps):
            written.append(_write_file(groups, columns, staging.new_file(suffix), encoder))
    return written


def _write_file(
    groups: Iterator[pa.Table], columns: Sequence[Column], path: Path, encoder: ThreadPoolExecutor
) -> WrittenFile:
    """One row group is encoded while the next one is still being made."""
    first = last = next(groups)
    schema, rows = _stored_schema(first, columns), first.num_rows
    with _as_store_problem(), pq.ParquetWriter(path, schema, **_options(first)) as writer:
        encoding = encoder.submit(_encode, writer, first, schema)
        try:
            for group in groups:
                encoding.result()
                encoding = encoder.submit(_encode, writer, group, schema)
                last, rows = group, rows + group.num_rows
        finally:
            wait([encoding])  # the writer must not be closed under its hands
        encoding.result()
    names = json.dumps({c.key: c.name for c in columns})
    ends = _id_at(first, 0), _id_at(last, last.num_rows - 1)
    return WrittenFile(path, rows, *ends, path.stat().st_size, names, checksum_of(path))


def _encode(writer: pq.ParquetWriter, group: pa.Table, schema: pa.Schema) -> None:
    writer.write_table(group.combine_chunks().cast(schema), row_group_size=ROWS_A_GROUP)


@contextmanager
def _as_store_problem() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreProblem(
            "the rows could not be written",
            error.strerror or str(error),
            "Nothing changed; check the disk's space",
        ) from error


def _stored_schema(first: pa.Table, columns: Sequence[Column]) -> pa.Schema:
    """Permanent column ids as Parquet field ids; `_id` is required, the others may hold nulls later on."""
    return pa.schema(
        [
            pa.field(c.name, c.type, nullable=c.name != ID, metadata={"PARQUET:field_id": str(c.key)})
            for c in columns
        ]
    )


def _options(sample: pa.Table) -> dict[str, object]:
    chosen = {leaf: encoding for field in sample.schema for leaf, encoding in _leaves(sample, field)}
    return {
        "use_dictionary": [leaf for leaf, e in chosen.items() if e.name is None],
        "column_encoding": {leaf: e.name for leaf, e in chosen.items() if e.name is not None},
        "compression": {leaf: e.codec for leaf, e in chosen.items()},
        # Parquet's statistics ignore NaN, so readers that prune by them lose rows: floats get none.
        "write_statistics": [leaf for leaf in chosen if not _is_float(sample, leaf)],
    }


def _leaves(sample: pa.Table, field: pa.Field) -> list[tuple[str, Encoding]]:
    column = sample.column(field.name)
    if not pa.types.is_nested(field.type):
        return [(field.name, choose(column))]
    return [(path, DICTIONARY) for path in _leaf_paths(field)]


def _leaf_paths(field: pa.Field) -> list[str]:
    """How Parquet names the leaves of a nested column: asked of an empty file."""
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, pa.schema([field])):
        pass
    schema = pq.ParquetFile(pa.BufferReader(sink.getvalue())).schema
    return [schema.column(i).path for i in range(len(schema))]


def _is_float(sample: pa.Table, leaf: str) -> bool:
    return leaf in sample.column_names and pa.types.is_floating(sample.schema.field(leaf).type)


def _files(groups: Iterator[pa.Table], end_at_gaps: bool) -> Iterator[Iterator[pa.Table]]:
    """The row groups of each file in turn; each has to be used up before the next."""
    waiting = [first] if (first := next(groups, None)) is not None else []

    def one_file() -> Iterator[pa.Table]:
        for _ in range(GROUPS_A_FILE):
            group = waiting.pop()
            if (following := next(groups, None)) is not None:
                waiting.append(following)
            yield group
            if not waiting or (end_at_gaps and not _follows(waiting[0], group)):
                return

    while waiting:
        yield one_file()


def _row_groups(tables: Iterable[pa.Table], end_at_gaps: bool) -> Iterator[pa.Table]:
    held: list[pa.Table] = []
    for table in filter(len, tables):
        if held and end_at_gaps and not _follows(table, held[-1]):
            yield pa.concat_tables(held)
            held = []
        held.append(table)
        while sum(map(len, held)) >= ROWS_A_GROUP:
            whole = pa.concat_tables(held)
            yield whole.slice(0, ROWS_A_GROUP)
            rest = whole.slice(ROWS_A_GROUP)
            held = [rest] if len(rest) else []
    if held:
        yield pa.concat_tables(held)


def _follows(table: pa.Table, before: pa.Table) -> bool:
    return _id_at(table, 0) == _id_at(before, before.num_rows - 1) + 1


def _id_at(table: pa.Table, row: int) -> int:
    return int(to_numpy(table.column(ID).slice(row, 1))[0])
