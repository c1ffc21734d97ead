"""The common interface of everything that can be shown: a table of a store, or files opened in place."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from lamella.core.arrow.interchange import sized_batches
from lamella.core.filters.condition import Condition, condition_of
from lamella.core.jobs import Job, current_job, on_behalf_of
from lamella.core.query.builder import Fluent, Query, query_of
from lamella.core.query.source import whole_snapshot
from lamella.core.scan.snapshot import Snapshot
from lamella.core.validation import text_of

if TYPE_CHECKING:
    from lamella.core.query.explain import Explain
    from lamella.core.query.profile import ColumnProfile

RaggedRows = Literal["refuse", "pad"]
BadLines = Literal["refuse", "set-aside"]
BadBytes = Literal["refuse", "replace"]
Checksums = Literal["verify", "ignore"]


@dataclass(frozen=True)
class OpenOptions:
    """Options of opening files. None means: detected from the file.

    `ragged="pad"` fills rows that are too short with nulls. In rows that are too long it drops extra fields
    only if they are empty; a file with a value there is refused all the same. `text_columns` of delimited
    text keep their exact text, such as versions 1.10 and 1.100. `decimal`, `thousands`, `dates`, `zone`,
    `nulls`, `booleans`, `quote` and `skip_rows` describe the notation (see `READING`); `types` and `names`
    are those of columns, by their names in the file.

    `bad_lines="set-aside"` leaves out lines that cannot be read; the dataset's `problems` lists them.
    `bad_bytes="replace"` reads bytes that are not valid in the encoding as U+FFFD.

    `table` is the table or sheet to open, in a file with several.

    `version` is that of a Delta table; None is the newest.

    `checksums="ignore"` reads Parquet pages as far as possible even if their checksums differ.
    """

    cache_dir: Path | None = None
    ragged: RaggedRows = "refuse"
    encoding: str | None = None
    delimiter: str | None = None
    header: bool | None = None
    text_columns: tuple[str, ...] = ()
    checksums: Checksums = "verify"
    table: str | None = None
    job: Job | None = None
    quote: str | None = None
    skip_rows: int | None = None
    decimal: str | None = None
    thousands: str | None = None
    dates: str | None = None
    zone: str | None = None
    nulls: tuple[str, ...] = ()
    booleans: tuple[tuple[str, str], ...] = ()
    types: tuple[tuple[str, str], ...] = ()
    names: tuple[tuple[str, str], ...] = ()
    bad_lines: BadLines = "refuse"
    bad_bytes: BadBytes | None = None
    cells: str | None = None
    version: int | None = None

    @property
    def reading(self) -> tuple[object, ...]:
        """The options that decide how bytes become rows; part of a cache's key."""
        return (
            self.ragged, self.encoding, self.delimiter, self.header, self.quote, self.skip_rows, self.decimal,
            self.thousands, self.dates, self.zone, self.nulls, self.types, self.names, self.bad_lines,
            self.cells, self.booleans, self.bad_bytes, *self.text_columns,
        )  # fmt: skip


@dataclass(frozen=True)
class Problem:
    """A problem in a text file: a line that was left out, or, if it names a column, a value that is null
    because it does not fit the chosen type. `text` is the original text."""

    line: int
    text: str
    why: str
    column: str = ""
    file: str = ""


