"""One data file while it is written: its schema, encodings, statistics, and what the catalog is told."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from lamella.core.arrays import to_numpy
from lamella.core.checksums import RunningChecksum
from lamella.core.errors import StoreProblem
from lamella.core.scan.footers import BODY
from lamella.core.scan.snapshot import Column
from lamella.core.schema import ID
from lamella.core.store.encodings import ZSTD, ZSTD_LEVEL, choose_for_all, leaves_of
from lamella.core.store.layout import disk_problems, sync

SYNC_BYTES = 8 << 20
MOST_CHUNKS = 16

log = logging.getLogger(__name__)


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


class DataFile:
    """Open for row groups until it is closed. No null may come into the `required` columns.

    `sample` is the beginning of the first row group. Raises `StoreProblem` when the disk takes no more, or
    the rows cannot be Parquet.
    """

    def __init__(
        self, path: Path, columns: Sequence[Column], required: Collection[Column], sample: pa.Table
    ) -> None:
        self.columns, self.required = tuple(columns), frozenset(required)
        self.rows, self.last_id = 0, -1
        self._path, self._first_id, self._synced = path, id_at(sample, 0), 0
        self._schema = _stored_schema(self.columns, self.required)
        with _problems(path):
            self._writer = pq.ParquetWriter(path, self._schema, **_options(sample))
            self._checksum = RunningChecksum(path)

    def takes(self, group: pa.Table) -> bool:
        """Whether no null of the group would come into a required column."""
        return not any(
            may_hold_null(group.column(i)) for i, c in enumerate(self.columns) if c in self.required
        )

    def add(self, group: pa.Table) -> None:
        """Write the rows as one row group, and see to it that little is left to sync in the end."""
        whole = group if group.column(0).num_chunks <= MOST_CHUNKS else group.combine_chunks()
        with _problems(self._path):
            self._writer.write_table(whole.cast(self._schema), row_group_size=group.num_rows)
            size = self._checksum.extend()
            if size - self._synced >= SYNC_BYTES:
                sync(self._path)
                self._synced = size
        self.rows += group.num_rows
        self.last_id = id_at(group, group.num_rows - 1)

    def close(self) -> WrittenFile:
        with _problems(self._path), closing(self._checksum):
            self._writer.add_key_value_metadata({BODY: self._checksum.extended()})
            self._writer.close()
            size = self._checksum.extend()
        names = json.dumps({c.key: c.name for c in self.columns})
        told = self._checksum.text
        return WrittenFile(self._path, self.rows, self._first_id, self.last_id, size, names, told)

    def abandon(self) -> None:
        """Let go of a file that nobody will name."""
        self._checksum.close()
        try:
            self._writer.close()
        except OSError as error:
            log.debug("%s: left unfinished: %s", self._path, error)


@contextmanager
def _problems(path: Path) -> Iterator[None]:
    """What the disk refuses, told apart from what Parquet does."""
    with disk_problems(path.parent):
        try:
            yield
        except (OSError, pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
            if getattr(error, "errno", None) is not None:
                raise
            raise StoreProblem(
                f"{path}: rows could not be written as Parquet", str(error),
                "Nothing changed; cast the column, or leave those rows out",
            ) from error  # fmt: skip


def id_at(table: pa.Table, row: int) -> int:
    return int(to_numpy(table.column(ID).slice(row, 1))[0])


def may_hold_null(values: pa.ChunkedArray) -> bool:
    """Some types can hold nulls that their own count leaves out."""
    hidden = pa.types.is_dictionary(values.type) or pa.types.is_run_end_encoded(values.type)
    return bool(hidden or values.null_count > 0)


def _stored_schema(columns: Sequence[Column], required: Collection[Column]) -> pa.Schema:
    """Permanent column ids as Parquet field ids; required columns are read a fifth faster."""
    return pa.schema(
        [
            pa.field(c.name, c.type, nullable=c not in required, metadata={"PARQUET:field_id": str(c.key)})
            for c in columns
        ]
    )


def _options(sample: pa.Table) -> dict[str, object]:
    leaves = leaves_of(sample)
    chosen = {path: choose_for_all(samples) for path, samples in leaves.items()}
    return {
        "write_page_checksum": True,
        "use_dictionary": [leaf for leaf, e in chosen.items() if e.name is None],
        "column_encoding": {leaf: e.name for leaf, e in chosen.items() if e.name is not None},
        "compression": {leaf: e.codec for leaf, e in chosen.items()},
        "compression_level": {leaf: ZSTD_LEVEL for leaf, e in chosen.items() if e.codec == ZSTD},
        # Parquet's statistics ignore NaN, so readers that prune by them lose rows: floats get none.
        "write_statistics": [
            leaf
            for leaf, samples in leaves.items()
            if not any(pa.types.is_floating(values.type) for values in samples)
        ],
    }