class Dataset(Fluent, ABC):
    """Rows with a name and a schema. Reading methods block; call them off the GUI thread."""

    name: str

    @abstractmethod
    def snapshot(self) -> Snapshot:
        """A snapshot of the rows as they are now. Cheap: no data is read."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """What users should know about the rows, as sentences without a full stop: what was left out of a
        file, or is read differently than it is written. Complete once all rows have been read."""
        return ()

    def query(self) -> Query:
        return query_of(self)

    @property
    def schema(self) -> pa.Schema:
        return self.snapshot().schema

    @property
    def num_rows(self) -> int:
        """The number of rows available now: fewer than in the file while `snapshot().complete` is False."""
        return self.snapshot().num_rows

    def count(self, where: Condition | None = None, job: Job | None = None) -> int:
        """Count the rows that meet `where`, among all rows: an incomplete cache is filled first."""
        from lamella.core.query.find import count_rows

        with on_behalf_of(job or current_job()):
            snapshot = self._whole(job)
            return count_rows(snapshot, condition_of(where, f"{snapshot.name}: where", snapshot), job)

    def read(
        self,
        columns: list[str] | None = None,
        where: Condition | None = None,
        sort: list[str] | None = None,
        limit: int | None = None,
        offset: int = 0,
        job: Job | None = None,
        *,
        flatten: bool = False,
    ) -> pa.Table:
        """Read rows as an Arrow table, in the dataset's own order unless sorted ("-name" descends).

        Nulls come last in every sort, and NaN counts as the greatest number. `columns` may name fields
        inside structs by their path ("address.city"); only these are decoded. `where` is an expression or
        text: `col("n") > 1`, `"n > 1"`. `flatten` replaces structs by their fields, named by their paths.
        Raises `UnknownColumn`, `BadFilter`, and `BadData` for a negative limit or offset.
        """
        from lamella.core.query.scan_query import read_scan, scan_query_of

        with on_behalf_of(job or current_job()):
            snapshot = self._whole(job)
            query = scan_query_of(snapshot, columns, where, sort, limit, offset)
            return read_scan(snapshot, query, job, flatten)

    def batches(
        self,
        columns: list[str] | None = None,
        where: Condition | None = None,
        sort: list[str] | None = None,
        job: Job | None = None,
        *,
        flatten: bool = False,
        batch_size: int | None = None,
    ) -> pa.RecordBatchReader:
        """Stream the same rows in bounded memory (a filter or sort takes eight bytes per matching row), in
        batches of `batch_size` rows if given."""
        from lamella.core.query.scan_query import scan_query_of, stream_scan

        snapshot = self._whole(job)
        reader = stream_scan(snapshot, scan_query_of(snapshot, columns, where, sort), job, flatten)
        return reader if batch_size is None else sized_batches(reader, batch_size, snapshot.name)

    def head(self, count: int = 5) -> pa.Table:
        """The first rows; those of a text file that is being read are available before the rest."""
        from lamella.core.query.scan_query import read_scan, scan_query_of

        snapshot = self.snapshot()
        query = scan_query_of(snapshot, limit=count)
        if not snapshot.complete and snapshot.num_rows < (query.limit or 0):
            snapshot = self._whole(None)
        return read_scan(snapshot, query)

    def _stream(self) -> pa.RecordBatchReader:
        return self.batches()

    def __len__(self) -> int:
        """The number of all rows; a text file that is being read is first read to its end."""
        return self.count()

    def explain(
        self,
        columns: list[str] | None = None,
        where: Condition | None = None,
        sort: list[str] | None = None,
        limit: int | None = None,
        offset: int = 0,
        job: Job | None = None,
    ) -> Explain:
        """What `read` with the same arguments has to read from the files; the rows are found, but not
        fetched."""
        from lamella.core.query.explain import explain
        from lamella.core.query.scan_query import scan_query_of

        snapshot = self._whole(job)
        return explain(snapshot, scan_query_of(snapshot, columns, where, sort, limit, offset), job)

    def profile(self, column: str, where: Condition | None = None, job: Job | None = None) -> ColumnProfile:
        """Profile a column, or a field inside one by its path, in the rows that meet `where`: counts, least
        and greatest value, and distribution. Cached while the rows stay the same."""
        from lamella.core.query.profile import profile

        snapshot = self._whole(job)
        condition = condition_of(where, f"{snapshot.name}: where", snapshot)
        return profile(snapshot, text_of(column, f"{snapshot.name}: the column"), condition, job)

    def _whole(self, job: Job | None) -> Snapshot:
        return whole_snapshot(self, job or Job())


def paths_of(dataset: Dataset) -> Sequence[Path]:
    """Return the files from which the rows are read; none for a table of a store or a result."""
    paths: Sequence[Path] = getattr(dataset, "paths", ())
    return paths


def problems_of(dataset: Dataset) -> Sequence[Problem]:
    """The lines and values of a file that could not be read; empty for other datasets."""
    return getattr(dataset, "problems", ())


def unreadable_columns(dataset: Dataset) -> Mapping[str, str]:
    """Why columns of a file cannot be read, by name; empty for other datasets."""
    return getattr(dataset, "unreadable_columns", {})
